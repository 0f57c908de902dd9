/**
 * Reads many balances at one block from one node, by one call of a contract if the chain has the
 * contract at that block. Touches nodes only through node.ts.
 */
import { AgentError } from "../../base/fault.ts";
import { Size } from "../providers/ask-smaller.ts";
import { type AskedBalance, decodeBalances, encodeBalances, multicallAddress } from "./multicall.ts";
import type { EvmNodes } from "./node.ts";

/** The answer stays below the bound of a call's answer. */
const balancesMax = 250;

/**
 * Null if the node or the chain cannot return so many in one call; then the caller asks for each
 * balance.
 */
export type ManyBalances = (asked: readonly AskedBalance[], block: number) => Promise<readonly bigint[] | null>;

export function createManyBalances(nodes: Pick<EvmNodes, "code" | "call">): ManyBalances {
  const size = new Size(balancesMax);

  async function ask(part: readonly AskedBalance[], block: number): Promise<readonly bigint[]> {
    const balances = decodeBalances(await nodes.call(multicallAddress, encodeBalances(part), block), part.length);
    if (balances !== null) return balances;
    throw new AgentError("NODE_ERROR", "none", "the contract for many balances does not tell each", { block });
  }

  return async (asked, block) => {
    try {
      if ((await nodes.code(multicallAddress, block)) === "0x") return null;
      return await size.parts(asked, (part) => ask(part, block));
    } catch (fault) {
      if (!(fault instanceof AgentError) || fault.code === "NODE_CLOSED") throw fault;
      return null;
    }
  };
}
