/**
 * The table of codes: each has a heading in its source and is used somewhere, and causes and
 * dangers have the hints that they promise.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { adviceOf, causes, dangerOf } from "../../base/causes.ts";
import { type Code, codes } from "../../base/codes.ts";
import { actOfAlarm, alarmOf } from "../../gateway/store/audit.ts";
import { readCodeGroups } from "../../packaging/docs/operator-tables.ts";

/**
 * Codes that exist only because a ledger or a database can be restored, copied or lost. Codes that
 * an attack or a defect needs as well, such as LEDGER_FORGED, HUB_SLOT_REUSED or
 * CHAIN_SLOT_FOREIGN, are not among them.
 */
const forRecovery: readonly Code[] = [
  ...(["LEDGER_BEHIND_GATEWAY", "LEDGER_FORKED", "SLOT_CONTESTED", "ACCOUNT_BEHIND"] as const),
  ...(["RECOVERY_OFFERED", "RECOVERY_HOLD", "RECOVERY_COUNT", "RECOVERY_BOTH"] as const),
  ...(["RECOVERY_NONE", "RECOVERY_SLOT", "RECOVERY_OFFER"] as const),
  ...([
    "HUB_LEDGER_FORKED",
    "HUB_DATABASE_BEHIND",
    "HUB_ORDER_REPLACED",
    "AGENT_BEHIND",
    "GATEWAY_AGENT_NOT_CAUGHT_UP",
  ] as const),
];

const root = fileURLToPath(new URL("../..", import.meta.url));
const tablesOfCodes = ["base/codes.ts", "base/codes-gateway.ts"];
const read = (path: string): string => readFileSync(join(root, path), "utf8");

function sourcesUnder(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : sourcesUnder(path);
    return /\.tsx?$/.test(path) && !tablesOfCodes.includes(path) ? [path] : [];
  });
}

describe("codes", () => {
  it("whose causes want different acts have a hint for each, and the stored alarm keeps its cause", () => {
    const several = Object.entries(causes).map(([code, rows]) => [code, Object.keys(rows)]);
    expect(several).toEqual([
      ["WATCHER_SLOT_CONSUMED", ["foreign", "unconfigured"]],
      ["WATCHER_PAYMENT_FAILED", ["reverted", "consumed"]],
      ["WATCHER_FINAL_REORG", ["payment", "deposit", "chain"]],
      ["BOOKS_DIFFERENCE", ["hot", "deposit-less", "deposit-more"]],
    ]);
    for (const [code, rows] of Object.entries(causes)) {
      const hints = Object.keys(rows).map((cause) => adviceOf(code, cause));
      expect(new Set([...hints, codes[code as Code].advice]).size, code).toBe(hints.length + 1);
    }
    expect(alarmOf(actOfAlarm({ code: "BOOKS_DIFFERENCE", cause: "hot" }))).toEqual({
      code: "BOOKS_DIFFERENCE",
      cause: "hot",
    });
    expect(alarmOf(actOfAlarm({ code: "CLOCK_SKEW" }))).toEqual({ code: "CLOCK_SKEW", cause: "" });
    // An alarm of before causes were stored counts as the gravest one.
    expect([adviceOf("BOOKS_DIFFERENCE"), dangerOf("BOOKS_DIFFERENCE")]).toEqual([
      causes.BOOKS_DIFFERENCE.hot[2],
      "theft",
    ]);
    expect(dangerOf("WATCHER_FINAL_REORG")).toBe("twice");
    expect([
      adviceOf("CLOCK_SKEW"),
      adviceOf("FROM_A_LATER_VERSION"),
      adviceOf("toString", "call"),
    ]).toEqual([...[codes.CLOCK_SKEW.advice, "", ""]]);
  });

  it("that may be a theft say pause first, then compare, then move the funds, and no code of work says pause", () => {
    const each = [
      ...Object.entries(codes).flatMap(([code, { kind }]) =>
        kind === "alarm" && !(code in causes) ? [[code, ""] as const] : [],
      ),
      ...Object.entries(causes).flatMap(([code, rows]) =>
        Object.keys(rows).map((cause) => [code, cause] as const),
      ),
    ];
    const ofDanger = (danger: string) =>
      each.filter(([code, cause]) => dangerOf(code, cause) === danger);
    // These sign nothing any more when they are raised.
    const stands = ["CHAIN_SLOT_FOREIGN", "COURIER_ACCOUNT_CODE", "ACCOUNT_KEY_CHANGED"];
    for (const [code, cause] of ofDanger("theft")) {
      const hint = adviceOf(code, cause);
      expect(hint, code).toMatch(/move the funds/);
      if (!stands.includes(code)) expect(hint, code).toMatch(/pause.*move the funds/);
    }
    for (const [code, cause] of ofDanger("work"))
      expect(adviceOf(code, cause), code).not.toMatch(/pause\b|move the funds/);
    expect(ofDanger("theft").length).toBeGreaterThan(7);
  });

  it("are all read from the source", () => {
    expect(readCodeGroups(root).flatMap(({ names }) => names)).toEqual(Object.keys(codes));
  });

  it("name their room first and say what each column promises", () => {
    for (const [name, { kind, effect, meaning, advice }] of Object.entries(codes)) {
      expect(name).toMatch(/^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$/);
      expect(meaning.trim(), name).not.toBe("");
      expect(advice.trim(), name).not.toBe("");
      // An expected no happens before anything outside does.
      if (kind === "refusal") expect(effect, name).toBe("none");
    }
  });

  it("of a recovery are few, and all others that speak of one lead to it", () => {
    expect(forRecovery.length).toBeLessThanOrEqual(16);
    const speaking = Object.entries(codes).filter(([name, { meaning }]) =>
      /^RECOVERY_|(?:was|were) (?:both )?restored|from a backup|recover/.test(`${name} ${meaning}`),
    );
    expect(
      speaking.map(([name]) => name).filter((name) => !forRecovery.includes(name as Code)),
    ).toEqual([]);
  });

  it("of errors are all used", () => {
    const text = ["base", "protocol", "chains", "agent", "cli", "clients", "gateway", "packaging"]
      .flatMap(sourcesUnder)
      .map(read)
      .join("\n");
    expect(Object.keys(codes).filter((name) => !text.includes(`"${name}"`))).toEqual([]);
  });
});
