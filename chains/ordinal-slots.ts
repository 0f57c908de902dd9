/**
 * Slots for chains that count no transactions of an account: ordinals that only the signer assigns.
 * A payment that waits blocks no later one. Pure.
 */
import type { SlotRules } from "./family.ts";

const form = /^(?:0|[1-9][0-9]{0,15})$/;
const max = BigInt(Number.MAX_SAFE_INTEGER);

export const paymentOrdinalSlotRules: SlotRules = {
  first: "0",
  least: "0",
  last: `${max}`,
  blocksLater: false,
  isCounted: false,
  read: (text) => (form.test(text) && BigInt(text) <= max ? text : null),
  next: (slot) => `${BigInt(slot) + 1n}`,
  // Two texts without a leading zero: the longer number is the larger.
  compare: (a, b) => (a.length === b.length ? (a < b ? -1 : Number(a > b)) : a.length - b.length),
  between: (from, before) => (BigInt(before) > BigInt(from) ? BigInt(before) - BigInt(from) : 0n),
  word: "payment",
  say: (slot) => `payment ${slot}`,
};
