"""`orbitile integrate`: electrons, moments and charges of atoms."""

from __future__ import annotations

import argparse

from ._arguments import CommandParser, add_file, add_level, add_option
from ._files import wavefunction_of

HELP = "number of electrons, dipole, quadrupole and atomic charges, from the density"
PRIORITY = 110


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    add_file(parser)
    add_level(parser)
    parser.add_argument("--hirshfeld", action="store_true", help="Hirshfeld charges as well as Becke charges")
    add_option(parser, "device")


def run(options: argparse.Namespace) -> None:
    """Print tables of moments, analytic and summed over a quadrature, and of charges."""
    from ..analysis._quadrature import analytic_moments, quadrature_with_density, summed_moments
    from ..analysis.charges import atomic_charges
    from ..evaluation.devices import device_session
    from ..fields.density import density_of
    from ..model.elements import SYMBOLS
    from ..model.units import debye

    wavefunction = wavefunction_of(options)
    exact = analytic_moments(wavefunction, density_of(wavefunction))
    with device_session(options.device, "single") as target:
        quadrature, electrons = quadrature_with_density(wavefunction, target, options.level)
    summed = summed_moments(wavefunction, quadrature.points, electrons)
    print(f"{'':24s} {'analytic':>12s} {'quadrature':>12s}")
    print(f"{'electrons':24s} {exact.electrons:12.5f} {summed.electrons:12.5f}")
    for axis, name in enumerate("xyz"):
        print(f"{'dipole ' + name + ' / debye':24s} {exact.dipole[axis] / debye:12.5f} "
              f"{summed.dipole[axis] / debye:12.5f}")  # fmt: skip
    for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)):
        name = f"quadrupole {'xyz'[i]}{'xyz'[j]} / e bohr^2"
        print(f"{name:24s} {exact.quadrupole[i, j]:12.5f} {summed.quadrupole[i, j]:12.5f}")
    lost = abs(summed.electrons - exact.electrons)
    if lost > 1e-3:
        print(f"The quadrature of {len(electrons)} points is off by {lost:.3f} electrons: choose a higher --level.")
    schemes = ["becke", *(["hirshfeld"] if options.hirshfeld else [])]
    found = [atomic_charges(wavefunction, scheme, device=options.device) for scheme in schemes]
    print(f"\n{'charge / e':10s}" + "".join(f"{one.scheme:>12s}" for one in found))
    for atom, number in enumerate(wavefunction.atomic_numbers):
        values = "".join(f"{one.charges[atom]:12.4f}" for one in found)
        print(f"{SYMBOLS[int(number)] + str(atom + 1):10s}{values}")
    print(f"{'sum':10s}" + "".join(f"{one.charges.sum():12.4f}" for one in found))
