/**
 * The room for answers under way, shared by all exchanges of a process: each answer has a bound of
 * its own, and this one bounds their sum. Above it only the answer that grew large first reads on;
 * the others pause until there is room again, each within its own time. Touches nothing.
 */

/** Bytes of all answers under way. The one that reads on above it adds its own bound at most. */
export const answersBytesMax = 64 * 1024 * 1024;
/** The first bytes of each answer pass always, so that small ones wait for nobody. */
const passingBytes = 64 * 1024;

/**
 * The place of one answer.
 * @public
 */
export interface AnswerPlace {
  /** Counts bytes that came. False: nothing more is read until the place is called to go on. */
  take(bytes: number): boolean;
  /** Gives the place back, once nobody needs the bytes any more. Twice is harmless. */
  leave(): void;
}

interface Place {
  bytes: number;
  isPaused: boolean;
  readonly goOn: () => void;
}

/** @public */
export class AnswerRoom {
  readonly #bytesMax: number;
  /** Answers above `passingBytes`, the first to grow so large in front. */
  readonly #large = new Set<Place>();
  #bytes = 0;

  constructor(bytesMax: number = answersBytesMax) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes of all answers under way. */
  get bytes(): number {
    return this.#bytes;
  }

  /** `goOn` is called after each pause, once there is room. */
  enter(goOn: () => void): AnswerPlace {
    const place: Place = { bytes: 0, isPaused: false, goOn };
    return {
      take: (bytes) => {
        place.bytes += bytes;
        this.#bytes += bytes;
        if (place.bytes > passingBytes) this.#large.add(place);
        place.isPaused = !this.#mayGoOn(place);
        return !place.isPaused;
      },
      leave: () => {
        this.#bytes -= place.bytes;
        place.bytes = 0;
        place.isPaused = false;
        this.#large.delete(place);
        this.#callOn();
      },
    };
  }

  #mayGoOn(place: Place): boolean {
    const [first] = this.#large;
    return this.#bytes <= this.#bytesMax || place.bytes <= passingBytes || place === first;
  }

  #callOn(): void {
    for (const place of [...this.#large]) {
      if (!place.isPaused || !this.#mayGoOn(place)) continue;
      place.isPaused = false;
      place.goOn();
    }
  }
}
