/**
 * The check of the walls, on a copy of the tree with breaches: one for each guarded cell of the
 * table of rooms, one import without a row in each room, and the breaches that once passed. All
 * stand in the copy at once and are read in one go, so each must be named by itself.
 */
import { execFile } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { layouts } from "../../cli/install/layout.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { rootsOf } from "../../scripts/roots.ts";

const kinds = ["keys", "network", "processes", "disk"] as const;
type Kind = (typeof kinds)[number];
type Cell = string | { readonly own?: readonly string[]; readonly by?: readonly string[] };
type Room = {
  readonly room: string;
  readonly files?: readonly string[];
  readonly exports?: readonly string[];
} & Partial<Record<Kind, Cell>>;

const table = JSON.parse(readFileSync(join(projectRoot, "scripts/rooms.json"), "utf8")) as {
  readonly rooms: readonly Room[];
};
const roots = rootsOf(projectRoot, "product", "examples", "laboratory");
/** Leads out, by kind: builtin modules, and files and packages that bring one. */
const exits: Readonly<Record<Kind, readonly string[]>> = {
  keys: ["agent/keystore/keystore.ts", "agent/signer/vault/vault.ts", "agent/keystore/file.ts"],
  network: [
    "node:https",
    "node:tls",
    "node:dgram",
    "node:http2",
    "undici",
    "node:dns",
    "ws",
    "node:http",
    "node:inspector",
  ],
  processes: ["node:child_process", "node:worker_threads", "node:cluster"],
  disk: ["node:fs", "node:fs/promises", "@photostructure/sqlite"],
};
/** A file that no row of the table names. */
const outsider = "test/planted.ts";

let root: string;
let said: readonly string[];
let code: number;
/** Beginnings of lines that the check must print. */
const expected: string[] = [];
const planted = new Set<string>();

/** `module` is a package, a builtin module, or a file by its path from the root. */
function plant(
  file: string,
  module: string,
  statement = 'import * as PLANTED from "MODULE";\nexport { PLANTED };',
): void {
  const isFile = module.endsWith(".ts");
  const near = relative(dirname(file), module);
  const specifier = isFile && !near.startsWith(".") ? `./${near}` : isFile ? near : module;
  const name = `planted${module.replace(/\W/g, "_")}`;
  planted.add(file);
  mkdirSync(join(root, dirname(file)), { recursive: true });
  appendFileSync(
    join(root, file),
    `\n${statement.replaceAll("PLANTED", name).replace("MODULE", specifier)}\n`,
  );
}

/** A file of the room: a new one where the room takes any, else the room's own. */
function fileOf({ room, files = [room] }: Room, name: string): string {
  const [place = ""] = files;
  if (place.endsWith("/**")) return place.replace("**", `planted-${name}.ts`);
  if (!/\.[jt]s$/.test(place)) return `${place}/planted-${name}.ts`;
  return place.replace("*", `planted-${name}`);
}

function expectRefused(room: string, kind: Kind | "imports", file: string, rest = ""): void {
  expected.push(`walls: ${room}: ${kind}: ${file} → ${rest}`);
}

function plantCells(): void {
  let turn = 0;
  for (const room of table.rooms) {
    for (const kind of kinds) {
      const cell = room[kind] ?? "–";
      if (typeof cell === "string" && cell !== "–") continue;
      const { own = [], by = [] } = typeof cell === "string" ? {} : cell;
      const isAllowed = (exit: string): boolean =>
        own.includes(exit.replace("node:", "")) ||
        by.some((name) => exit === name || exit.startsWith(`${name}/`));
      const choices = exits[kind].filter((exit) => !isAllowed(exit));
      const exit = choices[turn++ % choices.length] ?? "";
      const file = fileOf(room, kind);
      plant(file, exit);
      expectRefused(room.room, kind, file);
    }
    const file = fileOf(room, "imports");
    plant(file, outsider);
    expectRefused(room.room, "imports", file, outsider);
  }
}

/**
 * Breaches of written promises that an earlier check passed: the room, its file, and what each file
 * imports.
 */
const once: readonly (readonly [
  room: string,
  file: string,
  ...exits: (readonly [Kind | "imports", string])[],
])[] = [
  [
    "agent/signer/vault",
    "agent/signer/vault/once.ts",
    ["network", "node:net"],
    ["disk", "node:fs"],
  ],
  ["agent/signer/policy", "agent/signer/policy/once.ts", ["disk", "node:fs"]],
  ["agent/signer/state", "agent/signer/state/once.ts", ["keys", "agent/signer/vault/vault.ts"]],
  ["agent/signer/state", "agent/signer/state/once-too.ts", ["keys", "agent/keystore/keystore.ts"]],
  [
    "agent/signer/handlers",
    "agent/signer/handlers/once.ts",
    ["keys", "agent/signer/vault/vault.ts"],
    ["disk", "node:fs"],
  ],
  [
    "agent/courier/scheduler",
    "agent/courier/scheduler/once.ts",
    ["network", "node:net"],
    ["disk", "node:fs"],
  ],
  [
    "cli/status",
    "cli/status/once.ts",
    ["keys", "agent/keystore/file.ts"],
    ["network", "node:https"],
  ],
  ["agent/check", "agent/check/once.ts", ["network", "node:https"]],
  ["agent/check nodes", "agent/check/chains.ts", ["keys", "agent/keystore/file.ts"]],
  ["gateway/answer", "gateway/answer/once.ts", ["network", "node:https"], ["disk", "node:fs"]],
  [
    "gateway/withdrawals",
    "gateway/withdrawals/once.ts",
    ["network", "node:https"],
    ["disk", "node:fs"],
  ],
  [
    "base/service-manager",
    "base/service-manager/once.ts",
    ["keys", "agent/keystore/file.ts"],
    ["network", "node:https"],
  ],
  [
    "base",
    "base/once.ts",
    ["imports", "base/outgoing/exchange.ts"],
    ["network", "base/outgoing/exchange.ts"],
  ],
  [
    "gateway/config",
    "gateway/config/node-keys.ts",
    ["imports", "gateway/answer/body.ts"],
    ["imports", "gateway/auth/secret-box.ts"],
  ],
];

/** A path of more than one hop, and import forms that hide a path. */
function plantHidden(): void {
  plant("agent/signer/policy/planted-hops.ts", "agent/config/location.ts");
  expectRefused(
    "agent/signer/policy",
    "disk",
    "agent/signer/policy/planted-hops.ts",
    "agent/config/location.ts → fs",
  );
  plant("agent/ledger/planted-package.ts", "ethers");
  expectRefused(
    "agent/ledger",
    "network",
    "agent/ledger/planted-package.ts",
    "node_modules/ethers/",
  );
  const forms = {
    "beside-a-type":
      'import PLANTED, { type TLSSocket } from "MODULE";\nexport type Beside = [typeof PLANTED, TLSSocket];',
    "empty-of-values": 'import { type TLSSocket } from "MODULE";\nexport type PLANTED = TLSSocket;',
    dynamic: 'export const PLANTED = () => import("MODULE");',
    "from-process": 'export const PLANTED = process.getBuiltinModule("MODULE");',
    "more-than-harmless":
      'import { isIP, connect } from "MODULE";\nexport const PLANTED = [isIP, connect];',
  };
  for (const [name, form] of Object.entries(forms)) {
    const builtin = name === "more-than-harmless" ? "net" : "tls";
    plant(`agent/courier/scheduler/planted-${name}.ts`, `node:${builtin}`, form);
    expectRefused(
      "agent/courier/scheduler",
      "network",
      `agent/courier/scheduler/planted-${name}.ts`,
      builtin,
    );
  }
}

/** The product's files that no room exports and no row names. */
function privateFiles(): readonly string[] {
  const open = new Set(
    table.rooms.flatMap(({ room, files = [], exports = [] }) => [
      ...[room, ...files].filter((place) => place.endsWith(".ts") && !place.includes("*")),
      ...exports.map((name) => `${room.replace(/ nodes$/, "")}/${name}.ts`),
    ]),
  );
  const all = rootsOf(projectRoot, "product").flatMap((folder) =>
    readdirSync(join(projectRoot, folder), { recursive: true, encoding: "utf8" }).map(
      (name) => `${folder}/${name}`,
    ),
  );
  return all.filter(
    (file) => /(?<!\.d)\.ts$/.test(file) && !file.includes("node_modules/") && !open.has(file),
  );
}

/** Every private file, imported from a room that may import the rest of many. */
function plantPrivate(): void {
  const [first, second] = ["cli", "gateway/operator"];
  for (const file of privateFiles()) {
    const from = dirname(file) === first ? second : first;
    plant(`${from}/planted-private.ts`, file);
    expected.push(`walls: ${from}: private: ${from}/planted-private.ts → ${file}`);
  }
  plant("base/outgoing/planted-private.ts", "base/code-row.ts");
  plant("base/planted-export.ts", "node:path");
  expected.push(
    "walls: base/outgoing: private: base/outgoing/planted-private.ts → base/code-row.ts",
    "walls: base: unused export: base/planted-export.ts",
    "walls: the room base exports none, which is none of its files",
  );
}

/** Uses of ambient powers: the room, the power, what is written, and what the check names. */
const ambient: readonly (readonly [room: string, power: string, text: string, name: string])[] = [
  ["agent/signer/vault", "process", "process.report.writeReport(path)", "process.report"],
  ["agent/signer/vault", "globals", "globalThis.fetch(path)", "globalThis"],
  ["agent/signer/vault", "printing", "process.stdout.write(path)", "process.stdout"],
  ["agent/signer/policy", "clock", "performance.now()", "performance"],
  ["agent/signer/state", "chance", "randomUUID()", "randomUUID"],
  [
    "agent/signer/handlers",
    "process",
    "((): unknown => { const { env } = process; return env[path]; })()",
    "process",
  ],
  ["agent/courier/scheduler", "timers", "setTimeout(() => {}, 1)", "setTimeout"],
  ["agent/signer/policy", "clock", "Date.now()", "Date.now"],
  ["agent/signer/policy", "clock", "new Date()", "new Date()"],
  ["agent/signer/policy", "clock", "Date()", "new Date()"],
  ["agent/signer/policy", "chance", "Math.random()", "Math.random"],
  ["agent/signer/policy", "chance", 'Math["random"]()', "Math.random"],
  ["agent/signer/policy", "chance", "crypto.getRandomValues(new Uint8Array(1))", "crypto"],
  ["agent/signer/policy", "environment", "process.env[path]", "process.env"],
  ["agent/signer/policy", "environment", 'process["env"]', "process.env"],
  ["agent/signer/policy", "process", "process[path as never]", "process."],
  ["agent/signer/policy", "printing", "console.log(path)", "console"],
  ["agent/signer/policy", "globals", "new Function(path)", "Function"],
  ["agent/signer/policy", "globals", 'Reflect.get(globalThis, "fetch")', "globalThis"],
  [
    "agent/signer/policy",
    "process",
    "(process as never as { binding(name: string): unknown }).binding(path)",
    "process",
  ],
];

/** The same names where they give no power: each of these passes. */
const powerless: readonly string[] = [
  "new Date(1_790_000_000_000).toISOString()",
  "Math.max(1, 2)",
  "process.versions.node",
  "((performance: { now(): number }) => performance.now())({ now: () => 1 })",
  "({ process: 1, console: 2 }).process",
  "(path as unknown as typeof globalThis)",
];

function plantAmbient(): void {
  for (const [at, [room, power, text, name]] of ambient.entries()) {
    const file = `${room}/planted-ambient-${at}.ts`;
    const before = text.startsWith("randomUUID")
      ? 'import { randomUUID } from "node:crypto";\n'
      : "";
    plant(file, "", `${before}export const PLANTED = (path: string): unknown => [path, ${text}];`);
    expected.push(`walls: ${room}: ${power}: ${file} → ${name}`);
  }
  for (const [at, text] of powerless.entries()) {
    const file = `agent/signer/policy/sound-${at}.ts`;
    plant(file, "", `export const PLANTED = (path: string): unknown => [path, ${text}];`);
    planted.delete(file);
  }
}

/** Imports that load nothing of the kind, and so are no breach. */
function plantHarmless(): void {
  plant(
    "agent/signer/policy/sound.ts",
    "agent/config/location.ts",
    'import type * as PLANTED from "MODULE";\nexport type { PLANTED };',
  );
  plant(
    "agent/signer/policy/sound.ts",
    "node:net",
    'import { isIP as PLANTED } from "MODULE";\nexport { PLANTED };',
  );
  plant("cli/manual/sound.ts", "node:path");
  plant("agent/ledger/sound.ts", "agent/ledger/codec.ts");
  planted.delete("agent/ledger/sound.ts");
  planted.delete("agent/signer/policy/sound.ts");
  planted.delete("cli/manual/sound.ts");
}

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "walls-"));
  for (const folder of roots)
    cpSync(join(projectRoot, folder), join(root, folder), {
      recursive: true,
      filter: (path) => !path.endsWith("node_modules") && !path.includes("/vectors"),
    });
  for (const file of ["package.json", "tsconfig.json"])
    cpSync(join(projectRoot, file), join(root, file));
  const rows = readFileSync(join(root, "scripts/rooms.json"), "utf8");
  writeFileSync(
    join(root, "scripts/rooms.json"),
    rows
      .replace('"exports": ["causes"', '"exports": ["none", "planted-export", "causes"')
      .replace(
        '"powers": ["timers", "process"]',
        '"powers": ["timers", "process", "clock", "luck"]',
      ),
  );
  for (const folder of ["node_modules", "gateway/node_modules"])
    symlinkSync(join(projectRoot, folder), join(root, folder));
  mkdirSync(join(root, "test"));
  writeFileSync(join(root, outsider), "export const planted = 1;\n");
  plantCells();
  for (const [room, file, ...ways] of once)
    for (const [kind, exit] of ways) {
      plant(file, exit);
      expectRefused(room, kind, file, kind === "imports" ? exit : "");
    }
  expected.push("walls: the-ground-stands-on-itself: base/once.ts → base/outgoing/exchange.ts");
  plantHidden();
  plantPrivate();
  plantAmbient();
  plantHarmless();
  expected.push(
    "walls: no file of the room base uses clock",
    "walls: the room base names luck, which is no power",
  );
  for (const file of ["agent/unknown/planted.ts", "unknown/planted.ts"]) plant(file, "node:path");
  expected.push(
    "walls: agent/unknown/planted.ts belongs to no room",
    "walls: the folder unknown stands under no roots",
  );
  // Not in this process' own time, which the test runner needs to answer within a minute.
  const done = promisify(execFile)(
    process.execPath,
    [join(projectRoot, "scripts", "walls.js"), root],
    {
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  const ended = await done.then(
    ({ stderr }) => ({ code: 0, stderr }),
    (fault: { readonly code: number; readonly stderr: string }) => fault,
  );
  code = ended.code;
  said = ended.stderr.split("\n").filter((line) => line !== "");
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("the walls", () => {
  it("refuse every planted breach by name", () => {
    expect(expected.length).toBeGreaterThan(200);
    expect(expected.filter((begin) => !said.some((line) => line.startsWith(begin)))).toEqual([]);
    expect(code).toBe(1);
  });

  it("refuse nothing else: without the breaches the tree passes", () => {
    const marks = [...planted, "the folder unknown", "the room base"];
    expect(said.filter((line) => !marks.some((mark) => line.includes(mark)))).toEqual([]);
  });
});

describe("the list of roots", () => {
  const listed = (file: string): unknown =>
    (JSON.parse(readFileSync(join(projectRoot, file), "utf8")) as { include: unknown }).include;

  it("is the compiler's", () => {
    expect(listed("tsconfig.json")).toEqual([...roots, ...rootsOf(projectRoot, "tests")]);
    expect(listed("scripts/tsconfig.build.json")).toEqual(roots.map((folder) => `../${folder}`));
  });

  it("is the installer's, over both parts", () => {
    const installed = new Set(Object.values(layouts).flatMap(({ rooms }) => rooms));
    expect([...installed].sort()).toEqual([...rootsOf(projectRoot, "product")].sort());
  });
});
