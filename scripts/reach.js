/**
 * Imports held against the table of rooms. Each breach names the file to mend: its import leads out
 * of its row, while the imported file keeps to its own row.
 */
import { builtinModules } from "node:module";
import { dirname } from "node:path";
import { exportNameOf, isExport, kinds, never, partOf, roomFinder } from "./rooms.js";

/** The builtin modules that lead out of a process, by what they reach. */
const builtins = {
  network: [
    "http",
    "https",
    "http2",
    "net",
    "tls",
    "dns",
    "dns/promises",
    "dgram",
    "inspector",
    "inspector/promises",
  ],
  processes: ["child_process", "worker_threads", "cluster"],
  disk: ["fs", "fs/promises", "sqlite"],
};
/** Builtin modules that compute and touch nothing, which every room may import. */
const harmless = ["buffer", "crypto", "events", "path", "stream", "url", "util"];
/**
 * Names of a builtin module that open nothing, so a file that imports only these reaches nothing.
 */
const harmlessNames = { net: ["isIP", "isIPv4", "isIPv6", "BlockList", "SocketAddress"] };
const kindOfBuiltin = new Map(
  Object.entries(builtins).flatMap(([kind, names]) => names.map((name) => [name, kind])),
);

export const bareName = (name) => name.replace(/^node:/, "");
export const isBuiltin = (name) =>
  builtinModules.includes(bareName(name)) || kindOfBuiltin.has(bareName(name));
export const packageOf = (path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? null;

/**
 * Every breach of the table. `modules` are those of a cruise. `texts` looks into a source:
 * `namesIn(file, builtin)` gives the names that the file imports of a builtin module, null when it
 * takes all of it; `onlyTypes(file, module)` tells whether no import of that module loads it.
 */
export function breachesOf(table, modules, texts) {
  const graph = new Map(modules.map(({ source, dependencies }) => [source, dependencies]));
  const find = roomFinder(table);
  const files = modules
    .map(({ source }) => source)
    .filter((source) => packageOf(source) === null && find(source) !== null);
  const edgesOf = (file) => graph.get(file) ?? [];
  const isLoaded = (file, { dependencyTypes, module }) =>
    !dependencyTypes.includes("type-only") ||
    (find(file) !== null && !texts.onlyTypes(file, module));
  const values = new Map();
  const valuesOf = (file) => {
    if (!values.has(file))
      values.set(
        file,
        edgesOf(file).filter((edge) => isLoaded(file, edge)),
      );
    return values.get(file);
  };
  const tools = {
    table,
    find,
    edgesOf,
    valuesOf,
    packageReach: packageReach(table, valuesOf),
    namesIn: texts.namesIn,
  };
  const imports = files.flatMap((file) => [
    ...importBreaches(tools, file),
    ...privateBreaches(tools, file),
  ]);
  return [
    ...imports,
    ...unusedExports(tools, files),
    ...kinds.flatMap((kind) => reachBreaches(tools, files, kind)),
  ];
}

/** The product's files that a file of the product imports from another folder than its own. */
function foreignTargets({ table, edgesOf }, file) {
  if (partOf(table, file) !== "product") return [];
  const targets = new Set(edgesOf(file).map(({ resolved }) => resolved));
  return [...targets].filter(
    (target) => partOf(table, target) === "product" && dirname(file) !== dirname(target),
  );
}

/** Imports of a file that its room does not export, from outside the file's folder. */
function privateBreaches(tools, file) {
  const { find } = tools;
  return foreignTargets(tools, file)
    .filter((target) => find(target) !== null && !isExport(find(target), target))
    .map((target) => ({ room: find(file).room, kind: "private", path: [file, target] }));
}

/** Exports that no other folder uses: what is private must not stand open. */
function unusedExports(tools, files) {
  const used = new Set(files.flatMap((file) => foreignTargets(tools, file)));
  return files
    .map((file) => ({ file, room: tools.find(file) }))
    .filter(({ file, room }) => room.exports.includes(exportNameOf(room, file)) && !used.has(file))
    .map(({ file, room }) => ({ room: room.room, kind: "unused export", path: [file] }));
}

/** Imports of one file, types included, that the room's row does not name. */
function importBreaches({ table, find, edgesOf }, file) {
  const room = find(file);
  const isNamed = (name) => room.outside.includes("*") || room.outside.includes(name);
  const isAllowed = (resolved) => {
    const bought = packageOf(resolved);
    if (bought !== null) return isNamed(bought);
    if (isBuiltin(resolved))
      return (
        harmless.includes(bareName(resolved)) ||
        kindOfBuiltin.has(bareName(resolved)) ||
        isNamed(`node:${bareName(resolved)}`)
      );
    const other = find(resolved);
    return (
      other === room ||
      (other !== null &&
        (room.imports.includes(other.room) || room.imports.includes(partOf(table, resolved))))
    );
  };
  const targets = new Set(edgesOf(file).map(({ resolved }) => resolved));
  return [...targets]
    .filter((target) => !isAllowed(target))
    .map((target) => ({ room: room.room, kind: "imports", path: [file, target] }));
}

/** Files whose imports of values lead to something of the kind that their row does not allow. */
function reachBreaches(tools, files, kind) {
  const paths = new Map();
  for (const file of files) {
    const path = pathOut(tools, file, kind);
    if (path !== null) paths.set(file, path);
  }
  // A breach further down is told once, by the file that makes it.
  const own = [...paths.values()].filter((path) => !path.slice(1).some((step) => paths.has(step)));
  return own.map((path) => ({ room: tools.find(path[0]).room, kind, path }));
}

/**
 * The shortest way from a file to something of the kind that its row does not allow; null without
 * one.
 */
function pathOut(tools, file, kind) {
  const cell = tools.find(file)[kind];
  if (typeof cell === "string" && cell !== never) return null;
  const by = typeof cell === "string" ? [] : (cell.by ?? []);
  const own = typeof cell === "string" ? [] : (cell.own ?? []);
  const cameFrom = new Map([[file, null]]);
  for (const at of cameFrom.keys()) {
    for (const { resolved } of tools.valuesOf(at)) {
      const isOwn = tools.find(at) === tools.find(file) && own.includes(bareName(resolved));
      if (
        cameFrom.has(resolved) ||
        isOwn ||
        by.includes(packageOf(resolved) ?? tools.find(resolved)?.room)
      )
        continue;
      if (leadsOut(tools, at, resolved, kind)) return [...wayBack(cameFrom, at), resolved];
      if (packageOf(resolved) === null && tools.find(resolved) !== null) cameFrom.set(resolved, at);
    }
  }
  return null;
}

function leadsOut({ table, find, packageReach, namesIn }, from, to, kind) {
  if (kind === "keys")
    return table.keyRooms.includes(find(to)?.room) && !table.keyRooms.includes(find(from)?.room);
  if (packageOf(to) !== null) return packageReach(to, kind);
  const name = bareName(to);
  if (kindOfBuiltin.get(name) !== kind) return false;
  const names = harmlessNames[name] === undefined ? null : namesIn(from, name);
  return names === null || names.some((each) => !harmlessNames[name].includes(each));
}

/**
 * Whether a package's module leads to a builtin of the kind, by itself or by packages that it
 * brings.
 */
function packageReach(table, valuesOf) {
  const known = new Map();
  return (start, kind) => {
    const key = `${kind} ${start}`;
    if (!known.has(key)) known.set(key, search(start, kind));
    return known.get(key);
  };
  function search(start, kind) {
    const seen = new Set([start]);
    for (const at of seen) {
      if (table.packages[packageOf(at)]?.[kind] !== undefined) continue;
      for (const { resolved } of valuesOf(at)) {
        if (kindOfBuiltin.get(bareName(resolved)) === kind) return true;
        if (packageOf(resolved) !== null) seen.add(resolved);
      }
    }
    return false;
  }
}

function wayBack(cameFrom, end) {
  const path = [];
  for (let at = end; at !== null; at = cameFrom.get(at)) path.unshift(at);
  return path;
}
