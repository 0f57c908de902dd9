/**
 * The trace of one simulated run: every event and every effect goes into one hash, in order, and
 * into readable lines when somebody wants to read. Two runs with the same hash did the same things.
 */

export class Trace {
  readonly lines: string[] | null;
  steps = 0;
  #a = 0x243f6a88;
  #b = 0x85a308d3;

  constructor(isReadable: boolean) {
    this.lines = isReadable ? [] : null;
  }

  /** One event, with what tells it from others; `detail` is made only for readers. */
  note(
    atMs: number,
    who: string,
    what: string,
    mark: string | number = 0,
    detail?: () => string,
  ): void {
    this.steps += 1;
    this.#number(atMs);
    this.#text(who);
    this.#text(what);
    if (typeof mark === "number") this.#number(mark);
    else this.#text(mark);
    if (this.lines === null) return;
    const told = detail === undefined ? String(mark === 0 ? "" : mark) : detail();
    this.lines.push(
      `${(atMs / 1000).toFixed(3).padStart(10)} ${who.padEnd(12)} ${what} ${told}`.trimEnd(),
    );
  }

  /** Sixteen hex digits. */
  get hash(): string {
    return (
      (this.#a >>> 0).toString(16).padStart(8, "0") + (this.#b >>> 0).toString(16).padStart(8, "0")
    ).toLowerCase();
  }

  #number(value: number): void {
    const low = Math.floor(value * 1000) >>> 0;
    this.#a = Math.imul(this.#a ^ low, 0x85ebca6b);
    this.#a ^= this.#a >>> 15;
    this.#b = Math.imul(this.#b + low, 0x9e3779b1) ^ (this.#a >>> 7);
  }

  #text(text: string): void {
    let a = this.#a;
    for (let at = 0; at < text.length; at += 1) a = Math.imul(a ^ text.charCodeAt(at), 0x01000193);
    this.#a = a ^ (a >>> 13);
    this.#b = Math.imul(this.#b ^ a, 0xc2b2ae35) + text.length;
  }
}
