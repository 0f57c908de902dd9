/**
 * The permanent memory of a closed withdrawal: end and content, as one row of a sorted file under
 * the withdrawal's id. Touches nothing.
 */
import { Bug, invariant } from "../../../base/fault.ts";
import type { Row } from "../../ledger/sorted-file.ts";
import type { State } from "./machine.ts";

export interface EndedContent {
  readonly state: State;
  readonly content: string; // from `contentOf`
}

/**
 * The first byte of a row's value. Files are kept permanently, so a new end is added last, and none
 * is removed.
 */
const ends: readonly State[] = [
  "paid",
  "reverted",
  "conflicted",
  "refused",
  "expired",
  "cancelled",
  "moved",
];

/** key = id(16); value = end(1) ‖ content(32) */
export function rowOfEnded(transactionId: string, { state, content }: EndedContent): Row {
  const end = ends.indexOf(state);
  invariant(end >= 0, `what is ${state} has not ended`);
  return {
    key: Buffer.from(transactionId, "hex"),
    value: Buffer.concat([Uint8Array.of(end), Buffer.from(content, "hex")]),
  };
}

/**
 * Returns how the withdrawal of an id ended, by the newest row found for it; undefined without a
 * row.
 */
export function endedIn(rows: readonly Row[], id: Uint8Array): EndedContent | undefined {
  const row = rows.find(({ key }) => Buffer.compare(key, id) === 0);
  if (row === undefined) return undefined;
  const state = ends[row.value[0] ?? ends.length];
  // This program or a later one wrote the file.
  if (state === undefined) throw new Bug("a closed withdrawal has an end that this version knows");
  return { state, content: Buffer.from(row.value.subarray(1)).toString("hex") };
}
