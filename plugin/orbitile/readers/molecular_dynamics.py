"""Geometries in trajectories of molecular dynamics, through MDTraj (extra `orbitile[dynamics]`).

These files hold coordinates only; a topology (PDB, GRO, PSF, prmtop ...) names the elements.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..base.arrays import Reals
from ..base.errors import FileError, OrbitileError
from ..base.packages import install_command
from ..files.plain import PlainFile
from ..model.geometry import Geometry
from ..model.units import angstrom
from ._isolation import isolated

DESCRIPTION = "geometries in DCD, XTC, TRR and NetCDF files with a topology, in PDB and GRO files without one"
PATTERNS = ("*.dcd", "*.xtc", "*.trr", "*.nc", "*.pdb", "*.gro")
KIND = "geometries"
BINARY = True

_UNCOUNTED = ".gro"

_NANOMETRE = 10 * angstrom


def read(path: Path, topology: Path | None = None) -> DynamicsGeometries:
    """Frames of such a trajectory; PDB and GRO files name their elements, others need a topology."""
    if topology is None and path.suffix.lower() not in (".pdb", ".gro"):
        raise FileError(f"{path.name}: names no elements; give a topology, such as --topology molecule.pdb")
    return DynamicsGeometries(path, topology or path)


class DynamicsPositions:
    """Positions of all atoms along a trajectory, whose elements are known from elsewhere; a frame in memory at a time.

    Parameters
    ----------
    path
        A DCD, XTC, TRR or NetCDF file, or another one that MDTraj reads.
    n_atoms
        That it has.

    Raises
    ------
    FileError
        When it cannot be read.
    """

    def __init__(self, path: Path, n_atoms: int) -> None:
        self.name, self._file, self._n_atoms = path.name, PlainFile(path), n_atoms
        self._n_frames: int = self._asked(n_frames_of)

    def __len__(self) -> int:
        return self._n_frames

    def read(self, index: int) -> tuple[Reals, Reals | None]:
        """Positions in bohr, shape (n_atoms, 3), and the vectors of a periodic box as rows, None without one.

        Raises
        ------
        FileError
            When the frame is damaged, or has another number of atoms.
        """
        positions, box = self._asked(frame_of, self._n_atoms, index)
        return positions * _NANOMETRE, None if box is None else box * _NANOMETRE

    def _asked(self, function: Callable[..., Any], *arguments: int) -> Any:
        path = self._file.path
        return isolated(
            function,
            str(path),
            *arguments,
            name=self.name,
            library="MDTraj",
            imports="mdtraj",
            size=path.stat().st_size,
        )


def n_frames_of(path: str) -> int:
    """The number of frames of a trajectory."""
    _require_mdtraj(path)
    return _n_frames(path)


def frame_of(path: str, n_atoms: int, index: int) -> tuple[Reals, Reals | None]:
    """Positions of so many atoms in a frame, and the vectors of its box or None, in nanometres."""
    import mdtraj

    found = mdtraj.load_frame(path, index, top=_nameless(n_atoms))
    if not len(found):
        raise FileError(f"{Path(path).name}: frame {index + 1} is missing: cut off, or damaged before it")
    box = found.unitcell_vectors
    return found.xyz[0].astype(np.float64), None if box is None else box[0].astype(np.float64)


@lru_cache(maxsize=1)
def _nameless(n_atoms: int) -> Any:
    """A topology of so many atoms, which MDTraj asks for."""
    import mdtraj

    topology = mdtraj.Topology()
    residue = topology.add_residue("", topology.add_chain())
    for _ in range(n_atoms):
        topology.add_atom("", mdtraj.element.virtual, residue)
    return topology


def _require_mdtraj(path: str) -> None:
    if find_spec("mdtraj") is None:
        raise FileError(f"{Path(path).name}: needs the package mdtraj: {install_command('mdtraj')}")


class DynamicsGeometries:
    """`Geometries` of a trajectory that MDTraj reads; one frame is in memory at a time.

    MDTraj crashes on some damaged files, so it is called in a process of its own.
    """

    def __init__(self, path: Path, topology: Path) -> None:
        self._path = path
        self._file, self._topology = PlainFile(path), PlainFile(topology)
        numbers: list[int]
        self._n_frames: int
        numbers, self._n_frames = self._asked(contents_of)
        unknown = [n for n, number in enumerate(numbers) if number < 1]
        if unknown:
            raise FileError(f"{topology.name}: atom {unknown[0] + 1} has no element; use a PDB file that states it")
        self._numbers = np.array(numbers, np.int64)

    @property
    def name(self) -> str:
        """Name of the file."""
        return self._path.name

    def __len__(self) -> int:
        return self._n_frames

    def read(self, index: int) -> Geometry:
        """Read one frame."""
        positions = self._asked(positions_of, index)
        try:
            return Geometry(self._numbers, positions * _NANOMETRE)
        except OrbitileError as error:
            raise FileError(f"{self._path.name}, frame {index + 1}: {error}") from error

    def _asked(self, function: Callable[..., Any], *arguments: int) -> Any:
        try:
            size = sum(file.path.stat().st_size for file in (self._file, self._topology))
        except OSError as error:
            raise FileError(f"{self._path}: cannot be read ({error.strerror})") from error
        paths = str(self._file.path), str(self._topology.path)
        return isolated(
            function, *paths, *arguments, name=self._path.name, library="MDTraj", imports="mdtraj", size=size
        )


def contents_of(path: str, topology: str) -> tuple[list[int], int]:
    """Atomic numbers, 0 where there is no element, and the number of frames."""
    _require_mdtraj(path)
    elements = [atom.element for atom in _topology(topology, Path(topology).stat().st_mtime_ns).atoms]
    return [0 if element is None else int(element.number) for element in elements], _n_frames(path)


def _n_frames(path: str) -> int:
    import mdtraj

    if path.lower().endswith(_UNCOUNTED):
        return len(_whole(path, Path(path).stat().st_mtime_ns))
    with mdtraj.open(path) as file:
        return len(file)


def positions_of(path: str, topology: str, index: int) -> Reals:
    """Positions of the atoms in a frame, shape (n_atoms, 3), in nanometres."""
    import mdtraj

    if path.lower().endswith(_UNCOUNTED):
        found = _whole(path, Path(path).stat().st_mtime_ns)[index : index + 1]
    else:
        found = mdtraj.load_frame(path, index, top=_topology(topology, Path(topology).stat().st_mtime_ns)).xyz
    if not len(found):
        raise FileError(f"{Path(path).name}: frame {index + 1} is missing: cut off, or damaged before it")
    return found[0].astype(np.float64)


@lru_cache(maxsize=1)
def _whole(path: str, time: int) -> Any:
    """Positions of all frames of a file of which MDTraj neither counts nor finds them."""
    import mdtraj

    return mdtraj.load(path).xyz


@lru_cache(maxsize=1)
def _topology(path: str, time: int) -> Any:
    """A topology, read once for all frames as long as the file is the same."""
    import mdtraj

    return mdtraj.load_topology(path)
