// A canvas that is turned, shifted and zoomed: by mouse, by fingers, by keys.

import { inSpace, turned } from "./geometry.js";

const STEP = Math.PI / 18; // of a key

/**
 * Have a user change a camera.
 *
 * canvas   takes the focus when it is clicked
 * camera   gives the camera now
 * change   is given another one
 * reset    is called for the camera as it was at first
 * wheel    says whether the wheel zooms now: within a larger page it has to scroll that, unless the canvas has the focus
 */
export function turnable(canvas, { camera, change, reset, wheel }) {
  const fingers = new Map();

  const turn = (x, y, z = 0) => change({ ...camera(), rotation: turned(camera().rotation, x, y, z) });
  const zoom = (factor) => change({ ...camera(), height: Math.min(Math.max(camera().height * factor, 0.5), 1e4) });
  const shift = (dx, dy) => {
    const now = camera();
    const moved = inSpace(now.rotation, [(-dx * now.height) / canvas.clientHeight, (dy * now.height) / canvas.clientHeight, 0]);
    change({ ...now, centre: now.centre.map((value, i) => value + moved[i]) });
  };

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    canvas.focus({ preventScroll: true });
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
    event.preventDefault();
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const [dx, dy] = [event.clientX - before[0], event.clientY - before[1]];
    if (fingers.size === 1) {
      const perPixel = Math.PI / Math.max(canvas.clientHeight, 1);
      if (event.shiftKey || event.buttons & 6) shift(dx, dy);
      else turn(dy * perPixel, dx * perPixel);
    } else if (fingers.size === 2) {
      const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      const apart = (place) => [place[0] - other[0], place[1] - other[1]];
      const [then, now] = [apart(before), apart([event.clientX, event.clientY])];
      zoom(Math.hypot(...then) / Math.max(Math.hypot(...now), 1));
      turn(0, 0, Math.atan2(then[1], then[0]) - Math.atan2(now[1], now[0]));
      shift(dx / 2, dy / 2);
    }
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
  });
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
    canvas.addEventListener(end, (event) => fingers.delete(event.pointerId));
  }
  canvas.addEventListener("pointercancel", () => canvas.blur()); // the finger scrolls the page, as it may without focus
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("dblclick", reset);
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (!wheel() && !event.ctrlKey) return;
      event.preventDefault();
      zoom(Math.exp(event.deltaY * (event.deltaMode ? 0.05 : 0.0015)));
    },
    { passive: false },
  );
  const keys = {
    ArrowLeft: () => turn(0, -STEP),
    ArrowRight: () => turn(0, STEP),
    ArrowUp: () => turn(-STEP, 0),
    ArrowDown: () => turn(STEP, 0),
    "[": () => turn(0, 0, STEP),
    "]": () => turn(0, 0, -STEP),
    "+": () => zoom(0.9),
    "=": () => zoom(0.9),
    "-": () => zoom(1 / 0.9),
    Home: reset,
  };
  canvas.addEventListener("keydown", (event) => {
    if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation(); // a notebook has keys of its own
    keys[event.key]();
  });
}
