"""An analysis with every kind of parameter, table, plot and drawing, for the tests of windows."""

import time
from itertools import pairwise

import numpy as np

from orbitile.base.arguments import ATOMS, COUNT, FLAG, FRAGMENTS, NUMBER, TEXT, Argument, atom_list, one_of
from orbitile.base.watch import checkpoint
from orbitile.model.report import (
    AtomValues,
    Closure,
    Column,
    Curve,
    Isosurface,
    Paths,
    Plot,
    Points,
    Report,
    Table,
    atom_columns,
)

TITLE = "Everything at once"
HELP = "every kind of table, plot and drawing"
GROUP = "Tests"
PRIORITY = -10
PARAMETERS = (
    Argument("choice", one_of("first", "second"), "which of the two", "first", "first"),
    Argument("steps", COUNT, "how many steps of 20 ms it takes", 2, "2"),
    Argument("width", NUMBER, "in bohr", 0.5, "0.5"),
    Argument("double", FLAG, "twice as much", False, "0"),
    Argument("atoms", ATOMS, "which atoms", (), "all"),
    Argument("fragments", FRAGMENTS, "which fragments", (), "none"),
    Argument("coloured_by", TEXT, "a field", "esp", "esp", completes="fields"),
)


def unavailable(wavefunction):
    return "" if wavefunction.n_atoms > 1 else "it has one atom only"


def warning(wavefunction, **parameters):
    return f"This takes about {0.02 * parameters['steps']:.0f} s." if parameters["steps"] > 500 else ""


def report(wavefunction, *, device=None, **parameters):
    for step in range(parameters["steps"]):
        time.sleep(0.02)
        checkpoint(step / parameters["steps"])
    n = wavefunction.n_atoms
    at = wavefunction.positions
    values = np.linspace(-0.5, 0.5, n) * (2 if parameters["double"] else 1)
    energies = wavefunction.alpha.energies[:30]
    orbitals = tuple(f"mo:{number + 1}" for number in range(len(energies)))
    x = np.linspace(energies.min() - 1, energies.max() + 1, 400)
    y = np.exp(-(((x[:, None] - energies) / 0.05) ** 2)).sum(axis=1)
    rng = np.random.default_rng(1)
    cloud = rng.normal(size=(20000, 2)) * [0.02, 0.3]
    chosen = atom_list(parameters["atoms"]) or "all"
    fragments = "; ".join(f"{one.name}: {atom_list(one.atoms)}" for one in parameters["fragments"])
    return Report(
        "everything",
        f"Everything, {parameters['choice']}",
        (
            Table(
                "atoms",
                "Something of the atoms",
                (*atom_columns(wavefunction.atomic_numbers), Column("value", tuple(values.tolist()), "e bohr^-3")),
                (Closure("sum of the values", float(values.sum()), 0.0, "e", 1e-6), Closure("sum", 1.0, 2.0, "", 0.1)),
                tuple((atom,) for atom in range(n)),
            ),
            Table(
                "orbitals",
                "Some orbitals",
                (
                    Column("number", tuple(range(1, len(energies) + 1))),
                    Column("energy", tuple(energies.tolist()), "hartree"),
                ),
                fields=orbitals,
            ),
            Table(
                "places",
                "Some places",
                (Column("name", tuple(f"p{atom}" for atom in range(n))), Column("none", (float("nan"),) * n)),
                places=tuple(map(tuple, (at + 1.0).tolist())),
            ),
        ),
        (
            Plot(
                "levels",
                "Density of states",
                "energy / hartree",
                "states / hartree^-1",
                (
                    Curve("all", x, y, "filled"),
                    Curve("levels", energies, np.ones(len(energies)), "sticks", fields=orbitals),
                ),
                ((float(energies[-1]), "last"),),
                (-1.5, 0.5),
            ),
            Plot(
                "scatter",
                "A cloud",
                "sign(λ2) ρ / e bohr^-3",
                "reduced gradient",
                (Curve("", cloud[:, 0], cloud[:, 1], "points", values=cloud[:, 0]),),
            ),
        ),
        (
            AtomValues("value", tuple(values.tolist()), "e"),
            Points("bcp", (at[1:] + at[:-1]) / 2, tuple(f"{number}" for number in range(1, n))),
            Paths(
                "steps",
                tuple(np.array([a, (a + b) / 2 + 0.3, b]) for a, b in pairwise(at)),
                heads=True,
            ),
        ),
        (Isosurface("density", 0.002, parameters["coloured_by"], 0.05),),
        (f"Atoms {chosen}.", f"Fragments {fragments or 'none'}."),
    )
