"""A real browser for tests, Chromium of the system or of Playwright, that draws by software and has no network."""

import io
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

ARGUMENTS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]


@contextmanager
def chromium():
    """The browser; what needs it is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    there = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with playwright.sync_playwright() as started:
        path = there or started.chromium.executable_path
        if not os.path.exists(path):
            pytest.skip("there is no Chromium: apt-get install chromium, or playwright install chromium")
        browser = started.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def pixels(place) -> np.ndarray:
    """What a page or an element looks like, shape (height, width, 3)."""
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(place.screenshot())).convert("RGB")).astype(int)


def difference(one: np.ndarray, other: np.ndarray) -> float:
    """Share of the pixels in which two pictures differ visibly."""
    assert one.shape == other.shape
    return float((np.abs(one - other).max(axis=2) > 24).mean())


def drag(page, element, by=(120, 60)):
    """Pull at the middle of an element with the mouse."""
    box = element.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + by[0], y + by[1], steps=6)
    page.mouse.up()
    page.wait_for_timeout(500)  # it is drawn finer when it does not move any more


def address(path: Path) -> str:
    """Of a file on the disk."""
    return path.resolve().as_uri()
