/**
 * Answers of signer, nodes and chain to the desk, each as one function; the desk's reports of them,
 * and the reason for which a withdrawal waits.
 */
import { waiting } from "../../agent/courier/desk/desk.ts";
import { type Driver, hashOf, idOf, only } from "./desk-views.ts";

export const gasFor = (driver: Driver, sequence: number) =>
  driver.feed({ kind: "gas", transactionId: idOf(sequence), answer: { ok: true, gasLimit: 21_000n } });

export const revertFor = (driver: Driver, sequence: number) =>
  driver.feed({
    kind: "gas",
    transactionId: idOf(sequence),
    answer: { ok: false, code: "NODE_WOULD_REVERT", effect: "none", wouldRevert: true },
  });

export const refused = (verb: "sign" | "replace" | "observed", sequence: number, code: string) =>
  ({ kind: "answered", verb, transactionId: idOf(sequence), answer: { ok: false, code, effect: "none" } }) as const;

export const sent = (
  driver: Driver,
  sequence: number,
  outcome: "sent" | "unsent" | "misread" | "slot-consumed" = "sent",
  version = 1,
) => driver.feed({ kind: "sent", transactionId: idOf(sequence), version, outcome, detail: "" });

/** Every node that was asked refused the bytes. */
export const declined = (driver: Driver, sequence: number, detail: string, isIncurable: boolean, version = 1) =>
  driver.feed({ kind: "sent", transactionId: idOf(sequence), version, outcome: "declined", detail, isIncurable });

export const look = (driver: Driver, sequence: number, block: number | null, version = 1, isDoubtful = false) =>
  driver.feed({
    kind: "looked",
    chain: "local",
    found: [
      {
        transactionId: idOf(sequence),
        place: block === null ? null : { txHash: hashOf(sequence, version), block, blockHash: `0x${block}` },
        isDoubtful,
      },
    ],
  });

export const confirm = (driver: Driver, sequence: number, outcome: "paid" | "reverted" | "moved" | "cancelled") =>
  driver.feed({
    kind: "confirmed",
    chain: "local",
    found: [{ transactionId: idOf(sequence), verdict: { outcome, txHash: hashOf(sequence, 1), block: 9 } }],
  });

/** The bodies of the chain's observations among the requests to the signer. */
export const observedBody = (effects: ReturnType<Driver["feed"]>) =>
  only(effects, "ask").flatMap((effect) => (effect.verb === "observed" ? [effect.body] : []));

/** Why it waits, in the words of `status`. */
export const whyOf = (driver: Driver, sequence: number) =>
  waiting(driver.desk).find((one) => one.transactionId === idOf(sequence))?.why;
