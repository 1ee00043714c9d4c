"""What all analyses have in common."""

import ast
import inspect
import json
from dataclasses import replace
from importlib.resources import files

import pytest

import orbitile as ob
from orbitile.analysis.presentation import as_csv, as_json, as_text
from orbitile.analysis.reports import analyses, function_of, values_of
from orbitile.model.report import AtomValues, Report
from orbitile.session.commands import COMMANDS

NAMES = list(analyses())

STUBS = ast.parse((files("orbitile") / "__init__.pyi").read_text(encoding="utf-8"))


def test_there_are_those_that_the_manual_tells_of():
    assert {"charges", "bonds", "localise", "flow", "composition", "levels", "topology", "basins"} < set(NAMES)
    assert {"interactions", "surface", "cavity", "excitations"} < set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_declaration_is_a_function_with_types_and_a_command(name):
    module = analyses()[name]
    assert module.HELP[0].islower() or module.HELP[:2].isupper() or module.HELP.startswith("ELF")
    assert not module.HELP.endswith(".")
    stated = [argument.name for argument in module.PARAMETERS]
    accepted = inspect.signature(module.report).parameters
    takes_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in accepted.values())
    assert takes_any or set(stated) <= set(accepted)
    assert list(values_of(name, {argument.name: "1" for argument in module.PARAMETERS if argument.required})) == stated
    function = getattr(ob, name)
    assert function.__name__ == name
    keywords = list(inspect.signature(function).parameters)[1:]
    assert keywords == [*stated, "device", "progress", "cancelled"]
    (stub,) = (one for one in STUBS.body if isinstance(one, ast.FunctionDef) and one.name == name)
    assert [argument.arg for argument in stub.args.kwonlyargs] == keywords
    (command,) = (one for one in COMMANDS if one.name == f"orb_{name}")
    computing = ["method", "basis", "optimise"] if name == "vibrations" else []
    assert [argument.name for argument in command.arguments] == ["name", *stated, "filename", "draw", *computing]
    assert function.__doc__ == function_of(name).__doc__


@pytest.fixture(scope="module")
def benzene():
    return ob.load(files("orbitile") / "data" / "benzene.molden")


@pytest.fixture(scope="module")
def water():
    from tests.molecules import computed

    return computed("O 0 0 0.117; H 0 0.757 -0.469; H 0 -0.757 -0.469", "6-31g*")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if analyses()[name].KIND in ("wavefunction", "atoms")])
def test_tables_close_and_can_be_told_and_written(name, request):
    """Each table of a molecule without anything odd that has a sum which is known says so, and it holds."""
    # that the basins of benzene close is tested beside them, and takes long
    molecule = request.getfixturevalue("water" if name == "basins" else "benzene")
    if reason := analyses()[name].unavailable(molecule):
        assert name in ("contacts", "currents", "excitations", "residues", "voids")
        assert reason
        return
    if name == "nocv":  # of files, see test_nocv.py
        return
    report = getattr(ob, name)(molecule, device="cpu")
    assert report.tables
    closures = [closure for table in report.tables for closure in table.closures]
    # regions of the density of one molecule, and points of the potential, have no sum that is known
    assert closures or name in ("critical_points", "interactions", "profile", "vectors")
    assert [closure.text for closure in closures if not closure.holds] == []
    text = as_text(report)
    assert all(table.title in text for table in report.tables)
    found = json.loads(as_json(report))
    assert found["analysis"] == name
    for table in report.tables:
        assert as_csv(table).count("\n") == len(table) + 1
        assert all(-1 < atom < molecule.n_atoms for atoms in table.atoms for atom in atoms)
    assert all(
        ob.evaluate(molecule, field, [[0.1, 0.2, 0.3]]).size for table in report.tables for field in table.fields
    )


def test_a_report_that_does_not_close_says_so():
    report = function_of("charges")(ob.load(files("orbitile") / "data" / "benzene.molden"), scheme="mulliken")
    assert isinstance(report, Report)
    (table, *_) = report.tables
    (closure, *_) = table.closures
    assert "which is more than" not in closure.text
    assert "which is more than" in replace(closure, found=closure.expected + 1.0, tolerance=1e-3).text


def test_no_zero_at_an_atom_has_a_sign():
    assert AtomValues("charge", (-0.004, 0.004, -0.006, float("nan"))).labels == ("0.00", "0.00", "-0.01", "")
