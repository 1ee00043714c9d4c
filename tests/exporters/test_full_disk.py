"""A disk that fills up at any byte: each format says so, leaves the file that was there, and nothing beside it."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from orbitile.base.errors import FileError, OrbitileError
from orbitile.exporters import exporter_modules, save
from orbitile.model.lattice import Lattice
from orbitile.model.volume import Volume
from orbitile.surfaces.isosurface import isosurface
from tests.conftest import random_wavefunction

pytestmark = pytest.mark.linux


@contextmanager
def files_of_at_most(n_bytes: int) -> Iterator[None]:
    """A limit on the size of files stands for a full disk: the write that reaches it fails.

    What is imported meanwhile is not kept compiled: Python would keep its first part, and fail at the next import.
    """
    before, compiles = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = compiles


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def things():
    """Of each kind of what is exported, one that no format makes nothing of."""
    lattice = Lattice.box([-3, -3, -3], [3, 3, 3], 0.4)
    x = lattice.points()
    values = (x[:, 2] * np.exp(-(x**2).sum(axis=1) / 2) + 1e-3 * np.sin(7 * x[:, 0])).reshape(lattice.shape)
    volume = Volume(values.astype(np.float32), lattice, "2p", "bohr^-3/2")
    return {"volume": volume, "mesh": isosurface(volume, 0.2), "scene": None, "wavefunction": random_wavefunction(1)}


def exported() -> list[str]:
    """Formats of volumes and meshes, which `save` writes."""
    return sorted(name for name, module in exporter_modules().items() if module.KIND in ("volume", "mesh"))


@pytest.mark.parametrize("name", exported())
def test_every_format(name, things, tmp_path):
    module = exporter_modules()[name]
    path = tmp_path / f"a{module.PATTERNS[0].lstrip('*')}"
    what, wavefunction = things[module.KIND], things["wavefunction"]
    try:
        save(what, path, wavefunction=wavefunction)
    except OrbitileError as error:
        if "openvdb" in str(error) or (name == "zarr" and find_spec("zarr") is None):  # PyPI has no openvdb
            pytest.skip(str(error))
        raise
    before = contents(tmp_path)
    largest = max(map(len, before.values()))
    # The last one is what is written when the file is closed. Files of 3MF hold numbers by chance and those of
    # MolViewSpec the time, compressed: they differ in length by some bytes.
    for n_bytes in (0, largest // 2, largest - (100 if name in ("threemf", "mvsx") else 1)):
        with files_of_at_most(n_bytes), pytest.raises(FileError, match="cannot be written"):
            save(what, path, wavefunction=wavefunction)
        assert contents(tmp_path) == before
        assert os.listdir(tmp_path) == [path.name]
    save(what, path, wavefunction=wavefunction)
    assert contents(tmp_path).keys() == before.keys()
