// A page: slides are there or are computed, and what is asked for is shown, or the slide that is nearest to it.

import { Computing } from "./computing.js";
import { keyOf } from "./controls.js";
import { unpack } from "./unpack.js";
import { viewer } from "./viewer.js";

const coded = document.getElementById("orbitile-document").textContent.trim();
const bytes = Uint8Array.from(atob(coded), (letter) => letter.charCodeAt(0));
const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
const contents = unpack(await new Response(stream).arrayBuffer());

let computing = null;
try {
  if (contents.computing) computing = new Computing(contents);
} catch (error) {
  contents.note = error.message;
}

const slidesOf = (choice) => contents.slides.filter((slide) => keyOf(slide) === keyOf(choice));
const isComputed = (choice) => computing?.knows(choice) ?? false;

function showNearest({ field, color_by, isovalue, frame }) {
  const mine = slidesOf({ field, color_by });
  const ofFrame = mine.filter((slide) => slide.frame === frame);
  const those = ofFrame.length ? ofFrame : mine;
  const away = (slide) => (isovalue ? Math.abs(Math.log(slide.isovalue / isovalue)) : 0);
  view.show(those.reduce((best, slide) => (away(slide) < away(best) ? slide : best)));
}

async function compute(asked) {
  view.tell("Computing …");
  try {
    const slide = await computing.slide({ ...asked }, view.tell);
    if (slide) view.show(slide);
  } catch (error) {
    view.tell(error.message, true);
  }
}

const element = document.getElementById("orbitile-view");
const view = viewer(element, contents, {
  known: (choice) => slidesOf(choice).length > 0 || isComputed(choice),
  isovalues: (slide) =>
    isComputed(slide)
      ? null
      : slidesOf(slide).filter(({ frame }) => frame === slide.frame).map(({ isovalue }) => isovalue).sort((a, b) => a - b),
  wheel: () => window.parent === window || document.activeElement?.tagName === "CANVAS",
  ask: (asked) => (isComputed(asked) ? compute(asked) : (computing?.leave(), showNearest(asked))),
});
for (const slide of contents.slides) if (isComputed(slide)) slide.range = computing.rangeAbout(slide.isovalue);
view.show(contents.slides[0]);
element.dataset.ready = "yes";
