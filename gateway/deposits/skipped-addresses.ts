/**
 * Derives the addresses of skipped indexes, a few at a time, and has them watched. Far jumps have
 * tens of thousands of indexes, each derivation takes milliseconds, and requests run between. A
 * killed process loses nothing, because the remaining indexes are in the database.
 */

import { AgentError } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import { findFamilyOfAddressSpace } from "../../chains/families.ts";
import { insertForgotten } from "../store/forgotten-addresses.ts";
import {
  countForgottenIndexes,
  firstForgottenRange,
  moveForgottenRange,
} from "../store/forgotten-ranges.ts";
import { requireChainReread, rewindCursors } from "../store/restored-database.ts";
import type { Database, Store } from "../store/store.ts";

/** About 40 ms of work, and half as much rest for other work. */
const placesAtOnce = 20;
const restMs = 20;
const lookMs = 1_000;

/**
 * Watches at most `indexesMax` more addresses. With the last address of a range, every chain is
 * read again from its vouched block, because earlier readings did not search for these addresses.
 * Runs in the caller's transaction.
 * @returns the number of remaining indexes
 */
export function watchSkipped(database: Database, indexesMax: number): number {
  const range = firstForgottenRange(database);
  if (range === undefined) return 0;
  const { id, account, merchant, agent, at, next } = range;
  const family = findFamilyOfAddressSpace(range.family);
  const end =
    family === undefined ? range.indexesEnd : Math.min(range.indexesEnd, next + indexesMax);
  for (let addressIndex = next; family !== undefined && addressIndex < end; addressIndex += 1) {
    const address = family.depositAddress(account, addressIndex);
    const addressSpace = family.addressSpace.networks;
    const place = { address, addressSpace, merchant, agent, addressIndex };
    insertForgotten(database, { ...place, origin: "skipped", at });
  }
  moveForgottenRange(database, id, end);
  const left = countForgottenIndexes(database);
  if (end === range.indexesEnd) {
    rewindCursors(database);
    requireChainReread(database);
  }
  return left;
}

interface Options {
  readonly store: Store;
  readonly log: GatewayLog;
}

/**
 * Watches skipped addresses while the gateway runs. After a fault of the database the indexes are
 * tried again. `close` is harmless to call twice.
 */
export function startWatchingSkipped({ store, log }: Options): { close(): void } {
  let timer: NodeJS.Timeout;
  const step = (): void => {
    let left = 0;
    try {
      if (firstForgottenRange(store.database) !== undefined) {
        left = store.write((database) => watchSkipped(database, placesAtOnce));
        if (left === 0)
          log.info({ event: "skipped-watched" }, "every address that was skipped is watched");
      }
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      log.error(
        { event: "skipped-unwatched", code: error.code },
        "skipped addresses could not be watched; it is tried again",
      );
    }
    timer = setTimeout(step, left > 0 ? restMs : lookMs);
  };
  timer = setTimeout(step, 0);
  return { close: () => clearTimeout(timer) };
}
