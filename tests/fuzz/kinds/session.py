"""Commands of a session, those that PyMOL, VMD and Blender share, in any order and with any arguments."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

import orbitile as ob
from orbitile.hosts.server.viewer import ServedViewer
from orbitile.session.commands import COMMANDS
from orbitile.session.declaration import Command
from orbitile.session.session import Session
from tests.fuzz.kinds import check_message
from tests.fuzz.samples import SAMPLES, inputs
from tests.fuzz.values import arguments_for, chosen, written

SHARE = 0.03
SECONDS = 60.0

MOST = 6
"""Commands of one case."""

SELDOM = {"orb_scf": 0.02, "orb_live": 0.02, "orb_relax": 0.02, "orb_settle": 0.1, "orb_scan": 0.05, "orb_path": 0.1}
SELDOM |= {"orb_picture": 0.05, "orb_film": 0.02}
"""How often commands are asked for that start other processes, against the others."""

INPUTS = ("h2o.molden.input", "frames.molden", "volume.cube", "lih_cation_uhf.wfn", "psi4_water.out", "geometry.xyz")
OUTPUTS = ("a.cube", "a.ply", "a.glb", "a.png", "a.mp4", "a.h5", "a.json", "no/such/a.cube", "a.xyz", "film", "a")

_WEIGHTS = np.array([SELDOM.get(command.name, 1.0) for command in COMMANDS])
_WEIGHTS /= _WEIGHTS.sum()


def any_command(random: np.random.Generator) -> Command:
    """A command, those that are quick more often."""
    return COMMANDS[int(random.choice(len(COMMANDS), p=_WEIGHTS))]


class Subject:
    """A session for each case, of a viewer over a pipe whose messages nobody reads."""

    def __init__(self, folder: Path) -> None:
        self.inputs = inputs(folder / "whole")
        self.folder = folder

    def run(self, random: np.random.Generator, folder: Path) -> bool:
        for file in self.inputs:
            shutil.copy(file, folder)
        served = folder / "served"
        served.mkdir()
        session = Session(ServedViewer(_checked_message, served))
        calls: list[Any] = []
        answers = 0
        try:
            if random.random() < 0.9:
                self._call(session, "orb_load", {"filename": chosen(random, INPUTS), "name": "it"}, calls, folder)
            for _ in range(int(random.integers(1, MOST + 1))):
                command = any_command(random)
                names = {"molecules": list(session.host.molecules()), "surfaces": session.shelf.present()}
                names |= {"inputs": list(INPUTS), "outputs": list(OUTPUTS)}
                given = arguments_for(random, command.arguments, names)
                answers += self._call(session, command.name, given, calls, folder)
            session.host.tick()
            self._is_answered(session)
        finally:
            session.cancel()
            session.live.end()
            session.player.close()
        return answers > 0

    def _call(self, session: Session, name: str, given: dict[str, Any], calls: list[Any], folder: Path) -> bool:
        calls.append([name, given])
        (folder / "input.json").write_text(written(calls), encoding="utf-8", errors="backslashreplace")
        command = next(command for command in COMMANDS if command.name == name)
        try:
            answer = command.run(session, (), given)
        except ob.OrbitileError as error:
            check_message(error)
            return False
        assert answer.value is None or isinstance(answer.value, str)
        return True

    def _is_answered(self, session: Session) -> None:
        """Whether a right request is, after all that."""
        by_name = {command.name: command for command in COMMANDS}
        molecule = by_name["orb_load"].run(session, [str(SAMPLES / "h2o.molden.input"), "right"]).value
        shown = by_name["orb_mo"].run(session, [molecule, "homo", 0.1, "coarse"]).value
        assert shown in session.shelf.present(), shown
        assert session.shelf[shown].isovalue == 0.1

    def check(self) -> None:
        pass

    def close(self) -> None:
        pass


def _checked_message(message: dict[str, Any]) -> None:
    json.dumps(message, allow_nan=False)
