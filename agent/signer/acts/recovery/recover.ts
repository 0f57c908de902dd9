/**
 * The operator's two verbs of a recovery: `recover` shows what the gateway's order would do and does exactly that, bound to the
 * digest of what was shown; `finish` ends it. Touches nothing: records leave through the turn.
 */
import { type Refusal, refuse } from "../../../../protocol/fault.ts";
import type { RecoveryPlan } from "../../../socket/verbs.ts";
import { ledgerTime } from "../../state/ledger-time.ts";
import type { Turn } from "../run.ts";
import { type Planned, planRecovery, type ReadRecords } from "./plan.ts";

/** How a plan reads what is on disk. */
interface Reading {
  readonly read: ReadRecords;
  readonly hashAt: (seq: number) => string | null;
}

/**
 * What the newest order would do, remembered as shown: the yes that follows is to this one, whatever comes in between.
 * Refuses RECOVERY_NONE, and what contradicts as `planRecovery` does.
 * @throws AgentError LEDGER_DAMAGED when an older segment has changed
 * @public
 */
export function showRecovery(turn: Turn, reading: Reading): Planned | Refusal {
  const { core, run, account, nowMs } = turn;
  const order = run.orders.whole;
  if (order === null) return refuse("RECOVERY_NONE");
  const shown = { order, counts: new Map(run.counts), nowMs };
  const planned = planRecovery({ core, nonce: run.nonce, account, ...shown, ...reading });
  if (planned.ok) run.orders.show(shown);
  return planned;
}

/**
 * Carries out what was shown under `digest`. All of it becomes durable with one record, or none of it counts. Twice is refused: the
 * first has used the order up. Refuses RECOVERY_NONE, RECOVERY_CHANGED, LEDGER_DISK_FULL, and as `showRecovery`.
 * @throws AgentError as `showRecovery`
 * @public
 */
export function recover(
  turn: Turn,
  reading: Reading,
  digest: string,
): { readonly ok: true; readonly plan: RecoveryPlan } | Refusal {
  const { core, run, account } = turn;
  const { shown } = run.orders;
  if (shown === null) return refuse("RECOVERY_NONE");
  const planned = planRecovery({ core, nonce: run.nonce, account, ...shown, ...reading });
  if (!planned.ok) return planned;
  if (planned.plan.digest !== digest) return refuse("RECOVERY_CHANGED");
  if (!turn.hasRoom()) return refuse("LEDGER_DISK_FULL");
  turn.commit(planned.bodies);
  // A new epoch: nothing that was heard or suspected in the old one says anything about it.
  run.orders.forget();
  run.greeted = false;
  run.echoed = null;
  run.behindAt = 0; // no greeting of the epoch before is taken any more
  run.alarms.clear();
  run.aheadSince.clear();
  return { ok: true, plan: planned.plan };
}

/**
 * A person ends the recovery: policy decides by itself again. What is held or quarantined stays so, and what was issued before and is
 * still on its way is held when it comes. Twice is harmless. Refuses with RECOVERY_NOT_TAKEN before the gateway has taken the recovered
 * ledger, and as every act does with SIGNER_LOCKED or, without a greeting, SIGNER_NOT_GREETED.
 * @public
 */
export function finish(turn: Turn): { readonly ok: true } | Refusal {
  const { core, run, localMs, monotonicMs } = turn;
  const { recovery } = core;
  if (recovery === null) return { ok: true };
  if (core.locked !== null) return refuse("SIGNER_LOCKED", core.locked.code);
  if (!run.greeted) return refuse("SIGNER_NOT_GREETED");
  if (core.heads.acked.seq < recovery.seq) return refuse("RECOVERY_NOT_TAKEN");
  // By the later of both clocks, and of the gateway's by what was the shortest on its way.
  const issuedBefore = Math.floor(Math.max(run.gatewayLeadMs + monotonicMs, ledgerTime(run, localMs, monotonicMs)));
  turn.commit([{ kind: "RESUMED", issuedBefore }]);
  return { ok: true };
}
