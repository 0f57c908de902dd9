/**
 * The watcher's look at the addresses that leave next, for a gateway without a watcher: every
 * address is unused.
 */

import { goodResult } from "../../base/result.ts";
import { FaultBook } from "../../gateway/faults/book.ts";
import type { Service } from "../../gateway/service.ts";
import {
  lookAtNextAddresses,
  newAddressLookMemory,
  requestAddressLook,
} from "../../gateway/watcher/ahead.ts";
import { currenciesOf, type WatchedChain } from "../../gateway/watcher/chain.ts";

/** Answers each order that waits for a look. Listens for as long as the gateway's signals do. */
export function callAddressesUnused({ config, store, signals, log, clock, run }: Service): void {
  const reader = {
    status: () => [],
    balances: async (questions: readonly object[]) => questions.map(() => goodResult(0n)),
    wereUsed: async (accounts: readonly string[]) => accounts.map(() => goodResult(false)),
  };
  for (const [name, chain] of Object.entries(config.chains)) {
    const { network } = chain;
    const currencies = currenciesOf(chain, config.currencies);
    const tokens = { confirmed: new Set<string>(), out: new Map<string, string>(), askedAt: null };
    const faults = new FaultBook(clock);
    const watched = {
      name,
      network,
      reader,
      currencies,
      tokens,
      faults,
      store,
      signals,
      log,
      clock,
      run,
    } as unknown as WatchedChain;
    const memory = newAddressLookMemory(chain.network);
    let last = Promise.resolve();
    signals.on("look", (look) => {
      if (look.network !== network) return;
      requestAddressLook(memory, look.account);
      last = last.then(() =>
        lookAtNextAddresses(watched, memory, { number: Number.MAX_SAFE_INTEGER, hash: "" }),
      );
    });
  }
}
