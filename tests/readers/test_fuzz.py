"""Mutated files: whatever happens to a file, a reader answers with what it holds or with an `OrbitileError`.

`ORBITILE_MUTANTS=20000 ORBITILE_SEED=7 pytest tests/readers/test_fuzz.py -k every` tries more of them, and others.
"""

import collections
import os
import shutil
import signal
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import orbitile as ob
from tests.conftest import SAMPLES
from tests.readers.mutation import mutated, opened, seeds

resource = pytest.importorskip("resource", reason="its limits are the system's")

MUTANTS = int(os.environ.get("ORBITILE_MUTANTS", "240"))
SEED = int(os.environ.get("ORBITILE_SEED", "1"))
SECONDS, MEMORY = 10, 4 << 30

SEEDS = ["h2o.molden.input", "F.molden", "h2o_sto3g.fchk", "ch3_hf_sto3g.fchk"]
JUNK = ["", "NaN", "-1", "999999999", "1e400", "abc", "0", "[MO]", "\x00", "**", "1.0D", "é"]


@st.composite
def mutations(draw):
    """A few edits: replace, delete, repeat or swap words and lines."""
    return draw(
        st.lists(
            st.tuples(
                st.sampled_from(["word", "drop", "repeat", "swap", "cut", "byte"]),
                st.floats(0, 1, exclude_max=True),
                st.floats(0, 1, exclude_max=True),
                st.sampled_from(JUNK),
            ),
            min_size=1,
            max_size=4,
        )
    )


def mutate(text: str, edits: list[tuple[str, float, float, str]]) -> str:
    for kind, where, inside, junk in edits:
        lines = text.split("\n")
        n = int(where * len(lines))
        if kind == "word":
            words = lines[n].split(" ")
            words[int(inside * len(words))] = junk
            lines[n] = " ".join(words)
        elif kind == "drop":
            del lines[n : n + 1 + int(inside * 5)]
        elif kind == "repeat":
            lines[n:n] = lines[n : n + 1 + int(inside * 5)]
        elif kind == "swap":
            m = int(inside * len(lines))
            lines[n], lines[m] = lines[m], lines[n]
        elif kind == "cut":
            lines = lines[: n + 1]
        else:
            column = int(inside * (len(lines[n]) + 1))
            lines[n] = lines[n][:column] + (junk or "#") + lines[n][column + 1 :]
        text = "\n".join(lines)
        if not text:
            break
    return text


@pytest.mark.parametrize("name", SEEDS)
@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
@given(edits=mutations())
def test_mutated_files(tmp_path: Path, name: str, edits: list[tuple[str, float, float, str]]) -> None:
    path = tmp_path / name
    path.write_text(mutate((SAMPLES / name).read_text(), edits), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a reader that warns of invalid values has swallowed something
        try:
            wavefunction = ob.load(path)
        except ob.OrbitileError as error:
            message = str(error)
        else:
            assert np.all(np.isfinite(wavefunction.alpha.coefficients))
            return
    assert message
    assert "\n" not in message


@contextmanager
def _bounded():
    """No mutant may take longer, or ask for more memory."""

    def out_of_time(*_):
        raise TimeoutError(f"took longer than {SECONDS} s of processor time")

    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before, limits = signal.signal(signal.SIGPROF, out_of_time), resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (in_use + MEMORY, limits[1]))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, limits)


def _damaged_copy(source: Path, folder: Path, random: np.random.Generator) -> Path:
    path = folder / source.name
    if source.is_dir():
        shutil.copytree(source, path)
        parts = sorted(part for part in path.rglob("*") if part.is_file())
        part = parts[random.integers(len(parts))]
        part.write_bytes(mutated(part.read_bytes(), random))
    else:
        path.write_bytes(mutated(source.read_bytes(), random))
    return path


@pytest.mark.linux
def test_every_reader_refuses_or_reads_what_is_damaged(tmp_path):
    """Wavefunctions, logs, trajectories, series, volumes and geometries of all formats."""
    whole = seeds(tmp_path / "whole")
    outcomes = collections.Counter()
    for number in range(MUTANTS):
        name = sorted(whole)[number % len(whole)]
        folder = tmp_path / str(number)
        folder.mkdir()
        if (tmp_path / "whole" / "topology.pdb").exists():
            shutil.copy(tmp_path / "whole" / "topology.pdb", folder)
        path = _damaged_copy(whole[name], folder, np.random.default_rng([SEED, number]))
        with warnings.catch_warnings(), _bounded():
            warnings.simplefilter("error")
            try:
                opened(path)
                outcomes["read"] += 1
            except ob.OrbitileError as error:
                outcomes["refused"] += 1
                message = str(error)
                assert message, path
                assert "\n" not in message, path
                assert len(message) < 2000, path
            except BaseException as error:
                raise AssertionError(f"{path}: {type(error).__name__}: {error}") from error
        shutil.rmtree(folder)
    warnings.warn(f"{MUTANTS} mutants: {dict(outcomes)}", stacklevel=1)
    assert outcomes["read"] > MUTANTS / 20
    assert outcomes["refused"] > MUTANTS / 4
