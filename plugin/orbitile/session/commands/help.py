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
    for one in (one for commands in TOPICS.values() for one in commands):
        if wanted in (one.name, one.name.removeprefix("orb_")):
            return Answer(None, one.help(session.host.syntax))
    topics = {topic: commands for topic, commands in TOPICS.items() if wanted in topic}
    if not topics:
        known = [one.name for commands in TOPICS.values() for one in commands]
        close = get_close_matches(wanted if wanted.startswith("orb_") else f"orb_{wanted}", known, 1)
        hint = f"; nearest match: {close[0]}" if close else ""
        raise OrbitileError(
            f"orb_help: expected a command or one of the topics {', '.join(TOPICS)}, got {name!r}{hint}"
        )
    width = max(len(one.name) for commands in topics.values() for one in commands)
    parts = [
        "\n".join([f"{topic}:", *(f"  {one.name:{width}}  {_briefly(one.summary)}" for one in commands)])
        for topic, commands in topics.items()
    ]
    more = session.host.syntax.line(Call("orb_help", ("orb_mo",)))
    return Answer(
        None, "\n\n".join([*parts, f"{more} explains a command; where there is a window, orb_panel opens it"])
    )


def _briefly(summary: str) -> str:
    """The first part of a summary."""
    return re.split(r"[.:;] |\.$", summary)[0]
