/**
 * A node's reply to signed bytes, and the words of its refusals with their meaning. A node
 * remembers each id before it checks the transaction, so it later calls known what it has refused.
 * Sources: java-tron, Wallet.broadcastTransaction and the codes of its Return message.
 */
import { meaningOf, type RefusalRow, type Reply, taken } from "../providers/broadcasts.ts";
import { readFields, wordsOf } from "./answers.ts";

/** The first row that fits the code and the words behind it decides. */
export const refusals: readonly RefusalRow[] = [
  { form: /^DUP_TRANSACTION_ERROR\b/, meaning: "known" },
  { form: /^TRANSACTION_EXPIRATION_ERROR\b/, meaning: "expired" },
  // The node's own spelling: no coins for its bandwidth.
  { form: /^BANDWITH_ERROR\b/, meaning: "funds" },
  {
    form: /^CONTRACT_VALIDATE_ERROR\b.*(?:balance is not sufficient|not enough energy|insufficient (?:fee|balance))/i,
    meaning: "funds",
  },
  {
    form: /^(?:SERVER_BUSY|NO_CONNECTION|NOT_ENOUGH_EFFECTIVE_CONNECTION|BLOCK_UNSOLIDIFIED)\b/,
    meaning: "node",
  },
  {
    form: /^(?:SIGERROR|CONTRACT_VALIDATE_ERROR|CONTRACT_EXE_ERROR|TAPOS_ERROR|TOO_BIG_TRANSACTION_ERROR)\b/,
    meaning: "bytes",
  },
];

/** Most replies that are remembered; the oldest is forgotten first. */
const rememberedMax = 4_096;

/** The reply of /wallet/broadcasthex. @throws NODE_ANSWER for a value that is no such reply */
export function readReply(value: unknown, txHash: string): Reply {
  const { result, code, message, txid, Error: error } = readFields(value, "broadcast");
  if (error !== undefined) return { kind: "refused", words: wordsOf(error) };
  if (result === true)
    return txid === txHash ? taken : { kind: "doubtful", words: "the node answered another id" };
  return {
    kind: "refused",
    words: `${typeof code === "string" ? code.slice(0, 60) : ""} ${wordsOf(message)}`.trim(),
  };
}

/** The replies of nodes that call bytes known which they have refused. */
export class Replies {
  readonly #heard = new Map<string, Reply>();

  /**
   * The reply as it counts. "Known" is the node's reply of before: of bytes that it refused, that
   * refusal; of bytes that were not offered to it in this run, a doubt.
   */
  take(node: string, txHash: string, reply: Reply): Reply {
    const key = `${node} ${txHash}`;
    const meaning =
      reply.kind === "refused" ? meaningOf(refusals, reply.words)?.meaning : undefined;
    if (meaning === "known") {
      const heard = this.#heard.get(key);
      return heard?.kind === "taken" ? reply : (heard ?? { ...reply, kind: "doubtful" });
    }
    // The node says these before it remembers the id.
    if (reply.kind === "doubtful" || meaning === "node") return reply;
    if (this.#heard.size >= rememberedMax)
      this.#heard.delete(this.#heard.keys().next().value as string);
    this.#heard.set(key, reply);
    return reply;
  }
}
