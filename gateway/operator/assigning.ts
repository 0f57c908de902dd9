/**
 * Assigns an outgoing transaction to the withdrawal that it paid, for a payment that gateway and
 * agent have both forgotten: the chain has the payment, and no signature here explains it. The shop
 * hears Completed. An operator names both, and the audit table keeps the reason.
 */
import { type Refusal, refuse } from "../../base/fault.ts";
import { openWatcher } from "../../chains/connect.ts";
import type { Payment } from "../../chains/family.ts";
import type { EndingTransaction, Judgement } from "../../chains/nodes.ts";
import type { GatewayConfig } from "../config/config.ts";
import { readSecretFile } from "../config/secret-file.ts";
import { catchUpStates, notCaughtUpReason } from "../recovery/catch-up.ts";
import { listSendersFrom } from "../store/agents.ts";
import {
  insertAssigned,
  readAssignedPayment,
  withdrawalOfAssignedPayment,
} from "../store/assigned-payments.ts";
import { recordAct } from "../store/audit.ts";
import { agentOfJob, isUnplaced, markAnswered } from "../store/jobs.ts";
import { outgoingOf } from "../store/outgoing-transactions.ts";
import { keepRecall } from "../store/recalls.ts";
import type { OutgoingRow } from "../store/rows.ts";
import { isSigned, withdrawalOfAttempt } from "../store/signatures.ts";
import type { Database } from "../store/store.ts";
import {
  readTransactionWithMerchant,
  type WithdrawalWithMerchant,
} from "../store/transaction-lists.ts";
import { isAllVoid } from "../store/void-attempts.ts";
import { completeAssigned } from "../store/withdrawals.ts";
import { nodeLog } from "../watcher/node-log.ts";
import { heldStage } from "../withdrawals/holds.ts";
import type { OperatorContext } from "./accounts.ts";
import { makeLog } from "./command.ts";

export interface PaymentAssignment {
  readonly txHash: string;
  readonly reason: string;
}

/** Asks the chain's nodes whether a final transaction made exactly this payment. */
export type OutgoingPaymentJudge = (payment: Payment, txHash: string) => Promise<Judgement>;

interface Candidate {
  readonly ok: true;
  readonly row: WithdrawalWithMerchant;
  readonly outgoing: OutgoingRow;
  readonly payment: Payment; // as the withdrawal asks for it, in the transaction's slot
}

type AssignmentResult = { readonly ok: true; readonly row: WithdrawalWithMerchant } | Refusal;

/**
 * Assigns the transaction `txHash` to the withdrawal `id`. A withdrawal that failed becomes
 * Completed at once, and so does one whose job has no place yet, as it waits at this gateway alone.
 * Another open one becomes Completed once its agent has ended it, so that the agent cannot pay it
 * as well: an unsigned one is recalled, and one with void attempts waits for the agent's operator.
 * Harmless to call twice with the same transaction. Refuses GATEWAY_UNKNOWN_RECORD. Refuses
 * GATEWAY_AGENT_NOT_CAUGHT_UP while the agent may still tell that the transaction paid another
 * withdrawal. Refuses GATEWAY_NOT_ASSIGNED for a withdrawal that is Completed or has an attempt
 * that a block may take, and for a transaction that is not final, is explained, or differs from the
 * withdrawal in network, wallet, receiver, contract or amount. After a refusal nothing is written.
 * @throws AgentError NODE_* if the nodes do not answer, or do not agree
 */
export async function assignPayment(
  by: OperatorContext,
  config: GatewayConfig,
  id: string,
  { txHash, reason }: PaymentAssignment,
  judge: OutgoingPaymentJudge = askChain(config),
): Promise<AssignmentResult> {
  const read = by.store.database;
  const found = candidateOf(by, read, config, id, txHash);
  if (!("outgoing" in found)) return found;
  const judged = await judge(found.payment, found.outgoing.txHash);
  if (judged.kind !== "completed")
    return no(`${txHash} is not exactly this payment, as the nodes say now (${judged.kind})`);
  return by.store.writeIfOk((database) => {
    const still = candidateOf(by, database, config, id, txHash);
    if (!("outgoing" in still)) return still;
    keep(database, by, still, judged.final);
    recordAct(database, {
      at: by.nowMs,
      actor: by.actor,
      act: "payment assigned",
      subject: id,
      detail: `${still.outgoing.txHash}: ${reason}`,
    });
    return { ok: true, row: readTransactionWithMerchant(database, "withdraw", id) ?? still.row };
  });
}

const no = (words: string): Refusal => refuse("GATEWAY_NOT_ASSIGNED", words);

function keep(
  database: Database,
  { nowMs }: OperatorContext,
  { row, outgoing }: Candidate,
  { feeUnits }: EndingTransaction,
): void {
  const { network, account, txHash, block } = outgoing;
  const assigned = {
    transactionId: row.id,
    network,
    account,
    txHash,
    block,
    feeUnits: `${feeUnits}`,
    at: nowMs,
  };
  insertAssigned(database, assigned);
  // A job without a place is with no agent, so nobody else can end the order, and nobody pays it.
  const isWithoutAgent = isUnplaced(database, row.id);
  if (isWithoutAgent) markAnswered(database, row.id, nowMs);
  if (row.status === 2 || isWithoutAgent) completeAssigned(database, assigned, nowMs);
  else if (!isSigned(database, row.id)) keepRecall(database, row.id, nowMs);
}

/** The withdrawal and the transaction if they fit, or the withdrawal alone if this is done. */
function candidateOf(
  { run }: OperatorContext,
  database: Database,
  config: GatewayConfig,
  id: string,
  asTyped: string,
): Candidate | AssignmentResult {
  const row = readTransactionWithMerchant(database, "withdraw", id);
  if (row === undefined) return refuse("GATEWAY_UNKNOWN_RECORD");
  const outgoing =
    outgoingOf(database, row.network, asTyped) ??
    outgoingOf(database, row.network, asTyped.toLowerCase());
  const assigned = readAssignedPayment(database, id);
  if (assigned !== undefined) {
    if (assigned.txHash === outgoing?.txHash) return { ok: true, row };
    return no(`${assigned.txHash} was assigned to it`);
  }
  const problem = orderProblem(database, row);
  if (problem !== null) return no(problem);
  if (outgoing === undefined)
    return no(`no final transaction of a hot wallet on ${row.network} has this hash`);
  const { network, account, slot, contract } = outgoing;
  const differs = paymentProblem(database, config, row, outgoing);
  if (differs !== null) return no(differs);
  const own = agentOfJob(database, id);
  // A released agent may know more than this database only if it was released before it caught up.
  const released = own !== undefined && own.caughtUp === catchUpStates.given ? [own] : [];
  for (const agent of [...listSendersFrom(database, account, network), ...released]) {
    const behind = notCaughtUpReason(agent, run);
    if (behind !== null) return refuse("GATEWAY_AGENT_NOT_CAUGHT_UP", behind);
  }
  const payment = {
    network,
    account,
    slot,
    contract,
    destination: row.receiver ?? "",
    tag: row.tag,
    amountUnits: BigInt(row.units),
  };
  return { ok: true, row, outgoing, payment };
}

function orderProblem(database: Database, row: WithdrawalWithMerchant): string | null {
  if (row.status === 1) return "the withdrawal is Completed already";
  // A forgotten attempt may have followed void ones, and the chain decides nothing about those.
  if (isSigned(database, row.id) && !isAllVoid(database, row.id))
    return "the withdrawal was signed here: the chain decides its end";
  if (row.status === 0 && row.stage === heldStage && !isUnplaced(database, row.id))
    return "its agent has signed the withdrawal and waits: recover the agent first (docs/recovering.md, section 4), then name the payment";
  if (row.receiver === null)
    return "the withdrawal has no receiver's address yet: its agent names it";
  if (row.status === 0 && agentOfJob(database, row.id)?.unpairedAt !== null)
    return "no paired agent can refuse the withdrawal, so it may still be paid";
  return null;
}

function paymentProblem(
  database: Database,
  config: GatewayConfig,
  row: WithdrawalWithMerchant,
  outgoing: OutgoingRow,
): string | null {
  const { txHash, account, receiver, tag, contract, units } = outgoing;
  const owner =
    withdrawalOfAttempt(database, outgoing) ?? withdrawalOfAssignedPayment(database, outgoing);
  if (owner !== undefined) return `${txHash} paid ${owner}`;
  if (account !== row.payer)
    return `${account} made it, and the withdrawal is paid from ${row.payer}`;
  const wanted = contractOf(config, row);
  if (wanted === null) return `the configuration does not have ${row.currency} any more`;
  if (receiver !== row.receiver)
    return `the transaction paid ${receiver || "nobody"}, and the withdrawal is for ${row.receiver}`;
  if (tag !== row.tag)
    return `the transaction names the tag ${tag || "of nobody"}, and the withdrawal is for ${row.tag || "no tag"}`;
  if (contract !== wanted)
    return `the transaction moved ${contract || "the native coin"}, and the withdrawal is in ${row.currency}`;
  if (units !== row.units)
    return `the transaction paid ${units} base units, and the withdrawal is for ${row.units}`;
  return null;
}

/**
 * The contract of a withdrawal's currency, "" for the native coin; null if nothing configures it.
 */
function contractOf(
  config: GatewayConfig,
  { currency, network }: WithdrawalWithMerchant,
): string | null {
  const known = config.currencies[currency];
  return known === undefined || known.network !== network ? null : known.contract;
}

function askChain(config: GatewayConfig): OutgoingPaymentJudge {
  return async (payment, txHash) => {
    const named = Object.entries(config.chains).find(
      ([, chain]) => chain.network === payment.network,
    );
    if (named === undefined) return { kind: "waiting" };
    const reader = openWatcher({
      chain: named[1],
      readSecretFile,
      log: nodeLog(makeLog("error"), named[0]),
    });
    try {
      return await reader.pass(await reader.finalTip()).judge(payment, [txHash], "");
    } finally {
      reader.close();
    }
  };
}
