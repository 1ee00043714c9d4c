// The triangles of an orbital, in JavaScript: a client of `orbitile serve`, with nothing but Node's standard library.
//
//     node triangles.mjs FILE ORBITAL [COMMAND...]
//
// COMMAND starts the server, `orbitile serve` if it is omitted. The page on the server describes the messages.
import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";

const PROTOCOL = 1; // that this client was written for
const [file, orbital, ...command] = process.argv.slice(2);
const [program, ...options] = command.length ? command : ["orbitile", "serve"];
const server = spawn(program, options, { stdio: ["pipe", "pipe", "inherit"] });
const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
let id = 0;

async function read() {
  const { value, done } = await lines.next();
  if (done) throw new Error("the server has ended; what it wrote above says why");
  return JSON.parse(value);
}

// Have a command executed; events before its answer are what a viewer would show.
async function ask(command, ...words) {
  id += 1;
  server.stdin.write(JSON.stringify({ id, protocol: PROTOCOL, command, arguments: words }) + "\n");
  let message = await read();
  while (message.id !== id) message = await read();
  if ("error" in message) throw new Error(message.error);
  return message.value;
}

// The arrays of an answer by name, each with its numbers in a row.
function arraysOf(answer) {
  const { buffer, byteOffset } = readFileSync(answer.file);
  rmSync(answer.file);
  const kinds = { float32: Float32Array, int32: Int32Array };
  const numbers = ({ type, shape, offset }) =>
    new kinds[type](buffer.slice(byteOffset + offset), 0, shape.reduce((n, length) => n * length, 1));
  return Object.fromEntries(Object.entries(answer.arrays).map(([name, array]) => [name, numbers(array)]));
}

try {
  const ready = await read();
  if (ready.protocol !== PROTOCOL)
    throw new Error(`protocol: this client speaks version ${PROTOCOL}, the server version ${ready.protocol}; ` +
      "take the client from the documentation of the Orbitile that is installed");
  const molecule = await ask("orb_load", file);
  const surface = await ask("orb_mo", molecule, orbital);
  const { vertices, faces } = arraysOf(await ask("triangles", surface));
  const highest = vertices.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  console.log(`${surface}: ${vertices.length / 3} vertices, ${faces.length / 3} triangles, within ${highest} Angstrom`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  server.stdin.end();
}
