/**
 * One line for many requests of one verb, because a line costs both ends as much as its content.
 * Types and their limits.
 */

/** The most requests of one line. */
export const batchRequestsMax = 64;

export type BatchVerb = "sign" | "observed";

/**
 * `bodies` are requests of the verb `of`, from 1 to `batchRequestsMax`. They are carried out in
 * order, each as it would be alone.
 */
export interface BatchRequest<Body> {
  readonly of: BatchVerb;
  readonly bodies: readonly Body[];
}

/** In the order of the bodies; sent after the last answer is ready. */
export interface BatchAnswers<Answer> {
  readonly answers: readonly BatchAnswer<Answer>[];
}

export type BatchAnswer<Answer> =
  | ({ readonly ok: true } & Answer)
  | {
      readonly ok: false;
      readonly code: string;
      readonly detail: string;
      readonly effect: "none" | "done" | "unknown";
    };
