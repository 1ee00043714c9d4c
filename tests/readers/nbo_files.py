"""Files as NBO writes them, made here of a molecule of PySCF by the definitions of the manual."""

import numpy as np

SPHERICAL = {
    0: [1],
    1: [101, 102, 103],
    2: [251, 253, 255, 252, 254],
    3: [357, 355, 353, 351, 352, 354, 356],
    4: [459, 457, 455, 453, 451, 452, 454, 456, 458],
}
"""Labels of the functions of a shell in the order of PySCF, m = -l to l."""


def labels_of(mol):
    """Atom of each shell, from 1, and labels of its functions."""
    shells = []
    for n in range(mol.nbas):
        l = mol.bas_angular(n)
        n_cartesian = (l + 1) * (l + 2) // 2
        labels = [100 * l + k + 1 for k in range(n_cartesian)] if mol.cart else SPHERICAL[l]
        shells += [(mol.bas_atom(n) + 1, l, labels, mol.bas_exp(n), c) for c in mol.bas_ctr_coeff(n).T]
    return shells


def norms_of(mol):
    """Roots of the overlaps of functions with themselves, by which coefficients become those of normalised ones."""
    return np.sqrt(np.diag(mol.intor("int1e_ovlp")))


def rows_of(values, width=5, form="{:15.9f}", indent=" "):
    values = np.ravel(values)
    lines = [values[n : n + width] for n in range(0, len(values), width)]
    return "".join(indent + "".join(form.format(v) for v in line) + "\n" for line in lines)


def lists_of(mol):
    """Exponents, and coefficients of each angular momentum with the norms of x^l."""
    shells = labels_of(mol)
    highest = max(l for _, l, *_ in shells)
    exponents = np.concatenate([zeta for *_, zeta, _ in shells])
    lists = np.zeros((highest + 1, len(exponents)))
    at = 0
    for _, l, _, zeta, c in shells:
        double = np.prod(np.arange(2 * l - 1, 0, -2.0))
        lists[l, at : at + len(zeta)] = c * (2 * zeta / np.pi) ** 0.75 * np.sqrt((4 * zeta) ** l / double)
        at += len(zeta)
    return exponents, lists


def basis_file(mol, title="a job"):
    shells = labels_of(mol)
    exponents, lists = lists_of(mol)
    rule = " " + 75 * "-" + "\n"
    text = f"{title}\n Basis set information needed for plotting orbitals\n{rule}"
    text += f" {mol.natm:6d}{len(shells):6d}{len(exponents):6d}\n{rule}"
    for charge, place in zip(mol.atom_charges(), mol.atom_coords(unit="Angstrom"), strict=True):
        text += f"{charge:5d}" + "".join(f"{x:14.9f}" for x in place) + "\n"
    text += rule
    at = 1
    for atom, _, labels, zeta, _ in shells:
        text += f" {atom:6d}{len(labels):6d}{at:6d}{len(zeta):6d}\n"
        text += rows_of(labels, 10, "{:6d}")
        at += len(zeta)
    text += rule
    return text + "\n".join(rows_of(one, 4, "{:18.9E}") for one in (exponents, *lists))


def orbital_file(mol, kind, sets, title="a job", occupations=None, tail=None, order=slice(None)):
    """Coefficients over the functions of PySCF, in an order of them, one set or one of each spin."""
    text = f"{title}\n {kind}s in the AO basis:\n {79 * '-'}\n"
    for n, coefficients in enumerate(sets):
        if len(sets) > 1:
            text += f" {('ALPHA', 'BETA ')[n]} SPIN\n"
        for column in (coefficients * norms_of(mol)[:, None])[order].T:
            text += rows_of(column)
        if occupations is not None:
            text += rows_of(occupations[n])
        if tail is not None:
            text += tail[n]
    return text


def label_lists(labels, numbers, place):
    """The lists behind the occupancies: names in the order in which they are printed, and the place of each orbital."""
    n = len(labels)
    counts = [sum(1 for atom in atoms if atom) for _, _, _, atoms in labels]

    def integers(values):
        return rows_of(values, 20, "{:3d}")

    def words(values):
        lines = [values[k : k + 20] for k in range(0, n, 20)]
        return "".join(" " + "".join(f"{word:2s} " for word in line) + "\n" for line in lines)

    text = integers([1] * n) + integers(
        [20 * (star == "*") + counts[at - 1] for at in place for star in [labels[at - 1][1]]]
    )
    text += words([kind for kind, *_ in labels]) + words([star for _, star, *_ in labels])
    text += integers([serial for _, _, serial, _ in labels])
    for k in range(3):
        text += integers([atoms[k] for *_, atoms in labels])
    return text + integers(place) + integers(numbers)


def archive(mol, *, density, fock=None, orbitals=None, upper=True, options="BODM", angstrom=True, signs=1.0):
    """An archive; matrices and orbitals in lists, one or one of each spin, over the functions of PySCF."""
    shells, norms = labels_of(mol), norms_of(mol) * signs
    exponents, lists = lists_of(mol)
    n = len(norms)

    def matrix(values, scale):
        values = np.asarray(values) * np.outer(scale, scale)
        return values[np.tril_indices(n)] if upper else values.ravel()

    def keyed(key, values, form="{:7d}", width=10):
        return (
            f"{key:>8} =" + rows_of(values, width, form, indent=11 * " ")[11:].replace("\n", "\n")
            if len(values)
            else ""
        )

    flags = ("UPPER " if upper else "") + ("" if angstrom else "BOHR ") + options
    text = f" $GENNBO  NATOMS={mol.natm}   NBAS={n}  {flags} $END\n $NBO $END\n $COORD\n of a test\n"
    places = mol.atom_coords(unit="Angstrom" if angstrom else "Bohr")
    for charge, place in zip(mol.atom_charges(), places, strict=True):
        text += f"{charge:5d}{charge:5d}" + "".join(f"{x:20.12f}" for x in place) + "\n"
    text += " $END\n $BASIS\n"
    text += keyed("CENTER", [atom for atom, _, labels, *_ in shells for _ in labels])
    text += keyed("LABEL", [label for _, _, labels, *_ in shells for label in labels]) + " $END\n $CONTRACT\n"
    counts = [len(zeta) for *_, zeta, _ in shells]
    text += f"  NSHELL = {len(shells):6d}\n    NEXP = {len(exponents):6d}\n"
    text += keyed("NCOMP", [len(labels) for _, _, labels, *_ in shells]) + keyed("NPRIM", counts)
    text += keyed("NPTR", 1 + np.concatenate([[0], np.cumsum(counts)[:-1]]))
    text += keyed("EXP", exponents, "{:20.10E}", 4)
    text += "".join(keyed(f"C{'SPDFG'[l]}", one, "{:20.10E}", 4) for l, one in enumerate(lists)) + " $END\n"
    parts = {"OVERLAP": [matrix(mol.intor("int1e_ovlp"), 1 / norms)], "DENSITY": [matrix(d, norms) for d in density]}
    if fock is not None:
        parts["FOCK"] = [matrix(f, 1 / norms) for f in fock]
    if orbitals is not None:
        parts["LCAOMO"] = [(c * norms[:, None]).T.ravel() for c in orbitals]
    for key, values in parts.items():
        text += f" ${key}\n{rows_of(np.concatenate(values), 5, '{:18.10E}')} $END\n"
    return text
