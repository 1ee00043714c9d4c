"""The commands. Each is declared here once; the consoles of all hosts are made from `COMMANDS`."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from glob import glob
from importlib.util import find_spec
from pathlib import Path

from ..analysis.information import as_text
from ..analysis.notes import notes
from ..errors import OrbitileError
from ..evaluation.devices import one_device
from ..exporters import exporter_for, save
from ..fields import as_drawn
from ..model.lattice import QUALITIES
from ..model.wavefunction import Wavefunction
from ..scf.level_of_theory import Calculation
from ..surfaces.isosurface import isosurface
from ..surfaces.isovalue import CUT, reaches_faces
from .calculation import RunningCalculation
from .declaration import (
    COUNT,
    FLAG,
    PATH,
    PATHS,
    POSITIVE_NUMBER,
    SHARE,
    TEXT,
    WHOLE_NUMBER,
    Answer,
    Argument,
    Command,
    command,
    one_of,
)
from .player import TICK
from .session import Session
from .shown import NEGATIVE, POSITIVE, Shown
from .source import OneFile, ShownTrajectory, Source

_OBJECT = Argument("name", TEXT, "an object loaded by orb_load", otherwise="the only one", completes="molecules")
_SURFACE = Argument("name", TEXT, "the surface", otherwise="the one shown last", completes="surfaces")
_QUALITY = Argument("quality", one_of(*QUALITIES), "spacing 0.25, 0.15 or 0.075 Angstrom", "medium", "medium")


@command(
    "Load the output of a quantum-chemistry program, or a trajectory: the molecule appears as an object that knows its "
    "orbitals, with one state a frame.",
    Argument(
        "filename",
        PATHS,
        "Molden, fchk, mkl, wfn, wfx, mwfn, TREXIO, or a log with basis set and orbital coefficients; of a trajectory "
        "a series file, a Molden file of several frames, a log, a pattern as scan/*.molden, or several files",
        required=True,
    ),
    Argument("name", TEXT, "name of the object", otherwise="name of the file"),
    Argument("track", FLAG, "follow the orbitals of a trajectory, so that none flips or jumps", True, "1"),
    Argument("align", FLAG, "turn and move each frame of a trajectory onto the first one", False, "0"),
    Argument("interpolate", COUNT, "frames to put between two frames of a trajectory", 0, "0"),
    examples=("orb_load benzene.molden", "orb_mo benzene, homo", "orb_load scan/*.molden, scan, interpolate=2"),
    related=("orb_info", "orb_mo", "orb_field", "orb_frames", "orb_play"),
)
def orb_load(
    session: Session, filename: tuple[Path, ...], name: str, track: bool, align: bool, interpolate: int
) -> Answer:
    files = [path if glob(str(path)) and not path.exists() else path.resolve() for path in filename]
    source = session.aside(Source(tuple(str(path.absolute()) for path in files), track, align, interpolate).noted)
    if session.host.has_window():
        session.aside(lambda: session.read(source))
    wanted = session.name_for(name or name_of(files[0]), source.files, given=bool(name))
    first, trajectory = place(session, wanted, source)
    if trajectory is None:
        return Answer(wanted, f'"{wanted}", {first.kind} orbitals; "orb_mo {wanted}, homo" shows one')
    text = f'"{wanted}", {len(first.geometries)} frames, {first.kind} orbitals; "orb_mo {wanted}, homo" shows one'
    problems = [f"frame {index + 1}: {problem}" for index, problem in sorted(trajectory.raw.problems.items())]
    return Answer(wanted, "; ".join([text, *problems[:3]]))


def place(session: Session, name: str, source: Source) -> tuple[Wavefunction, ShownTrajectory | None]:
    """Have the host show a molecule; its wavefunction, of a trajectory the first, and the trajectory if it is one."""
    source = source.noted()
    trajectory = session.wavefunctions.kept(source) or ShownTrajectory(source, session.wavefunctions.get)
    text = str(OneFile(source.files[0], source.contents[0])) if trajectory.is_one_file else str(source)
    if trajectory.is_one_file:
        wavefunction = session.wavefunctions.get(text)
        shown, geometry = replace(wavefunction, source=text), wavefunction.geometry
    else:
        session.wavefunctions.keep(trajectory)
        wavefunction = trajectory.first
        shown, geometry = replace(wavefunction, geometries=trajectory.geometries, source=text), trajectory.at_first
    for base in session.present():  # of another molecule that had this name
        if session.shown[base].molecule == name and session.shown[base].request.path != text:
            session.remove(base)
    session.host.add_molecule(name, shown, geometry)
    for note in notes(shown):
        session.host.say(f"{name}: note: {note}")
    return wavefunction, None if trajectory.is_one_file else trajectory


_ENDINGS = (".molden.input", ".gz", ".xz", ".bz2")
"""Endings that another one stands before, or that stand before another one."""


def name_of(file: Path) -> str:
    """Name of an object, from that of a file or a pattern: without its ending, unless that is a number, and dots."""
    plain = file.name
    for ending in reversed(_ENDINGS):
        plain = plain[: -len(ending)] if plain.lower().endswith(ending) else plain
    stem, dot, suffix = plain.rpartition(".")
    plain = stem if dot and not suffix.isdecimal() else plain
    plain = re.sub(r"[.\s]+", "_", plain).strip("*?[]-_ ")
    return plain or re.sub(r"[.\s]+", "_", file.absolute().parent.name) or "molecule"


@command(
    "Print atoms, basis set and the table of orbitals of a molecule.",
    _OBJECT,
    Argument("all", FLAG, "all orbitals, not only those near the HOMO", False, "0"),
    related=("orb_load", "orb_mo"),
    told=True,
)
def orb_info(session: Session, name: str, everything: bool) -> Answer:
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
    source = session.source(molecule)
    drawn, coloured_by = as_drawn(field, color_by)

    def check() -> None:
        wavefunction = session.wavefunctions.get(source)
        for name in filter(None, (field, drawn, coloured_by)):
            session.field(wavefunction, name)

    session.aside(check)
    request = session.request(
        molecule, drawn, quality=quality, isovalue=isovalue, color_by=coloured_by, color_range=color_range
    )
    found = session.sampled(request)
    if request.frame is not None and found.surface.colouring is not None and color_range is None:
        scale = found.surface.colouring  # all frames are to have this one's
        request = replace(request, color_range=max(abs(scale.low), abs(scale.high)))
        found = session.sampled(request)
    molecule = session.name_now(molecule)  # a window that waits can be used
    if session.host.molecules().get(molecule) != source:
        raise OrbitileError(f"{molecule} was deleted, or loaded anew, while its {field} was computed")
    base = session.show(Shown(molecule, request, found.isovalue), found)
    cut = f"; {CUT}" if reaches_faces(found.volume, found.isovalue) else ""
    return Answer(base, f'"{base}", {found.volume.quantity}, isovalue {found.isovalue:.4g} {found.volume.unit}{cut}')


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
def orb_mo(session: Session, name: str, orbital: str, isovalue: float | None, quality: str) -> Answer:
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
def orb_field(
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
def orb_iso(session: Session, isovalue: float, name: str) -> Answer:
    base = session.surface(name)
    shown = replace(session.now(base), isovalue=isovalue)
    if shown.request.color_by or shown.request.frame is not None:  # colours, and other frames, are computed for it
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
def orb_color(session: Session, positive: str, negative: str, transparency: float | None, name: str) -> Answer:
    base = session.surface(name)
    shown = session.now(base)
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
def orb_next(session: Session, name: str) -> Answer:
    base, found = session.step(session.surface(name), 1)
    return Answer(base, found.volume.quantity)


@command(
    "Show the previous orbital in place of the one that is shown.", _SURFACE, related=("orb_next", "orb_mo"), told=True
)
def orb_prev(session: Session, name: str) -> Answer:
    base, found = session.step(session.surface(name), -1)
    return Answer(base, found.volume.quantity)


@command(
    "Write a field that is shown: as a volume (.cube, .dx, .mrc, .npz) or its surface as a mesh (.ply, .obj, .glb).",
    Argument("filename", PATH, "the suffix decides", required=True),
    _SURFACE,
    related=("orb_mo", "orb_field"),
)
def orb_export(session: Session, filename: Path, name: str) -> Answer:
    shown = session.now(session.surface(name))
    kind = "mesh" if filename.suffix.lower() in (".ply", ".obj", ".glb") else "volume"
    exporter_for(filename, kind)
    found = session.sampled(shown.request)
    wavefunction = session.wavefunctions.get(shown.request.path, shown.request.frame)

    def write() -> None:
        written = isosurface(found.volume, shown.isovalue) if kind == "mesh" else found.volume
        save(written, filename, wavefunction=wavefunction)

    session.aside(write)
    return Answer(None, f"wrote {filename}")


@command(
    "Choose the device that computes, or say which one does.",
    Argument("device", TEXT, "auto, cuda, vulkan or cpu", otherwise="no change"),
    related=("orb_mo",),
    told=True,
)
def orb_device(session: Session, device: str) -> Answer:
    from taichi_kernels import runtime

    wanted = device.lower()
    if wanted:
        if wanted not in ("auto", *runtime.DEVICES):
            raise OrbitileError(f"device: expected auto, {', '.join(runtime.DEVICES)}, got {wanted!r}")
        found = None if wanted == "auto" else runtime.probe(wanted)
        if found is not None and not found.available:
            raise OrbitileError(f"device: {wanted} cannot be used here: {found.detail}")
        session.device = wanted
    chosen = one_device(session.device)
    return Answer(chosen, f"computing on {chosen} ({runtime.probe(chosen).detail})")


@command(
    "Stop what is being computed; the orbital shown before stays.",
    related=("orb_mo",),
    told=True,
)
def orb_cancel(session: Session) -> Answer:
    return Answer(None, "cancelled" if session.cancel() else "nothing is being computed")


@command(
    "Compute the surface of a trajectory at a range of its frames, and wait for it: for scripts that write films.",
    Argument("first", COUNT, "first frame, from 1", 1, "1"),
    Argument("last", COUNT, "last frame", None, "the last one there is"),
    _SURFACE,
    examples=("orb_load scan.h5", "orb_mo scan, homo", "orb_frames", "mpng frame"),
    related=("orb_load", "orb_mo", "orb_play", "orb_memory"),
)
def orb_frames(session: Session, first: int, last: int | None, name: str) -> Answer:
    base = session.surface(name)
    n_frames = session.n_frames(session.shown[base].molecule)
    if not n_frames:
        raise OrbitileError(f"{base} is no surface of a trajectory: it has one frame")
    last = n_frames if last is None else last
    if not 1 <= first <= last <= n_frames:
        raise OrbitileError(f"frames: expected a range within 1 to {n_frames}, got {first} to {last}")
    _take_up(session, base)
    problems = session.player.fill(base, range(first - 1, last))
    done = last - first + 1 - len(problems)
    text = [f'"{base}", {done} of {last - first + 1} frames', *problems]
    return Answer(base, "; ".join(text[:4]))


def _take_up(session: Session, base: str) -> None:
    """Show a surface that came with a saved session anew, so that its other frames are computed too."""
    if not session.player.drawn(base):
        shown = session.now(base)
        session.show(shown, session.sampled(shown.request), base)


@command(
    "Play a trajectory no faster than its surfaces are there; 0 stops.",
    Argument("rate", COUNT, "frames a second, at most", 10, "10"),
    replace(_SURFACE, help="a surface of the trajectory"),
    examples=("orb_play", "orb_play 0"),
    related=("orb_frames", "orb_load"),
)
def orb_play(session: Session, rate: int, name: str) -> Answer:
    if not rate:
        session.player.play(0)
        return Answer("0", "stopped")
    of_films = [base for base in session.present() if session.shown[base].request.frame is not None]
    if not of_films:
        raise OrbitileError("no orbital of a trajectory is shown: orb_load loads one, orb_mo shows it")
    base = session.surface(name) if name else of_films[-1]
    if base not in of_films:
        raise OrbitileError(f"{base} is no surface of a trajectory: it has one frame")
    if not session.host.every(TICK, session.player.tick):
        raise OrbitileError("playing needs a window; in a script orb_frames computes all frames, and mpng writes them")
    _take_up(session, base)
    session.player.play(rate, session.shown[base].molecule)
    return Answer(str(rate), f"playing {rate} frames a second at most")


@command(
    "Say, or set, how much memory drawn frames of trajectories may take.",
    Argument("megabytes", COUNT, "at least 64", None, "no change"),
    related=("orb_frames", "orb_play"),
    told=True,
)
def orb_memory(session: Session, megabytes: int | None) -> Answer:
    if megabytes is not None:
        if not 64 <= megabytes <= 1 << 20:
            raise OrbitileError(f"megabytes: expected a number from 64 to {1 << 20}, got {megabytes}")
        session.frames_memory = megabytes
        session.player.trim()
        session.host.keep_settings({**session.host.settings(), "frames_memory": megabytes})
    taken = session.player.taken() / 2**20
    return Answer(None, f"drawn frames take {taken:.0f} MB of {session.frames_memory} MB at most")


@command(
    "Compute the orbitals of an object that came without any, at all its states, by PySCF, in the background.",
    Argument("name", TEXT, "an object, with hydrogen atoms", required=True),
    Argument("basis", TEXT, "basis set, by its name in PySCF", "def2-svp", "def2-svp"),
    Argument("method", TEXT, "hf, rohf, or a functional as pbe, b3lyp or rob3lyp", "hf", "hf"),
    Argument("charge", WHOLE_NUMBER, "of the molecule", 0, "0"),
    Argument("spin", COUNT, "unpaired electrons", 0, "0"),
    Argument(
        "filename", PATH, "series file; what it has is not computed again", None, "name of the object, in this folder"
    ),
    Argument("cartesian", FLAG, "Cartesian d and f functions, as for 6-31G* in Gaussian", False, "0"),
    examples=("fetch 1l2y, state=1", "orb_scf water, basis=def2-tzvp, method=b3lyp"),
    related=("orb_load", "orb_mo", "orb_cancel"),
)
def orb_scf(
    session: Session,
    name: str,
    basis: str,
    method: str,
    charge: int,
    spin: int,
    filename: Path | None,
    cartesian: bool,
) -> Answer:
    if session.calculation is not None:
        raise OrbitileError(f"orbitals of {session.calculation.molecule} are being computed; orb_cancel stops that")
    if find_spec("pyscf") is None and not os.environ.get("ORBITILE_PYTHON"):
        raise OrbitileError("orbitals are computed by the package pyscf: pip install 'orbitile[scf]'")
    numbers, geometries = session.host.geometries(name)
    calculation = Calculation(method, basis, charge, spin, cartesian)
    target = (filename or Path(f"{name}.series.h5")).absolute()
    electrons = int(numbers.sum()) - charge
    if electrons < spin or (electrons - spin) % 2:
        raise OrbitileError(
            f"{name} has {electrons} electrons at a charge of {charge}: {spin} cannot be unpaired. Are hydrogen atoms "
            "missing (h_add adds them)? Otherwise give charge and spin"
        )
    session.calculate(RunningCalculation(name, numbers, geometries, calculation, target))
    return Answer(str(target), f"{calculation} of {len(geometries)} frames: {target}")


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
    orb_frames,
    orb_play,
    orb_memory,
    orb_scf,
)
