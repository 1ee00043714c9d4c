// The diagram of levels: a line for each orbital at its energy, those of one energy side by side.

import { ELECTRONVOLTS } from "./constants.js";

const [BELOW, ABOVE] = [18, 12]; // eV about the frontier, beyond which cores and the far unoccupied are left out
const SAME = 0.03; // eV within which levels stand side by side
const [WIDTH, HEIGHT, LEFT, EDGE] = [170, 320, 34, 14];

const NAMESPACE = "http://www.w3.org/2000/svg";

/** An element of SVG with attributes and a text. */
export function drawn(kind, attributes, text) {
  const node = document.createElementNS(NAMESPACE, kind);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

/** The levels of choices that have energies, in eV. */
const levelsOf = (choices) =>
  choices.filter(({ number, energy }) => number && energy !== null).map((choice) => ({ choice, energy: choice.energy * ELECTRONVOLTS }));

/** Energies between which a diagram shows the levels of choices, in eV; null where there are too few. */
export function spanOf(choices) {
  const levels = levelsOf(choices);
  if (levels.length < 2) return null;
  const frontier = [
    ...levels.filter(({ choice }) => choice.occupation > 0.5).map(({ energy }) => energy).sort((a, b) => b - a).slice(0, 1),
    ...levels.filter(({ choice }) => choice.occupation <= 0.5).map(({ energy }) => energy).sort((a, b) => a - b).slice(0, 1),
  ];
  const [bottom, top] = [Math.min(...frontier) - BELOW, Math.max(...frontier) + ABOVE];
  const shown = levels.map(({ energy }) => energy).filter((energy) => energy >= bottom && energy <= top);
  return [Math.min(...shown), Math.max(...shown)];
}

/** Energies between which a diagram shows what either of two shows; null for none. */
export const joinedSpan = (one, other) => (one && other ? [Math.min(one[0], other[0]), Math.max(one[1], other[1])] : (one ?? other));

/**
 * A diagram of choices between two energies, which `spanOf` gives.
 *
 * choose   is given the choice whose level is clicked
 * known    says of a choice whether it can be shown
 * The result has `node`, and `select` for the key of what is shown.
 */
export function diagram(choices, [low, high], { choose, known, key }) {
  const listed = levelsOf(choices).filter(({ energy }) => energy >= low && energy <= high).sort((a, b) => a.energy - b.energy);
  const height = (energy) => EDGE + ((high - energy) / Math.max(high - low, 1e-6)) * (HEIGHT - 2 * EDGE);

  const node = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "orbitile-diagram", role: "img" });
  node.append(drawn("title", {}, "Energies of the orbitals; the list has the same"));
  const steps = [0.5, 1, 2, 5, 10, 20].find((step) => (high - low) / step <= 8) ?? 50;
  for (let mark = Math.ceil(low / steps) * steps; mark <= high; mark += steps) {
    node.append(drawn("line", { x1: LEFT - 4, x2: LEFT, y1: height(mark), y2: height(mark), class: "orbitile-axis" }));
    node.append(drawn("text", { x: LEFT - 6, y: height(mark) + 3, class: "orbitile-mark" }, String(mark).replace("-", "−")));
  }
  node.append(drawn("line", { x1: LEFT, x2: LEFT, y1: EDGE / 2, y2: HEIGHT - EDGE / 2, class: "orbitile-axis" }));
  node.append(drawn("text", { x: LEFT - 6, y: HEIGHT - 1, class: "orbitile-mark" }, "eV"));

  const spins = [...new Set(choices.filter(({ number }) => number).map(({ spin }) => spin))]; // alpha to the left
  const column = (WIDTH - LEFT - 6) / spins.length;
  const lines = new Map();
  spins.forEach((spin, at) => {
    const mine = listed.filter(({ choice }) => choice.spin === spin);
    for (let i = 0; i < mine.length; ) {
      let end = i + 1;
      while (end < mine.length && mine[end].energy - mine[i].energy < SAME) end++;
      const width = Math.min(column / (end - i), column * 0.6);
      for (let j = i; j < end; j++) {
        const { choice, energy } = mine[j];
        const middle = LEFT + 6 + column * (at + 0.5) + width * (j - (i + end - 1) / 2);
        const [x1, x2] = [middle - 0.42 * width, middle + 0.42 * width];
        const line = drawn("g", { class: `orbitile-level${choice.occupation > 0.5 ? " orbitile-occupied" : ""}` });
        line.append(drawn("title", {}, `${choice.title}, ${energy.toFixed(3)} eV`));
        line.append(drawn("line", { x1, x2, y1: height(energy), y2: height(energy) }));
        line.append(drawn("rect", { x: x1, width: x2 - x1, y: height(energy) - 4, height: 8, class: "orbitile-target" }));
        if (known(choice)) line.addEventListener("click", () => choose(choice));
        else line.classList.add("orbitile-unknown");
        lines.set(key(choice), line);
        node.append(line);
      }
      i = end;
    }
  });
  return {
    node,
    select: (shown) => lines.forEach((line, name) => line.classList.toggle("orbitile-chosen", name === shown)),
  };
}
