/**
 * Open withdrawals against the chain: gathers evidence for every signed version, lets payout.ts judge, stores all verdicts of a
 * pass in one transaction. A pass asks so much and no more; what is left has its turn in the next ones. A withdrawal that is no
 * longer pending is never touched again.
 * Sources: docs/architecture.md sections 2 and 8.
 */
import type { Block } from "../../chains/evm/answers.ts";
import { AgentError } from "../../protocol/fault.ts";
import { versionsMax } from "../../protocol/payloads.ts";
import type { SignatureRow, TransactionRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { inWaves, raiseAlarm, type Tip, type WatchedChain } from "./chain.ts";
import { type Evidence, type FinalTransaction, judgePayout, type Payout, type Verdict, type VersionEvidence } from "./payout.ts";
import { Turns } from "./turns.ts";

type OpenRow = TransactionRow & Pick<SignatureRow, "version" | "account" | "token"> & { readonly versionHash: string };

interface OpenWithdrawal {
  readonly id: string;
  readonly account: string;
  readonly row: TransactionRow;
  readonly payout: Payout;
  readonly hashes: readonly string[]; // of its versions, oldest first
}

/** What is not in the tables because asking again tells it anew. */
export interface WithdrawalMemory {
  doneKey: string;
  doneAt: number;
  readonly turns: Turns;
  readonly includedIn: Map<string, number>; // block by transaction id
  readonly suspects: Set<string>; // token seen as consumed in the pass before
}

const questionsAtOnce = 64;
const receiptsPerPass = 1024;
const repeatMs = 15_000;

export function newWithdrawalMemory(): WithdrawalMemory {
  return { doneKey: "", doneAt: 0, turns: new Turns(), includedIn: new Map(), suspects: new Set() };
}

function forgetClosed(memory: WithdrawalMemory, open: ReadonlySet<string>): void {
  for (const id of memory.includedIn.keys()) if (!open.has(id)) memory.includedIn.delete(id);
  for (const id of memory.suspects) if (!open.has(id)) memory.suspects.delete(id);
  memory.turns.keep(open);
}

interface Judged {
  readonly one: OpenWithdrawal;
  readonly verdict: Verdict;
}

/**
 * One look at the open withdrawals that have a signature, each in its turn. @throws AgentError NODE_* when some could not be judged;
 * the others were.
 */
export async function checkWithdrawals(chain: WatchedChain, tip: Tip, memory: WithdrawalMemory): Promise<void> {
  const open = readOpen(chain);
  const key = `${tip.head.hash} ${tip.final.hash} ${open.map((one) => `${one.row.id}${one.hashes.length}`).join()}`;
  if (key === memory.doneKey && Math.abs(tip.askedAt - memory.doneAt) < repeatMs) return;
  forgetClosed(memory, new Set(open.map((one) => one.row.id)));
  const turn = memory.turns.take(open, key, receiptsPerPass);
  const facts = factsOf(chain);
  let fault: AgentError | null = null;
  const judged = await inWaves(turn, questionsAtOnce, async (one): Promise<Judged | null> => {
    try {
      return { one, verdict: judgePayout(one.payout, await gather(chain, tip, facts, one)) };
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      fault ??= error;
      return null;
    }
  });
  const known = judged.filter((each) => each !== null);
  memory.doneKey = "";
  const early = known.filter((each) => isEarly(each, memory));
  const late = known.filter((each) => !early.includes(each));
  remember(memory, known);
  const changed = late.length === 0 ? [] : chain.store.write((database) => applyAll(chain, database, late));
  for (const transactionId of changed) chain.signals.emit("changed", { transactionId });
  const isLast = memory.turns.left === 0;
  if (fault !== null || early.length > 0 || isLast) memory.turns.restart();
  if (fault !== null) throw fault;
  if (early.length > 0 || !isLast) return; // the next pass goes on
  memory.doneKey = key;
  memory.doneAt = tip.askedAt;
}

function readOpen(chain: WatchedChain): readonly OpenWithdrawal[] {
  const rows = chain.store.database.all<OpenRow>(
    `SELECT t.*, s.version, s.account, s.token, s.txHash AS versionHash FROM transactions t JOIN signatures s ON s.transactionId = t.id
       WHERE t.operation = 'withdraw' AND t.status = 0 AND t.network = ? AND s.version <= ? ORDER BY t.id, s.version`,
    chain.network,
    versionsMax,
  );
  const open = new Map<string, OpenWithdrawal & { hashes: string[] }>();
  for (const row of rows) {
    const known = open.get(row.id);
    const payout = known === undefined ? payoutOf(chain, row) : known.payout;
    if (payout === null) continue;
    if (known === undefined) open.set(row.id, { id: row.id, account: row.account, row, payout, hashes: [row.versionHash] });
    else known.hashes.push(row.versionHash);
  }
  return [...open.values()];
}

/** Null for a currency the configuration no longer has: nobody can say which contract it was. */
function payoutOf(chain: WatchedChain, row: OpenRow): Payout | null {
  const currency = chain.currencies.find((one) => one.id === row.currency);
  if (currency === undefined) return null;
  return {
    account: row.account,
    nonce: BigInt(row.token),
    contract: currency.contract,
    receiver: row.receiverAddress,
    amountUnits: BigInt(row.amountUnits),
  };
}

/** Questions that many withdrawals of one pass share are asked once. */
interface Facts {
  block(number: number): Promise<Block>;
  finalCount(account: string): Promise<bigint | null>;
}

function factsOf(chain: WatchedChain): Facts {
  const blocks = new Map<number, Promise<Block>>();
  const counts = new Map<string, Promise<bigint | null>>();
  return {
    block: (number) => askOnce(blocks, number, () => chain.reader.block(number, true)),
    finalCount: (account) =>
      askOnce(counts, account, async () => {
        try {
          return (await chain.reader.counters(account)).final;
        } catch (error) {
          // Nodes often differ in their pools; without agreement the count is simply not known.
          if (error instanceof AgentError) return null;
          throw error;
        }
      }),
  };
}

function askOnce<K, V>(known: Map<K, Promise<V>>, key: K, ask: () => Promise<V>): Promise<V> {
  const asked = known.get(key) ?? ask();
  known.set(key, asked);
  return asked;
}

async function gather(chain: WatchedChain, tip: Tip, facts: Facts, one: OpenWithdrawal): Promise<Evidence> {
  const versions = await Promise.all(one.hashes.map((txHash) => gatherVersion(chain, tip, facts, txHash)));
  const isSeen = versions.some((version) => version.includedIn !== null);
  return { versions, finalCount: isSeen ? null : await facts.finalCount(one.payout.account) };
}

async function gatherVersion(chain: WatchedChain, tip: Tip, facts: Facts, txHash: string): Promise<VersionEvidence> {
  const receipt = await chain.reader.receipt(txHash);
  if (receipt === null) return { txHash, includedIn: null, final: null };
  const unproven = { txHash, includedIn: receipt.blockNumber, final: null };
  if (receipt.blockNumber > tip.final.number) return unproven;
  const agreed = await chain.reader.finalReceipt(txHash);
  if (agreed === null) return unproven;
  const block = await facts.block(agreed.blockNumber);
  const transaction = block.transactions.find((each) => each.hash === txHash);
  if (block.hash !== agreed.blockHash || transaction === undefined) return unproven;
  return { txHash, includedIn: agreed.blockNumber, final: { receipt: agreed, transaction } };
}

/** A node that lags behind the counter it was asked for looks the same for a moment: it is said only when it lasts. */
function isEarly({ one, verdict }: Judged, memory: WithdrawalMemory): boolean {
  return verdict.kind === "stuck" && verdict.code === "WATCHER_TOKEN_CONSUMED" && !memory.suspects.has(one.row.id);
}

function remember(memory: WithdrawalMemory, judged: readonly Judged[]): void {
  for (const { one, verdict } of judged) {
    if (verdict.kind === "confirming") memory.includedIn.set(one.row.id, verdict.block);
    else memory.includedIn.delete(one.row.id);
    if (verdict.kind === "stuck") memory.suspects.add(one.row.id);
    else memory.suspects.delete(one.row.id);
  }
}

/** The ids of the rows that changed. */
function applyAll(chain: WatchedChain, database: Database, judged: readonly Judged[]): readonly string[] {
  return judged.filter(({ one, verdict }) => applyVerdict(chain, database, one.row, verdict)).map(({ one }) => one.row.id);
}

/**
 * Stores a verdict; nothing happens to a withdrawal that is final by now. True when the row changed.
 * Runs inside the caller's transaction; `row` may be older than the table.
 */
export function applyVerdict(chain: WatchedChain, database: Database, row: TransactionRow, verdict: Verdict): boolean {
  switch (verdict.kind) {
    case "completed":
      return end(chain, database, row, { status: 1, stage: "completed", code: "", final: verdict.final });
    case "failed":
      raiseAlarm(chain, database, "WATCHER_PAYMENT_FAILED", row.id, `${verdict.code} by ${verdict.final.receipt.txHash}`);
      return end(chain, database, row, { status: 2, stage: "failed", code: verdict.code, final: verdict.final });
    case "stuck":
      raiseAlarm(chain, database, verdict.code, row.id, verdict.detail);
      return move(chain, database, row.id, "stuck", "");
    case "confirming":
      return move(chain, database, row.id, "confirming", verdict.txHash);
    case "waiting": {
      // A block with the payment in it may vanish again. Stuck stays until the chain says more.
      return row.stage === "confirming" && move(chain, database, row.id, "broadcast", "");
    }
  }
}

function move(chain: WatchedChain, database: Database, id: string, stage: string, txHash: string): boolean {
  const { changes } = database.run(
    "UPDATE transactions SET stage = ?, txHash = ?, changedAt = ? WHERE id = ? AND status = 0 AND (stage <> ? OR txHash <> ?)",
    stage,
    txHash,
    chain.clock(),
    id,
    stage,
    txHash,
  );
  return changes > 0;
}

interface Ending {
  readonly status: 1 | 2;
  readonly stage: string;
  readonly code: string;
  readonly final: FinalTransaction;
}

function end(chain: WatchedChain, database: Database, row: TransactionRow, ending: Ending): boolean {
  const { receipt } = ending.final;
  const { changes } = database.run(
    `UPDATE transactions SET status = ?, stage = ?, code = ?, txHash = ?, feeUnits = ?, finalBlock = ?, changedAt = ?
       WHERE id = ? AND status = 0`,
    ending.status,
    ending.stage,
    ending.code,
    receipt.txHash,
    (receipt.gasUsed * receipt.effectiveGasPrice).toString(),
    receipt.blockNumber,
    chain.clock(),
    row.id,
  );
  const fields = { id: row.id, txHash: receipt.txHash, code: ending.code };
  if (changes > 0) chain.log.info({ event: "withdrawal-ended", ...fields }, `withdrawal ${ending.stage}`);
  return changes > 0;
}
