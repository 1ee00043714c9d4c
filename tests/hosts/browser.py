"""A real browser for tests, Chromium of the system or of Playwright, that draws by software and has no network."""

import io
import os
import shutil
import time
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


def pixels_at_rest(place, is_reached=lambda now: True) -> np.ndarray:
    """What an element looks like once it is as expected and does not change any more; after a minute, as it is."""
    end = time.monotonic() + 60
    now = pixels(place)
    while time.monotonic() < end:
        before = now
        place.page.wait_for_timeout(400)  # it is drawn finer when it has not moved for 200 ms
        now = pixels(place)
        if before.shape == now.shape and not difference(before, now) and is_reached(now):
            break
    return now


def difference(one: np.ndarray, other: np.ndarray) -> float:
    """Share of the pixels in which two pictures differ visibly."""
    assert one.shape == other.shape
    return float((np.abs(one - other).max(axis=2) > 24).mean())


def changed(canvas, before: np.ndarray, least: float) -> np.ndarray:
    """What is seen when more than a share of the pixels differ from before."""
    now = pixels_at_rest(canvas, lambda now: difference(before, now) > least)
    assert difference(before, now) > least
    return now


def drag(page, element, by=(120, 60)):
    """Pull at the middle of an element with the mouse."""
    box = element.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + by[0], y + by[1], steps=6)
    page.mouse.up()


def address(path: Path) -> str:
    """Of a file on the disk."""
    return path.resolve().as_uri()
