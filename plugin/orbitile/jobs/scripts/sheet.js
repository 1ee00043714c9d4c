// The page: what is asked for, in the address too, and the parts that show it.

import { detailView } from "./detail.js";
import { made } from "./elements.js";
import { cardGrid } from "./grid.js";
import { histogram, reasonList } from "./histogram.js";
import { rowTable } from "./list.js";
import { columnNamed, compares, KINDS, matching, sorted } from "./query.js";
import { columns, files, gaps, pictured, shown, tables, total } from "./rows.js";
import { headingOf, itemName, numeric } from "./showing.js";

const START = { query: "", kind: "all", reason: "", sort: "", descending: false, item: pictured[0] ?? "", view: "cards", column: (gaps ?? numeric[0])?.name ?? "", file: "" };
const IN_ADDRESS = { query: "q", kind: "only", reason: "reason", sort: "sort", descending: "down", item: "item", view: "view", column: "of", file: "file" };

const counted = (count) => count.toLocaleString("en");

/** The folder that the page lies in. */
function nameOfFolder() {
  const name = location.pathname.split("/").at(-2) ?? "";
  try {
    return shown(decodeURIComponent(name)) || "Contact sheet";
  } catch {
    return shown(name); // of bytes that are no text
  }
}

function fromAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const found = { ...START };
  for (const [name, key] of Object.entries(IN_ADDRESS)) if (given.has(key)) found[name] = given.get(key);
  found.descending = given.get("down") === "1";
  if (!(found.kind in KINDS)) found.kind = "all";
  if (found.view !== "table") found.view = "cards";
  if (found.item && !pictured.includes(found.item)) found.item = START.item;
  if (found.sort !== "file" && !columnNamed(found.sort)) found.sort = "";
  return found;
}

function toAddress() {
  const given = new URLSearchParams();
  for (const [name, key] of Object.entries(IN_ADDRESS)) if (state[name] !== START[name]) given.set(key, state[name] === true ? "1" : state[name]);
  const text = String(given);
  if (text !== location.hash.slice(1)) history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
}

let state = fromAddress();
let [found, waiting] = [[], 0];

const labelled = (text, control) => made("label", {}, made("span", {}, text), control);
const select = (label, options, choose) => {
  const node = made("select", { "aria-label": label, onchange: () => choose(node.value) });
  node.append(...options.map(([value, text]) => made("option", { value }, text)));
  return node;
};

/** Buttons of which one is pressed. */
function choices(label, options, choose) {
  const buttons = options.map(([value, text]) => [value, made("button", { type: "button", onclick: () => choose(value) }, text)]);
  return {
    node: made("div", { class: "choices", role: "group", "aria-label": label }, ...buttons.map(([, button]) => button)),
    show: (chosen) => buttons.forEach(([value, button]) => button.setAttribute("aria-pressed", String(value === chosen))),
  };
}

const search = made("input", {
  type: "search", id: "search", autocomplete: "off", spellcheck: "false", maxlength: "2000",
  placeholder: gaps ? "Search: benzene gap<3 atoms>=20" : "Search",
  "aria-label": "Search files, formulas, programs, reasons; compare columns as in gap<3", "aria-describedby": "problem",
  oninput: () => change({ query: search.value }, 120),
});
const problem = made("span", { id: "problem", role: "status" });
const count = made("output", { class: "count", "aria-live": "polite" });
const countOf = (test) => { let sum = 0; for (let row = 0; row < files.length; row++) if (test(row)) sum++; return sum; };
const KIND_NAMES = { done: "Done", part: "In part", refused: "Refused", remarks: "Remarks" };
const countsOfKinds = Object.keys(KINDS).map((kind) => [kind, countOf(KINDS[kind])]);
const kinds = choices("Which files", countsOfKinds.filter(([kind, number]) => number || kind === "all").map(([kind, number]) => [kind, kind === "all" ? "All" : `${KIND_NAMES[kind]} ${counted(number)}`]),
  (kind) => change({ kind, reason: "" }));
const items = choices("Picture", [...pictured.map((item) => [item, itemName(item)]), ...(pictured.length > 1 ? [["", "all"]] : [])], (item) => change({ item }));
const views = choices("View", [["cards", "Pictures"], ["table", "Table"]], (view) => change({ view }));
const order = select("Sort by", [["", "order of the batch"], ["file", "file"], ...columns.map((column) => [column.name, headingOf(column)])], (sort) => change({ sort }));
const direction = made("button", { type: "button", class: "direction", onclick: () => change({ descending: !state.descending }) });
items.node.hidden = pictured.length < 2;

const sortBy = (sort) => change(state.sort === sort ? { descending: !state.descending } : { sort, descending: false });
const open = (row) => change({ file: files[row] });
const main = made("main", { tabindex: "-1" });
const [cards, rows] = [cardGrid(main, open), rowTable(main, { open, sort: sortBy })];
const [distribution, reasons] = [histogram((next) => change(next)), reasonList((next) => change({ ...next, kind: "all" }))];
const nothing = made("p", { class: "nothing" });
const detail = detailView((row) => {
  const last = files.indexOf(state.file);
  change({ file: row === null ? "" : files[row] });
  if (row === null && found.includes(last)) view().focus(found.indexOf(last));
});
const view = () => (state.view === "table" ? rows : cards);

/** Let something be different, and show it: at once, or after so many milliseconds without another change. */
function change(next, delay = 0) {
  const scrolls = ["query", "kind", "reason", "sort", "descending", "view"].some((name) => name in next && next[name] !== state[name]);
  Object.assign(state, next);
  if (scrolls) main.scrollTop = 0;
  clearTimeout(waiting);
  if (delay) waiting = setTimeout(show, delay);
  else show();
}

function show() {
  const result = matching(state);
  const column = columnNamed(state.column) ?? numeric[0];
  found = sorted(result.found, state);
  if (document.activeElement !== search) search.value = state.query;
  problem.textContent = result.problems.join("; ");
  count.textContent = found.length === total ? `${counted(total)} files` : `${counted(found.length)} of ${counted(total)}`;
  kinds.show(state.kind);
  items.show(state.item);
  views.show(state.view);
  order.value = state.sort;
  direction.textContent = state.descending ? "↓" : "↑";
  direction.setAttribute("aria-label", state.descending ? "Descending; change to ascending" : "Ascending; change to descending");
  distribution.show(found, state, column, column && compares(state.query, column));
  reasons.show(state.reason);
  nothing.hidden = found.length > 0;
  nothing.textContent = files.length ? "No file matches." : "There are no files in this batch yet.";
  [cards.node.hidden, rows.node.hidden] = [state.view === "table" || !found.length, state.view !== "table" || !found.length];
  if (state.view === "table") rows.show(found, state);
  else cards.show(found, state, state.sort && state.sort !== "file" ? columnNamed(state.sort) : null);
  const row = state.file ? files.indexOf(state.file) : -1;
  detail.show(row < 0 ? null : row, found);
  toAddress();
  document.body.dataset.ready = "yes";
}

const links = tables.map((name) => made("a", { href: name, download: "" }, name));
if (files.length < total) links.push(made("span", {}, `the first ${counted(files.length)} are here, all are in the tables`));
const brand = made("h1", {}, nameOfFolder());
document.title = brand.textContent;
const top = made("header", { class: "top" },
  made("div", { class: "line" }, brand, count, made("span", { class: "tables" }, ...links)),
  made("div", { class: "line" }, made("div", { class: "search" }, search, problem), kinds.node),
  made("div", { class: "line" }, views.node, items.node, made("div", { class: "order" }, labelled("sort by", order), direction)),
);
const panels = made("div", { class: "panels" }, distribution.node, reasons.node);
panels.hidden = distribution.node.hidden && reasons.node.hidden;
main.append(panels, nothing, cards.node, rows.node);
document.body.append(top, main, detail.node);
if (!window.orbitileSheet) problem.textContent = "sheet.js, which belongs beside this page, is missing or damaged";

let drawing = 0;
main.addEventListener("scroll", () => {
  drawing ||= requestAnimationFrame(() => {
    drawing = 0;
    view().draw();
  });
}, { passive: true });
new ResizeObserver(() => view().resize()).observe(main);
addEventListener("hashchange", () => {
  state = fromAddress();
  search.value = state.query;
  show();
});
addEventListener("beforeprint", () => view().print(true));
addEventListener("afterprint", () => view().print(false));
addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.closest("input, select, dialog") && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    search.focus();
  }
});
search.value = state.query;
show();
