"""Commands that compute orbitals, once and for molecules whose electrons follow their atoms."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from ...base.arguments import COUNT, FLAG, NUMBER, PATH, SHARE, TEXT, WHOLE_NUMBER, Argument, one_of
from ...base.errors import OrbitileError
from ...model.geometry import Geometry
from ...scf.calculation import Calculation
from ...scf.engines import AUTO, engine_names
from ..calculation import RunningCalculation, RunningPath, check_calculation
from ..declaration import Answer, command
from ..host import trajectory_viewer
from ..live.live import Live
from ..live.order import Level, energy_text
from ..live.scan import SCAN_UNITS, RunningScan
from ..session import Session

TOPIC, PRIORITY = "calculations and live molecules", 30

_BASIS = Argument("basis", TEXT, "name of the basis set", None, "that of the file, else def2-svp")
_CHARGE = Argument("charge", WHOLE_NUMBER, "total charge", None, "that of the file, else the sum of formal charges")
_SPIN = Argument("spin", COUNT, "number of unpaired electrons", None, "that of the file, else 0")
_CARTESIAN = Argument(
    "cartesian",
    FLAG,
    "Cartesian (6D, 10F) instead of spherical functions (5D, 7F); 6-31G* in Gaussian has 6D",
    None,
    "as in the file, else 0",
)
_SOLVENT = Argument(
    "solvent",
    TEXT,
    "a solvent such as water or thf, or its dielectric constant, as a polarisable continuum; vacuum for none",
    None,
    "that of the file, else vacuum",
)
_SMEARING = Argument(
    "smearing",
    NUMBER,
    "electronic temperature in kelvin for fractional occupations; 0 for none",
    None,
    "that of the file, else 0",
)


@command(
    "Compute the orbitals of an object by HF, DFT or GFN-xTB, for all its states, in the background.",
    Argument("name", TEXT, "an object with all hydrogen atoms", required=True),
    _BASIS,
    Argument(
        "method", TEXT, "hf, rohf, a functional such as pbe or rob3lyp-d3bj, or gfn2", None, "that of the file, else hf"
    ),
    _CHARGE,
    _SPIN,
    Argument(
        "filename",
        PATH,
        "series file; frames that it already has are not computed again",
        None,
        "the name of the object, in the current folder",
    ),
    _CARTESIAN,
    _SOLVENT,
    _SMEARING,
    examples=("fetch 1l2y, state=1", "orb_scf water, basis=def2-tzvp, method=b3lyp-d3bj, solvent=water"),
    related=("orb_load", "orb_mo", "orb_cancel"),
)
def orb_scf(
    session: Session,
    name: str,
    basis: str | None,
    method: str | None,
    charge: int | None,
    spin: int | None,
    filename: Path | None,
    cartesian: bool | None,
    solvent: str | None,
    smearing: float | None,
) -> Answer:
    if session.calculation is not None:
        raise OrbitileError(f"orbitals of {session.calculation.molecule} are being computed; orb_cancel stops that")
    numbers, geometries = trajectory_viewer(session.host).geometries(name)
    given = _given(
        basis=basis,
        method=method,
        charge=charge,
        unpaired=spin,
        cartesian=cartesian,
        solvent=solvent,
        smearing=smearing,
        **session.surroundings(name),
    )
    level, remarks = session.live.level_of(name, given, Level(Calculation()))
    calculation = level.calculation
    target = (filename or Path(f"{name}.series.h5")).absolute()
    check_calculation(name, numbers, calculation)
    session.calculate(RunningCalculation(name, numbers, geometries, calculation, target))
    return Answer(str(target), "; ".join([f"{calculation} of {len(geometries)} frames: {target}", *remarks]))


@command(
    "Find the path of lowest energy between two structures of a molecule and its saddle point, in the background: both "
    "are moved to minima first. The energies are printed; orb_load shows the path from the file, with its orbitals.",
    Argument("first", TEXT, "an object with all hydrogen atoms; OBJECT/3 is its third state", required=True),
    Argument("last", TEXT, "the same, with the same atoms in the same order", required=True),
    _BASIS,
    Argument(
        "method", TEXT, "a functional such as pbe, hf, or gfn2 (semi-empirical)", None, "that of the file, else pbe"
    ),
    _CHARGE,
    _SPIN,
    Argument(
        "filename", PATH, "series file; it goes on with a search that was interrupted", None, "FIRST_to_LAST.path.h5"
    ),
    _SOLVENT,
    examples=("orb_path_between hcn, hnc, method=gfn2", "orb_load hcn_to_hnc.path.h5", "orb_mo hcn_to_hnc, homo"),
    related=("orb_scf", "orb_load", "orb_play", "orb_cancel"),
)
def orb_path_between(
    session: Session,
    first: str,
    last: str,
    basis: str | None,
    method: str | None,
    charge: int | None,
    spin: int | None,
    filename: Path | None,
    solvent: str | None,
) -> Answer:
    if session.calculation is not None:
        raise OrbitileError(f"{session.calculation.molecule} is being computed; orb_cancel stops that")
    given = _given(basis=basis, method=method, charge=charge, unpaired=spin, solvent=solvent)
    level, remarks = session.live.level_of(first.partition("/")[0], given, Level(Calculation("pbe")))
    structures = {name.replace("/", "-"): _structure(session, name, level.calculation) for name in (first, last)}
    if len(structures) < 2:
        raise OrbitileError(f"{first}: expected two structures, got one twice")
    target = (filename or Path(f"{'_to_'.join(structures)}.path.h5")).absolute()
    session.calculate(RunningPath(structures, level.calculation, target))
    return Answer(str(target), "; ".join([f"{level.calculation}: {target}", *remarks]))


def _structure(session: Session, text: str, calculation: Calculation) -> Geometry:
    """An object of one state, or one state of several, as OBJECT/STATE."""
    name, _, state = text.partition("/")
    numbers, frames = trajectory_viewer(session.host).geometries(name)
    if not state and len(frames) != 1:
        raise OrbitileError(f"{name}: expected one state, got {len(frames)}; {name}/1 is the first of them")
    if state and not (state.isdecimal() and 1 <= int(state) <= len(frames)):
        raise OrbitileError(f"{name}: expected a state from 1 to {len(frames)}, got {state!r}")
    check_calculation(name, numbers, calculation)
    return Geometry(np.asarray(numbers, np.int64), frames[int(state or 1) - 1])


@command(
    "Make a molecule live: whenever its atoms are moved, in editing mode, by a command or by a script, its "
    "wavefunction is recomputed (SCF), and its surfaces change with it; if there is none, its HOMO is shown. Without "
    "a name, or with the live molecule and no other settings, this ends, and a molecule from a file is restored to "
    "what the file holds.",
    Argument("name", TEXT, "an object with all hydrogen atoms", otherwise="none: the live molecule is no longer live"),
    Argument("basis", TEXT, "name of the basis set", None, "that of the file, else sto-3g"),
    Argument(
        "method",
        TEXT,
        "pbe, another functional such as b3lyp, hf, or gfn2 (semi-empirical)",
        None,
        "that of the file, else pbe",
    ),
    _CHARGE,
    Argument("unpaired", COUNT, "number of unpaired electrons", None, "that of the file, else 0"),
    _CARTESIAN,
    Argument("engine", one_of(*engine_names()), "program that computes", AUTO, "the first one suitable"),
    _SOLVENT,
    _SMEARING,
    examples=("fragment methane", "orb_live methane, 6-31g*", "translate [0.1,0,0], methane and index 1", "orb_live"),
    related=("orb_settle", "orb_relax", "orb_undo", "orb_path", "orb_scf", "orb_mo", "orb_field"),
)
def orb_live(
    session: Session,
    name: str,
    basis: str | None,
    method: str | None,
    charge: int | None,
    unpaired: int | None,
    cartesian: bool | None,
    engine: str,
    solvent: str | None,
    smearing: float | None,
) -> Answer:
    live = session.live.now
    given = _given(
        basis=basis,
        method=method,
        charge=charge,
        unpaired=unpaired,
        cartesian=cartesian,
        solvent=solvent,
        smearing=smearing,
    )
    if not name and live is None:
        raise OrbitileError("no molecule is live: orb_live NAME makes one live")
    if live is not None and (not name or (name == live.molecule and not given and engine in (AUTO, live.level.engine))):
        return _ended(session, live)
    given |= _given(**session.surroundings(name))
    otherwise = Level(Calculation("pbe", "sto-3g"), engine, session.computing.device)
    level, remarks = session.live.level_of(name, given, otherwise)
    if live is not None and (name, level) == (live.molecule, live.level):
        return _ended(session, live)
    session.live.begin(name, level)
    told = "".join(f"; {remark}" for remark in remarks)
    return Answer(name, f"{name} is live: {level.calculation}{told}; move its atoms")


def _given(**parts: Any) -> dict[str, Any]:
    """The parts of a calculation that are given."""
    return {part: value for part, value in parts.items() if value is not None}


def _ended(session: Session, live: Live) -> Answer:
    session.live.end()
    again = "" if live.origin is None else ", and is again as in its file; orb_path writes the geometries that it had"
    return Answer(live.molecule, f"{live.molecule} is no longer live{again}")


@command(
    "Wait until the surfaces of the live molecule have converged for its current geometry; for scripts.",
    related=("orb_live",),
    told=True,
)
def orb_settle(session: Session) -> Answer:
    status = session.live.settle()
    if status.stage == "failed":
        raise OrbitileError(f"{status.molecule}: {status.text}")
    return Answer(f"{status.energies[-1][1]:.7f}", f"{status.molecule}: {status.text}")


@command(
    "Relax the live molecule: forces move its atoms to a minimum of the energy. Atoms that you move, by the mouse or "
    "by a command, are held until half a second after you stop; the others follow.",
    Argument("relax", one_of("on", "off"), "whether forces move the atoms", "on", "on"),
    Argument("hardness", SHARE, "1 for steps of up to 0.2 Angstrom, 0 for none", None, "as before, at first 0.5"),
    examples=("orb_live methane", "orb_relax", "orb_settle", "orb_relax on, 0.2", "orb_relax off"),
    related=("orb_live", "orb_undo", "orb_path", "orb_settle"),
)
def orb_relax(session: Session, relax: str, hardness: float | None) -> Answer:
    live = _live(session)
    if relax == "off":
        live.relax(None)
        return Answer("off", f"{live.molecule}: forces no longer move its atoms")
    live.relax(live.status.hardness if hardness is None else hardness)
    return Answer("on", f"{live.molecule}: forces move its atoms to a minimum, except those that you move")


@command(
    "Move the atoms of the live molecule back to where they last rested; each repetition goes back one further, in "
    "PyMOL also to the atoms that there were before some were added, removed or changed. Forces no longer move them.",
    related=("orb_live", "orb_relax", "orb_path"),
)
def orb_undo(session: Session) -> Answer:
    live = _live(session)
    before = live.undo()
    return Answer(
        f"{before.energy:.7f}", f"{live.molecule} is back at the geometry with the energy {energy_text(before.energy)}"
    )


@command(
    "Write all geometries of the molecule that is live, or was last, with their orbitals to a series file, in order "
    "of time; orb_load loads it as a trajectory.",
    Argument("filename", PATH, "such as path.h5; an existing series is replaced", required=True),
    examples=("orb_path dragged.h5", "orb_load dragged.h5, film", "orb_mo film, homo"),
    related=("orb_live", "orb_undo", "orb_load", "orb_film"),
)
def orb_path(session: Session, filename: Path) -> Answer:
    live = session.live.last or _live(session)
    n = session.computing.aside(lambda: live.path.write(filename, str(live.level.calculation)))
    return Answer(str(filename), f"{n} geometries are in {filename}")


@command(
    "Scan a distance, an angle or a dihedral of the live molecule: a number of values is computed ahead, so that "
    "orb_scan_to goes to any of them at once. The smaller part of the molecule moves, rigidly. Without atoms, the "
    "picked ones are scanned; during a scan, this ends it and prints the energies.",
    Argument(
        "atoms",
        TEXT,
        "two, three or four, such as 1-2-3-4, or selections of one atom each, such as pk1 pk2",
        "",
        "see above",
    ),
    Argument("first", NUMBER, f"in {SCAN_UNITS}", None, "-180 for a dihedral, else below the present value"),
    Argument("last", NUMBER, f"in {SCAN_UNITS}", None, "180 for a dihedral, else above the present value"),
    Argument("steps", COUNT, "number of values, first and last included", None, "37 for a dihedral, else 21"),
    examples=("fragment formamide", "orb_live formamide", "orb_scan 4-2-1-3, 0, 180, 7", "orb_scan_to 60", "orb_scan"),
    related=("orb_live", "orb_scan_to", "orb_scan_save", "orb_settle"),
)
def orb_scan(session: Session, atoms: str, first: float | None, last: float | None, steps: int | None) -> Answer:
    live = _live(session)
    if live.scan is not None and not atoms:
        told = _scanned(live)
        live.end_scan()
        return Answer(None, f"{live.molecule}: the scan has ended\n{told}")
    scan = live.begin_scan(_atoms(session, atoms), first, last, steps)
    if session.host.has_window():
        return Answer(None, f"{live.molecule}: {scan} is computed ahead; orb_scan_to goes to a value, orb_scan ends it")
    session.live.settle(scanned=True)
    return Answer(None, f"{live.molecule}: {scan}\n{_scanned(live)}")


@command(
    "Move the atoms of the live molecule to the value of the scan that is nearest to the given one.",
    Argument("value", NUMBER, f"in {SCAN_UNITS}", required=True),
    examples=("orb_scan 4-2-1-3", "orb_scan_to -60", "orb_settle"),
    related=("orb_scan", "orb_settle"),
)
def orb_scan_to(session: Session, value: float) -> Answer:
    live = _live(session)
    scan = _running(live).scan
    index = scan.index_of(value)
    live.scan_to(index)
    there = scan.shown_values[index]
    return Answer(f"{there:g}", f"{live.molecule}: {scan.name} is {there:g} {scan.unit}")


@command(
    "Write the computed geometries of the scan with their orbitals to a series file, in the order of the values; "
    "orb_load loads it as a trajectory.",
    Argument("filename", PATH, "such as scan.h5; an existing series is replaced", required=True),
    examples=("orb_scan 4-2-1-3", "orb_scan_save scan.h5", "orb_load scan.h5, film", "orb_mo film, homo"),
    related=("orb_scan", "orb_load", "orb_film"),
)
def orb_scan_save(session: Session, filename: Path) -> Answer:
    live = _live(session)
    sources = _running(live).sources
    if not sources:
        raise OrbitileError("no geometry of the scan has been computed yet; try again in a moment")
    session.computing.aside(lambda: live.path.write(filename, str(live.level.calculation), sources))
    return Answer(str(filename), f"{len(sources)} geometries are in {filename}")


def _running(live: Live) -> RunningScan:
    if live.scan is None:
        raise OrbitileError("no scan is running: orb_scan begins one")
    return live.scan


def _scanned(live: Live) -> str:
    """How far a scan is, and its energies as a table."""
    status = live.status.scan
    return "" if status is None else f"{status.text}\n{status.table}"


def _atoms(session: Session, text: str) -> tuple[int, ...]:
    """Atoms of the live molecule, from 0, by what the user says, or those that are picked."""
    live = _live(session)
    if re.fullmatch(r"\d{1,9}([- ]+\d{1,9})*", text):
        return tuple(int(number) - 1 for number in re.findall(r"\d+", text))
    found = session.host.picked(live.molecule, text.split())
    if not found:
        raise OrbitileError(
            "pick two, three or four atoms first (in PyMOL: Mouse > 3 Button Editing, then click them), or type their "
            "numbers: orb_scan 1-2-3-4"
        )
    return found


def _live(session: Session) -> Live:
    if session.live.now is None:
        raise OrbitileError("no molecule is live: orb_live makes one live")
    return session.live.now
