/**
 * A balance that was read, against what the database explains: baseline, payments, sweeps, their
 * fees and top-ups. A surplus came by a contract and is a payment like any other; a lack was taken
 * by the owner of the key. Nodes that tell the newest balance alone give a reading of some block of
 * a range: what is credited is what no payment of the whole range explains, so
 * nothing counts twice. Source: docs/architecture.md section 8.
 */
import {
  type BalancePlace,
  baselineOf,
  explainedUnits,
  type IssuedAddress,
  isBeingSwept,
  keepBaseline,
  keepCompared,
  keepTaken,
  lastWithoutBaseline,
  readAddressState,
} from "../store/address-states.ts";
import { depositEnd } from "../store/deposits.ts";
import { dropSeenPayment, listClaims, readPayment } from "../store/payments.ts";
import type { PaymentRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import type { WatchedChain } from "./chain.ts";
import { internalHash, keepFinal, nativeLogIndex } from "./payments.ts";

/**
 * A balance that is told without its block may be older than the newest block by so many blocks:
 * ten minutes on Tron. Providers report lags of seconds to minutes between their machines.
 */
const staleBlocksMax = 200;

/** No reading that begins at `from` tells an older state than this block's. */
const oldestOf = ({ reader }: WatchedChain, from: number): number =>
  reader.tellsNewestBalances === true ? from - staleBlocksMax : from;

/** A currency as a reading tells of it. */
export interface ReadCurrency {
  readonly id: string;
  readonly contract: string; // "" native
  readonly units: bigint;
}

/** The balance of an address at the end of some block of `from` to `to`. */
export interface Reading {
  readonly of: IssuedAddress;
  readonly from: number;
  readonly to: number;
  readonly blockHash: string; // of block `from`; "" not known
  readonly currencies: readonly ReadCurrency[];
}

/**
 * Takes a reading in, once every final block up to `to` was read; in the caller's transaction. An
 * address that is being swept is left for later.
 * @returns whether its request has to be judged
 */
export function applyReading(chain: WatchedChain, database: Database, reading: Reading): boolean {
  const { of, from, to } = reading;
  const { network } = chain;
  const state = readAddressState(database, network, of.address);
  // Older than what was judged: money of a later block would look as if it had been taken out.
  if (to > from && state?.run === "" && from < state.block) return false;
  const isKnown = state?.run === "" || of.place <= lastWithoutBaseline(database);
  let isPaid = false;
  if (!isBeingSwept(database, network, of.address, oldestOf(chain, from))) {
    for (const one of reading.currencies) {
      if (!isKnown) findBaseline(chain, database, reading, one);
      else if (compare(chain, database, reading, one)) isPaid = true;
    }
  }
  keepCompared(database, { network, address: of.address, block: to, comparedAt: chain.clock() });
  return isPaid;
}

interface Place extends BalancePlace {
  readonly transactionId: string;
  readonly isNative: boolean;
}

const placeOf = ({ network }: WatchedChain, { of }: Reading, { id, contract }: ReadCurrency): Place => ({
  ...{ network, address: of.address, currency: id, transactionId: of.transactionId, isNative: contract === "" },
});

/** The baseline: a balance before anybody can have paid. */
function findBaseline(chain: WatchedChain, database: Database, reading: Reading, one: ReadCurrency): void {
  const place = placeOf(chain, reading, one);
  const { from: block, to } = reading;
  // Coins that receipts name came after the address was watched: they are no part of the baseline.
  const named = claimsOf(database, place, to).reduce((sum, claim) => sum + BigInt(claim.units), 0n);
  const units = one.units - explainedUnits(database, place, { ...place, block: to }) - named;
  if (units <= 0n) return;
  keepBaseline(database, place, units, block);
  const { address, currency } = place;
  chain.log.warn(
    { event: "deposit-baseline", address, currency, units: `${units}`, block },
    "something lay on an address before it was given out",
  );
}

function compare(chain: WatchedChain, database: Database, reading: Reading, one: ReadCurrency): boolean {
  const place = placeOf(chain, reading, one);
  const { from, to, of } = reading;
  const above = one.units - baselineOf(database, place);
  const rest = above - explainedUnits(database, place, { ...place, block: to });
  const claims = claimsOf(database, place, to);
  if (rest > 0n || claims.length > 0) return credit(chain, database, reading, place, rest, claims);
  const below = above - explainedUnits(database, place, { ...place, block: oldestOf(chain, from) });
  // Nobody here has the key: its owner took that much, and what comes next lies above the rest.
  if (below < 0n && of.agent === null) keepTaken(database, place, -below, from);
  return false;
}

/** Coins that receipts up to `block` name, which no balance has borne out yet. */
function claimsOf(database: Database, place: Place, block: number): readonly PaymentRow[] {
  return place.isNative ? listClaims(database, place.network, block).filter(({ address }) => address === place.address) : [];
}

/** Named payments first, each only as far as the balance bears it out; then what none names. */
function credit(
  chain: WatchedChain,
  database: Database,
  reading: Reading,
  place: Place,
  restUnits: bigint,
  claims: readonly PaymentRow[],
): boolean {
  let rest = restUnits > 0n ? restUnits : 0n;
  for (const claim of claims) {
    // A claim of a later block than the balance may be of is judged by the next reading.
    if (claim.block > reading.from) {
      const named = BigInt(claim.units);
      rest = rest > named ? rest - named : 0n;
      continue;
    }
    const units = rest < BigInt(claim.units) ? rest : BigInt(claim.units);
    rest -= units;
    if (units < BigInt(claim.units)) {
      const fields = { txHash: claim.txHash, address: claim.address, named: claim.units, there: `${units}` };
      chain.log.warn({ event: "deposit-unborne", ...fields }, "a receipt names coins that the final balance does not show");
    }
    if (units > 0n) keepFinal(chain, database, { ...claim, units: units.toString(), final: 1 });
    else dropSeenPayment(database, claim);
  }
  if (rest > 0n) keepUnnamed(chain, database, reading, place, rest);
  return true;
}

function keepUnnamed(chain: WatchedChain, database: Database, reading: Reading, place: Place, units: bigint): void {
  const { network, address, currency, transactionId, isNative } = place;
  const end = depositEnd(database, transactionId);
  // The first reading behind a request's end is of what came before it.
  const block = end !== null && end < reading.from ? end : reading.from;
  const txHash = isNative ? internalHash(block, address) : `${internalHash(block, address)}:${currency}`;
  const before = readPayment(database, { network, txHash, logIndex: nativeLogIndex });
  keepFinal(chain, database, {
    ...{ network, txHash, logIndex: nativeLogIndex, address, currency, transactionId, block, final: 1 },
    units: (units + BigInt(before?.units ?? "0")).toString(),
    blockHash: before?.blockHash ?? (block === reading.from ? reading.blockHash : ""),
  });
}
