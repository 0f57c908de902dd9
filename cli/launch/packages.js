/**
 * Which packages the agent, or the gateway, needs when it runs, read from package-lock.json the way
 * Node looks packages up; which of them are not installed at exactly that version; and a lock file
 * of those alone. Plain JavaScript, since it runs before anything is installed.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const readJson = (path) => JSON.parse(readFileSync(path, "utf8"));
const readLock = (root) => readJson(join(root, "package-lock.json"));

/**
 * Paths in the lock file of what `start` ("" or "gateway") needs when it runs; it and what it links
 * to are none of them.
 */
function reached(packages, start) {
  const found = new Set();
  const place = (name, from) => {
    for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/node_modules/")))) {
      const path = `${at === "" ? "" : `${at}/`}node_modules/${name}`;
      if (packages[path] !== undefined) return path;
      if (at === "") return undefined;
      if (!at.includes("/node_modules/")) at = "";
    }
  };
  const visit = (names, from) => {
    for (const name of names) {
      const path = place(name, from);
      if (path === undefined || found.has(path)) continue;
      found.add(path);
      const { dependencies = {}, optionalDependencies = {} } = packages[path];
      visit([...Object.keys(dependencies), ...Object.keys(optionalDependencies)], path);
    }
  };
  visit(Object.keys(packages[start].dependencies ?? {}), start);
  return [...found].sort();
}

/**
 * `{path, version}` of every production package of the root project; the gateway's are none of
 * them.
 */
export function productionPackages(root) {
  const { packages } = readLock(root);
  return reached(packages, "").map((path) => ({ path, version: packages[path].version }));
}

/** Names of the production packages that are not there at the version the lock file names. */
export function missingPackages(root) {
  return productionPackages(root)
    .filter(({ path, version }) => installedVersion(join(root, path)) !== version)
    .map(({ path }) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length));
}

function installedVersion(folder) {
  try {
    return readJson(join(folder, "package.json")).version;
  } catch {
    return undefined;
  }
}

/**
 * package.json and package-lock.json of a server that runs the `agent` or the `gateway`: its
 * production packages, nothing else. In an unpacked release they are there already, and come out
 * unchanged.
 */
export function productionProject(root, part) {
  const made = join(root, "gateway", "package-lock.json");
  if (part === "gateway" && existsSync(made))
    return { manifest: readJson(join(root, "gateway", "package.json")), lock: readJson(made) };
  const manifest = readJson(
    join(root, part === "gateway" ? "gateway/package.json" : "package.json"),
  );
  const {
    name,
    version,
    private: isPrivate,
    description,
    license,
    type,
    engines,
    bin,
    dependencies,
  } = manifest;
  const { packages } = readLock(root);
  const kept = {};
  for (const path of reached(packages, part === "gateway" ? "gateway" : "")) {
    if (!path.startsWith("node_modules/"))
      throw new Error(`${path} lies in no node_modules of the root: the lock cannot be cut so`);
    // Other packages that ask for it do not matter here, since all of these are production
    // packages.
    const { dev: _dev, devOptional: _devOptional, ...entry } = packages[path];
    kept[path] = entry;
  }
  const own = { name, version, license, dependencies, bin, engines };
  // Without the overrides that made this lock, npm calls it out of step.
  const all = Object.entries(readJson(join(root, "package.json")).overrides ?? {});
  const ours = all.filter(([one]) => kept[`node_modules/${one}`] !== undefined);
  const overrides = ours.length === 0 ? {} : { overrides: Object.fromEntries(ours) };
  return {
    manifest: {
      name,
      version,
      private: isPrivate,
      description,
      license,
      type,
      engines,
      bin,
      dependencies,
      ...overrides,
    },
    lock: { name, version, lockfileVersion: 3, requires: true, packages: { "": own, ...kept } },
  };
}
