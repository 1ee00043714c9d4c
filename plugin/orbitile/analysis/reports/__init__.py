"""Analyses: what can be found out about a molecule, one module each, found by name.

A module states `TITLE`, `HELP` and `PARAMETERS` and offers `report(subject, **parameters)`. That makes it a function of
`orbitile`, a command of every console (`orb_charges`), a command of the command line (`orbitile charges`), and an entry
of the windows: nothing else has to know of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ...base.arguments import Argument, alternatives, brief
from ...base.arrays import one_thread_of_blas
from ...base.errors import OrbitileError
from ...base.registry import modules_of
from ...base.watch import Cancel, Progress, watched
from ...model.geometry import Geometry
from ...model.report import Report
from ...model.trajectory import Trajectory
from ...model.vibrations import Vibrations
from ...model.wavefunction import Wavefunction

SUBJECTS: Mapping[str, tuple[type, ...]] = {
    "wavefunction": (Wavefunction,),
    "atoms": (Wavefunction, Geometry),
    "trajectory": (Trajectory,),
    "vibrations": (Vibrations,),
    "spectra": (tuple,),
}
"""What the `KIND` of an analysis may be, and what it is given then: with atoms, a wavefunction where there is one.

Vibrations and spectra (a tuple of `Spectrum`) are read of a file that need not have orbitals: `FILE_KINDS`.
"""

FILE_KINDS = ("vibrations", "spectra")


def _nothing(subject: Any) -> str:
    """Of an analysis that everything has."""
    return ""


def _no_warning(subject: Any, **parameters: Any) -> str:
    """Of an analysis that is quick."""
    return ""


class Analysis(Protocol):
    """What a module offers that is an analysis.

    `PARAMETERS` have the same names as the keywords of `report`, which gets all of them, read, and `device` beside
    them. `PLOTS` says whether its reports have plots, `INSTANT` that a window does it anew with each change.
    `unavailable` tells in a sentence why a molecule does not have it, found quickly; `warning` that it will take long,
    and how long about, before it begins.
    """

    TITLE: str
    """For menus: Charges of atoms."""

    HELP: str
    """What it finds, in a line of the list of commands: in small letters, without a full stop."""

    PARAMETERS: tuple[Argument, ...] = ()
    KIND: str = "wavefunction"
    GROUP: str = "Other"
    PRIORITY: float = 0
    EXAMPLES: tuple[str, ...] = ()
    PLOTS: bool = False
    INSTANT: bool = False
    unavailable: Callable[[Any], str] = _nothing
    warning: Callable[..., str] = _no_warning

    def report(self, subject: Any, *, device: str | None = None, **parameters: Any) -> Report:
        """Find it.

        Work that takes longer than some tens of milliseconds comes to `base.watch.checkpoint` meanwhile, so that it
        can be cancelled.

        Raises
        ------
        OrbitileError
            When the molecule does not have it, or a parameter does not fit.
        """


def takes_long(what: str, seconds: float) -> str:
    """A warning, as `bond orders of 900 basis functions take about 20 s`, from 10 s on; "" for what is quick."""
    time = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} minutes"
    return f"{what} about {time}" if seconds > QUICK else ""


QUICK = 10.0
"""Seconds that no user is warned of."""


def analyses() -> Mapping[str, Analysis]:
    """All analyses by name, those first that are wanted most."""
    return modules_of(__name__, Analysis, tuple(SUBJECTS))


def analysis_groups() -> list[tuple[str, list[tuple[str, Analysis]]]]:
    """The same in groups, each with its title, for menus."""
    groups: dict[str, list[tuple[str, Analysis]]] = {}
    for name, module in analyses().items():
        groups.setdefault(module.GROUP, []).append((name, module))
    return list(groups.items())


def analysis_named(name: str) -> Analysis:
    """The analysis of a name.

    Raises
    ------
    OrbitileError
        When there is none.
    """
    known = analyses()
    if name not in known:
        raise OrbitileError(f"analysis: expected {alternatives(list(known))}, got {brief(name)}")
    return known[name]


def analyse(
    subject: Any,
    name: str,
    *,
    device: str | None = None,
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
    **parameters: Any,
) -> Report:
    """Analyse a molecule.

    Parameters
    ----------
    subject
        A `Wavefunction`; for an analysis along a path a `Trajectory`; for one of atoms alone a `Geometry` will do.
    name
        Of the analysis, such as `charges`.
    device
        What computes, as for `orbitile.evaluate`.
    progress, cancelled
        As for `orbitile.compute`.
    **parameters
        Those of the analysis; text is read as on the command line.

    Returns
    -------
    Report

    Raises
    ------
    OrbitileError
        When there is no such analysis, the molecule does not have it, or a parameter cannot be read.
    """
    module = analysis_named(name)
    values = values_of(name, parameters)
    if not isinstance(subject, SUBJECTS[module.KIND]):
        expected = alternatives([one.__name__ for one in SUBJECTS[module.KIND]])
        raise OrbitileError(f"{name}: expected a {expected}, got {type(subject).__name__}")
    if reason := module.unavailable(subject):
        raise OrbitileError(f"{name}: {reason}")
    rows = subject.n_basis if isinstance(subject, Wavefunction) else 0
    with watched(progress, cancelled), one_thread_of_blas(rows):
        return module.report(subject, device=device, **values)


def values_of(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of an analysis, those that were given read, the others as they are by default.

    Raises
    ------
    OrbitileError
        When one is unknown, missing, or cannot be read.
    """
    stated = {argument.name: argument for argument in analysis_named(name).PARAMETERS}
    for key in given:
        if key not in stated:
            raise OrbitileError(
                f"{name}: the parameter {brief(key)} is unknown; expected {', '.join(stated) or 'none'}"
            )
    return {key: _value(argument, given.get(key, "")) for key, argument in stated.items()}


def _value(argument: Argument, given: Any) -> Any:
    """A parameter, read where it is text or a number; what was read before is handed on."""
    return argument.read(given) if isinstance(given, str | int | float) else given


def function_of(name: str) -> Callable[..., Report]:
    """An analysis as a function of its subject and its parameters.

    Raises
    ------
    OrbitileError
        When there is none of this name.
    """
    module = analysis_named(name)

    def function(subject: Any, **named: Any) -> Report:
        return analyse(subject, name, **named)

    plain = inspect.Parameter
    keywords = [
        plain(argument.name, plain.KEYWORD_ONLY, default=plain.empty if argument.required else argument.default)
        for argument in module.PARAMETERS
    ]
    watching = [plain(key, plain.KEYWORD_ONLY, default=None) for key in ("device", "progress", "cancelled")]
    subject = plain("subject", plain.POSITIONAL_ONLY)
    vars(function)["__signature__"] = inspect.Signature([subject, *keywords, *watching], return_annotation=Report)
    function.__name__ = function.__qualname__ = name
    lines = [f"{argument.name}\n    {argument.kind.name}: {argument.help}" for argument in module.PARAMETERS]
    function.__doc__ = "\n".join(
        [f"{module.TITLE}: {module.HELP}.", "", "Parameters", "----------", f"subject\n    {module.KIND}", *lines]
    )
    return function
