/**
 * `install --root` on real files: the program is complete, readable for everybody with any umask,
 * kept when the command runs again, corrected when a file is gone, exchanged by an upgrade. Users
 * and systemctl need a machine with systemd and are not part of it.
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { layouts } from "../../cli/install/layout.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { run } from "../../lab/kit/processes.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

const isRoot = process.getuid?.() === 0;
if (!isRoot)
  process.stderr.write(
    "\n*** SKIPPED for want of root: installing into an image. To run it: sudo npx vitest run test/install-image\n\n",
  );

const dir = mkdtempSync(join(tmpdir(), "autowithdraw-image-"));
const image = join(dir, "image");
const at = (path: string): string => join(image, path);
const { version } = JSON.parse(readFileSync(join(projectRoot, "package.json"), "utf8")) as {
  version: string;
};
const config = join(dir, "config.json");

async function install(
  ...args: string[]
): Promise<{ code: number | null; output: string; steps: Record<string, string> }> {
  const words = [join(projectRoot, "autowithdraw.js"), "install", "--root", image, ...args];
  const done = await run("sh", ["-c", 'umask 077; exec "$0" "$@"', process.execPath, ...words], {
    cwd: dir,
    logFile: join(dir, "log"),
  });
  const steps = [...done.output.matchAll(/^ {2}(made|changed|kept|skipped) +([^:\n]+)/gm)].map(
    (match) => [match[2]!, match[1]!],
  );
  return { ...done, steps: Object.fromEntries(steps) as Record<string, string> };
}

const filesOf = (folder: string): string[] =>
  (readdirSync(folder, { recursive: true }) as string[]).map((path) => join(folder, path));

beforeAll(() => writeFileSync(config, '{"gatewayUrl":"https://pay.example"}\n', { mode: 0o600 }));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe.runIf(isRoot)("install --root", () => {
  it("refuses a file that is not there, or that others can read, before its first step, also with --dry-run", async () => {
    const open = join(dir, "open.json");
    writeFileSync(open, "{}", { mode: 0o644 });
    chmodSync(open, 0o644);
    for (const [option, file, words] of [
      ["--config", join(dir, "none.json"), "there is no file"],
      ["--enc-key-file", join(dir, "none"), "readable by this user"],
      ["--config", open, "chmod go="],
    ] as const) {
      for (const dry of [[], ["--dry-run"]]) {
        const done = await install(option, file, ...dry);
        expect([done.code, done.steps, existsSync(image)], done.output).toEqual([2, {}, false]);
        expect(done.output).toContain(words);
      }
    }
  });

  it("puts program, packages, units, folders and command in place, for all to read", async () => {
    const done = await install("--config", config);
    expect(done.code, done.output).toBe(0);
    expect(done.steps).toMatchObject({
      "/opt/autowithdraw": "made",
      "/var/lib/autowithdraw/signer": "made",
      "/etc/autowithdraw/config.json": "made",
      "/etc/autowithdraw/encKey.cred": "skipped",
      "/etc/systemd/system/autowithdraw-signer.service": "made",
      "/usr/local/bin/autowithdraw": "made",
      "/usr/local/share/man/man1/autowithdraw.1": "made",
      "/usr/local/share/man/man1/crypto.1": "made",
      "/usr/local/share/bash-completion/completions/autowithdraw": "made",
      "user autowithdraw-signer": "skipped",
    });
    for (const path of filesOf(at("/opt")))
      expect(statSync(path).mode & 0o777, path).toBeOneOf([0o644, 0o755]);
    expect(statSync(at("/etc/autowithdraw/config.json")).mode & 0o777).toBe(0o600);
    expect(statSync(at("/var/lib/autowithdraw")).mode & 0o777).toBe(0o711);
    expect(statSync(at("/var/lib/autowithdraw/signer")).mode & 0o777).toBe(0o700);
    expect(statSync(at("/usr/local/bin/autowithdraw")).mode & 0o777).toBe(0o755);
    // The installed program can put them in place again.
    for (const { file, path } of layouts.agent.helps) {
      expect(statSync(at(path)).mode & 0o777, path).toBe(0o644);
      expect(readFileSync(at(path), "utf8"), path).toBe(
        readFileSync(at(`/opt/autowithdraw/${file}`), "utf8"),
      );
    }
    const command = readFileSync(at("/usr/local/bin/autowithdraw"), "utf8");
    for (const line of [
      "AUTOWITHDRAW_STATE=/var/lib/autowithdraw",
      "AUTOWITHDRAW_CONFIG=/etc/autowithdraw/config.json",
    ])
      expect(command).toContain(`${line}\n`);
    const asked = execFileSync(
      process.execPath,
      [at("/opt/autowithdraw/autowithdraw.js"), "--version"],
      { encoding: "utf8" },
    );
    expect(asked).toBe(`autowithdraw ${version}\n`);
    expect(existsSync(at("/opt/autowithdraw/dist/gateway"))).toBe(false);
    expect(existsSync(at("/opt/autowithdraw/dist/lab"))).toBe(false);
    expect(existsSync(at("/opt/autowithdraw/node_modules/typescript"))).toBe(false);
  });

  it("keeps all of it the second time", async () => {
    const before = filesOf(image).map(
      (path) => `${path} ${statSync(path).mtimeMs} ${statSync(path).ino}`,
    );
    const done = await install("--config", config);
    expect(done.code, done.output).toBe(0);
    expect(
      Object.values(done.steps).filter((state) => state !== "kept" && state !== "skipped"),
    ).toEqual([]);
    expect(
      filesOf(image).map((path) => `${path} ${statSync(path).mtimeMs} ${statSync(path).ino}`),
    ).toEqual(before);
  });

  it("mends a program that lost a file, a package or its rights, and keeps the one before aside", async () => {
    const spoil: readonly (() => void)[] = [
      () => rmSync(at("/opt/autowithdraw/dist/agent/crypto.js")),
      () => rmSync(at("/opt/autowithdraw/node_modules/ws"), { recursive: true }),
      () => chmodSync(at("/opt/autowithdraw/pair.js"), 0o600),
      () => writeFileSync(at("/opt/autowithdraw/dist/cli/main.js"), ""),
    ];
    for (const one of spoil) {
      one();
      expect((await install()).steps["/opt/autowithdraw"]).toBe("changed");
    }
    expect((await install()).steps["/opt/autowithdraw"]).toBe("kept");
    expect(readFileSync(at("/opt/autowithdraw.old/dist/cli/main.js"), "utf8")).toBe("");
    expect(existsSync(at("/opt/autowithdraw.new"))).toBe(false);
  });

  it("refuses to go back a version without a yes", async () => {
    const manifest = at("/opt/autowithdraw/package.json");
    writeFileSync(
      manifest,
      readFileSync(manifest, "utf8").replace(`"version": "${version}"`, '"version": "999.0.0"'),
    );
    const refused = await install();
    expect(refused).toMatchObject({ code: 1, output: expect.stringContaining("holds 999.0.0") });
    expect((await install("--yes")).steps["/opt/autowithdraw"]).toBe("changed");
  });

  it("refuses a config.json that others can read", async () => {
    rmSync(at("/etc/autowithdraw/config.json"));
    chmodSync(config, 0o644);
    expect(await install("--config", config)).toMatchObject({
      code: 2,
      output: expect.stringContaining("can be reached by others"),
    });
    expect(existsSync(at("/etc/autowithdraw/config.json"))).toBe(false);
    chmodSync(config, 0o600);
    expect((await install("--config", config)).code).toBe(0);
  });

  it("gives the gateway its own folder, with its own packages alone", async () => {
    const done = await install("--gateway");
    expect(done.code, done.output).toBe(0);
    const program = "/opt/autowithdraw-gateway";
    expect(readdirSync(at(program))).toEqual([
      "LICENSE",
      "README.md",
      "dist",
      "docs",
      "gateway",
      "node_modules",
      "package-lock.json",
      "package.json",
      "packaging",
    ]);
    expect(readdirSync(at(`${program}/dist`))).toEqual([
      ...[".built", "base", "chains", "completion", "gateway", "licences.txt", "man", "protocol"],
    ]);
    expect(readdirSync(at("/usr/local/share/man/man1"))).toEqual([
      ...["autowithdraw-gateway.1", "autowithdraw.1", "crypto.1"],
    ]);
    const completions = "/usr/local/share/bash-completion/completions";
    expect(readFileSync(at(`${completions}/autowithdraw-gateway`), "utf8")).toContain(
      "-F _autowithdraw-gateway autowithdraw-gateway\n",
    );
    expect(existsSync(at(`${program}/node_modules/ethers`))).toBe(false);
    const asked = execFileSync(
      process.execPath,
      [at(`${program}/gateway/gateway.js`), "--version"],
      { encoding: "utf8" },
    );
    expect(asked).toBe(`autowithdraw ${version}\n`);
    expect(readFileSync(at("/etc/systemd/system/autowithdraw-gateway.service"), "utf8")).toContain(
      ` ${program}/gateway/gateway.js start `,
    );
  });
});
