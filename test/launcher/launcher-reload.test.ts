/**
 * SIGHUP and exit reason of a running `crypto`: a changed config.json is taken when it is in order,
 * else the old one stays in force.
 */

import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readExitReason } from "../../agent/exit-reason.ts";
import { stateFolder } from "../../agent/files/state-folder.ts";
import { foreignFolderWarning, terminalIsGone } from "../../agent/launcher/environment.ts";
import { SettingsReload } from "../../agent/launcher/reload.ts";
import { AgentError } from "../../base/fault.ts";
import { startsTheBuild } from "../support/built.ts";
import { childOf, pairsOnce, says } from "../support/paired-crypto.ts";

startsTheBuild();

const { agent, begin } = pairsOnce();

const policyOf = async (): Promise<string> => {
  const { output } = await agent.cli("status", "--json");
  return output;
};
type Written = { policy: { eth: Record<string, unknown> }; chains: { local: { chainId: number } } };
const change = (edit: (config: Written) => void): string => {
  const before = readFileSync(agent.config, "utf8");
  const config = JSON.parse(before) as Written;
  edit(config);
  writeFileSync(agent.config, `${JSON.stringify(config, null, 2)}\n`);
  return before;
};

describe("SIGHUP", () => {
  it("takes a lowered limit, and says when there is nothing to take", async () => {
    const started = begin();
    await says(started, "crypto: ready");
    const first = childOf(started, "signer");
    started.child.kill("SIGHUP");
    await says(started, "config.json has not changed; nothing was done");
    expect(childOf(started, "signer")).toBe(first);
    expect(await policyOf()).not.toContain("0.0625");
    const before = change(({ policy }) => {
      policy.eth.maxPerWithdrawal = "0.0625";
    });
    started.child.kill("SIGHUP");
    await says(started, "config.json was changed and is in order; starting again with it");
    await says(started, "crypto: ready", 2);
    expect(childOf(started, "signer")).not.toBe(first);
    expect(started.child.exitCode).toBeNull();
    expect(await policyOf()).toContain("0.0625");
    // The same launcher, lock and encKey serve the way back.
    writeFileSync(agent.config, before);
    started.child.kill("SIGHUP");
    await says(started, "crypto: ready", 3);
    expect(await policyOf()).not.toContain("0.0625");
  });

  it("keeps the old settings, and says why, when the new ones do not check or the signer refuses them", async () => {
    const started = begin();
    await says(started, "crypto: ready");
    const first = childOf(started, "signer");
    const before = change(({ policy }) => {
      policy.eth.maxPerDai = "7";
    });
    started.child.kill("SIGHUP");
    await says(started, "config.json was not taken: ");
    expect(started.output()).toMatch(
      /config\.json was not taken: .*maxPerDai.*; the old settings stay in force\. hint: .+\n/,
    );
    writeFileSync(agent.config, before);
    change(({ policy }) => {
      policy.eth.maxPerDay = "1.0000000000000000001";
    });
    started.child.kill("SIGHUP");
    await says(started, "config.json was not taken: ", 2);
    expect(childOf(started, "signer")).toBe(first);
    // The file is correct by itself, but this wallet was not sealed for the network: only the
    // signer knows that.
    writeFileSync(agent.config, before);
    change(({ chains }) => {
      chains.local.chainId = 5;
    });
    started.child.kill("SIGHUP");
    await says(started, "config.json was not taken: ", 3);
    expect(started.output()).toContain(
      "is not among the networks this wallet was paired for; the old settings stay in force",
    );
    await says(started, "crypto: ready", 2);
    expect(childOf(started, "signer")).not.toBe(first);
    writeFileSync(agent.config, before);
    expect((await agent.cli("verify")).output).toContain("the ledger is whole");
  });

  it("goes back to what last ran, and no further", () => {
    const said: string[] = [];
    let next = { digest: "b" };
    const reload = new SettingsReload({
      first: { digest: "a" },
      read: () => next,
      say: (_event, line) => said.push(line),
      ...{ unchangedHint: "", isCopy: false },
    });
    const verdict = { exitCode: 2, code: "X", message: "no", hint: "yes" };
    expect(reload.goBack(verdict)).toBe(false);
    reload.request();
    next = { digest: "c" };
    reload.request();
    expect(reload.goBack(verdict)).toBe(true);
    expect(reload.current.digest).toBe("a");
    expect(reload.goBack(verdict)).toBe(false);
    reload.request();
    reload.keep();
    expect(reload.goBack(verdict)).toBe(false);
    expect(reload.current.digest).toBe("c");
    const broken = new SettingsReload({
      first: { digest: "a" },
      read: () => {
        throw new AgentError("CONFIG_JSON", "none", "line 3");
      },
      say: (_event, line) => said.push(line),
      ...{ unchangedHint: "", isCopy: false },
    });
    broken.request();
    expect(said.at(-1)).toContain("line 3; the old settings stay in force");
  });
});

describe("exit reason", () => {
  it("the exit reason is left when crypto cannot start, and taken away when it is up again", async () => {
    const state = stateFolder(agent.state);
    const before = change(({ policy }) => {
      policy.eth.maxPerDai = "7";
    });
    const refused = begin();
    expect(await refused.ended).toBe(2);
    const [left, ...others] = readExitReason(state);
    expect(others).toEqual([]);
    expect(left).toMatchObject({
      role: "both",
      code: "CONFIG_UNKNOWN_KEY",
      message: expect.stringContaining("maxPerDai"),
    });
    writeFileSync(agent.config, before);
    const started = begin();
    await says(started, "crypto: ready");
    expect(readExitReason(state)).toEqual([]);
    // A second start beside the running crypto leaves no exit reason.
    const second = begin();
    expect(await second.ended).toBe(1);
    expect(readExitReason(state)).toEqual([]);
  });

  it("the exit reason is left when the signer refuses to go on", async () => {
    const keystore = join(agent.state, "signer", "keystore.json");
    const kept = readFileSync(keystore);
    const { mode } = statSync(keystore);
    try {
      writeFileSync(
        keystore,
        kept.toString("utf8").replace(/[0-9a-f]{8}(?="\s*}\s*$)/, "00000000"),
        { mode },
      );
      const refused = begin();
      expect(await refused.ended).toBe(2);
      expect(readExitReason(stateFolder(agent.state))).toMatchObject([
        { role: "both", code: expect.stringMatching(/^KEYSTORE_/) },
      ]);
    } finally {
      writeFileSync(keystore, kept, { mode });
    }
  });
});

describe("the environment of crypto", () => {
  it("a folder of another user warns root, and does not warn its owner", () => {
    expect(foreignFolderWarning(agent.dir, 1)).toBe("");
    expect(foreignFolderWarning(join(agent.dir, "gone"), 0)).toBe("");
    const { uid } = statSync(agent.dir);
    expect(foreignFolderWarning(agent.dir, 0) === "").toBe(uid === 0);
    // Every Linux has a folder of another user: this process's own under /proc, seen by root,
    // unless root runs it.
    expect(foreignFolderWarning("/proc/self", 0) === "").toBe(uid === 0);
  });

  it("a terminal is gone only for a process that had one", () => {
    expect(terminalIsGone(false)).toBe(false);
  });
});
