"""What tests of widgets share: orbitals to list, and what signals tell."""

import numpy as np

from orbitile.model.units import electronvolt
from orbitile.pictures.orbitals import Level


def told_by(signal):
    """What a signal tells, in a list that grows."""
    told = []
    signal.connect(lambda *what: told.append(what[0] if len(what) == 1 else what))
    return told


def levels(n=40, occupied=20, spin="alpha", shift=0.0):
    energies = (np.arange(n) - occupied + 0.5 + shift) * electronvolt
    return [Level(spin, i, float(energies[i]), float(i < occupied), "", i + 1 - occupied) for i in range(n)]
