/**
 * The operator's two verbs of a recovery. `recover` shows the ledger that the gateway's order would
 * begin here, and begins exactly that ledger, tied to the digest of the shown plan. `finish` ends
 * the hold after both sides were restored from a backup. Touches nothing; records go through the
 * `RequestContext`. Source: docs/protocol.md section 8.
 */
import { type Refusal, refuse } from "../../../../base/fault.ts";
import { domainHash, zeroHash } from "../../../../protocol/identity.ts";
import type { RecoveryPlan } from "../../../socket/recovery-plan.ts";
import { ledgerTime } from "../../state/ledger-time.ts";
import { type RecoveredState, recoverState } from "../../state/recovered-ledger.ts";
import { type RequestContext, refuseIfClocksAheadOfBlocks, refuseIfDiskFull } from "../context.ts";
import type { RecoveryPlanSource } from "../orders.ts";

/** The most withdrawals in an answer; the digest covers all. */
const shownMax = 1_000;

type RecoveryResult =
  | { readonly ok: true; readonly plan: RecoveryPlan; readonly recovered: RecoveredState }
  | Refusal;

/**
 * Returns the ledger that the newest order would begin, and remembers the plan: an operator's yes
 * is to exactly this plan, whatever arrives in between. Refuses with RECOVERY_NONE, RECOVERY_OFFER
 * or RECOVERY_SLOT, with RECOVERY_BOTH if the gateway was restored too and `both` is false, and
 * with RECOVERY_COUNT before the nodes have agreed on the counts of this run: a ledger that begins
 * at a slot that the chain has used would lock again. `uncounted` are networks that an operator
 * recovers without a count, because no node of theirs answers any more.
 * @throws AgentError LEDGER_DAMAGED if an older segment has changed
 */
export function showRecovery(
  context: RequestContext,
  bothRestored: boolean,
  uncounted: ReadonlySet<string>,
): RecoveryResult {
  const { run } = context;
  const order = run.orders.whole;
  if (order === null) return refuse("RECOVERY_NONE");
  const ahead = refuseIfClocksAheadOfBlocks(context);
  if (ahead !== null) return ahead;
  const shown = {
    order,
    counts: hotWalletCounts(run.counts),
    uncounted,
    bothRestored,
    localMs: context.localMs,
  };
  const planned = plan(context, shown);
  if (planned.ok) run.orders.show(shown);
  return planned;
}

/**
 * Begins the ledger that was shown under `digest`. One record makes all of it durable, or none of
 * it counts. A second call is refused, because the first has used the order up. Refuses with
 * RECOVERY_NONE, LEDGER_DISK_FULL, LEDGER_READ_ONLY, and as `showRecovery`.
 * @throws AgentError as `showRecovery`
 */
export function acceptRecovery(
  context: RequestContext,
  digest: string,
): { readonly ok: true; readonly plan: RecoveryPlan } | Refusal {
  const { run } = context;
  const { shown } = run.orders;
  if (shown === null) return refuse("RECOVERY_NONE");
  const planned = refuseIfClocksAheadOfBlocks(context) ?? plan(context, shown);
  if (!planned.ok) return planned;
  if (planned.plan.digest !== digest)
    return refuse("RECOVERY_NONE", "ledger or order changed since it was shown");
  const full = refuseIfDiskFull(context);
  if (full !== null) return full;
  const { order, ledgerEpoch, held, jobs } = shown.order;
  context.open(planned.recovered.state, {
    order,
    ledgerEpoch,
    bothRestored: shown.bothRestored,
    held: held ?? { seq: 0, hash: zeroHash },
    sequence: jobs.sequence,
    jobHash: jobs.hash,
  });
  // Knowledge and suspicions of the old epoch say nothing about the new one.
  run.orders.forget();
  run.handshakeDone = false;
  run.gatewayHeadSeq = null;
  run.resync = null;
  run.behindAt = 0; // no welcome of the epoch before is taken any more
  run.alarms.clear();
  run.aheadSince.clear();
  return { ok: true, plan: planned.plan };
}

/**
 * Returns the counts of the hot wallets only: a deposit address begins again where its nodes count.
 */
function hotWalletCounts(counts: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map([...counts].filter(([name]) => !name.includes(" ")));
}

/** The settings' name of a network with a currency; null for others, whose nodes are not asked. */
function chainOf({ core }: RequestContext, network: string): string | null {
  return (
    [...core.policy.rules.assets.values()].find((asset) => asset.network === network)?.chain ?? null
  );
}

function plan(
  context: RequestContext,
  { order, counts, uncounted, bothRestored, localMs }: RecoveryPlanSource,
): RecoveryResult {
  const { core, run } = context;
  const { head } = core.heads;
  const { held } = order;
  const isHere = held === null || context.hashAt(held.seq) === held.hash;
  if (!bothRestored && isRolledBackPastRecovery(context, held?.seq ?? 0))
    return refuse("RECOVERY_BOTH");
  // The order's own time makes the same plan for every look. The machine's own time bounds it,
  // because the windows of the new ledger use it.
  const nowMs = Math.max(core.heads.at, Math.min(order.at, localMs));
  const recovered = recoverState({
    old: core.snapshot(),
    order,
    counts,
    countedChain: (network) => (uncounted.has(network) ? null : chainOf(context, network)),
    bothRestored,
    nowMs,
    resyncFrom: resyncFrom(context, isHere, bothRestored, held?.seq ?? 0),
    accountOn: (network) => context.accountOn(network),
    stateOf: (id) => core.book.stateOf(id),
    decimalOf: (limitGroup) => core.policy.asset(limitGroup)?.decimal,
    limitsOf: (limitGroup) => core.policy.rules.limits.get(limitGroup),
    senderOf: (job) => core.policy.sender(job)?.account ?? "",
  });
  if (!recovered.ok) return recovered;
  const { accounts, kept, left, unknown, state } = recovered;
  const shown: Omit<RecoveryPlan, "digest"> = {
    order: order.order,
    at: order.at,
    bothRestored,
    ledgerEpoch: core.paired.ledgerEpoch,
    newLedgerEpoch: order.ledgerEpoch,
    locked: core.locked?.code ?? "",
    lockedDetail: core.locked?.detail ?? "",
    head,
    gatewayHead: held,
    isHere,
    accounts,
    uncounted: [...uncounted].filter(
      (network) => !counts.has(network) && accounts.some((one) => one.network === network),
    ),
    left,
    withdrawals: kept.slice(0, shownMax),
    kept: kept.length,
    unknown,
    outgoing: bothRestored ? order.outgoing : [],
  };
  // The state holds everything that the recovery changes, without a cut. The digest names the run,
  // so no yes is valid in a later run.
  const { at: _at, ...lasting } = shown;
  const digest = domainHash(
    "recovery plan",
    Buffer.from(JSON.stringify([run.runId, lasting, state])),
  );
  return { ok: true, plan: { digest, ...shown }, recovered };
}

/**
 * Returns the record after which a resync sends the closed withdrawals of this ledger. If the
 * gateway's head is in this ledger, the gateway has everything up to there. If the head is of
 * another ledger, this ledger has nothing to send; but a gateway restored to before a recovery
 * knows nothing since then.
 */
function resyncFrom(
  { core }: RequestContext,
  isHere: boolean,
  bothRestored: boolean,
  held: number,
): number {
  if (isHere) return held;
  return bothRestored && core.recovered !== null ? 0 : core.heads.head.seq;
}

/**
 * True if the gateway acknowledged this ledger after the recovery but now stands before the
 * recovery.
 */
function isRolledBackPastRecovery({ core }: RequestContext, held: number): boolean {
  return (
    core.recovered !== null &&
    core.heads.acked.seq >= core.recovered.seq &&
    held < core.recovered.seq
  );
}

/**
 * Ends the hold, so that policy decides by itself again. Held and quarantined withdrawals stay so,
 * and jobs issued before now but still on their way are held on arrival. A repeat is harmless.
 * Refuses with SIGNER_LOCKED like every act, or with SIGNER_NO_HANDSHAKE before the handshake: the
 * gateway completes no handshake before it has taken the recovered ledger.
 */
export function finishRecovery(context: RequestContext): { readonly ok: true } | Refusal {
  const { core, run, localMs, monotonicMs } = context;
  if (!core.isHolding) return { ok: true };
  if (core.locked !== null) return refuse("SIGNER_LOCKED", core.locked.code);
  if (!run.handshakeDone) return refuse("SIGNER_NO_HANDSHAKE");
  // The later of both clocks counts, and the gateway's clock by the envelope with the shortest
  // delay.
  const issuedBefore = Math.floor(
    Math.max(run.gatewayLeadMs + monotonicMs, ledgerTime(run, localMs, monotonicMs)),
  );
  context.commit([{ kind: "RECOVERY_FINISHED", issuedBefore }]);
  return { ok: true };
}
