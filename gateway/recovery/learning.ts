/**
 * A withdrawal that a restored database lost, made again from what its agent says it was asked for. The agent's signature vouches for
 * it, and it can name nobody but its own merchant. Runs in the caller's transaction. Source: docs/protocol.md section 8.
 */
import { parseAmount } from "../../protocol/amount.ts";
import { jobHashOf, transactionIdOf, zeroHash } from "../../protocol/identity.ts";
import type { AskedEntry, Job } from "../../protocol/messages.ts";
import { pairedCurrencies } from "../balance/funds.ts";
import type { AgentRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { contentHashOf } from "../withdrawals/withdrawals.ts";

/**
 * Inserts the withdrawal and its job, which stands in no chain and is answered.
 * @returns why it cannot be, "" when it was done
 * @public
 */
export function learnWithdrawal(database: Database, agent: AgentRow, entry: AskedEntry, nowMs: number): string {
  const { transactionId: id, mode, network, orderId, currency, amount, address, tag, issuedAt, expiresAt } = entry;
  if (id !== transactionIdOf({ merchant: agent.merchant, operation: "withdraw", orderId })) return `${id} is not its order's id`;
  const paired = pairedCurrencies(agent).find((each) => each.id === currency);
  if (paired === undefined || paired.network !== network) return `${id} is in ${currency}, which was not paired`;
  const units = parseAmount(amount, paired.decimal);
  if (!units.ok) return `${id} asks for an amount of no such currency`;
  if (mode === "auto" && address === "") return `${id} asks for an automatic payment to nobody`;
  const contentHash = contentHashOf(mode, { currency, amount, address, tag });
  database.run(
    `INSERT INTO transactions (id, merchant, operation, mode, orderId, contentHash, currency, network, amount, amountUnits,
       receiverAddress, depositAddress, tag, status, stage, createdAt, changedAt, expiresAt)
     VALUES (?, ?, 'withdraw', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 'awaiting_approval', ?, ?, ?)`,
    ...[id, agent.merchant, mode, orderId, contentHash, currency, network, amount, units.units.toString(), address],
    ...[agent.hotAddress, tag, issuedAt, nowMs, expiresAt],
  );
  const job: Job = {
    ...{ agent: agent.id, wallet: agent.wallet, network, epoch: agent.epoch, sequence: 1, previous: zeroHash },
    ...{ issuedAt, expiresAt, mode, transactionId: id, orderId, currency, amount, address, tag },
  };
  const text = JSON.stringify(job);
  // Places below zero are those of jobs that no chain holds.
  database.run(
    `INSERT INTO jobs (agent, sequence, hash, text, transactionId, answeredAt)
     VALUES (?, (SELECT min(0, coalesce(min(sequence), 0)) - 1 FROM jobs WHERE agent = ?), ?, ?, ?, ?)`,
    ...[agent.id, agent.id, jobHashOf(text), text, id, nowMs],
  );
  return "";
}
