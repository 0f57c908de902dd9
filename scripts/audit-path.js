/**
 * The code that an auditor reads between a job and the key: lines without blanks and comments, of
 * the files in audit-path.json. Fails above a limit, and if the path imports a file that no list
 * names, so that code cannot leave the path unseen. An argument names another root, for its test.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = resolve(process.argv[2] ?? fileURLToPath(new URL("..", import.meta.url)));
const table = JSON.parse(readFileSync(join(root, "scripts", "audit-path.json"), "utf8"));
const sources = new Map();

function sourceOf(file) {
  if (!sources.has(file)) {
    const text = readFileSync(join(root, file), "utf8");
    sources.set(file, ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  }
  return sources.get(file);
}

/** The files of a list, in which a folder stands for all of its files and those beneath it. */
function filesOf(list) {
  return list.flatMap((place) => {
    if (!place.endsWith("/")) return [place];
    return readdirSync(join(root, place), { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? filesOf([`${place}${entry.name}/`]) : entry.name.endsWith(".ts") ? [place + entry.name] : [],
    );
  });
}

/** Lines that hold a token. */
function codeLines(file) {
  const source = sourceOf(file);
  const lines = new Set();
  const visit = (node) => {
    if (ts.isJSDoc(node)) return;
    const parts = node.getChildren(source);
    for (const part of parts) visit(part);
    if (parts.length > 0 || node.getWidth(source) === 0) return;
    const [from, to] = [node.getStart(source), node.getEnd()].map((at) => source.getLineAndCharacterOfPosition(at).line);
    for (let line = from; line <= to; line++) lines.add(line);
  };
  visit(source);
  return lines.size;
}

/** The files of this project that a file loads; imports of types load nothing. */
function importsOf(file) {
  const loads = (line) =>
    (ts.isImportDeclaration(line) && !line.importClause?.isTypeOnly) || (ts.isExportDeclaration(line) && !line.isTypeOnly);
  return sourceOf(file)
    .statements.filter((line) => loads(line) && line.moduleSpecifier?.text.startsWith("."))
    .map((line) => normalize(join(dirname(file), line.moduleSpecifier.text)));
}

const sum = (files) => files.reduce((lines, file) => lines + codeLines(file), 0);
const problems = [];
const tell = (name, files, limit) => {
  const lines = sum(files);
  const bound = limit === undefined ? "" : ` of at most ${limit}`;
  process.stdout.write(`job to key: ${name}, ${files.length} files, ${lines} lines of code${bound}\n`);
  if (limit !== undefined && lines > limit) problems.push(`${name} has ${lines} lines of code, more than ${limit}`);
};

const path = table.path.flatMap(({ files }) => filesOf(files));
tell("without a family", path, table.limits.path);
const families = Object.entries(table.families).map(([name, files]) => [name, filesOf(files)]);
for (const [name, files] of families) tell(name, files, table.limits.families[name] ?? table.limits.family);
const judged = new Set([...path, ...families.flatMap(([, files]) => files)]);
const beside = table.beside.map(({ name, files }) => [name, filesOf(files).filter((file) => !judged.has(file))]);
for (const [name, files] of beside) tell(`beside it, ${name}`, files);

const named = new Set([...judged, ...beside.flatMap(([, files]) => files)]);
for (const file of judged) {
  for (const other of importsOf(file)) {
    if (named.has(other) || Object.keys(table.ground).some((folder) => other.startsWith(folder))) continue;
    problems.push(`${file} loads ${other}, which scripts/audit-path.json does not name`);
  }
}
for (const problem of problems) process.stderr.write(`job to key: ${problem}\n`);
if (problems.length > 0) process.exit(1);
