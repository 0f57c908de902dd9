/**
 * The states of a withdrawal and the steps between them. Touches nothing.
 *
 * Rows are states, columns are steps, and a dot is a step that must not happen there. From
 * `released` on, the steps intent, signed and released belong to a later attempt (same slot, higher
 * fee) and move nothing. Included to broadcast is a reorganisation. Held to held is the end of a
 * delay after which policy finds another reason to hold.
 *
 * A start judges each intent again. After a refusal of policy, the withdrawal is held on its slot:
 * quarantined, and never signed without a yes. A recovered ledger (recovered-ledger.ts) begins with
 * every withdrawal that has a slot as quarantined, and policy judges each again at the handshake.
 * An approval leads back to intent, signed or released, as far as the attempts had come; after a
 * refusal of policy, an operator decides.
 *
 * With exclusion by expiry, a released, broadcast or quarantined withdrawal whose attempts are all
 * void also goes to expired (`endsUnpaid`). So does a sweep that an operator ended because the
 * chain cannot reach its slot.
 *
 * Paid, reverted, conflicted, cancelled and moved are the courier's statements, and another may
 * replace them until the gateway has confirmed the end (`isOver`). Until then the slot can still
 * get attempts. If the attempt of a reported end is void by both statements, the withdrawal goes
 * back to released, or to quarantined if an operator's yes is missing. A quarantined withdrawal
 * gets only cancels.
 *
 * state        approved  held         refused  expired  intent       signed       released     broadcast    included     paid  reverted  conflicted  cancelled  moved
 * requested    approved  held         refused  expired  .            .            .            .            .            .     .         .           .          .
 * held         approved  held         refused  expired  .            .            .            .            .            .     .         .           .          .
 * approved     .         .            refused  expired  intent       .            .            .            .            .     .         .           .          .
 * intent       .         quarantined  .        .        intent       signed       .            .            .            .     .         .           .          .
 * signed       .         .            .        .        .            .            released     .            .            .     .         .           .          .
 * released     .         .            .        .        released     released     released     broadcast    included     paid  reverted  conflicted  cancelled  moved
 * broadcast    .         .            .        .        broadcast    broadcast    broadcast    broadcast    included     paid  reverted  conflicted  cancelled  moved
 * included     .         .            .        .        included     included     included     broadcast    included     paid  reverted  conflicted  cancelled  moved
 * paid         .         .            .        .        paid         paid         paid         .            .            paid  reverted  conflicted  cancelled  moved
 * reverted     .         .            .        .        reverted     reverted     reverted     .            .            paid  reverted  conflicted  cancelled  moved
 * conflicted   .         .            .        .        conflicted   conflicted   conflicted   .            .            paid  reverted  conflicted  cancelled  moved
 * refused      .         .            .        .        .            .            .            .            .            .     .         .           .          .
 * expired      .         .            .        .        .            .            .            .            .            .     .         .           .          .
 * quarantined  .         quarantined  .        .        quarantined  quarantined  quarantined  quarantined  quarantined  paid  reverted  conflicted  cancelled  moved
 * cancelled    .         .            .        .        cancelled    cancelled    cancelled    .            .            paid  reverted  conflicted  cancelled  moved
 * moved        .         .            .        .        moved        moved        moved        .            .            paid  reverted  conflicted  cancelled  moved
 */
import { invariant } from "../../../base/fault.ts";
import type { WithdrawalState } from "../../socket/states.ts";

/**
 * `requested` lasts from a job's record to the decision in the same write; after a crash between
 * the two, the next start decides.
 */
export type RecordedWithdrawalState = "requested" | WithdrawalState;

export type WithdrawalTransition = Exclude<RecordedWithdrawalState, "requested" | "quarantined">;

type Row = Readonly<Partial<Record<WithdrawalTransition, RecordedWithdrawalState>>>;

const ends: Row = {
  paid: "paid",
  reverted: "reverted",
  conflicted: "conflicted",
  cancelled: "cancelled",
  moved: "moved",
};
const seen: Row = { broadcast: "broadcast", included: "included", ...ends };

/** The row of a state that further attempts of the slot do not change. */
function attemptsIn(state: RecordedWithdrawalState): Row {
  return { intent: state, signed: state, released: state };
}

const machine: Readonly<Record<RecordedWithdrawalState, Row>> = {
  requested: { approved: "approved", held: "held", refused: "refused", expired: "expired" },
  held: { approved: "approved", held: "held", refused: "refused", expired: "expired" },
  approved: { refused: "refused", expired: "expired", intent: "intent" },
  intent: { held: "quarantined", intent: "intent", signed: "signed" },
  signed: { released: "released" },
  released: { ...seen, ...attemptsIn("released") },
  broadcast: { ...seen, ...attemptsIn("broadcast") },
  included: { ...seen, ...attemptsIn("included") },
  paid: { ...ends, ...attemptsIn("paid") },
  reverted: { ...ends, ...attemptsIn("reverted") },
  conflicted: { ...ends, ...attemptsIn("conflicted") },
  refused: {},
  expired: {},
  quarantined: {
    ...ends,
    ...attemptsIn("quarantined"),
    held: "quarantined",
    broadcast: "quarantined",
    included: "quarantined",
  },
  cancelled: { ...ends, ...attemptsIn("cancelled") },
  moved: { ...ends, ...attemptsIn("moved") },
};

/** Ends without a signature. */
export const unsignedEnds: ReadonlySet<RecordedWithdrawalState> = new Set(["refused", "expired"]);
/** Ends. */
export const endedStates: ReadonlySet<RecordedWithdrawalState> = new Set([
  ...unsignedEnds,
  "paid",
  "reverted",
  "conflicted",
  "cancelled",
  "moved",
]);
/** The states from which a withdrawal may end unpaid after all its attempts are void. */
export const unpaidEnds: ReadonlySet<RecordedWithdrawalState> = new Set([
  "released",
  "broadcast",
  "quarantined",
]);
const assigned: ReadonlySet<RecordedWithdrawalState> = new Set([
  "intent",
  "signed",
  "released",
  "broadcast",
  "included",
  "quarantined",
]);

/** Every state in the order of the table. */
export const allStates = Object.keys(machine) as readonly RecordedWithdrawalState[];

/** Returns the state after a step, or null if the step must not happen there. */
export function nextState(
  state: RecordedWithdrawalState,
  by: WithdrawalTransition,
): RecordedWithdrawalState | null {
  return machine[state][by] ?? null;
}

/**
 * True if a state is an end, which only another end can replace. An end on chain is only the
 * courier's statement.
 */
export function isFinal(state: RecordedWithdrawalState): boolean {
  return endedStates.has(state);
}

/** True if the withdrawal has a slot and its fate is open. */
export function isUnfinished(state: RecordedWithdrawalState): boolean {
  return assigned.has(state);
}

/** Returns the step that an observation asks for; a final observation names its outcome. */
export function observedStep(
  stage: "broadcast" | "included" | "final", // "void" is no step: it is about an attempt
  outcome: "" | "paid" | "reverted" | "conflicted" | "cancelled" | "moved",
): WithdrawalTransition {
  if (stage !== "final") return stage;
  invariant(outcome !== "", "a final observation has an outcome");
  return outcome;
}
