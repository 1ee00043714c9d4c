"""Orbitile in Blender: an add-on with a panel in the sidebar, and the commands as operators.

    import orbitile.hosts.blender
    orbitile.hosts.blender.register()

is what the extension does; scripts for `blender --background` may do it too, or take the commands as functions from
`orbitile.hosts.blender.commands`. An Angstrom is a unit of Blender.
"""

from __future__ import annotations

TITLE = "Blender"

__all__ = ["TITLE", "register", "unregister"]


def register() -> None:
    """Add the panel, the operators, and what keeps saved files and undo in step.

    In a Python that lacks something, a panel says so; nothing else is imported then.
    """
    from .start import register_all

    register_all()


def unregister() -> None:
    """Take away what `register` has added."""
    from .start import unregister_all

    unregister_all()
