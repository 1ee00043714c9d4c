"""From process start to a picture: where the time goes.

    python benchmarks/cold_start.py FILE [--spacing 0.075]

What `orbitile render FILE homo --spacing 0.075` does, step by step in a fresh process; kernels come from Taichi's cache
when they have been compiled before.
"""

import argparse
import tempfile
import time
from pathlib import Path

BEGIN = time.perf_counter()


def main() -> None:
    """Run the steps and print what each took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--spacing", type=float, default=0.075, help="in Angstrom (default: 0.075)")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    last = BEGIN

    def lap(what: str) -> None:
        nonlocal last
        now = time.perf_counter()
        print(f"{what:<34}{now - last:8.3f} s")
        last = now

    import numpy  # noqa: F401
    import scipy.sparse
    import scipy.spatial  # noqa: F401

    import orbitile as ob

    lap("import NumPy, SciPy, orbitile")
    wavefunction = ob.load(options.file)
    lap("read, repair, check")
    from taichi_kernels.session import session

    with session(options.device) as device:
        lap(f"import and start Taichi ({device})")
    isovalue = ob.default_isovalue(wavefunction, "homo", device=options.device)
    lap("default isovalue (loads kernels)")
    spacing = options.spacing / 0.529177210903
    lattice = ob.enclosing_lattice(wavefunction, "homo", isovalue, spacing=spacing)
    volume = ob.compute(wavefunction, "homo", lattice, device=options.device)
    lap("orbital on {} x {} x {} points".format(*lattice.shape))
    surface = ob.isosurface(volume, isovalue)
    lap(f"isosurface, {len(surface.faces)} triangles")
    with tempfile.TemporaryDirectory() as folder:
        ob.render(surface, wavefunction, Path(folder) / "homo.png")
    lap("picture, 1600 x 1200")
    print(f"{'in all':<34}{last - BEGIN:8.3f} s")


if __name__ == "__main__":
    main()
