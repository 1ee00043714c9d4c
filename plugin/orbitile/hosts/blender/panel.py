"""The panel in the sidebar of a view (N), tab Orbitile."""

from __future__ import annotations

from typing import Any

import bpy

from ...base.errors import OrbitileError
from ...model.lattice import QUALITIES
from ...pictures.look import STYLES
from ...pictures.words import share_in_words
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
            name=f"{share_in_words()} of each orbital",
            description=f"Each orbital gets the isovalue whose surface encloses {share_in_words()} of it",
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


CLASSES = (OrbitalRow, Controls, OrbitalList, Panel)
