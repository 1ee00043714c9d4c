"""Pages of several molecules in a browser without a network: views by address, hostile names, paper, other browsers."""

import re
from dataclasses import replace

import pytest

import orbitile as ob
from orbitile.pictures.pages import bare_slide, document_of, slide_of, with_computing
from orbitile.scenes.web.collection import Entry, page_of
from tests.hosts.browser import address, changed, chromium, drag, pixels_at_rest

pytestmark = pytest.mark.slow  # starts a browser

HOSTILE = "</script><img src=x onerror=alert(1)>\u2028\u202e\"' \u200f"


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def opened(browser):
    """Opens a file, of which all errors and all that its policy refuses are errors of the test."""
    contexts, problems = [], []

    def open_file(path, fragment="", before="", **options):
        options = {"viewport": {"width": 1000, "height": 640}, **options}
        contexts.append(browser.new_context(offline=True, **options))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda told: told.type == "error" and problems.append(told.text))
        page.on("request", lambda request: request.url.startswith("http") and problems.append(request.url))
        page.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
        page.add_init_script(before)
        page.goto(address(path) + fragment)
        page.wait_for_selector("body[data-ready]", timeout=30000)
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture(scope="module")
def entry(benzene):
    """Benzene, with its HOMO computed beforehand and all orbitals in the page."""
    surface = ob.compute_surface(benzene, "homo", 0.04, device="cpu")
    document = document_of([slide_of(surface, benzene, "homo"), bare_slide(benzene)], benzene)
    return Entry("benzene", with_computing(document, [benzene]), (("charge", "0"),), "1\n\nH 0 0 0\n")


@pytest.fixture(scope="module")
def page_of_three(entry, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "si.html"
    entries = [entry, replace(entry, name="second"), replace(entry, name=HOSTILE, facts=((HOSTILE, HOSTILE),))]
    path.write_text(page_of(entries, "Three molecules"), encoding="utf-8")
    return path


def wait_for(page, name, field):
    shown = "([name, field]) => document.querySelector(`#${name} .orbitile-view`)?.dataset.shown?.includes(field)"
    page.wait_for_function(shown, arg=[name, field], timeout=30000)


def test_an_address_opens_molecule_field_isovalue_and_camera(opened, page_of_three):
    page = opened(page_of_three, "#second&field=mo:19&isovalue=0.06&as=slice")
    wait_for(page, "second", "mo:19")
    canvas = page.locator("#second canvas")
    assert page.locator("#second output").first.inner_text() == "0.06"
    before = pixels_at_rest(canvas)
    drag(page, canvas)
    turned = changed(canvas, before, 0.05)
    page.locator("#second").get_by_role("button", name="link to this view").click()
    assert re.search(r"#second&field=mo:19&isovalue=0\.06&as=slice&camera=-?\d", page.url)
    again = opened(page_of_three, page.url[page.url.index("#") :])
    wait_for(again, "second", "mo:19")
    again.wait_for_timeout(500)
    seen = pixels_at_rest(again.locator("#second canvas"))
    assert (abs(seen - turned).max(axis=2) > 24).mean() < 0.03  # the focus has a frame, and a line tells of the link
    page.locator("#benzene").get_by_role("link", name="HOMO (orbital 21)").click()
    wait_for(page, "benzene", "mo:21")
    assert page.url.endswith("#benzene&field=mo:21&isovalue=0.04")


@pytest.mark.parametrize(
    "fragment", ["#nobody&field=mo:1", "#second&field=esp", "#second&camera=1,0,0,1,0,0,0,0,0,9", "#%"]
)
def test_an_address_that_asks_for_what_is_not_there_does_no_harm(opened, page_of_three, fragment):
    page = opened(page_of_three, fragment)
    wait_for(page, "second" if "second" in fragment else "benzene", "mo:21")
    if "esp" in fragment:
        assert page.locator("#second").get_by_text("This page has no esp.").is_visible()


def test_hostile_names_are_texts(opened, page_of_three):
    page = opened(page_of_three)
    place = page.locator("section").nth(2)
    place.scroll_into_view_if_needed()
    wait_for(page, place.get_attribute("id"), "mo:21")
    assert place.locator("h2").text_content() == HOSTILE.replace("\r", "")
    assert place.locator("td").text_content() == HOSTILE
    assert page.locator("img").count() == 0
    assert page.evaluate("getComputedStyle(document.querySelector('h2 bdi')).unicodeBidi") == "isolate"


def test_what_is_no_script_of_the_page_does_not_run(browser, page_of_three, tmp_path):
    text = page_of_three.read_text(encoding="utf-8")
    more = "<script>document.title = 'run'</script><img src=x onerror=\"document.title = 'run'\"><h2 style='color:red'>"
    (tmp_path / "a.html").write_text(text.replace("<main>", f"{more}<main>"), encoding="utf-8")
    page = browser.new_page()
    page.goto(address(tmp_path / "a.html"))
    page.wait_for_selector("body[data-ready]")
    assert page.title() == "Three molecules"
    assert page.evaluate("getComputedStyle(document.querySelector('h2')).color") != "rgb(255, 0, 0)"
    page.close()


def test_coordinates_are_copied_by_the_keyboard(opened, page_of_three):
    page = opened(page_of_three, permissions=["clipboard-read", "clipboard-write"])
    page.locator("#second").get_by_role("button", name="copy as XYZ").press("Enter")
    page.locator("#second").get_by_text("Copied.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "1\n\nH 0 0 0\n"


def test_molecules_that_were_seen_long_ago_are_pictures_again(opened, entry, tmp_path):
    path = tmp_path / "many.html"
    path.write_text(page_of([replace(entry, name=f"m{n}") for n in range(7)], ""), encoding="utf-8")
    page = opened(path)
    for n in range(7):
        page.locator(f"#m{n}").scroll_into_view_if_needed()
        wait_for(page, f"m{n}", "mo:21")
    assert page.locator(".orbitile-view").count() <= 4
    page.locator("#m0").scroll_into_view_if_needed()
    wait_for(page, "m0", "mo:21")
    assert page.locator("#m0 figure").is_hidden()


def test_a_browser_without_webgl_has_pictures_and_says_why(opened, page_of_three):
    before = "HTMLCanvasElement.prototype.getContext = () => null"
    page = opened(page_of_three, "#second&field=mo:19", before)
    assert page.get_by_text("This browser has no WebGL 2").is_visible()
    assert page.locator("#second figure").is_visible()


def test_all_fits_on_a_telephone_and_on_paper(opened, page_of_three):
    page = opened(page_of_three, viewport={"width": 390, "height": 800}, color_scheme="dark")
    wait_for(page, "benzene", "mo:21")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert pixels_at_rest(page.locator("#benzene canvas"))[5, 5].max() < 60
    page.emulate_media(media="print")
    assert page.locator("#benzene figure").is_visible()
    assert page.locator("#benzene pre").is_visible()
    assert page.locator("#benzene canvas").is_hidden()
    assert page.get_by_role("button").count() == 0
