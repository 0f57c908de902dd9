/**
 * The client as a shop gets it: packed, installed into an empty folder, imported there, asked
 * against the gateway, its types read.
 */
import { execFile, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { SourceFile } from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../../lab/kit/gateway-server.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { packClient } from "../../packaging/client-package.ts";

let gateway: TestGateway;
let folder: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  gateway.runClock();
  folder = mkdtempSync(join(tmpdir(), "a-shop-"));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await gateway.close();
});

describe("the client's package", () => {
  it("installs into an empty folder and works there, with every file of clients/typescript/ behind an entry of its own", async () => {
    const file = packClient(projectRoot, join(folder, "out"));
    writeFileSync(join(folder, "package.json"), '{"private": true, "type": "module"}');
    const install = [
      "install",
      file,
      "--offline",
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      "--loglevel=error",
    ];
    expect(spawnSync("npm", install, { cwd: folder, encoding: "utf8" }).status).toBe(0);
    expect(
      readdirSync(join(folder, "node_modules")).filter((name) => !name.startsWith(".")),
    ).toEqual(["autowithdraw-client"]);
    const { exports, dependencies } = JSON.parse(
      readFileSync(join(folder, "node_modules/autowithdraw-client/package.json"), "utf8"),
    );
    const names = readdirSync(join(projectRoot, "clients/typescript")).filter((name) =>
      name.endsWith(".ts"),
    );
    const entries = names.map((name) =>
      name === "client.ts" ? "." : `./${name.slice(0, -".ts".length)}`,
    );
    expect(Object.keys(exports).sort()).toEqual([...entries, "./package.json"].sort());
    expect(dependencies).toBeUndefined();

    const shop = `import { createClient } from "autowithdraw-client";
      import { createTokenMaker } from "autowithdraw-client/signature-token";
      const key = { apiKey: process.env.SHOP_KEY };
      const client = createClient({ baseUrl: process.env.BASE_URL, key });
      const { ok, value } = await client.supportedCurrency();
      const token = createTokenMaker(key)();
      console.log(JSON.stringify([ok, value.map(({ id }) => id), token.split(".").length]));`;
    writeFileSync(join(folder, "shop.js"), shop);
    const env = {
      PATH: process.env.PATH,
      SHOP_KEY: gateway.merchant.shopKey,
      BASE_URL: gateway.url,
    };
    // Not spawnSync, because the gateway of the request runs in this process.
    const { stdout } = await promisify(execFile)(process.execPath, ["shop.js"], {
      cwd: folder,
      env,
    });
    expect(JSON.parse(stdout)).toEqual([true, ["eth", "usdt"], 3]);
  });

  it("is what require takes, on a Node that requires no ECMAScript modules too", async () => {
    const shop = `const { createClient } = require("autowithdraw-client");
      const { verifyCallback } = require("autowithdraw-client/callbacks");
      const client = createClient({ baseUrl: process.env.BASE_URL, key: { apiKey: process.env.SHOP_KEY } });
      client.supportedCurrency().then(({ ok }) => console.log(ok, verifyCallback("", {}).code));`;
    writeFileSync(join(folder, "shop.cjs"), shop);
    // Node 18 cannot; later ones can be told so.
    const flag = "--no-experimental-require-module";
    const flags = process.allowedNodeEnvironmentFlags.has("--experimental-require-module")
      ? [flag]
      : [];
    const env = {
      PATH: process.env.PATH,
      SHOP_KEY: gateway.merchant.shopKey,
      BASE_URL: gateway.url,
    };
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, "shop.cjs"], {
      cwd: folder,
      env,
    });
    expect(stdout.trim()).toBe("true secret_invalid");
  });

  /** Files of others that every way to compile reads alike, parsed once. */
  const parsed = new Map<string, SourceFile | undefined>();

  /**
   * The compiler's lines about files of a shop, with these options beside the usual ones. The types
   * of the package are judged with them, those of the language and of Node are not.
   */
  async function problemsOf(options: readonly string[], names: readonly string[]): Promise<string> {
    const { default: ts } = await import("typescript");
    const usual = [
      "--noEmit",
      "--strict",
      "--target",
      "es2022",
      "--types",
      "node",
      "--lib",
      "es2022",
    ];
    const read = ts.parseCommandLine([
      ...usual,
      ...options,
      ...names.map((name) => join(folder, name)),
    ]);
    const host = ts.createCompilerHost(read.options);
    const isOfOthers = (path: string): boolean =>
      /\/(?:typescript\/lib|@types\/node|undici-types)\//.test(path);
    const parse = host.getSourceFile;
    host.getCurrentDirectory = () => folder;
    host.getSourceFile = (path, how, ...more) => {
      if (!isOfOthers(path)) return parse(path, how, ...more);
      const key = `${path} ${typeof how === "object" ? how.impliedNodeFormat : ""}`;
      if (!parsed.has(key)) parsed.set(key, parse(path, how, ...more));
      return parsed.get(key);
    };
    const program = ts.createProgram(read.fileNames, read.options, host);
    const own = program.getSourceFiles().filter(({ fileName }) => !isOfOthers(fileName));
    const found = [
      ...[...read.errors, ...program.getOptionsDiagnostics(), ...program.getGlobalDiagnostics()],
      ...own.flatMap((file) => [
        ...program.getSyntacticDiagnostics(file),
        ...program.getSemanticDiagnostics(file),
      ]),
    ];
    expect(own.length).toBeGreaterThan(4);
    return ts.formatDiagnostics(found, { ...host, getCanonicalFileName: (name) => name });
  }

  const kinds: readonly [name: string, file: string, options: readonly string[]][] = [
    [
      "node10, and CommonJS",
      "ts",
      ["--module", "commonjs", "--moduleResolution", "node10", "--ignoreDeprecations", "6.0"],
    ],
    ["node16 from CommonJS", "cts", ["--module", "node16"]],
    ["nodenext from an ECMAScript module", "mts", ["--module", "nodenext"]],
    ["bundler", "ts", ["--module", "esnext", "--moduleResolution", "bundler"]],
  ];
  it.each(kinds)(
    "has types for %s, and they refuse an amount that is a number",
    async (_name, ending, options) => {
      mkdirSync(join(folder, "node_modules/@types"), { recursive: true });
      for (const name of ["@types/node", "undici-types"])
        if (!existsSync(join(folder, "node_modules", name)))
          symlinkSync(join(projectRoot, "node_modules", name), join(folder, "node_modules", name));
      const source = (
        amount: string,
      ) => `import { createClient, type Result } from "autowithdraw-client";
      import type { WithdrawalResult } from "autowithdraw-client/records";
      import { verifyCallback } from "autowithdraw-client/callbacks";
      const client = createClient({ baseUrl: "https://pay.example.com", key: { apiKey: "" } });
      export async function pay(): Promise<Result<WithdrawalResult>> {
        const checked = verifyCallback("", { headers: {}, body: "" });
        if (checked.ok && checked.callback.type === "webhook.test") return pay();
        return client.autoWithdraw({ currency: "eth", amount: ${amount}, address: "0x", orderId: "a" });
      }
      void pay().then((result) => {
        if (!result.ok) { const retry: "never" | "later" | "same-order" | "new-order" = result.retry; void retry; }
      });`;
      writeFileSync(join(folder, `good.${ending}`), source('"0.5"'));
      writeFileSync(join(folder, `bad.${ending}`), source("0.5"));
      const said = await problemsOf(options, [`good.${ending}`, `bad.${ending}`]);
      expect(said.trim()).toMatch(
        /^bad\.[cm]?ts\(8,\d+\): error TS2322: Type 'number' is not assignable to type 'string'\.$/,
      );
    },
  );

  it("is fine to publint, which finds a file that is not there", () => {
    const pkgDir = join(folder, "node_modules/autowithdraw-client");
    const publint = () => {
      const words = [
        join(projectRoot, "node_modules/publint/src/cli.js"),
        pkgDir,
        "--strict",
        "--pack",
        "false",
      ];
      const { status, stdout } = spawnSync(process.execPath, words, { encoding: "utf8" });
      return { status, stdout };
    };
    expect(publint()).toEqual({ status: 0, stdout: expect.stringContaining("All good!") });
    renameSync(join(pkgDir, "events.mjs"), join(pkgDir, "events.off"));
    const found = publint();
    renameSync(join(pkgDir, "events.off"), join(pkgDir, "events.mjs"));
    expect(found).toEqual({
      status: 1,
      stdout: expect.stringContaining("events.mjs but the file does not exist"),
    });
  });

  const attw = spawnSync("attw", ["--version"], { encoding: "utf8" });
  if (attw.status !== 0)
    process.stderr.write(
      "\n*** SKIPPED for want of attw: npm install --global @arethetypeswrong/cli@0.18.5 (39 MB)\n\n",
    );
  it.skipIf(attw.status !== 0)("is fine to attw, in every way to resolve it", () => {
    const file = join(
      folder,
      "out",
      readdirSync(join(folder, "out")).find((name) => name.endsWith(".tgz")) ?? "",
    );
    const { stdout } = spawnSync("attw", [file, "--format", "json"], {
      encoding: "utf8",
      maxBuffer: 2 ** 26,
    });
    const { analysis } = JSON.parse(stdout);
    expect([analysis.problems, Object.keys(analysis.entrypoints).length > 5]).toEqual([[], true]);
  });
});
