"""Commands for the frames of trajectories."""

from __future__ import annotations

from dataclasses import replace

from ...base.arguments import COUNT, Argument
from ...base.errors import OrbitileError
from ..declaration import Answer, command
from ..player import TICK
from ..session import Session
from ._arguments import SURFACE

TOPIC, PRIORITY = "trajectories", 40


@command(
    "Play a trajectory, waiting for its surfaces; 0 stops.",
    Argument("rate", COUNT, "frames a second, at most", 10, "10"),
    replace(SURFACE, help="a surface of the trajectory"),
    examples=("orb_play", "orb_play 0"),
    related=("orb_frames", "orb_load"),
)
def orb_play(session: Session, rate: int, name: str) -> Answer:
    if not rate:
        session.player.play(0)
        return Answer("0", "stopped")
    of_films = [base for base in session.shelf.present() if session.shelf[base].request.frame is not None]
    if not of_films:
        raise OrbitileError("no orbital of a trajectory is shown: orb_load loads one, orb_mo shows it")
    base = session.surface(name) if name else of_films[-1]
    if base not in of_films:
        raise OrbitileError(f"{base} is no surface of a trajectory: it has one frame")
    if not session.host.every(TICK, session.player.tick):
        raise OrbitileError("playing needs a window; in a script orb_frames computes all frames, and mpng writes them")
    _take_up(session, base)
    session.player.play(rate, session.shelf[base].molecule)
    return Answer(str(rate), f"playing {rate} frames a second at most")


@command(
    "Compute a surface of a trajectory for a range of its frames, and wait for it; for scripts that write films.",
    Argument("first", COUNT, "first frame, from 1", 1, "1"),
    Argument("last", COUNT, "last frame", None, "the last one"),
    SURFACE,
    examples=("orb_load scan.h5", "orb_mo scan, homo", "orb_frames", "mpng frame"),
    related=("orb_load", "orb_mo", "orb_play", "orb_memory"),
)
def orb_frames(session: Session, first: int, last: int | None, name: str) -> Answer:
    base = session.surface(name)
    n_frames = session.n_frames(session.shelf[base].molecule)
    if not n_frames:
        raise OrbitileError(f"{base} is no surface of a trajectory: it has one frame")
    last = n_frames if last is None else last
    if not 1 <= first <= last <= n_frames:
        raise OrbitileError(f"frames: expected a range within 1 to {n_frames}, got {first} to {last}")
    _take_up(session, base)
    problems = session.player.fill(base, range(first - 1, last))
    done = last - first + 1 - len(problems)
    text = [f'"{base}", {done} of {last - first + 1} frames', *problems]
    return Answer(base, "; ".join(text[:4]))


def _take_up(session: Session, base: str) -> None:
    """Show a surface that came with a saved session anew, so that its other frames are computed too."""
    if not session.player.drawn(base):
        shown = session.now(base)
        session.show(shown, session.computing.sampled(shown.request), base)


@command(
    "Print, or set, how much memory the drawn frames of trajectories may take.",
    Argument("megabytes", COUNT, "at least 64", None, "no change"),
    related=("orb_frames", "orb_play"),
    told=True,
)
def orb_memory(session: Session, megabytes: int | None) -> Answer:
    if megabytes is not None:
        if not 64 <= megabytes <= 1 << 20:
            raise OrbitileError(f"megabytes: expected a number from 64 to {1 << 20}, got {megabytes}")
        session.player.memory = megabytes
        session.player.trim()
        session.host.keep_settings({**session.host.settings(), "frames_memory": megabytes})
    taken = session.player.taken() / 2**20
    return Answer(None, f"drawn frames take {taken:.0f} MB of {session.player.memory} MB at most")
