/**
 * The invariant of the limits as signed bytes have it, where a slot excludes: what a ledger's bytes
 * can still take from the account is within hour and day, whatever its records say of amounts.
 */
import { Transaction } from "ethers";
import type { LedgerRecord } from "../../agent/ledger/records.ts";
import type { Job } from "../../protocol/messages.ts";
import { type ByteLimits, payableWithin, type SignedBytes } from "./signed-bytes.ts";

const read = new Map<string, Transaction>();
/** Read by code that is not ours; the same bytes are read once. */
export function transactionOf(raw: string): Transaction {
  const known = read.get(raw) ?? Transaction.from(raw);
  read.set(raw, known);
  return known;
}

const jobs = new Map<string, Job>();
/** The same text is parsed once. */
export function jobIn(text: string): Job {
  const known = jobs.get(text) ?? (JSON.parse(text) as Job);
  jobs.set(text, known);
  return known;
}

/**
 * Signed bytes that blocks can still take are within hour and day, by what the bytes say to code
 * that is not ours. A recovered ledger keeps slots whatever the limits say: they count no more.
 */
export function payable(world: {
  readonly records: readonly LedgerRecord[];
  readonly limits: Readonly<Record<string, ByteLimits>>; // by currency
}): void {
  const orders = new Map<string, Job>();
  let recoveredSeq = 0;
  for (const record of world.records) {
    if (record.kind === "REQUESTED") orders.set(record.transactionId, jobIn(record.job));
    if (record.kind === "RECOVERED") recoveredSeq = record.seq;
  }
  const kept = new Set<string>();
  const signed = new Map<string, SignedBytes[]>();
  for (const record of world.records) {
    if (record.kind !== "SIGNED") continue;
    const { raw, seq, at, transactionId } = record;
    const { chainId, from, nonce, to, value, data } = transactionOf(raw);
    const slot = `${chainId} ${from} ${nonce}`;
    if (seq < recoveredSeq) kept.add(slot);
    const order = orders.get(transactionId);
    if (order === undefined || kept.has(slot) || order.mode === "sweep" || order.mode === "topup")
      continue;
    const isCancel = to === from && data === "0x";
    const units = isCancel ? 0n : data === "0x" ? value : BigInt(`0x${data.slice(-64)}`);
    const bytes = signed.get(order.currency) ?? [];
    signed.set(order.currency, bytes);
    bytes.push({ units, signedAt: at, validUntilMs: null, slot });
  }
  for (const [currency, bytes] of signed) {
    const limits = world.limits[currency];
    if (limits === undefined)
      throw new Error(`something of ${currency} is signed, which has no limits`);
    payableWithin(bytes, limits);
  }
}
