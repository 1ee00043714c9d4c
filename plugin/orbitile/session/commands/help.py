"""The command that lists all commands."""

from __future__ import annotations

import re
from difflib import get_close_matches

from ...arguments import TEXT, Argument
from ...errors import OrbitileError
from ..declaration import Answer, command
from ..session import Session
from ..syntax import Call


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
