/**
 * Terminal manners: a table that does not fit becomes blocks with nothing shortened, a moment is
 * shown in two zones, long work shows its progress.
 */
import { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Writable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { dropUnread } from "../../base/unread-output.ts";
import { typedCommand } from "../../cli/command-hint.ts";
import {
  fieldLines,
  momentHere,
  type Terminal,
  tableLines,
  withProgress,
} from "../../cli/terminal.ts";
import { projectRoot } from "../../lab/kit/kit.ts";

const heading = ["currency", "network", "address"];
const address = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";

describe("a table", () => {
  it("that fits is one, to the last column", () => {
    const row = ["eth", "eip155:1", address];
    const exactly = `currency  network   address`.length - "address".length + address.length;
    expect(tableLines(heading, [row], exactly)).toBe(
      `currency  network   address\neth       eip155:1  ${address}`,
    );
    expect(tableLines(heading, [row], exactly - 1)).toBe(
      `currency eth\n  network   eip155:1\n  address   ${address}`,
    );
  });

  it("is 80 columns wide when nobody says, and shortens no value in any width", () => {
    const wide = ["a-currency-with-a-long-name", "eip155:1", address];
    expect(tableLines(heading, [wide, wide]).split("\n\n")).toHaveLength(2);
    expect(tableLines(heading, [wide, wide], 200).split("\n")).toHaveLength(3);
    for (let columns = 1; columns < 120; columns++) {
      for (const value of wide) expect(tableLines(heading, [wide], columns)).toContain(value);
    }
  });
});

describe("a table with long cells", () => {
  it("that is too wide loses no character of a cell", () => {
    const row = ["1", "x".repeat(42), "y".repeat(64)];
    for (const columns of [200, 80, 20]) {
      const text = tableLines(["a", "b", "c"], [row], columns);
      for (const cell of row) expect(text).toContain(cell);
      if (columns === 80) expect(text.split("\n").every((line) => line.length <= 80)).toBe(true);
    }
    const wordy = tableLines(["a", "words"], [["1", "several words ".repeat(12).trim()]], 60);
    expect(wordy.split("\n").length).toBeGreaterThan(3);
    expect(wordy.split("\n").every((line) => line.length <= 60)).toBe(true);
  });
});

describe("a moment", () => {
  it("is told in local time too if that is another", () => {
    const atMs = 1795210863000;
    expect(momentHere(atMs, 0)).toBe("2026-11-20 21:41:03 UTC");
    expect(momentHere(atMs, 60)).toBe("2026-11-20 21:41:03 UTC (22:41:03 here)");
    expect(momentHere(atMs, 180)).toBe("2026-11-20 21:41:03 UTC (2026-11-21 00:41:03 here)");
    expect(momentHere(0, 180)).toBe("never");
  });
});

describe("fields", () => {
  it("go on below themselves where a line would be wider than the terminal, with every word whole", () => {
    const rows = [
      ["account", `${address} on a chain with a long name`],
      ["now", "well"],
    ] as const;
    const indent = " ".repeat(12);
    expect(fieldLines(rows, 80)).toBe(
      `  account   ${address} on a chain with a long\n${indent}name\n  now       well`,
    );
    expect(fieldLines(rows, 120).split("\n")).toHaveLength(2);
    expect(fieldLines(rows, 20)).toContain(address);
  });
});

describe("progress", () => {
  let said = "";
  let nowMs = 0;
  const terminal = (isWatched: boolean): Terminal => ({
    out: () => expect.fail("stdout is for the answer"),
    err: () => expect.fail("no line of its own"),
    again: (text) => {
      said += `\r${text}`;
    },
    user: "alice",
    isInteractive: false,
    isWatched,
    confirm: async () => false,
    now: () => nowMs,
    sleep: async () => false,
  });
  beforeEach(() => {
    said = "";
    nowMs = 0;
    vi.useFakeTimers();
  });
  afterEach(() => vi.useRealTimers());

  async function working(seconds: number, isWatched: boolean): Promise<string> {
    let finish: (value: string) => void = () => {};
    const work = new Promise<string>((resolve) => {
      finish = resolve;
    });
    const done = withProgress(terminal(isWatched), "reading", work);
    for (let second = 0; second < seconds; second++) {
      nowMs += 1000;
      await vi.advanceTimersByTimeAsync(1000);
    }
    finish("the answer");
    return done;
  }

  it("is told each second, and cleared at the end", async () => {
    expect(await working(3, true)).toBe("the answer");
    expect(said).toBe(`\rreading: 1 s\rreading: 2 s\rreading: 3 s\r${" ".repeat(12)}\r`);
  });

  it("says nothing of what is quick, and nothing where nobody watches", async () => {
    expect(await working(0, true)).toBe("the answer");
    expect(await working(3, false)).toBe("the answer");
    expect(said).toBe("");
  });

  it("is cleared when the work fails, too", async () => {
    const failing = withProgress(
      terminal(true),
      "reading",
      new Promise((_, reject) => setTimeout(() => reject(new Error("no")), 1500)),
    );
    const caught = expect(failing).rejects.toThrow("no");
    await vi.advanceTimersByTimeAsync(2000);
    await caught;
    expect(said.endsWith(" \r")).toBe(true);
  });
});

describe("a command in a hint", () => {
  it("is typed by its short name where the agent is installed, else by the file that a checkout has", () => {
    expect(typedCommand("approve ID", "/var/lib/autowithdraw")).toBe("autowithdraw approve ID");
    expect(typedCommand("approve ID", "")).toBe("node autowithdraw.js approve ID");
  });
});

describe("output", () => {
  /** A stream whose writes fail with this code, as a pipe's do when its reader has gone. */
  const failing = (code: string): Writable =>
    new Writable({
      autoDestroy: false,
      write: (_text, _coding, done) => done(Object.assign(new Error(code), { code })),
    });

  it("that no reader is left for is dropped, and every other fault of it is thrown", async () => {
    const [gone, other] = [failing("EPIPE"), failing("EPIPE")];
    const isUnread = dropUnread(gone, other);
    expect(isUnread()).toBe(false);
    for (let line = 0; line < 3; line += 1) gone.write("a line");
    await new Promise(setImmediate);
    expect(isUnread()).toBe(true);
    const full = new EventEmitter();
    const isFullUnread = dropUnread(full);
    expect(() => full.emit("error", Object.assign(new Error("full"), { code: "ENOSPC" }))).toThrow(
      "full",
    );
    expect(isFullUnread()).toBe(false);
  });

  it.each([
    "cli/terminal.ts",
    "gateway/command.ts",
    "agent/crypto.ts",
    "agent/courier/main.ts",
    "agent/signer/main.ts",
  ])("of %s may lose its reader", (file) => {
    // Every program that logs, or does something an operator asked for. A program whose only
    // output is an answer to its parent ends with that parent.
    expect(readFileSync(join(projectRoot, file), "utf8")).toMatch(/dropUnread\(process\.std/);
  });
});
