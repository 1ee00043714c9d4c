// What is searched for: words, and comparisons with columns, all of which have to hold; and the order of what is found.

import { columns, files, groupsOf, hasRefusals, isRefused, isRemarked, textOf } from "./rows.js";

const TERM = /(-?)(?:([\p{L}_][^\s"=<>!]*?)\s*(<=|>=|!=|=|<|>)\s*)?("(?:[^"\\]|\\.)*"?|[^\s"]+)/gu;
const RANGE = /^(.+?)\.\.(.+)$/;

/** Words that stand between terms for people alone. */
const BETWEEN = new Set(["and", "&", "&&"]);

const plain = (name) => name.toLowerCase().replace(/[\s_]+/g, "_");

/** The column of a name: as in the table, without its unit, or its beginning. */
export function columnNamed(name) {
  const wanted = plain(name);
  return (
    columns.find((column) => plain(column.name) === wanted) ??
    columns.find((column) => plain(column.heading) === wanted) ??
    columns.find((column) => plain(column.name).startsWith(wanted))
  );
}

const COMPARISONS = {
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "=": (a, b) => a === b,
  "!=": (a, b) => a === a && a !== b,
};

const unquoted = (text) => (text.startsWith('"') ? text.slice(1).replace(/(?<!\\)"$/, "").replace(/\\(.)/g, "$1") : text);

/** A test of rows for a comparison, or a text that says what is wrong with it. */
function comparison(name, operator, given) {
  const column = columnNamed(name);
  if (!column) return `there is no column ${name}`;
  const value = unquoted(given);
  if (column.text) {
    if (operator !== "=" && operator !== "!=") return `${column.name} is text: use = or !=`;
    const wanted = value.toLowerCase();
    return (row) => (column.values[row] ?? "").toLowerCase().includes(wanted) === (operator === "=");
  }
  const { numbers } = column;
  const [, low, high] = (operator === "=" && RANGE.exec(value)) || [];
  if (low !== undefined && Number.isFinite(Number(low)) && Number.isFinite(Number(high))) {
    return (row) => numbers[row] >= Number(low) && numbers[row] <= Number(high);
  }
  const number = Number(value.replace("−", "-"));
  if (!Number.isFinite(number)) return `${column.name} is a number, got ${value}`;
  const compare = COMPARISONS[operator];
  return (row) => compare(numbers[row], number);
}

/** What a text asks for: `tests` of rows, `ranges` by column, and `problems` for people. */
export function parsed(text) {
  const [tests, problems] = [[], []];
  for (const [, minus, name, operator, given] of text.matchAll(TERM)) {
    let test = null;
    if (operator) test = comparison(name, operator, given);
    else if (/[<>=]$/.test(given)) test = `${given} needs a value`;
    else if (!BETWEEN.has(given.toLowerCase())) {
      const wanted = unquoted(given).toLowerCase();
      test = (row) => textOf(row).includes(wanted);
    }
    if (typeof test === "string") problems.push(test);
    else if (test) tests.push(minus ? (row) => !test(row) : test);
  }
  return { tests, problems };
}

/** The same text with another range of a column, or with none. */
export function withRange(text, column, range) {
  const rest = [...text.matchAll(TERM)]
    .filter(([, , name, operator]) => !operator || columnNamed(name) !== column)
    .map(([whole]) => whole.trim());
  while (rest.length && BETWEEN.has(rest.at(-1).toLowerCase())) rest.pop();
  if (range) rest.push(`${column.name}=${range[0]}..${range[1]}`);
  return rest.join(" ");
}

/** Whether a text compares a column. */
export const compares = (text, column) => [...text.matchAll(TERM)].some(([, , name, operator]) => operator && columnNamed(name) === column);

export const KINDS = {
  all: () => true,
  done: (row) => !hasRefusals(row),
  part: (row) => hasRefusals(row) && !isRefused(row),
  refused: isRefused,
  remarks: isRemarked,
};

/** Rows that are asked for, in the order of the batch. */
export function matching({ query, kind, reason }) {
  const { tests, problems } = parsed(query);
  const all = [KINDS[kind] ?? KINDS.all, ...tests];
  if (reason) all.push((row) => groupsOf(row).includes(reason));
  const found = [];
  for (let row = 0; row < files.length; row++) if (all.every((test) => test(row))) found.push(row);
  return { found, problems };
}

const ranks = new Map();
const collator = new Intl.Collator(undefined, { numeric: true });

/** Numbers by whose size a column is sorted, NaN for what is missing; of texts, their place among all. */
function ranksOf(column) {
  if (column?.numbers) return column.numbers;
  if (!ranks.has(column)) {
    const values = column ? column.values : files;
    const texts = [...new Set(values.filter((value) => value !== null))].sort(collator.compare);
    const places = new Map(texts.map((text, place) => [text, place]));
    ranks.set(column, Float64Array.from(values, (value) => places.get(value) ?? NaN));
  }
  return ranks.get(column);
}

/** Rows in the order of a column, what has no value at the end; `file` sorts by names, and nothing leaves them. */
export function sorted(found, { sort, descending }) {
  if (!sort) return descending ? found.reverse() : found;
  const order = ranksOf(sort === "file" ? null : columnNamed(sort));
  const sign = descending ? -1 : 1;
  return found.sort((a, b) => {
    const [left, right] = [order[a], order[b]];
    if (left === right) return a - b;
    if (left !== left) return right !== right ? a - b : 1;
    return right !== right ? -1 : sign * (left - right);
  });
}
