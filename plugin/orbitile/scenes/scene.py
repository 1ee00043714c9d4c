"""What is drawn: balls, sticks and meshes. Nothing here knows of OpenGL.

Lengths in bohr. Colours are display (sRGB) values between 0 and 1, as they come out of a colour picker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import RenderError
from ..model.surface import Surface
from ..model.wavefunction import Wavefunction
from ..surfaces.colour_maps import RGB, colours_of
from .molecule import Molecule, check_array
from .palette import PALETTES, ColourPair, colours_of_fields

Floats = NDArray[np.float64]

GLASS, MATTE, PAPER = 1.0, 0.5, 0.0
"""Finish of a mesh. Glass: light, shade, highlights, and rims that are denser. Matte: colours stand for values, so they
darken a little towards the rim and in no other way (see `shaders/mesh_paint.glsl`). Paper: colours are as they are."""


OPACITY, VALUE_OPACITY = 0.65, 0.92
"""Of a lobe whose colours stand for its sign, and of a surface whose colours stand for values: the molecule is seen
through that, and little is mixed into its colours."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles with a colour and an opacity at each vertex.

    Attributes
    ----------
    vertices, normals : ndarray, shape (n, 3)
        Positions in bohr, unit normals.
    faces : ndarray of int, shape (m, 3)
    colours : ndarray, shape (n, 4)
        Red, green, blue and opacity.
    finish : float
        How light falls on it: `GLASS`, `MATTE` or `PAPER`.
    name : str
        What it shows, for people: "HOMO (orbital 21)".
    phases : ndarray of int, shape (n,)
        Sign of the field at each vertex, where the colours stand for it; otherwise of no length.
    facts : mapping
        What it shows, for files that have room for it; see `facts_of`.
    """

    vertices: NDArray[np.floating]
    faces: NDArray[np.integer]
    normals: NDArray[np.floating]
    colours: NDArray[np.floating]
    finish: float = GLASS
    name: str = ""
    phases: NDArray[np.integer] = field(default_factory=lambda: np.zeros(0, np.int8))
    facts: Mapping[str, str | float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = len(self.vertices)
        if len(self.phases):
            check_array(self.phases, (n,), "phases of a surface")
        check_array(self.vertices, (n, 3), "vertices of a surface")
        check_array(self.normals, (n, 3), "normals of a surface")
        check_array(self.colours, (n, 4), "colours of a surface")
        check_array(self.faces, (None, 3), "faces of a surface")
        if len(self.faces) and not (self.faces.min() >= 0 and self.faces.max() < n):
            raise RenderError(
                f"faces of a surface: expected indices from 0 to {n - 1}, got {self.faces.min()} to {self.faces.max()}"
            )

    @classmethod
    def of(cls, surface: Surface, positive: RGB, negative: RGB, opacity: float) -> Mesh:
        """A surface in the colours of its second field, or else with one colour for each sign of the field."""
        if surface.colouring is not None:
            alpha = np.full((len(surface.vertices), 1), opacity, np.float32)
            colours = np.hstack([colours_of(surface.colouring), alpha])
            finish = MATTE if surface.isovalue else PAPER
            shape = surface.vertices, surface.faces, surface.normals
            name = surface.quantity or surface.colouring.quantity
            return cls(*shape, colours, finish, name, facts=facts_of(surface))
        palette = np.array([[*negative, opacity], [*positive, opacity]], dtype=np.float32)
        colours = palette[(surface.phases > 0).astype(np.intp)]
        return cls(
            surface.vertices,
            surface.faces,
            surface.normals,
            colours,
            name=surface.quantity,
            phases=surface.phases,
            facts=facts_of(surface),
        )

    def parts(self) -> list[Mesh]:
        """Its lobes, those of each sign as a mesh that is named for it; itself where there is one sign, or none."""
        words = {phase: word for phase, word in ((1, "positive"), (-1, "negative")) if phase in self.phases}
        return [self._part(phase, word) for phase, word in words.items()] if len(words) > 1 else [self]

    def _part(self, phase: int, word: str) -> Mesh:
        kept = self.phases == phase
        index = np.cumsum(kept) - 1
        return replace(
            self,
            vertices=self.vertices[kept],
            faces=index[self.faces[kept[self.faces[:, 0]]]],
            normals=self.normals[kept],
            colours=self.colours[kept],
            phases=self.phases[kept],
            name=f"{self.name}, {word}".removeprefix(", "),
        )

    @property
    def colour(self) -> tuple[float, float, float, float] | None:
        """Red, green, blue and opacity, where they are the same everywhere."""
        if not len(self.colours) or (self.colours != self.colours[0]).any():
            return None
        red, green, blue, opacity = (float(channel) for channel in self.colours[0])
        return red, green, blue, opacity

    @property
    def is_opaque(self) -> bool:
        """Whether nothing can be seen through it."""
        return bool((self.colours[:, 3] >= 1).all())


def facts_of(surface: Surface) -> dict[str, str | float]:
    """What a surface shows: quantity, isovalue, unit, and the range of its colours."""
    facts: dict[str, str | float] = {
        "quantity": " ".join(surface.quantity.split()),
        "isovalue": float(surface.isovalue),
        "unit": " ".join(surface.unit.split()),
    }
    scale = surface.colouring
    if scale is not None:
        facts["colours"] = f"{scale.quantity} from {scale.low:g} to {scale.high:g} {scale.unit}"
    return facts


@dataclass(frozen=True, eq=False)
class Scene:
    """All that is drawn.

    Attributes
    ----------
    molecule : Molecule
    meshes : tuple of Mesh
    lit : bool
        False for flat colours without light and shade, and opacity that does not grow towards the rim.
    """

    molecule: Molecule = field(default_factory=Molecule)
    meshes: tuple[Mesh, ...] = ()
    lit: bool = True

    def extent(self) -> tuple[Floats, Floats]:
        """Spheres that together hold all that is drawn: centres, shape (n, 3), and radii, shape (n,), in bohr."""
        centres = [self.molecule.centres, *(mesh.vertices for mesh in self.meshes)]
        radii = [self.molecule.radii, *(np.zeros(len(mesh.vertices)) for mesh in self.meshes)]
        return np.concatenate(centres).astype(np.float64), np.concatenate(radii).astype(np.float64)


def make_scene(
    surfaces: Sequence[Surface],
    wavefunction: Wavefunction | None,
    colours: Sequence[tuple[RGB, RGB]],
    opacities: Sequence[float],
) -> Scene:
    """The scene of surfaces and, where there is one, the molecule of a wavefunction.

    Each surface has a colour for its positive and its negative part, and an opacity. The latter is that of a lobe,
    whose front and back are two walls: two layers of opacity w let through (1 - w)^2.
    """
    meshes = tuple(
        Mesh.of(surface, *pair, 1 - np.sqrt(1 - opacity))
        for surface, pair, opacity in zip(surfaces, colours, opacities, strict=True)
        if len(surface.faces) and opacity > 0
    )
    molecule = Molecule() if wavefunction is None else Molecule.of(wavefunction)
    return Scene(molecule.showing([mesh.vertices for mesh in meshes]), meshes)


def scene_of(
    surfaces: Surface | Sequence[Surface] = (),
    wavefunction: Wavefunction | None = None,
    *,
    colours: ColourPair | Sequence[ColourPair] = PALETTES,
    opacity: float | None = None,
) -> Scene:
    """The scene of surfaces and a molecule, for `render` and for files that hold scenes.

    Parameters
    ----------
    surfaces : Surface, or sequence of Surface
        What is to be seen; () for the bare molecule.
    wavefunction : Wavefunction, optional
        Its atoms are balls and sticks.
    colours
        Of the parts where the field is positive and negative: names, hexadecimal strings, or three numbers from 0 to 1.
        Several such pairs are for several fields: surfaces of one quantity share a pair.
    opacity : float, optional
        Of a lobe seen face on, from 0 to 1: its front and its back together. By default 0.65, and 0.92 for a surface
        that is coloured by a second field: the molecule can be seen through it. With 1 its colours are those of the
        legend.

    Raises
    ------
    RenderError
        When an argument does not fit, or nothing would be seen.
    """
    drawn = checked_surfaces(surfaces)
    if wavefunction is not None and not isinstance(wavefunction, Wavefunction):
        raise RenderError(f"wavefunction of a scene: expected a Wavefunction, got {type(wavefunction).__name__}")
    pairs = colours_of_fields(drawn, colours)
    if opacity is not None and (
        isinstance(opacity, bool) or not isinstance(opacity, (int, float, np.number)) or not 0 <= opacity <= 1
    ):
        raise RenderError(f"opacity: expected a number from 0 to 1, got {opacity!r}")
    usual = [
        OPACITY if surface.colouring is None else VALUE_OPACITY if surface.isovalue else 1.0 for surface in drawn
    ]  # a plane hides nothing
    scene = make_scene(drawn, wavefunction, pairs, usual if opacity is None else [float(opacity)] * len(drawn))
    if not len(scene.extent()[0]):
        raise RenderError("nothing to draw: give a surface that has triangles, or a wavefunction for its molecule")
    return scene


def checked_surfaces(surfaces: Surface | Sequence[Surface]) -> tuple[Surface, ...]:
    """The surfaces of a scene, of which there may be a single one.

    Raises
    ------
    RenderError
        When they are something else.
    """
    if isinstance(surfaces, Surface):
        return (surfaces,)
    drawn = tuple(surfaces) if isinstance(surfaces, Iterable) else (surfaces,)
    for surface in drawn:
        if not isinstance(surface, Surface):
            raise RenderError(
                f"surfaces of a scene: expected Surface objects (see `orbitile.isosurface`), got "
                f"{type(surface).__name__}"
            )
    return drawn
