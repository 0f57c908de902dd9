/**
 * Classifies a node's answer to signed bytes. Offline. A refusal never decides the fate of a
 * payment, because other nodes may have taken the same bytes. A node remembers each id before it
 * checks the transaction, so it later refuses as known the bytes of an earlier refusal. Source:
 * java-tron, Wallet.broadcastTransaction and the codes of its Return message.
 */
import type { BroadcastAnswer, BroadcastOutcome } from "../nodes.ts";
import { readFields, wordsOf } from "./answers.ts";

const outcomes: Readonly<Record<string, BroadcastOutcome>> = {
  DUP_TRANSACTION_ERROR: "known",
  TRANSACTION_EXPIRATION_ERROR: "expired",
  BANDWITH_ERROR: "funds", // the node's own spelling: no coins for its bandwidth
};
const lackOfFunds = /balance is not sufficient|not enough energy|insufficient (?:fee|balance)/i;

/**
 * Reads an answer of /wallet/broadcasthex. @throws NODE_ANSWER for a value that is no such answer
 */
export function readBroadcast(value: unknown, txHash: string): BroadcastAnswer {
  const { result, code, message, txid, Error: error } = readFields(value, "broadcast");
  if (error !== undefined) return { outcome: "unknown", text: wordsOf(error), refusal: "incurable" };
  if (result === true) {
    return txid === txHash ? { outcome: "accepted", text: "" } : { outcome: "unknown", text: "the node answered another id" };
  }
  const words = wordsOf(message);
  const text = `${typeof code === "string" ? code.slice(0, 60) : ""} ${words}`.trim();
  const known = typeof code === "string" && Object.hasOwn(outcomes, code) ? outcomes[code] : undefined;
  if (known === "known") return { outcome: known, text };
  // No attempt bids for its block here, so a higher fee cures nothing.
  const isFunds = code === "CONTRACT_VALIDATE_ERROR" && lackOfFunds.test(words);
  return { outcome: known ?? (isFunds ? "funds" : "unknown"), text, refusal: "incurable" };
}
