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
/** One answer: flag, offset, length, one word. */
const answerBytes = 128;
const digitsPerWord = 64;

export interface AskedBalance {
  readonly account: string;
  readonly contract: string; // "" for the native coin
}

/** The call data as 0x hex. The call fails as a whole if any single balance fails. */
export function encodeBalances(asked: readonly AskedBalance[]): string {
  const offsets = asked.map((_, at) => word(asked.length * 32 + at * callBytes));
  const calls = asked.map(({ account, contract }) => {
    const target = contract === "" ? multicallAddress : contract;
    const balanceOf = encodeBalanceCall(account).slice(2);
    const data = contract === "" ? coinBalanceSelector + balanceOf.slice(8) : balanceOf;
    const padded = data.padEnd(2 * digitsPerWord, "0");
    return target.slice(2).toLowerCase().padStart(64, "0") + word(0) + word(96) + word(data.length / 2) + padded;
  });
  return `0x${aggregateSelector}${word(32)}${word(asked.length)}${offsets.join("")}${calls.join("")}`;
}

/**
 * The balances in order. Null unless the answer has exactly one word for each, in the form that the
 * contract writes.
 */
export function decodeBalances(returned: string, count: number): readonly bigint[] | null {
  const head = word(32) + word(count) + Array.from({ length: count }, (_, at) => word(count * 32 + at * answerBytes)).join("");
  const body = returned.slice(2 + head.length);
  if (!returned.startsWith(`0x${head}`) || body.length !== count * answerBytes * 2) return null;
  const prefix = word(1) + word(64) + word(32);
  const answers = Array.from({ length: count }, (_, at) => body.slice(at * answerBytes * 2, (at + 1) * answerBytes * 2));
  if (!answers.every((one) => one.startsWith(prefix))) return null;
  return answers.map((one) => BigInt(`0x${one.slice(prefix.length)}`));
}
