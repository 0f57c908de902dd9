/**
 * A state folder on a disk that is read-only: the lock is taken, the check before a start names the
 * disk, and so does a command that gets no answer. The kernel is asked once if this machine lets a
 * test mount a file system; if it does not, the system's error stands in.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { checkDisk } from "../../agent/check/check.ts";
import { stateFolder } from "../../agent/files/state-folder.ts";
import { isReadOnly } from "../../agent/ledger/disk.ts";
import { AgentError } from "../../base/fault.ts";
import { explainUnreachableSigner } from "../../cli/unreachable.ts";
import { ordinary } from "../support/command-kit.ts";

const dir = mkdtempSync(join(tmpdir(), "aw-read-only-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const state = stateFolder(join(dir, "state"));
mkdirSync(join(state.signer, "ledger"), { recursive: true, mode: 0o700 });

describe("a command that gets no answer", () => {
  const said = (code: "SOCKET_TIMEOUT" | "COMMAND_DAEMON_AWAY", closed: boolean): AgentError => {
    const cause = new AgentError(code, "none", "no answer");
    return explainUnreachableSigner(
      state,
      cause,
      { ...ordinary, isReadOnly: () => closed },
      undefined,
    ) as AgentError;
  };

  it.each(["SOCKET_TIMEOUT", "COMMAND_DAEMON_AWAY"] as const)(
    "names the read-only disk after %s, and a writable one never",
    (code) => {
      expect(said(code, true)).toMatchObject({
        code: "LEDGER_READ_ONLY",
        message: `autowithdraw-signer does not answer, and the disk of ${join(state.signer, "ledger")} is read-only`,
      });
      expect(said(code, false).code).toBe(code);
    },
  );

  it("names the reason of a signer that ends again and again, where a service manager holds its socket", () => {
    const words = {
      role: "signer",
      code: "LEDGER_POISONED",
      message: "the disk failed",
      hint: "check the disk",
      at: 2,
    } as const;
    const hangs = new AgentError("SOCKET_TIMEOUT", "none", "no answer");
    const found = explainUnreachableSigner(
      state,
      hangs,
      { ...ordinary, exitReason: () => [words] },
      undefined,
    ) as AgentError;
    expect(found.message).toMatch(
      /^autowithdraw-signer ends and is started again, since .+: the disk failed$/,
    );
    expect(found.context.hint).toBe(
      "check the disk; more in: journalctl -u autowithdraw-signer -n 20",
    );
    const silent = explainUnreachableSigner(state, hangs, ordinary, undefined) as AgentError;
    expect(silent.message).toContain("it hangs, or the machine does");
  });
});

describe("crypto --check", () => {
  it("finds a ledger's disk that is read-only, and nothing on a writable one", () => {
    expect(checkDisk(state, () => true)).toMatchObject([
      { code: "LEDGER_READ_ONLY", severity: "error" },
    ]);
    expect(checkDisk(state)).toEqual([]);
  });
});

describe("a file system that is mounted read-only", () => {
  const canMount = spawnSync("unshare", ["--mount", "true"]).status === 0;
  it.skipIf(!canMount)("is known as such, and the lock is taken there all the same", () => {
    const file = (path: string): string =>
      JSON.stringify(fileURLToPath(new URL(`../../${path}`, import.meta.url)));
    const program = `
      import { isReadOnly } from ${file("dist/agent/ledger/disk.js")};
      import { takeLock } from ${file("dist/agent/launcher/lock.js")};
      const lock = await takeLock(process.argv[1], 0);
      const second = await takeLock(process.argv[1], 0).catch((error) => error.code);
      console.log(JSON.stringify([isReadOnly(process.argv[1]), lock.fd > 2, second]));`;
    const place = join(dir, "mounted");
    mkdirSync(place);
    const script = `mount -t tmpfs -o mode=0700 none "$1" && touch "$1/lock" && chmod 600 "$1/lock" &&
      mount -o remount,ro "$1" && exec "$2" --input-type=module --eval "$3" "$1"`;
    const done = spawnSync(
      "unshare",
      ["--mount", "sh", "-c", script, "sh", place, process.execPath, program],
      {
        encoding: "utf8",
      },
    );
    expect(done.stdout.trim(), done.stderr).toBe('[true,true,"STATE_IN_USE"]');
    expect(isReadOnly(dir)).toBe(false);
  });
});
