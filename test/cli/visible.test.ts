/**
 * Foreign text that a command prints moves no cursor, begins no line of its own, and is no part of
 * the line that an operator types.
 */
import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { stateFolder } from "../../agent/files/state-folder.ts";
import { unpairedFault } from "../../agent/launcher/paired.ts";
import { AgentError } from "../../base/fault.ts";
import { formatTerminalSafeJson, shellWord, visibleAll, visibleText } from "../../base/visible.ts";
import type { Machine } from "../../cli/machine.ts";
import { askOperator } from "../../cli/operator.ts";
import { explainUnreachableSigner } from "../../cli/unreachable.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { shareOf } from "../../lab/kit/share.ts";
import { startsTheBuild } from "../support/built.ts";
import { DoctorKit } from "../support/doctor-kit.ts";

startsTheBuild();

const dirty = "\u001b[2J\u009b31m\neverything works\r\u202egpj\u2028\u200b";
const unseen = /(?!\n)[\p{C}\p{Zl}\p{Zp}]/u;

describe("text of others", () => {
  it("is shown with a sign where nothing is to be seen, and otherwise as it is", () => {
    expect(visibleText(dirty)).toBe(
      "\ufffd[2J\ufffd31m\ufffdeverything works\ufffd\ufffdgpj\ufffd\ufffd",
    );
    expect(visibleText("Zürich 東京 – ok")).toBe("Zürich 東京 – ok");
    expect(visibleAll({ a: [dirty, 1, null, true], [dirty]: {} })).toEqual({
      a: [visibleText(dirty), 1, null, true],
      [visibleText(dirty)]: {},
    });
  });

  it("as JSON moves no cursor, and a program reads the very text", () => {
    const value = { a: [dirty, 1, null], [dirty]: "\u{e0041} ü" };
    expect(formatTerminalSafeJson(value)).not.toMatch(unseen);
    expect(JSON.parse(formatTerminalSafeJson(value))).toEqual(value);
    expect(formatTerminalSafeJson({ a: "Zürich" })).toBe('{"a":"Zürich"}');
  });

  it("is one word in a shell, or none", () => {
    for (const name of ["/var/lib/a", "x; id #", "it's $(id) `id`", "-rf", "a\\b", "ü"]) {
      const word = shellWord(name) ?? "";
      expect(
        spawnSync("sh", ["-c", `printf %s ${word === "-rf" ? `"" ${word}` : word}`], {
          encoding: "utf8",
        }).stdout,
        name,
      ).toBe(name);
    }
    expect(shellWord("/var/lib/a")).toBe("/var/lib/a");
    expect(shellWord(dirty)).toBeNull();
  });
});

describe("every program, given words of others", () => {
  /** Both streams. The arguments are a way in as well: the author of a file chooses its name. */
  const printed = (launcher: string, ...args: string[]): string => {
    const { stdout, stderr } = spawnSync(process.execPath, [join(projectRoot, launcher), ...args], {
      encoding: "utf8",
    });
    return stdout + stderr;
  };
  const name = "no\u001b[2J\u009b31m\ncrypto: ready\rsuch\u202efile";

  const programs = [
    ["the launcher", ["crypto.js", "--config", name]],
    ["its check", ["crypto.js", "--check", "--config", name]],
    ["a command", ["autowithdraw.js", "verify", "--state", name]],
    ["a command's usage", ["autowithdraw.js", name]],
    ["pairing", ["pair.js", "--config", name, "--yes"]],
    ["installing", ["autowithdraw.js", "install", "--dry-run", "--config", name]],
    ["the gateway", ["gateway/gateway.js", "start", "--config", name]],
    ["the gateway's usage", ["gateway/gateway.js", name]],
  ] as const;

  // Half of them, which half is drawn, so that the quick tier starts each in time.
  it.each(shareOf(programs, 2, randomInt(2)))(
    "%s prints them with nothing that moves a cursor or begins a line",
    (_, [launcher, ...args]) => {
      const text = printed(launcher, ...args);
      expect(text).not.toMatch(unseen);
      expect(text).not.toMatch(/^crypto: ready/m);
      expect(text).toContain("\ufffd[2J");
      expect(
        printed(launcher, ...args.map((word) => (word === name ? "plain-name" : word))),
      ).toContain("plain-name");
    },
  );

  it("the screen's one writer lets no character through", () => {
    const terminal = JSON.stringify(join(projectRoot, "dist/cli/terminal.js"));
    const script = `import { processTerminal } from ${terminal}; const { out, err, again } = processTerminal();
out("a\\u001b[2Jb\\n"); err("c\\u009bd\\n"); again("e\\u202ef");`;
    const done = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
    });
    expect([done.stdout, done.stderr]).toEqual(["a\ufffd[2Jb\n", "c\ufffdd\n\re\ufffdf"]);
  });
});

describe("in a command", () => {
  let kit: DoctorKit;
  beforeEach(async () => {
    kit = new DoctorKit();
    await kit.open();
  });
  afterEach(() => kit.close());

  it("the courier's report about itself forges no line of status or doctor", async () => {
    kit.courier({
      link: "down",
      linkDetail: `LINK_SOCKET: ${dirty}`,
      waiting: [{ transactionId: "1".repeat(32), why: dirty }],
    });
    const { status } = await askOperator(kit.state, "status", {});
    expect(status.courier?.linkDetail).toBe(`LINK_SOCKET: ${visibleText(dirty)}`);
    expect(JSON.stringify(status)).not.toMatch(unseen);
    const seen = await kit.run();
    expect(seen.codes).toContain("LINK_SOCKET");
    expect(seen.text).not.toMatch(unseen);
    expect(seen.text).not.toMatch(/^everything works/m);
  });

  it("the name of a file in the courier's folder is no line for root to type", async () => {
    const file = (name: string): void =>
      writeFileSync(join(kit.state.courier, name), "", { mode: 0o644 });
    file("plain");
    file("x; touch owned #");
    file(dirty);
    const { hints, text } = await kit.run();
    const at = kit.state.courier;
    expect(new Set(hints)).toEqual(
      new Set([
        `chmod 0600 ${at}/plain`,
        `chmod 0600 '${at}/x; touch owned #'`,
        `its name cannot be typed as it is; look with: ls -lab ${at}`,
      ]),
    );
    expect(text).not.toMatch(unseen);
  });
});

describe("a copy of the installed agent's folder", () => {
  const hintFor = (root: string, installed: string | undefined): string => {
    const machine: Machine = {
      isUnderUnits: () => false,
      units: () => new Map(),
      exitReason: () => [],
      configOnDisk: () => ({ is: "gone" }),
      isThere: () => true,
      isReadOnly: () => false,
    };
    const away = new AgentError("COMMAND_DAEMON_AWAY", "none", "crypto does not run");
    return String(
      (explainUnreachableSigner(stateFolder(root), away, machine, installed) as AgentError).context
        .hint,
    );
  };

  it("is never offered to be started; a folder of a checkout is", () => {
    expect(hintFor("/srv/drill", "/var/lib/autowithdraw")).toMatch(
      /leave --state out .* start nothing on a copy/,
    );
    expect(hintFor("/srv/own", undefined)).toBe("start it with: node crypto.js");
  });

  it("that lost its agent: the one that the units know is not looked for with --state", () => {
    expect(unpairedFault({ root: "/var/lib/autowithdraw" }).context.hint).toMatch(
      /never paired: autowithdraw pair; else bring back/,
    );
    expect(unpairedFault({ root: "/srv/own" }).context.hint).toBeUndefined();
  });
});

describe("exit reason", () => {
  const away = new AgentError("COMMAND_DAEMON_AWAY", "none", "crypto does not run");
  const left = { code: "BUG", message: "its exit reason", hint: "its hint", at: 2 };
  const words = (
    roles: readonly ("both" | "courier" | "signer")[],
    isUnderUnits: boolean,
  ): string => {
    const units = new Map([
      [
        "autowithdraw-signer.service",
        { ActiveState: "failed", Result: "exit-code", ExecMainStatus: "1" },
      ],
    ]);
    const machine: Machine = {
      isUnderUnits: () => isUnderUnits,
      units: () => units,
      exitReason: () => roles.map((role) => ({ ...left, role })),
      configOnDisk: () => ({ is: "gone" }),
      isThere: () => true,
      isReadOnly: () => false,
    };
    const error = explainUnreachableSigner(stateFolder("/nowhere"), away, machine) as AgentError;
    return `${error.message} ${String(error.context.hint)}`;
  };

  it.each([true, false])(
    "a courier's exit reason does not explain a silent signer (under units: %s)",
    (isUnderUnits) => {
      expect(words(["courier"], isUnderUnits)).not.toMatch(/its (?:exit reason|hint)/);
      expect(words(["courier", "signer"], isUnderUnits)).toMatch(/its exit reason.*its hint/);
      expect(words(["both"], isUnderUnits)).toMatch(/its exit reason.*its hint/);
    },
  );
});
