/**
 * Sizes in statements, which no layout changes: a function has at most 45 of its own, those of
 * functions inside it left out, and a file at most 400. A function that is longer says why in the
 * comment before it, in a sentence that begins with "Long:". Tables are values, so they count for
 * nothing. Tests and data of the laboratory's repairs are left out. An argument names another root,
 * for its test.
 */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { filesIn, readRooms, rootsOf } from "./rooms.js";
import { countStatements, isFunction } from "./statements.js";

const own = fileURLToPath(new URL("..", import.meta.url));
const root = resolve(process.argv[2] ?? own);
const functionMax = 45;
const fileMax = 400;

/** The name of a function, or of what it is the value of. */
function nameOf(node, source) {
  const named = node.name ?? (ts.isVariableDeclaration(node.parent) ? node.parent.name : undefined);
  return named?.getText(source) ?? "a function without a name";
}

/** True if the comment before a function, or before the statement that has it, gives the reason. */
function hasReason(node, text) {
  for (let at = node; at !== undefined && !ts.isSourceFile(at); at = at.parent) {
    if (isFunction(at) && at !== node) return false;
    const comments = ts.getLeadingCommentRanges(text, at.getFullStart()) ?? [];
    if (comments.some(({ pos, end }) => /\bLong: \S/.test(text.slice(pos, end)))) return true;
  }
  return false;
}

/** The functions of a source that are too long, and the source itself, as sentences. */
export function sizeProblems(file, text) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const all = countStatements(source);
  const problems =
    all > fileMax ? [`${file} has ${all} statements, at most ${fileMax} are a chapter`] : [];
  const look = (node) => {
    const count = isFunction(node) ? countStatements(node.body, true) : 0;
    if (count > functionMax && !hasReason(node, text)) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
      problems.push(
        `${file}:${line + 1}: ${nameOf(node, source)} has ${count} statements, at most ${functionMax} without a reason`,
      );
    }
    ts.forEachChild(node, look);
  };
  look(source);
  return problems;
}

function check() {
  const roots = rootsOf(readRooms(own), "product", "examples", "laboratory");
  const files = [".ts", ".tsx", ".js"].flatMap((ending) => filesIn(root, roots, ending));
  const problems = files.flatMap((file) =>
    sizeProblems(file, readFileSync(join(root, file), "utf8")),
  );
  process.stderr.write(problems.map((problem) => `sizes: ${problem}\n`).join(""));
  if (problems.length > 0) process.exitCode = 1;
  else process.stdout.write(`sizes: ${files.length} files, each a chapter\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) check();
