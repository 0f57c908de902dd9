/**
 * A bare Debian 12 under systemd, booted in systemd-nspawn with a network of its own that has
 * loopback only. mmdebstrap makes the root once, in the user's cache folder; each machine writes to
 * its own layer above, which goes with the machine.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../../lab/kit/processes.ts";
import { converse, scriptWords, type Turn } from "../support/pty.ts";

/**
 * The packages of a Debian server beyond its minimum: systemd, Debian's own Node 18 and npm 9, and
 * the programs that `install` needs.
 */
const packages = [
  "systemd",
  "systemd-sysv",
  "dbus",
  "nodejs",
  "npm",
  "util-linux",
  "procps",
  "passwd",
  "login",
  "libfaketime",
  "openssl",
];
const suite = "bookworm";
const programs = ["systemd-nspawn", "mmdebstrap", "nsenter", "unshare", "ip", "mount"];

/** The line that brings what is missing, "" when a machine can be made here. */
export function whyNoMachine(): string {
  const missing = programs.filter(
    (one) => spawnSync("sh", ["-c", `command -v ${one}`], { stdio: "ignore" }).status !== 0,
  );
  if (missing.length > 0)
    return `apt-get install systemd-container mmdebstrap util-linux iproute2 (missing: ${missing.join(", ")})`;
  return process.getuid?.() === 0 ? "" : "run it as root";
}

/** How a command inside ended. */
export interface Ended {
  readonly code: number | null;
  readonly output: string; // stdout and stderr as they came
}

export interface RunOptions {
  readonly user?: string; // default root
  readonly cwd?: string; // default /
  readonly input?: string;
  /** Typed on a terminal, which the command then has; `input` is none. */
  readonly turns?: readonly Turn[];
  readonly timeoutMs?: number; // default 60 s
  readonly env?: Readonly<Record<string, string>>;
}

const runMsDefault = 60_000;
const bootMs = 60_000;
const baseMs = 600_000;

/** The root of all machines, made when it is missing. */
async function baseRoot(): Promise<string> {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "autowithdraw");
  const name = createHash("sha256")
    .update([suite, ...packages].join(" "))
    .digest("hex")
    .slice(0, 12);
  const root = join(cache, `debian-${suite}-${name}`);
  if (existsSync(root)) return root;
  mkdirSync(cache, { recursive: true });
  process.stderr.write(`making a bare Debian in ${root}: once, some two minutes\n`);
  const aside = mkdtempSync(join(cache, "making-"));
  const args = [
    "--mode=root",
    "--variant=minbase",
    `--include=${packages.join(",")}`,
    suite,
    join(aside, "root"),
  ];
  const made = await collect(spawn("mmdebstrap", args), { timeoutMs: baseMs });
  if (made.code !== 0) {
    rmSync(aside, { recursive: true, force: true });
    throw new Error(`mmdebstrap ended with ${made.code}:\n${made.output.slice(-3000)}`);
  }
  // Another test may have been quicker.
  if (!existsSync(root)) renameSync(join(aside, "root"), root);
  rmSync(aside, { recursive: true, force: true });
  return root;
}

export class Machine {
  readonly dir = mkdtempSync(join(tmpdir(), "autowithdraw-machine-"));
  readonly root = join(this.dir, "root");
  readonly #binds: readonly string[];
  readonly #network: ChildProcess;
  readonly #isGuest: boolean; // in another machine's network
  #nspawn: ChildProcess | null = null;
  #leader = 0;
  #console = "";

  /**
   * `binds`: folders of this machine as `SOURCE:PLACE`, seen inside read-only at PLACE. A machine
   * `beside` another shares the network, loopback included.
   */
  static async make(binds: readonly string[] = [], beside?: Machine): Promise<Machine> {
    return new Machine(await baseRoot(), binds, beside);
  }

  private constructor(base: string, binds: readonly string[], beside: Machine | undefined) {
    this.#binds = binds;
    for (const part of ["root", "upper", "work"]) mkdirSync(join(this.dir, part));
    const layers = `lowerdir=${base},upperdir=${join(this.dir, "upper")},workdir=${join(this.dir, "work")}`;
    mustRun("mount", ["-t", "overlay", "overlay", "-o", layers, this.root]);
    // Lives longer than a boot, so that the chain node inside it does too.
    this.#network =
      beside === undefined
        ? spawn("unshare", ["--net", "sleep", "3600"], { stdio: "ignore" })
        : beside.#network;
    this.#isGuest = beside !== undefined;
  }

  async boot(): Promise<void> {
    const network = this.#network.pid as number;
    await until("the machine's network", 5_000, async () => {
      // Until `unshare` is done the process is still in the host's network.
      if (readlinkSync(`/proc/${network}/ns/net`) === readlinkSync("/proc/self/ns/net"))
        return undefined;
      const up = spawnSync("nsenter", ["-t", `${network}`, "-n", "ip", "link", "set", "lo", "up"], {
        stdio: "ignore",
      });
      return up.status === 0 ? true : undefined;
    });
    const args = [
      "-D",
      this.root,
      "--boot",
      `--network-namespace-path=/proc/${network}/ns/net`,
      "--register=no",
      "--keep-unit",
    ];
    args.push(
      "--console=pipe",
      `--machine=${basename(this.dir)}`,
      ...this.#binds.map((bind) => `--bind-ro=${bind}`),
    );
    const nspawn = spawn("systemd-nspawn", args, { stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [nspawn.stdout, nspawn.stderr])
      stream?.on("data", (text: Buffer) => {
        this.#console = (this.#console + text.toString("utf8")).slice(-20_000);
      });
    this.#nspawn = nspawn;
    await until(
      "the machine has booted",
      bootMs,
      async () => {
        if (nspawn.exitCode !== null)
          throw new Error(`systemd-nspawn ended with ${nspawn.exitCode}`);
        this.#leader = Number(
          readFileSync(`/proc/${nspawn.pid}/task/${nspawn.pid}/children`, "utf8")
            .trim()
            .split(" ")[0],
        );
        if (!(this.#leader > 0)) return undefined;
        const { output } = await this.run(["systemctl", "is-system-running"]);
        return /^(?:running|degraded)/.test(output) ? true : undefined;
      },
      () => this.#console,
    );
  }

  /**
   * Puts the Node that runs this test in the place of Debian's Node 18, which the gateway does not
   * run on.
   */
  takeNode(): void {
    cpSync(process.execPath, join(this.root, "usr", "bin", "node"));
  }

  /** Ends as a server that is switched off cleanly; its disk stays. */
  async shutDown(): Promise<void> {
    const nspawn = this.#nspawn;
    if (nspawn === null) return;
    const ended = new Promise<void>((resolve) => {
      if (nspawn.exitCode !== null || nspawn.signalCode !== null) resolve();
      else nspawn.once("exit", () => resolve());
    });
    if (nspawn.exitCode === null) void this.run(["systemctl", "poweroff"]).catch(() => {});
    const kill = setTimeout(() => nspawn.kill("SIGKILL"), 60_000);
    await ended;
    clearTimeout(kill);
    this.#nspawn = null;
  }

  /** Switched off, and nothing of it is left. */
  async remove(): Promise<void> {
    await this.shutDown();
    if (!this.#isGuest) this.#network.kill("SIGKILL");
    for (let tries = 0; tries < 20; tries += 1) {
      if (spawnSync("umount", [this.root], { stdio: "ignore" }).status === 0) break;
      await sleep(250);
    }
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** Runs a command inside as on a login of that user, without the environment of the host. */
  run(command: readonly string[], options: RunOptions = {}): Promise<Ended> {
    const { user = "root", cwd = "/" } = options;
    const home = user === "root" ? "/root" : `/home/${user}`;
    const env = {
      PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      HOME: home,
      LANG: "C.UTF-8",
      ...options.env,
    };
    const asUser = user === "root" ? [] : ["runuser", "-u", user, "--"];
    const words = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const enter = ["-t", `${this.#leader}`, "-m", "-u", "-i", "-n", "-p", "--"];
    const typed = options.turns === undefined ? command : scriptWords(command);
    return collect(
      spawn("nsenter", [...enter, ...asUser, "env", `--chdir=${cwd}`, "-i", ...words, ...typed]),
      options,
    );
  }

  /** As `run`, for a line of shell. */
  sh(line: string, options: RunOptions = {}): Promise<Ended> {
    return this.run(["sh", "-c", line], options);
  }

  /** A program of this machine, in the network of the one inside. */
  inNetwork(command: readonly string[]): ChildProcess {
    return spawn("nsenter", ["-t", `${this.#network.pid}`, "-n", "--", ...command], {
      stdio: ["pipe", "pipe", "pipe"],
    });
  }
}

function collect(
  child: ChildProcess,
  { input, turns, timeoutMs = runMsDefault }: RunOptions,
): Promise<Ended> {
  let output = "";
  const take = (text: Buffer): void => {
    output += text.toString("utf8");
  };
  child.stdout?.on("data", take);
  child.stderr?.on("data", take);
  child.stdin?.on("error", () => {});
  if (turns === undefined) child.stdin?.end(input ?? "");
  else converse(child, turns);
  const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(timer);
      resolve({ code, output });
    });
  });
}

function mustRun(program: string, args: readonly string[]): void {
  const done = spawnSync(program, args, { encoding: "utf8" });
  if (done.status !== 0)
    throw new Error(`${program} ${args.join(" ")} ended with ${done.status}: ${done.stderr}`);
}
