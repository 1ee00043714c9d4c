"""The worker killed with -9 at each stage of a request: one message, nothing left, and the next request is right.

An interpreter of our own runs the worker, in which the function at which a stage begins kills the process once.
"""

from __future__ import annotations

import os
import sys
import threading
from importlib.resources import files

import numpy as np
import pytest

from orbitile.pictures.request import Request
from orbitile.session.computing import SampleWorker
from orbitile.workers import WorkerEnded
from tests.session.test_sample_worker import left_by

pytestmark = [pytest.mark.linux, pytest.mark.slow]

BENZENE = str(files("orbitile") / "data" / "benzene.molden")

STAGES = {
    "reading": "orbitile.session.sampling.load",
    "starting the compiler": "taichi_kernels._taichi.start",
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

def deadly(name):
    module, _, attribute = name.rpartition(".")
    owner = sys.modules.get(module) or import_module(module) if not module.endswith(".transport") else serving.transport
    before = getattr(owner, attribute)
    def killed(*arguments, **keywords):
        is_answer = attribute != "send" or arguments[1] == "done"
        if is_answer and not Path({mark!r}).exists():
            Path({mark!r}).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return before(*arguments, **keywords)
    setattr(owner, attribute, killed)

deadly({stage!r})
sys.argv = sys.argv[2:]
serving.main()
"""


REQUEST = Request(BENZENE, "density", "coarse", device="cpu")


@pytest.fixture(scope="module")
def undisturbed():
    """Values that a worker computes which nobody kills."""
    worker = SampleWorker()
    try:
        return worker.submit(REQUEST).result(60).volume.values.copy()
    finally:
        worker.close()


@pytest.mark.parametrize("stage", STAGES)
def test_killed_at(stage, tmp_path, undisturbed):
    python = tmp_path / "python"
    mark = tmp_path / "killed"
    python.write_text(_DEADLY.format(python=sys.executable, mark=str(mark), stage=STAGES[stage]))
    python.chmod(0o755)
    worker = SampleWorker(str(python))
    try:
        first = worker.submit(REQUEST)
        waiting = worker.submit(REQUEST)
        if stage.startswith("loading"):  # behind the answer, where nobody waits
            first.result(60)
        else:
            with pytest.raises(WorkerEnded, match=r"the worker ended \(signal 9\); the next request starts another"):
                first.result(60)
        found = waiting.result(60) if not stage.startswith("loading") else _again(worker, waiting)
        assert mark.exists()
        process = worker.process_id
        again = worker.submit(REQUEST).result(60)
        assert worker.process_id == process
        assert np.array_equal(again.volume.values, found.volume.values)
        assert left_by(process) == []
    finally:
        worker.close()
    assert np.array_equal(found.volume.values, undisturbed)


def _again(worker, waiting):
    """What the next request gives, whether the one that waited was lost with the process or not begun by it."""
    try:
        return waiting.result(60)
    except WorkerEnded:
        return worker.submit(REQUEST).result(60)


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
