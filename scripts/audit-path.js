/**
 * The code that an auditor reads between a job and the key, by the lists of audit-path.json.
 * Sizes are in statements (statements.js).
 *
 * Fails above a limit, and while anything that can lead to a signature stands in no list: a file
 * that the signer's process or the path loads, or a verb of the signer's sockets. Lists name files,
 * so a new file enters none by its folder; the ground is named by folders, each without those
 * beneath it. An argument names another root, for its test.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { countStatements } from "./statements.js";

const root = resolve(process.argv[2] ?? fileURLToPath(new URL("..", import.meta.url)));
const tableName = "scripts/audit-path.json";
const table = JSON.parse(readFileSync(join(root, tableName), "utf8"));
const sources = new Map();
const problems = [];

function sourceOf(file) {
  if (!sources.has(file)) {
    const text = readFileSync(join(root, file), "utf8");
    sources.set(file, ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  }
  return sources.get(file);
}

const statementsOf = (file) => countStatements(sourceOf(file));

/** The files of this project that a file loads; imports of types load nothing. */
function importsOf(file) {
  const loaded = [];
  const isOwn = (specifier) =>
    specifier !== undefined && ts.isStringLiteralLike(specifier) && specifier.text.startsWith(".");
  const add = (specifier) => {
    if (isOwn(specifier)) loaded.push(normalize(join(dirname(file), specifier.text)));
  };
  const visit = (node) => {
    if (ts.isImportDeclaration(node) && !node.importClause?.isTypeOnly) add(node.moduleSpecifier);
    if (ts.isExportDeclaration(node) && !node.isTypeOnly) add(node.moduleSpecifier);
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      add(node.arguments[0]);
    ts.forEachChild(node, visit);
  };
  visit(sourceOf(file));
  return loaded;
}

/** The verbs of an interface of requests, which it names itself. */
function verbsOf(file, name) {
  const declared = sourceOf(file).statements.find(
    (node) => ts.isInterfaceDeclaration(node) && node.name.text === name,
  );
  if (declared === undefined || declared.heritageClauses !== undefined)
    problems.push(
      `${file} does not declare ${name} with all of its verbs, which ${tableName} compares`,
    );
  return (declared?.members ?? []).map((member) => member.name?.getText() ?? "");
}

function tell(name, files, limit) {
  const statements = files.filter(isThere).reduce((sum, file) => sum + statementsOf(file), 0);
  const bound = limit === undefined ? "" : ` of at most ${limit}`;
  process.stdout.write(
    `job to key: ${name}, ${files.length} files, ${statements} statements${bound}\n`,
  );
  if (limit !== undefined && statements > limit)
    problems.push(`${name} has ${statements} statements, more than ${limit}`);
}

const isThere = (file) => existsSync(join(root, file)) && !file.endsWith("/");
const path = table.path.flatMap(({ files }) => files);
const families = Object.entries(table.families);
const judged = [...path, ...families.flatMap(([, files]) => files)];
const beside = table.beside.flatMap(({ files }) => files);
const named = new Set();
for (const file of [...judged, ...beside]) {
  if (!isThere(file)) problems.push(`${tableName} names ${file}, which is no file`);
  if (named.has(file)) problems.push(`${tableName} names ${file} twice`);
  named.add(file);
}

tell("without a family", path, table.limits.path);
for (const [name, files] of families) {
  if (table.limits.families[name] === undefined)
    problems.push(`${tableName} gives no limit to ${name}`);
  tell(name, files, table.limits.families[name]);
}
for (const { name, files } of table.beside) tell(`beside it, ${name}`, files);

const isGround = (file) => `${dirname(file)}/` in table.ground;
const reached = new Map(
  [table.process, ...judged.filter(isThere)].map((file) => [file, "the signer's process"]),
);
for (const [file, by] of reached) {
  if (!named.has(file) && !isGround(file))
    problems.push(`${by} loads ${file}, which ${tableName} does not name`);
  for (const other of importsOf(file)) if (!reached.has(other)) reached.set(other, file);
}

for (const [name, verbs] of Object.entries(table.verbs.requests)) {
  const declared = verbsOf(table.verbs.file, name);
  for (const verb of declared)
    if (!(verb in verbs))
      problems.push(`${name} has the verb ${verb}, which ${tableName} does not name`);
  for (const [verb, file] of Object.entries(verbs)) {
    if (!declared.includes(verb))
      problems.push(`${tableName} names the verb ${verb}, which ${name} does not have`);
    if (!named.has(file))
      problems.push(
        `${tableName} lets ${file} carry out the verb ${verb}, and names it in no list`,
      );
  }
}

for (const problem of problems) process.stderr.write(`job to key: ${problem}\n`);
if (problems.length > 0) process.exit(1);
