"""A screen in memory with a window manager, and the hands of a user: mouse and keys, as X delivers them."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

PROGRAMS = ("Xvfb", "openbox", "xdotool")
Point = tuple[int, int]

_STEPS = 12
"""Stops of the mouse on its way from one place to another."""


def missing() -> str:
    """What a desktop lacks here; empty where all is there."""
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    absent += [module for module in ("PyQt5", "pymol", "PIL") if find_spec(module) is None]
    return f"not installed: {', '.join(absent)}" if absent else ""


class Screen:
    """Xvfb and openbox, and what xdotool does there.

    Parameters
    ----------
    width, height
        In pixels.

    Attributes
    ----------
    environment : dict of str to str
        For programs that are to appear on it.
    """

    def __init__(self, width: int = 1500, height: int = 950) -> None:
        self._size = f"{width}x{height}x24"

    def __enter__(self) -> Screen:
        read, write = os.pipe()
        command = ["Xvfb", "-displayfd", str(write), "-screen", "0", self._size, "-nolisten", "tcp", "-noreset"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._server = subprocess.Popen(command, pass_fds=[write], **quiet)
        os.close(write)
        with os.fdopen(read) as pipe:
            number = pipe.readline().strip()
        if not number:
            raise RuntimeError("Xvfb did not start")
        self.display = f":{number}"
        self.environment = {**os.environ, "DISPLAY": self.display}
        self._manager = subprocess.Popen(["openbox", "--sm-disable"], env=self.environment, **quiet)
        time.sleep(0.5)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in (self._manager, self._server):
            process.terminate()
            process.wait(10)

    def do(self, *words: object) -> str:
        """Have xdotool do something."""
        command = ["xdotool", *map(str, words)]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command[:6])}: {done.stderr.strip()}")
        return done.stdout.strip()

    def move(self, to: Point) -> None:
        self.do("mousemove", *to)

    def click(self, at: Point, button: int = 1, times: int = 1, key: str = "") -> None:
        """Click somewhere, holding a key if one is named."""
        held, released = (["keydown", key], ["keyup", key]) if key else ([], [])
        clicks = ["click", "--repeat", times, "--delay", 60, button]
        self.do("mousemove", *at, "sleep", 0.03, *held, *clicks, *released)

    def press(self, at: Point) -> None:
        """Press the left button, and hold it."""
        self.do("mousemove", *at, "sleep", 0.03, "mousedown", 1)

    def release(self) -> None:
        self.do("mouseup", 1)

    def drag(self, start: Point, end: Point, seconds: float = 0.4, button: int = 1, pause: float = 0.05) -> None:
        """Press at one place, move to another, release there."""
        words: list[object] = ["mousemove", *start, "sleep", 0.05, "mousedown", button]
        for step in range(1, _STEPS + 1):
            here = [round(a + (b - a) * step / _STEPS) for a, b in zip(start, end, strict=True)]
            words += ["sleep", seconds / _STEPS, "mousemove", *here]
        self.do(*words, "sleep", pause, "mouseup", button)

    def turn_wheel(self, at: Point, clicks: int) -> None:
        """Turn the wheel, away from the user where the number is positive."""
        self.do("mousemove", *at, "click", "--repeat", abs(clicks), "--delay", 30, 4 if clicks > 0 else 5)

    def key(self, *names: str) -> None:
        """Press keys, as `Down` or `ctrl+a`, one after the other."""
        self.do("key", "--delay", 40, *names)

    def type(self, text: str) -> None:
        self.do("type", "--delay", 12, "--", text)

    def corner_of(self, title: str) -> Point:
        """Upper left corner of a window without a frame, once it is there; with a frame it is some way into it."""
        window = self.do("search", "--sync", "--onlyvisible", "--name", f"^{title}$").split()[0]
        lines = self.do("getwindowgeometry", "--shell", window).splitlines()
        places = dict(line.split("=") for line in lines)
        return int(places["X"]), int(places["Y"])

    def picture(self, path: Path, box: tuple[int, int, int, int] | None = None) -> Path:
        """Save what the screen shows, or a part of it: left, top, width, height."""
        from PIL import ImageGrab

        path.parent.mkdir(parents=True, exist_ok=True)
        picture = ImageGrab.grab(xdisplay=self.display)
        if box is not None:
            left, top, width, height = box
            picture = picture.crop((left, top, left + width, top + height))
        picture.convert("RGB").save(path, optimize=True)
        return path
