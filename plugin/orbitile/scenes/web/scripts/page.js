// A page: all slides are there, and what is asked for is the one that is nearest to it.

import { keyOf } from "./controls.js";
import { unpack } from "./unpack.js";
import { viewer } from "./viewer.js";

const coded = document.getElementById("orbitile-document").textContent.trim();
const bytes = Uint8Array.from(atob(coded), (letter) => letter.charCodeAt(0));
const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
const contents = unpack(await new Response(stream).arrayBuffer());

const slidesOf = (choice) => contents.slides.filter((slide) => keyOf(slide) === keyOf(choice));
const element = document.getElementById("orbitile-view");
const view = viewer(element, contents, {
  known: (choice) => slidesOf(choice).length > 0,
  isovalues: (slide) =>
    slidesOf(slide).filter(({ frame }) => frame === slide.frame).map(({ isovalue }) => isovalue).sort((a, b) => a - b),
  wheel: () => window.parent === window || document.activeElement?.tagName === "CANVAS",
  ask({ field, color_by, isovalue, frame }) {
    const mine = slidesOf({ field, color_by });
    const ofFrame = mine.filter((slide) => slide.frame === frame);
    const those = ofFrame.length ? ofFrame : mine;
    const away = (slide) => (isovalue ? Math.abs(Math.log(slide.isovalue / isovalue)) : 0);
    view.show(those.reduce((best, slide) => (away(slide) < away(best) ? slide : best)));
  },
});
view.show(contents.slides[0]);
element.dataset.ready = "yes";
