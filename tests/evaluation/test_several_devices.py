"""Slabs of a lattice on several devices: here two processes on the CPU, which is the machinery of several GPUs."""

import dataclasses
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import Cancelled, DeviceError, FieldError
from orbitile.base.watch import Watch
from orbitile.commandline import main
from orbitile.evaluation import several_devices
from orbitile.evaluation.devices import device_report, several
from orbitile.fields import Field
from orbitile.workers.transport import own_prefix
from taichi_kernels import devices
from tests.conftest import random_wavefunction

TWO = "cpu,cpu"
BENZENE = str(files("orbitile") / "data" / "benzene.molden")


@pytest.fixture(scope="module", autouse=True)
def ended():
    yield
    several_devices.end_processes()


def lattice_of(wavefunction: ob.Wavefunction) -> ob.Lattice:
    return ob.Lattice.around(wavefunction, 0.4, 6.0)


@pytest.mark.parametrize(
    ("field", "precision"),
    [
        *((field, "single") for field in ("homo", "density", "esp")),
        # kernels of their own, which three processes load
        pytest.param("elf", "single", marks=pytest.mark.slow),
        *(pytest.param(field, "double", marks=pytest.mark.slow) for field in ("homo", "density", "elf", "esp")),
    ],
)
def test_values_are_those_of_one_device(field, benzene, precision):
    lattice = ob.Lattice.around(benzene, 0.9, 3.0)
    shares: list[float] = []
    found = ob.compute(benzene, field, lattice, device=TWO, precision=precision, progress=shares.append)
    alone = ob.compute(benzene, field, lattice, device="cpu", precision=precision)
    assert found.values.dtype == alone.values.dtype
    assert (found.quantity, found.unit) == (alone.quantity, alone.unit)
    assert np.array_equal(found.values, alone.values)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.slow
def test_slabs_are_shared_out_and_come_in_order(tmp_path):
    """A lattice of more slabs than both processes may hold at once."""
    wavefunction = random_wavefunction(4)
    lattice = ob.Lattice([-8.0, -6.0, -6.0], np.diag([0.01, 0.0125, 0.0125]), (48, 1100, 1000))
    ob.compute_to_file(wavefunction, "mo:2", lattice, tmp_path / "a.mrc", device=TWO)
    (found,) = ob.load_volumes(tmp_path / "a.mrc")
    alone = ob.compute(wavefunction, "mo:2", lattice, device="cpu")
    with several_devices.prepared(("cpu", "cpu"), wavefunction, "mo:2", lattice, "single") as task:
        assert len(task.cuts) == 6
        assert len(set(several_devices.process_ids())) == 2
    assert np.array_equal(found.values, alone.values)
    volumes = list(ob.compute_many(wavefunction, ["mo:1", "mo:2"], lattice, device=TWO))
    assert np.array_equal(volumes[1].values, alone.values)


@pytest.mark.slow
@pytest.mark.linux
def test_processes_are_kept_and_replaced_after_they_died(benzene):
    lattice = lattice_of(benzene)
    expected = ob.compute(benzene, "homo", lattice, device="cpu").values
    ob.compute(benzene, "homo", lattice, device=TWO)
    before = several_devices.process_ids()
    assert np.array_equal(ob.compute(benzene, "homo", lattice, device=TWO).values, expected)
    assert several_devices.process_ids() == before

    os.kill(before[0], signal.SIGKILL)  # nothing is lost while it has nothing to do
    assert np.array_equal(ob.compute(benzene, "homo", lattice, device=TWO).values, expected)
    with pytest.raises(DeviceError, match=r"process for cpu ended \(signal 9"):
        ob.compute(benzene, Faulty(signal=signal.SIGKILL), lattice, device=TWO)
    assert np.array_equal(ob.compute(benzene, "homo", lattice, device=TWO).values, expected)
    assert len(several_devices.process_ids()) == 2
    assert before[0] not in several_devices.process_ids()


@pytest.mark.linux
@pytest.mark.slow
def test_a_process_that_stands_still_is_replaced(benzene):
    lattice = lattice_of(benzene)
    expected = ob.compute(benzene, "homo", lattice, device=TWO).values
    stopped = several_devices.process_ids()[1]
    os.kill(stopped, signal.SIGSTOP)
    assert np.array_equal(ob.compute(benzene, "homo", lattice, device=TWO).values, expected)
    assert stopped not in several_devices.process_ids()
    with pytest.raises(DeviceError, match=r"process for cpu ended \(it did not go on"):
        ob.compute(benzene, Faulty(signal=signal.SIGSTOP), lattice, device=TWO)


@pytest.mark.slow
def test_whatever_the_processes_write_does_not_hold_them_up(benzene, tmp_path, monkeypatch, capfd):
    (tmp_path / "sitecustomize.py").write_text(
        "import os, threading\n"
        "def flood():\n"
        "    while True:\n"
        "        for handle in (1, 2): os.write(handle, 4096 * b'x')\n"
        "threading.Thread(target=flood, daemon=True).start()\n"
    )
    several_devices.end_processes()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    lattice = lattice_of(benzene)
    for field in ("homo", "lumo"):
        found = ob.compute(benzene, field, lattice, device=TWO).values
        assert np.array_equal(found, ob.compute(benzene, field, lattice, device="cpu").values)
    several_devices.end_processes()
    assert capfd.readouterr().err == ""


_CALLER = """
import sys
import numpy as np
import orbitile as ob
from orbitile.evaluation import several_devices
wavefunction = ob.load(sys.argv[1])
lattice = ob.Lattice.around(wavefunction, 0.1, 6.0)

def told(share):
    print(*several_devices.process_ids(), flush=True)

while True:
    ob.compute(wavefunction, "density", lattice, device="cpu,cpu", progress=told)
"""


@pytest.mark.slow
@pytest.mark.linux
def test_the_processes_end_with_one_that_is_killed():
    with subprocess.Popen([sys.executable, "-c", _CALLER, BENZENE], stdout=subprocess.PIPE, text=True) as caller:
        processes = [Path("/proc", number) for number in caller.stdout.readline().split()]
        assert len(processes) == 2
        os.kill(int(processes[0].name), signal.SIGSTOP)
        caller.kill()
    until = time.monotonic() + 60  # 1.5 s, and what a busy machine takes; by itself that one never ends
    while any(process.exists() for process in processes) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(process.exists() for process in processes)


@pytest.mark.linux
@pytest.mark.slow
def test_a_forked_process_has_processes_of_its_own(benzene):
    lattice = lattice_of(benzene)
    expected = ob.compute(benzene, "homo", lattice, device=TWO).values
    before = several_devices.process_ids()
    child = os.fork()
    if child == 0:
        same = False
        try:
            same = np.array_equal(ob.compute(benzene, "homo", lattice, device=TWO).values, expected)
            several_devices.end_processes()
        finally:
            os._exit(0 if same else 1)
    names = names_in_shared_memory()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert names_in_shared_memory() == names
    assert len(names) == 1
    assert np.array_equal(ob.compute(benzene, "homo", lattice, device=TWO).values, expected)
    assert several_devices.process_ids() == before


def test_cancelling_and_errors_leave_the_processes_in_order(benzene, tmp_path):
    lattice = lattice_of(benzene)
    path = tmp_path / "a.npz"
    with pytest.raises(Cancelled):
        ob.compute(benzene, "homo", lattice, device=TWO, cancelled=lambda: True)
    with pytest.raises(Cancelled):
        ob.compute_to_file(benzene, "homo", lattice, path, device=TWO, cancelled=lambda: True)
    assert os.listdir(tmp_path) == []
    asked: list[int] = []
    with pytest.raises(Cancelled):  # while its only slab is computed
        ob.compute(benzene, "nci", lattice, device=TWO, cancelled=lambda: bool(asked.append(1)) or len(asked) > 1)
    assert len(asked) == 2
    with pytest.raises(FieldError, match="homoo"):
        ob.compute(benzene, "homoo", lattice, device=TWO)
    found = ob.compute(benzene, "lumo", lattice, device=TWO)
    assert np.array_equal(found.values, ob.compute(benzene, "lumo", lattice, device="cpu").values)


@dataclasses.dataclass(frozen=True)
class Faulty(Field):
    """A field of somebody's own that fails where it is computed, or where it arrives."""

    unreadable: bool = False
    signal: int = 0
    quantity: str = "faulty"
    unit: str = ""
    isovalue: float = 1.0

    def on_slabs(self, lattice, target):
        if self.signal:
            os.kill(os.getpid(), self.signal)
        raise KeyError("a table")

    def at_points(self, target):
        raise KeyError("a table")

    def enclosing_box(self, isovalue):
        return np.zeros(3), np.ones(3)

    def __setstate__(self, state):
        if state["unreadable"]:
            raise ValueError("no such state")
        self.__dict__.update(state)


@pytest.mark.parametrize(
    ("field", "words"), [(Faulty(), "KeyError: 'a table'"), (Faulty(unreadable=True), "ValueError: no such state")]
)
def test_a_defect_in_a_process_is_told_and_the_process_kept(field, words, benzene, capfd):
    lattice = lattice_of(benzene)
    ob.compute(benzene, "homo", lattice, device=TWO)
    processes = several_devices.process_ids()
    with pytest.raises(ob.OrbitileError, match=f"^internal error in the process for cpu [(]please report[)]: {words}$"):
        ob.compute(benzene, field, lattice, device=TWO)
    found = ob.compute(benzene, "homo", lattice, device=TWO).values
    assert np.array_equal(found, ob.compute(benzene, "homo", lattice, device="cpu").values)
    assert several_devices.process_ids() == processes
    assert "Traceback" not in capfd.readouterr().err


def test_a_computation_within_another_is_refused(benzene):
    """From a callback: on several devices not, on one it is served, and the outer one goes on."""
    lattice = lattice_of(benzene)
    expected = ob.compute(benzene, "homo", lattice, device="cpu").values
    told: list[str] = []

    def progress(share: float) -> None:
        for device in (TWO, "cpu,cpu,cpu"):
            with pytest.raises(ob.OrbitileError, match="already computing; start this when they have") as caught:
                ob.compute(benzene, "lumo", lattice, device=device)
            told.append(str(caught.value))
        ob.compute(benzene, "lumo", lattice, device="cpu")

    assert np.array_equal(ob.compute(benzene, "homo", lattice, device=TWO, progress=progress).values, expected)
    assert told
    assert np.array_equal(ob.compute(benzene, "homo", lattice, device=TWO).values, expected)

    def nested(share: float) -> None:
        ob.compute(benzene, "lumo", lattice, device=TWO)

    processes = several_devices.process_ids()
    with pytest.raises(ob.OrbitileError, match="already computing"):
        ob.compute(benzene, "homo", lattice, device=TWO, progress=nested)
    assert several_devices.process_ids() == processes
    assert np.array_equal(ob.compute(benzene, "homo", lattice, device=TWO).values, expected)


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ("cuda:97", "no cuda:97 here. CUDA GPUs here"),
        ("cuda:0,98", "no .*cuda:98 here"),
        ("cpu:1", "GPUs by number"),
        ("cpu,abacus", "'abacus'"),
        ("1,2", "'1'"),
        ("vulkan:0", "GPUs by number"),
    ],
)
def test_devices_that_are_not_there(device, words, benzene):
    with pytest.raises(DeviceError, match=words):
        ob.compute(benzene, "homo", ob.Lattice.around(benzene, 1.0, 2.0), device=device)


def test_names_of_devices(monkeypatch):
    monkeypatch.setattr(devices, "gpus", lambda: ("one", "another", "third"))
    assert several("cuda:0,2") == ("cuda:0", "cuda:2")
    assert several("CUDA:1, cuda:0") == ("cuda:1", "cuda:0")
    assert several("cuda:all") == ("cuda:0", "cuda:1", "cuda:2")
    assert several("cuda:1,cpu") == ("cuda:1", "cpu")
    for plain in ("cuda", "cpu", "vulkan", "gpu", "auto", None):
        assert several(plain) == ()
    monkeypatch.setenv("ORBITILE_DEVICE", "cuda:0,1")
    assert several(None) == several("auto") == ("cuda:0", "cuda:1")
    with pytest.raises(DeviceError, match="named twice"):
        several("cuda:1,1")


def test_what_wants_one_device_says_so(benzene, tmp_path, monkeypatch):
    words = (
        "device cpu,cpu: only volume, compute, compute_to_file and compute_many take devices by number; here use cuda"
    )
    lattice = ob.Lattice.around(benzene, 1.0, 2.0)
    for device, variable in ((TWO, "cpu"), (None, TWO), ("auto", TWO)):
        monkeypatch.setenv("ORBITILE_DEVICE", variable)
        with pytest.raises(DeviceError, match=words):
            ob.evaluate(benzene, "homo", np.zeros((1, 3)), device=device)
        with pytest.raises(DeviceError, match=words):
            ob.compute_surface(benzene, "homo", 0.05, lattice, device=device)


def test_the_command_says_so_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for arguments in (["render", "-o", "a.png"], ["mesh", "-o", "a.glb"]):
        command, *rest = arguments
        assert main([command, BENZENE, *rest, "--device", TWO]) == 2
        assert "only volume, compute" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []
    assert main(["volume", BENZENE, "-o", "a.npz", "--quality", "coarse", "--device", TWO]) == 0


@pytest.mark.parametrize(
    ("variable", "words"),
    [(TWO, "only volume, compute"), pytest.param("abacus", "expected auto", marks=pytest.mark.slow)],
)
def test_devices_are_listed_whatever_the_environment_asks_for(variable, words, monkeypatch):
    monkeypatch.setenv("ORBITILE_DEVICE", variable)
    report = device_report()
    assert words in report[1]
    assert any(line.split()[:2] == ["cpu", "yes"] for line in report)
    assert not any("used by auto" in line for line in report)


@pytest.mark.cuda
def test_one_gpu_by_its_number(benzene):
    lattice = lattice_of(benzene)
    found = ob.compute(benzene, "homo", lattice, device="cuda:0")
    assert np.array_equal(found.values, ob.compute(benzene, "homo", lattice, device="cuda").values)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ProcessPoolExecutor, ThreadPoolExecutor])
def test_any_executor_computes_slabs(kind, benzene):
    """As that of a cluster would, which shares no memory with this process."""
    lattice = ob.Lattice.around(benzene, 0.3, 6.0)
    more = {"mp_context": multiprocessing.get_context("spawn")} if kind is ProcessPoolExecutor else {}
    expected = ob.compute(benzene, "density", lattice, device="cpu").values
    with (
        kind(2, **more) as executor,
        several_devices.planned(executor, 2, benzene, "density", lattice, "single") as task,
    ):
        assert np.array_equal(task.whole(), expected)
        assert np.array_equal(np.concatenate([slab.copy() for slab in task.slabs(Watch())]), expected)


def names_in_shared_memory() -> set[str]:
    return {name for name in os.listdir("/dev/shm") if name.startswith(own_prefix())}


@pytest.mark.slow
@pytest.mark.linux
def test_a_little_shared_memory_is_kept_and_no_more(benzene):
    """64 MiB for each device, from call to call, and not after an error, when somebody may still write to it."""
    lattice = lattice_of(benzene)
    several_devices.end_processes()
    assert names_in_shared_memory() == set()
    values = ob.compute(benzene, "homo", lattice, device=TWO).values
    (name,) = names_in_shared_memory()
    assert Path("/dev/shm", name).stat().st_size == 2 * 64 << 20
    ob.compute(benzene, "lumo", lattice, device=TWO)
    assert names_in_shared_memory() == {name}
    assert np.array_equal(values, ob.compute(benzene, "homo", lattice, device="cpu").values)  # not those of the LUMO
    with pytest.raises(DeviceError):  # nobody has written yet
        ob.compute(benzene, Faulty(signal=signal.SIGKILL), lattice, device=TWO)
    assert names_in_shared_memory() == {name}

    def fail(share: float) -> None:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        ob.compute(benzene, "homo", lattice, device=TWO, progress=fail)
    assert names_in_shared_memory() == set()
    assert np.array_equal(ob.compute(benzene, "homo", lattice, device=TWO).values, values)
    assert len(names_in_shared_memory()) == 1
    several_devices.end_processes()
    assert names_in_shared_memory() == set()


@pytest.mark.slow
@pytest.mark.linux
def test_slabs_larger_than_what_is_kept():
    wavefunction = random_wavefunction(4)
    lattice = ob.Lattice([-8.0, -6.0, -6.0], np.diag([0.01, 0.0125, 0.0125]), (24, 1100, 1000))
    found = ob.compute(wavefunction, "mo:2", lattice, device=TWO, precision="double").values
    assert sum(Path("/dev/shm", name).stat().st_size for name in names_in_shared_memory()) <= 2 * 64 << 20
    assert np.array_equal(found, ob.compute(wavefunction, "mo:2", lattice, device="cpu", precision="double").values)


def test_where_shared_memory_is_full_values_are_sent(benzene, monkeypatch):
    """As in a container that allows 64 MiB of it."""
    lattice = lattice_of(benzene)
    expected = ob.compute(benzene, "homo", lattice, device="cpu").values
    full = os.statvfs_result([4096, 4096, 100, 0, 0, 100, 100, 100, 0, 255])
    monkeypatch.setattr(os, "statvfs", lambda folder: full)
    assert np.array_equal(ob.compute(benzene, "homo", lattice, device=TWO).values, expected)
