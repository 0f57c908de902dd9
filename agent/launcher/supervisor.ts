/**
 * Keeps signer and courier running: signer first, the courier while there is a signer, each again after an unexpected end, later
 * and later. A signer that is locked or misconfigured is not started again. Ending: pipes close, then SIGTERM, then SIGKILL.
 */
import type { ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import type { LauncherEvent } from "./speech.ts";
import { exitCodes, type Verdict, verdictFor } from "./verdict.ts";

/** @public */
export interface SupervisorOptions {
  /** Starts one process and gives it its settings; null when this launcher does not run that one. */
  readonly startSigner: (() => ChildProcess) | null;
  readonly startCourier: (() => ChildProcess) | null;
  readonly clock: () => number; // monotonic, milliseconds
  readonly say: (event: LauncherEvent, message: string) => void;
  readonly verdict: (verdict: Verdict) => void;
  /** What the children print on stdout beside their ready line. */
  readonly relay: (text: string) => void;
  /** A line of a child's log, and its level: null for a line of another form. */
  readonly relayLine: (line: string, level: unknown) => void;
  /** Called each time all of what this launcher runs is up; `locked` is the signer's lock code, "" when it signs. */
  readonly ready: (locked: string) => void;
  readonly stop: AbortSignal;
  readonly backoffMs?: { readonly first: number; readonly most: number };
}

/** A run this long counts as healthy, so that the next unexpected end is the first again. */
const healthyMs = 3_000;
/** Both processes one after the other stay within the five seconds a clean stop may take. */
const graceMs = 1_500;
const killMs = 500;
const lineCharactersMax = 65_536;

/**
 * Runs until `stop` or until an end that starting again cannot mend. Resolves with the exit code: 0 after `stop`, else that of
 * the child that ended it.
 * @public
 */
export async function supervise(options: SupervisorOptions): Promise<number> {
  const stop = new Promise<"stop">((resolve) => {
    if (options.stop.aborted) resolve("stop");
    else options.stop.addEventListener("abort", () => resolve("stop"), { once: true });
  });
  const backoff = new Backoff(options);
  for (;;) {
    const startedAt = options.clock();
    const signer = options.startSigner === null ? alwaysUp() : watch("signer", options.startSigner(), options);
    const first = await Promise.race([signer.ready, signer.ended, stop]);
    const last = typeof first === "object" && "locked" in first ? await runCouriers(signer, first.locked, stop, options) : first;
    await signer.end();
    if (last === "stop") return exitCodes.fine;
    if (isFinal(last)) {
      options.say("process-ended", `the ${last.of} ${last.words} and is not started again`);
      if (last.fault !== null) options.verdict(verdictFor(last.fault.code, last.fault.message, last.fault.hint));
      return last.code ?? exitCodes.bug;
    }
    options.say("process-restarted", `the ${last.of} ${last.words} and is started again`);
    if ((await backoff.wait(options.clock() - startedAt, [stop])) === "stop") return exitCodes.fine;
  }
}

/** Couriers come and go until the signer ends, a courier ends for good, or everything is to stop. */
async function runCouriers(
  signer: Watched,
  locked: string,
  stop: Promise<"stop">,
  options: SupervisorOptions,
): Promise<Exit | "stop"> {
  if (options.startCourier === null) {
    options.ready(locked);
    return Promise.race([stop, signer.ended]);
  }
  const backoff = new Backoff(options);
  for (;;) {
    const startedAt = options.clock();
    const courier = watch("courier", options.startCourier(), options);
    void courier.ready.then(() => options.ready(locked));
    const end = await Promise.race([stop, signer.ended, courier.ended]);
    await courier.end();
    if (end === "stop" || end.of === "signer" || isFinal(end)) return end;
    options.say("process-restarted", `the courier ${end.words} and is started again`);
    const during = await backoff.wait(options.clock() - startedAt, [stop, signer.ended] as const);
    if (during !== "due") return during;
  }
}

interface Exit {
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

interface Ready {
  readonly locked: string;
}

/** Locked, or wrongly configured: the next start would find the same. */
function isFinal(exit: Exit): boolean {
  return exit.code === exitCodes.configuration || exit.code === exitCodes.locked;
}

interface Watched {
  readonly ready: Promise<Ready>; // pending for ever when the child ends first
  readonly ended: Promise<Exit>;
  end(): Promise<void>;
}

/** Stands for a signer that another unit runs. */
function alwaysUp(): Watched {
  return { ready: Promise.resolve({ locked: "" }), ended: new Promise(() => {}), end: () => Promise.resolve() };
}

function watch(of: Exit["of"], child: ChildProcess, options: SupervisorOptions): Watched {
  let isOver = false;
  let fault: Fault | null = null;
  const ended = new Promise<Exit>((resolve) => {
    const over = (code: number | null, words: string): void => {
      isOver = true;
      resolve({ of, code, words, fault });
    };
    // "close" comes after the last of its output, "exit" may come before.
    child.once("close", (code, signal) => over(code, signal === null ? `ended with status ${code}` : `was ended by ${signal}`));
    child.once("error", (error) => over(exitCodes.bug, `could not be started (${error.message})`));
  });
  const ready = new Promise<Ready>((resolve) => {
    eachLine(child.stdout, (line) => {
      const told = parsed(line);
      if (told?.ready === true) resolve({ locked: typeof told.locked === "string" ? told.locked : "" });
      else options.relay(`${line}\n`);
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
  return { ready, ended, end };
}

function eachLine(stream: Readable | null, take: (line: string) => void): void {
  let rest = "";
  stream?.setEncoding("utf8");
  stream?.on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = (lines.pop() ?? "").slice(-lineCharactersMax);
    for (const line of lines) take(line);
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

async function within<T>(ms: number, other: Promise<T>): Promise<T | "due"> {
  let timer: NodeJS.Timeout | undefined;
  const due = new Promise<"due">((resolve) => {
    timer = setTimeout(() => resolve("due"), ms);
  });
  const first = await Promise.race([due, other]);
  clearTimeout(timer);
  return first;
}

/** Each wait twice as long as the one before, until a healthy run. */
class Backoff {
  readonly #first: number;
  readonly #most: number;
  #nextMs: number;

  constructor(options: SupervisorOptions) {
    this.#first = options.backoffMs?.first ?? 200;
    this.#most = options.backoffMs?.most ?? 10_000;
    this.#nextMs = this.#first;
  }

  /** "due" when the time was up, else what came first. */
  wait<T extends readonly Promise<unknown>[]>(ranMs: number, unless: T): Promise<Awaited<T[number]> | "due"> {
    if (ranMs >= healthyMs) this.#nextMs = this.#first;
    const ms = this.#nextMs;
    this.#nextMs = Math.min(ms * 2, this.#most);
    return within(ms, Promise.race(unless) as Promise<Awaited<T[number]>>);
  }
}
