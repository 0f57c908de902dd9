/**
 * Scenes for the commands: each gives the scripted signer of command-kit.ts its answers, and the
 * machine its view. The transcripts of test/cli name them.
 */
import type {
  AttemptView,
  CourierStatus,
  LedgerLine,
  LimitView,
  OperatorView,
  SignerStatus,
  StuckView,
  WaitView,
} from "../../agent/socket/verbs.ts";
import type { Machine, UnitView } from "../../cli/machine.ts";
import { kit, nowMs, ordinary } from "./command-kit.ts";
import {
  broadcast,
  firstNonce,
  held,
  outgoingTx,
  recoveryPlan,
  refusal,
  spentCoin,
  transactionId,
  well,
} from "./operator-socket.ts";

const courierWell = well.courier as NonNullable<typeof well.courier>;
const chain = courierWell.chains[0] as (typeof courierWell.chains)[number];

export const limits: LimitView = {
  ...{
    currency: "eth",
    network: "eip155:1",
    contract: "",
    maxPerWithdrawal: "1",
    maxPerHour: "2",
    maxPerDay: "5",
    holdAbove: "0.5",
    maxFee: "0.02",
    maxFeePerDay: "1",
    maxTip: "50",
    tipUnit: "gwei",
  },
  ...{ allow: 2, deny: 1, usedInHour: "0.25", usedInDay: "1.75", usedFeesInDay: "0.004" },
  ...{
    twoApproversAbove: "",
    manualReplaceAbove: "",
    newDestination: { holdAbove: "", delayMinutes: 0 },
  },
  sweeps: {
    maxFee: "0.01",
    maxFeePerDay: "0.05",
    usedFeesInDay: "0.002",
    maxTopUp: "0.003",
    maxTopUpPerDay: "0.03",
    usedTopUpsInDay: "0.0021",
    usedTopUpFeesInDay: "0.0004",
  },
};

function linkDown(linkDetail: string): void {
  const courier = { ...courierWell, link: "down" as const, linkDetail };
  kit.signer.answers = { status: () => ({ status: { ...well, courier } }) };
}

/** Begins and ends as the address of `held` does. */
export const twin = "0x7099abababababAbaBaBABaBaBabAbAbaBA179c8";
const waiting: WaitView = {
  until: 0,
  isNew: false,
  likeness: null,
  needsTwo: false,
  confirmed: null,
};
const likeness = {
  address: held.address,
  at: held.requestedAt - 86_400_000,
  amount: "120",
  currency: held.currency,
};
/** A status that differs from a healthy one, with the transcripts' withdrawal. */
export function ill(
  change: Partial<SignerStatus>,
  courier: Partial<CourierStatus> | null = {},
): () => void {
  return () => {
    const status = {
      ...well,
      ...change,
      courier: courier === null ? null : { ...courierWell, ...courier },
    };
    kit.signer.answers = { ...kit.signer.answers, status: () => ({ status }) };
  };
}

/** One withdrawal in this state, behind a healthy signer or one that `status` makes ill. */
export function shown(change: Partial<OperatorView>, status: () => void = ill({})): () => void {
  return () => {
    status();
    kit.signer.answers = {
      ...kit.signer.answers,
      show: () => ({
        withdrawal: { ...held, code: "", ...change },
        history: [],
        wait: null,
        outgoing: [],
      }),
    };
  };
}

const tronNetwork = "tron:0x2b6653dc";
export const tronAttempt: AttemptView = {
  ...{
    attempt: 1,
    txHash: "9f".repeat(32),
    txParams: {},
    feeMax: "16635625",
    signedAt: 1795210805000,
  },
  validUntilMs: 1795211102000,
};
export const tronWithdrawal: OperatorView = {
  ...broadcast,
  ...{
    transactionId,
    currency: "usdt-trc20",
    decimal: 6,
    amount: "125.5",
    amountUnits: "125500000",
    slot: "7",
  },
  ...{ chain: "tron", network: tronNetwork, contract: "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t" },
  ...{
    address: "TJwautzSyEAYgRJ2tdM5qDpPeqHGMJZQwi",
    account: "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH",
  },
};
const bound = { slot: "41", attempts: broadcast.attempts };
const waits = (why: string): (() => void) => ill({}, { waiting: [{ transactionId, why }] });
const noNode = {
  chains: [
    {
      ...chain,
      ok: false,
      detail:
        "NODE_UNREACHABLE: no node of chain ethereum can be used: http://10.0.0.7:8545 cannot be reached since 21:31:03 UTC: ECONNREFUSED",
      nativeBalance: "",
    },
  ],
};
const outNode = {
  url: "http://10.0.0.8:8545",
  ok: false,
  detail: "NODE_QUOTA: answers HTTP 429 (too many requests) since 21:31:03 UTC",
  since: nowMs - 600_000,
};
const goodNode = { url: "http://10.0.0.7:8545", ok: true, detail: "", since: 0 };
const oneOut = {
  chains: [{ ...chain, nodes: [goodNode, outNode, { ...goodNode, url: "http://10.0.0.9:8545" }] }],
};
const away = { link: "down" as const, linkDetail: "LINK_SOCKET: ECONNREFUSED" };
const long = { requestedAt: nowMs - 7_200_000, changedAt: nowMs - 3_600_000 };

/**
 * A withdrawal in every state without trouble, and another for each reason that can keep it there.
 */
export const states: Readonly<Record<string, () => void>> = {
  "held above": shown({ state: "held", code: "POLICY_HOLD_ABOVE" }),
  "held manual": shown({ state: "held", code: "POLICY_MANUAL", mode: "manual", address: "" }),
  "held after a recovery": shown(
    { state: "held", code: "RECOVERY_HOLD" },
    ill({ recovery: "RECOVERY_HOLD" }),
  ),
  "held after a recovery that is over": shown({ state: "held", code: "RECOVERY_HOLD" }),
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
  intent: shown({ state: "intent", slot: "41", changedAt: nowMs - 1000 }),
  signed: shown({ state: "signed", ...bound, changedAt: nowMs - 1000 }),
  "signed without a link": shown({ state: "signed", ...bound }, ill({}, away)),
  released: shown({ state: "released", ...bound, changedAt: nowMs - 1000 }),
  "released that no node takes": shown({ state: "released", ...bound }, waits("no node takes it")),
  "released and refused by every node": shown(
    { state: "released", ...bound },
    waits(
      "offered, no node took it: http://10.0.0.7:8545: tx fee (2.10 ether) exceeds the configured cap (1.00 ether)",
    ),
  ),
  broadcast: shown({ state: "broadcast", ...bound }),
  "broadcast long ago": shown({ state: "broadcast", ...bound, ...long }),
  "broadcast behind a gap": shown(
    { state: "broadcast", ...bound },
    waits("nonce 40 of the account comes first"),
  ),
  "broadcast too cheap": shown({ state: "broadcast", ...bound }, waits("funds for a higher fee")),
  "broadcast that ends by expiry": shown(
    { state: "broadcast", ...bound },
    waits("waits for chain time 12:05:30 (UTC), now 12:04:10"),
  ),
  "broadcast that nodes do not agree to be void": shown(
    { state: "broadcast", ...bound },
    waits("waits for chain time 12:05:30 (UTC), now 12:08:10; NODE_DISAGREE: receipt"),
  ),
  "void without funds": shown({ state: "broadcast", ...bound }, waits("funds for another attempt")),
  "a sweep is void without funds": shown(
    { state: "broadcast", mode: "sweep", ...bound },
    waits("funds for another attempt"),
  ),
  "void and would revert": shown(
    { ...tronWithdrawal, state: "broadcast", attempts: [{ ...tronAttempt, voidBy: "both" }] },
    waits("the chain would revert it"),
  ),
  "broadcast where none bids": shown({ state: "broadcast", network: "tron:0x2b6653dc", slot: "7" }),
  "broadcast where none bids, long ago": shown({
    state: "broadcast",
    network: "tron:0x2b6653dc",
    slot: "7",
    ...long,
  }),
  included: shown({ state: "included", ...bound }),
  "included and read back differently": shown(
    { state: "included", ...bound },
    waits("COURIER_TOKEN_MOVED"),
  ),
  paid: shown({ state: "paid", ...bound }),
  reverted: shown({ state: "reverted", ...bound }),
  conflicted: shown({ state: "conflicted", ...bound }),
  moved: shown({ state: "moved", ...bound }),
  "moved and ended": shown({ state: "moved", isOver: true, ...bound }),
  "approved, its currency stopped": shown(
    { state: "approved" },
    waits("CURRENCY_MOVES_OTHERWISE: autowithdraw resume --currency usdt-erc20"),
  ),
  refused: shown({ state: "refused", code: "POLICY_ABOVE_DAY" }),
  "refused by an operator": shown({ state: "refused", code: "OPERATOR_REFUSED" }),
  "expired after it was signed": shown({
    ...tronWithdrawal,
    ...{ state: "expired", code: "JOB_EXPIRED", attempts: [{ ...tronAttempt, voidBy: "both" }] },
  }),
  expired: shown({ state: "expired", code: "JOB_EXPIRED" }),
  quarantined: shown({ state: "quarantined", code: "POLICY_MANUAL", ...bound }),
  contested: shown({ state: "quarantined", code: "SLOT_CONTESTED", ...bound }),
  cancelled: shown({ state: "cancelled", isOver: true, ...bound }),
};

const unit = (change: UnitView): ReadonlyMap<string, UnitView> =>
  new Map([["autowithdraw-signer.service", change]]);
const exitReason = {
  role: "signer" as const,
  code: "KEYSTORE_ENCKEY",
  message: "the keystore does not open: wrong encKey, or it was changed",
  hint: "give the encKey it was sealed with",
  at: nowMs - 90_000,
};

/**
 * A payment that ends by expiry: alive, and the signer takes no replace; void, and it takes all.
 */
function ending(voidBy: AttemptView["voidBy"], isCancelling = false): () => void {
  const attempt = { ...tronAttempt, ...(voidBy === undefined ? {} : { voidBy }) };
  const withdrawal: OperatorView = {
    ...tronWithdrawal,
    attempts: [attempt],
    ...(isCancelling ? { isCancelling } : {}),
  };
  const words = "waits for chain time 21:47:02 (UTC), now 21:44:15";
  const alive =
    "attempt 1 ends at 2026-11-20T21:45:02.000Z by the chain's own time: nobody has called it void";
  return () => {
    ill({}, { waiting: voidBy === undefined ? [{ transactionId, why: words }] : [] })();
    kit.signer.answers = {
      ...kit.signer.answers,
      show: () => ({ withdrawal, history: [], wait: null, outgoing: [] }),
      manualReplacement: ({ act, plan }) => {
        if (act === "replace" && voidBy === undefined) return refusal("WITHDRAWAL_ALIVE", alive);
        const isOver = act === "cancel" && voidBy !== undefined && plan !== null;
        const ended = { ...withdrawal, state: "expired", code: "JOB_EXPIRED" } as const;
        return {
          withdrawal: isOver ? ended : withdrawal,
          plan: { act: act as "replace", attempt: 2, txParams: {} },
          feeMarket: null,
        };
      },
    };
  };
}

function stuckAt(change: Partial<StuckView>): StuckView {
  const one = {
    transactionId,
    state: "broadcast",
    network: "eip155:1",
    chain: "ethereum",
    slot: "41",
    since: nowMs - 4_000_000,
  } as const;
  return { ...one, afterMinutes: 60, isCancelling: false, ...change };
}

/** A signer that does not answer, and the machine's view of it. */
function nobody(change: Partial<Machine>): () => Promise<void> {
  return async () => {
    kit.machine = { ...ordinary, ...change };
    await kit.signer.close();
  };
}

const underUnits = (
  view: UnitView,
  words: Machine["exitReason"] = () => [],
): (() => Promise<void>) =>
  nobody({ isUnderUnits: () => true, units: () => unit(view), exitReason: words });

function withoutCredential(isThere: Machine["isThere"]): () => Promise<void> {
  const view = {
    ActiveState: "failed",
    SubState: "failed",
    Result: "exit-code",
    ExecMainStatus: "243",
  };
  return nobody({ isUnderUnits: () => true, units: () => unit(view), isThere });
}

function onDisk(config: ReturnType<Machine["configOnDisk"]>, isUnderUnits = false): () => void {
  return () => {
    kit.machine = { ...ordinary, configOnDisk: () => config, isUnderUnits: () => isUnderUnits };
    ill({})();
  };
}

/** The faults of an agent; each shows in `status` alone. */
export const faults: Readonly<Record<string, () => Promise<void> | void>> = {
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
  "disk read-only": ill({ ledgerWritable: false, ledgerReadOnly: true }),
  "orders wait for the disk": ill(
    {},
    { linkDetail: "LEDGER_DISK_FULL: the signer does not take new orders" },
  ),
  "one waits for the disk": waits("LEDGER_DISK_FULL"),
  "signer is root": ill({ isolation: "level 0: one user, and it is root" }),
  "courier gone": ill({ courierConnected: false }),
  "courier not caught up yet": ill({}, null),
  "just started": ill({ startedAt: nowMs - 2_000, courierConnected: false }, null),
  "courier silent": ill({}, { at: nowMs - 300_000 }),
  "no coin for fees": ill(
    {},
    { chains: well.courier?.chains.map((chain) => ({ ...chain, nativeBalance: "0" })) ?? [] },
  ),
  "looser since yesterday": ill({
    policyLooser: ["eth maxPerDay 20, was 10"],
    policyChangedAt: nowMs - 25 * 3_600_000,
  }),
  "the token refuses": waits("COURIER_TOKEN_REFUSES"),
  "clocks apart": ill(
    {},
    {
      link: "down",
      linkDetail:
        "LINK_REFUSED: CLOCK_SKEW: 121 minutes apart: here 2026-11-20T21:40:03Z, at the gateway 2026-11-20T19:39:03Z",
    },
  ),
  "newer epoch": ill(
    {},
    { link: "down", linkDetail: "LINK_ENDED: closed by the gateway, 4003 epoch" },
  ),
  "locked at the gateway": ill(
    {},
    { link: "down", linkDetail: "LINK_ENDED: closed by the gateway, 4004 locked" },
  ),
  "gateway forgot": ill(
    {},
    { link: "down", linkDetail: "LINK_ENDED: closed by the gateway, 4009 behind" },
  ),
  "wrong chain": ill(
    {},
    {
      chains: [
        {
          ...chain,
          ok: false,
          detail:
            "NODE_WRONG_CHAIN; http://10.0.0.7:8545 NODE_WRONG_CHAIN: chain id 5 instead of 1",
        },
      ],
    },
  ),
  "nodes disagree": ill({}, { chains: [{ ...chain, ok: false, detail: "NODE_DISAGREE" }] }),
  "account with code": ill(
    {},
    { chains: [{ ...chain, ok: false, detail: "COURIER_ACCOUNT_CODE" }] },
  ),
  "forked ledger": ill({
    locked: "LEDGER_FORKED",
    lockedDetail: "record 18 has another hash at the gateway",
  }),
  "new ledger": ill({ locked: "LEDGER_BEHIND_GATEWAY", lockedDetail: "begun again" }),
  "foreign nonce": ill({
    locked: "CHAIN_SLOT_FOREIGN",
    lockedDetail: "eip155:1 counts 44, the ledger 41",
  }),
  "forked jobs": ill({ locked: "LEDGER_FORKED", lockedDetail: "job 7" }),
  "one is stuck": ill({ stuck: stuckAt({}) }),
  "one is stuck above its limits": ill(
    { stuck: stuckAt({}) },
    {
      waiting: [
        { transactionId: stuckAt({}).transactionId, why: "fee POLICY_FEE_ABOVE_WITHDRAWAL" },
      ],
    },
  ),
  "one is stuck on a chain that stands still": ill(
    { stuck: stuckAt({}) },
    {
      chains: [
        { ...chain, ok: false, detail: "NODE_STALE: no node of ethereum shows a new block" },
      ],
    },
  ),
  "a cancelled one is stuck": ill({ stuck: stuckAt({ isCancelling: true }) }),
  "one that was told over is stuck": ill({ stuck: stuckAt({ state: "paid" }) }),
  "an approved one is stuck": ill({ stuck: stuckAt({ state: "approved", slot: "" }) }),
  "a quarantined one is stuck": ill({ stuck: stuckAt({ state: "quarantined" }) }),
  paused: ill({ paused: { at: nowMs - 60_000, approver: "ann" } }),
  "a currency is stopped": () => {
    const place = { chain: "ethereum", network: "eip155:1", currency: "usdt-erc20" };
    ill({
      stopped: [
        { ...place, at: nowMs - 60_000, approver: "courier", txHashes: [`0x${"ab".repeat(32)}`] },
      ],
    })();
    kit.signer.answers = { ...kit.signer.answers, pause: ({ paused }) => ({ paused }) };
  },
  "recovery offered": ill({ recovery: "RECOVERY_OFFERED" }),
  "in recovery": ill({ recovery: "RECOVERY_HOLD" }),
  "an operator is waited for": () => {
    ill({ counts: { ...well.counts, held: 1, quarantined: 1 } })();
    const quarantined: OperatorView = { ...broadcast, state: "quarantined", code: "POLICY_MANUAL" };
    kit.signer.answers = {
      ...kit.signer.answers,
      list: () => ({
        withdrawals: [held, quarantined, { ...broadcast, transactionId: "1".repeat(32) }],
      }),
    };
  },
  "nobody is waited for": ill({ counts: { ...well.counts, held: 0 } }),
  "ended with a reason": nobody({ exitReason: () => [exitReason] }),
  "stopped on purpose": underUnits({
    ActiveState: "inactive",
    SubState: "void",
    Result: "success",
    ExecMainStatus: "0",
  }),
  "failed with a reason": underUnits(
    { ActiveState: "failed", SubState: "failed", Result: "exit-code", ExecMainStatus: "2" },
    () => [exitReason],
  ),
  "failed without a word": underUnits({
    ActiveState: "failed",
    SubState: "failed",
    Result: "signal",
    ExecMainStatus: "9",
  }),
  "credential of another machine": withoutCredential(() => true),
  "no credential": withoutCredential((path) => !path.endsWith("encKey.cred")),
  "no config for the units": withoutCredential((path) => !path.endsWith("config.json")),
  "restarting in a loop": underUnits(
    { ActiveState: "activating", SubState: "auto-restart", ExecMainStatus: "1", NRestarts: "12" },
    () => [exitReason],
  ),
  starting: underUnits({ ActiveState: "active", SubState: "running", ExecMainStatus: "0" }),
  "no service manager answers": nobody({ isUnderUnits: () => true }),
  "killed from outside": underUnits({
    ActiveState: "inactive",
    SubState: "void",
    Result: "signal",
    ExecMainStatus: "15",
  }),
};

/** The scripted answers of the signer in each scene. A transcript names one by `# scene:`. */
export const scenes: Readonly<Record<string, () => Promise<void> | void>> = {
  working: () => {
    kit.signer.answers = {
      status: () => ({ status: well }),
      list: ({ openOnly, limit }) => ({
        withdrawals:
          openOnly === true ? [held, broadcast].slice(0, limit as number) : [held, broadcast],
      }),
      show: ({ transactionId: id }) => {
        const withdrawal = [held, broadcast].find((one) => one.transactionId === id);
        const wait = withdrawal === held ? waiting : null;
        if (withdrawal === undefined) return refusal("WITHDRAWAL_UNKNOWN", "");
        return {
          withdrawal,
          history: [{ seq: 12, at: withdrawal.requestedAt, kind: "REQUESTED", detail: "job 7" }],
          wait,
          outgoing: [],
        };
      },
      approve: () => ({ withdrawal: { ...held, state: "approved", code: "" }, wait: null }),
      refuse: () => ({ withdrawal: { ...held, state: "refused", code: "OPERATOR_REFUSED" } }),
      verify: () => ({ records: 18, segments: 1, head: well.head }),
    };
  },
  "only a spent coin": () => {
    const why = `ACCOUNT_COIN_SPENT: a closed payment has spent ${spentCoin.coin}, and nodes still show it`;
    const courier = { ...courierWell, waiting: [{ transactionId, why }] };
    const withdrawal = { ...held, state: "approved" as const, code: "" };
    kit.signer.answers = {
      status: () => ({ status: { ...well, courier } }),
      show: () => ({ withdrawal, history: [], wait: null, outgoing: [] }),
    };
  },
  "coin spent": () => {
    kit.signer.answers = {
      freeCoin: ({ isLook }) => ({ spent: { ...spentCoin, isFree: isLook !== true } }),
    };
  },
  "coin spent by another": () => {
    const conflicted = { ...spentCoin, state: "conflicted" as const, txHash: "" };
    kit.signer.answers = { freeCoin: () => ({ spent: conflicted }) };
  },
  "coin free": () => {
    kit.signer.answers = { freeCoin: () => ({ spent: { ...spentCoin, isFree: true } }) };
  },
  "coin not spent": () => {
    kit.signer.answers = {
      freeCoin: ({ coin }) => refusal("ACCOUNT_COIN_UNKNOWN", String(coin)),
    };
  },
  "coin open": () => {
    kit.signer.answers = {
      freeCoin: ({ coin }) => refusal("ACCOUNT_PIN_TAKEN", `${coin} is ${transactionId}'s`),
    };
  },
  "used before": () => {
    kit.signer.answers = {
      adopt: ({ slot }) => ({
        first: slot === "" ? firstNonce : { ...firstNonce, adopted: String(slot) },
      }),
    };
  },
  "not counted yet": () => {
    kit.signer.answers = { adopt: () => ({ first: { ...firstNonce, counted: "", quorum: 0 } }) };
  },
  "begun long ago": () => {
    kit.signer.answers = {
      adopt: () => ({ first: { ...firstNonce, adopted: "5", isBegun: true } }),
    };
  },
  empty: () => {
    kit.signer.answers = { list: () => ({ withdrawals: [] }) };
  },
  degraded: () => {
    const courier = {
      ...courierWell,
      link: "down" as const,
      linkDetail: "LINK_SOCKET: ECONNREFUSED",
      chains: [
        {
          ...chain,
          ok: false,
          detail: "NODE_UNREACHABLE; http://10.0.0.7:8545 ECONNREFUSED",
          nativeBalance: "",
        },
      ],
      waiting: [{ transactionId, why: "funds: 3200.5 usdt-erc20 needed, 100 there" }],
    };
    kit.signer.answers = {
      status: () => ({ status: { ...well, courier, acked: 12, courierConnected: true } }),
    };
  },
  released: () => linkDown("LINK_ENDED: closed by the gateway, 4001 refused"),
  replaced: () => linkDown("LINK_ENDED: closed by the gateway, 4000 replaced"),
  behind: ill({ isResyncing: true, handshakeDone: false }),
  // A recovered ledger keeps withdrawals that were never signed, and an operator has approved
  // others before it.
  waits: () => {
    const courier = { ...courierWell, waiting: [{ transactionId, why: "ACCOUNT_WAITS" }] };
    const counts = { ...well.counts, held: 0, broadcast: 0, approved: 1, quarantined: 1 };
    const quarantined: OperatorView = {
      ...broadcast,
      state: "quarantined",
      code: "POLICY_MANUAL",
      attempts: [],
    };
    kit.signer.answers = {
      status: () => ({
        status: { ...well, courier, counts, policyLooser: ["eth maxPerDay 20, was 10"] },
      }),
      list: () => ({ withdrawals: [{ ...held, state: "approved", code: "" }, quarantined] }),
      show: ({ transactionId: id }) => {
        const withdrawal = id === transactionId ? { ...held, code: "RECOVERY_HOLD" } : quarantined;
        return {
          withdrawal,
          history: [],
          wait: { ...waiting, isNew: true },
          outgoing: [outgoingTx],
        };
      },
      refuse: () => refusal("WITHDRAWAL_HAS_SLOT", "nonce 41"),
      finish: () => ({ held: 0, quarantined: 1, outgoing: [] }),
    };
  },
  overtaken: () => {
    const courier = { ...courierWell, waiting: [{ transactionId, why: "ACCOUNT_BEHIND" }] };
    const together = { bothRestored: true, gatewayHead: recoveryPlan.head, outgoing: [outgoingTx] };
    kit.signer.answers = {
      status: () => ({ status: { ...well, courier } }),
      recover: () => ({ plan: { ...recoveryPlan, ...together } }),
    };
  },
  asking: () => {
    const courier = {
      ...courierWell,
      chains: [{ ...chain, ok: false, isAsking: true, detail: "asking", nativeBalance: "" }],
    };
    kit.signer.answers = { status: () => ({ status: { ...well, courier } }) };
  },
  decided: () => {
    kit.signer.answers = {
      show: () => ({
        withdrawal: { ...broadcast, transactionId },
        history: [],
        wait: null,
        outgoing: [],
      }),
      approve: () => refusal("WITHDRAWAL_NOT_HELD", "broadcast"),
      refuse: () => refusal("WITHDRAWAL_HAS_SLOT", "nonce 41"),
    };
  },
  locked: () => {
    const locked = {
      locked: "LEDGER_BEHIND_GATEWAY",
      lockedDetail: "the gateway holds record 25, the ledger ends at 18",
    };
    kit.signer.answers = {
      status: () => ({ status: { ...well, ...locked } }),
      show: () => ({ withdrawal: held, history: [], wait: waiting, outgoing: [] }),
      approve: () => refusal("SIGNER_LOCKED", "LEDGER_BEHIND_GATEWAY"),
    };
  },
  offered: () => {
    const locked = {
      locked: "LEDGER_BEHIND_GATEWAY",
      lockedDetail: "the gateway holds record 25, the ledger ends at 18",
    };
    kit.signer.answers = {
      status: () => ({ status: { ...well, ...locked, recovery: "RECOVERY_OFFERED" } }),
      recover: ({ digest }) => ({ plan: recoveryPlan, done: digest !== "" }),
      finish: () => refusal("SIGNER_LOCKED", "LEDGER_BEHIND_GATEWAY"),
    };
  },
  uncounted: () => {
    kit.signer.answers = {
      status: () => ({ status: { ...well, recovery: "RECOVERY_OFFERED" } }),
      recover: ({ uncounted }) =>
        String(uncounted) === "base"
          ? { plan: recoveryPlan, done: false }
          : refusal("RECOVERY_COUNT", "base"),
    };
  },
  recovering: () => {
    kit.signer.answers = {
      status: () => ({
        status: { ...well, recovery: "RECOVERY_HOLD", counts: { ...well.counts, quarantined: 1 } },
      }),
      recover: () => refusal("RECOVERY_NONE", ""),
      finish: () => ({ held: 1, quarantined: 1, outgoing: [outgoingTx] }),
    };
  },
  manual: () => {
    const withdrawal = { ...held, mode: "manual", address: "", code: "POLICY_MANUAL" };
    kit.signer.answers = {
      show: ({ address }) => {
        const isTwin = String(address) === twin;
        return {
          withdrawal,
          history: [],
          wait: { ...waiting, isNew: isTwin, likeness: isTwin ? likeness : null },
          outgoing: [],
        };
      },
      approve: ({ address }) => ({
        withdrawal: { ...withdrawal, address, state: "approved", code: "" },
        wait: null,
      }),
    };
  },
  // Two operators are wanted; the first yes is there as soon as somebody has given it.
  two: () => {
    let wait: WaitView | null = { ...waiting, needsTwo: true };
    let withdrawal: OperatorView = { ...held, code: "POLICY_TWO_APPROVERS" };
    const history: LedgerLine[] = [];
    kit.signer.answers = {
      show: () => ({ withdrawal, history, wait, outgoing: [] }),
      approve: ({ approver }) => {
        const first = wait?.confirmed?.approver ?? "";
        const by = `by ${approver} (claimed: the socket does not prove names)`;
        if (first === "") {
          wait = {
            ...waiting,
            needsTwo: true,
            confirmed: { approver: String(approver), address: held.address, at: nowMs },
          };
          withdrawal = { ...held, code: "POLICY_CONFIRMED", changedAt: nowMs };
          history.push({
            seq: 19,
            at: nowMs,
            kind: "CONFIRMED",
            detail: `the first yes of two, ${by}, to ${held.address}`,
          });
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
    const withdrawal: OperatorView = { ...held, address: twin, code: "POLICY_LOOKALIKE" };
    kit.signer.answers = {
      show: () => ({
        withdrawal,
        history: [],
        wait: { ...waiting, isNew: true, likeness },
        outgoing: [],
      }),
    };
  },
  delayed: () => {
    const withdrawal: OperatorView = { ...held, code: "POLICY_NEW_DESTINATION_DELAY" };
    const until = held.requestedAt + 3_600_000;
    kit.signer.answers = {
      show: () => ({
        withdrawal,
        history: [],
        wait: { ...waiting, isNew: true, until },
        outgoing: [],
      }),
    };
  },
  "delayed beyond": () => {
    const withdrawal: OperatorView = { ...held, code: "POLICY_NEW_DESTINATION_DELAY" };
    const until = held.expiresAt + 3_600_000;
    kit.signer.answers = {
      show: () => ({
        withdrawal,
        history: [],
        wait: { ...waiting, isNew: true, until },
        outgoing: [],
      }),
    };
  },
  manualReplacement: () => {
    const withdrawal = broadcast;
    const [first] = withdrawal.attempts;
    kit.signer.answers = {
      status: () => ({ status: well }),
      pause: ({ paused }) => ({ paused }),
      show: () => ({ withdrawal, history: [], wait: null, outgoing: [] }),
      manualReplacement: ({ act, plan }) => {
        const attempt = withdrawal.attempts.length + 1;
        const baseFeePerGas = act === "cancel" ? "1000000000000" : "25000000000";
        const feeMarket = {
          baseFeePerGas,
          maxPriorityFeePerGas: "1000000000",
          maxPriorityFeePerGasHigh: "1000000000",
        };
        const gasLimit = act === "cancel" ? "21000" : (first?.txParams?.gasLimit ?? "");
        const fees = { gasLimit, maxFeePerGas: "60000000001", maxPriorityFeePerGas: "3000000001" };
        if (plan === null || first === undefined)
          return { withdrawal, plan: { act, attempt, txParams: fees }, feeMarket };
        const made = {
          ...first,
          txParams: fees,
          feeMax: `${BigInt(gasLimit) * 60_000_000_001n}`,
          attempt,
          txHash: `0x${"5e".repeat(32)}`,
        };
        return {
          withdrawal: { ...withdrawal, attempts: [...withdrawal.attempts, made] },
          plan,
          feeMarket,
        };
      },
    };
  },
  "alive where none bids": ending(undefined),
  "cancelled where none bids": ending(undefined, true),
  "void where none bids": ending("both"),
  "one of many void is an operator's": ill({
    manualReplace: { transactionId, network: tronNetwork, slot: "7", attempts: 2 },
  }),
  "a limit has no room for another attempt": ill({
    noRoom: {
      transactionId,
      network: tronNetwork,
      slot: "7",
      attempts: 2,
      code: "POLICY_ABOVE_HOUR",
    },
  }),
  "one of three nodes is out": ill({}, oneOut),
  "one is stuck where none bids": ill({ stuck: stuckAt({ network: tronNetwork, slot: "7" }) }),
  stopped: () => kit.signer.close(),
  ...states,
  ...faults,
};
