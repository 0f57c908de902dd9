/**
 * The operator's two verbs of a recovery: `recover` shows the ledger that the gateway's order would
 * open here, and opens exactly that, bound to the digest of what was shown; `finish` ends the
 * holding where both sides went back. Touches nothing: records leave through the turn. Source:
 * docs/protocol.md section 8.
 */
import { type Refusal, refuse } from "../../../../protocol/fault.ts";
import { domainHash, zeroHash } from "../../../../protocol/identity.ts";
import type { RecoveryPlan } from "../../../socket/recovery-plan.ts";
import { ledgerTime } from "../../state/ledger-time.ts";
import { type OpenedState, openState } from "../../state/opening.ts";
import type { Shown } from "../orders.ts";
import { aheadOfBlocks, fullDisk, type Turn } from "../run.ts";

/** Withdrawals an answer lists; the digest covers all. */
const shownMax = 1_000;

type Planned = { readonly ok: true; readonly plan: RecoveryPlan; readonly opened: OpenedState } | Refusal;

/**
 * What the newest order would open, remembered as shown: the yes that follows is to this one,
 * whatever comes in between. Refuses RECOVERY_NONE, RECOVERY_ORDER, RECOVERY_SLOT, and
 * RECOVERY_BOTH where the gateway went back too and `both` does not say so.
 * @throws AgentError LEDGER_DAMAGED when an older segment has changed
 * @public
 */
export function showRecovery(turn: Turn, both: boolean): Planned {
  const { run } = turn;
  const order = run.orders.whole;
  if (order === null) return refuse("RECOVERY_NONE");
  const ahead = aheadOfBlocks(turn);
  if (ahead !== null) return ahead;
  const shown = { order, counts: hotCounts(run.counts), both, localMs: turn.localMs };
  const planned = plan(turn, shown);
  if (planned.ok) run.orders.show(shown);
  return planned;
}

/**
 * Opens what was shown under `digest`: all of it becomes durable with one record, or none of it
 * counts. Twice is refused: the first has used the order up. Refuses RECOVERY_NONE,
 * LEDGER_DISK_FULL, LEDGER_READ_ONLY, and as `showRecovery`.
 * @throws AgentError as `showRecovery`
 * @public
 */
export function recover(turn: Turn, digest: string): { readonly ok: true; readonly plan: RecoveryPlan } | Refusal {
  const { run } = turn;
  const { shown } = run.orders;
  if (shown === null) return refuse("RECOVERY_NONE");
  const planned = aheadOfBlocks(turn) ?? plan(turn, shown);
  if (!planned.ok) return planned;
  if (planned.plan.digest !== digest) return refuse("RECOVERY_NONE", "ledger or order changed since it was shown");
  const full = fullDisk(turn);
  if (full !== null) return full;
  const { order, epoch, held, jobs } = shown.order;
  turn.open(planned.opened.state, {
    ...{ order, epoch, both: shown.both, held: held ?? { seq: 0, hash: zeroHash } },
    ...{ sequence: jobs.sequence, jobHash: jobs.hash },
  });
  // A new epoch: nothing that was heard or suspected in the old one says anything about it.
  run.orders.forget();
  run.greeted = false;
  run.echoed = null;
  run.telling = null;
  run.behindAt = 0; // no greeting of the epoch before is taken any more
  run.alarms.clear();
  run.aheadSince.clear();
  return { ok: true, plan: planned.plan };
}

/**
 * Of the accounts that pay withdrawals: an address for deposits begins anew where its nodes say.
 */
function hotCounts(counts: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map([...counts].filter(([name]) => !name.includes(" ")));
}

function plan(turn: Turn, { order, counts, both, localMs }: Shown): Planned {
  const { core, run } = turn;
  const { head } = core.heads;
  const { held } = order;
  const isHere = held === null || turn.hashAt(held.seq) === held.hash;
  if (!both && wentBackPastOpening(turn, held?.seq ?? 0)) return refuse("RECOVERY_BOTH");
  // By the order's own time, so that whoever looks twice sees the same, and no later than this
  // machine's own: the windows of the new ledger go by it.
  const nowMs = Math.max(core.heads.at, Math.min(order.at, localMs));
  const opened = openState({
    ...{ old: core.snapshot(), order, counts, both, nowMs, tellFrom: tellFrom(turn, isHere, both, held?.seq ?? 0) },
    accountOn: (network) => turn.accountOn(network),
    stateOf: (id) => core.book.stateOf(id),
    decimalOf: (lane) => core.policy.asset(lane)?.decimal,
    limitsOf: (lane) => core.policy.limitsOf(lane),
    payerOf: (job) => core.policy.payer(job)?.account ?? "",
  });
  if (!opened.ok) return opened;
  const { accounts, kept, left, unknown, state } = opened;
  const shown: Omit<RecoveryPlan, "digest"> = {
    ...{ order: order.order, at: order.at, both, epoch: core.paired.epoch, newEpoch: order.epoch },
    ...{ locked: core.locked?.code ?? "", lockedDetail: core.locked?.detail ?? "" },
    ...{ head, gatewayHead: held, isHere, accounts, left },
    ...{ withdrawals: kept.slice(0, shownMax), kept: kept.length, unknown, spends: both ? order.spends : [] },
  };
  // The state says all that the opening does, cut nowhere; the run is named so that no yes outlives
  // it.
  const { at: _at, ...lasting } = shown;
  const digest = domainHash("recovery plan", Buffer.from(JSON.stringify([run.runId, lasting, state])));
  return { ok: true, plan: { digest, ...shown }, opened };
}

/**
 * Past which record the gateway is told again what closed here. It has all of a ledger up to its
 * own head there. Where its head is of another ledger, this one lacks it and has nothing to tell;
 * but a gateway that went back to before an opening knows nothing of since.
 */
function tellFrom({ core }: Turn, isHere: boolean, both: boolean, held: number): number {
  if (isHere) return held;
  return both && core.opened !== null ? 0 : core.heads.head.seq;
}

/** The gateway has acknowledged this ledger since it was opened, and stands before that now. */
function wentBackPastOpening({ core }: Turn, held: number): boolean {
  return core.opened !== null && core.heads.acked.seq >= core.opened.seq && held < core.opened.seq;
}

/**
 * A person ends the holding: policy decides by itself again. What is held or quarantined stays so,
 * and what was issued before and is still on its way is held when it comes. Twice is harmless.
 * Refuses as every act does with SIGNER_LOCKED or, without a greeting, SIGNER_NOT_GREETED: no
 * gateway greets before it has taken the opened ledger.
 * @public
 */
export function finish(turn: Turn): { readonly ok: true } | Refusal {
  const { core, run, localMs, monotonicMs } = turn;
  if (!core.isHolding) return { ok: true };
  if (core.locked !== null) return refuse("SIGNER_LOCKED", core.locked.code);
  if (!run.greeted) return refuse("SIGNER_NOT_GREETED");
  // By the later of both clocks, and of the gateway's by what was the shortest on its way.
  const issuedBefore = Math.floor(Math.max(run.gatewayLeadMs + monotonicMs, ledgerTime(run, localMs, monotonicMs)));
  turn.commit([{ kind: "RESUMED", issuedBefore }]);
  return { ok: true };
}
