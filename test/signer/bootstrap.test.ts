/** The settings that `crypto` hands to the signer: every rule of config.json, and no other. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as rest } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { PolicySettings } from "../../agent/config/settings.ts";
import { BootstrapReader } from "../../agent/signer/bootstrap.ts";
import { startsTheBuild } from "../support/built.ts";
import { codeOf } from "../support/memory-ledger.ts";

startsTheBuild();

const everyRule: Required<PolicySettings> = {
  ...{
    maxPerWithdrawal: "5",
    maxPerHour: "6",
    maxPerDay: "7",
    maxFee: "0.1",
    maxFeePerDay: "1",
    maxTip: "50",
  },
  ...{
    holdAbove: "2",
    twoApproversAbove: "3",
    manualReplaceAbove: "2",
    newDestination: { holdAbove: "1", delayMinutes: 5 },
    allow: [],
    deny: [],
  },
  sweeps: { allowed: true, maxFee: "0.1", maxFeePerDay: "1", maxTopUp: "0.1", maxTopUpPerDay: "1" },
};

function frame(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

function handed(policy: object): ReturnType<BootstrapReader["push"]> {
  const settings = {
    chains: { local: { family: "evm", chainId: 31337 } },
    currencies: { eth: { chain: "local", decimal: 18 } },
    policy: { eth: policy },
    ...{
      stuckAfterMinutes: 30,
      stateDir: "/s",
      courierSocket: "/s/c",
      operatorSocket: "/s/o",
      encKeyFrom: "config",
    },
    config: { path: "/config.json", digest: "c0".repeat(32), readAt: 1, readMs: 1 },
  };
  return new BootstrapReader().push(
    Buffer.concat([frame(Buffer.from(JSON.stringify(settings))), frame(Buffer.from("key"))]),
  );
}

describe("the rules handed to the signer", () => {
  it("are all that config.json may hold", () => {
    expect(handed(everyRule)?.settings.policy).toEqual({ eth: everyRule });
  });

  it("are those of the example that is shipped", () => {
    const text = readFileSync(new URL("../../config.example.json", import.meta.url), "utf8");
    const { policy } = JSON.parse(text) as { readonly policy: Readonly<Record<string, object>> };
    expect(Object.keys(policy).length).toBeGreaterThan(0);
    for (const each of Object.values(policy))
      expect(handed(each)?.settings.policy.eth).toEqual(each);
  });

  it("are no others", () => {
    expect(codeOf(() => handed({ ...everyRule, maxTipGwei: "1" }))).toBe("JSON_SHAPE");
  });
});

it.each(["SIGTERM", "SIGINT"] as const)(
  "a signer that waits for its settings ends on %s",
  async (signal) => {
    const program = fileURLToPath(new URL("../../dist/agent/signer/main.js", import.meta.url));
    const child = spawn(process.execPath, [program], { stdio: ["pipe", "ignore", "ignore"] });
    const ended = once(child, "exit");
    await rest(1_500); // it waits in its read by then; a signal that comes earlier ends it too
    expect(child.exitCode).toBeNull();
    child.kill(signal);
    const isEnded = await Promise.race([ended.then(() => true), rest(5_000, false)]);
    child.kill("SIGKILL");
    expect(isEnded).toBe(true);
  },
);
