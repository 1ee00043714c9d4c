// A spectrum: curves and sticks with axes; a click is for the stick that is nearest.

import { drawn } from "./diagram.js";
import { made } from "./elements.js";

const PLOT = { width: 560, height: 300, left: 62, right: 12, top: 12, bottom: 40 };
const INKS = ["#1f5fa8", "#c2571a", "#1a7f37", "#a33846", "#6f4fb0", "#0f8c94"];
const NEAR = 12; // units of the picture within which a stick is the one that is clicked on

/** Round values within a range, and how many decimals they need. */
function marks(ends, most) {
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const power = 10 ** Math.floor(Math.log10((high - low) / most));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => (high - low) / one <= most);
  const found = [];
  for (let mark = Math.ceil(low / step - 1e-9) * step; mark <= high + 1e-9 * step; mark += step) found.push(mark);
  return [found, Math.max(0, -Math.floor(Math.log10(step)))];
}

/** A plot, as `orbitile.pictures.vibrations` describes it; `choose` is given the field of the stick that is clicked. */
export function spectrum(plot, choose) {
  const { width, height, left, right, top, bottom } = PLOT;
  const across = (x) => left + ((x - plot.x[0]) / (plot.x[1] - plot.x[0])) * (width - left - right);
  const down = (y) => height - bottom - ((y - plot.y[0]) / (plot.y[1] - plot.y[0])) * (height - top - bottom);
  const node = drawn("svg", { viewBox: `0 0 ${width} ${height}`, class: "orbitile-spectrum", role: "img" });
  node.append(drawn("title", {}, plot.title));
  const text = (x, y, words, more = {}) => node.append(drawn("text", { x, y, "text-anchor": "middle", ...more }, words));
  const [xs, xDecimals] = marks(plot.x, 8);
  for (const x of xs) {
    node.append(drawn("line", { x1: across(x), x2: across(x), y1: height - bottom, y2: height - bottom + 4, class: "orbitile-axis" }));
    text(across(x), height - bottom + 16, x.toFixed(xDecimals));
  }
  const [ys, yDecimals] = marks(plot.y, 6);
  for (const y of ys) {
    node.append(drawn("line", { x1: left, x2: width - right, y1: down(y), y2: down(y), class: "orbitile-grid" }));
    text(left - 6, down(y) + 4, y.toFixed(yDecimals), { "text-anchor": "end" });
  }
  node.append(drawn("rect", { x: left, y: top, width: width - left - right, height: height - top - bottom, class: "orbitile-frame" }));
  text((left + width - right) / 2, height - 6, plot.x_label);
  text(0, 0, plot.y_label, { transform: `translate(12 ${(top + height - bottom) / 2}) rotate(-90)` });
  const sticks = new Map();
  const places = [];
  let lines = 0;
  for (const curve of plot.curves) {
    if (curve.style === "sticks") {
      curve.x.forEach((x, i) => {
        const stick = drawn("line", { x1: across(x), x2: across(x), y1: down(curve.foot), y2: down(curve.y[i]), class: "orbitile-stick" });
        sticks.set(curve.fields[i], stick);
        places.push([across(x), curve.fields[i]]);
        node.append(stick);
      });
      continue;
    }
    const points = curve.x.map((x, i) => `${across(x).toFixed(1)},${down(curve.y[i]).toFixed(1)}`).join(" ");
    const ink = INKS[lines++ % INKS.length];
    node.append(drawn("polyline", { points, class: "orbitile-curve", stroke: ink }));
    if (curve.name) text(width - right - 6, top + 14 * lines, curve.name, { "text-anchor": "end", fill: ink });
  }
  node.addEventListener("click", (event) => {
    const box = node.getScreenCTM().inverse();
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(box).x;
    const [far, field] = places.reduce((best, [x, name]) => (Math.abs(x - at) < best[0] ? [Math.abs(x - at), name] : best), [Infinity, ""]);
    if (far < NEAR) choose(field);
  });
  return {
    node: made("figure", {}, made("figcaption", {}, plot.title), node),
    select: (field) => sticks.forEach((stick, name) => stick.classList.toggle("orbitile-chosen", name === field)),
  };
}
