"""Commands that show fields, change how they look, and write them to files."""

from __future__ import annotations

from dataclasses import replace

from ...arguments import POSITIVE_NUMBER, SHARE, TEXT, Argument
from ...errors import OrbitileError
from ...fields import as_drawn
from ...surfaces.colour_maps import NEGATIVE, POSITIVE
from ...surfaces.isovalue import CUT, reaches_faces
from ..declaration import Answer, command
from ..session import Session
from ..shown import Shown
from ..volume_file import is_volume_file
from ._arguments import OBJECT, QUALITY, SURFACE


def show_field(
    session: Session,
    molecule: str,
    field: str,
    isovalue: float | None,
    quality: str,
    color_by: str = "",
    color_range: float | None = None,
) -> Answer:
    """Show a field of a molecule, and wait until it is there; the answer has the name of its surface.

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
    request = session.request(
        molecule, drawn, quality=quality, isovalue=isovalue, color_by=coloured_by, color_range=color_range
    )
    found = session.computing.sampled(request)
    if request.frame is not None and found.surface.colouring is not None and color_range is None:
        scale = found.surface.colouring  # all frames are to have this one's
        request = replace(request, color_range=max(abs(scale.low), abs(scale.high)))
        found = session.computing.sampled(request)
    molecule = session.shelf.molecule_now(molecule)  # a window that waits can be used
    if not session.is_of(molecule, source):
        raise OrbitileError(f"{molecule} was deleted, or loaded anew, while its {field} was computed")
    base = session.show(Shown(molecule, request, found.isovalue), found)
    cut = f"; {CUT}" if reaches_faces(found.volume, found.isovalue) else ""
    return Answer(base, f'"{base}", {found.volume.quantity}, isovalue {found.isovalue:.4g} {found.volume.unit}{cut}')


@command(
    "Show a molecular orbital: a map, and a surface of two colours.",
    OBJECT,
    Argument(
        "orbital",
        TEXT,
        "homo, lumo, homo-1, lumo+1, or a number counted from 1; with :alpha or :beta",
        "homo",
        "homo",
        completes="fields",
    ),
    Argument("isovalue", POSITIVE_NUMBER, "in atomic units", None, "the surface encloses 90 percent of the electron"),
    QUALITY,
    examples=("orb_mo benzene, lumo", "orb_mo benzene, 17:beta, 0.03"),
    related=("orb_load", "orb_next", "orb_prev", "orb_iso", "orb_field"),
)
def orb_mo(session: Session, name: str, orbital: str, isovalue: float | None, quality: str) -> Answer:
    wanted = orbital.lower()
    wanted = f"mo:{wanted}" if wanted[:1].isdigit() else wanted
    return show_field(session, session.molecule(name), wanted, isovalue, quality)


@command(
    "Show a field of a molecule: a map, and a surface, in two colours or coloured by a second field.",
    replace(OBJECT, required=True, otherwise=""),
    Argument(
        "field",
        TEXT,
        "homo, lumo+1, mo:17:beta, density, spin, laplacian, elf, esp, ...",
        required=True,
        completes="fields",
    ),
    Argument(
        "isovalue",
        POSITIVE_NUMBER,
        "in atomic units",
        None,
        "a customary one; of an orbital, one that encloses 90 percent",
    ),
    QUALITY,
    Argument(
        "color_by",
        TEXT,
        "a second field that colours the surface, such as esp",
        otherwise="two colours",
        completes="fields",
    ),
    Argument("color_range", POSITIVE_NUMBER, "the colours span minus this to plus this", None, "from the data"),
    examples=("orb_field benzene, homo-1, 0.03, fine", "orb_field benzene, density, 0.001, color_by=esp"),
    related=("orb_mo", "orb_iso", "orb_color", "orb_next"),
)
def orb_field(
    session: Session,
    name: str,
    field: str,
    isovalue: float | None,
    quality: str,
    color_by: str,
    color_range: float | None,
) -> Answer:
    return show_field(session, session.molecule(name), field, isovalue, quality, color_by, color_range)


@command(
    "Change the isovalue of a surface that is shown.",
    Argument("isovalue", POSITIVE_NUMBER, "in atomic units", required=True),
    SURFACE,
    related=("orb_mo", "orb_color"),
)
def orb_iso(session: Session, isovalue: float, name: str) -> Answer:
    base = session.surface(name)
    shown = replace(session.now(base), isovalue=isovalue)
    if shown.request.color_by or shown.request.frame is not None:  # colours, and other frames, are computed for it
        shown = replace(shown, request=replace(shown.request, isovalue=isovalue))
    found = session.computing.sampled(shown.request)
    session.show(shown, found, base)
    return Answer(None, f'"{base}", isovalue {isovalue:.4g} {found.volume.unit}')


@command(
    "Change colours and transparency of a surface that is shown.",
    Argument("positive", TEXT, "a colour that the viewer knows", otherwise="blue"),
    Argument("negative", TEXT, "a colour that the viewer knows", otherwise="orange"),
    Argument("transparency", SHARE, "0 opaque to 1 invisible", None, "as it is"),
    SURFACE,
    examples=("orb_color marine, orange, 0.5",),
    related=("orb_mo", "orb_iso"),
)
def orb_color(session: Session, positive: str, negative: str, transparency: float | None, name: str) -> Answer:
    base = session.surface(name)
    shown = session.now(base)
    colours = (
        session.host.colour(positive) if positive else POSITIVE,
        session.host.colour(negative) if negative else NEGATIVE,
    )
    transparency = shown.look.transparency if transparency is None else transparency
    session.redraw(base, replace(shown.look, colours=colours, transparency=transparency))
    return Answer(None, f'"{base}", transparency {transparency:g}')


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
