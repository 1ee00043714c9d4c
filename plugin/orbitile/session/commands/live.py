"""Commands for molecules whose electrons follow their atoms."""

from __future__ import annotations

from pathlib import Path

from ...errors import OrbitileError
from ...scf.calculation import Calculation
from ...scf.engines import AUTO, engine_names
from ..declaration import COUNT, FLAG, PATH, SHARE, TEXT, WHOLE_NUMBER, Answer, Argument, command, one_of
from ..live.live import Live
from ..live.order import Level
from ..session import Session


@command(
    "Have the electrons of a molecule follow its atoms: whenever these are moved, in editing mode, by a command or by "
    "a script, a self-consistent field is computed, and what is shown of the molecule changes with it; of none, its "
    "HOMO is shown. Without a name, or for the molecule that is live, this ends.",
    Argument("name", TEXT, "an object, with hydrogen atoms", otherwise="none: what is live is so no longer"),
    Argument("basis", TEXT, "basis set, by its name", "sto-3g", "sto-3g"),
    Argument("method", TEXT, "pbe, another functional as b3lyp, or hf", "pbe", "pbe"),
    Argument("charge", WHOLE_NUMBER, "of the molecule", 0, "0"),
    Argument("unpaired", COUNT, "unpaired electrons", 0, "0"),
    Argument("cartesian", FLAG, "Cartesian d and f functions, as for 6-31G* in Gaussian", False, "0"),
    Argument("engine", one_of(*engine_names()), "what computes", AUTO, "the first that serves"),
    examples=("fragment methane", "orb_live methane, 6-31g*", "translate [0.1,0,0], methane and index 1", "orb_live"),
    related=("orb_settle", "orb_relax", "orb_undo", "orb_path", "orb_scf", "orb_mo", "orb_field"),
)
def orb_live(
    session: Session, name: str, basis: str, method: str, charge: int, unpaired: int, cartesian: bool, engine: str
) -> Answer:
    live = session.live
    if live is not None and name in ("", live.molecule):
        session.end_live()
        return Answer(live.molecule, f"{live.molecule} is no longer live")
    if not name:
        raise OrbitileError("no molecule is live: orb_live NAME makes one so")
    level = Level(Calculation(method, basis, charge, unpaired, cartesian), engine, session.computing.device)
    session.begin_live(name, level)
    return Answer(name, f"{name} is live: {level.calculation}; move its atoms")


@command(
    "Wait until what is shown of the live molecule has converged where its atoms are now: for scripts.",
    related=("orb_live",),
    told=True,
)
def orb_settle(session: Session) -> Answer:
    status = session.settle()
    if status.stage == "failed":
        raise OrbitileError(f"{status.molecule}: {status.text}")
    return Answer(None, f"{status.molecule}: {status.text}")


@command(
    "Have forces pull the atoms of the live molecule to a minimum of the energy. Atoms that you move, by the mouse or "
    "by a command, are held as long as you do, and half a second more; the others follow.",
    Argument("state", one_of("on", "off"), "whether forces move the atoms", "on", "on"),
    Argument("hardness", SHARE, "1 for steps of up to 0.2 Angstrom, 0 for none", None, "as before, at first 0.5"),
    examples=("orb_live methane", "orb_relax", "orb_settle", "orb_relax on, 0.2", "orb_relax off"),
    related=("orb_live", "orb_undo", "orb_path", "orb_settle"),
)
def orb_relax(session: Session, state: str, hardness: float | None) -> Answer:
    live = _live(session)
    if state == "off":
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
    return Answer(f"{before.energy:.7f}", f"{live.molecule} is where its energy was {before.energy:.7f} hartree")


@command(
    "Write all geometries that the live molecule came through, with their orbitals and in order of time, to a series "
    "file: orb_load plays it.",
    Argument("filename", PATH, "such as path.h5; a series that is there is replaced", required=True),
    examples=("orb_path dragged.h5", "orb_load dragged.h5, film", "orb_mo film, homo"),
    related=("orb_live", "orb_undo", "orb_load", "orb_film"),
)
def orb_path(session: Session, filename: Path) -> Answer:
    live = _live(session)
    n = session.computing.aside(lambda: live.path.write(filename, str(live.level.calculation)))
    return Answer(str(filename), f"{n} geometries are in {filename}")


def _live(session: Session) -> Live:
    if session.live is None:
        raise OrbitileError("no molecule is live: orb_live makes one so")
    return session.live
