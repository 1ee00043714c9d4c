"""Mutated files: whatever happens to a file, a reader answers with a wavefunction or with an `OrbitileError`."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import orbitile as ob
from tests.conftest import SAMPLES

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
