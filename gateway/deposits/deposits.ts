/**
 * createTransactionRequest: one fresh address per request, derived from the agent's xpub; its index is taken in the same transaction
 * that makes the record, so that no two requests ever share one. The same orderId gives the same address for ever.
 * Sources: docs/api.md, Deposit request; docs/keystore.md section 1 (whose addresses).
 */
import { createHash } from "node:crypto";
import { depositAddressOf } from "../../chains/evm/address.ts";
import { transactionIdOf } from "../../protocol/identity.ts";
import { type Answer, data, isAnswer, say } from "../api/answer.ts";
import { type Order, readOrder } from "../api/body.ts";
import type { GatewayCurrency } from "../config.ts";
import type { Service } from "../service.ts";
import type { AgentRow, TransactionRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { checkAmount, liveAgent } from "../withdrawals/checks.ts";

/** @public */
export interface DepositRequest {
  readonly merchant: string;
  readonly body: Uint8Array;
}

const minuteMs = 60_000;

function contentHashOf(order: Order): string {
  return createHash("sha256")
    .update(JSON.stringify([order.currency, order.amount]))
    .digest("hex");
}

function find(database: Database, merchant: string, orderId: string): TransactionRow | undefined {
  const sql = "SELECT * FROM transactions WHERE merchant = ? AND operation = 'deposit' AND orderId = ?";
  return database.get<TransactionRow>(sql, merchant, orderId);
}

interface Fresh {
  readonly agent: AgentRow;
  readonly currency: GatewayCurrency;
  readonly amountUnits: bigint;
}

function insert(service: Service, database: Database, request: DepositRequest, order: Order, fresh: Fresh): TransactionRow {
  const { agent, currency } = fresh;
  const { merchant } = request;
  const nowMs = service.clock();
  const id = transactionIdOf({ merchant, operation: "deposit", orderId: order.orderId });
  const address = depositAddressOf(agent.depositXpub, agent.nextDepositIndex);
  const expiresAt = nowMs + service.config.lifetimes.depositMinutes * minuteMs;
  database.run(
    `INSERT INTO transactions (id, merchant, operation, mode, orderId, contentHash, currency, network, amount, amountUnits,
       receiverAddress, depositAddress, status, stage, createdAt, changedAt, expiresAt)
     VALUES (?, ?, 'deposit', '', ?, ?, ?, ?, ?, ?, ?, ?, 0, 'waiting', ?, ?, ?)`,
    id,
    merchant,
    order.orderId,
    contentHashOf(order),
    currency.id,
    currency.network,
    order.amount,
    fresh.amountUnits.toString(),
    address,
    address,
    nowMs,
    nowMs,
    expiresAt,
  );
  database.run(
    "INSERT INTO depositAddresses (address, agent, addressIndex, transactionId) VALUES (?, ?, ?, ?)",
    address,
    agent.id,
    agent.nextDepositIndex,
    id,
  );
  database.run("UPDATE agents SET nextDepositIndex = nextDepositIndex + 1 WHERE id = ?", agent.id);
  return database.get<TransactionRow>("SELECT * FROM transactions WHERE id = ?", id) as TransactionRow;
}

function make(service: Service, request: DepositRequest, order: Order): TransactionRow | Answer {
  return service.store.write((database) => {
    const known = find(database, request.merchant, order.orderId);
    if (known !== undefined) return known;
    const amount = checkAmount(service.config, order, "minPaymentAmount");
    if ("kind" in amount) return amount;
    const agent = liveAgent(database, request.merchant);
    if ("kind" in agent) return agent;
    const networks = JSON.parse(agent.networks) as readonly string[];
    if (!networks.includes(amount.currency.network)) return say("currency_not_payable", { field: "currency" });
    return insert(service, database, request, order, { agent, ...amount });
  });
}

/**
 * Makes the deposit request, or finds the one this orderId made before; 400 when nothing was made, 409 when the orderId was used
 * with other content. Calling twice is harmless.
 * @public
 */
export function requestDeposit(service: Service, request: DepositRequest): Answer {
  const order = readOrder(request.body, { address: "none", tag: false });
  if (isAnswer(order)) return order;
  const known = find(service.store.database, request.merchant, order.orderId);
  const row = known ?? make(service, request, order);
  if (isAnswer(row)) return row;
  if (row.contentHash !== contentHashOf(order)) return say("order_id_reused", { transactionId: row.id });
  if (known === undefined) service.signals.emit("changed", { transactionId: row.id });
  return data({
    address: row.depositAddress,
    amount: row.amount,
    tag: row.tag,
    transactionId: row.id,
    currency: row.currency,
    network: row.network,
    expiresAt: new Date(row.expiresAt).toISOString(),
  });
}
