"""What PyMOL is made to show: molecules, maps, surfaces. Here, and only here, lengths become Angstrom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...colouring import SCALE, colours_of
from ...elements import SYMBOLS
from ...surface import Colouring, Surface, lobe
from ...units import angstrom
from ...volume import Volume
from ...wavefunction import Wavefunction

Colour = tuple[float, float, float]

_MARK = "orbitile:"
"""Begins the title of an object that was loaded from a wavefunction; the rest is the path of its file. A title stays
with an object when it is renamed, and in a saved session."""

_PIECE = 5000
"""Triangles or vertices handled at once."""

_BEGIN, _END, _VERTEX, _NORMAL, _COLOR, _TRIANGLES = 2.0, 3.0, 4.0, 5.0, 6.0, 4.0  # of pymol.cgo


def add_molecule(cmd: Any, name: str, wavefunction: Wavefunction) -> None:
    """Load the atoms of a wavefunction as an object that remembers the file they came from.

    The geometries of an optimisation become states; the one that the orbitals belong to is shown.
    """
    real = wavefunction.atomic_numbers > 0
    symbols = [SYMBOLS[n] for n in wavefunction.atomic_numbers[real]]
    title = wavefunction.title.replace("\n", " ")
    lines: list[str] = []
    for positions in wavefunction.geometries[:, real] / angstrom:
        lines += [str(len(symbols)), title]
        lines += [f"{s} {x:.8f} {y:.8f} {z:.8f}" for s, (x, y, z) in zip(symbols, positions, strict=True)]
    cmd.load_raw("\n".join(lines) + "\n", "xyz", name, 1, zoom=0)
    if len(wavefunction.geometries) > 1:
        cmd.set("state", wavefunction.geometry + 1)
        cmd.set("state", wavefunction.geometry + 1, name)
        cmd.rebond(name, wavefunction.geometry + 1)
    for state in {1, wavefunction.geometry + 1}:
        cmd.set_title(name, state, _MARK + wavefunction.source)
    cmd.show_as("sticks spheres", name)
    for setting, value in (("stick_radius", 0.12), ("sphere_scale", 0.22)):
        cmd.set(setting, value, name)


def source_of(cmd: Any, name: str) -> str | None:
    """File of the wavefunction that an object was loaded from, or None."""
    title = str(cmd.get_title(name, 1) or "")
    return title[len(_MARK) :] if title.startswith(_MARK) else None


def state_of_orbitals(cmd: Any, name: str) -> int:
    """State whose geometry the orbitals of an object belong to."""
    if name not in cmd.get_names("objects"):  # it was deleted or renamed, its surfaces were not
        return 1
    states = range(cmd.count_states(name), 0, -1)
    return next((state for state in states if str(cmd.get_title(name, state) or "").startswith(_MARK)), 1)


def molecules(cmd: Any) -> list[str]:
    """Names of the objects that have a wavefunction."""
    return [name for name in cmd.get_names_of_type("object:molecule") if source_of(cmd, name) is not None]


def put_map(cmd: Any, name: str, volume: Volume) -> None:
    """Make or replace a map. Values of a map of equal lattice are written into its own memory.

    PyMOL's bricks are orthogonal; other lattices go through an MRC file in memory.
    """
    if _write_map(cmd, name, volume):
        return
    cmd.delete(name)
    if _is_brick(volume):
        from chempy.brick import Brick

        values, (origin, spacing) = np.asarray(volume.values, np.float32), _brick(volume)
        brick = Brick()  # its own from_numpy makes the values double, at twice the time for large maps
        brick.lvl, brick.dim = values, list(values.shape)
        brick.grid, brick.origin = spacing.tolist(), origin.tolist()
        brick.range = (spacing * (np.array(values.shape) - 1)).tolist()
        cmd.load_brick(brick, name, 1, zoom=0)
        return
    normalize = cmd.get("normalize_ccp4_maps")
    cmd.set("normalize_ccp4_maps", 0)
    try:
        cmd.load_raw(_mrc_bytes(volume), "mrc", name, 1, zoom=0)
    finally:
        cmd.set("normalize_ccp4_maps", normalize)


def _mrc_bytes(volume: Volume) -> bytes:
    from tempfile import TemporaryDirectory

    from ...exporters import save

    with TemporaryDirectory(prefix="orbitile-") as folder:
        path = Path(folder) / "map.mrc"
        save(volume, path)
        return path.read_bytes()


def _is_brick(volume: Volume) -> bool:
    axes = volume.lattice.axes
    return bool(np.array_equal(axes, np.diag(np.diag(axes))) and np.all(np.diag(axes) > 0))


def _brick(volume: Volume) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Origin and spacing in Angstrom."""
    return volume.lattice.origin / angstrom, np.diag(volume.lattice.axes) / angstrom


def _write_map(cmd: Any, name: str, volume: Volume) -> bool:
    """Write values into the memory of a map of equal lattice; says whether there is one."""
    if not _is_brick(volume) or name not in cmd.get_names_of_type("object:map"):
        return False
    values, (origin, spacing) = volume.values, _brick(volume)
    low, high = (np.array(corner) for corner in cmd.get_extent(name))
    if not np.allclose(low, origin, atol=1e-4) or not np.allclose(
        high, origin + spacing * (np.array(values.shape) - 1), atol=1e-4
    ):
        return False
    try:
        field = cmd.get_volume_field(name, 1, 0)
        if field.shape != values.shape or not field.flags.writeable:
            return False
        field[...] = values
    except (AttributeError, ValueError, RuntimeError, TypeError):  # marked experimental: any release may change it
        return False
    return True


def put_drawing(cmd: Any, name: str, instructions: list[float], transparency: float, state: int = 1) -> None:
    """Make or replace a compiled graphics object; in a state other than the first it is shown in that one only."""
    cmd.delete(name)
    cmd.load_cgo(instructions, name, state, zoom=0)
    cmd.set("cgo_transparency", transparency, name)


def put_scale(cmd: Any, name: str, colouring: Colouring) -> None:
    """Make or replace a colour ramp that explains the colours of a surface; PyMOL can colour by it too."""
    values = np.linspace(colouring.low, colouring.high, len(SCALE)).tolist()
    cmd.delete(name)
    cmd.ramp_new(name, "none", values, [list(colour) for colour in SCALE])


def drawing(surface: Surface, colours: tuple[Colour, Colour]) -> list[float]:
    """Drawing instructions of a surface: colours, and normal and position of each corner of each triangle.

    PyMOL wants a list of Python's numbers. About six triangles share a vertex, so its numbers are made once and then
    referred to, which is three times as fast. The list grows in pieces, so that in a thread it does not hold up others.
    """
    instructions: list[float] = []
    for phase, colour in zip((1, -1), colours, strict=True):
        part = lobe(surface, phase)
        if len(part.faces) == 0:
            continue
        inked = part.colouring is not None
        numbers = np.empty((len(part.vertices), 12 if inked else 8), object)
        numbers[:, -8], numbers[:, -4] = _NORMAL, _VERTEX
        if part.colouring is not None:
            numbers[:, 0] = _COLOR
            numbers[:, 1:4] = colours_of(part.colouring)
        for first in range(0, len(numbers), _PIECE):
            piece = slice(first, first + _PIECE)
            numbers[piece, -7:-4] = part.normals[piece]
            numbers[piece, -3:] = part.vertices[piece] / angstrom
        instructions += [_BEGIN, _TRIANGLES, _COLOR, *colour]
        for first in range(0, len(part.faces), _PIECE):
            instructions += numbers[part.faces[first : first + _PIECE].reshape(-1)].reshape(-1).tolist()
        instructions.append(_END)
    return instructions
