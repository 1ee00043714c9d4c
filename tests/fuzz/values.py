"""Values for arguments: right ones by what an argument is declared to be, and odd ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from orbitile.base.arguments import Argument
from orbitile.pictures.words import plain_fields
from tests.fuzz.damage import mutated

Random = np.random.Generator

_PLAIN = (
    "nan inf -inf -1 0 1 2 1e400 -1e400 1e-320 0.0 -0.0 1e9 999999999 1_0 0x10 ² é · −1 ½ 1,2,3 1-3 3-1 0-0 1-99999999 "
    "~ ~nobody/x .. . / // /dev/null /dev/zero /proc/self/mem - -- --help -h * ? [ ] { } {} [] null true a:b a=b =1 x= "
    "homo lumo+1 homo-99999 lumo+99999999999999999999 mo:0 mo:-1 mo:1 mo:1:gamma mo:1:beta mo:99999999999999999999 mo: "
    "mo:1-2 mo:1-99999999 homo..lumo lumo..homo density density:x spin elf esp nci igm lol difference:x file: natural: "
    "transition:1 hole:0 fukui+ fukui- dual sum:1,2 nto:1 ibo:1 pm:1 boys:1 cube:x auto cpu cuda cuda:0,1 cuda:² "
    "cuda:all none all coarse medium fine red #ff0000 #ff 0xzz off on yes no %s %d %n ${HOME} $(id) `id` ; | & > a.cube"
)
ODD_WORDS = [
    *_PLAIN.split(),
    "",
    " ",
    "  homo  ",
    "a b",
    "'",
    '"',
    "''",
    '"a',
    "\t",
    "\n",
    "a\nb",
    "\r",
    "\0",
    "\x1b[2J",
]
ODD_WORDS += ["\u202e", "\U0001d4bd", "\udcff", "x" * 300, "9" * 400, "9" * 5000, "-" * 1000, "(" * 500, "[" * 2000]
ODD_WORDS += ["mo:" + "1" * 5000]

ODD_VALUES: list[Any] = [None, True, False, 0, -1, 1, 2**63, 10**400, 0.5, -0.0, 1e400, -1e400, float("nan"), [], {}]
ODD_VALUES += [[1, 2], ["a"], {"a": 1}, [[[]]], {"": ""}, [None] * 1000, {"x": {"y": [1, {"z": None}]}}]


def chosen(random: Random, values: Sequence[Any]) -> Any:
    """One of some values."""
    return values[int(random.integers(len(values)))]


def odd_word(random: Random) -> str:
    """A text that no one would type, or not here."""
    word = chosen(random, ODD_WORDS)
    if random.random() < 0.3:
        word = mutated(word.encode("utf-8", "surrogateescape"), random).decode("utf-8", "replace")
    return word


def odd_value(random: Random) -> Any:
    """Anything that JSON may hold, and more."""
    return (
        odd_word(random) if random.random() < 0.5 else deepcopy(chosen(random, ODD_VALUES))
    )  # which a case may change


def number(random: Random) -> str:
    """A number as people type them, most often a sensible one."""
    return chosen(random, ("0.01", "0.05", "0.1", "1", "2", "3", "0.5", "10", "1e-3", "-1", "0", "100"))


def field(random: Random) -> str:
    """Name of a field, a right one by and large."""
    names = (*plain_fields(), "mo:1", "mo:2", "homo-1", "lumo+1", "homo:beta", "mo:3:alpha")
    name = str(chosen(random, names))
    return mutated(name.encode(), random).decode("utf-8", "replace") if random.random() < 0.15 else name


def value_for(random: Random, argument: Argument, names: dict[str, Sequence[str]]) -> Any:
    """A value that an argument of a command may have.

    Parameters
    ----------
    argument
        As it is declared.
    names
        Words by what an argument `completes`: molecules, surfaces; and files by `inputs` and `outputs`.
    """
    if argument.completes == "fields":
        return field(random)
    if argument.kind.choices:
        return chosen(random, argument.kind.choices)
    if names.get(argument.completes):
        return chosen(random, names[argument.completes])
    if argument.name == "filename":
        return chosen(random, [*names["inputs"], *names["outputs"]])
    if argument.kind.name in ("float", "int"):
        return number(random)
    if argument.kind.name == "0/1":
        return chosen(random, ("0", "1"))
    if argument.kind.name in ("atoms", "fragments"):
        return chosen(random, ("1", "1-2", "1,2", "1; 2", "a = 1; b = 2-3", "1-3", "7"))
    return chosen(random, ("", "1", "1-2", "blue", "homo", "1 2", "x"))


def arguments_for(random: Random, arguments: Sequence[Argument], names: dict[str, Sequence[str]]) -> dict[str, Any]:
    """Values for the arguments of a command by name: most of them right, some odd, some left out."""
    given: dict[str, Any] = {}
    for argument in arguments:
        luck = random.random()
        if luck < (0.05 if argument.required else 0.45):
            continue
        given[argument.name] = odd_value(random) if luck > 0.85 else value_for(random, argument, names)
    if random.random() < 0.03:
        given[odd_word(random)] = odd_value(random)
    return given


def written(what: Any) -> str:
    """Anything as a text that tells what it is, for people."""
    return json.dumps(what, indent=1, default=repr)
