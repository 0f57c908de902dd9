/** The command of the suite on planted test files: what it says of a dear one, and of a leak. */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";

let root: string;

/** The runner's own files, and those that its settings look into. */
function copyRunner(): void {
  const settings = readFileSync(join(projectRoot, "vitest.config.ts"), "utf8");
  const [, named = ""] = /exchanging = \[([^\]]*)\]/.exec(settings) ?? [];
  const exchanging = [...named.matchAll(/"([^"]+)"/g)].map(([, name]) => `test/${name}.test.ts`);
  const files = [
    "vitest.config.ts",
    "package.json",
    "tsconfig.json",
    "lab/kit/share.ts",
    "cli/launch",
    "scripts",
  ];
  const support = [
    "test/runner",
    "test/support/plain-output.ts",
    "test/support/answers-between-tests.ts",
  ];
  for (const path of [...files, ...support, ...exchanging])
    cpSync(join(projectRoot, path), join(root, path), { recursive: true });
  symlinkSync(join(projectRoot, "node_modules"), join(root, "node_modules"));
}

function plant(name: string, body: string): string {
  const file = `test/planted/${name}.test.ts`;
  mkdirSync(join(root, "test", "planted"), { recursive: true });
  writeFileSync(join(root, file), `import { expect, it } from "vitest";\n${body}\n`);
  return file;
}

/** Budgets that name the planted files in the order in which one worker runs them. */
function budget(rows: readonly (readonly [file: string, budgetMs: number])[]): void {
  const files = Object.fromEntries(
    rows.map(([file, budgetMs], at) => [file, { budgetMs, wallMs: 90_000 - at }]),
  );
  writeFileSync(
    join(root, "test", "runner", "budgets.json"),
    JSON.stringify({ paceMs: 1_000_000, files }),
  );
}

/** Writes a file of a planted project. */
function write(folder: string, path: string, text: string): void {
  mkdirSync(join(folder, dirname(path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

function run(
  files: readonly string[],
  cost = "1",
): { readonly code: number | null; readonly said: string } {
  const oneWorker = ["--poolOptions.forks.maxForks=1", "--poolOptions.forks.minForks=1"];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["scripts/test.js", ...files, ...oneWorker],
    {
      cwd: root,
      encoding: "utf8",
      env: {
        ...process.env,
        TEST_COST: cost,
        TEST_TIER: "quick",
        VITEST: undefined,
        VITEST_WORKER_ID: undefined,
      },
    },
  );
  return { code: status, said: stdout + stderr };
}

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "suite-"));
  copyRunner();
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("the command of the suite", () => {
  const burn =
    "const end = process.cpuUsage().user + 700_000; while (process.cpuUsage().user < end); expect(1).toBe(1);";

  it("names a file that is above its budget, also alone, and ends with 1", () => {
    const slow = plant("slow", `it("burns", () => { ${burn} });`);
    budget([[slow, 200]]);
    const { code, said } = run([slow]);
    expect(code, said).toBe(1);
    expect(said).toMatch(new RegExp(`${slow}: \\d+ ms of CPU time, its budget is 200 ms`));
  });

  it("says nothing of a file below its budget, and ends with 0", () => {
    const slow = plant("slow", `it("burns", () => { ${burn} });`);
    budget([[slow, 60_000]]);
    const { code, said } = run([slow]);
    expect(code, said).toBe(0);
    expect(said).not.toContain("its budget is");
  });

  it("finds a file that leaks a state into its worker, and ends with 1", () => {
    const leaks = plant(
      "leaks",
      'it("leaves a mark", () => { globalThis.mark = 1; expect(globalThis.mark).toBe(1); });',
    );
    const meets = plant(
      "meets",
      'it("meets no mark", () => { expect(globalThis.mark).toBeUndefined(); });',
    );
    budget([
      [leaks, 60_000],
      [meets, 60_000],
    ]);
    const { code, said } = run([leaks, meets], "");
    expect(code, said).toBe(1);
    expect(said).toContain(
      `${meets}: passes alone; it ran behind ${leaks}, which may have left a state behind`,
    );
  });

  it("says of a file that fails by itself that it fails alone too", () => {
    const first = plant("first", 'it("passes", () => { expect(1).toBe(1); });');
    const fails = plant("fails", 'it("fails", () => { expect(1).toBe(2); });');
    budget([
      [first, 60_000],
      [fails, 60_000],
    ]);
    const { code, said } = run([first, fails], "");
    expect(code, said).toBe(1);
    expect(said).toContain(`${fails}: fails alone too`);
  });
});

describe("the files that PostgreSQL can have", () => {
  it("are those of the gateway's rooms that come to a fresh database by their imports", async () => {
    const folder = join(root, "planted-project");
    const kit = 'import { freshStore } from "../../lab/kit/fresh-store.ts";\n';
    const support = 'import { world } from "../support/world.ts";\n';
    write(folder, "lab/kit/fresh-store.ts", "");
    write(folder, "test/support/world.ts", kit);
    write(folder, "test/hub/one.test.ts", kit);
    write(folder, "test/watcher/two.test.ts", support);
    write(folder, "test/watcher/plain.test.ts", 'import { it } from "vitest";\n');
    write(folder, "test/signer/other-room.test.ts", kit);
    const parts = await import(pathToFileURL(join(projectRoot, "scripts/test-parts.js")).href);
    expect(parts.postgresFiles(folder)).toEqual([
      "test/hub/one.test.ts",
      "test/watcher/two.test.ts",
    ]);
    const files: readonly string[] = parts.postgresFiles(projectRoot);
    expect(files).toContain("test/hub/hub-statements.test.ts");
    const halves = [1, 2].flatMap((at) => parts.filesOfPart(root, `${at}/2`, files, false));
    expect(halves.sort()).toEqual(files);
  });
});
