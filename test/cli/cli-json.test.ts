/**
 * docs/cli-json.md lists every field of every --json answer, and no other: each command runs with
 * --json and a signer with scripted answers, and its fields are compared with the rows of its
 * section.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LimitView, SignerStatus, WaitView } from "../../agent/socket/verbs.ts";
import { commandTree, runCommand } from "../../cli/main.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import {
  broadcast,
  firstNonce,
  held,
  OperatorSocket,
  recoveryPlan,
  spentCoin,
  transactionId,
  well,
} from "../support/operator-socket.ts";

const signer = new OperatorSocket();
const dir = mkdtempSync(join(tmpdir(), "aw-json-"));
const page = readFileSync(join(projectRoot, "docs", "cli-json.md"), "utf8");

const limit: LimitView = {
  ...{
    currency: "eth",
    network: "eip155:1",
    contract: "",
    maxPerWithdrawal: "1",
    maxPerHour: "2",
    maxPerDay: "5",
    holdAbove: "0.5",
    twoApproversAbove: "0.8",
    manualReplaceAbove: "0.4",
  },
  newDestination: { holdAbove: "0.1", delayMinutes: 60 },
  ...{
    maxFee: "0.01",
    maxFeePerDay: "0.05",
    maxTip: "50",
    tipUnit: "gwei",
    sweeps: {
      maxFee: "0.01",
      maxFeePerDay: "0.05",
      usedFeesInDay: "0.002",
      maxTopUp: "0.003",
      maxTopUpPerDay: "0.03",
      usedTopUpsInDay: "0.0021",
      usedTopUpFeesInDay: "0.0004",
    },
    allow: 2,
    deny: 1,
    usedInHour: "0.25",
    usedInDay: "1.75",
    usedFeesInDay: "0.004",
  },
};
const wait: WaitView = {
  ...{ until: 0, isNew: true, needsTwo: true },
  likeness: { address: broadcast.address, at: 1, amount: "1", currency: "eth" },
  confirmed: { approver: "bob", address: held.address, at: 2 },
};

const manualReplace = { transactionId, network: "tron:0x2b6653dc", slot: "7", attempts: 1 };
const unreachable = {
  transactionId,
  network: "eip155:1",
  slot: "7",
  count: 1,
  code: "SWEEP_UNREACHABLE",
  left: "",
};
const noRoom = { ...manualReplace, code: "POLICY_ABOVE_HOUR" } as const;

/** The fields in the table of a section. */
function rowsOf(section: string): string[] {
  const text = page.split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? "";
  return [...text.matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1] ?? "").sort();
}

/** `status.head`, `withdrawals[].state`: names as in the tables, two levels deep. */
function fieldsOf(value: unknown, path = "", depth = 0): string[] {
  const one = Array.isArray(value) ? value[0] : value;
  if (typeof one !== "object" || one === null || depth === 2) return [path];
  const own = Array.isArray(value) ? `${path}[]` : path;
  return Object.entries(one).flatMap(([name, inner]) =>
    fieldsOf(inner, own === "" ? name : `${own}.${name}`, depth + 1),
  );
}

const short = (path: string): string => path.replace(/\[\]$/, "");

beforeAll(async () => {
  mkdirSync(join(dir, "run"));
  mkdirSync(join(dir, "signer"));
  writeFileSync(
    join(dir, "pairing.json"),
    JSON.stringify({
      version: 1,
      step: "sealed",
      wallet: {
        wallet: well.wallet,
        accounts: [
          { family: "evm", purpose: "hot", id: held.account },
          { family: "evm", purpose: "deposits", id: "xpub" },
        ],
        signerKey: "11".repeat(32),
      },
      networks: ["eip155:1"],
      currencies: [{ id: "eth", network: "eip155:1", contract: "", decimal: 18, maxFee: "0.01" }],
      gatewayUrl: "https://pay.example.com",
      granted: null,
      word: "",
    }),
  );
  writeFileSync(
    join(dir, "api.key"),
    `k_0123456789abcdef.c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlYzE.${"0".repeat(32)}`,
    {
      mode: 0o600,
    },
  );
  signer.answers = {
    status: () => ({
      status: {
        ...well,
        limits: [limit],
        manualReplace,
        noRoom,
        unreachable,
        ledgerReadOnly: true,
      },
    }),
    list: () => ({ withdrawals: [broadcast, held] }),
    show: () => ({
      withdrawal: held,
      history: [{ seq: 12, at: 1, kind: "REQUESTED", detail: "job 7" }],
      wait,
      outgoing: [],
    }),
    approve: () => ({ withdrawal: held, wait }),
    refuse: () => ({ withdrawal: held }),
    manualReplacement: () => ({
      withdrawal: broadcast,
      plan: {
        act: "replace",
        attempt: 2,
        txParams: { gasLimit: "21000", maxFeePerGas: "2", maxPriorityFeePerGas: "1" },
      },
      feeMarket: { baseFeePerGas: "1", maxPriorityFeePerGas: "1", maxPriorityFeePerGasHigh: "1" },
    }),
    end: () => ({ withdrawal: broadcast, plan: { slot: "7", counted: "0" } }),
    freeCoin: () => ({ spent: spentCoin }),
    pause: ({ paused }) => ({ paused }),
    recover: () => ({ plan: recoveryPlan, done: true }),
    adopt: () => ({ first: firstNonce }),
    verify: () => ({ records: 18, segments: 1, head: well.head }),
  };
  await signer.open(join(dir, "run", "operator.sock"));
});
afterAll(async () => {
  await signer.close();
  rmSync(dir, { recursive: true, force: true });
});

async function answerOf(line: string): Promise<unknown> {
  let out = "";
  const terminal: Terminal = {
    out: (text) => {
      out += text;
    },
    err: () => {},
    user: "alice",
    isInteractive: false,
    confirm: async () => false,
    now: () => 1795210863000,
    sleep: async () => false,
  };
  await runCommand(
    [...line.replace("ID", transactionId).replace("DIR", dir).split(" "), "--json"],
    terminal,
  );
  return JSON.parse(out);
}

/**
 * These commands answer from processes of their own: test/keystore/copies-process.test.ts and
 * test/pairing/pairing.test.ts run them, and test/cli/crypto-check.test.ts runs check.
 */
const elsewhere = ["pair", "rekey", "backup", "restore", "check"];

describe("docs/cli-json.md", () => {
  it.each([
    ["status", "status --state DIR"],
    ["withdrawals", "withdrawals --state DIR"],
    ["show", "show ID --state DIR"],
    ["approve, refuse", "approve ID --yes --state DIR"],
    ["approve, refuse", "refuse ID --yes --state DIR"],
    ["replace, cancel", "replace ID --yes --state DIR"],
    ["replace, cancel", "cancel ID --yes --state DIR"],
    ["end", "end ID --yes --state DIR"],
    ["free", "free bitcoin 00:1 --yes --state DIR"],
    ["pause, resume", "pause --yes --state DIR"],
    ["pause, resume", "resume --yes --state DIR"],
    ["address", "address --state DIR"],
    ["adopt", "adopt local --yes 5 --state DIR"],
    ["verify", "verify --state DIR"],
    ["doctor", "doctor --state DIR"],
    ["recover", `recover --yes ${recoveryPlan.digest} --state DIR`],
    ["token", "token --api-key-file DIR/api.key"],
    ["a command that did not do it", "show 0 --state DIR"],
  ])("says of %s what %s answers", async (section, line) => {
    const found = fieldsOf(await answerOf(line)).map(short);
    const inOne = found.flatMap((field) => /^withdrawals?(?:\[\])?\.(.+)/.exec(field)?.[1] ?? []);
    if (inOne.length > 0) expect(rowsOf("a withdrawal")).toEqual(inOne.sort());
    const inWait = found.flatMap((field) => /^wait\.([^.]+)/.exec(field)?.[1] ?? []);
    if (inWait.length > 0) expect(rowsOf("wait")).toEqual([...new Set(inWait)].sort());
    const own = found.map((field) => field.replace(/^(withdrawals?|wait)(?:\[\])?\..+/, "$1"));
    expect(rowsOf(section)).toEqual([...new Set(own)].sort());
  });

  it("says of a limit and of the courier what status --state DIR answers", async () => {
    const { status } = (await answerOf("status --state DIR")) as { readonly status: SignerStatus };
    expect(rowsOf("a limit")).toEqual(Object.keys(status.limits[0] ?? {}).sort());
    expect(rowsOf("the courier")).toEqual(Object.keys(status.courier ?? {}).sort());
  });

  it("has a section for every command that takes --json", () => {
    const sections = page.split(/^## /m).flatMap((part) => (part.split("\n")[0] ?? "").split(", "));
    const taking = commandTree()
      .commands.filter((command) => command.options.some(({ long }) => long === "--json"))
      .map((command) => command.name());
    expect(taking.length).toBeGreaterThan(10);
    expect(taking.filter((name) => !sections.includes(name))).toEqual([]);
    for (const name of elsewhere) expect(rowsOf(name).length, name).toBeGreaterThan(3);
  });
});
