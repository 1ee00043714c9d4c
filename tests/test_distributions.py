"""The wheel, the source distribution and the zip for PyMOL hold what they should, and nothing else."""

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow


def git_files(*folders):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, check=False).stdout
    files = [name for name in listed.decode().split("\0") if name and (ROOT / name).exists()]
    if not files:
        pytest.skip("not a checkout of git")
    return files


def built(kind, target, source=ROOT):
    """What hatchling builds in a process of its own, without a network."""
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)],
        cwd=source,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return next(target.glob("*.whl" if kind == "wheel" else "*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return built("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return built("sdist", tmp_path_factory.mktemp("source"))


def shown_pictures():
    text = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("pymol.md", "vmd.md"))
    return set(re.findall(r"\]\((images/[\w./-]+)\)|src=\"(images/[\w./-]+)\"", text))


def manual():
    return {"pymol.md", "vmd.md", *(one or other for one, other in shown_pictures())}


def test_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = message_from_string(archive.read(next(n for n in names if n.endswith("/METADATA"))).decode())
    code = {name.removeprefix("plugin/") for name in git_files("plugin/orbitile")}
    code |= set(git_files("taichi_kernels"))
    code |= {name.removeprefix("benchmarks/") for name in git_files("benchmarks/orbitile_benchmarks")}
    information = {name for name in names if ".dist-info/" in name}
    assert names - information == code | {f"orbitile/data/manual/{name}" for name in manual()}
    assert {name.split("/", 1)[1] for name in information} == {
        "METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE",
    }  # fmt: skip
    assert metadata["License-Expression"] == "GPL-3.0-or-later"
    classifiers = metadata.get_all("Classifier")
    for system in ("MacOS", "Microsoft :: Windows", "POSIX :: Linux"):
        assert f"Operating System :: {system}" in classifiers
    for version in range(10, 15):
        assert f"Programming Language :: Python :: 3.{version}" in classifiers


def test_the_source(source):
    with tarfile.open(source) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    wanted = set(git_files("plugin", "taichi_kernels", "benchmarks/orbitile_benchmarks"))
    wanted |= {f"docs/{name}" for name in manual()}
    assert names == wanted | {"LICENSE", "README.md", "pyproject.toml", "PKG-INFO", ".gitignore"}


def test_the_source_builds_the_same_wheel(source, wheel, tmp_path):
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    again = built("wheel", tmp_path / "dist", folder)
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        assert {n: one.getinfo(n).CRC for n in one.namelist()} == {n: other.getinfo(n).CRC for n in other.namelist()}


def test_the_zip_for_pymol(tmp_path):
    target = tmp_path / "orbitile.zip"
    subprocess.run([sys.executable, str(ROOT / "install" / "plugin-zip"), str(target)], check=True, timeout=60)
    with zipfile.ZipFile(target) as archive:
        names = set(archive.namelist())
    code = {name.removeprefix("plugin/") for name in git_files("plugin/orbitile")} | set(git_files("taichi_kernels"))
    wanted = {f"orbitile/{name}" for name in code} | {
        f"orbitile/orbitile/data/manual/{name}" for name in manual() - {"vmd.md"}
    }
    assert names == wanted | {"orbitile/__init__.py", "orbitile/LICENSE"}
