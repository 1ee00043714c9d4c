r"""Localised orbitals along a path: each frame localised, its orbitals in the order of the first one.

They are followed as canonical orbitals are (`orbitile.trajectories.tracking`), by their overlaps with those of the
frame before and the best assignment, but not by their energies. Where localisation leaves open how orbitals are turned
among each other, as it does for lone pairs and cores of one atom, they are turned to be as near to their predecessors
as they can. What becomes of intrinsic bond orbitals is the electron flow of a reaction (G. Knizia and J. E. M. N.
Klein, Angew. Chem. Int. Ed. 2015, 54, 5518).
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from ..errors import FileChanged, OrbitileError
from ..fields.localised import localised_orbital
from ..gaussians.alignment import rotation_onto, turned_functions
from ..localised.localisation import Which, count_of, localisation_near, localised
from ..localised.schemes import Scheme
from ..model.trajectory import Trajectory
from ..model.wavefunction import Spin, Wavefunction
from .matching import mismatch
from .paths import FramesOfAnother

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


_LEAST = 1e-3
"""Coefficients of localised orbitals below which their places are known without them."""

Guide = dict[Spin, "csr_matrix"]
"""About the localised orbitals of a frame, of each spin: enough to find them again."""


class LocalisedFrames(FramesOfAnother):
    """Frames with localised orbitals in place of those of the file: `Frames` of a `Trajectory`.

    There may be several ways to localise orbitals about as well, such as the two Kekule structures of benzene. Each
    frame therefore begins with the orbitals of the frame before, turned with the molecule, and goes uphill from there.

    Parameters
    ----------
    trajectory
    scheme, which
        As for `orbitile.localised.localisation.localised`.

    Notes
    -----
    Memory beyond the frames: the large coefficients of the orbitals of each frame that was reached, whose number grows
    with the size of the molecule, not with its square.
    """

    def __init__(self, trajectory: Trajectory, scheme: Scheme = "ibo", which: Which = "occupied") -> None:
        super().__init__(trajectory)
        self._scheme, self._which = scheme, which
        self._guides: dict[int, Guide] = {}
        self._reached = -1
        self._latest: tuple[Wavefunction, Guide] | None = None
        self._lock = threading.Lock()

    def read(self, index: int) -> Wavefunction:
        """Read one frame, and localise it; those before it come first.

        Raises
        ------
        OrbitileError
            When it has no localised orbitals.
        """
        with self._lock:
            while self._reached < index:
                try:
                    self._reach(self._reached + 1)
                except FileChanged:
                    raise
                except OrbitileError:
                    if self._reached + 1 == index:
                        raise
                self._reached += 1
        wavefunction = self._trajectory[index]
        if index not in self._guides:  # it could not be localised
            return localised(wavefunction, self._scheme, self._which)
        near = {spin: guide.toarray().astype(np.float64) for spin, guide in self._guides[index].items()}
        return localisation_near(wavefunction, self._scheme, self._which, near).wavefunction

    def _reach(self, index: int) -> None:
        """Find about the localised orbitals of a frame from those of the one before."""
        wavefunction = self._trajectory[index]
        if self._latest is None or mismatch(self._latest[0], wavefunction):
            found = localised(wavefunction, self._scheme, self._which)
        else:
            before, guide = self._latest
            turn = turned_functions(wavefunction, rotation_onto(before, wavefunction.positions))
            near = {spin: np.asarray((turn @ one).toarray(), np.float64) for spin, one in guide.items()}
            try:
                found = localisation_near(wavefunction, self._scheme, self._which, near).wavefunction
            except OrbitileError:  # other electrons
                found = localised(wavefunction, self._scheme, self._which)
        self._guides[index] = _guide(found)
        self._latest = wavefunction, self._guides[index]


def _guide(wavefunction: Wavefunction) -> Guide:
    from scipy.sparse import csr_matrix

    spins: tuple[Spin, ...] = ("alpha",) if wavefunction.beta is None else ("alpha", "beta")
    found = {spin: wavefunction.orbitals(spin).coefficients for spin in spins}
    return {spin: csr_matrix(np.where(np.abs(c) < _LEAST, 0, c).astype(np.float32)) for spin, c in found.items()}


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
