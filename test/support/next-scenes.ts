/**
 * More scenes for the commands: payments that end by waiting, where it is known whose the next
 * version is; sweeps and top-ups. The transcripts of test/cli name them.
 */
import type { LedgerLine, LimitView, OperatorView, VersionView } from "../../agent/socket/verbs.ts";
import { nowMs, rig } from "./command-rig.ts";
import { ill, limits, shown, tronVersion, tronWithdrawal } from "./command-scenes.ts";
import { broadcast, held, transactionId } from "./operator-socket.ts";

type Scenes = Readonly<Record<string, () => void>>;

const moving = { ...tronWithdrawal, versions: [tronVersion] };
const dead: VersionView = { ...tronVersion, dead: "both" };
const second: VersionView = { ...tronVersion, version: 2, txHash: "8e".repeat(32) };
const ahead = "waits for chain time 21:47:02 (UTC), now 21:44:15";
const over = "waits for chain time 23:59:58 (UTC), now 00:01:12";
const persons = "WITHDRAWAL_WAITS_FOR_PERSON";

/** The limits of a currency where a person has the next version made above this amount. */
const above = (resignAbove: string): LimitView => ({ ...limits, currency: "usdt-trc20", resignAbove });

/** The courier gives this reason, and the signer these limits. */
const waitsBy = (why: string, resignAbove: string): (() => void) =>
  ill({ limits: [above(resignAbove)] }, { waiting: why === "" ? [] : [{ transactionId, why }] });

/** One withdrawal with the last records of its history. */
function told(change: Partial<OperatorView>, kinds: readonly (readonly [string, string])[], status: () => void): () => void {
  const history: readonly LedgerLine[] = kinds.map(([kind, detail], at) => ({ seq: 12 + at, at: nowMs - 60_000, kind, detail }));
  return () => {
    shown(change, status)();
    const withdrawal = { ...held, code: "", ...change };
    rig.signer.answers = { ...rig.signer.answers, show: () => ({ withdrawal, history, wait: null, spends: [] }) };
  };
}

const made = ["INTENT", "version 1, payment 7"] as const;
const ordered = ["UNSTUCK", "replace by alice (claimed: the socket does not prove names)"] as const;

/** Whose the next version is, as far as the limits and the ledger say. */
export const nextScenes: Scenes = {
  "just sent, above resignAbove": shown(moving, waitsBy("", "125.499999")),
  "just sent, not above resignAbove": shown(moving, waitsBy("", "125.5")),
  "ends later, above resignAbove": shown(moving, waitsBy(ahead, "125.499999")),
  "ends later, not above resignAbove": shown(moving, waitsBy(ahead, "125.5")),
  "ends later, without resignAbove": shown(moving, waitsBy(ahead, "")),
  "ends later, above a resignAbove of nothing": shown(moving, waitsBy(ahead, "0")),
  "ends later, the fourteenth": shown(
    {
      ...moving,
      versions: [...Array.from({ length: 13 }, (_, at) => ({ ...dead, version: at + 1 })), { ...tronVersion, version: 14 }],
    },
    waitsBy(ahead, ""),
  ),
  "ends later, and ran out": shown({ ...moving, expiresAt: nowMs - 1000 }, waitsBy(ahead, "")),
  "its time is over": shown(moving, waitsBy(over, "200")),
  "waits for the gateway's word": shown(moving, waitsBy("waits for the gateway's word that no block takes it any more", "100")),
  "dead, and a person's": told({ ...moving, versions: [dead] }, [made], waitsBy(persons, "100")),
  "dead, and a person's, not said yet": told({ ...moving, versions: [dead] }, [made], waitsBy("", "100")),
  "dead, and a person has ordered the next": told({ ...moving, versions: [dead] }, [made, ordered], waitsBy(persons, "100")),
  "the next is made, and the reason is old": told(
    { ...moving, versions: [dead, second] },
    [made, ordered, ["INTENT", "version 2, payment 7"]],
    waitsBy(persons, "100"),
  ),
  "dead again after a person's order": told(
    { ...moving, versions: [dead, { ...second, dead: "both" }] },
    [made, ordered, ["INTENT", "version 2, payment 7"]],
    waitsBy(persons, "100"),
  ),
  "dead and cancelled": shown({ ...moving, versions: [dead], isCancelling: true }, waitsBy(persons, "100")),
  "a person's where a fee is bid": shown({ state: "broadcast", slot: "41" }, waitsBy(persons, "")),
  "ended by a cancel": shown({ ...moving, state: "expired", code: "JOB_EXPIRED", versions: [dead], isCancelling: true }),
  "ended by a cancel before anything was signed": shown({
    ...{ ...moving, state: "expired", code: "JOB_EXPIRED", versions: [], isCancelling: true },
  }),
};

const deposit = "TMVQGm1qAQYVdetCeGRRkTWYYrLXuHK2HC";
const hot = tronWithdrawal.account;
const sweep: OperatorView = {
  ...{ ...moving, mode: "sweep", orderId: `${deposit}/1`, transactionId: "5a".repeat(16) },
  ...{ address: hot, account: deposit, payer: deposit },
};
const topUp: OperatorView = {
  ...{ ...moving, mode: "topup", orderId: sweep.transactionId, contract: "", address: deposit, account: hot, payer: hot },
  ...{ amount: "16.635625", amountUnits: "16635625" },
};
const cancelledOne: OperatorView = { ...moving, transactionId: "6b".repeat(16), orderId: "order-1002", isCancelling: true };
const unsigned = { state: "refused", slot: "", versions: [], account: "", code: "POLICY_SWEEP_OFF" } as const;

const beyond: OperatorView = {
  ...broadcast,
  ...{ mode: "sweep", slot: "1000000", code: "SWEEP_UNREACHABLE", orderId: `${broadcast.account}/1` },
};

/** A top-up that moves; its amount is of the chain's own coin. */
function toppingUp(): void {
  ill({})();
  const list = [topUp, sweep, moving, cancelledOne];
  rig.signer.answers = {
    ...rig.signer.answers,
    list: () => ({ withdrawals: [...list, { ...cancelledOne, state: "expired" }, { ...cancelledOne, state: "paid" }] }),
    show: () => ({ withdrawal: topUp, history: [], wait: null, spends: [] }),
    unstick: ({ act }) => ({ withdrawal: topUp, plan: { act: act as "replace", version: 2, facts: {} } }),
  };
}

/** Money that moves inside the wallet. */
export const internalScenes: Scenes = {
  "a top-up moves": toppingUp,
  "a top-up is approved by a person": () => {
    const withdrawal: OperatorView = { ...topUp, state: "held", code: "RECOVERY_HOLD", versions: [] };
    rig.signer.answers = {
      show: () => ({ withdrawal, history: [], wait: null, spends: [] }),
      approve: () => ({ withdrawal: { ...withdrawal, state: "approved", code: "" }, wait: null }),
    };
  },
  "a sweep is refused": shown({ ...sweep, ...unsigned, address: "", transactionId }),
  "a top-up is refused": shown({ ...topUp, ...unsigned, address: "", code: "POLICY_ABOVE_DAY" }),
  "a sweep ran out": shown({ ...sweep, ...unsigned, state: "expired", code: "JOB_EXPIRED", transactionId }),
  "a sweep was reverted": shown({ ...sweep, state: "reverted", transactionId }),
  "a sweep that the chain cannot reach": () => {
    const withdrawal = beyond;
    const plan = { slot: "1000000", counted: "0" };
    ill({ unreachable: { transactionId, network: broadcast.network, slot: "1000000", count: 2 } })();
    rig.signer.answers = {
      ...rig.signer.answers,
      show: () => ({ withdrawal, history: [], wait: null, spends: [] }),
      end: ({ slot }) =>
        slot === "" ? { withdrawal, plan } : { withdrawal: { ...withdrawal, state: "expired", isOver: true }, plan },
    };
  },
  "a sweep that a person ended": shown({ ...beyond, state: "expired", isOver: true }),
  "a sweep waits for its top-up": shown(
    { ...sweep, ...unsigned, state: "approved", code: "", transactionId },
    waitsBy("SWEEP_OR_TOPUP_OPEN", ""),
  ),
  "a sweep waits for lower fees": shown(
    { ...sweep, ...unsigned, state: "approved", code: "", transactionId },
    waitsBy("fee POLICY_FEE_ABOVE_DAY", ""),
  ),
};
