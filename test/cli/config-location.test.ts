/**
 * The place of config.json when no option names it, and the copy that is taken. The built file
 * stands in a folder of its own, as in an installed copy, and a process in another folder asks it.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

let copy = "";
beforeEach(() => {
  copy = realpathSync(mkdtempSync(join(tmpdir(), "config-location-")));
  for (const folder of ["dist/agent/config", "elsewhere"])
    mkdirSync(join(copy, folder), { recursive: true });
  copyFileSync(
    join(projectRoot, "dist/agent/config/location.js"),
    join(copy, "dist/agent/config/location.js"),
  );
  writeFileSync(join(copy, "package.json"), '{"type":"module"}');
});
afterEach(() => rmSync(copy, { recursive: true }));

/** The path that a process finds which stands in another folder. */
function found(installed?: string): string {
  const place = JSON.stringify(join(copy, "dist/agent/config/location.js"));
  const look = `import { findConfigFile } from ${place}; process.stdout.write(findConfigFile());`;
  const { AUTOWITHDRAW_CONFIG: _config, ...env } = process.env;
  return execFileSync(process.execPath, ["--input-type=module", "--eval", look], {
    ...{ cwd: join(copy, "elsewhere"), encoding: "utf8" },
    env: installed === undefined ? env : { ...env, AUTOWITHDRAW_CONFIG: installed },
  });
}

it("a config.json beside the launchers is found from any folder", () => {
  writeFileSync(join(copy, "config.json"), "{}");
  expect(found()).toBe(join(copy, "config.json"));
});

it("the installed one comes before it", () => {
  writeFileSync(join(copy, "config.json"), "{}");
  expect(found("/etc/autowithdraw/config.json")).toBe("/etc/autowithdraw/config.json");
});

it("a config.json in the working folder, whose owner may be anybody, is never found", () => {
  writeFileSync(join(copy, "elsewhere", "config.json"), "{}");
  expect(found()).toBe(join(copy, "config.json"));
});

it("a config.json inside dist/ is none of the launchers'", () => {
  writeFileSync(join(copy, "dist", "config.json"), "{}");
  expect(found()).toBe(join(copy, "config.json"));
});
