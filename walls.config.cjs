/**
 * What each room may import. `only(room, may)` draws one wall; the `reach` rules follow imports through any number of hops, so
 * that a package which brings a network in by the back door is seen as well.
 */
const builtin = (...names) => names.map((name) => `^(node:)?${name}$`);
const packages = (...names) => names.map((name) => `node_modules/${name}/`);
const network = ["http", "https", "http2", "net", "tls", "dns", "dgram"];

const only = (name, from, may) => ({
  name: `${name}-imports-only-its-own`,
  severity: "error",
  from,
  to: { pathNot: may },
});

const ours = { path: "^(protocol|notices|metrics|notify|chains|agent|cli|client|gateway|simulation|scripts)/" };
const pure = [...builtin("crypto", "buffer", "util")];
const offlineChain = { path: "^chains/", pathNot: "^chains/[^/]+/(node|rpc)[^/]*\\.ts$" };
const signer = { path: "^agent/(signer|ledger|keystore)/" };

module.exports = {
  forbidden: [
    { name: "no-circles", severity: "error", from: ours, to: { circular: true } },
    { name: "nothing-unresolved", severity: "error", from: ours, to: { couldNotResolve: true } },
    only("protocol", { path: "^protocol/" }, ["^protocol/", ...pure]),
    only("notices", { path: "^notices/(?!door\\.ts$)" }, ["^protocol/", "^notices/(?!door\\.ts$)", ...pure]),
    only("notices-door", { path: "^notices/door\\.ts$" }, ["^notices/", ...builtin("http", "https", "child_process")]),
    only("metrics", { path: "^metrics/" }, ["^metrics/", ...builtin("http", "fs"), ...packages("prom-client")]),
    only("offline-chain", offlineChain, [
      "^protocol/",
      "^chains/(?!.*/(node|rpc)[^/]*\\.ts$)",
      ...pure,
      ...packages("@noble/curves", "@noble/hashes", "@scure/bip32", "tiny-secp256k1"),
    ]),
    only("chain-node", { path: "^chains/[^/]+/(node|rpc)[^/]*\\.ts$" }, [
      "^protocol/",
      "^chains/",
      ...pure,
      ...builtin("http", "https"),
    ]),
    only("signer", signer, [
      "^protocol/",
      "^chains/(?!.*/(node|rpc)[^/]*\\.ts$)",
      "^agent/(signer|ledger|keystore|socket)/",
      "^agent/config/settings\\.ts$",
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
      "^chains/(?!.*/(node|rpc)[^/]*\\.ts$)",
      "^agent/(config|files)/",
      ...pure,
      ...builtin("fs", "path", "url"),
    ]),
    only("ledger", { path: "^agent/ledger/" }, ["^protocol/", "^agent/(ledger|socket)/", ...pure, ...builtin("fs", "path")]),
    only("keystore", { path: "^agent/keystore/" }, [
      "^protocol/",
      "^chains/(?!.*/(node|rpc)[^/]*\\.ts$)",
      "^agent/keystore/",
      ...pure,
      ...builtin("fs", "fs/promises", "path"),
      ...packages("@scure/bip32", "tiny-secp256k1", "tweetnacl"),
    ]),
    {
      name: "no-two-rooms-import-each-other",
      severity: "error",
      scope: "folder",
      from: { path: "^(protocol|notices|metrics|notify|chains|agent|client)(/|$)" },
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
      ...packages("ws", "@types/ws", "pino", "prom-client", "ethers"),
    ]),
    only("agent-socket", { path: "^agent/socket/" }, ["^protocol/", "^agent/socket/", ...pure, ...builtin("net", "fs", "path")]),
    {
      name: "gateway-never-imports-agent",
      severity: "error",
      from: { path: "^gateway/" },
      to: { path: "^(agent|cli|client|scripts)/" },
    },
    {
      name: "gateway-tells-through-the-notices-door-alone",
      severity: "error",
      from: { path: "^gateway/(?!telling/telling\\.ts$)" },
      to: { path: "^(notices/door|metrics/server)\\.ts$" },
    },
    {
      name: "agent-never-imports-gateway",
      severity: "error",
      from: { path: "^(agent|cli|client|protocol|notices|metrics|chains)/" },
      to: { path: "^gateway/" },
    },
    {
      name: "nothing-of-the-product-imports-the-simulation",
      severity: "error",
      from: { path: "^(protocol|notices|metrics|notify|chains|agent|cli|client|gateway)/" },
      to: { path: "^simulation/" },
    },
    only("notify", { path: "^notify/" }, ["^notify/", ...builtin("child_process")]),
    only("client", { path: "^client/" }, ["^protocol/", "^client/", ...pure]),
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
      from: offlineChain,
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
