/** Acts of the story that must succeed. */
import type { Refusal } from "../../../base/fault.ts";

/** An act of the story that must succeed. */
export function fine<T extends { readonly ok: true }>(outcome: T | Refusal): T {
  if (outcome.ok) return outcome;
  throw new Error(`the story goes on without an act: ${outcome.code} ${outcome.detail ?? ""}`);
}
