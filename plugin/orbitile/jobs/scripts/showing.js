// How values, names and pictures of a row are shown.

import { made } from "./elements.js";
import { columns, formulas, hasRefusals, isRefused, nameOf, picturesOf, refusalsOf, remarksOf, shown } from "./rows.js";

const MOSTLY = 0.9; // share of whole numbers in a column of such, as of electrons

const decimals = new Map();

/** How many decimals tell the numbers of a column apart, the same for all of them; -1 for very small and large ones. */
function decimalsOf(column) {
  if (!decimals.has(column)) {
    const there = column.numbers.filter(Number.isFinite);
    const sizes = there.filter((value) => value).map(Math.abs).sort();
    const typical = sizes[sizes.length >> 1] ?? 0;
    const whole = there.filter(Number.isInteger).length >= MOSTLY * there.length;
    decimals.set(column, whole ? 0 : typical < 1e-3 || typical >= 1e9 ? -1 : typical < 0.1 ? 4 : typical < 1000 ? 3 : 5);
  }
  return decimals.get(column);
}

function written(value, places) {
  if (places < 0 || (value !== 0 && Math.abs(value) < 0.5 * 10 ** -Math.max(places, 3))) return value.toExponential(2);
  return places || Number.isInteger(value) ? value.toFixed(places) : String(Number(value.toPrecision(8)));
}

/** A number of a column for people. */
export const shownNumber = (column, value) => (Number.isFinite(value) ? written(value, decimalsOf(column)).replace(/-/g, "−") : "–");

/** A value of a row, for people; empty where there is none. */
export function shownValue(column, row) {
  if (column.text) return shown(column.values[row] ?? "");
  return Number.isNaN(column.numbers[row]) ? "" : shownNumber(column, column.numbers[row]);
}

/** The heading of a column with its unit. */
export const headingOf = ({ heading, unit }) => (unit ? `${shown(heading)} / ${unit}` : shown(heading));

/** A formula with small numbers, such as C₆H₆. */
export function formula(row) {
  const text = formulas ? shown(formulas.values[row] ?? "") : "";
  return made("span", { class: "formula" }, ...text.split(/(?<=[A-Za-z\])])(\d+)/).map((part, at) => (at % 2 ? made("sub", {}, part) : part)));
}

/** What an item is called; the whole file has none. */
export const itemName = (item) => shown(item) || "file";

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

/** Marks of a row that something was refused, or is odd. */
export function badges(row) {
  const [refused, remarked] = [refusalsOf(row), remarksOf(row)];
  const found = [];
  if (isRefused(row)) found.push(made("span", { class: "badge refused" }, "refused"));
  else if (refused.length) found.push(made("span", { class: "badge refused" }, `without ${refused.map(({ item }) => itemName(item)).join(", ")}`));
  if (remarked.length) found.push(made("span", { class: "badge remark", title: remarked.map(shown).join("\n") }, plural(remarked.length, "remark")));
  return found;
}

/** Pictures of a row of an item, or of all where the item is empty. */
export const chosenPictures = (row, item) => picturesOf(row).filter((picture) => !item || picture.item === item);

/** A picture, read when it comes into sight. */
export function image(row, { item, small, large }, size = "small") {
  const node = made("img", { src: size === "small" ? small : large, alt: `${itemName(item)} of ${nameOf(row)}`, decoding: "async", draggable: "false" });
  if (size === "small") node.loading = "lazy";
  node.addEventListener("error", () => node.replaceWith(made("span", { class: "none" }, "the picture is missing")));
  return node;
}

/** Why there is no picture of a row. */
export function instead(row, item) {
  const refused = refusalsOf(row);
  const reason = refused.find((one) => one.item === item) ?? refused.find((one) => !one.item) ?? refused[0];
  return made("span", { class: hasRefusals(row) ? "none why" : "none" }, reason ? shown(reason.reason) : item ? `no ${shown(item)}` : "no picture");
}

/** Columns that have numbers. */
export const numeric = columns.filter(({ numbers }) => numbers);
