/**
 * Rules of the walls that are no column of the table of rooms (rooms.json), and how
 * dependency-cruiser reads the sources. scripts/walls.js runs both.
 */
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const rooms = require("./rooms.json");

const manifest = JSON.parse(readFileSync(join(__dirname, "..", "package.json"), "utf8"));

const product = [...rooms.roots.product, ...rooms.roots.examples].join("|");
/** Only the laboratory and the build import these; what they bring in turn is nobody's wall. */
const tools = Object.keys(manifest.devDependencies).join("|");

module.exports = {
  forbidden: [
    {
      name: "no-circles",
      severity: "error",
      from: { path: `^(${product}|lab|packaging|scripts)/` },
      to: { circular: true },
    },
    {
      name: "nothing-unresolved",
      severity: "error",
      from: { pathNot: "node_modules/" },
      to: { couldNotResolve: true },
    },
    {
      name: "who-has-no-keys-has-no-curve-that-signs",
      severity: "error",
      from: { path: "^gateway/" },
      to: {
        path: "^chains/(transactions|[a-z]+/transactions?|curve/(fast-curve|recover|sender))\\.ts$|node_modules/(@bitauth/libauth|ethers)/",
        reachable: true,
      },
    },
    {
      // Rooms lie in the folder of the ground; the check of circles lets a folder import its parts.
      name: "the-ground-stands-on-itself",
      severity: "error",
      from: { path: "^base/[^/]+$" },
      to: { pathNot: "^base/[^/]+$", dependencyTypesNot: ["core"] },
    },
    {
      // It runs on a bare server, before any package is there.
      name: "installing-needs-no-package",
      severity: "error",
      from: { path: "^cli/install/" },
      to: { path: "node_modules/", reachable: true },
    },
  ],
  options: {
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true,
    detectProcessBuiltinModuleCalls: true,
    doNotFollow: { path: `node_modules/(${tools})/` },
    exclude: { path: "node_modules/(@types|typescript|undici-types)/" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default"],
    },
    combinedDependencies: true,
    preserveSymlinks: true,
  },
};
