/**
 * Archives a folder so that the bytes depend on names and contents alone: sorted, one owner, two
 * modes, one time, no name in gzip.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Archives the folder `name` of `parent` into the file `archive`; `atSeconds` is the time of every
 * entry. Needs GNU tar and gzip.
 */
export function writeArchive(
  parent: string,
  name: string,
  archive: string,
  atSeconds: number,
): void {
  const aside = mkdtempSync(join(dirname(archive), ".archive-"));
  try {
    const tar = join(aside, "release.tar");
    const same = [
      "--format=ustar",
      "--sort=name",
      "--owner=0",
      "--group=0",
      "--numeric-owner",
      `--mtime=@${atSeconds}`,
    ];
    mustEndWell("tar", [
      "--create",
      `--file=${tar}`,
      ...same,
      "--mode=u=rwX,go=rX",
      `--directory=${parent}`,
      name,
    ]);
    mustEndWell("gzip", ["--no-name", "--best", tar]);
    renameSync(`${tar}.gz`, archive);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

function mustEndWell(program: string, args: readonly string[]): void {
  const { status, error } = spawnSync(program, args, {
    stdio: ["ignore", "ignore", "inherit"],
    env: { PATH: process.env.PATH, LC_ALL: "C" },
  });
  if (status !== 0)
    throw new Error(`${program} did not end well: ${error?.message ?? `status ${status}`}`);
}

/** The line of sha256sum for the file `archive`, under `name`. */
export function checksumLine(archive: string, name: string): string {
  return `${createHash("sha256").update(readFileSync(archive)).digest("hex")}  ${name}\n`;
}
