/**
 * A complete run, seen from outside: the sockets that the signer makes, the packages that it opens,
 * and the places of the planted secrets. Needs strace; without it the trace is skipped loudly.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HDNodeWallet } from "ethers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Kit, projectRoot, startKit } from "../../lab/kit/kit.ts";
import { childrenOf, type StartedProcess, start, stop, until } from "../../lab/kit/processes.ts";
import { createShop } from "../../lab/kit/shop.ts";
import { startsTheBuild } from "../support/built.ts";
import { findInMemory } from "../support/memory.ts";
import { type Relay, startRelay } from "../support/relay.ts";

startsTheBuild();

const traced = spawnSync("sh", ["-c", "command -v strace"]).status === 0;

let kit: Kit;
let relay: Relay;
let crypto: StartedProcess;
let signerPid = 0;
let courierPid = 0;
let trace = "";
let secrets: Record<string, Buffer> = {};
const seenCommands: string[] = [];

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesUnder(path) : entry.isFile() ? [path] : [];
  });
}

/**
 * Keys that the signer derives, in the forms that text takes. Each hex digit is one byte in a
 * one-byte string, two in the other.
 */
function keyTexts(mnemonic: string): Record<string, Buffer> {
  const root = HDNodeWallet.fromPhrase(mnemonic, "", "m");
  const keys = {
    "hot wallet's key": "m/44'/60'/0'/0/0",
    "account 0": "m/44'/60'/0'",
    "account 1": "m/44'/60'/1'",
    master: "m",
  };
  return Object.fromEntries(
    Object.entries(keys).flatMap(([name, path]) => {
      const hex = root.derivePath(path).privateKey.slice(2);
      const forms = {
        hex,
        "upper hex": hex.toUpperCase(),
        base64: Buffer.from(hex, "hex").toString("base64").slice(0, 42),
      };
      return Object.entries(forms).flatMap(([form, text]) => [
        [`${name} as ${form}`, Buffer.from(text)] as const,
        [`${name} as ${form} in UTF-16`, Buffer.from(text, "utf16le")] as const,
      ]);
    }),
  );
}

const hits = (bytes: Buffer): string[] =>
  Object.entries(secrets)
    .filter(([, secret]) => bytes.includes(secret))
    .map(([name]) => name);

beforeAll(async () => {
  kit = await startKit({ confirmations: 1 });
  await kit.startGateway();
  relay = await startRelay(kit.gatewayUrl);
  const config = JSON.parse(readFileSync(kit.configPath, "utf8")) as Record<string, unknown>;
  writeFileSync(kit.configPath, JSON.stringify({ ...config, gatewayUrl: relay.url }), {
    mode: 0o600,
  });
  const words = kit.mnemonic.split(" ");
  secrets = {
    mnemonic: Buffer.from(kit.mnemonic),
    "half the mnemonic": Buffer.from(words.slice(6).join(" ")),
    "encKey as text": Buffer.from(kit.encKey),
    "encKey as bytes": Buffer.from(kit.encKey, "hex"),
    "encKey as base64": Buffer.from(Buffer.from(kit.encKey, "hex").toString("base64").slice(0, 42)),
    "API secret": Buffer.from(kit.apiKey.split(".")[1]!),
    "encKey as UTF-16": Buffer.from(kit.encKey, "utf16le"),
    ...keyTexts(kit.mnemonic),
  };
  const paired = await kit.pair();
  expect(paired.code, paired.output).toBe(0);
  await kit.fund(10n ** 19n, 10n ** 9n);
  const args = [
    join(projectRoot, "crypto.js"),
    "--config",
    kit.configPath,
    "--state",
    kit.stateDir,
  ];
  const traceFile = join(kit.dir, "trace.strace");
  const options = { cwd: kit.dir, logFile: join(kit.dir, "crypto.log") };
  crypto = traced
    ? start(
        "strace",
        [
          "-f",
          "--seccomp-bpf",
          "-e",
          "trace=socket,connect,bind,openat",
          "-o",
          traceFile,
          process.execPath,
          ...args,
        ],
        options,
      )
    : start(process.execPath, args, options);
  await until(
    "crypto ready",
    60_000,
    async () => (crypto.output().includes("crypto: ready") ? true : undefined),
    crypto.output,
  );
  const launcher = traced ? childrenOf(crypto.pid, "crypto.js")[0]! : crypto.pid;
  signerPid = childrenOf(launcher, join("agent", "signer", "main.js"))[0]!;
  courierPid = childrenOf(launcher, join("agent", "courier", "main.js"))[0]!;
  const shop = createShop(kit);
  for (const [place, currency] of (["eth", "usdt"] as const).entries()) {
    const order = {
      currency,
      amount: "0.5",
      receiver: `0x${"5e".repeat(20)}`,
      orderId: `secrecy-${place}`,
    };
    const answer = await until("an answer", 60_000, async () => {
      const given = await shop.autoWithdraw(order);
      return given.transactionId === "" ? undefined : given;
    });
    await until(
      "Completed",
      90_000,
      async () => ((await shop.transaction(answer.transactionId)).status === 1 ? true : undefined),
      crypto.output,
    );
  }
  await kit.cli("status");
  await kit.cli("withdrawals", "--json");
  const threads = readdirSync(`/proc/${signerPid}/task`);
  for (const pid of [launcher, signerPid, courierPid, kit.gateway!.pid]) {
    seenCommands.push(
      readFileSync(`/proc/${pid}/cmdline`, "latin1"),
      readFileSync(`/proc/${pid}/environ`, "latin1"),
    );
  }
  if (traced) {
    const mine = new Set([String(signerPid), ...threads]);
    trace = readFileSync(traceFile, "utf8")
      .split("\n")
      .filter((line) => mine.has(line.slice(0, line.indexOf(" "))))
      .join("\n");
  }
});

afterAll(async () => {
  if (traced && crypto !== undefined) {
    for (const pid of childrenOf(crypto.pid, "crypto.js")) process.kill(pid, "SIGTERM");
    await Promise.race([crypto.ended, new Promise((resolve) => setTimeout(resolve, 10_000))]);
  }
  if (crypto !== undefined) await stop(crypto);
  await relay?.close();
  await kit?.close();
});

describe("the signer, over a whole run", () => {
  it.skipIf(!traced)("the signer creates AF_UNIX sockets only and connects nowhere", () => {
    const sockets = trace.split("\n").filter((line) => / socket\(/.test(line));
    expect(sockets.length).toBeGreaterThan(0);
    expect(sockets.filter((line) => !/socket\(AF_UNIX,/.test(line))).toEqual([]);
    expect(trace.split("\n").filter((line) => / connect\(/.test(line))).toEqual([]);
  });

  it.skipIf(!traced)("the signer opens its bundle, and no package beside it", () => {
    expect(trace).toContain("/dist/agent/signer/main.js");
    expect(trace).not.toContain("node_modules/");
  });
});

describe("planted secrets", () => {
  it("are recognised by this test where they may be", () => {
    expect(hits(readFileSync(kit.configPath))).toContain("encKey as text");
  });

  it("are in no log, ledger, keystore, database or state file", () => {
    const files = filesUnder(kit.dir).filter(
      (path) => path !== kit.configPath && !path.endsWith(".strace"),
    );
    expect(files.length).toBeGreaterThan(8);
    expect(
      files
        .filter((path) => statSync(path).size < 512 * 1024 * 1024)
        .flatMap((path) => hits(readFileSync(path)).map((name) => `${name} in ${path}`)),
    ).toEqual(
      // The gateway's command prints apiKey once, for the merchant: the only copy there is.
      [`API secret in ${join(kit.dir, "gateway-commands.log")}`],
    );
  });

  it("are in no argument and no environment", () => {
    expect(hits(Buffer.from(seenCommands.join("\n"), "latin1"))).toEqual([]);
  });

  it("are in no frame or body between agent and gateway", () => {
    expect(relay.bytes().length).toBeGreaterThan(4000);
    expect(hits(relay.bytes())).toEqual([]);
  });

  it("are nowhere in the courier's memory", () => {
    // The same search finds what is there: the courier's own settings hold the gateway's address.
    expect(findInMemory(courierPid, { gatewayUrl: Buffer.from(relay.url) })).toEqual([
      "gatewayUrl",
    ]);
    expect(findInMemory(courierPid, secrets)).toEqual([]);
  });

  it("are nowhere as text in the signer's memory, which holds the hot wallet's key as bytes", () => {
    const { privateKey } = HDNodeWallet.fromPhrase(kit.mnemonic, "", "m/44'/60'/0'/0/0");
    const account0 = HDNodeWallet.fromPhrase(kit.mnemonic, "", "m/44'/60'/0'").privateKey;
    const bytes = {
      hotWallet: Buffer.from(privateKey.slice(2), "hex"),
      "account 0": Buffer.from(account0.slice(2), "hex"),
    };
    expect(findInMemory(signerPid, bytes)).toEqual(["hotWallet"]);
    const encKeys = Object.entries(secrets).filter(([name]) => name.startsWith("encKey"));
    expect(findInMemory(signerPid, Object.fromEntries(encKeys))).toEqual([]);
    expect(findInMemory(signerPid, keyTexts(kit.mnemonic))).toEqual([]);
  });

  it("are gone from config.json once paired, all but encKey", () => {
    const config = readFileSync(kit.configPath, "utf8");
    expect(config).not.toContain(kit.mnemonic);
    expect(config).not.toContain(kit.apiKey);
  });
});

it("the check of a heap snapshot's stricter cousin can fail", async () => {
  const holder = start(
    process.execPath,
    [
      "-e",
      `globalThis.kept = Buffer.from("${"ab".repeat(16)}", "hex"); setInterval(() => {}, 1000); console.log("up")`,
    ],
    {
      logFile: "/dev/null",
    },
  );
  await until("up", 10_000, async () => (holder.output().includes("up") ? true : undefined));
  expect(findInMemory(holder.pid, { planted: Buffer.from("ab".repeat(16), "hex") })).toEqual([
    "planted",
  ]);
  await stop(holder);
});
