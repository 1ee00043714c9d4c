// What stands beside the picture: the list of what can be chosen, sliders, what colours stand for.

import { ELECTRONVOLTS } from "./constants.js"; // made of ../../../model/units.py by ../__init__.py
import { made } from "./elements.js";

/** What choices and slides are known by. */
export const keyOf = ({ field, color_by }) => JSON.stringify([field, color_by]);

/** What the list says of the energy and the occupation of a choice. */
const textsOf = ({ energy, occupation }) => [
  energy === null ? "–" : (energy * ELECTRONVOLTS).toFixed(2).replace("-", "−"),
  Number.isFinite(occupation) ? String(Math.round(occupation * 100) / 100) : "–",
];

let numbered = 0; // for identifiers of options, of which a page may have several lists

/** A list of choices; `choose` is given the one that is clicked or reached by keys, `known` says which can be shown. */
export function choiceList(choices, { choose, known }) {
  const head = `orbitile-${numbered++}-`;
  const hasLabels = choices.some(({ label }) => label);
  const rows = choices.map((choice, at) => {
    const { number, spin, title, label } = choice;
    const cells = number
      ? [
          `${number}${{ alpha: "α", beta: "β" }[spin] ?? ""}`,
          title,
          ...(hasLabels ? [label] : []),
          ...textsOf(choice),
        ]
      : [title];
    const row = made("li", { id: head + at, role: "option", "aria-selected": "false" });
    row.append(...cells.map((text, i) => made("span", { class: number ? `orbitile-cell-${i === cells.length - 1 ? "last" : i}` : "orbitile-whole" }, text)));
    if (known(choice)) row.addEventListener("click", () => choose(choice));
    else row.setAttribute("aria-disabled", "true");
    return row;
  });
  const heading = made("li", { class: "orbitile-heading", "aria-hidden": "true" });
  heading.append(...["#", "", ...(hasLabels ? ["label"] : []), "E / eV", "occ."].map((text) => made("span", {}, text)));
  const node = made("ul", { class: `orbitile-list${hasLabels ? " orbitile-labelled" : ""}`, role: "listbox", tabindex: "0", "aria-label": "Orbitals and other fields" });
  if (choices.some(({ number }) => number)) node.append(heading);
  node.append(...rows);
  let chosen = -1;
  node.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -choices.length, End: choices.length }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const offered = [...choices.keys()].filter((at) => at === chosen || known(choices[at]));
    const next = offered[Math.min(Math.max(offered.indexOf(chosen) + step, 0), offered.length - 1)];
    if (next !== undefined && next !== chosen) choose(choices[next]);
  });
  return {
    node,
    select(shown) {
      const next = choices.findIndex((choice) => keyOf(choice) === shown);
      if (next === chosen) return;
      rows[chosen]?.setAttribute("aria-selected", "false");
      chosen = next;
      if (next < 0) return node.removeAttribute("aria-activedescendant");
      rows[next].setAttribute("aria-selected", "true");
      node.setAttribute("aria-activedescendant", rows[next].id);
      this.reveal();
    },
    /** Energies and occupations are others now: those of choices in the order of the list. */
    update(now) {
      now.forEach((choice, at) => {
        if (choice.number) textsOf(choice).forEach((text, n) => (rows[at].children[rows[at].children.length - 2 + n].textContent = text));
      });
    },
    /** Scroll to what is selected, where it is out of sight. */
    reveal() {
      if (chosen < 0) return;
      const { offsetTop, offsetHeight } = rows[chosen];
      const hidden = offsetTop < node.scrollTop + offsetHeight || offsetTop + offsetHeight > node.scrollTop + node.clientHeight;
      if (hidden) node.scrollTop = offsetTop - node.clientHeight / 2;
    },
  };
}

const STEPS = 1000;

/** A slider of isovalues in equal ratios; `ask` is given the one that is wanted. */
export function isovalueSlider(ask) {
  let values = () => 0;
  const text = made("output", {});
  const write = (isovalue) => (text.textContent = Number(isovalue.toPrecision(3)).toString());
  const input = made("input", { type: "range", "aria-label": "Isovalue" });
  input.addEventListener("input", () => {
    const wanted = values(Number(input.value));
    write(wanted); // now: its surface may come later
    ask(wanted);
  });
  const node = made("label", { class: "orbitile-slider" }, made("span", {}, "isovalue"), input, text);
  return {
    node,
    /** Show an isovalue; others are within a range, or they are those of a list. */
    set(isovalue, [low, high], list) {
      node.hidden = !(isovalue > 0) || !(list ? list.length > 1 : high > low);
      if (node.hidden) return;
      const isHeld = document.activeElement === input && input.matches(":active"); // by the user
      if (!isHeld) write(isovalue);
      input.max = list ? list.length - 1 : STEPS;
      values = list ? (place) => list[place] : (place) => low * (high / low) ** (place / STEPS);
      if (isHeld) return;
      input.value = list ? list.indexOf(isovalue) : (STEPS * Math.log(isovalue / low)) / Math.log(high / low);
      input.setAttribute("aria-valuetext", text.textContent);
    },
  };
}

/** A menu of how a volume is drawn; `ask` is given surface, fog or slice. */
export function lookMenu(ask) {
  const input = made("select", { "aria-label": "Drawn as", onchange: () => ask(input.value) });
  for (const look of ["surface", "fog", "slice"]) input.append(made("option", { value: look }, look));
  input.hidden = true;
  return input;
}

/** A slider of frames, and what plays them; `ask` is given the frame that is wanted. */
export function frameBar(count, ask) {
  const input = made("input", { type: "range", min: "0", max: String(count - 1), value: "0", "aria-label": "Frame", oninput: () => ask(Number(input.value)) });
  const text = made("output", {});
  const button = made("button", { type: "button", "aria-label": "Play", onclick: () => play(!playing) }, "▶");
  const node = made("div", { class: "orbitile-slider" }, button, input, text);
  node.hidden = count < 2;
  let [frame, playing, when] = [0, false, 0];
  const next = () => {
    if (!playing || !node.isConnected) return;
    ask((frame + 1) % count);
  };
  const play = (on) => {
    playing = on;
    button.textContent = on ? "❚❚" : "▶";
    button.setAttribute("aria-label", on ? "Pause" : "Play");
    if (on) next();
  };
  return {
    node,
    pause: () => play(false),
    /** A frame is shown now; while frames are played, the next one is asked for a tenth of a second after this one. */
    set(shown) {
      frame = shown;
      if (!input.matches(":active")) input.value = shown;
      text.textContent = `${shown + 1} / ${count}`;
      clearTimeout(when);
      if (playing) when = setTimeout(next, 100);
    },
  };
}

/** What the colours of a slide stand for, less what stands in its title. */
export function legend(legends, title) {
  return legends.map(({ heading, patches, scale, ticks }) => {
    const node = made("div", { class: "orbitile-legend" });
    if (!title.includes(heading)) node.append(made("span", {}, heading));
    for (const [colour, text] of patches) {
      const patch = made("i", {});
      patch.style.background = colour;
      node.append(made("span", { class: "orbitile-patch" }, patch, text));
    }
    if (scale.length) {
      const bar = made("div", { class: "orbitile-scale" });
      bar.style.background = `linear-gradient(to right, ${scale.join(", ")})`;
      const marks = made("div", { class: "orbitile-ticks" });
      for (const [share, text] of ticks) {
        const mark = made("span", {}, text);
        mark.style.left = `${100 * share}%`;
        marks.append(mark);
      }
      node.append(made("div", {}, bar, marks));
    }
    return node;
  });
}
