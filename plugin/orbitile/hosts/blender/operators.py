"""The commands as operators, `bpy.ops.orbitile.mo(orbital="lumo")`, and what the panel's buttons do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
from bpy_extras.io_utils import ImportHelper

from ...base.errors import OrbitileError
from ...readers import patterns
from ...session.commands import COMMANDS, orb_export, orb_load, orb_mo
from ...session.declaration import Command
from ...session.syntax import PYTHON
from .commands import run, session
from .window import window

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


CLASSES = (*map(_operator, COMMANDS), OpenFiles, Cancel, Recompute, AddVolume, Keep, DroppedFiles)
