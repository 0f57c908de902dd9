/**
 * Refuses the words of prose-words.json in names and prose. A name is a file, a folder, an
 * identifier, a JSON key or a text without a space; its parts are split at capitals, `_` and `-`,
 * so `shearing` does not hit `hearing`. Prose is every comment, page, message and test title. An
 * argument names another root, for the test.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const own = fileURLToPath(new URL("..", import.meta.url));
const root = resolve(process.argv[2] ?? own);
const { words } = JSON.parse(readFileSync(join(own, "scripts", "prose-words.json"), "utf8"));
const skipped = new Set([
  "node_modules",
  "dist",
  ".git",
  ".cache",
  "vectors",
  "corpora",
  "generated",
  "runtimes",
]);
/** These hold the words because they name or test them. */
const namers = new Set([
  "scripts/prose.js",
  "scripts/prose-words.js",
  "scripts/prose-words.json",
  "test/system/prose.test.ts",
  "test/system/prose-words.test.ts",
]);

const rules = words.map((rule) => ({
  ...rule,
  form:
    rule.case === undefined
      ? new RegExp(`(?<![a-z0-9'])${rule.word}(?![a-z])`)
      : new RegExp(`(?<![A-Za-z])${rule.case}(?![A-Za-z])`),
}));

function filesUnder(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (
      skipped.has(entry.name) ||
      entry.isSymbolicLink() ||
      (folder === "" && entry.name === "release")
    )
      return [];
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesUnder(path) : [path];
  });
}

/** A text in lower case with its names split into their parts, on one line. */
const parted = (text) =>
  text
    .replace(/([a-z0-9])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])/g, "$1$2 ")
    .replace(/[_-]+|\n\s*(?:\*|\/\/|#)?\s*/g, " ")
    .replace(/ +/g, " ")
    .toLowerCase();

const problems = [];
function look(path, line, text, kind) {
  const plain = parted(text);
  for (const { word, form, say, except, in: place = "both", case: exact } of rules) {
    if (place !== "both" && place !== kind && !(place === "names" && kind === "folders")) continue;
    if (except?.[path] !== undefined || !form.test(exact === undefined ? plain : text)) continue;
    problems.push(`${path}${line === 0 ? "" : `:${line}`}: "${exact ?? word}" (${say})`);
  }
}

/** Comments as prose; names and texts without a space as names; every other text as prose. */
function lookAtCode(path, text) {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const lineAt = (at) => source.getLineAndCharacterOfPosition(at).line + 1;
  const literals = [];
  const visit = (node) => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node))
      look(path, lineAt(node.getStart(source)), node.text, "names");
    else if (
      ts.isStringLiteralLike(node) ||
      ts.isTemplateHead(node) ||
      ts.isTemplateMiddleOrTemplateTail(node)
    ) {
      literals.push([node.getStart(source), node.end]);
      look(
        path,
        lineAt(node.getStart(source)),
        node.text,
        /\s/.test(node.text.trim()) ? "prose" : "names",
      );
    } else if (ts.isRegularExpressionLiteral(node)) {
      literals.push([node.getStart(source), node.end]);
      look(path, lineAt(node.getStart(source)), node.text, "prose");
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  let at = 0;
  for (const [from, to] of [...literals.sort(([a], [b]) => a - b), [text.length, text.length]]) {
    if (from >= at)
      for (const match of text
        .slice(at, from)
        .matchAll(/\/\*[\s\S]*?\*\/|(?:\/\/[^\n]*\n?[ \t]*)+/g))
        look(path, lineAt(at + match.index), match[0].replace(/^\/[*/]+/, ""), "prose");
    at = Math.max(at, to);
  }
}

/** Pages and plain texts by paragraph, so that a word over the end of a line is found as well. */
function lookAtText(path, text) {
  let line = 1;
  for (const part of text.split(/\n(?=\s*\n)/)) {
    look(path, line + (/^\n*/.exec(part)?.[0].length ?? 0), part, "prose");
    line += part.split("\n").length;
  }
}

function lookAtKeys(path, value) {
  if (Array.isArray(value)) for (const one of value) lookAtKeys(path, one);
  else if (typeof value === "string") look(path, 0, value, /\s/.test(value) ? "prose" : "names");
  else if (value !== null && typeof value === "object")
    for (const [key, one] of Object.entries(value)) {
      look(path, 0, key, "names");
      lookAtKeys(path, one);
    }
}

let files = 0;
for (const path of filesUnder("")) {
  if (namers.has(path) || path.endsWith("package-lock.json")) continue;
  const isCode = /\.(ts|js|cjs|mjs)$/.test(path);
  if (!isCode && !/\.(md|json|txt|ya?ml|service|socket|target|sol|php|py)$/.test(path)) continue;
  files += 1;
  const folders = path.split("/");
  for (const part of folders.splice(0, folders.length - 1)) look(path, 0, part, "folders");
  look(path, 0, folders[0].replace(/\.[a-z.]+$/, ""), "names");
  const text = readFileSync(join(root, path), "utf8");
  if (isCode) lookAtCode(path, text);
  else if (path.endsWith(".json")) lookAtKeys(path, JSON.parse(text));
  else lookAtText(path, text);
}
const found = [...new Set(problems)];
for (const one of found.slice(0, 200)) process.stderr.write(`words: ${one}\n`);
if (found.length > 200) process.stderr.write(`words: and ${found.length - 200} more\n`);
if (found.length > 0) {
  process.stderr.write("hint: scripts/prose-words.json names the word that stands instead\n");
  process.exit(1);
}
process.stdout.write(
  `words: ${files} files hold none of the ${words.length} words that have a replacement\n`,
);
