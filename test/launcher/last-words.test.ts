/** Last words: a launcher's are read back unchanged, and those of anybody else are not trusted. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { stateFolder } from "../../agent/files/state-folder.ts";
import { lastWordsFolder, readLastWords, removeLastWords, writeLastWords } from "../../agent/last-words.ts";

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
  writeFileSync(join(state.run, "last-words.signer.json"), text);

describe("last words", () => {
  it("last words are read back newest first, for everybody to see, and gone once removed", () => {
    const state = fresh();
    writeLastWords(state.run, words);
    writeLastWords(state.run, { ...words, role: "both", code: "CONFIG_JSON", at: words.at + 1 });
    expect(readLastWords(state)).toEqual([{ ...words, role: "both", code: "CONFIG_JSON", at: words.at + 1 }, words]);
    for (const name of readdirSync(state.run)) expect(statSync(join(state.run, name)).mode & 0o777).toBe(0o644);
    removeLastWords(state.run, "both");
    removeLastWords(state.run, "both");
    expect(readLastWords(state)).toEqual([words]);
  });

  it("last words lie where the service manager keeps a folder for them, else beside the sockets", () => {
    const state = fresh();
    expect(lastWordsFolder(state, {})).toBe(state.run);
    expect(lastWordsFolder(state, { RUNTIME_DIRECTORY: "/run/autowithdraw/signer" })).toBe("/run/autowithdraw/signer");
  });

  it("last words that cannot be written or removed change nothing", () => {
    const file = join(dir, "a-file");
    writeFileSync(file, "");
    writeLastWords(join(file, "below"), words);
    removeLastWords(join(file, "below"), "signer");
    expect(readLastWords(stateFolder(join(dir, "nowhere")))).toEqual([]);
  });

  it("last words are short, in one line, and move no cursor", () => {
    const state = fresh();
    const dirty = `a\u001b[2J\nb\u202ec${"😀".repeat(2_000)}`;
    writeLastWords(state.run, { ...words, message: dirty });
    expect(readLastWords(state)[0]?.message).toMatch(/^a \[2J b c😀{991}$/u);
    leave(state, JSON.stringify({ ...words, hint: dirty.slice(0, 109) }));
    expect(readLastWords(state)[0]?.hint).toMatch(/^a \[2J b c😀{50}$/u);
  });

  it("last words of another form, of another role or in another kind of file are not read", () => {
    const state = fresh();
    leave(state, JSON.stringify(words));
    expect(readLastWords(state)).toHaveLength(1);
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
      expect(readLastWords(state), text.slice(0, 80)).toEqual([]);
    }
    const path = join(state.run, "last-words.signer.json");
    const elsewhere = join(dir, "elsewhere.json");
    writeFileSync(elsewhere, JSON.stringify(words));
    rmSync(path);
    symlinkSync(elsewhere, path);
    expect(readLastWords(state)).toEqual([]);
    rmSync(path);
    mkdirSync(path);
    expect(readLastWords(state)).toEqual([]);
  });
});
