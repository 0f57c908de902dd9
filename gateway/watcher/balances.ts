/**
 * What every live agent's hot account holds at the newest final block, in each currency of the chain: the ground the gateway's
 * reservations stand on, so it is taken only on the word of enough nodes.
 */
import type { BlockId } from "../../chains/evm/node-finality.ts";
import { AgentError } from "../../protocol/fault.ts";
import type { AgentRow } from "../store/rows.ts";
import { inWaves, type WatchedChain } from "./chain.ts";

const questionsAtOnce = 64;

export interface BalanceMemory {
  doneKey: string; // final block and accounts of the last complete reading
}

/** Reads again when the final block moved or an agent came. @throws AgentError NODE_* when some could not be read; the others were. */
export async function readBalances(chain: WatchedChain, final: BlockId, memory: BalanceMemory): Promise<void> {
  const agents = chain.store.database.all<Pick<AgentRow, "hotAddress" | "networks">>(
    "SELECT hotAddress, networks FROM agents WHERE releasedAt IS NULL ORDER BY id",
  );
  const accounts = agents
    .filter((agent) => (JSON.parse(agent.networks) as readonly string[]).includes(chain.network))
    .map((agent) => agent.hotAddress);
  const key = `${final.hash} ${accounts.join()}`;
  if (key === memory.doneKey) return;
  const asked = accounts.flatMap((account) => chain.currencies.map((currency) => ({ account, currency })));
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
        database.run(
          `INSERT INTO balances (account, currency, units, block, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (account, currency)
             DO UPDATE SET units = excluded.units, block = excluded.block, at = excluded.at`,
          account,
          currency,
          units.toString(),
          final.number,
          nowMs,
        );
      }
    });
  }
  if (fault !== null) throw fault;
  memory.doneKey = key;
}
