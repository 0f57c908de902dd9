/**
 * Answers of the service about callback targets.
 * `npm run client -- --types` makes this file from /openapi.json; change nothing here by hand.
 * The service may add fields at any time, so ignore an unknown field. Amounts are decimal strings;
 * times are ISO 8601 in UTC.
 */

/** The merchant's callback targets, oldest first. */
export interface CallbackTargets {
  /** At most 16. */
  readonly callbacks: readonly CallbackTarget[];
}

/** A callback target. */
export interface CallbackTarget {
  /** Identifier of the callback target. */
  readonly callbackId: string;
  /** An https address of the shop's server that takes a POST. */
  readonly url: string;
  /** The events that it gets; all if it is empty. */
  readonly events: readonly string[];
  /** `paused`: its events wait. `off`: it answered 410, and gets no events. */
  readonly state: "active" | "paused" | "off";
  /** When it was added. ISO 8601, UTC, milliseconds. */
  readonly createdAt: string;
  /** The number of deliveries that wait. */
  readonly waiting: number;
  /** The number of deliveries that were given up in the last 60 days. */
  readonly givenUp: number;
  /** When it last took an event; empty if never. */
  readonly succeededAt: string;
  /** When a try last failed; empty if never. */
  readonly failedAt: string;
  /** The HTTP status of that try; 0 without an answer. */
  readonly failedStatus: number;
  /** The reason why that try had no answer; empty if it had one. */
  readonly failedReason: string;
}

/** A callback target that was added. */
export interface CreatedTarget {
  /** Identifier of the callback target. */
  readonly callbackId: string;
  /** Verifies the signatures of this target's callbacks. No other answer has it. */
  readonly secret: string;
  /** An https address of the shop's server that takes a POST. */
  readonly url: string;
  /** The events that it gets; all if it is empty. */
  readonly events: readonly string[];
}

/** A callback target that was removed. */
export interface RemovedTarget {
  /** Identifier of the callback target. */
  readonly callbackId: string;
  /** The number of records whose callbacks were given up. */
  readonly recordsGivenUp: number;
}

/** A test event that is being sent. */
export interface TestSent {
  /** Identifier of the callback target. */
  readonly callbackId: string;
  /** The `webhook-id` of the test. */
  readonly messageId: string;
}

/** Deliveries that are sent again. */
export interface Redelivery {
  /** Identifier of the callback target. */
  readonly callbackId: string;
  /** The time from which events count; empty for all. */
  readonly since: string;
  /** The number of deliveries that are sent again. */
  readonly deliveries: number;
  /** The number that stays given up, because too many wait. */
  readonly left: number;
}
