/**
 * Reads many balances at one block from one node, by one call of a contract if the chain has the
 * contract at that block. Touches nodes only through node.ts.
 */
import { AgentError } from "../../base/fault.ts";
import { good, type Result } from "../../base/result.ts";
import { AnswerSize } from "../providers/ask-smaller.ts";
import {
  type AskedBalance,
  decodeBalances,
  encodeBalances,
  multicallAddress,
} from "./multicall.ts";
import type { EvmNodes } from "./node.ts";

/** The answer stays below the bound of a call's answer. */
const balancesMax = 250;

/**
 * From this number of balances on, one call of the contract that returns them together is cheaper.
 */
const manyMin = 4;

/**
 * Null if the node or the chain cannot return so many in one call; then the caller asks for each
 * balance. Null in the place of a balance that the call does not tell.
 */
export type ManyBalances = (
  asked: readonly AskedBalance[],
  block: number,
) => Promise<readonly (bigint | null)[] | null>;

export function createManyBalances(nodes: Pick<EvmNodes, "code" | "call">): ManyBalances {
  const size = new AnswerSize(balancesMax);

  async function ask(
    part: readonly AskedBalance[],
    block: number,
  ): Promise<readonly (bigint | null)[]> {
    const balances = decodeBalances(
      await nodes.call(multicallAddress, encodeBalances(part), block),
      part.length,
    );
    if (balances !== null) return balances;
    throw new AgentError(
      "NODE_ERROR",
      "none",
      "the contract for many balances does not tell each",
      { block },
    );
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

/** Asks for each of these balances alone. */
type OneByOne = (some: readonly AskedBalance[]) => Promise<readonly Result<bigint>[]>;

/**
 * Balances that min(2, configured) nodes tell alike in one call. Those that the call does not tell
 * are asked for alone, with the node's own words; all of them if the nodes differ.
 */
export function createAgreedBalances(
  each: readonly Pick<EvmNodes, "code" | "call">[],
): (
  questions: readonly AskedBalance[],
  block: number,
  oneByOne: OneByOne,
) => Promise<readonly Result<bigint>[]> {
  const many = each.slice(0, 2).map(createManyBalances);
  return async (questions, block, oneByOne) => {
    if (questions.length < manyMin) return oneByOne(questions);
    const [first, ...others] = await Promise.all(many.map((ask) => ask(questions, block)));
    const isAlike = first !== undefined && others.every((other) => String(other) === String(first));
    if (!isAlike || first === null) return oneByOne(questions);
    const alone = await oneByOne(questions.filter((_, at) => first[at] === null));
    let next = 0;
    return first.map((units) => (units === null ? (alone[next++] as Result<bigint>) : good(units)));
  };
}
