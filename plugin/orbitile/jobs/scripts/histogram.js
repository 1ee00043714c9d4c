// The distribution of a column over what is found, from which a range is taken by the mouse; and why files were refused.

import { made } from "./elements.js";
import { withRange } from "./query.js";
import { files, groupsOf, shown } from "./rows.js";
import { headingOf, numeric, shownNumber } from "./showing.js";

const BINS = 48;
const [WIDTH, HEIGHT] = [480, 64];
const REASONS = 50; // lines at most
const SVG = "http://www.w3.org/2000/svg";

/** A number with so many digits that it is on the right side of a value. */
const rounded = (value, width) => Number(value.toPrecision(Math.min(15, Math.max(4, Math.ceil(Math.log10(Math.abs(value) / width || 1)) + 4))));

/** How many of some rows are in each bin. */
function counts(rows, numbers, low, width) {
  const found = new Array(BINS).fill(0);
  for (const row of rows) {
    const place = Math.floor((numbers[row] - low) / width);
    if (place >= 0 && place <= BINS) found[Math.min(place, BINS - 1)]++;
  }
  return found;
}

/** Bars, of which the highest is as high as the drawing: shapes are compared, and not how many there are. */
function path(found) {
  const most = Math.max(1, ...found);
  return found.map((count, at) => (count ? `M${(at * WIDTH) / BINS},${HEIGHT}v${-Math.max(1.5, (count / most) * HEIGHT)}h${WIDTH / BINS - 1}V${HEIGHT}z` : "")).join("");
}

/** The panel of a distribution; `change` is given what is to be different. */
export function histogram(change) {
  const choice = made("select", { "aria-label": "Distribution of", onchange: () => change({ column: choice.value }) });
  choice.append(...numeric.map((column) => made("option", { value: column.name }, headingOf(column))));
  const told = made("span", { class: "told" });
  const clear = made("button", { type: "button", onclick: () => change({ query: withRange(state.query, column, null) }) }, "whole range");
  const drawing = document.createElementNS(SVG, "svg");
  const [faint, dark, brush] = ["path", "path", "rect"].map((kind) => document.createElementNS(SVG, kind));
  drawing.append(faint, dark, brush);
  drawing.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  drawing.setAttribute("preserveAspectRatio", "none");
  drawing.setAttribute("role", "img");
  faint.setAttribute("class", "faint");
  brush.setAttribute("class", "brush");
  brush.setAttribute("height", HEIGHT);
  const [left, right] = [made("span", {}), made("span", {})];
  const node = made("section", { class: "histogram", "aria-label": "Distribution" },
    made("div", { class: "line" }, choice, told, clear), drawing, made("div", { class: "line ends" }, left, right));
  node.hidden = !numeric.length;
  let [column, state, low, width, start] = [numeric[0], {}, 0, 1, null];

  const placeOf = (event) => {
    const box = drawing.getBoundingClientRect();
    return Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
  };
  const paint = (from, to) => {
    brush.setAttribute("x", Math.min(from, to) * WIDTH);
    brush.setAttribute("width", Math.abs(to - from) * WIDTH);
  };
  drawing.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    start = placeOf(event);
    drawing.setPointerCapture(event.pointerId);
  });
  drawing.addEventListener("pointermove", (event) => start !== null && paint(start, placeOf(event)));
  drawing.addEventListener("pointercancel", () => paint((start = null) ?? 0, 0));
  drawing.addEventListener("pointerup", (event) => {
    if (start === null) return;
    let [from, to] = [start, placeOf(event)].sort((a, b) => a - b);
    if (to - from < 0.5 / BINS) [from, to] = [Math.floor(from * BINS) / BINS, (Math.floor(from * BINS) + 1) / BINS]; // a click takes its bin
    start = null;
    paint(0, 0);
    const ends = [from, to].map((share) => rounded(low + share * width * BINS, width));
    change({ query: withRange(state.query, column, ends) });
  });

  return {
    node,
    /** Show the distribution of what is found; `limited` says whether the column is limited by the search. */
    show(found, next, chosen, limited) {
      [column, state] = [chosen, next];
      if (!column) return;
      const { numbers } = column;
      choice.value = column.name;
      clear.hidden = !limited;
      const values = Float64Array.from(found, (row) => numbers[row]).filter(Number.isFinite).sort();
      const high = values.at(-1) ?? 1;
      low = values[0] ?? 0;
      width = (high - low) / BINS || 1 / BINS;
      faint.setAttribute("d", path(counts(files.keys(), numbers, low, width)));
      dark.setAttribute("d", path(counts(found, numbers, low, width)));
      const median = values.length ? (values[(values.length - 1) >> 1] + values[values.length >> 1]) / 2 : NaN;
      told.textContent = values.length ? `median ${shownNumber(column, median)}, ${values.length.toLocaleString("en")} files` : "no file has it";
      [left.textContent, right.textContent] = values.length ? [shownNumber(column, low), shownNumber(column, high)] : ["", ""];
      drawing.setAttribute("aria-label", `${headingOf(column)}: from ${left.textContent} to ${right.textContent}, ${told.textContent}`);
    },
  };
}

/** The panel of reasons, those of most files first; `change` is given the one that is chosen. */
export function reasonList(change) {
  const totals = new Map();
  for (const row of files.keys()) for (const group of new Set(groupsOf(row))) totals.set(group, (totals.get(group) ?? 0) + 1);
  const ordered = [...totals].sort((a, b) => b[1] - a[1]);
  const most = ordered[0]?.[1] ?? 1;
  const lines = ordered.slice(0, REASONS).map(([group, count]) => {
    const button = made("button", { type: "button", "aria-pressed": "false", title: shown(group) },
      made("b", {}, count.toLocaleString("en")), made("span", {}, shown(group)));
    button.style.setProperty("--share", `${(100 * count) / most}%`);
    button.addEventListener("click", () => change({ reason: button.getAttribute("aria-pressed") === "true" ? "" : group }));
    return { group, button };
  });
  const node = made("section", { class: "reasons" }, made("h2", {}, "Refused, by reason"), made("div", {}, ...lines.map(({ button }) => button)));
  node.hidden = !lines.length;
  return { node, show: (reason) => lines.forEach(({ group, button }) => button.setAttribute("aria-pressed", String(group === reason))) };
}
