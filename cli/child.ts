/**
 * Runs a process of our own for work with secrets, without a network if the machine permits this.
 * Parts go in, one line of JSON comes out.
 */
import { spawnSync } from "node:child_process";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { programPath, startChild } from "../agent/launcher/child.ts";
import { encodeFrame } from "../agent/launcher/frames.ts";
import type { Code } from "../base/codes.ts";
import { AgentError, type Effect } from "../base/fault.ts";
import { systemEnvironment } from "../base/system-path.ts";
import type { ProgramResult, Terminal } from "./terminal.ts";

const here = import.meta.url;
/** As if this module stood in cli/ itself: a bundle holds it in a folder below. */
const inCli = `${here.slice(0, here.lastIndexOf("/cli/"))}/cli/${basename(here)}`;

/** A backup's manifest names each file of its ledger. */
const answerCharactersMax = 16 * 1024 * 1024;

/** A fault of a child, as it crosses to its parent. */
export interface ChildFault {
  readonly ok: false;
  readonly code: Code;
  readonly effect?: Effect;
  readonly message: string;
  readonly hint?: string;
}

let closing: readonly string[] | null | undefined;

/**
 * The command that starts a process without a network here, e.g. `unshare --net --`; null if the
 * machine permits neither form. The machine is asked once in the life of this process. Sources:
 * unshare(1), network_namespaces(7).
 */
export function findNetworklessCommand(): readonly string[] | null {
  if (closing === undefined) closing = findWithoutNetwork();
  return closing;
}

function findWithoutNetwork(): readonly string[] | null {
  for (const command of [
    ["unshare", "--net", "--"],
    ["unshare", "--user", "--map-root-user", "--net", "--"],
  ]) {
    const [program = "", ...args] = command;
    if (
      spawnSync(program, [...args, "true"], { stdio: "ignore", env: systemEnvironment }).status ===
      0
    )
      return command;
  }
  return null;
}

/**
 * Starts the program `name` (a path from cli/, without its ending) and gives it the parts. Wipes
 * the framed copies; the caller owns the parts.
 */
async function runChild(
  name: string,
  parts: readonly Uint8Array[],
  within: readonly string[],
): Promise<ProgramResult> {
  const child = startChild({
    program: fileURLToPath(programPath(inCli, name)),
    within,
    env: process.env,
  });
  const framed = parts.map(encodeFrame);
  for (const part of framed) child.stdin?.write(part);
  child.stdin?.end(() => {
    for (const part of framed) part.fill(0);
  });
  let output = "";
  child.stdout?.setEncoding("utf8");
  child.stdout?.on("data", (text: string) => {
    output = (output + text).slice(0, answerCharactersMax);
  });
  const status = await new Promise<number | null>((resolve) => {
    child.once("error", () => resolve(null));
    child.once("close", (code) => resolve(code));
  });
  return { status, output };
}

/**
 * Runs the program `name` on the parts and returns its answer; the caller owns the parts.
 * @throws the fault that `ended` makes of a child without an answer
 */
export async function askChild(
  { runProgram }: Pick<Terminal, "runProgram">,
  name: string,
  parts: readonly Uint8Array[],
  within: readonly string[],
  ended: (status: number | null) => AgentError,
): Promise<unknown> {
  const { status, output } = await (runProgram?.(name, parts) ?? runChild(name, parts, within));
  try {
    if (status === 0) return JSON.parse(output);
  } catch {
    // Judged below, because a child that ends well answers in JSON.
  }
  throw ended(status);
}

/**
 * As `askChild`, in a process without network, for a child that answers `ok` or a ChildFault.
 * @throws AgentError the child's own; COMMAND_CHILD
 */
export async function askNetworklessChild<T extends { readonly ok: true }>(
  terminal: Pick<Terminal, "runProgram">,
  name: string,
  parts: readonly Uint8Array[],
): Promise<T> {
  const what = name.replace(/^\.\//, "");
  const answer = (await askChild(
    terminal,
    name,
    parts,
    findNetworklessCommand() ?? [],
    (status) => {
      const message = `${what} ended with ${status ?? "a signal"} before it was done`;
      return new AgentError("COMMAND_CHILD", "unknown", message);
    },
  )) as T | ChildFault;
  if (answer.ok) return answer;
  const { code, effect = "none", message, hint } = answer;
  throw new AgentError(code, effect, message, hint === undefined ? {} : { hint });
}
