"""`orbitile vibrations`: the vibrations in a file, or computed for its geometry."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..analysis.reports import Analysis
from ..analysis.reports import __name__ as _ANALYSES
from ..base.arguments import number
from ..base.errors import FileError, OrbitileError
from ..base.registry import module_of
from ._analysis import AnalysisCommand
from ._arguments import CommandParser, add_calculation, add_executor, add_frame, executor_of, read_calculation
from ._console import note, progress_bar, stoppable, tell

if TYPE_CHECKING:
    from ..model.vibrations import Vibrations

HELP = "normal modes and their infrared, Raman and VCD spectra: read from a file, or computed"
PRIORITY = 87

_COMMAND = AnalysisCommand("vibrations", cast("Analysis", module_of(_ANALYSES, Analysis, "vibrations")))
_SERIES = re.compile(r"\.(zarr|h5|hdf\w*)$", re.IGNORECASE)

_EPILOG = """examples:
  orbitile vibrations job.log                                      the modes in a file, and their intensities
  orbitile vibrations job.log --plot infrared.svg --scale 0.96     the spectrum
  orbitile vibrations water.xyz --method gfn2 --optimise -o modes.h5
                                                                   optimise the geometry, then compute its modes
  orbitile vibrations job.molden --raman --workers 4 -o modes.h5   with the method of the file, and Raman activities
  orbitile vibrations modes.h5 --electrons 4                       the electrons along mode 4: modes-mode4.h5
  orbitile render modes.h5 mode:4:density -o change.png            how the density changes along it
  orbitile vibrations modes.h5 --isotopes 2=2.014,3=2.014          of heavy water
"""


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a file with vibrations (a log, .hess, Molden, .fchk, a file of this command, ...), which are read; or a "
        "geometry (.xyz, any file with a wavefunction), for which they are computed",
    )
    add_frame(parser)
    _COMMAND.add_parameters(
        parser, "; a page with the modes moving: .html; what is computed, with the orbitals: .h5, .zarr"
    )
    parser.add_argument(
        "--isotopes",
        metavar="ATOM=MASS[,...]",
        help="masses in u of atoms, counted from 1, that are not the mean of their element: 2=2.014,3=2.014",
    )
    parser.add_argument(
        "--electrons",
        type=int,
        metavar="N",
        help="compute the electrons along mode N of FILE: a series NAME-modeN.h5 beside FILE, or -o OUT.h5, for films "
        "and the field mode:N:density",
    )
    group = parser.add_argument_group(
        "computing", "With any of these options, or a FILE without vibrations, they are computed."
    )
    add_calculation(group, "gfn2")
    group.add_argument("--optimise", action="store_true", help="move the atoms to a minimum first (needs ase)")
    group.add_argument("--raman", action="store_true", help="Raman activities too, from forces in twelve fields")
    group.add_argument(
        "--step", type=number, metavar="D", help="by how much each atom is moved, in Angstrom (default: 0.0026)"
    )
    group.add_argument("--topology", metavar="FILE", help="pdb, gro, psf, prmtop: names the elements of FILE")
    add_executor(group)


def run(options: argparse.Namespace) -> None:
    """Read the vibrations, or compute them, and print them."""
    is_series = bool(options.output and _SERIES.search(options.output))
    series, options.output = (options.output, None) if is_series else (None, options.output)
    _COMMAND.check(options)
    if options.electrons is not None:
        _compute_electrons(options, series)
        return
    vibrations = _computed(options, series) if series or _asks(options) else _read(options)
    if options.isotopes:
        from ..model.normal_modes import with_isotopes

        vibrations = with_isotopes(vibrations, _isotopes(options.isotopes))
    _COMMAND.present(vibrations, options, _as_dictionary(vibrations))
    if series and not options.json:
        print(series)


def _asks(options: argparse.Namespace) -> bool:
    """Whether something is asked for that only a computation gives."""
    names = ("method", "basis", "charge", "unpaired", "solvent", "optimise", "raman", "step", "workers", "dask")
    return any(getattr(options, name) not in (None, False) for name in names)


def _read(options: argparse.Namespace) -> Vibrations:
    """Vibrations of a file; computed for one that has none, but atoms."""
    from ..readers import load_geometries, load_vibrations

    try:
        return load_vibrations(options.file)
    except FileError as error:
        try:
            load_geometries(options.file, options.topology)
        except OrbitileError:
            raise error from None
    return _computed(options, None)


def _computed(options: argparse.Namespace, series: str | None) -> Vibrations:
    from ..model.units import angstrom
    from ..scf.series import folder_of_parts
    from ..scf.vibrations import STEP, compute_vibrations

    options.geometries = options.file
    calculation = read_calculation(options, "gfn2")
    try:
        with (
            stoppable() as cancelled,
            progress_bar(options, str(calculation)) as progress,
            executor_of(options) as executor,
        ):
            found = compute_vibrations(
                options.file,
                series,
                calculation,
                frame=None if options.frame is None else options.frame - 1,
                topology=options.topology,
                optimise=options.optimise,
                raman=options.raman,
                step=STEP if options.step is None else options.step * angstrom,
                engine=options.engine,
                device=options.device,
                precision=options.precision,
                executor=executor,
                progress=progress,
                cancelled=cancelled,
                report=lambda line: note(options, line),
            )
    except KeyboardInterrupt:
        if series and folder_of_parts(Path(series).expanduser()).exists():
            tell(f"{series}.parts keeps what is done; the same command continues from there")
        raise
    tell(f"computed by {calculation}")
    return found


def _compute_electrons(options: argparse.Namespace, series: str | None) -> None:
    """Compute the electrons along a mode of a file."""
    from ..readers._modes import mode_file
    from ..scf.modes import electrons_along

    target = series or str(mode_file(options.file, options.electrons))
    names = ("method", "basis", "charge", "unpaired", "solvent", "smearing", "cartesian")
    given = {name: value for name in names if (value := getattr(options, name)) is not None}
    with stoppable() as cancelled, progress_bar(options, f"mode {options.electrons}") as progress:
        electrons_along(
            options.file,
            options.electrons,
            target,
            given=given,
            engine=options.engine,
            device=options.device,
            precision=options.precision,
            progress=progress,
            cancelled=cancelled,
            report=tell,
        )
    print(target)


def _isotopes(text: str) -> dict[int, float]:
    """Masses by atom, from 0."""
    found = re.fullmatch(r"(\d{1,9}=[\d.]+)(,\d{1,9}=[\d.]+)*", text.replace(" ", ""))
    if found is None:
        raise OrbitileError(f"--isotopes: expected ATOM=MASS, as 2=2.014,3=2.014, got {text!r}")
    pairs = (part.split("=") for part in text.replace(" ", "").split(","))
    return {int(atom) - 1: number(mass) for atom, mass in pairs}


def _as_dictionary(vibrations: Vibrations) -> dict[str, Any]:
    """What programs ask for by name; null where it is not known."""

    def known(values: Any) -> list[float | None] | None:
        return [float(value) if np.isfinite(value) else None for value in values] if len(values) else None

    return {
        "frequencies": vibrations.wavenumbers.tolist(),
        "infrared": known(vibrations.infrared),
        "raman": known(vibrations.raman),
        "symmetries": list(vibrations.symmetries) or None,
        "displacements": vibrations.displacements.tolist(),
        "thermochemistry": _thermochemistry(vibrations),
    }


def _thermochemistry(vibrations: Vibrations) -> dict[str, Any] | None:
    """That of an ideal gas at 298.15 K and one atmosphere, in hartree; null of a molecule in the field of charges."""
    from ..analysis.thermochemistry import thermochemistry

    if vibrations.n_modes == 3 * len(vibrations.masses):
        return None
    found = thermochemistry(vibrations)
    is_known = bool(np.isfinite(found.electronic_energy))
    return {
        "temperature": found.temperature,
        "pressure": found.pressure,
        "symmetry_number": found.symmetry_number,
        "multiplicity": found.multiplicity,
        "low_modes": found.low_modes,
        "electronic_energy": found.electronic_energy if is_known else None,
        "zero_point_energy": found.zero_point_energy,
        "enthalpy_correction": found.enthalpy_correction,
        "entropy": found.entropy,
        "free_energy_correction": found.free_energy_correction,
        "enthalpy": found.electronic_energy + found.enthalpy_correction if is_known else None,
        "free_energy": found.electronic_energy + found.free_energy_correction if is_known else None,
    }
