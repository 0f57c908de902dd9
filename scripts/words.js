/**
 * Words of one family of chains stay behind its interface: outside chains/<family> no name and no
 * text of the product uses them, but where the table in docs/architecture.md, section 5.1, says so.
 * A row that is not needed any more fails as well. Comments are left out. An argument names another
 * root, for its test.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { readRooms, rootsOf } from "./rooms.js";

const root = resolve(process.argv[2] ?? fileURLToPath(new URL("..", import.meta.url)));
const rooms = rootsOf(readRooms(fileURLToPath(new URL("..", import.meta.url))), "product");
/** Each is looked for in names and in texts; a name's parts are told apart by their capitals. */
const words = {
  gas: /(?:^|[^a-z])gas(?:[^a-z]|$)|(?:^|[a-z])Gas(?:[^a-z]|$)/,
  wei: /(?:^|[^a-z])g?wei(?:[^a-z]|$)|(?:^|[a-z])G?[Ww]ei(?:[^a-z]|$)/i,
  nonce: /nonce/i,
  eip155: /eip155(?!9)/i,
  xpub: /xpub/i,
  tron: /(?:^|[^a-z])tron|Tron|TRON/,
  trx: /(?:^|[^a-z])trx(?:[^a-z]|$)/i,
  sun: /(?:^|[^a-z])sun(?:[^a-z]|$)|[a-z]Sun(?:[^a-z]|$)/,
  "0x": /(?:^|["'`^ ])0x/,
};

function filesUnder(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory())
      return entry.name === "node_modules" || /^chains.[a-z]+$/.test(relative(root, path))
        ? []
        : filesUnder(path);
    return /\.tsx?$/.test(entry.name) ? [path] : [];
  });
}

/** Names, strings and templates: a number in hex is no text. */
function textsIn(path) {
  const texts = new Set();
  const look = (node) => {
    const isText =
      ts.isIdentifier(node) || ts.isPrivateIdentifier(node) || ts.isStringLiteralLike(node);
    if (
      isText ||
      ts.isTemplateHead(node) ||
      ts.isTemplateMiddleOrTemplateTail(node) ||
      ts.isRegularExpressionLiteral(node)
    )
      texts.add(node.text);
    ts.forEachChild(node, look);
  };
  look(ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest));
  return texts;
}

/** The rows of the table: a file or a folder, and the words that it may use. */
function readTable() {
  const page = readFileSync(join(root, "docs", "architecture.md"), "utf8");
  const section = page.split("### 5.1 ")[1]?.split("\n## ")[0] ?? "";
  const rows = [...section.matchAll(/^\| `([^`]+)` \| ([^|]+) \|/gm)];
  return rows.map(([, place, list]) => ({
    place,
    allowed: [...list.matchAll(/`([^`]+)`/g)].map(([, word]) => word),
    used: new Set(),
  }));
}

const table = readTable();
const problems = [];
let files = 0;
for (const path of rooms.flatMap((room) => filesUnder(join(root, room)))) {
  const file = relative(root, path);
  files += 1;
  for (const text of textsIn(path)) {
    for (const [word, form] of Object.entries(words)) {
      if (!form.test(text)) continue;
      const row = table.find(
        ({ place, allowed }) =>
          (file === place || file.startsWith(`${place}/`)) && allowed.includes(word),
      );
      if (row === undefined)
        problems.push(`${file}: "${text.slice(0, 60)}" is the word of one family (${word})`);
      else row.used.add(word);
    }
  }
}
for (const { place, allowed, used } of table) {
  const idle = allowed.filter((word) => !used.has(word));
  if (idle.length > 0)
    problems.push(
      `docs/architecture.md, section 5.1: ${place} does not use ${idle.join(", ")} any more`,
    );
}
for (const problem of problems) process.stderr.write(`words: ${problem}\n`);
if (problems.length > 0) process.exit(1);
process.stdout.write(`words: ${files} files use those of a family only where the table says\n`);
