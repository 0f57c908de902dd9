/**
 * Reads the text of a JSON-RPC answer into one envelope per call. No network: text in, values out.
 * Source: JSON-RPC 2.0, sections 5 and 6. Error texts are cut and cleaned here, because they reach
 * logs and operators.
 */

import { parseForeign } from "../../base/foreign-json.ts";
import { cleanNodeText } from "../providers/node-words.ts";
import { type Failure, newFailure } from "../providers/rpc-post.ts";
import { statusFailure } from "../providers/status-failure.ts";

/** The node's result, or its error object with the text made safe to print. */
export type Envelope =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly code: number; readonly message: string };

/**
 * The values of an answer above this size are counted first, because the answer may hold more than
 * memory bears.
 */
const countedMin = 1024 * 1024;

/**
 * Returns one envelope per id, and leaves out an id that occurs twice. The key null holds an answer
 * that names no call.
 */
export function readEnvelopes(
  status: number,
  body: string,
): { readonly ok: true; readonly byId: ReadonlyMap<number | null, Envelope> } | Failure {
  const isSuccess = status >= 200 && status < 300;
  const bad = (message: string, isTorn = false): Failure => ({
    ...(isSuccess
      ? newFailure("NODE_ANSWER", message, { isCut: isTorn })
      : statusFailure(status, body, null)),
    isBatchFault: true,
  });
  let value: unknown;
  try {
    value = body.length > countedMin ? parseForeign(body, "long") : JSON.parse(body);
  } catch {
    return bad("the answer is not JSON", true);
  }
  const byId = new Map<number | null, Envelope>();
  const doubled = new Set<number | null>();
  for (const item of Array.isArray(value) ? value : [value]) {
    const read = readEnvelope(item);
    if (read === null) return bad("the answer is not JSON-RPC");
    if (byId.has(read.id)) doubled.add(read.id);
    byId.set(read.id, read.envelope);
  }
  for (const id of doubled) byId.delete(id);
  // Nodes refuse a complete batch with one error object that names no call.
  const isLoneRefusal = !Array.isArray(value) && byId.has(null);
  if (isLoneRefusal && !isSuccess) return bad("refused");
  return { ok: true, byId };
}

function readEnvelope(
  item: unknown,
): { readonly id: number | null; readonly envelope: Envelope } | null {
  if (typeof item !== "object" || item === null) return null;
  const { id, result, error } = item as { id?: unknown; result?: unknown; error?: unknown };
  const idOrNull = typeof id === "number" ? id : null;
  if (typeof error === "object" && error !== null) {
    const { code, message } = error as { code?: unknown; message?: unknown };
    return {
      id: idOrNull,
      envelope: {
        ok: false,
        code: typeof code === "number" ? code : 0,
        message: cleanNodeText(message),
      },
    };
  }
  if (!Object.hasOwn(item, "result")) return null;
  return { id: idOrNull, envelope: { ok: true, result } };
}
