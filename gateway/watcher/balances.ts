/**
 * Reads the balances of the paired agents' hot wallets at the newest final block, in each currency
 * of the chain. The gateway's reservations are based on these balances, so enough nodes must agree
 * on them.
 */

import { AgentError } from "../../base/fault.ts";
import { inWaves } from "../../chains/map-limit.ts";
import type { BlockId } from "../../chains/nodes.ts";
import { listAccountsNow } from "../store/agents.ts";
import { keepBalance, readBalanceRow } from "../store/balances.ts";
import type { WatchedChain } from "./chain.ts";

const questionsAtOnce = 64;

export interface BalanceMemory {
  doneKey: string; // final block and accounts of the last complete reading
  moved: number; // readings in a row that were discarded because the final block moved meanwhile
}

export function newBalanceMemory(): BalanceMemory {
  return { doneKey: "", moved: 0 };
}

/**
 * After this many discarded readings in a row the next is kept, because the chain's final block
 * moves faster than balances are read.
 */
const movedMax = 3;

/**
 * Reads again if the final block moved or an agent was added. Some nodes report balances only at
 * their newest final block. A reading from such nodes is discarded if that block moved meanwhile,
 * at most `movedMax` times in a row. Otherwise a payment of the later block would count twice: in
 * the balance and on its own.
 * @throws AgentError NODE_* if some balances could not be read; the others were read
 */
export async function readBalances(chain: WatchedChain, final: BlockId, memory: BalanceMemory): Promise<void> {
  const accounts = listAccountsNow(chain.store.database, chain.network);
  // A token that is out of service cannot report balances; the other currencies do not wait for it.
  const currencies = chain.currencies.filter(({ id }) => !chain.tokens.out.has(id));
  const key = `${final.hash} ${accounts.join()} ${currencies.map(({ id }) => id).join()}`;
  if (key === memory.doneKey) return;
  const asked = accounts.flatMap((account) => currencies.map((currency) => ({ account, currency })));
  let fault: AgentError | null = null;
  const answers = await inWaves(asked, questionsAtOnce, async ({ account, currency }) => {
    try {
      return { account, currency: currency.id, units: await chain.reader.balance(account, currency.contract, final.number) };
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      fault ??= error;
      return null;
    }
  });
  const balances = answers.filter((answer) => answer !== null);
  if (!(await areOf(chain, final, balances, memory))) return;
  if (balances.length > 0) {
    const nowMs = chain.clock();
    chain.store.write((database) => {
      for (const { account, currency, units } of balances) {
        keepBalance(database, { account, currency, units: units.toString(), block: final.number, at: nowMs });
      }
    });
  }
  if (fault !== null) throw fault;
  memory.doneKey = key;
}

interface Reading {
  readonly account: string;
  readonly currency: string;
  readonly units: bigint;
}

/**
 * True if these values are of this block. A value that equals the kept value is valid at every
 * block since then.
 */
async function areOf(
  { reader, store }: WatchedChain,
  final: BlockId,
  balances: readonly Reading[],
  memory: BalanceMemory,
): Promise<boolean> {
  const isNew = ({ account, currency, units }: Reading): boolean =>
    readBalanceRow(store.database, account, currency)?.units !== units.toString();
  if (reader.tellsNewestBalances !== true || memory.moved >= movedMax || !balances.some(isNew)) {
    memory.moved = 0;
    return true;
  }
  // Enough nodes are still at this block, so at least one node that agreed on a value read it here.
  const isStill = (await reader.finalTip()).hash === final.hash;
  memory.moved = isStill ? 0 : memory.moved + 1;
  return isStill;
}
