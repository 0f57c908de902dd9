/**
 * Pairing run again: on a paired server, on a damaged one, and after every place at which it was
 * cut.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";
import { start, until } from "../../lab/kit/processes.ts";
import { knownMnemonic } from "../support/agent-folder.ts";
import {
  agent,
  eachTestItsPairing,
  fill,
  gateway,
  lastJson,
  ledgerLines,
  otherMnemonic,
  progress,
} from "../support/pairing.ts";

eachTestItsPairing();

describe("a second run", () => {
  it("says so and changes nothing", async () => {
    fill();
    await agent.pair();
    const before = agent.contents();
    const again = await agent.pair();
    expect(again.code).toBe(0);
    expect(again.output).toContain("paired already");
    expect(again.output).toContain(gateway.shortCode);
    expect(agent.contents()).toEqual(before);
    rmSync(agent.config);
    expect((await agent.pair()).code).toBe(0);
    expect(gateway.requests.length).toBe(1);
  });

  it("takes secrets out again that somebody wrote back", async () => {
    fill();
    await agent.pair();
    fill();
    const again = await agent.pair("--json");
    expect(again.code, again.output).toBe(0);
    expect(lastJson(again.output).alreadyPaired).toBe(true);
    expect(readFileSync(agent.config, "utf8")).not.toMatch(/mnemonic|apiKey/);
    expect(gateway.requests.length).toBe(1);
  });

  it("refuses another wallet and touches nothing of it", async () => {
    fill();
    await agent.pair();
    fill({ mnemonic: otherMnemonic });
    const before = agent.contents();
    const again = await agent.pair();
    expect(again.code).toBe(1);
    expect(again.output).toContain("keystore of another wallet");
    before.forEach((content, name) => {
      if (!name.endsWith("lock")) expect(agent.contents().get(name), name).toBe(content);
    });
  });

  it("goes on without the mnemonic once the wallet is sealed: its keys still prove themselves", async () => {
    gateway.say(503, "unavailable", "Not now.");
    fill();
    expect((await agent.pair()).code).toBe(3);
    gateway.scripted = null;
    agent.writeConfig(gateway.url, { apiKey: gateway.apiKey });
    const unopened = await agent.pair();
    expect([unopened.code, gateway.requests.length]).toEqual([2, 1]);
    expect(unopened.output).toContain("encKey");
    agent.writeConfig(gateway.url, { apiKey: gateway.apiKey, encKey: agent.encKey });
    const paired = await agent.pair();
    expect(paired.code, paired.output).toBe(0);
    expect(progress().step).toBe("scrubbed");
  });

  it("refuses another encKey than the keystore's", async () => {
    gateway.say(503, "unavailable", "Not now.");
    fill();
    expect((await agent.pair()).code).toBe(3);
    fill({ encKey: createHash("sha256").update("another").digest("hex") });
    const again = await agent.pair();
    expect(again.code).toBe(2);
    expect(again.output).toContain("the keystore does not open");
  });
});

describe("a damaged state folder", () => {
  const exitReason = "state/run/exit-reason.both.json";

  it.each([
    ["signer/keystore.json", 2, ""],
    ["courier/link.json", 2, ""],
    [
      "signer/ledger",
      4,
      "hint: restore the newest backup; where there is none: recover --new-ledger, after docs/recovering.md",
    ],
  ])(
    "without %s: crypto and pair name it, say what to do, and change nothing but the exit reason",
    async (name, cryptoExit, hint) => {
      fill();
      expect((await agent.pair()).code).toBe(0);
      const id = JSON.parse(readFileSync(join(agent.state, "pairing.json"), "utf8")).granted.agent;
      rmSync(join(agent.state, name), { recursive: true });
      for (const isRefilled of [false, true]) {
        if (isRefilled) fill();
        const before = agent.contents();
        const crypto = await agent.launcher(
          "crypto.js",
          "--config",
          agent.config,
          "--state",
          agent.state,
        );
        const pair = await agent.pair();
        expect([crypto.code, pair.code]).toEqual([cryptoExit, 2]);
        for (const { output } of [crypto, pair]) {
          expect(output).toContain(join(agent.state, name));
          const byRelease = `hint: restore it from a backup, or have the service release this agent (agents unpair ${id})`;
          expect(output).toContain(hint === "" ? byRelease : hint);
        }
        const after = agent.contents();
        expect(after.get(exitReason)).toContain(name);
        const rest = [before, after].map((contents) =>
          [...contents].filter(([path]) => path !== exitReason),
        );
        expect(rest[1]).toEqual(rest[0]);
      }
    },
  );

  it("does not seal a second keystore for a pairing that was begun", async () => {
    gateway.say(503, "unavailable", "Not now.");
    fill();
    expect((await agent.pair()).code).toBe(3);
    rmSync(join(agent.state, "signer", "keystore.json"));
    const again = await agent.pair();
    expect(again.code).toBe(1);
    expect(again.output).toContain("holds no keystore");
    expect(existsSync(join(agent.state, "signer", "keystore.json"))).toBe(false);
  });
});

describe("a pairing that was cut", () => {
  it("keeps the sealed keystore while the gateway is away, and goes on with the same keys", async () => {
    fill();
    await gateway.close();
    const away = await agent.pair("--json");
    expect(away.code).toBe(3);
    expect(lastJson(away.output)).toMatchObject({ ok: false, code: "PAIRING_AWAY" });
    expect(away.output).toContain("hint: the sealed keystore is kept");
    expect(progress().step).toBe("sealed");
    expect(readFileSync(agent.config, "utf8")).toContain(knownMnemonic);
    const { signerKey } = progress().wallet;
    const early = await agent.launcher(
      "crypto.js",
      "--config",
      agent.config,
      "--state",
      agent.state,
    );
    expect(early.code).toBe(2);
    expect(early.output).toContain("pairing was begun but not finished");
    await gateway.open();
    const back = await agent.pair();
    expect(back.code, back.output).toBe(0);
    expect(gateway.requests[0]?.transcript.signerKey).toBe(signerKey);
  });

  it("registers the same keys again when it was killed while the gateway answered", async () => {
    fill();
    let killed = false;
    const args = [join(projectRoot, "pair.js"), "--config", agent.config, "--state", agent.state];
    const first = start(process.execPath, args, { logFile: agent.log });
    gateway.scripted = (response) => {
      first.child.kill("SIGKILL");
      killed = true;
      setTimeout(() => response.destroy(), 100);
    };
    await first.ended;
    await until("the request", 120_000, async () => (killed ? true : undefined));
    gateway.scripted = null;
    const again = await agent.pair();
    expect(again.code, again.output).toBe(0);
    const [one, two] = gateway.requests;
    expect(two?.transcript.signerKey).toBe(one?.transcript.signerKey);
    expect(two?.transcript.linkKey).toBe(one?.transcript.linkKey);
    expect(two?.transcript.nonce).not.toBe(one?.transcript.nonce);
  });

  it("does not ask the gateway again once it granted", async () => {
    fill();
    // The link's file cannot take its place: the fault comes after the grant and after the ledger's
    // first record.
    mkdirSync(join(agent.state, "courier", "link.json.new"), { recursive: true, mode: 0o700 });
    const cut = await agent.pair();
    expect(cut.code, cut.output).toBe(1);
    expect(cut.output).toContain("link.json could not be written");
    expect(progress().step).toBe("granted");
    rmdirSync(join(agent.state, "courier", "link.json.new"));
    const again = await agent.pair();
    expect(again.code, again.output).toBe(0);
    expect(gateway.requests.length).toBe(1);
    expect(ledgerLines().length).toBe(1);
  });

  it("is paired, and says what is left, when config.json cannot be rewritten", async () => {
    const before = fill();
    mkdirSync(`${agent.config}.new`);
    const cut = await agent.pair();
    expect(cut.code).toBe(1);
    expect(cut.output).toContain("cannot be rewritten");
    expect(progress().step).toBe("registered");
    expect(readFileSync(agent.config, "utf8")).toBe(before);
    rmdirSync(`${agent.config}.new`);
    const again = await agent.pair();
    expect(again.code, again.output).toBe(0);
    expect(readFileSync(agent.config, "utf8")).not.toContain("junk");
    expect(gateway.requests.length).toBe(1);
  });

  it("never begins a second ledger where its progress was lost", async () => {
    fill();
    await agent.pair();
    rmSync(join(agent.state, "pairing.json"));
    fill();
    const again = await agent.pair();
    expect(again.code).toBe(1);
    expect(again.output).toContain("holds a ledger, yet pairing never came that far");
    expect(gateway.requests.length).toBe(1);
  });
});
