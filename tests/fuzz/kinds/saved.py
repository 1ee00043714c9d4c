"""Saved state that is damaged: what is shown, settings, batches, series to be continued, notes in the user's caches."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import orbitile as ob
from orbitile.hosts.server.requests import restore, state
from orbitile.hosts.server.viewer import ServedViewer
from orbitile.hosts.server.window import ServedWindow
from orbitile.jobs.running import run_batch
from orbitile.session.commands import orb_field, orb_info, orb_load, orb_mo
from orbitile.session.recipe import calls, render_line
from orbitile.session.session import Session
from taichi_kernels import compiled
from taichi_kernels.direct_sums import molecule_specific
from taichi_kernels.session import session
from taichi_kernels.target import Target
from tests.fuzz.damage import mutated
from tests.fuzz.kinds import check_message
from tests.fuzz.kinds.files import damage
from tests.fuzz.samples import SAMPLES
from tests.fuzz.values import chosen, odd_value, written

SHARE = 0.03
SECONDS = 60.0

WATER = SAMPLES / "h2o.molden.input"


def parts_of(one: Any) -> Iterator[tuple[Any, Any]]:
    """Every part of something made of dictionaries and lists, as where it is and its key there."""
    inside = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
    for key, value in list(inside):
        yield one, key
        yield from parts_of(value)


def damaged(told: Any, random: np.random.Generator) -> Any:
    """A copy with a part or two lost, replaced, or of another name."""
    told = json.loads(json.dumps(told))
    for _ in range(int(random.integers(1, 3))):
        if not (places := list(parts_of(told))):
            break
        where, key = chosen(random, places)
        luck = random.random()
        if luck < 0.2:
            del where[key]
        elif luck < 0.3 and isinstance(where, dict):
            where[str(odd_value(random))] = where.pop(key)
        elif luck < 0.6 and isinstance(where[key], str):
            where[key] = mutated(where[key].encode(), random).decode("utf-8", "replace")
        else:
            where[key] = odd_value(random)
    return told


class _Kept(ServedViewer):
    """A viewer that keeps settings."""

    kept: dict[str, Any]

    def settings(self) -> dict[str, Any]:
        return self.kept


class Subject:
    """What was saved, whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kinds: list[Callable[[np.random.Generator, Path], bool]] = [
            self.restored,
            self.reopened,
            self.set_up,
            self.continued_batch,
            self.continued_series,
            self.compiled,
        ]
        (folder / "served").mkdir(exist_ok=True)
        self.whole = Session(ServedViewer(lambda message: None, folder / "served"))
        orb_load.run(self.whole, [str(WATER), "water"])
        orb_mo.run(self.whole, ["water", "homo", "", "coarse"])
        orb_field.run(self.whole, ["water", "density", "0.05", "coarse", "esp"])
        self.state = json.loads(state(self.whole))
        shutil.copy(WATER, folder / "water.molden")
        self.batch = folder / "batch"
        run_batch([str(folder / "water.molden")], ["charges"], self.batch, to=["json"])
        self.table = (self.batch / "table.csv").read_text()
        self.series = folder / "series.h5"
        with ob.SeriesWriter(self.series, settings="some") as writer:
            for _ in range(2):
                writer.append(ob.load(WATER))

    def run(self, random: np.random.Generator, folder: Path) -> bool:
        try:
            return chosen(random, self.kinds)(random, folder)
        except ob.OrbitileError as error:
            check_message(error)
            return False

    def session_like_it(self, folder: Path, viewer: type[ServedViewer] = ServedViewer) -> Session:
        """A session that need not compute what another one has."""
        (folder / "served").mkdir(exist_ok=True)
        session = Session(viewer(lambda message: json.dumps(message, allow_nan=False), folder / "served"))
        session.computing.samples = self.whole.computing.samples
        session.computing.wavefunctions = self.whole.computing.wavefunctions
        return session

    def restored(self, random: np.random.Generator, folder: Path) -> bool:
        """What `state` gave."""
        if random.random() < 0.3:
            text = mutated(json.dumps(self.state).encode(), random).decode("utf-8", "replace")
        else:
            text = json.dumps(damaged(self.state, random))
        (folder / "input.json").write_text(text, encoding="utf-8", errors="backslashreplace")
        one = self.session_like_it(folder)
        try:
            restore(one, text)
            shown = one.shelf.present()
            json.loads(state(one))
            if shown:
                calls(one, shown)
                with contextlib.suppress(ob.OrbitileError):  # surfaces of several molecules
                    render_line(one, shown)
            return bool(shown)
        finally:
            orb_load.run(one, [str(WATER), "right"])
            assert orb_info.run(one, ["right"]).text
            one.player.close()

    def reopened(self, random: np.random.Generator, folder: Path) -> bool:
        """What a viewer saved with its own session: whatever is damaged is told, and nothing is raised."""
        saved = damaged(self.state["shown"], random)
        (folder / "input.json").write_text(written(saved), encoding="utf-8", errors="backslashreplace")
        one = self.session_like_it(folder)
        try:
            one.host.set_there({"water", *self.state["shown"]})
            one.shelf.restore(saved)
            return bool(one.shelf.present())
        except ob.OrbitileError as error:
            raise AssertionError("raised, and not told") from error
        finally:
            one.player.close()

    def set_up(self, random: np.random.Generator, folder: Path) -> bool:
        """Settings that a viewer kept."""
        whole = {"recent": [str(WATER)], "frames_memory": 256, "opening": "zoom", "quality": "coarse"}
        settings = damaged(whole, random)
        if not isinstance(settings, dict):
            settings = {}
        (folder / "input.json").write_text(written(settings), encoding="utf-8", errors="backslashreplace")
        _Kept.kept = settings
        one = self.session_like_it(folder, _Kept)
        try:
            orb_load.run(one, [str(WATER), "right"])
            window = ServedWindow(one, one.host)
            window.do("unit", ["eV"])
            return True
        finally:
            one.player.close()

    def continued_batch(self, random: np.random.Generator, folder: Path) -> bool:
        """The folder of a batch."""
        copy = folder / "batch"
        shutil.copytree(self.batch, copy)
        parts = sorted(part for part in copy.rglob("*") if part.is_file())
        part = parts[int(random.integers(len(parts)))]
        damage(part, random)
        (folder / "input.txt").write_text(str(part.relative_to(folder)))
        (folder / "water.molden").write_bytes(WATER.read_bytes())
        found = run_batch([str(folder / "water.molden")], ["charges"], copy, to=["json"])
        table = (copy / "table.csv").read_text()
        values = [next(iter(found.records)).values["formula"], table.splitlines()[0]]
        assert values == ["H2O", self.table.splitlines()[0]], values
        return True

    def continued_series(self, random: np.random.Generator, folder: Path) -> bool:
        """A series that is continued."""
        path = folder / "series.h5"
        path.write_bytes(mutated(self.series.read_bytes(), random))
        wavefunction = ob.load(WATER)
        with ob.SeriesWriter(path, settings="some") as writer:
            writer.append(wavefunction)
        frames = ob.load_trajectory(path)
        try:
            last = frames[len(frames) - 1]
        except ob.OrbitileError as error:
            check_message(error)
            return False
        np.testing.assert_array_equal(last.alpha.coefficients, wavefunction.alpha.coefficients)
        return True

    def compiled(self, random: np.random.Generator, folder: Path) -> bool:
        """In the user's cache, the source of a kernel for one molecule, and the note of what was compiled."""
        text = "# the source of a kernel\n" * 20
        before, os.environ["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME"), str(folder / "cache")
        try:
            with session("cpu", "single"):
                target, file = Target("cpu", "single"), molecule_specific._written(text)
                compiled._write(target, "prepared", ["kept"])
                for each in (file, compiled._note(target, "prepared")):
                    damage(each, random)
                (folder / "input.txt").write_text(str(file.relative_to(folder)))
                assert type(compiled.are_kept(target)) is bool
                assert type(compiled.note_use(target)) is bool
                try:
                    assert molecule_specific._written(text).read_bytes() == text.encode()
                except OSError:  # told as it is, see orbitile.gaussians.kernels.molecule_specific
                    return False
        finally:
            os.environ["XDG_CACHE_HOME"] = before or ""
            if before is None:
                del os.environ["XDG_CACHE_HOME"]
        return True

    def check(self) -> None:
        pass

    def close(self) -> None:
        self.whole.player.close()
