/**
 * One child process of `crypto`, heard and watched. It speaks in lines of JSON: on stdout `{"ready":true}`, a short `{"alive":true}`
 * every few seconds; its log on stderr has its faults. Who falls silent is killed.
 */
import type { ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import { visible } from "../../protocol/visible.ts";
import type { LauncherEvent } from "./speech.ts";
import { exitCodes } from "./verdict.ts";
import { lookMs, type Patience, Watchdog } from "./watchdog.ts";

export interface WatchOptions {
  readonly clock: () => number; // monotonic, milliseconds
  readonly say: (event: LauncherEvent, message: string) => void;
  /** What the child prints beside its protocol. */
  readonly relay: (text: string) => void;
  /** A line of its log, and the level it names: null for a line of another form. */
  readonly relayLine: (line: string, level: unknown) => void;
  readonly patience?: Patience;
}

export interface Exit {
  readonly of: "signer" | "courier";
  readonly code: number | null;
  readonly words: string;
  readonly fault: Fault | null; // the last one it told
}

interface Fault {
  readonly code: string;
  readonly message: string;
  readonly hint: unknown; // a text where there is a better one than the code's own
}

export interface Ready {
  readonly locked: string; // the signer's lock code, "" when it signs
}

export interface Watched {
  readonly up: Promise<unknown>; // its first sign of life; pending for ever when the child ends first
  readonly ready: Promise<Ready>; // likewise
  readonly ended: Promise<Exit>;
  end(): Promise<void>;
}

/** Both processes one after the other stay within the five seconds a clean stop may take. */
const graceMs = 1_500;
const killMs = 500;
const lineCharactersMax = 65_536;

/** Stands for a signer that another unit runs. */
export function alwaysUp(): Watched {
  const ready = Promise.resolve({ locked: "" });
  return { up: ready, ready, ended: new Promise(() => {}), end: () => Promise.resolve() };
}

/** Listens to a child that was just started; resolves, kills and reports as the header says. */
export function watch(of: Exit["of"], child: ChildProcess, options: WatchOptions): Watched {
  let fault: Fault | null = null;
  const watchdog = new Watchdog(options.clock, options.patience);
  const looks = setInterval(() => {
    const seconds = watchdog.overdueSeconds();
    if (seconds === 0) return;
    clearInterval(looks);
    options.say("process-silent", `the ${of} has given no sign of life for ${seconds} s and is killed`);
    child.kill("SIGKILL");
  }, lookMs);
  let isOver = false;
  const ended = new Promise<Exit>((resolve) => {
    const over = (code: number | null, words: string): void => {
      isOver = true;
      clearInterval(looks);
      resolve({ of, code, words, fault });
    };
    // "close" comes after the last of its output, "exit" may come before.
    child.once("close", (code, signal) => over(code, signal === null ? `ended with status ${code}` : `was ended by ${signal}`));
    child.once("error", (error) => over(exitCodes.bug, `could not be started (${error.message})`));
  });
  let begin: () => void = () => {};
  const up = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const ready = new Promise<Ready>((resolve) => {
    eachLine(child.stdout, (line) => {
      const told = parsed(line);
      if (told?.ready === true || told?.alive === true) {
        watchdog.heard();
        begin();
        if (told.ready === true) resolve({ locked: typeof told.locked === "string" ? told.locked : "" });
      } else options.relay(`${line}\n`);
    });
  });
  eachLine(child.stderr, (line) => {
    const told = parsed(line);
    options.relayLine(line, told?.level ?? null);
    if (told?.level === "error") fault = { code: String(told.code), message: String(told.message), hint: told.hint };
  });
  const end = async (): Promise<void> => {
    if (isOver) return;
    child.stdin?.end();
    if ((await within(graceMs, ended)) !== "due") return;
    child.kill("SIGTERM");
    if ((await within(killMs, ended)) !== "due") return;
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
    // A courier that was taken over prints what it likes, and this may be somebody's terminal.
    for (const line of lines) take(visible(line));
  });
}

/** Both processes speak in lines of JSON; null for anything else. */
function parsed(line: string): Readonly<Record<string, unknown>> | null {
  if (!line.startsWith("{")) return null;
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    return null;
  }
}

/** "due" when the time was up before the other settled. */
export async function within<T>(ms: number, other: Promise<T>): Promise<T | "due"> {
  let timer: NodeJS.Timeout | undefined;
  const due = new Promise<"due">((resolve) => {
    timer = setTimeout(() => resolve("due"), ms);
  });
  const first = await Promise.race([due, other]);
  clearTimeout(timer);
  return first;
}
