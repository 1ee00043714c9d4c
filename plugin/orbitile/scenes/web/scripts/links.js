// Views in the fragment of an address: the molecule of a page, the field, the isovalue, how it is
// drawn, the frame, where the camera is.
// In `#benzene&field=mo:21&isovalue=0.05&camera=...` the first word is the molecule, which a page of one has not.

import { made } from "./elements.js";
import { turned } from "./geometry.js";

/** What a fragment asks for: {molecule, field, color_by, isovalue, as (fog or slice), frame, camera}, where it says so. */
export function viewIn(fragment) {
  const found = {};
  for (const [name, value] of new URLSearchParams(fragment.replace(/^#/, ""))) {
    if (!value) found.molecule ??= name;
    else if (name === "field" || name === "color_by") found[name] = value;
    else if (name === "isovalue" && Number(value) > 0 && Number.isFinite(Number(value))) found.isovalue = Number(value);
    else if (name === "as" && ["fog", "slice"].includes(value)) found.as = value;
    else if (name === "frame" && /^\d{1,9}$/.test(value)) found.frame = Number(value);
    else if (name === "camera") found.camera = cameraIn(value);
  }
  return found;
}

/** The fragment, without `#`, of what `viewIn` gives. */
export function fragmentOf({ molecule, field, color_by, isovalue, as, frame, camera }) {
  const parts = new URLSearchParams();
  if (field) parts.set("field", field);
  if (color_by) parts.set("color_by", color_by);
  if (isovalue) parts.set("isovalue", Number(isovalue.toPrecision(4)));
  if (as && as !== "surface") parts.set("as", as);
  if (frame) parts.set("frame", frame);
  if (camera) parts.set("camera", [...camera.rotation[0], ...camera.rotation[1], ...camera.centre, camera.height].map((value) => Number(value.toFixed(4))).join(","));
  const text = parts.toString().replaceAll("%3A", ":").replaceAll("%2C", ",");
  return [molecule, text].filter(Boolean).join("&");
}

/** A camera from what points right, what points up, the place in the middle, and the height of what is seen. */
function cameraIn(text) {
  const numbers = text.split(",").map(Number);
  if (numbers.length !== 10 || !numbers.every((value) => Number.isFinite(value) && Math.abs(value) < 1e4) || !(numbers[9] > 0)) return undefined;
  const [right, up, centre] = [numbers.slice(0, 3), numbers.slice(3, 6), numbers.slice(6, 9)];
  const back = [right[1] * up[2] - right[2] * up[1], right[2] * up[0] - right[0] * up[2], right[0] * up[1] - right[1] * up[0]];
  if (Math.hypot(...back) < 0.5) return undefined; // right and up are no directions, or the same
  return { rotation: turned([right, up, back], 0, 0), centre, height: numbers[9] };
}

/** Put a text onto the clipboard; whether that was allowed. */
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = made("textarea", { readonly: "", "aria-hidden": "true", class: "orbitile-copied" });
    field.value = text;
    document.body.append(field);
    const focused = document.activeElement;
    field.select();
    const done = document.execCommand("copy"); // outdated, but there where the clipboard is not
    field.remove();
    focused?.focus();
    return done;
  }
}
