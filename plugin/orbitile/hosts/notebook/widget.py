"""The live view of a notebook. This module needs `anywidget`."""

from __future__ import annotations

import asyncio
import math
import time
import uuid
import weakref
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from ...base.errors import OrbitileError
from ...files.writing import refuse_inputs, written_atomically
from ...pictures.pages import OF_FRAMES, bare_slide, choices_of, document_of, levels_in, with_computing, with_others
from ...pictures.request import Request
from ...pictures.words import of_error
from ...scenes.web import Choice, Document, Slide, iframe, packed, page, style, viewer_script
from .subject import Newest, Subject

_PATIENCE = 20.0
"""Seconds that a view waits for its first picture before it is displayed: what is exported has to have one."""

_INTERVAL = 0.3
"""Seconds between two reports of how far a computation is."""

_PAUSE = 1.0
"""Seconds without a new picture after which the page beside the view is made anew."""

_KEPT = 12
"""Pictures that this page has: those seen last."""

_HIDING = (
    "<style>.jp-OutputArea-child:has(iframe[data-orbitile]) + .jp-OutputArea-child"
    " > .jupyter-widgets:not(:has(*)) { display: none }</style>"
)
"""Hides what JupyterLab says where a widget would be whose kernel is gone (a line of text): the page is above it."""

_PRESETS = (
    Choice("density", "esp", title="density coloured by electrostatic potential"),
    Choice("density", title="electron density"),
)
"""What is offered beside the orbitals."""

_Picture = tuple[Slide, bytes]
"""A slide, and energies and occupations of all choices in its frame: float32, of a trajectory only."""


class View(anywidget.AnyWidget):
    """A molecule with a field of its electrons, which turns, and computes in the kernel what is chosen in it.

    Parameters
    ----------
    of : Wavefunction, Trajectory or path
        Orbitals of a trajectory are followed, and named as in the first frame.
    quality : str
        coarse, medium or fine.
    device : str, optional
        As for `orbitile.compute`.
    traits
        field, color_by, isovalue, frame, camera.

    Attributes
    ----------
    field, color_by : str
        Names as for `orbitile.compute`: what is shown, and what colours it (empty for the colours of its phases).
    isovalue : float or None
        In atomic units. Another field gets its own isovalue; None asks for that too.
    frame : int
        Of a trajectory, from 0.
    camera : dict
        rotation (three rows: what points right, up, and towards the viewer), centre (in bohr) and height (of what is
        seen at the centre, in bohr); empty until the view was turned or is told.
    error : str
        Why what was asked for last cannot be shown, in a line; empty otherwise.
    """

    _esm = viewer_script("widget")
    _css = style()

    field = traitlets.Unicode("homo").tag(sync=True)
    color_by = traitlets.Unicode("").tag(sync=True)
    isovalue = traitlets.Float(None, allow_none=True).tag(sync=True)
    frame = traitlets.Int(0).tag(sync=True)
    camera = traitlets.Dict().tag(sync=True)

    _document = traitlets.Bytes(b"").tag(sync=True)
    _slide = traitlets.Bytes(b"").tag(sync=True)
    _levels = traitlets.Bytes(b"").tag(sync=True)
    _status = traitlets.Unicode("").tag(sync=True)
    _failed = traitlets.Bool(False).tag(sync=True)
    _asked = traitlets.Dict().tag(sync=True)
    _name = traitlets.Unicode("").tag(sync=True)
    _seen = traitlets.Bool(False).tag(sync=True)
    _lacking = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        of: Any,
        *,
        quality: str = "medium",
        device: str | None = None,
        **traits: Any,
    ) -> None:
        self._newest: Newest[_Picture] = Newest()
        self._due: asyncio.TimerHandle | None = None  # these two first: a widget that could not be made is closed too
        self._subject = Subject(of)
        self._quality, self._device = quality, device
        self._arrived: deque[tuple[Request, _Picture | None, Exception | None]] = deque()
        self._slides: OrderedDict[tuple[str, str, int], Slide] = OrderedDict()
        self._is_quiet = True
        self._beside: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        with suppress(RuntimeError):  # outside of a kernel nothing runs
            self._loop = asyncio.get_running_loop()
        first = self._subject.first
        base = document_of([bare_slide(first)], first, self._subject.n_frames)
        choices = base.choices if first.promolecule else (*_PRESETS, *base.choices)
        note = OF_FRAMES if self._subject.n_frames > 1 else ""
        self._base: Document = replace(base, slides=(), choices=choices, note=note)
        if first.promolecule:
            traits.setdefault("field", "density")
        # with its document: a browser may draw the view as soon as the widget is made
        super().__init__(_name=uuid.uuid4().hex, _document=packed(self._base), **traits)
        self._listed = {(choice.field, choice.color_by) for choice in choices}
        self._is_quiet = False
        self._compute()

    # ---- what is asked for

    @traitlets.validate("isovalue")
    def _check_isovalue(self, proposal: Any) -> float | None:
        value: float | None = proposal["value"]
        if value is not None and not (math.isfinite(value) and value > 0):
            raise traitlets.TraitError(f"isovalue: expected a positive number or None, got {value}")
        return value

    @traitlets.validate("frame")
    def _check_frame(self, proposal: Any) -> int:
        value: int = proposal["value"]
        if not 0 <= value < self._subject.n_frames:
            raise traitlets.TraitError(f"frame: expected 0 to {self._subject.n_frames - 1}, got {value}")
        return value

    @traitlets.validate("camera")
    def _check_camera(self, proposal: Any) -> dict[str, Any]:
        import numpy as np

        value: dict[str, Any] = proposal["value"]
        shapes = {"rotation": (3, 3), "centre": (3,), "height": ()}
        try:
            fits = not value or all(
                np.shape(value[name]) == shape and np.isfinite(np.asarray(value[name], float)).all()
                for name, shape in shapes.items()
            )
        except (KeyError, TypeError, ValueError):
            fits = False
        if not fits:
            raise traitlets.TraitError(
                f"camera: expected rotation (3 x 3), centre (3 numbers) and height (a number), got {value!r:.200}"
            )
        return {name: np.asarray(part, float).tolist() for name, part in value.items() if name in shapes}

    @traitlets.observe("field", "color_by", "isovalue", "frame")
    def _request_changed(self, change: Any) -> None:
        if self._is_quiet:
            return
        if change["name"] in ("field", "color_by"):
            with self._quietly():
                self.isovalue = None
        self._compute()

    @traitlets.observe("_asked")
    def _was_asked(self, change: Any) -> None:
        """Take up what was chosen in a browser."""
        asked = change["new"]
        try:
            with self._quietly():
                self.field, self.color_by = asked["field"] or self.field, asked["color_by"]
                self.isovalue, self.frame = asked["isovalue"], asked["frame"]
        except (KeyError, traitlets.TraitError) as error:
            self._tell(str(error), failed=True)
        else:
            self._compute()

    @traitlets.observe("_lacking")
    def _send_again(self, change: Any) -> None:
        """Send document and picture again to a browser that has heard of the view without them."""
        if change["new"]:
            self.send_state(["_document", "_levels", "_slide"])
            self._lacking = False

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        """Set traits without computing for each of them."""
        self._is_quiet = True
        try:
            yield
        finally:
            self._is_quiet = False

    def _compute(self) -> None:
        request = Request(
            "",
            self.field,
            self._quality,
            self.isovalue,
            color_by=self.color_by,
            frame=self.frame,
            device=self._device,
        )
        self._tell(f"computing {request.field} ...")
        self._told = time.monotonic()
        there = weakref.ref(self)
        self._newest.ask(
            partial(_computed, self._subject, self._base.choices, request),
            partial(_arrive, there, request),
            partial(_advance, there, request.field),
        )

    # ---- what comes back

    def _take(self) -> None:
        """Show what has arrived."""
        while self._arrived:
            request, picture, failure = self._arrived.popleft()
            if failure is not None:
                what = "" if isinstance(failure, OrbitileError) else f"{type(failure).__name__}: "
                self._tell(what + of_error(failure), failed=True)
            elif picture is not None:
                self._put(request, *picture)

    def _put(self, request: Request, slide: Slide, levels: bytes) -> None:
        key = slide.field, slide.color_by
        if slide.title and key not in self._listed:
            self._listed.add(key)
        if (request.field, request.color_by, request.frame) == (
            self.field,
            self.color_by,
            self.frame,
        ) and slide.isovalue:
            with self._quietly():
                self.isovalue = slide.isovalue
        self._slides[(*key, slide.frame)] = slide
        self._slides.move_to_end((*key, slide.frame))
        while len(self._slides) > _KEPT:
            self._slides.popitem(last=False)
        self._tell("")
        with self.hold_sync():  # a browser takes up both at once
            self._levels = levels
            self._slide = packed(replace(self._base, slides=(slide,), choices=(), atoms=()))
        if self._loop is not None and self._beside is not None:
            if self._due is not None:
                self._due.cancel()
            self._due = self._loop.call_later(_PAUSE, self._renew)

    def _tell(self, text: str, failed: bool = False) -> None:
        with self.hold_sync():
            self._status, self._failed = " ".join(text.split()), failed

    @property
    def error(self) -> str:
        """Why what was asked for last cannot be shown; empty where it can."""
        return self._status if self._failed else ""

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until what was asked for is shown, or cannot be; says whether that is so.

        A cell need not wait; a script that saves what it has asked for has to.
        """
        done = self._newest.wait(seconds)
        self._take()
        return done

    # ---- what stays

    def document(self) -> Document:
        """What was seen last, with the orbitals to choose from: frames of a trajectory at those that were seen.

        Its page computes the orbitals that it lacks in these frames (`pictures.computing`).
        """
        slides = list(reversed(self._slides.values()))
        if not slides:
            slides = [bare_slide(self._subject.first)]
        seen = sorted({slide.frame for slide in slides})
        slides = [replace(slide, frame=seen.index(slide.frame)) for slide in slides]
        rotation = self.camera.get("rotation", self._base.rotation)
        others = with_others(choices_of(self._subject.first), slides)
        document = replace(self._base, slides=tuple(slides), n_frames=len(seen), rotation=rotation, choices=others)
        return with_computing(document, [self._subject.wavefunction(frame) for frame in seen])

    def save(self, path: str | PathLike[str]) -> None:
        """Write what was seen last as a page, one HTML file that needs nothing else.

        Raises
        ------
        FileError
            When it cannot be written, or is the file that the wavefunction was read from.
        """
        refuse_inputs(path, [self._subject.first.source])
        with written_atomically(Path(path)) as temporary:
            temporary.write_text(page(self.document()), encoding="utf-8")

    def _static(self) -> dict[str, str]:
        return {"text/html": _HIDING + iframe(self.document(), self._name), "text/plain": self._base.title}

    def _renew(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
        if self._beside is not None:
            self._beside.update(self._static(), raw=True)

    def _end_cell(self) -> None:
        """Have the page show what a cell has asked for, where no browser shows the view (`nbconvert --execute`)."""
        if not self._seen and self._beside is not None:
            self.wait(_PATIENCE)
            if self._due is not None:  # there is a picture that the page does not have
                self._renew()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        from IPython import get_ipython
        from IPython.display import display

        self.wait(_PATIENCE)
        shell = get_ipython()
        if shell is not None:
            self._beside = display(self._static(), raw=True, display_id=self._name)
            _displayed.add(self)
            with suppress(ValueError):  # it is not registered yet
                shell.events.unregister("post_run_cell", _end_cell)
            shell.events.register("post_run_cell", _end_cell)
        return super()._repr_mimebundle_(**kwargs)

    def close(self) -> None:
        """End the view, and what it computes."""
        self._newest.cancel()
        if self._due is not None:
            self._due.cancel()
        super().close()


_displayed: weakref.WeakSet[View] = weakref.WeakSet()


def _end_cell(result: Any) -> None:
    for view in list(_displayed):
        view._end_cell()


def _advance(view: weakref.ref[View], field: str, share: float) -> None:
    """Tell how far a long computation is, a few times a second."""
    there, now = view(), time.monotonic()
    if there is None or there._loop is None or there._loop.is_closed() or now - there._told < _INTERVAL:
        return
    there._told = now
    there._loop.call_soon_threadsafe(there._tell, f"computing {field} ... {share:.0%}")


def _computed(subject: Subject, choices: tuple[Choice, ...], request: Request) -> _Picture:
    """What is asked for, by a thread that does not hold the view."""
    slide = subject.slide(request)
    if subject.n_frames == 1:
        return slide, b""
    return slide, levels_in(subject.wavefunction(slide.frame), choices).astype("<f4").tobytes()


def _arrive(view: weakref.ref[View], request: Request, picture: _Picture | None, failure: Exception | None) -> None:
    """Take what was computed to a view, in its thread; nowhere, if it is gone by now."""
    there = view()
    if there is None:
        return
    there._arrived.append((request, picture, failure))
    if there._loop is not None and not there._loop.is_closed():
        there._loop.call_soon_threadsafe(there._take)
