"""What both ends of the pipe have agreed on: a number, and how a request is declared, from which all else is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from itertools import chain, repeat
from typing import Any

from ...base.arguments import Kind, brief
from ...base.errors import OrbitileError

PROTOCOL = 1
"""Number of the protocol, raised when one end would misread the other of before.

hosts/vmd/orbitile.tcl and docs/examples/triangles.mjs have it too.
"""


def check_protocol(number: object) -> None:
    """Refuse a viewer that speaks another protocol; one that tells no number is not checked.

    Raises
    ------
    OrbitileError
    """
    if number is not None and number != PROTOCOL:
        raise OrbitileError(
            f"protocol: the server speaks version {PROTOCOL}, the viewer version {brief(number)}; install both from "
            "the same Orbitile (for VMD `orbitile install vmd`), and start the viewer again"
        )


@dataclass(frozen=True)
class Request:
    """What a viewer may ask for, beside the commands of its user.

    The server reads requests by these declarations; its first message and docs/server.md list them.

    Attributes
    ----------
    name : str
    summary : str
        What it does, in one sentence.
    do : callable
        Takes the session, or the window, and the words, read.
    words : dict of str to Kind
        What words it takes, by name.
    answer : str
        What the value of the answer is.
    needed : int
        How many of the words have to be there.
    repeats : bool
        Whether the last word may be missing, or be followed by more like it.
    """

    name: str
    summary: str
    do: Callable[..., Any]
    words: dict[str, Kind]
    answer: str
    needed: int
    repeats: bool

    def read(self, given: Sequence[Any]) -> list[Any]:
        """The words of a request, read.

        Raises
        ------
        OrbitileError
            When there are too few or too many, or one cannot be read.
        """
        kinds = list(self.words.values())
        if self.repeats:
            kinds += kinds[-1:] * (len(given) - len(kinds))
        if not self.needed <= len(given) <= len(kinds):
            number = (
                f"{len(kinds)} word{'' if len(kinds) == 1 else 's'}{'' if self.needed == len(kinds) else ' at most'}"
            )
            raise OrbitileError(f"{self.name}: expected {number}, got {len(given)}")
        return [kind.read(self.name, value) for kind, value in zip(kinds, given, strict=False)]

    def description(self) -> dict[str, Any]:
        """What the first message says of it."""
        words = [*self.words, *(["..."] if self.repeats else [])]
        return {"name": self.name, "words": words, "answer": self.answer, "help": self.summary}


def _plain_text(what: str, value: Any) -> str:
    if not isinstance(value, str):
        raise OrbitileError(f"{what}: expected text, got {brief(value)}")
    return value


_AS_IT_IS = Kind("text", _plain_text)


def request_of(name: str, summary: str, do: Callable[..., Any], *kinds: Kind, answer: str = "none") -> Request:
    """Declare a request by the function that does it.

    Its words are called as the arguments of the function, after the first; those with a default may be missing, and of
    `*words` there may be any number. Where no kind is given, a word is text of which nothing is taken away.
    """
    words = list(signature(do).parameters.values())[1:]
    repeats = bool(words) and words[-1].kind is Parameter.VAR_POSITIONAL
    needed = sum(word.default is Parameter.empty for word in words) - (repeats and len(words) > 1)
    named = {word.name: kind for word, kind in zip(words, chain(kinds, repeat(_AS_IT_IS)), strict=False)}
    return Request(name, summary, do, named, answer, needed, repeats)
