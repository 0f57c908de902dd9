/**
 * Bytes that must never become text: a holder that prints as a mark everywhere and can be wiped.
 * The runtime may have copied the bytes while moving its heap, so wiping narrows the window and
 * does not promise more. docs/keystore.md section 6.
 */
import { AgentError } from "../../protocol/fault.ts";

const mark = "[secret]";

/**
 * Secret bytes. Prints as [secret] through JSON, inspect, templates and concatenation.
 * @public
 */
export class Secret {
  readonly #bytes: Uint8Array;
  #wiped = false;

  /** Takes the buffer over: `wipe` zeroes the caller's bytes. */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** A view, not a copy; zero after `wipe`. @throws AgentError VAULT_LOCKED when wiped */
  get bytes(): Uint8Array {
    if (this.#wiped) throw new AgentError("VAULT_LOCKED", "none", "the keys were wiped from memory");
    return this.#bytes;
  }

  /** Zeroes the bytes. Twice is harmless. */
  wipe(): void {
    this.#wiped = true;
    this.#bytes.fill(0);
  }

  toString(): string {
    return mark;
  }

  toJSON(): string {
    return mark;
  }

  [Symbol.toPrimitive](): string {
    return mark;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return mark;
  }
}
