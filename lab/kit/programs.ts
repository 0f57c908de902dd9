/**
 * The programs of our own that commands start, run in this process: each start of one costs more
 * than what it does. Parts and answers are the same bytes as over its pipes. If the process is the
 * subject (its network, its modules, its memory), the program is started.
 */
import { answerBackup } from "../../cli/backup/task.ts";
import { answerRegistering } from "../../cli/registering/register.ts";
import { answerLedger } from "../../cli/sealing/begin-ledger.ts";
import { answerProving } from "../../cli/sealing/prove.ts";
import { answerSealing } from "../../cli/sealing/seal.ts";
import { answerRekey } from "../../cli/sealing/seal-again.ts";
import type { ProgramResult } from "../../cli/terminal.ts";

const programs: Readonly<Record<string, (parts: readonly Uint8Array[]) => object>> = {
  "./sealing/main": answerSealing,
  "./sealing/proving": answerProving,
  "./sealing/ledger": answerLedger,
  "./sealing/rekey": answerRekey,
  "./registering/main": answerRegistering,
  "./backup/main": answerBackup,
};

/**
 * As `Terminal.runProgram`: a program that throws ends with 1 and without an answer, as Node does.
 */
export async function runProgramHere(
  name: string,
  parts: readonly Uint8Array[],
): Promise<ProgramResult> {
  const answer = programs[name];
  if (answer === undefined) throw new Error(`lab/kit/programs.ts has no program ${name}`);
  try {
    // The program wipes what it got, as its process would; the caller's own stay.
    const output = JSON.stringify(await answer(parts.map((part) => Uint8Array.from(part))));
    return { status: 0, output };
  } catch {
    return { status: 1, output: "" };
  }
}
