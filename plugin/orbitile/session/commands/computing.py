"""Commands that say what computes, and stop it; and that have orbitals computed."""

from __future__ import annotations

from pathlib import Path

from ...arguments import COUNT, FLAG, PATH, TEXT, WHOLE_NUMBER, Argument, one_of
from ...errors import OrbitileError
from ...evaluation.devices import one_device
from ...scf.calculation import Calculation
from ..calculation import RunningCalculation, check_calculation
from ..declaration import Answer, command
from ..host import trajectory_viewer
from ..live.order import Level
from ..session import Session
from ..words import device_names


@command(
    "Choose the device that computes, or say which one does.",
    Argument("device", one_of(*device_names()), "what is to compute from now on", otherwise="no change"),
    related=("orb_mo",),
    told=True,
)
def orb_device(session: Session, device: str) -> Answer:
    from taichi_kernels.devices import probe

    if device:
        found = None if device == "auto" else probe(device)
        if found is not None and not found.available:
            raise OrbitileError(f"device: {device} cannot be used here: {found.detail}")
        session.computing.device = device
    chosen = one_device(session.computing.device)
    return Answer(chosen, f"computing on {chosen} ({probe(chosen).detail})")


@command(
    "Stop what is being computed; the orbital shown before stays.",
    related=("orb_mo",),
    told=True,
)
def orb_cancel(session: Session) -> Answer:
    return Answer(None, "cancelled" if session.cancel() else "nothing is being computed")


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
    level, remarks = session.level_of(name, given, Level(Calculation()))
    calculation = level.calculation
    target = (filename or Path(f"{name}.series.h5")).absolute()
    check_calculation(name, numbers, calculation)
    session.calculate(RunningCalculation(name, numbers, geometries, calculation, target))
    return Answer(str(target), "; ".join([f"{calculation} of {len(geometries)} frames: {target}", *remarks]))
