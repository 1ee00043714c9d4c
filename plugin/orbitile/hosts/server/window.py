"""The window of the viewer at the other end of the pipe: it is told what to show, and tells what its user does."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...base.arguments import COUNT, FLAG, PATH, POSITIVE_NUMBER, SHARE, TEXT, Kind, brief, one_of
from ...base.errors import OrbitileError
from ...fields import unavailable
from ...model.lattice import QUALITIES
from ...pictures.look import STYLES, Scale
from ...pictures.orbitals import ENERGY_UNITS, Level, field_of, summary
from ...pictures.words import share_in_words, unit_in_print
from ...session.live.status import LiveStatus
from ...session.presets import PRESETS, why_not
from ...session.recipe import calls
from ...session.seen import Listed, visible
from ...session.session import Session
from ...session.window.browser import Browser
from ...session.window.choices import TWO_COLOURS
from ...session.window.view import Finding, Playback
from .analyses import finding_message, offered_message
from .picture import with_legend
from .table import energy_unit, passing, table_of
from .viewer import ServedViewer

_TICK = 15
"""Milliseconds between two looks at what is under way."""
_PIECE = 100
"""Rows of the table in one message, so that no viewer stands still while it reads one."""
_FOLLOW = 500
"""Milliseconds between two looks at what was changed by commands."""


class ServedWindow:
    """A window at the other end of the pipe, as the browser sees it; see `orbitile.session.window.view.View`.

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
        self._told: dict[str, Any] = {}
        self.browser = Browser(session, self)
        self.showing = self.browser.showing
        self._verbs = self._done_by_verbs()
        self.show_molecule()
        self.show_choices()
        host.every(_TICK, self._tick)
        host.every(_FOLLOW, self.follow)

    # ---- what its user does

    def do(self, verb: str, words: Sequence[str]) -> None:
        """Do what the user does in the window.

        Raises
        ------
        OrbitileError
            When it is none of what can be done there, or cannot be done.
        """
        if verb not in self._verbs:
            raise OrbitileError(f"window: expected one of {', '.join(self._verbs)}, got {brief(verb)}")
        function, *kinds = self._verbs[verb]
        if kinds[-1:] == [...]:  # one or more of this kind
            kinds = [kinds[0]] * max(len(words), 1)
        if len(words) != len(kinds):
            raise OrbitileError(f"window {verb}: takes {len(kinds)} words, got {len(words)}")
        function(*(kind.read(verb, word) for kind, word in zip(kinds, words, strict=True)))
        self.set_busy(self.browser.is_busy())  # what is computed ahead may have been asked for

    def _done_by_verbs(self) -> dict[str, tuple[Any, ...]]:
        """By the verb of a request what it does, and kinds of the words that it takes; ... is more of the last."""
        browser = self.browser
        return {
            "show": (lambda: self._set_open(True),),
            "hide": (lambda: self._set_open(False),),
            "follow": (self.follow,),
            "open": (browser.molecules.open, PATH, ...),
            "molecule": (browser.molecules.choose, TEXT),
            "orbital": (self._choose, TEXT),
            "field": (self.showing.ask_for_named, TEXT),
            "preset": (browser.show_preset, TEXT, TEXT),
            "filter": (self._filter, TEXT),
            "unit": (self._choose_unit, TEXT),
            "orbitals": (browser.localising.choose, TEXT),
            "isovalue": (self.showing.choose_isovalue, TEXT),
            "automatic": (self.showing.choose_automatic, FLAG),
            "quality": (self._choose_quality, one_of(*QUALITIES)),
            "device": (self.showing.choose_device, TEXT),
            "second": (self.showing.choose_second, TEXT),
            "range": (self.showing.choose_range, _OR_NOTHING),
            "colours": (self._choose_colours, TEXT, TEXT),
            "transparency": (lambda share: self.showing.change_look(transparency=share), SHARE),
            "style": (lambda style: self.showing.change_look(style=style), one_of(*STYLES)),
            "surface": (browser.molecules.choose_surface, TEXT),
            "visible": (self.showing.set_visible, TEXT, FLAG),
            "keep": (self.showing.keep, TEXT, FLAG),
            "delete": (self.showing.delete, TEXT),
            "play": (browser.playing.play, FLAG),
            "rate": (browser.playing.choose_rate, COUNT),
            "frame": (browser.playing.go_to, COUNT),
            "step": (lambda forward: browser.playing.step(1 if forward else -1), FLAG),
            "export": (browser.writing.export, PATH),
            "picture": (self._picture, PATH, PATH),
            "recipe": (self._recipe,),
            "analyse": (self._analyse, TEXT, ...),
            "withdraw": (browser.analysing.cancel,),
            "found_surfaces": (browser.analysing.show_surfaces,),
            "save_found": (self._save_found, PATH),
        }

    def _set_open(self, is_open: bool) -> None:
        self._is_open = is_open
        self.follow()

    def _choose(self, field: str) -> None:
        wavefunction = self.showing.wavefunction
        levels = [level for those in self.showing.levels for level in those]
        found = [level for level in levels if wavefunction is not None and field_of(wavefunction, level) == field]
        if not found:
            raise OrbitileError(f"window orbital: expected an orbital of the table, got {brief(field)}")
        self._chosen = found[0]
        self.showing.ask_for(found[0])

    def _filter(self, words: str) -> None:
        self._words = words
        wavefunction = self.showing.wavefunction
        if wavefunction is not None:
            rows = [field_of(wavefunction, level) for level in self._passing()]
            self._host.tell({"event": "filtered", "rows": rows})

    def _passing(self) -> list[Level]:
        return passing(self.showing.levels, ENERGY_UNITS[self.showing.choices.unit], self._words)

    def _choose_unit(self, unit: str) -> None:
        self.showing.choose_unit(energy_unit(unit).name)
        self._tell_table()

    def _choose_quality(self, quality: str) -> None:
        self.showing.set_quality(quality)
        self.showing.compute_anew()

    def _choose_colours(self, positive: str, negative: str) -> None:
        self.showing.change_look(colours=(self._host.colour(positive), self._host.colour(negative)))

    def _picture(self, taken: Path, target: Path) -> None:
        with_legend(self.browser.session, taken, target)
        self.say(f"Wrote {target}")

    def _recipe(self) -> None:
        commands = [asdict(call) for call in calls(self.browser.session, visible(self.browser.session))]
        self._host.tell({"event": "recipe", "commands": commands})

    def _analyse(self, name: str, molecule: str = "", *given: str) -> None:
        """Do an analysis; parameters are given as name=text."""
        parameters = dict(one.partition("=")[::2] for one in given)
        if problem := self.browser.analysing.analyse(name, molecule or self.showing.molecule, parameters):
            raise OrbitileError(problem)

    def _save_found(self, path: Path) -> None:
        if problem := self.browser.analysing.save(path):
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
        self._tell_changes("busy", {"busy": busy})

    def show_molecule(self) -> None:
        """Tell the table of orbitals, without what was filtered of another one."""
        self._words, self._chosen = "", None
        self._tell_table()
        self._tell_changes("analyses", offered_message(self.browser.analysing.offered(self.showing.molecule)))

    def _tell_table(self) -> None:
        browser = self.browser
        wavefunction, unit = self.showing.wavefunction, ENERGY_UNITS[self.showing.choices.unit]
        message: dict[str, Any] = {"event": "table", "molecule": self.showing.molecule, "unit": unit.name}
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
            self._filter(self._words)

    def show_analysis(self, finding: Finding) -> None:
        """Tell how it is with an analysis."""
        self._host.tell({"event": "analysis", **finding_message(finding)})

    def show_levels(self, chosen: Level | None) -> None:
        """Tell the table of orbitals anew, filtered as it was."""
        self._chosen = chosen
        self._tell_table()

    def show_live(self, status: LiveStatus | None) -> None:
        """Tell what there is to say of the live molecule."""
        self._tell_changes("live", {} if status is None else asdict(status))

    def chosen(self) -> Level | None:
        """The orbital that is chosen."""
        return self._chosen

    def show_choices(self) -> None:
        """Tell what the controls stand at: the surface that they act on, or what comes next."""
        choices, shown = self.showing.choices, self.showing.shown()
        is_orbital = self.showing.acts_on_orbital()
        self._tell_changes(
            "choices",
            {
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
            },
        )

    def show_surfaces(self, rows: list[Listed], current: str) -> None:
        """Tell what is shown, and which row of the table it is that the window acts on."""
        level, wavefunction = self.showing.level_shown(), self.showing.wavefunction
        row = "" if level is None or wavefunction is None else field_of(wavefunction, level)
        surfaces = [
            {**asdict(listed), "unit": unit_in_print(listed.unit), "scale": _scale(listed.scale)} for listed in rows
        ]
        self._tell_changes("shown", {"surfaces": surfaces, "current": current, "row": row})

    def show_playback(self, playback: Playback | None) -> None:
        """Tell where the trajectory is that the molecule is."""
        at = {"frame": 0, "n_frames": 0, "playing": False, "state": ""}
        if playback is not None:
            at = {name: getattr(playback, name) for name in at}
        self._tell_changes("playback", at)

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
            self._choose(row)

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

    def is_sliding(self) -> bool:
        """False: it draws what is dragged by itself, and tells where it came to rest."""
        return False

    is_typing = is_scrubbing = is_sliding

    def _tell_changes(self, event: str, parts: dict[str, Any]) -> None:
        if self._told.get(event) != parts:
            self._told[event] = parts
            self._host.tell({"event": event, **parts})


def _scale(scale: Scale | None) -> dict[str, Any] | None:
    return None if scale is None else {**asdict(scale), "unit": unit_in_print(scale.unit)}


def _number_or_none(what: str, value: Any) -> float | None:
    return None if value == "" else POSITIVE_NUMBER.read(what, value)


_OR_NOTHING = Kind("float", _number_or_none)
"""A positive number, or nothing."""
