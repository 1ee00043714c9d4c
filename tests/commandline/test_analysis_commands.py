"""Commands of the command line that are made of analyses."""

import json
import math
from argparse import Namespace

import pytest

import orbitile as ob
from orbitile.analysis.reports import analyse, analyses
from orbitile.base.watch import watched, watcher
from orbitile.commandline import main
from orbitile.commandline._console import progress_bar
from tests.analysis.samples import BENZENE


def test_a_table_is_printed_with_its_closure(capsys):
    assert main(["composition", BENZENE, "--orbitals", "homo"]) == 0
    lines = capsys.readouterr().out.splitlines()
    head = next(line for line in lines if line.startswith("  orbital  energy"))
    units, row = lines[lines.index(head) + 1 :][:2]
    assert row.index("mo:21") == head.index("orbital")
    ends = [line.index(word) + len(word) for line, word in ((head, "energy"), (units, "eV"), (row, "-8.952"))]
    assert len(set(ends)) == 1, "numbers end below their name and unit"
    assert any("expected 1, off by" in line for line in lines)


def test_json_is_json(capsys):
    assert main(["levels", BENZENE, "--json", "--lowest", "-20", "--highest", "5"]) == 0
    text = capsys.readouterr().out
    found = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    energies = found["tables"]["levels"]["columns"]["energy"]
    assert min(energies) > -20
    assert max(energies) < 5
    assert all(math.isfinite(closure["error"]) for closure in found["tables"]["levels"]["closures"])


def test_tables_are_written(tmp_path, capsys):
    assert main(["levels", BENZENE, "-o", str(tmp_path / "dos.csv")]) == 0
    written = capsys.readouterr().out.split()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.rsplit("/", 1)[-1] for path in written)
    assert (tmp_path / "dos-levels.csv").read_text().startswith("orbital,energy,occupation,H,C")


def test_plots_come_beside_the_table(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["levels", BENZENE, "--plot", "levels.svg"]) == 0
    printed = capsys.readouterr().out
    assert "HOMO" in printed
    assert printed.endswith("levels-states.svg\nlevels-overlap.svg\n")
    for arguments in (["bonds", BENZENE], ["charges", "no-such-file.molden"]):  # refused before the file is read
        assert main([*arguments, "--plot", "p.svg"]) == 2
        error = capsys.readouterr().err
        assert f"--plot: {arguments[0]} has only tables, which -o writes; analyses with plots are " in error
        assert "levels" in error
    with pytest.raises(SystemExit):
        main(["bonds", "--help"])
    assert "--plot" not in capsys.readouterr().out


@pytest.mark.slow
def test_analyses_that_have_plots_say_so():
    """Each of those that can be made of benzene."""
    wavefunction = ob.load(BENZENE)
    for name in ("bonds", "composition", "levels", "localise", "interactions"):
        assert bool(analyse(wavefunction, name).plots) == analyses()[name].PLOTS, name


def test_help_has_examples_that_run(capsys):
    with pytest.raises(SystemExit):
        main(["levels", "--help"])
    text = capsys.readouterr().out
    assert "orbitile levels FILE --by angular_momenta --fwhm 0.3" in text
    assert "--fwhm NUMBER" in text
    assert main(["levels", BENZENE, *"--by angular_momenta --fwhm 0.3".split()]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["levels", BENZENE, "--fwhm", "wide"], "fwhm: expected a number, got 'wide'"),
        (["composition", BENZENE, "--fragments", "ring"], "fragments: expected numbers of atoms such as 1-6,9"),
        (["levels", BENZENE, "--fragments", "energy=1; rest=2-12"], "two columns are called 'energy'"),
        (["composition", BENZENE, "--fragments", "orbital=1; rest=2-12"], "two columns are called 'orbital'"),
        (["levels", BENZENE, "-o", "levels.xls"], "expected tables to end in .csv or .json"),
        (["levels", BENZENE, "--plot", "levels.bmp"], "expected a picture to end in"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(capsys, arguments, said):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("quiet", [True, False])
def test_work_is_watched_without_a_progress_bar(quiet, capsys):
    """Only what is watched is done in pieces, and Ctrl-C is heard between pieces."""
    with progress_bar(Namespace(quiet=quiet), "charges") as progress, watched(progress):
        assert watcher() is not None


def test_where_nothing_can_be_written_nothing_is_computed(capsys, monkeypatch):
    monkeypatch.setattr("orbitile.commandline._analysis.analyse", lambda *a, **k: pytest.fail("it was computed"))
    assert main(["levels", BENZENE, "-o", "/no/such/folder/levels.json"]) == 2
    assert "there is no folder" in capsys.readouterr().err
    assert main(["levels", BENZENE, "-o", "levels.xls"]) == 2


def test_examples_name_flags_without_a_value(capsys):
    with pytest.raises(SystemExit):
        main(["charges", "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert "  orbitile charges FILE --scheme chelpg --dipole" in lines
