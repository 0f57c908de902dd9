/**
 * Chance that an input decides: each choice is a part of the input, so that a changed byte changes
 * one choice; where the input is used up, its hash goes on.
 */
import { createHash } from "node:crypto";
import { SeededRandom } from "../kit/seeded.ts";

const choiceBytes = 4;

export class InputRandom extends SeededRandom {
  readonly #input: Buffer;
  #at = 0;

  constructor(input: Uint8Array) {
    super(createHash("sha256").update(input).digest().readUInt32LE());
    this.#input = Buffer.from(input);
  }

  override below(limit: number): number {
    if (this.#at + choiceBytes > this.#input.length) return super.below(limit);
    this.#at += choiceBytes;
    return this.#input.readUInt32LE(this.#at - choiceBytes) % limit;
  }
}

/** Input for `choices` of them. */
export function choices(count: number, random: SeededRandom): Uint8Array {
  return Uint8Array.from({ length: choiceBytes * count }, () => random.below(256));
}
