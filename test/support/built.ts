/**
 * For tests that start programs of dist/: fails without a build, and names an old build next to a
 * failure as the possible reason.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { afterEach, beforeAll } from "vitest";

interface Stamp {
  readonly stampFile: string;
  sourceStamp(): string;
}

// Plain JavaScript, which the compiler is not asked to read.
const { sourceStamp, stampFile } = (await import(
  new URL("../../cli/launch/stamp.js", import.meta.url).href
)) as Stamp;
const build = "node scripts/ensure.js";

/** The build in dist/, by its stamp file: every build has its own. */
const identity = (): string => {
  if (!existsSync(stampFile)) return "";
  const { ino, mtimeMs } = statSync(stampFile);
  return `${ino} ${mtimeMs}`;
};

/** To be called once at the head of a test file. */
export function startsTheBuild(): void {
  let before = "";
  let isOfTheseSources = true;
  beforeAll(() => {
    before = identity();
    if (before === "")
      throw new Error(`dist/ is not built, and these tests start its programs: ${build}`);
    isOfTheseSources = readFileSync(stampFile, "utf8").trim() === sourceStamp();
  });
  afterEach(({ task }) => {
    if (task.result?.state !== "fail") return;
    if (identity() !== before)
      throw new Error(
        "dist/ was built again while this file ran: run it again before you look further",
      );
    if (!isOfTheseSources)
      throw new Error(`dist/ is not of these sources: ${build}, and run this file again`);
  });
}
