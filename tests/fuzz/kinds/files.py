"""Damaged files: wavefunctions, logs, trajectories, series, volumes, folders and archives of all formats."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np

import orbitile as ob
from tests.fuzz.damage import mutated
from tests.fuzz.kinds import check_message
from tests.fuzz.samples import opened, seeds, seeds_of_jobs

SHARE = 0.7
SECONDS = 10.0

BESIDE = ("topology.pdb", "orca6.densitiesinfo")
"""Files that others need beside them."""


class Subject:
    """Files of all formats."""

    def __init__(self, folder: Path) -> None:
        self.seeds = {**seeds(folder / "whole"), **seeds_of_jobs(folder / "jobs")}
        self.names = sorted(self.seeds)

    def run(self, random: np.random.Generator, folder: Path) -> bool:
        source = self.seeds[self.names[int(random.integers(len(self.names)))]]
        for name in BESIDE:
            if (beside := source.with_name(name)).exists() and source.is_file():
                shutil.copy(beside, folder)
        path = folder / source.name
        if source.is_dir():
            shutil.copytree(source, path)
            parts = sorted(part for part in path.rglob("*") if part.is_file())
            damage(parts[int(random.integers(len(parts)))], random)
        else:
            path.write_bytes(mutated(source.read_bytes(), random))
        there = sorted(os.listdir(folder))
        try:
            opened(path)
        except ob.OrbitileError as error:
            check_message(error)
            return False
        finally:
            assert sorted(os.listdir(folder)) == there, "reading has left files behind"
        return True

    def check(self) -> None:
        path = self.seeds["h2o.molden.input"]
        assert len(ob.load(path).alpha) == 19
        assert len(opened(self.seeds["volume.cube"])) == 1

    def close(self) -> None:
        pass


def damage(part: Path, random: np.random.Generator) -> None:
    """Damage one file of a folder, or take it away."""
    luck = random.random()
    if luck < 0.03:
        part.unlink()
    elif luck < 0.05:
        part.unlink()
        part.mkdir()
    elif luck < 0.07:
        part.rename(part.with_name(f"{part.name}.bak"))
    else:
        part.write_bytes(mutated(part.read_bytes(), random))
