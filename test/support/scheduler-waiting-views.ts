/**
 * Views and chain states for tests of the scheduler on a chain where attempts end by expiry: Tron,
 * the only such family.
 */
import type { ChainState } from "../../agent/courier/scheduler/scheduler.ts";
import type { AttemptView, CourierView, WithdrawalState } from "../../agent/socket/verbs.ts";
import { type Driver, drive, idOf, viewOf } from "./scheduler-views.ts";

const waitingNetwork = "tron:0x94a9059e";
const hotWallet = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8";
export const tether = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
export const startMs = 1_790_000_000_000;
export const lifetimeMs = 300_000;
export const marginMs = 120_000;

/** Prices and reference of a solidified block at `chainMs`. */
export function priceAt(chainMs: number) {
  return {
    ...{ refBlockBytes: 6n, refBlockHash: 77n, blockMs: BigInt(chainMs) },
    ...{ energySun: 100n, byteSun: 1_000n, activationSun: 1_100_000n },
  };
}

export function hashOf(sequence: number, attempt: number): string {
  return `${sequence}${attempt}`.padStart(64, "0");
}

export function attemptAt(
  sequence: number,
  attempt: number,
  over: Partial<AttemptView> = {},
): AttemptView {
  const validUntilMs = startMs + lifetimeMs;
  const bytes = {
    refBlockBytes: "6",
    refBlockHash: "77",
    timestampMs: `${startMs}`,
    expirationMs: `${validUntilMs}`,
    feeLimitSun: "0",
  };
  return {
    attempt,
    txHash: hashOf(sequence, attempt),
    txParams: { ...bytes, energy: "0", byteSun: "1000", activationSun: "0" },
    feeMax: "277000",
    signedAt: 1,
    validUntilMs,
    raw: `0a${sequence}${attempt}`,
    ...over,
  };
}

/** A withdrawal of 1 TRX on a slot, its attempt let out. */
export function waitingView(
  sequence: number,
  state: WithdrawalState,
  attempts: readonly AttemptView[] = [attemptAt(sequence, 1)],
  over: Partial<CourierView> = {},
): CourierView {
  const account = state === "approved" ? "" : hotWallet;
  const own = {
    network: waitingNetwork,
    currency: "trx",
    amountUnits: "1000000",
    decimal: 6,
    address: tether,
  };
  return viewOf(sequence, state, { ...own, sender: hotWallet, account, attempts, ...over });
}

/**
 * A scheduler with its clock, only on such a chain. `at` is a block whose final one has that chain
 * time.
 */
interface WaitingDriver extends Driver {
  at(chainMs: number, over?: Partial<ChainState>): ReturnType<Driver["feed"]>;
}

export function driveWaiting(
  open: readonly CourierView[],
  nextSlot = "0",
  inFlightMax?: number,
): WaitingDriver {
  const accounts = [{ chain: "local", network: waitingNetwork, address: hotWallet, nextSlot }];
  const driver = drive(open, { accounts }, inFlightMax);
  let number = 30;
  const at = (chainMs: number, over: Partial<ChainState> = {}): ReturnType<Driver["feed"]> => {
    number += 1;
    const balances = new Map([
      ["", 1_000_000_000n],
      [tether, 1_000_000_000n],
    ]);
    return driver.block(number, {
      finalNumber: number - 19,
      chainMs,
      feeMarket: priceAt(chainMs),
      balances,
      ...over,
    });
  };
  return Object.assign(driver, { at });
}

/** The nodes' word on the attempts of these withdrawals. */
export function answerVoid(
  driver: Driver,
  sequences: readonly number[],
  isVoid: boolean,
  attempts: readonly number[] = [1],
) {
  const answer = {
    ok: true as const,
    isVoid,
    chainMs: startMs + lifetimeMs + marginMs + 1,
    block: 40,
    quorum: 2,
  };
  const found = sequences.map((sequence) => ({
    transactionId: idOf(sequence),
    txHashes: attempts.map((attempt) => hashOf(sequence, attempt)),
    answer,
  }));
  return driver.feed({ kind: "void", chain: "local", found });
}
