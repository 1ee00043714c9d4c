// A molecule in a page: slides are there or are computed, and what is asked for is shown, or the slide nearest to it.

import { Computing } from "./computing.js";
import { keyOf } from "./controls.js";
import { made } from "./elements.js";
import { copied, fragmentOf } from "./links.js";
import { viewer } from "./viewer.js";

const LONG = 300; // milliseconds after which it is said that something is computed

/**
 * Show a document in an element, at first its first slide.
 *
 * name   of the molecule in addresses, or empty
 * wheel  as of `viewer`
 *
 * The result has `open`, for what `viewIn` finds in an address, and `close`.
 */
export function molecule(element, contents, { name = "", wheel } = {}) {
  let computing = null;
  try {
    if (contents.computing.length) computing = new Computing(contents);
  } catch (error) {
    contents.note = error.message;
  }
  const slidesOf = (choice) => contents.slides.filter((slide) => keyOf(slide) === keyOf(choice));
  const isComputed = (choice) => computing?.knows(choice) ?? false;
  const known = (choice) => slidesOf(choice).length > 0 || isComputed(choice);

  function showNearest({ field, color_by, isovalue, frame }) {
    const mine = slidesOf({ field, color_by });
    const ofFrame = mine.filter((slide) => slide.frame === frame);
    const those = ofFrame.length ? ofFrame : mine;
    const away = (slide) => (isovalue ? Math.abs(Math.log(slide.isovalue / isovalue)) : 0);
    last++;
    view.compute(false);
    view.show(those.reduce((best, slide) => (away(slide) < away(best) ? slide : best)));
  }

  let last = 0; // of what is being computed
  async function compute(asked) {
    const mine = ++last;
    const late = setTimeout(() => view.tell("Computing …"), LONG);
    view.compute(true);
    try {
      const slide = await computing.slide({ ...asked }, view.tell);
      if (slide) view.show(slide); // unless something else was asked for
    } catch (error) {
      view.tell(error.message, true);
    } finally {
      clearTimeout(late);
    }
    if (mine === last) view.compute(false);
  }

  /** What was computed beforehand as it is asked for; volumes are not. */
  const isThere = (asked) =>
    view.drawnAs() === "surface" &&
    slidesOf(asked).some(({ frame, isovalue }) => frame === asked.frame && isovalue > 0 && (!asked.isovalue || Math.abs(Math.log(isovalue / asked.isovalue)) < 1e-3));

  const ask = (asked) => (isComputed(asked) && !isThere(asked) ? compute(asked) : (computing?.leave(), showNearest(asked)));

  async function link() {
    const { field, color_by, isovalue, frame } = view.slide();
    history.replaceState(null, "", `#${fragmentOf({ molecule: name, field, color_by, isovalue, as: view.drawnAs(), frame, camera: view.camera() })}`);
    view.tell((await copied(location.href)) ? "The address of this view is on the clipboard." : "The address of this view is in the address bar.");
  }
  const isAlone = window.parent === window; // a part of another page has no address of its own
  const view = viewer(element, contents, {
    ask,
    known,
    wheel,
    volumes: isComputed,
    isovalues: (slide) =>
      isComputed(slide)
        ? null
        : slidesOf(slide).filter(({ frame }) => frame === slide.frame).map(({ isovalue }) => isovalue).sort((a, b) => a - b),
    buttons: isAlone ? [made("button", { type: "button", onclick: link }, "link to this view")] : [],
  });
  for (const slide of contents.slides) if (isComputed(slide)) slide.range = computing.rangeAbout(slide.isovalue);
  view.show(contents.slides[0]);
  element.dataset.ready = "yes";
  return {
    open({ field = "", color_by = "", isovalue = null, as = "surface", frame = 0, camera }) {
      view.drawAs(as); // first, since it may ask for the volume of what is shown now
      if (field && !known({ field, color_by })) view.tell(`This page has no ${field}${color_by && ` in the colours of ${color_by}`}.`, true);
      else if (field) ask({ field, color_by, isovalue, frame });
      view.look(camera);
    },
    close() {
      view.dispose();
      computing?.dispose();
    },
  };
}
