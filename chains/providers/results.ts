/** Many questions whose answers are results: one that fails costs none of the others. */
import { AgentError } from "../../base/fault.ts";
import { failedResult, type Result, resultOf } from "../../base/result.ts";
import { mapWithLimit } from "../map-limit.ts";
import type { PacedWaves } from "./paced-waves.ts";

/** @throws AgentError NODE_CLOSED */
export function resultsInWaves<I, T>(
  items: readonly I[],
  width: number,
  job: (item: I) => Promise<T>,
): Promise<readonly Result<T>[]> {
  return mapWithLimit(items, width, (item) => resultOf(() => job(item)));
}

/**
 * As `resultsInWaves`, at the pace that the nodes' quota allows. A quota that stays used up is the
 * result of each question.
 * @throws AgentError NODE_CLOSED
 */
export async function pacedResults<I, T>(
  waves: PacedWaves,
  items: readonly I[],
  job: (item: I) => Promise<T>,
): Promise<readonly Result<T>[]> {
  const ask = async (item: I): Promise<Result<T>> => {
    const result = await resultOf(() => job(item));
    if (!result.ok && result.fault.code === "NODE_QUOTA") throw result.fault;
    return result;
  };
  try {
    return await waves.ask(items, ask);
  } catch (fault) {
    if (!(fault instanceof AgentError) || fault.code !== "NODE_QUOTA") throw fault;
    return items.map(() => failedResult(fault));
  }
}
