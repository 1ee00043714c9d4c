"""The view in JupyterLab, by a real browser: cells run, the mouse turns and clicks, and what is saved still turns."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from importlib.util import find_spec

import pytest

import orbitile as ob
from tests.hosts.browser import address, changed, chromium, difference, drag, pixels, pixels_at_rest

pytestmark = pytest.mark.slow  # starts JupyterLab and a browser

for module in ("anywidget", "jupyterlab", "nbconvert", "nbformat"):
    if find_spec(module) is None:  # to import JupyterLab takes seconds, also where these tests are left out
        pytest.skip(f"{module} is not installed", allow_module_level=True)

CELLS = {
    "view": "import orbitile as ob\nwfn = ob.load(FILE)\nview = ob.view(wfn, device='cpu')\nview",
    "itself": "wfn",
    "lumo": "view.field = 'lumo'",
    "ask": "print('seen', view.field, round(view.isovalue or 0, 3), bool(view.camera))",
    "busy": "import time; view.field = 'mo:20'; time.sleep(3); print('slept')",
    "path": "frames = ob.load_trajectory(PATH)\nfilm = ob.view(frames, 'mo:5', device='cpu')\nfilm",
    "surface": "ob.compute_surface(wfn, 'homo', 0.03, device='cpu')",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, water):
    import nbformat

    where = tmp_path_factory.mktemp("notebooks")
    from orbitile.exporters._series import SeriesWriter  # a trajectory in a file

    with SeriesWriter(where / "water.h5") as writer:
        for frame in water[:4]:
            writer.append(frame)
    names = {"FILE": repr(ob.__path__[0] + "/data/benzene.molden"), "PATH": repr(str(where / "water.h5"))}
    sources = [source.replace("FILE", names["FILE"]).replace("PATH", names["PATH"]) for source in CELLS.values()]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, where / "a.ipynb")
    return where


@pytest.fixture(scope="module")
def server(folder):
    """Address of a JupyterLab that ends with the tests."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        "--ServerApp.port_retries=0",
    ]
    command += ["--IdentityProvider.token=", "--ServerApp.password=", "--ServerApp.disable_check_xsrf=True"]
    command += ["--LabApp.news_url=None", f"--ServerApp.root_dir={folder}"]
    places = {name: str(folder / ".jupyter") for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}
    log = (folder / "server.log").open("w")
    process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **places})
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"{url}/api/status", timeout=2).close()
                break
            except OSError:
                assert process.poll() is None, (folder / "server.log").read_text()
                assert time.monotonic() < deadline, (folder / "server.log").read_text()
                time.sleep(0.3)
        yield url
    finally:
        process.terminate()
        process.wait(30)
        log.close()


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


def opened(browser, server):
    page = browser.new_page(viewport={"width": 1300, "height": 1000})
    page.goto(f"{server}/lab/tree/a.ipynb?reset")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60000)
    page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", timeout=90000)  # the kernel is there
    page.wait_for_timeout(1000)
    return page


def run(page, name):
    """Run a cell, and wait until that is done, which its number tells."""
    from playwright.sync_api import TimeoutError  # where it is missing there is no page

    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(list(CELLS).index(name))
    prompt = cell.locator(".jp-InputPrompt")
    for _ in range(20):  # keys get lost while JupyterLab still moves the focus
        cell.locator(".jp-InputArea-editor").click()
        page.keyboard.press("Control+Enter")
        with suppress(TimeoutError):
            prompt.filter(has_text=re.compile(r"\[[*\d]+\]")).wait_for(timeout=1000)
            break
    prompt.filter(has_text=re.compile(r"\[\d+\]")).wait_for(timeout=60000)
    return cell


def wait_shown(view, field):
    view.page.wait_for_function(
        "([view, field]) => JSON.parse(view.dataset.shown)[0] === field",
        arg=[view.element_handle(), field],
        timeout=30000,
    )
    view.page.wait_for_timeout(500)


def test_a_session_in_jupyterlab(browser, server, folder):
    page = opened(browser, server)
    view = run(page, "view").locator(".orbitile-view")
    view.wait_for(timeout=60000)
    wait_shown(view, "mo:21")
    canvas = view.locator("canvas")
    canvas.scroll_into_view_if_needed()
    before = pixels_at_rest(canvas)
    drag(page, canvas)
    turned = changed(canvas, before, 0.1)

    view.locator("li[role=option]", has_text="HOMO-4").first.click()
    wait_shown(view, "mo:17")
    changed(canvas, turned, 0.05)
    canvas.scroll_into_view_if_needed()
    wide = pixels_at_rest(canvas)
    drag(page, view.get_by_label("Isovalue"), by=(60, 0))
    changed(canvas, wide, 0.02)
    answer = run(page, "ask").inner_text()
    assert "seen mo:17" in answer
    assert "True" in answer, "the camera is not told"

    view.locator(".orbitile-level rect").nth(2).click(force=True)
    page.wait_for_function("view => JSON.parse(view.dataset.shown)[0] !== 'mo:17'", arg=view.element_handle())

    run(page, "lumo")
    wait_shown(view, "mo:22")
    assert difference(before, pixels(canvas)) > 0.05
    run(page, "busy")
    wait_shown(view, "mo:20")

    film = run(page, "path").locator(".orbitile-view")
    wait_shown(film, "mo:5")
    film.get_by_role("button", name="Play").click()
    page.wait_for_function("(film) => film.innerText.includes('3 / 4')", arg=film.element_handle(), timeout=30000)
    film.get_by_role("button", name="Pause").click()

    assert run(page, "itself").locator(".orbitile-view").count() == 1, "a wavefunction does not show itself"
    assert run(page, "surface").frame_locator("iframe").locator("canvas").count() == 1
    assert not page.locator("iframe[data-orbitile]:not([data-orbitile=''])").first.is_visible(), (
        "what is live is there twice"
    )
    page.wait_for_timeout(1500)
    for _ in range(20):
        page.keyboard.press("Control+s")
        page.wait_for_timeout(2500)
        if "data-orbitile" in (folder / "a.ipynb").read_text():
            break
    page.close()
    assert "data-orbitile" in (folder / "a.ipynb").read_text()


@pytest.mark.parametrize("how", ["without its kernel", "exported"])
def test_what_is_saved_still_turns(browser, server, folder, how):
    assert "data-orbitile" in (folder / "a.ipynb").read_text(), "the session before this has saved no views"
    if how == "exported":
        command = [sys.executable, "-m", "nbconvert", "--to", "html", str(folder / "a.ipynb")]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        page = browser.new_context(offline=True, viewport={"width": 1300, "height": 1000}).new_page()
        page.goto(address(folder / "a.html"))
    else:
        sessions = json.load(urllib.request.urlopen(f"{server}/api/sessions"))
        for session in sessions:
            gone = urllib.request.Request(f"{server}/api/sessions/{session['id']}", method="DELETE")
            urllib.request.urlopen(gone).close()
        page = opened(browser, server)
        page.wait_for_function("() => document.body.textContent.includes('model not found')", timeout=30000)
        assert not page.get_by_text("model not found").first.is_visible(), "JupyterLab complains below it"
    frame = page.locator("iframe[data-orbitile]").first
    frame.scroll_into_view_if_needed()
    frame.content_frame.locator("[data-ready]").wait_for(timeout=30000)
    before = pixels_at_rest(frame)
    drag(page, frame.content_frame.locator("canvas"))
    changed(frame, before, 0.1)
    page.close()


def test_what_is_executed_without_a_browser_shows_what_was_asked_for_last(folder):
    import html
    import re

    import nbformat

    from tests.web.unpacking import document_in

    file = repr(ob.__path__[0] + "/data/benzene.molden")
    sources = ["import orbitile as ob", f"view = ob.view({file}, quality='coarse', device='cpu')\nview", CELLS["lumo"]]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, folder / "b.ipynb")
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", str(folder / "b.ipynb")]
    subprocess.run(command, check=True, capture_output=True, timeout=180)
    saved = nbformat.read(folder / "b.ipynb", 4).cells[1].outputs[0]["data"]["text/html"]
    document = document_in(html.unescape(re.search('srcdoc="([^"]*)"', saved)[1]))
    assert [slide["field"] for slide in document["slides"]] == ["mo:22", "mo:21"]
