/** Errors of rippled by name, number and words. Source: xrpl.org, error formatting. */
import type { Json } from "./codecs.ts";

/** An answer of rippled whose status is "error". */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly answer: Json;

  constructor(error: string, code: number, message: string, more: Json = {}) {
    super(message);
    this.answer = { error, error_code: code, error_message: message, ...more };
  }
}
