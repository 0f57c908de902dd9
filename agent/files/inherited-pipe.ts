/**
 * Reads secrets from a pipe that the parent process gave. The runtime's stream reads each piece
 * into memory of its own and frees it unwiped, so these reads go into one block that is wiped.
 */
import { readSync } from "node:fs";
import { allocateFixedBytes } from "./fixed-bytes.ts";

const blockBytes = 65_536;

/** The parent may be late; the read is tried again after this time. */
const pauseMs = 2;
const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/**
 * Gives each piece to `take` until it returns a value other than null, and returns the value; null
 * if the pipe ends before. `take` copies what it keeps: the piece is wiped after it. Blocks the
 * process while the pipe is empty, so it is for a process's start alone.
 */
export function readPipe<Value>(
  descriptor: number,
  take: (piece: Uint8Array) => Value | null,
): Value | null {
  const block = allocateFixedBytes(blockBytes);
  try {
    for (;;) {
      const length = readOrWait(descriptor, block);
      if (length === 0) return null;
      const value = take(block.subarray(0, length));
      block.fill(0, 0, length);
      if (value !== null) return value;
    }
  } finally {
    block.fill(0);
  }
}

/** A descriptor that does not block says EAGAIN while the pipe is empty. */
function readOrWait(descriptor: number, block: Uint8Array): number {
  for (;;) {
    try {
      return readSync(descriptor, block);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(never, 0, 0, pauseMs);
    }
  }
}
