// All that is known of one file, in front of the others.

import { made } from "./elements.js";
import { columns, files, folderOf, nameOf, outputsOf, picturesOf, refusalsOf, remarksOf, shown } from "./rows.js";
import { formula, headingOf, image, itemName, shownValue } from "./showing.js";

const FORMATS = { png: "picture", json: "all results", html: "interactive page" };

const part = (heading, ...children) => made("section", {}, made("h3", {}, heading), ...children);

function pictureOf(row, picture) {
  const link = made("a", { href: picture.large, target: "_blank", rel: "noopener" }, image(row, picture, "large"));
  return made("figure", {}, link, made("figcaption", {}, itemName(picture.item)));
}

function linksOf(row) {
  const others = outputsOf(row).filter(({ format }) => format !== "thumbnail");
  return others.map(({ item, format, address }) =>
    made("li", {}, made("a", { href: address, target: "_blank", rel: "noopener" }, `${item ? `${shown(item)}: ` : ""}${FORMATS[format] ?? shown(format)} (${/\.\w+$/.exec(address) ?? ""})`)));
}

function bodyOf(row) {
  const [refused, remarks, links, pictures] = [refusalsOf(row), remarksOf(row), linksOf(row), picturesOf(row)];
  const told = made("div", { class: "told" }, made("p", {}, made("bdi", {}, shown(files[row]))));
  if (refused.length) {
    told.append(part("Refused", made("ul", { class: "refusals" }, ...refused.map(({ item, reason }) => made("li", {}, item ? made("b", {}, `${shown(item)}: `) : "", shown(reason))))));
  }
  if (remarks.length) told.append(part("Remarks", made("ul", {}, ...remarks.map((remark) => made("li", {}, shown(remark))))));
  const values = columns.filter((column) => shownValue(column, row) !== "");
  if (values.length) {
    const lines = values.map((column) => made("tr", {}, made("th", { scope: "row" }, headingOf(column)),
      made("td", {}, column.name === "formula" ? formula(row) : shownValue(column, row))));
    told.append(part("Values", made("table", {}, made("tbody", {}, ...lines))));
  }
  if (links.length) told.append(part("Files", made("ul", {}, ...links)));
  return [...(pictures.length ? [made("div", { class: "pictures" }, ...pictures.map((picture) => pictureOf(row, picture)))] : []), told];
}

/** What is opened in front; `change` is given the row that is to be shown, and null when it is closed. */
export function detailView(change) {
  const [name, folder, place] = [made("bdi", {}), made("bdi", { class: "folder" }), made("span", { class: "position", "aria-live": "polite" })];
  const step = (by) => {
    const next = found[found.indexOf(row) + by];
    if (next !== undefined) change(next);
  };
  const button = (text, label, act) => made("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
  const [before, after] = [button("←", "Previous file", () => step(-1)), button("→", "Next file", () => step(1))];
  const body = made("div", { class: "body", tabindex: "0" });
  const heading = made("h2", { id: "detail-name" }, name, folder);
  const node = made("dialog", { "aria-labelledby": "detail-name" },
    made("header", {}, heading, place, before, after, button("×", "Close", () => node.close())), body);
  let [row, found] = [null, []];
  node.addEventListener("close", () => row !== null && change(null));
  node.addEventListener("click", (event) => event.target === node && node.close()); // beside it
  node.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    step(by);
  });
  return {
    node,
    /** Show a row among those that are found, or none. */
    show(next, rows) {
      found = rows;
      if (next === null) {
        row = null;
        if (node.open) node.close();
        return;
      }
      const at = found.indexOf(next);
      place.textContent = at < 0 ? "" : `${(at + 1).toLocaleString("en")} of ${found.length.toLocaleString("en")}`;
      [before.disabled, after.disabled] = [at <= 0, at < 0 || at === found.length - 1];
      if (next !== row) {
        row = next;
        name.textContent = nameOf(row);
        folder.textContent = folderOf(row);
        heading.title = shown(files[row]);
        body.replaceChildren(...bodyOf(row));
        body.scrollTop = 0;
      }
      if (!node.open) {
        node.showModal();
        body.focus();
      }
    },
  };
}
