/**
 * Commands of agent and gateway, run in this process as their programs run them: a start of each
 * as a process costs more than what most commands do. If the program's start is the subject,
 * the program is started.
 */
import { userInfo } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { runCommand } from "../../cli/main.ts";
import { runGatewayCommandLine } from "../../gateway/command.ts";
import { runProgramHere } from "./programs.ts";

/** How a command ended, and all that it printed on either stream. */
export interface CommandResult {
  readonly code: number | null;
  readonly output: string;
}

/** `node autowithdraw.js …` without a terminal. Never rejects. */
export async function runAgentCommand(words: readonly string[]): Promise<CommandResult> {
  let output = "";
  const print = (text: string): void => {
    output += text;
  };
  const code = await runCommand(words, {
    out: print,
    err: print,
    isInteractive: false,
    columns: Number.POSITIVE_INFINITY,
    confirm: async () => false,
    now: Date.now,
    runProgram: runProgramHere,
    user: userInfo().username,
    sleep: async (ms) => {
      await sleep(ms);
      return true;
    },
  });
  return { code, output };
}

/** Commands of the gateway print on the process's own streams, so one runs behind the other. */
let last: Promise<unknown> = Promise.resolve();

/** `node gateway/gateway.js …`, but `start`. Never rejects. */
export function runGatewayCommand(words: readonly string[]): Promise<CommandResult> {
  const mine = last.then(() => captureGateway(words));
  last = mine;
  return mine;
}

async function captureGateway(words: readonly string[]): Promise<CommandResult> {
  let output = "";
  const streams = [process.stdout, process.stderr];
  const writers = streams.map(({ write }) => write);
  const before = process.exitCode;
  for (const stream of streams)
    stream.write = ((part: string | Uint8Array) => {
      output += typeof part === "string" ? part : Buffer.from(part).toString("utf8");
      return true;
    }) as typeof stream.write;
  process.exitCode = undefined;
  try {
    await runGatewayCommandLine(words);
    return { code: Number(process.exitCode ?? 0), output };
  } finally {
    process.exitCode = before;
    for (const [at, stream] of streams.entries()) stream.write = writers[at] as typeof stream.write;
  }
}
