"""What wavefunctions, trajectories, surfaces, volumes, vibrations and reports look like at the end of a cell."""

from __future__ import annotations

import html
from collections import deque
from importlib.util import find_spec
from os import PathLike
from typing import TYPE_CHECKING, Any

from ...base.errors import OrbitileError
from ...base.packages import install_command
from ...model.report import Report, Table
from ...model.surface import Surface
from ...model.trajectory import Trajectory
from ...model.vibrations import Vibrations
from ...model.volume import Volume
from ...model.wavefunction import Wavefunction
from ...pictures.pages import document_of, named_as_listed, slide_of, with_computing
from ...pictures.request import MOST_FACES, Request, surface_within
from ...pictures.vibrations import document_of_modes
from ...scenes.web import Document, iframe
from ...surfaces.isovalue import suitable_isovalue
from .subject import Subject

if TYPE_CHECKING:
    from .widget import View

_SHOWN = ("homo", "lumo")
"""Of a wavefunction that is shown without a kernel: those of them that it has, or the density."""


_MOST_BY_THEMSELVES = 12
"""Views that live without anybody having a name for them."""

_by_themselves: deque[View] = deque()


def view(
    of: Wavefunction | Trajectory | str | PathLike[str],
    field: str | None = None,
    *,
    color_by: str = "",
    isovalue: float | None = None,
    frame: int = 0,
    quality: str = "medium",
    device: str | None = None,
) -> View:
    """A view of a molecule in a notebook: it turns, and computes what is chosen in it while the kernel does other work.

    Its list has the orbitals with energies and occupations, and a click on one, or on its level in the diagram, shows
    it. A slider goes through isovalues, another through the frames of a trajectory. What is set from Python is shown,
    and what is chosen in the view can be read: `view.field = "lumo"`, `view.isovalue`, `view.frame`, `view.camera`.

    Parameters
    ----------
    of : Wavefunction, Trajectory or path
        Orbitals of a trajectory are followed, and named as in the first frame.
    field : str, optional
        Name as for `compute`; the HOMO, or of free atoms the density.
    color_by : str
        A second field that colours the surface.
    isovalue : float, optional
        In atomic units; by default that of the field, of an orbital the one that encloses 90 %.
    frame : int
        Of a trajectory, from 0.
    quality : str
        coarse, medium or fine.
    device : str, optional
        As for `compute`.

    Raises
    ------
    OrbitileError
        When anywidget is not installed, or there is nothing to show.
    """
    if find_spec("anywidget") is None:
        raise OrbitileError(f"view: needs anywidget, which is not installed: {install_command('anywidget')}")
    from .widget import View

    traits: dict[str, Any] = {} if field is None else {"field": field}
    return View(of, quality=quality, device=device, color_by=color_by, isovalue=isovalue, frame=frame, **traits)


def mimebundle(what: Any) -> Any:
    """What a notebook shows of an object (`_repr_mimebundle_`); None where text will do.

    In a kernel with anywidget, a `view` of wavefunctions and trajectories; otherwise, and of surfaces and volumes, a
    page that turns.
    """
    if _in_terminal():
        return None
    if isinstance(what, Vibrations):
        document = document_of_modes(what)
        return {"text/html": iframe(document), "text/plain": f"{document.title}: {what.n_modes} vibrations"}
    if isinstance(what, Report):
        return {"text/html": _report(what), "text/plain": what.title}
    if isinstance(what, (Wavefunction, Trajectory)) and find_spec("anywidget") is not None and _in_kernel():
        shown = view(what)
        _by_themselves.append(shown)
        while len(_by_themselves) > _MOST_BY_THEMSELVES:
            _by_themselves.popleft().close()  # its page stays
        return shown._repr_mimebundle_()
    document = _document(what)
    return {"text/html": iframe(document), "text/plain": document.title}


def _shell() -> Any:
    if find_spec("IPython") is None:
        return None
    from IPython import get_ipython

    return get_ipython()


def _in_kernel() -> bool:
    return hasattr(_shell(), "kernel")


def _in_terminal() -> bool:
    return _shell() is not None and not _in_kernel()


def _document(what: Any) -> Document:
    """What can be seen of an object without a kernel."""
    if isinstance(what, Surface):
        return document_of([slide_of(what, None)], None)
    if isinstance(what, Volume):
        surface, _ = surface_within(what, suitable_isovalue(what), MOST_FACES)
        return document_of([slide_of(surface, None)], None)
    subject = Subject(what)
    first = subject.first
    names = [name for name in _SHOWN if named_as_listed(first, name) != name] or ["density"]
    slides = [subject.slide(Request("", name, device=None)) for name in names]
    return with_computing(document_of(slides, first), [first])


def _report(report: Report) -> str:
    parts = [f"<h4>{html.escape(report.title)}</h4>", *map(_table, report.tables)]
    parts += [f"<p>{html.escape(remark)}</p>" for remark in report.remarks]
    return "".join(parts)


def _table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(column.title)}</th>" for column in table.columns)
    rows = (
        "<tr>" + "".join(f"<td>{html.escape(column.text(row))}</td>" for column in table.columns) + "</tr>"
        for row in range(len(table))
    )
    closures = "".join(f"<p>{html.escape(closure.text)}</p>" for closure in table.closures)
    return (
        f"<table><caption>{html.escape(table.title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>{closures}"
    )
