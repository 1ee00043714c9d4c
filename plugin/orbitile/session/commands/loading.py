"""Commands that load molecules, and tell what is in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from glob import glob
from pathlib import Path

from ...analysis.information import as_text, notes
from ...base.arguments import COUNT, FLAG, PATHS, TEXT, Argument, one_of
from ...base.errors import Cancelled, OrbitileError
from ...files.plain import SUFFIXES
from ...model.cell import cell_of
from ...model.report import Paths
from ...model.wavefunction import Wavefunction
from ...readers import ACCEPTED, MEMBER, descriptions, is_place
from ...scenes.scene import EDGE_COLOUR, EDGE_RADIUS
from ..declaration import Answer, Call, command
from ..host import trajectory_viewer
from ..sampling import ShownTrajectory, WavefunctionCache
from ..session import Session
from ..shown import Shown
from ..source import OneFile, Sampled, Source, atoms_of, files_of, is_volume_file
from ._arguments import OBJECT

TOPIC, PRIORITY = "files", 80

VIEWS = ("zoom", "orient", "nothing")
"""What a viewer does with a molecule that was opened: zooms to it, looks at it along its axes too, or stays."""


@command(
    "Load the output of a quantum-chemistry program, a trajectory or a volume: the molecule becomes an object with "
    "orbitals, and with one state for each frame; a volume is shown as a surface at once.",
    Argument(
        "filename",
        PATHS,
        f"{'; '.join(descriptions('wavefunction', 'volume'))}; for a trajectory "
        f"{', '.join(descriptions('trajectory'))}, or a pattern such as scan/*.molden. Several files are loaded one "
        "by one; with one name, they become the frames of a trajectory",
        required=True,
    ),
    Argument("name", TEXT, "name of the object", otherwise="name of the file"),
    Argument("track", FLAG, "follow the orbitals of a trajectory, so that none flips or jumps", True, "1"),
    Argument("align", FLAG, "superpose each frame of a trajectory on the first one", False, "0"),
    Argument("interpolate", COUNT, "number of interpolated frames between two frames of a trajectory", 0, "0"),
    Argument("view", one_of(*VIEWS), "what to do with the view", "", "as the window is set, zoom at first"),
    Argument("hide", FLAG, "hide the molecules that were loaded before, until they are shown again", True, "1"),
    Argument(
        "accept_damaged",
        FLAG,
        "load files although their orbitals are not orthonormal; whatever is shown of them says so",
        False,
        "0",
    ),
    examples=("orb_load benzene.molden", "orb_mo benzene, homo", "orb_load scan/*.molden, scan, interpolate=2"),
    related=("orb_info", "orb_mo", "orb_field", "orb_frames", "orb_play"),
)
def orb_load(
    session: Session,
    filename: tuple[Path, ...],
    name: str,
    track: bool,
    align: bool,
    interpolate: int,
    view: str,
    hide: bool,
    accept_damaged: bool,
) -> Answer:
    files = [path if glob(str(path)) and not path.exists() else path.resolve() for path in filename]
    shelf = session.shelf
    before, loaded, problems = session.host.molecules(), {}, []
    surfaces = {name: shelf[name].molecule for name in shelf.present()}
    covered = {surfaces[name] for name in session.host.hidden(surfaces)}
    for some in [files] if name else [[file] for file in files]:
        named = tuple(f"{path.absolute()}{ACCEPTED * accept_damaged}" for path in some)
        source = Source(named, track, align, interpolate)
        try:
            molecule, account = _load(session, source, name or name_of(some[0]), given=bool(name))
        except Cancelled:
            raise
        except OrbitileError as error:
            problems.append(error)
        else:
            loaded[molecule] = account
    if problems and not loaded:
        raise OrbitileError("; ".join(map(str, problems))) from problems[0]
    for problem in problems:
        session.host.say(str(problem))
    for other in set(before) - set(loaded) if hide else ():
        session.host.set_aside(other, [name for name in shelf.present() if shelf[name].molecule == other])
        session.drawn.set_aside(other)
    sources = session.host.molecules()
    known = {name for name in loaded if name in before and files_of(before[name])[0] == files_of(sources[name])[0]}
    new = [name for name in loaded if name not in known - covered]
    if new:
        shown = [name for name in shelf.present() if shelf[name].molecule in new]
        session.host.look_at([*new, *shown], view or usual_view(session))
    return Answer(" ".join(loaded), "; ".join(loaded.values()))


def usual_view(session: Session) -> str:
    """What the user wants to become of the view when a file is opened."""
    kept = session.host.settings().get("opening")
    return kept if kept in VIEWS else VIEWS[0]


def _load(session: Session, source: Source, wanted: str, *, given: bool) -> tuple[str, str]:
    """Load one molecule; the name that it got, and an account of it."""
    source = session.computing.aside(source.noted)
    if session.host.has_window():
        session.computing.aside(lambda: session.computing.read(source))
    name = session.name_for(wanted, source.files, given=given)
    if len(source.files) == 1 and is_volume_file(source.files[0]):
        return name, _show_volume(session, name, str(OneFile(source.files[0], source.contents[0])))
    try:
        first, trajectory = place(session, name, source)
    except Cancelled:
        raise
    except OrbitileError as error:
        file = session.computing.aside(lambda: session.computing.without_orbitals(source))
        if file is None:
            raise
        return name, _show_lines(session, name, str(file), str(error))
    if trajectory is None:
        chosen = f"; {first.remarks[-1]}" if is_place(Path(source.files[0])) else ""  # which file of it that is
        return name, f'"{name}", {first.kind} orbitals; {session.showing(name)}{chosen}'
    text = f'"{name}", {len(trajectory.path)} frames, {first.kind} orbitals; {session.showing(name)}'
    problems = [f"frame {index + 1}: {problem}" for index, problem in sorted(trajectory.raw.problems.items())]
    return name, "; ".join([text, *problems[:3]])


def _show_volume(session: Session, name: str, source: str) -> str:
    """Show the first volume of a file, and its atoms as a molecule; an account of it."""
    request = session.computing.of_file(source)
    found = session.computing.sampled(request)
    molecule = session.computing.aside(lambda: atoms_of(source, found.volume))
    _clear(session, name, source)
    session.drawn.forget(name)
    session.host.add_molecule(name, molecule, 0)
    shown = Shown(name, request, found.isovalue)
    surface = session.show(shown, found, with_volume=False)
    session.computing.aside(lambda: None)  # a window is drawn before it takes a large volume, too
    if surface in session.shelf.present():
        session.shelf.put_volume(surface, session.shelf[surface], found.volume)
    size = " x ".join(map(str, found.volume.lattice.shape))
    text = f'"{name}", {found.volume.quantity or "values"} at {size} points, isovalue {found.isovalue:.4g}'
    changing = session.host.syntax.line(Call("orb_iso", (f"{2 * found.isovalue:.4g}", surface)))
    return f"{text}; {changing} changes that"


def _show_lines(session: Session, name: str, source: str, without: str) -> str:
    """Show the atoms of a file of vibrations or spectra; an account of it. `without` says why there are no orbitals."""
    wavefunctions = session.computing.wavefunctions
    kind = wavefunctions.lines_in(source)
    found = wavefunctions.of_file(kind, source)
    if kind == "vibrations":
        what, atoms, title = f"{found.n_modes} vibrations", found, found.title
    else:
        what = f"spectra ({', '.join(spectrum.kind for spectrum in found)})"
        atoms, title = found[0].geometry, found[0].title
    _clear(session, name, source)
    session.drawn.forget(name)
    session.host.add_molecule(name, Sampled(atoms.atomic_numbers, atoms.positions[None], source, title), 0)
    showing = session.host.syntax.line(Call(f"orb_{kind}", (name,)))
    return f'"{name}", {what}; {showing} shows them; without orbitals: {without}'


def place(session: Session, name: str, source: Source) -> tuple[Wavefunction, ShownTrajectory | None]:
    """Have the viewer show a molecule; its wavefunction, of a trajectory the first, and the trajectory if it is one.

    Raises
    ------
    OrbitileError
        When it cannot be read, or is a trajectory and the viewer has no frames.
    """
    source, wavefunctions = source.noted(), session.computing.wavefunctions
    trajectory = wavefunctions.kept(source) or ShownTrajectory(source, wavefunctions.get)
    text = str(OneFile(source.files[0], source.contents[0])) if trajectory.is_one_file else str(source)
    if trajectory.is_one_file:
        wavefunction = wavefunctions.get(text)
        shown, geometry = replace(wavefunction, source=text), wavefunction.geometry
    else:
        trajectory_viewer(session.host)
        wavefunctions.keep(trajectory)
        wavefunction = trajectory.first
        shown, geometry = replace(wavefunction, geometries=trajectory.geometries, source=text), trajectory.at_first
    _clear(session, name, text)
    session.drawn.forget(name)
    session.host.add_molecule(name, shown, geometry)
    if (cell := cell_of(shown)) is not None:
        session.host.put_drawings(name, "cell", (Paths("edges", tuple(cell.edges()), EDGE_COLOUR, EDGE_RADIUS),))
    for note in notes(shown):
        session.host.say(f"{name}: note: {note}")
    return wavefunction, None if trajectory.is_one_file else trajectory


def taker(session: Session, name: str, target: Path) -> Callable[[tuple[str, ...]], str]:
    """What takes a series file that was computed in the background: shows its molecule, and says what there is to say.

    The function returns the name that the molecule got.
    """

    def take(notes: tuple[str, ...]) -> str:
        source = Source((str(target),)).noted()
        session.computing.aside(lambda: session.computing.read(source))
        try:
            molecule = session.name_for(name, source.files, given=True)
        except OrbitileError as error:  # an object that was made meanwhile
            raise OrbitileError(f"{error}. What was computed is in {target}: orb_load loads it") from error
        place(session, molecule, source)
        session.host.look_at([molecule], usual_view(session))
        session.host.say("\n".join([f"{molecule}: {session.showing(molecule)}", *notes]))
        return molecule

    return take


def _clear(session: Session, name: str, source: str) -> None:
    """Remove surfaces of another molecule that had this name."""
    for base in session.shelf.present():
        if session.shelf[base].molecule == name and session.shelf[base].request.path != source:
            session.shelf.remove(base)


_ENDINGS = (".molden.input", *SUFFIXES)
"""Endings that another one stands before, or that stand before another one."""


def name_of(file: Path) -> str:
    """Name of an object, from that of a file or a pattern: without its ending, unless that is a number, and dots."""
    plain = file.name.removesuffix(ACCEPTED).rpartition(MEMBER)[2]
    for ending in reversed(_ENDINGS):
        plain = plain[: -len(ending)] if plain.lower().endswith(ending) else plain
    stem, dot, suffix = plain.rpartition(".")
    plain = stem if dot and not suffix.isdecimal() else plain
    plain = re.sub(r"[.\s]+", "_", plain).strip("*?[]-_ ")
    return plain or re.sub(r"[.\s]+", "_", file.absolute().parent.name) or "molecule"


@command(
    "Print atoms, basis set and the table of orbitals of a molecule; of a trajectory, for the frame that is shown.",
    OBJECT,
    Argument("all", FLAG, "all orbitals, not only those near the HOMO", False, "0"),
    related=("orb_load", "orb_mo"),
    told=True,
)
def orb_info(session: Session, name: str, everything: bool) -> Answer:
    molecule = session.molecule(name)
    source, frame = session.source(molecule), session.frame(molecule)
    lines = session.computing.of_wavefunctions(_information, source, frame, everything).splitlines()
    if frame is not None:
        lines.insert(1, f"frame     {frame + 1} of {session.n_frames(molecule)}")
    return Answer("\n".join(lines), "\n".join(lines))


def _information(wavefunctions: WavefunctionCache, source: str, frame: int | None, everything: bool) -> str:
    return as_text(wavefunctions.get(source, frame), everything=everything)
