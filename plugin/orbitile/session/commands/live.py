"""Commands for molecules whose electrons follow their atoms."""

from __future__ import annotations

from ...errors import OrbitileError
from ...scf.calculation import Calculation
from ...scf.engines import AUTO, engine_names
from ..declaration import COUNT, FLAG, TEXT, WHOLE_NUMBER, Answer, Argument, command, one_of
from ..live.order import Level
from ..session import Session


@command(
    "Have the electrons of a molecule follow its atoms: whenever these are moved, in editing mode, by a command or by "
    "a script, a self-consistent field is computed, and what is shown of the molecule changes with it; of none, its "
    "HOMO is shown. Without a name, or for the molecule that is live as it is, this ends.",
    Argument("name", TEXT, "an object, with hydrogen atoms", otherwise="none: what is live is so no longer"),
    Argument("basis", TEXT, "basis set, by its name", "sto-3g", "sto-3g"),
    Argument("method", TEXT, "pbe, another functional as b3lyp, or hf", "pbe", "pbe"),
    Argument("charge", WHOLE_NUMBER, "of the molecule", 0, "0"),
    Argument("unpaired", COUNT, "unpaired electrons", 0, "0"),
    Argument("cartesian", FLAG, "Cartesian d and f functions, as for 6-31G* in Gaussian", False, "0"),
    Argument("engine", one_of(*engine_names()), "what computes", AUTO, "the first that serves"),
    examples=("fragment methane", "orb_live methane, 6-31g*", "translate [0.1,0,0], methane and index 1", "orb_live"),
    related=("orb_settle", "orb_scf", "orb_mo", "orb_field"),
)
def orb_live(
    session: Session, name: str, basis: str, method: str, charge: int, unpaired: int, cartesian: bool, engine: str
) -> Answer:
    live = session.live
    level = Level(Calculation(method, basis, charge, unpaired, cartesian), engine, session.computing.device)
    if live is not None and (not name or (name, level) == (live.molecule, live.level)):
        session.end_live()
        return Answer(live.molecule, f"{live.molecule} is no longer live")
    if not name:
        raise OrbitileError("no molecule is live: orb_live NAME makes one so")
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
