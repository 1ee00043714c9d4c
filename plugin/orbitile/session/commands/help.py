"""Commands that list and explain all commands, say what computes, and stop it."""

from __future__ import annotations

import re
from difflib import get_close_matches

from ...base.arguments import TEXT, Argument, one_of
from ...base.errors import OrbitileError
from ...evaluation.devices import device_names, one_device
from ..declaration import Answer, Call, command
from ..session import Session

TOPIC, PRIORITY = "help and devices", -10


@command(
    "List the commands by topic, or explain one of them.",
    Argument("name", TEXT, "a command, with or without orb_, or a word of a topic", otherwise="all topics"),
    examples=("orb_help", "orb_help orb_mo", "orb_help live"),
    related=("orb_load", "orb_mo"),
    told=True,
)
def orb_help(session: Session, name: str) -> Answer:
    from . import TOPICS

    wanted = name.strip().lower()
    commands = {command.name: command for topic in TOPICS.values() for command in topic}
    for name_in_full in (wanted, f"orb_{wanted}"):
        if name_in_full in commands:
            return Answer(None, commands[name_in_full].help(session.host.syntax))
    topics = {topic: members for topic, members in TOPICS.items() if wanted in topic}
    if not topics:
        close = get_close_matches(wanted if wanted.startswith("orb_") else f"orb_{wanted}", commands, 1)
        hint = f"; nearest match: {close[0]}" if close else ""
        raise OrbitileError(
            f"orb_help: expected a command or one of the topics {', '.join(TOPICS)}, got {name!r}{hint}"
        )
    width = max(len(command.name) for members in topics.values() for command in members)
    parts = [
        "\n".join([f"{topic}:", *(f"  {command.name:{width}}  {_briefly(command.summary)}" for command in members)])
        for topic, members in topics.items()
    ]
    more = session.host.syntax.line(Call("orb_help", ("orb_mo",)))
    return Answer(
        None, "\n\n".join([*parts, f"{more} explains a command; where there is a window, orb_panel opens it"])
    )


def _briefly(summary: str) -> str:
    """The first part of a summary."""
    return re.split(r"[.:;] |\.$", summary)[0]


@command(
    "Choose the device that computes, or print which one does.",
    Argument("device", one_of(*device_names()), "the device to use from now on", otherwise="no change"),
    related=("orb_mo",),
    told=True,
)
def orb_device(session: Session, device: str) -> Answer:
    from taichi_kernels.devices import probe

    if device:
        found = None if device == "auto" else probe(device)
        if found is not None and not found.available:
            raise OrbitileError(f"device: {device} cannot be used here: {found.detail}")
        session.computing.device = device
    chosen = one_device(session.computing.device)
    return Answer(chosen, f"computing on {chosen} ({probe(chosen).detail})")


@command(
    "Cancel the running computation; the orbital shown before stays.",
    related=("orb_mo",),
    told=True,
)
def orb_cancel(session: Session) -> Answer:
    return Answer(None, "cancelled" if session.cancel() else "nothing is being computed")
