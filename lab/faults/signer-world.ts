/**
 * One signer's life under faults: a state folder, the process on it, and the counterpart that
 * drives withdrawals through it. A strike is followed by a start without faults, in which
 * everything open must come to its end; then the whole is judged.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { run } from "../kit/processes.ts";
import { type Counterpart, SignerGoneError } from "./counterpart.ts";
import { losePower, unsyncedIn } from "./power.ts";
import {
  copySignerFolder,
  launchSigner,
  recordsOf,
  type SignerFolder,
  type SignerProcess,
  segmentsOf,
  signedOf,
  startSigner,
} from "./signer-folder.ts";
import type { Random } from "./tally.ts";
import {
  attach,
  isReached,
  type Point,
  pointsIn,
  readTrace,
  startedUnder,
  type TraceOptions,
  type Tracer,
} from "./trace.ts";

/** The moment in the life of the process at which the fault strikes. */
export type Scene = "signing" | "rotation" | "start";

/**
 * After the process has ended: it starts again, or the power fails first, or it starts, speaks, and
 * then the power fails.
 */
export type Aftermath = "start" | "lose power" | "speak and lose power";

/** The fault. `errno` faults and short writes hit only the ledger's files. */
export type SignerFault =
  | { readonly kind: "kill"; readonly point: Point; readonly aftermath: Aftermath | "copy" }
  | {
      readonly kind: "error";
      readonly errno: "EIO" | "ENOSPC";
      readonly point: Point;
      readonly aftermath: Aftermath;
    }
  | { readonly kind: "short"; readonly bytes: number; readonly heals: boolean }
  | { readonly kind: "full" };

/** Calls that a strike by kill walks over: whatever touches disk or socket. */
export const everyCall = [
  ...[
    "write",
    "writev",
    "pwrite64",
    "fdatasync",
    "fsync",
    "ftruncate",
    "rename",
    "unlink",
    "openat",
    "close",
  ],
  ...["read", "pread64", "sendmsg", "sendto", "recvmsg", "accept4", "statfs", "epoll_ctl"],
];
/** Calls of the ledger's own files that can fail. */
const diskCalls = ["write", "fdatasync", "fsync", "ftruncate", "rename", "unlink", "openat"];
const logCalls = ["write", "fdatasync", "fsync", "ftruncate", "rename", "openat"];

const tornBytes = 40;
const endMs = 15_000;
const lateMs = 1_000;
/**
 * How long each write but the first is held back: one of them is the rest of the one that was cut.
 */
const healsMs = 200;
const rotationMs = 5_000;
/**
 * f_type, f_bsize, f_blocks, f_bfree, f_bavail of statfs(2) on 64 bits: four KiB blocks, all of
 * them taken.
 */
const fullDisk =
  "ef53000000000000001000000000000000000010000000000000000000000000000000000000000000";

export class SignerWorld {
  readonly counterpart: Counterpart;
  readonly #dir: string;
  readonly #random: Random;
  #folder: SignerFolder;
  #process: SignerProcess | null = null;
  #copies = 0;
  #goneFor = "";

  constructor(dir: string, folder: SignerFolder, counterpart: Counterpart, random: Random) {
    this.#dir = dir;
    this.#folder = folder;
    this.counterpart = counterpart;
    this.#random = random;
  }

  get folder(): SignerFolder {
    return this.#folder;
  }

  /** Points of one scene, from a run without faults. */
  async points(scene: Scene, which: "kill" | "error", count: number): Promise<readonly Point[]> {
    const options: TraceOptions =
      which === "kill" && scene !== "start"
        ? { syscalls: everyCall }
        : this.#onDisk(which === "kill" ? everyCall : diskCalls);
    const { log } = await this.#play(scene, options, count);
    await this.#recover();
    return pointsIn(log());
  }

  /** One fault. False when its point was never reached: nothing happened then but ordinary work. */
  async strike(scene: Scene, fault: SignerFault, count: number): Promise<boolean> {
    if (fault.kind === "full") return this.#fillDisk();
    if (fault.kind === "short") return this.#shorten(fault, count);
    const when = `:when=${fault.point.nth}`;
    const { syscall } = fault.point;
    const inject =
      fault.kind === "error"
        ? `${syscall}:error=${fault.errno}${when}`
        : `${syscall}:signal=${fault.aftermath === "copy" ? "SIGSTOP" : "SIGKILL"}${when}`;
    const syscalls = fault.kind === "error" ? logCalls : everyCall;
    const narrow = fault.kind === "error" || scene === "start";
    const sizes = this.#sizes();
    const options = narrow ? this.#onDisk(syscalls) : { syscalls };
    const mayStop = fault.kind === "kill" && fault.aftermath === "copy";
    const played = await this.#play(scene, { ...options, inject }, count, {
      mayStop,
      point: fault.point,
    });
    if (!played.struck) {
      if (fault.kind === "error" && played.log().includes("(INJECTED)"))
        this.counterpart.violations.push(
          `the signer lives on after ${fault.errno} from ${syscall}`,
        );
      return false;
    }
    if (fault.kind === "kill" && fault.aftermath === "copy") await this.#moveToCopy();
    await this.#ended();
    if (fault.aftermath === "lose power") this.#losePower(played.log(), sizes);
    if (fault.aftermath === "speak and lose power")
      this.#losePower(`${played.log()}${await this.#speak()}`, sizes);
    await this.#recover();
    return true;
  }

  /** Everything holds; ends the process. */
  async close(): Promise<readonly string[]> {
    await this.#process?.kill();
    this.counterpart.judge(this.#folder);
    this.#folder.lock.release();
    rmSync(this.#dir, { recursive: true, force: true });
    return this.counterpart.violations;
  }

  async up(): Promise<SignerProcess> {
    if (this.#process === null || this.#process.isOver())
      this.#process = await startSigner(this.#folder);
    return this.#process;
  }

  /** Plays a scene under the tracer. */
  async #play(
    scene: Scene,
    options: TraceOptions,
    count: number,
    struck: { readonly mayStop: boolean; readonly point?: Point } = { mayStop: false },
  ): Promise<{ readonly struck: boolean; readonly log: () => string }> {
    const file = join(this.#dir, "trace");
    if (scene === "start") return this.#playStart(file, options);
    const { mayStop } = struck;
    const running = await this.up();
    const tracer = await attach(running.pid, file, options);
    const stopped = mayStop ? this.#stopped(tracer) : null;
    const work = this.#work(scene, count);
    const isGone = (await Promise.race([work, stopped?.seen ?? work])) === "gone";
    stopped?.end();
    if (stopped !== null && isGone) work.catch(() => undefined);
    await tracer.detach(isGone && !mayStop);
    // The work may have been done just before the last of its calls was struck.
    if (!isGone && struck.point !== undefined && isReached(tracer.log(), struck.point))
      await within(lateMs, running.ended);
    const isLate = mayStop ? tracer.log().includes("stopped by SIGSTOP") : running.isOver();
    return { struck: isGone || isLate, log: tracer.log };
  }

  async #work(scene: Scene, count: number): Promise<"gone" | "done"> {
    try {
      await this.counterpart.drive(this.#folder, count, this.#random() < 0.3);
      if (scene === "rotation") await this.#rotated();
      return this.#process === null ? "gone" : "done";
    } catch (error) {
      if (!(error instanceof SignerGoneError)) throw error;
      this.#goneFor = error.code;
      return "gone";
    }
  }

  /** Resolves when the log says that the process stands. */
  #stopped(tracer: Tracer): { readonly seen: Promise<"gone">; end(): void } {
    let timer: NodeJS.Timeout | undefined;
    const seen = new Promise<"gone">((resolve) => {
      timer = setInterval(() => {
        if (tracer.log().includes("stopped by SIGSTOP")) resolve("gone");
      }, 5);
    });
    return { seen, end: () => clearInterval(timer) };
  }

  /**
   * A start that may end early; before it the ledger gets a tail that a power failure tore, so that
   * cutting it is seen as well.
   */
  async #playStart(
    file: string,
    options: TraceOptions,
  ): Promise<{ readonly struck: boolean; readonly log: () => string }> {
    await this.#process?.kill();
    this.#process = null;
    const paths = [...(options.paths ?? []), ...this.#tornNames()];
    this.#tear();
    const started = launchSigner(this.#folder, startedUnder(file, { ...options, paths }));
    const isReady = await started.ready;
    this.#process = isReady ? started : null;
    if (!isReady) await started.ended;
    return { struck: !isReady, log: () => readTrace(file) };
  }

  /** Zeros at the end of the ledger: a write that had its place on the disk and no bytes yet. */
  #tear(): void {
    const path = segmentsOf(this.#folder).at(-1) ?? "";
    truncateSync(path, statSync(path).size + tornBytes);
  }

  /** The file that keeps a torn tail aside, if this ledger had one now. */
  #tornNames(): readonly string[] {
    const path = segmentsOf(this.#folder).at(-1) ?? "";
    const name = `torn-${basename(path, ".jsonl")}-${statSync(path).size}`;
    return [join(this.#folder.ledger, name), join(this.#folder.ledger, `${name}.tmp`)];
  }

  #onDisk(syscalls: readonly string[]): TraceOptions {
    const files = readdirSync(this.#folder.ledger).map((name) => join(this.#folder.ledger, name));
    const coming = [
      "00000002.jsonl",
      "00000002.jsonl.tmp",
      "checkpoint-00000002.bin",
      "checkpoint-00000002.bin.tmp",
    ];
    const paths = [
      this.#folder.ledger,
      ...files,
      ...coming.map((name) => join(this.#folder.ledger, name)),
    ];
    return { syscalls, paths: [...new Set(paths), join(this.#folder.state, "keystore.json")] };
  }

  #sizes(): ReadonlyMap<string, number> {
    const { ledger } = this.#folder;
    return new Map(
      readdirSync(ledger).map((name) => [join(ledger, name), statSync(join(ledger, name)).size]),
    );
  }

  async #ended(): Promise<void> {
    const running = this.#process;
    this.#process = null;
    if (running === null) return;
    if ((await within(endMs, running.ended)) === "late") {
      this.counterpart.violations.push(
        `the signer lives on after it was struck (${this.#goneFor}): ${running.output().slice(-600)}`,
      );
      await running.kill();
    }
  }

  #losePower(log: string, sizes: ReadonlyMap<string, number>): void {
    losePower(unsyncedIn(log, this.#folder.ledger, sizes), this.#random);
    const signed = signedOf(this.#folder);
    for (const [key, raw] of this.counterpart.raws)
      if (!signed.has(raw))
        this.counterpart.violations.push(`${key} left the signer and was not durable`);
  }

  /**
   * A start without faults that lasts until the gateway has received everything, and its trace:
   * what is said then must be durable.
   */
  async #speak(): Promise<string> {
    const file = join(this.#dir, "speech");
    const started = launchSigner(this.#folder, startedUnder(file, this.#onDisk(logCalls)));
    if (!(await started.ready)) throw new Error(`the signer did not start: ${started.output()}`);
    await this.counterpart.listen(this.#folder);
    await started.kill();
    return readTrace(file);
  }

  /**
   * The stopped process stays beside while another begins on a copy of its files; then it is
   * killed.
   */
  async #moveToCopy(): Promise<void> {
    const old = this.#folder;
    const stopped = this.#process;
    this.#copies += 1;
    const dir = join(this.#dir, `copy-${this.#copies}`);
    mkdirSync(dir, { mode: 0o700 });
    this.#folder = await copySignerFolder(old, dir);
    this.#process = await startSigner(this.#folder);
    await this.counterpart.drive(this.#folder, 0);
    await this.#process.kill();
    await stopped?.kill();
    this.#process = null;
    old.lock.release();
  }

  async #recover(): Promise<void> {
    const running = await this.up();
    try {
      await this.counterpart.drive(this.#folder, 0);
    } catch (cause) {
      if (!(cause instanceof SignerGoneError)) throw cause;
      await within(endMs, running.ended);
      throw new Error(
        `${cause.message} after a restart; its exit reason: ${running.output().slice(-1500)}`,
        { cause },
      );
    }
  }

  async #rotated(): Promise<void> {
    const endAt = performance.now() + rotationMs;
    while (!readdirSync(this.#folder.ledger).includes("00000002.jsonl")) {
      if (this.#process === null || performance.now() > endAt)
        throw new SignerGoneError("no new segment");
      const over = await Promise.race([this.#process.ended, sleep(20)]);
      if (over !== undefined) throw new SignerGoneError("ended while the segment was made");
    }
    await sleep(50);
  }

  /** A write that the system cuts short: it ends there, or goes on when there is room again. */
  async #shorten(
    { bytes, heals }: { readonly bytes: number; readonly heals: boolean },
    count: number,
  ): Promise<boolean> {
    const running = await this.up();
    const file =
      [...this.#sizes().keys()]
        .filter((path) => path.endsWith(".jsonl"))
        .sort()
        .at(-1) ?? "";
    const size = statSync(file).size;
    const limit = size + bytes;
    const tracer = heals
      ? await attach(running.pid, join(this.#dir, "trace"), {
          syscalls: ["write"],
          paths: [file],
          inject: `write:delay_enter=${healsMs}ms:when=2+`,
        })
      : null;
    await limitFiles(running.pid, String(limit));
    const watch = heals ? this.#raise(running.pid, file, limit) : null;
    const work = await this.#work("signing", count);
    watch?.end();
    await tracer?.detach();
    // A process that ends right after its work is found gone here alone.
    const isAlive = work !== "gone" && (await limitFiles(running.pid, "unlimited"));
    if (!isAlive) {
      await this.#ended();
      // On a busy machine the room came too late: that strike shows nothing.
      const couldGoOn = watch?.raised() ?? false;
      if (couldGoOn) this.counterpart.violations.push("a short write that could go on did not");
      await this.#recover();
      return !heals || couldGoOn;
    }
    return heals ? (watch?.raised() ?? false) : false;
  }

  /**
   * Gives room as soon as a write was cut short; `raised` when that was surely before the next one.
   */
  #raise(pid: number, file: string, limit: number): { raised(): boolean; end(): void } {
    let isRaised = false;
    const timer = setInterval(() => {
      if (statSync(file).size < limit) return;
      clearInterval(timer);
      const beganAt = performance.now();
      const inTime = (isThere: boolean): void => {
        isRaised = isThere && performance.now() - beganAt < healsMs / 4;
      };
      // A process that is gone was not in time either.
      limitFiles(pid, "unlimited").then(inTime, () => {});
    }, 2);
    return { raised: () => isRaised, end: () => clearInterval(timer) };
  }

  /**
   * The disk says that it is full: new withdrawals are refused before they are bound, and go on
   * when there is room.
   */
  async #fillDisk(): Promise<boolean> {
    const running = await this.up();
    const inject = `statfs:poke_exit=@arg2=${fullDisk}`;
    const tracer = await attach(running.pid, join(this.#dir, "trace"), {
      syscalls: ["statfs"],
      inject,
    });
    const bound = (): number =>
      recordsOf(this.#folder).filter((record) => record.kind === "INTENT").length;
    const before = bound();
    const code = await this.counterpart.drive(this.#folder, 1).then(
      () => "done",
      (error: unknown) => (error instanceof SignerGoneError ? error.code : String(error)),
    );
    if (code !== "LEDGER_DISK_FULL")
      this.counterpart.violations.push(`a full disk was answered with ${code}`);
    if (bound() !== before)
      this.counterpart.violations.push("a withdrawal was bound on a full disk");
    await tracer.detach();
    await this.counterpart.drive(this.#folder, 1);
    return true;
  }
}

/** The value of `other`, or "late" if that takes longer. */
export async function within<T>(ms: number, other: Promise<T>): Promise<T | "late"> {
  const timer = new AbortController();
  const late = sleep(ms, "late" as const, { signal: timer.signal }).catch(() => "late" as const);
  const first = await Promise.race([other, late]);
  timer.abort();
  return first;
}

/**
 * Sets RLIMIT_FSIZE of a running process: a write beyond it is cut short, the next one refused.
 * False when the process has ended.
 */
export async function limitFiles(pid: number, bytes: string): Promise<boolean> {
  const done = await run("prlimit", ["--pid", String(pid), `--fsize=${bytes}:unlimited`], {
    logFile: "/dev/null",
  });
  if (done.code === 0) return true;
  if (!existsSync(`/proc/${pid}`)) return false;
  throw new Error(`prlimit ended with ${done.code}: ${done.output}`);
}
