/**
 * `engines` of agent and gateway: each package that a part brings to a server runs on the part's
 * least Node by the package's own word, and each launcher refuses an older one. Public reports of
 * packages on a Node that does not run them: eslint-community/eslint-doc-generator 807,
 * vivliostyle/vivliostyle-cli 624.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";
import { productionProjects } from "../../packaging/release/contents.ts";

const dir = mkdtempSync(join(tmpdir(), "aw-engines-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const numbers = (version: string): number[] =>
  version.split(".").map((part) => (part === "x" ? 0 : Number(part)));
function compare(left: string, right: string): number {
  const [a, b] = [numbers(left), numbers(right)];
  for (const at of [0, 1, 2]) if ((a[at] ?? 0) !== (b[at] ?? 0)) return (a[at] ?? 0) - (b[at] ?? 0);
  return 0;
}

/** Whether `version` is in a range of the forms that packages use: ">=20", "^18 || >= 21". */
function isIn(version: string, range: string): boolean {
  return range.split("||").some((one) => {
    const [, sign = "", least = ""] = /^\s*(>=|\^|)\s*(\d+(?:\.(?:\d+|x))*)\s*$/.exec(one) ?? [];
    if (least === "") throw new Error(`the range ${range} has a form that this test does not know`);
    if (sign === ">=") return compare(version, least) >= 0;
    return numbers(version)[0] === numbers(least)[0] && compare(version, least) >= 0;
  });
}

const least = { agent: "18.19.1", gateway: "20.9.0" } as const;
const launchers = {
  agent: ["pair.js", "crypto.js", "autowithdraw.js"],
  gateway: ["gateway/gateway.js"],
} as const;

describe.each(["agent", "gateway"] as const)("the Node of the %s", (part) => {
  it("Node is the one that package.json names, and every package that is installed with it runs there", async () => {
    const { manifest, lock } = (await productionProjects(projectRoot))[part];
    expect((manifest as unknown as { engines: object }).engines).toEqual({
      node: `>=${least[part]}`,
    });
    const tooNew = Object.entries(lock.packages).flatMap(([path, entry]) => {
      const range = (entry as { readonly engines?: { readonly node?: string } }).engines?.node;
      return path === "" || range === undefined || isIn(least[part], range)
        ? []
        : [`${path} ${range}`];
    });
    expect(tooNew).toEqual([]);
  });

  it.each(launchers[part])(
    "%s ends on an older Node with a sentence and a hint, and not on the least one",
    (launcher) => {
      const saidOn = (version: string): string => {
        const shim = join(dir, "as.mjs");
        writeFileSync(
          shim,
          `Object.defineProperty(process.versions, "node", { value: "${version}" });
process.argv[2] = "--version";
await import(${JSON.stringify(pathToFileURL(join(projectRoot, launcher)).href)});`,
        );
        const { status, stderr } = spawnSync(process.execPath, [shim, "--version"], {
          cwd: dir,
          encoding: "utf8",
        });
        return status === 2 ? stderr : "";
      };
      const older = part === "agent" ? "18.19.0" : "18.20.4";
      expect(saidOn(older)).toMatch(
        new RegExp(
          `^[\\w-]+: Node ${least[part]} or later is needed, this is ${older}\\nhint: install Node 22 or 24 .*\\n$`,
        ),
      );
      expect(saidOn(least[part])).toBe("");
    },
  );
});

it("a range of engines is read as npm reads it", () => {
  const inside = (range: string) =>
    ["18.19.1", "20.9.0", "22.0.0"].map((version) => isIn(version, range));
  expect(inside(">=20")).toEqual([false, true, true]);
  expect(inside("^18 || >= 21")).toEqual([true, false, true]);
  expect(inside("^12.20.0 || ^14.13.1 || >=16.0.0")).toEqual([true, true, true]);
  expect(inside(">= 10.x")).toEqual([true, true, true]);
  expect(inside(">=22")).toEqual([false, false, true]);
});
