/**
 * The commands as people see them: each file of test/cli is a transcript, its `$` lines are run and everything they print must stand
 * there, exit code included. A signer with scripted answers stands behind the socket.
 */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { decodeJwt, decodeProtectedHeader, jwtVerify } from "jose";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ledgerDisk } from "../agent/signer/ledger/disk.ts";
import { createLedger } from "../agent/signer/ledger/ledger.ts";
import type { CourierStatus, LedgerLine, LimitView, SignerStatus, WaitView, WithdrawalView } from "../agent/socket/verbs.ts";
import { type Machine, type UnitView, unitsIn } from "../cli/machine.ts";
import { runCommand } from "../cli/main.ts";
import { momentHere, type Terminal, table } from "../cli/terminal.ts";
import { projectRoot } from "../scripts/rig.ts";
import { startsTheBuild } from "./support/built.ts";
import { broadcast, held, OperatorSocket, recoveryPlan, refusal, transactionId, well } from "./support/operator-socket.ts";

const folder = fileURLToPath(new URL("./cli", import.meta.url));
const nowMs = 1795210863000; // 2026-11-20 21:41:03 UTC
let dir: string;
let state: string;
const signer = new OperatorSocket();
const courierWell = well.courier as NonNullable<typeof well.courier>;
const chain = courierWell.chains[0] as (typeof courierWell.chains)[number];

class Screen implements Terminal {
  text = "";
  isInteractive = false;
  answer = "no";
  rounds = 0;
  readonly now = (): number => nowMs;
  user = "alice";
  out(text: string): void {
    this.text += text;
  }
  err(text: string): void {
    this.text += text;
  }
  async confirm(question: string): Promise<boolean> {
    this.text += `${question}${this.answer}\n`;
    return this.answer === "yes";
  }
  async sleep(): Promise<boolean> {
    this.rounds -= 1;
    return this.rounds > 0;
  }
}

/** Nothing but what a scene changes: config.json as the signer read it, no service manager, no last words. */
const ordinary: Machine = {
  isUnderUnits: () => false,
  units: () => new Map(),
  lastWords: () => [],
  configOnDisk: () => ({ is: "read", digest: well.config.digest }),
  isThere: () => true,
};
let machine = ordinary;

const limits: LimitView = {
  ...{
    currency: "eth",
    maxPerWithdrawal: "1",
    maxPerHour: "2",
    maxPerDay: "5",
    holdAbove: "0.5",
    maxFee: "0.02",
    maxFeePerDay: "1",
  },
  ...{ allow: 2, deny: 1, usedInHour: "0.25", usedInDay: "1.75", usedFeesInDay: "0.004" },
  ...{ twoApproversAbove: "", newDestination: { holdAbove: "", delayMinutes: 0 } },
};

function linkDown(linkDetail: string): void {
  const courier = { ...courierWell, link: "down" as const, linkDetail };
  signer.answers = { status: () => ({ status: { ...well, courier } }) };
}

/** Begins and ends as the address of `held` does. */
const twin = "0x7099abababababAbaBaBABaBaBabAbAbaBA179c8";
const waiting: WaitView = { until: 0, isNew: false, likeness: null, needsTwo: false, confirmed: null };
const likeness = { address: held.address, at: held.requestedAt - 86_400_000, amount: "120", currency: held.currency };
/** A status that differs from a healthy one, with the withdrawal of the transcripts in it. */
function ill(change: Partial<SignerStatus>, courier: Partial<CourierStatus> | null = {}): () => void {
  return () => {
    const status = { ...well, ...change, courier: courier === null ? null : { ...courierWell, ...courier } };
    signer.answers = { ...signer.answers, status: () => ({ status }) };
  };
}

/** One withdrawal in this state, behind a healthy signer or one that `status` makes ill. */
function shown(change: Partial<WithdrawalView>, status: () => void = ill({})): () => void {
  return () => {
    status();
    signer.answers = {
      ...signer.answers,
      show: () => ({ withdrawal: { ...held, code: "", ...change }, history: [], wait: null }),
    };
  };
}

const bound = { nonce: "41", versions: broadcast.versions };
const waits = (why: string): (() => void) => ill({}, { waiting: [{ transactionId, why }] });
const noNode = {
  chains: [{ ...chain, ok: false, detail: "NODE_UNREACHABLE; http://10.0.0.7:8545 ECONNREFUSED", nativeBalance: "" }],
};
const away = { link: "down" as const, linkDetail: "LINK_SOCKET: ECONNREFUSED" };
const long = { requestedAt: nowMs - 7_200_000, changedAt: nowMs - 3_600_000 };

/** Every state of a withdrawal as it should be, and what can keep it there. */
const states: Readonly<Record<string, () => void>> = {
  "held above": shown({ state: "held", code: "POLICY_HOLD_ABOVE" }),
  "held manual": shown({ state: "held", code: "POLICY_MANUAL", mode: "manual", address: "" }),
  "held after a recovery": shown({ state: "held", code: "RECOVERY_HOLD" }),
  "held though settled": shown({ state: "held", code: "RECOVERY_SETTLED" }),
  approved: shown({ state: "approved", changedAt: nowMs - 1000 }),
  "approved without funds": shown({ state: "approved" }, waits("funds")),
  "approved above fees": shown({ state: "approved" }, waits("fee POLICY_FEE_ABOVE_WITHDRAWAL")),
  "approved above the day's fees": shown({ state: "approved" }, waits("fee POLICY_FEE_ABOVE_DAY")),
  "approved above the hour": shown({ state: "approved" }, waits("POLICY_ABOVE_HOUR")),
  "approved behind others": shown({ state: "approved" }, waits("others in flight")),
  "approved and would revert": shown({ state: "approved" }, waits("the chain would revert it")),
  "approved on an account behind": shown({ state: "approved" }, waits("ACCOUNT_BEHIND")),
  "approved behind a quarantined one": shown({ state: "approved" }, waits("ACCOUNT_WAITS")),
  "approved and a full disk": shown({ state: "approved" }, waits("LEDGER_DISK_FULL")),
  "approved and no node": shown({ state: "approved" }, ill({}, noNode)),
  "approved and locked": shown(
    { state: "approved" },
    ill({ locked: "LEDGER_FORKED", lockedDetail: "record 18 has another hash at the gateway" }),
  ),
  "approved and no courier": shown({ state: "approved" }, ill({ courierConnected: false })),
  "approved long ago": shown({ state: "approved", ...long }),
  intent: shown({ state: "intent", nonce: "41", changedAt: nowMs - 1000 }),
  signed: shown({ state: "signed", ...bound, changedAt: nowMs - 1000 }),
  "signed without a link": shown({ state: "signed", ...bound }, ill({}, away)),
  released: shown({ state: "released", ...bound, changedAt: nowMs - 1000 }),
  "released that no node takes": shown({ state: "released", ...bound }, waits("no node takes it")),
  broadcast: shown({ state: "broadcast", ...bound }),
  "broadcast long ago": shown({ state: "broadcast", ...bound, ...long }),
  "broadcast behind a gap": shown({ state: "broadcast", ...bound }, waits("nonce 40 of the account comes first")),
  "broadcast too cheap": shown({ state: "broadcast", ...bound }, waits("funds for a higher fee")),
  included: shown({ state: "included", ...bound }),
  "included and read back differently": shown({ state: "included", ...bound }, waits("COURIER_TOKEN_MOVED")),
  paid: shown({ state: "paid", ...bound }),
  reverted: shown({ state: "reverted", ...bound }),
  lost: shown({ state: "lost", ...bound }),
  refused: shown({ state: "refused", code: "POLICY_ABOVE_DAY" }),
  "refused by a person": shown({ state: "refused", code: "OPERATOR_REFUSED" }),
  expired: shown({ state: "expired", code: "JOB_EXPIRED" }),
  quarantined: shown({ state: "quarantined", code: "RECOVERY_HOLD", ...bound }),
  settled: shown({ state: "settled", code: "RECOVERY_SETTLED" }),
};

const unit = (change: UnitView): ReadonlyMap<string, UnitView> => new Map([["crypto-signer.service", change]]);
const lastWords = {
  role: "signer" as const,
  code: "KEYSTORE_ENCKEY",
  message: "the keystore does not open: wrong encKey, or it was changed",
  hint: "give the encKey it was sealed with",
  at: nowMs - 90_000,
};

/** Nobody answers, and the machine says this of it. */
function nobody(change: Partial<Machine>): () => Promise<void> {
  return async () => {
    machine = { ...ordinary, ...change };
    await signer.close();
  };
}

const underUnits = (view: UnitView, words: Machine["lastWords"] = () => []): (() => Promise<void>) =>
  nobody({ isUnderUnits: () => true, units: () => unit(view), lastWords: words });

function withoutCredential(isThere: Machine["isThere"]): () => Promise<void> {
  const view = { ActiveState: "failed", SubState: "failed", Result: "exit-code", ExecMainStatus: "243" };
  return nobody({ isUnderUnits: () => true, units: () => unit(view), isThere });
}

function onDisk(config: ReturnType<Machine["configOnDisk"]>, isUnderUnits = false): () => void {
  return () => {
    machine = { ...ordinary, configOnDisk: () => config, isUnderUnits: () => isUnderUnits };
    ill({})();
  };
}

/** What can be wrong with an agent; each says itself in `status` alone. */
const faults: Readonly<Record<string, () => Promise<void> | void>> = {
  "the limits in force": ill({ limits: [limits] }),
  "one record more": ill({ acked: 17 }),
  "config changed": onDisk({ is: "read", digest: "ee".repeat(32) }),
  "config changed under the units": onDisk({ is: "closed", changedAtMs: nowMs }, true),
  "config broken on disk": onDisk({
    is: "invalid",
    code: "CONFIG_JSON",
    message: "/etc/autowithdraw/config.json, line 3, column 7: a comma is missing",
    hint: "correct the line named; most often a comma or a quote",
  }),
  "config gone": onDisk({ is: "gone" }),
  "two configs": ill({}, { configDigest: "ee".repeat(32) }),
  "disk full": ill({ freeBytes: 40_000_000, ledgerWritable: false }),
  "disk nearly full": ill({ freeBytes: 200_000_000 }),
  "disk failed": ill({ ledgerWritable: false }),
  "orders wait for the disk": ill({}, { linkDetail: "LEDGER_DISK_FULL: the signer does not take new orders" }),
  "one waits for the disk": waits("LEDGER_DISK_FULL"),
  "signer is root": ill({ isolation: "L0 one user, and it is root" }),
  "courier gone": ill({ courierConnected: false }),
  "courier not heard yet": ill({}, null),
  "just started": ill({ startedAt: nowMs - 2_000, courierConnected: false }, null),
  "courier silent": ill({}, { at: nowMs - 300_000 }),
  "clocks apart": ill({}, { link: "down", linkDetail: "LINK_REFUSED: CLOCK_SKEW" }),
  "newer epoch": ill({}, { link: "down", linkDetail: "LINK_ENDED: closed by the gateway, 4003 epoch" }),
  "locked at the gateway": ill({}, { link: "down", linkDetail: "LINK_ENDED: closed by the gateway, 4004 locked" }),
  "gateway forgot": ill({}, { link: "down", linkDetail: "LINK_ENDED: closed by the gateway, 4009 behind" }),
  "wrong chain": ill(
    {},
    {
      chains: [
        { ...chain, ok: false, detail: "NODE_WRONG_CHAIN; http://10.0.0.7:8545 NODE_WRONG_CHAIN: chain id 5 instead of 1" },
      ],
    },
  ),
  "nodes disagree": ill({}, { chains: [{ ...chain, ok: false, detail: "NODE_DISAGREE" }] }),
  "account with code": ill({}, { chains: [{ ...chain, ok: false, detail: "COURIER_ACCOUNT_CODE" }] }),
  "forked ledger": ill({ locked: "LEDGER_FORKED", lockedDetail: "record 18 has another hash at the gateway" }),
  "new ledger": ill({ locked: "LEDGER_NEW", lockedDetail: "begun anew" }),
  "foreign nonce": ill({ locked: "CHAIN_NONCE_FOREIGN", lockedDetail: "eip155:1 counts 44, the ledger 41" }),
  "forked jobs": ill({ locked: "JOB_CHAIN_FORKED", lockedDetail: "job 7" }),
  "recovery offered": ill({ recovery: "RECOVERY_OFFERED" }),
  "in recovery": ill({ recovery: "RECOVERY_HOLD" }),
  "a person is waited for": () => {
    ill({ counts: { ...well.counts, held: 1, quarantined: 1 } })();
    const quarantined: WithdrawalView = { ...broadcast, state: "quarantined", code: "RECOVERY_HOLD" };
    signer.answers = {
      ...signer.answers,
      list: () => ({ withdrawals: [held, quarantined, { ...broadcast, transactionId: "1".repeat(32) }] }),
    };
  },
  "nobody is waited for": ill({ counts: { ...well.counts, held: 0 } }),
  "ended with a reason": nobody({ lastWords: () => [lastWords] }),
  "stopped on purpose": underUnits({ ActiveState: "inactive", SubState: "dead", Result: "success", ExecMainStatus: "0" }),
  "failed with a reason": underUnits(
    { ActiveState: "failed", SubState: "failed", Result: "exit-code", ExecMainStatus: "2" },
    () => [lastWords],
  ),
  "failed without a word": underUnits({ ActiveState: "failed", SubState: "failed", Result: "signal", ExecMainStatus: "9" }),
  "credential of another machine": withoutCredential(() => true),
  "no credential": withoutCredential((path) => !path.endsWith("encKey.cred")),
  "no config for the units": withoutCredential((path) => !path.endsWith("config.json")),
  "restarting in a loop": underUnits(
    { ActiveState: "activating", SubState: "auto-restart", ExecMainStatus: "1", NRestarts: "12" },
    () => [lastWords],
  ),
  starting: underUnits({ ActiveState: "active", SubState: "running", ExecMainStatus: "0" }),
  "no service manager answers": nobody({ isUnderUnits: () => true }),
  "killed from outside": underUnits({ ActiveState: "inactive", SubState: "dead", Result: "signal", ExecMainStatus: "15" }),
};

/** What the scripted signer says in each scene a transcript names with `# scene:`. */
const scenes: Readonly<Record<string, () => Promise<void> | void>> = {
  working: () => {
    signer.answers = {
      status: () => ({ status: well }),
      list: ({ openOnly, limit }) => ({
        withdrawals: openOnly === true ? [held, broadcast].slice(0, limit as number) : [held, broadcast],
      }),
      show: ({ transactionId: id }) => {
        const withdrawal = [held, broadcast].find((one) => one.transactionId === id);
        const wait = withdrawal === held ? waiting : null;
        if (withdrawal === undefined) return refusal("WITHDRAWAL_UNKNOWN", "");
        return { withdrawal, history: [{ seq: 12, at: withdrawal.requestedAt, kind: "REQUESTED", detail: "job 7" }], wait };
      },
      approve: () => ({ withdrawal: { ...held, state: "approved", code: "" }, wait: null }),
      refuse: () => ({ withdrawal: { ...held, state: "refused", code: "OPERATOR_REFUSED" } }),
      verify: () => ({ records: 18, segments: 1, head: well.head }),
    };
  },
  empty: () => {
    signer.answers = { list: () => ({ withdrawals: [] }) };
  },
  degraded: () => {
    const courier = {
      ...courierWell,
      link: "down" as const,
      linkDetail: "LINK_SOCKET: ECONNREFUSED",
      chains: [{ ...chain, ok: false, detail: "NODE_UNREACHABLE; http://10.0.0.7:8545 ECONNREFUSED", nativeBalance: "" }],
      waiting: [{ transactionId, why: "funds: 3200.5 usdt-erc20 needed, 100 there" }],
    };
    signer.answers = { status: () => ({ status: { ...well, courier, acked: 12, courierConnected: true } }) };
  },
  released: () => linkDown("LINK_ENDED: closed by the gateway, 4001 refused"),
  replaced: () => linkDown("LINK_ENDED: closed by the gateway, 4000 replaced"),
  behind: () => linkDown("LINK_REFUSED: GATEWAY_BEHIND"),
  // A recovery quarantined what was never signed, and a person has approved others before it.
  waits: () => {
    const courier = { ...courierWell, waiting: [{ transactionId, why: "ACCOUNT_WAITS" }] };
    const counts = { ...well.counts, held: 0, broadcast: 0, approved: 1, quarantined: 1 };
    const quarantined: WithdrawalView = { ...broadcast, state: "quarantined", code: "RECOVERY_HOLD", versions: [] };
    signer.answers = {
      status: () => ({ status: { ...well, courier, counts } }),
      list: () => ({ withdrawals: [{ ...held, state: "approved", code: "" }, quarantined] }),
      show: ({ transactionId: id }) => {
        const withdrawal = id === transactionId ? { ...held, code: "RECOVERY_HOLD" } : quarantined;
        return { withdrawal, history: [], wait: waiting };
      },
      refuse: () => refusal("WITHDRAWAL_BOUND", "nonce 41"),
      finish: () => ({ held: 0, quarantined: 1 }),
    };
  },
  overtaken: () => {
    const courier = { ...courierWell, waiting: [{ transactionId, why: "ACCOUNT_BEHIND" }] };
    const together = { isGatewayBehind: true, isOnlyUnheard: true, gatewayHead: recoveryPlan.head };
    signer.answers = {
      status: () => ({ status: { ...well, courier } }),
      recover: () => ({ plan: { ...recoveryPlan, ...together } }),
    };
  },
  asking: () => {
    const courier = { ...courierWell, chains: [{ ...chain, ok: false, isAsking: true, detail: "asking", nativeBalance: "" }] };
    signer.answers = { status: () => ({ status: { ...well, courier } }) };
  },
  decided: () => {
    signer.answers = {
      show: () => ({ withdrawal: { ...broadcast, transactionId }, history: [], wait: null }),
      approve: () => refusal("WITHDRAWAL_NOT_HELD", "broadcast"),
      refuse: () => refusal("WITHDRAWAL_BOUND", "nonce 41"),
    };
  },
  locked: () => {
    const locked = { locked: "LEDGER_BEHIND_GATEWAY", lockedDetail: "the gateway holds record 25, the ledger ends at 18" };
    signer.answers = {
      status: () => ({ status: { ...well, ...locked } }),
      show: () => ({ withdrawal: held, history: [], wait: waiting }),
      approve: () => refusal("SIGNER_LOCKED", "LEDGER_BEHIND_GATEWAY"),
    };
  },
  offered: () => {
    const locked = { locked: "LEDGER_BEHIND_GATEWAY", lockedDetail: "the gateway holds record 25, the ledger ends at 18" };
    signer.answers = {
      status: () => ({ status: { ...well, ...locked, recovery: "RECOVERY_OFFERED" } }),
      recover: ({ digest }) => ({ plan: recoveryPlan, done: digest !== "" }),
      finish: () => refusal("SIGNER_LOCKED", "LEDGER_BEHIND_GATEWAY"),
    };
  },
  recovering: () => {
    signer.answers = {
      status: () => ({ status: { ...well, recovery: "RECOVERY_HOLD", counts: { ...well.counts, quarantined: 1 } } }),
      recover: () => refusal("RECOVERY_NONE", ""),
      finish: () => ({ held: 1, quarantined: 1 }),
    };
  },
  manual: () => {
    const withdrawal = { ...held, mode: "manual", address: "", code: "POLICY_MANUAL" };
    signer.answers = {
      show: ({ address }) => {
        const isTwin = String(address) === twin;
        return { withdrawal, history: [], wait: { ...waiting, isNew: isTwin, likeness: isTwin ? likeness : null } };
      },
      approve: ({ address }) => ({ withdrawal: { ...withdrawal, address, state: "approved", code: "" }, wait: null }),
    };
  },
  // Two people are wanted; the first yes is there as soon as somebody has given it.
  two: () => {
    let wait: WaitView | null = { ...waiting, needsTwo: true };
    let withdrawal: WithdrawalView = { ...held, code: "POLICY_TWO_APPROVERS" };
    const history: LedgerLine[] = [];
    signer.answers = {
      show: () => ({ withdrawal, history, wait }),
      approve: ({ approver }) => {
        const first = wait?.confirmed?.approver ?? "";
        const by = `by ${approver} (claimed: the socket does not prove names)`;
        if (first === "") {
          wait = { ...waiting, needsTwo: true, confirmed: { approver: String(approver), address: held.address, at: nowMs } };
          withdrawal = { ...held, code: "POLICY_CONFIRMED", changedAt: nowMs };
          history.push({ seq: 19, at: nowMs, kind: "CONFIRMED", detail: `the first yes of two, ${by}, to ${held.address}` });
        } else if (first !== approver) {
          wait = null;
          withdrawal = { ...held, state: "approved", code: "", changedAt: nowMs };
          const what = `${held.amountUnits} base units to ${held.address} on ${held.network}`;
          history.push({ seq: 20, at: nowMs, kind: "APPROVED", detail: `${by}: ${what}` });
        }
        return { withdrawal, wait };
      },
    };
  },
  alike: () => {
    const withdrawal: WithdrawalView = { ...held, address: twin, code: "POLICY_LOOKALIKE" };
    signer.answers = { show: () => ({ withdrawal, history: [], wait: { ...waiting, isNew: true, likeness } }) };
  },
  delayed: () => {
    const withdrawal: WithdrawalView = { ...held, code: "POLICY_NEW_DESTINATION_DELAY" };
    const until = held.requestedAt + 3_600_000;
    signer.answers = { show: () => ({ withdrawal, history: [], wait: { ...waiting, isNew: true, until } }) };
  },
  "delayed beyond": () => {
    const withdrawal: WithdrawalView = { ...held, code: "POLICY_NEW_DESTINATION_DELAY" };
    const until = held.expiresAt + 3_600_000;
    signer.answers = { show: () => ({ withdrawal, history: [], wait: { ...waiting, isNew: true, until } }) };
  },
  stopped: () => signer.close(),
  ...states,
  ...faults,
};

beforeEach(async () => {
  machine = ordinary;
  dir = mkdtempSync(join(tmpdir(), "aw-cli-"));
  state = join(dir, "state");
  mkdirSync(join(state, "run"), { recursive: true });
  mkdirSync(join(state, "signer"));
  writeFileSync(join(state, "pairing.json"), JSON.stringify(paired));
  writeFileSync(join(dir, "api.key"), apiKey, { mode: 0o600 });
  await signer.open(join(state, "run", "operator.sock"));
  signer.asked.length = 0;
});
afterEach(async () => {
  await signer.close();
  rmSync(dir, { recursive: true, force: true });
});

const secret = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlYzE";
const apiKey = `k_0123456789abcdef.${secret}.${"0".repeat(32)}`;
const paired = {
  version: 1,
  step: "scrubbed",
  wallet: {
    wallet: well.wallet,
    address: well.accounts[0]?.address,
    depositXpub: `xpub${"6".repeat(107)}`,
    signerKey: "11".repeat(32),
  },
  networks: ["eip155:1"],
  currencies: [
    { id: "eth", network: "eip155:1", contract: "", decimal: 18, maxFee: "0.01" },
    { id: "usdt-erc20", network: "eip155:1", contract: held.contract, decimal: 6, maxFee: "0.01" },
  ],
  gatewayUrl: "https://pay.example.com",
  granted: {
    agent: well.agent,
    merchant: "m_1",
    epoch: 1,
    gatewayKey: "22".repeat(32),
    keyId: "k_0123456789abcdef",
    shortCode: "ABCD-EFGH",
  },
};

/** Runs one command line with the state folder named where it takes one. */
async function run(line: string, screen = new Screen()): Promise<{ code: number; text: string }> {
  const places: Readonly<Record<string, string>> = { STATE: state, DIR: dir, ID: transactionId };
  // In one go: the folder's own name, which is made by chance, may hold one of these words too.
  const words = line.split(" ").map((word) => word.replace(/STATE|DIR|ID/, (name) => places[name] ?? name));
  const code = await runCommand(words, screen, machine);
  return { code, text: screen.text };
}

describe("transcripts", () => {
  const files = readdirSync(folder).filter((name) => name.endsWith(".txt"));
  it("are there", () => expect(files.length).toBeGreaterThanOrEqual(5));

  it.each(files)("%s", async (file) => {
    const lines = readFileSync(join(folder, file), "utf8").split("\n");
    const said: string[] = [];
    const screen = new Screen();
    for (const line of lines) {
      if (line.startsWith("# ")) {
        said.push(line);
        const [, what, value = ""] = /^# (scene|terminal|answer): (.*)$/.exec(line) ?? [];
        if (what === "scene") {
          machine = ordinary;
          await scenes[value]?.();
        }
        if (what === "terminal") screen.isInteractive = value === "yes";
        if (what === "answer") screen.answer = value;
      }
      if (!line.startsWith("$ ")) continue;
      screen.text = "";
      const { code } = await run(line.slice(2).replace(/^autowithdraw /, ""), screen);
      const text = screen.text.replaceAll(state, "STATE").replaceAll(dir, "DIR");
      said.push(line, `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}[exit ${code}]`, "");
    }
    await expect(`${said.join("\n").trimEnd()}\n`).toMatchFileSnapshot(join(folder, file));
  });
});

describe("what goes over the socket", () => {
  it("an approval names the digest of what was shown, and an address only where there was none", async () => {
    await scenes.working?.();
    const named = { address: "", approver: "alice" };
    expect((await run("approve ID --state STATE --yes")).code).toBe(0);
    expect(signer.asked.at(-1)).toEqual({ verb: "approve", transactionId, digest: held.approvalDigest, ...named });
    await scenes.manual?.();
    expect((await run(`approve ID --state STATE --yes --address ${held.address.toLowerCase()}`)).code).toBe(0);
    expect(signer.asked.at(-1)).toMatchObject({ verb: "approve", address: held.address });
  });

  it("a name goes with every word, this user's own or the one that is given", async () => {
    await scenes.working?.();
    for (const command of ["approve", "refuse"]) {
      expect((await run(`${command} ID --state STATE --yes`)).code).toBe(0);
      expect(signer.asked.at(-1)).toMatchObject({ verb: command, approver: "alice" });
      expect((await run(`${command} ID --state STATE --yes --as bob@shop`)).code).toBe(0);
      expect(signer.asked.at(-1)).toMatchObject({ verb: command, approver: "bob@shop" });
      const screen = new Screen();
      screen.user = "domain user";
      expect((await run(`${command} ID --state STATE --yes --as carol`, screen)).code).toBe(0);
      const decided = signer.asked.length;
      expect((await run(`${command} ID --state STATE --yes`, screen)).code).toBe(2);
      expect((await run(`${command} ID --state STATE --yes --as ${"a".repeat(65)}`)).code).toBe(2);
      expect(signer.asked).toHaveLength(decided);
    }
  });

  it("an address that is given is looked at before the yes", async () => {
    await scenes.manual?.();
    const { text } = await run(`approve ID --state STATE --yes --address ${twin.toLowerCase()}`);
    expect(signer.asked[0]).toMatchObject({ verb: "show", address: twin });
    expect(text).toContain(`to address      ${twin}\n  LOOKS LIKE      ${held.address}\n`);
  });

  it("nothing is decided without a yes", async () => {
    await scenes.working?.();
    for (const command of ["approve", "refuse"]) {
      const screen = new Screen();
      screen.isInteractive = true;
      for (const answer of ["no", "y", "YES please", ""]) {
        screen.answer = answer;
        expect((await run(`${command} ID --state STATE`, screen)).code, answer).toBe(1);
      }
      screen.isInteractive = false;
      expect((await run(`${command} ID --state STATE`, screen)).code).toBe(2);
    }
    expect(signer.asked.every(({ verb }) => verb === "show")).toBe(true);
  });

  it("an address that would not be paid to is refused here already", async () => {
    await scenes.manual?.();
    for (const address of ["0x123", held.address.replace("C8", "c8"), `0x${"0".repeat(40)}`]) {
      expect((await run(`approve ID --state STATE --yes --address ${address}`)).code, address).toBe(1);
    }
    expect((await run("approve ID --state STATE --yes")).code).toBe(2);
    await scenes.working?.();
    expect((await run(`approve ID --state STATE --yes --address 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266`)).code).toBe(2);
    expect(signer.asked.some(({ verb }) => verb === "approve")).toBe(false);
  });

  it("--json prints exactly one line that parses, fine or not", async () => {
    await scenes.working?.();
    const lines = [
      "status",
      "withdrawals",
      "show ID",
      "address eth",
      "address",
      "verify",
      "approve ID --yes",
      "refuse ID --yes",
      "show 0",
      "address btc",
      "nonsense",
    ];
    for (const line of lines) {
      const screen = new Screen();
      const out: string[] = [];
      screen.out = (text) => void out.push(text);
      const { code } = await run(`${line} --state STATE --json`, screen);
      expect(out.join("").split("\n").length, line).toBe(2);
      expect(JSON.parse(out.join("")).ok, line).toBe(code === 0);
    }
  });

  it("status --watch goes on through a signer that is away", async () => {
    await scenes.working?.();
    const screen = new Screen();
    screen.rounds = 3;
    const sleep = screen.sleep.bind(screen);
    screen.sleep = async () => {
      if (screen.rounds === 3) await signer.close();
      if (screen.rounds === 2) await signer.open(join(state, "run", "operator.sock"));
      return sleep();
    };
    const { code, text } = await run("status --watch --state STATE", screen);
    expect(code).toBe(0);
    expect(text.split("everything works").length).toBe(3);
    expect(text).toContain("crypto does not run on");
  });
});

describe("what the transcripts hold", () => {
  const textOf = (file: string): string => readFileSync(join(folder, file), "utf8");

  it("every state of a withdrawal, each with what to do or nothing to do", () => {
    const text = textOf("states.txt");
    for (const state of Object.keys(well.counts)) expect(text, state).toMatch(new RegExp(`^  state +${state}:`, "m"));
    const blocks = text.split("# scene: ").slice(1);
    expect(blocks.length).toBe(Object.keys(states).length);
    for (const block of blocks) {
      const verdict = /^ {2}now +(.*)$/m.exec(block)?.[1] ?? "";
      expect(verdict, block).toMatch(/^(?:goes on|waits|waits for a person|STUCK|ended well|ended, nothing paid|FAILED): /);
      if (/^(?:STUCK|FAILED|waits for a person)/.test(verdict)) expect(block).toMatch(/^ {18}do: /m);
    }
  });

  it("at least forty faults, and every scene of them has what to do or ends by itself", () => {
    const blocks = textOf("faults.txt").split("# scene: ").slice(1);
    expect(blocks.length).toBe(Object.keys(faults).length);
    const wrong = [...blocks, ...textOf("status.txt").split("# scene: ").slice(1)].filter((block) => !block.includes("[exit 0]"));
    const dead = Object.values(states).length - 14;
    expect(wrong.length + dead).toBeGreaterThanOrEqual(40);
    for (const block of blocks.filter((one) => /\[exit [1-5]\]/.test(one) && !one.includes("--held")))
      expect(block).toMatch(/hint: \S|not said yet/);
  });

  it("no word of starting crypto by hand where units run it", () => {
    for (const block of textOf("faults.txt").split("# scene: ")) {
      if (/units|on purpose|credential|a loop|failed w/.test(block.split("\n")[0] ?? ""))
        expect(block).not.toContain("node crypto.js");
    }
  });
});

describe("what the service manager prints", () => {
  it("is read by unit, and nothing else of it", () => {
    const text =
      "Id=crypto.service\nActiveState=active\nStatusText=a=b\n\nId=crypto-signer.service\nActiveState=failed\n\nno unit\n";
    expect([...unitsIn(text)]).toEqual([
      ["crypto.service", { Id: "crypto.service", ActiveState: "active", StatusText: "a=b" }],
      ["crypto-signer.service", { Id: "crypto-signer.service", ActiveState: "failed" }],
    ]);
    expect(unitsIn("").size).toBe(0);
  });
});

describe("two zones and eighty columns", () => {
  it("a moment says local time too where that is another", () => {
    expect(momentHere(nowMs, 0)).toBe("2026-11-20 21:41:03 UTC");
    expect(momentHere(nowMs, 60)).toBe("2026-11-20 21:41:03 UTC (22:41:03 here)");
    expect(momentHere(nowMs, 180)).toBe("2026-11-20 21:41:03 UTC (2026-11-21 00:41:03 here)");
    expect(momentHere(0, 180)).toBe("never");
  });

  it("a table that is too wide loses no character of a cell", () => {
    const row = ["1", "x".repeat(42), "y".repeat(64)];
    for (const columns of [200, 80, 20]) {
      const text = table(["a", "b", "c"], [row], columns);
      for (const cell of row) expect(text).toContain(cell);
      if (columns === 80) expect(text.split("\n").every((line) => line.length <= 80)).toBe(true);
    }
    const wordy = table(["a", "words"], [["1", "several words ".repeat(12).trim()]], 60);
    expect(wordy.split("\n").length).toBeGreaterThan(3);
    expect(wordy.split("\n").every((line) => line.length <= 60)).toBe(true);
  });
});

describe("a reader that is gone", () => {
  startsTheBuild();
  it("ends the command quietly", async () => {
    const program = join(projectRoot, "dist", "cli", "main.js");
    const look = `import { main } from ${JSON.stringify(program)}; process.exitCode = await main(["--help"]);`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", look], { stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.destroy();
    let said = "";
    child.stderr.on("data", (text) => {
      said += String(text);
    });
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect([code, said]).toEqual([0, ""]);
  });
});

describe("token", () => {
  it("makes a token that any JWT library verifies", async () => {
    const { code, text } = await run("token --api-key-file DIR/api.key --lifetime 120");
    expect(code, text).toBe(0);
    const token = text.trim();
    const verified = await jwtVerify(token, Buffer.from(secret), { currentDate: new Date(nowMs) });
    expect(verified.payload.sub).toBe("k_0123456789abcdef");
    expect((verified.payload.exp ?? 0) - (verified.payload.iat ?? 0)).toBe(120);
    expect(decodeProtectedHeader(token)).toEqual({ alg: "HS256", typ: "JWT", kid: "k_0123456789abcdef" });
    await expect(jwtVerify(token, Buffer.from("another"), { currentDate: new Date(nowMs) })).rejects.toThrow();
  });

  it("binds a strict token to method, path and body", async () => {
    const line = "token --api-key-file DIR/api.key --profile strict --method post --path /api/v1/autoWithdraw --body {} --json";
    const { text } = await run(line);
    const { signatureToken } = JSON.parse(text);
    expect(decodeJwt(signatureToken)).toMatchObject({
      method: "POST",
      path: "/api/v1/autoWithdraw",
      bodyHash: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    });
  });

  it.each([
    ["token --api-key-file DIR/none.key", 2],
    ["token --api-key-file DIR/bad.key", 2],
    ["token --api-key-file DIR/open.key", 2],
    ["token --api-key-file DIR/api.key --lifetime 301", 2],
    ["token --api-key-file DIR/api.key --profile strict", 2],
    ["token --api-key-file DIR/api.key --method POST", 2],
    ["token --api-key-file DIR/api.key --profile loose", 2],
  ])("%s", async (line, exit) => {
    writeFileSync(join(dir, "bad.key"), "k_1.2.3", { mode: 0o600 });
    writeFileSync(join(dir, "open.key"), apiKey, { mode: 0o644 });
    const { code, text } = await run(line);
    expect(code, text).toBe(exit);
    expect(text).toMatch(/^crypto: .+\nhint: .+\n$/);
    expect(text).not.toContain(secret);
  });
});

describe("verify without a running signer", () => {
  it("reads the folder itself, and names what is damaged", async () => {
    await signer.close();
    const missing = await run("verify --state STATE");
    expect(missing.code).toBe(4);
    const body = {
      kind: "PAIRED",
      agent: well.agent,
      merchant: "m_1",
      wallet: well.wallet,
      epoch: 1,
      gatewayKey: "22".repeat(32),
    } as const;
    createLedger(ledgerDisk(join(state, "signer", "ledger")), body, () => nowMs);
    const whole = await run("verify --state STATE");
    expect(whole.code, whole.text).toBe(0);
    expect(whole.text).toContain("this command: no signer runs");
    const path = join(state, "signer", "ledger", "00000001.jsonl");
    writeFileSync(path, readFileSync(path, "utf8").replace('"epoch":1', '"epoch":2'));
    const edited = await run("verify --state STATE");
    expect(edited.code).toBe(4);
    expect(edited.text).toMatch(/^crypto: .+\nhint: .+\n$/);
  });
});
