/**
 * `npm run docs [-- --check]`: writes the tables of docs/ from the program's own tables, and names
 * each page that it changed. With `--check` it writes nothing, and ends with 1 if a page is stale.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readCommandLine } from "../../lab/kit/command-line.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { makePages, makeSections } from "./pages.ts";

const { values } = readCommandLine({
  name: "docs",
  does: "Writes the tables of docs/ from the program's own tables.",
  options: { check: { says: "writes nothing, names each stale page, and ends with 1 for one" } },
});

const { pages, problems } = makePages(projectRoot, await makeSections(projectRoot));
const stale = pages.filter(({ before, after }) => before !== after);
for (const problem of problems) process.stderr.write(`docs: ${problem}\n`);
if (problems.length > 0) process.exitCode = 1;
else if (values.check) {
  for (const { path } of stale) process.stderr.write(`docs: ${path} is stale: npm run docs\n`);
  if (stale.length > 0) process.exitCode = 1;
} else
  for (const { path, after } of stale) {
    writeFileSync(join(projectRoot, path), after);
    process.stdout.write(`${path}\n`);
  }
