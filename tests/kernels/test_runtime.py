"""The choice of the device, in processes of their own: Taichi is initialised once in each."""

import os
import subprocess
import sys
from importlib.resources import files

import numpy as np
import pytest

import orbitile as ob
from taichi_kernels import devices
from taichi_kernels.arrays import allocate
from taichi_kernels.devices import DeviceUnavailable, Probe, choose, probe
from taichi_kernels.session import finish, session


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_a_driver_that_is_found_but_broken_is_survived_with_one_warning():
    """The probe says there is CUDA, Taichi finds there is none."""
    done = run(
        "import warnings\n"
        "from taichi_kernels import _taichi, devices\n"
        "from taichi_kernels.session import session\n"
        "real, start = devices.probe, _taichi.start\n"
        "devices.probe = lambda name: devices.Probe('cuda', True, 'broken') if name == 'cuda' else real(name)\n"
        "_taichi.start = lambda name, threads: 'cpu' if name == 'cuda' else start(name, threads)\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    for _ in range(2):\n"
        "        with session('auto') as name:\n"
        "            print(name, len([w for w in caught if issubclass(w.category, RuntimeWarning)]))\n"
    )
    assert done.stdout == "cpu 1\ncpu 1\n", done.stderr


def test_the_environment_decides_and_an_argument_overrides(monkeypatch):
    monkeypatch.setenv("ORBITILE_DEVICE", "vulkan")
    assert choose() == "vulkan"
    assert choose("auto") == "vulkan"
    assert choose("cpu") == "cpu"
    monkeypatch.setenv("ORBITILE_DEVICE", "abacus")
    with pytest.raises(DeviceUnavailable, match="abacus"):
        choose()


def test_auto_never_takes_software_vulkan(monkeypatch):
    monkeypatch.delenv("ORBITILE_DEVICE", raising=False)
    software = Probe("vulkan", True, "llvmpipe", software=True)
    monkeypatch.setattr(devices, "probe", lambda name: software if name == "vulkan" else Probe(name, False, "no"))
    assert choose() == "cpu"
    hardware = Probe("vulkan", True, "a GPU")
    monkeypatch.setattr(devices, "probe", lambda name: hardware if name == "vulkan" else Probe(name, False, "no"))
    assert choose() == "vulkan"


def test_a_device_without_double_precision_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(devices, "probe", lambda name: Probe(name, True, "a small GPU", double=False))
    with pytest.raises(DeviceUnavailable, match="double"), session("vulkan", "double"):
        pass


def test_a_missing_device_says_what_there_is(benzene):
    if probe("cuda").available:
        pytest.skip("there is CUDA here")
    with pytest.raises(ob.OrbitileError, match=r"no NVIDIA driver.*Devices here:.*cpu"):
        ob.evaluate(benzene, "homo", np.zeros((1, 3)), device="cuda")


@pytest.mark.linux
@pytest.mark.parametrize("home", [None, "/proc/no/such/home"])
def test_without_a_home_to_write_to(home, tmp_path):
    """Batch jobs and containers often have none; Taichi alone would end the process."""
    environment = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")}
    environment |= {"TMPDIR": str(tmp_path)} | ({"HOME": home} if home else {})
    program = "from taichi_kernels.session import session\nwith session('cpu') as name: print(name)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout) == (0, "cpu\n"), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "standard_output", ["", "import io, sys; sys.stdout = io.StringIO()\n"], ids=["as it is", "notebook"]
)
def test_nothing_is_printed(standard_output):
    done = run(
        f"{standard_output}import numpy as np, orbitile as ob\n"
        "s = [ob.Shell(0, 0, False, [1.0], [1.0])]\n"
        "w = ob.Wavefunction([1], [[0, 0, 0]], s, ob.Orbitals([[1.0]], [1.0]))\n"
        "ob.compute(w, 'homo', ob.Lattice.around(w, 0.5, 2.0), device='cpu', kernel='separable')\n"
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_a_result_that_is_held_to_the_end_of_the_process_goes_in_silence():
    done = run(
        "from taichi_kernels.arrays import allocate\n"
        "from taichi_kernels.session import session\n"
        "with session('cpu'): held = allocate((4, 4), 'float32')\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.vulkan
def test_what_is_kept_on_a_gpu_with_a_wavefunction_goes_in_silence():
    done = run(
        "import orbitile as ob\n"
        "s = [ob.Shell(0, 0, False, [1.0], [1.0])]\n"
        "w = ob.Wavefunction([1], [[0, 0, 0]], s, ob.Orbitals([[1.0]], [1.0]))\n"
        "print(ob.evaluate(w, 'esp', [[0, 0, 5.0]], device='vulkan').shape)\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "(1,)\n", "")


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([1, 2, 3], "shape"),
        ([[1, 2]], "shape"),
        ("abc", "numbers"),
        ([[1, 2, np.nan]], "finite"),
        ([[1e9, 0, 0]], "1e7"),
    ],
)
def test_points_that_are_none(benzene, points, words):
    with pytest.raises(ob.OrbitileError, match=words):
        ob.evaluate(benzene, "homo", points)


@pytest.mark.parametrize("field", ["", "homo+x", "mo:", "mo:x", "density of states", 5, None])
def test_fields_that_are_none(benzene, field):
    with pytest.raises(ob.OrbitileError, match="field"):
        ob.evaluate(benzene, field, np.zeros((1, 3)))


def test_other_arguments_that_do_not_fit(benzene):
    lattice = ob.Lattice.around(benzene, 1.0, 2.0)
    with pytest.raises(ob.OrbitileError, match="precision"):
        ob.compute(benzene, "homo", lattice, precision="half")
    with pytest.raises(ob.OrbitileError, match="wavefunction"):
        ob.compute("benzene.molden", "homo", lattice)
    assert ob.evaluate(benzene, "homo", np.zeros((0, 3))).shape == (0,)


def test_arrays_of_a_program_that_ended_free_nothing_of_the_next():
    """Each start of Taichi ends the program before; what dies later must leave the new arrays alone."""

    with session("cpu"):
        held = [allocate((64, 64), np.float32) for _ in range(50)]
    finish()
    with session("cpu"):
        fresh = [allocate((64, 64), np.float32) for _ in range(50)]
        for n, array in enumerate(fresh):
            array.from_numpy(np.full((64, 64), n, np.float32))
        with pytest.raises(DeviceUnavailable, match="lost"):
            held[0].to_numpy()
        held.clear()
        more = [allocate((64, 64), np.float32) for _ in range(50)]
        for array in more:
            array.from_numpy(np.full((64, 64), -1, np.float32))
        assert [float(array.to_numpy().max()) for array in fresh] == list(range(50))


_FORKING = """
import os, signal, sys
import orbitile as ob
from taichi_kernels.session import renew, session
benzene = ob.load(sys.argv[1])
lattice = ob.Lattice.around(benzene, 1.0, 2.0)
ob.compute(benzene, "homo", lattice, device="cpu", kernel="separable")
child = os.fork()
if child == 0:
    signal.alarm(20)
    if sys.argv[2] == "compute":
        print(ob.compute(benzene, "lumo", lattice, device="cpu").values.shape == lattice.shape, "without a kernel")
        try:
            ob.compute(benzene, "lumo", lattice, kernel="separable")
        except ob.OrbitileError as error:
            print(error)
    sys.exit(0)
print("status", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
with session("cpu"):
    renew()
ob.compute(benzene, "lumo", lattice, device="cpu", kernel="separable")
print("computed")
"""


@pytest.mark.slow
@pytest.mark.linux
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("what", ["compute", "nothing"])
def test_a_forked_process_is_told_and_ends(what):
    command = [sys.executable, "-c", _FORKING, str(files("orbitile") / "data" / "benzene.molden"), what]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.splitlines()[-2:] == ["status 0", "computed"], done.stderr
    assert ("do not survive a fork" in done.stdout) == (what == "compute")
    assert ("True without a kernel" in done.stdout) == (what == "compute")
    assert done.stderr == ""


def test_arrays_that_die_serve_again_if_they_are_alike_and_small(device, monkeypatch):
    """To make one takes half a millisecond; a large one is freed at once."""
    from taichi_kernels._taichi import number, ti
    from taichi_kernels.arrays import array_of, send, to_numpy

    made, make = [], ti.ndarray
    monkeypatch.setattr(ti, "ndarray", lambda *arguments: made.append(arguments) or make(*arguments))

    def new(name, shape):
        """An array, and whether it was made anew."""
        before = len(made)
        array = array_of(number(name), shape)
        assert (tuple(array.shape), array.element_type) == (np.empty(shape).shape, number(name))
        return array, len(made) > before

    finish()
    with session(device):
        held = [new("float32", 100), new("float32", (7, 3)), new("float32", 1 << 23)]
        assert all(is_new for _, is_new in held)
        held.clear()
        for name, shape in (("int32", 100), ("float32", (3, 7)), ("float32", 1 << 23)):
            assert new(name, shape)[1]
        again, is_new = new("float32", 100)
        assert not is_new
        assert not new("float32", (7, 3))[1]
        other, is_new = new("float32", 100)
        assert is_new
        for array, value in ((again, 2.5), (other, 3.5)):
            send(array, np.full(100, value, np.float32))
        assert (to_numpy(again).tolist(), to_numpy(other).tolist()) == ([2.5] * 100, [3.5] * 100)
    finish()
    with session(device):  # those of a program that ended serve nobody
        assert new("float32", (7, 3))[1]


_IN_A_THREAD = """
import threading
import orbitile as ob
wavefunction = ob.load({file!r})
lattice = ob.Lattice.around(wavefunction, spacing=0.5, margin=4.0)
thread = threading.Thread(target=ob.compute, args=(wavefunction, "density", lattice), kwargs={{"device": "cuda"}})
thread.start()
thread.join()
"""


@pytest.mark.cuda
def test_a_process_that_computed_in_a_thread_ends_in_order():
    file = str(files("orbitile") / "data" / "benzene.molden")
    done = subprocess.run(
        [sys.executable, "-c", _IN_A_THREAD.format(file=file)], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
