/**
 * rekey, backup and restore as an operator types them, on a paired server: crypto starts with the
 * new encKey only, a backup is made beside a running signer, and a restore gives the same agent.
 */
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openKeystoreIn } from "../../agent/keystore/file.ts";
import { wipeKeystore } from "../../agent/keystore/keystore.ts";
import { runAgentCommand } from "../../lab/kit/commands.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { type StartedProcess, stop, until } from "../../lab/kit/processes.ts";
import { AgentFolder, knownMnemonic, type Ran } from "../support/agent-folder.ts";
import { startsTheBuild } from "../support/built.ts";
import { PairingGateway } from "../support/pairing-gateway.ts";

startsTheBuild();

const gateway = new PairingGateway();
const agent = new AgentFolder();
const encKeyFile = join(agent.dir, "encKey");
const running: StartedProcess[] = [];

beforeAll(async () => {
  await gateway.open();
  agent.writeConfig(gateway.url, { mnemonic: knownMnemonic, apiKey: gateway.apiKey });
  writeFileSync(encKeyFile, `${agent.encKey}\n`, { mode: 0o600 });
  const done = await agent.pair("--enc-key-file", encKeyFile);
  if (done.code !== 0) throw new Error(done.output);
  await gateway.close();
});
afterEach(async () => {
  for (const started of running.splice(0)) await stop(started);
});
afterAll(() => agent.remove());

const at = (name: string): string => join(agent.dir, name);
const withKey = (file = encKeyFile): string[] => ["--enc-key-file", file];

async function begin(keyFile = encKeyFile): Promise<StartedProcess> {
  const started = agent.crypto(withKey(keyFile));
  running.push(started);
  await until(
    "crypto ready",
    120_000,
    async () => (started.output().includes("crypto: ready") ? true : undefined),
    started.output,
  );
  return started;
}

function stateOf(folder: string, ...words: string[]): Promise<Ran> {
  return runAgentCommand([...words, "--state", folder]);
}

const lastLine = (text: string): string => text.trimEnd().split("\n").at(-1) ?? "";

function opens(folder: string, key: string): boolean {
  try {
    wipeKeystore(openKeystoreIn(join(folder, "signer"), Buffer.from(key)));
    return true;
  } catch {
    return false;
  }
}

describe("backup", () => {
  it("a backup beside a running signer ends with its durable head, is 0600, and shows no secret", async () => {
    await begin();
    const head = JSON.parse(lastLine((await agent.cli("status", "--json")).output)).status.head;
    const made = await agent.cli(
      "backup",
      at("running.backup"),
      ...withKey(),
      "--config",
      agent.config,
      "--json",
    );
    expect(made.code, made.output).toBe(0);
    const { manifest } = JSON.parse(lastLine(made.output));
    expect([manifest.head, manifest.isRunning, manifest.hasKeys]).toEqual([head, true, true]);
    expect(manifest.parts.map(({ name }: { name: string }) => name)).toEqual([
      ...["ledger/00000001.jsonl", "link.json", "config.json", "keystore.json", "pairing.json"],
    ]);
    expect(statSync(at("running.backup")).mode & 0o777).toBe(0o600);
    expect(existsSync(at("running.backup.tmp"))).toBe(false);
    const bytes = readFileSync(at("running.backup"), "latin1");
    for (const name of ["courier/link.json", "signer/keystore.json", "pairing.json"]) {
      const text = readFileSync(join(agent.state, name), "latin1");
      for (const word of text.match(/[0-9a-zA-Z]{20,}/g) ?? [])
        expect(bytes, `${name}: ${word}`).not.toContain(word);
    }
    expect(bytes).not.toContain(agent.encKey);
  });

  it("says how to keep it and what restoring means; never over a file that is there, unless told", async () => {
    const first = await agent.cli(
      "backup",
      at("plain.backup"),
      ...withKey(),
      "--config",
      agent.config,
    );
    expect(first.code, first.output).toBe(0);
    expect(first.output).toMatch(/encKey is not in it/);
    expect(first.output).toContain("docs/recovering.md, section 3");
    const before = readFileSync(at("plain.backup"));
    const again = await agent.cli("backup", at("plain.backup"), ...withKey());
    expect([again.code, again.output]).toEqual([
      1,
      expect.stringContaining("is there already\nhint: name another file, or give --yes"),
    ]);
    expect(readFileSync(at("plain.backup")).equals(before)).toBe(true);
    expect((await agent.cli("backup", at("plain.backup"), ...withKey(), "--yes")).code).toBe(0);
    expect(readFileSync(at("plain.backup")).equals(before)).toBe(false);
  });

  it("is not made under an encKey that does not open the keystore", async () => {
    writeFileSync(at("wrong"), randomBytes(32).toString("hex"), { mode: 0o600 });
    const done = await agent.cli("backup", at("wrong.backup"), ...withKey(at("wrong")));
    expect([done.code, done.output]).toEqual([
      2,
      expect.stringContaining("the keystore does not open"),
    ]);
    expect(existsSync(at("wrong.backup")) || existsSync(at("wrong.backup.tmp"))).toBe(false);
  });

  it("--check opens it with its encKey alone, and names what was changed", async () => {
    await agent.cli("backup", at("check.backup"), ...withKey());
    const good = await agent.cli("backup", "--check", at("check.backup"), ...withKey());
    expect([good.code, good.output]).toEqual([0, expect.stringContaining("the backup is whole")]);
    writeFileSync(at("other"), randomBytes(32).toString("hex"), { mode: 0o600 });
    const wrong = await agent.cli("backup", "--check", at("check.backup"), ...withKey(at("other")));
    expect([wrong.code, wrong.output]).toEqual([2, expect.stringContaining("wrong encKey")]);
    const bytes = readFileSync(at("check.backup"));
    bytes[bytes.length - 40] = (bytes[bytes.length - 40] ?? 0) ^ 1;
    writeFileSync(at("check.backup"), bytes);
    const changed = await agent.cli("backup", "--check", at("check.backup"), ...withKey());
    expect([changed.code, changed.output]).toEqual([1, expect.stringContaining("is damaged")]);
  });

  it("--without-keys has nothing secret in it, asks for no encKey, and cannot be restored", async () => {
    const config = at("secret-config.json");
    const text = JSON.parse(readFileSync(agent.config, "utf8"));
    text.chains.local.nodes = ["https://someone:hidden@node.example.com/v3/4f5e6d7c8b9a"];
    const secrets = {
      mnemonic: knownMnemonic,
      apiKey: "k_1.secretsecret.fingerprint",
      encKey: agent.encKey,
    };
    writeFileSync(config, JSON.stringify({ ...text, ...secrets }), { mode: 0o600 });
    const made = await agent.cli(
      "backup",
      at("open.backup"),
      "--without-keys",
      "--config",
      config,
      "--json",
    );
    expect(made.code, made.output).toBe(0);
    const bytes = readFileSync(at("open.backup"), "latin1");
    for (const word of [
      agent.encKey,
      "junk",
      "secretsecret",
      "hidden",
      "4f5e6d7c8b9a",
      "linkSeed",
      'boxNonce":"',
    ]) {
      expect(bytes, word).not.toContain(word);
    }
    expect(bytes).toContain("https://node.example.com");
    expect(bytes).toContain('"kind":"PAIRED"');
    expect((await agent.cli("backup", "--check", at("open.backup"))).code).toBe(0);
    const restored = await stateOf(at("from-open"), "restore", at("open.backup"));
    expect([restored.code, restored.output]).toEqual([
      1,
      expect.stringContaining("--without-keys"),
    ]);
    expect(existsSync(at("from-open"))).toBe(false);
  });
});

describe("restore", () => {
  it("gives the same agent back in an empty folder, and crypto runs there", async () => {
    await agent.cli("backup", at("moved.backup"), ...withKey(), "--config", agent.config);
    const folder = at("moved");
    for (const name of ["", "signer", "courier"]) mkdirSync(join(folder, name), { mode: 0o700 });
    const done = await stateOf(folder, "restore", at("moved.backup"), ...withKey());
    expect(done.code, done.output).toBe(0);
    expect(done.output).toContain("docs/recovering.md, section 3");
    for (const name of [
      "signer/keystore.json",
      "signer/ledger/00000001.jsonl",
      "courier/link.json",
      "pairing.json",
    ]) {
      expect(
        readFileSync(join(folder, name)).equals(readFileSync(join(agent.state, name))),
        name,
      ).toBe(true);
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    }
    const words = [
      join(projectRoot, "crypto.js"),
      "--config",
      agent.config,
      "--state",
      folder,
      ...withKey(),
    ];
    const { start } = await import("../../lab/kit/processes.ts");
    const started = start(process.execPath, words, { cwd: agent.dir, logFile: agent.log });
    running.push(started);
    await until(
      "crypto ready",
      120_000,
      async () => (started.output().includes("crypto: ready") ? true : undefined),
      started.output,
    );
  });

  it("never goes over anything", async () => {
    await agent.cli("backup", at("over.backup"), ...withKey());
    const folder = at("over");
    for (const name of [
      "signer/keystore.json",
      "signer/ledger/00000001.jsonl",
      "courier/link.json",
      "pairing.json",
      "notes",
    ]) {
      mkdirSync(join(folder, "signer", "ledger"), { recursive: true });
      rmSync(folder, { recursive: true });
      mkdirSync(join(folder, name, ".."), { recursive: true });
      writeFileSync(join(folder, name), "mine");
      const done = await stateOf(folder, "restore", at("over.backup"), ...withKey());
      expect([done.code, done.output], name).toEqual([
        1,
        expect.stringContaining("is there already"),
      ]);
      expect(readFileSync(join(folder, name), "utf8")).toBe("mine");
    }
    rmSync(folder, { recursive: true });
    const wrong = at("no-key");
    writeFileSync(wrong, randomBytes(32).toString("hex"), { mode: 0o600 });
    expect((await stateOf(folder, "restore", at("over.backup"), ...withKey(wrong))).code).toBe(2);
    expect(existsSync(folder)).toBe(false);
    expect((await stateOf(folder, "restore", at("over.backup"), ...withKey())).code).toBe(0);
  });
});

describe("rekey", () => {
  let folder = "";
  let state = "";
  const fresh = (): void => {
    folder = mkdtempSync(join(tmpdir(), "aw-rekeyed-"));
    state = join(folder, "state");
    cpSync(agent.state, state, { recursive: true });
    rmSync(join(state, "run"), { recursive: true, force: true });
  };
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("is refused while crypto runs, and says how to stop it", async () => {
    fresh();
    await begin();
    const done = await agent.cli("rekey", ...withKey(), "--make-enc-key", join(folder, "new"));
    expect([done.code, done.output]).toEqual([
      1,
      expect.stringMatching(/another crypto .*\nhint: end crypto first/),
    ]);
    expect([existsSync(join(folder, "new")), opens(agent.state, agent.encKey)]).toEqual([
      false,
      true,
    ]);
  });

  it("makes a new key, seals under it, and says what else must change", async () => {
    fresh();
    const file = join(folder, "new encKey".replace(" ", "-"));
    const done = await stateOf(state, "rekey", ...withKey(), "--make-enc-key", file);
    expect(done.code, done.output).toBe(0);
    const key = readFileSync(file, "utf8").trim();
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect([opens(state, key), opens(state, agent.encKey)]).toEqual([true, false]);
    expect(done.output).toContain(`install -m 0600 ${file} ${encKeyFile}`);
    expect(done.output).toContain("the old encKey stays needed for backups");
    expect(done.output).not.toContain(key);
    // The same command with the key that it made, as after an earlier run that came so far.
    const again = await stateOf(state, "rekey", ...withKey(), "--new-enc-key-file", file);
    expect([again.code, again.output]).toEqual([
      0,
      expect.stringContaining("opened with the new encKey already"),
    ]);
    const twice = await stateOf(state, "rekey", ...withKey(), "--make-enc-key", file);
    expect([twice.code, twice.output]).toEqual([
      2,
      expect.stringContaining(`--new-enc-key-file ${file}`),
    ]);
  });

  it("takes the old one from config.json and a passphrase from a file", async () => {
    fresh();
    const config = join(folder, "config.json");
    writeFileSync(
      config,
      JSON.stringify({ ...JSON.parse(readFileSync(agent.config, "utf8")), encKey: agent.encKey }),
      {
        mode: 0o600,
      },
    );
    writeFileSync(join(folder, "phrase"), "quiet Otters 7 sing, under 9 ladders!\n", {
      mode: 0o600,
    });
    const done = await stateOf(
      state,
      "rekey",
      "--config",
      config,
      "--new-enc-key-file",
      join(folder, "phrase"),
      "--json",
    );
    expect(done.code, done.output).toBe(0);
    const { next, isFromBefore, wallet } = JSON.parse(lastLine(done.output));
    expect([isFromBefore, next.join("\n")]).toEqual([
      false,
      expect.stringContaining(`in the place of the old one in ${config}`),
    ]);
    expect(wallet).toMatch(/^[0-9a-f]{32}$/);
    expect(opens(state, "quiet Otters 7 sing, under 9 ladders!")).toBe(true);
  });

  it.each([
    ["a weak one", "hunter2hunter2", "too easy to guess"],
    ["the same one", agent.encKey, "the new encKey is the old one"],
  ])("%s is refused, and nothing has changed", async (_, key, words) => {
    fresh();
    writeFileSync(join(folder, "new"), key, { mode: 0o600 });
    const done = await stateOf(
      state,
      "rekey",
      ...withKey(),
      "--new-enc-key-file",
      join(folder, "new"),
    );
    expect([done.code === 0, done.output]).toEqual([false, expect.stringContaining(words)]);
    expect(opens(state, agent.encKey)).toBe(true);
  });

  it("a wrong old one leaves nothing behind, not even the key that was made", async () => {
    fresh();
    writeFileSync(join(folder, "wrong"), randomBytes(32).toString("hex"), { mode: 0o600 });
    const done = await stateOf(
      state,
      "rekey",
      ...withKey(join(folder, "wrong")),
      "--make-enc-key",
      join(folder, "new"),
    );
    expect([done.code, existsSync(join(folder, "new")), opens(state, agent.encKey)]).toEqual([
      2,
      false,
      true,
    ]);
  });

  it("wants one new key, from one place, readable by its owner alone", async () => {
    fresh();
    writeFileSync(join(folder, "open"), randomBytes(32).toString("hex"), { mode: 0o600 });
    chmodSync(join(folder, "open"), 0o644);
    for (const words of [
      [],
      ["--make-enc-key", join(folder, "a"), "--new-enc-key-file", encKeyFile],
      ["--new-enc-key-file", join(folder, "open")],
      ["--new-enc-key-file", join(folder, "nothing")],
    ]) {
      const done = await stateOf(state, "rekey", ...withKey(), ...words);
      expect(done.code, done.output).toBe(2);
      expect(done.output).toMatch(/^autowithdraw: .+\nhint: .+\n$/);
    }
    const nowhere = await stateOf(
      join(folder, "nowhere"),
      "rekey",
      ...withKey(),
      "--make-enc-key",
      join(folder, "b"),
    );
    expect([nowhere.code, existsSync(join(folder, "nowhere"))]).toEqual([2, false]);
  });
});

describe("answers in JSON", () => {
  it("the JSON of backup, restore and rekey has exactly the fields that docs/cli-json.md lists", async () => {
    const page = readFileSync(join(projectRoot, "docs", "cli-json.md"), "utf8");
    const rowsOf = (section: string): string[] => {
      const text = page.split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? "";
      return [...text.matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1] ?? "").sort();
    };
    const answer = async (done: Promise<Ran>) => JSON.parse(lastLine((await done).output));
    const made = await answer(agent.cli("backup", at("json.backup"), ...withKey(), "--json"));
    const inManifest = Object.keys(made.manifest).map((name) => `manifest.${name}`);
    expect(
      [...Object.keys(made).filter((name) => name !== "manifest"), ...inManifest].sort(),
    ).toEqual(rowsOf("backup"));
    const checked = await answer(
      agent.cli("backup", "--check", at("json.backup"), ...withKey(), "--json"),
    );
    expect(checked).toEqual(made);
    const folder = at("json-state");
    const restored = await answer(
      stateOf(folder, "restore", at("json.backup"), ...withKey(), "--json"),
    );
    expect(Object.keys(restored).sort()).toEqual(rowsOf("restore"));
    const rekeyed = await answer(
      stateOf(folder, "rekey", ...withKey(), "--make-enc-key", at("json-key"), "--json"),
    );
    expect(Object.keys(rekeyed).sort()).toEqual(rowsOf("rekey"));
  });
});

describe("the drill of docs/operations.md", () => {
  it("goes as typed: restored beside the agent, verified, another encKey and back", async () => {
    const drill = at("drill");
    const typed = async (state: string, ...words: string[]): Promise<number | null> =>
      (await agent.launcher("autowithdraw.js", ...words, "--state", state)).code;
    expect(await typed(agent.state, "backup", at("agent.backup"), "--yes", ...withKey())).toBe(0);
    expect(await typed(agent.state, "backup", "--check", at("agent.backup"), ...withKey())).toBe(0);
    expect(await typed(drill, "restore", at("agent.backup"), ...withKey())).toBe(0);
    const own = await agent.cli("verify", "--json");
    const there = await stateOf(drill, "verify", "--json");
    expect(JSON.parse(lastLine(there.output)).head).toEqual(JSON.parse(lastLine(own.output)).head);
    expect((await stateOf(drill, "address")).output).toBe((await agent.cli("address")).output);
    const forth = await typed(drill, "rekey", ...withKey(), "--make-enc-key", at("encKey.new"));
    expect([forth, opens(drill, agent.encKey)]).toEqual([0, false]);
    const back = await stateOf(
      drill,
      "rekey",
      ...withKey(at("encKey.new")),
      "--new-enc-key-file",
      encKeyFile,
    );
    expect([back.code, opens(drill, agent.encKey)]).toEqual([0, true]);
  });
});
