/**
 * Waits for something another part of the program does by itself.
 */

/** Resolves when `holds` is true; looks again every few milliseconds. @throws after `timeoutMs` */
export async function until(holds: () => boolean, timeoutMs = 120_000): Promise<void> {
  const endAt = performance.now() + timeoutMs;
  while (!holds()) {
    if (performance.now() > endAt)
      throw new Error(`did not come to hold within ${timeoutMs} ms: ${holds}`);
    await new Promise((done) => setTimeout(done, 4));
  }
}
