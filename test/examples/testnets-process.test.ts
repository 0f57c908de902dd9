/**
 * The commands of examples/testnets/README.md, in the page's order, up to a withdrawal that is
 * final: gateway, agent and shop are processes, and a local chain with the chain id of Sepolia
 * stands in for Sepolia. Tron Nile is left out, in the way that the page describes for one network.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Mnemonic } from "ethers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { currencyPresets } from "../../chains/presets.ts";
import { createClient } from "../../clients/typescript/client.ts";
import { type Anvil, startAnvil } from "../../lab/kit/anvil.ts";
import { receiver } from "../../lab/kit/gateway-server.ts";
import { projectRoot, settle } from "../../lab/kit/kit.ts";
import { freePort, type StartedProcess, start, stop, until } from "../../lab/kit/processes.ts";
import { rpc, sendUnlocked } from "../../lab/kit/rpc.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

const page = readFileSync(join(projectRoot, "examples/testnets/README.md"), "utf8");
/** The page's commands; `stays` is true for a command that runs until the test ends it. */
const commands = [...page.matchAll(/```sh\n([\s\S]*?)```/g)]
  .flatMap(([, block = ""]) => block.trim().split("\n"))
  .map((line) => ({ line, stays: line.endsWith(" # stays") }));

/** An operator's work in the editor: replaces the placeholders, and deletes the lines of Nile. */
const editor = `#!${process.execPath}
const { readFileSync, writeFileSync } = require("node:fs");
const [, , path] = process.argv;
const values = JSON.parse(process.env.FILLED_IN);
const text = readFileSync(path, "utf8").replace(/<[A-Z_]+>/g, (name) => values[name] ?? name);
const file = JSON.parse(text.replaceAll(":8080", ":" + process.env.LOCAL_PORT).replace('"port": 8080', '"port": ' + process.env.LOCAL_PORT));
for (const part of [file.chains, file.currencies, file.policy ?? {}]) for (const name of Object.keys(part)) if (name.includes("nile")) delete part[name];
writeFileSync(path, JSON.stringify(file, null, 2));
`;

/** A contract that answers every call with the number 6, which is enough for a token's decimals. */
const answersSix = "0x600660005260206000f3";

const dir = mkdtempSync(join(tmpdir(), "testnets-process-"));
const started: StartedProcess[] = [];
let anvil: Anvil;
let env: NodeJS.ProcessEnv;
const filledIn: Record<string, string> = {};

beforeAll(async () => {
  anvil = await startAnvil({ chainId: 11_155_111, blockTimeMs: 500 });
  await rpc(anvil.url, "anvil_setCode", [
    currencyPresets["usdc-sepolia"]!.lines.contract,
    answersSix,
  ]);
  writeFileSync(join(dir, "editor"), editor);
  chmodSync(join(dir, "editor"), 0o755);
  env = {
    PATH: process.env.PATH,
    HOME: dir,
    TRY: join(dir, "autowithdraw-try"),
    EDITOR: join(dir, "editor"),
  };
  env.LOCAL_PORT = `${await freePort()}`;
  filledIn["<SEPOLIA_NODE>"] = anvil.url;
});
afterAll(async () => {
  for (const one of started.reverse()) await stop(one);
  await anvil.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** Runs the lines in one shell that stops at the first failure, and returns their output. */
async function shell(lines: readonly string[], input = ""): Promise<string> {
  const { code, said } = await ended(lines, input);
  if (code !== 0) throw new Error(`${lines.join("\n")}\nended with ${code}:\n${said}`);
  return said;
}

function ended(
  lines: readonly string[],
  input = "",
): Promise<{ readonly code: number | null; readonly said: string }> {
  const text = lines.join("\n").replaceAll(":8080", `:${env.LOCAL_PORT}`);
  return new Promise((resolve) => {
    const child = spawn("bash", ["-ec", text], {
      cwd: projectRoot,
      env: { ...env, FILLED_IN: JSON.stringify(filledIn) },
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => (said += part));
    child.stdin.end(input);
    child.once("close", (code) => resolve({ code, said }));
  });
}

let next = 0;
/** The commands up to the next that stays, or through the one that begins with `last`. */
function upTo(last?: string): string[] {
  const lines: string[] = [];
  for (; next < commands.length && commands[next]?.stays === false; next += 1) {
    lines.push(commands[next]?.line ?? "");
    if (last !== undefined && commands[next]?.line.startsWith(last) === true) {
      next += 1;
      break;
    }
  }
  return lines;
}

/** Starts the command that stays, and waits until `ready` gives something. */
async function begin(ready: (output: string) => Promise<true | undefined>): Promise<void> {
  const { line = "", stays } = commands[next] ?? {};
  expect(stays, line).toBe(true);
  next += 1;
  const one = start("bash", ["-ec", `exec ${line}`], {
    cwd: projectRoot,
    logFile: join(dir, `log-${next}`),
    env,
  });
  started.push(one);
  await until(line, 40_000, () => ready(one.output()), one.output);
}

it("the commands of examples/testnets lead from nothing to a paid withdrawal", async () => {
  const baseUrl = `http://127.0.0.1:${env.LOCAL_PORT}`;
  const [build, ...first] = upTo();
  expect(build).toContain("npm run build"); // done before this test
  await shell(first);
  await begin(async () => ((await fetch(`${baseUrl}/health`)).ok ? true : undefined));

  const made = await shell(upTo("node gateway/gateway.js merchant create"));
  const [apiKey = "", shopKey = ""] = made.match(/k_[0-9a-f]{16}\.[\w-]{43}\.[0-9a-f]{32}/g) ?? [];
  const words = Mnemonic.fromEntropy(randomBytes(16)).phrase;
  Object.assign(filledIn, {
    "<API_KEY>": apiKey,
    "<MNEMONIC>": words,
    "<ENCRYPTION_KEY>": randomBytes(32).toString("hex"),
  });
  const paired = await shell(upTo());
  const [shortCode = ""] = /(?<=short code )\S+(?: \S+)*/.exec(paired) ?? [];
  expect(paired.split(shortCode).length, paired).toBe(3); // pair.js and agents print it
  await begin(async (output) => (output.includes("crypto: ready") ? true : undefined));

  const [hotWallet = ""] =
    /0x[0-9a-fA-F]{40}/.exec(await shell(upTo("node autowithdraw.js address"))) ?? [];
  await sendUnlocked(anvil.url, { to: hotWallet, value: `0x${(10n ** 17n).toString(16)}` });
  await settle(anvil.url, 4);
  const shop = createClient({ baseUrl, key: { apiKey: shopKey } });
  await until("the funds are final", 40_000, async () => {
    const read = await shop.balance("eth-sepolia");
    return read.ok && read.value.available === "0.1" ? true : undefined;
  });
  const status = upTo("node autowithdraw.js status");
  // The agent reads the funds of an idle network every few seconds while they are missing.
  const { code, said } = await until("status knows the funds", 20_000, async () => {
    const told = await ended(status);
    return told.said.includes("holds no native coin") ? undefined : told;
  });
  // A test that is run as root is told so, and of nothing else.
  const isRoot = process.getuid?.() === 0;
  expect([code, said.match(/^ {2}- .*/gm) ?? []], said).toEqual(
    isRoot ? [1, [expect.stringContaining("the signer runs as root")]] : [0, []],
  );
  const answered = await shell(upTo(), `${shopKey}\n${receiver}\n`);
  const [transactionId = ""] = /(?<="transactionId":")\w+/.exec(answered) ?? [];
  await until("the withdrawal is final", 60_000, async () => {
    const read = await shop.transaction(transactionId, 2);
    return read.ok && read.value.status === 1 ? true : undefined;
  });
  expect(next).toBe(commands.length);
  expect(BigInt((await rpc(anvil.url, "eth_getBalance", [receiver, "latest"])) as string)).toBe(
    10n ** 22n + 10n ** 15n,
  );
});
