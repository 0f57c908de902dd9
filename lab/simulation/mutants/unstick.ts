/**
 * Mutants of what keeps nothing stuck: cancels, a pause, and bytes that are kept until the
 * gateway's last word.
 */
import type { Mutant } from "./mutant.ts";

const peopleHelp: Mutant["when"] = ({ helps }) => helps > 0;

export const unstickMutants: readonly Mutant[] = [
  {
    name: "courier-has-the-last-word",
    file: "agent/signer/state/book.ts",
    find: "    const isClosing = withdrawal.isEndHeard && isOver(withdrawal);",
    replace: "    const isClosing = withdrawal.isEndHeard && isFinal(withdrawal.state);",
    sentence:
      "A courier calls bytes paid that it never sent, the signer forgets them, and their nonce stands still for ever (liveness).",
    when: ({ rates }) => rates.hostileCourier > 0 && rates.poolForgets > 0,
  },
  {
    name: "last-word-not-recorded",
    file: "agent/signer/acts/ack.ts",
    find: '  if (ended.length > 0) commit([{ kind: "ENDED", ended }]);\n',
    replace: "",
    sentence: "What the gateway calls ended is kept for ever (liveness).",
  },
  {
    name: "last-word-never-said",
    file: "gateway/hub/session.ts",
    find: "    const ended = [...this.#untold].slice(0, endedPerAckMax);",
    replace: "    const ended = [...this.#untold].slice(0, 0);",
    sentence: "The gateway never says that anything ended, so every withdrawal stays open at the agent (liveness).",
  },
  {
    name: "signs-while-paused",
    file: "agent/signer/acts/run.ts",
    find: '  return core.paused === null ? null : refuse("SIGNER_PAUSED", core.paused.approver);',
    replace:
      '  return core.paused === null || core.paused.approver !== "" ? null : refuse("SIGNER_PAUSED", core.paused.approver);',
    sentence: "A person stops everything, and payments are signed all the same (people).",
    when: ({ helps, rates }) => helps > 0 && rates.hostileCourier > 0,
  },
  {
    name: "pause-forgotten-in-a-checkpoint",
    file: "agent/signer/state/core.ts",
    find: "      paused: this.#paused,",
    replace: "      paused: null,",
    sentence: "After a new segment and a restart a pause is over without anybody's word (people).",
    when: (plan) => plan.helps > 0 && plan.segmentBytesMax < 10_000 && plan.rates.signerDies + plan.rates.powerFails > 0,
  },
  {
    name: "payment-after-a-cancel",
    file: "agent/signer/acts/replace.ts",
    find: "  const isCancel = isCancelling(withdrawal);",
    replace: "  const isCancel = isCancelling({ versions: withdrawal.versions.slice(0, 0) });",
    sentence: "A person cancels, and the courier's dearer version pays all the same (people).",
    when: peopleHelp,
  },
  {
    name: "courier-takes-a-cancel-for-a-payment",
    file: "chains/evm/node-payer.ts",
    find: "version.isCancel && version.txHash === receipt.txHash",
    replace: "version.isCancel && version.txHash === receipt.blockHash",
    sentence: "What a cancel ended is never told to have ended (liveness).",
    when: peopleHelp,
  },
  {
    name: "gateway-takes-a-cancel-for-a-payment",
    file: "chains/evm/verdict.ts",
    find: '        return { kind: "failed", code: "cancelled", final: endingOf(receipt) };',
    replace: '        return { kind: "completed", final: endingOf(receipt) };',
    sentence: "The shop hears that a payment is completed which was cancelled (truth).",
    when: peopleHelp,
  },
  {
    name: "gateway-does-not-know-a-cancel",
    file: "chains/evm/verdict.ts",
    find: '        return { kind: "failed", code: "cancelled", final: endingOf(receipt) };',
    replace: '        return { kind: "waiting" };',
    sentence: "A cancelled order stays pending for ever (liveness).",
    when: peopleHelp,
  },
];
