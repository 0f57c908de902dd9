/**
 * The walls between the rooms, any number of hops included: imports are held against the table of
 * rooms (rooms.json) and a few rules of their own (walls.config.cjs). A cruise that saw fewer
 * modules than there are source files is no proof, so it fails. An argument names another root, for
 * its test.
 */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { cruise } from "dependency-cruiser";
import extractTSConfig from "dependency-cruiser/config-utl/extract-ts-config";
import ts from "typescript";
import { powerProblems } from "./powers.js";
import { bareName, breachesOf } from "./reach.js";
import { filesIn, readRooms, roomFinder, rootsOf, tableProblems } from "./rooms.js";

const named = process.argv.slice(2).find((argument) => !argument.startsWith("--"));
const root = resolve(named ?? fileURLToPath(new URL("..", import.meta.url)));

async function modulesOf(roots) {
  const { options, forbidden } = createRequire(import.meta.url)("./walls.config.cjs");
  const { enhancedResolveOptions, tsConfig, ...others } = options;
  const how = { ...others, baseDir: root, validate: true, ruleSet: { forbidden } };
  const { output } = await cruise(roots, how, enhancedResolveOptions, {
    tsConfig: extractTSConfig(join(root, tsConfig.fileName)),
  });
  return output;
}

/** The names that a file imports of a builtin module; null when it takes the module as a whole. */
function namesIn(file, builtin) {
  const source = ts.createSourceFile(
    file,
    readFileSync(join(root, file), "utf8"),
    ts.ScriptTarget.Latest,
  );
  const imports = source.statements.filter(
    (line) =>
      ts.isImportDeclaration(line) &&
      bareName(line.moduleSpecifier.text) === builtin &&
      !line.importClause?.isTypeOnly,
  );
  const lists = imports.map(({ importClause }) => importClause?.namedBindings);
  const isPlain =
    imports.length > 0 && imports.every(({ importClause }) => importClause?.name === undefined);
  if (!isPlain || !lists.every((list) => list !== undefined && ts.isNamedImports(list)))
    return null;
  return lists.flatMap((list) =>
    list.elements
      .filter((each) => !each.isTypeOnly)
      .map((each) => (each.propertyName ?? each.name).text),
  );
}

/**
 * Whether every import of a module is `import type` or `export type`. Any other one loads it, also
 * `import { type T }`.
 */
function onlyTypes(file, module) {
  if (!sources.has(file)) sources.set(file, readFileSync(join(root, file), "utf8"));
  const name = module.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return !new RegExp(
    `^\\s*(?:import|export)\\b(?!\\s+type(?:\\s*[{*]|\\s+(?!from\\s*["'])\\w))[^;]*?["'](?:node:)?${name}["']`,
    "m",
  ).test(sources.get(file));
}

/** Folders at the top that hold sources and stand in no list of the table. */
function foldersWithoutPart(table) {
  const skipped = ["node_modules", "dist", ...Object.values(table.roots).flat()];
  const folders = readdirSync(root, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && !entry.name.startsWith("."),
  );
  return folders
    .map(({ name }) => name)
    .filter((name) => !skipped.includes(name) && filesIn(root, [name]).length > 0);
}

const sources = new Map();
const problems = [];
const table = readRooms(root);
const roots = rootsOf(table, "product", "examples", "laboratory");
const files = [".ts", ".tsx", ".js"].flatMap((ending) => filesIn(root, roots, ending));
problems.push(
  ...foldersWithoutPart(table).map((folder) => `the folder ${folder} stands under no roots`),
);
problems.push(...tableProblems(table, files));

const find = roomFinder(table);
const readSource = (file) => readFileSync(join(root, file), "utf8");
problems.push(...powerProblems(table, files, find, readSource));

const { modules, summary } = await modulesOf(roots);
const seen = new Set(modules.map(({ source }) => source));
problems.push(...files.filter((file) => !seen.has(file)).map((file) => `${file} was not seen`));
for (const { room, kind, path } of breachesOf(table, modules, { namesIn, onlyTypes }))
  problems.push(`${room}: ${kind}: ${path.join(" → ")}`);
for (const { rule, from, to, via = [] } of summary.violations) {
  const way = via.length === 0 ? "" : ` (via ${via.map((step) => step.name ?? step).join(" → ")})`;
  problems.push(`${rule.name}: ${from} → ${to}${way}`);
}
process.stderr.write(problems.map((problem) => `walls: ${problem}\n`).join(""));
if (problems.length > 0) process.exitCode = 1;
else
  process.stdout.write(
    `walls: ${files.length} files in ${new Set(files.map(find)).size} rooms, no breach\n`,
  );
