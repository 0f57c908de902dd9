/**
 * Mutants of the gateway's orders and jobs: one withdrawal per order, one job per withdrawal, in
 * one transaction.
 */
import type { Mutant } from "./mutant.ts";

const withdrawals = "gateway/withdrawals/withdrawals.ts";

export const orderMutants: readonly Mutant[] = [
  {
    name: "job-in-a-transaction-of-its-own",
    file: withdrawals,
    find: `  return request.write((database) => {
    const place = { merchant: request.merchant, operation: "withdraw", orderId: written.orderId } as const;
    const known = recordOfOrder(database, { ...place, renews: written.renew });
    const order = spelled(service, written, known?.network);
    if (known !== undefined) return { order, row: known, newFor: null };
    const renewed = checkRenewal(database, { ...place, renews: order.renew }, contentHashOf(request.mode, order));
    if (isAnswer(renewed)) return renewed;
    const checked = checkWithdrawal(database, service.config, request, order);
    if (isAnswer(checked)) return checked;
    const kept = { metadata: order.metadata || (renewed?.metadata ?? ""), refundOf: order.refundOf || (renewed?.refundOf ?? "") };
    const refund = checkRefund(database, { ...request, ...checked, refundOf: kept.refundOf });
    if (refund !== null) return refund;
    const row = rowOf(service, request, { ...order, ...kept }, checked);
    if (isOverAtOnce(checked.agent, row)) return problemAnswer("agent_clock_ahead", {}, { "Retry-After": "600" });
    insertWithdrawal(database, row, checked.reserved);
    makeJob(database, checked.agent, row, service.run);
    return { order, row, newFor: checked.agent };
  });`,
    replace: `  const agents: PayingAgent[] = [];
  const made = request.write<MadeWithdrawal | Answer>((database) => {
    const place = { merchant: request.merchant, operation: "withdraw", orderId: written.orderId } as const;
    const known = recordOfOrder(database, { ...place, renews: written.renew });
    const order = spelled(service, written, known?.network);
    if (known !== undefined) return { order, row: known, newFor: null };
    const renewed = checkRenewal(database, { ...place, renews: order.renew }, contentHashOf(request.mode, order));
    if (isAnswer(renewed)) return renewed;
    const checked = checkWithdrawal(database, service.config, request, order);
    if (isAnswer(checked)) return checked;
    const kept = { metadata: order.metadata || (renewed?.metadata ?? ""), refundOf: order.refundOf || (renewed?.refundOf ?? "") };
    const refund = checkRefund(database, { ...request, ...checked, refundOf: kept.refundOf });
    if (refund !== null) return refund;
    const row = rowOf(service, request, { ...order, ...kept }, checked);
    if (isOverAtOnce(checked.agent, row)) return problemAnswer("agent_clock_ahead", {}, { "Retry-After": "600" });
    insertWithdrawal(database, row, checked.reserved);
    agents.push(checked.agent);
    return { order, row, newFor: checked.agent };
  });
  return made.then((done) => {
    for (const agent of agents) {
      if (!isAnswer(done)) service.store.write((database) => makeJob(database, agent, done.row, service.run));
    }
    return done;
  });`,
    invariant:
      "A crash between two commits leaves a withdrawal without a job: promised, and never asked of the agent (liveness).",
    when: ({ rates }) => rates.gatewayDies + rates.commitFails > 0,
  },
  {
    name: "id-not-from-the-order",
    file: withdrawals,
    find: 'id: deriveOrderTransactionId({ merchant, operation: "withdraw", orderId: order.orderId, renews: order.renew }),',
    replace: `id: deriveOrderTransactionId({ merchant, operation: "withdraw", orderId: \`\${order.orderId} \${nowMs}\` }),`,
    invariant:
      "An order's id is new each time it is made, so a restored gateway could ask for one order under two ids (truth).",
  },
  {
    name: "other-content-same-answer",
    file: withdrawals,
    find: '  if (row.contentHash !== contentHashOf(request.mode, order)) return problemAnswer("order_id_reused", { transactionId: row.id });\n',
    replace: "",
    invariant:
      "An orderId that comes again with another amount is answered as if that were on its way (truth).",
    when: ({ rates }) => rates.ordersAltered > 0,
  },
  {
    name: "no-answer-is-a-failure",
    file: withdrawals,
    find: "  if (row.status === 2) {",
    replace: '  if (row.status === 2 || row.stage === "queued") {',
    invariant:
      "A merchant whose agent does not answer in time is told that the withdrawal failed, and it is paid later (truth).",
  },
];
