/**
 * Checks every envelope against agent, wallet, epoch, clock, and the head of our ledger that the
 * envelope names. Touches nothing; a lock goes through the `Turn`.
 */
import { type Refusal, refuse } from "../../../base/fault.ts";
import type { Head } from "../../../protocol/messages.ts";
import { skewMaxMs } from "../state/ledger-time.ts";
import { aheadOfBlocks, lock, type Turn } from "./run.ts";

/**
 * Compares the local clock with the gateway's. Ledger time is no use here, because it is kept near
 * the gateway's time and would hide a jump of the local clock.
 */
export function skewOf(turn: Turn, { at }: { readonly at: number }): Refusal | null {
  const { run, localMs, monotonicMs } = turn;
  const skewMs = Math.abs(at - localMs);
  if (skewMs > skewMaxMs) return refuse("CLOCK_SKEW", `${skewMs} ms`);
  // Checked as if this envelope were taken, because the gateway's clock is one of the two compared
  // with the chains.
  const isNewer = at > run.gatewayAt;
  return aheadOfBlocks({ run: isNewer ? { ...run, gatewayAt: at, heardAt: monotonicMs } : run, localMs, monotonicMs });
}

export function foreignTo({ core }: Turn, envelope: { readonly agent: string; readonly epoch: number }): Refusal | null {
  if (envelope.agent !== core.paired.agent) return refuse("ADMISSION_OTHER_AGENT", envelope.agent);
  return envelope.epoch === core.paired.epoch ? null : refuse("ADMISSION_OTHER_EPOCH", String(envelope.epoch));
}

export function otherWallet({ core }: Turn, wallet: string): Refusal | null {
  return wallet === core.paired.wallet ? null : refuse("ADMISSION_OTHER_WALLET", wallet);
}

/**
 * Compares the ledger head that the gateway names with the ledger. Returns null if they fit and
 * "stale" if the gateway has acknowledged more before. Locks if the gateway holds records that the
 * ledger does not have.
 */
export function holdEcho(turn: Turn, echo: Head | null): Refusal | "stale" | null {
  const { heads } = turn.core;
  const seq = echo?.seq ?? 0;
  if (seq < heads.acked.seq) return "stale";
  if (echo === null) return null;
  if (seq > heads.head.seq) {
    return lock(turn, "LEDGER_BEHIND_GATEWAY", `the gateway holds record ${seq}, the ledger ends at ${heads.head.seq}`);
  }
  // In the epoch of a recovered ledger, nothing is acknowledged before the resync of earlier
  // records is done.
  const hash = heads.hashAt(seq) ?? turn.hashAt(seq);
  return hash === echo.hash ? null : lock(turn, "LEDGER_FORKED", `record ${seq} has another hash at the gateway`);
}
