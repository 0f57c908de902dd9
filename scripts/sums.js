/**
 * Balances stand in one place: gateway/store/journal.ts keeps them, and no other function of the
 * gateway adds units, fees or received amounts of several rows. The few that do add something else,
 * each with its reason; a reason that is not needed any more is a problem too. Looks for SQL that
 * aggregates such a column, for `reduce`, and for variables that a sum is added to. An argument
 * names another root, for its test.
 */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { filesIn } from "./rooms.js";

const own = fileURLToPath(new URL("..", import.meta.url));
const root = resolve(process.argv[2] ?? own);
const journal = "gateway/store/journal.ts";

/** Sums that stay: by file the names at its top level, and the thing that each adds. */
const reasons = [
  {
    names: {
      "gateway/store/payments.ts": ["finalUnitsOf"],
      "gateway/watcher/credit.ts": ["sum"],
      "gateway/watcher/arriving.ts": ["keep"],
      "gateway/api/payer.ts": ["payerView"],
      "gateway/invoices/worth.ts": ["askedUnitsOf"],
    },
    why: "what came for one request, whatever lies on its address",
  },
  {
    names: {
      "gateway/store/credits.ts": ["creditsOf", "leftOf"],
      "gateway/store/gone-payments.ts": ["takeBackUnnamedPayments", "undecidedUnits"],
      "gateway/store/transactions.ts": ["refundedUnits"],
    },
    why: "parts of one payment or of one deposit: credited, paid back, in doubt",
  },
  {
    names: {
      "gateway/watcher/readings.ts": ["findBaseline", "credit"],
      "gateway/store/address-states.ts": ["sumOf"],
      "gateway/store/stray-sums.ts": ["straySumUnitsAcrossBlock"],
    },
    why: "what explains a reading beside the journal's balance at its block",
  },
  {
    names: {
      "gateway/store/reserved.ts": ["countedFromRows"],
      "gateway/balance/funds.ts": ["reservedOf"],
    },
    why: "promises to open orders, which no balance has",
  },
  {
    names: {
      "gateway/store/sweeps.ts": ["openSweepUnits"],
      "gateway/store/gone-payments.ts": ["unsweepableUnits"],
    },
    why: "what is on its way between two accounts of a merchant",
  },
  {
    names: {
      "gateway/books/sheet.ts": ["ExpectedAccountBalances"],
      "gateway/books/period.ts": ["sumPeriod"],
    },
    why: "the journal's own moves of the blocks of a closing or a report",
  },
  {
    names: {
      "gateway/operator/balances.ts": ["lineOf"],
      "gateway/watcher/balances.ts": ["unusableIn"],
      "gateway/sweeps/sweeps.ts": ["tooLarge"],
    },
    why: "differences and coins that a closing or a node named, for the eyes of a person",
  },
];

const amount = /units|fee|amount|received/i;
const aggregate = /\b(?:sum|total|avg|units_sum|json_group_array)\s*\(/gi;

/** True if a statement aggregates a column of amounts. */
function isAggregate(text) {
  for (const {
    index,
    0: { length },
  } of text.matchAll(aggregate)) {
    const inside = text.slice(index + length);
    let depth = 1;
    let end = 0;
    for (; end < inside.length && depth > 0; end += 1) {
      if (inside[end] === "(") depth += 1;
      if (inside[end] === ")") depth -= 1;
    }
    if (amount.test(inside.slice(0, end))) return true;
  }
  return false;
}

const isText = (node) =>
  ts.isStringLiteralLike(node) || ts.isTemplateExpression(node) || ts.isTemplateLiteralToken(node);

/** True if a statement or an expression adds amounts of several rows. */
function isSum(node) {
  if (isText(node)) return isAggregate(node.getText());
  if (ts.isCallExpression(node)) {
    const { expression: called } = node;
    const isReduce =
      ts.isPropertyAccessExpression(called) && /^reduce(?:Right)?$/.test(called.name.text);
    return isReduce && amount.test(node.getText());
  }
  if (!ts.isBinaryExpression(node)) return false;
  const { left, right, operatorToken } = node;
  const isAdded = [ts.SyntaxKind.PlusEqualsToken, ts.SyntaxKind.MinusEqualsToken].includes(
    operatorToken.kind,
  );
  if (isAdded) return amount.test(node.getText());
  // The same in more words: total = total + one.
  return (
    operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    ts.isBinaryExpression(right) &&
    right.left.getText() === left.getText() &&
    amount.test(node.getText())
  );
}

/** The names of the functions, classes and constants at the top of a file that hold a sum. */
function sumsIn(file) {
  const text = readFileSync(join(root, file), "utf8");
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found = new Map();
  for (const statement of source.statements) {
    const name = ts.isVariableStatement(statement)
      ? statement.declarationList.declarations[0].name.getText()
      : (statement.name?.getText() ?? "");
    const look = (node) => {
      if (isSum(node) && !found.has(name))
        found.set(name, source.getLineAndCharacterOfPosition(node.getStart()).line + 1);
      ts.forEachChild(node, look);
    };
    look(statement);
  }
  return found;
}

const problems = [];
const known = new Map();
for (const [file, names] of reasons.flatMap(({ names }) => Object.entries(names)))
  known.set(file, new Set([...(known.get(file) ?? []), ...names]));
const files = [".ts", ".tsx"]
  .flatMap((ending) => filesIn(root, ["gateway"], ending))
  .filter((file) => file !== journal);
for (const file of files) {
  const left = known.get(file) ?? new Set();
  for (const [name, line] of sumsIn(file))
    if (!left.delete(name)) problems.push(`${file}:${line} ${name} adds amounts of several rows`);
}
// The table of the project says nothing about another root.
if (root === own.replace(/\/$/, ""))
  for (const [file, names] of known)
    for (const name of names) problems.push(`${file}: ${name} needs its reason no more`);
process.stderr.write(problems.map((problem) => `sums: ${problem}\n`).join(""));
if (problems.length > 0) process.exit(1);
process.stdout.write(`sums: ${files.length} files add no balance\n`);
