// A document from its bytes: the inverse of `packing.py`, which says how they are laid out.

const KINDS = { f4: Float32Array, u4: Uint32Array, u2: Uint16Array, u1: Uint8Array, i1: Int8Array };

/** The document that an element of a page holds: its bytes, compressed and in base64. */
export async function documentIn(element) {
  const letters = atob(element.textContent.trim());
  const bytes = new Uint8Array(letters.length); // a plain loop: Uint8Array.from takes six times as long
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return unpack(await new Response(stream).arrayBuffer());
}

/** The document in bytes (an ArrayBuffer, or a view of one), its arrays in place of their numbers. */
export function unpack(bytes) {
  const all = ArrayBuffer.isView(bytes)
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes);
  const length = new DataView(all.buffer, all.byteOffset, 4).getUint32(0, true);
  const contents = JSON.parse(new TextDecoder().decode(all.subarray(4, 4 + length)));
  const array = (number) => {
    const [begin, size, kind] = contents.arrays[number];
    const type = KINDS[kind];
    const start = 4 + length + begin;
    return new type(all.slice(start, start + size * type.BYTES_PER_ELEMENT).buffer);
  };
  for (const slide of contents.slides) {
    for (const name of ["centres", "radii", "colours", "bonds", "sticks"]) slide[name] = array(slide[name]);
    slide.meshes = slide.meshes.map((mesh) => ({
      ...mesh,
      vertices: positions(added(array(mesh.vertices)), mesh.low, mesh.step),
      normals: added(array(mesh.normals)),
      colours: array(mesh.colours),
      faces: corners(array(mesh.faces)),
    }));
  }
  const [known, once] = [new Map(), (number) => known.get(number) ?? known.set(number, array(number)).get(number)];
  for (const frame of contents.computing) { // of which frames share what does not change
    for (const name of ["centre", "exponent", "degree", "matrix", "columns", "counts", "unit"]) frame[name] = once(frame[name]);
    frame.planes = frame.planes.map(once);
  }
  contents.levels = contents.levels.map((frame) => frame.map(once));
  return contents;
}

/** Rows of three numbers from their differences; arrays of whole numbers wrap around by themselves. */
function added(rows) {
  for (let i = 3; i < rows.length; i++) rows[i] += rows[i - 3];
  return rows;
}

/** Corners of faces from how far each is below the least vertex above all of those before it. */
function corners(below) {
  let next = 0;
  for (let i = 0; i < below.length; i++) {
    below[i] = next - below[i];
    next = Math.max(next, below[i] + 1);
  }
  return below;
}

function positions(places, low, step) {
  const found = new Float32Array(places.length);
  for (let i = 0; i < places.length; i++) found[i] = low[i % 3] + step[i % 3] * places[i];
  return found;
}
