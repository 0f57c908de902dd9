/**
 * The shops of examples/shop as programs: how each is started, and whether its interpreter is here.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

export interface Shop {
  readonly name: string;
  readonly isThere: boolean;
  /** A command of the shop: its standard output and its exit code. */
  command(
    words: readonly string[],
    env: Readonly<Record<string, string>>,
  ): Promise<{ code: number | null; line: string }>;
  /** The receiver of callbacks at a port of loopback. */
  listen(port: number, env: Readonly<Record<string, string>>): ChildProcess;
}

const commandMsMax = 90_000;

/** `needs`: programs that the shop cannot do without. */
function shop(
  needs: readonly string[],
  name: string,
  file: string,
  serve: (port: number) => readonly string[] = () => [],
): Shop {
  const [program = ""] = needs;
  const missing = needs.filter(
    (one) => spawnSync("sh", ["-c", 'command -v "$0"', one]).status !== 0,
  );
  const isThere = missing.length === 0;
  if (!isThere) {
    const install = "apt-get install php-cli python3 curl openssl";
    process.stderr.write(
      `\n*** SKIPPED, the shop in ${name}: no ${missing.join(", ")}: ${install}\n\n`,
    );
  }
  const start = (words: readonly string[], env: Readonly<Record<string, string>>): ChildProcess => {
    const own = Object.fromEntries(["PATH", "HOME"].map((key) => [key, process.env[key]]));
    return spawn(program, words, {
      cwd: root,
      env: { ...own, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
  };
  return {
    name,
    isThere,
    command: (words, env) =>
      new Promise((resolve) => {
        const child = start([file, ...words], env);
        let line = "";
        child.stdout?.on("data", (part) => (line += part));
        child.stderr?.on("data", (part) => (line += part));
        const timer = setTimeout(() => child.kill("SIGKILL"), commandMsMax);
        child.once("close", (code) => {
          clearTimeout(timer);
          resolve({ code, line });
        });
      }),
    listen: (port, env) => start(serve(port), { ...env, PORT: `${port}` }),
  };
}

const [ts, php, py] = [
  "dist/examples/shop/shop.js",
  "examples/shop/shop.php",
  "examples/shop/shop.py",
] as const;

export const shops: readonly Shop[] = [
  shop([process.execPath], "TypeScript", ts, () => [ts, "listen"]),
  shop(["php"], "PHP", php, (port) => ["-S", `127.0.0.1:${port}`, php]),
  shop(["python3"], "Python", py, () => [py, "listen"]),
];

/** Those that order; a shell has no pages and receives no callbacks. */
export const ordering: readonly Shop[] = [
  ...shops,
  shop(["sh", "curl", "openssl"], "Shell", "examples/shop/shop.sh"),
];

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
}
