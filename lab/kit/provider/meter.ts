/**
 * Counts what a provider is asked and says when a limit of calls, a quota, a send or a body is in
 * trouble. By counts and repeatable numbers alone, but for the two limits of time, which go by the
 * clock that it is given.
 */
import type { BodyTrouble, Limit, Profile, Refusal, SendTrouble } from "./profile.ts";
import { wordsOf } from "./profile.ts";

/** A refusal with the words that are sent. */
export interface WordedRefusal {
  readonly refusal: Refusal;
  readonly words: string;
}

export function refusedBy({ most, refusal }: Limit, asked: number): WordedRefusal {
  return { refusal, words: wordsOf(refusal, most, asked) };
}

export class Meter {
  readonly #profile: Profile;
  readonly #clock: () => number; // milliseconds
  #requests = 0;
  #random = 1;
  #second = { at: -1, calls: 0 };
  #window = { from: Number.NEGATIVE_INFINITY, calls: 0 };
  #quietUntil = 0;
  refused = 0; // calls, by any limit

  constructor(profile: Profile, clock: () => number) {
    this.#profile = profile;
    this.#clock = clock;
  }

  /** Counts one HTTP request; its number. */
  begin(): number {
    this.#requests += 1;
    return this.#requests - 1;
  }

  /** Counts calls against rate, quota and batch; null where all of them hold. */
  admit(calls: number): WordedRefusal | null {
    const { batchCalls, perSecond, quota } = this.#profile.limits ?? {};
    const refused =
      (batchCalls !== undefined && calls > batchCalls.most ? refusedBy(batchCalls, calls) : null) ??
      (perSecond === undefined ? null : this.#paced(perSecond, calls)) ??
      (quota === undefined ? null : this.#rationed(quota, calls));
    if (refused !== null) this.refused += calls;
    return refused;
  }

  #paced(
    limit: NonNullable<NonNullable<Profile["limits"]>["perSecond"]>,
    calls: number,
  ): WordedRefusal | null {
    const now = this.#clock();
    const at = Math.floor(now / 1_000);
    this.#second =
      at === this.#second.at ? { at, calls: this.#second.calls + calls } : { at, calls };
    const isTooMany = this.#second.calls > limit.most;
    if (isTooMany) this.#quietUntil = Math.max(this.#quietUntil, now + (limit.quietS ?? 0) * 1_000);
    return isTooMany || now < this.#quietUntil ? refusedBy(limit, this.#second.calls) : null;
  }

  #rationed(
    limit: NonNullable<NonNullable<Profile["limits"]>["quota"]>,
    calls: number,
  ): WordedRefusal | null {
    const now = this.#clock();
    if (now - this.#window.from >= limit.windowS * 1_000) this.#window = { from: now, calls: 0 };
    this.#window = { ...this.#window, calls: this.#window.calls + calls };
    return this.#window.calls > limit.most ? refusedBy(limit, this.#window.calls) : null;
  }

  /** The trouble of the body of one request. */
  trouble(): BodyTrouble | null {
    const { body } = this.#profile;
    return body !== undefined && this.#strikes(body.every) ? body : null;
  }

  /** Counts a send; its trouble, or null. */
  send(): SendTrouble | null {
    const { sends } = this.#profile;
    return sends !== undefined && this.#strikes(sends.every) ? sends : null;
  }

  /**
   * Once in so many, by Park and Miller's generator: a strict count would strike the same of
   * several questions that come in the same order again and again.
   */
  #strikes(every: number): boolean {
    this.#random = (this.#random * 48_271) % 2_147_483_647;
    return this.#random % every === 0;
  }
}
