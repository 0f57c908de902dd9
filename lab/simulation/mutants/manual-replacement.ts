/**
 * Mutants of what keeps nothing stuck: cancels, a pause, and bytes that are kept until the
 * gateway's last word.
 */
import type { Mutant } from "./mutant.ts";

const actorsHelp: Mutant["when"] = ({ helps }) => helps > 0;

export const manualReplacementMutants: readonly Mutant[] = [
  {
    name: "courier-has-the-last-word",
    file: "agent/signer/state/withdrawals.ts",
    find: "    const isClosing = withdrawal.isEndReceived && isOver(withdrawal);",
    replace: "    const isClosing = withdrawal.isEndReceived && isFinal(withdrawal.state);",
    invariant:
      "A courier calls bytes paid that it never sent, the signer forgets them, and their nonce stands still permanently (liveness).",
    when: ({ rates }) => rates.hostileCourier > 0 && rates.poolForgets > 0,
  },
  {
    name: "last-word-not-recorded",
    file: "agent/signer/handlers/ack.ts",
    find: '  if (ended.length > 0) commit([{ kind: "ENDED", ended }]);\n',
    replace: "",
    invariant: "What the gateway calls ended is kept permanently (liveness).",
  },
  {
    name: "last-word-never-said",
    file: "gateway/hub/session.ts",
    find: "    const ended = [...this.#ended].slice(0, endedPerAckMax);",
    replace: "    const ended = [...this.#ended].slice(0, 0);",
    invariant:
      "The gateway never says that anything ended, so every withdrawal stays open at the agent (liveness).",
  },
  {
    name: "signs-while-paused",
    file: "agent/signer/handlers/context.ts",
    find: '  return core.paused === null ? null : refuse("SIGNER_PAUSED", core.paused.approver);',
    replace:
      '  return core.paused === null || core.paused.approver !== "" ? null : refuse("SIGNER_PAUSED", core.paused.approver);',
    invariant: "An operator stops everything, and payments are signed all the same (people).",
    when: ({ helps, rates }) => helps > 0 && rates.hostileCourier > 0,
  },
  {
    name: "pause-forgotten-in-a-checkpoint",
    file: "agent/signer/state/stops.ts",
    find: "    return { paused: this.#paused, stopped",
    replace: "    return { paused: null, stopped",
    invariant: "After a new segment and a restart a pause is over without anybody's word (people).",
    when: (plan) =>
      plan.helps > 0 &&
      plan.segmentBytesMax < 10_000 &&
      plan.rates.signerDies + plan.rates.powerFails > 0,
  },
  {
    name: "payment-after-a-cancel",
    file: "agent/signer/handlers/replace.ts",
    find: "  const isCancel = isCancelling(withdrawal);",
    replace: "  const isCancel = isCancelling({ attempts: withdrawal.attempts.slice(0, 0) });",
    invariant:
      "An operator cancels, and the courier's replacement with a higher fee pays all the same (people).",
    when: actorsHelp,
  },
  {
    name: "courier-takes-a-cancel-for-a-payment",
    file: "chains/evm/node-sender.ts",
    find: "attempt.isCancel && attempt.txHash === receipt.txHash",
    replace: "attempt.isCancel && attempt.txHash === receipt.blockHash",
    invariant: "What a cancel ended is never told to have ended (liveness).",
    when: actorsHelp,
  },
  {
    name: "gateway-takes-a-cancel-for-a-payment",
    file: "chains/evm/outcome.ts",
    find: '        return { kind: "failed", code: "cancelled", final: endingOf(receipt) };',
    replace: '        return { kind: "completed", final: endingOf(receipt) };',
    invariant: "The shop learns that a payment is completed which was cancelled (truth).",
    when: actorsHelp,
  },
  {
    name: "gateway-does-not-know-a-cancel",
    file: "chains/evm/outcome.ts",
    find: '        return { kind: "failed", code: "cancelled", final: endingOf(receipt) };',
    replace: '        return { kind: "waiting" };',
    invariant: "A cancelled order stays pending permanently (liveness).",
    when: actorsHelp,
  },
];
