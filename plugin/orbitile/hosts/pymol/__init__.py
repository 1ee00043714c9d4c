"""Orbitile in PyMOL: importing this package adds its commands.

    import orbitile.hosts.pymol

in a script, in `~/.pymolrc.py` or at PyMOL's prompt. `help orb_load` is where to begin.
"""

from .commands import register

register()
