/**
 * Whether a token counts its units as the configuration says: USDT has 6 decimals on one chain and 18 on another, and a wrong
 * figure credits a millionfold. Nothing of a chain's deposits is read before all its tokens have answered.
 * Source: EIP-20, decimals().
 */
import { AgentError } from "../../protocol/fault.ts";
import type { WatchedChain } from "./chain.ts";

/** @throws AgentError WATCHER_DECIMALS when a contract says otherwise; NODE_* when it does not answer. Calling again is harmless. */
export async function checkDecimals(chain: WatchedChain): Promise<void> {
  for (const { id, contract, decimal } of chain.currencies) {
    if (contract === "") continue;
    const answered = await chain.reader.decimals(contract);
    if (answered === BigInt(decimal)) continue;
    const context = { currency: id, contract, configured: decimal, answered: `${answered}` };
    throw new AgentError("WATCHER_DECIMALS", "none", `the contract of ${id} has ${answered} decimals, not ${decimal}`, context);
  }
}
