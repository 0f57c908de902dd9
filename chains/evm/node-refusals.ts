/**
 * Words with which nodes answer eth_sendRawTransaction, and their meaning. Offline. Sources: the
 * error texts of geth (core/txpool, core/error.go), reth (transaction-pool/src/error.rs),
 * nethermind (AcceptTxResult), besu (TransactionInvalidReason) and erigon (txpoolcfg);
 * ethereum-optimism/optimism #8819, erigontech/erigon #10582, base/base #2347, besu-eth/besu #4739;
 * test/vectors/node-errors.json has those of nine clients.
 */
import type { RefusalRow } from "../providers/broadcasts.ts";

/**
 * The first row that fits decides. An "unknown transaction" is not a known one, an authorisation's
 * nonce (EIP-7702) is not the account's, and "too low" next to a fee is not about a nonce. The
 * error's code does not help: clients use -32000 for most errors.
 */
export const refusals: readonly RefusalRow[] = [
  {
    form: /^(?!.*(?:\bunknown\b|\bblock already\b|\bnot already\b)).*(?:\balready ?known\b|\bknown transaction\b|\balready (?:been )?imported\b|\btransaction already exists\b|\btx already exists\b|\balready exists in cache\b|\balready in (?:the )?(?:mem|tx)?pool\b|\bownnoncealreadyused\b|\balreadyimported\b)/i,
    meaning: "known",
  },
  {
    form: /^(?!.*\b(?:authority|authorization)\b).*(?:\bnonce (?:is )?too low\b|\boldnonce\b|\bnonce has already been used\b|\btransaction nonce is too low\b|\bpool\(stale\)|\bis lower than the current nonce\b|\balready (?:finalized|mined)\b|\bnonce too small\b)/i,
    meaning: "slot-used",
  },
  {
    form: /\binsufficient ?(?:funds|balance|eth)\b|\benough funds\b|\bupfront cost exceeds\b|\black of funds\b/i,
    meaning: "funds",
  },
  // A node's least tip, in wei per gas.
  {
    form: /\b(?:underpriced: )?gas tip cap [0-9]+, minimum needed (?<least>[0-9]{1,30})\b/i,
    meaning: "price",
  },
  {
    form: /\bunderpriced\b|\bcould not replace existing tx\b|\bfee ?too ?low\b|\bfeetoolow(?:tocompete)?\b|\breplacementnotallowed\b|\bless than block base fee\b|\bbelow (?:current|block) base ?fee\b|\bgas price (?:is )?too low\b|\bgas price below\b|\bgas price .{0,80}is too low\b|\bis too low for the next block\b|\bgas tip cap .{0,60}(?:minimum|below)\b|\bpriority fee .{0,60}(?:too low|below|under)\b|\bfee ?cap (?:is )?less than\b|\beffective gas price .{0,60}too low\b/i,
    meaning: "price",
  },
  {
    form: /permission|unauthori[sz]ed|forbidden|not allowed|method .{0,60}(?:not found|not available|not supported|does not exist|disabled)|read[- ]only|api key|(?:still |is |currently )syncing|not synced|sync is (?:still )?in progress|quota|rate limit|too many requests/i,
    meaning: "node",
  },
  {
    form: /exceeds the (?:configured|configuration) cap|fee cap exceeded|exceeds? .{0,40}\btx ?fee ?cap|delegated account|delegator|authority already reserved|address already reserved|conflicting ?type|(?:invalid|wrong|incorrect) ?chain ?id|invalid sender|failed ?to ?resolve ?sender|sender ?is ?(?:a )?contract|sender not an eoa|invalid signature|replay[- ]protected|(?:tx|transaction) ?type.{0,40}not supported|not ?supported ?tx ?type|oversized|max ?tx ?size ?exceeded|input .{0,30}too (?:large|big)|exceeds (?:the )?(?:block|transaction) gas limit|gas ?limit ?exceeded|gas limit too high|exceeds .{0,40}gas limit|nonce (?:is )?too (?:high|distant|far)|nonce ?too ?(?:far|distant)|nonce ?gap|nonce has max value|account limit exceeded|too many (?:pending )?transactions (?:from|of|for) |(?:sender|account) .{0,30}(?:capacity|limit) (?:reached|exceeded)|spammer|black ?list|block ?list|deny ?list|sanction|not whitelisted|not authori[sz]ed to/i,
    meaning: "bytes",
  },
];

/**
 * True if the text says that the call itself fails on chain, and not that the account lacks funds
 * or the node fails.
 */
export function isRevert(message: string): boolean {
  const text = message.toLowerCase();
  return /revert|vm execution error|invalid opcode/.test(text) && !/insufficient funds/.test(text);
}
