"""The panel in the sidebar of a view (N), tab Orbitile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
from bpy_extras.io_utils import ImportHelper

from ...base.errors import OrbitileError
from ...model.lattice import QUALITIES
from ...readers import patterns
from ...session.commands import COMMANDS, orb_export, orb_load, orb_mo
from ...session.declaration import PYTHON, Command
from ...session.look import STYLES
from .commands import run, session
from .window import BlenderWindow, is_open, window

_WIDE = 38
"""Letters in a line of text, about: Blender's panels do not break lines."""


def _update(act: Any) -> Any:
    """What a property does when the user has changed it."""

    def update(controls: Any, context: Any) -> None:
        if is_open():
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
            update=_update(lambda w, c: w.choose_molecule(c.molecule)),
            search=lambda s, c, t: _molecules(),
        ),
        "orbitals": bpy.props.CollectionProperty(type=OrbitalRow),
        "orbital": bpy.props.IntProperty(name="Orbital", update=_update(lambda w, c: w.choose_orbital(c.orbital))),
        "field": bpy.props.StringProperty(
            name="Field",
            description="homo, lumo+1, mo:17:beta, density, spin, elf, esp, ...",
            update=_update(lambda w, c: w.ask_for(c.field)),
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
            name="90 % of each orbital",
            description="Each orbital gets the isovalue whose surface encloses 90 % of it",
            update=_update(lambda w, c: w.choose(automatic=c.automatic)),
        ),
        "quality": bpy.props.EnumProperty(
            name="Quality",
            items=[_names(name)[0] for name in QUALITIES],
            default="medium",
            update=_update(lambda w, c: w.choose(quality=c.quality)),
        ),
        "transparency": bpy.props.FloatProperty(
            name="Transparency", min=0.0, max=1.0, update=_update(lambda w, c: w.choose(transparency=c.transparency))
        ),
        "style": bpy.props.EnumProperty(
            name="Drawn as",
            items=[_names(name)[0] for name in STYLES],
            update=_update(lambda w, c: w.choose(style=c.style)),
        ),
        "second": bpy.props.StringProperty(
            name="Coloured by",
            description="A second field, such as esp; empty for a colour for each sign",
            update=_update(lambda w, c: w.choose(second=c.second)),
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


class Cancel(bpy.types.Operator):  # type: ignore[misc]  # Blender has no types here
    """Withdraw what is being computed."""

    bl_idname = "orbitile.withdraw"
    bl_label = "Cancel"

    def execute(self, context: Any) -> set[str]:
        """Withdraw it."""
        window().browser.cancel()
        return _DONE


class Recompute(bpy.types.Operator):  # type: ignore[misc]  # Blender has no types here
    """Compute what is shown anew: at another quality, or from a file that has changed."""

    bl_idname = "orbitile.update"
    bl_label = "Update"

    def execute(self, context: Any) -> set[str]:
        """Ask for it."""
        window().update()
        return _DONE


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


class Keep(bpy.types.Operator):  # type: ignore[misc]  # Blender has no types here
    """Have the surface stay when the next field is shown, or no longer."""

    bl_idname = "orbitile.keep_current"
    bl_label = "Keep"

    def execute(self, context: Any) -> set[str]:
        """Keep it, or let it go."""
        browser = window().browser
        shown = browser.showing.shown()
        if shown is not None:
            browser.showing.keep(browser.showing.current(), not shown.kept)
        return _DONE


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


OPERATORS = (*map(_operator, COMMANDS), OpenFiles, Cancel, Recompute, AddVolume, Keep, DroppedFiles)
