/**
 * autoWithdraw and manualWithdraw: a withdrawal is made once for ever per orderId, in one database transaction with its reservation
 * and its job, and only then is the agent woken. The answer waits a little for the agent's word; whatever it says, nothing is undone.
 * Sources: docs/api.md, Automatic and Manual withdrawal; docs/architecture.md section 2.
 */
import { createHash } from "node:crypto";
import { transactionIdOf } from "../../protocol/identity.ts";
import { type Answer, data, isAnswer, say } from "../api/answer.ts";
import { type Order, readOrder } from "../api/body.ts";
import type { Language } from "../api/language.ts";
import { messageOf } from "../api/messages.ts";
import type { Service } from "../service.ts";
import type { AgentRow, TransactionRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { type Checked, checkWithdrawal } from "./checks.ts";
import { appendJob } from "./jobs.ts";

/** @public */
export interface WithdrawalRequest {
  readonly merchant: string;
  readonly mode: "auto" | "manual";
  readonly body: Uint8Array;
  readonly language: Language;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/**
 * What has to be equal for a repeat to be the same withdrawal.
 * @public
 */
export function contentHashOf(mode: "auto" | "manual", order: Pick<Order, "currency" | "amount" | "address" | "tag">): string {
  const content = [mode, order.currency, order.amount, order.address, order.tag];
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}

function find(database: Database, merchant: string, orderId: string): TransactionRow | undefined {
  const sql = "SELECT * FROM transactions WHERE merchant = ? AND operation = 'withdraw' AND orderId = ?";
  return database.get<TransactionRow>(sql, merchant, orderId);
}

interface Made {
  readonly row: TransactionRow;
  readonly isNew: boolean;
}

function insert(database: Database, row: TransactionRow): void {
  database.run(
    `INSERT INTO transactions (id, merchant, operation, mode, orderId, contentHash, currency, network, amount, amountUnits,
       receiverAddress, depositAddress, tag, status, stage, createdAt, changedAt, expiresAt)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)`,
    row.id,
    row.merchant,
    row.operation,
    row.mode,
    row.orderId,
    row.contentHash,
    row.currency,
    row.network,
    row.amount,
    row.amountUnits,
    row.receiverAddress,
    row.depositAddress,
    row.tag,
    row.stage,
    row.createdAt,
    row.changedAt,
    row.expiresAt,
  );
}

function rowOf(service: Service, request: WithdrawalRequest, order: Order, checked: Checked): TransactionRow {
  const { merchant, mode } = request;
  const nowMs = service.clock();
  const { lifetimes } = service.config;
  const lifetimeMs = mode === "auto" ? lifetimes.withdrawalHours * hourMs : lifetimes.approvalDays * dayMs;
  return {
    id: transactionIdOf({ merchant, operation: "withdraw", orderId: order.orderId }),
    merchant,
    operation: "withdraw",
    mode,
    orderId: order.orderId,
    contentHash: contentHashOf(mode, order),
    currency: order.currency,
    network: checked.currency.network,
    amount: order.amount,
    amountUnits: checked.amountUnits.toString(),
    receiverAddress: order.address,
    depositAddress: checked.agent.hotAddress,
    tag: order.tag,
    status: 0,
    stage: mode === "auto" ? "queued" : "awaiting_approval",
    code: "",
    txHash: "",
    feeUnits: "",
    amountReceivedUnits: "0",
    finalBlock: null,
    createdAt: nowMs,
    changedAt: nowMs,
    expiresAt: nowMs + lifetimeMs,
  };
}

/** Looks again inside the transaction: of two equal requests at once, one makes the row and the other finds it. */
function make(service: Service, request: WithdrawalRequest, order: Order): Made | Answer {
  return service.store.write((database) => {
    const known = find(database, request.merchant, order.orderId);
    if (known !== undefined) return { row: known, isNew: false };
    const checked = checkWithdrawal(database, service.config, request, order);
    if (isAnswer(checked)) return checked;
    const row = rowOf(service, request, order, checked);
    insert(database, row);
    appendJob(database, checked.agent, row, row.createdAt);
    return { row, isNew: true };
  });
}

/** The agent that holds this withdrawal's job. */
function agentOf(database: Database, transactionId: string): AgentRow | undefined {
  const sql = "SELECT agents.* FROM agents JOIN jobs ON jobs.agent = agents.id WHERE jobs.transactionId = ?";
  return database.get<AgentRow>(sql, transactionId);
}

/** Waits for the agent's first answer, at most until `withdrawalWaitMs` after the withdrawal was made. */
async function awaitAnswer(service: Service, row: TransactionRow): Promise<TransactionRow> {
  const { store, waiters, config } = service;
  if (row.status !== 0) return row;
  const agent = agentOf(store.database, row.id);
  const leftMs = row.createdAt + config.limits.withdrawalWaitMs - service.clock();
  // An agent that stands still answers no job, however well its link does.
  if (agent !== undefined && agent.lockedCode === "")
    await waiters.decided(store.database, { agent: agent.id, transactionId: row.id }, leftMs);
  return store.database.get<TransactionRow>("SELECT * FROM transactions WHERE id = ?", row.id) ?? row;
}

/** The same row gives the same answer, whenever and however often it is asked; only Failed changes it. */
function answerOf(database: Database, row: TransactionRow, language: Language): Answer {
  if (row.status === 2) {
    const signed = database.get("SELECT 1 FROM signatures WHERE transactionId = ? LIMIT 1", row.id);
    return say("withdrawal_failed", { transactionId: row.id, reason: row.code, retryable: signed === undefined });
  }
  const code = row.status === 0 && row.stage === "awaiting_approval" ? "withdrawal_awaits_approval" : "withdrawal_requested";
  return data({ message: messageOf(code, language), transactionId: row.id, status: row.status, stage: row.stage });
}

/**
 * Makes the withdrawal, or finds the one this orderId made before, and answers 200 or 422 with its transactionId; 400 when nothing
 * was made, 409 when the orderId was used with other content. Calling twice is harmless: that is what orderId is for.
 * @public
 */
export async function requestWithdrawal(service: Service, request: WithdrawalRequest): Promise<Answer> {
  const order = readOrder(request.body, { address: request.mode === "auto" ? "required" : "optional", tag: true });
  if (isAnswer(order)) return order;
  const known = find(service.store.database, request.merchant, order.orderId);
  const made = known === undefined ? make(service, request, order) : { row: known, isNew: false };
  if (isAnswer(made)) return made;
  const { row, isNew } = made;
  if (row.contentHash !== contentHashOf(request.mode, order)) return say("order_id_reused", { transactionId: row.id });
  if (isNew) wake(service, row);
  const answered = await awaitAnswer(service, row);
  return answerOf(service.store.database, answered, request.language);
}

function wake(service: Service, row: TransactionRow): void {
  const agent = agentOf(service.store.database, row.id);
  const { id, merchant, mode } = row;
  service.log.info({ event: "withdrawal-made", transactionId: id, merchant, mode, agent: agent?.id }, "withdrawal made");
  service.signals.emit("changed", { transactionId: row.id });
  if (agent !== undefined) service.signals.emit("job", { agent: agent.id });
}
