/**
 * The mutants of the small model: the rule that each leaves out, the sentence it must break, and
 * the events it needs for that. Each stands for a line of the protocol or of the operator's rule;
 * without it the search must find a way to break the sentence. Touches nothing.
 */

import type { Grain } from "./reduction.ts";

/** The sentences, each checked at the step that could break it. */
export type Sentence =
  | "paid twice" // two released signatures of one withdrawal have different tokens
  | "token shared" // two withdrawals have released signatures with one token
  | "released unheard" // bytes left though no commit of the gateway ever held their record
  | "acknowledged unheld" // the gateway signed for a record whose token its table does not have
  | "signed after rollback" // a restored ledger signed though the gateway had acknowledged more
  | "signed while behind" // a signature although the gateway had told this run that it went back
  | "not on disk" // the key was used before INTENT, or bytes left before SIGNED, was on disk
  // one ledger binds a withdrawal to a second token, or a token to a second withdrawal
  | "bound anew";

/**
 * A step that was found: the state it leads to, in words what happened, and the sentence it breaks.
 */
export type Found = (next: Uint16Array, name: () => string, broken: Sentence | null) => void;

/** Which events may happen, each once: a smaller configuration has fewer. */
export interface Events {
  readonly rollback: boolean; // an agent's ledger goes back to any earlier prefix
  readonly restore: boolean; // the gateway's database goes back to any earlier state
  readonly copy: boolean; // any earlier prefix of the state folder is run beside the original
  // the operator releases the agent, another server with the same wallet pairs
  readonly other: boolean;
  readonly again: boolean; // an agent pairs again with the same keys
}

/** All of them. */
export const allEvents: Events = { rollback: true, restore: true, copy: true, other: true, again: true };

const none: Events = { rollback: false, restore: false, copy: false, other: false, again: false };

/** One protection less. `events` is the smallest configuration in which it matters. */
export interface Mutant {
  readonly name: MutantName;
  readonly without: string; // in words
  readonly breaks: Sentence;
  readonly events: Events;
  /** As little as possible is taken apart, so that the reductions are tried as well. */
  readonly grain: Grain;
}

function mutant(name: MutantName, breaks: Sentence, grain: Grain, events: Partial<Events>, without: string): Mutant {
  return { name, without, breaks, grain, events: { ...none, ...events } };
}

/** Names that the rules ask for. */
export type MutantName =
  | "no-release-gate"
  | "ack-of-any-ledger"
  | "ack-covers-all"
  | "no-echo"
  | "no-epoch"
  | "released-agent-served"
  | "behind-ignored"
  | "old-welcome-of-run"
  | "welcome-of-other-run"
  | "signed-not-synced"
  | "intent-not-synced"
  | "lock-in-memory"
  | "nonce-anew-after-crash"
  | "version-with-new-nonce"
  | "adopt-with-tokens"
  | "tokens-not-unique"
  | "ack-before-commit"
  | "gap-taken"
  | "fork-taken"
  | "takeover-unheard"
  | "both-restored";

/** Every mutant, in the order of the way of a withdrawal. */
export const mutants: readonly Mutant[] = [
  mutant("adopt-with-tokens", "bound anew", "fine", {}, "a first counter is taken although tokens exist"),
  mutant("intent-not-synced", "not on disk", "fine", {}, "the key is used before INTENT is on disk"),
  mutant("nonce-anew-after-crash", "bound anew", "fine", {}, "a recorded INTENT is not signed again, a new nonce is chosen"),
  mutant("version-with-new-nonce", "bound anew", "fine", {}, "a dearer version takes the next nonce"),
  mutant("signed-not-synced", "not on disk", "fine", {}, "statement and release do not wait for SIGNED on disk"),
  mutant("no-release-gate", "paid twice", "coarse", { rollback: true }, "bytes leave without an acknowledgement"),
  mutant("ack-of-any-ledger", "paid twice", "coarse", { copy: true }, "the hash in an acknowledgement is not compared"),
  mutant("ack-covers-all", "released unheard", "coarse", {}, "an acknowledgement releases what lies after it as well"),
  mutant("no-echo", "signed after rollback", "coarse", { rollback: true }, "the welcome's echo is not compared with the ledger"),
  mutant(
    "welcome-of-other-run",
    "signed after rollback",
    "coarse",
    { rollback: true },
    "a welcome need not answer this run's number",
  ),
  mutant("behind-ignored", "signed while behind", "whole", { restore: true }, "an echo behind what was acknowledged greets"),
  mutant("old-welcome-of-run", "signed while behind", "whole", { restore: true }, "an older welcome of the run counts again"),
  mutant("lock-in-memory", "paid twice", "whole", { rollback: true, restore: true }, "the lock is no record"),
  mutant("no-epoch", "paid twice", "coarse", { restore: true, copy: true, again: true }, "the gateway serves an older epoch"),
  mutant("released-agent-served", "paid twice", "coarse", { restore: true, other: true }, "the gateway serves a released agent"),
  mutant("tokens-not-unique", "token shared", "whole", { other: true }, "the gateway's table takes a token twice"),
  mutant("ack-before-commit", "released unheard", "coarse", {}, "the gateway acknowledges what it may forget"),
  mutant("gap-taken", "acknowledged unheld", "coarse", { restore: true }, "the gateway takes a statement that leaves a gap"),
  mutant("fork-taken", "paid twice", "coarse", { copy: true }, "the gateway takes a longer statement of another ledger"),
  mutant(
    "takeover-unheard",
    "paid twice",
    "whole",
    { restore: true, other: true },
    "a new agent pairs though a restored gateway lacks payments",
  ),
  mutant(
    "both-restored",
    "paid twice",
    "whole",
    { rollback: true, restore: true },
    "ledger and gateway both forget the same payment",
  ),
];
