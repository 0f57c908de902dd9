/**
 * The claimed sender of a hello, before anything of it is parsed. Source: docs/protocol.md section
 * 4.1.
 */

/** Most bytes of a hello's frame. */
export const helloBytesMax = 4096;

/**
 * Which agent a hello claims to be from, found without parsing: only to choose the key that must
 * have signed all of it.
 */
export function claimedAgent(frame: Uint8Array): string {
  if (frame.length > helloBytesMax) return "";
  return /"agent":\s*"([0-9a-f]{16})"/.exec(Buffer.from(frame).toString("latin1"))?.[1] ?? "";
}
