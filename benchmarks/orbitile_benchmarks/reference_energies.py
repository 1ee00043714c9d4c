"""Total energies by PySCF, kept in a file for machines that have no PySCF.

    python -m orbitile_benchmarks.reference_energies FILE.json [--series alkanes,water] [--functionals lda,pbe]

A run that was interrupted is taken up by the same call.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from .geometries import ALKANES, CLUSTERS, alkane, water_cluster
from .optional import needed
from .systems import THREONINE

BASIS = "6-31g*"
FUNCTIONALS = {"lda": "lda,vwn", "pbe": "pbe,pbe"}
"""Names of ours, and what PySCF calls the same functional."""

SERIES: dict[str, dict[str, Callable[[], str]]] = {
    "threonine": {"threonine": lambda: THREONINE},
    "alkanes": {f"C{n if n > 1 else ''}H{2 * n + 2}": partial(alkane, n) for n in ALKANES},
    "water": {f"(H2O){n}": partial(water_cluster, n) for n in CLUSTERS},
}
"""Geometries by series and by name."""


def solved(geometry: str, functional: str, basis: str = BASIS, **options: Any) -> tuple[Any, float]:
    """A converged restricted Kohn-Sham calculation of PySCF, and the seconds that it took, its grid included.

    Parameters
    ----------
    functional
        A key of `FUNCTIONALS`.
    options
        For `pyscf.gto.M`.
    """
    needed("pyscf", "has the other engine")
    from pyscf import dft, gto

    begin = time.perf_counter()
    molecule = gto.M(atom=geometry, basis=basis, verbose=0, **options)
    field = dft.RKS(molecule, xc=FUNCTIONALS[functional])
    field.kernel()
    return field, time.perf_counter() - begin


def chosen_series(names: str) -> dict[str, Callable[[], str]]:
    """Geometries of the series that are named with commas between."""
    return {name: make for series in names.split(",") for name, make in SERIES[series].items()}


def main() -> None:
    """Add what is missing to the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--series", default=",".join(SERIES))
    parser.add_argument("--functionals", default=",".join(FUNCTIONALS))
    options = parser.parse_args()
    found = json.loads(options.file.read_text(encoding="utf-8")) if options.file.exists() else {}
    for name, geometry in chosen_series(options.series).items():
        for functional in options.functionals.split(","):
            key = f"{name} {functional}"
            if key in found:
                continue
            field, seconds = solved(geometry(), functional)
            found[key] = {
                "energy": float(field.e_tot),
                "converged": bool(field.converged),
                "cycles": int(field.cycles),
                "points": len(field.grids.weights),
                "seconds": round(seconds, 2),
            }
            options.file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            print(key, found[key], flush=True)


if __name__ == "__main__":
    main()
