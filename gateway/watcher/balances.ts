/**
 * What every live agent's hot account holds at the newest final block, in each currency of the
 * chain: the ground the gateway's reservations stand on, so it is taken only on the word of enough
 * nodes.
 */
import type { BlockId } from "../../chains/nodes.ts";
import { inWaves } from "../../chains/waves.ts";
import { AgentError } from "../../protocol/fault.ts";
import { listAccountsNow } from "../store/agents.ts";
import { keepBalance } from "../store/balances.ts";
import type { WatchedChain } from "./chain.ts";

const questionsAtOnce = 64;

export interface BalanceMemory {
  doneKey: string; // final block and accounts of the last complete reading
}

/**
 * Reads again when the final block moved or an agent came. @throws AgentError NODE_* when some
 * could not be read; the others were.
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
