// Slides that the page computes: from the coefficients of an orbital to its values on a lattice, to its surface.

import { keyOf } from "./controls.js";
import { Extraction } from "./extraction.js";
import { isosurface } from "./isosurface.js";
import { CUT, Lattice, radiiOf } from "./lattice.js";
import { sizeOfSum, sumHere } from "./sums.js";

const SPACING = 0.2835; // of the lattice, in bohr, as medium quality has it, unless that is too many or few points
const [LEAST_POINTS, MOST_POINTS] = [2e5, 1.5e6]; // few would show as corners of a surface that fills the window
const MARGIN = 10; // bohr beyond the atoms that a lattice reaches at most
const SHARE = 0.9; // of the probability of an orbital that its usual surface encloses
const LEAST = { orbital: 0.005, density: 0.001, spin: 0.0005 }; // isovalues down to which a lattice holds the surface
const USUAL = { density: 0.02, spin: 0.005 };
const UNITS = { orbital: "bohr⁻³ᐟ²", density: "e bohr⁻³", spin: "e bohr⁻³" };
const DROPPED = 14; // bits of a float that do not count where values are sorted: bins are some 0.2 % wide
const SMALL = 6e7; // products that the script adds itself, in some 0.1 s, before a graphics card has compiled its program
const NEGATIVE = 1e-6; // least magnitude that counts as a second sign

/** What computes the slides of a document; `contents.computing` is there. */
export class Computing {
  constructor(contents) {
    const layouts = new Map(); // by the degrees, which frames share
    this.contents = contents;
    this.frames = contents.computing.map((given) => {
      const { centre, exponent, degree } = given;
      const layout = layouts.get(degree) ?? layouts.set(degree, layoutOf(degree)).get(degree);
      return { ...given, functions: { centre, exponent, degree, ...layout } };
    });
    this.lattice = new Lattice(Math.max(...[...layouts.values()].map(({ rowsOfZ }) => rowsOfZ)));
    this.latest = null; // values of what was asked for last
    [this.asked, this.left] = [0, 0]; // requests, and those of them of which nothing is to be shown any more
  }

  /** Whether a field can be computed: in a frame, the first one unless it is told. */
  knows({ field, color_by, frame = 0 }) {
    const given = this.frames[frame];
    return !color_by && Boolean(given?.orbitals.includes(field) || given?.sums.some((sum) => sum.field === field));
  }

  /** Polynomial coefficients of an orbital of a frame, in the order of the primitives. */
  terms({ counts, columns, matrix, unit, planes }, row) {
    const size = unit.length;
    const coefficients = Float64Array.from(unit, (step, n) => {
      const folded = planes.reduceRight((sum, plane) => 256 * sum + plane[row * size + n], 0);
      return step * (folded % 2 ? -(folded + 1) / 2 : folded / 2); // 0, 1, 2, 3, ... are 0, -1, 1, -2, ...
    });
    const found = new Float64Array(counts.length);
    for (let term = 0, n = 0; term < counts.length; term++) {
      for (let end = n + counts[term]; n < end; n++) found[term] += matrix[n] * coefficients[columns[n]];
    }
    return found;
  }

  /** A grid that holds all places where some orbitals reach a cut. */
  gridOf(functions, listed, cut) {
    const { centre } = functions;
    const [low, high] = [[0, 1, 2].map(() => Infinity), [0, 1, 2].map(() => -Infinity)];
    const [least, most] = [[...low], [...high]];
    const reach = new Float64Array(functions.exponent.length);
    for (const terms of listed) radiiOf(functions, terms, cut).forEach((r, p) => (reach[p] = Math.max(reach[p], r)));
    reach.forEach((r, p) => {
      for (let axis = 0; axis < 3; axis++) {
        const at = centre[3 * p + axis];
        [least[axis], most[axis]] = [Math.min(least[axis], at), Math.max(most[axis], at)];
        if (!r) continue;
        [low[axis], high[axis]] = [Math.min(low[axis], at - r), Math.max(high[axis], at + r)];
      }
    });
    for (let axis = 0; axis < 3; axis++) {
      low[axis] = Math.max(Math.min(low[axis], most[axis]), least[axis] - MARGIN) - SPACING;
      high[axis] = Math.min(Math.max(high[axis], least[axis]), most[axis] + MARGIN) + SPACING;
    }
    const size = low.map((value, axis) => high[axis] - value);
    const spacingFor = (points) => Math.cbrt((size[0] * size[1] * size[2]) / points);
    const spacing = Math.max(Math.min(SPACING, spacingFor(LEAST_POINTS)), spacingFor(MOST_POINTS));
    const shape = size.map((length) => Math.ceil(length / spacing) + 1);
    shape[2] = 16 * Math.ceil(shape[2] / 16);
    low[2] -= (spacing * (shape[2] - 1) - size[2]) / 2;
    return { low, spacing, shape };
  }

  /** Values of an orbital or of a sum of squares of orbitals in a frame: {values, grid, kind, most, least}. */
  async volume(field, frame, { told, stopped }) {
    const given = this.frames[frame];
    const sum = given.sums.find((one) => one.field === field);
    const kind = sum ? (sum.signed ? "spin" : "density") : "orbital";
    const rows = sum ? sum.rows : [given.orbitals.indexOf(field)];
    const listed = rows.map((row) => this.terms(given, row));
    const grid = this.gridOf(given.functions, listed, (sum ? Math.sqrt(LEAST[kind]) : LEAST[kind]) / 3);
    const radii = listed.map((terms) => radiiOf(given.functions, terms, CUT));
    const isSmall = radii.reduce((sum, one) => sum + sizeOfSum(given.functions, grid, one), 0) < SMALL;
    if (!isSmall) this.lattice.tabulate(given.functions, grid);
    let last = performance.now();
    const rest = async () => {
      if (performance.now() - last > 30) await new Promise((go) => setTimeout(go));
      last = performance.now();
      if (stopped()) throw new Stopped();
    };
    let values = null;
    for (let n = 0; n < listed.length; n++) {
      if (sum) told(`Computing the ${sum.title}: orbital ${n + 1} of ${listed.length}`);
      const found = isSmall
        ? sumHere(given.functions, grid, listed[n], radii[n])
        : await this.lattice.values(listed[n], radii[n], rest);
      if (!sum) values = found;
      else {
        values ??= new Float32Array(found.length);
        for (let i = 0; i < found.length; i++) values[i] += sum.weights[n] * found[i] * found[i];
      }
    }
    let [least, most] = [0, 0];
    for (let n = 0; n < values.length; n++) {
      if (values[n] < least) least = values[n];
      else if (values[n] > most) most = values[n];
    }
    return { field, frame, name: sum?.title, values, grid, kind, least, most };
  }

  /**
   * The slide that is asked for, or null where another was asked for in the meantime. Of isovalues that follow each
   * other faster than surfaces are found, those are left out that another has overtaken before its surface was begun.
   */
  async slide({ field, color_by, isovalue, frame }, told) {
    const mine = ++this.asked;
    const stopped = () => mine !== this.asked;
    try {
      if (this.latest?.field !== field || this.latest.frame !== frame) {
        this.latest = null;
        const volume = await (this.running = this.alone(() => this.volume(field, frame, { told, stopped })));
        if (stopped()) return null;
        this.latest = volume;
      }
    } catch (error) {
      if (error instanceof Stopped) return null;
      throw error;
    }
    const volume = this.latest;
    const slide = await this.inTurn(() => !stopped() && this.drawn(volume, isovalue, { field, color_by }));
    return slide && volume === this.latest && mine > this.left ? slide : null;
  }

  /** Do something with the worker, which does one thing at a time, once it has done what came before. */
  inTurn(work) {
    return (this.extracting = Promise.resolve(this.extracting).catch(() => {}).then(work));
  }

  /** Show nothing of what is being computed: something else is shown now. */
  leave() {
    this.left = this.asked++;
  }

  /** Compute nothing any more, and give the graphics back. */
  dispose() {
    this.leave();
    this.lattice.dispose();
    this.extraction?.dispose();
  }

  /** Isovalues to offer for a slide that was computed beforehand, until the page computes it. */
  rangeAbout(isovalue) {
    return isovalue ? [isovalue / 8, isovalue * 4] : [0, 0];
  }

  /** Do something once what was begun before has ended: there is one lattice. */
  async alone(work) {
    await this.running?.catch(() => {});
    return work();
  }

  async drawn(volume, asked, { field, color_by }) {
    const { values, grid, kind, least, most, frame } = volume;
    const greatest = Math.max(most, -least);
    const range = [Math.min(LEAST[kind], greatest / 20), 0.9 * greatest];
    const usual = () => USUAL[kind] ?? (volume.usual ??= enclosing(values, SHARE));
    const isovalue = Math.min(Math.max(asked || usual(), range[0]), range[1]);
    const choice = this.contents.choices.find((one) => keyOf(one) === keyOf({ field, color_by })) ?? {};
    const signs = least < -NEGATIVE ? [1, -1] : [1];
    const beside = this.contents.slides.find((slide) => slide.frame === frame);
    const { colours, opacity, finish } = this.frames[frame];
    const [meshes, patches] = [[], []];
    let open = false;
    // The first surface is found here: browsers that print an address, or take a picture of it, do not wait for workers.
    const surfaces = volume.isDrawn
      ? await (this.extraction ??= new Extraction()).surfaces(values, grid, isovalue, signs)
      : signs.map((sign) => isosurface(values, grid, isovalue, sign));
    volume.isDrawn = true;
    surfaces.forEach((found, n) => {
      if (!found.faces.length) return;
      open ||= found.open;
      const colour = colours[n];
      const [one] = new Uint32Array(Uint8Array.of(...colour, opacity).buffer);
      const paint = new Uint8Array(new Uint32Array(found.vertices.length / 3).fill(one).buffer);
      meshes.push({ ...found, name: "", finish, colours: paint });
      const mark = n ? "−" : signs.length > 1 ? "+" : "";
      patches.push([`rgb(${colour.join(" ")})`, `${mark}${Number(isovalue.toPrecision(3))} ${UNITS[kind]}`]);
    });
    const name = volume.name ?? `orbital ${choice.number ?? ""}${choice.spin ? ` ${choice.spin}` : ""}`;
    return {
      ...beside,
      field,
      color_by,
      isovalue,
      range,
      meshes,
      volume: Object.assign(volume, { colours, squared: kind === "orbital" }), // the fog of an orbital is its density
      title: choice.title && choice.title !== name ? `${choice.title}, ${name}` : name,
      legends: [{ heading: name, patches, scale: [], ticks: [] }],
      remark: open ? "The surface goes on beyond the box." : "",
    };
  }
}

class Stopped extends Error {}

/** Where the polynomial of each primitive begins, and its rows in the tables along z. */
function layoutOf(degree) {
  const [first, rowOfZ] = [[0], []];
  let rowsOfZ = 0;
  degree.forEach((n) => {
    first.push(first.at(-1) + ((n + 1) * (n + 2) * (n + 3)) / 6);
    rowOfZ.push(rowsOfZ);
    rowsOfZ += n + 1;
  });
  return { first, rowOfZ, rowsOfZ };
}

/** The isovalue of the surface that encloses a share of the square of what a lattice holds. */
function enclosing(values, share) {
  const bits = new Uint32Array(values.buffer); // of floats, whose magnitudes are in the order of these numbers
  const sums = new Float64Array(2 ** (31 - DROPPED));
  let total = 0;
  for (let n = 0; n < values.length; n++) {
    const square = values[n] * values[n];
    total += square;
    sums[(bits[n] & 0x7fffffff) >>> DROPPED] += square;
  }
  let left = total * (1 - share);
  for (let n = 0; n < sums.length; n++) {
    left -= sums[n];
    if (left < 0) return new Float32Array(Uint32Array.of((n + 0.5) * 2 ** DROPPED).buffer)[0];
  }
  return 0;
}
