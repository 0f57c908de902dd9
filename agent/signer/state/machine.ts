/**
 * The states of a withdrawal and the steps between them. Touches nothing.
 *
 * Rows are states, columns are steps, a dot is a step that must not happen there. From `released`
 * on, the steps intent, signed and released are those of a later version (same slot, higher fee)
 * and move nothing; included to broadcast is a reorganisation. Held to held is a delay that is
 * over, where policy finds another reason to hold. An intent that a start judges again and would
 * not let through is held on its slot: quarantined, and never signed without a yes. An opened
 * ledger (opening.ts) begins with what was bound as quarantined: policy judges it anew at the
 * greeting. Its approval leads back to intent, signed or released, as far as its versions had come;
 * a no of policy leaves it for a person. Where versions end by waiting and every one is dead, what
 * is released, broadcast or quarantined goes to expired as well (`endsUnpaid`), and so does a sweep
 * that a person ended since the chain cannot reach its slot. Paid, reverted,
 * lost and cancelled are the courier's word, and another may take their place, until the gateway
 * has said that the withdrawal ended (`isOver`). Until then its slot can still get versions, and an
 * end of a version that is dead by both words leads back to released, or to where a person's yes is
 * missing. A quarantined one gets cancels alone.
 *
 * state      approved  held  refused  expired  intent     signed     released   broadcast  included  paid  reverted  lost  cancelled
 * requested  approved  held  refused  expired  .          .          .          .          .         .     .         .     .
 * held       approved  held  refused  expired  .          .          .          .          .         .     .         .     .
 * approved   .         .     refused  expired  intent     .          .          .          .         .     .         .     .
 * intent     .         quarantined .  .        intent     signed     .          .          .         .     .         .     .
 * signed     .         .     .        .        .          .          released   .          .         .     .         .     .
 * released   .         .     .        .        released   released   released   broadcast  included  paid  reverted  lost  cancelled
 * broadcast  .         .     .        .        broadcast  broadcast  broadcast  broadcast  included  paid  reverted  lost  cancelled
 * included   .         .     .        .        included   included   included   broadcast  included  paid  reverted  lost  cancelled
 * paid       .         .     .        .        paid       paid       paid       .          .         paid  reverted  lost  cancelled
 * reverted   .         .     .        .        reverted   reverted   reverted   .          .         paid  reverted  lost  cancelled
 * lost       .         .     .        .        lost       lost       lost       .          .         paid  reverted  lost  cancelled
 * refused    .         .     .        .        .          .          .          .          .         .     .         .     .
 * expired    .         .     .        .        .          .          .          .          .         .     .         .     .
 * quarantined .        quarantined .  .        quarantined quarantined quarantined quarantined quarantined paid reverted lost cancelled
 * cancelled  .         .     .        .        cancelled  cancelled  cancelled  .          .         paid  reverted  lost  cancelled
 */
import { invariant } from "../../../protocol/fault.ts";
import type { WithdrawalState } from "../../socket/states.ts";

/**
 * `requested` lasts from a job's record to the decision in the same write; a crash between the two
 * leaves it to the next start.
 * @public
 */
export type State = "requested" | WithdrawalState;

/** @public */
export type Step = Exclude<State, "requested" | "quarantined">;

type Row = Readonly<Partial<Record<Step, State>>>;

const ends: Row = { paid: "paid", reverted: "reverted", lost: "lost", cancelled: "cancelled" };
const seen: Row = { broadcast: "broadcast", included: "included", ...ends };

/** A state that further versions of the slot leave as it is. */
function versionsIn(state: State): Row {
  return { intent: state, signed: state, released: state };
}

const machine: Readonly<Record<State, Row>> = {
  requested: { approved: "approved", held: "held", refused: "refused", expired: "expired" },
  held: { approved: "approved", held: "held", refused: "refused", expired: "expired" },
  approved: { refused: "refused", expired: "expired", intent: "intent" },
  intent: { held: "quarantined", intent: "intent", signed: "signed" },
  signed: { released: "released" },
  released: { ...seen, ...versionsIn("released") },
  broadcast: { ...seen, ...versionsIn("broadcast") },
  included: { ...seen, ...versionsIn("included") },
  paid: { ...ends, ...versionsIn("paid") },
  reverted: { ...ends, ...versionsIn("reverted") },
  lost: { ...ends, ...versionsIn("lost") },
  refused: {},
  expired: {},
  quarantined: {
    ...{ ...ends, ...versionsIn("quarantined") },
    ...{ held: "quarantined", broadcast: "quarantined", included: "quarantined" },
  },
  cancelled: { ...ends, ...versionsIn("cancelled") },
};

/**
 * Ends of what was never signed.
 * @public
 */
export const unsignedEnds: ReadonlySet<State> = new Set(["refused", "expired"]);
/** Ends. */
export const ended: ReadonlySet<State> = new Set([...unsignedEnds, "paid", "reverted", "lost", "cancelled"]);
/** From here a withdrawal may end unpaid, where all its versions are dead. */
export const unpaidEnds: ReadonlySet<State> = new Set(["released", "broadcast", "quarantined"]);
const bound: ReadonlySet<State> = new Set(["intent", "signed", "released", "broadcast", "included", "quarantined"]);

/**
 * Every state in the order of the drawing.
 * @public
 */
export const states = Object.keys(machine) as readonly State[];

/**
 * The state after a step, or null when the step must not happen there.
 * @public
 */
export function step(state: State, by: Step): State | null {
  return machine[state][by] ?? null;
}

/**
 * No step leads to anything but another end. Of an end on chain this is the courier's word alone.
 * @public
 */
export function isFinal(state: State): boolean {
  return ended.has(state);
}

/**
 * The slot is bound and its fate is open.
 * @public
 */
export function isUnfinished(state: State): boolean {
  return bound.has(state);
}

/**
 * The step that an observation asks for. A final one names its outcome.
 * @public
 */
export function observedStep(
  stage: "broadcast" | "included" | "final", // dead is no step: it is said of a version
  outcome: "" | "paid" | "reverted" | "lost" | "cancelled",
): Step {
  if (stage !== "final") return stage;
  invariant(outcome !== "", "a final observation has an outcome");
  return outcome;
}
