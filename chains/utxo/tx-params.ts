/**
 * The transaction parameters of an attempt: its coins, its change and its fee. The first coin is
 * the anchor. Every attempt of a withdrawal has the same anchor, and the chain takes a coin only
 * once, so at most one attempt can be paid. Pure.
 */
import { shapeFault } from "../../base/shape.ts";
import type { Coin, TxParams } from "../family.ts";

/**
 * The same parameters as values. A coin's id is the transaction that made it, a colon, and the
 * output's number; its units are sat.
 */
export interface UtxoFigures {
  readonly coins: readonly Coin[]; // 1 … coinsPerTransactionMax, none twice; the anchor first
  readonly changeSat: readonly bigint[]; // 0 … changesMax outputs to the own account
  readonly feeSat: bigint;
}

/** A longer list would not fit the 8,192 characters that all parameters have together. */
export const coinsPerTransactionMax = 64;
export const changesMax = 2;
const names = ["coins", "changeSat", "feeSat"] as const;
/** Beyond 65,535 no transaction of the size that is read here has an output. */
const coinForm = /^[0-9a-f]{64}:(?:0|[1-9][0-9]{0,4}):[1-9][0-9]{0,15}$/;
const amountForm = /^[1-9][0-9]{0,15}$/;

/**
 * The parameters themselves: `coins` is txHash:output:sat, separated by commas; `changeSat` is "0"
 * without change, and names each of two outputs, as in "34000,35295"; `feeSat` is what remains.
 * @throws JSON_SHAPE if a field is missing, unknown, no such text, or names a coin twice
 */
export function readTxParams(txParams: TxParams): TxParams {
  const { coins = "", changeSat = "", feeSat = "" } = txParams;
  const ids = coins.split(",").map(idOf);
  const changes = changeSat.split(",");
  const isWhole =
    Object.keys(txParams).length === names.length &&
    coins.split(",").every((coin) => coinForm.test(coin)) &&
    new Set(ids).size === ids.length &&
    ids.length <= coinsPerTransactionMax &&
    (changeSat === "0" ||
      (changes.length <= changesMax && changes.every((change) => amountForm.test(change)))) &&
    amountForm.test(feeSat);
  if (!isWhole) throw shapeFault("txParams", "must be coins, none twice, changeSat and feeSat");
  return txParams;
}

/** @throws JSON_SHAPE as `read` */
export function figuresOf(txParams: TxParams): UtxoFigures {
  const { coins = "", changeSat = "", feeSat = "" } = readTxParams(txParams);
  return {
    coins: coins
      .split(",")
      .map((coin) => ({ id: idOf(coin), units: BigInt(coin.slice(coin.lastIndexOf(":") + 1)) })),
    changeSat: changeSat === "0" ? [] : changeSat.split(",").map(BigInt),
    feeSat: BigInt(feeSat),
  };
}

export function txParamsOf({ coins, changeSat, feeSat }: UtxoFigures): TxParams {
  return {
    coins: coins.map(({ id, units }) => `${id}:${units}`).join(","),
    changeSat: changeSat.length === 0 ? "0" : changeSat.join(","),
    feeSat: `${feeSat}`,
  };
}

/**
 * The coins, each as txHash:output:sat. The anchor stands first: all attempts have it in common,
 * and the chain takes it once.
 */
export function coinTexts({ coins = "" }: TxParams): readonly [pin: string, ...others: string[]] {
  const [pin = "", ...others] = coins.split(",");
  return [pin, ...others];
}

/** A coin from its text; null if the text is none. */
export function readCoin(text: string): Coin | null {
  return coinForm.test(text)
    ? { id: idOf(text), units: BigInt(text.slice(text.lastIndexOf(":") + 1)) }
    : null;
}

/** The fee of an attempt, in sat. A transaction costs neither more nor less. */
export function feeMaxOf(txParams: TxParams): bigint {
  return figuresOf(txParams).feeSat;
}

/** The amount that the coins leave beside change and fee; 0 for a cancel. */
export function amountOf({ coins, changeSat, feeSat }: UtxoFigures): bigint {
  return (
    coins.reduce((sum, { units }) => sum + units, 0n) -
    changeSat.reduce((sum, units) => sum + units, 0n) -
    feeSat
  );
}

function idOf(coin: string): string {
  return coin.slice(0, Math.max(0, coin.lastIndexOf(":")));
}
