/**
 * Keeps every final outgoing transaction of a hot wallet by its slot, including transactions that
 * no withdrawal explains. After a restore the watcher reads the same blocks again, so a payment
 * that ledger and database have both forgotten appears here. On a chain without slots, a foreign
 * transaction uses no slot and appears nowhere else, so operators get an alert. Source:
 * docs/protocol.md section 8.
 */
import { waitingOf } from "../../chains/families.ts";
import type { WatchedBlock } from "../../chains/nodes.ts";
import { inWaves } from "../../chains/waves.ts";
import { listAccountsEver, listPayersFrom } from "../store/agents.ts";
import type { SpendRow } from "../store/rows.ts";
import { signedBy } from "../store/signatures.ts";
import { listSpendingAccounts } from "../store/slots.ts";
import { keepSpend, listUntoldSpends, markSpendTold } from "../store/spends.ts";
import type { Database } from "../store/store.ts";
import { raiseAlarm, type WatchedChain } from "./chain.ts";
import { checkIncluded } from "./deaths.ts";

const questionsAtOnce = 32;

function waits({ network }: WatchedChain): boolean {
  return waitingOf(network) !== null;
}

/**
 * The hot wallets of a chain, of every agent that was ever paired. On a chain where no slot shows
 * the outgoing transactions of a deposit address, also the swept addresses.
 */
function payersOf(chain: WatchedChain): ReadonlySet<string> {
  const { database } = chain.store;
  const swept = waits(chain) ? listSpendingAccounts(database, chain.network) : [];
  return new Set([...listAccountsEver(database, chain.network), ...swept]);
}

/** True if any account pays on this chain. */
export function hasPayers(chain: WatchedChain): boolean {
  return payersOf(chain).size > 0;
}

/**
 * The outgoing transactions in final, agreed blocks. A failed transaction paid nothing and is left
 * out.
 */
export async function findSpends(chain: WatchedChain, blocks: readonly WatchedBlock[]): Promise<readonly SpendRow[]> {
  const sent = chain.reader.spends(blocks, payersOf(chain));
  const found = await inWaves(sent, questionsAtOnce, async (spend): Promise<SpendRow | null> => {
    const { account, slot, txHash, block, receiver, contract, amountUnits } = spend;
    const isKnown = signedBy(chain.store.database, spend) !== undefined;
    if (!isKnown && (await chain.reader.hasFailed(txHash))) return null;
    const untold = waits(chain) && !isKnown ? 1 : 0;
    return { network: chain.network, account, slot, txHash, block, receiver, contract, units: amountUnits.toString(), untold };
  });
  return found.filter((spend) => spend !== null);
}

/**
 * Keeps outgoing transactions, and raises the alarm for a version that was called dead. Runs in the
 * caller's transaction.
 */
export function keepSpends(chain: WatchedChain, database: Database, spends: readonly SpendRow[]): void {
  for (const spend of spends) {
    keepSpend(database, spend);
    const { txHash, block } = spend;
    const id = signedBy(database, spend);
    if (id !== undefined) checkIncluded(chain, database, { id, txHash, block });
  }
}

/**
 * Reports outgoing transactions that nobody here ordered. A database restored from a backup may
 * lack the order until its agent resends it. So nothing is reported before the paying agent has
 * caught up in this run.
 */
export function tellForeign(chain: WatchedChain): void {
  const { store, network, run } = chain;
  const untold = listUntoldSpends(store.database, network);
  if (untold.length === 0) return;
  const isHeard = (account: string): boolean =>
    listPayersFrom(store.database, account, network).every(({ heard }) => heard === run);
  const ripe = untold.filter(({ account, isExplained }) => isExplained === 1 || isHeard(account));
  if (ripe.length === 0) return;
  store.write((database) => {
    for (const spend of ripe) {
      markSpendTold(database, spend);
      if (spend.isExplained === 1) continue;
      const { txHash, account, units, contract, receiver, block } = spend;
      const detail = `${account} paid ${units} units ${contract === "" ? "of the coin" : `of ${contract}`} to ${receiver || "nobody"} in block ${block}`;
      raiseAlarm(chain, database, "WATCHER_SPEND_FOREIGN", txHash, detail);
    }
  });
}
