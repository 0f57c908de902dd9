/**
 * Keeps signer and courier running. The courier's process starts beside the signer's, gets its
 * settings when the signer is ready, and does nothing before; it runs as long as the signer runs.
 * After an unexpected end each is started again, with longer and longer pauses. A child that ends
 * locked or misconfigured is not started again, unless older settings are there to go back to.
 */
import type { ChildProcess } from "node:child_process";
import { exitCodes, type Verdict, verdictFor } from "./exit-status.ts";
import {
  alwaysUp,
  type Exit,
  type WatchedChild,
  type WatchOptions,
  waitWithin,
  watchChild,
} from "./watched.ts";

/** New settings for the children while the launcher goes on. */
export interface Renewal {
  /** Resolves when new settings were taken, so the children must be started again. */
  next(): Promise<unknown>;
  /** The children run with the newest settings, so the older ones are forgotten. */
  keep(): void;
  /**
   * Goes back to the older settings after a child refused the new ones; false if there are only the
   * refused ones.
   */
  goBack(verdict: Verdict): boolean;
  /**
   * Reads the file again for a child that gave way to a newer one; false if only a new start of
   * this process can bring it.
   */
  renew(): boolean;
}

/** A courier's process that waits for its settings. */
export interface WaitingCourier {
  readonly child: ChildProcess;
  /** Gives it the settings, called once. A courier that has ended already takes no harm. */
  readonly handSettings: () => void;
}

export interface SupervisorOptions extends WatchOptions {
  /** Starts the signer and gives it its settings; null if another launcher runs it. */
  readonly startSigner: (() => ChildProcess) | null;
  /** Starts the courier, which waits for its settings; null if another launcher runs it. */
  readonly startCourier: (() => WaitingCourier) | null;
  /** Called once, before the promise resolves, when a child ends permanently. */
  readonly verdict: (verdict: Verdict) => void;
  /** Called each time a child ends because of a fault and is started again. */
  readonly failing: (verdict: Verdict) => void;
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
  readonly renewal: Renewal;
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

function startCourier(start: () => WaitingCourier, options: WatchOptions): StartedCourier {
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

function verdictOf({ of, code, words, fault }: Exit): Verdict {
  if (fault !== null) return verdictFor(fault.code, fault.message, fault.hint);
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
