"""Pages in a browser without a network: they draw what the renderer draws, and do what they are told."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.commandline import main
from orbitile.pictures.computing import computing_of
from orbitile.pictures.pages import bare_slide, document_of, slide_of, with_computing
from orbitile.scenes import PALETTES
from orbitile.scenes.web import page as page_of
from tests.hosts.browser import address, changed, chromium, difference, drag, pixels_at_rest

pytestmark = pytest.mark.slow  # starts a browser

BENZENE = str(ob.__path__[0]) + "/data/benzene.molden"


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def opened(browser):
    """Opens a file, of which all errors are errors of the test."""
    contexts, problems = [], []

    def open_file(path, init_script="", **options):
        contexts.append(browser.new_context(offline=True, viewport={"width": 1000, "height": 640}, **options))
        page = contexts[-1].new_page()
        page.add_init_script(init_script)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: request.url.startswith("http") and problems.append(request.url))
        page.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
        page.goto(address(path))
        page.wait_for_selector("[data-ready]", timeout=30000)
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture(scope="module")
def fields(tmp_path_factory):
    """A page that does not compute."""
    path = tmp_path_factory.mktemp("pages") / "fields.html"
    with pytest.MonkeyPatch.context() as changes:
        changes.setattr("orbitile.pictures.pages.computing_of", lambda *_: ())
        main(["render", BENZENE, "homo", "lumo", "-o", str(path), "--device", "cpu"])
    return path


@pytest.fixture(scope="module")
def computed(tmp_path_factory, benzene):
    """A page that computes all but its first slide, the molecule alone."""
    path = tmp_path_factory.mktemp("pages") / "computed.html"
    document = with_computing(document_of([bare_slide(benzene)], benzene), [benzene])
    path.write_text(page_of(document), encoding="utf-8")
    return path


def shown(page):
    return json.loads(page.locator(".orbitile-view").get_attribute("data-shown"))[0]


def test_it_turns_by_mouse_and_keys_and_comes_back(opened, fields):
    page = opened(fields)
    canvas = page.locator("canvas")
    first = pixels_at_rest(canvas, lambda now: (np.abs(now - now[0, 0]).max(axis=2) > 24).mean() > 0.1)
    assert (np.abs(first - first[0, 0]).max(axis=2) > 24).mean() > 0.1, "nothing is drawn"
    drag(page, canvas)
    turned = changed(canvas, first, 0.1)
    page.keyboard.press("ArrowLeft")
    changed(canvas, turned, 0.05)
    page.keyboard.press("Home")
    back = pixels_at_rest(canvas, lambda now: difference(first, now) < 0.03)
    assert difference(first, back) < 0.03  # the focus has a frame
    page.mouse.wheel(0, -400)
    changed(canvas, first, 0.05)


def test_it_looks_as_a_picture_of_the_renderer(opened, benzene, tmp_path):
    surface = ob.compute_surface(benzene, "homo", 0.05, device="cpu")
    document = replace(document_of([slide_of(surface, benzene, "homo")], benzene), choices=())
    (tmp_path / "a.html").write_text(page_of(document), encoding="utf-8")
    page = opened(tmp_path / "a.html", bypass_csp=True)  # for a style of ours
    half_angle = np.tan(np.radians(9))
    height = page.locator(".orbitile-view").get_attribute("data-height")
    eye = document.middle + document.rotation[2] * float(height) / 2 / half_angle
    camera = replace(ob.renderer.default_camera(benzene.positions), eye=eye)
    page.add_style_tag(content=".orbitile-caption, .orbitile-legends { display: none }")
    theirs = pixels_at_rest(page.locator("canvas"))
    size = theirs.shape[1], theirs.shape[0]
    ours = np.asarray(ob.render(surface, benzene, None, size=size, camera=camera))[..., :3].astype(int)
    assert difference(theirs, ours) < 0.03


def test_a_click_shows_another_orbital_and_others_cannot_be_had(opened, fields):
    page = opened(fields)
    before = pixels_at_rest(page.locator("canvas"))
    page.get_by_role("option", name="LUMO 3.99").click()
    changed(page.locator("canvas"), before, 0.1)
    assert shown(page) == "mo:22"
    page.get_by_role("option", name="HOMO-3").click(force=True)
    assert shown(page) == "mo:22"
    assert page.get_by_role("option", name="HOMO-3").get_attribute("aria-disabled") == "true"
    page.get_by_role("listbox").press("ArrowDown")
    assert shown(page) == "mo:21"
    assert page.get_by_role("option", selected=True).inner_text().split()[:2] == ["21", "HOMO"]
    offered = page.locator("[role=option]:not([aria-disabled])")
    assert offered.count() > 1
    for key, row in (("End", offered.last), ("Home", offered.first), ("PageDown", offered.last)):
        page.get_by_role("listbox").press(key)
        assert row.get_attribute("aria-selected") == "true", key
    page.locator(".orbitile-level:not(.orbitile-unknown) rect").last.click(force=True)
    assert shown(page) == "mo:22"


def test_isovalues_are_those_that_were_computed(opened, fields):
    page = opened(fields)
    text = page.locator(".orbitile-slider output").first
    canvas = page.locator("canvas")
    before, seen = pixels_at_rest(canvas), []
    for place in ("0", "1", "2"):
        page.get_by_label("Isovalue").fill(place)
        before = changed(canvas, before, 0.01)
        seen.append((float(text.inner_text()), before))
    values = [value for value, _ in seen]
    assert values == pytest.approx([values[1] / 2, values[1], values[1] * 2], rel=0.02)
    assert difference(seen[0][1], seen[2][1]) > 0.1


VALUES = """async (field) => {
  const { values, grid } = await computing.volume(field, 0, { told() {}, stopped: () => false });
  return [Array.from(values), grid];
}"""


@pytest.mark.parametrize(
    ("field", "small"),
    [("mo:1", ""), ("mo:21", ""), ("density", ""), ("mo:1", "0"), ("mo:21", "0"), ("density", "1e99")],
)
def test_values_in_the_page_are_those_of_the_library(opened, computed, benzene, field, small, tmp_path):
    text = computed.read_text(encoding="utf-8")
    if small:  # all by the graphics card, or all by the script
        text, count = re.subn(r"const SMALL = [^;]*;", f"const SMALL = {small};", text)
        assert count == 1
    text = text.replace("element.dataset.ready", "window.computing = computing; element.dataset.ready")
    (tmp_path / "a.html").write_text(text, encoding="utf-8")
    page = opened(tmp_path / "a.html", bypass_csp=True)  # which refuses a script that was changed
    values, grid = page.evaluate(VALUES, field)
    low = np.array(grid["low"]) + unpacked_middle(benzene)
    lattice = ob.Lattice(low, grid["spacing"] * np.eye(3), tuple(grid["shape"]))
    expected = ob.compute(benzene, field, lattice, device="cpu").values
    found = np.array(values).reshape(grid["shape"][::-1]).transpose(2, 1, 0)
    assert np.abs(expected).max() > 0.1
    assert np.abs(found - expected).max() < 1e-4


@pytest.fixture(scope="module")
def frames(tmp_path_factory, water):
    """A page of a trajectory that computes all but the molecules."""
    path = tmp_path_factory.mktemp("pages") / "frames.html"
    slides = [replace(bare_slide(one), frame=n) for n, one in enumerate(water)]
    document = with_computing(document_of(slides, water[0], len(water)), water)
    path.write_text(page_of(document), encoding="utf-8")
    return path


@pytest.mark.parametrize(("field", "frame"), [("mo:5", 8), ("density", 3)])
def test_values_in_a_frame_are_those_of_the_library(opened, frames, water, field, frame, tmp_path):
    text = frames.read_text(encoding="utf-8")
    text = text.replace("element.dataset.ready", "window.computing = computing; element.dataset.ready")
    (tmp_path / "a.html").write_text(text, encoding="utf-8")
    page = opened(tmp_path / "a.html", bypass_csp=True)
    page.evaluate(VALUES.replace("field, 0", "field, 1"), field)  # another frame first: nothing of it is left
    values, grid = page.evaluate(VALUES.replace("field, 0", f"field, {frame}"), field)
    low = np.array(grid["low"]) + unpacked_middle(water[0])
    lattice = ob.Lattice(low, grid["spacing"] * np.eye(3), tuple(grid["shape"]))
    expected = ob.compute(water[frame], field, lattice, device="cpu").values
    found = np.array(values).reshape(grid["shape"][::-1]).transpose(2, 1, 0)
    assert np.abs(expected).max() > 0.1
    assert np.abs(found - expected).max() < 1e-4


def test_an_orbital_is_computed_in_the_frame_that_is_chosen(opened, frames):
    page = opened(frames)
    canvas = page.locator("canvas")
    page.get_by_role("option", name="HOMO", exact=False).first.click()
    wait_for(page, "mo:5")
    isovalue = page.locator(".orbitile-slider output").first.inner_text()
    first = pixels_at_rest(canvas)
    page.get_by_label("Frame").fill("8")
    page.get_by_text("9 / 9").wait_for()
    changed(canvas, first, 0.02)
    assert shown(page) == "mo:5"
    assert page.locator(".orbitile-slider output").first.inner_text() == isovalue
    page.get_by_role("button", name="Play").click()
    page.get_by_text("2 / 9").wait_for(timeout=20000)
    page.get_by_role("button", name="Pause").click()


def test_energies_are_those_of_the_frame_that_is_shown(opened, frames, water):
    page = opened(frames)
    page.get_by_role("option", name="HOMO", exact=False).first.click()
    wait_for(page, "mo:5")
    levels = page.locator(".orbitile-diagram")
    for frame in (0, 8, 3):
        page.get_by_label("Frame").fill(str(frame))
        page.get_by_text(f"{frame + 1} / 9").wait_for()
        alpha = water[frame].alpha
        told = [row.inner_text().split() for row in page.get_by_role("listbox").get_by_role("option").all()[1:]]
        assert [row[0] for row in told] == [str(n) for n in range(len(alpha), 0, -1)]
        for row in told:
            at = int(row[0]) - 1
            assert float(row[-2].replace("−", "-")) == pytest.approx(alpha.energies[at] * 27.211386, abs=0.006)
            assert float(row[-1]) == alpha.occupations[at]
        chosen = levels.locator(".orbitile-chosen title").text_content()
        assert chosen == f"HOMO, {alpha.energies[4] * 27.211386245988:.3f} eV"
    levels.locator(".orbitile-occupied rect").last.click(force=True)  # the diagram is another one, and works
    wait_for(page, "mo:5")


def unpacked_middle(wavefunction):
    return document_of([bare_slide(wavefunction)], wavefunction).middle


def wait_for(page, field):
    page.wait_for_function("(one) => document.querySelector('.orbitile-view').dataset.shown.includes(one)", arg=field)


def test_any_orbital_is_computed_at_any_isovalue(opened, computed):
    page = opened(computed)
    canvas = page.locator("canvas")
    bare = pixels_at_rest(canvas)
    page.get_by_role("option", name="HOMO-3").click()
    wait_for(page, "mo:18")
    usual = changed(canvas, bare, 0.05)
    page.get_by_label("Isovalue").fill("900")
    changed(canvas, usual, 0.02)
    page.get_by_role("listbox").press("ArrowUp")
    wait_for(page, "mo:19")
    page.get_by_role("option", name="electron density").click()
    wait_for(page, "density")
    assert page.locator(".orbitile-caption").inner_text() == "electron density"
    assert page.locator(".orbitile-legend").first.inner_text().endswith(" e bohr⁻³")


WORKERS = """
window.asked = [];
const Begun = window.Worker;
window.Worker = class extends Begun {
  postMessage(message) {
    window.asked.push(message.isovalue);
    super.postMessage(message);
  }
};"""

DRAG = """(places) => {
  const input = document.querySelector('.orbitile-slider input');
  for (const place of places) {
    input.value = place;
    input.dispatchEvent(new Event('input'));
  }
}"""


def test_surfaces_are_found_by_a_worker_which_leaves_out_what_was_overtaken(opened, computed):
    page = opened(computed, init_script=WORKERS)
    page.get_by_role("option", name="HOMO-3").click()
    wait_for(page, "mo:18")
    assert page.evaluate("asked") == []  # the first surface is found in the page
    usual = pixels_at_rest(page.locator("canvas"))
    page.evaluate(DRAG, list(range(500, 900, 10)))
    changed(page.locator("canvas"), usual, 0.02)
    asked = page.evaluate("asked")
    assert len(asked) < 6  # of forty
    assert float(page.locator(".orbitile-slider output").first.inner_text()) == pytest.approx(asked[-1], rel=5e-3)
    assert f"+{asked[-1]:.3g} bohr⁻³ᐟ²" in page.locator(".orbitile-legend").first.inner_text()


@pytest.mark.parametrize("how", ["no workers", "policy"])
def test_without_a_worker_the_page_finds_surfaces_itself(opened, computed, tmp_path, how):
    text = computed.read_text(encoding="utf-8")
    if how == "policy":
        assert "worker-src blob:" in text
        text = text.replace("worker-src blob:", "worker-src 'none'")
    (tmp_path / "a.html").write_text(text, encoding="utf-8")
    pictures = []
    for path, script in (
        (computed, WORKERS),
        (tmp_path / "a.html", "delete window.Worker" if how == "no workers" else ""),
    ):
        page = opened(path, init_script=script)
        page.get_by_role("option", name="HOMO-3").click()
        wait_for(page, "mo:18")
        usual = pixels_at_rest(page.locator("canvas"))
        page.get_by_label("Isovalue").fill("900")
        pictures.append(changed(page.locator("canvas"), usual, 0.02))
        assert page.locator(".orbitile-status").inner_text() == ""
    assert difference(*pictures) < 0.001


def test_a_page_of_a_notebook_computes_in_its_frame(browser, benzene, tmp_path):
    (tmp_path / "exported.html").write_text(benzene._repr_mimebundle_()["text/html"], encoding="utf-8")
    context = browser.new_context(offline=True, viewport={"width": 1000, "height": 640})
    page = context.new_page()
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(address(tmp_path / "exported.html"))
    frame = page.frame_locator("iframe")
    frame.locator("[data-ready]").wait_for(timeout=30000)
    frame.get_by_role("option", name="HOMO-3").click()
    frame.locator('.orbitile-view[data-shown*="mo:18"]').wait_for(timeout=30000)
    page.screenshot(path=str(tmp_path / "computed.png"))
    context.close()
    assert problems == []


def test_a_slice_has_the_colours_of_the_values_and_fog_is_another_picture(opened, computed, benzene):
    page = opened(computed)
    canvas = page.locator("canvas")
    bare = pixels_at_rest(canvas)
    page.goto(page.url + "#field=mo:18&isovalue=0.05&as=slice")
    wait_for(page, "mo:18")
    page.get_by_label("isovalue").blur()
    document = document_of([bare_slide(benzene)], benzene)
    height = float(page.locator(".orbitile-view").get_attribute("data-height"))
    rows, columns = bare.shape[:2]
    across, down = np.meshgrid(np.arange(4, columns, 16), np.arange(80, rows - 40, 16))
    bohr = height / rows
    right, up, _ = document.rotation
    places = document.middle + bohr * (
        (across + 0.5 - columns / 2)[..., None] * right - (down + 0.5 - rows / 2)[..., None] * up
    )
    ratio = ob.evaluate(benzene, "mo:18", places.reshape(-1, 3), device="cpu").reshape(across.shape) / 0.05
    colours = np.array(computing_of([benzene], document.middle, PALETTES, None)[0].colours, float)
    share = np.minimum(np.abs(ratio) / 3, 1)[..., None]
    expected = 255 * (1 - share) + colours[(ratio < 0).astype(int)] * share

    def is_expected(now):  # the rest are atoms in front, and the line of the isovalue
        return (np.abs(now[down, across] - expected).max(axis=2) < 6).mean() > 0.75

    slice_ = pixels_at_rest(canvas, is_expected)
    assert is_expected(slice_)
    assert (share > 0.3).mean() > 0.05
    page.get_by_label("Drawn as").select_option("fog")
    fog = changed(canvas, slice_, 0.05)
    page.get_by_label("Drawn as").select_option("surface")
    changed(canvas, fog, 0.05)


def test_a_browser_that_cannot_compute_says_so(browser, computed):
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.add_init_script("WebGL2RenderingContext.prototype.getExtension = () => null")
    page.goto(address(computed))
    page.wait_for_selector("[data-ready]", timeout=30000)
    assert "EXT_color_buffer_float is missing" in page.get_by_role("note").inner_text()
    assert page.get_by_role("option", name="HOMO-3").get_attribute("aria-disabled") == "true"
    context.close()


def test_frames_play(opened, water, tmp_path):
    frames = water[:4]
    slides = [
        replace(slide_of(ob.compute_surface(one, "mo:5", 0.1, device="cpu"), one), field="shown", frame=n)
        for n, one in enumerate(frames)
    ]
    (tmp_path / "film.html").write_text(page_of(document_of(slides, frames[0], 4)), encoding="utf-8")
    page = opened(tmp_path / "film.html")
    first = pixels_at_rest(page.locator("canvas"))
    page.get_by_label("Frame").fill("3")
    changed(page.locator("canvas"), first, 0.01)
    assert page.get_by_text("4 / 4").is_visible()
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => document.body.innerText.includes('2 / 4')", timeout=5000)
    page.get_by_role("button", name="Pause").click()


def test_hostile_texts_are_shown_and_do_nothing(opened, benzene, tmp_path):
    hostile = "</script><img src=x onerror=alert(1)>"
    labels = (hostile, *map(str, range(1, len(benzene.alpha))))
    named = replace(benzene, title=hostile, alpha=replace(benzene.alpha, labels=labels))
    slide = replace(bare_slide(named, remark=hostile), title=hostile)
    (tmp_path / "a.html").write_text(page_of(document_of([slide], named)), encoding="utf-8")
    page = opened(tmp_path / "a.html")
    assert page.get_by_text(hostile).count() >= 2
    assert page.locator("img").count() == 0


def test_dark_and_narrow(opened, fields):
    page = opened(fields, color_scheme="dark")
    assert pixels_at_rest(page.locator("canvas"))[5, 5].max() < 60
    page.set_viewport_size({"width": 360, "height": 640})
    pixels_at_rest(page.locator("canvas"), lambda now: now.shape[1] < 400)
    box = page.locator("canvas").bounding_box()
    assert box["width"] > 300
    assert box["height"] > 200
    assert page.get_by_role("listbox").bounding_box()["y"] > box["y"] + box["height"] - 1


def test_what_is_seen_is_printed_on_white(opened, fields):
    page = opened(fields, color_scheme="dark")
    pixels_at_rest(page.locator("canvas"))
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print", color_scheme="light")
    sheet = pixels_at_rest(page.locator("canvas.orbitile-sheet"))
    assert (sheet.min(axis=2) < 200).mean() > 0.05
    assert sheet[-5, -5].min() == 255
    assert page.locator(".orbitile-list").is_hidden()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("canvas").count() == 1


def test_a_finger_turns_it(opened, fields):
    page = opened(fields, has_touch=True)
    canvas = page.locator("canvas")
    before = pixels_at_rest(canvas)
    box = canvas.bounding_box()
    session = page.context.new_cdp_session(page)
    x, y = box["x"] + 200, box["y"] + 200
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(1, 8):
        points = [{"x": x + 20 * step, "y": y + 8 * step}]
        session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": points})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    changed(canvas, before, 0.1)


def test_a_thousand_atoms(opened, tmp_path):
    from orbitile import Orbitals, Shell, Wavefunction

    n = 1000
    rng = np.random.default_rng(1)
    places = np.stack(np.meshgrid(*[np.arange(10) * 3.0] * 3), axis=-1).reshape(-1, 3) + rng.normal(0, 0.1, (n, 3))
    shells = tuple(Shell(atom, 0, False, np.ones(1), np.ones(1)) for atom in range(n))
    coefficients = np.zeros((n, 1))
    coefficients[0] = 1
    large = Wavefunction(rng.choice([1, 6, 7, 8], n), places, shells, Orbitals(coefficients, np.ones(1)))
    path = tmp_path / "large.html"
    path.write_text(page_of(document_of([bare_slide(large)], large)), encoding="utf-8")
    assert path.stat().st_size < 200_000
    page = opened(path)
    before = pixels_at_rest(page.locator("canvas"))
    drag(page, page.locator("canvas"))
    changed(page.locator("canvas"), before, 0.1)
