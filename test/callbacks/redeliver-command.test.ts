/**
 * `callbacks redeliver` as an operator types it: one delivery or all of a target, its refusals, and
 * the same words in its help, its JSON, the docs, the manual page and the completion.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { completionScript } from "../../cli/manual/completion.ts";
import { manualPage } from "../../cli/manual/roff.ts";
import { buildGatewayCommands, runGatewayCommandLine } from "../../gateway/command.ts";
import { addCallback } from "../../gateway/operator/callbacks.ts";
import { isOnPostgres } from "../../lab/kit/fresh-store.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";
import { db, eachTestItsGateway, gateway } from "../support/shop.ts";

eachTestItsGateway();
let target = "";

beforeEach(() => {
  writeFileSync(
    join(gateway.dir, "gateway.config.json"),
    JSON.stringify({ ...testConfig, keyFile: "gateway.key", database: "sqlite:gateway.db" }),
  );
  const { merchantId: merchant } = gateway.merchant;
  const url = "https://shop.example/hook";
  const added = addCallback(
    gateway.operator,
    { merchant, url, events: [] },
    gateway.service.config.callbacks,
  );
  if (!added.ok) throw new Error(added.code);
  target = added.callbackId;
  db().run(
    `INSERT INTO transfers (id, merchant, operation, contentHash, currency, network, amount, units, payer, status, stage,
       createdAt, changedAt, expiresAt)
     VALUES ('a', ?, 'withdraw', '', 'eth', '', '1', '1', '', 2, 'failed', 0, 0, 0)`,
    merchant,
  );
  db().run(
    "INSERT INTO withdrawals (id, merchant, orderId, mode) VALUES ('a', ?, 'a', 'auto')",
    merchant,
  );
  const day = (date: string): number => Date.parse(date);
  for (const [sequence, at, state] of [
    [1, day("2026-01-01"), "given up"],
    [2, day("2026-01-02"), "waiting"],
    [3, day("2026-01-03"), "delivered"],
  ] as const) {
    const event = `msg_${sequence}`;
    db().run(
      "INSERT INTO callbackEvents VALUES (?, ?, ?, 'a', 'withdrawal.created', ?, ?, '{}')",
      sequence,
      event,
      merchant,
      sequence,
      at,
    );
    const sql =
      "INSERT INTO callbackDeliveries (event, target, state, tries, nextAt) VALUES (?, ?, ?, 4, 9000000000000)";
    db().run(sql, event, target, state);
  }
});

async function typed(
  ...line: readonly string[]
): Promise<{ readonly text: string; readonly code: number }> {
  let text = "";
  const take = (part: string | Uint8Array): boolean => {
    text += part.toString();
    return true;
  };
  const spies = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, "write").mockImplementation(take),
  );
  const before = process.exitCode;
  process.exitCode = undefined;
  try {
    await runGatewayCommandLine([
      "callbacks",
      "redeliver",
      ...line,
      "--config",
      join(gateway.dir, "gateway.config.json"),
    ]);
    return { text, code: Number(process.exitCode ?? 0) };
  } finally {
    process.exitCode = before;
    for (const spy of spies) spy.mockRestore();
  }
}

const states = () =>
  db().all<{ state: string; tries: number }>(
    "SELECT state, tries FROM callbackDeliveries ORDER BY id",
  );

// The command opens the file.
describe.skipIf(isOnPostgres)("callbacks redeliver", () => {
  it("takes one by its number, or all of a target that did not arrive since a time", async () => {
    const since = await typed("--callback", target, "--since", "2026-01-02", "--json");
    expect(since.code).toBe(0);
    expect(JSON.parse(since.text)).toEqual({
      callbackId: target,
      since: "2026-01-02T00:00:00.000Z",
      deliveries: 1,
      left: 0,
    });
    expect(states()).toEqual([
      { state: "given up", tries: 4 },
      { state: "waiting", tries: 0 },
      { state: "delivered", tries: 4 },
    ]);
    const all = await typed("--callback", target);
    expect(all).toEqual({
      text: `2 deliveries to ${target} are sent again by the running gateway, the ends of money first.\n`,
      code: 0,
    });
    const one = await typed("3", "--json");
    expect([JSON.parse(one.text), one.code]).toEqual([{ delivery: 3, waiting: true }, 0]);
    expect(states()).toEqual(Array(3).fill({ state: "waiting", tries: 0 }));
  });

  it.each([
    [[], 2, "give a delivery's number, or --callback with a target's id"],
    [["1", "--callback", "cb_1"], 2, "give a delivery's number, or --callback with a target's id"],
    [["1", "--since", "2026-01-01"], 2, "--since needs --callback"],
    [["--callback", "cb_1", "--since", "yesterday"], 2, "a time in UTC"],
    [["--callback", "cb_1"], 1, "there is no such callback target or delivery"],
    [["99"], 1, "there is no such callback target or delivery"],
  ] as const)("%j is refused", async (line, code, words) => {
    const refused = await typed(...line);
    expect([refused.code, refused.text]).toEqual([code, expect.stringContaining(words)]);
    expect(states().map((one) => one.tries)).toEqual([4, 4, 4]);
  });

  it("is the same in help, JSON, docs, manual page and completion", async () => {
    const command = buildGatewayCommands()
      .commands.find((one) => one.name() === "callbacks")
      ?.commands.find((one) => one.name() === "redeliver");
    const options = command?.options.map(({ long }) => long) ?? [];
    expect(options).toEqual(expect.arrayContaining(["--callback", "--since", "--json"]));
    const page = (name: string): string =>
      readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), "utf8");
    const rows = page("cli-json").matchAll(/^\| `redeliver ([^`]+)` \| (.+) \|$/gm);
    const fields = new Map([...rows].map(([, line = "", text = ""]) => [line, text]));
    const keys = async (...line: string[]): Promise<string[]> =>
      Object.keys(JSON.parse((await typed(...line, "--json")).text));
    const names = (line: string): string[] =>
      [...(fields.get(line) ?? "").replace(/\([^)]*\)/g, "").matchAll(/`(\w+)`/g)].map(
        ([, name = ""]) => name,
      );
    expect(names("DELIVERY")).toEqual(await keys("1"));
    expect(names("--callback ID")).toEqual(await keys("--callback", target));
    const told = page("gateway")
      .split("\n")
      .filter((line) => line.includes("callbacks redeliver"));
    expect(told.some((line) => line.includes("--callback ID [--since TIME]"))).toBe(true);
    expect(page("operations")).toContain("`callbacks redeliver --callback ID --since TIME`");
    const manual = manualPage(buildGatewayCommands(), {
      ...{ program: "autowithdraw-gateway", exitCodes: [], seeAlso: [], version: "0" },
      ...{ files: [], environment: [], examples: [] },
    });
    const completion = completionScript("bash", buildGatewayCommands(), {
      program: "autowithdraw-gateway",
      offered: {},
    });
    for (const text of [manual.replaceAll("\\-", "-"), completion])
      for (const option of options) expect(text).toContain(option);
    expect(manual.replaceAll("\\-", "-")).toContain(command?.description());
  });
});
