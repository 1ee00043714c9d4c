// Isosurfaces by surface nets (S. F. F. Gibson, MICCAI 1998, LNCS 1496, 888): a vertex for each cell of the lattice that
// the surface crosses, a quadrilateral for each crossed edge. The vertex is the mean of the crossings of the edges of
// its cell, moved onto the surface along the gradient of the trilinear interpolation. Normals are central differences,
// interpolated: the gradient of the trilinear interpolation jumps from cell to cell, and so would the light.

const BEGINS = [0, 2, 4, 6, 0, 1, 4, 5, 0, 1, 2, 3]; // corners where the edges of a cell begin, and where they end
const ENDS = [1, 3, 5, 7, 2, 3, 6, 7, 4, 5, 6, 7];

/** Where sign * values reaches an isovalue: {vertices, normals, faces, open}; open where it goes on beyond the grid. */
export function isosurface(values, { low, spacing, shape }, isovalue, sign) {
  const [nx, ny, nz] = shape;
  const steps = [1, nx, nx * ny];
  const offsets = Array.from({ length: 8 }, (_, n) => (n & 1) + (n & 2 ? nx : 0) + (n & 4 ? nx * ny : 0));
  const isInside = new Uint8Array(values.length); // plain loops here and below: an iterator takes ten times as long
  const [firsts, lasts] = [new Int32Array(ny * nz).fill(nx), new Int32Array(ny * nz).fill(-1)]; // points inside, by rows
  for (let row = 0, n = 0; row < ny * nz; row++) {
    for (let x = 0; x < nx; x++, n++) {
      if (!(sign * values[n] >= isovalue)) continue;
      isInside[n] = 1;
      if (firsts[row] === nx) firsts[row] = x;
      lasts[row] = x;
    }
  }
  const vertexOf = new Int32Array(values.length).fill(-1); // of the cell whose least corner a point is
  const [vertices, normals, faces] = [[], [], []];
  const corner = new Float64Array(8);
  const [place, gradient] = [new Float64Array(3), new Float64Array(3)];
  let open = false;
  for (let z = 0; z < nz - 1; z++) {
    for (let y = 0; y < ny - 1; y++) {
      const [a, b, c, d] = [y + ny * z, y + ny * z + 1, y + ny * (z + 1), y + ny * (z + 1) + 1]; // rows of the cells
      const from = Math.max(0, Math.min(firsts[a], firsts[b], firsts[c], firsts[d]) - 1);
      const to = Math.min(nx - 2, Math.max(lasts[a], lasts[b], lasts[c], lasts[d]));
      for (let x = from; x <= to; x++) {
        const cell = x + nx * (y + ny * z);
        let inside = 0;
        for (let n = 0; n < 8; n++) inside |= isInside[cell + offsets[n]] << n;
        if (inside === 0 || inside === 255) continue;
        for (let n = 0; n < 8; n++) corner[n] = sign * values[cell + offsets[n]] - isovalue;
        open ||= !x || !y || !z || x === nx - 2 || y === ny - 2 || z === nz - 2;
        vertexOf[cell] = vertices.length / 3;
        findPlace(corner, place, gradient);
        if (x && y && z && x < nx - 2 && y < ny - 2 && z < nz - 2) differences(values, cell, offsets, steps, sign, place, gradient);
        const length = Math.hypot(gradient[0], gradient[1], gradient[2]) || 1;
        vertices.push(low[0] + spacing * (x + place[0]), low[1] + spacing * (y + place[1]), low[2] + spacing * (z + place[2]));
        for (let axis = 0; axis < 3; axis++) normals.push(Math.round((-127 * gradient[axis]) / length));
        // the edges from corner 0: each is shared by four cells, of which this is the last
        for (let axis = 0; axis < 3; axis++) {
          if ((inside & 1) === ((inside >> (1 << axis)) & 1)) continue;
          const [one, other] = [steps[(axis + 1) % 3], steps[(axis + 2) % 3]];
          if (cell < one + other) continue; // at a face of the grid, as where one of the others has no vertex
          const [second, third, fourth] = [vertexOf[cell - one], vertexOf[cell - one - other], vertexOf[cell - other]];
          if (second < 0 || third < 0 || fourth < 0) continue;
          if (inside & 1) faces.push(vertexOf[cell], second, third, vertexOf[cell], third, fourth);
          else faces.push(fourth, third, second, fourth, second, vertexOf[cell]);
        }
      }
    }
  }
  return { vertices: Float32Array.from(vertices), normals: Int8Array.from(normals), faces: Uint32Array.from(faces), open };
}

/** Find a place in a cell, from 0 to 1, on the surface, and the gradient there, from the values at the corners. */
function findPlace(corner, place, gradient) {
  let crossings = 0;
  place.fill(0);
  for (let edge = 0; edge < 12; edge++) {
    const [a, b] = [BEGINS[edge], ENDS[edge]];
    if (corner[a] >= 0 === corner[b] >= 0) continue;
    const share = corner[a] / (corner[a] - corner[b]);
    crossings++;
    for (let axis = 0; axis < 3; axis++) place[axis] += ((a >> axis) & 1) + share * (((b >> axis) & 1) - ((a >> axis) & 1));
  }
  for (let axis = 0; axis < 3; axis++) place[axis] /= crossings;
  const value = interpolated(corner, place, gradient);
  const square = gradient[0] ** 2 + gradient[1] ** 2 + gradient[2] ** 2;
  if (!square) return;
  for (let axis = 0; axis < 3; axis++) place[axis] = Math.min(1, Math.max(0, place[axis] - (value * gradient[axis]) / square));
  interpolated(corner, place, gradient);
}

/** Put the gradient of sign * values at a place in a cell into `gradient`, in differences over two steps. */
function differences(values, cell, offsets, steps, sign, place, gradient) {
  gradient.fill(0);
  for (let n = 0; n < 8; n++) {
    const weight = (n & 1 ? place[0] : 1 - place[0]) * (n & 2 ? place[1] : 1 - place[1]) * (n & 4 ? place[2] : 1 - place[2]);
    const at = cell + offsets[n];
    for (let axis = 0; axis < 3; axis++) gradient[axis] += sign * weight * (values[at + steps[axis]] - values[at - steps[axis]]);
  }
}

/** What has these values at the corners of a cell, at a place in it; its gradient is put into `gradient`. */
function interpolated(corner, place, gradient) {
  const [x, y, z] = place;
  // along x, y and then z, each time between two ends
  const [a, b, c, d] = [corner[1] - corner[0], corner[3] - corner[2], corner[5] - corner[4], corner[7] - corner[6]];
  const [e, f, g, h] = [corner[0] + a * x, corner[2] + b * x, corner[4] + c * x, corner[6] + d * x];
  const [low, high] = [e + (f - e) * y, g + (h - g) * y];
  gradient[0] = (a + (b - a) * y) * (1 - z) + (c + (d - c) * y) * z;
  gradient[1] = (f - e) * (1 - z) + (h - g) * z;
  gradient[2] = high - low;
  return low + (high - low) * z;
}

/** All of this as the text of a script. */
export const SOURCE = [`const [BEGINS, ENDS] = ${JSON.stringify([BEGINS, ENDS])};`, isosurface, findPlace, differences, interpolated].join("\n");
