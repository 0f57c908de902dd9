/**
 * Answers of signer, nodes and chain to the scheduler, each as one function; the scheduler's
 * reports of them, and the reason for which a withdrawal waits.
 */
import { listWaitingItems } from "../../agent/courier/scheduler/waiting.ts";
import type { BroadcastMeaning } from "../../chains/nodes.ts";
import { type Driver, hashOf, idOf, only } from "./scheduler-views.ts";

export const gasFor = (driver: Driver, sequence: number) =>
  driver.feed({
    kind: "gas",
    transactionId: idOf(sequence),
    answer: { ok: true, gasLimit: 21_000n },
  });

export const revertFor = (driver: Driver, sequence: number) =>
  driver.feed({
    kind: "gas",
    transactionId: idOf(sequence),
    answer: { ok: false, code: "NODE_WOULD_REVERT", effect: "none", wouldRevert: true },
  });

/** The answer about the same transfer to the hot wallet itself. */
export const ownTransferFor = (driver: Driver, sequence: number, isRefused: boolean) =>
  driver.feed({
    kind: "gas",
    transactionId: idOf(sequence),
    isOwn: true,
    answer: isRefused
      ? { ok: false, code: "NODE_WOULD_REVERT", effect: "none", wouldRevert: true }
      : { ok: true, gasLimit: 40_000n },
  });

export const refused = (verb: "sign" | "replace" | "observed", sequence: number, code: string) =>
  ({
    kind: "answered",
    verb,
    transactionId: idOf(sequence),
    answer: { ok: false, code, effect: "none" },
  }) as const;

const standings = {
  sent: { standing: "taken", meaning: "" },
  unsent: { standing: "unsent", meaning: "" },
  doubtful: { standing: "doubtful", meaning: "" },
  "slot-used": { standing: "refused", meaning: "slot-used" },
  price: { standing: "refused", meaning: "price" },
  expired: { standing: "refused", meaning: "expired" },
} as const;

/** What the one node said to the bytes. */
export const sent = (
  driver: Driver,
  sequence: number,
  said: keyof typeof standings | "misread" = "sent",
  attempt = 1,
  text = "",
) => {
  const of = { transactionId: idOf(sequence), attempt };
  if (said === "misread") return driver.feed({ kind: "misread", ...of, detail: text });
  return driver.feed({
    kind: "sent",
    ...of,
    answers: [{ node: "http://one", ...standings[said], text }],
  });
};

/** Every node that was asked refused the bytes. */
export const declined = (
  driver: Driver,
  sequence: number,
  text: string,
  meaning: BroadcastMeaning | "",
  attempt = 1,
) =>
  driver.feed({
    kind: "sent",
    transactionId: idOf(sequence),
    attempt,
    answers: [{ node: "http://one", standing: "refused", meaning, text }],
  });

export const look = (
  driver: Driver,
  sequence: number,
  block: number | null,
  attempt = 1,
  isDoubtful = false,
) =>
  driver.feed({
    kind: "looked",
    chain: "local",
    found: [
      {
        transactionId: idOf(sequence),
        location:
          block === null
            ? null
            : { txHash: hashOf(sequence, attempt), block, blockHash: `0x${block}` },
        isDoubtful,
      },
    ],
  });

export const confirm = (
  driver: Driver,
  sequence: number,
  outcome: "paid" | "reverted" | "moved" | "cancelled",
) =>
  driver.feed({
    kind: "confirmed",
    chain: "local",
    found: [
      {
        transactionId: idOf(sequence),
        chainOutcome: { outcome, txHash: hashOf(sequence, 1), block: 9 },
      },
    ],
  });

/** The bodies of the chain's observations among the requests to the signer. */
export const observedBody = (effects: ReturnType<Driver["feed"]>) =>
  only(effects, "ask").flatMap((effect) => (effect.verb === "observed" ? [effect.body] : []));

/** Why it waits, in the words of `status`. */
export const whyOf = (driver: Driver, sequence: number) =>
  listWaitingItems(driver.scheduler).find((one) => one.transactionId === idOf(sequence))?.why;
