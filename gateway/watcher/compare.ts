/**
 * Reads the balances of the addresses of a pass (compare-lists.ts), and applies each reading once
 * every block that it can be of was read. Source: docs/architecture.md section 8.
 */

import { resultOf } from "../../base/result.ts";
import { hasQuestionsLeftFor } from "../../chains/hour-share.ts";
import type { BlockId } from "../../chains/nodes.ts";
import { hasTags } from "../../chains/payees.ts";
import { keyText } from "../faults/fault.ts";
import type { IssuedAddress } from "../store/address-states.ts";
import type { Database } from "../store/store.ts";
import { readTransaction } from "../store/transactions.ts";
import type { WatchedChain } from "./chain.ts";
import { type CompareBatch, type CompareMemory, compareBatchesOf } from "./compare-lists.ts";
import {
  askBalances,
  faultKeyOn,
  settleBalances,
  type WatchedBalance,
  watchedBalancesOf,
} from "./items.ts";
import { type AddressReading, applyReading } from "./readings.ts";

/**
 * Reads and applies the balances that this pass must compare. Every final block up to `final` must
 * have been read before.
 * An address, or one of its currencies, that cannot be read costs no other. `commit` gets the ids
 * of the requests to judge.
 * @throws AgentError NODE_CLOSED
 */
export async function compareBalances(
  chain: WatchedChain,
  memory: CompareMemory,
  final: BlockId,
  commit: (fn: (database: Database) => readonly string[]) => void,
): Promise<void> {
  if (hasTags(chain.network)) return;
  const hasRoom = hasQuestionsLeftFor("comparison", chain.reader.status());
  for (const batch of hasRoom ? compareBatchesOf(chain, memory, final) : [])
    memory.readings = [...memory.readings, ...(await readTogether(chain, batch, final))];
  const ripe = memory.readings.filter(({ to }) => to <= final.number);
  if (ripe.length === 0) return;
  memory.readings = memory.readings.filter(({ to }) => to > final.number);
  commit((database) =>
    ripe
      .filter((reading) => applyReading(chain, database, reading))
      .map(({ of }) => of.transactionId),
  );
  for (const { of, from } of ripe)
    if (memory.ended.has(of.transactionId)) memory.ended.set(of.transactionId, from);
}

/** The newest block at which a request's balance is known. */
export function comparedBlockOfRequest(memory: CompareMemory, transactionId: string): number {
  return memory.ended.get(transactionId) ?? -1;
}

/** Sets the requests that wait for their end, and removes all others. */
export function setRequestsAwaitingEnd(memory: CompareMemory, ids: readonly string[]): void {
  const kept = new Map(ids.map((id) => [id, memory.ended.get(id) ?? -1]));
  memory.ended.clear();
  for (const [id, block] of kept) memory.ended.set(id, block);
}

async function readTogether(
  chain: WatchedChain,
  batch: CompareBatch,
  final: BlockId,
): Promise<readonly AddressReading[]> {
  const { reader, faults } = chain;
  const { addresses, currencies } = batch;
  const ofEach = addresses.map((of) =>
    watchedBalancesOf(chain, "address", placeOf(chain, of), currencies),
  );
  const items = ofEach.flat();
  const first = await askBalances(chain, items, batch.block);
  // A node without the state at the request's end still has the newest state.
  const left =
    batch.block === final.number
      ? []
      : items.filter(({ key }) => first.get(keyText(key))?.ok === false);
  const later = await askBalances(chain, left, final.number);
  const units = settleBalances(chain, items, new Map([...first, ...later]));
  if (units.size === 0) return [];
  // One node's head is no bound, because the balance may be another node's, and that one may lag.
  const highest = await resultOf(async () => (await reader.highestHead?.()) ?? batch.block);
  const head = faults.settle(faultKeyOn(chain, "head", "highest"), highest);
  if (head === null) return [];
  return addresses.flatMap((of, at): readonly AddressReading[] => {
    const own = ofEach[at] as readonly WatchedBalance[];
    const read = own.flatMap(({ key, currency: { id, contract } }) => {
      const known = units.get(keyText(key));
      return known === undefined ? [] : [{ id, contract, units: known }];
    });
    const from = own.some(({ key }) => later.has(keyText(key))) ? final.number : batch.block;
    const blockHash = from === final.number ? final.hash : "";
    return read.length === 0
      ? []
      : [{ of, from, to: Math.max(from, head), blockHash, currencies: read }];
  });
}

/** A person waits while the address's request is open. */
function placeOf(
  { store: { database } }: WatchedChain,
  { address, merchant, transactionId }: IssuedAddress,
) {
  return {
    account: address,
    merchant,
    isWaited: readTransaction(database, transactionId)?.status === 0,
  };
}
