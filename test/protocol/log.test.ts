/**
 * The one form of a log line: the signer's writer, pino's options, the launcher's speech, and what
 * the journal reads before a line.
 */
import pino from "pino";
import { describe, expect, it } from "vitest";
import { createLauncherOutput } from "../../agent/launcher/output.ts";
import { createLog } from "../../agent/signer/runtime/log.ts";
import {
  type AgentLog,
  formatLogLine,
  isJournalStream,
  pinoLineOptions,
  priorityOf,
  withPriority,
} from "../../base/log.ts";

const clock = (): number => Date.UTC(2026, 10, 23, 4, 0, 0, 7);
const at = "2026-11-23T04:00:00.007Z";

describe("a line", () => {
  it("a log line has the same five keys from the signer and from pino", () => {
    const lines: string[] = [];
    createLog((line) => lines.push(line), clock)("signer-ready", "ready", { seq: 3 });
    const log: AgentLog = pino(pinoLineOptions("courier", clock), {
      write: (line: string) => void lines.push(line),
    });
    log.info({ event: "link-up", agent: "a" }, "the link is up");
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { at, level: "info", process: "signer", event: "signer-ready", message: "ready", seq: 3 },
      {
        at,
        level: "info",
        process: "courier",
        event: "link-up",
        message: "the link is up",
        agent: "a",
      },
    ]);
    expect(
      lines.every((line) => line.endsWith("\n") && line.indexOf("\n") === line.length - 1),
    ).toBe(true);
  });

  it("a log line keeps its own keys against a context, and cuts long texts", () => {
    const form = {
      at: 0,
      level: "warn",
      process: "crypto",
      event: "stopped",
      message: "m",
    } as const;
    const line = JSON.parse(
      formatLogLine(form, { level: "debug", message: "other", long: "x".repeat(1000), few: "y" }),
    ) as Record<string, string>;
    expect(line).toMatchObject({ level: "warn", message: "m", few: "y" });
    expect(line.long).toHaveLength(512);
  });
});

describe("the journal", () => {
  it("reads a priority before each line, by its level", () => {
    expect(["debug", "info", "warn", "error"].map(priorityOf)).toEqual([
      "<7>",
      "<6>",
      "<4>",
      "<3>",
    ]);
    const lines: string[] = [];
    const log: AgentLog = pino(
      { level: "debug", ...pinoLineOptions("courier", clock) },
      {
        write: (line: string) => void lines.push(withPriority(line)),
      },
    );
    log.debug({ event: "signer-refused" }, "");
    log.info({ event: "link-up" }, "");
    log.warn({ event: "link-down" }, "");
    log.error({ event: "agent-locked" }, "");
    expect(lines.map((line) => line.slice(0, 4))).toEqual(["<7>{", "<6>{", "<4>{", "<3>{"]);
    expect(withPriority("Segmentation fault")).toBe("<3>Segmentation fault");
  });

  it("is told from another stream by device and inode, not by the variable's presence", () => {
    expect(isJournalStream("8:123456", { dev: 8, ino: 123456 })).toBe(true);
    expect(isJournalStream("8:123456", { dev: 8, ino: 123457 })).toBe(false);
    expect(isJournalStream(undefined, { dev: 8, ino: 123456 })).toBe(false);
  });
});

describe("the launcher", () => {
  const spoken = (stderr: "terminal" | "journal" | "other"): readonly string[] => {
    const lines: string[] = [];
    const speech = createLauncherOutput({ write: (text) => lines.push(text), clock, stderr });
    speech.say("process-restarted", "the courier ended and is started again");
    speech.relayLine('{"level":"info"}', "info");
    speech.relayLine("a stack of Node", null);
    speech.verdict({ exitCode: 2, code: "CONFIG_JSON", message: "line 3", hint: "correct it" });
    return lines;
  };

  it("speaks plain words on a terminal", () => {
    expect(spoken("terminal")[0]).toBe("crypto: the courier ended and is started again\n");
    expect(spoken("terminal").at(-1)).toBe("crypto: line 3\nhint: correct it\n");
  });

  it("speaks the one form elsewhere, and gives the reason of an end in two lines", () => {
    const [said = "", relayed, foreign, verdict] = spoken("other");
    expect(JSON.parse(said)).toMatchObject({
      at,
      level: "warn",
      process: "crypto",
      event: "process-restarted",
    });
    expect([relayed, foreign]).toEqual(['{"level":"info"}\n', "a stack of Node\n"]);
    expect(verdict).toBe("crypto: line 3\nhint: correct it\n");
  });

  it("puts priorities before all of it for the journal", () => {
    const [said = "", relayed, foreign, verdict = ""] = spoken("journal");
    expect(said).toMatch(/^<4>\{/);
    expect([relayed, foreign]).toEqual(['<6>{"level":"info"}\n', "<3>a stack of Node\n"]);
    expect(verdict).toMatch(/^<3>\{/);
    expect(JSON.parse(verdict.slice(3))).toMatchObject({
      event: "command-fault",
      code: "CONFIG_JSON",
      message: "line 3",
      hint: "correct it",
    });
  });
});
