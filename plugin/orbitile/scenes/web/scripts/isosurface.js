// Isosurfaces by surface nets (S. F. F. Gibson, MICCAI 1998, LNCS 1496, 888): a vertex for each cell of the lattice that
// the surface crosses, a quadrilateral for each crossed edge. The vertex is the mean of the crossings of the edges of
// its cell, moved onto the surface along the gradient of the trilinear interpolation.

const EDGES = [[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7]];

/** Where sign * values reaches an isovalue: {vertices, normals, faces, open}; open where it goes on beyond the grid. */
export function isosurface(values, { low, spacing, shape }, isovalue, sign) {
  const [nx, ny, nz] = shape;
  const steps = [1, nx, nx * ny];
  const vertexOf = new Map();
  const [vertices, normals, faces] = [[], [], []];
  const corner = new Float64Array(8);
  let open = false;
  for (let z = 0; z < nz - 1; z++) {
    for (let y = 0; y < ny - 1; y++) {
      for (let x = 0; x < nx - 1; x++) {
        const cell = x + nx * (y + ny * z);
        let inside = 0;
        for (let n = 0; n < 8; n++) {
          corner[n] = sign * values[cell + (n & 1) + (n & 2 ? nx : 0) + (n & 4 ? nx * ny : 0)] - isovalue;
          if (corner[n] >= 0) inside |= 1 << n;
        }
        if (inside === 0 || inside === 255) continue;
        open ||= !x || !y || !z || x === nx - 2 || y === ny - 2 || z === nz - 2;
        vertexOf.set(cell, vertices.length / 3);
        const [place, gradient] = onSurface(corner);
        const length = Math.hypot(...gradient) || 1;
        [x, y, z].forEach((index, axis) => {
          vertices.push(low[axis] + spacing * (index + place[axis]));
          normals.push(Math.round((-127 * gradient[axis]) / length));
        });
        // the edges from corner 0: each is shared by four cells, of which this is the last
        for (let axis = 0; axis < 3; axis++) {
          const [one, other] = [steps[(axis + 1) % 3], steps[(axis + 2) % 3]];
          if ((inside & 1) === ((inside >> (1 << axis)) & 1)) continue;
          const four = [cell, cell - one, cell - one - other, cell - other].map((at) => vertexOf.get(at));
          if (four.includes(undefined)) continue; // at a face of the grid
          const [a, b, c, d] = inside & 1 ? four : four.reverse();
          faces.push(a, b, c, a, c, d);
        }
      }
    }
  }
  return { vertices: Float32Array.from(vertices), normals: Int8Array.from(normals), faces: Uint32Array.from(faces), open };
}

/** A place in a cell, from 0 to 1, and the gradient there, of what has these values at its corners. */
function onSurface(corner) {
  const place = [0, 0, 0];
  let crossings = 0;
  for (const [a, b] of EDGES) {
    if (corner[a] >= 0 === corner[b] >= 0) continue;
    const share = corner[a] / (corner[a] - corner[b]);
    crossings++;
    for (let axis = 0; axis < 3; axis++) place[axis] += ((a >> axis) & 1) + share * (((b >> axis) & 1) - ((a >> axis) & 1));
  }
  for (let axis = 0; axis < 3; axis++) place[axis] /= crossings;
  let gradient = [0, 0, 0];
  for (let step = 0; step < 2; step++) {
    let value = 0;
    gradient = [0, 0, 0];
    for (let n = 0; n < 8; n++) {
      const shares = place.map((at, axis) => ((n >> axis) & 1 ? at : 1 - at));
      value += corner[n] * shares[0] * shares[1] * shares[2];
      for (let axis = 0; axis < 3; axis++) {
        gradient[axis] += ((n >> axis) & 1 ? 1 : -1) * corner[n] * shares[(axis + 1) % 3] * shares[(axis + 2) % 3];
      }
    }
    const square = gradient.reduce((sum, part) => sum + part * part, 0);
    if (step || !square) break;
    for (let axis = 0; axis < 3; axis++) place[axis] = Math.min(1, Math.max(0, place[axis] - (value * gradient[axis]) / square));
  }
  return [place, gradient];
}
