/**
 * `deposits release`: ends the hold of a request that lived in blocks which were given up. Where
 * tags tell payments apart nothing but an operator's word ends it, other than its payment.
 */
import type { Command } from "commander";
import { type Refusal, refuse } from "../../base/fault.ts";
import { lineOf } from "../../base/state-end.ts";
import { hasTags } from "../../chains/payees.ts";
import { recordAct } from "../store/audit.ts";
import { endHoldsOf, isHeldByGap } from "../store/gap-holds.ts";
import { type NamedTransaction, namedTransaction } from "../store/transaction-lists.ts";
import type { Operator } from "./accounts.ts";
import { asOperator, type JsonOption, printJson, printText, requireAllowed } from "./command.ts";
import { gatewayEnds } from "./state-ends.ts";
import { readRemark, withAct } from "./words.ts";

/**
 * Lets a request go that a gap holds which was given up: it expires like each other one. Refuses
 * GATEWAY_UNKNOWN_RECORD, and GATEWAY_DEPOSIT_NOT_HELD for one that no gap holds, also at a second
 * call.
 */
export function releaseDeposit(
  by: Operator,
  id: string,
  reason: string,
): { readonly ok: true } | Refusal {
  return by.store.writeIfOk((database): { readonly ok: true } | Refusal => {
    if (namedTransaction(database, "deposit", id) === undefined)
      return refuse("GATEWAY_UNKNOWN_RECORD");
    if (!endHoldsOf(database, id)) return refuse("GATEWAY_DEPOSIT_NOT_HELD");
    recordAct(database, {
      at: by.nowMs,
      actor: by.actor,
      act: "deposit released",
      subject: id,
      detail: reason,
    });
    return { ok: true };
  });
}

/** Lines about a request that a gap holds, with the lines to type. */
export function heldLines(
  { store }: Operator,
  { id, network }: NamedTransaction,
): readonly string[] {
  if (!isHeldByGap(store.database, id)) return [];
  const held = "  held: it lived in blocks that were given up, and may have been paid in them";
  if (!hasTags(network)) return [`${held}; it goes on once its balance was compared`];
  return [
    held,
    `  do: look for payments with its tag in a block explorer`,
    `      for each that there is: ${lineOf(gatewayEnds.deposits.late, { ID: `${id} --payment HASH` })}`,
    `      if there is none:       ${lineOf(gatewayEnds.gaps.held, { ID: id })}`,
  ];
}

function release(
  id: string,
  { reason, ...options }: JsonOption & { readonly reason: string },
): void {
  asOperator(options, (by) => {
    if (!requireAllowed(releaseDeposit(by, id, reason))) return;
    if (options.json === true) printJson({ transactionId: id, released: true });
    else printText(`Released ${id}: it expires at its end, like each other one.`);
  });
}

export function addRelease(deposits: Command): void {
  withAct(
    deposits
      .command("release")
      .description(
        "let one go that lived in blocks which were given up: no payment came for it in them",
      )
      .argument("<transactionId>"),
  )
    .requiredOption("--reason <text>", "why, for anybody who looks later", readRemark)
    .action(release);
}
