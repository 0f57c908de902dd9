/**
 * `crypto --check` as a program of dist/, on a folder as pairing leaves it: its findings, and the
 * proof that it starts and changes nothing.
 */
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { mnemonicToSeedSync } from "bip39";
import { afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { runCheck } from "../../agent/check/check.ts";
import { writeLinkFile } from "../../agent/config/link-file.ts";
import { sealKeystore } from "../../agent/keystore/keystore.ts";
import { deriveAccounts, walletFingerprintOfAccounts } from "../../agent/keystore/nodes.ts";
import { Secret } from "../../agent/keystore/secret.ts";
import { type FakeNode, startFakeNode } from "../../lab/kit/fake-node.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { isLongTier } from "../../lab/kit/share.ts";
import { AgentFolder, knownMnemonic } from "../support/agent-folder.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();
let folder: AgentFolder;
let node: FakeNode;
let onAsked = (): void => {};
let chain: { id: string; decimals: Record<string, number> };
const usdt = "0xdAC17F958D2ee523a2206206994597C13D831ec7";
const block = {
  number: "0x9",
  hash: `0x${"ab".repeat(32)}`,
  parentHash: `0x${"cd".repeat(32)}`,
  baseFeePerGas: "0x1",
  /** Always new: a starved machine takes minutes, and a block of then is a stale one. */
  get timestamp() {
    return `0x${Math.floor(Date.now() / 1_000).toString(16)}`;
  },
  transactions: [],
};
/** Answers to the questions that payments and deposits ask beside blocks and calls. */
const answers: Readonly<Record<string, unknown>> = {
  eth_getCode: "0x60",
  eth_getBalance: "0x1",
  eth_getTransactionCount: "0x0",
  eth_estimateGas: "0x5208",
  eth_gasPrice: "0x1",
  eth_maxPriorityFeePerGas: "0x1",
  eth_getLogs: [],
  eth_getBlockReceipts: [],
  eth_getTransactionReceipt: null,
  eth_getTransactionByHash: null,
};

/** One encKey and one keystore serve all tests: sealing is slow on purpose. */
const encKeyText = randomBytes(32).toString("hex");
let sealed = "";
beforeAll(() => {
  const accounts = deriveAccounts(mnemonicToSeedSync(knownMnemonic), ["evm"]);
  const contents = {
    wallet: walletFingerprintOfAccounts(accounts),
    networks: ["eip155:31337"],
    accounts,
    signerSeed: new Secret(randomBytes(32)),
  };
  sealed = sealKeystore({ contents, encKey: Buffer.from(encKeyText), random: randomBytes });
});

beforeEach(async () => {
  folder = new AgentFolder();
  chain = { id: "0x7a69", decimals: { [usdt.toLowerCase()]: 6 } };
  node = await startFakeNode({
    answer: ({ method, params }) => {
      onAsked();
      if (method === "eth_chainId") return { result: chain.id };
      if (method in answers) return { result: answers[method] };
      const to = (params[0] as { to?: string }).to ?? "";
      const decimals = chain.decimals[to.toLowerCase()] ?? 2;
      return {
        result: method === "eth_call" ? `0x${decimals.toString(16).padStart(64, "0")}` : block,
      };
    },
  });
  const { state } = folder;
  mkdirSync(join(state, "signer", "ledger"), { recursive: true, mode: 0o700 });
  writeFileSync(join(state, "signer", "keystore.json"), sealed, { mode: 0o600 });
  writeFileSync(join(state, "signer", "ledger", "00000001.jsonl"), "{}\n", { mode: 0o600 });
  const link = {
    agent: "aa".repeat(8),
    ledgerEpoch: 1,
    gatewayKey: "22".repeat(32),
    linkSeed: randomBytes(32),
    gatewayUrl: "http://127.0.0.1:9",
  };
  writeLinkFile(join(state, "courier"), link);
  writeFileSync(
    join(state, "pairing.json"),
    JSON.stringify({ step: "scrubbed", granted: { agent: "aa".repeat(8) } }),
    {
      mode: 0o600,
    },
  );
  config();
  writeFileSync(join(folder.dir, "encKey"), encKeyText, { mode: 0o600 });
});
afterEach(async () => {
  onAsked = () => {};
  await node.close();
  folder.remove();
});

function config(
  change: (text: string) => string = (text) => text,
  secrets: Readonly<Record<string, string>> = {},
): void {
  const text = folder.writeConfig("http://127.0.0.1:9", secrets);
  writeFileSync(
    folder.config,
    change(text.replace('http://127.0.0.1:9"\n      ]', `${node.url}"\n      ]`)),
    { mode: 0o600 },
  );
}

async function checked(
  ...args: string[]
): Promise<{ code: number | null; codes: string[]; output: string }> {
  const words = ["--check", "--config", folder.config, "--state", folder.state, ...args];
  const { code, output } = await folder.launcher("crypto.js", ...words, "--json");
  const { findings } = JSON.parse(output) as { findings: { code: string; severity: string }[] };
  return { code, codes: findings.map((one) => `${one.severity} ${one.code}`), output };
}

/** The same for the signer alone, which asks no node, and so in this process. */
async function checkedHere(
  encKeyFile?: string,
): Promise<{ code: number | null; codes: string[]; output: string }> {
  let output = "";
  const options = {
    config: folder.config,
    state: folder.state,
    role: "signer",
    json: true,
  } as const;
  const code = await runCheck(
    { ...options, ...(encKeyFile === undefined ? {} : { encKeyFile }) },
    (text) => {
      output += text;
    },
  );
  const { findings } = JSON.parse(output) as { findings: { code: string; severity: string }[] };
  return { code, codes: findings.map((one) => `${one.severity} ${one.code}`), output };
}

const encKey = (): string[] => ["--enc-key-file", join(folder.dir, "encKey")];

it("a folder that would start has nothing, by every role, and nothing is changed", async () => {
  const before = folder.contents();
  for (const role of ["both", "courier"]) {
    const { code, codes, output } = await checked(
      ...(role === "courier" ? [] : encKey()),
      "--role",
      role,
    );
    expect([code, codes], output).toEqual([0, []]);
  }
  expect(await checkedHere(join(folder.dir, "encKey"))).toMatchObject({ code: 0, codes: [] });
  expect(folder.contents()).toEqual(before);
  const plain = await folder.launcher(
    "crypto.js",
    "--check",
    "--config",
    folder.config,
    "--state",
    folder.state,
    ...encKey(),
  );
  expect(plain.output).toMatch(/^crypto: would start \(both, /);
});

/** A field of numbers of a process's status, the first of them that `at` names. */
function statusOf(pid: number, field: "PPid" | "Uid", at: 0 | 1): number {
  const line =
    new RegExp(`^${field}:\\s+(.*)$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ??
    "";
  return Number(line.split(/\s+/)[at]);
}

/** Whether a process was begun by this one, or by one that this one began. */
function isOurs(pid: number): boolean {
  return pid > 1 && (pid === process.pid || isOurs(statusOf(pid, "PPid", 0)));
}

/** The users of this test's processes that ask nodes for a check now; others may check as well. */
function askingUsers(): readonly number[] {
  return readdirSync("/proc").flatMap((pid) => {
    try {
      if (
        !/^\d+$/.test(pid) ||
        !readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("agent/check/main")
      )
        return [];
      return isOurs(Number(pid)) ? [statusOf(Number(pid), "Uid", 1)] : [];
    } catch {
      return []; // it has ended
    }
  });
}

it.runIf(process.getuid?.() === 0)(
  "a check by root asks the nodes as the owner of the courier's folder",
  async () => {
    const users = new Set<number>();
    onAsked = () => {
      for (const user of askingUsers()) users.add(user);
    };
    const courier = join(folder.state, "courier");
    await checked("--role", "courier");
    expect([...users]).toEqual([0]); // its twin: a folder of root's own
    users.clear();
    const nobody = 65_534;
    for (const path of [courier, ...readdirSync(courier).map((name) => join(courier, name))])
      chownSync(path, nobody, nobody);
    const { codes, output } = await checked("--role", "courier");
    expect(codes, output).toEqual([]);
    expect([...users]).toEqual([nobody]);
  },
);

it("autowithdraw check says what crypto --check says, with the same exit code, and its JSON has the fields of docs/cli-json.md", async () => {
  const words = ["--config", folder.config, ...encKey()];
  const [own, direct] = [
    await folder.cliProcess("check", ...words),
    await folder.launcher("crypto.js", "--check", "--state", folder.state, ...words),
  ];
  expect([own.code, own.output]).toEqual([0, direct.output]);
  rmSync(join(folder.state, "signer", "ledger"), { recursive: true });
  const ill = await folder.cliProcess("check", ...words, "--json");
  expect(ill.code).toBe(2);
  const answer = JSON.parse(ill.output) as { readonly findings: readonly object[] };
  const section =
    readFileSync(join(projectRoot, "docs/cli-json.md"), "utf8")
      .split(/^## /m)
      .find((part) => part.startsWith("check\n")) ?? "";
  const fields = [
    ...Object.keys(answer).filter((name) => name !== "findings"),
    ...Object.keys(answer.findings[0] ?? {}).map((name) => `findings[].${name}`),
  ];
  expect([...section.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name)).toEqual(fields);
});

/**
 * `true` last: the finding is the signer's alone, so one check of the signer in this process is
 * enough.
 */
const cases: readonly (readonly [string, number, string, () => unknown, boolean])[] = [
  [
    "a wrong encKey",
    2,
    "error KEYSTORE_ENCKEY",
    () => writeFileSync(join(folder.dir, "encKey"), "0f".repeat(32), { mode: 0o600 }),
    true,
  ],
  [
    "a keystore that others can read",
    2,
    "error FILE_EXPOSED",
    () => chmodSync(join(folder.state, "signer", "keystore.json"), 0o644),
    true,
  ],
  [
    "no ledger",
    2,
    "error LEDGER_MISSING",
    () => rmSync(join(folder.state, "signer", "ledger"), { recursive: true }),
    true,
  ],
  [
    "no link file",
    2,
    "error STATE_INCOMPLETE",
    () => rmSync(join(folder.state, "courier", "link.json")),
    false,
  ],
  [
    "a key that nothing reads",
    2,
    "error CONFIG_UNKNOWN_KEY",
    () => config((text) => text.replace('"policy"', '"polcy"')),
    true,
  ],
  [
    "a chain that was not paired for",
    2,
    "error SIGNER_NETWORK",
    () => {
      chain.id = "0x1";
      config((text) => text.replace("31337", "1"));
    },
    true,
  ],
  [
    "a node of another chain",
    2,
    "error NODE_WRONG_CHAIN",
    () => void Object.assign(chain, { id: "0x1" }),
    false,
  ],
  [
    "a token with other decimals",
    2,
    "error CHECK_DECIMALS",
    () => void Object.assign(chain, { decimals: { [usdt.toLowerCase()]: 18 } }),
    false,
  ],
  ["a node that is away", 0, "warning NODE_UNREACHABLE", () => node.close(), false],
];

it.each(cases)("crypto --check: %s", async (_, exit, found, broken, ofSigner) => {
  await broken();
  const answers = ofSigner ? [await checkedHere(join(folder.dir, "encKey"))] : [];
  if (isLongTier || !ofSigner) answers.push(await checked(...encKey()));
  for (const { code, codes, output } of answers)
    expect([code, codes], output).toEqual([exit, [found]]);
});

it("crypto --check says when it was given no encKey, and still looks at what stands readable", async () => {
  expect(await checkedHere()).toMatchObject({ code: 0, codes: ["warning ENCKEY_MISSING"] });
  config((text) => text.replace("31337", "1"));
  expect((await checkedHere()).codes).toEqual(["warning ENCKEY_MISSING", "error SIGNER_NETWORK"]);
});

it("a courier's config.json holds no secret", async () => {
  config(undefined, { encKey: encKeyText });
  expect(await checked("--role", "courier")).toMatchObject({
    code: 2,
    codes: ["error CONFIG_SECRET_PRESENT"],
  });
  expect((await checkedHere()).codes).toEqual([]);
});

it("crypto --check gives each finding the priority that the journal is searched by, and a terminal none", async () => {
  const options = {
    config: join(folder.dir, "none.json"),
    state: folder.state,
    role: "signer",
  } as const;
  const said = async (isJournal: boolean): Promise<string> => {
    const texts: string[] = [];
    expect(await runCheck(options, (text) => texts.push(text), isJournal)).toBe(2);
    return texts.join("");
  };
  expect(await said(true)).toMatch(/^<3>crypto: error CONFIG_MISSING: .*\ncrypto: would not start/);
  expect(await said(false)).toMatch(/^crypto: error CONFIG_MISSING: /);
});

it("--json goes with --check alone", async () => {
  expect((await folder.launcher("crypto.js", "--json")).code).toBe(2);
});
