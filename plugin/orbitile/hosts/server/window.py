"""The window of the viewer at the other end of the pipe: it is told what to show, and tells what its user does."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ...analysis.presentation import as_text
from ...base.arguments import (
    COUNT,
    FLAG,
    PATH,
    POSITIVE_NUMBER,
    SHARE,
    TEXT,
    Argument,
    Kind,
    alternatives,
    brief,
    one_of,
)
from ...base.errors import OrbitileError
from ...fields import unavailable
from ...model.lattice import QUALITIES
from ...model.wavefunction import Wavefunction
from ...pictures.look import STYLES, Scale
from ...pictures.orbitals import ENERGY_UNITS, EnergyUnit, Level, Levels, columns_of, conditions_of, field_of, summary
from ...pictures.words import share_in_words, unit_in_print
from ...renderer import annotate, check_path, write_png
from ...session.live.live import LiveStatus
from ...session.picture import legend_parts
from ...session.presets import PRESETS, why_not
from ...session.recipe import calls
from ...session.seen import Listed, shown_surfaces, visible
from ...session.session import Session
from ...session.window.analysing import Analysing, OfferedAnalysis
from ...session.window.browser import Browser, Writing
from ...session.window.localising import LISTED_ORBITALS, Localising
from ...session.window.molecules import Molecules
from ...session.window.playing import Playing
from ...session.window.showing import Showing
from ...session.window.view import TWO_COLOURS, Finding, Playback, View
from .protocol import Request, request_of
from .viewer import ServedViewer


def energy_unit(name: str) -> EnergyUnit:
    """A unit of energies by its name.

    Raises
    ------
    OrbitileError
        When there is none of this name.
    """
    if name not in ENERGY_UNITS:
        raise OrbitileError(f"unit of energies: expected {alternatives(list(ENERGY_UNITS))}, got {name[:80]!r}")
    return ENERGY_UNITS[name]


def table_of(wavefunction: Wavefunction, levels: Levels, unit: EnergyUnit, words: str = "") -> dict[str, Any]:
    """Columns and rows, an orbital a row, those of beta spin after those of alpha spin.

    Parameters
    ----------
    wavefunction : Wavefunction
    levels : list
        Its orbitals.
    unit : EnergyUnit
        Of the energies.
    words : str
        Of a filter, which the rows pass; see `orbitile.session.orbital_filter`.
    """
    every = [level for those in levels for level in those]
    shown = columns_of([every], unit)
    columns = [{"what": column.what, "title": column.title, "help": column.tip} for column in shown]
    if len(levels) > 1:
        columns.insert(1, {"what": "spin", "title": "spin", "help": "Spin of the orbital"})
    rows = []
    for level in passing(levels, unit, words):
        cells = [column.text(level) for column in shown]
        if len(levels) > 1:
            cells.insert(1, level.spin)
        kind = "frontier" if level.mark else "occupied" if level.occupied else "virtual"
        rows.append({"field": field_of(wavefunction, level), "kind": kind, "cells": cells})
    return {"columns": columns, "rows": rows}


def passing(levels: Levels, unit: EnergyUnit, words: str) -> list[Level]:
    """Orbitals that are all that the words of a filter say."""
    conditions = conditions_of(words, unit)
    return [level for those in levels for level in those if all(condition(level) for condition in conditions)]


_ROWS = 500
"""Rows of a table that are told at most; files have all."""
_TICK = 15
"""Polling interval in milliseconds: what is under way."""
_PIECE = 100
"""Rows of the table in one message, so that no viewer stands still while it reads one."""
_FOLLOW = 500
"""Polling interval in milliseconds: what was changed by commands."""


class ServedWindow(View):
    """A window at the other end of the pipe, as the browser sees it.

    It draws what is dragged by itself, and tells where it came to rest: nothing is ever under way for the browser.

    Parameters
    ----------
    session : Session
        Of the viewer.
    host : ServedViewer
        The viewer.
    """

    def __init__(self, session: Session, host: ServedViewer) -> None:
        self._host = host
        self._words = ""
        self._chosen: Level | None = None
        self._is_open = True
        self._cancelled = threading.Event()
        self._molecules: list[str] | None = None
        self.browser = Browser(session, self)
        self.showing = self.browser.showing
        self.show_molecule()
        self.show_choices()
        host.every(_TICK, self._tick)
        host.every(_FOLLOW, self.follow)

    # ---- what its user does

    def do(self, verb: str, words: Sequence[str]) -> None:
        """Do what the user does in the window, one of `VERBS`.

        Raises
        ------
        OrbitileError
            When it is none of what can be done there, or cannot be done.
        """
        if verb not in VERBS:
            raise OrbitileError(f"window: expected one of {', '.join(VERBS)}, got {brief(verb)}")
        owner, request = VERBS[verb]
        parts = (self, self.browser, *self.browser.activities)
        request.do(next(part for part in parts if type(part) is owner), *request.read(words))
        self.set_busy(self.browser.is_busy())  # what is computed ahead may have been asked for

    def set_open(self, is_open: bool) -> None:
        """Take note of whether it can be seen."""
        self._is_open = is_open
        self.follow()

    def choose_orbital(self, field: str) -> None:
        """Show an orbital of the table, by the field of its row."""
        wavefunction = self.showing.wavefunction
        levels = [level for those in self.showing.levels for level in those]
        found = [level for level in levels if wavefunction is not None and field_of(wavefunction, level) == field]
        if not found:
            raise OrbitileError(f"window orbital: expected an orbital of the table, got {brief(field)}")
        self._chosen = found[0]
        self.showing.ask_for(found[0])

    def filter(self, words: str) -> None:
        """Tell the rows that pass a filter."""
        self._words = words
        wavefunction = self.showing.wavefunction
        if wavefunction is not None:
            rows = [field_of(wavefunction, level) for level in self._passing()]
            self._host.tell({"event": "filtered", "rows": rows})

    def _passing(self) -> list[Level]:
        return passing(self.showing.levels, ENERGY_UNITS[self.showing.choices.unit], self._words)

    def choose_unit(self, unit: str) -> None:
        """Tell energies in another unit."""
        self.showing.choose_unit(energy_unit(unit).name)
        self._tell_table()

    def choose_quality(self, quality: str) -> None:
        """Compute at another quality."""
        self.showing.set_quality(quality)
        self.showing.compute_anew()

    def choose_colours(self, positive: str, negative: str) -> None:
        """Draw in other colours, by their names."""
        self.showing.change_look(colours=(self._host.colour(positive), self._host.colour(negative)))

    def write_picture(self, taken: Path, file: Path) -> None:
        """Write a picture that the viewer has taken, with a legend."""
        with_legend(self.browser.session, taken, file)
        self.say(f"Wrote {file}")

    def tell_recipe(self) -> None:
        """Tell the commands that show the same again."""
        commands = [asdict(call) for call in calls(self.browser.session, visible(self.browser.session))]
        self._host.tell({"event": "recipe", "commands": commands})

    def analyse(self, analysis: str, molecule: str = "", *parameters: str) -> None:
        """Do an analysis; parameters are given as name=text."""
        given = dict(one.partition("=")[::2] for one in parameters)
        if problem := self.browser.analysing.analyse(analysis, molecule or self.showing.molecule, given):
            raise OrbitileError(problem)

    def save_found(self, file: Path) -> None:
        """Write what an analysis has found."""
        if problem := self.browser.analysing.save(file):
            raise OrbitileError(problem)

    def cancel(self) -> bool:
        """Withdraw what was asked for, from any thread; says whether there was anything."""
        self._cancelled.set()
        return self.browser.is_busy()

    def follow(self) -> None:
        """Follow what was changed by commands, and in the viewer."""
        self.browser.molecules.follow()
        molecules = list(self._host.molecules())
        if molecules != self._molecules:
            self._molecules = molecules
            self._host.tell({"event": "molecules", "names": molecules, "chosen": self.showing.molecule})

    def _tick(self) -> None:
        if self._cancelled.is_set():
            self._cancelled.clear()
            self.browser.cancel()
        self.browser.tick()
        self.set_busy(self.browser.is_busy())
        if self.browser.is_busy():
            self._host.progress(self.browser.share or 0.0)

    # ---- what the browser asks of its window

    def say(self, text: str, error: bool = False, detail: str = "") -> None:
        """Put a message where it is seen, and what else there is to know."""
        self._host.tell({"event": "said", "text": text, "error": error, "detail": detail})

    def set_busy(self, busy: bool) -> None:
        """Show, or no longer, that something is computed and can be cancelled."""
        self._host.tell_change({"event": "busy", "busy": busy})

    def show_molecule(self) -> None:
        """Tell the table of orbitals, without what was filtered of another one."""
        self._words, self._chosen = "", None
        self._tell_table()
        self._host.tell_change(offered_message(self.browser.analysing.offered(self.showing.molecule)))

    def _tell_table(self) -> None:
        browser = self.browser
        wavefunction, unit = self.showing.wavefunction, ENERGY_UNITS[self.showing.choices.unit]
        message: dict[str, Any] = {
            "event": "table",
            "molecule": self.showing.molecule,
            "unit": unit.name,
            "units": list(ENERGY_UNITS),
        }
        message |= {"filter": self._words, "orbitals": self.showing.scheme}
        if wavefunction is None:
            nothing = {"summary": "", "notes": [], "columns": [], "rows": [], "unavailable": {}}
            self._host.tell({**message, **nothing})
            return
        missing = {preset.name: why for preset in PRESETS if (why := why_not(preset, wavefunction))}
        table = table_of(wavefunction, self.showing.levels, unit)
        rows = table.pop("rows")
        message |= {
            "summary": summary(wavefunction),
            "notes": list(browser.molecules.notes),
            **table,
            "rows": rows[:_PIECE],
        }
        self._host.tell({**message, "unavailable": {**unavailable(wavefunction), **missing}})
        for begin in range(_PIECE, len(rows), _PIECE):
            self._host.tell({"event": "rows", "rows": rows[begin : begin + _PIECE]})
        if self._words:
            self.filter(self._words)

    def show_analysis(self, finding: Finding) -> None:
        """Tell how it is with an analysis."""
        self._host.tell({"event": "analysis", **finding_message(finding)})

    def show_levels(self, chosen: Level | None) -> None:
        """Tell the table of orbitals anew, filtered as it was."""
        self._chosen = chosen
        self._tell_table()

    def show_live(self, status: LiveStatus | None) -> None:
        """Nothing: the viewer is told of it with or without a window."""

    def chosen(self) -> Level | None:
        """The orbital that is chosen."""
        return self._chosen

    def show_choices(self) -> None:
        """Tell what the controls stand at: the surface that they act on, or what comes next."""
        choices, shown = self.showing.choices, self.showing.shown()
        is_orbital = self.showing.acts_on_orbital()
        self._host.tell_change(
            {
                "event": "choices",
                "isovalue": self.showing.isovalue if shown is not None else None,
                "isovalue_range": self.showing.isovalue_range,
                "unit": "" if shown is None else unit_in_print(shown.unit),
                "is_orbital": is_orbital,
                "automatic": self.showing.is_automatic and is_orbital,
                "enclosed": share_in_words(),
                "quality": choices.quality,
                "device": self.browser.session.computing.device,
                "second": ("" if shown is None else shown.request.color_by) or TWO_COLOURS,
                "scale": None if shown is None else _scale(shown.scale),
                "look": asdict(choices.look if shown is None else shown.look),
                "rate": choices.rate,
            }
        )

    def show_surfaces(self, rows: list[Listed], current: str) -> None:
        """Tell what is shown, and which row of the table it is that the window acts on."""
        level, wavefunction = self.showing.level_shown(), self.showing.wavefunction
        row = "" if level is None or wavefunction is None else field_of(wavefunction, level)
        surfaces = [
            {**asdict(listed), "unit": unit_in_print(listed.unit), "scale": _scale(listed.scale)} for listed in rows
        ]
        self._host.tell_change({"event": "shown", "surfaces": surfaces, "current": current, "row": row})

    def show_playback(self, playback: Playback | None) -> None:
        """Tell where the trajectory is that the molecule is."""
        at = {"frame": 0, "n_frames": 0, "playing": False, "state": ""}
        if playback is not None:
            at = {name: getattr(playback, name) for name in at}
        self._host.tell_change({"event": "playback", **at})

    def show_field(self, field: str) -> None:
        """Name the field that is asked for."""
        self._host.tell({"event": "field", "field": field})

    def opened(self, first: Level | None) -> None:
        """Show an orbital of a file that was opened, and have its row selected."""
        self.follow()
        wavefunction = self.showing.wavefunction
        row = field_of(wavefunction, first) if wavefunction is not None and first is not None else ""
        self._host.tell({"event": "opened", "molecule": self.showing.molecule, "row": row})
        if row:
            self.choose_orbital(row)

    def neighbours(self) -> list[Level]:
        """Orbitals below and above the one that is chosen."""
        rows = self._passing()
        if self._chosen is None or self._chosen not in rows:
            return []
        at = rows.index(self._chosen)
        return rows[at + 1 : at + 2] + rows[max(at - 1, 0) : at]

    def is_idle(self) -> bool:
        """Whether it can be seen."""
        return self._is_open


def _scale(scale: Scale | None) -> dict[str, Any] | None:
    return None if scale is None else {**asdict(scale), "unit": unit_in_print(scale.unit)}


def _number_or_none(what: str, value: Any) -> float | None:
    return None if value == "" else POSITIVE_NUMBER.read(what, value)


_SCHEMES = ", ".join(f"`{scheme}`" for scheme in LISTED_ORBITALS if scheme)
_OR_NOTHING = Kind("float", _number_or_none)
"""A positive number, or nothing."""


_VERBS: dict[type, tuple[Request, ...]] = {
    ServedWindow: (
        request_of("show", "opens the window", lambda window: window.set_open(True)),
        request_of("hide", "closes it", lambda window: window.set_open(False)),
        request_of("follow", "tells that something was deleted or hidden elsewhere, see `hidden`", ServedWindow.follow),
        request_of("orbital", "shows an orbital, by the field of its row", ServedWindow.choose_orbital, TEXT),
        request_of("filter", "filters the table", ServedWindow.filter, TEXT),
        request_of("unit", f"shows energies in {alternatives(list(ENERGY_UNITS))}", ServedWindow.choose_unit, TEXT),
        request_of("quality", "computes at another quality", ServedWindow.choose_quality, one_of(*QUALITIES)),
        request_of("colours", "sets the colours", ServedWindow.choose_colours, TEXT, TEXT),
        request_of(
            "picture",
            "adds a legend to a picture that the viewer took, as a png",
            ServedWindow.write_picture,
            PATH,
            PATH,
        ),
        request_of("recipe", "asks for the commands that show the same again", ServedWindow.tell_recipe),
        request_of("analyse", "runs an analysis", ServedWindow.analyse, TEXT, TEXT, TEXT),
        request_of("save_found", "writes its tables (.csv, .json) or plots (.svg)", ServedWindow.save_found, PATH),
    ),
    Molecules: (
        request_of(
            "open", "opens files, shows the HOMO of the last, and hides the other molecules", Molecules.open, PATH
        ),
        request_of("molecule", "lists the orbitals of another molecule", Molecules.choose, TEXT),
        request_of("surface", "chooses the surface that the controls act on", Molecules.choose_surface, TEXT),
    ),
    Showing: (
        request_of("field", "shows a field in place of the surfaces that are not kept", Showing.ask_for_named, TEXT),
        request_of("isovalue", "sets the isovalue", Showing.choose_isovalue, TEXT),
        request_of(
            "automatic",
            f"chooses isovalues that enclose {share_in_words()} of each orbital; with 0, no longer",
            Showing.choose_automatic,
            FLAG,
        ),
        request_of("device", "computes on another device", Showing.choose_device, TEXT),
        request_of("second", f"colours by a second field, or by `{TWO_COLOURS}`", Showing.choose_second, TEXT),
        request_of("range", "sets the range of the colours; empty: from the data", Showing.choose_range, _OR_NOTHING),
        request_of(
            "transparency", "sets the transparency, 0 to 1", lambda it, to: it.change_look(transparency=to), SHARE
        ),
        request_of("style", "draws in another style", lambda it, to: it.change_look(style=to), one_of(*STYLES)),
        request_of("visible", "shows a surface; with 0, hides it", Showing.set_visible, TEXT, FLAG),
        request_of("keep", "keeps a surface when the next is shown; with 0, no longer", Showing.keep, TEXT, FLAG),
        request_of("delete", "deletes a surface", Showing.delete, TEXT),
    ),
    Localising: (
        request_of("orbitals", f"lists localised orbitals ({_SCHEMES}), or those of the file", Localising.choose, TEXT),
    ),
    Playing: (
        request_of("play", "plays a trajectory; with 0, stops", Playing.play, FLAG),
        request_of("rate", "sets the maximum number of frames a second", Playing.choose_rate, COUNT),
        request_of("frame", "shows a frame, from 0", Playing.go_to, COUNT),
        request_of("step", "goes one frame forward; with 0, back", lambda it, on: it.step(1 if on else -1), FLAG),
    ),
    Analysing: (
        request_of("withdraw", "cancels an analysis", Analysing.cancel),
        request_of("found_surfaces", "shows the surfaces that belong to the result", Analysing.show_surfaces),
    ),
    Writing: (request_of("export", "writes the volume or the surface", Writing.export, PATH),),
    Browser: (request_of("preset", "shows a preset, with files to compare with", Browser.show_preset, TEXT, TEXT),),
}

VERBS = {request.name: (owner, request) for owner, requests in _VERBS.items() for request in requests}
"""What a user can do in the window, by the first word of the request, and the part of the window that does it."""


def with_legend(session: Session, taken: Path, target: Path) -> None:
    """Write a picture of the viewer as png, with names, isovalues and scales of colours; the one it took is deleted.

    Raises
    ------
    OrbitileError
        When it cannot be read, or not be written.
    """
    from PIL import Image, UnidentifiedImageError

    target = check_path(target.absolute())
    try:
        with Image.open(taken) as image:
            pixels = np.array(image.convert("RGBA"))
    except (OSError, UnidentifiedImageError) as error:
        raise OrbitileError(f"{taken}: the picture that the viewer wrote cannot be read ({error})") from None
    finally:
        taken.unlink(missing_ok=True)
    drawn = tuple(surface for pane in shown_surfaces(session) for surface in pane)
    red, green, blue = (float(ink) for ink in pixels[0, 0, :3] / 255)
    size = pixels.shape[1], pixels.shape[0]
    write_png(target, annotate(pixels, legend_parts(drawn, size), scale=None, paper=(red, green, blue)))


def offered_message(groups: Sequence[tuple[str, Sequence[OfferedAnalysis]]]) -> dict[str, Any]:
    """Analyses in groups, with their parameters, and the reason for those that the molecule does not have."""
    return {
        "event": "analyses",
        "groups": [
            {
                "title": title,
                "analyses": [
                    {
                        "name": one.name,
                        "title": one.module.TITLE,
                        "help": one.module.HELP,
                        "reason": one.reason,
                        "parameters": list(map(_parameter, one.module.PARAMETERS)),
                    }
                    for one in those
                ],
            }
            for title, those in groups
        ],
    }


def _parameter(parameter: Argument) -> dict[str, Any]:
    choices = ["0", "1"] if parameter.kind is FLAG else list(parameter.kind.choices)
    default = str(int(parameter.default)) if parameter.kind is FLAG else str(parameter.default)
    return {
        "name": parameter.name,
        "kind": parameter.kind.name,
        "help": parameter.help,
        "choices": choices,
        "default": default if choices else parameter.otherwise,
    }


def finding_message(finding: Finding) -> dict[str, Any]:
    """How it is with an analysis that was asked for, and what it found as text."""
    return {
        "name": finding.order.name,
        "molecule": finding.molecule,
        "running": finding.is_running,
        "problem": finding.problem,
        "stale": finding.is_stale,
        "text": "" if finding.report is None else as_text(finding.report, _ROWS),
        "has_surfaces": finding.report is not None and bool(finding.report.surfaces),
    }
