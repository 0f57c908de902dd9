/**
 * Exit reasons: a launcher's are read back unchanged, and those of anybody else are not trusted.
 */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import {
  exitReasonFolder,
  readExitReason,
  removeExitReason,
  writeExitReason,
} from "../../agent/exit-reason.ts";
import { stateFolder } from "../../agent/files/state-folder.ts";

const dir = mkdtempSync(join(tmpdir(), "autowithdraw-words-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const words = {
  role: "signer",
  code: "LEDGER_MISSING",
  message: "the ledger is missing",
  hint: "restore it",
  at: 1_700_000_000_000,
} as const;
let folders = 0;
const fresh = () => {
  folders += 1;
  const state = stateFolder(join(dir, `state${folders}`));
  mkdirSync(state.run, { recursive: true });
  return state;
};
const leave = (state: { readonly run: string }, text: string): void =>
  writeFileSync(join(state.run, "exit-reason.signer.json"), text);

describe("exit reason", () => {
  it("exit reasons are read back newest first, for everybody to see, and gone once removed", () => {
    const state = fresh();
    writeExitReason(state.run, words);
    writeExitReason(state.run, { ...words, role: "both", code: "CONFIG_JSON", at: words.at + 1 });
    expect(readExitReason(state)).toEqual([
      { ...words, role: "both", code: "CONFIG_JSON", at: words.at + 1 },
      words,
    ]);
    for (const name of readdirSync(state.run))
      expect(statSync(join(state.run, name)).mode & 0o777).toBe(0o644);
    removeExitReason(state.run, "both");
    removeExitReason(state.run, "both");
    expect(readExitReason(state)).toEqual([words]);
  });

  it("exit reasons lie where the service manager keeps a folder for them, else beside the sockets", () => {
    const state = fresh();
    expect(exitReasonFolder(state, {})).toBe(state.run);
    expect(exitReasonFolder(state, { RUNTIME_DIRECTORY: "/run/autowithdraw/signer" })).toBe(
      "/run/autowithdraw/signer",
    );
  });

  it("an exit reason that cannot be written or removed changes nothing", () => {
    const file = join(dir, "a-file");
    writeFileSync(file, "");
    writeExitReason(join(file, "below"), words);
    removeExitReason(join(file, "below"), "signer");
    expect(readExitReason(stateFolder(join(dir, "nowhere")))).toEqual([]);
  });

  it("the exit reason is short, in one line, and moves no cursor", () => {
    const state = fresh();
    const dirty = `a\u001b[2J\nb\u202ec${"😀".repeat(2_000)}`;
    writeExitReason(state.run, { ...words, message: dirty });
    expect(readExitReason(state)[0]?.message).toMatch(/^a \[2J b c😀{991}$/u);
    leave(state, JSON.stringify({ ...words, hint: dirty.slice(0, 109) }));
    expect(readExitReason(state)[0]?.hint).toMatch(/^a \[2J b c😀{50}$/u);
  });

  it("an exit reason of another form, of another role or in another kind of file is not read", () => {
    const state = fresh();
    leave(state, JSON.stringify(words));
    expect(readExitReason(state)).toHaveLength(1);
    const wrong = [
      "",
      "null",
      "[]",
      "{",
      JSON.stringify({ ...words, role: "courier" }),
      JSON.stringify({ ...words, code: "lower case" }),
      JSON.stringify({ ...words, code: 7 }),
      JSON.stringify({ ...words, message: 7 }),
      JSON.stringify({ ...words, hint: undefined }),
      JSON.stringify({ ...words, at: -1 }),
      JSON.stringify({ ...words, at: 1.5 }),
      JSON.stringify({ ...words, padding: "x".repeat(20_000) }),
    ];
    for (const text of wrong) {
      leave(state, text);
      expect(readExitReason(state), text.slice(0, 80)).toEqual([]);
    }
    const path = join(state.run, "exit-reason.signer.json");
    const elsewhere = join(dir, "elsewhere.json");
    writeFileSync(elsewhere, JSON.stringify(words));
    rmSync(path);
    symlinkSync(elsewhere, path);
    expect(readExitReason(state)).toEqual([]);
    rmSync(path);
    mkdirSync(path);
    expect(readExitReason(state)).toEqual([]);
  });
});
