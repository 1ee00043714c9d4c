"""What can compute and draw on this machine, and why the rest cannot."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from ..base.errors import DeviceError
from ..base.imports import isolated
from ..workers.child_process import environment, interpreter
from .devices import one_device

if TYPE_CHECKING:
    from taichi_kernels.devices import Probe

_PROGRAM = {
    "compute": (
        "from taichi_kernels.arrays import allocate\n"
        "from taichi_kernels.launching import synchronise\n"
        "from taichi_kernels.session import session\n"
        "with session({name!r}):\n"
        "    allocate((8,), 'float32').fill(1.0)\n"
        "    synchronise()\n"
    ),
    "list": "from orbitile.renderer.context import BACKENDS\nprint(*BACKENDS)\n",
    "draw": (
        "import os\n"
        "os.environ['PYOPENGL_PLATFORM'] = {name!r}\n"
        "from orbitile.renderer.context import offscreen\n"
        "with offscreen() as context:\n"
        "    print(context.renderer)\n"
    ),
}
_PATIENCE = 120
"""Seconds that a driver may take to start."""


def device_report() -> list[str]:
    """Lines for people: each device and graphics back end, whether it works, and what it is or why it does not.

    Each one is really started, in a process of its own, since a broken driver may crash the process that loads it.
    """
    from taichi_kernels.devices import DEVICES, gpus, probe

    lines, chosen = ["compute (Taichi)"], None
    try:
        chosen = one_device(None)
    except DeviceError as error:
        lines.append(f"  ORBITILE_DEVICE: {error}")
    for name in DEVICES:
        found = probe(name)
        works, note = (False, found.detail)
        if found.available:
            works, reason = _try("compute", name)
            note = _described(found) if works else reason
        lines.append(_line(name, works, note + (" [used by auto]" if works and name == chosen else "")))
        if name == "cuda" and works:
            lines += [f"    cuda:{number}  {gpu}" for number, gpu in enumerate(gpus())]
    lines.append("draw (OpenGL, no window)")
    listed, names = _try("list", "")
    for name in names.split() if listed else []:
        works, note = _try("draw", name)
        lines.append(_line(name, works, note))
    return lines


def _described(found: Probe) -> str:
    """The hardware, how much memory it has, and what it cannot do."""
    memory = "" if found.memory is None else f", {found.memory / 1e9:.1f} GB"
    return found.detail + memory + ("" if found.double else ", single precision only")


def _line(name: str, works: bool, note: str) -> str:
    return f"  {name:<8}{'yes' if works else 'no':<5}{note}"


def _try(purpose: str, name: str) -> tuple[bool, str]:
    program = _PROGRAM[purpose].format(name=name)
    try:
        done = subprocess.run(
            isolated(interpreter(), f"exec({program!r})"),
            env=environment(),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"its driver did not answer within {_PATIENCE} s"
    if done.returncode == 0:
        return True, done.stdout.strip()
    if done.returncode < 0:
        return False, f"its driver crashed (signal {-done.returncode})"
    last = [line for line in done.stderr.strip().splitlines() if line.strip()]
    return False, last[-1].split(": ", 1)[-1] if last else "its driver failed without a word"
