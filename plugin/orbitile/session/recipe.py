"""How to have again what is shown: as commands, and as a line of `orbitile render` for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base.errors import OrbitileError
from ..pictures.look import VOLUME_STYLES, Look
from ..pictures.request import IN_CONSOLES, ISOVALUE, QUALITY, Request
from ..renderer import Camera
from ..surfaces.colour_maps import RGB
from .declaration import Call, shell_line
from .picture import wall_transparency
from .session import Session
from .shown import Shown
from .source import OneFile, Source, files_of, is_trajectory, is_volume_file
from .viewpoint import Viewpoint


def calls(session: Session, names: Sequence[str]) -> list[Call]:
    """Commands of Orbitile that show some surfaces, and load their molecules before.

    Parameters
    ----------
    session : Session
    names : sequence of str
        Surfaces, in the order in which they are to be shown.

    Raises
    ------
    OrbitileError
        When there is no such surface.
    """
    shown = {session.surface(name): session.now(name) for name in names}
    molecules = dict.fromkeys(each.molecule for each in shown.values())
    hidden = session.host.hidden({name: each.molecule for name, each in shown.items()})
    found = [_loading(molecule, session.source(molecule)) for molecule in molecules]
    for name, each in shown.items():
        found += [*_showing(each), *([Call("orb_hide")] if name in hidden else [])]
    return found


def _loading(molecule: str, source: str) -> Call:
    named: dict[str, str] = {}
    if is_trajectory(source):
        trajectory = Source.read(source)
        named |= {} if trajectory.track else {"track": "0"}
        named |= {"align": "1"} if trajectory.align else {}
        named |= {"interpolate": str(trajectory.between)} if trajectory.between else {}
    files = files_of(source)
    quoted = files if len(files) == 1 else [f'"{file}"' if " " in file and '"' not in file else file for file in files]
    return Call("orb_load", (" ".join(quoted), molecule), named)


def _showing(shown: Shown) -> list[Call]:
    """Commands for one surface; all but the first act on what was shown last."""
    request, look = shown.request, shown.look
    named = _further_options(request)
    asked = Call("orb_field", (shown.molecule, request.field, f"{shown.isovalue:.7g}", request.quality), named)
    changes = []
    if (look.colours, look.transparency) != (Look().colours, Look().transparency):
        colours = [f"0x{_hexadecimal(colour)}" for colour in look.colours]
        changes.append(Call("orb_color", (*colours, f"{look.transparency:g}")))
    changes += [Call("orb_style", (look.style,))] if look.style != Look().style else []
    return [asked, *changes, *([Call("orb_keep")] if shown.kept else [])]


def _further_options(request: Request) -> dict[str, str]:
    """Options of a surface that are given, beside isovalue and quality, as they are typed."""
    given = {option.name: getattr(request, option.name) for option in IN_CONSOLES if option not in (ISOVALUE, QUALITY)}
    return {name: value if isinstance(value, str) else f"{value:g}" for name, value in given.items() if value}


def _hexadecimal(colour: RGB) -> str:
    return "".join(f"{round(255 * channel):02x}" for channel in colour)


def render_line(session: Session, names: Sequence[str]) -> str:
    """A line for a terminal that draws surfaces of one molecule, from the direction from which they are seen.

    Parameters
    ----------
    session : Session
    names : sequence of str
        Surfaces.

    Raises
    ------
    OrbitileError
        When `orbitile render` cannot draw them: they are of several molecules, of a frame of orbitals that were
        followed, or one of several is coloured by a second field.
    """
    shown = [session.now(session.surface(name)) for name in names]
    molecules = {each.molecule for each in shown}
    if len(molecules) != 1:
        raise OrbitileError(f"orbitile render draws surfaces of one molecule, got {len(molecules)}")
    coloured = any(each.request.color_by for each in shown)
    if coloured and len(shown) > 1:
        raise OrbitileError("orbitile render draws a surface that is coloured by a second field by itself")
    first = shown[0]
    words = ["orbitile", "render", *_file(first), *(each.request.field for each in shown)]
    words += ["--isovalue", ",".join(f"{each.isovalue:.7g}" for each in shown), "--quality", first.request.quality]
    if coloured:
        for name, value in _further_options(first.request).items():
            words += [f"--{name.replace('_', '-')}", value]
    else:
        words += ["--colors", ",".join(f"#{_hexadecimal(colour)}" for each in shown for colour in each.look.colours)]
    style = first.look.style
    if style in VOLUME_STYLES and all(each.look.style == style for each in shown):
        words += ["--style", style]
        words += ["--opacity", f"{1 - first.look.transparency:.4g}"] if style == "fog" else []
    else:
        through = wall_transparency(first.look, is_coloured=coloured)
        words += ["--opacity", f"{1 - through**2:.4g}"]  # of a lobe: its front and its back
    seen = session.host.viewpoint()
    if seen is not None:
        positions = session.computing.wavefunctions.get(first.request.path, first.request.frame).positions
        words += [f"--turn={','.join(f'{angle:.4g}' for angle in _turns(positions, seen))}"]
        words += ["--background", f"#{_hexadecimal(seen.background)}"]
    return shell_line([*words, "--legend", "-o", f"{names[0]}.png"])


def _file(shown: Shown) -> list[str]:
    """The file of a molecule, and which frame of it."""
    source, frame = shown.request.path, shown.request.frame
    if is_volume_file(source):
        raise OrbitileError(f"{OneFile.read(source).path}: has no orbitals that orbitile render could draw")
    if frame is None:
        return [files_of(source)[0]]
    trajectory = Source.read(source)
    if frame and (trajectory.track or trajectory.align or trajectory.between):
        raise OrbitileError(
            "orbitile render draws frames as they are in their files: orb_picture draws this one, orbitile animate all"
        )
    if len(trajectory.files) > 1:
        return [trajectory.files[frame]]
    return [trajectory.files[0], "--frame", str(frame + 1)]


def _turns(positions: np.ndarray, seen: Viewpoint) -> tuple[float, float, float]:
    """Degrees about the horizontal axis, the vertical one and the line of sight: from `Camera.facing` to what is seen.

    These are the angles of `Camera.turned`, which turns by them one after the other.
    """
    turn = seen.camera.rotation @ Camera.facing(positions).rotation.T
    if abs(turn[2, 0]) > 1 - 1e-9:  # the first and the last turn are about one line
        angles = np.arctan2(-turn[1, 2], turn[1, 1]), -np.sign(turn[2, 0]) * np.pi / 2, 0.0
    else:
        angles = np.arctan2(turn[2, 1], turn[2, 2]), -np.arcsin(turn[2, 0]), np.arctan2(turn[1, 0], turn[0, 0])
    x, y, z = (round(float(np.degrees(angle)), 3) + 0.0 for angle in angles)  # no -0
    return x, y, z
