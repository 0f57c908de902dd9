/**
 * A command on a terminal of its own, made by script(1): its output, an operator's answer to each
 * question, and its end.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";

export const hasScript = spawnSync("script", ["--version"], { stdio: "ignore" }).status === 0;

/** The keys that are typed when `after` was shown since the keys before. */
export interface Turn {
  readonly after: string;
  readonly keys: string;
}

export const keys = { enter: "\r", ctrlC: "\x03", ctrlD: "\x04" } as const;

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** The words that run a command on a terminal. */
export function scriptWords(command: readonly string[]): readonly string[] {
  return ["script", "-qec", command.map(quoted).join(" "), "/dev/null"];
}

/**
 * Types the turns in order when the child asks; the input stays open, because its end would be
 * typed as Ctrl-D.
 */
export function converse(child: ChildProcess, turns: readonly Turn[]): void {
  let unanswered = "";
  const left = [...turns];
  child.stdout?.on("data", (text: Buffer) => {
    unanswered += text.toString("utf8");
    const [next] = left;
    if (next === undefined || !unanswered.includes(next.after)) return;
    left.shift();
    unanswered = "";
    child.stdin?.write(next.keys);
  });
}

const esc = "\x1b";

/** The text that a terminal was sent: no movement of the cursor, and only \n ends a line. */
export const textOn = (sent: string): string =>
  sent.replaceAll(new RegExp(`${esc}\\[[0-9;]*[A-Za-z]`, "g"), "").replaceAll(/\r+\n/g, "\n");

/** The end of a command that asks permanently: no measure of one that works. */
const endsMs = 120_000;

/** Runs it to its end. */
export function onTerminal(
  command: readonly string[],
  turns: readonly Turn[],
  cwd: string,
): Promise<{ code: number | null; output: string }> {
  const [program = "", ...args] = scriptWords(command);
  const child = spawn(program, args, {
    cwd,
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, SHELL: "/bin/sh" },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (text: Buffer) => {
      output += text.toString("utf8");
    });
  child.stdin.on("error", () => {});
  converse(child, turns);
  const timer = setTimeout(() => child.kill("SIGKILL"), endsMs);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(timer);
      resolve({ code, output: textOn(output) });
    });
  });
}
