"""Commands that show orbitals and other fields."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...base.arguments import TEXT, Argument, one_of
from ...base.errors import OrbitileError
from ...fields import as_drawn
from ...pictures.request import IN_CONSOLES, ISOVALUE, QUALITY
from ...surfaces.isovalue import CUT, reaches_faces
from ..declaration import Answer, command
from ..presets import PRESETS, preset_named, surfaces_of
from ..session import Session
from ..shown import Shown
from ..source import is_promolecule, is_volume_file
from ._arguments import OBJECT, SURFACE

TOPIC, PRIORITY = "orbitals and other fields", 60


def _with_density(session: Session, name: str) -> str:
    """The molecule of this name; an object without a wavefunction becomes its free atoms, unless it is live."""
    source, live = session.host.molecules().get(name, ""), session.live.now
    is_live = live is not None and live.molecule == name
    if not is_live and name in session.host.structures() and (not source or is_promolecule(source)):
        session.adopt_free_atoms(name)
    return session.molecule(name)


def show_field(session: Session, molecule: str, field: str, color_by: str = "", **options: Any) -> Answer:
    """Show a field of a molecule, and wait until it is there; the answer has the name of its surface.

    Parameters
    ----------
    session, molecule, field, color_by
    options
        Further ones of `pictures.request.IN_CONSOLES` by name.

    Raises
    ------
    OrbitileError
        When there is no such field, it has no such surface, or the molecule is gone.
    """
    source = session.source(molecule)
    names = [name for name in (field, *as_drawn(field, color_by)) if name]
    session.computing.aside(lambda: session.computing.wavefunctions.require(source, names))
    known = None if is_volume_file(source) else session.computing.wavefunctions.get(source)
    drawn, coloured_by = as_drawn(field, color_by, known)
    request = session.request(molecule, drawn, color_by=coloured_by, **options)
    found = session.computing.sampled(request)
    if request.frame is not None and found.surface.colouring is not None and request.color_range is None:
        scale = found.surface.colouring  # all frames are to have this one's
        request = replace(request, color_range=max(abs(scale.low), abs(scale.high)))
        found = session.computing.sampled(request)
    molecule = session.shelf.molecule_now(molecule)  # a window that waits can be used
    if not session.is_of(molecule, source):
        raise OrbitileError(f"{molecule} was deleted or reloaded while its {field} was computed; ask for it again")
    base = session.show(Shown(molecule, request, found.isovalue), found)
    cut = f"; {CUT}" if reaches_faces(found.volume, found.isovalue) else ""
    return Answer(base, f'"{base}", {found.volume.quantity}, isovalue {found.isovalue:.4g} {found.volume.unit}{cut}')


@command(
    "Show a molecular orbital as a map and an isosurface in two colours, one for each sign.",
    OBJECT,
    Argument(
        "orbital",
        TEXT,
        "homo, lumo, homo-1, lumo+1, or a number counted from 1; with :alpha or :beta",
        "homo",
        "homo",
        completes="fields",
    ),
    ISOVALUE,
    QUALITY,
    examples=("orb_mo benzene, lumo", "orb_mo benzene, 17:beta, 0.03"),
    related=("orb_load", "orb_next", "orb_prev", "orb_iso", "orb_field"),
)
def orb_mo(session: Session, name: str, orbital: str, isovalue: float | None, quality: str) -> Answer:
    wanted = orbital.lower()
    wanted = f"mo:{wanted}" if wanted[:1].isdigit() else wanted
    return show_field(session, session.molecule(name), wanted, isovalue=isovalue, quality=quality)


@command(
    "Show a field of a molecule as a map and an isosurface, in two colours or coloured by a second field.",
    replace(OBJECT, required=True, otherwise=""),
    Argument(
        "field",
        TEXT,
        "homo, lumo+1, mo:17:beta, density, spin, laplacian, elf, esp, ...",
        required=True,
        completes="fields",
    ),
    *IN_CONSOLES,
    examples=("orb_field benzene, homo-1, 0.03, fine", "orb_field benzene, density, 0.001, color_by=esp"),
    related=("orb_mo", "orb_iso", "orb_color", "orb_next"),
)
def orb_field(session: Session, name: str, field: str, *given: Any) -> Answer:
    options = {option.name: value for option, value in zip(IN_CONSOLES, given, strict=True)}
    return show_field(session, _with_density(session, name), field, **options)


@command(
    "Show a preset, a common view with suitable isovalues and colours: "
    + "; ".join(f"{preset.name}, {preset.sentence[0].lower()}{preset.sentence[1:]}" for preset in PRESETS),
    OBJECT,
    Argument("preset", one_of(*(preset.name for preset in PRESETS)), "the preset to show", "frontier", "frontier"),
    Argument("file", TEXT, "for difference: the file to compare with, or several separated by commas"),
    QUALITY,
    examples=("orb_preset benzene, potential",),
    related=("orb_field", "orb_mo"),
)
def orb_preset(session: Session, name: str, preset: str, file: str, quality: str) -> Answer:
    molecule = _with_density(session, name)
    chosen = preset_named(preset)
    wavefunction = session.computing.aside(lambda: session.wavefunction(molecule))
    names, texts = [], []
    for surface in surfaces_of(chosen, wavefunction, file):
        options = {"isovalue": surface.isovalue, "quality": quality}
        answer = show_field(session, molecule, surface.field, surface.color_by, **options)
        assert answer.value is not None  # the name of the surface
        names.append(answer.value)
        texts.append(answer.text)
        if surface.transparency is not None:
            session.shelf.set_transparency(answer.value, surface.transparency)
        molecule = session.shelf[answer.value].molecule  # it may have been renamed meanwhile
    session.shelf.arrange(names if len(names) > 1 else ())
    return Answer(names[-1], "; ".join(texts))


@command("Show the next orbital in place of the one that is shown.", SURFACE, related=("orb_prev", "orb_mo"), told=True)
def orb_next(session: Session, name: str) -> Answer:
    base, found = session.step(session.surface(name), 1)
    return Answer(base, found.volume.quantity)


@command(
    "Show the previous orbital in place of the one that is shown.", SURFACE, related=("orb_next", "orb_mo"), told=True
)
def orb_prev(session: Session, name: str) -> Answer:
    base, found = session.step(session.surface(name), -1)
    return Answer(base, found.volume.quantity)
