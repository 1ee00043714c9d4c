"""What Orbitile shows in one viewer, and how it comes to be shown; viewers are known as `Viewer` only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from ..base.arguments import Argument
from ..base.errors import OrbitileError
from ..fields import files_in, with_absolute_files
from ..model.report import Drawing
from ..model.wavefunction import Wavefunction
from ..pictures.look import STYLES, VOLUME_STYLES, Look
from ..pictures.request import Corners, Request, Sample
from ..pictures.words import plain_fields
from ..scf.region import lennard_jones_of
from ..scf.region_file import region_file, region_of
from .analysing import AnalysisOrder, DrawnReports, geometry_of
from .calculation import RunningCalculation, RunningMolecule, RunningPath, RunningVibrations
from .computing import Computing
from .declaration import Call
from .host import Viewer, trajectory_viewer
from .live.live import LiveMolecule
from .motion import Motion
from .player import MEMORY, TICK, Player
from .sampling import ShownTrajectory
from .saving import Saving
from .shelf import Shelf
from .shown import Shown, numbered, surface_of
from .source import OneFile, Source, files_of, is_trajectory, promolecule_source

Running = RunningCalculation | RunningPath | RunningVibrations | RunningMolecule
"""What is computed in the background."""
_FOLLOW = 500
"""Polling interval in milliseconds: what the user has renamed or deleted, where the viewer has a loop."""
_DRAWN = 200
"""Polling interval in milliseconds: whether molecules are still as what is drawn at them was found."""


class Window(Protocol):
    """A window that asks for surfaces by itself."""

    def cancel(self) -> bool:
        """Withdraw what it asked for; says whether there was anything."""


class Session:
    """What Orbitile shows in one viewer.

    Parameters
    ----------
    host : Viewer
        The viewer.

    Attributes
    ----------
    shelf : Shelf
        What is shown.
    computing : Computing
        What computes it.
    motion : Motion
        The molecule that moves along one of its modes, where there is one.
    live : LiveMolecule
        The molecule whose electrons follow its atoms, where there is one.
    player : Player
        Keeps surfaces of trajectories in step with the frame that is seen.
    calculation : Running or None
        What `orb_scf` and its like compute in the background.
    saving : Saving
        Pictures and films of what is shown.
    drawn : DrawnReports
        What analyses have drawn at molecules.
    panel : Window or None
        The window, once it was opened.
    """

    def __init__(self, host: Viewer) -> None:
        self.host = host
        self.shelf = Shelf(host)
        self.computing = Computing(host)
        kept = host.settings().get("frames_memory", MEMORY)
        memory = kept if isinstance(kept, int) and 64 <= kept <= 1 << 20 else MEMORY
        self.player = Player(host, self.shelf, self.computing, memory)
        self.panel: Window | None = None
        self.calculation: Running | None = None
        self.saving = Saving(host, self.computing)
        self.drawn = DrawnReports(host, self.shelf)
        self.motion = Motion(host, self.shelf)
        self.live = LiveMolecule(host, self.shelf, self.computing, self.show, lambda: self.saving.is_busy)
        self._told = ""

    def cancel(self) -> bool:
        """Withdraw what is being computed, from any thread; says whether there was anything."""
        computing = self.computing.cancel()
        if self.calculation is not None:
            self.computing.aside(self.calculation.cancel)  # it may take a moment to end
            computing = True
        computing = self.saving.cancel() or computing
        by_window = self.panel is not None and self.panel.cancel()
        return computing or by_window

    # ---- what there is

    def surface(self, name: str) -> str:
        """The surface of this name; of no name the one shown last.

        Raises
        ------
        OrbitileError
            When there is none.
        """
        self.shelf.follow()
        self.drawn.follow()
        shown = self.shelf.present()
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
        live = self.live.now
        if live is not None and live.found is None and name in ("", live.molecule):
            self.live.settle()  # it has no orbitals before
        self.shelf.follow()
        self.drawn.follow()
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

    def adopt_free_atoms(self, molecule: str) -> bool:
        """Have an object be free atoms where its atoms are now, with its partial charges; says whether that is new.

        Raises
        ------
        OrbitileError
            When the viewer cannot hand its atoms over.
        """
        geometry, charges = geometry_of(self.host, molecule), self.host.partial_charges(molecule)
        source = self.computing.aside(lambda: promolecule_source(molecule, geometry, charges))
        if self.host.molecules().get(molecule) == source:
            return False
        self.host.adopt(molecule, source)
        return True

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
        self.shelf.follow()
        taken, molecules = {name.lower() for name in self.host.names()}, self.host.molecules()
        for candidate in numbered(wanted):
            name = self.host.legal_name(candidate)
            if not name:
                raise OrbitileError(f"name: an object cannot be called {wanted!r}; choose another name")
            if name.lower() not in taken:
                return name
            if name in molecules and (given or files_of(molecules[name])[0] == files[0]):
                return name
            if given:
                raise OrbitileError(f"name: {name} is taken by another object; choose another name, or delete that")
        raise AssertionError  # there are numbers enough

    def is_of(self, molecule: str, source: str) -> bool:
        """Whether a molecule is what a source holds, or was so a moment ago and its atoms have moved since."""
        now = self.host.molecules().get(molecule)
        live = self.live.now
        was_live = live is not None and live.molecule == molecule and live.following.knows(source)
        return now == source or (now is not None and was_live)

    def wavefunction(self, molecule: str) -> Wavefunction:
        """The wavefunction of a molecule; of a trajectory the first one, after which orbitals are named.

        Raises
        ------
        FileChanged
            When its file has changed since it was loaded.
        """
        return self.computing.wavefunctions.get(self.source(molecule))

    def n_frames(self, molecule: str) -> int:
        """Number of frames of the trajectory that a molecule is; 0 where it is none."""
        source = self.source(molecule)
        return len(self.computing.wavefunctions.trajectory(source).path) if is_trajectory(source) else 0

    def frame(self, molecule: str) -> int | None:
        """Frame of a trajectory that the viewer shows, from 0; None for a molecule that is none."""
        if not is_trajectory(self.source(molecule)):
            return None
        shown = trajectory_viewer(self.host).frame(molecule)
        return shown if shown is not None and 0 <= shown < self.n_frames(molecule) else 0

    # ---- calculations

    def calculate(self, calculation: Running) -> None:
        """Have something computed in the background; wait where the viewer cannot be left alone.

        Raises
        ------
        OrbitileError
            When waited for and failed.
        """
        self.calculation = calculation
        if self.host.every(TICK * 20, self._look_at_calculation):
            return
        calculation.wait(lambda: self.host.progress(calculation.account()[0]))
        self._calculated(calculation)

    def _look_at_calculation(self) -> None:
        calculation = self.calculation
        if calculation is None:
            return
        if calculation.running():
            share, text = calculation.account()
            if text != self._told:
                self._told = text
                self.host.progress(share)
                self.host.say(text)
            return
        try:
            self._calculated(calculation)
        except OrbitileError as error:
            self.host.say(str(error))

    def _calculated(self, calculation: Running) -> None:
        """Give the molecule the orbitals that were computed, or tell of the path that was found."""
        self.calculation, self._told = None, ""
        if isinstance(calculation, RunningMolecule):
            calculation.finish()
            return
        if isinstance(calculation, RunningPath | RunningVibrations):
            what = "the path" if isinstance(calculation, RunningPath) else "the vibrations"
            self.host.say(f"{calculation.result()}\n{calculation.target}: orb_load shows {what}")
            return
        left_out = calculation.finish()
        trajectory = ShownTrajectory(Source((str(calculation.target),)))
        if len(trajectory.path) < calculation.n_frames:
            raise OrbitileError(
                f"{calculation.molecule}: {left_out}; frames and states would not correspond. The other frames are "
                f"in {calculation.target}; orb_load loads them"
            )
        if calculation.molecule not in self.host.objects():
            raise OrbitileError(
                f"{calculation.molecule} was renamed or deleted meanwhile; its orbitals are in {calculation.target}; "
                "orb_load loads them"
            )
        self.computing.wavefunctions.keep(trajectory)
        self.host.adopt(calculation.molecule, str(trajectory.source))
        self.host.say(
            f"{calculation.molecule}: orbitals of {calculation.n_frames} frames are in {calculation.target}; "
            f"{self.showing(calculation.molecule)}"
        )

    def showing(self, molecule: str) -> str:
        """How an orbital of a molecule is shown, for people, as they type it in this viewer."""
        return f"{self.host.syntax.line(Call('orb_mo', (molecule, 'homo')))} shows one"

    def surroundings(self, molecule: str) -> dict[str, Any]:
        """Parts of a `Calculation`: charges around a molecule that is live or has a region, and what repels it."""
        live = self.live.now
        if live is not None and live.molecule == molecule:
            now = live.level.calculation
            return {"external_charges": now.external_charges, "lennard_jones": now.lennard_jones}
        source = self.host.molecules().get(molecule, "")
        parts: dict[str, Any] = {}
        if not source or not region_file(files_of(source)[0]).exists():
            return {}
        try:
            region = self.computing.aside(lambda: region_of(self.computing.wavefunctions.get(source)))
            parts["external_charges"] = region.external
            if region.external is not None:
                parts["lennard_jones"] = lennard_jones_of(region)
        except OrbitileError as error:
            self.host.say(f"{molecule}: without {'Lennard-Jones terms' if parts else 'the charges around it'}: {error}")
        return parts

    def room(self, molecule: str) -> Corners | None:
        """Corners of the box that holds the atoms of a trajectory in all frames, in bohr; None for other molecules."""
        source = self.source(molecule)
        if not is_trajectory(source):
            return None
        every = self.computing.wavefunctions.trajectory(source).geometries
        low, high = every.min(axis=(0, 1)).tolist(), every.max(axis=(0, 1)).tolist()
        return tuple(low), tuple(high)

    def now(self, base: str) -> Shown:
        """What a surface shows, of a trajectory at the frame where the viewer is."""
        shown = self.shelf[base]
        if shown.request.frame is None:
            return shown
        return replace(shown, request=replace(shown.request, frame=self.frame(shown.molecule)))

    def words_for(self, argument: Argument) -> list[str]:
        """Words to complete an argument of a command with."""
        if argument.completes == "molecules":
            return list(self.host.molecules())
        if argument.completes == "surfaces":
            return sorted(self.shelf.present())
        if argument.completes == "fields":
            return [*plain_fields(), "homo-1", "lumo+1"]
        if argument.completes == "styles":
            return self.styles_of(None)
        return list(argument.kind.choices)

    # ---- showing

    def request(self, molecule: str, field: str, **more: Any) -> Request:
        """What to ask for to see a field of a molecule as the viewer shows it now; keywords as for `Request`."""
        field, color_by = with_absolute_files(field), with_absolute_files(more.pop("color_by", ""))
        return Request(
            self.source(molecule),
            field,
            color_by=color_by,
            device=self.computing.device,
            frame=self.frame(molecule),
            room=self.room(molecule),
            references=_references(field, color_by),
            **more,
        )

    def why_not_drawn(self, style: str, request: Request) -> str:
        """Why a surface cannot be drawn in a style here, as a sentence; "" where it can."""
        if style not in VOLUME_STYLES:
            return ""
        others = f"style: expected {', '.join(STYLES)}"
        if style not in self.host.volume_styles:
            return f"{others} in this viewer, got {style}; PyMOL draws {style}, and so do pages"
        if request.color_by:
            return f"{others} for a surface that a second field colours, got {style}; leave the second field out"
        return ""

    def styles_of(self, request: Request | None) -> list[str]:
        """Styles in which a surface can be drawn here; without a surface, those of the viewer."""
        styles = [*STYLES, *self.host.volume_styles]
        return styles if request is None else [style for style in styles if not self.why_not_drawn(style, request)]

    def drawable(self, shown: Shown) -> Shown:
        """The same as a surface where it cannot be drawn as its look says: a style may be left over from another."""
        if not self.why_not_drawn(shown.look.style, shown.request):
            return shown
        return replace(shown, look=replace(shown.look, style=Look().style))

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
            Whether the volume is put too; otherwise `Shelf.put_volume` has to follow.

        Returns
        -------
        str
            Name of the surface.

        Raises
        ------
        OrbitileError
            When the molecule is gone, or is another one by now.
        """
        look, shown = shown.look, self.drawable(shown)
        if drawing is None or shown.look != look:
            drawing = self.computing.aside(lambda: self.host.drawing(surface_of(shown, found), shown.look))
        molecule = self.shelf.molecule_now(shown.molecule)  # a window takes commands meanwhile
        if not self.is_of(molecule, shown.request.path):
            raise OrbitileError(f"{molecule} was deleted or loaded anew meanwhile: nothing is shown")
        shown = replace(shown, molecule=molecule, quantity=found.volume.quantity, unit=found.volume.unit)
        base = base or self.shelf.name_of(molecule, shown.request.field)
        if base not in self.shelf or self.shelf[base].request.field != shown.request.field:
            self.drawn.make_room(molecule)
        if shown.request.frame is not None:
            if shown.isovalue != found.isovalue:  # the other frames are to have this one too
                shown = replace(shown, request=replace(shown.request, isovalue=shown.isovalue))
            self.player.take_up(base, shown, found)
        self.shelf.put(base, shown, drawing, found.surface.colouring)
        if with_volume:
            self.shelf.put_volume(base, shown, found.volume)
        self.host.every(_FOLLOW, self.shelf.follow)
        return base

    def redraw(self, base: str, look: Look) -> None:
        """Draw a surface in another way.

        Raises
        ------
        OrbitileError
            As `show` does, or when it cannot be computed again.
        """
        shown = replace(self.now(base), look=look)
        self.show(shown, self.computing.sampled(shown.request), base)

    def look(self) -> None:
        """Follow what the user has just done in the viewer."""
        self.shelf.look()
        self.drawn.follow()

    def draw(self, molecule: str, order: AnalysisOrder, drawings: Sequence[Drawing]) -> None:
        """Have the host draw what an analysis found at a molecule, in place of what it found before; see `drawn`."""
        self.drawn.put(molecule, order, drawings)
        if drawings:
            self.host.every(_FOLLOW, self.shelf.follow)
            self.host.every(_DRAWN, self.drawn.follow)

    def show_instead(self, base: str, shown: Shown, found: Sample, **keywords: Any) -> str:
        """Show something in place of the surface `base`; returns the name of the new one. Keywords as for `show`."""
        new = self.show(shown, found, **keywords)
        if base and new != base:
            self.shelf.replace(base, new)
        return new

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
        wavefunctions = self.computing.wavefunctions
        field = wavefunctions.field(wavefunctions.get(shown.request.path), shown.request.field).neighbour(step)
        if field is None:
            raise OrbitileError(f"{base} shows {shown.request.field}, which is no orbital: there is no next one")
        references = _references(field, shown.request.color_by)
        request = replace(shown.request, field=field, references=references)
        found = self.computing.sampled(request)
        return self.show_instead(base, replace(shown, request=request, isovalue=found.isovalue), found), found


def _references(*fields: str) -> tuple[str, ...]:
    """Files that fields refer to, with what they hold now."""
    return tuple(str(OneFile(file).noted()) for file in dict.fromkeys(sum(map(files_in, fields), ())))
