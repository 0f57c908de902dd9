/**
 * Classifies a node's answer to signed bytes. A refusal never decides the fate of a payment,
 * because other nodes may have taken the same bytes or an earlier attempt. Pure. Sources:
 * validation.cpp and policy.cpp of Bitcoin Core (the reasons of a refusal), rpc/mempool.cpp; the
 * same files of Litecoin Core.
 */
import type { BroadcastAnswer, BroadcastOutcome } from "../nodes.ts";

interface Row {
  readonly form: RegExp;
  readonly outcome: BroadcastOutcome;
  /** Whether a higher fee, with the same anchor, may be taken. */
  readonly refusal?: "curable" | "incurable";
}

/** The first row that fits decides. */
const rows: readonly Row[] = [
  { form: /txn-already-in-mempool|txn-same-nonwitness-data-in-mempool|already in mempool/i, outcome: "known" },
  { form: /txn-already-known|already in (?:block chain|utxo set)|outputs already in/i, outcome: "known" },
  // A coin is spent in the chain, or its transaction is in no block of this node.
  { form: /missingorspent|missing[- ]?inputs|bad-txns-spends-conflicting-tx/i, outcome: "slot-consumed", refusal: "incurable" },
  {
    form: /insufficient fee|min relay fee not met|mempool min fee not met|fee is too low/i,
    outcome: "underpriced",
    refusal: "curable",
  },
  // The node keeps the earlier attempt, whatever the fee.
  {
    form: /txn-mempool-conflict|replacement-adds-unconfirmed|too many potential replacements/i,
    outcome: "unknown",
    refusal: "incurable",
  },
  { form: /bad-txns-in-belowout/i, outcome: "funds", refusal: "incurable" },
  {
    form: /\b(?:dust|scriptpubkey|tx-size|non-final|mandatory-script|non-mandatory|premature-spend|max-fee-exceeded|too-long-mempool-chain)/i,
    outcome: "unknown",
    refusal: "incurable",
  },
  { form: /bad-txns-|TX decode failed|absurdly-high-fee|maxfeerate/i, outcome: "unknown", refusal: "incurable" },
];

/** Reads the words of a node that did not take the bytes. */
export function readRefusal(words: string): BroadcastAnswer {
  const row = rows.find(({ form }) => form.test(words));
  if (row === undefined) return { outcome: "unknown", text: words };
  return { outcome: row.outcome, text: words, ...(row.refusal === undefined ? {} : { refusal: row.refusal }) };
}

/** Reads the words of a node that took the bytes: their id as 64 hex digits. */
export function readAccepted(words: string, txHash: string): BroadcastAnswer {
  if (words === txHash) return { outcome: "accepted", text: "" };
  return { outcome: "unknown", text: "the node answered another id" };
}
