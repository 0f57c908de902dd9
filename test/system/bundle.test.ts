/**
 * The bundles of processes and commands, by the bundler's own list of what goes in. The same check
 * ends a build.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";

interface Metafile {
  readonly inputs: Readonly<
    Record<
      string,
      { readonly imports: readonly { readonly path: string; readonly external?: boolean }[] }
    >
  >;
  readonly outputs: Readonly<Record<string, unknown>>;
}
interface Package {
  readonly name: string;
  readonly version: string;
}
interface Bundler {
  bundle(
    root: string,
    name: string,
    outdir?: string,
    entryPoints?: Readonly<Record<string, string>>,
  ): Promise<Metafile>;
  breachesOf(metafile: Metafile, name: string): readonly string[];
}

// Imported by path, since it is plain JavaScript outside of the compiler's reach.
const { bundle, breachesOf } = (await import(
  pathToFileURL(join(projectRoot, "scripts", "bundle.js")).href
)) as Bundler;
const { packagesIn } = (await import(
  pathToFileURL(join(projectRoot, "scripts", "licences.js")).href
)) as {
  packagesIn(inputs: readonly string[]): readonly string[];
};
const dir = mkdtempSync(join(tmpdir(), "bundle-"));
afterAll(() => rmSync(dir, { recursive: true }));

/** A process with keys, and its entry file. */
const withKeys = [
  ["signer", "agent/signer/main.ts"],
  ["sealing", "cli/sealing/main.ts"],
  ["backup", "cli/backup/main.ts"],
] as const;

/** The breaches of a bundle whose entry has one more line in front. */
async function breachesWith(
  line: string,
  name: string,
  program: string,
): Promise<readonly string[]> {
  const entry = join(dir, `${name}.ts`);
  writeFileSync(entry, `${line}\nimport ${JSON.stringify(join(projectRoot, program))};\n`);
  return breachesOf(await bundle(projectRoot, name, undefined, { entry }), name);
}

const inProject = (path: string): string => JSON.stringify(join(projectRoot, path));

function builtinsOf({ inputs }: Metafile): readonly string[] {
  const builtins = new Set<string>();
  for (const { imports } of Object.values(inputs))
    for (const { path, external } of imports)
      if (external === true && path !== "<runtime>") builtins.add(path.replace(/^node:/, ""));
  return [...builtins].sort();
}

it("the signer's bundle imports the system's modules for files, hashes and its two sockets alone", async () => {
  const signer = await bundle(projectRoot, "signer");
  expect(builtinsOf(signer)).toEqual(["buffer", "crypto", "fs", "net", "path"]);
  expect(breachesOf(signer, "signer")).toEqual([]);
  expect(
    await breachesWith("export const harmless = 1;", "signer", "agent/signer/main.ts"),
  ).toEqual([]);
});

it.each(["sealing", "backup"])(
  "the bundle of %s imports the system's modules for files, hashes and the user's folders alone",
  async (name) => {
    const made = await bundle(projectRoot, name);
    expect(builtinsOf(made)).toEqual(["buffer", "crypto", "fs", "os", "path"]);
    expect(breachesOf(made, name)).toEqual([]);
  },
);

it("the signer's bundle holds the packages for hashes, curve and boxes alone", async () => {
  const { inputs } = await bundle(projectRoot, "signer");
  const packages = Object.keys(inputs).flatMap(
    (path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
  );
  const expected = [
    "@bitauth/libauth",
    "@noble/curves",
    "@noble/hashes",
    "@scure/base",
    "@scure/bip32",
    "hash-wasm",
    "tweetnacl",
  ];
  expect([...new Set(packages)].sort()).toEqual(expected);
});

it.each([
  ["a module of the system", 'import "node:https";', "imports node:https"],
  [
    "a socket outside of the room for sockets",
    'import { connect } from "node:net"; void connect;',
    "imports node:net",
  ],
  ["a program", 'import { spawn } from "child_process"; void spawn;', "imports child_process"],
  [
    "a module that is loaded later",
    'export const later = () => import("node:tls");',
    "imports node:tls",
  ],
  ["a module by require", 'require("node:dns");', "imports node:dns"],
  [
    "a room with network",
    `import ${inProject("base/outgoing/exchange.ts")};`,
    "undici/lib/core/connect.js in THIS imports",
  ],
  [
    "a package that stays outside",
    'try { require("not-installed"); } catch {}',
    "in THIS imports not-installed",
  ],
  [
    "a package with network",
    `import ${inProject("node_modules/ws/wrapper.mjs")};`,
    "ws/lib/websocket.js in THIS imports",
  ],
])("a bundle with keys and %s is refused", async (_what, line, expected) => {
  for (const [name, program] of withKeys)
    expect((await breachesWith(line, name, program)).join("\n")).toContain(
      expected.replace("THIS", `the bundle of ${name}`),
    );
});

it.each([...withKeys, ["launcher", "agent/crypto.ts"], ["pairing", "cli/pair/main.ts"]] as const)(
  "a process with a secret has the packages of the threat model alone: %s",
  async (name, program) => {
    expect(breachesOf(await bundle(projectRoot, name), name)).toEqual([]);
    for (const outsider of ["commander", "undici"]) {
      const expected = `the bundle of ${name}, which holds a secret, has the package ${outsider}`;
      expect(
        await breachesWith(`import ${inProject(`node_modules/${outsider}`)};`, name, program),
      ).toContain(expected);
    }
  },
);

it("the launcher's bundle may start its processes, speak to their sockets, and reach nothing else", async () => {
  const launcher = "agent/check/check.ts";
  expect(breachesOf(await bundle(projectRoot, "launcher"), "launcher")).toEqual([]);
  expect(
    await breachesWith('import "node:net"; import "child_process";', "launcher", launcher),
  ).toEqual([]);
  for (const builtin of ["tls", "https", "dns"])
    expect(
      (await breachesWith(`import "node:${builtin}";`, "launcher", launcher)).join("\n"),
    ).toContain(`imports node:${builtin}`);
});

it("the licences lie beside the bundles, of each package inside", async () => {
  const texts = readFileSync(join(projectRoot, "dist", "licences.txt"), "utf8").split(
    `\n${"-".repeat(80)}\n\n`,
  );
  const folders = new Set<string>();
  for (const name of ["signer", "courier", "commands", "gateway"])
    for (const folder of packagesIn(Object.keys((await bundle(projectRoot, name)).inputs)))
      folders.add(folder);
  const withoutText: string[] = [];
  for (const folder of folders) {
    const { name, version } = JSON.parse(
      readFileSync(join(projectRoot, folder, "package.json"), "utf8"),
    ) as Package;
    const [own = ""] = texts.filter((text) => text.startsWith(`${name} ${version}: `));
    expect(own, folder).not.toBe("");
    if (!/without\s+(?:restriction|fee)|Redistribution|Apache\s+License|public\s+domain/.test(own))
      withoutText.push(name);
  }
  expect(folders.size).toBeGreaterThan(50);
  // These have no file of a licence: one declares MIT, the other the Unlicense.
  expect(withoutText).toEqual(["abstract-logging", "postgres"]);
});

it("the launcher's start loads no keystore and no curve in WebAssembly, which only its check loads", async () => {
  const { outputs } = (await bundle(projectRoot, "launcher")) as unknown as {
    readonly outputs: Readonly<
      Record<
        string,
        {
          readonly inputs: object;
          readonly imports: readonly {
            readonly path: string;
            readonly kind: string;
            readonly external?: boolean;
          }[];
        }
      >
    >;
  };
  const loaded = (path: string): string[] => {
    const one = outputs[path];
    const next =
      one?.imports.filter(
        ({ kind, external }) => kind === "import-statement" && external !== true,
      ) ?? [];
    return [...Object.keys(one?.inputs ?? {}), ...next.flatMap((each) => loaded(each.path))];
  };
  const keys = /^agent\/keystore\/keystore\.ts$|tweetnacl|libauth/;
  expect(loaded("dist/agent/crypto.js")).toContain("agent/launcher/supervisor.ts");
  expect(loaded("dist/agent/crypto.js").filter((path) => keys.test(path))).toEqual([]);
  expect(loaded("dist/agent/check/check.js").filter((path) => keys.test(path))).toContain(
    "agent/keystore/keystore.ts",
  );
});
