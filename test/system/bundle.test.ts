/**
 * The bundles of the agent's processes, by the bundler's own list of what goes in. The same check
 * ends a build.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";

interface Metafile {
  readonly inputs: Readonly<
    Record<string, { readonly imports: readonly { readonly path: string; readonly external?: boolean }[] }>
  >;
  readonly outputs: Readonly<Record<string, unknown>>;
}
interface Bundler {
  bundle(root: string, name: string, outdir?: string, entryPoints?: Readonly<Record<string, string>>): Promise<Metafile>;
  breachesOf(metafile: Metafile): readonly string[];
}

// Imported by path, since it is plain JavaScript outside of the compiler's reach.
const { bundle, breachesOf } = (await import(pathToFileURL(join(projectRoot, "scripts", "bundle.js")).href)) as Bundler;
const dir = mkdtempSync(join(tmpdir(), "bundle-"));
afterAll(() => rmSync(dir, { recursive: true }));

/** The signer's entry with one more line in front. */
function signerWith(line: string): Promise<Metafile> {
  const entry = join(dir, "entry.ts");
  writeFileSync(entry, `${line}\nimport ${JSON.stringify(join(projectRoot, "agent/signer/main.ts"))};\n`);
  return bundle(projectRoot, "signer", undefined, { "signer/main": entry });
}

const inProject = (path: string): string => JSON.stringify(join(projectRoot, path));

it("the signer's bundle imports the system's modules for files, hashes and its two sockets alone", async () => {
  const { inputs } = await bundle(projectRoot, "signer");
  const builtins = new Set<string>();
  for (const { imports } of Object.values(inputs))
    for (const { path, external } of imports)
      if (external === true && path !== "<runtime>") builtins.add(path.replace(/^node:/, ""));
  expect([...builtins].sort()).toEqual(["buffer", "crypto", "fs", "net", "path"]);
  expect(breachesOf({ inputs, outputs: {} })).toEqual([]);
  expect(breachesOf(await signerWith("export const harmless = 1;"))).toEqual([]);
});

it("the signer's bundle holds the packages for hashes, curve and boxes alone", async () => {
  const { inputs } = await bundle(projectRoot, "signer");
  const packages = Object.keys(inputs).flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
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
  ["a socket outside of the room for sockets", 'import { connect } from "node:net"; void connect;', "imports node:net"],
  ["a program", 'import { spawn } from "child_process"; void spawn;', "imports child_process"],
  ["a module that is loaded later", 'export const later = () => import("node:tls");', "imports node:tls"],
  ["a module by require", 'require("node:dns");', "imports node:dns"],
  ["a room with network", `import ${inProject("outgoing/exchange.ts")};`, "undici/lib/core/connect.js in the signer's bundle"],
  ["a package with network", `import ${inProject("node_modules/ws/wrapper.mjs")};`, "ws/lib/websocket.js in the signer's bundle"],
])("a signer's bundle with %s is refused", async (_what, line, expected) => {
  expect(breachesOf(await signerWith(line)).join("\n")).toContain(expected);
});

it("the launcher's start loads no keystore and no curve in WebAssembly, which only its check loads", async () => {
  const { outputs } = (await bundle(projectRoot, "launcher")) as unknown as {
    readonly outputs: Readonly<
      Record<
        string,
        {
          readonly inputs: object;
          readonly imports: readonly { readonly path: string; readonly kind: string; readonly external?: boolean }[];
        }
      >
    >;
  };
  const loaded = (path: string): string[] => {
    const one = outputs[path];
    const next = one?.imports.filter(({ kind, external }) => kind === "import-statement" && external !== true) ?? [];
    return [...Object.keys(one?.inputs ?? {}), ...next.flatMap((each) => loaded(each.path))];
  };
  const keys = /^agent\/keystore\/keystore\.ts$|tweetnacl|libauth/;
  expect(loaded("dist/agent/crypto.js")).toContain("agent/launcher/supervisor.ts");
  expect(loaded("dist/agent/crypto.js").filter((path) => keys.test(path))).toEqual([]);
  expect(loaded("dist/agent/check/check.js").filter((path) => keys.test(path))).toContain("agent/keystore/keystore.ts");
});
