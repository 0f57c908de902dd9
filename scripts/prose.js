/**
 * Measures the prose of comments, pages and test titles. The gate: in no room one sentence in a
 * hundred begins with a word that is no subject (what, who, where, of, whoever, whatever). Pronouns
 * a sentence are printed and have no gate. `--list FOLDER` prints the sentences that break the
 * gate's rule, with file and line, and `--rooms` the figures of each room. A last argument names
 * another root, for the test.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const isByRoom = process.argv.includes("--rooms");
const words = process.argv.slice(2).filter((word) => word !== "--rooms");
const listedFolder = words[0] === "--list" ? (words[1] ?? "") : undefined;
const rootGiven = listedFolder === undefined ? words[0] : words[2];
const root = resolve(rootGiven ?? fileURLToPath(new URL("..", import.meta.url)));

const skipped = new Set([
  "node_modules",
  "dist",
  ".git",
  ".cache",
  "release",
  "vectors",
  "corpora",
  "generated",
]);
const openers = /^(?:what|who|where|of|whoever|whatever)\b/i;
const pronouns =
  /\b(?:it|its|they|them|their|this|that|these|those|what|who|whoever|which|one|ones)\b/gi;
/** A room with fewer sentences is measured, and has no gate: one sentence would be too much. */
const gatedFrom = 20;

function filesUnder(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (skipped.has(entry.name)) return [];
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesUnder(path) : [path];
  });
}

/** The text of a comment without its marks. */
function bodyOf(raw) {
  if (raw.startsWith("//")) return raw.slice(2).trim();
  const lines = raw.replace(/^\/\*+|\*+\/$/g, "").split("\n");
  return lines.map((line) => line.replace(/^\s*\* ?/, "").trim()).join("\n");
}

/** The place of each comment in a file, in order, also inside an expression. */
function rangesOf(text, path) {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, false);
  const ranges = new Map();
  const take = (found) => {
    for (const { pos, end } of found ?? []) ranges.set(pos, end);
  };
  const takeAt = (at) => {
    take(ts.getLeadingCommentRanges(text, at));
    take(ts.getTrailingCommentRanges(text, at));
  };
  const visit = (node) => {
    takeAt(node.pos);
    takeAt(node.end);
    let last = node.pos;
    ts.forEachChild(node, (child) => {
      visit(child);
      last = child.end;
    });
    // The last comment of a block or list hangs on its closing bracket, which is no node.
    takeAt(last + (/^\s*,/.exec(text.slice(last, node.end))?.[0].length ?? 0));
  };
  visit(source);
  return [...ranges].sort(([a], [b]) => a - b);
}

/** Titles of tests: one below a heading goes on with the words of the heading. */
function titlesOf(text) {
  const title = /^([ \t]*)(it|describe)(?:\.\w+(?:\([^()]*\))?)?\(\s*(["'`])((?:\\.|(?!\3).)*)\3/gm;
  let heading = "";
  return [...text.matchAll(title)].map(({ index, 1: indent, 2: kind, 4: words }) => {
    if (kind === "describe") heading = words;
    return { at: index, body: kind === "it" && indent !== "" ? `${heading} ${words}` : words };
  });
}

/** `{line, body}` of each comment, lines of `//` that follow each other as one; and test titles. */
function textsOfCode(path) {
  const text = readFileSync(join(root, path), "utf8");
  const lineAt = (at) => text.slice(0, at).split("\n").length;
  const found = [];
  for (const [pos, end] of rangesOf(text, path)) {
    const raw = text.slice(pos, end);
    const last = found.at(-1);
    const isLine = raw.startsWith("//");
    if (isLine && last?.isLine && /^[ \t]*\n[ \t]*$/.test(text.slice(last.end, pos))) {
      last.body += ` ${bodyOf(raw)}`;
      last.end = end;
    } else found.push({ isLine, end, line: lineAt(pos), body: bodyOf(raw) });
  }
  if (!path.endsWith(".test.ts")) return found;
  return [...found, ...titlesOf(text).map(({ at, body }) => ({ line: lineAt(at), body }))];
}

/** `{line, body}` of each paragraph, list entry and table cell of a page, blocks of code aside. */
function textsOfPage(path) {
  const found = [];
  let isCode = false;
  let paragraph;
  readFileSync(join(root, path), "utf8")
    .split("\n")
    .forEach((text, at) => {
      if (text.trimStart().startsWith("```")) isCode = !isCode;
      const isText = !isCode && /[^\s|`:-]/.test(text);
      if (!isText || /^\s*\|/.test(text)) paragraph = undefined;
      if (!isText) return;
      const line = at + 1;
      if (/^\s*\|/.test(text)) {
        for (const cell of text.split(/(?<!\\)\|/)) found.push({ line, body: cell.trim() });
        return;
      }
      const mark = /^\s*(?:#+|[-*]|\d+\.)\s/;
      if (paragraph === undefined || mark.test(text)) {
        paragraph = { line, body: text.replace(mark, "").trim() };
        found.push(paragraph);
      } else paragraph.body += ` ${text.trim()}`;
    });
  return found;
}

/** Sentences of more than two words; code and addresses of links are left out. */
function sentencesOf({ line, body }) {
  const plain = body
    .replace(/`[^`]*`/g, "X")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll("**", "");
  return plain
    .split(/\n\s*\n|\n(?=@)|(?<=[.!?:])\s+(?=["'(]?[A-Z])/)
    .map((part) =>
      part
        .replace(/^@\w+\s*/, "")
        .replace(/\s+/g, " ")
        .trim(),
    )
    .filter((sentence) => sentence.split(" ").length > 2)
    .map((sentence) => ({ line, sentence }));
}

/** The room of a file: its folder at the top, and in the large ones the folder below. */
function roomOf(path) {
  const parts = path.split("/");
  if (parts.length === 1) return "top";
  return ["agent", "gateway", "lab", "test"].includes(parts[0]) && parts.length > 2
    ? `${parts[0]}/${parts[1]}`
    : parts[0];
}

const rooms = new Map();
for (const path of filesUnder("")) {
  const isCode = /\.(tsx?|js|cjs)$/.test(path);
  if (!isCode && !path.endsWith(".md")) continue;
  const row = rooms.get(roomOf(path)) ?? { sentences: 0, opened: 0, pronouns: 0 };
  rooms.set(roomOf(path), row);
  for (const { line, sentence } of (isCode ? textsOfCode(path) : textsOfPage(path)).flatMap(
    sentencesOf,
  )) {
    row.sentences += 1;
    row.pronouns += sentence.match(pronouns)?.length ?? 0;
    if (!openers.test(sentence)) continue;
    row.opened += 1;
    if (listedFolder !== undefined && path.startsWith(listedFolder))
      process.stdout.write(`${path}:${line}: ${sentence}\n`);
  }
}

const sum = { sentences: 0, opened: 0, pronouns: 0 };
const broken = [];
for (const [room, row] of [...rooms].sort(([a], [b]) => (a < b ? -1 : 1))) {
  if (row.sentences === 0) continue;
  for (const key of Object.keys(sum)) sum[key] += row[key];
  const each = `${(row.pronouns / row.sentences).toFixed(2)} pronouns a sentence`;
  const line = `${room.padEnd(20)} ${row.sentences} sentences, ${row.opened} with a wrong opener, ${each}`;
  if (row.sentences >= gatedFrom && row.opened * 100 >= row.sentences) broken.push(line);
  if (listedFolder === undefined && isByRoom) process.stdout.write(`${line}\n`);
}
if (listedFolder === undefined) {
  for (const line of broken) process.stderr.write(`prose: ${line}\n`);
  const share = ((100 * sum.opened) / sum.sentences).toFixed(2);
  process.stdout.write(
    `prose: ${sum.sentences} sentences, ${share} % with a wrong opener, ${(sum.pronouns / sum.sentences).toFixed(2)} pronouns a sentence\n`,
  );
  if (broken.length > 0) {
    process.stderr.write(
      "hint: node scripts/prose.js --list FOLDER prints each of these sentences\n",
    );
    process.exit(1);
  }
}
