/**
 * Finds the block from which a difference exists, by binary search over past final blocks. Reads
 * about as many balances as the block count has binary digits. Reads only.
 */
import { AgentError } from "../../base/fault.ts";
import { valuesIn } from "../../base/result.ts";
import type { ClosingOptions, ComparedBalance } from "./compare.ts";

/** A block, or the reason why it is unknown. */
export type FirstBlock =
  | { readonly block: number }
  | { readonly block: null; readonly why: string };

const restMs = 5;

/**
 * The first block at whose end the account differed from the database by the same amount as at the
 * end of the difference's own block.
 * @param floor the last block before the account's books began, -1 for the first of the chain
 * @param even a block whose closing had no difference; tested first
 */
export async function sinceBlock(
  options: ClosingOptions,
  difference: ComparedBalance,
  { floor, even }: { readonly floor: number; readonly even: number | null },
): Promise<FirstBlock> {
  const { reader, rest } = options;
  const { account, currency, block, foundUnits, expectedUnits, sheet } = difference;
  if (reader.tellsNewestBalances === true)
    return { block: null, why: "the nodes tell of their newest final block alone" };
  const isThere = async (at: number): Promise<boolean> => {
    const [units = 0n] = valuesIn(
      await reader.balances([{ account: account.address, contract: currency.contract }], at),
    );
    await rest(restMs);
    return units - sheet.at(currency.id, at) === foundUnits - expectedUnits;
  };
  let [before, from] = [floor, block];
  try {
    if (even !== null) [before, from] = (await isThere(even)) ? [floor, even] : [even, block];
    while (from - before > 1) {
      const middle = before + Math.floor((from - before) / 2);
      if (await isThere(middle)) from = middle;
      else before = middle;
    }
  } catch (error) {
    if (
      !(error instanceof AgentError) ||
      error.code === "NODE_CLOSED" ||
      !error.code.startsWith("NODE_")
    )
      throw error;
    return { block: null, why: `the nodes keep no old state: ${error.code}` };
  }
  return { block: from };
}
