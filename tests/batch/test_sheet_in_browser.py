"""The contact sheet in a browser without a network."""

import pytest
from PIL import Image

from orbitile.jobs.sheet import PAGE
from orbitile.jobs.table import Output, Record
from tests.batch.records import NASTY, nasty, record, refused, sheet, some, tables
from tests.hosts.browser import address, chromium

pytestmark = pytest.mark.slow  # starts a browser

FOLDER = "100% <b>&amp;'new' #1?"

SIZE = {"width": 1000, "height": 700}


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def opened(browser, tmp_path_factory):
    """Opens a sheet of records, with its pictures; all errors of the page are errors of the test."""
    contexts, problems = [], []
    tmp_path = tmp_path_factory.mktemp("sheets") / FOLDER
    tmp_path.mkdir()

    def open_sheet(records, address_end="", **options):
        for one in records:
            for output in one.outputs:
                path = tmp_path / output.path
                path.parent.mkdir(parents=True, exist_ok=True)
                if output.format == "png":
                    Image.new("RGB", (40, 30), "#c83232").save(path)
        tables(records, tmp_path)
        sheet(records, tmp_path)
        contexts.append(browser.new_context(offline=True, **{"viewport": SIZE, **options}))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: request.url.startswith("http") and problems.append(request.url))
        page.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
        page.goto(address(tmp_path / PAGE) + address_end)
        page.wait_for_selector("[data-ready]", timeout=30000)
        return page

    yield open_sheet
    for context in contexts:
        context.close()
    assert problems == []


def many(count):
    found = [record(f"m{n:05d}.log", n) for n in range(count - 1)]
    return [*found, refused("last.log", count, ": no orbitals")]


def names(page):
    return page.locator(".grid:not([hidden]) .name").all_inner_texts()


def count(page):
    return page.locator(".count").inner_text()


def search(page, text):
    page.fill("#search", text)
    asked = "text => (new URLSearchParams(location.hash.slice(1)).get('q') ?? '') === text"
    page.wait_for_function(asked, arg=text)


def test_words_comparisons_and_kinds_filter(opened):
    page = opened(some())
    assert names(page) == ["benzene.log", "broken.log", "water.log", "cut.log"]
    assert count(page) == "4 files"
    assert page.locator("h1").inner_text() == FOLDER == page.title()
    for text, left in (
        ("gap<1.1", ["benzene.log"]),
        ("gap_eV >= 1.1 and atoms=7", ["water.log"]),
        ("gap=1..1.2", ["benzene.log"]),
        ("c3h4", ["water.log"]),
        ("formula=c1", ["benzene.log"]),
        ("NUMBERS -broken", ["cut.log"]),
        ('"expected 34"', ["broken.log"]),
        ("memory", ["water.log"]),
        ("nothing like it", []),
    ):
        search(page, text)
        assert names(page) == left, text
        assert count(page) == f"{len(left)} of 4"
    assert page.get_by_text("No file matches.").is_visible()
    search(page, "gpa<3 gap<")
    assert page.locator("#problem").inner_text() == "there is no column gpa; gap< needs a value"
    assert len(names(page)) == 4
    search(page, "")
    page.get_by_role("button", name="In part 1").click()
    assert names(page) == ["water.log"]
    page.get_by_role("button", name="Refused 2").click()
    assert names(page) == ["broken.log", "cut.log"]
    page.get_by_role("button", name="line …: expected … numbers, got …").click()
    assert names(page) == ["broken.log", "cut.log"]
    page.get_by_role("button", name="Remarks 1").click()
    assert names(page) == ["benzene.log"]


def test_ten_thousand_files_have_few_elements_and_sort_both_ways(opened):
    page = opened(many(10_000))
    assert count(page) == "10,000 files"
    assert page.locator("*").count() < 2500
    page.select_option(".order select", "gap_eV")
    assert names(page)[0] == "m00000.log"
    page.get_by_role("button", name="Ascending").click()
    assert names(page)[0] == "m09998.log"
    page.evaluate("() => { const main = document.querySelector('main'); main.scrollTop = main.scrollHeight }")
    page.get_by_text("last.log").wait_for()
    assert names(page)[-1] == "last.log"  # which has no gap
    assert page.locator("*").count() < 2500
    page.get_by_role("button", name="Table", exact=True).click()
    page.get_by_role("button", name="atoms", exact=True).click()
    assert page.locator("th[aria-sort]").inner_text() == "atoms"
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.get_by_role("button", name="atoms", exact=True).click()
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
    assert page.locator(".rows tbody bdi").first.inner_text() == "m09998.log"
    assert page.locator("tr").count() < 60


def test_a_range_is_taken_from_the_histogram_by_the_mouse(opened):
    page = opened(many(500))
    box = page.locator(".histogram svg").bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.5 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.75 * box["width"], y, steps=4)
    page.mouse.up()
    assert page.input_value("#search").startswith("gap_eV=")
    left = int(count(page).split(" ")[0])
    assert 115 < left < 135
    page.get_by_role("button", name="whole range").click()
    assert count(page) == "500 files"
    assert page.input_value("#search") == ""


def test_the_view_is_in_the_address(opened):
    page = opened(some())
    search(page, "gap<9")
    page.select_option(".order select", "gap_eV")
    page.get_by_role("button", name="Ascending").click()
    page.get_by_role("button", name="Table", exact=True).click()
    end = page.evaluate("location.hash")
    again = opened(some(), end)
    assert again.input_value("#search") == "gap<9"
    assert again.locator(".rows tbody bdi:not(.folder)").all_inner_texts() == ["water.log", "benzene.log"]
    odd = opened(some(), "#only=x&sort=nothing&item=__proto__&view=%3Cb%3E&of=no&file=no&q=%E0%A4%A")
    assert len(names(odd)) == 0
    assert odd.get_by_text("No file matches.").is_visible()


def test_keys_open_a_file_go_to_the_next_and_come_back(opened):
    page = opened(some())
    page.locator(".card").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    dialog = page.locator("dialog")
    assert dialog.locator("h2").inner_text().startswith("water.log")
    assert dialog.locator("img").first.get_attribute("alt") == "homo of water.log"
    assert dialog.locator(".position").inner_text() == "3 of 4"
    assert "density+esp: needs memory" in dialog.inner_text()
    page.keyboard.press("ArrowRight")
    assert "expected 7 numbers" in dialog.inner_text()
    assert "file=runs%2Fcut.log" in page.url
    page.keyboard.press("Escape")
    page.wait_for_function("!location.hash.includes('file=')")
    assert not dialog.is_visible()
    assert page.evaluate("document.activeElement.querySelector('.name').innerText") == "cut.log"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"


def test_nasty_names_are_text_and_their_pictures_are_found(opened):
    page = opened(nasty())
    drawn = "[...document.querySelectorAll('.card img')].filter((one) => one.naturalWidth > 0).length"
    page.wait_for_function(f"() => {drawn} === {len(NASTY)}")
    assert len(names(page)) == len(NASTY)
    assert "\u202e" not in page.locator("body").inner_text()
    assert page.locator("script").count() == 2
    width = "async (one) => { await one.decode(); return one.naturalWidth }"
    for place in range(len(NASTY)):
        page.locator(".card").nth(place).click()
        assert page.locator("dialog figure img").evaluate(width) == 40
        page.keyboard.press("Escape")
    page.get_by_role("button", name="Table", exact=True).click()
    assert page.locator(".rows tbody th").count() == len(NASTY)
    for name in NASTY:
        search(page, '"' + name.replace("\\", "\\\\").replace('"', '\\"').split("\n")[0].split("\udcff")[0] + '"')
        assert page.locator(".rows tbody th").count() == 1, name


def test_nothing_lies_outside_of_a_narrow_page_and_an_empty_one_says_so(opened):
    for scheme in ("light", "dark"):
        page = opened(some(), viewport={"width": 390, "height": 800}, color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert page.evaluate("document.querySelector('main').scrollWidth") <= 390
        assert len(names(page)) >= 2
    empty = opened([])
    assert empty.get_by_text("There are no files in this batch yet.").is_visible()


def test_all_is_printed(opened):
    page = opened(many(300))
    pdf = page.pdf()
    assert pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") > 5
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert len(names(page)) == 300


def test_all_pictures_of_a_file_are_seen_at_once_where_asked_for(opened):
    outputs = tuple(Output(item, "png", f"x/{n}.png") for n, item in enumerate(("homo", "lumo", "density+esp")))
    page = opened([Record("a.log", "0", outputs=outputs)])
    assert page.locator(".card img").count() == 1
    page.get_by_role("button", name="lumo").click()
    assert page.locator(".card img").get_attribute("alt") == "lumo of a.log"
    page.get_by_role("button", name="all", exact=True).click()
    assert page.locator(".card img").count() == 3
