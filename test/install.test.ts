/** The agent's production install: how many packages, none with an install script, none of the gateway. Needs the package registry. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { run } from "../scripts/processes.ts";
import { projectRoot } from "../scripts/rig.ts";

interface Lock {
  readonly packages: Readonly<Record<string, { readonly hasInstallScript?: boolean; readonly dev?: boolean }>>;
}

it("is at most 40 packages, none with an install script, none of the gateway", { timeout: 180_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "autowithdraw-install-"));
  try {
    for (const part of ["gateway", "scripts/release"]) mkdirSync(join(folder, part), { recursive: true });
    for (const name of ["package.json", "package-lock.json", "gateway/package.json", "scripts/release/package.json"])
      cpSync(join(projectRoot, name), join(folder, name));
    // The very words that pair.js uses when dist is there.
    const pair = readFileSync(join(projectRoot, "pair.js"), "utf8");
    for (const word of ["ci", "--omit=dev", "--ignore-scripts", "--workspaces=false"]) expect(pair).toContain(`"${word}"`);
    const args = ["ci", "--omit=dev", "--ignore-scripts", "--workspaces=false", "--no-audit", "--no-fund"];
    const done = await run("npm", args, { cwd: folder, logFile: "/dev/null" });
    expect(done.code, done.output).toBe(0);
    const lock = JSON.parse(readFileSync(join(folder, "node_modules", ".package-lock.json"), "utf8")) as Lock;
    const names = Object.keys(lock.packages);
    expect(names.length).toBeGreaterThan(20);
    expect(names.length).toBeLessThanOrEqual(40);
    expect(names.filter((name) => lock.packages[name]?.hasInstallScript === true)).toEqual([]);
    const gateway = Object.keys(
      (JSON.parse(readFileSync(join(projectRoot, "gateway/package.json"), "utf8")) as { dependencies: object }).dependencies,
    );
    const agent = Object.keys(
      (JSON.parse(readFileSync(join(projectRoot, "package.json"), "utf8")) as { dependencies: object }).dependencies,
    );
    for (const name of gateway.filter((one) => !agent.includes(one))) expect(names).not.toContain(`node_modules/${name}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
