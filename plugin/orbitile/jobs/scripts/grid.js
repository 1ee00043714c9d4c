// Cards, of which those in sight are in the document.

import { made } from "./elements.js";
import { files, folderOf, gaps, hasFolders, nameOf, shown } from "./rows.js";
import { badges, chosenPictures, formula, image, instead, shownValue } from "./showing.js";

const SPACE = 12;
const TEXT = hasFolders ? 82 : 66; // height of what stands below a picture
const [NARROW, WIDE] = [150, 215]; // widths of a card at least
const SPARE = 2; // lines of cards above and below those in sight
const MOST_PRINTED = 400;

/** Which of some lines of equal height are in sight of what scrolls, with some to spare. */
export function inSight(scroller, top, pitch, count) {
  const first = Math.floor((scroller.scrollTop - top) / pitch) - SPARE;
  const last = Math.ceil((scroller.scrollTop - top + scroller.clientHeight) / pitch) + SPARE;
  return [Math.max(0, first), Math.min(count, Math.max(0, last))];
}

/** Bring a line in sight. */
export function reveal(scroller, top, height, above = 0) {
  if (top < scroller.scrollTop + above) scroller.scrollTop = top - above;
  else if (top + height > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + height - scroller.clientHeight;
}

function card(row, item, column, open) {
  const pictures = chosenPictures(row, item).slice(0, 4);
  const picture = made("span", { class: `picture of-${pictures.length}` });
  if (pictures.length) picture.append(...pictures.map((one) => image(row, one)));
  else picture.append(instead(row, item));
  const facts = made("span", { class: "facts" }, formula(row));
  for (const one of new Set([column, gaps])) {
    const value = one && shownValue(one, row);
    if (value) facts.append(made("span", {}, made("span", { class: "label" }, `${shown(one.heading)} `), one.unit ? `${value} ${one.unit}` : value));
  }
  const name = made("bdi", { class: "name" }, nameOf(row));
  const node = made("button", { type: "button", class: "card", title: shown(files[row]) }, picture, name);
  if (hasFolders) node.append(made("bdi", { class: "folder" }, folderOf(row)));
  node.append(facts, made("span", { class: "badges" }, ...badges(row)));
  node.addEventListener("click", () => open(row));
  return made("div", { role: "listitem", class: "place" }, node);
}

/** The view of cards in what scrolls; `open` is given the row that is clicked. */
export function cardGrid(scroller, open) {
  const node = made("div", { class: "grid", role: "list", "aria-label": "Files" });
  const cards = new Map();
  let [found, item, sortedBy, across, pitch, width, printing] = [[], null, null, 1, 1, 1, false];

  function measure() {
    const room = node.clientWidth;
    across = Math.max(1, Math.floor((room + SPACE) / ((room < 560 ? NARROW : WIDE) + SPACE)));
    width = (room - (across - 1) * SPACE) / across;
    pitch = Math.round(width * 0.75) + TEXT + SPACE;
    node.style.height = `${Math.ceil((printing ? Math.min(found.length, MOST_PRINTED) : found.length) / across) * pitch}px`;
  }

  /** Put the cards into the document that are in sight, and take away the others. */
  function draw() {
    if (node.hidden) return;
    const lines = Math.ceil(found.length / across);
    const [first, last] = printing ? [0, Math.ceil(MOST_PRINTED / across)] : inSight(scroller, node.offsetTop, pitch, lines);
    const wanted = new Map();
    for (let at = first * across; at < Math.min(last * across, found.length); at++) wanted.set(found[at], at);
    for (const [row, there] of cards) {
      if (wanted.has(row)) continue;
      there.remove();
      cards.delete(row);
    }
    let before = null;
    for (const [row, at] of wanted) {
      if (!cards.has(row)) cards.set(row, card(row, item, sortedBy, open));
      const there = cards.get(row);
      const [left, top] = [(at % across) * (width + SPACE), Math.floor(at / across) * pitch];
      Object.assign(there.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${pitch - SPACE}px` });
      there.dataset.at = at;
      there.setAttribute("aria-posinset", at + 1);
      there.setAttribute("aria-setsize", found.length);
      if (before ? before.nextSibling !== there : node.firstChild !== there) node.insertBefore(there, before ? before.nextSibling : node.firstChild);
      before = there;
    }
  }

  const focus = (at) => {
    const top = node.offsetTop + Math.floor(at / across) * pitch;
    reveal(scroller, top, pitch);
    draw();
    cards.get(found[at])?.firstChild.focus({ preventScroll: true });
  };

  node.addEventListener("keydown", (event) => {
    const at = Number(event.target.closest(".place")?.dataset.at);
    const next = at + ({ ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across }[event.key] ?? NaN);
    if (!(next >= 0 && next < found.length)) return;
    event.preventDefault();
    focus(next);
  });

  return {
    node,
    draw,
    focus,
    resize() {
      measure();
      draw();
    },
    show(rows, next, column) {
      if (item !== next.item || sortedBy !== column) {
        cards.clear();
        node.replaceChildren();
      }
      [found, item, sortedBy] = [rows, next.item, column];
      this.resize();
    },
    /** Have all cards in the document while it is printed, as far as paper goes. */
    print(on) {
      printing = on;
      this.resize();
    },
  };
}
