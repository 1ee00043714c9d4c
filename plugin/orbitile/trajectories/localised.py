r"""Localised orbitals along a path: each frame localised, its orbitals in the order of the first one.

They are followed as canonical orbitals are (`orbitile.trajectories.tracking`), by their overlaps with those of the
frame before and the best assignment, but not by their energies. Where localisation leaves open how orbitals are turned
among each other, as it does for lone pairs and cores of one atom, they are turned to be as near to their predecessors
as they can. What becomes of intrinsic bond orbitals is the electron flow of a reaction (G. Knizia and J. E. M. N.
Klein, Angew. Chem. Int. Ed. 2015, 54, 5518).
"""

from __future__ import annotations

from ..fields.localised import localised_orbital
from ..localised.localisation import Which, count_of, localised
from ..localised.schemes import Scheme
from ..model.trajectory import Trajectory
from ..model.wavefunction import Wavefunction
from .paths import FramesOfAnother


class LocalisedFrames(FramesOfAnother):
    """Frames with localised orbitals in place of those of the file: `Frames` of a `Trajectory`.

    Parameters
    ----------
    trajectory
    scheme, which
        As for `orbitile.localised.localisation.localised`.
    """

    def __init__(self, trajectory: Trajectory, scheme: Scheme = "ibo", which: Which = "occupied") -> None:
        super().__init__(trajectory)
        self._scheme, self._which = scheme, which

    def read(self, index: int) -> Wavefunction:
        """Read one frame, and localise it."""
        return localised(self._trajectory[index], self._scheme, self._which)


def localisation_for(first: Wavefunction, field: str) -> tuple[Scheme, Which] | None:
    """Scheme, and which orbitals are to be localised, of a localised orbital of a wavefunction; None for other fields.

    Raises
    ------
    OrbitileError
        When the wavefunction does not have this localised orbital.
    """
    orbital = localised_orbital(first, field)
    if orbital is None:
        return None
    occupied, _ = count_of(first, orbital.scheme, orbital.spin)
    return orbital.scheme, "occupied" if orbital.index < occupied else "all"


def localised_for(trajectory: Trajectory, first: Wavefunction, field: str) -> Trajectory:
    """The trajectory that a field is to be shown along: with localised orbitals for one of these, otherwise as it is.

    Parameters
    ----------
    trajectory
    first
        Its first frame.
    field
        Name of the field, as ibo:5, which is orbital 5 of the frames that are returned, once they are followed.

    Raises
    ------
    OrbitileError
        When the first frame does not have this localised orbital.
    """
    how = localisation_for(first, field)
    return trajectory if how is None else Trajectory(LocalisedFrames(trajectory, *how), trajectory.kept)
