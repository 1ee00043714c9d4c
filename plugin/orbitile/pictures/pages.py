"""What pages and views of notebooks show of a wavefunction: its orbitals to choose from, slides of its fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import NoSurface
from ..evaluation.requests import field_of
from ..fields import References, as_drawn
from ..model.geometry import formula
from ..model.report import Drawing
from ..model.surface import Surface
from ..model.wavefunction import Wavefunction
from ..renderer import cell_spacing, default_camera, round_lattice
from ..scenes import PALETTES, Mesh, scene_of
from ..scenes.scene import ColourPair, colours_of_fields
from ..scenes.web import Choice, Document, Slide, legend_of
from .computing import computing_of, why_not_computed
from .films import Shot
from .orbitals import Level, level_of, own_levels_of
from .orbitals import field_of as name_of
from .request import MOST_FACES, Request
from .surface import FoundSurface, Listener, Sampling, is_free, lattice_for, sampling
from .words import unit_in_print

_PAGE = 900
"""Pixels that a molecule takes in a page, about."""

_ISOVALUES = (1.0, 0.5, 2.0)
"""Isovalues that a page offers, in units of the one that is asked for, which comes first."""

MOST_LISTED = 600
"""Orbitals of one spin that are listed, those about the frontier."""


OF_FRAMES = "Orbitals have the names of the first frame; energies and occupations are those of the frame shown."
"""Note of a view of a trajectory."""


def choices_of(wavefunction: Wavefunction) -> tuple[Choice, ...]:
    """The orbitals of a wavefunction, from high to low; none of free atoms."""
    if wavefunction.promolecule:
        return ()
    found: list[Choice] = []
    levels = own_levels_of(wavefunction)
    for those in levels:
        labels = _labels(those)
        about_frontier = sorted(those, key=lambda level: level.place, reverse=True)
        lowest = 1 - MOST_LISTED // 2
        found += [
            Choice(
                name_of(wavefunction, level),
                title=level.symmetry if level.scheme else level.frontier_name,
                number=level.index + 1,
                spin=level.spin if len(levels) > 1 else "",
                energy=level.energy,
                occupation=level.occupation,
                label="" if level.scheme else labels[level.index],
            )
            for level in about_frontier
            if lowest <= level.place < lowest + MOST_LISTED
        ]
    return tuple(found)


def _labels(levels: list[Level]) -> list[str]:
    """What the file calls each orbital, or its symmetry; nothing where all are called the same."""
    labels = [level.label or level.symmetry for level in levels]
    return labels if len(set(labels)) > 1 else [""] * len(labels)


def named_as_listed(wavefunction: Wavefunction, field: str) -> str:
    """The name by which an orbital is listed, `mo:21` for `homo`; other fields keep theirs."""
    level = _level(wavefunction, field)
    return field.strip() if level is None else name_of(wavefunction, level)


def title_of(wavefunction: Wavefunction, surface: Surface, field: str) -> str:
    """What a surface shows, for people."""
    level = _level(wavefunction, field)
    name = "" if level is None else level.frontier_name
    mark = f"{name}, " if name and name not in surface.quantity else ""
    colour = f", coloured by {surface.colouring.quantity}" if surface.colouring is not None else ""
    return f"{mark}{surface.quantity}{colour}"


def _level(wavefunction: Wavefunction, field: str) -> Level | None:
    return None if wavefunction.promolecule else level_of(wavefunction, own_levels_of(wavefunction), field)


def slide_of(
    surface: Surface,
    wavefunction: Wavefunction | None,
    field: str = "",
    color_by: str = "",
    *,
    colours: ColourPair | Sequence[ColourPair] = PALETTES,
    opacity: float | None = None,
    drawings: Sequence[Mesh | Drawing] = (),
) -> Slide:
    """The slide of a surface and the molecule of a wavefunction, where there is one.

    Colours that are customary for the field, as those of the phases of complex orbitals, need no name in it.
    """
    pair = colours_of_fields([surface], colours)[0]
    scene = scene_of(surface, wavefunction, colours=pair, opacity=opacity, drawings=drawings)
    if wavefunction is not None:
        title = title_of(wavefunction, surface, field)
        color_by = "" if color_by == as_drawn(field, "", wavefunction)[1] else color_by
        field = named_as_listed(wavefunction, field)
    else:
        title = surface.quantity
    legend = legend_of(replace(surface, unit=unit_in_print(surface.unit)), pair)
    return Slide(scene, field, color_by, title, surface.isovalue, legends=(legend,))


def bare_slide(
    wavefunction: Wavefunction, field: str = "", remark: str = "", drawings: Sequence[Mesh | Drawing] = ()
) -> Slide:
    """The molecule and what is drawn at it, and why there is no surface."""
    listed = named_as_listed(wavefunction, field) if field else ""
    return Slide(scene_of((), wavefunction, drawings=drawings), listed, title=field, remark=remark)


def slides_of(
    requests: Sequence[Request],
    wavefunction: Wavefunction,
    references: References,
    listener: Listener,
    *,
    colours: ColourPair | Sequence[ColourPair] = PALETTES,
    opacity: float | None = None,
    drawings: Sequence[Mesh | Drawing] = (),
) -> tuple[list[Slide], list[FoundSurface]]:
    """Slides of several fields, each at some isovalues about its own; at one alone where a second field colours it.

    Parameters
    ----------
    requests
        As `pictures.surface.drawn` gives them.
    wavefunction, references, listener
    colours, opacity, drawings
        As for `orbitile.render`.

    Returns
    -------
    slides
        The one that is asked for before the others of its field.
    surfaces
        Those that are asked for.
    """
    slides: list[Slide] = []
    surfaces: list[FoundSurface] = []
    for request in requests:
        asked = sampling(replace(request, most_faces=MOST_FACES), wavefunction, references, listener)
        shares = (1.0,) if request.color_by else _ISOVALUES
        least = asked.isovalue * min(shares)
        lattice = lattice_for(request, wavefunction, asked.field, least)
        if is_free(request) and not asked.field.is_smooth:
            extent = float((lattice.spacings * (np.array(lattice.shape) - 1)).max())
            lattice = round_lattice(lattice, cell_spacing(extent / _PAGE))
        asked = replace(asked, lattice=lattice)
        with listener.following(asked.field.quantity) as progress:
            volume = asked.volume(progress)
        for share in shares:
            try:
                surface, _ = replace(asked, isovalue=asked.isovalue * share).surface_in(volume)
            except NoSurface:
                if share == 1:
                    raise
                continue
            if share == 1:
                asked.warn_if_cut(surface, listener)
            surface = asked.coloured(surface)
            pair = colours_of_fields([surface], colours)[0]
            looks: dict[str, Any] = {"colours": pair, "opacity": opacity, "drawings": drawings}
            slides.append(slide_of(surface, wavefunction, request.field, request.color_by, **looks))
            surfaces += [FoundSurface(asked, surface)] if share == 1 else []
    return slides, surfaces


def document_of_shots(shots: Sequence[Shot], request: Request, field: str = "") -> Document:
    """A document of the shots of a film: a frame of each, on lattices as a request says.

    Parameters
    ----------
    shots
    request
    field
        As `films.Shots.field`: where it is there, the page computes other orbitals of the frames too.
    """
    first = shots[0].wavefunction
    slides: list[Slide] = []
    for frame, shot in enumerate(shots):
        shown = field_of(shot.wavefunction, shot.field)
        lattice = lattice_for(request, shot.wavefunction, shown, shot.isovalue)
        title = shown.quantity
        try:
            surface = Sampling(request, shot.wavefunction, shown, shot.isovalue, lattice).surface()
            slide = slide_of(surface, shot.wavefunction)
            title = title_of(first, surface, field) if field else title
        except NoSurface as error:
            slide = bare_slide(shot.wavefunction, remark=str(error))
        slides.append(replace(slide, field=named_as_listed(first, field) or "shown", title=title, frame=frame))
    document = document_of(slides, first, len(slides))
    if not field:
        return replace(document, choices=())
    return with_computing(document, [shot.wavefunction for shot in shots])


def document_of(slides: Sequence[Slide], wavefunction: Wavefunction | None, n_frames: int = 1) -> Document:
    """A document of slides, with the orbitals of a wavefunction to choose from and whatever else the slides show."""
    scene = slides[0].scene
    choices: tuple[Choice, ...]
    if wavefunction is None:
        title, choices, atoms_at = slides[0].title, (), scene.extent()[0]
    else:
        title, choices = wavefunction.title.strip() or formula(wavefunction), choices_of(wavefunction)
        atoms_at = wavefunction.positions
    drawn_at = scene.molecule.centres if len(scene.molecule.centres) else atoms_at
    n_atoms = 0 if wavefunction is None else wavefunction.n_atoms  # beyond are images of them, and corners of a cell
    atoms = tuple(f"{symbol}{n}" for n, symbol in enumerate(scene.molecule.symbols[:n_atoms], 1))
    return Document(
        title,
        tuple(slides),
        with_others(choices, slides),
        atoms,
        n_frames,
        default_camera(_few(atoms_at)).rotation,
        (drawn_at.min(axis=0) + drawn_at.max(axis=0)) / 2,
    )


def with_computing(
    document: Document,
    wavefunctions: Sequence[Wavefunction],
    colours: ColourPair | Sequence[ColourPair] = PALETTES,
    opacity: float | None = None,
) -> Document:
    """A document whose page computes orbitals and densities of its frames itself, or says why it does not.

    Of what is computed one slide a frame is kept, for browsers that cannot compute. Densities come to the choices; see
    `pictures.computing` for the rule of what a page computes.
    """
    computing = computing_of(wavefunctions, document.middle, colours, opacity)
    if not computing:
        return replace(document, note=why_not_computed(wavefunctions))
    listed = {(choice.field, choice.color_by) for choice in document.choices}
    first = computing[0]
    new = [Choice(one.field, title=one.title) for one in first.sums if (one.field, "") not in listed]
    computed = {*first.orbitals, *(one.field for one in first.sums)}
    slides: dict[object, Slide] = {}
    for slide in document.slides:
        in_page = slide.field in computed and not slide.color_by
        slides.setdefault((slide.field, slide.frame) if in_page else len(slides), slide)
    document = replace(
        document, computing=computing, choices=(*new, *document.choices), slides=tuple(slides.values()), note=""
    )
    return document if len(computing) == 1 else _with_levels(document, wavefunctions)


def _with_levels(document: Document, wavefunctions: Sequence[Wavefunction]) -> Document:
    """A document with the energies and occupations of its choices in each frame."""
    found = np.stack([levels_in(wavefunction, document.choices) for wavefunction in wavefunctions], axis=1)
    return replace(document, energies=found[0], occupations=found[1], note=OF_FRAMES)


def levels_in(wavefunction: Wavefunction, choices: Sequence[Choice]) -> NDArray[np.float32]:
    """Energies and occupations of choices in a frame, shape (2, n_choices), in hartree and electrons; NaN for none."""
    found = np.full((2, len(choices)), np.nan, np.float32)
    there = {name_of(wavefunction, level): level for those in own_levels_of(wavefunction) for level in those}
    for at, choice in enumerate(choices):
        if choice.field in there and not choice.color_by:
            found[:, at] = there[choice.field].energy, there[choice.field].occupation
    return found


def with_others(choices: tuple[Choice, ...], slides: Sequence[Slide]) -> tuple[Choice, ...]:
    """Choices, before them those slides that are none of them."""
    listed = {(choice.field, choice.color_by) for choice in choices}
    others = {(slide.field, slide.color_by): slide.title for slide in slides}
    new = [Choice(*key, title=title) for key, title in others.items() if key not in listed and title]
    return (*new, *choices)


def _few(where: NDArray[np.float64], most: int = 20_000) -> NDArray[np.float64]:
    return where[:: max(1, len(where) // most)]
