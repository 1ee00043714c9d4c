"""How much memory there is: limits of control groups, wherever they are set; and giving back what was freed."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from orbitile.base import memory
from orbitile.base.errors import OrbitileError

GIGABYTE = 10**9


def write(folder, **values):
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in values.items():
        (folder / name.replace("__", ".")).write_text(f"{value}\n")


def process(tmp_path, members, *mounts):
    """Folder of a process as Linux shows it."""
    folder = tmp_path / "proc"
    folder.mkdir()
    (folder / "cgroup").write_text("".join(f"{line}\n" for line in members))
    (folder / "mountinfo").write_text("".join(f"{line}\n" for line in mounts))
    return folder


def unified(tmp_path, root="/"):
    return f"24 30 0:22 {root} {tmp_path}/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw"


def test_a_limit_of_an_outer_group_counts(tmp_path):
    folder = process(tmp_path, ["0::/batch/job/step"], unified(tmp_path))
    write(tmp_path / "cgroup", memory__current=9 * GIGABYTE)
    write(tmp_path / "cgroup/batch", memory__max=2 * GIGABYTE, memory__current=GIGABYTE // 2)
    write(tmp_path / "cgroup/batch/job", memory__max="max", memory__high=5 * GIGABYTE, memory__current=GIGABYTE // 2)
    write(tmp_path / "cgroup/batch/job/step", memory__max="max", memory__current=GIGABYTE // 4)
    assert sorted(memory.control_groups(folder)) == [3 * GIGABYTE // 2, 9 * GIGABYTE // 2]


def test_pages_that_are_given_back_when_needed_are_not_in_use(tmp_path):
    folder = process(tmp_path, ["0::/job"], unified(tmp_path))
    write(tmp_path / "cgroup/job", memory__max=GIGABYTE, memory__current=900_000_000)
    (tmp_path / "cgroup/job/memory.stat").write_text("anon 100\nfile 850000000\ninactive_file 600000000\n")
    assert list(memory.control_groups(folder)) == [700_000_000]


def test_inside_a_container_the_group_is_mounted_by_itself(tmp_path):
    folder = process(tmp_path, ["0::/docker/abc/inner"], unified(tmp_path, "/docker/abc"))
    write(tmp_path / "cgroup", memory__max=3 * GIGABYTE, memory__current=GIGABYTE)
    write(tmp_path / "cgroup/inner", memory__max=GIGABYTE, memory__current=GIGABYTE)
    assert list(memory.control_groups(folder)) == [0, 2 * GIGABYTE]


def test_the_older_control_groups_count_too(tmp_path):
    mounts = [
        f"34 31 0:31 / {tmp_path}/pids rw,relatime - cgroup cgroup rw,pids",
        f"35 31 0:32 / {tmp_path}/memory rw,relatime - cgroup cgroup rw,memory",
    ]
    folder = process(tmp_path, ["8:pids:/other", "4:memory:/outer/inner", "0::/"], *mounts)
    for name, limit in (("outer", 3 * GIGABYTE // 2), ("outer/inner", 2**63 - 4096)):
        write(tmp_path / "memory" / name, memory__limit_in_bytes=limit, memory__usage_in_bytes=GIGABYTE)
    assert min(memory.control_groups(folder)) == GIGABYTE // 2


def test_systems_without_control_groups(tmp_path):
    assert list(memory.control_groups(tmp_path)) == []


@pytest.mark.linux
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the address space")
def test_a_limit_of_the_shell_counts():
    script = "import orbitile.base.memory; print(orbitile.base.memory.available_memory())"
    command = f"ulimit -v 4000000; exec {sys.executable} -c '{script}'"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 4_000_000 * 1024


def test_what_does_not_fit_is_refused_in_one_line():
    with pytest.raises(OrbitileError, match=r"^a picture needs 1000000000\.0 GB of memory, .* GB are available; draw"):
        memory.require_memory(10**18, "a picture", "draw a smaller one")
    memory.require_memory(1, "a point", "")


def test_the_table_of_shares_is_told():
    text = (Path(__file__).parents[1] / "docs/architecture.md").read_text(encoding="utf-8")
    told = {
        name.strip()
        for row in re.findall(r"^\| ([a-zA-Z ,]+) \| [\d, ]+[KMG]iB", text, re.M)
        for name in row.split(",")
    }
    assert told == set(memory.SHARES)


@pytest.mark.linux
def test_freed_memory_is_given_back():
    """What lies between pieces that are in use."""
    if memory._malloc_trim() is None:
        pytest.skip("the C library is not GNU's")

    import resource

    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    pieces = [np.full(1 << 16, 1, np.uint8) for _ in range(2000)]
    before = resident()
    kept = pieces[::100]
    del pieces
    assert before - resident() < 10 << 20
    memory.give_back(every=0)
    assert before - resident() > 100 << 20
    assert all(piece.all() for piece in kept)
