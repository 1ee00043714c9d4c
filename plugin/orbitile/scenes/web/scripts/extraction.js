// Isosurfaces beside the page: a worker finds them while an isovalue is dragged, so that the page turns meanwhile. Its script is the text
// of the functions that find surfaces; the policy of the page lets it begin workers from its own memory alone. Where a
// browser does not begin it, they are found in the page.

import { isosurface, SOURCE } from "./isosurface.js";

/** What the worker does with a message: it keeps the values, of which many surfaces are asked for. */
function answer({ data: { values, grid, isovalue, signs } }) {
  if (values) self.values = values;
  const found = signs.map((sign) => isosurface(self.values, grid, isovalue, sign));
  self.postMessage(found, found.flatMap((one) => [one.vertices.buffer, one.normals.buffer, one.faces.buffer]));
}

let address = ""; // of the script, which all molecules of a page share

export class Extraction {
  constructor() {
    this.sent = null;
    this.instead = null; // of waiting for an answer
    try {
      address ||= URL.createObjectURL(new Blob([`"use strict";\n${SOURCE}\nself.onmessage = ${answer};`], { type: "text/javascript" }));
      this.worker = new Worker(address);
    } catch {
      this.worker = null;
      return;
    }
    this.worker.onerror = (event) => { // which comes before anything is asked for where a policy forbids it
      event.preventDefault();
      this.dispose();
      this.instead?.();
    };
  }

  /** What `isosurface` gives for each sign; asked for one at a time. */
  async surfaces(values, grid, isovalue, signs) {
    const here = () => signs.map((sign) => isosurface(values, grid, isovalue, sign));
    if (!this.worker) return here();
    return new Promise((done) => {
      this.worker.onmessage = ({ data }) => done(data);
      this.instead = () => done(here());
      this.worker.postMessage({ values: values === this.sent ? null : values, grid, isovalue, signs });
      this.sent = values;
    });
  }

  dispose() {
    this.worker?.terminate();
    this.worker = null;
  }
}
