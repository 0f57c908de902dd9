/**
 * What a node's answer to signed bytes is worth. Offline. A refusal is never the fate of a payment:
 * other nodes may have taken the same bytes, and a node refuses as known what it refused before for
 * any other reason, since it remembers each id before it looks at the transaction. Source:
 * java-tron, Wallet.broadcastTransaction and the codes of its Return message.
 */
import type { BroadcastAnswer, BroadcastOutcome } from "../nodes.ts";
import { readFields, wordsOf } from "./answers.ts";

const outcomes: Readonly<Record<string, BroadcastOutcome>> = {
  DUP_TRANSACTION_ERROR: "known",
  TRANSACTION_EXPIRATION_ERROR: "expired",
  BANDWITH_ERROR: "funds", // spelled so by the node: no coins for its bandwidth
};
const lackOfFunds = /balance is not sufficient|not enough energy|insufficient (?:fee|balance)/i;

/** Of /wallet/broadcasthex. @throws NODE_ANSWER for what is no answer to it */
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
  // No version bids here, so a price cures nothing.
  const isFunds = code === "CONTRACT_VALIDATE_ERROR" && lackOfFunds.test(words);
  return { outcome: known ?? (isFunds ? "funds" : "unknown"), text, refusal: "incurable" };
}
