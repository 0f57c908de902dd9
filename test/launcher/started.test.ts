/**
 * Installing and building on a machine whose settings turn npm's over, or whose memory is small:
 * the real npm and the real ensure.js and build.js, on a small project with one development package
 * that stands in the compiler's place. Public reports: npm's omit=dev of images with
 * NODE_ENV=production, compilers that the kernel ends.
 */
import { execFile, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";

interface Started {
  readonly troubleOf: (
    command: string,
    done: object,
  ) => { readonly why: string; readonly hint: string } | null;
  readonly npmProduction: readonly string[];
}
const started: Promise<Started> = import(
  new URL("../../cli/launch/started.js", import.meta.url).href
);

let root = "";
const npmEnv = {
  PATH: process.env.PATH ?? "",
  npm_config_update_notifier: "false",
  npm_config_offline: "true",
};

interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}
/**
 * Runs a program to its end. Not spawnSync: the test's own runner would take a slow machine for a
 * hang.
 */
const ran = (program: string, args: readonly string[], env: object): Promise<Ran> =>
  new Promise((resolve) => {
    execFile(
      program,
      args,
      { cwd: root, env: { ...npmEnv, HOME: root, ...env } },
      (error, stdout, stderr) =>
        resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "aw-started-"));
  const copied = ["ensure.js", "build.js", "bundle.js", "licences.js", "local-chain.js"].map(
    (name) => `scripts/${name}`,
  );
  for (const path of ["cli/launch", "tsconfig.json", ...copied])
    cpSync(join(projectRoot, path), join(root, path), { recursive: true });
  mkdirSync(join(root, "rooms"));
  writeFileSync(join(root, "rooms", "one.ts"), "export {};\n");
  writeFileSync(
    join(root, "scripts/tsconfig.build.json"),
    JSON.stringify({ include: ["../rooms"] }),
  );
  const write = (path: string, value: object): void =>
    writeFileSync(join(root, path), JSON.stringify(value));
  write("package.json", {
    name: "p",
    version: "1.0.0",
    type: "module",
    devDependencies: { typescript: "file:compiler.tgz" },
  });
  mkdirSync(join(root, "compiler", "bin"), { recursive: true });
  write("compiler/package.json", { name: "typescript", version: "1.0.0" });
  const compiler = `const { heap_size_limit } = require("node:v8").getHeapStatistics();
console.log("heap of", Math.floor(heap_size_limit / 1048576), "MiB");
if (process.env.AS === "SIGABRT") process.abort();
if (process.env.AS) process.kill(process.pid, process.env.AS);
setTimeout(() => process.exit(2), process.env.AS ? 60_000 : 0);
`;
  writeFileSync(join(root, "compiler", "bin", "tsc"), compiler);
  const npm = async (...args: string[]): Promise<void> => {
    const done = await ran("npm", args, {});
    expect(done.status, done.stderr).toBe(0);
  };
  await npm("pack", "./compiler", "--silent");
  cpSync(join(root, "typescript-1.0.0.tgz"), join(root, "compiler.tgz"));
  await npm("install", "--package-lock-only", "--silent");
});
afterAll(() => rmSync(root, { recursive: true, force: true }));
afterEach(() => rmSync(join(root, ".npmrc"), { force: true }));

async function ensure(
  env: object,
): Promise<{ readonly code: number | null; readonly said: string }> {
  const done = await ran(process.execPath, [join(root, "scripts", "ensure.js"), "--pair"], env);
  return { code: done.status, said: done.stdout + done.stderr };
}

describe("installing and building", () => {
  const compiled =
    /heap of \d+ MiB[\s\S]*build: the compiler found errors, see above[\s\S]*: the build failed\nhint: the lines above/;

  it.each<[string, object, string]>([
    ["NODE_ENV=production", { NODE_ENV: "production" }, ""],
    ["omit=dev in .npmrc", {}, "omit[]=dev\n"],
    ["only=production", { npm_config_only: "production" }, ""],
    ["dry-run in .npmrc", {}, "dry-run=true\n"],
    ["package-lock-only", { npm_config_package_lock_only: "true" }, ""],
    ["location=global", { npm_config_location: "global" }, ""],
    [
      "all of these at once",
      {
        ...{
          NODE_ENV: "production",
          npm_config_only: "production",
          npm_config_package_lock_only: "true",
        },
        npm_config_location: "global",
      },
      "omit[]=dev\ndry-run=true\n",
    ],
  ])("brings the compiler under %s", async (_, env, npmrc) => {
    rmSync(join(root, "node_modules"), { recursive: true, force: true });
    if (npmrc !== "") writeFileSync(join(root, ".npmrc"), npmrc);
    const done = await ensure(env);
    expect(done.said).toMatch(compiled);
    expect(done.code).toBe(2);
  });

  it.each([
    [
      "SIGKILL",
      /build: the compiler was ended by SIGKILL, most likely because this machine's memory was full; the build/,
    ],
    [
      "SIGABRT",
      /build: the compiler was ended by SIGABRT, most likely because its memory was full; the build/,
    ],
    [
      "SIGTERM",
      /build: the compiler was ended by SIGTERM; the build that was there is untouched\nhint: run it again/,
    ],
  ])("tells a compiler that %s ended, and not of errors", async (signal, words) => {
    const { said } = await ensure({ AS: signal });
    expect(said).toMatch(words);
    expect(said).not.toContain("found errors");
    if (signal !== "SIGTERM") expect(said).toContain("hint: building takes about 1 GiB of memory");
  });

  it("gives the compiler its memory, whatever NODE_OPTIONS says", async () => {
    const { said } = await ensure({ NODE_OPTIONS: "--max-old-space-size=120" });
    expect(Number(/heap of (\d+) MiB/.exec(said)?.[1])).toBeGreaterThanOrEqual(1024);
  });
});

describe("the end of a started program", () => {
  it("is read as the system tells it, with a full heap told apart from errors", async () => {
    const { troubleOf } = await started;
    const fill = "const all = []; for (;;) all.push(new Array(100_000).fill(1.5));";
    const full = spawnSync(process.execPath, ["--max-old-space-size=24", "-e", fill], {
      stdio: "ignore",
    });
    expect(troubleOf("it", full)).toMatchObject({
      why: expect.stringContaining("its memory was full"),
    });
    expect(troubleOf("it", spawnSync("sh", ["-c", "exit 137"]))).toMatchObject({
      why: expect.stringContaining("SIGKILL"),
    });
    expect(troubleOf("it", spawnSync("sh", ["-c", "exit 3"]))).toEqual({
      why: "it ended with 3",
      hint: "",
    });
    expect(troubleOf("it", spawnSync("true"))).toBeNull();
    expect(troubleOf("it", spawnSync(join(root, "nowhere")))).toMatchObject({
      hint: expect.stringContaining("npm"),
    });
    expect(troubleOf("it", spawnSync(join(root, "package.json")))).toMatchObject({
      hint: expect.stringContaining("may run it"),
    });
  });

  it("production packages come without those of development under any setting, and into this folder", async () => {
    const { npmProduction } = await started;
    for (const option of [
      "--omit=dev",
      "--ignore-scripts",
      "--global=false",
      "--dry-run=false",
      "--workspaces=false",
    ])
      expect(npmProduction).toContain(option);
    const done = await ran("npm", npmProduction, {
      npm_config_dry_run: "true",
      npm_config_location: "global",
    });
    expect([done.status, done.stderr]).toEqual([0, ""]);
  });
});
