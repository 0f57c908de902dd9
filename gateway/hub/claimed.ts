/**
 * The claimed sender of a hello, read before the hello is parsed. Source: docs/protocol.md section
 * 4.1.
 */

/** Largest size of a hello's frame. */
export const helloBytesMax = 4096;

/**
 * Returns the agent that a hello claims to come from, found without parsing. Use it only to choose
 * the key that must have signed the hello.
 */
export function claimedAgent(frame: Uint8Array): string {
  if (frame.length > helloBytesMax) return "";
  return /"agent":\s*"([0-9a-f]{16})"/.exec(Buffer.from(frame).toString("latin1"))?.[1] ?? "";
}
