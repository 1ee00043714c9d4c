// The view: a picture that can be turned, and beside it what can be chosen.

import { choiceList, frameBar, isovalueSlider, keyOf, legend, lookMenu } from "./controls.js";
import { diagram, joinedSpan, spanOf } from "./diagram.js";
import { Drawing } from "./drawing.js";
import { made } from "./elements.js";
import { framed } from "./geometry.js";
import { turnable } from "./turning.js";

const STILL = 200; // milliseconds after which a picture that does not move is drawn finer

const PLANES = { still: 128, moving: 48 }; // of fog

const HELP = "Drag to turn, Shift and drag to move, wheel or pinch to zoom, double click for the first view. Keys: arrows, [ ], + −, Home.";

/**
 * Show a document in an element.
 *
 * ask       is given what the user wants to see: {field, color_by, isovalue, frame}; isovalue null for the usual one
 * moved     is given the camera when the user has changed it
 * known     says of a choice whether it can be shown
 * isovalues gives those that a slide can be had at, or null for a whole range
 * wheel     says whether the wheel zooms now
 * volumes   says of a slide whether it can be had with a volume, which is drawn as fog and slices too
 * buttons   stand beside those of the view
 */
export function viewer(element, contents, { ask, moved = () => {}, known = () => true, isovalues = () => null, wheel, volumes = () => false, buttons: more = [] }) {
  let slide = null;
  let camera = null;
  let untouched = true; // nobody has turned it: then it moves back where a slide needs more room
  let labelled = false;
  let [waiting, still] = [0, 0];
  let look = "surface";
  let busy = false; // something is computed: finer pictures wait, since the graphics may be the same processor

  const canvas = made("canvas", { tabindex: "0", role: "img", title: HELP });
  const labels = made("div", { class: "orbitile-labels", "aria-hidden": "true" });
  const caption = made("div", { class: "orbitile-caption" });
  const status = made("div", { class: "orbitile-status", role: "status", "aria-live": "polite" });
  const legends = made("div", { class: "orbitile-legends" });
  const picture = made("div", { class: "orbitile-picture" }, canvas, labels, caption, legends, status);

  const wanted = { field: "", color_by: "", isovalue: null, frame: 0 };
  const want = (change) => ask(Object.assign(wanted, change));
  const choose = ({ field, color_by }) => want({ field, color_by, isovalue: null });
  const list = choiceList(contents.choices, { choose, known });
  const choicesWith = ([energies, occupations]) =>
    contents.choices.map((choice, at) => ({ ...choice, energy: Number.isFinite(energies[at]) ? energies[at] : null, occupation: occupations[at] }));
  const listed = contents.levels.map(choicesWith); // in each frame, where those differ
  let current = listed[0] ?? contents.choices;
  let span = (listed.length ? listed : [current]).map(spanOf).reduce(joinedSpan); // one axis for all frames
  let levels = span && diagram(current, span, { choose, known, key: keyOf });
  /** Have the list and the diagram show other energies, before a slide is selected in them. */
  function level(choices) {
    if (choices === current) return;
    current = choices;
    list.update(choices);
    if (!levels) return;
    span = joinedSpan(span, spanOf(choices));
    const next = diagram(choices, span, { choose, known, key: keyOf });
    levels.node.replaceWith(next.node);
    levels = next;
  }
  const slider = isovalueSlider((isovalue) => want({ isovalue }));
  const frames = frameBar(contents.n_frames, (frame) => want({ frame }));
  const toggle = made("button", { type: "button", "aria-pressed": "false", onclick: () => label(!labelled) }, "labels");
  const home = made("button", { type: "button", onclick: () => reset() }, "reset view");
  toggle.hidden = !contents.atoms.length;
  const looks = lookMenu((chosen) => drawAs(chosen));
  function drawAs(chosen) {
    looks.value = look = chosen;
    if (look !== "surface" && !slide.volume && volumes(slide)) want({});
    draw();
  }
  const buttons = made("div", { class: "orbitile-buttons" }, looks, home, toggle, ...more);
  const note = made("div", { class: "orbitile-note", role: "note" }, contents.note ?? "");
  note.hidden = !contents.note;
  const beside = made("div", { class: "orbitile-beside" }, ...(levels ? [levels.node] : []), list.node);
  beside.hidden = contents.choices.length < 2;
  element.classList.add("orbitile-view");
  element.replaceChildren(
    made("div", { class: "orbitile-upper" }, picture, beside),
    made("div", { class: "orbitile-lower" }, slider.node, frames.node, buttons, note),
  );

  let drawing = null;
  try {
    drawing = new Drawing(canvas);
  } catch (error) {
    tell(error.message, true);
  }

  const aspect = () => Math.max(canvas.clientWidth, 1) / Math.max(canvas.clientHeight, 1);
  const reset = () => {
    change(framed(contents.rotation, slide, aspect()));
    untouched = true;
  };

  const inFile = ({ rotation, centre, height }) => ({ rotation, centre: centre.map((value, i) => value + contents.middle[i]), height });

  function change(next) {
    camera = next;
    untouched = false;
    draw();
    moved(inFile(camera));
  }

  /** Draw soon; coarsely while it moves, and finer once it does not. */
  function draw() {
    if (!waiting) waiting = requestAnimationFrame(() => drawNow(false));
    clearTimeout(still);
    if (!busy) still = setTimeout(() => drawNow(true), STILL);
  }

  function drawNow(fine, background = paper()) {
    waiting = 0;
    if (!drawing || !slide || !element.isConnected || !canvas.clientWidth) return;
    const ratio = Math.max(window.devicePixelRatio || 1, fine && look !== "fog" ? 2 : 1); // fog has no edges, and many planes
    const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    if (untouched) {
      const whole = framed(contents.rotation, slide, width / height);
      if (!camera || whole.height > camera.height) camera = whole;
    }
    element.dataset.height = camera.height; // of what is seen, in bohr
    try {
      drawing.draw(camera, background, look, fine ? PLANES.still : PLANES.moving);
    } catch (error) {
      drawing = null; // its shaders are refused
      tell(error.message, true);
      throw error;
    }
    if (labelled) place();
  }

  /** Red, green and blue of the background, from 0 to 1. */
  function paper() {
    const found = getComputedStyle(picture).backgroundColor.match(/[\d.]+/g) ?? [255, 255, 255];
    return found.slice(0, 3).map((value) => Number(value) / 255);
  }

  function label(on) {
    labelled = on;
    toggle.setAttribute("aria-pressed", String(on));
    labels.replaceChildren(...(on ? contents.atoms.map((name) => made("span", {}, name)) : []));
    if (on && slide) place();
  }

  function place() {
    drawing?.placesOfAtoms().forEach(([x, y], i) => {
      const { style } = labels.children[i] ?? {};
      if (style) Object.assign(style, { left: `${100 * x}%`, top: `${100 * y}%` });
    });
  }

  /** Show a slide. */
  function show(next) {
    slide = next;
    const { field, color_by, isovalue, frame } = slide;
    Object.assign(wanted, { field, color_by, isovalue: isovalue || null, frame });
    drawing?.show(slide);
    looks.hidden = !volumes(slide);
    if (listed.length) level(listed[frame]);
    list.select(keyOf(slide));
    levels?.select(keyOf(slide));
    slider.set(isovalue, slide.range, isovalues(slide));
    frames.set(frame);
    legends.replaceChildren(...legend(slide.legends, slide.title));
    caption.textContent = slide.title;
    canvas.setAttribute("aria-label", [contents.title, slide.title, slide.remark].filter(Boolean).join(". "));
    element.dataset.shown = keyOf(slide);
    tell(slide.remark);
    draw();
  }

  /** Tell the user something, in one line; empty for nothing. */
  function tell(text, isError = false) {
    status.textContent = text;
    status.classList.toggle("orbitile-error", isError);
    if (isError) frames.pause();
  }

  if (drawing) {
    turnable(canvas, { camera: () => camera, change: (next) => camera && change(next), reset, wheel: () => wheel?.() ?? document.activeElement === canvas });
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      drawing.begin();
      draw();
    });
  }
  const sizes = new ResizeObserver(() => {
    list.reveal();
    draw();
  });
  sizes.observe(picture);
  const theme = matchMedia("(prefers-color-scheme: dark)");
  theme.addEventListener("change", draw);
  const sheet = made("canvas", { class: "orbitile-sheet", "aria-hidden": "true" });
  /** Put a copy of the picture onto the paper, white as that is: what WebGL has drawn is gone by then. */
  function print() {
    if (!drawing || !canvas.width) return;
    drawNow(true, [1, 1, 1]);
    Object.assign(sheet, { width: canvas.width, height: canvas.height });
    sheet.getContext("2d").drawImage(canvas, 0, 0);
    canvas.after(sheet);
  }
  function endPrint() {
    sheet.remove();
    draw();
  }
  addEventListener("beforeprint", print);
  addEventListener("afterprint", endPrint);
  const leave = keepContext(canvas, drawing?.gl, draw);

  return {
    show,
    tell,
    redraw: draw,
    /** Have the list and the diagram show the energies and occupations (arrays of numbers) of a slide that comes next. */
    level: (found) => level(choicesWith(found)),
    /** Something is computed from now on, or no more. */
    compute(on) {
      busy = on;
      if (busy) clearTimeout(still);
      else draw();
    },
    slide: () => slide,
    /** How volumes are drawn: surface, fog or slice. */
    drawnAs: () => look,
    drawAs,
    /** The camera, places in bohr as in the files; undefined where nobody has turned it. */
    camera: () => (untouched ? undefined : inFile(camera)),
    /** Look from somewhere else, or as at first. */
    look(next) {
      if (!next) return reset();
      const { rotation, centre, height } = next;
      camera = { rotation, centre: centre.map((value, i) => value - contents.middle[i]), height };
      untouched = false;
      draw();
    },
    dispose() {
      leave();
      sizes.disconnect();
      theme.removeEventListener("change", draw);
      removeEventListener("beforeprint", print);
      removeEventListener("afterprint", endPrint);
      clearTimeout(still);
    },
  };
}

/** Give the context of a canvas back while it is out of sight: a browser has some sixteen, a notebook more views. */
function keepContext(canvas, gl, draw) {
  const context = gl?.getExtension("WEBGL_lose_context");
  if (!context) return () => {};
  const sight = new IntersectionObserver(
    ([{ isIntersecting }]) => {
      if (!isIntersecting && !gl.isContextLost()) context.loseContext();
      else if (isIntersecting && gl.isContextLost()) context.restoreContext();
      if (isIntersecting) draw();
    },
    { rootMargin: "100%" },
  );
  sight.observe(canvas);
  return () => {
    sight.disconnect();
    if (!gl.isContextLost()) context.loseContext();
  };
}
