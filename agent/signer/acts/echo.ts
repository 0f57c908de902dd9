/**
 * What every envelope is held against: agent, wallet, epoch, clock, and the head of our ledger that
 * it names. Touches nothing: a lock leaves through the turn.
 */
import { type Refusal, refuse } from "../../../protocol/fault.ts";
import type { Head } from "../../../protocol/messages.ts";
import { skewMaxMs } from "../state/ledger-time.ts";
import { aheadOfBlocks, lock, type Turn } from "./run.ts";

/**
 * The local clock beside the gateway's: ledger time has been held near the gateway's already, and
 * would hide a clock that jumped.
 */
export function skewOf(turn: Turn, { at }: { readonly at: number }): Refusal | null {
  const { run, localMs, monotonicMs } = turn;
  const skewMs = Math.abs(at - localMs);
  if (skewMs > skewMaxMs) return refuse("CLOCK_SKEW", `${skewMs} ms`);
  // As if this word had been taken: the gateway's own clock is one of the two.
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
 * Holds what the gateway says of our ledger against the ledger: null when it fits, "stale" when the
 * gateway has held more of it before, a lock when the gateway knows of records we do not have.
 */
export function holdEcho(turn: Turn, echo: Head | null): Refusal | "stale" | null {
  const { heads } = turn.core;
  const seq = echo?.seq ?? 0;
  if (seq < heads.acked.seq) return "stale";
  if (echo === null) return null;
  if (seq > heads.head.seq) {
    return lock(turn, "LEDGER_BEHIND_GATEWAY", `the gateway holds record ${seq}, the ledger ends at ${heads.head.seq}`);
  }
  // In the epoch of an opened ledger nothing is acknowledged before the gateway has been told what
  // came before.
  const hash = heads.hashAt(seq) ?? turn.hashAt(seq);
  return hash === echo.hash ? null : lock(turn, "LEDGER_FORKED", `record ${seq} has another hash at the gateway`);
}
