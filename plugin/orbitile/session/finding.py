"""An analysis that a window has asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..model.report import Report
from .analysing import AnalysisOrder


@dataclass(frozen=True, eq=False)
class Finding:
    """An analysis that was asked for, and what came of it.

    Attributes
    ----------
    molecule : str
    order : AnalysisOrder
    given : mapping
        Parameters as the user gave them.
    report : Report or None
        None until it is there.
    problem : str
        Why there is none.
    is_stale : bool
        Whether the molecule has moved on since, to another frame or other places of its atoms.
    """

    molecule: str
    order: AnalysisOrder
    given: Mapping[str, str]
    report: Report | None = None
    problem: str = ""
    is_stale: bool = False

    @property
    def is_running(self) -> bool:
        """Whether it is being computed."""
        return self.report is None and not self.problem
