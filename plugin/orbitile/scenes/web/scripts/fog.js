// Volumes as fog and as a slice: planes across the line of sight, each coloured by the values in a texture of three
// dimensions, blended from back to front. Balls and sticks hide what is behind them by the depth test.

import { seen } from "./geometry.js";

const DENSE = 0.3; // extinction where the magnitude is the isovalue, times the mean chord
const DENSEST = 8; // times that at most, so that cores do not hide what is around them
const FULL = 3; // isovalues at which a slice has the full colour

const OF_PLANES = `#version 300 es
uniform mat4 projection;
uniform mat3 turnBack; // from the axes of the camera to those of space
uniform vec3 middle, low;
uniform vec3 box; // edges, in bohr
uniform vec2 depths; // of the farthest and the nearest plane, from the middle towards the viewer
uniform float away, count;
uniform vec2 halves; // of the field of view at a distance of 1
out vec3 place;
flat out float level;
void main() {
  level = float(gl_InstanceID);
  float depth = mix(depths.x, depths.y, (level + 0.5) / count);
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;
  vec3 atCamera = vec3(corner * halves * (away - depth), depth);
  place = (turnBack * atCamera + middle - low) / box;
  gl_Position = projection * vec4(atCamera.xy, depth - away, 1.0);
}`;

const OF_FOG = `#version 300 es
precision highp float;
precision highp sampler3D;
uniform sampler3D values;
uniform vec3 plus, minus, shape;
uniform float isovalue, thickness; // of a plane, in mean chords
uniform bool squared, isSlice;
in vec3 place;
flat in float level;
out vec4 fragment;
void main() {
  if (any(lessThan(place, vec3(0.0))) || any(greaterThan(place, vec3(1.0)))) discard;
  float ratio = texture(values, (place * (shape - 1.0) + 0.5) / shape).r / isovalue;
  vec3 ink = ratio > 0.0 ? plus : minus;
  float opacity = min(abs(ratio) / ${FULL.toFixed(1)}, 1.0);
  if (isSlice) {
    float line = 1.0 - smoothstep(0.0, 1.5, abs(abs(ratio) - 1.0) / max(fwidth(ratio), 1e-6)); // the isovalue
    opacity = max(opacity, line);
  } else {
    opacity = 1.0 - exp(-${DENSE} * thickness * min(squared ? ratio * ratio : abs(ratio), ${DENSEST.toFixed(1)}));
  }
  fragment = vec4(ink * opacity, opacity);
  // A plane of thin fog is less than a step of the picture's colours: noise lets it count in the mean.
  float noise = fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715)) + 0.618034 * level));
  if (!isSlice) fragment += (noise - 0.5) / 255.0;
}`;

/**
 * Mean length in bohr of a line of sight through the inside of an isosurface: four times its volume by its surface
 * (Cauchy), with shadows along the axes for all shadows; the same as VolumeDrawing.chord in Python.
 */
export function meanChord({ values, grid }, isovalue) {
  const [nx, ny, nz] = grid.shape;
  const strides = [1, nx, nx * ny];
  const count = [0, 0];
  for (const least of [isovalue, 0]) {
    // the whole box where no value reaches the isovalue
    for (let index = 0; index < values.length; index++) {
      if (Math.abs(values[index]) < least) continue;
      count[0]++;
      const at = [index % nx, Math.floor(index / nx) % ny, Math.floor(index / (nx * ny))];
      for (let axis = 0; axis < 3; axis++) {
        if (at[axis] === 0 || Math.abs(values[index - strides[axis]]) < least) count[1]++;
      }
    }
    if (count[0]) break;
  }
  return (3 * grid.spacing * count[0]) / count[1];
}

export class Fog {
  constructor(gl) {
    this.gl = gl;
    const program = (this.program = gl.createProgram());
    for (const [kind, text] of [[gl.VERTEX_SHADER, OF_PLANES], [gl.FRAGMENT_SHADER, OF_FOG]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw new Error(`The graphics driver refuses the shader of fog: ${gl.getProgramInfoLog(program)}`);
    }
    this.places = new Map();
    this.array = gl.createVertexArray();
    this.texture = gl.createTexture();
  }

  place(name) {
    if (!this.places.has(name)) this.places.set(name, this.gl.getUniformLocation(this.program, name));
    return this.places.get(name);
  }

  /** Take the values of {values, grid}, z slowest. */
  upload(volume) {
    const { gl } = this;
    const [nx, ny, nz] = volume.grid.shape;
    this.volume = volume;
    this.chord = null; // at an isovalue
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_3D, this.texture);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texImage3D(gl.TEXTURE_3D, 0, gl.R16F, nx, ny, nz, 0, gl.RED, gl.FLOAT, volume.values);
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_3D, side, gl.LINEAR);
    for (const axis of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T, gl.TEXTURE_WRAP_R]) gl.texParameteri(gl.TEXTURE_3D, axis, gl.CLAMP_TO_EDGE);
  }

  /**
   * Draw over what is there.
   *
   * volume      {values, grid, colours, squared}: fog goes with the square of the values, or with their magnitude
   * isovalue    where fog is dense, and what the line in a slice is at
   * isSlice     one plane through the middle of the picture, or fog
   * count       planes of fog
   */
  draw(volume, isovalue, isSlice, count, camera, { projection, away, halves }) {
    const { gl } = this;
    if (this.volume !== volume) this.upload(volume);
    const { low, spacing, shape } = volume.grid;
    const box = shape.map((n) => spacing * (n - 1));
    let [far, near] = [Infinity, -Infinity];
    for (let corner = 0; corner < 8; corner++) {
      const at = low.map((value, axis) => value + (corner & (1 << axis) ? box[axis] : 0) - camera.centre[axis]);
      const [, , depth] = seen(camera.rotation, at);
      [far, near] = [Math.min(far, depth), Math.max(near, depth)];
    }
    near = Math.min(near, 0.9 * away);
    const planes = isSlice ? 1 : count;
    if (this.chord?.isovalue !== isovalue) this.chord = { isovalue, length: meanChord(volume, isovalue) };
    const thickness = (near - far) / planes / this.chord.length;
    gl.useProgram(this.program);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_3D, this.texture);
    gl.uniform1i(this.place("values"), 0);
    gl.uniformMatrix4fv(this.place("projection"), false, projection);
    gl.uniformMatrix3fv(this.place("turnBack"), false, camera.rotation.flat()); // by columns, so that it is transposed
    gl.uniform3fv(this.place("middle"), camera.centre);
    gl.uniform3fv(this.place("low"), low);
    gl.uniform3fv(this.place("box"), box);
    gl.uniform3fv(this.place("shape"), shape);
    gl.uniform2fv(this.place("depths"), isSlice ? [0, 0] : [far, near]);
    gl.uniform2fv(this.place("halves"), halves);
    gl.uniform3fv(this.place("plus"), volume.colours[0].map((value) => value / 255));
    gl.uniform3fv(this.place("minus"), volume.colours[1].map((value) => value / 255));
    for (const [name, value] of Object.entries({ away, count: planes, isovalue, thickness })) gl.uniform1f(this.place(name), value);
    gl.uniform1i(this.place("squared"), volume.squared ? 1 : 0);
    gl.uniform1i(this.place("isSlice"), isSlice ? 1 : 0);
    gl.bindVertexArray(this.array);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, planes);
    gl.bindVertexArray(null);
  }
}
