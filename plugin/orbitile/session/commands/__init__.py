"""The commands, each declared once, in a module of this package: consoles of all hosts are made from `COMMANDS`."""

from __future__ import annotations

from ..declaration import Command
from .analyses import ANALYSES
from .computing import orb_cancel, orb_device, orb_scf
from .help import orb_help
from .live import (
    orb_live,
    orb_path,
    orb_relax,
    orb_scan,
    orb_scan_save,
    orb_scan_to,
    orb_settle,
    orb_undo,
)
from .loading import orb_info, orb_load
from .presets import orb_preset
from .saving import orb_export, orb_film, orb_picture
from .shown import orb_delete, orb_hide, orb_keep, orb_style, orb_surfaces, orb_unhide
from .surfaces import orb_color, orb_field, orb_iso, orb_mo, orb_next, orb_prev
from .trajectories import orb_frames, orb_memory, orb_play

TOPICS: dict[str, tuple[Command, ...]] = {
    "files": (orb_load, orb_info, orb_export, orb_picture, orb_film),
    "orbitals and other fields": (orb_mo, orb_field, orb_preset, orb_next, orb_prev),
    "surfaces": (
        orb_iso,
        orb_color,
        orb_style,
        orb_surfaces,
        orb_hide,
        orb_unhide,
        orb_keep,
        orb_delete,
    ),
    "trajectories": (orb_play, orb_frames, orb_memory),
    "calculations and live molecules": (
        orb_scf,
        orb_live,
        orb_settle,
        orb_relax,
        orb_undo,
        orb_path,
        orb_scan,
        orb_scan_to,
        orb_scan_save,
    ),
    "analyses": ANALYSES,
    "help and what computes": (orb_help, orb_device, orb_cancel),
}
"""Commands by what they are for, as `orb_help` lists them."""

COMMANDS: tuple[Command, ...] = tuple(command for commands in TOPICS.values() for command in commands)

__all__ = [
    "COMMANDS",
    "TOPICS",
    "orb_load",
    "orb_info",
    "orb_mo",
    "orb_field",
    "orb_preset",
    "orb_iso",
    "orb_next",
    "orb_prev",
    "orb_color",
    "orb_style",
    "orb_surfaces",
    "orb_hide",
    "orb_unhide",
    "orb_keep",
    "orb_delete",
    "orb_export",
    "orb_picture",
    "orb_film",
    "orb_device",
    "orb_cancel",
    "orb_frames",
    "orb_play",
    "orb_memory",
    "orb_scf",
    "orb_live",
    "orb_settle",
    "orb_relax",
    "orb_undo",
    "orb_path",
    "orb_scan",
    "orb_scan_to",
    "orb_scan_save",
    "orb_help",
]
