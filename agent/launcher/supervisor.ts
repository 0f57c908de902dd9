/**
 * Keeps signer and courier running. The courier's process starts beside the signer's, gets its
 * settings when the signer is ready, and does nothing before; it runs as long as the signer runs.
 * After an unexpected end each is started again, with longer and longer pauses. A child that ends
 * locked or misconfigured is not started again, unless older settings are there to go back to.
 */
import type { ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import { visibleText } from "../../base/visible.ts";
import { type ExitVerdict, exitCodes, exitVerdictOfCode } from "./exit-status.ts";
import type { LauncherEvent } from "./output.ts";

/*
 * Reads the output of a child process of `crypto`, and kills a silent one. A child writes lines of
 * JSON: on stdout `{"ready":true}` once, `{"alive":true}` every few seconds and `{"outdated":true}`
 * before it gives way to a newer config.json; on stderr its log, from which the last fault is kept.
 */

/*
 * Decides when a silent child process counts as hung. Only time in which the watcher ran counts as
 * silence, so a suspended machine does not kill its children when it wakes up. Pure.
 */

interface Patience {
  // until the first sign of life, because a long ledger is read back before it
  readonly beforeFirstMs: number;
  readonly afterMs: number; // between two signs of life
}

const patience: Patience = { beforeFirstMs: 1_800_000, afterMs: 20_000 };

/** The pause between two looks. */
export const childCheckPauseMs = 1_000;
/**
 * A longer time between two looks means that the watcher did not run; only this much of it counts.
 */
const gapMs = 3 * childCheckPauseMs;

/** Watches one child. */
export class Watchdog {
  readonly #patience: Patience;
  readonly #clock: () => number;
  #lookedAt: number;
  #silentMs = 0;
  #hasSpoken = false;

  /** `clock` is monotonic, in milliseconds. */
  constructor(clock: () => number, limits: Patience = patience) {
    this.#patience = limits;
    this.#clock = clock;
    this.#lookedAt = clock();
  }

  /** The child gave a sign of life. */
  received(): void {
    this.#hasSpoken = true;
    this.#silentMs = 0;
  }

  /**
   * The caller calls this every `childCheckPauseMs`. 0 while the child may go on, else the seconds
   * of its silence.
   */
  overdueSeconds(): number {
    const now = this.#clock();
    this.#silentMs += Math.min(now - this.#lookedAt, gapMs);
    this.#lookedAt = now;
    const mostMs = this.#hasSpoken ? this.#patience.afterMs : this.#patience.beforeFirstMs;
    return this.#silentMs > mostMs ? Math.round(this.#silentMs / 1_000) : 0;
  }
}

interface WatchOptions {
  readonly clock: () => number; // monotonic, milliseconds
  readonly say: (event: LauncherEvent, message: string) => void;
  /** Passes on a line of stdout that is not of the protocol, with its newline. */
  readonly relay: (text: string) => void;
  /** Passes on a line of stderr; `level` is null for a line of another form. */
  readonly relayLine: (line: string, level: unknown) => void;
  readonly patience?: Patience;
}

interface Exit {
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

interface ReadyMessage {
  readonly locked: string; // the signer's lock code, "" when it signs
}

interface WatchedChild {
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
function alwaysUp(): WatchedChild {
  const ready = Promise.resolve({ locked: "" });
  return { up: ready, ready, ended: new Promise(() => {}), end: () => Promise.resolve() };
}

/** Begins to read the output of a child that was just started. */
function watchChild(of: Exit["of"], child: ChildProcess, options: WatchOptions): WatchedChild {
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
  }, childCheckPauseMs);
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
async function waitWithin<T>(ms: number, other: Promise<T>): Promise<T | "due"> {
  let timer: NodeJS.Timeout | undefined;
  const due = new Promise<"due">((resolve) => {
    timer = setTimeout(() => resolve("due"), ms);
  });
  const first = await Promise.race([due, other]);
  clearTimeout(timer);
  return first;
}

/** New settings for the children while the launcher goes on. */
export interface SettingsRenewal {
  /** Resolves when new settings were taken, so the children must be started again. */
  next(): Promise<unknown>;
  /** The children run with the newest settings, so the older ones are forgotten. */
  keep(): void;
  /**
   * Goes back to the older settings after a child refused the new ones; false if there are only the
   * refused ones.
   */
  goBack(verdict: ExitVerdict): boolean;
  /**
   * Reads the file again for a child that gave way to a newer one; false if only a new start of
   * this process can bring it.
   */
  renew(): boolean;
}

/** A courier's process that waits for its settings. */
export interface CourierAwaitingSettings {
  readonly child: ChildProcess;
  /** Gives it the settings, called once. A courier that has ended already takes no harm. */
  readonly handSettings: () => void;
}

export interface SupervisorOptions extends WatchOptions {
  /** Starts the signer and gives it its settings; null if another launcher runs it. */
  readonly startSigner: (() => ChildProcess) | null;
  /** Starts the courier, which waits for its settings; null if another launcher runs it. */
  readonly startCourier: (() => CourierAwaitingSettings) | null;
  /** Called once, before the promise resolves, when a child ends permanently. */
  readonly verdict: (verdict: ExitVerdict) => void;
  /** Called each time a child ends because of a fault and is started again. */
  readonly failing: (verdict: ExitVerdict) => void;
  /**
   * Called each time all children of this launcher give signs of life. A courier gives them even
   * before signer or gateway answer.
   */
  readonly up: () => void;
  /**
   * Called each time all children of this launcher are ready; `locked` is the signer's lock code,
   * "" when it signs.
   */
  readonly ready: (locked: string) => void;
  readonly renewal: SettingsRenewal;
  readonly stop: AbortSignal;
  readonly backoffMs?: { readonly first: number; readonly most: number };
}

/** A child that ran this long was healthy, so the next pause is the shortest again. */
const healthyMs = 3_000;

/**
 * Runs until `stop`, or until a child ends in a way that a new start cannot correct. Resolves with
 * the exit code: 0 after `stop`, 1 for a start with a newer config.json, else the child's own.
 */
export async function superviseChildren(options: SupervisorOptions): Promise<number> {
  const stop = new Promise<"stop">((resolve) => {
    if (options.stop.aborted) resolve("stop");
    else options.stop.addEventListener("abort", () => resolve("stop"), { once: true });
  });
  const backoff = new Backoff(options);
  for (;;) {
    const startedAt = options.clock();
    const told = Promise.race([stop, options.renewal.next().then(() => "renew" as const)]);
    const signer =
      options.startSigner === null
        ? alwaysUp()
        : watchChild("signer", options.startSigner(), options);
    const waiting =
      options.startCourier === null ? null : startCourier(options.startCourier, options);
    const first = await Promise.race([signer.ready, signer.ended, told]);
    const last =
      typeof first === "object" && "locked" in first
        ? await runCouriers(signer, waiting, first.locked, told, options)
        : first;
    await waiting?.end();
    await signer.end();
    if (last === "stop") return exitCodes.fine;
    if (last === "renew") continue;
    if (last.isOutdated && !options.renewal.renew()) return exitCodes.no;
    if (isFinal(last)) {
      const verdict = verdictOf(last);
      if (options.renewal.goBack(verdict)) continue;
      options.say("process-ended", `the ${last.of} ${last.words} and is not started again`);
      options.verdict(verdict);
      return last.code ?? exitCodes.bug;
    }
    options.say("process-restarted", `the ${last.of} ${last.words} and is started again`);
    if (last.fault !== null) options.failing(verdictOf(last));
    if ((await backoff.wait(options.clock() - startedAt, [stop])) === "stop") return exitCodes.fine;
  }
}

interface StartedCourier extends WatchedChild {
  readonly handSettings: () => void;
}

function startCourier(start: () => CourierAwaitingSettings, options: WatchOptions): StartedCourier {
  const { child, handSettings } = start();
  return { ...watchChild("courier", child, options), handSettings };
}

/**
 * Lets the waiting courier begin, and starts couriers after it, until the signer ends, a courier
 * ends permanently, or `told` resolves.
 */
async function runCouriers<T>(
  signer: WatchedChild,
  waiting: StartedCourier | null,
  locked: string,
  told: Promise<T>,
  options: SupervisorOptions,
): Promise<Exit | T> {
  const isUp = (): void => {
    options.renewal.keep();
    options.up();
  };
  if (options.startCourier === null || waiting === null) {
    isUp();
    options.ready(locked);
    return Promise.race([told, signer.ended]);
  }
  const backoff = new Backoff(options);
  for (let courier = waiting; ; courier = startCourier(options.startCourier, options)) {
    const startedAt = options.clock();
    courier.handSettings();
    void courier.up.then(isUp);
    void courier.ready.then(() => options.ready(locked));
    const end = await Promise.race([told, signer.ended, courier.ended]);
    await courier.end();
    if (!isExit(end) || end.of === "signer" || isFinal(end) || end.isOutdated) return end;
    options.say("process-restarted", `the courier ${end.words} and is started again`);
    const during = await backoff.wait(options.clock() - startedAt, [told, signer.ended] as const);
    if (during !== "due") return during;
  }
}

function isExit(end: unknown): end is Exit {
  return typeof end === "object" && end !== null;
}

/** Locked, or wrongly configured: the next start would have the same result. */
function isFinal(exit: Exit): boolean {
  return exit.code === exitCodes.configuration || exit.code === exitCodes.locked;
}

function verdictOf({ of, code, words, fault }: Exit): ExitVerdict {
  if (fault !== null) return exitVerdictOfCode(fault.code, fault.message, fault.hint);
  const message = `the ${of} ${words} without a reason`;
  return {
    exitCode: code ?? exitCodes.bug,
    code: "BUG",
    message,
    hint: "look at the lines before this one in the log",
  };
}

/** Pauses between starts: each twice as long as the one before, until a child was healthy. */
class Backoff {
  readonly #first: number;
  readonly #most: number;
  #nextMs: number;

  constructor(options: SupervisorOptions) {
    this.#first = options.backoffMs?.first ?? 200;
    this.#most = options.backoffMs?.most ?? 10_000;
    this.#nextMs = this.#first;
  }

  /**
   * "due" after the complete pause, else the result of the first of `unless` to resolve. `ranMs` is
   * the time that the child ran.
   */
  wait<T extends readonly Promise<unknown>[]>(
    ranMs: number,
    unless: T,
  ): Promise<Awaited<T[number]> | "due"> {
    if (ranMs >= healthyMs) this.#nextMs = this.#first;
    const ms = this.#nextMs;
    this.#nextMs = Math.min(ms * 2, this.#most);
    return waitWithin(ms, Promise.race(unless) as Promise<Awaited<T[number]>>);
  }
}
