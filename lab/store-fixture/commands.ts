/**
 * A command of the gateway's operator in this process, at a fixed time: its whole output and its
 * exit code.
 */
import { runGatewayCommandLine } from "../../gateway/command.ts";

export interface CommandOutput {
  readonly text: string; // standard output and standard error, in their order
  readonly code: number;
}

/** Runs `act` while the machine's clock, as far as programs ask it, stands at `nowMs`. */
export async function atFixedTime<T>(nowMs: number, act: () => Promise<T>): Promise<T> {
  const { now } = Date;
  Date.now = () => nowMs;
  try {
    return await act();
  } finally {
    Date.now = now;
  }
}

/** `words` after the program's name, without `--config`. */
export async function sayCommand(
  configFile: string,
  words: readonly string[],
  nowMs: number,
): Promise<CommandOutput> {
  let text = "";
  const take = (part: string | Uint8Array): boolean => {
    text += part.toString();
    return true;
  };
  const before = { out: process.stdout.write, error: process.stderr.write, code: process.exitCode };
  process.exitCode = undefined;
  process.stdout.write = take;
  process.stderr.write = take;
  try {
    await atFixedTime(nowMs, () => runGatewayCommandLine([...words, "--config", configFile]));
    return { text, code: Number(process.exitCode ?? 0) };
  } finally {
    process.stdout.write = before.out;
    process.stderr.write = before.error;
    process.exitCode = before.code;
  }
}
