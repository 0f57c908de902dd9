/**
 * What is remembered for ever of a withdrawal that is closed: how it ended and what it asked for,
 * as one row of a sorted file under its id. Touches nothing.
 */
import { Bug, invariant } from "../../../protocol/fault.ts";
import type { Row } from "../../ledger/sorted-file.ts";
import type { State } from "./machine.ts";

/** @public */
export interface Ended {
  readonly state: State;
  readonly content: string; // as `contentOf` gives it
}

/**
 * The first byte of a row's value. Files are kept for ever: a new end goes last, and none is taken
 * out.
 */
const ends: readonly State[] = ["paid", "reverted", "lost", "refused", "expired", "cancelled"];

/**
 * key = id(16); value = end(1) ‖ content(32)
 * @public
 */
export function rowOfEnded(transactionId: string, { state, content }: Ended): Row {
  const end = ends.indexOf(state);
  invariant(end >= 0, `what is ${state} has not ended`);
  return { key: Buffer.from(transactionId, "hex"), value: Buffer.concat([Uint8Array.of(end), Buffer.from(content, "hex")]) };
}

/**
 * How the withdrawal of an id ended, by the newest of the rows found for it; undefined for one that
 * never did.
 * @public
 */
export function endedIn(rows: readonly Row[], id: Uint8Array): Ended | undefined {
  const row = rows.find(({ key }) => Buffer.compare(key, id) === 0);
  if (row === undefined) return undefined;
  const state = ends[row.value[0] ?? ends.length];
  // The file is as this program or a later one wrote it.
  if (state === undefined) throw new Bug("a closed withdrawal has an end that this version knows");
  return { state, content: Buffer.from(row.value.subarray(1)).toString("hex") };
}
