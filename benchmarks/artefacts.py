"""What approximate Gaussians do to surfaces: exact, fast-gaussian and smooth-cutoff side by side.

    python benchmarks/artefacts.py [--data FOLDER] [--spacing 0.2] [--picture docs/images/kernels-at-1e-5.png]

LUMOs of threonine (6-31+G*) and of the bundled benzene at isovalues from 1e-2 to 1e-5, on one lattice each that holds
the whole surface. Compared with the surface of the separable kernel in double precision: largest and mean distance of
vertices, both ways, in bohr; number of parts; area in bohr^2; 99th percentile and largest angle between the normals at
neighbouring vertices, in degrees. The picture shows threonine at 1e-5.
"""

import argparse
from importlib.resources import files
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

import orbitile as ob
from orbitile.renderer import Camera

ISOVALUES = (1e-2, 1e-3, 1e-4, 1e-5)
KERNELS = ("direct", "fast-gaussian", "smooth-cutoff")
COMPARED = {"direct": "exact (direct)", "fast-gaussian": "fast-gaussian", "smooth-cutoff": "smooth-cutoff"}


def parts(surface: ob.Surface) -> int:
    """Number of connected parts."""
    i, j = surface.faces[:, [0, 1, 2]].ravel(), surface.faces[:, [1, 2, 0]].ravel()
    n = len(surface.vertices)
    return int(connected_components(coo_matrix((np.ones(len(i)), (i, j)), shape=(n, n)), directed=False)[0])


def area(surface: ob.Surface) -> float:
    """In bohr^2."""
    a, b, c = surface.vertices[surface.faces].astype(float).transpose(1, 0, 2)
    return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)


def distances(surface: ob.Surface, other: ob.Surface, spacing: float) -> tuple[np.ndarray, np.ndarray]:
    """From each vertex to another surface, in bohr; and the angle between the normals there, in degrees.

    To the tangent plane of the nearest vertex, where that is within two spacings; otherwise to the vertex.
    """
    found, nearest = cKDTree(other.vertices).query(surface.vertices)
    normal = other.normals[nearest].astype(float)
    height = np.abs(((surface.vertices - other.vertices[nearest]) * normal).sum(axis=1))
    cosine = (surface.normals * normal).sum(axis=1).clip(-1, 1)
    return np.where(found < 2 * spacing, height, found), np.degrees(np.arccos(cosine))


def main() -> None:
    """Print the table and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder with thrb.molden (default: data)")
    parser.add_argument("--spacing", type=float, default=0.2, help="in bohr (default: 0.2)")
    parser.add_argument("--picture", type=Path, help="PNG to write")
    options = parser.parse_args()
    molecules = {
        "threonine": ob.load(options.data / "thrb.molden"),
        "benzene": ob.load(files("orbitile") / "data" / "benzene.molden"),
    }
    print(
        "| molecule, isovalue | kernel | largest distance | mean distance | parts | area | normals, 99 % | normals, "
        "largest |\n|---|---|---|---|---|---|---|---|"
    )
    shown: dict[str, ob.Surface] = {}
    for name, wavefunction in molecules.items():
        for isovalue in ISOVALUES:
            lattice = ob.enclosing_lattice(wavefunction, "lumo", isovalue, spacing=options.spacing)
            volume = ob.compute(wavefunction, "lumo", lattice, device="cpu", precision="double", kernel="separable")
            exact = ob.isosurface(volume, isovalue)
            print(f"| {name}, {isovalue:.0e} | reference | | | {parts(exact)} | {area(exact):.4f} | | |")
            for kernel in KERNELS:
                surface = ob.isosurface(
                    ob.compute(wavefunction, "lumo", lattice, device="cpu", kernel=kernel), isovalue
                )
                there, angle = distances(surface, exact, options.spacing)
                back, _ = distances(exact, surface, options.spacing)
                print(
                    f"| | {COMPARED[kernel]} | {max(there.max(), back.max()):.1e} | {np.append(there, back).mean():.1e}"
                    f" | {parts(surface)} | {area(surface):.4f} | {np.percentile(angle, 99):.2g} | {angle.max():.2g} |",
                    flush=True,
                )
                if name == "threonine" and isovalue == ISOVALUES[-1]:
                    shown[kernel] = surface
    if options.picture:
        draw(shown, molecules["threonine"], options.picture)


def draw(surfaces: dict[str, ob.Surface], wavefunction: ob.Wavefunction, path: Path) -> None:
    """The surfaces beside each other, seen from the same side."""
    camera = Camera.facing(wavefunction.positions).turned(x=-60, y=15)
    panels = []
    for kernel, surface in surfaces.items():
        pixels = ob.render(surface, wavefunction, size=(640, 640), opacity=0.95, camera=camera)
        panel = Image.new("RGB", (640, 690), "white")
        panel.paste(Image.fromarray(pixels).convert("RGB"), (0, 0))
        font = ImageFont.load_default(size=28)
        ImageDraw.Draw(panel).text((320, 664), COMPARED[kernel], fill="black", font=font, anchor="mm")
        panels.append(panel)
    picture = Image.new("RGB", (640 * len(panels), 690), "white")
    for n, panel in enumerate(panels):
        picture.paste(panel, (640 * n, 0))
    picture.resize((1080, 388), Image.Resampling.LANCZOS).save(path, optimize=True)


if __name__ == "__main__":
    main()
