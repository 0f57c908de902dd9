/**
 * Real processes on a paired server into which somebody wrote while crypto was down: nothing
 * starts, and no new ledger begins.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { stop, until } from "../../lab/kit/processes.ts";
import { startsTheBuild } from "../support/built.ts";
import { pairsOnce } from "../support/paired-crypto.ts";

startsTheBuild();

// One pairing serves: the last test alone leaves another ledger.
const { agent } = pairsOnce();

const segment = (): string => join(agent.state, "signer", "ledger", "00000001.jsonl");
const pairingFile = (): string => join(agent.state, "pairing.json");
const crypto = () => agent.launcher("crypto.js", "--config", agent.config, "--state", agent.state);

const agentId = (): string =>
  (JSON.parse(readFileSync(pairingFile(), "utf8")) as { granted: { agent: string } }).granted.agent;

/**
 * The line that docs/ledger.md lets anybody write: its hash is right, and its MAC is an attacker's
 * guess.
 */
function forgedLine(body: string): string {
  const last = JSON.parse(
    readFileSync(segment(), "utf8").trimEnd().split("\n").at(-1) ?? "",
  ) as Record<string, string>;
  const covered = `{"seq":${Number(last.seq) + 1},"prev":"${last.hash}","at":${last.at},${body}`;
  const own = createHash("sha256").update(`autowithdraw/2 ledger\n${covered}`).digest("hex");
  return `${covered},"hash":"${own}","mac":"${last.mac}"}\n`;
}

async function starts(): Promise<boolean> {
  const running = agent.crypto();
  try {
    return await until("the signer is ready", 60_000, async () =>
      running.output().includes('"event":"signer-ready"') ? true : undefined,
    );
  } finally {
    await stop(running);
  }
}

describe("a paired server", () => {
  it("does not start on a line that another wrote, says which, and verify of the chain alone does not call that sealed", async () => {
    const before = readFileSync(segment(), "utf8");
    writeFileSync(
      segment(),
      before + forgedLine('"kind":"LOCKED","code":"LEDGER_FORKED","detail":""'),
    );
    const ended = await crypto();
    expect(ended.code, ended.output).toBe(4);
    expect(ended.output).toContain("00000001.jsonl line 2");
    expect(ended.output).toContain("LEDGER_FORGED");
    const checked = await agent.cli("verify");
    expect(checked.output).toContain("hashes alone");
    writeFileSync(segment(), before);
    expect(await starts()).toBe(true);
  });

  it("begins no new ledger without encKey, nor with another", async () => {
    const id = agentId();
    const other = join(agent.dir, "other");
    writeFileSync(other, createHash("sha256").update("another").digest("hex"), { mode: 0o600 });
    const refused = await agent.cli(
      "recover",
      "--new-ledger",
      "--yes",
      id,
      "--enc-key-file",
      other,
    );
    expect(refused.code).toBe(2);
    expect(refused.output).toContain("does not open");
    expect(readFileSync(segment(), "utf8")).not.toContain("LEDGER_BEHIND_GATEWAY");
  });

  it("does not start with another gateway's key in pairing.json, and begins no new ledger under it", async () => {
    const id = agentId();
    const before = readFileSync(pairingFile(), "utf8");
    const { granted } = JSON.parse(before) as { granted: { gatewayKey: string } };
    writeFileSync(pairingFile(), before.replace(granted.gatewayKey, "ab".repeat(32)));
    const ended = await crypto();
    expect(ended.code, ended.output).toBe(4);
    expect(ended.output).toContain("PAIRING_FORGED");
    const ledger = readFileSync(segment(), "utf8");
    const withKey = ["recover", "--new-ledger", "--yes", id, "--config", agent.config];
    const refused = await agent.cli(...withKey);
    expect(refused.code).not.toBe(0);
    expect(refused.output).toContain("not what pairing wrote");
    expect(readFileSync(segment(), "utf8")).toBe(ledger);
    expect(
      readdirSync(join(agent.state, "signer")).filter((name) => name.includes("aside")),
    ).toEqual([]);

    writeFileSync(pairingFile(), before);
    expect(await starts()).toBe(true);
    const begun = await agent.cli(...withKey);
    expect(begun.code, begun.output).toBe(0);
    expect(readFileSync(segment(), "utf8")).toContain("LEDGER_BEHIND_GATEWAY");
    expect(
      readdirSync(join(agent.state, "signer")).filter((name) => name.includes("aside")),
    ).toHaveLength(1);
    expect(await starts()).toBe(true);
  });
});
