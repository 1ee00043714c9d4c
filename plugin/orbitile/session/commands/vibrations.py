"""The command that moves a molecule along a mode."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ...base.arguments import COUNT, FLAG, PATH, POSITIVE_NUMBER, TEXT, WHOLE_NUMBER, Argument, one_of
from ...base.errors import OrbitileError
from ...exporters._series import require_series, series_target
from ...model.vibrations import AMPLITUDE, mode_name, motion_of
from ...readers._modes import mode_file
from ...scf.calculation import Calculation
from ..analysing import file_source, geometry_of
from ..calculation import RunningMolecule, RunningVibrations, check_calculation
from ..declaration import Answer, Call, command
from ..live.order import Level
from ..motion import Moving
from ..session import Session
from ._arguments import OBJECT
from .loading import taker

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


@command(
    "Compute the electrons along a normal mode, in the background: an object with frames from one end of the motion to "
    "the other and their orbitals, which orb_play plays, and the field mode:N:density, how the density changes.",
    Argument("mode", COUNT, "number of the mode, as orb_vibrations lists them", required=True),
    replace(OBJECT, help="an object loaded by orb_load from a file with vibrations"),
    Argument("method", TEXT, "gfn2, a functional such as pbe or b3lyp, or hf", None, "that of the file"),
    Argument("basis", TEXT, "name of the basis set", None, "that of the file"),
    Argument("charge", WHOLE_NUMBER, "charge of the molecule", None, "that of the file"),
    Argument("unpaired", COUNT, "number of unpaired electrons", None, "that of the file"),
    Argument("filename", PATH, "series file to write or replace", None, "NAME-modeN.h5 beside the file"),
    examples=("orb_load modes.h5", "orb_electrons 4, modes", "orb_field modes-mode4, mode:4:density"),
    related=("orb_vibrations", "orb_vibrate", "orb_play", "orb_field", "orb_cancel"),
)
def orb_electrons(
    session: Session,
    mode: int,
    name: str,
    method: str | None,
    basis: str | None,
    charge: int | None,
    unpaired: int | None,
    filename: Path | None,
) -> Answer:
    if session.calculation is not None:
        raise OrbitileError(f"{session.calculation.molecule} is being computed; orb_cancel stops that")
    molecule = session.molecule(name)
    source = file_source(session.host, molecule)
    if not source:
        raise OrbitileError(f"{molecule} came from no file with vibrations: orb_load loads one")
    found = session.computing.aside(lambda: session.computing.wavefunctions.vibrations(source))
    motion_of(found, mode)  # what is not there is told at once
    target = series_target((filename or mode_file(found.source, mode)).absolute())
    require_series(target)
    made = session.name_for(f"{molecule}_mode{mode}", (str(target),), given=False)
    given = {"method": method, "basis": basis, "charge": charge, "unpaired": unpaired}
    parts = {key: value for key, value in given.items() if value is not None}
    job = RunningMolecule(
        made, target, taker(session, made, target), computed_electrons, found.source, mode, target, parts
    )
    session.calculate(job)
    showing = session.host.syntax.line(Call("orb_field", (made, f"mode:{mode}:density")))
    return Answer(made, f"{made}: electrons along {mode_name(found, mode)} to {target}; {showing} shows the change")


def computed_electrons(source: str, mode: int, target: Path, given: dict[str, Any]) -> tuple[str, ...]:
    """Compute the electrons along a mode; returns what there is to say, a sentence each.

    Raises
    ------
    OrbitileError
        As `orbitile.electrons_along` does.
    """
    from ...scf.modes import electrons_along

    notes: list[str] = []
    electrons_along(source, mode, target, given=given, report=notes.append)
    return tuple(notes)
