/** Pairing as a person runs it: every step, every way to fail, every place to be cut off, and what each process gets to know. */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as bip39 from "bip39";
import { HDNodeWallet } from "ethers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { frame } from "../agent/launcher/frames.ts";
import { verdictFor } from "../agent/launcher/verdict.ts";
import { seedOf } from "../cli/sealing/mnemonic.ts";
import { privateKeyFromSeed, publicKeyHex } from "../protocol/envelope.ts";
import type { AgentError } from "../protocol/fault.ts";
import { walletFingerprintOf } from "../protocol/identity.ts";
import { freePort, run, start, stop, until } from "../scripts/processes.ts";
import { projectRoot } from "../scripts/rig.ts";
import { AgentFolder, knownMnemonic, usdt } from "./support/agent-folder.ts";
import { PairingGateway } from "./support/pairing-gateway.ts";

const otherMnemonic = "legal winner thank year wave sausage worth useful legal winner thank yellow";
let gateway: PairingGateway;
let agent: AgentFolder;

beforeEach(async () => {
  gateway = new PairingGateway();
  await gateway.open();
  agent = new AgentFolder();
});
afterEach(async () => {
  await gateway.close();
  agent.remove();
});

const fill = (changes: Readonly<Record<string, string>> = {}): string =>
  agent.writeConfig(gateway.url, { mnemonic: knownMnemonic, apiKey: gateway.apiKey, encKey: agent.encKey, ...changes });
const progress = (): { step: string; wallet: { signerKey: string } } =>
  JSON.parse(readFileSync(join(agent.state, "pairing.json"), "utf8"));
const ledgerLines = (): string[] =>
  readFileSync(join(agent.state, "signer", "ledger", "00000001.jsonl"), "utf8")
    .trim()
    .split("\n");
const lastJson = (output: string): Record<string, unknown> =>
  JSON.parse(
    output
      .trim()
      .split("\n")
      .find((line) => line.startsWith("{")) ?? "{}",
  );

describe("a first pairing", () => {
  it("seals, registers, begins the ledger and takes two secrets out of config.json", async () => {
    const before = fill();
    const done = await agent.pair();
    expect(done.code, done.output).toBe(0);
    for (const step of ["installing", "sealing", "checking", "registering", "scrubbing"])
      expect(done.output).toContain(`  ${step}`);
    expect(gateway.shortCode).toMatch(/^[A-Z2-7]{4}-[A-Z2-7]{4}$/);
    expect(done.output).toContain(gateway.shortCode);

    const wallet = HDNodeWallet.fromPhrase(knownMnemonic, "", "m/44'/60'/0'/0/0");
    const deposits = HDNodeWallet.fromPhrase(knownMnemonic, "", "m/44'/60'/1'");
    const [request] = gateway.requests;
    expect(request?.transcript.accounts).toEqual([
      { family: "evm", address: wallet.address, depositXpub: deposits.neuter().extendedKey },
    ]);
    expect(done.output).toContain(wallet.address);
    expect(request?.transcript.networks).toEqual(["eip155:31337"]);
    expect(request?.transcript.currencies).toEqual([
      { id: "eth", network: "eip155:31337", contract: "", decimal: 18, maxFee: "0.02" },
      { id: "usdt", network: "eip155:31337", contract: usdt, decimal: 6, maxFee: "0.01" },
    ]);

    const after = readFileSync(agent.config, "utf8");
    const lines = before.split("\n").filter((line) => !/"(mnemonic|apiKey)"/.test(line));
    expect(after).toBe(lines.join("\n"));
    expect(statSync(agent.config).mode & 0o777).toBe(0o600);
    const [first] = ledgerLines();
    expect(JSON.parse(first ?? "")).toMatchObject({ seq: 1, kind: "PAIRED", merchant: "m_test", epoch: 1 });
    expect(progress().step).toBe("scrubbed");
    for (const [name, content] of agent.contents(agent.state)) expect(content, name).toMatch(/^600 /);
    expect(existsSync(join(agent.state, "courier", "link.seed"))).toBe(false);
  });

  it("leaves no secret in what it prints, sends or writes", async () => {
    fill();
    const done = await agent.pair("--json");
    expect(done.code, done.output).toBe(0);
    const wallet = HDNodeWallet.fromPhrase(knownMnemonic, "", "m/44'/60'/0'");
    const secrets = [knownMnemonic, "junk", agent.encKey, gateway.secret, wallet.privateKey.slice(2), wallet.chainCode.slice(2)];
    const places = new Map([
      ...agent.contents(agent.state),
      ["output", done.output],
      ["request", gateway.requests[0]?.body ?? ""],
    ]);
    for (const [place, content] of places) {
      for (const secret of secrets) expect(content.includes(secret), `${secret.slice(0, 4)}… in ${place}`).toBe(false);
    }
    expect(readFileSync(agent.config, "utf8")).toContain(agent.encKey);
  });

  it("prints one line of JSON when asked", async () => {
    fill();
    const done = await agent.pair("--json");
    expect(lastJson(done.output)).toMatchObject({
      ok: true,
      alreadyPaired: false,
      shortCode: gateway.shortCode,
      epoch: 1,
      currencies: ["eth", "usdt"],
    });
  });

  it("takes encKey out of config.json too when it was given by file", async () => {
    fill();
    const file = join(agent.dir, "enc.key");
    writeFileSync(file, `${agent.encKey}\n`, { mode: 0o600 });
    const done = await agent.pair("--enc-key-file", file);
    expect(done.code, done.output).toBe(0);
    expect(readFileSync(agent.config, "utf8")).not.toContain("encKey");
    chmodSync(file, 0o644);
    expect(
      (await agent.launcher("crypto.js", "--config", agent.config, "--state", agent.state, "--enc-key-file", file)).output,
    ).toContain("0644");
    const none = ["--enc-key-file", join(agent.dir, "none")];
    const away = await agent.launcher("crypto.js", "--config", agent.config, "--state", agent.state, ...none);
    expect(away.output).toContain("hint: name the file that holds encKey with --enc-key-file");
  });

  it("takes every secret from files", async () => {
    agent.writeConfig(gateway.url, { mnemonic: "<MNEMONIC>", apiKey: "<API_KEY>", encKey: "<ENCRYPTION_KEY>" });
    const files = { "--mnemonic-file": knownMnemonic, "--api-key-file": gateway.apiKey, "--enc-key-file": agent.encKey };
    const args = Object.entries(files).flatMap(([option, secret]) => {
      const path = join(agent.dir, option.slice(2));
      writeFileSync(path, `${secret}\n`, { mode: 0o600 });
      return [option, path];
    });
    const done = await agent.pair(...args);
    expect(done.code, done.output).toBe(0);
    expect(gateway.requests.length).toBe(1);
  });
});

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

  it("takes secrets out again that were put back", async () => {
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
  it.each([
    ["signer/keystore.json", 2],
    ["courier/link.json", 2],
    ["signer/ledger", 4],
  ])("without %s: crypto and pair name it, say what to do, and change nothing", async (name, cryptoExit) => {
    fill();
    expect((await agent.pair()).code).toBe(0);
    const id = JSON.parse(readFileSync(join(agent.state, "pairing.json"), "utf8")).granted.agent;
    rmSync(join(agent.state, name), { recursive: true });
    for (const isRefilled of [false, true]) {
      if (isRefilled) fill();
      const before = agent.contents();
      const crypto = await agent.launcher("crypto.js", "--config", agent.config, "--state", agent.state);
      const pair = await agent.pair();
      expect([crypto.code, pair.code]).toEqual([cryptoExit, 2]);
      for (const { output } of [crypto, pair]) {
        expect(output).toContain(join(agent.state, name));
        expect(output).toContain(`hint: restore it from a backup, or have the service release this agent (agents release ${id})`);
      }
      expect(agent.contents()).toEqual(before);
    }
  });

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

describe("without a terminal", () => {
  it("the mnemonic stays in config.json until --yes", async () => {
    const before = fill();
    const args = ["--config", agent.config, "--state", agent.state];
    const done = await agent.launcher("pair.js", ...args, "--json");
    expect(done.code, done.output).toBe(2);
    expect(lastJson(done.output)).toMatchObject({ ok: false, code: "COMMAND_USAGE", shortCode: gateway.shortCode });
    expect(readFileSync(agent.config, "utf8")).toBe(before);
    expect(progress().step).toBe("registered");
    const yes = await agent.launcher("pair.js", ...args, "--yes");
    expect(yes.code, yes.output).toBe(0);
    expect(readFileSync(agent.config, "utf8")).not.toContain("junk");
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
    const early = await agent.launcher("crypto.js", "--config", agent.config, "--state", agent.state);
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
    await until("the request", 5_000, async () => (killed ? true : undefined));
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
    // The link's file cannot take its place: the fault comes after the grant and after the ledger's first record.
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

/** The registering process by itself, as `pair` starts it. */
async function register(): Promise<Record<string, unknown>> {
  const wallet = HDNodeWallet.fromPhrase(knownMnemonic, "", "m/44'/60'/0'/0/0");
  const depositXpub = HDNodeWallet.fromPhrase(knownMnemonic, "", "m/44'/60'/1'").neuter().extendedKey;
  const facts = {
    signerKey: publicKeyHex(privateKeyFromSeed(Buffer.alloc(32, 1))),
    linkKey: publicKeyHex(privateKeyFromSeed(Buffer.alloc(32, 2))),
    wallet: walletFingerprintOf({ hotAddress: wallet.address, depositXpub }),
    networks: ["eip155:31337"],
    accounts: [{ family: "evm", address: wallet.address, depositXpub }],
    currencies: [],
  };
  const child = spawn(process.execPath, [join(projectRoot, "dist", "cli", "registering", "main.js")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.write(frame(Buffer.from(JSON.stringify({ gatewayUrl: gateway.url, facts }))));
  child.stdin.write(frame(Buffer.from(gateway.apiKey)));
  child.stdin.end(frame(Buffer.alloc(32, 2)));
  let output = "";
  for await (const chunk of child.stdout) output += String(chunk);
  return lastJson(output);
}

describe("bad input", () => {
  it("is refused with the twin that passes", async () => {
    expect(await register()).toMatchObject({ ok: true, epoch: 1, shortCode: gateway.shortCode });
  });

  it.each([
    ["eleven words", knownMnemonic.replace(/ junk$/, ""), "has 11 words"],
    ["a word that is none", knownMnemonic.replace("test junk", "test jnuk"), "word 12 of the mnemonic is not in"],
    ["a capital", knownMnemonic.replace(/^test/, "Test"), "word 1 of the mnemonic is not in"],
    ["two words that do not fit", knownMnemonic.replace("junk", "test"), "checksum does not fit"],
  ])("mnemonic: %s", async (_, mnemonic, words) => {
    fill({ mnemonic });
    const done = await agent.pair();
    expect(done.code).toBe(2);
    expect(done.output).toContain(words);
    expect(done.output).not.toMatch(/junk|jnuk|test test/);
    expect(existsSync(join(agent.state, "signer", "keystore.json"))).toBe(false);
    expect(gateway.requests.length).toBe(0);
  });

  it.each(["secret", "0".repeat(64), "aaaaaaaaaaaaaaaaaaaaaaaa"])("encKey too weak: %s", async (encKey) => {
    fill({ encKey });
    const done = await agent.pair();
    expect(done.code).toBe(2);
    expect(done.output).toMatch(/crypto: .*\nhint: use 32 random bytes/);
    expect(existsSync(join(agent.state, "signer", "keystore.json"))).toBe(false);
  });

  it("placeholders, all named at once", async () => {
    agent.writeConfig(gateway.url, { mnemonic: "<MNEMONIC>", apiKey: "<API_KEY>", encKey: "<ENCRYPTION_KEY>" });
    const done = await agent.pair();
    expect(done.code).toBe(2);
    expect(done.output).toContain("mnemonic (<MNEMONIC>), apiKey (<API_KEY>), encKey (<ENCRYPTION_KEY>)");
    expect(existsSync(agent.state)).toBe(false);
  });

  it("an apiKey that is none", async () => {
    fill({ apiKey: "k_1.2.3" });
    const done = await agent.pair();
    expect(done.code).toBe(2);
    expect(done.output).toContain("apiKey is not keyId.secret.fingerprint");
    expect(existsSync(agent.state)).toBe(false);
  });

  it("an apiKey with the wrong secret", async () => {
    const [keyId, , fingerprint] = gateway.apiKey.split(".");
    fill({ apiKey: `${keyId}.${"A".repeat(43)}.${fingerprint}` });
    const done = await agent.pair("--json");
    expect(done.code).toBe(1);
    expect(lastJson(done.output).code).toBe("PAIRING_WRONG_SECRET");
  });

  it("an apiKey of another gateway: its answer is not believed", async () => {
    const [keyId, secret] = gateway.apiKey.split(".");
    fill({ apiKey: `${keyId}.${secret}.${"0".repeat(32)}` });
    const done = await agent.pair("--json");
    expect(done.code).toBe(1);
    expect(lastJson(done.output).code).toBe("PAIRING_GATEWAY_KEY");
    expect(existsSync(join(agent.state, "signer", "ledger"))).toBe(false);
    expect(readFileSync(agent.config, "utf8")).toContain(knownMnemonic);
  });

  it("every no of the gateway has its own code and words", async () => {
    const table: readonly (readonly [number, string, string, number])[] = [
      [403, "key_revoked", "PAIRING_REVOKED", 1],
      [403, "scope_missing", "PAIRING_SCOPE", 1],
      [409, "pairing_taken", "PAIRING_TAKEN", 1],
      [409, "pairing_used", "PAIRING_USED", 1],
      [409, "pairing_wallet_taken", "PAIRING_WALLET_TAKEN", 1],
      [409, "pairing_replayed", "PAIRING_REFUSED", 1],
      [400, "pairing_other_gateway", "PAIRING_GATEWAY_KEY", 1],
      [400, "pairing_clock", "PAIRING_CLOCK", 1],
      [400, "pairing_currency_differs", "PAIRING_TABLES", 1],
      [400, "something_new", "PAIRING_REFUSED", 1],
      [429, "rate_limited", "PAIRING_AWAY", 3],
      [503, "unavailable", "PAIRING_AWAY", 3],
    ];
    for (const [status, theirs, ours, exit] of table) {
      gateway.say(
        status,
        theirs,
        `Words for ${theirs}.`,
        theirs === "pairing_currency_differs" ? { currency: "usdt", field: "decimal" } : {},
      );
      const { code, message } = await register();
      expect([code, verdictFor(String(code), "").exitCode], theirs).toEqual([ours, exit]);
      expect(message).toContain(`the gateway says: Words for ${theirs}`);
      if (theirs === "pairing_currency_differs") expect(message).toContain("(currency usdt, field decimal)");
    }
  });

  it("something that is no gateway", async () => {
    const pages: readonly (readonly [number, string, string])[] = [
      [200, "<html>hello</html>", "PAIRING_ANSWER"],
      [404, "<html>nothing here</html>", "PAIRING_ANSWER"],
      [400, '{"code":"pairing_new","message":"\\u001b[31mred"}', "PAIRING_REFUSED"],
      [302, "", "PAIRING_ANSWER"],
      [502, "<html>bad gateway</html>", "PAIRING_AWAY"],
      [200, "x".repeat(100_000), "PAIRING_ANSWER"],
    ];
    for (const [status, body, expected] of pages) {
      gateway.scripted = (response) => response.writeHead(status, { location: "http://127.0.0.1:1/" }).end(body);
      const { code, message } = await register();
      expect(code, String(status)).toBe(expected);
      expect(message).not.toContain("\u001b");
    }
  });
});

describe("who gets to know what", () => {
  it("the sealing process loads no module that could reach a network", () => {
    const program = join(projectRoot, "dist", "cli", "sealing", "main.js");
    const look = `process.on("exit", () => process._rawDebug("LOADED " + process.moduleLoadList.join(" "))); await import(${JSON.stringify(program)});`;
    const settings = { folder: join(agent.dir, "sealed"), networks: ["eip155:1"] };
    const input = Buffer.concat(
      [Buffer.from(JSON.stringify(settings)), Buffer.from(knownMnemonic), Buffer.from(agent.encKey)].map((part) => frame(part)),
    );
    const done = spawnSync(process.execPath, ["--input-type=module", "--eval", look], { input, encoding: "utf8" });
    expect(JSON.parse(done.stdout)).toMatchObject({
      ok: true,
      made: true,
      address: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
    });
    const loaded = done.stderr.split("LOADED ")[1] ?? "";
    expect(loaded).toContain("NativeModule fs");
    expect(
      loaded
        .split(/, | (?=NativeModule|Internal)/)
        .filter((name) => /NativeModule (net|http|https|http2|tls|dns|dgram|internal\/deps\/undici\S*)$/.test(name.trim())),
    ).toEqual([]);
  });

  it("seeds are those of BIP-39 for every length", () => {
    for (const strength of [128, 160, 192, 224, 256]) {
      const mnemonic = bip39.generateMnemonic(strength);
      expect(Buffer.from(seedOf(Buffer.from(mnemonic))).toString("hex"), mnemonic).toBe(
        bip39.mnemonicToSeedSync(mnemonic).toString("hex"),
      );
      expect(seedOf(Buffer.from(` ${mnemonic.replaceAll(" ", "  ")}\n`))).toEqual(seedOf(Buffer.from(mnemonic)));
    }
  });

  it("finds a wrong checksum wherever bip39 does", () => {
    const words = otherMnemonic.split(" ");
    for (const word of bip39.wordlists.english?.slice(0, 256) ?? []) {
      const mnemonic = [...words.slice(0, 11), word].join(" ");
      const code = ((): string => {
        try {
          seedOf(Buffer.from(mnemonic));
          return "";
        } catch (error) {
          return (error as AgentError).code;
        }
      })();
      expect(code, word).toBe(bip39.validateMnemonic(mnemonic) ? "" : "MNEMONIC_CHECKSUM");
    }
  });
});

describe("with the real gateway", () => {
  it("pairs, and both sides show the same short code", async () => {
    const gatewayJs = join(projectRoot, "gateway", "gateway.js");
    const options = { cwd: agent.dir, logFile: agent.log };
    const folder = join(agent.dir, "gateway");
    expect((await run(process.execPath, [gatewayJs, "init", "--dir", folder], options)).code).toBe(0);
    const config = join(folder, "gateway.config.json");
    const port = await freePort();
    const own = JSON.parse(readFileSync(config, "utf8"));
    writeFileSync(config, JSON.stringify({ ...own, listen: { host: "127.0.0.1", port }, publicUrl: `http://127.0.0.1:${port}` }));
    const create = ["merchant", "create", "Shop", "--json", "--config", config, "--config-out", agent.config];
    const made = await run(process.execPath, [gatewayJs, ...create], options);
    const { apiKey } = JSON.parse(made.output.trim().split("\n").at(-1) ?? "");
    const supplied = readFileSync(agent.config, "utf8");
    const filled = supplied
      .replace("<MNEMONIC>", knownMnemonic)
      .replace("<API_KEY>", apiKey)
      .replace("<ENCRYPTION_KEY>", agent.encKey);
    writeFileSync(agent.config, filled);
    const serving = start(process.execPath, [gatewayJs, "start", "--config", config], options);
    try {
      await until(
        "the gateway",
        15_000,
        async () => ((await fetch(`http://127.0.0.1:${port}/health`)).ok ? true : undefined),
        serving.output,
      );
      const done = await agent.pair("--json");
      expect(done.code, done.output).toBe(0);
      const { shortCode, agent: id } = lastJson(done.output);
      const agents = await run(process.execPath, [gatewayJs, "agents", "--config", config], options);
      expect(agents.output).toContain(String(id));
      expect(agents.output).toContain(String(shortCode));
    } finally {
      await stop(serving);
    }
  }, 60_000);
});
