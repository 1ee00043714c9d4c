"""Packages that only the benchmarks need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from orbitile import OrbitileError  # benchmarks ask other checkouts too, whose modules may have other names


def needed(name: str, purpose: str) -> Any:
    """Import a package.

    Raises
    ------
    OrbitileError
        Says what it is for and how to install it.
    """
    try:
        return import_module(name)
    except ImportError as error:
        from orbitile.base.packages import install_command

        raise OrbitileError(
            f"the benchmarks need {name}, which {purpose}: {install_command(name)} ({error})"
        ) from error
