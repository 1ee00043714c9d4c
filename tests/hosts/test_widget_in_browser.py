"""The script of the notebook's view, in a real browser with a model in place of a kernel's."""

import base64

import pytest

from orbitile.pictures.pages import bare_slide, document_of, levels_in
from orbitile.scenes.web import packed, viewer_script
from tests.hosts.browser import chromium

MODEL = """async ([script, text, isGiven]) => {
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  const bytes = new DataView(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer);
  const none = new DataView(new ArrayBuffer(0));
  const values = { _document: isGiven ? bytes : none, _slide: none, _status: "", _failed: false, _name: "a" };
  values.camera = {};
  const called = {};
  const model = {
    get: (name) => values[name],
    set: (name, value) => { values[name] = value; },
    save_changes() {},
    on: (name, call) => { called[name] = call; },
    off: (name) => { delete called[name]; },
  };
  const el = document.body.appendChild(document.createElement("div"));
  const end = widget.render({ model, el });
  const before = [el.querySelectorAll("canvas").length, el.textContent, values._lacking ?? false];
  values._document = bytes;
  called["change:_document"]();
  const after = [el.querySelectorAll("canvas").length, el.textContent.includes("saved page")];
  end();
  return [before, after, Object.keys(called)];
}"""


@pytest.fixture(scope="module")
def page():
    with chromium() as browser:
        yield browser.new_page()


@pytest.fixture
def document(benzene):
    return base64.b64encode(packed(document_of([bare_slide(benzene)], benzene))).decode()


@pytest.mark.slow  # starts a browser
def test_a_view_without_its_document_asks_for_it_and_is_drawn_once_it_comes(page, document):
    (canvases, text, is_lacking), after, left = page.evaluate(MODEL, [viewer_script("widget"), document, False])
    assert (canvases, is_lacking) == (0, True)
    assert text.startswith("The live view has no molecule from the kernel")
    assert after[0] > 0
    assert not after[1], "the reason stays although the view is drawn"
    assert left == []


@pytest.mark.slow  # starts a browser
@pytest.mark.parametrize("is_broken", [False, True])
def test_a_view_that_cannot_be_drawn_says_why(page, document, is_broken):
    given = base64.b64encode(b"\x01\0").decode() if is_broken else document
    (canvases, text, is_lacking), _, _ = page.evaluate(MODEL, [viewer_script("widget"), given, True])
    assert not is_lacking
    assert (canvases == 0) == is_broken
    assert text.startswith("The live view cannot be drawn, so the saved page is shown: ") == is_broken


LEVELS = """async ([script, document, slide, rows]) => {
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  const bytes = (text) => new DataView(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer);
  const values = { _document: bytes(document), _slide: bytes(slide), _status: "", _failed: false, _name: "a" };
  values.camera = {};
  const called = {};
  const model = {
    get: (name) => values[name],
    set() {},
    save_changes() {},
    on: (name, call) => { called[name] = call; },
    off() {},
  };
  const el = document_.body.appendChild(document_.createElement("div"));
  const end = widget.render({ model, el });
  const seen = () => [
    [...el.querySelectorAll("[role=option]")].map((row) => [...row.children].map((cell) => cell.textContent)),
    el.querySelector(".orbitile-diagram .orbitile-chosen title").textContent,
  ];
  const told = [seen()];
  for (const row of rows) {
    values._levels = bytes(row);
    called["change:_slide"]();
    told.push(seen());
  }
  end();
  return told;
}""".replace("document_", "globalThis.document")


@pytest.mark.slow  # starts a browser
def test_the_list_and_the_diagram_have_the_energies_that_come_with_a_slide(page, water):
    first = water[0]
    document = document_of([bare_slide(first, "homo")], first, len(water))
    frames = [levels_in(water[frame], document.choices) for frame in (8, 3)]
    texts = [base64.b64encode(found.astype("<f4").tobytes()).decode() for found in frames]
    whole = base64.b64encode(packed(document)).decode()
    told = page.evaluate(LEVELS, [viewer_script("widget"), whole, whole, texts])
    for (rows, chosen), frame in zip(told, (0, 8, 3), strict=True):
        alpha = water[frame].alpha
        rows = [row for row in rows if row[0].isdigit()]
        assert len(rows) == len(alpha)
        for row in rows:
            at = int(row[0]) - 1
            assert float(row[-2].replace("−", "-")) == pytest.approx(alpha.energies[at] * 27.211386, abs=0.006)
            assert float(row[-1]) == alpha.occupations[at]
        assert chosen == f"HOMO, {alpha.energies[4] * 27.211386245988:.3f} eV"
