/**
 * What each room may import. `only(room, may)` draws one wall; the `reach` rules follow imports
 * through any number of hops, so that a package which brings a network in by the back door is seen
 * as well.
 */
const builtin = (...names) => names.map((name) => `^(node:)?${name}$`);
const packages = (...names) => names.map((name) => `node_modules/${name}/`);
const outgoing = "^outgoing/exchange\\.ts$";
const network = ["http", "https", "http2", "net", "tls", "dns", "dgram"];

const only = (name, from, may) => ({
  name: `${name}-imports-only-its-own`,
  severity: "error",
  from,
  to: { pathNot: may },
});

const ours = {
  path: "^(protocol|outgoing|notices|metrics|notify|chains|agent|cli|client|examples|gateway|simulation|rig|scripts)/",
};
const pure = [...builtin("crypto", "buffer", "util")];
const chainNodes = "^chains/(connect|read-back|[^/]+/(node|rpc)[^/]*)\\.ts$";
const offlineChains = "^chains/(?!(connect|read-back)\\.ts$|[^/]+/(node|rpc)[^/]*\\.ts$)";

/**
 * The gateway's rooms from the ground up. A room imports from floors below its own, never from its
 * own floor or one above.
 */
const gatewayFloors = [
  ["store"],
  ["answer"],
  ["auth"],
  ["balance", "prices", "watcher"],
  ["withdrawals"],
  ["books", "callbacks", "deposits", "recovery", "sweeps"],
  ["hub", "operator", "pairing"],
  ["telling"],
  ["api"],
  ["openapi"],
];
const gatewayRooms = gatewayFloors.flat().join("|");
const upwards = gatewayFloors.map((floor, at) => ({
  name: `gateway-imports-nothing-back-up-from-${floor.join("-")}`,
  severity: "error",
  from: { path: `^gateway/(${floor.join("|")})/` },
  to: { path: `^gateway/(${gatewayFloors.slice(at).flat().join("|")})/`, pathNot: "^gateway/$1/" },
}));

const signer = { path: "^agent/(signer|ledger|keystore)/" };

module.exports = {
  forbidden: [
    { name: "no-circles", severity: "error", from: { ...ours, pathNot: "^simulation/" }, to: { circular: true } },
    { name: "nothing-unresolved", severity: "error", from: ours, to: { couldNotResolve: true } },
    only("protocol", { path: "^protocol/" }, ["^protocol/", ...pure]),
    only("outgoing", { path: "^outgoing/" }, ["^protocol/", "^outgoing/", ...packages("undici")]),
    {
      name: "requests-leave-by-one-client",
      severity: "error",
      from: { path: "^(protocol|notices|metrics|notify|chains|agent|gateway)/", pathNot: "^(metrics|gateway/(api|hub))/" },
      to: { path: builtin("http", "https", "http2"), dependencyTypesNot: ["type-only"] },
    },
    only("notices", { path: "^notices/(?!door\\.ts$)" }, ["^protocol/", "^notices/(?!door\\.ts$)", ...pure]),
    only("notices-door", { path: "^notices/door\\.ts$" }, ["^notices/", outgoing, ...builtin("child_process")]),
    only("metrics", { path: "^metrics/" }, ["^metrics/", ...builtin("http", "fs"), ...packages("prom-client")]),
    only("offline-chain", { path: offlineChains }, [
      "^protocol/",
      offlineChains,
      ...pure,
      ...packages("@noble/curves", "@noble/hashes", "@scure/base", "@scure/bip32", "tiny-secp256k1"),
    ]),
    only("chain-node", { path: chainNodes }, ["^protocol/", "^chains/", outgoing, ...pure, ...packages("ethers")]),
    {
      name: "families-of-chains-stand-behind-their-doors",
      severity: "error",
      from: { path: "^(protocol|notices|metrics|notify|agent|cli|client|gateway)/" },
      to: { path: "^chains/[^/]+/" },
    },
    {
      name: "no-family-knows-another",
      severity: "error",
      from: { path: "^chains/([^/]+)/" },
      to: { path: "^chains/[^/]+/", pathNot: "^chains/($1|curve|providers)/" },
    },
    only("signer", signer, [
      "^protocol/",
      offlineChains,
      "^agent/(signer|ledger|keystore|socket)/",
      "^agent/(config/settings|files/(trusted|fixed-bytes|core-dumps))\\.ts$",
      ...pure,
      ...builtin("fs", "fs/promises", "path", "os", "net", "process"),
      ...packages("@noble/curves", "@noble/hashes", "@scure/bip32", "tiny-secp256k1", "tweetnacl"),
    ]),
    only("files", { path: "^agent/files/" }, [
      "^protocol/",
      "^agent/files/",
      ...pure,
      ...builtin("fs", "os", "path", "process"),
      ...packages("env-paths"),
    ]),
    only("config", { path: "^agent/config/" }, [
      "^protocol/",
      offlineChains,
      "^agent/(config|files)/",
      ...pure,
      ...builtin("fs", "path", "url"),
    ]),
    only("ledger", { path: "^agent/ledger/" }, [
      "^protocol/",
      "^chains/family\\.ts$",
      "^agent/(ledger|socket)/",
      "^agent/files/trusted\\.ts$",
      ...pure,
      ...builtin("fs", "path"),
    ]),
    only("keystore", { path: "^agent/keystore/" }, [
      "^protocol/",
      offlineChains,
      "^agent/keystore/",
      "^agent/files/(trusted|fixed-bytes)\\.ts$",
      ...pure,
      ...builtin("fs", "fs/promises", "path"),
      ...packages("@noble/curves", "@noble/hashes", "@scure/bip32", "tiny-secp256k1", "tweetnacl"),
    ]),
    {
      name: "no-two-rooms-import-each-other",
      severity: "error",
      scope: "folder",
      from: { path: "^(protocol|notices|metrics|notify|chains|agent|client|gateway)(/|$)" },
      to: { circular: true },
    },
    only("courier", { path: "^agent/courier/" }, [
      "^protocol/",
      "^chains/",
      "^agent/(courier|socket)/",
      "^(notices|metrics)/",
      "^agent/(config/(settings|link-file)|files/replace-file)\\.ts$",
      ...pure,
      ...builtin("fs", "fs/promises", "path", "os", "net", "process", "events", "timers/promises"),
      ...packages("ws", "@types/ws", "pino", "prom-client"),
    ]),
    only("agent-socket", { path: "^agent/socket/" }, [
      "^protocol/",
      "^chains/family\\.ts$",
      "^agent/socket/",
      ...pure,
      ...builtin("net", "fs", "path"),
    ]),
    {
      name: "gateway-never-imports-agent",
      severity: "error",
      from: { path: "^gateway/" },
      to: { path: "^(agent|cli|client|scripts)/" },
    },
    ...upwards,
    {
      name: "every-room-of-the-gateway-has-its-floor",
      severity: "error",
      from: { path: "^gateway/[^/]+/", pathNot: `^gateway/(${gatewayRooms})/` },
      to: {},
    },
    {
      name: "no-room-of-the-gateway-imports-its-roof",
      severity: "error",
      from: {
        path: "^gateway/([^/]+/|(bare-url|chain-presets|client-address|config|service|address-list|fiat|price-settings|sweep-settings)\\.ts$)",
      },
      to: { path: "^gateway/(gateway|command)\\.ts$" },
    },
    {
      name: "gateway-ground-files-import-the-ground-alone",
      severity: "error",
      from: {
        path: "^gateway/(bare-url|callback-settings|chain-presets|client-address|config|service|address-list|fiat|price-settings|sweep-settings)\\.ts$",
      },
      to: { path: "^gateway/[^/]+/", pathNot: "^gateway/(store|auth)/" },
    },
    {
      name: "only-the-store-knows-a-database",
      severity: "error",
      from: { path: "^gateway/(?!store/)" },
      to: { path: ["node_modules/@photostructure/sqlite/", "^(node:)?sqlite$"] },
    },
    {
      name: "nothing-but-tests-imports-tests",
      severity: "error",
      from: ours,
      to: { path: "^test/" },
    },
    {
      name: "gateway-tells-through-the-notices-door-alone",
      severity: "error",
      from: { path: "^gateway/(?!telling/telling\\.ts$)" },
      to: { path: "^(notices/door|metrics/server)\\.ts$" },
    },
    {
      name: "prices-are-asked-for-in-one-file",
      severity: "error",
      from: { path: "^gateway/prices/(?!ask\\.ts$)" },
      to: { path: [...builtin(...network), outgoing] },
    },
    {
      name: "no-money-moves-by-a-price",
      severity: "error",
      from: { path: "^gateway/(withdrawals|hub|watcher|balance|books|pairing|recovery|sweeps)/" },
      to: { path: "^gateway/prices/" },
    },
    {
      name: "only-the-callbacks-door-reaches-receivers",
      severity: "error",
      from: { path: "^gateway/callbacks/", pathNot: "^gateway/callbacks/door\\.ts$" },
      to: { path: [...builtin("http", "https", "http2", "tls", "dns", "dns/promises", "dgram", "child_process"), outgoing] },
    },
    only("callbacks", { path: "^gateway/callbacks/" }, [
      "^protocol/",
      "^gateway/(callbacks|store)/",
      "^gateway/(config|callback-settings|auth/secret-box)\\.ts$",
      outgoing,
      ...pure,
      ...builtin("net", "dns/promises"),
    ]),
    {
      name: "the-judge-of-our-transactions-is-no-part-of-the-product",
      severity: "error",
      from: { path: "^(protocol|notices|metrics|notify|chains|agent|cli|client|gateway|simulation)/" },
      to: { path: "node_modules/tronweb/" },
    },
    {
      name: "who-has-no-keys-has-no-curve-that-signs",
      severity: "error",
      from: { path: "^gateway/" },
      to: {
        path: "^chains/(transactions|[a-z]+/transactions?|curve/(recover|sender))\\.ts$|node_modules/(tiny-secp256k1|ethers)/",
        reachable: true,
      },
    },
    {
      name: "agent-never-imports-gateway",
      severity: "error",
      from: { path: "^(agent|cli|client|protocol|notices|metrics|chains)/" },
      to: { path: "^gateway/" },
    },
    {
      name: "nothing-of-the-product-imports-the-simulation-the-rig-or-an-example",
      severity: "error",
      from: { path: "^(protocol|notices|metrics|notify|chains|agent|cli|client|gateway)/" },
      to: { path: "^(examples|simulation|rig)/" },
    },
    {
      name: "the-rig-stands-below-what-tries-the-product-with-it",
      severity: "error",
      from: { path: "^rig/" },
      to: { path: "^(scripts|simulation|test)/" },
    },
    only("notify", { path: "^notify/" }, ["^notify/", "^protocol/", ...builtin("child_process")]),
    only("client", { path: "^client/" }, ["^protocol/", "^client/", ...pure]),
    only("examples", { path: "^examples/" }, ["^client/", ...builtin("fs", "http", "path", "timers/promises")]),
    {
      name: "cli-takes-keystore-and-ledger-and-nothing-of-signer-or-courier",
      severity: "error",
      from: { path: "^cli/" },
      to: { path: "^agent/(signer|courier)/" },
    },
    {
      // It runs on a bare server, before any package is there.
      name: "installing-needs-no-package",
      severity: "error",
      from: { path: "^cli/install/" },
      to: { path: "node_modules/", reachable: true },
    },
    {
      name: "signer-reaches-no-network",
      severity: "error",
      from: signer,
      to: {
        path: builtin("http", "https", "http2", "tls", "dns", "dgram", "child_process", "cluster", "inspector"),
        reachable: true,
      },
    },
    {
      name: "sealing-reaches-no-network",
      severity: "error",
      from: { path: "^cli/(sealing|backup)/" },
      to: { path: builtin(...network), reachable: true },
    },
    {
      name: "offline-chain-reaches-no-network",
      severity: "error",
      from: { path: offlineChains },
      to: { path: builtin(...network, "child_process"), reachable: true },
    },
    {
      name: "only-the-notices-door-starts-programs-for-the-courier",
      severity: "error",
      from: { path: "^(agent/courier|notices|metrics|gateway)/", pathNot: "^notices/door\\.ts$" },
      to: { path: builtin("child_process") },
    },
    {
      name: "courier-reaches-no-key-room",
      severity: "error",
      from: { path: "^agent/courier/" },
      to: { path: "^(agent/(signer|ledger|keystore)|cli|gateway)/", reachable: true },
    },
  ],
  options: {
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true,
    doNotFollow: { path: "^$" },
    exclude: { path: "node_modules/(@types|typescript|undici-types)/" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default"] },
    combinedDependencies: true,
  },
};
