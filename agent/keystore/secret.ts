/**
 * Bytes that must never become text, in a holder that prints as a mark everywhere and can be wiped.
 * The runtime may have copied the bytes while it moved its heap, so wiping only shortens the
 * exposure. docs/keystore.md section 6.
 */
import { AgentError } from "../../base/fault.ts";

const mark = "[secret]";

/** Secret bytes. Prints as [secret] through JSON, inspect, templates and concatenation. */
export class Secret {
  readonly #bytes: Uint8Array;
  #wiped = false;

  /** Takes ownership of the buffer: `wipe` zeroes the caller's bytes. */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** A view, not a copy; zero after `wipe`. @throws AgentError VAULT_LOCKED after `wipe` */
  get bytes(): Uint8Array {
    if (this.#wiped)
      throw new AgentError("VAULT_LOCKED", "none", "the keys were wiped from memory");
    return this.#bytes;
  }

  /** Zeroes the bytes. A second call is harmless. */
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
