/**
 * The ledger before which an account did not exist. An account begins at the number of the ledger
 * in which it was made, so no ledger after that takes one of its transactions with a sequence below
 * (tefPAST_SEQ). The oldest transaction that a node lists only says where to look; the evidence is
 * the account's absence in the ledger before it, agreed by enough nodes. A node without those
 * ledgers says nothing. Touches nodes only through node-wire.ts. Source: xrpl.org, amendment
 * DeletableAccounts, and account_tx.
 */
import { AgentError } from "../../base/fault.ts";
import type { BeginningProof } from "../nodes.ts";
import { slowNodeGraceMs } from "../providers/chain-blocks.ts";
import { agreedAccount } from "./node-accounts.ts";
import type { XrpLedgerReader } from "./node-ledgers.ts";
import { historyQuestion } from "./node-questions.ts";
import type { NodePool, PoolNode } from "./node-wire.ts";

/** A server answers at least so many. */
const oldestMax = 10;
const keptMax = 1_024;

/**
 * Makes the question. Null if the nodes do not show it. An answer is kept, since a later account of
 * the same address begins above it. @throws NODE_CLOSED
 */
export function createBeginningFinder(
  pool: NodePool,
  ledgers: XrpLedgerReader,
): (account: string) => Promise<BeginningProof | null> {
  const known = new Map<string, BeginningProof>();
  return async (account) => {
    const kept = known.get(account);
    if (kept !== undefined) return kept;
    const found = await settled(() => beganOf(pool, ledgers, account));
    if (known.size >= keptMax) known.clear();
    if (found !== null) known.set(account, found);
    return found;
  };
}

async function beganOf(
  pool: NodePool,
  ledgers: XrpLedgerReader,
  account: string,
): Promise<BeginningProof | null> {
  const { number: upTo } = await ledgers.finalHead();
  const told = await pool.all((node) => oldestOf(pool, node, account, upTo), slowNodeGraceMs);
  const oldest = new Set(told.flatMap((one) => (one.ok && one.value > 1 ? [one.value] : [])));
  for (const ledger of [...oldest].sort((a, b) => a - b)) {
    const began = await settled(() => absentBefore(pool, ledgers, account, ledger));
    if (began !== null) return began;
  }
  return null;
}

/** The ledger of the oldest transaction that a node lists of the account, 0 for none. */
async function oldestOf(
  pool: NodePool,
  node: PoolNode,
  account: string,
  upTo: number,
): Promise<number> {
  const question = historyQuestion(
    account,
    { from: -1, to: upTo },
    "oldest first",
    undefined,
    oldestMax,
  );
  const { transactions, unread } = await pool.ask(node, question);
  const listed = [...transactions, ...unread]
    .map(({ ledger }) => ledger)
    .filter((ledger) => ledger > 0);
  return listed.length === 0 ? 0 : Math.min(...listed);
}

async function absentBefore(
  pool: NodePool,
  ledgers: XrpLedgerReader,
  account: string,
  ledger: number,
): Promise<BeginningProof | null> {
  if ((await agreedAccount(pool, account, ledger - 1)) !== null) return null;
  const { timestampMs: absentMs } = await ledgers.agreedHead(ledger - 1);
  return { slot: `${ledger}`, absentMs };
}

/** Null for a fault of the nodes, which proves nothing. */
async function settled<T>(ask: () => Promise<T | null>): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof AgentError) || error.code === "NODE_CLOSED") throw error;
    return null;
  }
}
