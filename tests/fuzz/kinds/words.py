"""Texts that users type, by hypothesis, to what reads them: fields, filters, lists of atoms, requests, states."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

import orbitile as ob
from orbitile.analysis.reports import analyses, values_of
from orbitile.base import arguments
from orbitile.commandline._arguments import read_atoms, read_size
from orbitile.commandline.volume import read_frames
from orbitile.evaluation.devices import one_device
from orbitile.evaluation.requests import field_of
from orbitile.exporters import kind_of
from orbitile.fields import field_names
from orbitile.hosts.server.requests import read_request
from orbitile.integrals.functionals import functional
from orbitile.jobs.files import files_in
from orbitile.jobs.request import is_item, request_of
from orbitile.pictures.orbitals import ENERGY_UNITS, conditions_of, levels_of, parts_of, passes
from orbitile.session.presets import PRESETS, preset_named
from orbitile.session.shown import Shown
from orbitile.session.source import changes, files_of
from tests.fuzz.kinds import check_message
from tests.fuzz.samples import SAMPLES
from tests.fuzz.values import ODD_WORDS

SHARE = 0.06
SECONDS = 20.0

EXAMPLES = 10
"""Texts of one case."""

KNOWN = sorted(
    {name for name, _ in field_names()} | set(analyses()) | {preset.name for preset in PRESETS} | {"pbe", "b3lyp", "hf"}
)
WORD = (
    st.sampled_from(KNOWN)
    | st.sampled_from(ODD_WORDS)
    | st.from_regex(r"(homo|lumo|mo:)[+-]?\d{0,30}(\.\.|-|:)?(homo|lumo|alpha|beta|x)?[+-]?\d{0,9}", fullmatch=True)
    | st.from_regex(r"[-+.:,;=0-9x ]{0,12}", fullmatch=True)
    | st.text(max_size=20)
)
TEXTS = st.lists(WORD, min_size=1, max_size=4).map("".join) | st.lists(WORD, max_size=4).map(" ".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)
PARTS = ("id", "command", "arguments", "named", "objects", "hidden", "seen", "positions", "dragging")
REQUESTS = st.dictionaries(st.sampled_from(PARTS) | TEXTS, JSON, max_size=5) | JSON


class Subject:
    """What reads texts."""

    def __init__(self, folder: Path) -> None:
        water = ob.load(SAMPLES / "h2o.molden.input")
        levels = levels_of(water)

        def filtered(text: str) -> None:
            for unit in ENERGY_UNITS.values():
                conditions = conditions_of(text, unit)
                assert all(type(passes(row, levels, conditions)) is bool for row in range(len(water.alpha)))

        def shown(told: Any) -> None:
            Shown.from_message(told)

        def with_analysis(text: str) -> None:
            name, _, rest = text.partition(" ")
            given = dict(piece.partition("=")[::2] for piece in rest.split())
            values_of(name if name in analyses() else "charges", given)

        kinds = [
            value
            for value in vars(arguments).values()
            if isinstance(value, arguments.Kind)
        ]  # fmt: skip
        self.readers: list[tuple[str, Any, Callable[[Any], object]]] = [
            ("field", TEXTS, lambda text: field_of(water, text)),
            ("orbital filter", TEXTS, filtered),
            ("pattern of a field", TEXTS, parts_of),
            ("frames", TEXTS, lambda text: read_frames(text, 7)),
            ("size", TEXTS, read_size),
            ("atoms", TEXTS, lambda text: read_atoms("--atoms", text)),
            ("device", TEXTS, one_device),
            ("preset", TEXTS, preset_named),
            ("functional", TEXTS, functional),
            ("analysis", TEXTS, with_analysis),
            ("items of a batch", st.lists(TEXTS, max_size=3), request_of),
            ("formats of a batch", st.lists(TEXTS, max_size=3), lambda texts: request_of(to=texts)),
            ("files of a batch", st.lists(TEXTS, max_size=3), lambda texts: files_in(texts, folder)),
            ("word of a batch", TEXTS, is_item),
            ("name of a file to write", TEXTS, kind_of),
            ("name of a file to read", TEXTS, ob.load),
            ("source", TEXTS | JSON.map(json.dumps), lambda text: (files_of(text), changes(text))),
            ("request", REQUESTS.map(json.dumps) | TEXTS, lambda text: read_request(text.encode(errors="replace"))),
            ("state", JSON, shown),
            *((f"argument {kind.name}", JSON, lambda value, kind=kind: kind.read("it", value)) for kind in kinds),
        ]

    def run(self, random: np.random.Generator, folder: Path) -> bool:
        name, strategy, read = self.readers[int(random.integers(len(self.readers)))]
        answers = 0

        @hypothesis.seed(int(random.integers(1 << 62)))
        @settings(
            max_examples=EXAMPLES,
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @hypothesis.given(strategy)
        def read_or_refused(value: Any) -> None:
            nonlocal answers
            (folder / "input.txt").write_text(f"{name}: {value!r}\n", encoding="utf-8", errors="backslashreplace")
            try:
                read(value)
            except ob.OrbitileError as error:
                check_message(error)
            else:
                answers += 1

        read_or_refused()
        return answers > 0

    def check(self) -> None:
        pass

    def close(self) -> None:
        pass
