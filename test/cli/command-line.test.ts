/**
 * The project's own commands list their options, and end with 2 on an unknown option before any
 * work begins.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { readCommandLine } from "../../lab/kit/command-line.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

function run(file: string, ...args: string[]): { code: number | null; out: string; err: string } {
  const path = join(projectRoot, "dist", file);
  const { status, stdout, stderr } = spawnSync(process.execPath, [path, ...args], {
    encoding: "utf8",
    timeout: 120_000,
  });
  return { code: status, out: stdout, err: stderr };
}

/** The reader of all of these commands in this process, as the fuzzer calls it. */
function read(...args: string[]): ReturnType<typeof run> {
  const { argv } = process;
  const [out, err]: [string[], string[]] = [[], []];
  const spies = [
    vi.spyOn(process.stdout, "write").mockImplementation((text) => out.push(String(text)) > 0),
    vi.spyOn(process.stderr, "write").mockImplementation((text) => err.push(String(text)) > 0),
    vi.spyOn(process, "exit").mockImplementation((code) => {
      throw new Error(`ended with ${code}`);
    }),
  ];
  process.argv = [process.execPath, "fuzz.js", ...args];
  let code: number | null = null;
  try {
    const { whole } = readCommandLine({
      name: "fuzz",
      does: "Feeds.",
      options: {
        seed: { takes: "N", says: "where chance begins" },
        json: { says: "ends with one line of JSON" },
      },
    });
    whole("seed", { most: 2 ** 31 - 1, otherwise: 7 });
  } catch (error) {
    code = Number(/^ended with (\d)$/.exec((error as Error).message)?.[1]);
  } finally {
    process.argv = argv;
    for (const spy of spies) spy.mockRestore();
  }
  return { code, out: out.join(""), err: err.join("") };
}

function endsInUsage(name: string, { code, out, err }: ReturnType<typeof run>, line: string): void {
  expect([code, out]).toEqual([2, ""]);
  const [first, empty, usage] = err.split("\n");
  expect(first).toContain(`${name}: ${line}`);
  expect([empty, usage]).toEqual(["", `usage: npm run ${name} -- [options]`]);
  expect(err).not.toMatch(/^\s+at /m);
}

const commands = [
  ["simulate", "lab/simulation/command.js", "seeds"],
  ["journal-model", "lab/journal-model/command.js", "histories"],
  ["faults", "lab/faults/command.js", "kills"],
  ["fuzz", "lab/fuzz/fuzz.js", "seed"],
  ["bench", "lab/bench/bench.js", "jobs"],
] as const;

it.each(commands)(
  "npm run %s tells its options when asked, and when one is unknown",
  (name, file, option) => {
    const { code, out, err } = run(file, "--nonsense", "--help");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(
      new RegExp(`^usage: npm run ${name} -- \\[options\\]\n\n[A-Z].*\\.\n\n  --`),
    );
    expect(out).toMatch(new RegExp(`\n  --${option} N +\\S`));
    expect(out).toMatch(/\n {2}--help +tells this\n$/);
    endsInUsage(name, run(file, "--nonsense"), "unknown option --nonsense");
  },
);

it.each([
  [["-x"], "unknown option -x"],
  [["--no-json"], "unknown option --no-json"],
  [["--toString", "1"], "unknown option --toString"],
  [["nonsense"], "unexpected argument nonsense"],
  [["--seed"], "--seed needs a value: --seed N"],
  [["--seed", "--json"], "--seed needs a value: --seed N"],
  [["--json=yes"], "--json takes no value"],
  [["--seed=1e3"], "--seed takes a whole number from 0 to 2147483647"],
  [["--seed="], "--seed takes a whole number from 0 to 2147483647"],
  [["--seed", "2147483648"], "--seed takes a whole number from 0 to 2147483647"],
])("%s ends a command with 2, one line and the usage on stderr", (args, line) => {
  endsInUsage("fuzz", read(...args), line);
});

it("what a command knows ends nothing", () => {
  expect(read("--seed", "2147483647", "--json")).toEqual({ code: null, out: "", err: "" });
});
