/**
 * autoWithdraw and manualWithdraw. A withdrawal is made only once for each orderId, in one database
 * transaction with its reservation and its job; only then the agent is woken. The answer waits a
 * short time for the agent; the agent's answer undoes nothing. Sources: docs/api.md, Automatic and
 * Manual withdrawal; docs/architecture.md section 2.
 */
import { createHash } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import type { Code } from "../../base/codes.ts";
import { parseAddress } from "../../chains/address-forms.ts";
import { payeeOf } from "../../chains/payees.ts";
import { deriveOrderTransactionId } from "../../protocol/identity.ts";
import type { Job } from "../../protocol/messages.ts";
import {
  type Answer,
  dataAnswer,
  isAnswer,
  jsonAnswer,
  problemAnswer,
  renderAnswer,
} from "../answer/answer.ts";
import type { Order, OrderInBatch } from "../answer/body.ts";
import type { Language } from "../answer/language.ts";
import { messageOf } from "../answer/messages.ts";
import { requestWalletReading } from "../balance/balance.ts";
import type { Service } from "../service.ts";
import { hotWalletAddressOn } from "../store/agent-accounts.ts";
import type { PayingAgent } from "../store/agents.ts";
import { agentOfJob } from "../store/jobs.ts";
import type { WithdrawalRow } from "../store/rows.ts";
import { isSigned } from "../store/signatures.ts";
import type { Database } from "../store/store.ts";
import { readWithdrawalState, recordOfOrder } from "../store/transactions.ts";
import { isAllVoid } from "../store/void-attempts.ts";
import { insertWithdrawal } from "../store/withdrawals.ts";
import { type CheckedOrder, checkRefund, checkWithdrawal } from "./checks.ts";
import { makeJob } from "./jobs.ts";
import { checkRenewal, renewalOf } from "./renewal.ts";

/** Whose withdrawal it is, and how its answer is made. */
interface WithdrawalPlace {
  readonly merchant: string;
  readonly mode: "auto" | "manual";
  readonly language: Language;
  readonly write: <T>(fn: (database: Database) => T) => Promise<T>; // resolves when it is durable
}

export interface WithdrawalRequest extends WithdrawalPlace {
  readonly order: Order; // as it was sent
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Hash of the content that must be equal for a repeat to be the same withdrawal. */
export function contentHashOf(
  mode: "auto" | "manual",
  order: Pick<Order, "currency" | "amount" | "address" | "tag">,
): string {
  const content = [mode, order.currency, order.amount, order.address, order.tag];
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}

/** Like `contentHashOf`, for a job: for a sweep and a top-up the deposit address counts. */
export function contentHashOfJob(
  job: Pick<Job, "mode" | "currency" | "amount" | "address" | "depositAddress" | "tag">,
): string {
  const content = [job.mode, job.currency, job.amount, job.depositAddress ?? job.address, job.tag];
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}

interface MadeWithdrawal {
  readonly order: Order; // in the network's spelling
  readonly row: WithdrawalRow;
  readonly newFor: PayingAgent | null; // the agent that got its job; null if the order was known
}

function rowOf(
  service: Service,
  request: WithdrawalPlace,
  order: Order,
  checked: CheckedOrder,
): WithdrawalRow {
  const { merchant, mode } = request;
  const nowMs = service.clock();
  const { lifetimes } = service.config;
  const lifetimeMs =
    mode === "auto" ? lifetimes.withdrawalHours * hourMs : lifetimes.approvalDays * dayMs;
  return {
    id: deriveOrderTransactionId({
      merchant,
      operation: "withdraw",
      orderId: order.orderId,
      renews: order.renew,
    }),
    merchant,
    operation: "withdraw",
    mode,
    orderId: order.orderId,
    contentHash: contentHashOf(mode, order),
    currency: order.currency,
    network: checked.currency.network,
    amount: order.amount,
    units: checked.amountUnits.toString(),
    receiver: order.address === "" ? null : order.address,
    payer: hotWalletAddressOn(checked.agent, checked.currency.network),
    tag: order.tag,
    metadata: order.metadata,
    renews: order.renew,
    refundOf: order.refundOf,
    value: "",
    status: 0,
    stage: mode === "auto" ? "queued" : "awaiting_approval",
    code: "",
    txHash: "",
    feeUnits: "",
    receivedUnits: "0",
    finalBlock: null,
    createdAt: nowMs,
    changedAt: nowMs,
    expiresAt: nowMs + lifetimeMs,
    callbackStatus: 3,
  };
}

/** Clock differences alone never put a ledger this far ahead. */
const ledgerAheadMsMax = 2 * hourMs;

/**
 * True if the agent's ledger is so far ahead that the order would be expired at once, or its clock
 * is unreliable. An order accepted now would end as failed.
 */
function isOverAtOnce({ ledgerAt }: PayingAgent, { createdAt, expiresAt }: WithdrawalRow): boolean {
  return ledgerAt >= expiresAt || ledgerAt - createdAt > ledgerAheadMsMax;
}

/** Makes the row, or finds it if an equal request made it at the same time. */
function make(
  service: Service,
  request: WithdrawalPlace,
  written: Order,
): Promise<MadeWithdrawal | Answer> {
  return request.write((database) => {
    const place = {
      merchant: request.merchant,
      operation: "withdraw",
      orderId: written.orderId,
    } as const;
    const known = recordOfOrder(database, { ...place, renews: written.renew });
    const order = spelled(service, written, known?.network);
    if (known !== undefined) return { order, row: known, newFor: null };
    const renewed = checkRenewal(
      database,
      { ...place, renews: order.renew },
      contentHashOf(request.mode, order),
    );
    if (isAnswer(renewed)) return renewed;
    const checked = checkWithdrawal(database, service.config, request, order);
    if (isAnswer(checked)) return checked;
    const kept = {
      metadata: order.metadata || (renewed?.metadata ?? ""),
      refundOf: order.refundOf || (renewed?.refundOf ?? ""),
    };
    const refund = checkRefund(database, { ...request, ...checked, refundOf: kept.refundOf });
    if (refund !== null) return refund;
    const row = rowOf(service, request, { ...order, ...kept }, checked);
    if (isOverAtOnce(checked.agent, row))
      return problemAnswer("agent_clock_ahead", {}, { "Retry-After": "600" });
    insertWithdrawal(database, row, checked.reserved);
    makeJob(database, checked.agent, row, service.run);
    return { order, row, newFor: checked.agent };
  });
}

/**
 * Waits for the agent's first answer, at most until `withdrawalWaitMs` after the withdrawal was
 * made. For a new withdrawal the wait begins before this returns, so that it misses no answer.
 */
async function awaitAnswer(
  service: Service,
  { row, newFor }: MadeWithdrawal,
): Promise<WithdrawalRow> {
  const { store, waiters, config } = service;
  const waitMs = config.limits.withdrawalWaitMs;
  // An order that was made while this machine's clock was ahead would wait until that time.
  const leftMs = Math.min(waitMs, row.createdAt + waitMs - service.clock());
  if (row.status !== 0 || leftMs <= 0) return row;
  const agent = newFor ?? agentOfJob(store.database, row.id);
  // A locked agent answers no job, even if its link works.
  if (agent !== undefined && agent.lockedCode === "") {
    const awaited = { agent: agent.id, transactionId: row.id };
    if (newFor === null) await waiters.decided(store.database, awaited, leftMs);
    else await waiters.answered(awaited, leftMs);
  }
  return { ...row, ...readWithdrawalState(store.database, row.id) };
}

/**
 * Codes of failures that pass with time: expiry, or a limit on a total. A new order of the same
 * kind may succeed later.
 */
const passing: ReadonlySet<string> = new Set<Code>([
  "JOB_EXPIRED",
  "POLICY_ABOVE_HOUR",
  "POLICY_ABOVE_DAY",
]);

/** The answer for a row. The same row always gives the same answer; only Failed changes it. */
function answerOf(database: Database, row: WithdrawalRow, language: Language): Answer {
  if (row.status === 2) {
    const signed = isSigned(database, row.id);
    // A withdrawal that was signed and still expired is void in every attempt, so none can be paid.
    const retryable = passing.has(row.code) && (!signed || isAllVoid(database, row.id));
    return problemAnswer("withdrawal_failed", {
      transactionId: row.id,
      reason: row.code,
      signed,
      retryable,
      ...renewalOf(database, row),
    });
  }
  const code =
    row.status === 0 && row.stage === "awaiting_approval"
      ? "withdrawal_awaits_approval"
      : "withdrawal_requested";
  return dataAnswer({
    message: messageOf(code, language),
    transactionId: row.id,
    status: row.status,
    stage: row.stage,
    ...renewalOf(database, row),
  });
}

/**
 * Makes the withdrawal of an orderId, or finds the earlier one, and answers 200 or 422 with its
 * transactionId. Answers 400 if nothing was made, 409 if the orderId was used with other content.
 * Harmless to call twice, because the orderId identifies the withdrawal.
 */
export function requestWithdrawal(service: Service, request: WithdrawalRequest): Promise<Answer> {
  return place(service, request, request.order);
}

/**
 * A call with many orders. `owe` gets the number of orders after the first; `fault` makes an answer
 * from an error.
 */
export interface WithdrawalsRequest extends Omit<WithdrawalPlace, "mode"> {
  readonly orders: readonly OrderInBatch[];
  readonly requestId: string;
  readonly owe: (more: number) => void;
  readonly fault: (error: unknown) => Answer;
}

/**
 * Makes up to a hundred automatic withdrawals, each as if it were requested alone: in their order,
 * each completely or not at all, then waits for all together. Answers 200 with the status and body
 * of each. Harmless to call twice.
 */
export async function requestWithdrawals(
  service: Service,
  request: WithdrawalsRequest,
): Promise<Answer> {
  const { orders } = request;
  request.owe(orders.length - 1);
  const one: WithdrawalPlace = { ...request, mode: "auto" };
  const answers: (Answer | Promise<Answer>)[] = [];
  for (const { order } of orders) {
    answers.push(isAnswer(order) ? order : place(service, one, order).catch(request.fault));
    await turn(); // lets other requests run between two orders
  }
  const rendered = (await Promise.all(answers)).map((answer) => renderAnswer(answer, request));
  const texts = rendered.map(
    ({ status, text }, index) =>
      `{"orderId":${JSON.stringify(orders[index]?.orderId ?? "")},"httpStatus":${status},"answer":${text}}`,
  );
  return jsonAnswer(`{"answers":[${texts.join(",")}]}`);
}

/**
 * The order with its address in the only spelling of the network, and with the tag that the address
 * holds; another text, or one with another tag than the order's, stays as it is. A known order
 * keeps its network, even if its currency is no longer configured.
 */
function spelled({ config }: Service, order: Order, knownNetwork: string | undefined): Order {
  const { currency, address } = order;
  const configured = Object.hasOwn(config.currencies, currency)
    ? config.currencies[currency]
    : undefined;
  const network = knownNetwork ?? configured?.network;
  if (network === undefined) return order;
  const payee = payeeOf(network, address);
  if (payee.tag !== "" && order.tag !== "" && payee.tag !== order.tag) return order;
  const parsed = parseAddress(payee.address, network);
  return parsed.ok ? { ...order, address: parsed.address, tag: order.tag || payee.tag } : order;
}

/** Makes the withdrawal of an order, or finds it, and waits for the agent's first answer. */
async function place(service: Service, request: WithdrawalPlace, written: Order): Promise<Answer> {
  const made = await make(service, request, written);
  if (isAnswer(made)) {
    // Coins that came since the last look are counted when the shop asks again.
    const network = service.config.currencies[written.currency]?.network;
    if (made.kind === "code" && made.code === "balance_insufficient" && network !== undefined)
      requestWalletReading(service, request.merchant, network);
    return made;
  }
  const { order, row, newFor } = made;
  if (row.contentHash !== contentHashOf(request.mode, order))
    return problemAnswer("order_id_reused", { transactionId: row.id });
  // Not in the hash: a job that was made before jobs named the deposit brings its withdrawal back
  // without one.
  const refundOf = order.refundOf || (order.renew === "" ? "" : row.refundOf);
  if (row.refundOf !== refundOf) return problemAnswer("order_id_reused", { transactionId: row.id });
  const answered = awaitAnswer(service, made);
  if (newFor !== null) wake(service, row, newFor.id);
  return answerOf(service.store.database, await answered, request.language);
}

function wake(service: Service, row: WithdrawalRow, agent: string): void {
  const { id, orderId, merchant, mode } = row;
  service.log.info(
    { event: "withdrawal-made", transactionId: id, orderId, merchant, mode, agent },
    "withdrawal made",
  );
  service.signals.emit("changed", { transactionId: row.id, isOpen: true });
  service.signals.emit("job", { agent });
}
