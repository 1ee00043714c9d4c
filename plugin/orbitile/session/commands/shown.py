"""Commands that act on surfaces that are shown: change how they look, list, hide, keep and delete them."""

from __future__ import annotations

from dataclasses import replace

from ...base.arguments import FLAG, TEXT, Argument, one_of
from ...base.errors import OrbitileError
from ...pictures.look import STYLE, STYLES, TRANSPARENCY, VOLUME_STYLES
from ...pictures.request import ISOVALUE
from ...surfaces.colour_maps import NEGATIVE, POSITIVE
from ..declaration import Answer, command
from ..seen import listed
from ..session import Session
from ._arguments import SURFACE

TOPIC, PRIORITY = "surfaces", 50


@command(
    "Change the isovalue of a surface that is shown.",
    replace(ISOVALUE, required=True, otherwise=""),
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
    Argument("positive", TEXT, "colour where the field is positive, as the viewer names it", otherwise="blue"),
    Argument("negative", TEXT, "colour where the field is negative, as the viewer names it", otherwise="orange"),
    replace(TRANSPARENCY, default=None, otherwise="as it is"),
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


@command(
    "Draw a surface in another style.",
    Argument(
        "style",
        one_of(*STYLES, *VOLUME_STYLES),
        f"{STYLE.help}; in PyMOL the volume as fog, or a slice through it",
        required=True,
        completes="styles",
    ),
    SURFACE,
    examples=("orb_style mesh",),
    related=("orb_color", "orb_iso"),
)
def orb_style(session: Session, style: str, name: str) -> Answer:
    base = session.surface(name)
    if reason := session.why_not_drawn(style, session.shelf[base].request):
        raise OrbitileError(reason)
    session.redraw(base, replace(session.shelf[base].look, style=style))
    return Answer(base, f'"{base}", {style}')


@command(
    "List the surfaces that are shown.",
    related=("orb_hide", "orb_keep", "orb_delete", "orb_style"),
    told=True,
)
def orb_surfaces(session: Session) -> Answer:
    session.shelf.follow()
    rows = listed(session)
    lines = []
    for row in rows:
        state = [] if row.visible else ["hidden"]
        state += ["kept"] if row.kept else []
        state += [f"coloured by {row.scale.quantity} from {row.scale.low:g} to {row.scale.high:g}"] if row.scale else []
        text = f"{row.name}: {row.text}, isovalue {row.isovalue:.4g} {row.unit}".rstrip()
        lines.append(", ".join([text, row.look.style, *state]))
    return Answer("\n".join(row.name for row in rows), "\n".join(lines) or "no surface is shown: orb_mo shows one")


@command("Hide a surface; it stays in the list.", SURFACE, related=("orb_unhide", "orb_delete"))
def orb_hide(session: Session, name: str) -> Answer:
    base = session.surface(name)
    session.shelf.set_visible(base, False)
    return Answer(base, f'"{base}", hidden')


@command("Show a surface that was hidden.", SURFACE, related=("orb_hide",))
def orb_unhide(session: Session, name: str) -> Answer:
    base = session.surface(name)
    session.shelf.set_visible(base, True)
    return Answer(base, f'"{base}", visible')


@command(
    "Keep a surface when a window shows the next field of its molecule; others are replaced by it.",
    SURFACE,
    Argument("kept", FLAG, "0 to let it be replaced again", True, "1"),
    related=("orb_surfaces", "orb_delete"),
)
def orb_keep(session: Session, name: str, kept: bool) -> Answer:
    base = session.surface(name)
    session.shelf.keep(base, kept)
    return Answer(base, f'"{base}", {"kept" if kept else "is replaced by the next"}')


@command("Delete a surface and its map.", replace(SURFACE, required=True, otherwise=""), related=("orb_hide",))
def orb_delete(session: Session, name: str) -> Answer:
    base = session.surface(name)
    session.shelf.remove(base)
    return Answer(None, f'"{base}" is deleted')
