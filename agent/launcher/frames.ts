/**
 * Gives a child its settings and secrets over stdin: parts of u32be length ‖ bytes, one after the
 * other.
 */
import { readFileSync } from "node:fs";
import type { Writable } from "node:stream";
import { fixedBytes, fixedCopy } from "../files/fixed-bytes.ts";

const headerBytes = 4;

/** One part, framed. */
export function frame(bytes: Uint8Array): Uint8Array {
  const framed = fixedBytes(headerBytes + bytes.length);
  new DataView(framed.buffer).setUint32(0, bytes.length);
  framed.set(bytes, headerBytes);
  return framed;
}

/**
 * Writes each part, framed. Wipes the framed copies after the pipe has taken them, or when it never
 * will.
 */
export function handOver(pipe: Writable | null, ...parts: readonly Uint8Array[]): void {
  for (const part of parts) {
    const framed = frame(part);
    pipe?.write(framed, () => framed.fill(0));
  }
}

/**
 * Returns every part from stdin until its end; the caller wipes them. Leaves out a part that was
 * cut.
 */
export function readFrames(): readonly Uint8Array[] {
  const input = readFileSync(0);
  const parts: Uint8Array[] = [];
  for (let at = 0; at + headerBytes <= input.length; ) {
    const end = at + headerBytes + input.readUInt32BE(at);
    if (end > input.length) break;
    parts.push(fixedCopy(input.subarray(at + headerBytes, end)));
    at = end;
  }
  input.fill(0);
  return parts;
}
