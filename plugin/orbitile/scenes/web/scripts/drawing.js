// What a camera sees of a slide, drawn by WebGL 2 with the shaders of `orbitile.scenes`.
//
// Balls and sticks are drawn where lines of sight hit them. Triangles that light goes through are drawn from the back
// to the front, in an order that is found anew whenever the direction changes: by counting, in time that goes with
// their number.

import { SHADERS } from "./shaders.js"; // made of ../../scenes/shaders by script.py
import { Fog } from "./fog.js";
import { HALF_ANGLE, reach, seen } from "./geometry.js";

const CLASSES = 1 << 16; // of depth, in the order of triangles

const LINEAR = Float32Array.from({ length: 256 }, (_, i) => {
  const display = i / 255;
  return display > 0.04045 ? ((display + 0.055) / 1.055) ** 2.4 : display / 12.92;
});

export class Drawing {
  /** Throws an Error in words where the browser cannot draw. */
  constructor(canvas) {
    this.canvas = canvas;
    this.gl = canvas.getContext("webgl2", { antialias: true, alpha: false });
    if (!this.gl) throw new Error("This browser has no WebGL 2, which the view needs.");
    this.begin();
  }

  /** Begin to compile, at first and after the browser has taken the context away and given it back. */
  begin() {
    const { gl } = this;
    this.programs = {};
    for (const name of ["sphere", "stick", "mesh"]) {
      const program = (this.programs[name] = { program: gl.createProgram() });
      program.shaders = ["vertex", "fragment"].map((end) => {
        const shader = gl.createShader(end === "vertex" ? gl.VERTEX_SHADER : gl.FRAGMENT_SHADER);
        gl.shaderSource(shader, SHADERS[`${name}_${end}`]);
        gl.compileShader(shader);
        gl.attachShader(program.program, shader);
        return shader;
      });
      gl.linkProgram(program.program);
    }
    this.uploaded = null;
    this.kept = []; // what there was went with the context
    this.fog = null;
  }

  /** Wait for a program, which is asked for where it is used: browsers compile beside the script until then. */
  finish(found) {
    const { gl } = this;
    const { program, shaders } = found;
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
      const told = [...shaders.map((shader) => gl.getShaderInfoLog(shader)), gl.getProgramInfoLog(program)];
      throw new Error(`The graphics driver refuses a shader: ${told.filter(Boolean).join(" ")}`);
    }
    for (const name of ["lit", "parallel", "view", "projection"]) found[name] = gl.getUniformLocation(program, name);
  }

  /** Show another slide from now on. */
  show(slide) {
    this.slide = slide;
    this.uploaded = null;
  }

  upload() {
    const { gl, slide } = this;
    this.kept.forEach((free) => free());
    this.kept = [];
    const ink = slide.lit ? (value) => LINEAR[value] : (value) => value / 255;
    const colours = Float32Array.from(slide.colours, ink);
    const { bonds } = slide;
    const ofBonds = (end) => {
      const found = new Float32Array(3 * slide.sticks.length);
      for (let i = 0; i < found.length; i++) found[i] = colours[3 * bonds[2 * Math.floor(i / 3) + end] + (i % 3)];
      return found;
    };
    const spheres = this.array([[null, 3], [slide.radii, 1], [colours, 3]], 1);
    const sticks = this.array([[null, 3], [null, 3], [ofBonds(0), 3], [ofBonds(1), 3], [slide.sticks, 1]], 1);
    this.uploaded = { spheres, sticks, meshes: this.uploadMeshes(ink), reach: reach(slide), order: null };
  }

  uploadMeshes(ink) {
    const { gl, slide } = this;
    const size = slide.meshes.reduce((sum, mesh) => sum + mesh.vertices.length / 3, 0);
    const [vertices, normals] = [new Float32Array(3 * size), new Int8Array(3 * size)];
    const [paints, finishes] = [new Float32Array(4 * size), new Float32Array(size)];
    const faces = { opaque: [], clear: [] };
    let start = 0;
    for (const mesh of slide.meshes) {
      vertices.set(mesh.vertices, 3 * start);
      normals.set(mesh.normals, 3 * start);
      let opaque = true;
      for (let i = 0; i < mesh.colours.length; i++) {
        paints[4 * start + i] = i % 4 < 3 ? ink(mesh.colours[i]) : mesh.colours[i] / 255;
        opaque &&= i % 4 < 3 || mesh.colours[i] === 255;
      }
      finishes.fill(mesh.finish, start, start + mesh.vertices.length / 3);
      faces[opaque ? "opaque" : "clear"].push(mesh.faces.map((corner) => corner + start));
      start += mesh.vertices.length / 3;
    }
    const { array } = this.array([[vertices, 3], [normals, 3, gl.BYTE], [paints, 4], [finishes, 1]], 0);
    const [opaque, clear] = [joined(faces.opaque), joined(faces.clear)];
    const [opaqueBuffer, clearBuffer] = [this.buffer(), this.buffer()];
    gl.bindVertexArray(null);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, opaqueBuffer);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, opaque, gl.STATIC_DRAW);
    return { array, opaque, opaqueBuffer, clear, clearBuffer, centres: centresOf(clear, vertices) };
  }

  buffer() {
    const buffer = this.gl.createBuffer();
    this.kept.push(() => this.gl.deleteBuffer(buffer));
    return buffer;
  }

  /** A vertex array of columns (numbers, components, type); what is null is given at each picture. */
  array(columns, divisor) {
    const { gl } = this;
    const array = gl.createVertexArray();
    this.kept.push(() => gl.deleteVertexArray(array));
    gl.bindVertexArray(array);
    const buffers = columns.map(([numbers, components, type = gl.FLOAT], place) => {
      const buffer = this.buffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      if (numbers) gl.bufferData(gl.ARRAY_BUFFER, numbers, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, components, type, type !== gl.FLOAT, 0, 0);
      gl.vertexAttribDivisor(place, divisor);
      return buffer;
    });
    return { array, buffers };
  }

  /**
   * Draw what a camera sees, on a background of red, green and blue from 0 to 1.
   *
   * look    surface; fog or slice, of the volume of the slide where it has one
   * planes  of fog
   */
  draw(camera, background, look = "surface", planes = 0) {
    const { gl, canvas, slide } = this;
    if (!slide || gl.isContextLost() || !canvas.width || !canvas.height) return;
    if (!this.uploaded) this.upload();
    const { spheres, sticks, meshes } = this.uploaded;
    const away = camera.height / 2 / HALF_ANGLE;
    const radius = this.uploaded.reach + Math.hypot(...camera.centre);
    const [near, far] = [Math.max(away - radius, away / 200), away + radius];
    const across = (HALF_ANGLE * canvas.width) / canvas.height;
    const depth = [-(far + near) / (far - near), (-2 * far * near) / (far - near)];
    this.projection = [1 / across, 0, 0, 0, 0, 1 / HALF_ANGLE, 0, 0, 0, 0, depth[0], -1, 0, 0, depth[1], 0];
    const [right, up, back] = camera.rotation;
    const shift = seen(camera.rotation, camera.centre);
    const view = [0, 1, 2].flatMap((i) => [right[i], up[i], back[i], 0]);
    this.view = [...view, -shift[0], -shift[1], -shift[2] - away, 1];

    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.depthMask(true);
    gl.clearColor(...background, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.disable(gl.BLEND);
    const places = this.placesSeen();
    this.use("sphere");
    this.fill(spheres, 0, places);
    if (slide.radii.length) gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, slide.radii.length);
    this.use("stick");
    const ends = (end) => {
      const found = new Float32Array(3 * slide.sticks.length);
      for (let i = 0; i < found.length; i++) found[i] = places[3 * slide.bonds[2 * Math.floor(i / 3) + end] + (i % 3)];
      return found;
    };
    this.fill(sticks, 0, ends(0));
    this.fill(sticks, 1, ends(1));
    gl.enable(gl.CULL_FACE);
    if (slide.sticks.length) gl.drawArraysInstanced(gl.TRIANGLES, 0, 36, slide.sticks.length);
    gl.disable(gl.CULL_FACE);
    if (slide.volume && look !== "surface") {
      this.blend();
      this.fog ??= new Fog(gl);
      this.fog.draw(slide.volume, slide.isovalue, look === "slice", planes, camera, { projection: this.projection, away, halves: [across, HALF_ANGLE] });
      return;
    }
    this.use("mesh");
    gl.bindVertexArray(meshes.array);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, meshes.opaqueBuffer);
    gl.drawElements(gl.TRIANGLES, meshes.opaque.length, gl.UNSIGNED_INT, 0);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, meshes.clearBuffer);
    if (meshes.clear.length && this.uploaded.order !== String(back)) {
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, backToFront(meshes.clear, meshes.centres, back), gl.DYNAMIC_DRAW);
      this.uploaded.order = String(back);
    }
    this.blend();
    gl.drawElements(gl.TRIANGLES, meshes.clear.length, gl.UNSIGNED_INT, 0);
    gl.bindVertexArray(null);
  }

  /** Let light go through what is drawn from now on; colours come multiplied by their opacity. */
  blend() {
    const { gl } = this;
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
  }

  use(name) {
    const { gl } = this;
    const found = this.programs[name];
    if (!found.view) this.finish(found);
    const { program, lit, parallel, view, projection } = found;
    gl.useProgram(program);
    gl.uniform1i(lit, this.slide.lit ? 1 : 0);
    gl.uniform1i(parallel, 0);
    gl.uniformMatrix4fv(view, false, this.view);
    gl.uniformMatrix4fv(projection, false, this.projection);
  }

  fill({ array, buffers }, column, numbers) {
    const { gl } = this;
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers[column]);
    gl.bufferData(gl.ARRAY_BUFFER, numbers, gl.DYNAMIC_DRAW);
  }

  /** Centres of the balls as the camera sees them. */
  placesSeen() {
    const [m, places] = [this.view, this.slide.centres];
    const found = new Float32Array(places.length);
    for (let i = 0; i < places.length; i += 3) {
      for (let j = 0; j < 3; j++) {
        found[i + j] = m[j] * places[i] + m[4 + j] * places[i + 1] + m[8 + j] * places[i + 2] + m[12 + j];
      }
    }
    return found;
  }

  /** Places of the atoms in the picture, from the upper left corner, as shares of its width and height. */
  placesOfAtoms() {
    const places = this.placesSeen();
    const [width, height] = [this.projection[0], this.projection[5]];
    return Array.from({ length: places.length / 3 }, (_, i) => {
      const [x, y, z] = places.subarray(3 * i, 3 * i + 3);
      return [0.5 - (0.5 * width * x) / z, 0.5 + (0.5 * height * y) / z];
    });
  }
}

function joined(parts) {
  const whole = new Uint32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function centresOf(faces, vertices) {
  const found = new Float32Array(faces.length);
  for (let i = 0; i < faces.length; i += 3) {
    for (let j = 0; j < 3; j++) {
      found[i + j] = (vertices[3 * faces[i] + j] + vertices[3 * faces[i + 1] + j] + vertices[3 * faces[i + 2] + j]) / 3;
    }
  }
  return found;
}

/** Triangles in the order of their centres along a direction to the viewer. */
function backToFront(faces, centres, direction) {
  const n = faces.length / 3;
  const depths = new Float32Array(n);
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < n; i++) {
    const depth = direction[0] * centres[3 * i] + direction[1] * centres[3 * i + 1] + direction[2] * centres[3 * i + 2];
    depths[i] = depth;
    low = Math.min(low, depth);
    high = Math.max(high, depth);
  }
  const scale = (CLASSES - 1) / Math.max(high - low, 1e-9);
  const places = new Uint32Array(CLASSES + 1);
  for (let i = 0; i < n; i++) places[Math.floor((depths[i] - low) * scale) + 1]++;
  for (let i = 0; i < CLASSES; i++) places[i + 1] += places[i];
  const ordered = new Uint32Array(faces.length);
  for (let i = 0; i < n; i++) {
    const place = 3 * places[Math.floor((depths[i] - low) * scale)]++;
    ordered[place] = faces[3 * i];
    ordered[place + 1] = faces[3 * i + 1];
    ordered[place + 2] = faces[3 * i + 2];
  }
  return ordered;
}
