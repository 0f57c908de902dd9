/**
 * A server's reply to signed bytes, and the words of refusals with their meaning. Pure. Sources:
 * validation.cpp and policy.cpp of Bitcoin Core (the reasons of a refusal), rpc/mempool.cpp and
 * rpc/protocol.h; the same files of Litecoin Core; Blockstream/electrs #132 (the bare words "RPC
 * error" with status 400).
 */
import { meaningOf, otherId, type RefusalRow, type Reply, taken } from "../providers/broadcasts.ts";
import { readText } from "./answers.ts";
import type { EsploraAnswer } from "./esplora.ts";

/** The first row that fits decides. */
export const refusals: readonly RefusalRow[] = [
  {
    form: /txn-already-in-mempool|txn-same-nonwitness-data-in-mempool|already in mempool/i,
    meaning: "known",
  },
  {
    form: /txn-already-known|already in (?:block chain|utxo set)|outputs already in/i,
    meaning: "known",
  },
  // A coin is spent in the chain, or its transaction is in no block of this node.
  {
    form: /missingorspent|missing[- ]?inputs|bad-txns-spends-conflicting-tx/i,
    meaning: "slot-used",
  },
  // The least fee of this very transaction, in sat.
  {
    form: /(?:min relay|mempool min) fee not met, [0-9]+ < (?<least>[0-9]{1,15})\b/i,
    meaning: "price",
  },
  {
    form: /insufficient fee|min relay fee not met|mempool min fee not met|fee is too low/i,
    meaning: "price",
  },
  { form: /bad-txns-in-belowout/i, meaning: "funds" },
  {
    form: /loading (?:block index|wallet|P2P)|verifying blocks|rewinding blocks|work queue depth|in initial (?:block )?download|is syncing/i,
    meaning: "node",
  },
  // In the first, the node keeps the earlier attempt, whatever the fee.
  {
    form: /txn-mempool-conflict|replacement-adds-unconfirmed|too many potential replacements/i,
    meaning: "bytes",
  },
  {
    form: /\b(?:dust|scriptpubkey|tx-size|non-final|mandatory-script|non-mandatory|premature-spend|max-fee-exceeded|too-long-mempool-chain)/i,
    meaning: "bytes",
  },
  { form: /bad-txns-|TX decode failed|absurdly-high-fee|maxfeerate/i, meaning: "bytes" },
];

/**
 * The reply of POST /tx: the id, or the reason of a refusal with status 400. Older servers give the
 * reason with status 500, where only words that a node is known for are one.
 */
export function readReply(told: EsploraAnswer, txHash: string): Reply {
  const words = told.ok ? readText(told.bytes) : told.words;
  if (told.ok && words === txHash) return taken;
  const isRefusal =
    (!told.ok && told.status < 500) ||
    /\bRPC error\b/i.test(words) ||
    meaningOf(refusals, words) !== null;
  if (isRefusal) return { kind: "refused", words, ...(told.ok ? {} : { status: told.status }) };
  return told.ok ? otherId : { kind: "doubtful", words };
}
