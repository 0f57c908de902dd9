/**
 * Lines to type name units of the service manager. Each must be one that an installation has: a
 * file of packaging/systemd/, or a second name in one.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { serviceNames } from "../../cli/unit-names.ts";
import { projectRoot } from "../../lab/kit/kit.ts";

const units = readdirSync(join(projectRoot, "packaging/systemd"));
const aliases = units.flatMap((file) =>
  [
    ...readFileSync(join(projectRoot, "packaging/systemd", file), "utf8").matchAll(
      /^Alias=(\S+)$/gm,
    ),
  ].map(([, name = ""]) => name),
);
const known = new Set(
  [...units, ...aliases].flatMap((name) => [name, name.replace(/\.service$/, "")]),
);

const verbs = "start|stop|restart|reload|status|cat|edit|enable|disable|show|kill";
const named = new RegExp(
  `(?:systemctl (?:-\\S+ )*(?:${verbs})(?: --\\S+)*|journalctl(?: -f)? -u) ((?:crypto|autowithdraw)[\\w@.-]*\\w)`,
  "g",
);

const roots = [
  "agent",
  "base",
  "chains",
  "cli",
  "clients",
  "gateway",
  "docs",
  "examples",
  "packaging",
];
const filesOf = (folder: string): readonly string[] =>
  readdirSync(join(projectRoot, folder), { recursive: true, encoding: "utf8" })
    .filter(
      (path) =>
        /\.(?:ts|js|md|service|socket|target)$/.test(path) && !path.includes("node_modules"),
    )
    .map((path) => join(folder, path));

describe("a line to type", () => {
  it("in code or document names a unit that an installation has", () => {
    const lines = roots.flatMap(filesOf).flatMap((path) => {
      const text = readFileSync(join(projectRoot, path), "utf8");
      return [...text.matchAll(named)].map(([, unit = ""]) => [path, unit] as const);
    });
    expect(lines.length).toBeGreaterThan(30);
    expect(lines.filter(([, unit]) => !known.has(unit))).toEqual([]);
  });

  it("depends on whether the signer's unit is installed, by the name that it has", () => {
    expect(serviceNames.filter((name) => !units.includes(name))).toEqual([]);
  });
});
