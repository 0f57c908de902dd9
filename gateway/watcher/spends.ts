/**
 * Every final transaction of a paying account, kept by its slot: also those that no withdrawal
 * explains. After a restore the watcher reads the same blocks again, so what ledger and database
 * have both forgotten shows here, beside what it paid. Source: docs/protocol.md section 8.
 */
import type { WatchedBlock } from "../../chains/nodes.ts";
import { inWaves } from "../../chains/waves.ts";
import { listAccountsEver } from "../store/agents.ts";
import type { SpendRow } from "../store/rows.ts";
import { signedBy } from "../store/signatures.ts";
import type { WatchedChain } from "./chain.ts";

const questionsAtOnce = 32;

/** The accounts that pay on a chain, whichever agent they were paired through. */
function payersOf({ store, network }: WatchedChain): ReadonlySet<string> {
  return new Set(listAccountsEver(store.database, network));
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
    const isKnown = signedBy(chain.store.database, txHash) !== undefined;
    if (!isKnown && (await chain.reader.hasFailed(txHash))) return null;
    return { network: chain.network, account, slot, txHash, block, receiver, contract, units: amountUnits.toString() };
  });
  return found.filter((spend) => spend !== null);
}
