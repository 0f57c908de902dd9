/**
 * Checks every envelope against agent, wallet, epoch, clock, and the head of our ledger that the
 * envelope names. Touches nothing; a lock goes through the `RequestContext`.
 */
import { type Refusal, refuse } from "../../../base/fault.ts";
import type { AgentLedgerHead, Jobs } from "../../../protocol/messages.ts";
import { skewMaxMs } from "../state/ledger-time.ts";
import { lockSigner, type RequestContext, refuseIfClocksAheadOfBlocks } from "./context.ts";

/**
 * Compares the local clock with the gateway's. Ledger time is no use here, because it is kept near
 * the gateway's time and would hide a jump of the local clock.
 */
export function refuseIfClockSkewed(
  context: RequestContext,
  { at }: { readonly at: number },
): Refusal | null {
  const { run, localMs, monotonicMs } = context;
  const skewMs = Math.abs(at - localMs);
  if (skewMs > skewMaxMs) return refuse("CLOCK_SKEW", skewWords(at, localMs));
  // Checked as if this envelope were taken, because the gateway's clock is one of the two compared
  // with the chains.
  const isNewer = at > run.gatewayAt;
  return refuseIfClocksAheadOfBlocks({
    run: isNewer ? { ...run, gatewayAt: at, receivedAt: monotonicMs } : run,
    localMs,
    monotonicMs,
  });
}

/** Both times, because an operator must learn which clock is wrong. */
function skewWords(at: number, localMs: number): string {
  const minutes = Math.round(Math.abs(at - localMs) / 60_000);
  const [here, there] = [localMs, at].map((ms) => new Date(ms).toISOString().slice(0, 19));
  return `${minutes} minutes apart: here ${here}Z, at the gateway ${there}Z`;
}

export function refuseIfOtherAgentOrEpoch(
  { core }: RequestContext,
  envelope: Pick<Jobs, "agent" | "ledgerEpoch">,
): Refusal | null {
  if (envelope.agent !== core.paired.agent) return refuse("ADMISSION_OTHER_AGENT", envelope.agent);
  return envelope.ledgerEpoch === core.paired.ledgerEpoch
    ? null
    : refuse("ADMISSION_OTHER_EPOCH", String(envelope.ledgerEpoch));
}

export function refuseIfOtherWallet({ core }: RequestContext, wallet: string): Refusal | null {
  return wallet === core.paired.wallet ? null : refuse("ADMISSION_OTHER_WALLET", wallet);
}

/**
 * Compares the ledger head that the gateway names with the ledger. Returns null if they fit and
 * "stale" if the gateway has acknowledged more before. Locks if the gateway holds records that the
 * ledger does not have.
 */
export function checkGatewayHead(
  context: RequestContext,
  gatewayHead: AgentLedgerHead | null,
): Refusal | "stale" | null {
  const { heads } = context.core;
  const seq = gatewayHead?.seq ?? 0;
  if (seq < heads.acked.seq) return "stale";
  if (gatewayHead === null) return null;
  if (seq > heads.head.seq) {
    return lockSigner(
      context,
      "LEDGER_BEHIND_GATEWAY",
      `the gateway holds record ${seq}, the ledger ends at ${heads.head.seq}`,
    );
  }
  // In the epoch of a recovered ledger, nothing is acknowledged before the resync of earlier
  // records is done.
  const hash = heads.hashAt(seq) ?? context.hashAt(seq);
  return hash === gatewayHead.hash
    ? null
    : lockSigner(context, "LEDGER_FORKED", `record ${seq} has another hash at the gateway`);
}
