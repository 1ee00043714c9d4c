"""Programs that Orbitile works inside of, one module or package each, found by name.

A host states `TITLE`, and imports neither the program nor anything that may be missing in it. What `orbitile install`
does is offered by the module, or by a module `installation` of the package; see `Installation`. What the program shows
is shown by a `Viewer` or a `TrajectoryViewer`; see `orbitile.session.host`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

from ..base.errors import OrbitileError
from ..base.registry import modules_of


class Host(Protocol):
    """What the module or package of a host offers."""

    TITLE: str
    """Name of the program, for people."""
    __name__: str


class Installation(Protocol):
    """What a host that can be installed offers; all texts are for people, a line each.

    A host that starts no plugins in scripts may also have `install_for_scripts`, with the argument and the result of
    `install`; what it writes is taken away by `uninstall`.
    """

    def find(self) -> str:
        """Where the program is on this machine; empty where it is not found."""

    def status(self) -> str:
        """Where Orbitile is installed for the program; empty where it is not."""

    def install(self, python: str | None = None) -> list[str]:
        """Add Orbitile to what the program reads when it starts, in place of an earlier installation.

        `python` is an interpreter to compute with, where that of the program lacks Taichi. Returns what was done;
        raises an `OrbitileError` when it cannot be.
        """

    def uninstall(self) -> list[str]:
        """Take that away again; returns what was done, and raises as `install` does."""


def hosts() -> Mapping[str, Host]:
    """All hosts by name."""
    return modules_of(__name__, Host)


def installable_hosts() -> dict[str, str]:
    """Titles of those hosts that can be installed, by name."""
    return {name: host.TITLE for name, host in hosts().items() if _installation_module(host)}


def installation_of(name: str) -> Installation:
    """What installs a host.

    Raises
    ------
    OrbitileError
        When there is no such host, or it lacks something.
    """
    known = installable_hosts()
    if name not in known:
        raise OrbitileError(f"host: expected one of {', '.join(known)}, got {name!r}")
    module = _installation_module(hosts()[name])
    installation = import_module(module)
    missing = [part for part in ("find", "status", "install", "uninstall") if not hasattr(installation, part)]
    if missing:
        raise OrbitileError(f"{module}: lacks {', '.join(missing)}; see docs/extending.md for what it has to offer")
    return cast("Installation", installation)


def _installation_module(host: Host) -> str:
    """Name of the module that installs a host; empty where there is none."""
    if hasattr(host, "install"):
        return host.__name__
    apart = f"{host.__name__}.installation"
    return apart if hasattr(host, "__path__") and find_spec(apart) else ""
