// Orbitals on a lattice, by the script itself: for few and small functions that is done before a graphics card has
// compiled its program. Each Gaussian is added at the points within its radius, along rows of x, where it is a product
// of a table and of a polynomial whose coefficients are those of the row.

/** How many products `sumHere` adds, about. */
export function sizeOfSum({ degree }, { spacing, shape }, radii) {
  const points = shape[0] * shape[1] * shape[2];
  return radii.reduce((sum, r, p) => sum + Math.min(4.2 * (r / spacing) ** 3, points) * (degree[p] + 1), 0);
}

/** What `Lattice.values` gives. */
export function sumHere({ centre, exponent, degree, first }, { low, spacing, shape }, terms, radii) {
  const [nx, ny, nz] = shape;
  const found = new Float32Array(nx * ny * nz);
  const away = [0, 1, 2].map((axis) => new Float64Array(shape[axis]));
  const falls = [0, 1, 2].map((axis) => new Float64Array(shape[axis]));
  const most = degree.reduce((a, b) => Math.max(a, b), 0);
  const tables = Array.from({ length: most + 1 }, () => new Float64Array(nx)); // powers of x, times the Gaussian
  for (let p = 0; p < exponent.length; p++) {
    if (!radii[p]) continue;
    const [square, n] = [radii[p] ** 2, degree[p]];
    for (let axis = 0; axis < 3; axis++) {
      for (let i = 0; i < shape[axis]; i++) {
        const d = (away[axis][i] = low[axis] + spacing * i - centre[3 * p + axis]);
        falls[axis][i] = d * d < square ? Math.exp(-exponent[p] * d * d) : 0;
      }
    }
    const [[dx, dy, dz], [ex, ey, ez]] = [away, falls];
    for (let x = 0; x < nx; x++) for (let i = 0, value = ex[x]; i <= n; i++, value *= dx[x]) tables[i][x] = value;
    for (let z = 0; z < nz; z++) {
      if (!ez[z]) continue;
      for (let y = 0; y < ny; y++) {
        const left = square - dz[z] ** 2 - dy[y] ** 2;
        if (left <= 0) continue;
        const half = Math.sqrt(left);
        const begin = Math.max(0, Math.ceil((-half - dx[0]) / spacing));
        const end = Math.min(nx - 1, Math.floor((half - dx[0]) / spacing));
        const row = nx * (y + ny * z);
        for (let i = 0; i <= n; i++) {
          let factor = 0; // of x^i: the sum over powers of y and z
          for (let k = 0, at = first[p], ofZ = ey[y] * ez[z]; k <= n - i; k++, ofZ *= dz[z]) {
            const wide = n - k + 1;
            for (let j = 0, ofY = ofZ; j <= n - k - i; j++, ofY *= dy[y]) factor += terms[at + j * wide - (j * (j - 1)) / 2 + i] * ofY;
            at += (wide * (wide + 1)) / 2;
          }
          const table = tables[i];
          for (let x = begin; x <= end; x++) found[row + x] += factor * table[x];
        }
      }
    }
  }
  return found;
}
