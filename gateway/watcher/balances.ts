/**
 * What every live agent's hot account holds at the newest final block, in each currency of the
 * chain: the ground the gateway's reservations stand on, so it is taken only on the word of enough
 * nodes.
 */
import type { BlockId } from "../../chains/nodes.ts";
import { inWaves } from "../../chains/waves.ts";
import { AgentError } from "../../protocol/fault.ts";
import { listAccountsNow } from "../store/agents.ts";
import { keepBalance, readBalanceRow } from "../store/balances.ts";
import type { WatchedChain } from "./chain.ts";

const questionsAtOnce = 64;

export interface BalanceMemory {
  doneKey: string; // final block and accounts of the last complete reading
  moved: number; // readings in a row that were given up because the final block moved meanwhile
}

export function newBalanceMemory(): BalanceMemory {
  return { doneKey: "", moved: 0 };
}

/**
 * After so many readings given up in a row the next one is kept: the chain's final block moves
 * faster than balances are read.
 */
const movedMax = 3;

/**
 * Reads again when the final block moved or an agent came. @throws AgentError NODE_* when some
 * could not be read; the others were. Where nodes tell balances of their newest final block alone,
 * a reading is given up when that block moved meanwhile, at most `movedMax` times in a row: a
 * payment of the later block would count twice, in the value and beside it.
 */
export async function readBalances(chain: WatchedChain, final: BlockId, memory: BalanceMemory): Promise<void> {
  const accounts = listAccountsNow(chain.store.database, chain.network);
  // A token out of service cannot say what it holds; nothing else waits for it.
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
 * Whether these values are of this block. A value that stands as it was kept is of every block
 * since.
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
  // Enough nodes stand at this block still, so of those that agreed on a value one read it there.
  const isStill = (await reader.finalTip()).hash === final.hash;
  memory.moved = isStill ? 0 : memory.moved + 1;
  return isStill;
}
