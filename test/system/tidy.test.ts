/**
 * House rules as a test: sizes, names, words that stay out, every vector used, documents that list
 * files say the truth.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { rootsOf } from "../../scripts/roots.ts";
import { readTitles } from "../runner/titles.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const rooms = rootsOf(root, "product", "examples", "laboratory", "tests");

function filesUnder(folder: string): string[] {
  const found: string[] = [];
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    // Generators wrote test/generated, in their own manner.
    if (["node_modules", ".cache", "generated"].includes(entry.name)) continue;
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) found.push(...filesUnder(path));
    else found.push(path);
  }
  return found;
}

const all = rooms.flatMap(filesUnder);
const sources = all.filter((path) => /\.(tsx?|js|cjs)$/.test(path));
const code = sources.filter((path) => !path.startsWith("test/"));
/** The programs at the top level. */
const entries = ["autowithdraw.js", "crypto.js", "crypto.ts", "pair.js"];
const read = (path: string): string => readFileSync(join(root, path), "utf8");
/** Lines of the file that are not inside a comment, good enough for word bans. */
const bare = (path: string): string =>
  read(path)
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/(^|\s)\/\/.*$/gm, "");

describe("the house", () => {
  it("has enough files for the rules to mean something", () => {
    expect(code.length).toBeGreaterThan(60);
  });

  it("has these entries at its top level and no other, names with a dot aside", () => {
    const tracked = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).split("\n");
    const top = new Set(tracked.map((path) => path.split("/")[0] ?? ""));
    expect([...top].filter((name) => name !== "" && !name.startsWith(".")).sort()).toEqual(
      [
        ...["agent", "base", "chains", "cli", "clients", "docs", "examples", "gateway", "lab"],
        ...["packaging", "protocol", "scripts", "test"],
        ...["CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md"],
        ...["package.json", "package-lock.json", "tsconfig.json", "vitest.config.ts"],
        ...["autowithdraw.js", "crypto.js", "crypto.ts", "pair.js", "config.example.json"],
      ].sort(),
    );
  });

  it("keeps names that say what a file holds", () => {
    const lobby = /(^|\/)(utils?|helpers?|common|misc|index|types|manager)\.(tsx?|js)$/;
    expect(sources.filter((path) => lobby.test(path))).toEqual([]);
    expect(
      sources
        .map((path) => basename(path))
        .filter((name) => !/^[a-z0-9-]+(\.[a-z0-9-]+)*\.(tsx?|js|cjs)$/.test(name)),
    ).toEqual([]);
  });

  it("opens every file with what it is for", () => {
    expect(sources.filter((path) => !/^(#!.*\n)?\/\*\*/.test(read(path)))).toEqual([]);
  });

  it("has no comment without words, and none that names a file that is gone", () => {
    expect(sources.filter((path) => /\/\*\*\s*(\*\s*)*\*\//.test(read(path)))).toEqual([]);
    const gone = sources.flatMap((path) =>
      [...read(path).matchAll(/^\s*(?:\*|\/\/).*?\(((?:[\w-]+\/)*[\w-]+(?:\.test)?\.ts)\)/gm)]
        .map(([, name = ""]) => name)
        .filter((name) => !all.some((file) => file === name || file.endsWith(`/${name}`)))
        .map((name) => `${path}: ${name}`),
    );
    expect(gone).toEqual([]);
  });

  it("ships every unit whose log an operator is told to read", () => {
    const units = readdirSync(join(root, "packaging/systemd")).map((name) =>
      name.replace(/\.\w+$/, ""),
    );
    const texts = [...code, ...filesUnder("docs")].map((path) => [path, read(path)] as const);
    const named = texts.flatMap(([path, text]) =>
      [...text.matchAll(/journalctl -[ut] '?([a-z][a-z-]*\*?)/g)].map(([, name = ""]) => ({
        path,
        name,
      })),
    );
    expect(named.length).toBeGreaterThan(5);
    const fits = (name: string): boolean =>
      units.some(
        (unit) => unit === name || (name.endsWith("*") && unit.startsWith(name.slice(0, -1))),
      );
    expect(named.filter(({ name }) => !fits(name))).toEqual([]);
  });

  it("wraps comments at a hundred columns", () => {
    // A drawn table keeps its columns.
    const isWide = (line: string): boolean =>
      /^\s*(\*|\/\/|\/\*)( |\*)/.test(line) && !/\S {2,}\S/.test(line) && [...line].length > 100;
    const wide = sources.flatMap((path) =>
      read(path)
        .split("\n")
        .filter(isWide)
        .map((line) => `${path}: ${line}`),
    );
    expect(wide).toEqual([]);
  });

  it("leaves no unfinished business in the source", () => {
    const marks = /\b(TODO|FIXME|XXX)\b/;
    const shortcuts = /\.only\(|\bas any\b|@ts-ignore|@ts-nocheck|noExplicitAny/;
    const others = sources.filter((path) => path !== "test/system/tidy.test.ts");
    expect(others.filter((path) => marks.test(read(path)) || shortcuts.test(bare(path)))).toEqual(
      [],
    );
  });

  it("loads modules of the product only by names that the walls can read", () => {
    const product = rootsOf(root, "product").map((room) => `${room}/`);
    const hidden = /\bimport\((?!\s*["'])/;
    // The installer loads the list of packages of its release, which is plain JavaScript.
    const ours = code.filter((path) => /\.tsx?$/.test(path) && path !== "cli/install/program.ts");
    const rooms = ours.filter((path) => product.some((room) => path.startsWith(room)));
    expect(rooms.filter((path) => hidden.test(bare(path)))).toEqual([]);
  });

  it("writes plain properties, and spreads no object literal", () => {
    const product = [...rootsOf(root, "product")].map((room) => `${room}/`);
    const spread = sources.filter(
      (path) => product.some((room) => path.startsWith(room)) && /\.\.\.\{/.test(read(path)),
    );
    expect(spread).toEqual([]);
  });

  it("has no module of the product that nothing loads", () => {
    const product = rootsOf(root, "product").flatMap(filesUnder);
    const modules = product.filter((path) => /(?<!\.d)\.(tsx?|js)$/.test(path));
    const loaders = [...sources.filter((path) => !path.startsWith("test/")), ...entries];
    const loaded = new Set(
      loaders.flatMap((path) =>
        [...read(path).matchAll(/["'](\.{1,2}\/[^"'\n]+)["']/g)].map(([, name = ""]) =>
          join(dirname(path), name),
        ),
      ),
    );
    // A program that people start is an entry of a bundle or stands in a release.
    const named = read("scripts/bundle.js") + read("packaging/release/contents.ts");
    const isLoaded = (path: string): boolean =>
      loaded.has(path) || named.includes(`"${path.replace(/\.ts$/, "")}"`);
    expect(modules.length).toBeGreaterThan(500);
    expect(modules.filter((path) => !isLoaded(path))).toEqual([]);
  });

  it("never makes money a floating number", () => {
    const banned = /\bparseFloat\(|Number\((amount|units|fee|value|balance|wei)\w*\)/i;
    // The own JSON of Tron and bitcoind has amounts as numbers: judge and made-up nodes speak it.
    const speakers = new Set([
      "lab/kit/tron-judge.ts",
      "lab/simulation/world/tron-node.ts",
      "lab/utxo-node/made-up.ts",
    ]);
    const ours = code.filter((path) => /\.tsx?$/.test(path) && !speakers.has(path));
    expect(ours.filter((path) => banned.test(bare(path)))).toEqual([]);
  });

  it("has no title that repeats its heading, and none without a heading that leans on one", () => {
    // A verb or a relative word as the first one leans on a heading.
    const leans =
      /^(?:is|are|has|have|was|may|must|does|do|never|that|of|with|refuses?|takes?|says?|tells?|gives?|goes|go|keeps?|names?|comes?|makes?|holds?|needs?|answers?|ends?|works?|gets?|shows?|lists?|counts?|reads?|stays?|leaves?|waits?|starts?|stops?|knows?|fails?|expires?|it) /;
    const tests = sources.filter((path) => /^test\/.*\.test\.ts$/.test(path));
    const written = tests.flatMap((path) =>
      readTitles(read(path)).map((title) => ({ path, ...title })),
    );
    const repeating = written.filter(({ headings, title }) =>
      title.startsWith(`${headings.at(-1) ?? title} `),
    );
    const leaning = written.filter(
      ({ headings, title }) => headings.length === 0 && leans.test(title),
    );
    expect(written.length).toBeGreaterThan(3_000);
    expect(leans.test("refuses it")).toBe(true);
    expect([...repeating, ...leaning].map(({ path, title }) => `${path}: ${title}`)).toEqual([]);
  });

  it("uses every vector", () => {
    const tests = sources
      .filter((path) => path.startsWith("test/"))
      .map(read)
      .join("\n");
    const vectors = all.filter((path) => /(^|\/)vectors\/.*\.json$/.test(path));
    expect(vectors.length).toBeGreaterThan(5);
    // A test either names the file or reads its whole folder.
    const folders = [...tests.matchAll(/vectors\/([a-z0-9-]*)["'`/]/g)].map((match) => match[1]);
    expect(folders.length).toBeGreaterThan(0);
    const named = (path: string): boolean =>
      tests.includes(basename(path)) || tests.includes(basename(path, ".json"));
    const readWhole = (path: string): boolean =>
      tests.includes(`readdirSync`) && tests.includes(path.slice(0, path.lastIndexOf("/")));
    expect(vectors.filter((path) => !named(path) && !readWhole(path))).toEqual([]);
  });

  it("names each production dependency in the README with a reason", () => {
    const readme = read("README.md");
    for (const file of ["package.json", "gateway/package.json"]) {
      const wanted = Object.entries(JSON.parse(read(file)).dependencies as Record<string, string>);
      for (const [name, version] of wanted) {
        expect(version, `${name} is not exact`).toMatch(/^\d+\.\d+\.\d+$/);
        expect(readme, `${name} has no line in the README`).toMatch(
          new RegExp(`\\| \`${name.replace("/", "\\/")}\` \\|`),
        );
      }
    }
  });

  it("speaks of itself alone", () => {
    const tracked = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" })
      .split("\n")
      .filter(Boolean);
    const foreign =
      /registry\.npmjs|\/work\/(main|shared)|\/root\/(?!autowithdraw-encKey)|\.library\b/;
    const texts = tracked.filter(
      (path) => !/\.(png|bin)$/.test(path) && path !== "test/system/tidy.test.ts",
    );
    expect(texts.filter((path) => foreign.test(read(path)))).toEqual([]);
  });

  it("lists every room of the table in the architecture document", () => {
    const page = read("docs/architecture.md");
    for (const room of [
      "protocol",
      "chains/evm",
      "agent/signer",
      "agent/ledger",
      "agent/keystore",
      "agent/courier",
      "agent/socket",
      "cli",
      "clients/typescript",
      "gateway",
    ]) {
      expect(page).toContain(`\`${room}\``);
    }
  });

  it("names only documents that exist, in comments too", () => {
    const named = sources.flatMap((path) =>
      [...read(path).matchAll(/\bdocs\/[a-z-]+\.md\b/g)].map(([page]) => page),
    );
    expect(named.length).toBeGreaterThan(40);
    expect([...new Set(named)].filter((page) => !existsSync(join(root, page)))).toEqual([]);
  });

  it("shows each attack of the threat model by tests that are there", () => {
    const rows = read("docs/threat-model.md")
      .split("\n")
      .filter((line) => /^\| .* \| .*`(test\/|npm )/.test(line));
    expect(rows.length).toBeGreaterThan(20);
    const tests = rows.flatMap((row) =>
      [...row.matchAll(/`(test\/[^`]+)`/g)].map((match) => match[1]!),
    );
    expect(tests.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it("links only to documents that exist", () => {
    const pages = [
      "README.md",
      ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`),
    ].filter((path) => path.endsWith(".md"));
    for (const page of pages) {
      const links = [...read(page).matchAll(/\]\((?!https?:)([^)#]+)(#[^)]*)?\)/g)].map(
        (match) => match[1]!,
      );
      for (const link of links) {
        const target = join(page.includes("/") ? page.slice(0, page.lastIndexOf("/")) : ".", link);
        expect(() => readFileSync(join(root, target)), `${page} links to ${link}`).not.toThrow();
      }
    }
  });
});
