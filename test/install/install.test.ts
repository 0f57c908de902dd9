/**
 * The agent's production install: how many packages, none with an install script, none of the
 * gateway. Needs the package registry.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";
import { run } from "../../lab/kit/processes.ts";

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly hasInstallScript?: boolean; readonly dev?: boolean }>
  >;
}

it("an installation is at most 40 packages, none with an install script, none of the gateway", async () => {
  const folder = mkdtempSync(join(tmpdir(), "autowithdraw-install-"));
  try {
    for (const part of ["gateway", "packaging/release"])
      mkdirSync(join(folder, part), { recursive: true });
    for (const name of [
      "package.json",
      "package-lock.json",
      "gateway/package.json",
      "packaging/release/package.json",
    ])
      cpSync(join(projectRoot, name), join(folder, name));
    const { npmProduction } = (await import(
      new URL("../../cli/launch/started.js", import.meta.url).href
    )) as {
      readonly npmProduction: string[];
    };
    const done = await run("npm", npmProduction, { cwd: folder, logFile: "/dev/null" });
    expect(done.code, done.output).toBe(0);
    const lock = JSON.parse(
      readFileSync(join(folder, "node_modules", ".package-lock.json"), "utf8"),
    ) as Lock;
    const names = Object.keys(lock.packages);
    expect(names.length).toBeGreaterThan(20);
    expect(names.length).toBeLessThanOrEqual(40);
    expect(names.filter((name) => lock.packages[name]?.hasInstallScript === true)).toEqual([]);
    const gateway = Object.keys(
      (
        JSON.parse(readFileSync(join(projectRoot, "gateway/package.json"), "utf8")) as {
          dependencies: object;
        }
      ).dependencies,
    );
    const agent = Object.keys(
      (
        JSON.parse(readFileSync(join(projectRoot, "package.json"), "utf8")) as {
          dependencies: object;
        }
      ).dependencies,
    );
    for (const name of gateway.filter((one) => !agent.includes(one)))
      expect(names).not.toContain(`node_modules/${name}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/**
 * Names of packages that a program imports, through any number of our own files; what only types
 * are imported from is no part.
 */
function packagesOf(program: string): ReadonlySet<string> {
  const seen = new Set<string>();
  const packages = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    const text = readFileSync(path, "utf8");
    const imported =
      /(?:^import (?!type )(?:[^;]*? from )?|^export (?!type )[^;]*? from |import\()"([^"]+)"/gm;
    for (const [, name = ""] of text.matchAll(imported)) {
      if (name.startsWith(".")) visit(join(dirname(path), name));
      else if (!isBuiltin(name))
        packages.add(name.split("/", name.startsWith("@") ? 2 : 1).join("/"));
    }
  };
  visit(join(projectRoot, program));
  return packages;
}

it.each([
  ["gateway/package.json", ["gateway/command.ts", "gateway/gateway.ts"]],
  [
    "package.json",
    ["agent/crypto.ts", "agent/signer/main.ts", "agent/courier/main.ts", "cli/main.ts"],
  ],
])("%s names every package that its programs import", (file, programs) => {
  const { dependencies } = JSON.parse(readFileSync(join(projectRoot, file), "utf8")) as {
    dependencies: object;
  };
  const imported = new Set(programs.flatMap((program) => [...packagesOf(program)]));
  expect(imported.size).toBeGreaterThan(3);
  expect([...imported].filter((name) => !(name in dependencies))).toEqual([]);
});
