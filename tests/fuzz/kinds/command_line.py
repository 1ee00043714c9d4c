"""The command line: arguments drawn from what each command declares, right and odd ones."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
from pathlib import Path

import numpy as np
from PIL import Image

from orbitile.commandline import _parser, known_commands, main
from orbitile.readers import load_volumes
from tests.fuzz.kinds.session import INPUTS
from tests.fuzz.samples import inputs
from tests.fuzz.values import chosen, field, number, odd_word, written

SHARE = 0.03
SECONDS = 60.0

SELDOM = {"render": 0.3, "animate": 0.05, "batch": 0.05, "scf": 0.03, "optimise": 0.03, "demo": 0.02, "devices": 0.02}
SELDOM |= {"orbitals": 0.3, "basins": 0.3, "topology": 0.3, "surface": 0.3, "energy": 0.3, "series": 0.5}
"""How often commands that take long are called, against the others."""

NEVER = ("serve", "install", "bench")
"""What ends its process, changes the machine, or measures for minutes: with an option that there is not."""

ENDINGS = (".cube", ".ply", ".glb", ".png", ".json", ".csv", ".npz", ".xyz", ".h5", ".svg", ".html", ".zarr", ".x", "")


def _commands() -> dict[str, argparse.ArgumentParser]:
    actions = (
        action for action in _parser(known_commands())._actions if isinstance(action, argparse._SubParsersAction)
    )
    return dict(next(actions).choices)


class Subject:
    """The program, in this process."""

    def __init__(self, folder: Path) -> None:
        self.inputs = inputs(folder / "whole")
        self.commands = _commands()
        weights = np.array([SELDOM.get(name, 1.0) for name in self.commands])
        self.weights = weights / weights.sum()

    def run(self, random: np.random.Generator, folder: Path) -> bool:
        for file in self.inputs:
            shutil.copy(file, folder)
        words = self.words(random)
        (folder / "input.json").write_text(written(words), encoding="utf-8", errors="backslashreplace")
        before = {name: os.stat(name).st_mtime_ns for name in INPUTS if os.path.exists(name)}
        status, _, errors = called(words)
        assert status in (0, 2), f"status {status}: {errors[-2000:]}"
        assert "Traceback" not in errors, errors[-2000:]
        if status == 2:
            assert errors.strip(), "refused without a word"
            last = errors.rstrip("\n").rpartition("\n")[2]
            assert ": " in last, f"no message at the end: {errors[-500:]}"
        assert before == {name: os.stat(name).st_mtime_ns for name in before}, "a file that was read has been written"
        _check_whole(folder)
        return status == 0

    def words(self, random: np.random.Generator) -> list[str]:
        """Arguments of a call."""
        if random.random() < 0.02:
            return [odd_word(random) for _ in range(int(random.integers(0, 4)))]
        name = list(self.commands)[int(random.choice(len(self.commands), p=self.weights))]
        words, positional = [name], []
        for action in self.commands[name]._actions:
            luck = random.random()
            if not action.option_strings:
                n = int(random.integers(0, 4)) if action.nargs in ("*", "+") else int(luck > 0.03)
                positional += [_value(random, action) for _ in range(n)]
            elif action.dest in ("help", "debug"):
                words += [action.option_strings[-1]] if action.dest == "help" and luck < 0.005 else []
            elif (action.required and luck > 0.03) or luck < 0.12:
                words.append(chosen(random, action.option_strings))
                words += [] if action.nargs == 0 else [_value(random, action)]
        words[1:1] = positional
        if name in NEVER:
            words.append("--no-such-option")
        if random.random() < 0.05:
            words.insert(int(random.integers(1, len(words) + 1)), odd_word(random))
        return [word.replace("\0", "") for word in words]  # which no system hands over

    def check(self) -> None:
        status, out, _ = called(["info", str(self.inputs[0]), "--json"])
        assert status == 0
        assert json.loads(out)["formula"] == "H2O"

    def close(self) -> None:
        pass


def called(words: list[str]) -> tuple[int, str, str]:
    """Exit status, output and errors of the program."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            status = main(words)
        except SystemExit as error:  # of argparse
            status = error.code if isinstance(error.code, int) else -1
    return status, out.getvalue(), errors.getvalue()


def _value(random: np.random.Generator, action: argparse.Action) -> str:
    if random.random() < 0.04:
        return odd_word(random)
    what = str(action.metavar or action.dest).upper()
    if action.choices:
        return str(chosen(random, list(action.choices)))
    if action.dest == "device":
        return str(chosen(random, ("cpu", "cpu", "auto", "cuda:7", "none")))
    if action.dest in ("output", "plot") or what == "OUT":
        return f"out{chosen(random, ENDINGS)}"
    if what in ("FILE", "TRAJ", "FILE... ITEM...") or action.dest == "topology":
        return str(chosen(random, (*(INPUTS[0],) * 8, *INPUTS, "no-such-file.molden")))
    if "FIELD" in what:
        return field(random)
    if action.dest == "size":
        return str(chosen(random, ("64x48", "32x32", "0x0", "1x1")))
    if action.dest in ("workers", "dask"):
        return str(chosen(random, ("0", "x", "-1")))
    if action.dest in ("frame", "level", "points", "charge", "unpaired"):
        return str(chosen(random, ("1", "2", "0", "-1", "3")))
    return number(random) if random.random() < 0.7 else str(chosen(random, ("1-3", "1,2", "h2o", "sto-3g", "homo")))


def _check_whole(folder: Path) -> None:
    """Whether what was written can be read, as far as we read it; raises whatever says that it cannot."""
    for path in folder.glob("out*"):
        if path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix in (".cube", ".npz"):
            load_volumes(path)
        elif path.suffix == ".png":
            with Image.open(path) as picture:
                picture.load()
