/**
 * Reads the output of a child process of `crypto`, and kills a silent one. A child writes lines of
 * JSON: on stdout `{"ready":true}` once, `{"alive":true}` every few seconds and `{"outdated":true}`
 * before it gives way to a newer config.json; on stderr its log, from which the last fault is kept.
 */
import type { ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import { visibleText } from "../../base/visible.ts";
import { exitCodes } from "./exit-status.ts";
import type { LauncherEvent } from "./output.ts";
import { lookMs, type Patience, Watchdog } from "./watchdog.ts";

export interface WatchOptions {
  readonly clock: () => number; // monotonic, milliseconds
  readonly say: (event: LauncherEvent, message: string) => void;
  /** Passes on a line of stdout that is not of the protocol, with its newline. */
  readonly relay: (text: string) => void;
  /** Passes on a line of stderr; `level` is null for a line of another form. */
  readonly relayLine: (line: string, level: unknown) => void;
  readonly patience?: Patience;
}

export interface Exit {
  readonly of: "signer" | "courier";
  readonly code: number | null;
  readonly words: string; // as in "the signer ended with status 4"
  readonly fault: Fault | null; // the last fault in its log
  readonly isOutdated: boolean; // the other process has read a newer config.json
}

interface Fault {
  readonly code: string;
  readonly message: string;
  readonly hint: unknown; // a better hint than the code's own, if there is one
}

export interface ReadyMessage {
  readonly locked: string; // the signer's lock code, "" when it signs
}

export interface WatchedChild {
  // the first sign of life; stays pending if the child ends before
  readonly up: Promise<unknown>;
  readonly ready: Promise<ReadyMessage>; // likewise
  readonly ended: Promise<Exit>; // never rejects
  /**
   * Closes stdin, then SIGTERM, then SIGKILL. Resolves when the child has ended; may be repeated
   * without harm.
   */
  end(): Promise<void>;
}

/**
 * Ending both processes, one after the other, takes at most four seconds; a clean stop may take
 * five.
 */
const graceMs = 1_500;
const killMs = 500;
const lineCharactersMax = 65_536;

/** Represents a signer that another unit runs. */
export function alwaysUp(): WatchedChild {
  const ready = Promise.resolve({ locked: "" });
  return { up: ready, ready, ended: new Promise(() => {}), end: () => Promise.resolve() };
}

/** Begins to read the output of a child that was just started. */
export function watchChild(
  of: Exit["of"],
  child: ChildProcess,
  options: WatchOptions,
): WatchedChild {
  let fault: Fault | null = null;
  const watchdog = new Watchdog(options.clock, options.patience);
  const looks = setInterval(() => {
    const seconds = watchdog.overdueSeconds();
    if (seconds === 0) return;
    clearInterval(looks);
    options.say(
      "process-silent",
      `the ${of} has given no sign of life for ${seconds} s and is killed`,
    );
    child.kill("SIGKILL");
  }, lookMs);
  let isOver = false;
  let isOutdated = false;
  const ended = new Promise<Exit>((resolve) => {
    const over = (code: number | null, words: string): void => {
      isOver = true;
      clearInterval(looks);
      resolve({ of, code, words, fault, isOutdated });
    };
    // "close" comes after the end of its output, but "exit" may come before.
    child.once("close", (code, signal) =>
      over(code, signal === null ? `ended with status ${code}` : `was ended by ${signal}`),
    );
    child.once("error", (error) => over(exitCodes.bug, `could not be started (${error.message})`));
  });
  let begin: () => void = () => {};
  const up = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const ready = new Promise<ReadyMessage>((resolve) => {
    eachLine(child.stdout, (line) => {
      const told = parsed(line);
      if (told?.ready === true || told?.alive === true) {
        watchdog.received();
        begin();
        if (told.ready === true)
          resolve({ locked: typeof told.locked === "string" ? told.locked : "" });
      } else if (told?.outdated === true) isOutdated = true;
      else options.relay(`${line}\n`);
    });
  });
  eachLine(child.stderr, (line) => {
    const told = parsed(line);
    options.relayLine(line, told?.level ?? null);
    if (told?.level === "error")
      fault = { code: String(told.code), message: String(told.message), hint: told.hint };
  });
  const end = async (): Promise<void> => {
    if (isOver) return;
    child.stdin?.end();
    if ((await waitWithin(graceMs, ended)) !== "due") return;
    child.kill("SIGTERM");
    if ((await waitWithin(killMs, ended)) !== "due") return;
    child.kill("SIGKILL");
    await ended;
  };
  return { up, ready, ended, end };
}

function eachLine(stream: Readable | null, take: (line: string) => void): void {
  let rest = "";
  stream?.setEncoding("utf8");
  stream?.on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = (lines.pop() ?? "").slice(-lineCharactersMax);
    // This text may reach a terminal, and a courier under an attacker's control prints any
    // character.
    for (const line of lines) take(visibleText(line));
  });
}

/** The object of a JSON line; null for any other line. */
function parsed(line: string): Readonly<Record<string, unknown>> | null {
  if (!line.startsWith("{")) return null;
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    return null;
  }
}

/** `other`, or "due" when `ms` pass before it settles. */
export async function waitWithin<T>(ms: number, other: Promise<T>): Promise<T | "due"> {
  let timer: NodeJS.Timeout | undefined;
  const due = new Promise<"due">((resolve) => {
    timer = setTimeout(() => resolve("due"), ms);
  });
  const first = await Promise.race([due, other]);
  clearTimeout(timer);
  return first;
}
