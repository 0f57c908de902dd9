/** A folder for each test, and small real disks in it that fill up; a gateway's database there. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect } from "vitest";
import { createGatewayKey } from "../../gateway/auth/gateway-key.ts";
import { type GatewayConfig, parseConfig } from "../../gateway/config/config.ts";
import { createStore } from "../../gateway/store/store.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";

export const log = pino({ level: "silent" });

/** The running test's own folder. */
export let folder = "";
const mounted: string[] = [];

/** To be called once at the head of a test file. */
export function eachTestItsFolder(): void {
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "passing-"));
  });
  afterEach(() => {
    for (const path of mounted.splice(0)) execFileSync("umount", ["-l", path]);
    rmSync(folder, { recursive: true, force: true });
  });
}

/** A small disk of a test. */
export interface Disk {
  readonly path: string;
  /** Leaves no byte and no file; `room` gives all of them back. */
  fill(): void;
  room(): void;
  remount(mode: "ro" | "rw"): void;
}

const mount = (...words: readonly string[]): boolean =>
  spawnSync("mount", words, { stdio: "ignore" }).status === 0;
/** Whether this user may mount one. */
export const canMount = ((): boolean => {
  const place = mkdtempSync(join(tmpdir(), "passing-mount-"));
  const done = mount("-t", "tmpfs", "-o", "size=64k", "none", place);
  if (done) execFileSync("umount", [place]);
  rmSync(place, { recursive: true });
  return done;
})();
if (!canMount)
  process.stderr.write(
    "\n*** SKIPPED: faults of a real disk, because this user may mount no tmpfs\n\n",
  );

export function smallDisk(size = "8m"): Disk {
  const path = join(folder, "disk");
  mkdirSync(path);
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size},mode=700,nr_inodes=64`, "none", path]);
  mounted.push(path);
  const ballast = join(path, "ballast");
  return {
    path,
    fill() {
      mkdirSync(ballast);
      const file = openSync(join(ballast, "bytes"), "a");
      for (let size = 65_536; size >= 1; ) {
        try {
          writeSync(file, Buffer.alloc(size));
        } catch {
          size = size === 1 ? 0 : Math.floor(size / 2);
        }
      }
      closeSync(file);
      for (let left = statfsSync(path).ffree; left > 0; left -= 1)
        writeFileSync(join(ballast, String(left)), "");
      expect(statfsSync(path)).toMatchObject({ bavail: 0, ffree: 0 });
    },
    room: () => rmSync(ballast, { recursive: true, force: true }),
    remount: (mode) => execFileSync("mount", ["-o", `remount,${mode}`, path]),
  };
}

/** A new gateway's key and database in a folder. */
export function database(dir: string): { readonly path: string; readonly config: GatewayConfig } {
  const config = parseConfig(JSON.stringify(testConfig), dir, 0);
  createStore(config.database, createGatewayKey(config.keyFile).fingerprint, log).close();
  return { path: config.database, config };
}
