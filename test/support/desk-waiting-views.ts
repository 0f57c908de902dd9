/**
 * Views and facts for tests of the desk on a chain where versions end by waiting: Tron, the only
 * such family.
 */
import type { BlockFacts } from "../../agent/courier/desk/desk.ts";
import type { CourierView, VersionView, WithdrawalState } from "../../agent/socket/verbs.ts";
import { type Driver, drive, idOf, viewOf } from "./desk-views.ts";

const waitingNetwork = "tron:0x94a9059e";
const payingAccount = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8";
export const tether = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
export const startMs = 1_790_000_000_000;
export const lifeMs = 300_000;
export const marginMs = 120_000;

/** Prices and reference of a solidified block at `chainMs`. */
export function priceAt(chainMs: number) {
  return {
    ...{ refBlockBytes: 6n, refBlockHash: 77n, blockMs: BigInt(chainMs) },
    ...{ energySun: 100n, byteSun: 1_000n, activationSun: 1_100_000n },
  };
}

export function hashOf(sequence: number, version: number): string {
  return `${sequence}${version}`.padStart(64, "0");
}

export function versionAt(sequence: number, version: number, over: Partial<VersionView> = {}): VersionView {
  const until = startMs + lifeMs;
  const bytes = { refBlockBytes: "6", refBlockHash: "77", timestampMs: `${startMs}`, expirationMs: `${until}`, feeLimitSun: "0" };
  return {
    version,
    txHash: hashOf(sequence, version),
    facts: { ...bytes, energy: "0", byteSun: "1000", activationSun: "0" },
    feeMax: "277000",
    signedAt: 1,
    until,
    raw: `0a${sequence}${version}`,
    ...over,
  };
}

/** A withdrawal of 1 TRX on a slot, its version let out. */
export function waitingView(
  sequence: number,
  state: WithdrawalState,
  versions: readonly VersionView[] = [versionAt(sequence, 1)],
  over: Partial<CourierView> = {},
): CourierView {
  const account = state === "approved" ? "" : payingAccount;
  const own = { network: waitingNetwork, currency: "trx", amountUnits: "1000000", decimal: 6, address: tether };
  return viewOf(sequence, state, { ...own, payer: payingAccount, account, versions, ...over });
}

/**
 * A desk with its clock, only on such a chain. `at` is a block whose final one has that chain time.
 */
interface WaitingDriver extends Driver {
  at(chainMs: number, over?: Partial<BlockFacts>): ReturnType<Driver["feed"]>;
}

export function driveWaiting(open: readonly CourierView[], nextSlot = "0", inFlightMax?: number): WaitingDriver {
  const accounts = [{ chain: "local", network: waitingNetwork, address: payingAccount, nextSlot }];
  const driver = drive(open, { accounts }, inFlightMax);
  let number = 30;
  const at = (chainMs: number, over: Partial<BlockFacts> = {}): ReturnType<Driver["feed"]> => {
    number += 1;
    const balances = new Map([
      ["", 1_000_000_000n],
      [tether, 1_000_000_000n],
    ]);
    return driver.block(number, { finalNumber: number - 19, chainMs, price: priceAt(chainMs), balances, ...over });
  };
  return Object.assign(driver, { at });
}

/** The nodes' word on the versions of these withdrawals. */
export function answerDead(driver: Driver, sequences: readonly number[], isDead: boolean, versions: readonly number[] = [1]) {
  const answer = { ok: true as const, isDead, chainMs: startMs + lifeMs + marginMs + 1, block: 40, witnesses: 2 };
  const found = sequences.map((sequence) => ({
    transactionId: idOf(sequence),
    txHashes: versions.map((version) => hashOf(sequence, version)),
    answer,
  }));
  return driver.feed({ kind: "dead", chain: "local", found });
}
