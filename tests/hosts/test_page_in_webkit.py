"""Pages in WebKit, the engine of Safari: they compute the same values there."""

from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.pictures.pages import bare_slide, document_of, with_computing
from orbitile.scenes import web
from tests.hosts.browser import address
from tests.hosts.webkit import webkit

pytestmark = pytest.mark.slow  # starts a browser

VALUES = """
const { values, grid } = await computing.volume("mo:5", 2, { told() {}, stopped: () => false });
return [Array.from(values), grid];
"""


def test_an_orbital_of_a_frame_is_computed_in_webkit(water, tmp_path, monkeypatch):
    def script(*ends, of=web.viewer_script):
        return of(*ends).replace("element.dataset.ready", "window.computing = computing; element.dataset.ready")

    frames = water[::4]
    slides = [replace(bare_slide(one), frame=n) for n, one in enumerate(frames)]
    document = with_computing(document_of(slides, frames[0], len(frames)), frames)
    monkeypatch.setattr(web, "viewer_script", script)  # before the policy has its digest
    (tmp_path / "a.html").write_text(web.page(document), encoding="utf-8")
    with webkit() as page:
        page.open(f"{address(tmp_path / 'a.html')}#field=mo:5&frame=1")
        page.wait_until("document.querySelector('.orbitile-view')?.dataset.shown?.includes('mo:5')")
        assert "2 / 3" in page.run("return document.querySelector('.orbitile-lower').textContent")
        assert "of the first frame" in page.run("return document.querySelector('[role=note]').textContent")
        values, grid = page.run(VALUES)
    lattice = ob.Lattice(np.array(grid["low"]) + document.middle, grid["spacing"] * np.eye(3), tuple(grid["shape"]))
    found = np.array(values).reshape(grid["shape"][::-1]).transpose(2, 1, 0)
    expected = ob.compute(frames[2], "mo:5", lattice, device="cpu").values
    assert np.abs(expected).max() > 0.1
    assert np.abs(found - expected).max() < 1e-4
