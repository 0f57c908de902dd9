/**
 * Many balances in one call, by the contract Multicall3: its call data, and the strict reading of
 * what it returns. Offline. Sources: mds1/multicall3 (one address on every chain, from a signed
 * transaction that nobody has the key of); Solidity contract ABI specification.
 */
import { encodeBalanceCall } from "./erc20.ts";

export const multicallAddress = "0xcA11bde05977b3631167028862bE2a173976CA11";

/** aggregate3((address target, bool allowFailure, bytes callData)[]). */
const aggregateSelector = "82ad56cb";
/** getEthBalance(address), a function of the contract itself. */
const coinBalanceSelector = "4d2301cc";
const word = (value: number): string => value.toString(16).padStart(64, "0");
/** One call: target, flag, place of its data, length, and 36 bytes of data with their padding. */
const callBytes = 192;
/** One answer: flag, place, length, one word. */
const answerBytes = 128;
const digitsPerWord = 64;

export interface AskedBalance {
  readonly account: string;
  readonly contract: string; // "" for the chain's coin
}

/** As 0x hex. Every balance has to be told for any to be. */
export function encodeBalances(asked: readonly AskedBalance[]): string {
  const places = asked.map((_, at) => word(asked.length * 32 + at * callBytes));
  const calls = asked.map(({ account, contract }) => {
    const target = contract === "" ? multicallAddress : contract;
    const balanceOf = encodeBalanceCall(account).slice(2);
    const data = contract === "" ? coinBalanceSelector + balanceOf.slice(8) : balanceOf;
    const padded = data.padEnd(2 * digitsPerWord, "0");
    return target.slice(2).toLowerCase().padStart(64, "0") + word(0) + word(96) + word(data.length / 2) + padded;
  });
  return `0x${aggregateSelector}${word(32)}${word(asked.length)}${places.join("")}${calls.join("")}`;
}

/** The balances in order; null for anything but one word for each, as the contract writes it. */
export function decodeBalances(returned: string, count: number): readonly bigint[] | null {
  const head = word(32) + word(count) + Array.from({ length: count }, (_, at) => word(count * 32 + at * answerBytes)).join("");
  const body = returned.slice(2 + head.length);
  if (!returned.startsWith(`0x${head}`) || body.length !== count * answerBytes * 2) return null;
  const prefix = word(1) + word(64) + word(32);
  const answers = Array.from({ length: count }, (_, at) => body.slice(at * answerBytes * 2, (at + 1) * answerBytes * 2));
  if (!answers.every((one) => one.startsWith(prefix))) return null;
  return answers.map((one) => BigInt(`0x${one.slice(prefix.length)}`));
}
