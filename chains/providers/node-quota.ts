/**
 * Recognises a provider's refusal because of too many questions, and the time for which the
 * provider wants none. One rule for every family, every HTTP status and every form of text. Pure.
 * Sources: RFC 9110, section 10.2.3 (Retry-After); RFC 6585, section 4 (429); EIP-1474, code
 * -32005.
 */

import { AgentError } from "../../base/fault.ts";
import { statusWords } from "./node-words.ts";
import { type Failure, newFailure } from "./rpc-post.ts";

/** The longest pause that a provider may ask for. */
const quietMsMax = 600_000;
/** Number of characters of an answer that are searched. */
const wordsMax = 512;

const quotaCodes: ReadonlySet<number> = new Set([429, -32005, -32029, -32090, -32097]);
const quotaWords =
  /\b(?:too many requests|(?:rate|request|frequency|usage|quota|capacity|credits?|throughput|compute units?)[ -]?(?:per \w+ )?(?:count |is |was |has been |limit )?(?:exceeded|reached|exhausted|limited|depleted)|rate[ -]?limit(?:ed|s)?|frequency limit|(?:exceed(?:s|ed)?|over|reached|hit|out of) (?:the |your |its |our |allowed |current |daily |monthly |plan |compute )*(?:units|rps|rate|quota|capacity|credits?|requests?)|(?:daily|monthly) (?:request )?(?:count|limit|quota)|query server is suspended|quota)\b/i;
/** The same code also means that a question is too large; a smaller question corrects this. */
const sizeWords =
  /\b(?:block range|range|results?|logs?|response size|batch|payload|too large|too big|max(?:imum)? .{0,20}blocks)\b/i;

/** A refusal of the complete answer, or of one call in it. */
export interface NodeRefusal {
  readonly status: number; // of HTTP
  readonly retryAfter: string; // seconds as whole digits, "" for none
  readonly words: string; // the answer's body, or the error's own message
  readonly rpcCode?: number; // code of a JSON-RPC error
}

/**
 * The pause that the provider wants in milliseconds, 0 if it gives no time. Null for a refusal with
 * another reason.
 */
export function quotaPauseMsOf({
  status,
  retryAfter,
  words: all,
  rpcCode,
}: NodeRefusal): number | null {
  const words = all.slice(0, wordsMax);
  // "Too many" of a batch or a range is no quota, for any status.
  const isSize = sizeWords.test(words) && !quotaWords.test(words);
  const isStatus = (status === 429 && !isSize) || (status === 503 && retryAfter !== "");
  const isRefusal = status === 403 || rpcCode !== undefined;
  const isCode = rpcCode !== undefined && quotaCodes.has(rpcCode) && !sizeWords.test(words);
  const isWords =
    isRefusal && quotaWords.test(words) && !sizeWords.test(words.replace(quotaWords, ""));
  if (!isStatus && !isCode && !isWords) return null;
  const told = (retryAfter === "" ? suspendedMs(words) : Number(retryAfter) * 1000) ?? 0;
  return Math.min(quietMsMax, told);
}

/** The failure for an answer whose HTTP status is a refusal; null for any other answer. */
export function failureOfRefusingStatus(answer: {
  status: number;
  retryAfter: string;
  body: string;
}): Failure | null {
  const { status, retryAfter, body } = answer;
  if (status < 300) return null;
  const quietMs = quotaPauseMsOf({ status, retryAfter, words: body });
  return quietMs === null
    ? null
    : newFailure("NODE_QUOTA", statusWords(status, body), { status, quietMs });
}

/** The fault for one call's own error, with any HTTP status; null for any other error. */
export function quotaFault(rpcCode: number, words: string, node: string): AgentError | null {
  const quietMs = quotaPauseMsOf({ status: 200, retryAfter: "", words, rpcCode });
  return quietMs === null ? null : new AgentError("NODE_QUOTA", "none", words, { node, quietMs });
}

function suspendedMs(words: string): number | null {
  const seconds = /\b(?:suspended for|retry (?:after|in)|try again in) ([0-9]{1,5}) ?s/i.exec(
    words,
  )?.[1];
  return seconds === undefined ? null : Number(seconds) * 1000;
}
