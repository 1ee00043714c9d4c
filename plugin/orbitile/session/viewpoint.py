"""What a viewer shows beside the surfaces, and from where: what a picture of the same takes over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..model.geometry import Geometry
from ..model.wavefunction import Wavefunction
from ..renderer import Camera, Margins, default_camera
from ..scenes import Mesh, Molecule, Scene
from ..surfaces.colour_maps import RGB

_WINDOW = (1200, 900)
"""Width and height of a picture in pixels, where there is no window."""


@dataclass(frozen=True, eq=False)
class Viewpoint:
    """From where a viewer shows what.

    Attributes
    ----------
    camera : Camera
        With an eye.
    molecule : Molecule
        All atoms and bonds that can be seen, as large and in the colours that they have in the viewer.
    centre : ndarray, shape (3,)
        About which the user turns the view, in bohr.
    background : (red, green, blue)
        From 0 to 1.
    size : (int, int)
        Width and height of the view in pixels.
    paths : ndarray, shape (n_frames, n_atoms, 3)
        Where the atoms are at each frame, in bohr; without frames where they are not asked for.
    left_out : str
        What can be seen and is not told of here, in words, such as cartoons; empty for nothing.
    """

    camera: Camera
    molecule: Molecule
    centre: NDArray[np.float64]
    background: RGB = (1.0, 1.0, 1.0)
    size: tuple[int, int] = _WINDOW
    paths: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0, 3)))
    left_out: str = ""


def default_viewpoint(
    molecules: Sequence[Wavefunction | Geometry],
    meshes: Sequence[Mesh],
    aspect: float,
    free: Margins,
    directions: NDArray[np.float64] | None = None,
) -> Viewpoint:
    """A viewpoint from which all can be seen, for a viewer that does not say where it is.

    Parameters
    ----------
    molecules
        Whose atoms are shown.
    meshes
        Surfaces that are shown with them.
    aspect
        Width over height of the picture.
    free
        What stays free at its edges.
    directions
        See `Viewer.directions`.

    Raises
    ------
    RenderError
        When there is neither.
    """
    molecule = _joined([Molecule.of(atoms) for atoms in molecules])
    scene = Scene(molecule, tuple(meshes))
    points = molecule.centres if len(molecule.centres) else scene.extent()[0]
    camera = default_camera(points) if directions is None else Camera(directions)
    camera = camera.framed(scene, aspect, free)
    return Viewpoint(camera, molecule, points.mean(axis=0))


def _joined(molecules: Sequence[Molecule]) -> Molecule:
    """Several molecules as one."""
    if len(molecules) == 1:
        return molecules[0]
    starts = np.cumsum([0] + [len(molecule.centres) for molecule in molecules])
    return Molecule(
        np.concatenate([np.zeros((0, 3)), *(molecule.centres for molecule in molecules)]),
        np.concatenate([np.zeros(0), *(molecule.radii for molecule in molecules)]),
        np.concatenate([np.zeros((0, 3)), *(molecule.colours for molecule in molecules)]),
        np.concatenate(
            [
                np.zeros((0, 2), np.int64),
                *(molecule.bonds + start for molecule, start in zip(molecules, starts[:-1], strict=True)),
            ]
        ),
    )
