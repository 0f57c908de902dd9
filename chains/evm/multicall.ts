/**
 * Reads many balances in one call, by the contract Multicall3: makes the call data, and strictly
 * reads the returned bytes. Offline. Sources: mds1/multicall3 (one address on every chain, from a
 * signed transaction whose key nobody has); Solidity contract ABI specification.
 */
import { encodeBalanceCall } from "./token-reads.ts";

export const multicallAddress = "0xcA11bde05977b3631167028862bE2a173976CA11";

/** aggregate3((address target, bool allowFailure, bytes callData)[]). */
const aggregateSelector = "82ad56cb";
/** getEthBalance(address), a function of the contract itself. */
const coinBalanceSelector = "4d2301cc";
const word = (value: number): string => value.toString(16).padStart(64, "0");
/** One call: target, flag, offset of its data, length, and 36 bytes of data with their padding. */
const callBytes = 192;
const digitsPerWord = 64;

export interface AskedBalance {
  readonly account: string;
  readonly contract: string; // "" for the native coin
}

/** The call data as 0x hex. A balance that fails fails alone. */
export function encodeBalances(asked: readonly AskedBalance[]): string {
  const offsets = asked.map((_, at) => word(asked.length * 32 + at * callBytes));
  const calls = asked.map(({ account, contract }) => {
    const target = contract === "" ? multicallAddress : contract;
    const balanceOf = encodeBalanceCall(account).slice(2);
    const data = contract === "" ? coinBalanceSelector + balanceOf.slice(8) : balanceOf;
    const padded = data.padEnd(2 * digitsPerWord, "0");
    return (
      target.slice(2).toLowerCase().padStart(64, "0") +
      word(1) +
      word(96) +
      word(data.length / 2) +
      padded
    );
  });
  return `0x${aggregateSelector}${word(32)}${word(asked.length)}${offsets.join("")}${calls.join("")}`;
}

/**
 * The balances in order, null for one that failed or is no single word. Null unless the answer has
 * one part for each, in the form that the contract writes.
 */
export function decodeBalances(returned: string, count: number): readonly (bigint | null)[] | null {
  if (!returned.startsWith(`0x${word(32)}${word(count)}`)) return null;
  const body = returned.slice(2 + 2 * digitsPerWord);
  const wordAt = (digit: number): string => body.slice(digit, digit + digitsPerWord);
  const balances: (bigint | null)[] = [];
  let end = count * digitsPerWord; // of the parts that were read
  for (let at = 0; at < count; at += 1) {
    const start = numberOf(wordAt(at * digitsPerWord)) * 2;
    const [flag, offset, length] = [0, 1, 2].map((part) =>
      numberOf(wordAt(start + part * digitsPerWord)),
    ) as [number, number, number];
    if (start !== end || flag > 1 || offset !== 64 || Number.isNaN(length)) return null;
    const data = start + 3 * digitsPerWord;
    end = data + Math.ceil(length / 32) * digitsPerWord;
    balances.push(
      flag === 1 && length === 32 && end <= body.length ? BigInt(`0x${wordAt(data)}`) : null,
    );
  }
  return end === body.length ? balances : null;
}

/** A small number in a word; NaN for any other word. */
function numberOf(text: string): number {
  return /^0{52}[0-9a-f]{12}$/.test(text) ? Number.parseInt(text, 16) : Number.NaN;
}
