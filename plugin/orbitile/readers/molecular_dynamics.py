"""Geometries in trajectories of molecular dynamics, through MDTraj (extra `orbitile[dynamics]`).

These files hold coordinates only; a topology (PDB, GRO, PSF, prmtop ...) names the elements.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError
from ..geometry import Geometry
from ..units import angstrom

DESCRIPTION = "geometries in DCD, XTC, TRR and NetCDF trajectories, with a topology; PDB files"
PATTERNS = ("*.dcd", "*.xtc", "*.trr", "*.nc", "*.pdb", "*.gro")
BINARY = True

_NANOMETRE = 10 * angstrom


def read_geometries(path: Path, topology: Path | None = None) -> DynamicsGeometries:
    """Frames of such a trajectory.

    Parameters
    ----------
    topology
        File that names the elements; PDB and GRO files are their own.

    Raises
    ------
    FileError
        When MDTraj is missing or cannot read the files, or an atom has no element.
    """
    try:
        import mdtraj
    except ImportError as error:
        raise FileError(f"{path.name}: needs the package mdtraj: pip install 'orbitile[dynamics]'") from error
    if topology is None and path.suffix.lower() not in (".pdb", ".gro"):
        raise FileError(f"{path.name}: names no elements; give a topology, such as --topology molecule.pdb")
    return DynamicsGeometries(mdtraj, path, topology or path)


class DynamicsGeometries:
    """`Geometries` of a trajectory that MDTraj reads; one frame is in memory at a time."""

    def __init__(self, mdtraj: Any, path: Path, topology: Path) -> None:
        self._mdtraj, self._path = mdtraj, path
        try:
            self._topology = mdtraj.load_topology(str(topology))
            with mdtraj.open(str(path)) as file:
                self._n_frames = len(file)
        except Exception as error:  # its readers raise whatever comes
            raise self._damaged(error) from error
        elements = [atom.element for atom in self._topology.atoms]
        unknown = [n for n, element in enumerate(elements) if element is None or element.number == 0]
        if unknown:
            raise FileError(f"{topology.name}: atom {unknown[0] + 1} has no element; use a PDB file that states it")
        self._numbers = np.array([element.number for element in elements])

    @property
    def name(self) -> str:
        """Name of the file."""
        return self._path.name

    def __len__(self) -> int:
        return self._n_frames

    def read(self, index: int) -> Geometry:
        """Read one frame."""
        try:
            frame = self._mdtraj.load_frame(str(self._path), index, top=self._topology)
        except Exception as error:
            raise self._damaged(error) from error
        return Geometry(self._numbers, frame.xyz[0].astype(np.float64) * _NANOMETRE)

    def _damaged(self, error: Exception) -> FileError:
        detail = f"{type(error).__name__}: {error}".split("\n")[0][:200]
        return FileError(f"{self._path.name}: MDTraj cannot read it with this topology ({detail})")
