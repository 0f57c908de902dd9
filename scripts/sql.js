/**
 * SQL stands in gateway/store/ alone, and its second dialect in gateway/postgres/. Looks at every
 * string and template of the gateway's other files, comments left out, and for calls of a
 * database's own three methods. An argument names another root, for its test.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = resolve(process.argv[2] ?? fileURLToPath(new URL("..", import.meta.url)));
const rooms = ["store", "postgres"].map((name) => join(root, "gateway", name));

const statement = new RegExp(
  [
    "\\bSELECT\\b[^]*\\S",
    "\\b(?:INSERT|REPLACE)(?: OR [A-Z]+)? INTO\\b",
    "\\bUPDATE\\s+\\w+\\s+SET\\b",
    "\\bDELETE FROM\\b",
    "\\b(?:CREATE|DROP|ALTER) (?:UNIQUE )?(?:TABLE|INDEX|TRIGGER|VIEW)\\b",
    "\\b(?:ORDER|GROUP) BY\\b",
    "\\bPRAGMA\\b",
    "\\bVACUUM\\b",
    "\\bSAVEPOINT\\b",
    "\\bBEGIN IMMEDIATE\\b",
    "[\\w)]\\s*(?:=|<>|<|>|<=|>=|LIKE|IN)\\s*\\(?\\?",
  ].join("|"),
);
const handles = new Set(["database", "inside", "db"]);
const methods = new Set(["run", "get", "all"]);

function filesUnder(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory())
      return rooms.includes(path) || entry.name === "node_modules" ? [] : filesUnder(path);
    return /\.[jt]sx?$/.test(entry.name) ? [path] : [];
  });
}

/** The name at the end of `a.b.c`; "" for anything else. */
function lastName(node) {
  if (ts.isIdentifier(node)) return node.text;
  return ts.isPropertyAccessExpression(node) ? node.name.text : "";
}

function problemOf(node) {
  if (
    ts.isStringLiteralLike(node) ||
    ts.isTemplateHead(node) ||
    ts.isTemplateMiddle(node) ||
    ts.isTemplateTail(node)
  ) {
    return statement.test(node.text) ? "holds SQL" : null;
  }
  const isCall =
    ts.isPropertyAccessExpression(node) &&
    methods.has(node.name.text) &&
    handles.has(lastName(node.expression));
  return isCall ? "speaks to the database itself" : null;
}

const problems = [];
const files = filesUnder(join(root, "gateway"));
for (const path of files) {
  const source = ts.createSourceFile(
    path,
    readFileSync(path, "utf8"),
    ts.ScriptTarget.ES2022,
    true,
  );
  const look = (node) => {
    const problem = problemOf(node);
    if (problem !== null) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      problems.push(`sql: ${relative(root, path)}:${line + 1} ${problem}`);
    }
    ts.forEachChild(node, look);
  };
  look(source);
}
for (const problem of problems) process.stderr.write(`${problem}\n`);
if (problems.length > 0) process.exit(1);
process.stdout.write(`sql: ${files.length} files of the gateway hold none\n`);
