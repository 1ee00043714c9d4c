"""PyMOL with its window on a screen, in a home folder of its own: started, asked, closed, and what it leaves behind."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from .screen import Point, Screen

_TOKEN = "ORBITILE_TRIAL"
"""Variable in the environment by which a process is known as a descendant."""
_FOREIGN = ("libGL", "MESA", "XDG_RUNTIME_DIR", "qt.qpa", "QStandardPaths", "Xlib:")
"""What libraries say on a machine without a graphics card."""


class Window:
    """PyMOL, started as a user starts it.

    Parameters
    ----------
    screen
        Where it appears.
    folder
        Where its home folder is, or is made, that for temporary files, and its log.
    cache
        Folder of compiled kernels; within the home folder where it is None.
    arguments
        Files that PyMOL is to open.
    """

    def __init__(self, screen: Screen, folder: Path, cache: Path | None = None, *arguments: str) -> None:
        self.screen, self.home, self.arguments = screen, folder / "home", arguments
        self.temporary, runtime = folder / "tmp", folder / "run"
        for made in (self.home, self.temporary, runtime):
            made.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.token = secrets.token_hex(8)
        self._socket_path = f"/tmp/orbitile-{self.token}"
        self.environment = {
            **screen.environment,
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "XDG_CACHE_HOME": str(cache or self.home / ".cache"),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_RUNTIME_DIR": str(runtime),
            "ORBITILE_WATCHER": self._socket_path,
            "QT_QPA_PLATFORM": "xcb",
            _TOKEN: self.token,
        }
        self.log_path = folder / "pymol.log"

    def install(self, *arguments: str) -> str:
        """Install Orbitile into this PyMOL, by the command for it."""
        command = [sys.executable, "-m", "orbitile", "install", "pymol", *arguments]
        done = subprocess.run(
            command, env=self.environment, cwd=self.home, capture_output=True, text=True, check=False, timeout=300
        )
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        return done.stdout

    def __enter__(self) -> Window:
        watcher = Path(__file__).with_name("watcher.py")
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pymol", "-q", *self.arguments, str(watcher)],
                env=self.environment,
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        end = time.monotonic() + 60
        while True:
            try:
                self._peer.connect(self._socket_path)
                break
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise RuntimeError(f"PyMOL did not start: {self.log()}") from None
                time.sleep(0.05)
        os.unlink(self._socket_path)
        self._lines = self._peer.makefile("r")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._peer.close()
        for process in self.descendants():
            os.kill(process, signal.SIGKILL)
        self.process.wait(30)

    # ---- what is there

    def ask(self, expression: str, seconds: float = 60.0) -> Any:
        """Value of an expression inside PyMOL, about the names of `watcher`."""
        self._peer.settimeout(seconds)
        self._peer.sendall(json.dumps(expression).encode() + b"\n")
        answer = json.loads(self._lines.readline() or '{"error": "PyMOL has ended"}')
        if "error" in answer:
            raise RuntimeError(f"{expression}: {answer['error']}")
        return answer["answer"]

    def wait(self, expression: str, seconds: float = 60.0) -> float:
        """Seconds until an expression inside PyMOL is true."""
        begin = time.monotonic()
        while not self.ask(expression):
            if time.monotonic() - begin > seconds:
                raise TimeoutError(f"{expression} is not true after {seconds:g} s; the log: {self.log()[-800:]}")
            time.sleep(0.01 if time.monotonic() - begin < 1 else 0.05)  # PyMOL itself works at each answer
        return time.monotonic() - begin

    def at(self, expression: str, share: tuple[float, float] = (0.5, 0.5)) -> Point:
        """A point on the screen within the box that an expression gives, its middle for one."""
        found = self.ask(expression)
        if found is None:
            raise LookupError(f"{expression} is not on the screen")
        left, top, width, height = found
        return round(left + share[0] * width), round(top + share[1] * height)

    def place(self, words: str, kind: str = "QWidget") -> Point:
        """Middle of the widget that shows words."""
        return self.at(f"place({words!r}, {kind!r})")

    def log(self) -> str:
        """What PyMOL has written, without what libraries say about the machine."""
        lines = self.log_path.read_text(errors="replace").splitlines()
        return "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith(_FOREIGN))

    def descendants(self) -> list[int]:
        """Processes that were started from this PyMOL, itself among them, as long as they run."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                environment = (entry / "environ").read_bytes()
                state = (entry / "stat").read_text().rpartition(") ")[2][:1]
            except OSError:
                continue
            if f"{_TOKEN}={self.token}".encode() in environment and state != "Z":
                found.append(int(entry.name))
        return found

    # ---- what a user does

    def click(self, words: str, kind: str = "QWidget") -> None:
        """Click on the widget that shows words, once it stands still: a new window is moved by its manager."""
        before, now = None, self.place(words, kind)
        while now != before:
            time.sleep(0.05)
            before, now = now, self.place(words, kind)
        self.screen.click(now)

    def choose(self, *words: str) -> None:
        """Choose an entry of the menus of the window, and of what opens then."""
        for word in words:
            self.wait(f"entry({word!r}) is not None", 15)
            self.screen.click(self.at(f"entry({word!r})"))
            time.sleep(0.15)

    def write(self, widget: str, text: str) -> None:
        """Type into a field, which an expression gives, in place of what stands there, once it has the keyboard."""
        self.screen.click(self.at(f"box({widget})"))
        try:
            self.wait(f"QtWidgets.QApplication.focusWidget() is {widget}", 15)
        except TimeoutError:
            raise LookupError(f"{widget} does not take the keyboard") from None
        self.screen.key("ctrl+a")
        self.screen.type(text) if text else self.screen.key("Delete")

    def prompt(self, command: str) -> None:
        """Type a command at PyMOL's prompt."""
        self.write("main_window().lineedit", command)
        self.screen.key("Return")

    def open_panel(self) -> None:
        """Plugin > Orbitile."""
        self.choose("Plugin", "Orbitile")
        self.wait("panel() is not None")

    def quit(self, seconds: float = 20.0) -> list[str]:
        """Close PyMOL by File > Quit; says what it left behind."""
        self.choose("File", "Quit")
        left = []
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            left.append(f"PyMOL itself, after {seconds:g} s")
        end = time.monotonic() + 5
        while self.descendants() and time.monotonic() < end:
            time.sleep(0.05)
        left += [f"process {process}: {_command(process)}" for process in self.descendants()]
        return left + [f"file {path}" for path in sorted(self.temporary.rglob("*"))]


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ").strip()
    except OSError:
        return "it has ended meanwhile"
