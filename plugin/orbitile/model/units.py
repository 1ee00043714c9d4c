"""Units as multipliers: `5 * angstrom` is five Angstrom in bohr, `energy / electronvolt` is an energy in eV.

Inside Orbitile lengths are in bohr and energies in hartree; readers, exporters, hosts and the command line convert.
Values: CODATA 2018 (https://physics.nist.gov/cuu/Constants), the set that the quantum-chemistry programs of today use.
"""

angstrom = 1.0 / 0.529177210903
"""One Angstrom in bohr."""

electronvolt = 1.0 / 27.211386245988
"""One electronvolt in hartree."""

wavenumber = 1.0 / 219474.6313632
"""One cm^-1 in hartree."""

kilocalorie_per_mole = 1.0 / 627.5095
"""One kcal/mol in hartree."""

debye = 1.0 / 2.541746
"""One debye in e bohr."""

kelvin = 3.166811563e-6
"""One kelvin in hartree: what an electron has of thermal energy."""

volt = 1.0 / 27.211386245988
"""One volt in hartree/e."""

megavolt_per_centimetre = 1.0 / 5142.20674763
"""One MV/cm in hartree/(e bohr)."""

dalton = 1822.888486209
"""One unified atomic mass unit in masses of the electron."""

pascal = 1.0 / 2.9421015697e13
"""One pascal in hartree/bohr^3."""
