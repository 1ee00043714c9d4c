"""The viewers that are told the same commands: PyMOL without a window, in this process, and the server, in another."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


class Defect(AssertionError):
    """What never should happen: an error that is none of Orbitile, or the end of a process."""


@dataclass(frozen=True)
class Outcome:
    """What came of a command: its value, or the line that says why there is none."""

    value: str | None
    error: str | None = None


class Viewer(Protocol):
    """What the soak does with a viewer.

    Attributes
    ----------
    process : int
        Number of the process whose memory is measured.
    """

    process: int

    def do(self, command: str, arguments: Sequence[object] = (), *, cancelled_after: float | None = None) -> Outcome:
        """Have a command done, and withdrawn after so many seconds."""

    def delete(self, name: str) -> None:
        """Delete an object as the user of the viewer does."""

    def reopen(self, folder: Path) -> None:
        """Save what is shown, end it, and open it again."""

    def move(self, molecule: str, step: float) -> None:
        """Move the first atom of a molecule by so many Angstrom."""

    def rest(self) -> None:
        """Let what goes on in the background have its turn."""

    def objects(self) -> list[str]:
        """Names of all that is shown."""

    def python_objects(self) -> int:
        """Objects of Python in this process, 0 where it is another."""

    def digest(self, surface: str) -> str:
        """Of the volume of a surface, bit by bit."""

    def close(self) -> None:
        """End it."""


class InPyMOL:
    """PyMOL without a window, in this process; every other computation is done by the worker process."""

    def __init__(self) -> None:
        import pymol2

        from orbitile.hosts.pymol import commands

        self._commands = commands
        self._instance = pymol2.PyMOL()
        self._instance.start()
        self.cmd = self._instance.cmd
        self.cmd.feedback("disable", "all", "everything")
        commands.register(self.cmd)
        self.process = os.getpid()
        self._turn = 0

    def do(self, command: str, arguments: Sequence[object] = (), *, cancelled_after: float | None = None) -> Outcome:
        from pymol import CmdException

        self._turn += 1
        if self._turn % 2:
            os.environ["ORBITILE_PYTHON"] = sys.executable
        else:
            os.environ.pop("ORBITILE_PYTHON", None)
        timer = None
        if cancelled_after is not None:
            timer = threading.Timer(cancelled_after, self._commands.state_of(self.cmd).cancel)
            timer.start()
        try:
            given = [argument if isinstance(argument, str) else repr(argument) for argument in arguments]
            return Outcome(getattr(self._commands, command)(*given, quiet=1, _self=self.cmd))
        except CmdException as error:
            return Outcome(None, str(error))
        except TypeError as error:
            if "positional argument" in str(error):  # Python's own refusal of a call with too few or too many
                return Outcome(None, str(error))
            raise Defect(f"{command} {arguments}: {error}") from error
        except Exception as error:
            raise Defect(f"{command} {arguments}: {type(error).__name__}: {error}") from error
        finally:
            if timer is not None:
                timer.cancel()
                timer.join()

    def delete(self, name: str) -> None:
        self.cmd.delete(name)

    def reopen(self, folder: Path) -> None:
        file = folder / "session.pse"
        self.cmd.save(str(file))
        self.cmd.reinitialize()
        self.cmd.load(str(file))
        file.unlink()

    def move(self, molecule: str, step: float) -> None:
        self.cmd.translate([step, 0, 0], f"{molecule} and index 1", camera=0)

    def rest(self) -> None:
        pass  # without a window nothing goes on in the background

    def objects(self) -> list[str]:
        return list(self.cmd.get_names("all"))

    def python_objects(self) -> int:
        gc.collect()
        return len(gc.get_objects())

    def digest(self, surface: str) -> str:
        return hashlib.sha256(self.cmd.get_volume_field(f"{surface}_map", 1, 1).tobytes()).hexdigest()

    def close(self) -> None:
        self._commands.state_of(self.cmd).computing.close()
        self._instance.stop()


class Served:
    """The server, and a viewer at the other end of its pipe, which keeps to the rules of docs/server.md."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "orbitile", "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "ORBITILE_DEVICE": "cpu"},
        )
        self.process = self._process.pid
        self._number = 0
        self._writing = threading.Lock()
        self._there: dict[str, str] = {}
        self._events = 0
        self._frames: dict[tuple[str, int | None], list[str]] = {}
        self._digests: dict[str, str] = {}
        self._atoms: dict[str, list[list[float]]] = {}
        self._told: list[tuple[str, int]] = []
        self._ready = self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None  # a pipe
        line = self._process.stdout.readline()
        if not line:
            raise Defect(f"the server has ended with {self._process.wait(20)}")
        return json.loads(line)

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None  # a pipe
        with self._writing:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def ask(self, command: str, arguments: Sequence[object] = (), **more: Any) -> Outcome:
        """Send a request and read up to its answer."""
        self._number += 1
        wanted = self._number
        message = {"id": wanted, "command": command, "arguments": list(arguments), "seen": self._events, **more}
        self._write({"objects": sorted(self._there), **message})
        while True:
            message = self._read()
            if "event" in message:
                self._follow(message)
            elif message["id"] == wanted:
                break
        while self._told:  # frames that the viewer was sent to, and is at now
            molecule, frame = self._told.pop()
            if molecule in self._there and command != "frame":
                self.ask("frame", [molecule, str(frame)])
        if "error" in message:
            if message["error"].startswith("internal error"):
                raise Defect(f"{command} {arguments}: {message['error']}")
            return Outcome(None, message["error"])
        return Outcome(message["value"])

    def _follow(self, event: dict[str, Any]) -> None:
        """Do what an event says: read files and delete them, take note of what there is."""
        self._events += event["event"] != "ready"
        name = event.get("name") or event.get("molecule", "")
        if event["event"] == "molecule":
            self._there[name] = "molecule"
            lines = _taken(event["file"]).decode().splitlines()
            self._atoms[name] = [[float(word) for word in line.split()[1:4]] for line in lines[2 : 2 + int(lines[0])]]
        elif event["event"] == "surface":
            if event["new"]:
                self._there[name] = "surface"
            if "shades" in event:
                _taken(event["shades"])
        elif event["event"] == "volume" and event["file"] is not None:
            if "frame" in event:
                self._frames.setdefault((name, event["frame"]), []).append(event["file"])
            else:
                self._digests[name] = hashlib.sha256(_taken(event["file"])).hexdigest()
        elif event["event"] == "drop":
            self._let_go(name, event["frame"])
        elif event["event"] == "remove":
            self._forget(name)
        elif event["event"] == "frame":
            self._told.append((event["molecule"], event["frame"]))
        elif event["event"] == "move":
            for atom, place in zip(event["atoms"], event["positions"], strict=True):
                self._atoms[event["molecule"]][atom] = place
        elif event["event"] == "message" and event["text"].startswith("internal error"):
            raise Defect(event["text"])

    def _let_go(self, name: str, frame: int | None) -> None:
        for file in self._frames.pop((name, frame), []):
            _taken(file)

    def _forget(self, name: str) -> None:
        self._there.pop(name, None)
        self._digests.pop(name, None)
        self._atoms.pop(name, None)
        for key in [key for key in self._frames if key[0] == name]:
            self._let_go(*key)

    def do(self, command: str, arguments: Sequence[object] = (), *, cancelled_after: float | None = None) -> Outcome:
        given = [argument if isinstance(argument, str) else json.dumps(argument) for argument in arguments]
        if cancelled_after is None:
            return self.ask(command, given)
        timer = threading.Timer(cancelled_after, self._write, [{"id": "stop", "command": "orb_cancel"}])
        timer.start()
        try:
            return self.ask(command, given)
        finally:
            timer.cancel()
            timer.join()

    def delete(self, name: str) -> None:
        self._forget(name)
        self.ask("")

    def reopen(self, folder: Path) -> None:
        saved = self.ask("state").value
        for name in self.objects():
            self._forget(name)
        self.ask("restore", [saved])

    def move(self, molecule: str, step: float) -> None:
        self._atoms[molecule][0][0] += step
        self.ask("", positions={molecule: self._atoms[molecule]})

    def rest(self) -> None:
        """A tenth of a second of a viewer at which nobody does anything."""
        time.sleep(0.1)
        self.ask("")

    def objects(self) -> list[str]:
        return sorted(self._there)

    def python_objects(self) -> int:
        return 0

    def digest(self, surface: str) -> str:
        return self._digests[surface]

    def end(self, how: str) -> None:
        """End the server in one of the ways in which viewers do: in order, by a signal, or killed."""
        if how == "closed":
            assert self._process.stdin is not None  # a pipe
            self._process.stdin.close()
        elif how == "terminated":
            self._process.terminate()
        else:
            self._process.kill()
        self._process.wait(30)
        assert self._process.stdout is not None  # a pipe
        self._process.stdout.close()

    def close(self) -> None:
        self.end("closed")

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return Path(self._ready["folder"])

    def begin(self, command: str, arguments: Sequence[object]) -> None:
        """Send a request, and do not wait for what comes of it."""
        self._write({"id": "begun", "command": command, "arguments": list(arguments)})


def _taken(file: str) -> bytes:
    """What a file holds, which is deleted."""
    data = Path(file).read_bytes()
    os.unlink(file)
    return data


VIEWERS: dict[str, type[InPyMOL] | type[Served]] = {"pymol": InPyMOL, "server": Served}
"""By the names that the command line knows."""


def fresh_digest(viewer: str, file: str) -> str:
    """The volume of a coarse orbital, computed by a viewer that has done nothing before."""
    one = VIEWERS[viewer]()
    try:
        return last_digest(one, file)
    finally:
        one.close()


def last_digest(viewer: Viewer, file: str) -> str:
    """The volume of a coarse orbital; its molecule is loaded for it, and deleted after it."""
    loaded = viewer.do("orb_load", [file, "last"])
    shown = viewer.do("orb_mo", ["last", "homo-1", 0.04, "coarse"])
    if shown.value is None:
        raise Defect(f"the last request failed: {loaded.error or shown.error}")
    found = viewer.digest(shown.value)
    viewer.delete("last")
    return found
