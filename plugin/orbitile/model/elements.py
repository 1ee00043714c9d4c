"""Symbols and radii of the elements; X, number 0, is a ghost atom."""

SYMBOLS = (
    """
X H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr
Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir
Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl
Mc Lv Ts Og
"""
).split()

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
