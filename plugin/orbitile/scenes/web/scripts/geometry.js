// Rotations, and a camera that sees all of a scene. A rotation is three rows: what points right, up, to the viewer.
// A camera is a rotation, the place in the middle of the picture, and the height of what is seen there, in bohr.

export const HALF_ANGLE = Math.tan((9 * Math.PI) / 180); // half the field of view, 18 degrees as in pictures

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const scaled = (a, factor) => a.map((value) => value * factor);
const less = (a, b) => a.map((value, i) => value - b[i]);
const unit = (a) => scaled(a, 1 / (Math.hypot(...a) || 1));

/** Where a place is, as the camera sees it. */
export function seen(rotation, place) {
  return rotation.map((row) => dot(row, place));
}

/** What a direction as the camera sees it is in space. */
export function inSpace(rotation, direction) {
  return [0, 1, 2].map((i) => rotation[0][i] * direction[0] + rotation[1][i] * direction[1] + rotation[2][i] * direction[2]);
}

/** A rotation turned by angles about the axes to the right, up and to the viewer, and made exact again. */
export function turned(rotation, x, y, z = 0) {
  let rows = rotation;
  [x, y, z].forEach((angle, axis) => {
    const [i, j] = [(axis + 1) % 3, (axis + 2) % 3];
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    const next = [...rows];
    next[i] = less(scaled(rows[i], c), scaled(rows[j], s));
    next[j] = less(scaled(rows[j], c), scaled(rows[i], -s));
    rows = next;
  });
  const right = unit(rows[0]);
  const up = unit(less(rows[1], scaled(right, dot(rows[1], right))));
  return [right, up, [right[1] * up[2] - right[2] * up[1], right[2] * up[0] - right[0] * up[2], right[0] * up[1] - right[1] * up[0]]];
}

/** The camera of a rotation that looks at the middle of a document and sees all of a slide, in a picture of that aspect. */
export function framed(rotation, slide, aspect) {
  const each = (visit) => {
    for (let i = 0; i < slide.radii.length; i++) visit(slide.centres.subarray(3 * i, 3 * i + 3), slide.radii[i]);
    for (const { vertices } of slide.meshes) {
      const stride = 3 * Math.ceil(vertices.length / 60000);
      for (let i = 0; i < vertices.length; i += stride) visit(vertices.subarray(i, i + 3), 0);
    }
  };
  let height = 3;
  each((place, radius) => {
    const [x, y, z] = seen(rotation, place);
    const nearer = (z + radius) * HALF_ANGLE; // what is near looks larger
    height = Math.max(height, 2 * (Math.abs(y) + radius + nearer), (2 * (Math.abs(x) + radius)) / aspect + 2 * nearer);
  });
  return { rotation, centre: [0, 0, 0], height: 1.1 * height };
}

/** Radius about the origin within which all of a slide is. */
export function reach(slide) {
  let most = 1;
  const visit = (places, radii) => {
    for (let i = 0; i < places.length; i += 3) {
      most = Math.max(most, Math.hypot(places[i], places[i + 1], places[i + 2]) + (radii ? radii[i / 3] : 0));
    }
  };
  visit(slide.centres, slide.radii);
  slide.meshes.forEach(({ vertices }) => visit(vertices));
  return most;
}
