// Orbitals on a lattice, by WebGL 2.
//
// A Gaussian is a product of a function of x, one of y and one of z. Those are tabulated along the lines of the lattice,
// for each exponent of each atom; a fragment shader sums their products, with the coefficients of the orbital, at
// sixteen points of a column of z at a time (docs/lattice-kernel.md). Primitives that are too small in a brick of the
// lattice are left out of its list.

const COLUMN = 16; // points of z that a fragment sums: four attachments of four components
const BRICK = 8; // points of a brick along x and y
const TOGETHER = 1 << 15; // columns that are summed between two waits for the graphics, about
const ROW = 1024; // numbers in a row of the texture of lists
export const CUT = 2e-7; // what a primitive must reach to be in a list

const VERTEX = `#version 300 es
void main() { gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0); }`;

// A list: for each primitive its row in the tables of x and y, its row in that of z, its degree, and its coefficients,
// power of z by power of z, within it of x, within it of y.
const FRAGMENT = `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2D;
uniform sampler2D alongX, alongY, alongZ, lists;
uniform int begin, end, first, row; // of the list; column of the tables along z, row of the targets where y is 0
layout(location = 0) out vec4 part0;
layout(location = 1) out vec4 part1;
layout(location = 2) out vec4 part2;
layout(location = 3) out vec4 part3;
float item(int place) { return texelFetch(lists, ivec2(place & ${ROW - 1}, place / ${ROW}), 0).x; }
void main() {
  ivec2 at = ivec2(gl_FragCoord.xy) - ivec2(0, row);
  vec4 sum0 = vec4(0.0), sum1 = vec4(0.0), sum2 = vec4(0.0), sum3 = vec4(0.0);
  for (int place = begin; place < end;) {
    int rowOfXY = int(item(place)), rowOfZ = int(item(place + 1)), degree = int(item(place + 2));
    place += 3;
    vec4 x = texelFetch(alongX, ivec2(at.x, rowOfXY), 0), y = texelFetch(alongY, ivec2(at.y, rowOfXY), 0);
    float radial = x.y * y.y;
    for (int k = 0; k <= degree; k++) {
      float polynomial = 0.0, powerOfX = 1.0;
      for (int i = 0; i <= degree - k; i++) {
        float ofY = 0.0, powerOfY = 1.0;
        for (int j = 0; j <= degree - k - i; j++) {
          ofY += item(place++) * powerOfY;
          powerOfY *= y.x;
        }
        polynomial += powerOfX * ofY;
        powerOfX *= x.x;
      }
      polynomial *= radial;
      sum0 += polynomial * texelFetch(alongZ, ivec2(first, rowOfZ + k), 0);
      sum1 += polynomial * texelFetch(alongZ, ivec2(first + 1, rowOfZ + k), 0);
      sum2 += polynomial * texelFetch(alongZ, ivec2(first + 2, rowOfZ + k), 0);
      sum3 += polynomial * texelFetch(alongZ, ivec2(first + 3, rowOfZ + k), 0);
    }
  }
  part0 = sum0; part1 = sum1; part2 = sum2; part3 = sum3;
}`;

/** Radius about each primitive within which it may reach `cut`, with the largest of its coefficients as it is. */
export function radiiOf({ exponent, degree, first }, terms, cut) {
  return Float64Array.from(exponent, (zeta, p) => {
    const size = new Float64Array(degree[p] + 1);
    let n = first[p];
    for (let k = 0; k <= degree[p]; k++)
      for (let j = 0; j <= degree[p] - k; j++)
        for (let i = 0; i <= degree[p] - k - j; i++) size[i + j + k] += Math.abs(terms[n++]);
    const within = (r) => size.reduceRight((sum, value) => sum * r + value, 0);
    let r = 1; // r^2 = ln(sum of |c| r^l / cut) / zeta, by iteration from above
    for (let step = 0; step < 12; step++) r = Math.sqrt(Math.max(Math.log(Math.max(within(r), 1e-300) / cut) / zeta, 0));
    return r;
  });
}

export class Lattice {
  /** Throws an Error in words where the browser cannot sum functions with so many rows of tables along z. */
  constructor(rowsOfZ) {
    this.canvas = document.createElement("canvas");
    const gl = (this.gl = this.canvas.getContext("webgl2"));
    if (!gl) throw new Error("This browser has no WebGL 2, so that it shows what was computed beforehand.");
    if (!gl.getExtension("EXT_color_buffer_float")) {
      throw new Error("This browser cannot compute orbitals (EXT_color_buffer_float is missing): it shows what was computed beforehand.");
    }
    if (rowsOfZ > gl.getParameter(gl.MAX_TEXTURE_SIZE)) {
      throw new Error("The textures of this browser are too small for this basis set: it shows what was computed beforehand.");
    }
  }

  /** Compile, before the first orbital: smaller ones do without. */
  begin() {
    const { gl } = this;
    const program = (this.program = gl.createProgram());
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
      throw new Error(`The graphics driver refuses the shader that computes: ${gl.getProgramInfoLog(program)}`);
    }
    gl.useProgram(program);
    this.place = {};
    ["alongX", "alongY", "alongZ", "lists"].forEach((name, unit) => gl.uniform1i(gl.getUniformLocation(program, name), unit));
    for (const name of ["begin", "end", "first", "row"]) this.place[name] = gl.getUniformLocation(program, name);
    this.textures = [0, 1, 2, 3].map(() => gl.createTexture());
    this.targets = [0, 1, 2, 3].map(() => gl.createTexture());
    gl.bindVertexArray(gl.createVertexArray());
    gl.bindFramebuffer(gl.FRAMEBUFFER, gl.createFramebuffer());
    gl.drawBuffers([0, 1, 2, 3].map((n) => gl.COLOR_ATTACHMENT0 + n));
  }

  /** Give the graphics back. */
  dispose() {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }

  /** Fill a texture of floats, of one or of four components. */
  fill(unit, texture, width, height, numbers, components = 4) {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    const [inside, format] = components === 4 ? [gl.RGBA32F, gl.RGBA] : [gl.R32F, gl.RED];
    gl.texImage2D(gl.TEXTURE_2D, 0, inside, width, height, 0, format, gl.FLOAT, numbers);
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, gl.NEAREST);
  }

  /** Tabulate Gaussians along the lines of a grid {low, spacing, shape}; the last of shape a multiple of 16. */
  tabulate(functions, grid) {
    const { gl } = this;
    if (!this.program) this.begin();
    const { centre, exponent, degree, rowOfZ, rowsOfZ } = functions;
    const count = exponent.length;
    Object.assign(this, { functions, grid });
    for (const axis of [0, 1]) {
      const table = new Float32Array(4 * count * grid.shape[axis]);
      for (let p = 0, n = 0; p < count; p++) {
        for (let i = 0; i < grid.shape[axis]; i++, n += 4) {
          const away = grid.low[axis] + grid.spacing * i - centre[3 * p + axis];
          table[n] = away;
          table[n + 1] = Math.exp(-exponent[p] * away * away);
        }
      }
      this.fill(axis, this.textures[axis], grid.shape[axis], count, table);
    }
    const length = grid.shape[2];
    const table = new Float32Array(length * rowsOfZ);
    for (let p = 0; p < count; p++) {
      for (let i = 0; i < length; i++) {
        const away = grid.low[2] + grid.spacing * i - centre[3 * p + 2];
        let value = Math.exp(-exponent[p] * away * away);
        for (let k = 0; k <= degree[p]; k++, value *= away) table[(rowOfZ[p] + k) * length + i] = value;
      }
    }
    this.fill(2, this.textures[2], length / 4, rowsOfZ, table);
    const [nx, ny, nz] = grid.shape;
    const most = Math.floor(Math.min(TOGETHER / nx, gl.getParameter(gl.MAX_TEXTURE_SIZE)) / ny);
    this.slabs = Math.max(1, Math.min(most, nz / COLUMN)); // one above the other in the targets
    this.targets.forEach((texture, n) => {
      this.fill(4, texture, nx, ny * this.slabs, null);
      gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0 + n, gl.TEXTURE_2D, texture, 0);
    });
    if (gl.checkFramebufferStatus(gl.FRAMEBUFFER) !== gl.FRAMEBUFFER_COMPLETE) {
      throw new Error("This browser cannot compute orbitals (its textures of floats cannot be drawn to): it shows what was computed beforehand.");
    }
    gl.viewport(0, 0, nx, ny * this.slabs);
    gl.enable(gl.SCISSOR_TEST);
  }

  /**
   * Values of an orbital with some polynomial coefficients and the radii of its primitives, z slowest and x fastest;
   * `rest` is awaited now and then.
   */
  async values(terms, radii, rest = async () => {}) {
    const [nx, ny, nz] = this.grid.shape;
    const found = new Float32Array(nx * ny * nz);
    const step = COLUMN * this.slabs;
    for (let z = 0; z < nz; z += step) {
      const end = Math.min(nz, z + step);
      this.sum(terms, radii, z, end);
      this.read(found, z, end);
      await rest();
    }
    if (this.gl.isContextLost()) throw new Error("The browser has taken the graphics away: choose the orbital again.");
    return found;
  }

  /** Sum slabs of an orbital into the targets, one above the other: a read waits for the graphics, so there are few. */
  sum(terms, radii, low, high) {
    const { gl, place } = this;
    const [nx, ny] = this.grid.shape;
    const [numbers, bricks] = [[], []];
    for (let z = low; z < high; z += COLUMN) {
      for (let y = 0; y < ny; y += BRICK) {
        for (let x = 0; x < nx; x += BRICK) {
          const begin = numbers.length;
          this.list(numbers, terms, radii, [x, y, z]);
          bricks.push([x, y, z, begin, numbers.length]);
        }
      }
    }
    const height = Math.max(1, Math.ceil(numbers.length / ROW));
    const lists = new Float32Array(height * ROW);
    lists.set(numbers);
    this.fill(3, this.textures[3], ROW, height, lists, 1);
    for (const [x, y, z, begin, end] of bricks) {
      const row = (ny * (z - low)) / COLUMN;
      gl.scissor(x, row + y, BRICK, Math.min(BRICK, ny - y));
      gl.uniform1i(place.begin, begin);
      gl.uniform1i(place.end, end);
      gl.uniform1i(place.first, z / 4);
      gl.uniform1i(place.row, row);
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    }
  }

  /** Read the slabs in the targets. */
  read(found, low, high) {
    const { gl } = this;
    const [nx, ny] = this.grid.shape;
    const size = nx * ny;
    const rows = (ny * (high - low)) / COLUMN;
    const part = new Float32Array(4 * nx * rows);
    for (let n = 0; n < 4; n++) {
      gl.readBuffer(gl.COLOR_ATTACHMENT0 + n);
      gl.readPixels(0, 0, nx, rows, gl.RGBA, gl.FLOAT, part);
      for (let z = low, from = 0; z < high; z += COLUMN, from += 4 * size) {
        for (let c = 0; c < 4; c++) {
          const start = (z + 4 * n + c) * size;
          for (let i = 0; i < size; i++) found[start + i] = part[from + 4 * i + c];
        }
      }
    }
  }

  /** Add the primitives to a list that reach into a brick. */
  list(numbers, terms, radii, from) {
    const { centre, exponent, degree, first, rowOfZ } = this.functions;
    const { low, spacing } = this.grid;
    const size = [BRICK, BRICK, COLUMN];
    for (let p = 0; p < exponent.length; p++) {
      let square = 0;
      for (let axis = 0; axis < 3; axis++) {
        const begin = low[axis] + spacing * from[axis] - centre[3 * p + axis];
        const outside = Math.max(begin, -begin - spacing * (size[axis] - 1), 0);
        square += outside * outside;
      }
      if (!radii[p] || square > radii[p] ** 2) continue;
      const n = degree[p];
      numbers.push(p, rowOfZ[p], n);
      let next = first[p]; // i is fastest there, j is here
      for (let k = 0; k <= n; k++) {
        const most = n - k;
        for (let i = 0; i <= most; i++) {
          for (let j = 0; j <= most - i; j++) numbers.push(terms[next + j * (most + 1) - (j * (j - 1)) / 2 + i]);
        }
        next += ((most + 1) * (most + 2)) / 2;
      }
    }
  }
}
