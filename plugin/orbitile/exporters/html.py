"""Pages: a scene that turns in a browser, in one file that needs nothing else."""

from __future__ import annotations

from pathlib import Path

from ..scenes import Scene
from ..scenes.web import Document, Slide, page

DESCRIPTION = "HTML page"
PATTERNS = ("*.html", "*.htm")
KIND = "scene"


def write(scene: Scene, path: Path, wavefunction: object = None) -> None:
    """Write a page that shows a scene, seen with x to the right and y upwards at first."""
    centres, _ = scene.extent()
    middle = (centres.min(axis=0) + centres.max(axis=0)) / 2
    title = ", ".join(dict.fromkeys(mesh.name for mesh in scene.meshes if mesh.name))
    path.write_text(page(Document(title, (Slide(scene, title=title),), middle=middle)), encoding="utf-8")
