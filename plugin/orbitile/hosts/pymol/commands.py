"""The commands of Orbitile in PyMOL. No Qt here: they work in `pymol -c` and `pymol2` as at the prompt."""

from __future__ import annotations

import atexit
import functools
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pymol import CmdException
from pymol import cmd as global_cmd

from ...errors import OrbitileError
from ...exporters import save
from ...fields import field_names, resolve
from ...information import as_text
from ...lattice import QUALITIES
from ...readers import load
from ...session.process import WavefunctionCache, sample
from ...session.request import Request, Sample, surface_within
from ...session.shown import NEGATIVE, POSITIVE, SampleCache, Shown, object_name
from ...session.worker import Worker
from ...surface import Surface, isosurface
from ...wavefunction import Wavefunction
from . import adapter


class State:
    """What Orbitile shows in one PyMOL.

    Attributes
    ----------
    shown : dict
        By name of the surface, the one shown last at the end.
    device : str
        What computes.
    samples, wavefunctions
        Caches.
    panel : object or None
        The window, once it was opened.
    """

    def __init__(self) -> None:
        self.shown: dict[str, Shown] = {}
        self.device = "auto"
        self.samples = SampleCache()
        self.wavefunctions = WavefunctionCache()
        self.panel: Any = None
        self._worker: Worker | None = None

    @property
    def worker(self) -> Worker:
        """The worker process of this PyMOL; it starts at the first request."""
        if self._worker is None:
            self._worker = Worker()
            atexit.register(self._worker.close)
        return self._worker

    def sample(self, request: Request) -> Sample:
        """Answer a request and wait for it.

        A PyMOL with a window is kept out of the way of crashes by the worker; a script needs no second process.
        """
        if self.panel is not None or os.environ.get("ORBITILE_PYTHON"):
            return self.worker.submit(request).result()
        return sample(request, self.wavefunctions)


def state_of(cmd: Any) -> State:
    """What Orbitile shows in the PyMOL that a `cmd` belongs to; it lives and dies with that instance."""
    owner = cmd._pymol
    if not hasattr(owner, "_orbitile"):
        owner._orbitile = State()
    state: State = owner._orbitile
    return state


def _command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Errors of ours become PyMOL's, which prints them in one line."""

    @functools.wraps(function)
    def command(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except OrbitileError as error:
            raise CmdException(str(error)) from error

    return command


@_command
def orb_load(filename: str, name: str = "", quiet: int = 1, *, _self: Any = global_cmd) -> str:
    """
    DESCRIPTION

        Load the output of a quantum-chemistry program: the molecule appears as an object that knows its orbitals.

    USAGE

        orb_load filename [, name ]

    ARGUMENTS

        filename = string: Molden, fchk, mkl, wfn, wfx, mwfn, TREXIO, or a log with basis set and orbital coefficients

        name = string: name of the object {default: name of the file}

    EXAMPLE

        orb_load benzene.molden
        orb_mo benzene, homo

    See Also
    --------
        orb_info, orb_mo, orb_field
    """  # noqa: D400 - the layout of PyMOL's help
    path = Path(_unquoted(filename)).expanduser().resolve()
    wavefunction = load(path)
    wanted: str = _self.get_legal_name(_unquoted(name) or path.name.split(".")[0])
    adapter.add_molecule(_self, wanted, wavefunction)
    if not int(quiet):
        print(f' Orbitile: "{wanted}", {wavefunction.kind} orbitals; "orb_mo {wanted}, homo" shows one')
    return wanted


@_command
def orb_info(name: str = "", all: int = 0, quiet: int = 0, *, _self: Any = global_cmd) -> str:
    """
    DESCRIPTION

        Print atoms, basis set and the table of orbitals of a molecule.

    USAGE

        orb_info [ name [, all ]]

    ARGUMENTS

        name = string: an object loaded by orb_load {default: the only one}

        all = 0/1: all orbitals, not only those near the HOMO {default: 0}

    See Also
    --------
        orb_load, orb_mo
    """  # noqa: D400 - the layout of PyMOL's help
    text = as_text(_wavefunction(_self, _molecule(_self, name)), everything=bool(int(all)))
    if not int(quiet):
        print(text)
    return text


@_command
def orb_field(
    name: str,
    field: str,
    isovalue: float | str = "",
    quality: str = "medium",
    color_by: str = "",
    color_range: float | str = "",
    quiet: int = 1,
    *,
    _self: Any = global_cmd,
) -> str:
    """
    DESCRIPTION

        Show a field of a molecule: a map, and a surface, in two colours or coloured by a second field.

    USAGE

        orb_field name, field [, isovalue [, quality [, color_by [, color_range ]]]]

    ARGUMENTS

        name = string: an object loaded by orb_load

        field = string: homo, lumo+1, mo:17:beta, density, spin, laplacian, elf, esp, ...

        isovalue = float: in atomic units {default: a customary one; of an orbital, one that encloses 90 percent}

        quality = coarse, medium or fine: spacing 0.25, 0.15 or 0.075 Angstrom {default: medium}

        color_by = string: a second field that colours the surface, such as esp {default: two colours}

        color_range = float: the colours span minus this to plus this {default: from the data}

    EXAMPLE

        orb_field benzene, homo-1, 0.03, fine
        orb_field benzene, density, 0.001, color_by=esp

    See Also
    --------
        orb_mo, orb_iso, orb_color, orb_next
    """  # noqa: D400 - the layout of PyMOL's help
    state, molecule = state_of(_self), _molecule(_self, name)
    wavefunction = _wavefunction(_self, molecule)
    wanted = _unquoted(field).strip()
    resolve(wavefunction, wanted)
    if quality not in QUALITIES:
        raise OrbitileError(f"quality: expected {', '.join(QUALITIES)}, got {quality!r}")
    value = None if str(isovalue).strip() == "" else _positive("isovalue", isovalue)
    second = _unquoted(color_by).strip()
    if second:
        resolve(wavefunction, second)
    limit = None if str(color_range).strip() == "" else _positive("color_range", color_range)
    request = Request(
        _source(_self, molecule),
        wanted,
        quality,
        value,
        device=state.device,
        color_by=second,
        color_range=limit,
    )
    found = state.samples.get(request, state.sample)
    shown = Shown(molecule, request, found.isovalue)
    base = show(_self, shown, found)
    if not int(quiet):
        print(f' Orbitile: "{base}", {found.volume.quantity}, isovalue {found.isovalue:.4g} {found.volume.unit}')
    return base


@_command
def orb_mo(
    name: str = "",
    orbital: str = "homo",
    isovalue: float | str = "",
    quality: str = "medium",
    quiet: int = 1,
    *,
    _self: Any = global_cmd,
) -> str:
    """
    DESCRIPTION

        Show a molecular orbital: a map, and a surface of two colours.

    USAGE

        orb_mo [ name [, orbital [, isovalue [, quality ]]]]

    ARGUMENTS

        name = string: an object loaded by orb_load {default: the only one}

        orbital = string: homo, lumo, homo-1, lumo+1, or a number counted from 1; with :alpha or :beta {default: homo}

        isovalue = float: in atomic units {default: the surface encloses 90 percent of the electron}

        quality = coarse, medium or fine: spacing 0.25, 0.15 or 0.075 Angstrom {default: medium}

    EXAMPLE

        orb_mo benzene, lumo
        orb_mo benzene, 17:beta, 0.03

    See Also
    --------
        orb_load, orb_next, orb_prev, orb_iso, orb_field
    """  # noqa: D400 - the layout of PyMOL's help
    wanted = _unquoted(str(orbital)).strip().lower()
    if wanted[:1].isdigit():
        wanted = f"mo:{wanted}"
    shown: str = orb_field(_molecule(_self, name), wanted, isovalue, quality, quiet=quiet, _self=_self)
    return shown


@_command
def orb_iso(isovalue: float | str, name: str = "", quiet: int = 1, *, _self: Any = global_cmd) -> None:
    """
    DESCRIPTION

        Change the isovalue of a surface that is shown.

    USAGE

        orb_iso isovalue [, name ]

    ARGUMENTS

        isovalue = float: in atomic units

        name = string: the surface {default: the one shown last}

    See Also
    --------
        orb_mo, orb_color
    """  # noqa: D400 - the layout of PyMOL's help
    state, base = state_of(_self), _surface(_self, name)
    shown = replace(state.shown[base], isovalue=_positive("isovalue", isovalue))
    if shown.request.color_by:  # its colours are computed for the surface at this isovalue
        shown = replace(shown, request=replace(shown.request, isovalue=shown.isovalue))
    found = state.samples.get(shown.request, state.sample)
    show(_self, shown, found, base)


@_command
def orb_color(
    positive: str = "", negative: str = "", transparency: float | str = "", name: str = "", *, _self: Any = global_cmd
) -> None:
    """
    DESCRIPTION

        Change colours and transparency of a surface that is shown.

    USAGE

        orb_color [ positive [, negative [, transparency [, name ]]]]

    ARGUMENTS

        positive, negative = string: colours of PyMOL {default: blue and red}

        transparency = float: 0 opaque to 1 invisible {default: as it is}

        name = string: the surface {default: the one shown last}

    EXAMPLE

        orb_color marine, orange, 0.5

    See Also
    --------
        orb_mo, orb_iso
    """  # noqa: D400 - the layout of PyMOL's help
    state, base = state_of(_self), _surface(_self, name)
    colours = tuple(
        _colour(_self, wanted) if wanted else standard
        for wanted, standard in ((positive, POSITIVE), (negative, NEGATIVE))
    )
    shown = replace(state.shown[base], colours=(colours[0], colours[1]))
    if str(transparency).strip():
        value = _number("transparency", transparency)
        if not 0 <= value <= 1:
            raise OrbitileError(f"transparency: expected a number from 0 to 1, got {transparency}")
        shown = replace(shown, transparency=value)
    show(_self, shown, state.samples.get(shown.request, state.sample), base)


@_command
def orb_next(name: str = "", quiet: int = 0, *, _self: Any = global_cmd) -> str:
    """
    DESCRIPTION

        Show the next orbital in place of the one that is shown.

    USAGE

        orb_next [ name ]

    ARGUMENTS

        name = string: the surface {default: the one shown last}

    See Also
    --------
        orb_prev, orb_mo
    """  # noqa: D400 - the layout of PyMOL's help
    return _step(_self, name, 1, int(quiet))


@_command
def orb_prev(name: str = "", quiet: int = 0, *, _self: Any = global_cmd) -> str:
    """
    DESCRIPTION

        Show the previous orbital in place of the one that is shown.

    USAGE

        orb_prev [ name ]

    ARGUMENTS

        name = string: the surface {default: the one shown last}

    See Also
    --------
        orb_next, orb_mo
    """  # noqa: D400 - the layout of PyMOL's help
    return _step(_self, name, -1, int(quiet))


@_command
def orb_export(filename: str, name: str = "", quiet: int = 1, *, _self: Any = global_cmd) -> None:
    """
    DESCRIPTION

        Write a field that is shown: as a volume (.cube, .dx, .mrc, .npz) or its surface as a mesh (.ply, .obj, .glb).

    USAGE

        orb_export filename [, name ]

    ARGUMENTS

        filename = string: the suffix decides

        name = string: the surface {default: the one shown last}

    See Also
    --------
        orb_mo, orb_field
    """  # noqa: D400 - the layout of PyMOL's help
    from ...exporters import exporter_for

    state, base = state_of(_self), _surface(_self, name)
    shown = state.shown[base]
    path = Path(_unquoted(filename)).expanduser()
    kind = "mesh" if path.suffix.lower() in (".ply", ".obj", ".glb") else "volume"
    exporter_for(path, kind)
    found = state.samples.get(shown.request, state.sample)
    wavefunction = state.wavefunctions.get(shown.request.path)
    save(isosurface(found.volume, shown.isovalue) if kind == "mesh" else found.volume, path, wavefunction=wavefunction)
    if not int(quiet):
        print(f" Orbitile: wrote {path}")


@_command
def orb_device(device: str = "", quiet: int = 0, *, _self: Any = global_cmd) -> str:
    """
    DESCRIPTION

        Choose the device that computes, or say which one does.

    USAGE

        orb_device [ device ]

    ARGUMENTS

        device = auto, cuda, vulkan or cpu {default: no change}

    See Also
    --------
        orb_mo
    """  # noqa: D400 - the layout of PyMOL's help
    from taichi_kernels import runtime

    state = state_of(_self)
    wanted = _unquoted(device).strip().lower()
    if wanted:
        if wanted not in ("auto", *runtime.DEVICES):
            raise OrbitileError(f"device: expected auto, {', '.join(runtime.DEVICES)}, got {wanted!r}")
        found = None if wanted == "auto" else runtime.probe(wanted)
        if found is not None and not found.available:
            raise OrbitileError(f"device: {wanted} cannot be used here: {found.detail}")
        state.device = wanted
    chosen = runtime.choose(None if state.device == "auto" else state.device)
    if not int(quiet):
        print(f" Orbitile: computing on {chosen} ({runtime.probe(chosen).detail})")
    return chosen


@_command
def orb_cancel(quiet: int = 0, *, _self: Any = global_cmd) -> None:
    """
    DESCRIPTION

        Stop what the window of Orbitile is computing; the orbital shown before stays.

    USAGE

        orb_cancel

    See Also
    --------
        orb_panel, orb_mo
    """  # noqa: D400 - the layout of PyMOL's help
    panel = state_of(_self).panel
    stopped = panel is not None and panel.cancel()
    if not int(quiet):
        print(" Orbitile: cancelled" if stopped else " Orbitile: nothing is being computed")


@_command
def orb_panel(*, _self: Any = global_cmd) -> None:
    """
    DESCRIPTION

        Open the window of Orbitile, as Plugin > Orbitile does.

    USAGE

        orb_panel

    See Also
    --------
        orb_load, orb_mo
    """  # noqa: D400 - the layout of PyMOL's help
    from . import open_panel

    open_panel(_self)


COMMANDS = (
    orb_load,
    orb_info,
    orb_mo,
    orb_field,
    orb_iso,
    orb_next,
    orb_prev,
    orb_color,
    orb_export,
    orb_device,
    orb_cancel,
    orb_panel,
)


def register(cmd: Any = global_cmd) -> None:
    """Add the commands, their help and the completion of their arguments to a PyMOL."""
    import pymol

    for command in COMMANDS:
        cmd.extend(command.__name__, command)

    def molecule_names() -> Any:
        return cmd.Shortcut(adapter.molecules(cmd))

    def surface_names() -> Any:
        return cmd.Shortcut(sorted(present(cmd)))

    def fields() -> Any:
        return cmd.Shortcut([name for name, _ in field_names() if name.isalpha()] + ["homo-1", "lumo+1"])

    for name, position, names, what in (
        ("orb_info", 0, molecule_names, "molecule"),
        ("orb_mo", 0, molecule_names, "molecule"),
        ("orb_mo", 1, fields, "orbital"),
        ("orb_field", 0, molecule_names, "molecule"),
        ("orb_field", 1, fields, "field"),
        ("orb_field", 4, fields, "field"),
        ("orb_iso", 1, surface_names, "surface"),
        ("orb_color", 3, surface_names, "surface"),
        ("orb_next", 0, surface_names, "surface"),
        ("orb_prev", 0, surface_names, "surface"),
        ("orb_export", 1, surface_names, "surface"),
    ):
        while len(cmd.auto_arg) <= position:
            cmd.auto_arg.append({})
        cmd.auto_arg[position][name] = [names, what, ", " if position < 1 else ""]
    tasks = ((_save_session, "_session_save_tasks"), (_restore_session, "_session_restore_tasks"))
    for task, where in tasks:
        listed = getattr(cmd._pymol, where, None) or getattr(pymol, where)
        if task not in listed:
            listed.append(task)


def _save_session(session: dict[str, Any], _self: Any = global_cmd) -> int:
    session["orbitile"] = {base: state_of(_self).shown[base].message() for base in present(_self)}
    return 1


def _restore_session(session: dict[str, Any], _self: Any = global_cmd) -> int:
    state = state_of(_self)
    restored = {base: Shown.from_message(message) for base, message in session.get("orbitile", {}).items()}
    state.shown.update(restored)  # a session may be merged into what is there
    for path in sorted({shown.request.path for shown in restored.values()}):
        if not Path(path).exists():
            print(f" Orbitile: {path} is not there any more: its surfaces are shown as saved, and cannot be changed")
    return 1


def show(
    cmd: Any,
    shown: Shown,
    found: Sample,
    base: str = "",
    instructions: list[float] | None = None,
    with_map: bool = True,
) -> str:
    """Put map and surface into PyMOL, in the group of the molecule.

    Parameters
    ----------
    cmd
        Of the PyMOL.
    shown
        What is to be shown.
    found
        The sample of its request.
    base
        Name of the surface, when it is to take the place of one.
    instructions
        What draws the surface, where that has been prepared by `adapter.drawing`.
    with_map
        Whether the map is put too; otherwise `show_map` does it later.

    Returns
    -------
    str
        Name of the surface.
    """
    if instructions is None:
        instructions = adapter.drawing(surface_of(shown, found), shown.colours)
    base = base or cmd.get_legal_name(object_name(shown.molecule, shown.request.field))
    adapter.put_drawing(cmd, base, instructions, shown.transparency, adapter.state_of_orbitals(cmd, shown.molecule))
    cmd.group(cmd.get_legal_name(f"{shown.molecule}_orb"), base)
    if found.surface.colouring is None:
        cmd.delete(f"{base}_scale")
    else:
        adapter.put_scale(cmd, f"{base}_scale", found.surface.colouring)
        cmd.group(cmd.get_legal_name(f"{shown.molecule}_orb"), f"{base}_scale")
    shown_now = state_of(cmd).shown
    shown_now.pop(base, None)
    shown_now[base] = shown  # the last one is the one shown last
    if with_map:
        show_map(cmd, base, found)
    return base


def surface_of(shown: Shown, found: Sample) -> Surface:
    """The surface that is to be drawn: that of the sample, unless the isovalue was changed since."""
    if shown.isovalue == found.isovalue:
        return found.surface
    return surface_within(found.volume, shown.isovalue, shown.request.most_faces)[0]


def show_map(cmd: Any, base: str, found: Sample) -> None:
    """Put the map of a surface that is shown."""
    adapter.put_map(cmd, f"{base}_map", found.volume)
    join_group(cmd, base)


def join_group(cmd: Any, base: str) -> None:
    """Put surface and map into the group of their molecule."""
    cmd.group(cmd.get_legal_name(f"{state_of(cmd).shown[base].molecule}_orb"), f"{base} {base}_map")


def show_instead(cmd: Any, base: str, shown: Shown, found: Sample, **keywords: Any) -> str:
    """Show something in place of the surface `base`; returns the name of the new one. Keywords as for `show`."""
    new = show(cmd, shown, found, **keywords)
    if base and new != base:
        remove(cmd, base)
    return new


def remove(cmd: Any, base: str) -> None:
    """Delete a surface and its map."""
    for name in (base, f"{base}_map", f"{base}_scale"):
        if name in cmd.get_names("objects"):
            cmd.delete(name)
    state_of(cmd).shown.pop(base, None)


def _step(cmd: Any, name: str, step: int, quiet: int) -> str:
    state, base = state_of(cmd), _surface(cmd, name)
    shown = state.shown[base]
    wavefunction = state.wavefunctions.get(shown.request.path)
    here = resolve(wavefunction, shown.request.field)
    spin, index = getattr(here, "spin", None), getattr(here, "index", None)
    if spin is None or index is None:
        raise OrbitileError(f"{base} shows {shown.request.field}, which is no orbital: there is no next one")
    field = f"mo:{index + 1 + step}" + (f":{spin}" if wavefunction.beta is not None else "")
    resolve(wavefunction, field)
    request = replace(shown.request, field=field)
    found = state.samples.get(request, state.sample)
    following = replace(shown, request=request, isovalue=found.isovalue)
    new = show_instead(cmd, base, following, found)
    if not quiet:
        print(f" Orbitile: {found.volume.quantity}")
    return new


def present(cmd: Any) -> list[str]:
    """Surfaces that are shown and have not been deleted, the one shown last at the end."""
    names = set(cmd.get_names("objects"))
    return [base for base in state_of(cmd).shown if base in names]


def _surface(cmd: Any, name: str) -> str:
    shown, wanted = present(cmd), _unquoted(name)
    if not shown:
        raise OrbitileError("no orbital is shown: orb_mo shows one")
    if not wanted:
        return shown[-1]
    if wanted not in shown:
        raise OrbitileError(f"no surface of Orbitile is called {wanted!r}. Shown: {', '.join(shown)}")
    return wanted


def _molecule(cmd: Any, name: str) -> str:
    known, wanted = adapter.molecules(cmd), _unquoted(name)
    if not known:
        raise OrbitileError("no molecule with orbitals is loaded: orb_load loads one")
    if not wanted:
        if len(known) > 1:
            raise OrbitileError(f"which molecule? Loaded with orbitals: {', '.join(known)}")
        return known[0]
    if wanted not in known:
        raise OrbitileError(f"no molecule with orbitals is called {wanted!r}. Loaded: {', '.join(known)}")
    return wanted


def _source(cmd: Any, molecule: str) -> str:
    path = adapter.source_of(cmd, molecule)
    if path is None:
        raise OrbitileError(f"{molecule} was not loaded by orb_load")
    return path


def _wavefunction(cmd: Any, molecule: str) -> Wavefunction:
    return state_of(cmd).wavefunctions.get(_source(cmd, molecule))


def _unquoted(text: str) -> str:
    text = str(text).strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _number(what: str, value: float | str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise OrbitileError(f"{what}: expected a number, got {value!r}") from None


def _positive(what: str, value: float | str) -> float:
    number = _number(what, value)
    if not 0 < number < float("inf"):
        raise OrbitileError(f"{what}: expected a positive number, got {value}")
    return number


def _colour(cmd: Any, name: str) -> adapter.Colour:
    index = cmd.get_color_index(_unquoted(name))
    if index < 0 and not str(name).startswith("0x"):
        raise OrbitileError(f"colour: PyMOL knows none called {name!r}")
    red, green, blue = cmd.get_color_tuple(index)
    return red, green, blue
