/**
 * The next slot of each account. There is no counter outside the ledger: ADOPTED and INTENT records
 * give the next slot, so a slot and its withdrawal are one fact. The family defines the order of
 * slots. Touches nothing.
 */

import { invariant } from "../../../base/fault.ts";
import { expiryExclusionOf, familyOf } from "../../../chains/families.ts";
import type { LedgerRecord } from "../../ledger/records.ts";
import { isUnfinished, type RecordedWithdrawalState } from "./machine.ts";

export interface Account {
  readonly network: string;
  readonly account: string; // the address
  adopted: string; // the first slot ever used by this ledger
  next: string;
  pending: number;
  lastTimestamp: bigint; // the highest timestamp of its attempts, with exclusion by expiry; else 0
}

/** `[network, account, adopted, next, unfinished, last timestamp]`, the last one if there is one */
export type AccountEntries = readonly (readonly [
  string,
  string,
  string,
  string,
  number,
  string?,
])[];

/**
 * Slots of sweeps that an operator ended, by network and address. No slot is given out again,
 * because the signed bytes may still use it.
 */
export type EndedSlots = readonly (readonly [string, string, readonly string[]])[];

/** Every adopted account. Only `apply`, `move` and `end` change it, from records. */
export class Accounts {
  readonly #byKey = new Map<string, Account>();
  readonly #ended = new Map<string, EndedSlots[number]>();

  constructor(entries: AccountEntries = [], ended: EndedSlots = []) {
    for (const each of ended) this.#ended.set(keyOf(each[0], each[1]), each);
    for (const [network, account, adopted, next, pending, timestamp = "0"] of entries) {
      const lastTimestamp = BigInt(timestamp);
      this.#byKey.set(keyOf(network, account), {
        network,
        account,
        adopted,
        next,
        pending,
        lastTimestamp,
      });
    }
  }

  find(network: string, account: string): Account | undefined {
    return this.#byKey.get(keyOf(network, account));
  }

  /** Applies ADOPTED and INTENT records. The slot of a first attempt must be the next one. */
  apply(record: LedgerRecord, isKept = false): void {
    if (record.kind === "ADOPTED") {
      const key = keyOf(record.network, record.account);
      const known = this.#byKey.get(key);
      const isFree = known === undefined || !isBegun(known) || this.isAtEnd(known);
      invariant(
        isFree,
        "an account is adopted before its first slot is given, or behind an ended sweep",
      );
      const { network, account, slot } = record;
      this.#byKey.set(key, {
        network,
        account,
        adopted: slot,
        next: slot,
        pending: known?.pending ?? 0,
        lastTimestamp: 0n,
      });
    }
    if (record.kind === "INTENT") this.#timestamp(record);
    if (record.kind === "INTENT" && record.attempt === 1) {
      const account = this.find(record.network, record.account);
      const { slots } = familyOf(record.network);
      // A withdrawal that a recovered ledger keeps has its slot already, and was counted then.
      if (account !== undefined && isKept && slots.compare(record.slot, account.next) < 0) return;
      invariant(
        account !== undefined && account.next === record.slot,
        "slots are allocated in order, without gaps",
      );
      account.next = slots.next(record.slot);
      account.pending += 1;
    }
  }

  #timestamp({ network, account, txParams }: Extract<LedgerRecord, { kind: "INTENT" }>): void {
    const expiryExclusion = expiryExclusionOf(network);
    const found = this.find(network, account);
    if (expiryExclusion === null || found === undefined) return;
    const timestamp = expiryExclusion.timestamp(txParams);
    invariant(timestamp > found.lastTimestamp, "no two attempts of an account have one timestamp");
    found.lastTimestamp = timestamp;
  }

  /** Counts a withdrawal that a record moved into a block, to its end, or out of a block again. */
  move(
    network: string,
    account: string,
    from: RecordedWithdrawalState,
    to: RecordedWithdrawalState,
  ): void {
    const change = Number(isAwaitingInclusion(to)) - Number(isAwaitingInclusion(from));
    if (change === 0) return;
    const found = this.find(network, account);
    invariant(
      found !== undefined && found.pending + change >= 0,
      "what leaves the pools was in them",
    );
    found.pending += change;
  }

  /** Notes that an operator ended the sweep with this slot. */
  end(network: string, account: string, slot: string): void {
    const [, , slots] = this.#ended.get(keyOf(network, account)) ?? [network, account, []];
    this.#ended.set(keyOf(network, account), [network, account, [...slots, slot]]);
  }

  /** True if an operator ended the sweep with this slot. */
  isEnded(network: string, account: string, slot: string): boolean {
    return this.#ended.get(keyOf(network, account))?.[2].includes(slot) === true;
  }

  /**
   * True if the newest slot of an account, or the next one, belongs to an ended sweep. No later
   * sweep can be paid from there before the account begins again.
   */
  isAtEnd({
    network,
    account,
    adopted,
    next,
  }: Pick<Account, "network" | "account" | "adopted" | "next">): boolean {
    const [, , ended = []] = this.#ended.get(keyOf(network, account)) ?? [];
    return (
      next !== adopted &&
      ended.some((slot) => slot === next || familyOf(network).slots.next(slot) === next)
    );
  }

  ended(): EndedSlots {
    return [...this.#ended.values()];
  }

  snapshot(): AccountEntries {
    return [...this.#byKey.values()].map(
      ({ network, account, adopted, next, pending, lastTimestamp }) => [
        network,
        account,
        adopted,
        next,
        pending,
        ...(lastTimestamp === 0n ? ([] as const) : ([`${lastTimestamp}`] as const)),
      ],
    );
  }
}

/**
 * True if a slot of the account was given out. Its first slot is then fixed, except for an address
 * with an ended sweep.
 */
export function isBegun({ adopted, next }: Pick<Account, "adopted" | "next">): boolean {
  return next !== adopted;
}

export function isAwaitingInclusion(state: RecordedWithdrawalState): boolean {
  return isUnfinished(state) && state !== "included";
}

function keyOf(network: string, account: string): string {
  return `${network} ${account}`;
}
