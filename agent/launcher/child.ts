/**
 * Starts the agent's own processes: with an environment that can bring no foreign code, without
 * unneeded features of JavaScript, without core dumps, and separate from the terminal's signals.
 * Settings and secrets go in over the first pipe.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { systemPath } from "../../base/system-path.ts";

export interface ChildOptions {
  readonly program: string; // absolute path of its entry file
  readonly args?: readonly string[];
  /** Descriptors the child gets as 3, 4, … */
  readonly descriptors?: readonly number[];
  /** Programs that start the child in turn, e.g. `unshare --net --`. */
  readonly within?: readonly string[];
  /** Makes a pipe of stderr too, so the parent can read the child's last lines. */
  readonly isStderrPiped?: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const keptVariables = ["HOME", "TZ", "LANG", "LC_ALL"];

/**
 * PATH, NODE_OPTIONS, NODE_PATH, NODE_EXTRA_CA_CERTS, LD_PRELOAD and all other variables that could
 * bring code or keys do not pass.
 */
function cleanEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const kept: Record<string, string> = { PATH: systemPath };
  for (const name of keptVariables) {
    const value = env[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}

/**
 * Flags that this Node knows: no `__proto__` setter, no code from strings, no inspector by signal.
 * The JIT stays, because signing is wasm. V8 gets no threads of its own: with heaps this small they
 * cost more than they save, and each has its own memory.
 */
function nodeFlags(): string[] {
  const flags = [
    "--disable-proto=throw",
    "--disallow-code-generation-from-strings",
    "--single-threaded",
  ];
  if (process.allowedNodeEnvironmentFlags.has("--disable-sigusr1")) flags.push("--disable-sigusr1");
  return flags;
}

/**
 * A core pattern that is a pipe ignores the size limit, so the filter is emptied as well. Both
 * survive exec. The shell replaces itself, so the child's process id is the program's.
 */
const withoutCore =
  '{ ulimit -c 0; echo 0 >/proc/self/coredump_filter; } 2>/dev/null; exec "$0" "$@"';

/**
 * Starts one of our programs. Its stdin and stdout are pipes; stderr is ours unless
 * `isStderrPiped`. The end of its stdin ends it.
 */
export function startChild(options: ChildOptions): ChildProcess {
  const [command = "/bin/sh", ...args] = [
    ...(options.within ?? []),
    "/bin/sh",
    "-c",
    withoutCore,
    process.execPath,
    ...nodeFlags(),
    options.program,
    ...(options.args ?? []),
  ];
  const child = spawn(command, args, {
    stdio: [
      "pipe",
      "pipe",
      options.isStderrPiped === true ? "pipe" : "inherit",
      ...(options.descriptors ?? []),
    ],
    env: cleanEnvironment(options.env),
    detached: true,
  });
  // A child that ends before it has read everything closes the pipe. Its exit status has the
  // reason.
  child.stdin?.on("error", () => {});
  return child;
}

/**
 * The program next to the running one: built JavaScript from dist/, TypeScript if Node runs the
 * tree unbuilt.
 */
export function programPath(from: string, name: string): URL {
  return new URL(from.endsWith(".ts") ? `${name}.ts` : `${name}.js`, from);
}
