"""Write the table of minimal bases that intrinsic atomic orbitals are made of: plugin/orbitile/data/minimal_basis.json.

    python benchmarks/minimal_basis.py

Its source is the Basis Set Exchange (package basis-set-exchange, BSD licence; B. P. Pritchard et al., J. Chem. Inf.
Model. 2019, 59, 4814), whose sets go back to

- cc-pVTZ for H to Kr without K: T. H. Dunning, J. Chem. Phys. 1989, 90, 1007; D. E. Woon and T. H. Dunning, 1993, 98,
  1358 and 1994, 100, 2975; A. K. Wilson et al., 1999, 110, 7667; N. B. Balabanov and K. A. Peterson, 2005, 123, 064107;
  J. Koput and K. A. Peterson, J. Phys. Chem. A 2002, 106, 9595; B. P. Prascher et al., Theor. Chem. Acc. 2011, 128, 69;
- cc-pVTZ-PP for elements with core potentials: K. A. Peterson, J. Chem. Phys. 2003, 119, 11099; K. A. Peterson et al.,
  2003, 119, 11113; K. A. Peterson and C. Puzzarini, Theor. Chem. Acc. 2005, 114, 283; D. Figgen et al., J. Chem. Phys.
  2009, 130, 164108; K. A. Peterson et al., 2007, 126, 124101;
- ANO-RCC for all electrons of K and of Rb to Cm: B. O. Roos et al., J. Phys. Chem. A 2004, 108, 2851; 2005, 109, 6575;
  Chem. Phys. Lett. 2005, 409, 295; J. Phys. Chem. A 2008, 112, 11431.

Of each set the contracted functions of the occupied shells of the free atom are taken, as G. Knizia does for the basis
MINAO (J. Chem. Theory Comput. 2013, 9, 4834, p. 4836).
"""

import json
from pathlib import Path

import basis_set_exchange as exchange

from orbitile.model.elements import SYMBOLS

TABLE = Path(__file__).parents[1] / "plugin" / "orbitile" / "data" / "minimal_basis.json"

POTENTIALS = {range(29, 37): 10, range(39, 55): 28, range(72, 87): 60}
"""Electrons that the potentials of cc-pVTZ-PP replace."""


def shells_left(number: int, core: int = 0) -> dict[int, int]:
    """Occupied shells by angular momentum: 1s 2s 2p 3s 3p 4s 3d ... in the order in which they are filled."""
    filled = "1s 2s 2p 3s 3p 4s 3d 4p 5s 4d 5p 6s 4f 5d 6p 7s 5f 6d".split()
    left, counts = number, {}
    for name in filled:
        if left > 0:
            counts[name] = 1
        left -= 4 * "spdf".index(name[1]) + 2
    gone = {0: 0, 10: 2, 28: 3, 60: 4}[core]
    inner = {name for name in counts if int(name[0]) <= gone}
    if 57 <= number <= 70 or number >= 89:  # what they fill, and bond with, beside f
        counts["5d" if number <= 70 else "6d"] = 1
    momenta = ["spdf".index(name[1]) for name in counts if name not in inner]
    return {l: momenta.count(l) for l in sorted(set(momenta))}


def contractions(basis: str, number: int, wanted: dict[int, int]) -> list:
    """The first contracted functions of each angular momentum: [l, exponents, coefficients]."""
    shells = exchange.get_basis(basis, elements=[number])["elements"][str(number)]["electron_shells"]
    found = []
    for l, count in wanted.items():
        columns = [
            (shell["exponents"], column)
            for shell in shells
            for momentum, column in zip(
                shell["angular_momentum"] * len(shell["coefficients"]), shell["coefficients"], strict=False
            )
            if momentum == l
        ]
        for exponents, column in columns[:count]:
            rows = [(float(a), float(c)) for a, c in zip(exponents, column, strict=True) if float(c)]
            assert len(rows) > 1, f"{basis} of {SYMBOLS[number]}: a primitive among the contractions"
            found.append([l, [a for a, _ in rows], [c for _, c in rows]])
    return found


def main() -> None:
    """Write the table."""
    table = {
        SYMBOLS[number]: {
            "0": contractions("cc-pVTZ" if number <= 36 and number != 19 else "ANO-RCC-MB", number, shells_left(number))
        }
        for number in range(1, 97)
    }
    for numbers, core in POTENTIALS.items():
        for number in numbers:
            table[SYMBOLS[number]][str(core)] = contractions("cc-pVTZ-PP", number, shells_left(number, core))
    text = json.dumps(table, separators=(",", ":"))
    TABLE.write_text(text.replace('},"', '},\n"') + "\n", encoding="utf-8")
    print(f"{TABLE.name}: {len(text) / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
