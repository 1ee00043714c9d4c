"""Whole pictures beside small ones that are stored: nothing that they show changes unseen.

After a change that is wanted, look at the new pictures and store them: `python -m tests.renderer.test_references`.
"""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from orbitile import render

pytest.importorskip("OpenGL")

from orbitile.renderer import Camera, draw, write_png
from orbitile.renderer.context import offscreen

from .samples import ball, mapped, molecule, p_orbital

REFERENCES = Path(__file__).parent / "references"

SMALL = {"size": (120, 90)}
ATOMS = molecule([6, 8, 1, 0], [[-1.1, 0, 0], [1.1, 0, 0], [-2.5, 1.5, 0.5], [2.5, 1.5, 1.0]])

SCENES = {
    "translucent": lambda: render([p_orbital(1, "HOMO"), p_orbital(2, "LUMO")], ATOMS, **SMALL),
    "opaque": lambda: render([p_orbital(1)], ATOMS, opacity=1.0, colours=("teal", (1, 0.6, 0)), **SMALL),
    "molecule": lambda: render((), ATOMS, background="black", camera=Camera.from_direction([1, 2, 3]), **SMALL),
    "orthographic": lambda: render(p_orbital(0), ATOMS, orthographic=True, background="transparent", **SMALL),
    "values": lambda: render([mapped(), p_orbital(0, centre=(4, 0, 0))], opacity=0.8, **SMALL),
    "legend": lambda: render([mapped(), ball(1.0, "ρ / e bohr^-3")], legend=True, scale=True, size=(240, 180)),
}


def assert_alike(pixels, name):
    """Rounding of other drivers, and edges of letters of other versions of a font, make no other picture."""
    with Image.open(REFERENCES / f"{name}.png") as stored:
        difference = np.abs(np.asarray(stored.convert("RGBA")).astype(int) - pixels)
    letters = name == "legend"
    assert difference.mean() < (0.3 if letters else 0.1)
    assert (difference > (100 if letters else 12)).any(axis=-1).mean() < 0.002


@pytest.mark.parametrize("name", SCENES)
def test_a_picture_is_the_one_that_is_stored(name):
    assert_alike(SCENES[name](), name)


@pytest.mark.parametrize("name", ["translucent", "values"])
def test_peeled_it_is_the_same(monkeypatch, name):
    """Without storage for lists of fragments, as with OpenGL 3.3."""
    with offscreen() as context:
        monkeypatch.setattr(context, "has_storage", False)
    layers = []

    def bind_textures(context, *textures, bind=draw.bind_textures):
        layers.extend(textures if len(textures) == 1 else ())  # others are of the resolved tile
        bind(context, *textures)

    monkeypatch.setattr(draw, "bind_textures", bind_textures)
    assert_alike(SCENES[name](), name)
    assert len(layers) > 2  # each is peeled from the one before


if __name__ == "__main__":
    REFERENCES.mkdir(exist_ok=True)
    for name, picture in SCENES.items():
        write_png(REFERENCES / f"{name}.png", picture())
