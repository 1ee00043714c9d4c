"""What once escaped from fuzzing, each in the smallest form: it is refused in one sentence, or answered."""

import json

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.arguments import ATOMS, COUNT, FRAGMENTS, WHOLE_NUMBER
from orbitile.commandline import main
from orbitile.evaluation.devices import several
from orbitile.evaluation.requests import field_of
from orbitile.hosts.server.viewer import ServedViewer
from orbitile.jobs.request import is_item, request_of
from orbitile.jobs.running import run_batch
from orbitile.pictures.look import Scale
from orbitile.pictures.orbitals import ENERGY_UNITS, conditions_of
from orbitile.pictures.request import Request
from orbitile.readers import natural_order
from orbitile.session.commands import COMMANDS
from orbitile.session.session import Session
from orbitile.session.shown import Shown
from orbitile.session.source import changes
from orbitile.session.viewpoint import default_viewpoint
from taichi_kernels.direct_sums import molecule_specific
from taichi_kernels.session import session
from tests.conftest import SAMPLES
from tests.fuzz.samples import LOGS
from tests.fuzz.values import ODD_VALUES, odd_value

MANY = "1" * 5000
"""More digits than Python makes a number of."""


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", float("nan"), 1e400])
def test_whole_numbers_that_are_no_numbers(text):
    for kind in (COUNT, WHOLE_NUMBER):
        with pytest.raises(ob.OrbitileError, match="expected a whole number"):
            kind.read("frames", text)


@pytest.mark.parametrize("name", [f"mo:{MANY}", f"homo-{MANY}", f"ibo:{MANY}", f"hole:{MANY}", f"mo:1-{MANY}"])
def test_orbitals_of_very_many_digits(name):
    with pytest.raises(ob.OrbitileError):
        field_of(ob.load(SAMPLES / "h2o.molden.input"), name)


@pytest.mark.parametrize("atom", [0, 4, 10**9])
def test_shells_of_atoms_that_are_not_there(atom, tmp_path):
    path = tmp_path / "water.fchk"
    before, name, after = (SAMPLES / "h2o_sto3g.fchk").read_text(encoding="utf-8").partition("Shell to atom map")
    head, first, rest = after.partition("\n           1")
    assert first
    path.write_text(f"{before}{name}{head}\n{atom:12}{rest}", encoding="utf-8")
    with pytest.raises(ob.OrbitileError, match=f"shell on atom {atom}: expected an atom from 1 to 3"):
        ob.load(path)


@pytest.mark.parametrize("kind", [ATOMS, FRAGMENTS])
def test_atoms_of_very_many_digits(kind):
    with pytest.raises(ob.OrbitileError, match="expected numbers of atoms"):
        kind.read("atoms", f"1-{MANY}")


@pytest.mark.parametrize("device", ["cuda:²", f"cuda:{MANY}", "cuda:0,²"])
def test_gpus_of_odd_numbers(device):
    with pytest.raises(ob.OrbitileError, match="device"):
        several(device)


def test_filters_and_items_of_very_many_digits():
    assert len(conditions_of(f"homo-{MANY} {MANY}-{MANY} {MANY}..", ENERGY_UNITS["eV"])) == 3
    assert not is_item(f"homo+{MANY}..lumo") or request_of([f"homo+{MANY}..lumo"])


def test_digits_in_names_of_files_that_are_no_numbers():
    assert sorted(["1²10", "1²2", "1²"], key=natural_order) == ["1²", "1²2", "1²10"]


def test_a_source_whose_content_has_very_many_digits():
    assert changes(f"content {MANY}-{'0' * 40}: no-such-file") != []


def test_a_kept_source_of_a_kernel_that_is_no_text_is_written_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with session("cpu", "single"):
        file = molecule_specific._written("# a kernel\n")
        file.write_bytes(b"# a k\xff\n")
        assert molecule_specific._written("# a kernel\n").read_bytes() == b"# a kernel\n"


@pytest.mark.parametrize("words", [["info", "a.molden", "b\nc"], ["fields", "--no\nsuch"], ["no\nsuch"]])
def test_errors_of_the_command_line_are_of_one_line_whatever_was_typed(capsys, words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    last = capsys.readouterr().err.rstrip("\n").rpartition("\n")[2]
    assert last.startswith("orbitile")
    assert "error: " in last


@pytest.mark.parametrize(("part", "value"), [("scale", {"colour_map": {}}), ("request", {"path": "{", "frame": 0})])
def test_parts_of_a_saved_surface_that_cannot_be_are_refused(part, value):
    scale = Scale(0.0, 1.0, "potential", "hartree", "signed")
    whole = Shown("benzene", Request("benzene.molden", "homo"), 0.05, scale=scale).message()
    assert Shown.from_message(whole).scale == scale
    with pytest.raises(ob.OrbitileError):
        Shown.from_message({**whole, part: {**whole[part], **value}})


def test_a_folder_in_place_of_a_file_that_belongs_to_another(tmp_path):
    (tmp_path / "job.31").mkdir()
    (tmp_path / "job.40").write_text(f"a job\n MOs in the AO basis:\n {79 * '-'}\n  1.000000000\n")
    with pytest.raises(ob.OrbitileError, match=r"job\.40: job\.31 cannot be read"):
        ob.load(tmp_path / "job.40")


def test_a_damaged_record_of_a_batch_is_done_anew(tmp_path):
    """Also where it is still one: with a name of a column that is another, say."""
    file = tmp_path / "water.molden"
    file.write_bytes((SAMPLES / "h2o.molden.input").read_bytes())
    first = run_batch([file], ["charges"], tmp_path / "batch", to=["json"])
    assert run_batch([file], ["charges"], tmp_path / "batch", to=["json"]).n_before == 1
    (record,) = (tmp_path / "batch" / "records").iterdir()
    record.write_text(record.read_text().replace("formula", "formulb", 1))
    again = run_batch([file], ["charges"], tmp_path / "batch", to=["json"])
    assert (again.n_before, again.n_done) == (0, 1)
    assert next(iter(again.records)).values == next(iter(first.records)).values


def test_drawings_that_are_too_small_for_their_labels(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="drawings need matplotlib (extra plots)")
    file = str(LOGS / "psi4_water.out")
    assert main(["correlate", file, "-o", str(tmp_path / "a.png"), "--size", "1x1"]) == 2
    assert "a drawing of 1 x 1 pixels is too small" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_odd_values_are_the_same_whatever_a_case_does_with_them():
    random = np.random.default_rng(3)
    before = json.dumps(ODD_VALUES, default=repr)
    for _ in range(300):
        if isinstance(value := odd_value(random), list):
            value.append(value)
        elif isinstance(value, dict):
            value["itself"] = value
    assert json.dumps(ODD_VALUES, default=repr) == before


def test_a_molecule_whose_name_is_too_long_for_a_file(tmp_path):
    command = next(command for command in COMMANDS if command.name == "orb_thermochemistry")
    with pytest.raises(ob.OrbitileError, match="no molecule"):
        command.run(Session(ServedViewer(lambda message: None, tmp_path)), ("9" * 5000,), {})


def test_a_view_of_nothing():
    with pytest.raises(ob.OrbitileError, match="nothing to draw"):
        default_viewpoint([], [], 1.0, (0, 0, 0, 0), None)
