/**
 * The answer to one of several questions: its value, or the fault that this question alone has. A
 * list of them lets one item fail without the others. A bug is thrown on.
 */
import { AgentError } from "./fault.ts";

export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fault: AgentError };

export function goodResult<T>(value: T): Result<T> {
  return { ok: true, value };
}

export function failedResult(fault: AgentError): Result<never> {
  return { ok: false, fault };
}

/**
 * The result of a job. An end of the connection by us says nothing about the item, so it is thrown
 * on.
 * @throws AgentError NODE_CLOSED
 */
export async function resultOf<T>(job: () => Promise<T>): Promise<Result<T>> {
  try {
    return goodResult(await job());
  } catch (error) {
    if (!(error instanceof AgentError) || error.code === "NODE_CLOSED") throw error;
    return failedResult(error);
  }
}

/** The value. @throws the fault */
export function valueIn<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw result.fault;
}

/** All values, for a job that needs each of them. @throws the first fault */
export function valuesIn<T>(results: readonly Result<T>[]): readonly T[] {
  return results.map(valueIn);
}
