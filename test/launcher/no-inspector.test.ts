/**
 * SIGUSR1 opens Node's inspector, and with it the process: not in any of ours. The real processes
 * show it, beside a program that shows the signal's effect, and so does the order of imports,
 * because code before the listener would leave a gap.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";
import { freePort, run, type StartedProcess, start, stop, until } from "../../lab/kit/processes.ts";
import { startsTheBuild } from "../support/built.ts";
import { childOf, pairsOnce, says } from "../support/paired-crypto.ts";

startsTheBuild();
const { begin } = pairsOnce();
const dir = mkdtempSync(join(tmpdir(), "autowithdraw-inspector-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Node writes to stderr that the inspector listens, or that another process has its port. */
const opened = /debugger|inspector/i;
const settleMs = 700;

/** The output of the process within a moment of the signal. */
async function afterSignal(told: StartedProcess, pid = told.pid): Promise<string> {
  const before = told.output().length;
  process.kill(pid, "SIGUSR1");
  await new Promise((resolve) => setTimeout(resolve, settleMs));
  return told.output().slice(before);
}

/** Sources below a folder. */
function sources(folder: string): readonly string[] {
  return (readdirSync(join(projectRoot, folder), { recursive: true }) as string[])
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${folder}/${name}`);
}

const importsOf = (path: string): readonly string[] =>
  [
    ...readFileSync(join(projectRoot, path), "utf8").matchAll(
      /^import (?:[^;]*? from )?"([^"]+)";$/gms,
    ),
  ].map((match) => match[1] ?? "");

describe("SIGUSR1", () => {
  it("opens the inspector of a program that does nothing about it", async () => {
    const script = "setInterval(() => {}, 1000); console.log('up')";
    const victim = start(process.execPath, ["--inspect-port=0", "-e", script], {
      logFile: join(dir, "victim.log"),
    });
    await until("up", 10_000, async () => (victim.output().includes("up") ? true : undefined));
    expect(await afterSignal(victim)).toMatch(opened);
    await stop(victim);
  });

  it("opens neither launcher, signer nor courier, and they go on", async () => {
    const crypto = begin();
    await says(crypto, "crypto: ready");
    const pids = [crypto.pid, childOf(crypto, "signer"), childOf(crypto, "courier")];
    for (const pid of pids) {
      expect(pid).toBeGreaterThan(0);
      expect(await afterSignal(crypto, pid)).not.toMatch(opened);
    }
    expect([crypto.pid, childOf(crypto, "signer"), childOf(crypto, "courier")]).toEqual(pids);
  });

  it("does not open the gateway, and it goes on", async () => {
    const program = join(projectRoot, "gateway", "gateway.js");
    const options = { cwd: dir, logFile: join(dir, "gateway.log") };
    expect((await run(process.execPath, [program, "init", "--dir", dir], options)).code).toBe(0);
    const config = join(dir, "gateway.config.json");
    const own = JSON.parse(readFileSync(config, "utf8"));
    writeFileSync(
      config,
      JSON.stringify({ ...own, listen: { host: "127.0.0.1", port: await freePort() }, prices: {} }),
    );
    const gateway = start(process.execPath, [program, "start", "--config", config], options);
    await says(gateway, "gateway: listens");
    expect(await afterSignal(gateway)).not.toMatch(opened);
    expect(gateway.child.exitCode).toBeNull();
    await stop(gateway);
  });

  it("has its listener before a program imports anything else", () => {
    const programs = [...["agent", "cli", "gateway"].flatMap(sources)].filter((path) =>
      /(?:^|\/)main\.ts$/.test(path),
    );
    const all = [...programs, "agent/crypto.ts", "cli/sealing/rekey.ts", "gateway/command.ts"];
    expect(programs.length).toBeGreaterThan(6);
    expect(
      all.filter((path) => !/\/base\/no-inspector\.ts$/.test(importsOf(path)[0] ?? "")),
    ).toEqual([]);
    for (const launcher of [
      "crypto.js",
      "crypto.ts",
      "pair.js",
      "autowithdraw.js",
      "gateway/gateway.js",
    ]) {
      const text = readFileSync(join(projectRoot, launcher), "utf8").replace(
        /^#!.*|^import .*|\/\*[\s\S]*?\*\/|^\/\/.*/gm,
        "",
      );
      expect(text.trim().startsWith('process.on("SIGUSR1", '), launcher).toBe(true);
    }
  });
});
