/**
 * Starting, finding and ending the real processes a script plays with. Only processes started here
 * are ever signalled.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { createWriteStream, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";

/** A started process with everything it printed so far. */
export interface StartedProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  /** All of stdout and stderr up to now, the newest `keptMax` of it. */
  output(): string;
  /** Resolves with the exit code (null when a signal ended it). */
  readonly ended: Promise<number | null>;
}

/** Characters of a process's output that are kept. */
const keptMax = 262_144;

/** Spawns a program; `logFile` also gets what it prints. */
export function start(
  program: string,
  args: readonly string[],
  options: { cwd?: string; logFile: string; env?: NodeJS.ProcessEnv },
): StartedProcess {
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: options.env ?? process.env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log = createWriteStream(options.logFile, { flags: "a", mode: 0o600 });
  // Put together when somebody asks: anybody who prints much must not be slowed down by who
  // listens.
  let chunks: string[] = [];
  let bytes = 0;
  const keep = (chunk: Buffer): void => {
    chunks.push(chunk.toString("utf8"));
    bytes += chunk.length;
    if (bytes > 2 * keptMax) output();
    log.write(chunk);
  };
  function output(): string {
    const text = chunks.join("").slice(-keptMax);
    chunks = [text];
    bytes = text.length;
    return text;
  }
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);
  const ended = new Promise<number | null>((resolve) => {
    child.once("error", () => resolve(127));
    child.once("close", (code) => {
      log.end();
      resolve(code);
    });
  });
  return { child, pid: child.pid ?? 0, output, ended };
}

/** Runs a program to its end. */
export async function run(
  program: string,
  args: readonly string[],
  options: { cwd?: string; logFile: string },
): Promise<{ code: number | null; output: string }> {
  const started = start(program, args, options);
  const code = await started.ended;
  return { code, output: started.output() };
}

/** Ends a process with SIGTERM, with SIGKILL after `graceMs`. */
export async function stop(started: StartedProcess, graceMs = 8_000): Promise<void> {
  if (started.child.exitCode !== null || started.child.signalCode !== null) return;
  started.child.kill("SIGTERM");
  const timer = setTimeout(() => started.child.kill("SIGKILL"), graceMs);
  await started.ended;
  clearTimeout(timer);
}

/** Children of a process whose command line contains `part` (Linux /proc). */
export function childrenOf(pid: number, part: string): number[] {
  const found: number[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
      if (parent === pid && readFileSync(`/proc/${name}/cmdline`, "utf8").includes(part))
        found.push(Number(name));
    } catch {
      // It ended between the listing and the look: then it is no child any more.
    }
  }
  return found;
}

const portMin = 10_000;
const portTriesMax = 100;

/** The first port that the system gives to outgoing connections by itself (ip(7)). */
function firstEphemeralPort(): number {
  const [first = ""] = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8").split(/\s/);
  return Number(first);
}

/** Resolves to true if a server can listen on this loopback port now. */
function canListenOn(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

/**
 * A loopback port nobody listens on now. No outgoing connection of another process takes the port
 * while a process that listens there is started, or started again.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < portTriesMax; tries += 1) {
    const port = randomInt(portMin, firstEphemeralPort());
    if (await canListenOn(port)) return port;
  }
  throw new Error(`no free port in ${portTriesMax} tries`);
}

/**
 * A look that starts a process takes the cores from whatever it waits for: the pause after it is as
 * long as the look was, up to this.
 */
const pauseMsMax = 1_000;

/**
 * Asks `look` every `everyMs` or more until it gives something, at most `timeoutMs`; the error
 * names `what` and ends with `context()`.
 */
export async function until<T>(
  what: string,
  timeoutMs: number,
  look: () => Promise<T | undefined>,
  context: () => string = () => "",
  everyMs = 100,
): Promise<T> {
  const end = Date.now() + timeoutMs;
  let last = "";
  while (Date.now() < end) {
    const lookedAt = Date.now();
    try {
      const found = await look();
      if (found !== undefined) return found;
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
    }
    const pauseMs = Math.max(everyMs, Math.min(Date.now() - lookedAt, pauseMsMax));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  throw new Error(
    `${what}: not within ${timeoutMs} ms${last === "" ? "" : ` (last: ${last})`}\n${context()}`,
  );
}
