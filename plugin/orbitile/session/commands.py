"""The commands. Each is declared here once; the consoles of all hosts are made from `COMMANDS`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..errors import OrbitileError
from ..exporters import exporter_for, save
from ..fields import resolve
from ..information import as_text
from ..lattice import QUALITIES
from ..readers import load
from ..surface import isosurface
from .declaration import FLAG, PATH, POSITIVE_NUMBER, SHARE, TEXT, Answer, Argument, Command, command, one_of
from .request import Request
from .session import Session
from .shown import NEGATIVE, POSITIVE, Shown

_OBJECT = Argument("name", TEXT, "an object loaded by orb_load", otherwise="the only one", completes="molecules")
_SURFACE = Argument("name", TEXT, "the surface", otherwise="the one shown last", completes="surfaces")
_QUALITY = Argument("quality", one_of(*QUALITIES), "spacing 0.25, 0.15 or 0.075 Angstrom", "medium", "medium")


@command(
    "Load the output of a quantum-chemistry program: the molecule appears as an object that knows its orbitals.",
    Argument(
        "filename",
        PATH,
        "Molden, fchk, mkl, wfn, wfx, mwfn, TREXIO, or a log with basis set and orbital coefficients",
        required=True,
    ),
    Argument("name", TEXT, "name of the object", otherwise="name of the file"),
    examples=("orb_load benzene.molden", "orb_mo benzene, homo"),
    related=("orb_info", "orb_mo", "orb_field"),
)
def orb_load(session: Session, filename: Path, name: str) -> Answer:  # noqa: D103 - the declaration says it
    path = filename.resolve()
    wavefunction = load(path)
    wanted = session.host.legal_name(name or path.name.split(".")[0])
    session.host.add_molecule(wanted, wavefunction)
    return Answer(wanted, f'"{wanted}", {wavefunction.kind} orbitals; "orb_mo {wanted}, homo" shows one')


@command(
    "Print atoms, basis set and the table of orbitals of a molecule.",
    _OBJECT,
    Argument("all", FLAG, "all orbitals, not only those near the HOMO", False, "0"),
    related=("orb_load", "orb_mo"),
    told=True,
)
def orb_info(session: Session, name: str, everything: bool) -> Answer:  # noqa: D103
    text = as_text(session.wavefunction(session.molecule(name)), everything=everything)
    return Answer(text, text)


def _show_field(
    session: Session,
    molecule: str,
    field: str,
    isovalue: float | None,
    quality: str,
    color_by: str = "",
    color_range: float | None = None,
) -> Answer:
    wavefunction = session.wavefunction(molecule)
    resolve(wavefunction, field)
    if color_by:
        resolve(wavefunction, color_by)
    request = Request(
        session.source(molecule),
        field,
        quality,
        isovalue,
        device=session.device,
        color_by=color_by,
        color_range=color_range,
    )
    found = session.sampled(request)
    base = session.show(Shown(molecule, request, found.isovalue), found)
    return Answer(base, f'"{base}", {found.volume.quantity}, isovalue {found.isovalue:.4g} {found.volume.unit}')


@command(
    "Show a molecular orbital: a map, and a surface of two colours.",
    _OBJECT,
    Argument(
        "orbital",
        TEXT,
        "homo, lumo, homo-1, lumo+1, or a number counted from 1; with :alpha or :beta",
        "homo",
        "homo",
        completes="fields",
    ),
    Argument("isovalue", POSITIVE_NUMBER, "in atomic units", None, "the surface encloses 90 percent of the electron"),
    _QUALITY,
    examples=("orb_mo benzene, lumo", "orb_mo benzene, 17:beta, 0.03"),
    related=("orb_load", "orb_next", "orb_prev", "orb_iso", "orb_field"),
)
def orb_mo(session: Session, name: str, orbital: str, isovalue: float | None, quality: str) -> Answer:  # noqa: D103
    wanted = orbital.lower()
    wanted = f"mo:{wanted}" if wanted[:1].isdigit() else wanted
    return _show_field(session, session.molecule(name), wanted, isovalue, quality)


@command(
    "Show a field of a molecule: a map, and a surface, in two colours or coloured by a second field.",
    replace(_OBJECT, required=True, otherwise=""),
    Argument(
        "field",
        TEXT,
        "homo, lumo+1, mo:17:beta, density, spin, laplacian, elf, esp, ...",
        required=True,
        completes="fields",
    ),
    Argument(
        "isovalue",
        POSITIVE_NUMBER,
        "in atomic units",
        None,
        "a customary one; of an orbital, one that encloses 90 percent",
    ),
    _QUALITY,
    Argument(
        "color_by",
        TEXT,
        "a second field that colours the surface, such as esp",
        otherwise="two colours",
        completes="fields",
    ),
    Argument("color_range", POSITIVE_NUMBER, "the colours span minus this to plus this", None, "from the data"),
    examples=("orb_field benzene, homo-1, 0.03, fine", "orb_field benzene, density, 0.001, color_by=esp"),
    related=("orb_mo", "orb_iso", "orb_color", "orb_next"),
)
def orb_field(  # noqa: D103
    session: Session,
    name: str,
    field: str,
    isovalue: float | None,
    quality: str,
    color_by: str,
    color_range: float | None,
) -> Answer:
    return _show_field(session, session.molecule(name), field, isovalue, quality, color_by, color_range)


@command(
    "Change the isovalue of a surface that is shown.",
    Argument("isovalue", POSITIVE_NUMBER, "in atomic units", required=True),
    _SURFACE,
    related=("orb_mo", "orb_color"),
)
def orb_iso(session: Session, isovalue: float, name: str) -> Answer:  # noqa: D103
    base = session.surface(name)
    shown = replace(session.shown[base], isovalue=isovalue)
    if shown.request.color_by:  # its colours are computed for the surface at this isovalue
        shown = replace(shown, request=replace(shown.request, isovalue=isovalue))
    found = session.sampled(shown.request)
    session.show(shown, found, base)
    return Answer(None, f'"{base}", isovalue {isovalue:.4g} {found.volume.unit}')


@command(
    "Change colours and transparency of a surface that is shown.",
    Argument("positive", TEXT, "a colour that the viewer knows", otherwise="blue"),
    Argument("negative", TEXT, "a colour that the viewer knows", otherwise="red"),
    Argument("transparency", SHARE, "0 opaque to 1 invisible", None, "as it is"),
    _SURFACE,
    examples=("orb_color marine, orange, 0.5",),
    related=("orb_mo", "orb_iso"),
)
def orb_color(  # noqa: D103
    session: Session, positive: str, negative: str, transparency: float | None, name: str
) -> Answer:
    base = session.surface(name)
    shown = session.shown[base]
    colours = (
        session.host.colour(positive) if positive else POSITIVE,
        session.host.colour(negative) if negative else NEGATIVE,
    )
    transparency = shown.transparency if transparency is None else transparency
    shown = replace(shown, colours=colours, transparency=transparency)
    session.show(shown, session.sampled(shown.request), base)
    return Answer(None, f'"{base}", transparency {transparency:g}')


@command(
    "Show the next orbital in place of the one that is shown.", _SURFACE, related=("orb_prev", "orb_mo"), told=True
)
def orb_next(session: Session, name: str) -> Answer:  # noqa: D103
    base, found = session.step(session.surface(name), 1)
    return Answer(base, found.volume.quantity)


@command(
    "Show the previous orbital in place of the one that is shown.", _SURFACE, related=("orb_next", "orb_mo"), told=True
)
def orb_prev(session: Session, name: str) -> Answer:  # noqa: D103
    base, found = session.step(session.surface(name), -1)
    return Answer(base, found.volume.quantity)


@command(
    "Write a field that is shown: as a volume (.cube, .dx, .mrc, .npz) or its surface as a mesh (.ply, .obj, .glb).",
    Argument("filename", PATH, "the suffix decides", required=True),
    _SURFACE,
    related=("orb_mo", "orb_field"),
)
def orb_export(session: Session, filename: Path, name: str) -> Answer:  # noqa: D103
    shown = session.shown[session.surface(name)]
    kind = "mesh" if filename.suffix.lower() in (".ply", ".obj", ".glb") else "volume"
    exporter_for(filename, kind)
    found = session.sampled(shown.request)
    wavefunction = session.wavefunctions.get(shown.request.path)
    written = isosurface(found.volume, shown.isovalue) if kind == "mesh" else found.volume
    save(written, filename, wavefunction=wavefunction)
    return Answer(None, f"wrote {filename}")


@command(
    "Choose the device that computes, or say which one does.",
    Argument("device", TEXT, "auto, cuda, vulkan or cpu", otherwise="no change"),
    related=("orb_mo",),
    told=True,
)
def orb_device(session: Session, device: str) -> Answer:  # noqa: D103
    from taichi_kernels import runtime

    wanted = device.lower()
    if wanted:
        if wanted not in ("auto", *runtime.DEVICES):
            raise OrbitileError(f"device: expected auto, {', '.join(runtime.DEVICES)}, got {wanted!r}")
        found = None if wanted == "auto" else runtime.probe(wanted)
        if found is not None and not found.available:
            raise OrbitileError(f"device: {wanted} cannot be used here: {found.detail}")
        session.device = wanted
    chosen = runtime.choose(None if session.device == "auto" else session.device)
    return Answer(chosen, f"computing on {chosen} ({runtime.probe(chosen).detail})")


@command(
    "Stop what is being computed; the orbital shown before stays.",
    related=("orb_mo",),
    told=True,
)
def orb_cancel(session: Session) -> Answer:  # noqa: D103
    return Answer(None, "cancelled" if session.cancel() else "nothing is being computed")


COMMANDS: tuple[Command, ...] = (
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
)
