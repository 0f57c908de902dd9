/**
 * strace as a hand that strikes: attaches to a running process, counts its system calls, kills it
 * at the n-th of one kind, makes a call fail, or slows it down. Linux only; anybody who cannot
 * attach here is told why. Source: strace(1), sections on -e inject.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";

/** The n-th call of one kind, counted in each thread for itself from the moment of attaching. */
export interface Point {
  readonly syscall: string;
  readonly nth: number;
}

export interface TraceOptions {
  readonly syscalls: readonly string[];
  /** Only calls that touch one of these files or folders; all calls unless told. */
  readonly paths?: readonly string[];
  /** As `-e inject=` takes it, for instance `fdatasync:error=EIO:when=2`. */
  readonly inject?: string;
  /** Keeps every byte that is written, so that the files can be made again from the log. */
  readonly withData?: boolean;
}

export interface Tracer {
  /** Everything seen so far. */
  log(): string;
  /**
   * Lets the process go. One that was killed takes its tracer along by itself: `isKilled` waits for
   * that.
   */
  detach(isKilled?: boolean): Promise<void>;
}

const bytesKept = 1_048_576;

/** Why processes cannot be struck on this machine; "" when they can. */
export function whyNoTrace(): string {
  if (process.platform !== "linux") return "strace and its injection exist on Linux only";
  const attempt = spawnSync("strace", ["-V"], { encoding: "utf8" });
  if (attempt.error !== undefined) return "strace is missing: apt-get install strace";
  const victim = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], {
    stdio: "ignore",
  });
  const tried = spawnSync(
    "timeout",
    ["0.5", "strace", "-o", "/dev/null", "-p", String(victim.pid)],
    { encoding: "utf8" },
  );
  victim.kill("SIGKILL");
  return /attached/.test(tried.stderr)
    ? ""
    : `strace may not attach to a process here: ${tried.stderr.trim()} (see kernel.yama.ptrace_scope)`;
}

/** Resolves when the process is held and every call from now on is seen; `file` takes the log. */
export async function attach(pid: number, file: string, options: TraceOptions): Promise<Tracer> {
  rmSync(file, { force: true });
  const child = spawn("strace", ["-f", "-p", String(pid), ...optionsOf(file, options)], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = endOf(child);
  await new Promise<void>((resolve, reject) => {
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString("utf8");
      if (/attached/.test(said)) resolve();
    });
    void ended.then(() =>
      /attached/.test(said) ? resolve() : reject(new Error(`strace ended at once: ${said.trim()}`)),
    );
  });
  return tracerOf(child, ended, file);
}

/** The words to put before a program so that it starts under the tracer. */
export function startedUnder(file: string, options: TraceOptions): readonly string[] {
  rmSync(file, { force: true });
  return ["strace", "-f", ...optionsOf(file, options)];
}

function optionsOf(
  file: string,
  { syscalls, paths = [], inject, withData }: TraceOptions,
): string[] {
  const data = withData === true ? ["-xx", "-s", String(bytesKept)] : ["-s", "0"];
  const named = paths.flatMap((path) => ["-P", path]);
  const injected = inject === undefined ? [] : ["-e", `inject=${inject}`];
  return ["-y", "-o", file, "-e", `trace=${syscalls.join(",")}`, ...data, ...named, ...injected];
}

function endOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
}

function tracerOf(child: ChildProcess, ended: Promise<void>, file: string): Tracer {
  return {
    log: () => readTrace(file),
    async detach(isKilled = false) {
      // On SIGTERM strace lets its processes go; told so in the moment of their end it may wait
      // for them in vain. A tracer that is killed early has not written all that it saw.
      const timers = [
        setTimeout(() => child.kill("SIGTERM"), isKilled ? 2_000 : 0),
        setTimeout(() => child.kill("SIGKILL"), 20_000),
      ];
      await ended;
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

/** The log a tracer left; "" before its first line. */
export function readTrace(file: string): string {
  return existsSync(file) ? readFileSync(file, "latin1") : "";
}

/** Every point of a dry run's log: for each call as many as the busiest thread made. */
export function pointsIn(log: string): readonly Point[] {
  const counts = new Map<string, number>();
  for (const [, thread, syscall] of log.matchAll(/^(\d+) +(\w+)\(/gm)) {
    const key = `${thread} ${syscall}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const most = new Map<string, number>();
  for (const [key, count] of counts) {
    const syscall = key.split(" ")[1] ?? "";
    most.set(syscall, Math.max(most.get(syscall) ?? 0, count));
  }
  return [...most].flatMap(([syscall, count]) =>
    Array.from({ length: count }, (_, place) => ({ syscall, nth: place + 1 })),
  );
}

/** Whether a thread came as far as this point. */
export function isReached(log: string, point: Point): boolean {
  return pointsIn(log).some(({ syscall, nth }) => syscall === point.syscall && nth === point.nth);
}

/**
 * One finished call of a log, in the order in which calls began; `value` is what it gave back, null
 * when it never came back.
 */
export interface Call {
  readonly syscall: string;
  readonly args: string;
  value: number | null;
  readonly isInjected: boolean;
  /**
   * Place among all beginnings and ends of the log: what began after another's end saw its effect.
   */
  readonly begunAt: number;
  endedAt: number;
}

/**
 * The calls of a log; a call that was interrupted by another thread's line is put together again.
 */
export function callsIn(log: string): readonly Call[] {
  const calls: Call[] = [];
  const open = new Map<string, Call>();
  log.split("\n").forEach((line, place) => {
    const whole = /^(\d+) +(\w+)\((.*)\) += +(-?\d+|\?)(.*)$/s.exec(line);
    const begun = whole === null ? /^(\d+) +(\w+)\((.*) <unfinished \.\.\.>$/s.exec(line) : null;
    const resumed = /^(\d+) +<\.\.\. (\w+) resumed>.*\) += +(-?\d+|\?)(.*)$/s.exec(line);
    if (whole !== null) {
      const [, , syscall = "", args = "", value = "", rest = ""] = whole;
      const isInjected = rest.includes("(INJECTED)");
      calls.push({
        syscall,
        args,
        value: numberOf(value),
        isInjected,
        begunAt: place,
        endedAt: place,
      });
    } else if (begun !== null) {
      const [, thread = "", syscall = "", args = ""] = begun;
      const call = {
        syscall,
        args,
        value: null,
        isInjected: false,
        begunAt: place,
        endedAt: Number.POSITIVE_INFINITY,
      };
      calls.push(call);
      open.set(thread, call);
    } else if (resumed !== null) {
      const call = open.get(resumed[1] ?? "");
      if (call === undefined) return;
      call.value = numberOf(resumed[3] ?? "?");
      call.endedAt = place;
      open.delete(resumed[1] ?? "");
    }
  });
  return calls;
}

const numberOf = (text: string): number | null => (text === "?" ? null : Number(text));
