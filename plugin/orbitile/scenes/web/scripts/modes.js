// A page of vibrations: the molecule moves along the mode that is chosen in the spectrum or in the table.

import { made } from "./elements.js";
import { spectrum } from "./spectrum.js";
import { documentIn } from "./unpack.js";
import { viewer } from "./viewer.js";

const contents = await documentIn(document.getElementById("orbitile-document"));

const { modes, plots, table, remarks } = contents.spectrum;
const element = document.getElementById("orbitile-view");
const view = viewer(element, contents, {
  ask: () => {},
  wheel: () => window.parent === window || document.activeElement?.tagName === "CANVAS",
});
const [slide] = contents.slides;
const rest = Float32Array.from(slide.centres);
let [chosen, amplitude, moves, begun] = ["", contents.spectrum.amplitude, true, 0];

const rows = table.rows.map((cells, at) => {
  const row = made("tr", { onclick: () => choose(table.fields[at]) }, ...cells.map((cell) => made("td", {}, cell)));
  return row;
});
const head = made("thead", {}, made("tr", {}, ...table.heads.map((name) => made("th", {}, name))));
const list = made("div", { class: "orbitile-modes", tabindex: "0" }, made("table", {}, head, made("tbody", {}, ...rows)));
const spectra = plots.map((plot) => spectrum(plot, choose));
const panel = made("div", { class: "orbitile-panel" }, ...spectra.map(({ node }) => node), list, ...remarks.map((text) => made("p", {}, text)));
element.querySelector(".orbitile-upper").append(panel);
const slider = made("input", { type: "range", min: "0.1", max: "3", step: "0.05", value: String(amplitude), "aria-label": "Amplitude", oninput: () => (amplitude = Number(slider.value)) });
const button = made("button", { type: "button", onclick: () => play(!moves) }, "❚❚");
element.querySelector(".orbitile-lower").prepend(made("label", { class: "orbitile-slider" }, button, made("span", {}, "amplitude"), slider));

function play(on) {
  moves = on;
  button.textContent = on ? "❚❚" : "▶";
  if (!on) place(0);
}

function place(share) {
  const motion = modes[chosen]?.motion;
  for (let i = 0; i < rest.length; i++) slide.centres[i] = rest[i] + (motion ? share * amplitude * motion[i] : 0);
  view.redraw();
}

function choose(field) {
  chosen = field;
  begun = performance.now();
  spectra.forEach((one) => one.select(field));
  table.fields.forEach((name, at) => {
    rows[at].classList.toggle("orbitile-chosen", name === field);
    if (name === field) rows[at].scrollIntoView({ block: "nearest" });
  });
  element.querySelector(".orbitile-caption").textContent = modes[field].title;
  element.dataset.shown = field;
  if (!moves) play(true);
}

addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || document.activeElement?.tagName === "CANVAS") return;
  event.preventDefault();
  const at = table.fields.indexOf(chosen) + step;
  if (at >= 0 && at < table.fields.length) choose(table.fields[at]);
});

function move(now) {
  if (moves && chosen) place(Math.sin((2 * Math.PI * (now - begun)) / 1000));
  requestAnimationFrame(move);
}

view.show(slide);
choose(contents.spectrum.first);
requestAnimationFrame(move);
element.dataset.ready = "yes";
