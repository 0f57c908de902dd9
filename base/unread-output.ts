/**
 * Output of a process whose reader may go first, as in `crypto 2>&1 | head -1`. Node makes an error
 * of such a write, and an error that nobody takes ends the process. Pure: the streams are passed
 * in. Source: write(2), EPIPE.
 */

/** The part of a stream that is used here. */
interface Output {
  on(event: "error", listener: (error: Error & { readonly code?: unknown }) => void): unknown;
}

/**
 * Drops every text that no reader is left for, so that a process goes on as if somebody read. Every
 * other error is thrown on, as without a listener.
 * @returns true from the first dropped text on
 */
export function dropUnread(...outputs: readonly Output[]): () => boolean {
  let isUnread = false;
  for (const output of outputs)
    output.on("error", (error) => {
      if (error.code !== "EPIPE") throw error;
      isUnread = true;
    });
  return () => isUnread;
}
