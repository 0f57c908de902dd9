/**
 * The transactions that made the coins, as proof of amount and script. A signature of SegWit
 * version 0 covers only the amount of its own coin. With two requests, each with one false amount,
 * a courier could collect two signatures for one transaction that pays a fee of any size
 * (CVE-2020-14199). So amount and script come only from bytes that hash to the coin's id. No proof
 * says that a coin is still there; a coin that is gone pays nothing. Pure.
 */
import { type Refusal, refuse } from "../../base/fault.ts";
import type { Coin } from "../family.ts";
import { decodeTransaction, type TransactionOutput } from "./raw-transaction.ts";

/**
 * A coin made by a longer transaction is not used. Nodes forward up to 400,000 units of weight, and
 * each byte without SegWit data weighs four. Source: policy.h of Bitcoin Core
 * (MAX_STANDARD_TX_WEIGHT).
 */
export const previousBytesMax: number = 400_000 / 4;
const hexForm = /^[0-9a-f]+$/;

/**
 * The output that a coin is, by the transaction that made it, as hex. Refuses with
 * TRANSACTION_EVIDENCE.
 */
export function coinMadeBy(
  id: string,
  made: unknown,
): { readonly ok: true; readonly output: TransactionOutput } | Refusal {
  const isHex =
    typeof made === "string" &&
    made.length <= previousBytesMax * 2 &&
    made.length % 2 === 0 &&
    hexForm.test(made);
  const decoded = isHex ? decodeTransaction(Buffer.from(made, "hex")) : null;
  if (decoded === null)
    return refuse(
      "TRANSACTION_EVIDENCE",
      `the bytes for ${id} are no transaction of at most ${previousBytesMax} bytes`,
    );
  const [txHash, output = ""] = id.split(":");
  if (decoded.txHash !== txHash)
    return refuse("TRANSACTION_EVIDENCE", `the bytes for ${id} are another transaction`);
  const found = decoded.transaction.outputs[Number(output)];
  return found === undefined
    ? refuse("TRANSACTION_EVIDENCE", `there is no output ${id}`)
    : { ok: true, output: found };
}

/**
 * Null if each transaction made the coin of its place, with that amount and the script of the own
 * account. Refuses with TRANSACTION_EVIDENCE.
 */
export function refusalOfCoins(
  coins: readonly Coin[],
  evidence: readonly string[],
  script: Uint8Array,
): Refusal | null {
  if (evidence.length !== coins.length)
    return refuse("TRANSACTION_EVIDENCE", "not one previous transaction for each coin");
  for (const [place, { id, units }] of coins.entries()) {
    const made = coinMadeBy(id, evidence[place]);
    if (!made.ok) return made;
    if (made.output.units !== units)
      return refuse("TRANSACTION_EVIDENCE", `coin ${id} has another amount`);
    if (Buffer.compare(made.output.script, script) !== 0)
      return refuse("TRANSACTION_EVIDENCE", `coin ${id} is not the account's`);
  }
  return null;
}
