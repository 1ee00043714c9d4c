"""The command that moves a molecule along a mode."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...base.arguments import COUNT, FLAG, POSITIVE_NUMBER, TEXT, Argument, one_of
from ...base.errors import OrbitileError
from ...model.vibrations import AMPLITUDE
from ...scf.calculation import Calculation
from ..analysing import file_source, geometry_of
from ..calculation import RunningVibrations, check_calculation
from ..declaration import Answer, command
from ..live.order import Level
from ..motion import Moving
from ..session import Session
from ._arguments import OBJECT

TOPIC, PRIORITY = "vibrations", 35


@command(
    "Have a molecule move along a normal mode, or show it by arrows; 0 stops, and the atoms are where they were.",
    Argument("mode", COUNT, "number of the mode, as orb_vibrations lists them", 0, "0: stop"),
    replace(OBJECT, help="an object loaded by orb_load from a file with vibrations"),
    Argument("amplitude", POSITIVE_NUMBER, "largest displacement of an atom in Angstrom", AMPLITUDE, f"{AMPLITUDE:g}"),
    Argument("show", one_of("motion", "arrows", "both"), "what shows the mode", "motion", "motion"),
    examples=("orb_load water.log", "orb_vibrations water", "orb_vibrate 2, water", "orb_vibrate 0"),
    related=("orb_vibrations", "orb_load", "orb_picture"),
)
def orb_vibrate(session: Session, mode: int, name: str, amplitude: float, show: str) -> Answer:
    if not mode:
        session.motion.stop()
        return Answer("0", "stopped")
    moving = session.motion.now
    molecule = session.molecule(name or (moving.molecule if moving is not None else ""))
    vibrate(session, molecule, mode, amplitude, moves=show != "arrows", arrows=show != "motion")
    return Answer(str(mode), session.motion.now.text if session.motion.now is not None else "")


COMPUTED = (
    Argument(
        "method", TEXT, "to compute them, in the background: gfn2, hf or a functional", None, "read from the file"
    ),
    Argument("basis", TEXT, "name of the basis set", None, "that of the file, else sto-3g; none for gfn2"),
    Argument("optimise", FLAG, "move the atoms to a minimum first", None, "0"),
)
"""Arguments by which vibrations are computed and not read."""


def compute(
    session: Session, name: str, filename: Path | None, method: str | None, basis: str | None, optimise: bool | None
) -> Answer:
    """Begin to compute the vibrations of an object, in the background; they are in a series file then.

    Raises
    ------
    OrbitileError
        When something is being computed, or this cannot be.
    """
    if session.calculation is not None:
        raise OrbitileError(f"{session.calculation.molecule} is being computed; orb_cancel stops that")
    name = name or next(iter(session.host.structures()), "")
    geometry = geometry_of(session.host, name)
    given = {key: value for key, value in {"method": method, "basis": basis}.items() if value is not None}
    level, remarks = session.live.level_of(name, given, Level(Calculation("gfn2")))
    target = (filename or Path(f"{name}.modes.h5")).absolute()
    check_calculation(name, geometry.atomic_numbers, level.calculation)
    session.calculate(RunningVibrations(name, geometry, level.calculation, target, bool(optimise)))
    return Answer(str(target), "; ".join([f"{level.calculation}, vibrations: {target}", *remarks]))


def vibrate(session: Session, molecule: str, mode: int, amplitude: float, *, moves: bool, arrows: bool) -> None:
    """Have a molecule move along a mode of its file, or show arrows, or neither.

    Raises
    ------
    OrbitileError
        When its file has no vibrations, there is no such mode, or the atoms cannot be moved.
    """
    source, live = file_source(session.host, molecule), session.live.now
    if not source:
        raise OrbitileError(f"{molecule} came from no file with vibrations: orb_load loads one")
    if live is not None and live.molecule == molecule:
        raise OrbitileError(f"{molecule} is live: end that first, then it can move along its modes")
    if not (moves or arrows):
        session.motion.stop()
        return
    found = session.computing.aside(lambda: session.computing.wavefunctions.vibrations(source))
    session.motion.show(Moving(molecule, found, mode, amplitude, moves, arrows))
