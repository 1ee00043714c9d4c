"""Commands that compute orbitals, once and for molecules whose electrons follow their atoms."""

from __future__ import annotations

import re
from pathlib import Path

from ...base.arguments import COUNT, FLAG, NUMBER, PATH, SHARE, TEXT, WHOLE_NUMBER, Argument, one_of
from ...base.errors import OrbitileError
from ...scf.calculation import Calculation
from ...scf.engines import AUTO, engine_names
from ..calculation import RunningCalculation, check_calculation
from ..declaration import Answer, command
from ..host import trajectory_viewer
from ..live.live import Live
from ..live.order import Level, energy_text
from ..live.scan import SCAN_UNITS, RunningScan
from ..session import Session

TOPIC, PRIORITY = "calculations and live molecules", 30


@command(
    "Compute the orbitals of an object, at all its states, in the background.",
    Argument("name", TEXT, "an object, with hydrogen atoms", required=True),
    Argument("basis", TEXT, "basis set, by its name", None, "that of the file, else def2-svp"),
    Argument("method", TEXT, "hf, rohf, or a functional as pbe, b3lyp or rob3lyp", None, "that of the file, else hf"),
    Argument("charge", WHOLE_NUMBER, "of the molecule", None, "that of the file, else of the formal charges"),
    Argument("spin", COUNT, "unpaired electrons", None, "those of the file, else 0"),
    Argument(
        "filename", PATH, "series file; what it has is not computed again", None, "name of the object, in this folder"
    ),
    Argument(
        "cartesian", FLAG, "Cartesian d and f functions, as for 6-31G* in Gaussian", None, "as in the file, else 0"
    ),
    examples=("fetch 1l2y, state=1", "orb_scf water, basis=def2-tzvp, method=b3lyp"),
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
) -> Answer:
    if session.calculation is not None:
        raise OrbitileError(f"orbitals of {session.calculation.molecule} are being computed; orb_cancel stops that")
    numbers, geometries = trajectory_viewer(session.host).geometries(name)
    parts = {"basis": basis, "method": method, "charge": charge, "unpaired": spin, "cartesian": cartesian}
    given = {part: value for part, value in parts.items() if value is not None}
    level, remarks = session.live.level_of(name, given, Level(Calculation()))
    calculation = level.calculation
    target = (filename or Path(f"{name}.series.h5")).absolute()
    check_calculation(name, numbers, calculation)
    session.calculate(RunningCalculation(name, numbers, geometries, calculation, target))
    return Answer(str(target), "; ".join([f"{calculation} of {len(geometries)} frames: {target}", *remarks]))


@command(
    "Have the electrons of a molecule follow its atoms: whenever these are moved, in editing mode, by a command or by "
    "a script, a self-consistent field is computed, and what is shown of the molecule changes with it; of none, its "
    "HOMO is shown. Without a name, or for the molecule that is live as it is, this ends: a molecule that came from a "
    "file is then what it was before.",
    Argument("name", TEXT, "an object, with hydrogen atoms", otherwise="none: what is live is so no longer"),
    Argument("basis", TEXT, "basis set, by its name", None, "that of the file, else sto-3g"),
    Argument("method", TEXT, "pbe, another functional as b3lyp, or hf", None, "that of the file, else pbe"),
    Argument("charge", WHOLE_NUMBER, "of the molecule", None, "that of the file, else of the formal charges"),
    Argument("unpaired", COUNT, "unpaired electrons", None, "those of the file, else 0"),
    Argument(
        "cartesian", FLAG, "Cartesian d and f functions, as for 6-31G* in Gaussian", None, "as in the file, else 0"
    ),
    Argument("engine", one_of(*engine_names()), "what computes", AUTO, "the first that serves"),
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
) -> Answer:
    live = session.live.now
    parts = {"basis": basis, "method": method, "charge": charge, "unpaired": unpaired, "cartesian": cartesian}
    given = {part: value for part, value in parts.items() if value is not None}
    if not name and live is None:
        raise OrbitileError("no molecule is live: orb_live NAME makes one so")
    if live is not None and (not name or (name == live.molecule and not given and engine in (AUTO, live.level.engine))):
        return _ended(session, live)
    otherwise = Level(Calculation("pbe", "sto-3g"), engine, session.computing.device)
    level, remarks = session.live.level_of(name, given, otherwise)
    if live is not None and (name, level) == (live.molecule, live.level):
        return _ended(session, live)
    session.live.begin(name, level)
    told = "".join(f"; {remark}" for remark in remarks)
    return Answer(name, f"{name} is live: {level.calculation}{told}; move its atoms")


def _ended(session: Session, live: Live) -> Answer:
    session.live.end()
    again = "" if live.origin is None else ", and what its file holds again; orb_path writes where it was"
    return Answer(live.molecule, f"{live.molecule} is no longer live{again}")


@command(
    "Wait until what is shown of the live molecule has converged where its atoms are now: for scripts.",
    related=("orb_live",),
    told=True,
)
def orb_settle(session: Session) -> Answer:
    status = session.live.settle()
    if status.stage == "failed":
        raise OrbitileError(f"{status.molecule}: {status.text}")
    return Answer(f"{status.energies[-1][1]:.7f}", f"{status.molecule}: {status.text}")


@command(
    "Have forces pull the atoms of the live molecule to a minimum of the energy. Atoms that you move, by the mouse or "
    "by a command, are held as long as you do, and half a second more; the others follow.",
    Argument("relax", one_of("on", "off"), "whether forces move the atoms", "on", "on"),
    Argument("hardness", SHARE, "1 for steps of up to 0.2 Angstrom, 0 for none", None, "as before, at first 0.5"),
    examples=("orb_live methane", "orb_relax", "orb_settle", "orb_relax on, 0.2", "orb_relax off"),
    related=("orb_live", "orb_undo", "orb_path", "orb_settle"),
)
def orb_relax(session: Session, relax: str, hardness: float | None) -> Answer:
    live = _live(session)
    if relax == "off":
        live.relax(None)
        return Answer("off", f"{live.molecule}: forces leave the atoms alone")
    live.relax(live.status.hardness if hardness is None else hardness)
    return Answer("on", f"{live.molecule}: forces pull its atoms to a minimum, but for those that you move")


@command(
    "Put the atoms of the live molecule back to where they rested before, once more to where they did before that. "
    "Forces do not move them any more.",
    related=("orb_live", "orb_relax", "orb_path"),
)
def orb_undo(session: Session) -> Answer:
    live = _live(session)
    before = live.undo()
    return Answer(f"{before.energy:.7f}", f"{live.molecule} is where its energy was {energy_text(before.energy)}")


@command(
    "Write all geometries of the molecule that is live, or was last, to a series file, in order of time and with their "
    "orbitals: orb_load plays it.",
    Argument("filename", PATH, "such as path.h5; a series that is there is replaced", required=True),
    examples=("orb_path dragged.h5", "orb_load dragged.h5, film", "orb_mo film, homo"),
    related=("orb_live", "orb_undo", "orb_load", "orb_film"),
)
def orb_path(session: Session, filename: Path) -> Answer:
    live = session.live.last or _live(session)
    n = session.computing.aside(lambda: live.path.write(filename, str(live.level.calculation)))
    return Answer(str(filename), f"{n} geometries are in {filename}")


@command(
    "Scan by hand: have a distance, an angle or a dihedral of the live molecule computed ahead for a number of values, "
    "so that orb_scan_to goes from one to the other at once. The smaller part behind the bond moves. Without atoms, "
    "those that are picked; where something is scanned, this ends and tells the energies.",
    Argument("atoms", TEXT, "two, three or four, as 1-2-3-4, or selections of one each, as pk1 pk2", "", "see above"),
    Argument("first", NUMBER, f"in {SCAN_UNITS}", None, "-180 degrees, or around where the atoms are"),
    Argument("last", NUMBER, "the same", None, "180 degrees, or around where the atoms are"),
    Argument("steps", COUNT, "values, first and last included", None, "37 of a dihedral, 21 of others"),
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
    "Put the atoms of the live molecule to the value of the scan that is nearest to one.",
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
    "Write the geometries of the scan that have been computed, with their orbitals and in the order of the values, to "
    "a series file: orb_load plays it.",
    Argument("filename", PATH, "such as scan.h5; a series that is there is replaced", required=True),
    examples=("orb_scan 4-2-1-3", "orb_scan_save scan.h5", "orb_load scan.h5, film", "orb_mo film, homo"),
    related=("orb_scan", "orb_load", "orb_film"),
)
def orb_scan_save(session: Session, filename: Path) -> Answer:
    live = _live(session)
    sources = _running(live).sources
    if not sources:
        raise OrbitileError("no geometry of the scan has been computed yet")
    session.computing.aside(lambda: live.path.write(filename, str(live.level.calculation), sources))
    return Answer(str(filename), f"{len(sources)} geometries are in {filename}")


def _running(live: Live) -> RunningScan:
    if live.scan is None:
        raise OrbitileError("nothing is scanned: orb_scan begins that")
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
        raise OrbitileError("pick two, three or four atoms first (in PyMOL in editing mode), or give numbers: 1-2-3-4")
    return found


def _live(session: Session) -> Live:
    if session.live.now is None:
        raise OrbitileError("no molecule is live: orb_live makes one so")
    return session.live.now
