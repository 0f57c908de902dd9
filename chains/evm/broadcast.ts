/**
 * Classifies a node's answer to eth_sendRawTransaction. Offline. An error text never decides the
 * fate of a payment: it only chooses the next question to the chain, and an unfamiliar text is
 * "unknown". The texts of eight clients are in test/vectors/node-errors.json.
 */
import type { BroadcastOutcome } from "../nodes.ts";

/**
 * The first class that fits wins, in this order. The exclusions are texts that contain words of
 * another class. An "unknown transaction" is not a known one, an authorisation's nonce (EIP-7702)
 * is not the account's, and "too low" next to a fee is not about a nonce.
 */
const classes: readonly (readonly [outcome: BroadcastOutcome, pattern: RegExp, not?: RegExp])[] = [
  [
    "known",
    /\balready ?known\b|\bknown transaction\b|\balready (?:been )?imported\b|\btransaction already exists\b|\btx already exists\b|\balready exists in cache\b|\balready in (?:the )?(?:mem|tx)?pool\b|\bownnoncealreadyused\b|\balreadyimported\b/,
    /\bunknown\b|\bblock already\b|\bnot already\b/,
  ],
  [
    "slot-consumed",
    /\bnonce (?:is )?too low\b|\boldnonce\b|\bnonce has already been used\b|\btransaction nonce is too low\b|\bpool\(stale\)|\bis lower than the current nonce\b|\balready (?:finalized|mined)\b|\bnonce too small\b/,
    /\bauthority\b|\bauthorization\b/,
  ],
  [
    "funds",
    /\binsufficient ?(?:funds|balance|eth)\b|\bnot enough funds\b|\bdoesn't have enough funds\b|\bupfront cost exceeds\b|\black of funds\b/,
  ],
  [
    "underpriced",
    /\bunderpriced\b|\bcould not replace existing tx\b|\bfee ?too ?low\b|\bfeetoolow(?:tocompete)?\b|\breplacementnotallowed\b|\bless than block base fee\b|\bbelow (?:current|block) base ?fee\b|\bgas price (?:is )?too low\b|\bgas price below\b|\bgas price .{0,80}is too low\b|\bis too low for the next block\b|\bgas tip cap .{0,60}(?:minimum|below)\b|\bpriority fee .{0,60}(?:too low|below|under)\b|\bfee ?cap (?:is )?less than\b|\beffective gas price .{0,60}too low\b/,
  ],
];

/**
 * The class of a node's error text, "unknown" if no class fits. The error code does not help:
 * clients use -32000 for most errors.
 */
export function classifyBroadcastError(message: string): BroadcastOutcome {
  const text = message.toLowerCase();
  for (const [outcome, pattern, not] of classes) {
    if (pattern.test(text) && !(not?.test(text) ?? false)) return outcome;
  }
  return "unknown";
}

/**
 * Refusals that a higher fee cannot cure: a node's own limits, invalid bytes, a wrong sender, and
 * transactions that are already in the mempool. Sources: the error texts of geth (core/txpool,
 * core/error.go), reth (transaction-pool/src/error.rs), nethermind (AcceptTxResult), besu
 * (TransactionInvalidReason) and erigon (txpoolcfg); ethereum-optimism/optimism #8819,
 * erigontech/erigon #10582, base/base #2347, besu-eth/besu #4739.
 */
const incurable =
  /exceeds the (?:configured|configuration) cap|fee cap exceeded|exceeds? .{0,40}\btx ?fee ?cap|delegated account|delegator|authority already reserved|address already reserved|conflicting ?type|invalid chain ?id|wrong chain ?id|incorrect chain ?id|invalid sender|failed ?to ?resolve ?sender|sender ?is ?(?:a )?contract|sender not an eoa|invalid signature|replay[- ]protected|(?:tx|transaction) ?type.{0,40}not supported|not ?supported ?tx ?type|oversized|max ?tx ?size ?exceeded|input .{0,30}too (?:large|big)|exceeds (?:the )?(?:block|transaction) gas limit|gas ?limit ?exceeded|gas limit too high|exceeds .{0,40}gas limit|nonce (?:is )?too (?:high|distant|far)|nonce ?too ?(?:far|distant)|nonce ?gap|nonce has max value|account limit exceeded|too many (?:pending )?transactions (?:from|of|for) |(?:sender|account) .{0,30}(?:capacity|limit) (?:reached|exceeded)|spammer|black ?list|block ?list|deny ?list|sanction|not whitelisted|permission|unauthori[sz]ed|forbidden|not allowed|method .{0,60}(?:not found|not available|not supported|does not exist|disabled)|read[- ]only|api key|(?:still |is |currently )syncing|not synced|insufficient ?(?:funds|balance)|upfront cost exceeds|enough funds|quota|rate limit|too many requests/;

/**
 * True if a node that refused with this text may accept a replacement with a higher fee. True for
 * an unknown text.
 */
export function isCurableByFee(message: string): boolean {
  return !incurable.test(message.toLowerCase());
}

/**
 * True if the text says that the call itself fails on chain, and not that the account lacks funds
 * or the node fails.
 */
export function isRevert(message: string): boolean {
  const text = message.toLowerCase();
  return /revert|vm execution error|invalid opcode/.test(text) && !/insufficient funds/.test(text);
}
