"""Registries: modules of one kind, found by where they lie, so that adding one is adding its file.

Readers, exporters, fields, kernels, hosts and commands are modules of a package each: all whose names do not begin with
an underscore. Other distributions add theirs in a folder of the same name in `orbitile_plugins`, which has no
`__init__.py` and is shared: `orbitile_plugins/readers/toy.py` is found as `orbitile/readers/toy.py` would be. It is not
looked for in the current folder.

What a module has to offer is stated as a protocol. Its attributes without a value and its methods must be there;
attributes with a value are optional, and given to a module that lacks them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from importlib.machinery import PathFinder
from types import MappingProxyType, ModuleType
from typing import Any, TypeVar, cast

from .errors import OrbitileError
from .imports import safe_path

PLUGINS = "orbitile_plugins"
"""The package in which other distributions put their modules."""

Contract = TypeVar("Contract")


def modules_of(package: str, contract: Callable[..., Contract], kinds: tuple[str, ...] = ()) -> Mapping[str, Contract]:
    """All modules of a kind by name: in alphabetical order, those with a higher `PRIORITY` (0 where not stated) first.

    Parameters
    ----------
    package : str
        Name of our package of such modules, such as "orbitile.readers".
    contract
        Protocol of what each of them offers.
    kinds : tuple of str
        What the `KIND` of a module may be, where its contract has one.

    Raises
    ------
    OrbitileError
        When a module cannot be imported, lacks something or is of an unknown kind, or two have the same name.
    """
    return cast("Mapping[str, Contract]", _modules(package, contract, kinds, tuple(sys.path)))


def module_of(package: str, contract: Callable[..., Contract], name: str) -> Contract | None:
    """One of our own modules of a kind, with no other being imported; None where there is none of that name.

    Parameters
    ----------
    package, contract
        As for `modules_of`.
    name : str
        Of the module.

    Raises
    ------
    OrbitileError
        When the module cannot be imported, or lacks something.
    """
    return cast("Contract", _checked(f"{package}.{name}", contract)) if name in _names(package) else None


@lru_cache(maxsize=32)
def _modules(package: str, contract: Any, kinds: tuple[str, ...], path: tuple[str, ...]) -> Mapping[str, Any]:
    """The modules that are found with a `sys.path`."""
    found: dict[str, Any] = {}
    vars(sys.modules.setdefault(PLUGINS, ModuleType(PLUGINS)))["__path__"] = _Places()
    for folder in (package, f"{PLUGINS}.{package.partition('.')[2]}"):
        for name in _names(folder):
            if name in found:
                raise OrbitileError(f"{folder}.{name}: there is {found[name].__name__} too; rename one of them")
            module = found[name] = _checked(f"{folder}.{name}", contract)
            if kinds and module.KIND not in kinds:
                raise OrbitileError(f"{folder}.{name}: KIND: expected one of {', '.join(kinds)}, got {module.KIND!r}")
    order = sorted(found, key=lambda name: (-getattr(found[name], "PRIORITY", 0), name))
    return MappingProxyType({name: found[name] for name in order})


class _Places:
    """Where `orbitile_plugins` is: its `__path__`, wherever distributions and `PYTHONPATH` have it at the time."""

    def __iter__(self) -> Iterator[str]:
        path = safe_path()
        specs = (finder.find_spec(PLUGINS, path if finder is PathFinder else None) for finder in sys.meta_path)
        spec = next(filter(None, specs), None)
        return iter(spec.submodule_search_locations or () if spec is not None else ())


def _names(folder: str) -> list[str]:
    """Modules in a package, by name, in any order."""
    try:
        places = {os.path.realpath(place) for place in import_module(folder).__path__}  # one may be there by two names
    except ModuleNotFoundError as error:
        if f"{folder}.".startswith(f"{PLUGINS}.") and f"{folder}.".startswith(f"{error.name}."):  # nothing is there
            return []
        raise
    entries = [entry for place in places for entry in os.scandir(place)]  # pkgutil would take longer than the rest
    packages = [entry.name for entry in entries if os.path.isfile(os.path.join(entry.path, "__init__.py"))]
    modules = [entry.name[: -len(".py")] for entry in entries if entry.name.endswith(".py")]
    return [name for name in (*packages, *modules) if not name.startswith("_")]


def _checked(name: str, contract: Any) -> Any:
    """A module with all that its contract states."""
    try:
        module = import_module(name)
    except Exception as error:  # a plugin is anybody's
        raise OrbitileError(f"{name}: cannot be imported ({type(error).__name__}: {error})") from error
    stated = {key: value for key, value in vars(contract).items() if not key.startswith("_")}
    missing = [key for key in {**contract.__annotations__, **stated} if not hasattr(module, key)]
    optional = [key for key in missing if key in contract.__annotations__ and key in stated]
    if len(optional) < len(missing):
        lacking = ", ".join(key for key in missing if key not in optional)
        raise OrbitileError(f"{name}: lacks {lacking}; see docs/extending.md for what it has to offer")
    for key in optional:
        setattr(module, key, stated[key])
    return module
