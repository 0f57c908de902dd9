/**
 * Asks for a secret on the terminal: nothing shown, bytes in, bytes out. Needs the terminal's input
 * as a raw stream.
 */
import type { ReadStream } from "node:tty";
import { AgentError } from "../../base/fault.ts";
import { fixedCopy } from "../files/fixed-bytes.ts";

const bytesMax = 4096;

/**
 * Shows `question` and reads one line without showing it. Backspace and Ctrl-U work, Ctrl-C and
 * Ctrl-D give up. The caller wipes the result. @throws AgentError ENCKEY_MISSING
 */
export function askSecret(
  input: ReadStream,
  show: (text: string) => void,
  question: string,
): Promise<Uint8Array> {
  const typed = Buffer.alloc(bytesMax);
  let length = 0;
  // Set before the question: setting it waits until the output is written, and a quick answer would
  // be shown meanwhile.
  input.setRawMode(true);
  show(question);
  input.resume();
  return new Promise((resolve, reject) => {
    const finish = (given: boolean): void => {
      input.off("data", take);
      input.setRawMode(false);
      input.pause();
      show("\n");
      if (given) resolve(fixedCopy(typed.subarray(0, length)));
      else reject(new AgentError("ENCKEY_MISSING", "none", "no encKey was typed"));
      typed.fill(0);
    };
    const take = (chunk: Buffer): void => {
      for (const byte of chunk) {
        const ends = byte === 0x0d || byte === 0x0a;
        if (ends || byte === 0x03 || byte === 0x04) {
          finish(ends);
          break;
        }
        if (byte === 0x15) length = 0;
        else if (byte === 0x7f || byte === 0x08) length = Math.max(0, length - 1);
        else if (length < bytesMax) typed[length++] = byte;
      }
      chunk.fill(0);
    };
    input.on("data", take);
  });
}
