/**
 * Gives a child its settings and secrets over stdin: parts of u32be length ‖ bytes, one after the
 * other.
 */
import type { Writable } from "node:stream";
import { allocateFixedBytes, copyToFixedBytes, joinFixedBytes } from "../files/fixed-bytes.ts";
import { readPipe } from "../files/inherited-pipe.ts";

const headerBytes = 4;

/** One part, framed. */
export function encodeFrame(bytes: Uint8Array): Uint8Array {
  const framed = allocateFixedBytes(headerBytes + bytes.length);
  new DataView(framed.buffer).setUint32(0, bytes.length);
  framed.set(bytes, headerBytes);
  return framed;
}

/**
 * Writes each part, framed. Wipes the framed copies after the pipe has taken them, or when it never
 * will.
 */
export function writeFramesAndWipe(pipe: Writable | null, ...parts: readonly Uint8Array[]): void {
  for (const part of parts) {
    const framed = encodeFrame(part);
    pipe?.write(framed, () => framed.fill(0));
  }
}

/**
 * Returns every part from stdin until its end; the caller wipes them. Leaves out a part that was
 * cut.
 */
export function readFrames(): readonly Uint8Array[] {
  let held = allocateFixedBytes(0);
  readPipe(0, (piece) => {
    held = joinFixedBytes(held, piece);
    return null;
  });
  const parts: Uint8Array[] = [];
  const view = new DataView(held.buffer);
  for (let at = 0; at + headerBytes <= held.length; ) {
    const end = at + headerBytes + view.getUint32(at);
    if (end > held.length) break;
    parts.push(copyToFixedBytes(held.subarray(at + headerBytes, end)));
    at = end;
  }
  held.fill(0);
  return parts;
}
