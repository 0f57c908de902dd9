/** What pairing refuses before anything is sealed or sent, what it believes of a gateway, and what each process gets to know. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as bip39 from "bip39";
import { HDNodeWallet } from "ethers";
import { describe, expect, it } from "vitest";
import { frame } from "../agent/launcher/frames.ts";
import { verdictFor } from "../agent/launcher/verdict.ts";
import { seedOf } from "../cli/sealing/mnemonic.ts";
import { privateKeyFromSeed, publicKeyHex } from "../protocol/envelope.ts";
import type { AgentError } from "../protocol/fault.ts";
import { walletFingerprintOf } from "../protocol/identity.ts";
import { projectRoot } from "../scripts/rig.ts";
import { knownMnemonic } from "./support/agent-folder.ts";
import { agent, eachTestItsPairing, fill, gateway, lastJson, otherMnemonic } from "./support/pairing.ts";

eachTestItsPairing();

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
