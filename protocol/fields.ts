/**
 * Readers of the fields that many payloads share: ids, keys, times, currencies, destinations. Each
 * kind of field has one rule, so no message refuses a value that another message takes.
 * docs/protocol.md section 1.4.
 */

import { hex, integer, object, type Reader, shapeFault, string } from "../base/shape.ts";
import { amountDigitsMax, canonicalAmountPattern } from "./amount.ts";
import type { AgentLedgerHead } from "./messages.ts";

/** A currency's id, e.g. usdt-erc20. */
export const currencyPattern = /^[a-z0-9][a-z0-9_-]{0,63}$/;
/** A network's name by CAIP-2, e.g. eip155:1. */
const networkPattern = /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/;
/** A caller's own reference: visible ASCII without spaces. */
export const orderIdPattern = /^[\x21-\x7e]{1,128}$/;
const merchantPattern = /^[A-Za-z0-9_-]{1,64}$/;
/** The public half of an API key. */
export const keyIdPattern = /^k_[0-9a-f]{16}$/;

/** Most characters of a tag. */
export const tagLengthMax = 128;

export const agent: Reader<string> = hex(8);
export const wallet: Reader<string> = hex(16);
export const transactionIdPattern = /^[0-9a-f]{32}$/;
export const transactionId: Reader<string> = hex(16);
export const hash: Reader<string> = hex(32);
export const nonce: Reader<string> = hex(32);
export const signature: Reader<string> = hex(64);
export const optionalSignature: Reader<string> = string({
  max: 128,
  pattern: /^(?:|[0-9a-f]{128})$/,
});
export const optionalNonce: Reader<string> = string({ max: 64, pattern: /^(?:|[0-9a-f]{64})$/ });
export const publicKey: Reader<string> = hex(32);
export const time: Reader<number> = integer();
export const count: Reader<number> = integer();
export const ordinal: Reader<number> = integer({ min: 1 });
/** The byte of a kind of envelope. */
export const kind: Reader<number> = integer({ min: 1, max: 255 });
export const ledgerEpoch: Reader<number> = integer({ min: 1, max: 0xffffffff });
export const network: Reader<string> = string({ max: 41, pattern: networkPattern });
export const currency: Reader<string> = string({ max: 64, pattern: currencyPattern });
/** A currency, or the sweeps or top-ups of one. */
export const limitGroup: Reader<string> = string({
  max: 70,
  pattern: /^[a-z0-9][a-z0-9_-]{0,63}(?::sweep|:topup)?$/,
});
/** Indexes below a deposit account that are not hardened (BIP-32). */
export const ceiling: Reader<number> = integer({ min: 1, max: 0x7fffffff });
export const depositIndex: Reader<number> = integer({ max: 0x7fffffff });
export const orderId: Reader<string> = string({ min: 1, max: 128, pattern: orderIdPattern });
export const merchant: Reader<string> = string({ min: 1, max: 64, pattern: merchantPattern });
export const keyId: Reader<string> = string({ max: 18, pattern: keyIdPattern });
export const destination: Reader<string> = string({ max: 128, pattern: /^[\x21-\x7e]*$/ });
export const account: Reader<string> = string({ min: 1, max: 128, pattern: /^[\x21-\x7e]+$/ });
export const tag: Reader<string> = string({ max: tagLengthMax, pattern: /^[\x20-\x7e]*$/ });
/** A tag where an absent field stands for none. */
export const nonEmptyTag: Reader<string> = string({
  min: 1,
  max: tagLengthMax,
  pattern: /^[\x20-\x7e]+$/,
});
export const code: Reader<string> = string({ max: 64, pattern: /^[A-Z0-9_]*$/ });
/** An EVM account's nonce in its only spelling. */
export const nonceField: Reader<string> = string({
  min: 1,
  max: 20,
  pattern: /^(?:0|[1-9][0-9]*)$/,
});
/** The same, with "" if the chain has no nonce. */
export const optionalNonceField: Reader<string> = string({
  max: 20,
  pattern: /^(?:|0|[1-9][0-9]*)$/,
});
export const slot: Reader<string> = string({ min: 1, max: 160, pattern: /^[\x21-\x7e]+$/ });
/** A coin, in the family's own spelling. */
export const pin: Reader<string> = string({ min: 1, max: 160, pattern: /^[\x21-\x7e]+$/ });
export const txHash: Reader<string> = string({ min: 1, max: 130, pattern: /^[0-9A-Za-z]+$/ });
export const optionalTxHash: Reader<string> = string({ max: 130, pattern: /^[0-9A-Za-z]*$/ });
export const units: Reader<string> = string({
  min: 1,
  max: amountDigitsMax,
  pattern: /^(?:0|[1-9][0-9]*)$/,
});
export const software: Reader<string> = string({ min: 1, max: 64, pattern: /^[\x20-\x7e]+$/ });
export const head: Reader<AgentLedgerHead> = object({ seq: ordinal, hash });

const amountText = string({ min: 1, max: amountDigitsMax + 1, pattern: canonicalAmountPattern });
export const amount: Reader<string> = (value, path) => {
  const text = amountText(value, path);
  if (text.length > amountDigitsMax && !text.includes("."))
    throw shapeFault(path, `must have at most ${amountDigitsMax} digits`);
  return text;
};
