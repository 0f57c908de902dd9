/**
 * The memory for answers under way, shared by all exchanges of a process. Each answer has a bound
 * of its own; this bound is for their sum. Above it, only the answer that grew large first is read
 * further. The others pause until there is room again, each within its own time limit. Touches
 * nothing.
 */

/** Bytes of all answers under way. The answer that reads on above it adds its own bound at most. */
export const answersBytesMax = 64 * 1024 * 1024;
/** The first bytes of each answer always pass, so small answers never wait. */
const passingBytes = 64 * 1024;

/** The place of one answer. */
export interface AnswerPlace {
  /** Counts received bytes. False: nothing more is read until the call to go on. */
  take(bytes: number): boolean;
  /** Gives the memory back when the bytes are no longer needed. May be repeated without harm. */
  leave(): void;
}

interface Place {
  bytes: number;
  isPaused: boolean;
  readonly goOn: () => void;
}

export class AnswerRoom {
  readonly #bytesMax: number;
  /** Answers above `passingBytes`, with the first that grew so large in front. */
  readonly #large = new Set<Place>();
  #bytes = 0;

  constructor(bytesMax: number = answersBytesMax) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes of all answers under way. */
  get bytes(): number {
    return this.#bytes;
  }

  /** `goOn` is called after each pause, when there is room. */
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
