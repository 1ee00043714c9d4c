"""The view in marimo, by a real browser: a cell shows it, a click computes in the kernel, another cell sees that."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from importlib.util import find_spec

import pytest

import orbitile as ob
from tests.hosts.browser import chromium

pytestmark = pytest.mark.slow  # starts marimo and a browser

for module in ("anywidget", "marimo"):
    if find_spec(module) is None:  # both are extras
        pytest.skip(f"{module} is not installed", allow_module_level=True)

APP = f"""
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo
    import orbitile as ob

    wfn = ob.load({ob.__path__[0] + "/data/benzene.molden"!r})
    view = mo.ui.anywidget(ob.view(wfn, device="cpu"))
    view
    return mo, ob, view, wfn


@app.cell
def _(mo, view):
    mo.md("seen " + view.value["field"])
    return


@app.cell
def _(wfn):
    wfn
    return
"""


@pytest.fixture
def server(tmp_path):
    """Address of a marimo that ends with the test."""
    (tmp_path / "app.py").write_text(APP)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "marimo", "run", "app.py", "--headless", "--no-token", f"--port={port}"]
    log = (tmp_path / "server.log").open("w")
    places = {name: str(tmp_path) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    process = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log, env={**os.environ, **places})
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(url, timeout=2).close()
                break
            except OSError:
                assert process.poll() is None, (tmp_path / "server.log").read_text()
                assert time.monotonic() < deadline, (tmp_path / "server.log").read_text()
                time.sleep(0.3)
        yield url
    finally:
        process.terminate()
        process.wait(30)
        log.close()


def test_a_session_in_marimo(server):
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1200, "height": 1300})
        page.goto(server)
        view = page.locator(".orbitile-view").first
        view.wait_for(timeout=90000)
        shown = "([view, field]) => JSON.parse(view.dataset.shown || '[0]')[0] === field"
        page.wait_for_function(shown, arg=[view.element_handle(), "mo:21"], timeout=60000)
        view.locator("li[role=option]", has_text="HOMO-4").first.click()
        page.wait_for_function(shown, arg=[view.element_handle(), "mo:17"], timeout=60000)
        page.get_by_text("seen mo:17").wait_for(timeout=30000)
        # a wavefunction at the end of a cell is a page
        page.frame_locator("iframe").first.locator(".orbitile-view canvas").wait_for(timeout=30000)
