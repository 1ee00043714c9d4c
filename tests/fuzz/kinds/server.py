"""Requests of `orbitile serve`: lines of JSON that are right, odd, broken, huge, in any order, and then a right one."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from orbitile.session.commands import COMMANDS
from tests.fuzz.damage import mutated
from tests.fuzz.kinds import check_message
from tests.fuzz.kinds.session import INPUTS, OUTPUTS, any_command
from tests.fuzz.samples import SAMPLES, inputs
from tests.fuzz.values import arguments_for, chosen, odd_value, odd_word

SHARE = 0.15
SECONDS = 30.0

MOST = 4
"""Lines of one case."""

PATIENCE = 90.0
"""Seconds by the clock that an answer may take."""

UNUSED = "sound"
"""A name of an object that no request has: a viewer may say that it has one of the others."""

LIVES = 300
"""Cases after which the server is another one."""

OWN = ("orbitals", "window", "state", "restore", "frame", "directions", "atoms", "", "no_such_command")

QUICK = {command.name for command in COMMANDS} - {"orb_scf", "orb_live", "orb_relax", "orb_film", "orb_picture"}
"""Commands that start no other processes: those would be left to a server that lives on."""


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


class Server:
    """A server as a process, and all that it was told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._log = (folder / "server.log").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "orbitile", "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, "ORBITILE_DEVICE": "cpu"},
            bufsize=0,
            cwd=folder,
        )
        self.told: list[bytes] = []
        self._rest = b""
        self.message()

    def say(self, line: bytes) -> None:
        """Send a line."""
        self.told.append(line)
        assert self.process.stdin is not None
        left = memoryview(line)
        while left:
            n = self.process.stdin.write(left)
            assert n
            left = left[n:]

    def message(self) -> dict[str, Any]:
        """The next message."""
        assert self.process.stdout is not None
        until = time.monotonic() + PATIENCE
        while b"\n" not in self._rest:
            there, _, _ = select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))
            assert there, f"no answer within {PATIENCE:g} s"
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            assert piece, f"the server has ended: {(self.folder / 'server.log').read_text(errors='replace')[-2000:]}"
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        found = json.loads(line, parse_constant=_refuse)
        assert isinstance(found, dict)
        return found

    def answered(self, request: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The answer to a request, and all messages before it."""
        self.say(json.dumps(request).encode() + b"\n")
        before = []
        while (message := self.message()).get("id") != request["id"] or "event" in message:
            before.append(message)
        return message, before

    def close(self) -> int | None:
        """End it as a viewer does; its exit status."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("it does not end with its input") from None
        finally:
            self.process.stdout.close()
            self._log.close()
        return self.process.returncode


class Subject:
    """A server that lives through many cases."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "served"
        inputs(self.folder)
        self.server: Server | None = None
        self.cases = 0

    def run(self, random: np.random.Generator, folder: Path) -> bool:
        if self.cases >= LIVES:
            self.close()
        if self.server is None:
            self.server, self.cases = Server(self.folder), 0
        self.cases += 1
        lines = [self.line(random) for _ in range(int(random.integers(1, MOST + 1)))]
        (folder / "input.jsonl").write_bytes(b"".join(lines))
        try:
            answers = self._tried(self.server, lines)
        except BaseException:
            (folder / "all_that_it_was_told.jsonl").write_bytes(b"".join(self.server.told))
            self.server.process.kill()
            self.server.process.wait()
            self.server = None
            raise
        if sum(map(len, self.server.told)) > 1 << 26:
            self.close()
        return answers > 0

    def _tried(self, server: Server, lines: list[bytes]) -> int:
        for line in lines:
            server.say(line)
        loaded, before = server.answered(
            {"id": "right", "command": "orb_load", "arguments": [str(SAMPLES / "h2o.molden.input"), UNUSED]}
        )
        for message in before:
            if "error" in message and "event" not in message:
                assert "internal error" not in message["error"], message["error"]
                check_message(ValueError(message["error"]))
        n = sum("event" not in message for message in before)
        asked = sum(1 for line in b"".join(lines).split(b"\n") if line.strip())
        assert n == asked, f"{asked} requests, {n} answers"
        assert loaded.get("value") == UNUSED, loaded
        table, _ = server.answered({"id": "table", "command": "orbitals", "arguments": [UNUSED]})
        assert len(table["value"]["rows"]) == 19, table
        return sum("error" not in message and "event" not in message for message in before)

    def line(self, random: np.random.Generator) -> bytes:
        """One line, or what is sent for one."""
        luck = random.random()
        if luck < 0.02:
            return b"[" * int(10 ** random.uniform(3, 5.5)) + b"\n"
        if luck < 0.03:
            return json.dumps({"command": "orb_info", "arguments": ["x" * 1_100_000]}).encode() + b"\n"
        if luck < 0.06:
            return random.bytes(int(random.integers(1, 200))) + b"\n"
        request = self.request(random)
        try:
            line = json.dumps(request).encode()
        except ValueError:  # numbers of too many digits
            line = b'{"id": 1' + b"0" * 5000 + b"}"
        if luck < 0.35:
            line = mutated(line, random)
        return line + b"\n"

    def request(self, random: np.random.Generator) -> dict[str, Any]:
        """A request: most parts of most are right."""
        found: dict[str, Any] = {"id": int(random.integers(1000))}
        if random.random() < 0.6:
            command = any_command(random)
            while command.name not in QUICK:
                command = any_command(random)
            names = {"molecules": ["right", "h2o", "it"], "surfaces": ["right_homo", "h2o_homo"]}
            names |= {"inputs": list(INPUTS), "outputs": list(OUTPUTS)}
            found |= {"command": command.name, "named": arguments_for(random, command.arguments, names)}
        else:
            found["command"] = chosen(random, OWN)
            words = ("right", "0", "1", "eV", "homo", "C H", "0 0 0 0 0 1", "open", "show", "load", "h2o.molden.input")
            found["arguments"] = [
                chosen(random, words) if random.random() < 0.7 else odd_word(random)
                for _ in range(int(random.integers(0, 4)))
            ]
        for part, value in (
            ("objects", ["right", "it"]),
            ("hidden", ["right_homo"]),
            ("seen", 3),
            ("dragging", True),
            ("positions", {"right": [[0.0, 0.0, 0.1 * n] for n in range(3)]}),
        ):
            if random.random() < 0.1:
                found[part] = value if random.random() < 0.5 else odd_value(random)
        if random.random() < 0.05:
            found[odd_word(random)] = odd_value(random)
        if random.random() < 0.05:
            found[chosen(random, list(found))] = odd_value(random)
        return found

    def check(self) -> None:
        pass

    def close(self) -> None:
        server, self.server, self.cases = self.server, None, 0
        if server is not None:
            status = server.close()
            assert status == 0, f"the server ended with status {status}"
