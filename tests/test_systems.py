"""Windows and macOS as far as they can be had on Linux: what is missing there, and what is there instead.

`mypy --platform` holds the code to what the modules of each system have; these tests run the other branches.
"""

import errno
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import FileError
from orbitile.exporters import _series
from orbitile.files import writing
from orbitile.workers import Worker, transport

ROOT = Path(__file__).parents[1]
SOURCES = [
    path
    for folder in ("plugin", "taichi_kernels", "benchmarks/orbitile_benchmarks")
    for path in sorted((ROOT / folder).rglob("*.py"))
]

ELSEWHERE = """
import sys, os, importlib, pkgutil, multiprocessing.connection
from pathlib import Path
import taichi_kernels, orbitile

def modules():
    for package in (taichi_kernels, orbitile):
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            within = any(f".hosts.{program}." in found.name for program in ("pymol", "blender"))
            ours = found.module_finder.path.startswith(package.__path__[0])  # parsers of qc-iodata are listed, too
            if ours and not found.name.endswith("__main__") and not within:
                yield found.name

names = list(modules())
for name in names:  # other people's packages are here, and remain
    importlib.import_module(name)
for name in [name for name in sys.modules if name.split(".")[0] == "orbitile"]:
    del sys.modules[name]

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in GONE:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

GONE = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "_posixshmem", "_posixsubprocess"}
for name in GONE:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Missing())
for name in ("fork", "killpg", "getuid", "waitid", "posix_fallocate", "register_at_fork", "nice", "statvfs", "sysconf",
             "sched_getaffinity", "mkfifo", "setsid", "getppid", "WNOHANG"):
    if hasattr(os, name):
        delattr(os, name)
import signal
for name in ("SIGKILL", "SIGHUP", "SIGSTOP", "SIGVTALRM", "SIGPROF", "SIGXCPU", "setitimer", "ITIMER_PROF",
             "ITIMER_VIRTUAL", "alarm"):
    delattr(signal, name)
import subprocess
subprocess.CREATE_NO_WINDOW = 0x08000000
multiprocessing.connection.PipeConnection = multiprocessing.connection.Connection
sys.platform = "win32"
for name in names:
    if name.startswith("orbitile."):
        importlib.import_module(name)
print(len(names))
"""


@pytest.mark.slow
@pytest.mark.linux
def test_modules_import_without_what_only_posix_has():
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 350


@pytest.mark.slow
@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_types_hold_on_other_systems(system):
    """Of modules that import one whose contents depend on the system; ./install/test checks the others."""
    mypy = pytest.importorskip("mypy", reason="mypy is not installed")
    stubs = Path(mypy.__file__).parent / "typeshed" / "stdlib"
    names = {
        ".".join(path.relative_to(stubs).with_suffix("").parts).removesuffix(".__init__")
        for path in stubs.rglob("*.pyi")
        if "sys.platform" in path.read_text(encoding="utf-8")
    } - {"pathlib"}  # where only `owner` and `group` do
    found = re.compile(rf"^\s*(import|from) ({'|'.join(map(re.escape, names))})\b(?!\.)|sys\.platform", re.MULTILINE)
    checked = [path for path in SOURCES if path.relative_to(ROOT).parts[1] in ("orbitile", "orbitile_benchmarks")]
    chosen = [path for path in checked if found.search(path.read_text(encoding="utf-8"))]
    assert 50 < len(chosen) < len(checked) / 2
    command = [sys.executable, "-m", "mypy", "--platform", system, "--cache-dir", f".mypy_cache/{system}"]
    done = subprocess.run(
        [*command, "--follow-imports", "silent", *chosen], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout


def test_text_is_utf8_whatever_the_locale():
    """open, read_text and write_text name an encoding, unless bytes are meant."""
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        for call in re.finditer(r"(?<![\w.])(?<!def )open\(|\.(read|write)_text\(", text):
            arguments = text[call.end() : call.end() + 300]
            if call.group() == "open(" and re.match(r'[^)]*(, "[rwxa+]*b)', arguments):
                continue
            line = text[: call.start()].count("\n") + 1
            assert "encoding=" in arguments, f"{path.relative_to(ROOT)}, line {line}"


def test_file_names_are_told_apart_by_every_system():
    """Windows and macOS do not tell capitals from small letters, and Windows keeps some names for devices."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False).stdout.decode()
    names = [name for name in listed.split("\0") if name]
    assert len({name.lower() for name in names}) == len(names)
    kept = {"aux", "con", "nul", "prn", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
    for name in names:
        for part in Path(name).parts:
            assert part.split(".")[0].lower() not in kept, name
            assert not set(part) & set('<>:"|?*\\'), name
            assert not part.endswith((" ", ".")), name
        assert len(name) < 150  # a path has 260 characters there


@pytest.mark.parametrize("moves", [True, False], ids=["as here", "as on Windows"])
def test_series_where_open_files_cannot_be_moved(moves, tmp_path, monkeypatch, benzene):
    pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")

    monkeypatch.setattr(_series, "_MOVES_OPEN_FILES", moves)
    path = tmp_path / "a path with späces.h5"
    replace, held = os.replace, []

    def as_on_windows(source, target):
        for file in (source, target):
            held.extend(os.readlink(f"/proc/self/fd/{n}") == str(file) for n in os.listdir("/proc/self/fd")
                        if os.path.islink(f"/proc/self/fd/{n}"))  # fmt: skip
        replace(source, target)

    if sys.platform == "linux":
        monkeypatch.setattr(os, "replace", as_on_windows)
    with ob.SeriesWriter(path) as writer:
        for _ in range(2):
            writer.append(benzene)
        with pytest.raises(FileError, match="another process is writing it"):
            ob.SeriesWriter(path)
    with ob.SeriesWriter(path) as writer:
        writer.append(benzene)
    assert any(held) == (moves and sys.platform == "linux")
    assert len(ob.load_trajectory(path)) == 3
    assert os.listdir(tmp_path) == [path.name]


def test_room_on_the_disk_is_counted_where_it_cannot_be_set_aside(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    file = tmp_path / "file"
    with file.open("wb") as stream:
        writing.make_room(stream.fileno(), 0, 1000, file)
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            writing.make_room(stream.fileno(), 0, 2 * shutil.disk_usage(tmp_path).total, file)
    assert file.stat().st_size == 0


@pytest.mark.linux
def test_arrays_are_mapped_where_shared_memory_is_no_file(monkeypatch):
    """As on macOS, where nothing can be written to it and mmap does not see how large it is."""
    monkeypatch.setattr(sys, "platform", "darwin")
    arrays = {"a": np.arange(50000.0), "b": np.arange(60000).reshape(200, 300)}
    packed, kept = transport.pack(arrays)
    assert packed.segment is not None
    assert kept is None
    found = transport.unpack(packed)
    assert all(np.array_equal(found[name], arrays[name]) for name in arrays)


def test_macos_has_vulkan_by_the_compilers_wheels(monkeypatch):
    """Which is asked for by name: nobody has tried it."""
    from taichi_kernels import devices

    tried = []

    def library(name, *files):
        tried.extend(files)

    monkeypatch.setattr(devices, "_library", library)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not devices._probe_vulkan.__wrapped__().available
    assert any(file.endswith(os.path.join("_lib", "runtime", "libMoltenVK.dylib")) for file in tried)
    monkeypatch.setattr(devices, "probe", lambda name: devices.Probe(name, name != "cuda", "Apple M4"))
    monkeypatch.delenv("ORBITILE_DEVICE", raising=False)
    assert devices.choose() == "cpu"
    assert devices.choose("vulkan") == "vulkan"


def test_a_worker_in_folders_with_spaces(tmp_path, monkeypatch):
    folder = tmp_path / "Ordner für Zwischenergebnisse"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.chdir(folder)
    worker = Worker("the worker")
    try:
        assert Path(worker.call(os.getcwd)) == folder
    finally:
        worker.end()


def test_output_in_an_encoding_that_lacks_our_letters():
    """A pipe on Windows takes what the locale has; a letter that it lacks must not end the command."""
    done = subprocess.run(
        [sys.executable, "-m", "orbitile", "fields"],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert b"homo" in done.stdout
