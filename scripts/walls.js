/**
 * The walls between the rooms, whole transitive reach included (docs/architecture.md, table of
 * rooms). A cruise that saw fewer modules than there are source files is no proof, so it fails.
 */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const rooms = [
  "protocol",
  "notices",
  "outgoing",
  "metrics",
  "chains",
  "agent",
  "cli",
  "client",
  "examples",
  "gateway",
  "simulation",
  "rig",
  "scripts",
];

function countSources(folder) {
  let count = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name === "node_modules") continue;
    if (entry.isDirectory()) count += countSources(join(folder, entry.name));
    else if (entry.name.endsWith(".ts")) count += 1;
  }
  return count;
}

const cruiser = join(root, "node_modules", "dependency-cruiser", "bin", "dependency-cruise.mjs");
const args = [cruiser, "--config", join(root, "walls.config.cjs"), "--output-type", "json", ...rooms];
const done = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8", maxBuffer: 256 * 1024 * 1024 });
if (done.error !== undefined || done.stdout === "") {
  process.stderr.write(`walls: the cruise did not run\n${done.stderr ?? done.error?.message}\n`);
  process.exit(1);
}
const { modules, summary } = JSON.parse(done.stdout);
const ours = modules.filter(
  (module) => rooms.some((room) => module.source.startsWith(`${room}/`)) && module.source.endsWith(".ts"),
);
const expected = rooms.reduce((sum, room) => sum + countSources(join(root, room)), 0);
for (const violation of summary.violations) {
  const via = (violation.via ?? []).map((step) => step.name ?? step).join(" → ");
  process.stderr.write(
    `walls: ${violation.rule.name}: ${violation.from} → ${violation.to}${via === "" ? "" : ` (via ${via})`}\n`,
  );
}
if (ours.length < expected) {
  process.stderr.write(`walls: saw ${ours.length} modules where ${expected} source files exist\n`);
  process.exit(1);
}
if (summary.violations.length > 0) process.exit(1);
process.stdout.write(`walls: ${ours.length} modules, ${summary.ruleSetUsed.forbidden.length} rules, no violation\n`);
