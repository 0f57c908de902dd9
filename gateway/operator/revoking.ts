/**
 * Ends a deposit that was credited by a payment whose block left the chain: an operator revokes it,
 * or keeps it as it is. The audit table has the reason. A payment that a final block holds again
 * ends it too, without a command (watcher/payments.ts).
 */
import type { Command } from "commander";
import { type Refusal, refuse } from "../../base/fault.ts";
import { commandOfEnd } from "../../base/state-end.ts";
import type { GatewayConfig } from "../config/config.ts";
import { recordAct } from "../store/audit.ts";
import { revokeDeposit, updateDeposit } from "../store/deposits.ts";
import {
  decideGonePayments,
  type GonePayment,
  listGonePaymentsOf,
} from "../store/gone-payments.ts";
import type { DepositRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import {
  type DepositWithMerchant,
  readTransactionWithMerchant,
} from "../store/transaction-lists.ts";
import { refundedUnits } from "../store/transactions.ts";
import { isPaidBy, judgementOf } from "../watcher/payments.ts";
import type { OperatorContext } from "./accounts.ts";
import {
  isOkOrPrintsRefusal,
  type JsonOption,
  printJson,
  printText,
  runInOperatorContext,
} from "./command.ts";
import { amountText, jsonOfRecord, receivedText, statusNames } from "./records.ts";
import { gatewayStateEnds } from "./state-ends.ts";
import { addActorOptions, readRemark } from "./words.ts";

/** A deposit after a decision. */
export interface RevocationResult {
  readonly ok: true;
  readonly row: DepositWithMerchant;
  readonly payments: readonly GonePayment[]; // those that were decided on now; none at a second call
  readonly refundedUnits: bigint; // paid back of it already
}

/**
 * Takes the credit of payments back whose block left the chain. A Completed deposit that lacks them
 * becomes Failed with the stage `reorged`; one whose other payments are enough stays Completed with
 * less received. Harmless to call twice. Refuses GATEWAY_UNKNOWN_RECORD, and GATEWAY_NOT_REORGED
 * for a deposit none of whose payments left the chain.
 */
export function revokeReorgedCredit(
  by: OperatorContext,
  id: string,
  reason: string,
): RevocationResult | Refusal {
  return decide(by, id, reason, "revoked");
}

/**
 * Leaves a deposit as it is, although its payment left the chain: the merchant bears the loss.
 * Harmless to call twice. Refuses as `revokeReorged` does, and a deposit that was revoked.
 */
export function keepReorgedDeposit(
  by: OperatorContext,
  id: string,
  reason: string,
): RevocationResult | Refusal {
  return decide(by, id, reason, "kept");
}

function decide(
  by: OperatorContext,
  id: string,
  reason: string,
  to: "kept" | "revoked",
): RevocationResult | Refusal {
  return by.store.writeIfOk((database): RevocationResult | Refusal => {
    const row = readTransactionWithMerchant(database, "deposit", id);
    if (row === undefined) return refuse("GATEWAY_UNKNOWN_RECORD");
    const gone = listGonePaymentsOf(database, id);
    if (gone.length === 0)
      return refuse("GATEWAY_NOT_REORGED", "no block with a payment of it has left the chain");
    // A kept deposit may be revoked later; a shop that was told of a loss is not told otherwise.
    const due = gone.filter(
      ({ state }) => state === "open" || (state === "kept" && to === "revoked"),
    );
    const isRevoked =
      to === "kept" && due.length === 0 && gone.some(({ state }) => state === "revoked");
    if (isRevoked)
      return refuse(
        "GATEWAY_NOT_REORGED",
        "its payment was revoked: it counts again once a final block holds it",
      );
    decideGonePayments(database, due, to);
    if (due.length > 0) {
      const hashes = due.map(({ txHash }) => txHash).join(" ");
      const done = to === "kept" ? "deposit kept" : "deposit revoked";
      recordAct(database, {
        at: by.nowMs,
        actor: by.actor,
        act: done,
        subject: id,
        detail: `${hashes}: ${reason}`,
      });
      if (to === "revoked") countWithout(database, row, by.nowMs);
    }
    const after = readTransactionWithMerchant(database, "deposit", id) ?? row;
    return { ok: true, row: after, payments: due, refundedUnits: refundedUnits(database, id) };
  });
}

function countWithout(database: Database, row: DepositRow, nowMs: number): void {
  const next = judgementOf(database, row, 0);
  if (row.status === 1 && !isPaidBy(database, row, BigInt(next.receivedUnits)))
    revokeDeposit(database, row.id, { ...next, changedAt: nowMs });
  else updateDeposit(database, row.id, { ...next, changedAt: nowMs });
}

const stateWords = {
  open: "an operator must decide",
  kept: "kept: the deposit counts it all the same",
  revoked: "revoked: it counts again once a final block holds it",
} as const;

/** A payment whose block left, as JSON. */
export function jsonOfGonePayment(config: GatewayConfig, one: GonePayment): object {
  const { txHash, block, currency, units, state } = one;
  const [amount = ""] = amountText(config, currency, units).split(" ");
  return { txHash, currency, amount, block, state };
}

/** Lines about the payments of a deposit whose block left, with the lines to type. */
export function describeGonePayments(
  config: GatewayConfig,
  id: string,
  gone: readonly GonePayment[],
): readonly string[] {
  const lines = gone.map(
    ({ txHash, block, currency, units, state }) =>
      `  left the chain: ${amountText(config, currency, units)}, block ${block}, ${txHash}; ${stateWords[state]}`,
  );
  if (!gone.some(({ state }) => state === "open")) return lines;
  return [
    ...lines,
    `  do: stop the delivery, and look the transaction up in a block explorer; a block that has it again ends this by itself`,
    `      if it does not come again: ${commandOfEnd(gatewayStateEnds.deposits.reorged, { ID: id })}`,
    `      if the loss is accepted:   autowithdraw-gateway deposits keep ${id} --reason TEXT`,
  ];
}

function act(
  id: string,
  { reason, ...options }: JsonOption & { readonly reason: string },
  how: "revoke" | "keep",
): void {
  runInOperatorContext(options, (by, config) => {
    const decided = (how === "revoke" ? revokeReorgedCredit : keepReorgedDeposit)(by, id, reason);
    if (!isOkOrPrintsRefusal(decided)) return;
    const { row, refundedUnits: refunded } = decided;
    const paidBack = amountText(config, row.currency, `${refunded}`);
    if (options.json === true) {
      const payments = decided.payments.map((one) =>
        jsonOfGonePayment(config, { ...one, state: how === "revoke" ? "revoked" : "kept" }),
      );
      printJson({
        ...jsonOfRecord(by, row, config),
        decided: payments,
        paidBack: paidBack.split(" ")[0],
      });
      return;
    }
    const state = statusNames[row.status];
    printText(
      `${how === "revoke" ? "Revoked" : "Kept"} ${id}: it is ${state} (${row.stage}), with ${receivedText(config, row)} received.`,
    );
    if (how === "revoke")
      printText("A payment of it that a final block holds again counts again, by itself and once.");
    if (how === "revoke" && refunded > 0n)
      printText(`Besides: ${paidBack} of it was paid back already, or is on its way.`);
  });
}

/** `deposits revoke` and `deposits keep`. */
export function addDepositDecisionCommands(deposits: Command): void {
  addActorOptions(
    deposits
      .command("revoke")
      .description("take the credit of one back whose payment left the chain: its shop is told")
      .argument("<transactionId>"),
  )
    .requiredOption("--reason <text>", "why, for anybody who looks later", readRemark)
    .action((id, options) => act(id, options, "revoke"));
  addActorOptions(
    deposits
      .command("keep")
      .description("leave one as it is whose payment left the chain: the merchant bears the loss")
      .argument("<transactionId>"),
  )
    .requiredOption("--reason <text>", "why, for anybody who looks later", readRemark)
    .action((id, options) => act(id, options, "keep"));
}
