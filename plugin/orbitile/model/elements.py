"""Symbols and radii of the elements; X, number 0, is a ghost atom."""

SYMBOLS = (
    """
X H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr
Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir
Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl
Mc Lv Ts Og
"""
).split()

NUMBERS = {symbol: number for number, symbol in enumerate(SYMBOLS)}
"""Atomic numbers by symbol."""

IONIC = tuple(NUMBERS[symbol] for symbol in ("Li", "Na", "K", "Rb", "Cs", "Mg", "Ca", "Sr", "Ba"))
"""Metals that are ions among their neighbours: what is near to them is not bonded to them."""

GHOST = SYMBOLS[0]
"""Element, and name in all viewers, of a ghost atom."""

ATOMIC_RADII = tuple(
    float(radius)
    for radius in """
0.35 0.35 1.40 1.45 1.05 0.85 0.70 0.65 0.60 0.50 1.50 1.80 1.50 1.25 1.10 1.00 1.00 1.00 1.80 2.20 1.80 1.60 1.40 1.35
1.40 1.40 1.40 1.35 1.35 1.35 1.35 1.30 1.25 1.15 1.15 1.15 1.90 2.35 2.00 1.80 1.55 1.45 1.45 1.35 1.30 1.35 1.40 1.60
1.55 1.55 1.45 1.45 1.40 1.40 2.10 2.60 2.15 1.95 1.85 1.85 1.85 1.85 1.85 1.85 1.80 1.75 1.75 1.75 1.75 1.75 1.75 1.75
1.55 1.45 1.35 1.35 1.30 1.35 1.35 1.35 1.50 1.90 1.80 1.60 1.90 1.45 2.10 1.80 2.15 1.95 1.80 1.80 1.75
""".split()
)
"""Atomic radii of J. C. Slater (J. Chem. Phys. 1964, 41, 3199) in Angstrom by atomic number, with the 0.35 of
A. D. Becke for hydrogen and usual values for rare gases and francium; for elements beyond uranium, the last one."""

VAN_DER_WAALS_RADII = {
    symbol: float(radius)
    for symbol, radius in zip(
        """
H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Pd Ag Cd In Sn Sb Te I Xe Cs Ba Pt
Au Hg Tl Pb Bi Po At Rn Fr Ra U
""".split(),
        """
1.10 1.40 1.82 1.53 1.92 1.70 1.55 1.52 1.47 1.54 2.27 1.73 1.84 2.10 1.80 1.80 1.75 1.88 2.75 2.31 1.63 1.40 1.39 1.87
2.11 1.85 1.90 1.85 2.02 3.03 2.49 1.63 1.72 1.58 1.93 2.17 2.06 2.06 1.98 2.16 3.43 2.68 1.75 1.66 1.55 1.96 2.02 2.07
1.97 2.02 2.20 3.48 2.83 1.86
""".split(),
        strict=True,
    )
}
"""Van der Waals radii in Angstrom of A. Bondi (J. Phys. Chem. 1964, 68, 441), and where he has none, of M. Mantina and
others (J. Phys. Chem. A 2009, 113, 5806); that of hydrogen is of R. S. Rowland and R. Taylor (J. Phys. Chem. 1996, 100,
7384). Most metals have none."""
