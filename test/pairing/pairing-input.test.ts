/**
 * The refusals of pairing before anything is sealed or sent, the answers that it accepts from a
 * gateway, and the secrets that each process sees.
 */
import { spawn, spawnSync } from "node:child_process";
import { type KeyObject, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as bip39 from "bip39";
import { describe, expect, it } from "vitest";
import {
  deriveAccounts,
  pairedAccountsOf,
  walletFingerprintOfAccounts,
} from "../../agent/keystore/nodes.ts";
import { exitVerdictOfCode } from "../../agent/launcher/exit-status.ts";
import { encodeFrame } from "../../agent/launcher/frames.ts";
import type { AgentError } from "../../base/fault.ts";
import { families } from "../../chains/families.ts";
import { seedOf } from "../../cli/sealing/mnemonic.ts";
import { provenBy } from "../../lab/kit/gateway-server.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { runProgramHere } from "../../lab/kit/programs.ts";
import { privateKeyFromSeed, publicKeyHex } from "../../protocol/envelope.ts";
import { walletFingerprintOf } from "../../protocol/identity.ts";
import type { PairedAccount, PairingTranscript } from "../../protocol/messages.ts";
import { accountDigestOf, parseApiKey, transcriptSignatureFits } from "../../protocol/pairing.ts";
import { knownMnemonic } from "../support/agent-folder.ts";
import {
  agent,
  eachTestItsPairing,
  fill,
  gateway,
  lastJson,
  otherMnemonic,
} from "../support/pairing.ts";

eachTestItsPairing();

/** The parts that `pair` gives the registering process. */
function registeringParts(): readonly Uint8Array[] {
  const nodes = deriveAccounts(seedOf(Buffer.from(knownMnemonic)), ["evm"]);
  const [signer, link] = [1, 2].map((byte) => privateKeyFromSeed(Buffer.alloc(32, byte))) as [
    KeyObject,
    KeyObject,
  ];
  const { keyId, fingerprint } = parseApiKey(gateway.apiKey);
  const transcript = JSON.stringify({
    version: 1,
    ...{
      keyId,
      gatewayFingerprint: fingerprint,
      signerKey: publicKeyHex(signer),
      linkKey: publicKeyHex(link),
    },
    ...{
      wallet: walletFingerprintOfAccounts(nodes),
      networks: ["eip155:31337"],
      accounts: pairedAccountsOf(nodes),
      currencies: [],
    },
    ...{ nonce: randomBytes(32).toString("hex"), at: Date.now() },
  });
  const proven = provenBy(transcript, signer, nodes);
  const settings = Buffer.from(JSON.stringify({ gatewayUrl: gateway.url, transcript, proven }));
  return [settings, Buffer.from(gateway.apiKey), Buffer.alloc(32, 2)];
}

/** The registering process by itself, as `pair` starts it. */
async function registerProcess(): Promise<Record<string, unknown>> {
  const child = spawn(
    process.execPath,
    [join(projectRoot, "dist", "cli", "registering", "main.js")],
    {
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  for (const part of registeringParts()) child.stdin.write(encodeFrame(part));
  child.stdin.end();
  let output = "";
  for await (const chunk of child.stdout) output += String(chunk);
  return lastJson(output);
}

/** The same work in this process. */
const register = async (): Promise<Record<string, unknown>> =>
  lastJson((await runProgramHere("./registering/main", registeringParts())).output);

describe("bad input", () => {
  it("is refused with the twin that passes", async () => {
    expect(await registerProcess()).toMatchObject({
      ok: true,
      ledgerEpoch: 1,
      shortCode: gateway.shortCode,
    });
    expect(await register()).toMatchObject({
      ok: true,
      ledgerEpoch: 2,
      shortCode: gateway.shortCode,
    });
  });

  it.each([
    ["eleven words", knownMnemonic.replace(/ junk$/, ""), "has 11 words"],
    [
      "a word that is none",
      knownMnemonic.replace("test junk", "test jnuk"),
      "word 12 of the mnemonic is not in",
    ],
    ["a capital", knownMnemonic.replace(/^test/, "Test"), "word 1 of the mnemonic is not in"],
    ["two words that do not fit", knownMnemonic.replace("junk", "test"), "checksum does not fit"],
  ])("pairing refuses the mnemonic: %s", async (_, mnemonic, words) => {
    fill({ mnemonic });
    const done = await agent.pair();
    expect(done.code).toBe(2);
    expect(done.output).toContain(words);
    expect(done.output).not.toMatch(/junk|jnuk|test test/);
    expect(existsSync(join(agent.state, "signer", "keystore.json"))).toBe(false);
    expect(gateway.requests.length).toBe(0);
  });

  it.each(["secret", "0".repeat(64), "aaaaaaaaaaaaaaaaaaaaaaaa"])(
    "pairing refuses an encKey that is too weak: %s",
    async (encKey) => {
      fill({ encKey });
      const done = await agent.pair();
      expect(done.code).toBe(2);
      expect(done.output).toMatch(/^pair: .*\nhint: use 32 random bytes/m);
      expect(existsSync(join(agent.state, "signer", "keystore.json"))).toBe(false);
    },
  );

  it("placeholders, all named at once", async () => {
    agent.writeConfig(gateway.url, {
      mnemonic: "<MNEMONIC>",
      apiKey: "<API_KEY>",
      encKey: "<ENCRYPTION_KEY>",
    });
    const done = await agent.pair();
    expect(done.code).toBe(2);
    expect(done.output).toContain(
      "mnemonic (<MNEMONIC>), apiKey (<API_KEY>), encKey (<ENCRYPTION_KEY>)",
    );
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
      [400, "constructor", "PAIRING_REFUSED", 1],
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
      expect([code, exitVerdictOfCode(String(code), "").exitCode], theirs).toEqual([ours, exit]);
      expect(message).toContain(`the gateway says: Words for ${theirs}`);
      if (theirs === "pairing_currency_differs")
        expect(message).toContain("(currency usdt, field decimal)");
    }
  });

  it("a server that is no gateway is refused", async () => {
    const pages: readonly (readonly [number, string, string])[] = [
      [200, "<html>hello</html>", "PAIRING_ANSWER"],
      [404, "<html>nothing here</html>", "PAIRING_ANSWER"],
      [400, '{"code":"pairing_new","message":"\\u001b[31mred"}', "PAIRING_REFUSED"],
      [302, "", "PAIRING_ANSWER"],
      [502, "<html>bad gateway</html>", "PAIRING_AWAY"],
      [200, "x".repeat(100_000), "PAIRING_ANSWER"],
    ];
    for (const [status, body, expected] of pages) {
      gateway.scripted = (response) =>
        response.writeHead(status, { location: "http://127.0.0.1:1/" }).end(body);
      const { code, message } = await register();
      expect(code, String(status)).toBe(expected);
      expect(message).not.toContain("\u001b");
    }
  });
});

describe("the secrets that each process sees", () => {
  const folder = (): string => join(agent.dir, "sealed");

  /**
   * The answer of a process in cli/sealing, which must have loaded nothing that could reach a
   * network.
   */
  function sealing(
    program: "main" | "proving",
    parts: readonly string[],
  ): { readonly [name: string]: unknown } {
    const path = join(projectRoot, "dist", "cli", "sealing", `${program}.js`);
    const look = `process.on("exit", () => process._rawDebug("LOADED " + process.moduleLoadList.join(" "))); await import(${JSON.stringify(path)});`;
    const input = Buffer.concat(parts.map((part) => encodeFrame(Buffer.from(part))));
    const done = spawnSync(process.execPath, ["--input-type=module", "--eval", look], {
      input,
      encoding: "utf8",
    });
    const loaded = done.stderr.split("LOADED ")[1] ?? "";
    expect(loaded).toContain("NativeModule fs");
    expect(
      loaded
        .split(/, | (?=NativeModule|Internal)/)
        .filter((name) =>
          /NativeModule (net|http|https|http2|tls|dns|dgram|internal\/deps\/undici\S*)$/.test(
            name.trim(),
          ),
        ),
    ).toEqual([]);
    expect(done.stdout).not.toContain(agent.encKey);
    return JSON.parse(done.stdout);
  }
  const seal = (): { readonly [name: string]: unknown } =>
    sealing("main", [
      JSON.stringify({ folder: folder(), networks: ["eip155:1"], expected: [], isLook: false }),
      knownMnemonic,
      agent.encKey,
    ]);

  it("the sealing process loads no module that could reach a network", () => {
    expect(seal()).toMatchObject({
      ok: true,
      made: true,
      accounts: [{ id: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266" }, { purpose: "deposits" }],
    });
  });

  it("the proving process loads no such module either, and signs no transcript of another wallet or signer", () => {
    const sealed = seal() as {
      readonly accounts: PairedAccount[];
      readonly wallet: string;
      readonly signerKey: string;
    };
    const others = deriveAccounts(seedOf(Buffer.from(otherMnemonic)), ["evm"]);
    const outsider = publicKeyHex(privateKeyFromSeed(Buffer.alloc(32, 1)));
    const linkKey = publicKeyHex(privateKeyFromSeed(Buffer.alloc(32, 2)));
    const { keyId, fingerprint } = parseApiKey(gateway.apiKey);
    const transcriptOf = (change: Partial<PairingTranscript>): string =>
      JSON.stringify({
        ...{
          version: 1,
          keyId,
          gatewayFingerprint: fingerprint,
          signerKey: sealed.signerKey,
          linkKey,
          wallet: sealed.wallet,
        },
        ...{
          networks: ["eip155:1"],
          accounts: sealed.accounts,
          currencies: [],
          nonce: "00".repeat(32),
          at: 1,
        },
        ...change,
      });
    const prove = (transcript: string) => sealing("proving", [folder(), agent.encKey, transcript]);
    const own = transcriptOf({});
    const { ok, signerSignature, proofs } = prove(own) as {
      ok: boolean;
      signerSignature: string;
      proofs: string[];
    };
    expect([ok, transcriptSignatureFits(sealed.signerKey, own, signerSignature)]).toEqual([
      true,
      true,
    ]);
    const fits = sealed.accounts.map((account, at) =>
      families.evm.accounts.proofFits(account, accountDigestOf(own), proofs[at] ?? ""),
    );
    expect(fits).toEqual([true, true]);
    const [hotWallet] = sealed.accounts;
    const mixed = [hotWallet, pairedAccountsOf(others)[1]] as PairedAccount[];
    for (const change of [
      { wallet: walletFingerprintOfAccounts(others), accounts: pairedAccountsOf(others) },
      { wallet: walletFingerprintOf(mixed), accounts: mixed },
      { signerKey: outsider },
    ]) {
      expect(prove(transcriptOf(change))).toMatchObject({ ok: false, code: "PAIRING_PROGRESS" });
    }
    expect(prove(own.slice(1))).toMatchObject({ ok: false, code: "JSON_SYNTAX" });
  });

  it("seeds are those of BIP-39 for every length", () => {
    for (const strength of [128, 160, 192, 224, 256]) {
      const mnemonic = bip39.generateMnemonic(strength);
      expect(Buffer.from(seedOf(Buffer.from(mnemonic))).toString("hex"), mnemonic).toBe(
        bip39.mnemonicToSeedSync(mnemonic).toString("hex"),
      );
      expect(seedOf(Buffer.from(` ${mnemonic.replaceAll(" ", "  ")}\n`))).toEqual(
        seedOf(Buffer.from(mnemonic)),
      );
    }
  });

  it("the sealing process finds a wrong checksum wherever bip39 does", () => {
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
