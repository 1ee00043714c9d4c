"""The worker killed with -9 at each stage of a request: one message, nothing left, and the next request is right.

An interpreter of our own runs the worker, in which the function at which a stage begins kills the process once, when
a file names the stage.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from orbitile.pictures.request import Request
from orbitile.session.computing import SampleWorker
from orbitile.workers import WorkerEnded
from tests.session.test_sample_worker import left_by

pytestmark = [pytest.mark.linux, pytest.mark.slow]

BENZENE = str(files("orbitile") / "data" / "benzene.molden")

REQUEST = Request(BENZENE, "density", "coarse", device="cpu")

STAGES = {
    "starting the compiler": "taichi_kernels._taichi.start",
    "reading": "orbitile.session.sampling.load",
    "finding the isovalue": "orbitile.pictures.surface.default_isovalue",
    "computing": "orbitile.evaluation.slabs._fill",
    "drawing the surface": "orbitile.pictures.surface.surface_within",
    "returning": "orbitile.workers.serving.transport.send",
    "loading what is faster next time": "orbitile.session.sampling._load_kernel",
}
"""Where each stage begins. That of returning is the second message: the first one tells progress."""

_DEADLY = """#!{python}
import os, signal, sys
from importlib import import_module
from pathlib import Path
from orbitile.workers import serving
import orbitile.session.sampling

stage = Path({stage!r})

def deadly(name):
    module, _, attribute = name.rpartition(".")
    owner = sys.modules.get(module) or import_module(module) if not module.endswith(".transport") else serving.transport
    before = getattr(owner, attribute)
    def killed(*arguments, **keywords):
        is_answer = attribute != "send" or arguments[1] == "done"
        if is_answer and stage.exists() and stage.read_text() == name:
            stage.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return before(*arguments, **keywords)
    setattr(owner, attribute, killed)

for name in {stages!r}:
    deadly(name)
sys.argv = sys.argv[2:]
serving.main()
"""


def test_killed_at_each_stage(tmp_path):
    """One after the other, in the process that has taken over from the one before; a new one where only that has it."""
    alone = SampleWorker()
    try:
        undisturbed = alone.submit(REQUEST).result(60).volume.values.copy()
    finally:
        alone.close()
    python, stage = tmp_path / "python", tmp_path / "stage"
    python.write_text(_DEADLY.format(python=sys.executable, stage=str(stage), stages=list(STAGES.values())))
    python.chmod(0o755)
    worker = SampleWorker(str(python))
    try:
        for n, (name, place) in enumerate(STAGES.items()):
            if name.startswith("loading"):  # which a process does once
                os.kill(worker.process_id, signal.SIGKILL)
            # a file of its own, which has to be read
            request = replace(REQUEST, path=str(shutil.copy(BENZENE, tmp_path / f"{n}.molden")))
            stage.write_text(place)
            first = worker.submit(request)
            waiting = worker.submit(request)
            if name.startswith("loading"):  # behind the answer, where nobody waits
                first.result(60)
                found = _again(worker, waiting, request)
            else:
                with pytest.raises(
                    WorkerEnded, match=r"the worker ended \(signal 9\); the next request starts another"
                ):
                    first.result(60)
                found = waiting.result(60)
            assert not stage.exists(), name
            process = worker.process_id
            again = worker.submit(request).result(60)
            assert worker.process_id == process, name
            assert np.array_equal(again.volume.values, found.volume.values), name
            assert left_by(process) == [], name
            assert np.array_equal(found.volume.values, undisturbed), name
    finally:
        worker.close()


def _again(worker, waiting, request):
    """What the next request gives, whether the one that waited was lost with the process or not begun by it."""
    try:
        return waiting.result(60)
    except WorkerEnded:
        return worker.submit(request).result(60)


def test_killed_while_others_wait_in_the_queue():
    """What is computed is lost, what waits is done by the next process."""
    worker = SampleWorker()
    try:
        worker.submit(Request(BENZENE, "homo", "coarse", device="cpu")).result(60)
        process = worker.process_id
        begun = threading.Event()
        lost = worker.submit(Request(BENZENE, "esp", "fine", 0.03, device="cpu"), lambda share: begun.set())
        waiting = [worker.submit(Request(BENZENE, field, "coarse", device="cpu")) for field in ("lumo", "homo-1")]
        assert begun.wait(60)
        os.kill(process, 9)
        with pytest.raises(WorkerEnded, match="signal 9"):
            lost.result(60)
        assert [one.result(60).volume.quantity for one in waiting] == ["LUMO (orbital 22)", "HOMO-1 (orbital 20)"]
        assert not [name for name in os.listdir("/dev/shm") if str(process) in name]
    finally:
        worker.close()
