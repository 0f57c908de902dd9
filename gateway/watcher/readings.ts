/**
 * Compares a balance that was read with the database's explanation: baseline, payments, sweeps,
 * their fees and top-ups. A surplus came through a contract and is a payment like any other; a
 * deficit was taken by the owner of the key. Nodes that report only their newest balance give a
 * reading of some block in a range. Then only the part that no payment of the whole range explains
 * is credited, so nothing counts twice. Source: docs/architecture.md section 8.
 */
import {
  explainedUnits,
  type IssuedAddress,
  isBeingSwept,
  keepBaseline,
  keepIssuedComparison,
  keepTakenByOwner,
  readAddressState,
  readLastNumberWithoutBaseline,
} from "../store/address-states.ts";
import { depositEndBlock } from "../store/deposits.ts";
import { endGapHoldsOfCompared } from "../store/gap-holds.ts";
import { findOpenGapSince } from "../store/gaps.ts";
import { takeBackUnnamedPayments } from "../store/gone-payments.ts";
import type { AccountPlace } from "../store/journal.ts";
import { dropLookGap, keepUnreadAddressCurrency } from "../store/look-gaps.ts";
import {
  dropDetectedPayment,
  keepFinalPayment,
  listClaimedPayments,
  readPayment,
} from "../store/payments.ts";
import type { PaymentRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { readTransaction } from "../store/transactions.ts";
import { hasUnreadTransaction } from "../store/unread-transactions.ts";
import type { WatchedChain } from "./chain.ts";
import {
  alarmReturnedPayment,
  creditFinalPayment,
  nativeLogIndex,
  standInTxHash,
} from "./payments.ts";
import { keepPayment } from "./strays.ts";

/**
 * A balance without its block may be older than the newest block by this many blocks: ten minutes
 * on Tron. Providers report lags of seconds to minutes between their machines.
 */
const staleBlocksMax = 200;

/** A reading that begins at `from` never shows an older state than the state of this block. */
const oldestOf = ({ reader }: WatchedChain, from: number): number =>
  reader.tellsNewestBalances === true ? from - staleBlocksMax : from;

/** A currency with its balance in a reading. */
export interface CurrencyReading {
  readonly id: string;
  readonly contract: string; // "" native
  readonly units: bigint;
}

/** The balance of an address at the end of some block from `from` to `to`. */
export interface AddressReading {
  readonly of: IssuedAddress;
  readonly from: number;
  readonly to: number;
  readonly blockHash: string; // hash of block `from`; "" if unknown
  readonly currencies: readonly CurrencyReading[];
}

/**
 * Applies a reading in the caller's transaction. Every final block up to `to` must have been read
 * before. An address that is being swept, or has a payment that cannot be read, is skipped until
 * later.
 * @returns true if its request must be judged
 */
export function applyReading(
  chain: WatchedChain,
  database: Database,
  reading: AddressReading,
): boolean {
  const { of, from, to } = reading;
  const { network } = chain;
  // A surplus may be the payment that nobody could read, which is credited once it is read.
  if (hasUnreadTransaction(database, network, of.address)) return false;
  // So may it be a payment in blocks that could not be read.
  const issuedAt = readTransaction(database, of.transactionId)?.createdAt ?? 0;
  if (findOpenGapSince(database, network, [of.address], issuedAt) !== undefined) return false;
  const state = readAddressState(database, network, of.address);
  // The reading is older than the last judgement: money of a later block would look as if it had
  // been taken out.
  if (to > from && state?.run === "" && from < state.block) return false;
  const isKnown = state?.run === "" || of.place <= readLastNumberWithoutBaseline(database);
  let isPaid = false;
  if (!isBeingSwept(database, network, of.address, oldestOf(chain, from))) {
    endGapHoldsOfCompared(database, network, of.transactionId, {
      block: from,
      currencies: reading.currencies.map(({ id }) => id),
    });
    for (const one of reading.currencies) {
      const isGap = dropLookGap(database, { network, address: of.address, currency: one.id });
      if (!isKnown || isGap) findBaseline(chain, database, reading, one);
      else if (compare(chain, database, reading, one)) isPaid = true;
    }
    // A currency that was not read has its baseline still to be found.
    const read = new Set(reading.currencies.map(({ id }) => id));
    for (const { id: currency } of isKnown ? [] : chain.currencies)
      if (!read.has(currency))
        keepUnreadAddressCurrency(database, { network, address: of.address, currency });
  }
  keepIssuedComparison(database, {
    network,
    address: of.address,
    block: to,
    comparedAt: chain.clock(),
  });
  return isPaid;
}

interface Place extends AccountPlace {
  readonly transactionId: string;
  readonly isNative: boolean;
}

const placeOf = (
  { network }: WatchedChain,
  { of }: AddressReading,
  { id, contract }: CurrencyReading,
): Place => ({
  network,
  address: of.address,
  currency: id,
  transactionId: of.transactionId,
  isNative: contract === "",
});

/** Finds the baseline: the balance before any customer can have paid. */
function findBaseline(
  chain: WatchedChain,
  database: Database,
  reading: AddressReading,
  one: CurrencyReading,
): void {
  const place = placeOf(chain, reading, one);
  const { from: block, to } = reading;
  // Coins that receipts name came after the address was watched, so they are no part of the
  // baseline.
  const named = claimsOf(database, place, to).reduce((sum, claim) => sum + BigInt(claim.units), 0n);
  const units = one.units - explainedUnits(database, place, to) - named;
  if (units <= 0n) return;
  keepBaseline(database, place, units);
  const { address, currency } = place;
  chain.log.warn(
    { event: "deposit-baseline", address, currency, units: `${units}`, block },
    "something lay on an address before it was given out",
  );
}

function compare(
  chain: WatchedChain,
  database: Database,
  reading: AddressReading,
  one: CurrencyReading,
): boolean {
  const place = placeOf(chain, reading, one);
  const { from, to, of } = reading;
  const rest = one.units - explainedUnits(database, place, to);
  const claims = claimsOf(database, place, to);
  if (rest > 0n || claims.length > 0) return credit(chain, database, reading, place, rest, claims);
  const below = one.units - explainedUnits(database, place, oldestOf(chain, from), "left out");
  // No agent here has the key, so its owner took this amount. New money will be above the
  // remainder.
  if (below < 0n && of.agent === null) keepTakenByOwner(database, place, -below, from);
  return false;
}

/** Coins that receipts up to `block` name and no balance has confirmed yet. */
function claimsOf(database: Database, place: Place, block: number): readonly PaymentRow[] {
  return place.isNative
    ? listClaimedPayments(database, place.network, block).filter(
        ({ address }) => address === place.address,
      )
    : [];
}

/**
 * Credits named payments first, each only as far as the balance confirms it; then the remainder
 * without a name.
 */
function credit(
  chain: WatchedChain,
  database: Database,
  reading: AddressReading,
  place: Place,
  restUnits: bigint,
  claims: readonly PaymentRow[],
): boolean {
  let rest = restUnits > 0n ? restUnits : 0n;
  for (const claim of claims) {
    // A claim in a later block than the balance's block is judged by the next reading.
    if (claim.block > reading.from) {
      const named = BigInt(claim.units);
      rest = rest > named ? rest - named : 0n;
      continue;
    }
    const units = rest < BigInt(claim.units) ? rest : BigInt(claim.units);
    rest -= units;
    if (units < BigInt(claim.units)) {
      const fields = {
        txHash: claim.txHash,
        address: claim.address,
        named: claim.units,
        there: `${units}`,
      };
      chain.log.warn(
        { event: "deposit-unborne", ...fields },
        "a receipt names coins that the final balance does not show",
      );
    }
    // The claim's own row goes, so that it is added to a sum once, whenever its block was read.
    if (units > 0n)
      keepPayment(chain, database, { ...claim, units: units.toString(), final: 1 }, -1);
    if (readPayment(database, claim)?.final === 0) dropDetectedPayment(database, claim);
  }
  // Coins whose block left are of before, and count once.
  for (const before of rest > 0n ? takeBackUnnamedPayments(database, place, rest) : []) {
    const { block, units, address, network, currency, txHash, logIndex, transactionId } = before;
    const row = {
      address,
      network,
      currency,
      txHash,
      logIndex,
      transactionId,
      units,
      final: 1,
    } as const;
    keepFinalPayment(database, { ...row, block: Math.min(block, reading.from), blockHash: "" });
    alarmReturnedPayment(chain, database, before, reading.from);
    rest -= BigInt(units);
  }
  if (rest > 0n) keepUnnamed(chain, database, reading, place, rest);
  return true;
}

function keepUnnamed(
  chain: WatchedChain,
  database: Database,
  reading: AddressReading,
  place: Place,
  units: bigint,
): void {
  const { network, address, currency, transactionId, isNative } = place;
  const end = depositEndBlock(database, transactionId);
  // The first reading after a request's end shows payments from before the end.
  const block = end !== null && end < reading.from ? end : reading.from;
  const txHash = isNative
    ? standInTxHash(block, address)
    : `${standInTxHash(block, address)}:${currency}`;
  const before = readPayment(database, { network, txHash, logIndex: nativeLogIndex });
  creditFinalPayment(chain, database, {
    network,
    txHash,
    logIndex: nativeLogIndex,
    address,
    currency,
    transactionId,
    block,
    final: 1,
    units: (units + BigInt(before?.units ?? "0")).toString(),
    blockHash: before?.blockHash ?? (block === reading.from ? reading.blockHash : ""),
  });
}
