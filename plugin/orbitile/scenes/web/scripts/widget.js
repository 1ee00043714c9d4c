// The view of a notebook (anywidget): what is asked for goes to the kernel by traits, slides come back.

import { unpack } from "./unpack.js";
import { viewer } from "./viewer.js";

const PAUSE = 250; // milliseconds without a move after which the kernel is told of the camera

const EXPORTED = 'script[type="application/vnd.jupyter.widget-state+json"]';

const LACKING = "The live view has no molecule from the kernel, so the saved page is shown; run the cell again for the live view.";

function render({ model, el }) {
  // In what nbconvert has exported nobody answers: the page beside the view is to be seen.
  if (document.querySelector(EXPORTED)) return;
  let disconnect = null;
  const start = () => {
    if (disconnect || !model.get("_document")?.byteLength) return;
    el.replaceChildren();
    try {
      disconnect = connect(model, el);
    } catch (error) {
      el.textContent = `The live view cannot be drawn, so the saved page is shown: ${error.message}`;
    }
  };
  model.on("change:_document", start);
  if (model.get("_document")?.byteLength) {
    start();
  } else {
    // A browser can hear of a widget without its bytes: the kernel is asked to send them again.
    el.textContent = LACKING;
    model.set("_lacking", true);
    model.save_changes();
  }
  return () => {
    model.off("change:_document", start);
    disconnect?.();
  };
}

/** Energies, and as many occupations behind them, from bytes. */
function numbersIn({ buffer, byteOffset, byteLength }) {
  const numbers = new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength));
  return [numbers.subarray(0, numbers.length / 2), numbers.subarray(numbers.length / 2)];
}

/** Draw the view and connect it with the kernel; returns what ends both. */
function connect(model, el) {
  const contents = unpack(model.get("_document"));
  const name = model.get("_name");
  let told = 0;
  let mine = null; // the camera as this view has told it

  const view = viewer(el, contents, {
    ask({ field, color_by, isovalue, frame }) {
      model.set("_asked", { field, color_by, isovalue, frame, at: Date.now() });
      model.save_changes();
    },
    moved(camera) {
      clearTimeout(told);
      told = setTimeout(() => {
        mine = camera;
        model.set("camera", camera);
        model.save_changes();
      }, PAUSE);
    },
  });
  const slide = () => {
    const [bytes, levels] = [model.get("_slide"), model.get("_levels")]; // levels are of trajectories only
    if (levels?.byteLength) view.level(numbersIn(levels));
    if (bytes?.byteLength) view.show(unpack(bytes).slides[0]);
  };
  const status = () => view.tell(model.get("_status"), model.get("_failed"));
  const look = () => {
    const camera = model.get("camera");
    if (camera.rotation && camera !== mine) view.look(camera);
  };
  slide();
  look();
  status();
  // What stands beside it in the notebook for times without a kernel is not to be seen while this is.
  const shown = document.createElement("style");
  shown.textContent = `iframe[data-orbitile="${CSS.escape(name)}"] { display: none !important; }`;
  document.head.append(shown);
  model.set("_seen", true); // whoever runs cells need not wait for the page beside it
  model.save_changes();
  model.on("change:_slide", slide);
  model.on("change:_status", status);
  model.on("change:_failed", status);
  model.on("change:camera", look);
  return () => {
    model.off("change:_slide", slide);
    model.off("change:_status", status);
    model.off("change:_failed", status);
    model.off("change:camera", look);
    clearTimeout(told);
    shown.remove();
    view.dispose();
  };
}

export default { render };
