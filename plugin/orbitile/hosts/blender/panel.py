"""The panel in the sidebar of a view (N), tab Orbitile; what its buttons do; and the commands as operators.

bpy.ops.orbitile.mo(orbital="lumo")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import bpy
from bpy_extras.io_utils import ImportHelper

from ...base.errors import OrbitileError
from ...model.lattice import QUALITIES
from ...pictures.look import STYLES
from ...pictures.orbitals import ENERGY_UNITS, Level, summary
from ...pictures.words import share_in_words
from ...readers import patterns
from ...session.commands import COMMANDS, orb_export, orb_load, orb_mo
from ...session.declaration import PYTHON, Command
from ...session.live.live import LiveStatus
from ...session.seen import Listed
from ...session.shown import Shown
from ...session.source import files_of
from ...session.window.browser import Browser
from ...session.window.view import Choices, Finding, Playback, View
from .commands import keep, run, session
from .viewer import TIMERS, redraw, views

_TICK = 30
"""Polling interval in milliseconds: what is under way."""
_FOLLOW = 500
"""Polling interval in milliseconds: what was changed by operators, and in Blender."""


class BlenderWindow(View):
    """The panel as the browser sees it.

    Blender does not tell when a slider is let go: what it was left at is drawn in a moment.

    Attributes
    ----------
    browser : Browser
    text, detail : str
        What is told.
    is_error, is_busy : bool
        Whether the text is one, and whether something is computed.
    rows : list of Listed
        Surfaces that are shown.
    current : str
        The one that the panel acts on.
    is_filling : bool
        Whether the controls are being set by the program.
    """

    def __init__(self) -> None:
        self.text = self.detail = self.current = ""
        self.is_error = self.is_busy = False
        self.rows: list[Listed] = []
        self._levels: list[Level] = []
        self._chosen: Level | None = None
        self.is_filling = False
        self._kept: dict[str, Shown] = {}
        self.browser = Browser(session(), self)
        self.browser.molecules.follow()
        session().panel = self.browser
        session().host.every(_TICK, self.tick)
        session().host.every(_FOLLOW, self.browser.molecules.follow)

    def tick(self) -> None:
        """Look at what is under way; what has changed can be undone."""
        self.browser.tick()
        shelf = session().shelf
        shown = {name: shelf[name] for name in shelf}
        if shown != self._kept and self.browser.at_rest():
            self._kept = shown
            keep(shelf)
            view = next(views(), None)
            if view is not None:
                with bpy.context.temp_override(window=view[0], area=view[1], region=view[2]):
                    bpy.ops.ed.undo_push(message="Orbitile")

    def update(self) -> None:
        """Compute what is shown anew; of a file that has changed, load it again first."""
        name = self.browser.showing.molecule
        source = session().host.molecules().get(name)
        if source is not None and self.browser.showing.wavefunction is None:
            self.browser.molecules.open(*files_of(source)[0:1])
            return
        self.browser.showing.compute_anew()

    def close(self) -> None:
        """End the timers, the worker process and the threads."""
        session().panel = None
        TIMERS.stop()
        self.browser.close()

    # ---- what the user does in the panel

    def choose_orbital(self, index: int) -> None:
        """Show an orbital of the list."""
        if 0 <= index < len(self._levels):
            self._chosen = self._levels[index]
            self.browser.showing.ask_for(self._chosen)

    def slide_to(self, isovalue: float) -> None:
        """Draw at another isovalue."""
        if self.current and isovalue > 0:
            self.browser.showing.slide_to(float(f"{isovalue:.6g}"))  # Blender holds seven digits

    def choose_quality(self, quality: str) -> None:
        """Compute at another quality."""
        self.browser.showing.set_quality(quality)
        self.browser.showing.compute_anew()

    @contextmanager
    def _controls(self) -> Iterator[Any]:
        """The controls, to be filled: what is set in here was not set by the user."""
        self.is_filling = True
        yield bpy.context.window_manager.orbitile
        self.is_filling = False

    # ---- what the browser asks of its window

    def say(self, text: str, error: bool = False, detail: str = "") -> None:
        """Keep a message until the panel is drawn."""
        self.text, self.is_error, self.detail = text, error, detail
        if error:
            session().host.say(text)
        redraw()

    def set_busy(self, busy: bool) -> None:
        """Show that something is computed, or no longer."""
        self.is_busy = busy
        redraw()

    def show_molecule(self) -> None:
        """List orbitals."""
        self._chosen = None
        self._list()

    def show_levels(self, chosen: Level | None) -> None:
        """List orbitals in place of as many before."""
        self._chosen = chosen
        self._list()

    def _list(self) -> None:
        browser = getattr(self, "browser", None)  # its own first look comes before it is known here
        self._levels = [] if browser is None else [level for those in browser.showing.levels for level in those]
        unit = ENERGY_UNITS[Choices().unit if browser is None else browser.showing.choices.unit]
        with self._controls() as controls:
            controls.orbitals.clear()
            for level in self._levels:
                spin, energy = "β " if level.spin == "beta" else "", f"{unit.text(level.energy)} {unit.name}"
                controls.orbitals.add().name = f"{spin}{level.index + 1}  {energy}  {level.symmetry} {level.mark}"
            self._select(controls, self._chosen)
        redraw()

    def _select(self, controls: Any, level: Level | None) -> None:
        homo = next((index for index, one in enumerate(self._levels) if one.mark == "HOMO"), 0)
        controls.orbital = self._levels.index(level) if level in self._levels else homo

    @property
    def summary(self) -> str:
        """The molecule in a line; empty for none."""
        return "" if self.browser.showing.wavefunction is None else summary(self.browser.showing.wavefunction)

    def show_choices(self) -> None:
        """Set the controls to what they act on."""
        browser = getattr(self, "browser", None)
        if browser is None or self.is_filling:
            return
        shown = browser.showing.shown()
        look = browser.showing.choices.look if shown is None else shown.look
        with self._controls() as controls:
            controls.isovalue = browser.showing.isovalue
            controls.automatic = browser.showing.is_automatic
            controls.quality = browser.showing.choices.quality
            controls.transparency, controls.style = look.transparency, look.style
            controls.second = "" if shown is None else shown.request.color_by
            controls.molecule = browser.showing.molecule
        redraw()

    def show_surfaces(self, rows: list[Listed], current: str) -> None:
        """List what is shown."""
        self.rows, self.current = rows, current
        level = self.browser.showing.level_shown()
        if level is not None and level != self._chosen:
            self._chosen = level
            with self._controls() as controls:
                self._select(controls, level)
        redraw()

    def show_field(self, field: str) -> None:
        """Name the field that is asked for."""
        with self._controls() as controls:
            controls.field = field

    def opened(self, first: Level | None) -> None:
        """Show an orbital of a file that was opened."""
        if first is not None:
            self._chosen = first
            self.browser.showing.ask_for(first)

    def chosen(self) -> Level | None:
        """The orbital that is selected."""
        return self._chosen

    def neighbours(self) -> list[Level]:
        """Orbitals below and above the one that is selected."""
        if self._chosen not in self._levels:
            return []
        at = self._levels.index(self._chosen)
        return self._levels[at + 1 : at + 2] + self._levels[max(at - 1, 0) : at]

    def show_live(self, status: LiveStatus | None) -> None:
        """Tell what there is to say of the live molecule."""
        if status is not None:
            self.say(status.text, error=status.stage == "failed")

    def show_analysis(self, finding: Finding) -> None:
        """Nothing: analyses are for the operators, which report what they find."""

    def show_playback(self, playback: Playback | None) -> None:
        """Nothing: Blender's own time line shows where a trajectory is."""

    def is_idle(self) -> bool:
        """Whether computing ahead is worth while."""
        return next(views(), None) is not None


@cache
def window() -> BlenderWindow:
    """The window of this Blender, made when it is asked for first."""
    return BlenderWindow()


def is_open() -> bool:
    """Whether it was made."""
    return bool(window.cache_info().currsize)


_WIDE = 38
"""Letters in a line of text, about: Blender's panels do not break lines."""


def _update(act: Any) -> Any:
    """What a property does when the user has changed it."""

    def update(controls: Any, context: Any) -> None:
        if is_open() and not window().is_filling:
            try:
                act(window(), controls)
            except OrbitileError as error:
                window().say(str(error), error=True)

    return update


def _names(name: str) -> list[tuple[str, str, str]]:
    return [(name, name, "")]


class OrbitalRow(bpy.types.PropertyGroup):  # type: ignore[misc]  # Blender has no types here
    """An orbital of the list; its `name` is what is shown."""


class Controls(bpy.types.PropertyGroup):  # type: ignore[misc]  # Blender has no types here
    """The controls of the panel, as Blender keeps them while it runs."""

    __annotations__ = {
        "molecule": bpy.props.StringProperty(
            name="Molecule",
            update=_update(lambda w, c: c.molecule and w.browser.molecules.choose(c.molecule)),
            search=lambda s, c, t: _molecules(),
        ),
        "orbitals": bpy.props.CollectionProperty(type=OrbitalRow),
        "orbital": bpy.props.IntProperty(name="Orbital", update=_update(lambda w, c: w.choose_orbital(c.orbital))),
        "field": bpy.props.StringProperty(
            name="Field",
            description="homo, lumo+1, mo:17:beta, density, spin, elf, esp, ...",
            update=_update(lambda w, c: w.browser.showing.ask_for_named(c.field.strip())),
        ),
        "isovalue": bpy.props.FloatProperty(
            name="Isovalue",
            description="In atomic units",
            min=0.0,
            soft_max=0.2,
            precision=5,
            step=0.1,
            update=_update(lambda w, c: w.slide_to(c.isovalue)),
        ),
        "automatic": bpy.props.BoolProperty(
            name=f"{share_in_words()} of each orbital",
            description=f"Each orbital gets the isovalue whose surface encloses {share_in_words()} of its density",
            update=_update(lambda w, c: w.browser.showing.choose_automatic(c.automatic)),
        ),
        "quality": bpy.props.EnumProperty(
            name="Quality",
            items=[_names(name)[0] for name in QUALITIES],
            default="medium",
            update=_update(lambda w, c: w.choose_quality(c.quality)),
        ),
        "transparency": bpy.props.FloatProperty(
            name="Transparency",
            min=0.0,
            max=1.0,
            update=_update(lambda w, c: w.browser.showing.change_look(transparency=c.transparency)),
        ),
        "style": bpy.props.EnumProperty(
            name="Drawn as",
            items=[_names(name)[0] for name in STYLES],
            update=_update(lambda w, c: w.browser.showing.change_look(style=c.style)),
        ),
        "second": bpy.props.StringProperty(
            name="Coloured by",
            description="A second field, such as esp; empty for a colour for each sign",
            update=_update(lambda w, c: w.browser.showing.choose_second(c.second.strip())),
        ),
    }


def _molecules() -> list[str]:
    return list(window().browser.session.host.molecules())


class OrbitalList(bpy.types.UIList):  # type: ignore[misc]  # Blender has no types here
    """The orbitals of the molecule."""

    bl_idname = "ORBITILE_UL_orbitals"

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: Any, active_data: Any, active: Any
    ) -> None:
        """Draw a row."""
        layout.label(text=item.name)


class Panel(bpy.types.Panel):  # type: ignore[misc]  # Blender has no types here
    """The panel."""

    bl_idname = "ORBITILE_PT_panel"
    bl_label = "Orbitile"
    bl_category = "Orbitile"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"

    def draw(self, context: Any) -> None:
        """Draw it; its other half is made when it is seen first, which cannot be done in here."""
        layout = self.layout
        layout.operator("orbitile.open", text="Open ...", icon="FILE_FOLDER")
        if not is_open():
            bpy.app.timers.register(_open, first_interval=0.0)
            return
        it, controls = window(), context.window_manager.orbitile
        if it.is_busy:
            layout.progress(factor=it.browser.share or 0.0, text="Computing ...")
            layout.operator("orbitile.withdraw", icon="CANCEL")
        for line in broken(it.text):
            layout.label(text=line, icon="ERROR" if it.is_error else "NONE")
        if it.browser.showing.molecule:
            _draw_molecule(layout, it, controls)
        if it.current:
            _draw_surface(layout, it, controls)


def _draw_molecule(layout: Any, it: BlenderWindow, controls: Any) -> None:
    layout.prop(controls, "molecule")
    layout.label(text=it.summary)
    layout.template_list(OrbitalList.bl_idname, "", controls, "orbitals", controls, "orbital", rows=8)
    layout.prop(controls, "field")
    layout.prop(controls, "automatic")
    row = layout.row(align=True)
    row.prop(controls, "quality", text="")
    row.operator("orbitile.update", icon="FILE_REFRESH")


def _draw_surface(layout: Any, it: BlenderWindow, controls: Any) -> None:
    box = layout.box()
    box.label(text=next((row.text for row in it.rows if row.name == it.current), it.current))
    box.prop(controls, "isovalue")
    box.prop(controls, "transparency", slider=True)
    box.prop(controls, "style")
    box.prop(controls, "second")
    row = box.row(align=True)
    row.operator("orbitile.keep_current", icon="PINNED")
    row.operator("orbitile.add_volume", text="Volume", icon="VOLUME_DATA")


def broken(text: str) -> list[str]:
    """A text in lines that a panel has room for."""
    from textwrap import wrap

    return wrap(text, _WIDE)


def _open() -> None:
    window()


PANELS = (OrbitalRow, Controls, OrbitalList, Panel)


_PATTERNS = patterns("wavefunction", "trajectory", "volume")
_DONE, _REFUSED = {"FINISHED"}, {"CANCELLED"}


def _operator(command: Command) -> type:
    """A command as an operator: its arguments are texts, as at a prompt, and what it refuses is an error of Blender."""

    def execute(self: Any, context: Any) -> set[str]:
        given = {argument.name: getattr(self.properties, _property(argument.name)) for argument in command.arguments}
        return _reported(self, lambda: run(command, (), {name: text for name, text in given.items() if text}).text)

    texts = {
        _property(argument.name): bpy.props.StringProperty(name=argument.name, description=argument.help)
        for argument in command.arguments
    }
    plain = command.name.removeprefix("orb_")
    return type(
        f"ORBITILE_OT_{plain}",
        (bpy.types.Operator,),
        {
            "bl_idname": f"orbitile.{plain}",
            "bl_label": f"Orbitile: {plain.replace('_', ' ')}",
            "bl_description": command.summary,
            "bl_options": {"UNDO"},
            "__doc__": command.help(PYTHON),
            "__annotations__": texts,
            "execute": execute,
        },
    )


def _property(argument: str) -> str:
    """The name of the property for an argument; all operators have a `name` of their own."""
    return "object_name" if argument == "name" else argument


def _reported(operator: Any, function: Callable[[], str | None]) -> set[str]:
    """Do something, and report in one line what there is to say of it."""
    try:
        text = function()
    except OrbitileError as error:
        operator.report({"ERROR"}, str(error))
        return _REFUSED
    if text:
        operator.report({"INFO"}, text)
    return _DONE


class OpenFiles(bpy.types.Operator, ImportHelper):  # type: ignore[misc]  # Blender has no types here
    """Open the output of a quantum-chemistry program, a trajectory or a volume."""

    bl_idname = "orbitile.open"
    bl_label = "Open in Orbitile"
    bl_options = {"UNDO"}  # noqa: RUF012 - Blender reads it off the class
    filter_glob: bpy.props.StringProperty(default=";".join(_PATTERNS), options={"HIDDEN"})  # type: ignore[valid-type]  # Blender reads annotations
    files: bpy.props.CollectionProperty(type=bpy.types.OperatorFileListElement)  # type: ignore[valid-type]  # as above
    directory: bpy.props.StringProperty(subtype="DIR_PATH")  # type: ignore[valid-type]  # as above

    def execute(self, context: Any) -> set[str]:
        """Have the panel open them; without a window, load them and show the HOMO of each."""
        names = [file.name for file in self.files if file.name]
        paths = [str(Path(self.directory) / name) for name in names] or [self.filepath]
        if not bpy.app.background:
            window().browser.molecules.open(*paths)
            return _DONE

        def load() -> str:
            molecules = [run(orb_load, [path]).value or "" for path in paths]
            return "; ".join(run(orb_mo, [molecule]).text for molecule in molecules)

        return _reported(self, load)


def _button(name: str, label: str, description: str, act: Callable[[BlenderWindow], object]) -> type:
    """An operator that does something in the panel."""

    def execute(self: Any, context: Any) -> set[str]:
        act(window())
        return _DONE

    parts = {"bl_idname": f"orbitile.{name}", "bl_label": label, "bl_description": description, "execute": execute}
    return type(f"ORBITILE_OT_{name}", (bpy.types.Operator,), parts)


def _keep_current(it: BlenderWindow) -> None:
    showing = it.browser.showing
    shown = showing.shown()
    if shown is not None:
        showing.keep(showing.current(), not shown.kept)


_BUTTONS = (
    _button("withdraw", "Cancel", "Cancel the running computation", lambda it: it.browser.cancel()),
    _button(
        "update",
        "Update",
        "Recompute what is shown, at another quality or from a file that has changed",
        BlenderWindow.update,
    ),
    _button("keep_current", "Keep", "Keep the surface when the next field is shown, or no longer", _keep_current),
)


class AddVolume(bpy.types.Operator):  # type: ignore[misc]  # Blender has no types here
    """Add the values of the surface as a volume, from a VDB file that is written beside the .blend file."""

    bl_idname = "orbitile.add_volume"
    bl_label = "Add as volume"
    bl_options = {"UNDO"}  # noqa: RUF012 - Blender reads it off the class

    def execute(self, context: Any) -> set[str]:
        """Write the file, and show it."""

        def add() -> str:
            name = session().surface("")
            folder = bpy.path.abspath("//") if bpy.data.filepath else bpy.app.tempdir
            path = Path(folder) / f"{name}.vdb"
            run(orb_export, [str(path), name])
            data = bpy.data.volumes.new(f"{name} volume")
            data.filepath = str(path)
            volume = bpy.data.objects.new(data.name, data)
            surface = bpy.data.objects[name]
            surface.users_collection[0].objects.link(volume)
            volume.parent = surface.parent
            return f"wrote {path}"

        return _reported(self, add)


class DroppedFiles(bpy.types.FileHandler):  # type: ignore[misc]  # Blender has no types here
    """Files that are dropped on a view."""

    bl_idname = "ORBITILE_FH_files"
    bl_label = "Orbitile"
    bl_import_operator = "orbitile.open"
    bl_file_extensions = ";".join(sorted({Path(pattern).suffix for pattern in _PATTERNS if Path(pattern).suffix}))

    @classmethod
    def poll_drop(cls, context: Any) -> bool:
        """Whether they may be dropped here."""
        return bool(context.area and context.area.type == "VIEW_3D")


OPERATORS = (*map(_operator, COMMANDS), OpenFiles, *_BUTTONS, AddVolume, DroppedFiles)
