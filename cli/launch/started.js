/**
 * The programs that a clone starts to install and build: npm's options, which stand whatever the
 * machine sets, and the words for a program's end. Plain JavaScript, since it runs before anything
 * is built.
 */

/**
 * `npm ci` exactly as the lock file says. Options stand above the environment and every .npmrc.
 * Without those of the second row, a setting of the machine could make npm install nothing.
 */
const ci = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
const here = [
  "--global=false",
  "--location=project",
  "--dry-run=false",
  "--package-lock-only=false",
];

/** Production packages only; `--workspaces=false` keeps the gateway's out (npm 10 and 11). */
export const npmProduction = [...ci, ...here, "--omit=dev", "--workspaces=false"];
/** All packages, the compiler's among them, also under NODE_ENV=production or omit=dev. */
export const npmAll = [...ci, ...here, "--include=dev", "--include=optional"];

/**
 * The most that the compiler may take for its objects, in MiB; by default Node takes part of the
 * machine's memory, which is too little on a small one. The build takes about 700 in all.
 */
export const compilerHeapMiB = 1024;

const memory =
  "building takes about 1 GiB of memory: give this machine more, or swap, or use a release, which comes built";

/** A shell, and so some npm, tells a signal as 128 and its number. */
const signalsByStatus = new Map([
  [130, "SIGINT"],
  [134, "SIGABRT"],
  [137, "SIGKILL"],
  [143, "SIGTERM"],
]);

/**
 * How a started program ended, from the result of `spawnSync`: null after a success. `hint` is ""
 * where the program's own lines say more than its end. Node ends with SIGABRT when its heap is
 * full, and the kernel ends a program with SIGKILL when the machine's memory is.
 */
export function troubleOf(command, { error, status, signal }) {
  if (error !== undefined) {
    const hint =
      error.code === "ENOENT"
        ? "install Node.js together with npm"
        : "look whether this user may run it";
    return { why: `${command} cannot be started: ${error.message}`, hint };
  }
  if (status === 0) return null;
  const by = signal ?? signalsByStatus.get(status);
  if (by === "SIGABRT")
    return {
      why: `${command} was ended by SIGABRT, most likely because its memory was full`,
      hint: memory,
    };
  if (by === "SIGKILL")
    return {
      why: `${command} was ended by SIGKILL, most likely because this machine's memory was full`,
      hint: memory,
    };
  if (by !== undefined) return { why: `${command} was ended by ${by}`, hint: "run it again" };
  return { why: `${command} ended with ${status}`, hint: "" };
}
