/**
 * Both tables of problems: of problems that hold together each is told and counted. A limit of a
 * measured field has one home: no file of the product beside the tables of problems,
 * and the file that enforces it, compares such a field with a limit or multiplies one. So has a
 * bound of a setting: its reader.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { readNotify } from "../../agent/config/shape.ts";
import type { JudgedAgent } from "../../agent/problems/judged.ts";
import {
  listConditions as listOfAgent,
  listProblems,
  movingStates,
} from "../../agent/problems/table.ts";
import { roomWarningFactor } from "../../base/problem.ts";
import { booksLateMs } from "../../gateway/books/state.ts";
import { parseConfig } from "../../gateway/config/config.ts";
import { nothingSeen } from "../../gateway/problems/judged.ts";
import { listConditions as listOfGateway } from "../../gateway/problems/table.ts";
import type { ChainStatus } from "../../gateway/watcher/chain-status.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";
import { projectRoot } from "../../lab/kit/kit.ts";

/** Fields, and the names of what is read of them, that only a table of problems judges. */
const measured =
  /^(?:free|freeBytes|freeBytesMin|freeDiskBytesMin|freeDiskBytesMinDefault|walBytes|ledgerAheadMs|clockAheadMs|nativeBalance)$/;
/**
 * The tables with their common part, and the ledger and the database's files, which enforce what
 * the tables tell.
 */
const homes: ReadonlySet<string> = new Set([
  "agent/problems/table.ts",
  "base/problem.ts",
  "gateway/problems/table.ts",
  "agent/ledger/ledger.ts",
  "gateway/store/migrate.ts",
]);
const judging: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.LessThanToken,
  ts.SyntaxKind.LessThanEqualsToken,
  ts.SyntaxKind.GreaterThanToken,
  ts.SyntaxKind.GreaterThanEqualsToken,
  ts.SyntaxKind.EqualsEqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsEqualsToken,
  ts.SyntaxKind.AsteriskToken,
]);
/** Signs of a value that is not known. */
const unknown = /^(?:0|-1|null|undefined|"")$/;

/** The name that an operand ends in: of a variable, a field or a call. */
function nameOf(operand: ts.Expression): string {
  if (ts.isIdentifier(operand)) return operand.text;
  if (ts.isPropertyAccessExpression(operand)) return operand.name.text;
  if (ts.isCallExpression(operand) || ts.isParenthesizedExpression(operand))
    return nameOf(operand.expression);
  return "";
}

function judgementsIn(file: string, text: string): readonly string[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const look = (node: ts.Node): void => {
    if (ts.isBinaryExpression(node) && judging.has(node.operatorToken.kind)) {
      const { left, right } = node;
      const isMeasured = measured.test(nameOf(left)) || measured.test(nameOf(right));
      if (isMeasured && !unknown.test(left.getText()) && !unknown.test(right.getText()))
        found.push(`${file}: ${node.getText()}`);
    }
    ts.forEachChild(node, look);
  };
  look(source);
  return found;
}

/** The files that read the settings of both programs. */
const settingsFiles = /^(?:(?:agent|gateway)\/config\/.*|(?:base|chains)\/settings)\.ts$/;
const readers = /^(?:integer|string|list|record|positive|positiveReader)$/;
const comparing: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.LessThanToken,
  ts.SyntaxKind.LessThanEqualsToken,
  ts.SyntaxKind.GreaterThanToken,
  ts.SyntaxKind.GreaterThanEqualsToken,
]);

/** True for a number that is a bound, and neither a beginning nor a sign. */
const isBound = (node: ts.Node): boolean =>
  ts.isNumericLiteral(node) && Number(node.text.replaceAll("_", "")) > 1;

const holdsBound = (node: ts.Node): boolean => isBound(node) || node.getChildren().some(holdsBound);

/** The settings whose readers have a number as a bound, in the order of the text. */
function boundedSettingsIn(file: string, text: string): readonly string[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const look = (node: ts.Node): void => {
    if (ts.isPropertyAssignment(node) && ts.isCallExpression(node.initializer)) {
      const { expression, arguments: given } = node.initializer;
      if (readers.test(nameOf(expression)) && given.some(holdsBound))
        found.push(node.name.getText());
    }
    ts.forEachChild(node, look);
  };
  look(source);
  return found;
}

/** The comparisons of such a setting with a number. */
function boundsTypedIn(
  file: string,
  text: string,
  settings: ReadonlySet<string>,
): readonly string[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const look = (node: ts.Node): void => {
    if (ts.isBinaryExpression(node) && comparing.has(node.operatorToken.kind)) {
      const { left, right } = node;
      const isSetting = settings.has(nameOf(left)) || settings.has(nameOf(right));
      if (isSetting && (isBound(left) || isBound(right))) found.push(`${file}: ${node.getText()}`);
    }
    ts.forEachChild(node, look);
  };
  look(source);
  return found;
}

const rules = readFileSync(join(projectRoot, "packaging/monitoring/prometheus-rules.yml"), "utf8");

/** The expression of a rule for Prometheus, and how many minutes it has to hold. */
function ruleOf(name: string): readonly [expression: string, minutes: number] {
  const [, rule = ""] = rules.split(`- alert: ${name}\n`);
  const [, expression = ""] = /^ *expr: (.*)$/m.exec(rule) ?? [];
  const [, minutes = "0"] = /^ *for: (\d+)m$/m.exec(rule.split("- alert: ")[0] ?? "") ?? [];
  return [expression, Number(minutes)];
}

const productFiles = (parts: readonly string[]): readonly string[] =>
  parts.flatMap((part) =>
    readdirSync(join(projectRoot, part), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => `${part}/${name}`),
  );
const read = (file: string): string => readFileSync(join(projectRoot, file), "utf8");

describe("problems of one kind that hold together", () => {
  const delays = (["CHAIN_FINAL_STALE", "NODE_HISTORY_SHORT"] as const).map((code) => {
    return { code, words: `words of ${code}`, plain: "" };
  });
  const agent: JudgedAgent = {
    ...{ agent: "a", locked: "", recovery: "", link: "up", linkDetail: "", stops: [] },
    ...{ room: null, isConfigSplit: null, chains: [], waits: [], unbegun: [], lowFunds: [] },
    ...{ withdrawals: [], operator: null },
    voice: { command: () => "", moment: String },
  };
  const chain = {
    ...{ chain: "eth", ok: true, isAsking: false, detail: "", poorNodes: [] },
    ...{ nativeBalance: "", isBalanceKnown: true },
  };
  const subjects = ["eth CHAIN_FINAL_STALE", "eth NODE_HISTORY_SHORT"];

  it("are an alert each, for every cause of late payments on a chain, on either side", () => {
    const told = listOfAgent(
      { ...agent, chains: [{ ...chain, delays }] },
      { stuckMinutes: 1, awayMinutes: 1 },
    );
    expect(told.conditions.map(({ subject }) => subject)).toEqual(subjects);
    const seen = { chain: "eth", ok: true, nodes: [], delays } as unknown as ChainStatus;
    const chains = [{ chain: "eth", status: () => seen }];
    const toldHere = listOfGateway({ ...nothingSeen, chains }, { agentAwayMinutes: 1 });
    expect(toldHere.map(({ subject }) => subject)).toEqual(subjects);
  });

  it("are counted each, for every limit of fees that withdrawals wait for", () => {
    const codes = ["ABOVE_DAY", "ABOVE_WITHDRAWAL", "ABOVE_WITHDRAWAL"];
    const waits = codes.map((code, at) => {
      const why = `fee POLICY_FEE_${code}`;
      return { transactionId: `${at}`, why, chain: "eth", currency: "eth" };
    });
    expect(listProblems({ ...agent, waits }).map(({ what }) => what)).toEqual([
      "1 wait for lower fees (POLICY_FEE_ABOVE_DAY)",
      "2 wait for lower fees (POLICY_FEE_ABOVE_WITHDRAWAL)",
    ]);
    const times = { stuckMinutes: 1, awayMinutes: 1 };
    for (const { context } of listOfAgent({ ...agent, waits }, times).conditions)
      expect(context).toEqual({ waiting: 3 });
  });
});

describe("a limit of a problem", () => {
  it("stands in the table of its side alone", () => {
    const files = productFiles(["agent", "base", "cli", "gateway"]);
    expect(files).toContain("cli/doctor/machine.ts");
    const found = files
      .filter((file) => !homes.has(file))
      .flatMap((file) => judgementsIn(file, read(file)));
    expect(found).toEqual([]);
  });

  it("is found where it is typed again, and a sign of an unknown value is none", () => {
    expect(judgementsIn("a.ts", "if (freeBytes < min * 4) f();")).toHaveLength(1);
    expect(judgementsIn("a.ts", "const low = status.freeBytes() < 268_435_456;")).toHaveLength(1);
    expect(judgementsIn("a.ts", "const most = freeDiskBytesMin * 4;")).toHaveLength(1);
    expect(judgementsIn("a.ts", 'f(freeBytes < 0, free === null, nativeBalance !== "");')).toEqual(
      [],
    );
  });

  it("is the one of the rules for Prometheus", () => {
    const factors = [...rules.matchAll(/free_bytes < (\d+) \* \w+free_bytes_min/g)];
    expect(factors.map(([, factor]) => Number(factor))).toEqual([
      roomWarningFactor,
      roomWarningFactor,
    ]);
  });

  it("is the default of its setting, or the books' own, in the rules for Prometheus", () => {
    const command = ["/usr/local/bin/tell"];
    const { stuckMinutes, awayMinutes } = readNotify({ command }, {});
    const file = JSON.stringify({ ...testConfig, alerts: { command } });
    const { alerts } = parseConfig(file, "/", 0);
    const states = [...movingStates].join("|");
    expect([ruleOf("AutowithdrawStuck")[0], ruleOf("AutowithdrawBooksUnclosed")[0]]).toEqual([
      `autowithdraw_withdrawal_oldest_seconds{state=~"${states}"} > ${stuckMinutes * 60}`,
      `autowithdraw_gateway_books_closed_seconds > ${booksLateMs / 1000}`,
    ]);
    const away = ["AutowithdrawLinkDown", "AutowithdrawChainDown"];
    expect(away.map((name) => ruleOf(name)[1])).toEqual([awayMinutes, awayMinutes]);
    const gatewayAway = ["AutowithdrawAgentAway", "AutowithdrawGatewayChainDown"].map(ruleOf);
    for (const [, minutes] of gatewayAway) expect(minutes).toBe(alerts?.agentAwayMinutes);
    // A rule without a time of its own does not borrow that of the next one.
    expect(ruleOf("AutowithdrawLocked")[1]).toBe(0);
  });
});

describe("a bound of a setting", () => {
  it("stands at its reader alone", () => {
    const files = productFiles(["agent", "base", "chains", "cli", "gateway", "protocol"]);
    const bounded = files
      .filter((file) => settingsFiles.test(file))
      .flatMap((file) => boundedSettingsIn(file, read(file)));
    expect(bounded).toContain("depositMinutes");
    expect(bounded).toContain("timeoutSeconds");
    expect(bounded.filter((name, at) => bounded.indexOf(name) !== at)).toEqual([]);
    const settings = new Set(bounded);
    expect(files.flatMap((file) => boundsTypedIn(file, read(file), settings))).toEqual([]);
  });

  it("is found where it is typed again, and the name of a bound is none", () => {
    const shape = "const a = { few: integer({ min: 1, max: 60 }), any: string(), on: f(60) };";
    expect(boundedSettingsIn("a.ts", shape)).toEqual(["few"]);
    expect(
      boundedSettingsIn("a.ts", "const a = { few: integer({ min: 1, max: fewMax }) };"),
    ).toEqual([]);
    const few = new Set(["few"]);
    expect(boundsTypedIn("b.ts", "if (settings.few > 60) f();", few)).toHaveLength(1);
    expect(boundsTypedIn("b.ts", "f(few < 1, few === 60, few > fewMax, many > 60);", few)).toEqual(
      [],
    );
  });
});
