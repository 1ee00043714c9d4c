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

MASSES = tuple(
    float(mass)
    for mass in """
0 1.008 4.002602 6.94 9.0121831 10.81 12.011 14.007 15.999 18.99840316 20.1797 22.98976928 24.305 26.9815385 28.085
30.973762 32.06 35.45 39.948 39.0983 40.078 44.955908 47.867 50.9415 51.9961 54.938044 55.845 58.933194 58.6934 63.546
65.38 69.723 72.63 74.921595 78.971 79.904 83.798 85.4678 87.62 88.90584 91.224 92.90637 95.95 97.90721 101.07
102.9055 106.42 107.8682 112.414 114.818 118.71 121.76 127.6 126.90447 131.293 132.905452 137.327 138.90547 140.116
140.90766 144.242 144.91276 150.36 151.964 157.25 158.92535 162.5 164.93033 167.259 168.93422 173.054 174.9668 178.49
180.94788 183.84 186.207 190.23 192.217 195.084 196.966569 200.592 204.38 207.2 208.9804 208.98243 209.98715 222.01758
223.01974 226.02541 227.02775 232.0377 231.03588 238.02891 237.04817 244.06421 243.06138 247.07035 247.07031 251.07959
252.083 257.09511 258.09843 259.101 262.11 267.122 268.126 271.134 270.133 269.1338 278.156 281.165 281.166 285.177
286.182 289.19 289.194 293.204 293.208 294.214
""".split()
)
"""Masses in u by atomic number, the mean of the isotopes as they occur: conventional atomic weights of the IUPAC (J.
Meija and others, Pure Appl. Chem. 2016, 88, 265); of elements without stable isotopes, of the one that lives longest.
"""

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
