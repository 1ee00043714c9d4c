"""What is written of one file: pictures, surfaces, volumes, pages, tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..analysis.information import as_dictionary, notes
from ..analysis.presentation import draw_plots
from ..analysis.reports import FILE_KINDS, analyse, analysis_named
from ..base.errors import Cancelled, OrbitileError
from ..evaluation.requests import FileReferences, field_of
from ..evaluation.streaming import compute_to_file
from ..exporters import save
from ..files.writing import written_atomically
from ..model.wavefunction import Wavefunction
from ..pictures.pages import document_of, slides_of, with_computing
from ..pictures.request import Request
from ..pictures.surface import (
    Listener,
    drawn,
    fields_in,
    isovalue_of,
    sampling,
    surface_of,
    surfaces_of_picture,
)
from ..readers import load_spectra, load_vibrations
from ..renderer import render
from ..scenes.web import page
from .request import BatchRequest, Item, is_of_surfaces
from .table import Cell
from .thumbnail import SUFFIX, write_thumbnail
from .values import values_of, values_of_report, values_of_surface

JSON = "all.json"
"""What is known of a file, in one."""


@dataclass
class Findings(Listener):
    """What comes of one file, collected while its items are done one after the other.

    Attributes
    ----------
    values : dict
        Of the row.
    written : list of (item, format, name)
        Files in the folder of outputs.
    refusals : dict
        By item.
    remarks : list of str
    known : dict
        What goes to JSON beside the wavefunction, by item.
    errors : list of Exception
        What is behind the refusals.
    """

    values: dict[str, Cell] = field(default_factory=dict)
    written: list[tuple[str, str, str]] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    known: dict[str, Any] = field(default_factory=dict)
    errors: list[Exception] = field(default_factory=list)

    def warn(self, text: str) -> None:
        """Take a warning for a remark, once."""
        if text not in self.remarks:
            self.remarks.append(text)


def fill(found: Findings, wavefunction: Wavefunction, request: BatchRequest, folder: Path, name: str) -> None:
    """Do all that is asked of a wavefunction; an item that cannot be had costs that item.

    Parameters
    ----------
    found
        Is told what comes of it.
    wavefunction
    request
    folder
        For the files that are written.
    name : str
        Of the file that the wavefunction was read from, without its folder.

    Raises
    ------
    Cancelled
        When it is not wanted any more.
    """
    references = FileReferences()
    found.remarks.extend(notes(wavefunction))
    attempt(found, "", lambda: found.values.update(values_of(wavefunction)))
    for item in request.items:
        if item.analysis:
            attempt(found, item.name, partial(_analysed, item, wavefunction, request, folder, found))
        else:
            attempt(found, item.name, partial(_shown, item, wavefunction, request, folder, found, references))
    if "json" in request.formats:
        attempt(found, "", lambda: _write_json(wavefunction, folder, found, name))


def attempt(found: Findings, item: str, work: Callable[[], object]) -> None:
    """Do some work; what it raises is why the item is refused."""
    try:
        work()
    except Cancelled:
        raise
    except OrbitileError as error:
        _refuse(found, item, error, str(error))
    except MemoryError as error:
        _refuse(found, item, error, "out of memory")
    except Exception as error:  # a defect of ours at one file is no reason to give up ten thousand
        _refuse(found, item, error, f"internal error (please report): {type(error).__name__}: {error}")


def _refuse(found: Findings, item: str, error: Exception, text: str) -> None:
    before = found.refusals.get(item)
    found.refusals[item] = text if before is None else f"{before}; {text}" if text not in before else before
    found.errors.append(error)


def _shown(
    item: Item,
    wavefunction: Wavefunction,
    request: BatchRequest,
    folder: Path,
    found: Findings,
    references: FileReferences,
) -> None:
    """A field in all formats, each of which may be refused, and in numbers."""
    names = fields_in(wavefunction, [item.field])
    if len(names) > 1 and item.color_by:
        raise OrbitileError(f"expected one field to colour, got {len(names)}: {', '.join(names)}")
    how = {name: getattr(request, name) for name in ("isovalue", "quality", "device", "precision")}
    requests = [drawn(Request("", name, color_by=item.color_by, **how), wavefunction) for name in names]
    for name in (*(one.field for one in requests), *filter(None, (one.color_by for one in requests))):
        field_of(wavefunction, name, references)  # refused once, and not by each format
    shown = _Shown(item, wavefunction, requests, request.size, folder, found, references)
    for ending in request.formats:
        if ending == "png":
            attempt(found, item.name, shown.picture)
        elif ending == "html":
            attempt(found, item.name, shown.page)
        elif ending != "json":
            attempt(found, item.name, partial(shown.mesh if is_of_surfaces(ending) else shown.volume, ending))
    if len(requests) == 1:
        attempt(found, item.name, shown.numbers)


@dataclass(frozen=True, eq=False)
class _Shown:
    """A field of a file, and where what is made of it goes."""

    item: Item
    wavefunction: Wavefunction
    requests: list[Request]
    size: tuple[int, int]
    folder: Path
    found: Findings
    references: FileReferences

    def picture(self) -> None:
        """As `orbitile render` draws it."""
        surfaces = surfaces_of_picture(self.requests, self.wavefunction, self.references, self.found, size=self.size)
        path = self._path("png")
        legend = any(one.surface.colouring is not None for one in surfaces)
        render([one.surface for one in surfaces], self.wavefunction, path, size=self.size, legend=legend)
        note_picture(self.found, self.item, path)

    def page(self) -> None:
        """As `orbitile render -o PAGE.html` makes it."""
        slides, _ = slides_of(self.requests, self.wavefunction, self.references, self.found)
        path = self._path("html")
        with written_atomically(path) as temporary:
            document = with_computing(document_of(slides, self.wavefunction), [self.wavefunction])
            temporary.write_text(page(document), encoding="utf-8")
        self.found.written.append((self.item.name, "html", path.name))

    def mesh(self, ending: str) -> None:
        """As `orbitile mesh` writes it."""
        one = surface_of(self._only(), self.wavefunction, self.references, self.found)
        path = self._path(ending)
        save(one.surface, path, wavefunction=self.wavefunction)
        self.found.written.append((self.item.name, "mesh", path.name))

    def volume(self, ending: str) -> None:
        """As `orbitile volume` writes it."""
        one = sampling(self._only(), self.wavefunction, self.references, self.found)
        path, request = self._path(ending), one.request
        compute_to_file(
            self.wavefunction, one.field, one.lattice, path, device=request.device, precision=request.precision
        )
        self.found.written.append((self.item.name, "volume", path.name))

    def numbers(self) -> None:
        """What is known of it beside pictures."""
        one, wavefunction = self._only(), self.wavefunction
        field = field_of(wavefunction, one.field, self.references)
        isovalue = isovalue_of(one, wavefunction, field)
        known: dict[str, Any] = {"quantity": field.quantity, "isovalue": isovalue, "unit": field.unit}
        if self.item.color_by:
            colour = field_of(wavefunction, one.color_by, self.references)
            row = values_of_surface(self.item.column, wavefunction, field, isovalue, colour, one.device)
            self.found.values.update(row)
            known |= {"colour": colour.quantity, **row}
        self.found.known[self.item.name] = known

    def _path(self, ending: str) -> Path:
        return self.folder / f"{self.item.stem}.{ending}"

    def _only(self) -> Request:
        if len(self.requests) > 1:
            raise OrbitileError("only a picture or a page can show several fields: make each an item of its own")
        return self.requests[0]


def note_picture(found: Findings, item: Item, path: Path) -> None:
    """Take note of a picture, and make a small one beside it."""
    found.written.append((item.name, "png", path.name))
    small = path.with_suffix(SUFFIX)
    if write_thumbnail(path, small):
        found.written.append((item.name, "thumbnail", small.name))


def _analysed(item: Item, wavefunction: Wavefunction, request: BatchRequest, folder: Path, found: Findings) -> None:
    parameters: dict[str, Any] = dict(item.parameters)
    kind = analysis_named(item.analysis).KIND
    subject: Any = wavefunction
    if kind in FILE_KINDS:
        subject = (load_vibrations if kind == "vibrations" else load_spectra)(wavefunction.source)
    report = analyse(subject, item.analysis, device=request.device, **parameters)
    found.values.update(values_of_report(item.column, report))
    for remark in report.remarks:
        found.warn(f"{item.name}: {remark}")
    found.known[item.name] = report.as_dictionary()
    if "png" in request.formats and report.plots:
        try:
            for path in draw_plots(report, folder / f"{item.stem}.png"):
                note_picture(found, item, Path(path))
        except OrbitileError as error:  # its numbers are there all the same
            found.warn(f"{item.name}: {error}")


def _write_json(wavefunction: Wavefunction, folder: Path, found: Findings, name: str) -> None:
    content = {**as_dictionary(wavefunction), "file": name, "values": found.values, "items": found.known}
    content |= {"refusals": found.refusals, "notes": found.remarks}
    with written_atomically(folder / JSON) as temporary:
        temporary.write_text(json.dumps(content, indent=1), encoding="utf-8")
    found.written.append(("", "json", JSON))
