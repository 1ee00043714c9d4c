"""Cases that go wrong in every way: what the program that tries cases is tested with. It gets no share of a run."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np

SHARE = 0.0
SECONDS = 0.5


class Subject:
    """What goes wrong, by the number in the name of the folder of a case."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, random: np.random.Generator, folder: Path) -> bool:
        (folder / "input.txt").write_text(f"{random.integers(1 << 30)}")
        number = int(folder.name.rpartition("-")[2])
        if number == 2:
            raise KeyError("not foreseen")
        if number == 3:
            os.kill(os.getpid(), signal.SIGSEGV)
        if number == 4:
            time.sleep(1000)
        if number == 5:
            while True:
                pass
        if number == 6:
            np.zeros(1 << 33, np.uint8)
        if number == 7:
            (folder / ".orbitile-0123.cube").touch()
        return number == 0

    def check(self) -> None:
        pass

    def close(self) -> None:
        pass
