"""`orbitile region`: orbitals of a part of a protein, in the field of the rest."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING

from ..base.arguments import number
from ..base.errors import Cancelled, OrbitileError
from ._arguments import CommandParser, add_calculation, add_executor, executor_of
from ._console import note, progress_bar, stoppable, tell

if TYPE_CHECKING:
    from ..model.report import Report, Table
    from ..model.structure import Structure
    from ..readers.molecular_dynamics import DynamicsPositions
    from ..scf.calculation import Calculation, Solution
    from ..scf.region import Region

HELP = "compute the electrons of a ligand, or of any selection, in the field of its protein (needs MDAnalysis, h5py)"
PRIORITY = 86

_ROWS = 25
"""Rows of a table that are printed for people."""


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""

    def known_formats() -> str:
        from ..readers import descriptions

        return "; ".join(descriptions("structure"))

    def grammar() -> str:
        from ..readers._selections import GRAMMAR

        return f"atoms that are computed, as 'resn 478' or 'byres chain A within 4 of resn LIG': {GRAMMAR}"

    parser.add_argument_of_formats("file", metavar="FILE", help=known_formats)
    parser.add_argument(
        "--topology",
        metavar="FILE",
        help="PSF, PRMTOP or TPR file with names, bonds, charges, where FILE has coordinates",
    )
    parser.add_argument_of_formats("--select", metavar="TEXT", required=True, help=grammar)
    parser.add_argument(
        "--complete", action="store_true", help="add atoms until only single bonds between carbons are cut"
    )
    group = parser.add_argument_group("surroundings")
    group.add_argument(
        "--charges",
        metavar="SOURCE",
        action="append",
        help="partial charges of the surroundings: pdb2pqr (which adds hydrogens to the protein), a PQR or mol2 file "
        "with the same atoms, or none for vacuum; several, as of a protein and a cofactor, one after the other "
        "(default: those in FILE)",
    )
    group.add_argument(
        "--forcefield", metavar="NAME", default="AMBER", help="of pdb2pqr: AMBER, CHARMM, PARSE, ... (default: AMBER)"
    )
    group.add_argument("--ph", type=number, default=7.0, help="of pdb2pqr, which protonates by PROPKA (default: 7)")
    group.add_argument(
        "--width",
        type=number,
        default=0.0,
        metavar="A",
        help="width of Gaussian charges in Angstrom, against electrons that spill onto charges (default: 0, points)",
    )
    group.add_argument(
        "--vacuum", action="store_true", help="compute it without surroundings too, into OUT with -vacuum in its name"
    )
    group.add_argument(
        "--relax",
        action="store_true",
        help="move the region to a minimum first, by its forces and Lennard-Jones terms of Amber; the surroundings "
        "stay, and the steps go to OUT with -steps in its name (needs ase)",
    )
    add_calculation(parser, "gfn2", of_region=True)
    group = parser.add_argument_group("what is told")
    group.add_argument(
        "--atom",
        metavar="ATOM",
        help="atom of the region by its name, or by its number among them: the potential there",
    )
    group.add_argument("--bond", metavar="A,B", help="two atoms of the region: the field between them")
    group.add_argument("--json", action="store_true", help="for programs: one object, with all digits")
    group.add_argument("--tables", metavar="OUT", help="write the tables: .json, or .csv (one a table)")
    group = parser.add_argument_group("molecular dynamics")
    group.add_argument(
        "--frames",
        metavar="TRAJ",
        help="DCD, XTC, TRR or NetCDF file with the atoms of FILE: a row for each frame (needs mdtraj)",
    )
    group.add_argument("--frame", type=int, metavar="N", help="this frame alone, from 1, with what residues do there")
    group.add_argument("--every", type=int, default=1, metavar="N", help="take each N-th frame (default: 1)")
    add_executor(group)
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        required=True,
        help="series to write, .h5 or .zarr; the region and its charges go beside it, into OUT.region",
    )


def run(options: argparse.Namespace) -> None:
    """Compute the region, and print its energies and what residues do to it."""
    from ..analysis.presentation import as_json, as_text, check_tables, write_tables
    from ..scf.region_file import region_file, require_region, save_region
    from ..scf.region_frames import at_frame

    if options.tables:
        check_tables(options.tables)
    require_region(options.output, vacuum=options.vacuum)
    region = _region(options)
    atom = None if options.atom is None else _atom("--atom", region, options.atom)
    bond = _bond(region, options.bond)
    frames = _trajectory(options, region)
    if frames is not None and options.frame is not None:
        region = at_frame(region, frames, options.frame - 1)
    calculation = _calculation(options, region)
    if options.relax and (region.external is None or (frames is not None and options.frame is None)):
        raise OrbitileError("--relax: expected one geometry among charges, got --charges none or all --frames")
    if not options.quiet:
        for line in region.notes:
            tell(line)
        tell(f"{len(region.geometry.atomic_numbers)} atoms: {calculation}")
    if region.external is None and not (atom is None and bond is None):
        raise OrbitileError("--atom and --bond: expected surroundings with charges, got --charges none")
    if options.relax:
        region = _relaxed(options, region, calculation)
    with stoppable() as cancelled, progress_bar(options, str(calculation)) as progress:
        if frames is not None and options.frame is None:
            report = _frames(options, region, calculation, bond, frames, progress, cancelled)
            save_region(region, region_file(options.output))
        else:
            report = _one(options, region, calculation, (atom, bond), progress, cancelled)
    written = write_tables(report, options.tables) if options.tables else []
    if options.json:
        print(as_json(report))
        return
    remarks = tuple(remark for remark in report.remarks if remark not in region.notes)  # which were told before
    print(as_text(replace(report, remarks=remarks), _ROWS))
    print("\n".join(map(str, [*written, f"{options.output}, {region_file(options.output).name}"])))
    if cancelled():
        raise KeyboardInterrupt


def _atom(option: str, region: Region, text: str) -> int:
    """An atom of the region, from 0, by its name in the file or by its number there, from 1."""
    from ..scf.valences import named

    names = [region.structure.names[atom] for atom in region.atoms]
    found = [n for n, name in enumerate(names) if name == text.strip()]
    if not found and text.strip().isdecimal() and 0 < int(text) <= len(region.geometry.atomic_numbers):
        found = [int(text) - 1]
    if len(found) != 1:
        several = "; ".join(f"{n + 1}: {named(region.structure, region.atoms[n])}" for n in found[:6])
        got = f"{text!r}, of which there are several: {several}; give the number" if found else f"{text!r}"
        raise OrbitileError(f"{option}: expected an atom of the region by its name, or a number from 1, got {got}")
    return found[0]


def _bond(region: Region, text: str | None) -> tuple[int, int] | None:
    """Two atoms of the region."""
    if text is None:
        return None
    atoms = [_atom("--bond", region, part) for part in text.split(",")]
    if len(atoms) != 2:
        raise OrbitileError(f"--bond: expected two atoms of the region, such as C5,O2, got {text!r}")
    return atoms[0], atoms[1]


def _region(options: argparse.Namespace) -> Region:
    """What is computed, and its surroundings."""
    from ..model.units import angstrom
    from ..readers.structures import load_structure, select, with_charges
    from ..scf.region import complete_choice, quantum_region

    structure = load_structure(options.file, options.topology)
    select(structure, options.select)  # an error of the text is told before anything takes long
    sources = options.charges or []
    in_vacuum = [source.lower() for source in sources] == ["none"]
    for source in [] if in_vacuum else sources:
        structure = with_charges(structure, source, forcefield=options.forcefield, ph=options.ph)
    if not in_vacuum and not _has_charges(structure):
        raise OrbitileError(
            f"{Path(options.file).name}: has no partial charges; ask for --charges pdb2pqr, a PQR or mol2 file, or "
            "none for vacuum"
        )
    chosen = select(structure, options.select)
    return quantum_region(
        structure,
        complete_choice(structure, chosen) if options.complete else chosen,
        charge=options.charge,
        unpaired=options.unpaired,
        width=options.width * angstrom,
        embed=not in_vacuum,
    )


def _relaxed(options: argparse.Namespace, region: Region, calculation: Calculation) -> Region:
    """The region at a minimum in its surroundings."""
    import numpy as np

    from ..base.watch import watched
    from ..model.units import angstrom, kilocalorie_per_mole
    from ..scf.optimisation import relaxed_region
    from ..scf.region import lennard_jones_of
    from ..scf.series import Means

    means = Means(calculation, options.engine, options.device, options.precision)
    output = Path(options.output)
    steps = output.with_name(f"{output.stem}-steps{output.suffix}")
    with stoppable() as cancelled, progress_bar(options, "relaxing") as progress, watched(progress, cancelled):
        relaxed = relaxed_region(region, steps, means, lambda line: note(options, line))
    energy = lennard_jones_of(relaxed).energy_and_gradient(relaxed.geometry.positions)[0]
    moved = np.linalg.norm(relaxed.geometry.positions - region.geometry.positions, axis=1) / angstrom
    told = (
        f"Relaxed ({steps.name}): its atoms moved by {np.sqrt((moved**2).mean()):.2f} Angstrom (root of the mean "
        f"square; at most {moved.max():.2f}), and Lennard-Jones terms, in no energy here, are "
        f"{energy / kilocalorie_per_mole:.2f} kcal/mol."
    )
    if not options.quiet:
        tell(told)
    return replace(relaxed, notes=(*relaxed.notes, told))


def _has_charges(structure: Structure) -> bool:
    import numpy as np

    return bool(np.isfinite(structure.partial_charges).any())


def _trajectory(options: argparse.Namespace, region: Region) -> DynamicsPositions | None:
    """Positions of all atoms along a trajectory, if one is given."""
    from ..readers._formats import checked_path
    from ..readers.molecular_dynamics import DynamicsPositions

    if options.frames is None:
        if options.frame is not None:
            raise OrbitileError(f"--frame {options.frame}: expected a trajectory too, as --frames TRAJ")
        return None
    frames = DynamicsPositions(checked_path(options.frames), len(region.structure.names))
    if options.frame is not None and not 1 <= options.frame <= len(frames):
        raise OrbitileError(f"--frame: expected 1 to {len(frames)}, the frames of {frames.name}, got {options.frame}")
    return frames


def _calculation(options: argparse.Namespace, region: Region) -> Calculation:
    from ..scf.region import calculation_of

    calculation = calculation_of(region, options.method or "gfn2", options.basis or "")
    return replace(calculation, cartesian=bool(options.cartesian), smearing=options.smearing or 0.0)


def _one(
    options: argparse.Namespace,
    region: Region,
    calculation: Calculation,
    asked: tuple[int | None, tuple[int, int] | None],
    progress: Callable[[float], None],
    cancelled: Callable[[], bool],
) -> Report:
    """A region at one geometry, in the field of its surroundings and, if asked for, in vacuum."""
    from ..analysis.residues import residue_report
    from ..base.watch import watched
    from ..model.geometry import formula
    from ..model.report import Report
    from ..scf.region_file import compute_region
    from ..scf.series import Means

    means = Means(calculation, options.engine, options.device, options.precision)
    with watched(progress, cancelled):
        found, vacuum = compute_region(region, means, options.output, vacuum=options.vacuum)
    table, wavefunction = _energies(found, vacuum), found.wavefunction
    title = f"{formula(wavefunction)}: {calculation}, by {wavefunction.program}"
    if region.external is None:
        return Report("region", title, (table,), remarks=region.notes)
    without = None if vacuum is None else vacuum.wavefunction
    atom, bond = asked
    shares = residue_report(wavefunction, region, atom=atom, bond=bond, vacuum=without, device=options.device)
    return Report("region", title, (table, *shares.tables), remarks=shares.remarks)


def _energies(found: Solution, vacuum: Solution | None) -> Table:
    """Total energy and frontier orbitals, in the field and in vacuum."""
    from ..analysis.residues import frontier_energies
    from ..model.report import Table, column
    from ..model.units import electronvolt

    def values(of: Solution) -> list[float]:
        return [of.energy, *(energy / electronvolt for energy in frontier_energies(of.wavefunction).values())]

    columns = [
        column("quantity", ("energy", "HOMO", "LUMO", "gap")),
        column("unit", ("hartree", "eV", "eV", "eV")),
        column("value", values(found), decimals=6, exponents=False),
    ]
    if vacuum is not None:
        columns.append(column("in_vacuum", values(vacuum), decimals=6, exponents=False))
        change = [one - other for one, other in zip(values(found), values(vacuum), strict=True)]
        columns.append(column("by_the_surroundings", change, decimals=6, exponents=False))
    return Table("energies", "Energies", tuple(columns))


def _frames(
    options: argparse.Namespace,
    region: Region,
    calculation: Calculation,
    bond: tuple[int, int] | None,
    frames: DynamicsPositions,
    progress: Callable[[float], None],
    cancelled: Callable[[], bool],
) -> Report:
    """A region at frames of a trajectory: a row each."""
    from ..analysis.residues import frontier_energies
    from ..base.watch import watched
    from ..exporters._series import SeriesWriter, replaced_series
    from ..model.geometry import formula
    from ..model.report import Report, Table, atom_names, column
    from ..model.units import electronvolt, megavolt_per_centimetre
    from ..scf.region_frames import compute_frames, field_along
    from ..scf.series import Means

    if options.every < 1:
        raise OrbitileError(f"--every: expected 1 or more, got {options.every}")
    numbers = range(0, len(frames), options.every)
    means = Means(calculation, options.engine, options.device, options.precision)
    rows: list[tuple[float, ...]] = []
    title = ""
    with replaced_series(options.output) as part:
        with (
            SeriesWriter(part, settings=f"{calculation}, frames of {frames.name}") as writer,
            suppress(Cancelled),  # the frames that are done are kept
            watched(progress, cancelled),
            executor_of(options) as executor,
        ):
            for frame in compute_frames(region, frames, means, numbers, executor):
                if frame.solution is None:
                    tell(f"frame {frame.number + 1} left out: {frame.why}")
                    continue
                wavefunction = frame.solution.wavefunction
                writer.append(wavefunction, frame.number)
                title = (
                    f"{formula(wavefunction)}: {replace(calculation, external_charges=None)}, by {wavefunction.program}"
                )
                frontier = (energy / electronvolt for energy in frontier_energies(wavefunction).values())
                field = nan if bond is None else field_along(frame.region, bond) / megavolt_per_centimetre
                rows.append((frame.number + 1, frame.solution.energy, *frontier, field))
        if not rows and cancelled():
            raise KeyboardInterrupt
        if not rows:
            raise OrbitileError(f"{frames.name}: no frame can be computed; nothing was written")
    values = list(zip(*rows, strict=True))
    columns = [
        column("frame", values[0]),
        column("energy", values[1], "hartree", 6, exponents=False),
        *(column(name, of, "eV", 3) for name, of in zip(("homo", "lumo", "gap"), values[2:], strict=False)),
    ]
    if bond is not None:
        names = atom_names(region.geometry.atomic_numbers)
        about = f"of the surroundings alone at the midpoint of {names[bond[0]]}-{names[bond[1]]}, positive along it"
        columns.append(column("field", values[5], "MV/cm", 3, about))
    remarks = ("in a periodic box residues are whole, at those of their images that are nearest", *region.notes)
    table = Table("frames", f"Frames of {frames.name}", tuple(columns))
    return Report("region", title, (table,), remarks=remarks)
