"""An analysis of atoms alone, for the tests of windows."""

import numpy as np

from orbitile.model.report import Column, Report, Table, atom_columns

TITLE = "Distances"
HELP = "how far the atoms are from the first one"
GROUP = "Tests"
PRIORITY = -20
KIND = "atoms"


def report(subject, *, device=None):
    at = subject.positions
    distances = np.linalg.norm(at - at[0], axis=1)
    columns = (*atom_columns(subject.atomic_numbers), Column("distance", tuple(distances.tolist()), "bohr"))
    atoms = tuple((atom,) for atom in range(len(at)))
    return Report("distances", "Distances", (Table("atoms", "Distances from the first atom", columns, atoms=atoms),))
