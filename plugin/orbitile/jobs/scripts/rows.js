// What is in the sheet: records as rows, by number, in the order of the batch.

const contents = window.orbitileSheet ?? { total: 0, tables: [], columns: [], files: [], outputs: [], refusals: [], remarks: [], items: [], formats: [], texts: [] };

export const { total, tables, files } = contents;

/** A number of each row as an array, NaN where there is none. */
const numbersOf = (values) => Float64Array.from(values, (value) => value ?? NaN);

/** Columns: `name` as in the tables, `heading` and `unit` for people, `values`, and `numbers` unless it is `text`. */
export const columns = contents.columns.map((column) => ({ ...column, numbers: column.text ? null : numbersOf(column.values) }));

const column = (name) => columns.find((one) => one.name === name);
export const formulas = column("formula");
export const gaps = column("gap_eV") ?? columns.find(({ name }) => name.startsWith("gap"));

/** Parts of a list, of so many each, from a place on. */
function* taken(list, count, start = 0) {
  for (let at = start; at < list.length; at += count) yield list.slice(at, at + count);
}

/** Files that were written of a row: what was asked for, the format and the address. */
export function outputsOf(row) {
  const [folder] = contents.outputs[row]; // the beginning of all addresses
  return [...taken(contents.outputs[row], 3, 1)].map(([item, format, rest]) => ({ item: contents.items[item], format: contents.formats[format], address: folder + rest }));
}

/** What was refused of a row and why; the item is empty for the whole file. */
export const refusalsOf = (row) => [...taken(contents.refusals[row], 2)].map(([item, reason]) => ({ item: contents.items[item], reason: contents.texts[reason] }));

export const remarksOf = (row) => contents.remarks[row].map((text) => contents.texts[text]);

/** Whether something was refused of a row; whether all was, so that there is nothing of it; whether there are remarks. */
export const hasRefusals = (row) => contents.refusals[row].length > 0;
export const isRefused = (row) => !contents.outputs[row].length && refusalsOf(row).some(({ item }) => !item);
export const isRemarked = (row) => contents.remarks[row].length > 0;

/** Items of which there are pictures, in the order in which they were asked for. */
export const pictured = (() => {
  const formats = new Set(["png", "thumbnail"].map((format) => contents.formats.indexOf(format)));
  const found = new Set();
  for (const outputs of contents.outputs) {
    for (const [item, format] of taken(outputs, 3, 1)) if (formats.has(format)) found.add(item);
  }
  return [...found].map((item) => contents.items[item]);
})();

/** Pictures of a row: of each its item, the address of the small one and of the large one. */
export function picturesOf(row) {
  const found = new Map();
  for (const { item, format, address } of outputsOf(row)) {
    if (format !== "png" && format !== "thumbnail") continue;
    const name = address.replace(/\.\w+$/, "");
    const picture = found.get(name) ?? { item, small: address, large: address };
    picture[format === "png" ? "large" : "small"] = address;
    found.set(name, picture);
  }
  return [...found.values()];
}

/** Text as it is shown: characters that turn others about, or cannot be seen, are made visible. */
export const shown = (text) =>
  text
    .replace(/[\u0000-\u001f]/g, (letter) => String.fromCharCode(0x2400 + letter.charCodeAt(0)))
    .replace(/[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, "\ufffd");

const folderEnd = (file) => Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\")) + 1;

/** How many letters the folders of all files begin with alike, up to a slash. */
const common = (() => {
  if (!files.length) return 0;
  let start = files[0].slice(0, folderEnd(files[0]));
  for (const file of files) while (!file.startsWith(start)) start = start.slice(0, folderEnd(start.slice(0, -1)));
  return start.length;
})();

export const nameOf = (row) => shown(files[row].slice(folderEnd(files[row])));

/** The folder of a file below the one that has them all. */
export const folderOf = (row) => shown(files[row].slice(common, folderEnd(files[row])));

export const hasFolders = files.some((file) => folderEnd(file) > common);

/** A reason without its numbers, which is the same for many files. */
export const reasonGroup = (reason) => reason.replace(/(?<![\w.])\d+([.,]\d+)*(?!\w)/g, "…");

const groups = contents.texts.map(reasonGroup);

/** Groups of the reasons of a row. */
export const groupsOf = (row) => [...taken(contents.refusals[row], 2)].map(([, reason]) => groups[reason]);

const haystacks = [];

/** All text of a row in small letters. */
export function textOf(row) {
  haystacks[row] ??= [
    files[row],
    ...columns.filter(({ text }) => text).map(({ values }) => values[row] ?? ""),
    ...refusalsOf(row).map(({ item, reason }) => `${item} ${reason}`),
    ...remarksOf(row),
  ].join("\n").toLowerCase();
  return haystacks[row];
}
