/**
 * Every final transaction of a paying account, kept by its slot: also those that no withdrawal
 * explains. After a restore the watcher reads the same blocks again, so what ledger and database
 * have both forgotten shows here, beside what it paid. Where the chain has no slots, a foreign one
 * takes none away and shows nowhere else: a person hears of it. Source: docs/protocol.md section 8.
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
 * The accounts that pay on a chain, whichever agent they were paired through; where no slot shows
 * what an address for deposits spent, the swept ones as well.
 */
function payersOf(chain: WatchedChain): ReadonlySet<string> {
  const { database } = chain.store;
  const swept = waits(chain) ? listSpendingAccounts(database, chain.network) : [];
  return new Set([...listAccountsEver(database, chain.network), ...swept]);
}

/** Whether anybody pays on this chain. */
export function hasPayers(chain: WatchedChain): boolean {
  return payersOf(chain).size > 0;
}

/** The spends in final, agreed blocks. One that failed paid nobody, and is none. */
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

/** With the alarm for a version that was called dead. Runs in the caller's transaction. */
export function keepSpends(chain: WatchedChain, database: Database, spends: readonly SpendRow[]): void {
  for (const spend of spends) {
    keepSpend(database, spend);
    const { txHash, block } = spend;
    const id = signedBy(database, spend);
    if (id !== undefined) checkIncluded(chain, database, { id, txHash, block });
  }
}

/**
 * Tells of spends that nobody here ordered. A database that was put back may lack the order, and
 * its agent tells it again: so not before the agent that pays from there was heard in this run.
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
