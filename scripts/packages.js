/**
 * Which packages the agent needs when it runs, read from package-lock.json the way Node looks packages up, and which of them are
 * not installed at exactly that version. Plain JavaScript, since it runs before anything is installed.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const readJson = (path) => JSON.parse(readFileSync(path, "utf8"));

/** `{path, version}` of every production package of the root project; the gateway's are none of them. */
export function productionPackages(root) {
  const { packages } = readJson(join(root, "package-lock.json"));
  const found = new Map();
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
      const { version, dependencies = {}, optionalDependencies = {} } = packages[path];
      found.set(path, { path, version });
      visit([...Object.keys(dependencies), ...Object.keys(optionalDependencies)], path);
    }
  };
  visit(Object.keys(packages[""].dependencies ?? {}), "");
  return [...found.values()];
}

/** Names of the production packages that are not there at the version the lock file names. */
export function missingPackages(root) {
  const isThere = ({ path, version }) => {
    try {
      return readJson(join(root, path, "package.json")).version === version;
    } catch {
      return false;
    }
  };
  return productionPackages(root)
    .filter((one) => !isThere(one))
    .map(({ path }) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length));
}
