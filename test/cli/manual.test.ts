/**
 * Completion and manual pages, made from the command lines themselves: what a real bash completes,
 * what a real man makes of the pages.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { beforeAll, describe, expect, it } from "vitest";
import { commandTree, runCommand } from "../../cli/main.ts";
import { shells } from "../../cli/manual/completion.ts";
import { agentIdCommands, gatewayIdCommands } from "../../cli/manual/offered-ids.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { buildGatewayCommands as gatewayTree } from "../../gateway/command.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

const commands = commandTree().commands;

async function printed(line: string): Promise<{ readonly code: number; readonly text: string }> {
  let text = "";
  const add = (more: string): void => {
    text += more;
  };
  const terminal: Terminal = {
    out: add,
    err: add,
    user: "alice",
    isInteractive: false,
    confirm: async () => false,
    now: () => 0,
    sleep: async () => false,
  };
  return { code: await runCommand(line.split(" "), terminal), text };
}

/** The completions of a bash that sourced the script, for the last of these words. */
function offeredBy(script: string, program: string, words: readonly string[]): string[] {
  const line = `source /dev/stdin <<< "$SCRIPT"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _${program}; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const env = { ...process.env, SCRIPT: script };
  const out = execFileSync("bash", ["--norc", "-c", line, "bash", program, ...words], {
    env,
    encoding: "utf8",
  });
  return out.split("\n").filter((word) => word !== "");
}

describe("completion of autowithdraw-gateway", () => {
  const program = "autowithdraw-gateway";
  const script = (): string =>
    readFileSync(join(projectRoot, "dist", "completion", program), "utf8");
  const offered = (...words: string[]): string[] => offeredBy(script(), program, words);
  const names = (of: readonly { name(): string }[]): readonly string[] =>
    of.map((one) => one.name());

  it("in bash gives every command, and every command of a group, each with its own options", () => {
    const { commands: groups } = gatewayTree();
    expect(offered("")).toEqual([...names(groups), "--help"]);
    for (const group of groups) {
      const own = [
        ...group.options.filter(({ hidden }) => !hidden).map(({ long }) => long),
        "--help",
      ];
      expect(offered(group.name(), "--"), group.name()).toEqual(own);
      if (group.commands.length > 0)
        expect(offered(group.name(), ""), group.name()).toEqual(names(group.commands));
      for (const command of group.commands) {
        const flags = [
          ...command.options.filter(({ hidden }) => !hidden).map(({ long }) => long),
          "--help",
        ];
        expect(offered(group.name(), command.name(), "--"), command.name()).toEqual(flags);
      }
    }
  });

  it("in bash gives an option's choices, and files elsewhere", () => {
    expect(offered("key", "create", "--alg", "")).toEqual(["HS256", "EdDSA"]);
    expect(offered("key", "nothing-like-it", "--alg", "config.exam")).toEqual([]);
    const begun = join(projectRoot, "config.exam");
    const whole = [join(projectRoot, "config.example.json")];
    expect(offered("start", "--config", begun)).toEqual(whole);
    expect(offered("backup", begun)).toEqual(whole);
    expect(offered("deposits", "list", "--config", begun)).toEqual(whole);
  });
});

describe("completion", () => {
  let script = "";
  beforeAll(async () => {
    script = (await printed("completion bash")).text;
  });

  const offered = (...words: string[]): string[] => offeredBy(script, "autowithdraw", words);

  it("in bash gives every command, and those that begin so", () => {
    expect(offered("")).toEqual([...commands.map((command) => command.name()), "--help"]);
    expect(offered("re")).toEqual(
      commands.map((command) => command.name()).filter((name) => name.startsWith("re")),
    );
    expect(offered("nothing-like-it")).toEqual([]);
  });

  it("in bash gives each command's own options, an option's choices, and files elsewhere", () => {
    for (const command of commands) {
      const flags = command.options.map(({ long }) => long);
      expect(offered(command.name(), "--"), command.name()).toEqual([...flags, "--help"]);
    }
    expect(offered("token", "--alg", "")).toEqual(["HS256", "EdDSA"]);
    expect(offered("completion", "")).toEqual([...shells]);
    expect(offered("restore", join(projectRoot, "config.exam"))).toEqual([
      join(projectRoot, "config.example.json"),
    ]);
    expect(offered("rekey", "--enc-key-file", join(projectRoot, "config.exam"))).toHaveLength(1);
  });

  it("in bash offers the ids that the program lists, for each command that takes one", () => {
    const bin = mkdtempSync(join(tmpdir(), "aw-completion-"));
    const [held, open, ended] = ["a1", "b2", "c3"].map((part) => part.repeat(16));
    const program = `#!/bin/sh
case "$*" in
"status --held") printf '${held}\\n' ;;
"withdrawals --open --limit 100") printf 'transactionId  state\\n${open}  broadcast\\n' ;;
"withdrawals --limit 100") printf 'transactionId  state\\n${open}  broadcast\\n${ended}  paid\\n' ;;
"agents list") printf '${held}  paired  Shop\\n' ;;
*) exit 1 ;;
esac
`;
    for (const name of ["autowithdraw", "autowithdraw-gateway"])
      writeFileSync(join(bin, name), program, { mode: 0o755 });
    const path = process.env.PATH ?? "";
    process.env.PATH = `${bin}:${path}`;
    try {
      for (const name of ["approve", "refuse"]) expect(offered(name, ""), name).toEqual([held]);
      for (const name of ["replace", "cancel", "end"])
        expect(offered(name, ""), name).toEqual([open]);
      expect(offered("show", "")).toEqual([open, ended]);
      expect(offered("show", "c3c")).toEqual([ended]);
      const gateway = readFileSync(
        join(projectRoot, "dist", "completion", "autowithdraw-gateway"),
        "utf8",
      );
      expect(offeredBy(gateway, "autowithdraw-gateway", ["agents", "unpair", ""])).toEqual([held]);
    } finally {
      process.env.PATH = path;
      rmSync(bin, { recursive: true });
    }
  });

  it("every command that ids are offered for is there, and its first argument is an id", () => {
    const known = (root: Command): Map<string, Command> =>
      new Map(
        root.commands.flatMap((one) =>
          [one, ...one.commands].map((each) => [
            each === one ? one.name() : `${one.name()} ${each.name()}`,
            each,
          ]),
        ),
      );
    for (const [root, ids] of [
      [commandTree(), agentIdCommands],
      [gatewayTree(), gatewayIdCommands],
    ] as const) {
      const all = known(root);
      for (const name of Object.keys(ids))
        expect(all.get(name)?.registeredArguments[0]?.name(), name).toMatch(/[iI]d$/);
      for (const [name, command] of all)
        if (/Id$|^id$/.test(command.registeredArguments[0]?.name() ?? ""))
          expect(Object.keys(ids), name).toContain(name);
    }
  });

  it("for other shells names every command and option too; an unknown shell is refused", async () => {
    for (const shell of ["zsh", "fish"]) {
      const { code, text } = await printed(`completion ${shell}`);
      expect(code).toBe(0);
      for (const command of commands) {
        expect(text).toContain(command.name());
        for (const { long } of command.options)
          expect(text, shell).toContain((long ?? "").replace(/^--/, ""));
      }
    }
    expect((await printed("completion tcsh")).code).toBe(2);
  });

  for (const [shell, check] of [
    ["zsh", "-n"],
    ["fish", "--no-execute"],
  ] as const) {
    const isThere = spawnSync(shell, ["--version"]).error === undefined;
    if (!isThere)
      process.stderr.write(
        `SKIPPED: the completion is not read by ${shell}; to have it read: apt-get install ${shell}\n`,
      );
    it.skipIf(!isThere)(`the completion is read by ${shell}`, async () => {
      const { text } = await printed(`completion ${shell}`);
      const dir = mkdtempSync(join(tmpdir(), "aw-completion-"));
      writeFileSync(join(dir, "script"), text);
      const done = spawnSync(shell, [check, join(dir, "script")], { encoding: "utf8" });
      rmSync(dir, { recursive: true });
      expect([done.status, done.stderr]).toEqual([0, ""]);
    });
  }
});

describe("manual pages", () => {
  const page = (name: string): string =>
    readFileSync(join(projectRoot, "dist", "man", `${name}.1`), "utf8");
  const hasMan =
    spawnSync("man", ["--version"]).error === undefined &&
    spawnSync("groff", ["--version"]).error === undefined;
  if (!hasMan)
    process.stderr.write(
      "SKIPPED: no manual page is read by man; to have them read: apt-get install man-db groff\n",
    );

  it("have their sections, and each line of EXAMPLES is a command that the program takes", () => {
    const trees = { autowithdraw: commandTree(), "autowithdraw-gateway": gatewayTree() } as const;
    for (const [name, root] of Object.entries(trees)) {
      const text = page(name).replaceAll("\\-", "-");
      for (const section of ["FILES", "ENVIRONMENT", "EXAMPLES"])
        expect(text, name).toMatch(new RegExp(`^\\.SH ${section}$`, "m"));
      const lines = [...(text.split(".SH EXAMPLES")[1] ?? "").matchAll(/^\\fB(\S+) (.*)\\fR$/gm)];
      expect(lines.length, name).toBeGreaterThan(3);
      for (const [, program, words = ""] of lines) {
        expect(program).toBe(name);
        const [first = "", ...rest] = words.split(/ [|>] /)[0]?.split(" ") ?? [];
        const found = root.commands.find((one) => one.name() === first);
        const own = [found, ...(found?.commands ?? [])].flatMap(
          (one) => one?.options.map(({ long }) => long) ?? [],
        );
        expect(found, words).toBeDefined();
        for (const word of rest.filter((one) => one.startsWith("--")))
          expect(own, words).toContain(word);
      }
    }
    expect(page("crypto")).toContain(".SH FILES");
  });

  it("the help lists every command in one group", async () => {
    const texts = [(await printed("--help")).text, gatewayTree().helpInformation()];
    for (const [text = "", root] of [
      [texts[0], commandTree()],
      [texts[1], gatewayTree()],
    ] as const) {
      expect(text).not.toMatch(/^Commands:$/m);
      const headings = [...text.matchAll(/^([A-Z][^\n:]*):$/gm)].map(([, heading]) => heading);
      expect(headings.length).toBeGreaterThanOrEqual(6);
      expect(text.split("Help:")[1]).not.toMatch(/^ {2}(?!help)[a-z]/m);
      for (const command of root.commands)
        expect(
          [...text.matchAll(new RegExp(`^  ${command.name()}\\b(?!-)`, "gm"))],
          command.name(),
        ).toHaveLength(1);
    }
  });

  it("have every command and every option", () => {
    const bare = (text: string): string =>
      text.replaceAll("\\-", "-").replaceAll("\\(dq", '"').replaceAll("\\&", "");
    const own = bare(page("autowithdraw"));
    for (const command of commands) {
      expect(own).toContain(`autowithdraw ${command.name()}`);
      expect(own).toContain(command.description());
      for (const option of command.options) expect(own).toContain(`.B ${option.flags}`);
    }
    const gateway = bare(page("autowithdraw-gateway"));
    for (const command of gatewayTree().commands)
      expect(gateway).toContain(`autowithdraw-gateway ${command.name()}`);
    expect(gateway).toContain("autowithdraw-gateway key list");
    expect(gateway).toContain("autowithdraw-gateway agents unpair <agentId>");
    expect(bare(page("crypto"))).toContain(".B --role <role>");
  });

  it.skipIf(!hasMan).each(["autowithdraw", "crypto", "autowithdraw-gateway"])(
    "%s is read by man without a warning",
    (name) => {
      const env = { ...process.env, MANWIDTH: "80", LC_ALL: "C.UTF-8", MANROFFSEQ: "" };
      const done = spawnSync(
        "man",
        ["--warnings", "-l", join(projectRoot, "dist", "man", `${name}.1`)],
        { env, encoding: "utf8" },
      );
      expect([done.status, done.stderr]).toEqual([0, ""]);
      expect(done.stdout).toMatch(/NAME[\s\S]*SYNOPSIS[\s\S]*EXIT STATUS/);
    },
  );

  it.skipIf(!hasMan)("one with a mistake is warned of", () => {
    const dir = mkdtempSync(join(tmpdir(), "aw-manual-"));
    const path = join(dir, "bad.1");
    writeFileSync(path, `${page("crypto")}.NOSUCHMACRO word\n`);
    const done = spawnSync("man", ["--warnings", "-l", path], { encoding: "utf8" });
    rmSync(dir, { recursive: true });
    expect(done.stderr).toContain("NOSUCHMACRO");
  });
});
