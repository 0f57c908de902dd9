/**
 * More scenes for the commands: payments that end by expiry, where it is known whose the next
 * attempt is; sweeps and top-ups. The transcripts of test/cli name them.
 */
import type { AttemptView, LedgerLine, LimitView, OperatorView } from "../../agent/socket/verbs.ts";
import { kit, nowMs } from "./command-kit.ts";
import { ill, limits, shown, tronAttempt, tronWithdrawal } from "./command-scenes.ts";
import { broadcast, held, transactionId } from "./operator-socket.ts";

type Scenes = Readonly<Record<string, () => void>>;

const moving = { ...tronWithdrawal, attempts: [tronAttempt] };
const voidAttempt: AttemptView = { ...tronAttempt, voidBy: "both" };
const second: AttemptView = { ...tronAttempt, attempt: 2, txHash: "8e".repeat(32) };
const ahead = "waits for chain time 21:47:02 (UTC), now 21:44:15";
const over = "waits for chain time 23:59:58 (UTC), now 00:01:12";
const operators = "WITHDRAWAL_WAITS_FOR_OPERATOR";

/** The limits of a currency where an operator has the next attempt made above this amount. */
const above = (manualReplaceAbove: string): LimitView => ({
  ...limits,
  currency: "usdt-trc20",
  manualReplaceAbove,
});

/** The courier gives this reason, and the signer these limits. */
const waitsBy = (why: string, manualReplaceAbove: string): (() => void) =>
  ill(
    { limits: [above(manualReplaceAbove)] },
    { waiting: why === "" ? [] : [{ transactionId, why }] },
  );

/** One withdrawal with the last records of its history. */
function told(
  change: Partial<OperatorView>,
  kinds: readonly (readonly [string, string])[],
  status: () => void,
): () => void {
  const history: readonly LedgerLine[] = kinds.map(([kind, detail], at) => ({
    seq: 12 + at,
    at: nowMs - 60_000,
    kind,
    detail,
  }));
  return () => {
    shown(change, status)();
    const withdrawal = { ...held, code: "", ...change };
    kit.signer.answers = {
      ...kit.signer.answers,
      show: () => ({ withdrawal, history, wait: null, outgoing: [] }),
    };
  };
}

const made = ["INTENT", "attempt 1, payment 7"] as const;
const ordered = [
  "MANUAL_REPLACEMENT",
  "replace by alice (claimed: the socket does not prove names)",
] as const;

/** Whose the next attempt is, as far as the limits and the ledger say. */
export const nextScenes: Scenes = {
  "just sent, above manualReplaceAbove": shown(moving, waitsBy("", "125.499999")),
  "just sent, not above manualReplaceAbove": shown(moving, waitsBy("", "125.5")),
  "ends later, above manualReplaceAbove": shown(moving, waitsBy(ahead, "125.499999")),
  "ends later, not above manualReplaceAbove": shown(moving, waitsBy(ahead, "125.5")),
  "ends later, without manualReplaceAbove": shown(moving, waitsBy(ahead, "")),
  "ends later, above a manualReplaceAbove of nothing": shown(moving, waitsBy(ahead, "0")),
  "ends later, the fourteenth": shown(
    {
      ...moving,
      attempts: [
        ...Array.from({ length: 13 }, (_, at) => ({ ...voidAttempt, attempt: at + 1 })),
        { ...tronAttempt, attempt: 14 },
      ],
    },
    waitsBy(ahead, ""),
  ),
  "ends later, and ran out": shown({ ...moving, expiresAt: nowMs - 1000 }, waitsBy(ahead, "")),
  "its time is over": shown(moving, waitsBy(over, "200")),
  "waits for the gateway's word": shown(
    moving,
    waitsBy("waits for the gateway's word that no block takes it any more", "100"),
  ),
  "void, and an operator's": told(
    { ...moving, attempts: [voidAttempt] },
    [made],
    waitsBy(operators, "100"),
  ),
  "void, and an operator's, not said yet": told(
    { ...moving, attempts: [voidAttempt] },
    [made],
    waitsBy("", "100"),
  ),
  "void, and an operator has ordered the next": told(
    { ...moving, attempts: [voidAttempt] },
    [made, ordered],
    waitsBy(operators, "100"),
  ),
  "the next is made, and the reason is old": told(
    { ...moving, attempts: [voidAttempt, second] },
    [made, ordered, ["INTENT", "attempt 2, payment 7"]],
    waitsBy(operators, "100"),
  ),
  "void again after an operator's order": told(
    { ...moving, attempts: [voidAttempt, { ...second, voidBy: "both" }] },
    [made, ordered, ["INTENT", "attempt 2, payment 7"]],
    waitsBy(operators, "100"),
  ),
  "void and cancelled": shown(
    { ...moving, attempts: [voidAttempt], isCancelling: true },
    waitsBy(operators, "100"),
  ),
  "an operator's where a fee is bid": shown(
    { state: "broadcast", slot: "41" },
    waitsBy(operators, ""),
  ),
  "ended by a cancel": shown({
    ...moving,
    state: "expired",
    code: "JOB_EXPIRED",
    attempts: [voidAttempt],
    isCancelling: true,
  }),
  "ended by a cancel before anything was signed": shown({
    ...{ ...moving, state: "expired", code: "JOB_EXPIRED", attempts: [], isCancelling: true },
  }),
};

const deposit = "TMVQGm1qAQYVdetCeGRRkTWYYrLXuHK2HC";
const hotWallet = tronWithdrawal.account;
const sweep: OperatorView = {
  ...{ ...moving, mode: "sweep", orderId: `${deposit}/1`, transactionId: "5a".repeat(16) },
  ...{ address: hotWallet, account: deposit, sender: deposit },
};
const topUp: OperatorView = {
  ...{
    ...moving,
    mode: "topup",
    orderId: sweep.transactionId,
    contract: "",
    address: deposit,
    account: hotWallet,
    sender: hotWallet,
  },
  ...{ amount: "16.635625", amountUnits: "16635625" },
};
const cancelledOne: OperatorView = {
  ...moving,
  transactionId: "6b".repeat(16),
  orderId: "order-1002",
  isCancelling: true,
};
const unsigned = {
  state: "refused",
  slot: "",
  attempts: [],
  account: "",
  code: "POLICY_SWEEP_OFF",
} as const;

const beyond: OperatorView = {
  ...broadcast,
  ...{
    mode: "sweep",
    slot: "1000000",
    code: "SWEEP_UNREACHABLE",
    left: "",
    orderId: `${broadcast.account}/1`,
  },
};

/** A top-up that moves; its amount is of the native coin. */
function toppingUp(): void {
  ill({})();
  const list = [topUp, sweep, moving, cancelledOne];
  kit.signer.answers = {
    ...kit.signer.answers,
    list: () => ({
      withdrawals: [
        ...list,
        { ...cancelledOne, state: "expired" },
        { ...cancelledOne, state: "paid" },
      ],
    }),
    show: () => ({ withdrawal: topUp, history: [], wait: null, outgoing: [] }),
    manualReplacement: ({ act }) => ({
      withdrawal: topUp,
      plan: { act: act as "replace", attempt: 2, txParams: {} },
      feeMarket: null,
    }),
  };
}

const bitcoin = "bip122:000000000019d6689c085ae165831e93";
const [pin, beside] = ["a1", "b2"].map((byte) => `${byte.repeat(32)}:0`);
const coined: OperatorView = {
  ...{
    ...broadcast,
    transactionId,
    currency: "btc",
    chain: "bitcoin",
    network: bitcoin,
    decimal: 8,
    amount: "0.001",
  },
  ...{
    amountUnits: "100000",
    address: "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
    slot: "7",
    code: "COIN_UNKNOWN",
  },
  attempts: broadcast.attempts.map((one) => ({
    ...{ ...one, feeMax: "1000", txHash: "9f".repeat(32) },
    txParams: { coins: `${pin}:90000,${beside}:80000`, changeSat: "69000", feeSat: "1000" },
  })),
};

/** The gateway names it, and so much is missing before an operator may end it. */
function uncoined(left: string): () => void {
  return () => {
    const withdrawal = { ...coined, left };
    const plan = { slot: "7", counted: "", pin: `${pin}:90000`, owed: [`${beside}:80000`] };
    ill({
      unreachable: {
        transactionId,
        network: bitcoin,
        slot: "7",
        count: 1,
        code: "COIN_UNKNOWN",
        left,
      },
    })();
    kit.signer.answers = {
      ...kit.signer.answers,
      show: () => ({ withdrawal, history: [], wait: null, outgoing: [] }),
      end: ({ slot }) =>
        slot === ""
          ? { withdrawal, plan }
          : { withdrawal: { ...withdrawal, state: "expired", isOver: true }, plan },
    };
  };
}

const ledger = "xrpl:0";
const early: OperatorView = {
  ...{
    ...broadcast,
    transactionId,
    currency: "xrp",
    chain: "xrp",
    network: ledger,
    decimal: 6,
    amount: "25",
  },
  ...{
    amountUnits: "25000000",
    address: "rPEPPER7kfTD9w2To4CQk6UCfuHM9c6GDY",
    slot: "97",
    code: "SLOT_UNREACHABLE",
  },
  ...{
    account: "rf1BiGeXwwQoi8Z2ueFYTEXSwuJYfV2Jpn",
    sender: "rf1BiGeXwwQoi8Z2ueFYTEXSwuJYfV2Jpn",
  },
  attempts: broadcast.attempts.map((one) => ({ ...one, feeMax: "12", txHash: "9F".repeat(32) })),
};

/** Its account began above its sequence; so much is missing before an operator may end it. */
function below(left: string, yes: object = {}): () => void {
  return () => {
    const withdrawal = { ...early, left };
    const plan = { slot: "97", counted: "90010", began: "90004", ...yes };
    ill({
      unreachable: {
        transactionId,
        network: ledger,
        slot: "97",
        count: 1,
        code: "SLOT_UNREACHABLE",
        left,
      },
    })();
    kit.signer.answers = {
      ...kit.signer.answers,
      show: () => ({ withdrawal, history: [], wait: null, outgoing: [] }),
      end: ({ slot }) =>
        slot === ""
          ? { withdrawal, plan }
          : { withdrawal: { ...withdrawal, state: "expired", isOver: true }, plan },
    };
  };
}

/** Money that moves inside the wallet. */
export const internalScenes: Scenes = {
  "a top-up moves": toppingUp,
  "a top-up is approved by an operator": () => {
    const withdrawal: OperatorView = {
      ...topUp,
      state: "held",
      code: "RECOVERY_HOLD",
      attempts: [],
    };
    kit.signer.answers = {
      show: () => ({ withdrawal, history: [], wait: null, outgoing: [] }),
      approve: () => ({ withdrawal: { ...withdrawal, state: "approved", code: "" }, wait: null }),
    };
  },
  "a sweep is refused": shown({ ...sweep, ...unsigned, address: "", transactionId }),
  "a top-up is refused": shown({ ...topUp, ...unsigned, address: "", code: "POLICY_ABOVE_DAY" }),
  "a sweep ran out": shown({
    ...sweep,
    ...unsigned,
    state: "expired",
    code: "JOB_EXPIRED",
    transactionId,
  }),
  "a sweep was reverted": shown({ ...sweep, state: "reverted", transactionId }),
  "a sweep that the chain cannot reach": () => {
    const withdrawal = beyond;
    const plan = { slot: "1000000", counted: "0" };
    ill({
      unreachable: {
        transactionId,
        network: broadcast.network,
        slot: "1000000",
        count: 2,
        code: "SWEEP_UNREACHABLE",
        left: "",
      },
    })();
    kit.signer.answers = {
      ...kit.signer.answers,
      show: () => ({ withdrawal, history: [], wait: null, outgoing: [] }),
      end: ({ slot }) =>
        slot === ""
          ? { withdrawal, plan }
          : { withdrawal: { ...withdrawal, state: "expired", isOver: true }, plan },
    };
  },
  "a sweep that an operator ended": shown({ ...beyond, state: "expired", isOver: true }),
  "a payment whose coin no node shows": uncoined(
    "the courier's nodes have not shown its coin for 7 hours of 24",
  ),
  "a payment whose coin no node has shown for a day": uncoined(""),
  "a payment that an operator ended": shown({ ...coined, state: "expired", isOver: true }),
  "a payment that nobody has shown to be below its account's first": below(
    "the courier's nodes have not shown where its account began",
  ),
  "a payment below its account's first": below(""),
  "a payment below its account's first, above what one operator may end": below("", {
    isFirstYes: true,
  }),
  "a payment below its account's first that an operator ended": shown({
    ...early,
    state: "expired",
    isOver: true,
  }),
  "a sweep waits for its top-up": shown(
    { ...sweep, ...unsigned, state: "approved", code: "", transactionId },
    waitsBy("SWEEP_OR_TOPUP_OPEN", ""),
  ),
  "a sweep waits for lower fees": shown(
    { ...sweep, ...unsigned, state: "approved", code: "", transactionId },
    waitsBy("fee POLICY_FEE_ABOVE_DAY", ""),
  ),
};
