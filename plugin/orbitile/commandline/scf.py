"""`orbitile scf`: orbitals along a trajectory of geometries."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._arguments import CommandParser, add_device, add_geometries, add_precision
from ._console import progress_bar, stoppable, tell

HELP = "compute orbitals along a trajectory of geometries (needs h5py)"
PRIORITY = 90


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    add_geometries(parser)
    parser.add_argument(
        "--method",
        default="hf",
        metavar="NAME",
        help="hf, or a functional such as pbe or b3lyp; unrestricted for unpaired electrons, or restricted open-shell "
        "with ro in front: rohf, rob3lyp (default: hf)",
    )
    parser.add_argument(
        "--basis", default="def2-svp", metavar="NAME", help="by its name: '6-31g*', cc-pvtz (default: def2-svp)"
    )
    parser.add_argument(
        "--cartesian", action="store_true", help="Cartesian d and f functions, as for 6-31G* in Gaussian"
    )
    parser.add_argument("--charge", type=int, default=0, metavar="Q", help="of the molecule (default: 0)")
    parser.add_argument(
        "--unpaired", type=int, default=0, metavar="N", help="unpaired electrons, multiplicity less one (default: 0)"
    )
    parser.add_argument(
        "--engine",
        default="auto",
        metavar="NAME",
        help="orbitile (functionals without exact exchange, no core potentials), gpu4pyscf or pyscf (default: auto, "
        "the one that began the file, or the first of these that serves)",
    )
    add_device(parser, "; engine orbitile")
    add_precision(parser)
    parser.add_argument(
        "-o", "--output", metavar="H5", required=True, help="series file; what it has is not done again"
    )


def run(options: argparse.Namespace) -> None:
    """Compute the frames that the series file lacks, and print how many it has."""
    from ..scf.calculation import Calculation
    from ..scf.series import compute_series

    calculation = Calculation(options.method, options.basis, options.charge, options.unpaired, options.cartesian)
    try:
        with stoppable() as cancelled, progress_bar(options, str(calculation)) as progress:
            trajectory = compute_series(
                options.geometries,
                options.output,
                calculation,
                topology=options.topology,
                engine=options.engine,
                device=options.device,
                precision=options.precision,
                progress=progress,
                cancelled=cancelled,
                report=tell,
            )
    except KeyboardInterrupt:
        if Path(options.output).expanduser().exists():
            tell(f"{options.output} keeps the frames that are done; the same command goes on from there")
        raise
    print(f"{options.output}: {len(trajectory)} frames, by {trajectory[0].program}")
