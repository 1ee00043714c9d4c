"""A GPU that is lost in the middle: its error says so, and a worker gives way to another, so that the next is right.

No driver loses a device when it is asked to, so what the compiler raises then is raised here in the place of a kernel,
and whether the device goes on is answered in its place.
"""

import os
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from orbitile.base.errors import DeviceError
from orbitile.pictures.request import Request
from orbitile.session.computing import SampleWorker
from taichi_kernels import _taichi

BENZENE = str(files("orbitile") / "data" / "benzene.molden")
LOST = "[cuda_driver.h:operator()@92] CUDA Error CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access (sync)"


_IN_A_PROCESS = """
import sys
import numpy as np, pytest
import orbitile as ob
from orbitile.base.errors import DeviceError
from taichi_kernels import arrays
from taichi_kernels.session import generation, session
from tests.evaluation.test_lost_devices import lose

benzene = ob.load(sys.argv[1])
lattice = ob.Lattice.around(benzene, 1.0, 0.8)
expected = ob.compute(benzene, "density", lattice, device="cpu").values
with session("cpu"):
    array = arrays.allocate((8,), "float32")
before = generation()

def refused(*arguments, **keywords):
    raise RuntimeError("out of memory")

with pytest.MonkeyPatch.context() as patch:  # a device that goes on is kept, with the results that are on it
    patch.setattr("orbitile.evaluation.slabs._fill", refused)
    with pytest.raises(DeviceError, match=r"the device failed: out of memory$"):
        ob.compute(benzene, "density", lattice, device="cpu")
assert np.array_equal(ob.compute(benzene, "density", lattice, device="cpu").values, expected)
assert generation() == before
array.to_numpy()

with pytest.MonkeyPatch.context() as patch:
    lose(patch)
    with pytest.raises(DeviceError, match=r"ILLEGAL_ADDRESS.*; it was lost: start this process anew"):
        ob.compute(benzene, "density", lattice, device="cpu")
for _ in range(2):
    with pytest.raises(DeviceError, match="cpu was lost, and kernels with it: start this process anew"):
        ob.compute(benzene, "density", lattice, device="cpu")
with pytest.raises(RuntimeError, match="this array is lost"):
    array.to_numpy()
print("told")
"""


def lose(patch: pytest.MonkeyPatch) -> None:
    """Have the next slab end as those do that are computed on a GPU that is lost then."""

    def refused(*arguments, **keywords):
        patch.undo()
        patch.setattr(_taichi, "goes_on", lambda: False)
        raise RuntimeError(LOST)

    patch.setattr("orbitile.evaluation.slabs._fill", refused)


@pytest.mark.slow
def test_a_process_of_its_own_says_so_and_ends_in_peace():
    done = subprocess.run(
        [sys.executable, "-c", _IN_A_PROCESS, BENZENE], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, "told\n"), done.stderr


def lose_it() -> int:
    """In a worker: lose the device at the next slab."""
    lose(pytest.MonkeyPatch())
    return os.getpid()


@pytest.mark.slow
def test_a_worker_gives_way_to_another():
    worker = SampleWorker()
    request = Request(BENZENE, "homo", "coarse", 0.05, device="cpu")
    try:
        expected = worker.submit(request).result(60).volume.values.copy()
        first = worker.run(lose_it).result(60)
        with pytest.raises(DeviceError, match="it was lost: ask again"):
            worker.submit(request).result(60)
        found = worker.submit(request).result(60)
        assert np.array_equal(found.volume.values, expected)
        assert worker.process_id not in (None, first)
    finally:
        worker.close()


_VANISHES = """
import os, sys
import orbitile as ob
from taichi_kernels.devices import probe
assert probe("vulkan").available, probe("vulkan").detail
os.unlink(os.environ["VK_DRIVER_FILES"])
benzene = ob.load(sys.argv[1])
lattice = ob.Lattice.around(benzene, 1.0, 0.8)
try:
    ob.compute(benzene, "homo", lattice, device="vulkan")
except ob.OrbitileError as error:
    print(error)
print(ob.compute(benzene, "density", lattice, device="cpu").values.shape)
"""


@pytest.mark.slow
@pytest.mark.vulkan
@pytest.mark.linux
def test_a_driver_that_vanishes_after_it_was_found(tmp_path):
    found = sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))
    if not found:
        pytest.skip("Mesa's software driver is not installed")
    driver = Path(shutil.copy(found[0], tmp_path / "driver.json"))
    done = subprocess.run(
        [sys.executable, "-c", _VANISHES, BENZENE],
        env={**os.environ, "VK_DRIVER_FILES": str(driver), "VK_ICD_FILENAMES": str(driver)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    refused, shape = done.stdout.splitlines()
    assert refused.startswith("vulkan cannot be used here: ")
    assert shape.startswith("(")
