/**
 * The check of the code between a job and the key: what it counts, and that nothing which can lead
 * to a signature stands outside of its lists. On small trees, and on a copy of the project's own.
 */
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";

interface Table {
  limits: { path: number; families: Record<string, number> };
  readonly process: string;
  readonly path: { readonly why: string; readonly files: string[] }[];
  families: Record<string, string[]>;
  readonly beside: { readonly name: string; readonly why: string; readonly files: string[] }[];
  readonly ground: Record<string, string>;
  readonly verbs: {
    readonly file: string;
    readonly requests: Record<string, Record<string, string>>;
  };
}

const tableFile = "scripts/audit-path.json";
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "audit-path-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(file: string, text: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}

function check(): {
  readonly code: number | null;
  readonly counts: string;
  readonly problems: readonly string[];
} {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(projectRoot, "scripts", "audit-path.js"), root],
    {
      encoding: "utf8",
    },
  );
  return {
    code: status,
    counts: stdout,
    problems: stderr.split("\n").filter((line) => line !== ""),
  };
}

/** A tree whose path is `sign.ts` with this text. */
function smallTree(text: string, change: (table: Table) => void = () => {}): void {
  const table: Table = {
    limits: { path: 100, families: { One: 100 } },
    process: "signer/main.ts",
    path: [{ why: "signature", files: ["signer/sign.ts"] }],
    families: { One: ["chains/one.ts"] },
    beside: [{ name: "process", why: "calls the path", files: ["signer/main.ts"] }],
    ground: { "base/": "codes" },
    verbs: { file: "base/verbs.ts", requests: { Requests: { sign: "signer/sign.ts" } } },
  };
  change(table);
  write(tableFile, JSON.stringify(table));
  write("signer/main.ts", 'import "./sign.ts";\n');
  write("signer/sign.ts", text);
  write("chains/one.ts", "one();\n");
  write("base/verbs.ts", "export interface Requests {\n  sign: string;\n}\n");
}

const counted: readonly (readonly [name: string, text: string, statements: number])[] = [
  ["a call", "one();", 1],
  ["two calls on one line", "one(); two();", 2],
  ["a comma between two calls", "one(), two();", 1],
  ["comments, blanks and imports", '// one();\n\nimport "../chains/one.ts";\n', 0],
  ["each constant of a list", "const a = 1, b = 2;", 2],
  ["a branch and its act, with a block or without", "if (a) one(); else { two(); }", 3],
  ["a choice in an expression, as the branch that it is", "one(a ? 1 : b ? 2 : 3);", 3],
  ["a function and its body", "function f(): number { const a = 1; return a; }", 3],
  ["an arrow's expression, as the return that it is", "const f = (a) => a + 1;", 2],
  ["an arrow's block, by its statements", "const f = (a) => { return a + 1; };", 2],
  ["a loop and what it declares", "for (const a of all) one(a);", 3],
  ["a class and each member", "class A { #a = 1; get a() { return this.#a; }; }", 4],
  ["a type, once", "interface A { a: string; b: string }\ntype B = A;", 2],
];

describe("statements", () => {
  it("counts statements as the file describes, whatever the lines are", () => {
    smallTree("one();", ({ beside }) => {
      for (const [index, [name]] of counted.entries())
        beside.push({ name, why: "a case", files: [`cases/${index}.ts`] });
    });
    for (const [index, [, text]] of counted.entries()) write(`cases/${index}.ts`, text);
    const { code, counts } = check();
    expect(code).toBe(0);
    for (const [name, , statements] of counted)
      expect(counts).toContain(`beside it, ${name}, 1 files, ${statements} statements\n`);
  });

  it("passes at the limit and fails above it, however few lines there are", () => {
    smallTree("one(); two();", (table) => {
      table.limits.path = 2;
    });
    expect(check()).toMatchObject({ code: 0, problems: [] });
    write("signer/sign.ts", "one(); two(); three();");
    expect(check()).toMatchObject({
      code: 1,
      problems: ["job to key: without a family has 3 statements, more than 2"],
    });
  });

  it("holds each family to its own limit, and wants one", () => {
    smallTree("one();", (table) => {
      table.limits.families = { One: 0 };
      table.families = { ...table.families, Two: [] };
    });
    expect(check().problems).toEqual([
      "job to key: One has 1 statements, more than 0",
      `job to key: ${tableFile} gives no limit to Two`,
    ]);
  });
});

describe("lists", () => {
  it("refuse a folder, a missing file and a file that is named twice", () => {
    smallTree("one();", ({ beside, path }) => {
      beside[0]?.files.push("signer/", "signer/gone.ts");
      path[0]?.files.push("signer/main.ts");
    });
    expect(check().problems).toEqual([
      `job to key: ${tableFile} names signer/main.ts twice`,
      `job to key: ${tableFile} names signer/, which is no file`,
      `job to key: ${tableFile} names signer/gone.ts, which is no file`,
    ]);
  });

  it("name every file that the process loads, through however many files, and none of which it takes types alone", () => {
    smallTree("one();");
    const imports = [
      'import { a } from "./act-0.ts";\na();',
      'export * from "./act-1.ts";',
      'void import("./act-2.ts");',
      'import "../base/first.ts";',
      'import type { A } from "./act-4.ts";',
    ];
    for (const index of imports.keys())
      write(`signer/act-${index}.ts`, "export const a = () => {};\nexport type A = string;\n");
    write("base/first.ts", 'import "../signer/act-3.ts";\nimport "./beneath/act-5.ts";\n');
    write("base/beneath/act-5.ts", "export const a = () => {};\n");
    appendFileSync(join(root, "signer/main.ts"), `${imports.join("\n")}\n`);
    expect([...check().problems].sort()).toEqual([
      `job to key: base/first.ts loads base/beneath/act-5.ts, which ${tableFile} does not name`,
      `job to key: base/first.ts loads signer/act-3.ts, which ${tableFile} does not name`,
      ...[0, 1, 2].map(
        (index) =>
          `job to key: signer/main.ts loads signer/act-${index}.ts, which ${tableFile} does not name`,
      ),
    ]);
  });

  it("name every verb, with a file of a list, and no verb that is gone", () => {
    smallTree("one();", ({ verbs }) => {
      verbs.requests.Requests = { sign: "signer/other.ts", gone: "signer/sign.ts" };
    });
    write(
      "base/verbs.ts",
      "export interface Requests {\n  sign: string;\n  readonly release: string;\n}\n",
    );
    expect(check().problems).toEqual([
      `job to key: Requests has the verb release, which ${tableFile} does not name`,
      `job to key: ${tableFile} lets signer/other.ts carry out the verb sign, and names it in no list`,
      `job to key: ${tableFile} names the verb gone, which Requests does not have`,
    ]);
  });

  it("compare verbs only with an interface that declares all of them itself", () => {
    smallTree("one();");
    write(
      "base/verbs.ts",
      "interface More { b: string }\nexport interface Requests extends More {\n  sign: string;\n}\n",
    );
    expect(check().problems).toEqual([
      `job to key: base/verbs.ts does not declare Requests with all of its verbs, which ${tableFile} compares`,
    ]);
  });
});

describe("the project's own path", () => {
  it("refuses a new handler and a new verb in a copy of the tree, which passes without them", () => {
    for (const folder of ["agent", "base", "chains", "protocol"])
      cpSync(join(projectRoot, folder), join(root, folder), { recursive: true });
    write(tableFile, readFileSync(join(projectRoot, tableFile), "utf8"));
    expect(check()).toMatchObject({ code: 0, problems: [] });

    write("agent/signer/handlers/blank-cheque.ts", "export const sign = () => {};\n");
    appendFileSync(
      join(root, "agent/signer/runtime/courier-acts.ts"),
      'export { sign } from "../handlers/blank-cheque.ts";\n',
    );
    const verbs = join(root, "agent/socket/verbs.ts");
    writeFileSync(
      verbs,
      readFileSync(verbs, "utf8").replace(
        "export interface CourierRequests {",
        "$&\n  signAnything: string;",
      ),
    );
    expect(check()).toMatchObject({
      code: 1,
      problems: [
        expect.stringContaining("loads agent/signer/handlers/blank-cheque.ts"),
        expect.stringContaining("CourierRequests has the verb signAnything"),
      ],
    });
  });
});
