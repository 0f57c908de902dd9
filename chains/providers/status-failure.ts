/**
 * The failure for an answer whose HTTP status is a refusal and no quota. A server without the path
 * that is asked for is told apart, because neither a wait nor a key helps. Pure.
 */
import { describeMissingPath, statusWords } from "./node-words.ts";
import { type Failure, isPassingStatus, newFailure } from "./rpc-post.ts";

export const missingPathCode = "NODE_PATH";
export const notFound = 404;

/**
 * `path`: the question's own path below the address; null if all questions have the address's
 * path, which is not shown because it may hold a key.
 */
export function statusFailure(status: number, body: string, path: string | null): Failure {
  const isCut = isPassingStatus(status);
  if (status !== notFound)
    return newFailure("NODE_HTTP", statusWords(status, body), { status, isCut });
  return newFailure(
    missingPathCode,
    `${statusWords(status, "")}: ${describeMissingPath(path, body)}`,
    {
      status,
      isCut,
    },
  );
}
