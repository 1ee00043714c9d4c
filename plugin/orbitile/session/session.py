"""What Orbitile shows in one viewer, and how it comes to be shown; viewers are known as `Host` only."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import Cancelled, OrbitileError
from ..evaluation.requests import field_of
from ..fields import Field, field_names, files_in, with_absolute_files
from ..model.surface import Surface
from ..model.wavefunction import Wavefunction
from ..watch import watched
from .calculation import RunningCalculation
from .declaration import brief
from .player import MEMORY, TICK, Player
from .request import Corners, Request, Sample, surface_within
from .shown import SampleCache, Shown, numbered, object_name
from .source import OneFile, ShownTrajectory, Source, changes, files_of, is_trajectory
from .worker import Worker
from .worker_process import WavefunctionCache, sample

if TYPE_CHECKING:
    from .host import Host

_Result = TypeVar("_Result")

_FOLLOW = 500
"""Milliseconds between two looks at what the user has renamed or deleted, where the viewer has a loop."""


class Session:
    """What Orbitile shows in one viewer.

    Parameters
    ----------
    host : Host
        The viewer.

    Attributes
    ----------
    shown : dict
        By name of the surface, the one shown last at the end.
    device : str
        What computes.
    samples, wavefunctions
        Caches.
    frames_memory : int
        Megabytes that drawn frames of trajectories may take.
    calculation : RunningCalculation or None
        What `orb_scf` has computed in the background.
    player : Player
        Keeps surfaces of trajectories in step with the frame that is shown.
    panel : object or None
        The window, once it was opened; its `cancel` withdraws what it asked for.
    renamed : dict of str to str
        Names that molecules were given by the user, by those that they had.
    named : set of str
        Surfaces that the user has named, which the window does not replace by the next.
    """

    def __init__(self, host: Host) -> None:
        self.host = host
        self.shown: dict[str, Shown] = {}
        self.device = "auto"
        self.samples = SampleCache()
        self.wavefunctions = WavefunctionCache()
        self.panel: Any = None
        self.renamed: dict[str, str] = {}
        self.named: set[str] = set()
        kept = host.settings().get("frames_memory", MEMORY)
        self.frames_memory = kept if isinstance(kept, int) and 64 <= kept <= 1 << 20 else MEMORY
        self.calculation: RunningCalculation | None = None
        self.player = Player(self)
        self._worker: Worker | None = None
        self._asked: list[Future[Any]] = []
        self._computing = False
        self._told = 0
        self._cancelled = threading.Event()

    @property
    def worker(self) -> Worker:
        """The worker process of this viewer; it starts at the first request."""
        if self._worker is None:
            self._worker = Worker()
            atexit.register(self._worker.close)
        return self._worker

    def sample(self, request: Request) -> Sample:
        """Answer a request and wait for it.

        A viewer with a window is kept alive, and out of the way of crashes, by the worker; a script needs no second
        process. Where there is a film, its worker has followed the orbitals already.

        Raises
        ------
        OrbitileError
            When it cannot be met, or `cancel` withdraws it.
        """
        if self.host.has_window() or self.player.runs or os.environ.get("ORBITILE_PYTHON"):
            return self._waited(self.worker.submit(request, self.host.progress))
        self._cancelled.clear()
        self._computing = True
        try:
            return sample(request, self.wavefunctions, self.host.progress, self._cancelled.is_set)
        finally:
            self._computing = False

    def field(self, wavefunction: Wavefunction, name: str) -> Field:
        """The field that a name stands for; files that it refers to are read once, unless they change.

        Raises
        ------
        OrbitileError
            When there is none, or a file cannot be read.
        """
        return field_of(wavefunction, name, self.wavefunctions.references)

    def aside(self, function: Callable[[], _Result]) -> _Result:
        """The result of a function that does not touch the viewer, whose window is kept alive meanwhile.

        Raises
        ------
        Cancelled
            When `cancel` is called meanwhile; nobody waits for the function then.
        """
        return self._waited(in_thread(function)) if self.host.has_window() else function()

    def read(self, source: Source) -> None:
        """Read what `orb_load` is going to ask for, so that it need not wait."""
        source = source if source.contents else source.noted()
        trajectory = self.wavefunctions.kept(source) or ShownTrajectory(source, self.wavefunctions.get)
        if trajectory.is_one_file:
            self.wavefunctions.get(str(OneFile(source.files[0], source.contents[0])))
        else:
            _ = trajectory.geometries, trajectory.first
            self.wavefunctions.keep(trajectory)

    def _waited(self, future: Future[_Result]) -> _Result:
        self._asked.append(future)  # a window that is alive takes commands, which may wait too
        try:
            self.host.wait(future)
            return future.result()
        except CancelledError:
            raise Cancelled("cancelled") from None
        finally:
            future.cancel()  # when the waiting was interrupted
            self._asked.remove(future)

    def sampled(self, request: Request) -> Sample:
        """The sample of a request, from the cache if it is there."""
        return self.samples.get(request, self.sample)

    def cancel(self) -> bool:
        """Withdraw what is being computed, from any thread; says whether there was anything."""
        computing = self._computing
        if computing:
            self._cancelled.set()
        for asked in list(self._asked):
            computing = asked.cancel() or computing
        if self.calculation is not None:
            self.aside(self.calculation.cancel)  # it may take a moment to end
            computing = True
        by_window = self.panel is not None and self.panel.cancel()
        return computing or by_window

    # ---- what there is

    def follow(self) -> None:
        """Take note of what the user has renamed or deleted: surfaces go with their molecule."""
        for old, new in self.host.renamed().items():
            self.renamed[old] = new
            self.renamed.pop(new, None)
            for base, shown in self.shown.items():
                if shown.molecule == old:
                    self.shown[base] = replace(shown, molecule=new)
            self.player.rename(old, new)
        if not self.shown:
            return
        names = self.host.objects()
        for base, shown in list(self.shown.items()):
            if not {base, f"{base}_map"} & names:
                self.shown.pop(base)
                self.player.forget(base)
            elif shown.molecule not in names:
                self.remove(base)

    def look(self) -> None:
        """The same after a single change, at little cost where that was of nothing that is shown."""
        if self.shown and not {one for base, shown in self.shown.items() for one in (base, shown.molecule)} <= (
            self.host.objects()
        ):
            self.follow()

    def rename(self, old: str, new: str) -> bool:
        """Take note of an object that the user has renamed; says whether it is a surface, whose volume is to follow."""
        there = self.host.objects()
        is_surface = old in self.shown and old not in there and new in there and new not in self.shown
        if is_surface:
            self.shown = {new if base == old else base: one for base, one in self.shown.items()}
            self.named.add(new)
            self.player.rename_surface(old, new)
        self.look()
        return is_surface

    def name_now(self, molecule: str) -> str:
        """What a molecule is called, which may have been renamed."""
        return molecule if molecule in self.host.objects() else self.renamed.get(molecule, molecule)

    def present(self) -> list[str]:
        """Surfaces that are shown and have not been deleted, the one shown last at the end."""
        names = self.host.objects()
        return [base for base in self.shown if base in names]

    def surface(self, name: str) -> str:
        """The surface of this name; of no name the one shown last.

        Raises
        ------
        OrbitileError
            When there is none.
        """
        self.follow()
        shown = self.present()
        if not shown:
            raise OrbitileError("no orbital is shown: orb_mo shows one")
        if name and name not in shown:
            raise OrbitileError(f"no surface of Orbitile is called {name!r}. Shown: {', '.join(shown)}")
        return name or shown[-1]

    def molecule(self, name: str) -> str:
        """The molecule of this name; of no name the only one.

        Raises
        ------
        OrbitileError
            When there is none, or more than one to choose from.
        """
        self.follow()
        known = list(self.host.molecules())
        if not known:
            raise OrbitileError("no molecule with orbitals is loaded: orb_load loads one")
        if not name and len(known) > 1:
            raise OrbitileError(f"which molecule? Loaded with orbitals: {', '.join(known)}")
        if name not in known and self.host.legal_name(name) in known:
            name = self.host.legal_name(name)  # the viewer could not call it what it was to be called
        if name and name not in known:
            raise OrbitileError(f"no molecule with orbitals is called {name!r}. Loaded: {', '.join(known)}")
        return name or known[0]

    def source(self, molecule: str) -> str:
        """File of the wavefunction that a molecule was loaded from.

        Raises
        ------
        OrbitileError
            When it was not loaded from one.
        """
        path = self.host.molecules().get(molecule)
        if path is None:
            raise OrbitileError(f"{molecule} was not loaded by orb_load")
        return path

    def name_for(self, wanted: str, files: tuple[str, ...], *, given: bool) -> str:
        """Name for a molecule that is loaded.

        A file that is loaded again takes the place of what it was loaded as. Another one of the same name is numbered,
        unless its name is given by the user, who wants it in place of the molecule that has it.

        Raises
        ------
        OrbitileError
            When the given name belongs to something that did not come from a wavefunction.
        """
        self.follow()
        taken, molecules = {name.lower() for name in self.host.objects()}, self.host.molecules()
        for candidate in numbered(wanted):
            name = self.host.legal_name(candidate)
            if not name:
                raise OrbitileError(f"name: {wanted!r} is none that an object can have")
            if name.lower() not in taken:
                return name
            if name in molecules and (given or files_of(molecules[name])[0] == files[0]):
                return name
            if given:
                raise OrbitileError(f"name: {name} is taken by another object; choose another name, or delete that")
        raise AssertionError  # there are numbers enough

    def wavefunction(self, molecule: str) -> Wavefunction:
        """The wavefunction of a molecule; of a trajectory the first one, after which orbitals are named.

        Raises
        ------
        FileChanged
            When its file has changed since it was loaded.
        """
        return self.wavefunctions.get(self.source(molecule))

    def n_frames(self, molecule: str) -> int:
        """Number of frames of the trajectory that a molecule is; 0 where it is none."""
        source = self.source(molecule)
        return len(self.wavefunctions.trajectory(source).path) if is_trajectory(source) else 0

    def frame(self, molecule: str) -> int | None:
        """Frame of a trajectory that the viewer shows, from 0; None for a molecule that is none."""
        if not is_trajectory(self.source(molecule)):
            return None
        shown = self.host.frame(molecule)
        return shown if shown is not None and 0 <= shown < self.n_frames(molecule) else 0

    # ---- calculations

    def calculate(self, calculation: RunningCalculation) -> None:
        """Have orbitals computed in the background; where the viewer cannot be left alone, wait for them.

        Raises
        ------
        OrbitileError
            When waited for and failed.
        """
        self.calculation = calculation
        if self.host.every(TICK * 20, self._look_at_calculation):
            return
        try:
            while calculation.running():
                time.sleep(0.05)
                self.host.progress(calculation.done / calculation.n_frames)
        except KeyboardInterrupt:
            calculation.cancel()
        self._calculated(calculation)

    def _look_at_calculation(self) -> None:
        calculation = self.calculation
        if calculation is None:
            return
        if calculation.running():
            done = calculation.done
            if done != self._told:
                self._told = done
                self.host.progress(done / calculation.n_frames)
                self.host.say(f"{calculation.molecule}: orbitals of {done} of {calculation.n_frames} frames")
            return
        try:
            self._calculated(calculation)
        except OrbitileError as error:
            self.host.say(str(error))

    def _calculated(self, calculation: RunningCalculation) -> None:
        """Give the molecule the orbitals that were computed."""
        self.calculation, self._told = None, 0
        left_out = calculation.finish()
        trajectory = ShownTrajectory(Source((str(calculation.target),)))
        if len(trajectory.path) < calculation.n_frames:
            raise OrbitileError(
                f"{calculation.molecule}: {left_out}; frames and states would not correspond. The others are in "
                f"{calculation.target}: orb_load shows them"
            )
        if calculation.molecule not in self.host.objects():
            raise OrbitileError(
                f"{calculation.molecule} was renamed or deleted meanwhile; its orbitals are in {calculation.target}: "
                "orb_load shows them"
            )
        self.wavefunctions.keep(trajectory)
        self.host.adopt(calculation.molecule, str(trajectory.source))
        self.host.say(
            f"{calculation.molecule}: orbitals of {calculation.n_frames} frames are in {calculation.target}; "
            f'"orb_mo {calculation.molecule}, homo" shows one'
        )

    def room(self, molecule: str) -> Corners | None:
        """Corners of the box that holds the atoms of a trajectory in all frames, in bohr; None for other molecules."""
        source = self.source(molecule)
        if not is_trajectory(source):
            return None
        every = self.wavefunctions.trajectory(source).geometries
        low, high = every.min(axis=(0, 1)).tolist(), every.max(axis=(0, 1)).tolist()
        return tuple(low), tuple(high)

    def now(self, base: str) -> Shown:
        """What a surface shows, of a trajectory at the frame where the viewer is."""
        shown = self.shown[base]
        if shown.request.frame is None:
            return shown
        return replace(shown, request=replace(shown.request, frame=self.frame(shown.molecule)))

    def completions(self, what: str) -> list[str]:
        """Words to complete an argument with; see `Argument.completes`."""
        if what == "molecules":
            return list(self.host.molecules())
        if what == "surfaces":
            return sorted(self.present())
        return [name for name, _ in field_names() if name.isalpha()] + ["homo-1", "lumo+1"]

    # ---- showing

    def request(self, molecule: str, field: str, **more: Any) -> Request:
        """What to ask for to see a field of a molecule as the viewer shows it now; keywords as for `Request`."""
        field, color_by = with_absolute_files(field), with_absolute_files(more.pop("color_by", ""))
        return Request(
            self.source(molecule),
            field,
            color_by=color_by,
            device=self.device,
            frame=self.frame(molecule),
            room=self.room(molecule),
            references=_references(field, color_by),
            **more,
        )

    def _surface_name(self, molecule: str, field: str) -> str:
        """Name for the surface of a field: its own, if there is one, otherwise one that nothing else has."""
        taken = {name.lower() for name in self.host.objects()}
        for candidate in numbered(object_name(molecule, field)):
            name = self.host.legal_name(candidate)
            known = self.shown.get(name)
            if known is not None and (known.molecule, known.request.field) == (molecule, field):
                return name
            if not {name.lower(), f"{name}_map".lower(), f"{name}_scale".lower()} & taken:
                return name
        raise AssertionError  # there are numbers enough

    def show(self, shown: Shown, found: Sample, base: str = "", drawing: Any = None, with_volume: bool = True) -> str:
        """Have the host show a surface and its volume.

        Parameters
        ----------
        shown
            What is to be shown.
        found
            The sample of its request.
        base
            Name of the surface, when it is to take the place of one.
        drawing
            What the host draws the surface from, where it has been prepared.
        with_volume
            Whether the volume is put too; otherwise `Host.put_volume` has to follow.

        Returns
        -------
        str
            Name of the surface.

        Raises
        ------
        OrbitileError
            When the molecule is gone, or is another one by now.
        """
        if drawing is None:
            drawing = self.aside(lambda: self.host.drawing(surface_of(shown, found), shown.colours))
        molecule = self.name_now(shown.molecule)  # a window takes commands meanwhile
        if self.host.molecules().get(molecule) != shown.request.path:
            raise OrbitileError(f"{molecule} was deleted or loaded anew meanwhile: nothing is shown")
        shown = replace(shown, molecule=molecule)
        base = base or self._surface_name(shown.molecule, shown.request.field)
        frame = shown.request.frame
        if frame is not None:
            if shown.isovalue != found.isovalue:  # the other frames are to have this one too
                shown = replace(shown, request=replace(shown.request, isovalue=shown.isovalue))
            self.player.show(base, shown, found)
        self.host.put_surface(base, shown.molecule, drawing, shown.transparency, found.surface.colouring, frame)
        self.shown.pop(base, None)
        self.shown[base] = shown  # the last one is the one shown last
        if with_volume:
            self.host.put_volume(base, shown.molecule, found.volume, frame)
        self.host.every(_FOLLOW, self.follow)
        return base

    def show_instead(self, base: str, shown: Shown, found: Sample, **keywords: Any) -> str:
        """Show something in place of the surface `base`; returns the name of the new one. Keywords as for `show`."""
        new = self.show(shown, found, **keywords)
        if base and new != base:
            self.remove(base)
        return new

    def remove(self, base: str) -> None:
        """Take a surface and its volume away."""
        self.host.remove(base)
        self.shown.pop(base, None)
        self.named.discard(base)
        self.player.forget(base)

    def step(self, base: str, step: int) -> tuple[str, Sample]:
        """Show another orbital in place of the surface `base`, `step` further in the order of the file.

        Returns
        -------
        tuple
            Name of its surface, and its sample.

        Raises
        ------
        OrbitileError
            When no orbital is shown there, or there is no further one.
        """
        shown = self.now(base)
        wavefunction = self.wavefunctions.get(shown.request.path)
        field = self.field(wavefunction, shown.request.field).neighbour(step)
        if field is None:
            raise OrbitileError(f"{base} shows {shown.request.field}, which is no orbital: there is no next one")
        references = _references(field, shown.request.color_by)
        request = replace(shown.request, field=field, references=references)
        found = self.sampled(request)
        return self.show_instead(base, replace(shown, request=request, isovalue=found.isovalue), found), found

    # ---- saved sessions of the host

    def saved(self) -> dict[str, Any]:
        """What is shown, in plain types, for a host that saves its own session."""
        self.follow()
        return {base: self.shown[base].message() for base in self.present()}

    def restore(self, saved: Any) -> None:
        """Take up what `saved` gave; it may be merged into what is there.

        The user is told of what is damaged or of another version, and of files that are gone or have changed: those
        surfaces stay as they were saved.
        """
        restored = {}
        saved = saved if isinstance(saved, Mapping) else {}
        for base, message in saved.items():
            try:
                restored[base] = Shown.from_message(message)
            except OrbitileError as error:
                self.host.say(f"{brief(base)} is shown as saved, and cannot be changed: {error}")
        there = self.host.objects()
        for base in [base for base, shown in self.shown.items() if base in saved or shown.molecule not in there]:
            self.shown.pop(base)  # it was replaced by what was saved, of which nothing is to be taken away
            self.player.forget(base)
        restored = {base: shown for base, shown in restored.items() if {base, shown.molecule} <= there}
        self.shown.update(restored)  # a host may have saved a surface without its molecule
        self.follow()
        sources = {shown.request.path for shown in restored.values()}
        for problem in sorted({problem for source in sources for problem in changes(source)}):
            self.host.say(f"{problem}: its surfaces are shown as saved, and cannot be changed")


def _references(*fields: str) -> tuple[str, ...]:
    """Files that fields refer to, with what they hold now."""
    return tuple(str(OneFile(file).noted()) for file in dict.fromkeys(sum(map(files_in, fields), ())))


def in_thread(function: Callable[[], _Result]) -> Future[_Result]:
    """What a function will give, called in a thread of its own, in which another one need not wait for it.

    The future can be cancelled until the function has returned, which ends at its next checkpoint then, if it comes to
    one.
    """
    future: Future[_Result] = Future()

    def run() -> None:
        try:
            with watched(cancelled=future.cancelled):
                result = function()
        except BaseException as error:
            if future.set_running_or_notify_cancel():
                future.set_exception(error)
        else:
            if future.set_running_or_notify_cancel():
                future.set_result(result)

    threading.Thread(target=run, daemon=True).start()
    return future


def surface_of(shown: Shown, found: Sample) -> Surface:
    """The surface that is to be drawn: that of the sample, unless the isovalue was changed since."""
    if shown.isovalue == found.isovalue:
        return found.surface
    return surface_within(found.volume, shown.isovalue, shown.request.most_faces)[0]
