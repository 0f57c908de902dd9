/**
 * Carries out the acts of a plan. Only here does installing change a machine. Uses no shell; every
 * path comes from the layout.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { giveToOwner } from "../../agent/files/owner.ts";
import { readPrivateFile } from "../../agent/files/private-file.ts";
import { replaceFile } from "../../agent/files/replace-file.ts";
import { AgentError } from "../../base/fault.ts";
import { systemEnvironment } from "../../base/system-path.ts";
import type { InstallAct } from "./plan.ts";
import { placeProgram } from "./program.ts";

export interface InstallContext {
  readonly from: string; // the copy that is installed
  readonly root: string; // folder of --root, "" for this machine
  readonly node: string;
  /** Seals encKey; resolves with words for the step. */
  readonly seal: () => Promise<string>;
}

/**
 * Carries out one act; each may be repeated without harm. Resolves with words for the step, "" for
 * the plan's own.
 * @throws AgentError INSTALL_STEP, and the faults of the files and of `seal`
 */
export async function carryOutInstallAct(
  act: InstallAct,
  context: InstallContext,
): Promise<string> {
  const at = (path: string): string => join(context.root, path);
  switch (act.kind) {
    case "run":
      runProgram(act, context);
      return "";
    case "folder":
      makeFolder(at(act.path), act.mode, act.owner);
      return "";
    case "text":
      makeParent(at(act.path));
      replaceFile(at(act.path), Buffer.from(act.text), act.mode);
      return "";
    case "copy-private": {
      const bytes = readPrivateFile(act.from, { owner: "any" }); // An operator named it; the copy belongs to root.
      replaceFile(at(act.to), bytes, 0o600);
      bytes.fill(0);
      return "";
    }
    case "program":
      await placeProgram(act.layout, context.from, at(act.layout.program));
      return "";
    case "credential":
      return context.seal();
    case "remove":
      rmSync(at(act.path), { recursive: true, force: true });
      return "";
  }
}

function runProgram(
  { program, args, as }: Extract<InstallAct, { kind: "run" }>,
  { node }: InstallContext,
): void {
  const identity = as === undefined ? {} : { ...ids(as), cwd: "/" };
  const done = spawnSync(program === "node" ? node : program, args, {
    ...identity,
    stdio: ["ignore", "pipe", "pipe"],
    encoding: "utf8",
    env: systemEnvironment,
  });
  if (done.status === 0) return;
  const said = done.error?.message ?? done.stderr.trim().split("\n").slice(0, 3).join("; ");
  throw new AgentError(
    "INSTALL_STEP",
    "unknown",
    `${program} ${args.join(" ")} did not end well: ${said}`,
  );
}

function makeFolder(path: string, mode: number, owner: string | null): void {
  makeParent(path);
  if (!existsSync(path)) mkdirSync(path, { mode });
  if (owner !== null) {
    const { uid, gid } = owner === "root" ? { uid: 0, gid: 0 } : ids(owner);
    chownSync(path, uid, gid);
    giveToOwner(path);
  }
  chmodSync(path, mode);
}

function makeParent(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
}

function ids(user: string): { readonly uid: number; readonly gid: number } {
  const row = spawnSync("getent", ["passwd", user], {
    encoding: "utf8",
    env: systemEnvironment,
  }).stdout.split(":");
  const [uid, gid] = [Number(row[2]), Number(row[3])];
  if (row[0] === user && Number.isSafeInteger(uid) && Number.isSafeInteger(gid))
    return { uid, gid };
  throw new AgentError("INSTALL_STEP", "none", `there is no user ${user}`);
}
