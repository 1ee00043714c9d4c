// The table, of which the rows in sight are in the document.

import { made } from "./elements.js";
import { inSight, reveal } from "./grid.js";
import { columns, files, folderOf, hasFolders, hasRefusals, isRemarked, nameOf, refusalsOf, remarksOf, shown } from "./rows.js";
import { chosenPictures, headingOf, image, itemName, shownValue } from "./showing.js";

const PITCH = 40; // height of a row
const HEAD = 34;
const SAMPLE = 500; // rows by which widths are chosen
const LETTER = 7.8;
const MOST_ROWS_PRINTED = 2000;

const refusalText = (row) => refusalsOf(row).map(({ item, reason }) => (item ? `${itemName(item)}: ${shown(reason)}` : shown(reason))).join("; ");

const [someRefused, someRemarked] = [hasRefusals, isRemarked].map((test) => files.some((_, row) => test(row)));

/** Columns that are not those of the tables. */
const FILE = { name: "file", heading: "file", width: 230 };
const REFUSALS = { name: "refusals", mark: "refusals", heading: "refusals", width: 200, of: refusalText };
const REMARKS = { name: "remarks", heading: "remarks", width: 240, of: (row) => remarksOf(row).map(shown).join("; ") };

function widthOf(column) {
  const step = Math.max(1, Math.floor(files.length / SAMPLE));
  let letters = headingOf(column).length + 2;
  for (let row = 0; row < files.length; row += step) letters = Math.max(letters, shownValue(column, row).length);
  return Math.min(240, 20 + LETTER * letters);
}

/** The view of a table in what scrolls; `open` is given a row, `sort` the name of a column. */
export function rowTable(scroller, { open, sort }) {
  const heads = new Map();
  const widths = made("colgroup", {});
  const line = made("tr", { "aria-rowindex": "1" });
  const values = columns.map((column) => ({ name: column.name, heading: headingOf(column), column, width: widthOf(column), of: (row) => shownValue(column, row) }));
  const others = [...(someRefused ? [REFUSALS] : []), ...values, ...(someRemarked ? [REMARKS] : [])];
  const all = [FILE, ...others];
  for (const one of all) {
    const inner = one.column || one === FILE ? made("button", { type: "button", onclick: () => sort(one.name) }, one.heading) : one.heading;
    const head = made("th", { scope: "col", class: one.column?.numbers ? "number" : "" }, inner);
    heads.set(one.name, head);
    line.append(head);
    const width = made("col", {});
    width.style.width = `${one.width}px`;
    widths.append(width);
  }
  const [above, below] = [made("tr", { "aria-hidden": "true" }), made("tr", { "aria-hidden": "true" })];
  const body = made("tbody", {});
  const node = made("table", { class: "rows", "aria-label": "Files" }, widths, made("thead", {}, line), body);
  node.style.width = `${all.reduce((sum, { width }) => sum + width, 0)}px`;
  let [found, item, printing, drawn] = [[], "", false, ""];

  function rowOf(row, at) {
    const [picture] = chosenPictures(row, item);
    const name = made("button", { type: "button", title: shown(files[row]) }, ...(picture ? [image(row, picture)] : [made("i", {})]),
      made("span", {}, made("bdi", {}, nameOf(row)), ...(hasFolders ? [made("bdi", { class: "folder" }, folderOf(row))] : [])));
    const cells = others.map(({ mark = "", column, of }) => {
      const text = of(row);
      return column?.numbers ? made("td", { class: "number" }, text) : made("td", { class: mark, title: text }, text);
    });
    const node = made("tr", { "aria-rowindex": at + 2 }, made("th", { scope: "row" }, name), ...cells);
    node.dataset.at = at;
    node.addEventListener("click", () => open(row));
    return node;
  }

  function draw(anew = false) {
    if (node.hidden) return;
    const [from, to] = printing ? [0, Math.min(found.length, MOST_ROWS_PRINTED)] : inSight(scroller, node.offsetTop + HEAD, PITCH, found.length);
    const now = `${from} ${to}`;
    if (drawn === now && !anew) return;
    drawn = now;
    const focused = Number(document.activeElement?.closest?.("tr")?.dataset.at);
    above.style.height = `${from * PITCH}px`;
    below.style.height = `${(printing ? 0 : found.length - to) * PITCH}px`;
    body.replaceChildren(above, ...found.slice(from, to).map((row, at) => rowOf(row, from + at)), below);
    if (focused >= from && focused < to) body.children[focused - from + 1].querySelector("button").focus({ preventScroll: true });
  }

  const focus = (at) => {
    reveal(scroller, node.offsetTop + HEAD + at * PITCH, PITCH, HEAD);
    draw();
    body.querySelector(`[data-at="${at}"] button`)?.focus({ preventScroll: true });
  };

  node.addEventListener("keydown", (event) => {
    const next = Number(event.target.closest("tbody tr")?.dataset.at) + ({ ArrowUp: -1, ArrowDown: 1 }[event.key] ?? NaN);
    if (!(next >= 0 && next < found.length)) return;
    event.preventDefault();
    focus(next);
  });

  return {
    node,
    draw,
    focus,
    resize: draw,
    show(rows, state) {
      [found, item] = [rows, state.item];
      node.setAttribute("aria-rowcount", found.length + 1);
      for (const [name, head] of heads) {
        if (name === state.sort) head.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      }
      draw(true);
    },
    /** Have all rows in the document while it is printed, as far as paper goes. */
    print(on) {
      printing = on;
      draw(true);
    },
  };
}
