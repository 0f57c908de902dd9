/**
 * One line for many requests of one verb: a line costs both ends as much as what it says. Types and
 * their limits.
 */

/**
 * Most requests of one line.
 * @public
 */
export const eachMax = 64;

/** @public */
export type EachVerb = "sign" | "observed";

/**
 * `bodies` are requests of the verb `of`, from 1 to `eachMax`. Each is carried out as it would be
 * alone, in their order.
 * @public
 */
export interface EachRequest<Body> {
  readonly of: EachVerb;
  readonly bodies: readonly Body[];
}

/**
 * In the order of the bodies; given when the last of them is there.
 * @public
 */
export interface EachAnswers<Answer> {
  readonly answers: readonly EachAnswer<Answer>[];
}

/** @public */
export type EachAnswer<Answer> =
  | ({ readonly ok: true } & Answer)
  | { readonly ok: false; readonly code: string; readonly detail: string; readonly effect: "none" | "done" | "unknown" };
