/**
 * `npm run demo -- --gateways 2` as a person runs the command, and what the command refuses. The
 * demo itself compares every payment with the chain.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { postgresInstallLine, postgresPrograms } from "../../lab/kit/postgres.ts";
import { childrenOf, until } from "../../lab/kit/processes.ts";
import { isLongTier } from "../../lab/kit/share.ts";
import { startsTheBuild } from "../support/built.ts";

const isHere = postgresPrograms() !== null;
if (!isHere) process.stderr.write(`no PostgreSQL on this machine: ${postgresInstallLine}\n`);
const demo = fileURLToPath(new URL("../../dist/lab/demo.js", import.meta.url));

/** Hides the server's programs from the demo's process. */
const withoutPostgres = `data:text/javascript,${encodeURIComponent(`
  import fs from "node:fs";
  import { syncBuiltinESMExports } from "node:module";
  const { existsSync } = fs;
  fs.existsSync = (path) => !String(path).includes("postgresql") && existsSync(path);
  syncBuiltinESMExports();
`)}`;

interface Demo {
  readonly child: ChildProcess;
  output(): string;
  readonly code: Promise<number | null>;
}

function startDemo(...words: readonly string[]): Demo {
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (part: Buffer) => {
      output += part.toString("utf8");
    });
  const code = once(child, "close").then(([status]) => status as number | null);
  return { child, code, output: () => output };
}

/** All processes below one. */
const familyOf = (pid: number): readonly number[] =>
  childrenOf(pid, "").flatMap((child) => [child, ...familyOf(child)]);

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe("the demo's gateways", () => {
  startsTheBuild();

  it.each(["0", "3", "two", "-1"])("are one or two, not %s", async (count) => {
    const { code, output } = startDemo(demo, `--gateways=${count}`);
    expect(await code).toBe(2);
    expect(output()).toMatch(/^demo: --gateways takes a whole number from 1 to 2\n/);
  });

  it("need PostgreSQL where they are two, and say the line that brings the server", async () => {
    const { code, output } = startDemo("--import", withoutPostgres, demo, "--gateways", "2");
    expect(await code).toBe(1);
    expect(output()).toBe(`demo: two gateways need PostgreSQL: ${postgresInstallLine}\n`);
  });

  it.skipIf(!isHere)("all end at Ctrl-C, and with them the server", async () => {
    const { child, code, output } = startDemo(demo, "--gateways", "2");
    await until("a gateway", 60_000, async () =>
      output().includes("merchant m_") && childrenOf(child.pid ?? 0, "pair.js").length > 0
        ? true
        : undefined,
    );
    const started = familyOf(child.pid ?? 0);
    expect(started.length).toBeGreaterThan(2);
    child.kill("SIGINT");
    expect(await code).toBe(1);
    expect(output()).toMatch(/\ndemo: ended by SIGINT\n$/);
    // A process without a parent is a zombie until the machine's first process has seen its end.
    await until("the end of all", 5_000, async () => (started.some(isAlive) ? undefined : true));
  });

  it.skipIf(!isHere || !isLongTier)(
    "take over from each other, and pay each order once",
    async () => {
      const { code, output } = startDemo(demo, "--gateways", "2", "--json");
      expect(await code, output()).toBe(0);
      const { ok, takeover } = JSON.parse(output().trim().split("\n").at(-1) ?? "");
      expect(ok).toBe(true);
      expect(takeover.active).not.toBe(takeover.killed);
      expect(takeover.refusals).toBeGreaterThan(0);
      expect(takeover.secondsWithoutService).toBeGreaterThan(2);
      expect(takeover.secondsWithoutService).toBeLessThan(60);
    },
  );
});
