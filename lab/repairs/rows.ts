/**
 * Each repair with the test that holds it and the patch that takes it out again. A repair whose
 * test stays green without it is no repair that anybody would miss.
 */

export interface Repair {
  /** Lower-case words with hyphens, unique. */
  readonly name: string;
  /** The fault that stood here, in one sentence. */
  readonly fault: string;
  /** File of the product, from the project's root, in which `find` stands exactly once. */
  readonly file: string;
  readonly find: string;
  /** The text that takes the mend out: the file still compiles. */
  readonly replace: string;
  /** Test file, from the project's root. */
  readonly test: string;
  /** Whole or partial title of a test of that file that fails without the mend. */
  readonly title: string;
}

export const repairs: readonly Repair[] = [
  {
    name: "output-without-a-reader",
    fault: "A line of the log or of a command, written after its reader had gone, ended the process.",
    file: "base/unread-output.ts",
    find: 'if (error.code !== "EPIPE") throw error;',
    replace: 'if (error.code !== "") throw error;',
    test: "test/cli/terminal.test.ts",
    title: "output that no reader is left for is dropped",
  },
  {
    name: "refused-connection-let-go",
    fault: "A refused connection kept its descriptor for as long as its other end did not close.",
    file: "base/close-soon.ts",
    find: "const timer = setTimeout(() => socket.destroy(), closeSoonMs);",
    replace: "const timer = setTimeout(() => socket.resume(), closeSoonMs);",
    test: "test/gateway/silent-connections.test.ts",
    title: "a connection that never closes and sends no HTTP is let go by the gateway",
  },
  {
    name: "refused-upgrade-let-go",
    fault: "The hub ended a refused upgrade and waited permanently for the other end to end too.",
    file: "gateway/hub/hub.ts",
    find: "      closeSoon(socket, ",
    replace: "      if (status !== closeSoon.name) socket.end(",
    test: "test/gateway/silent-connections.test.ts",
    title: "a link that never closes and has headers above the limit is let go by the hub",
  },
  {
    name: "unread-answer-let-go",
    fault: "A connection whose answer nobody read stayed permanently.",
    file: "gateway/api/server.ts",
    find: "connectionTimeout: silenceTimeoutMs,",
    replace: "connectionTimeout: 0 * silenceTimeoutMs,",
    test: "test/gateway/silent-connections.test.ts",
    title: "a connection that never closes and reads no answer is let go by the gateway",
  },
  {
    name: "silent-connections-bounded",
    fault: "One address block could hold every descriptor of the gateway without one whole request.",
    file: "gateway/api/connection-places.ts",
    find: "closed?.destroy();",
    replace: "closed?.resume();",
    test: "test/gateway/silent-connections.test.ts",
    title: "an address block holds 64 connections without a request",
  },
  {
    name: "agents-behind-one-address",
    fault: "Agents of one address that connected at the same moment cut each other off.",
    file: "gateway/auth/pending-connections.ts",
    find: "(isFull || !this.#isKnown(block))",
    replace: "(isFull || !this.#isKnown(block) || true)",
    test: "test/gateway/silent-connections.test.ts",
    title: "many agents of one address",
  },
  {
    name: "page-token-in-log",
    fault: "The token of a payment page stood in the gateway's log.",
    file: "gateway/api/server.ts",
    find: 'if (route.startsWith("/pay/"))',
    replace: 'if (route === "/pay/")',
    test: "test/gateway/logged-secrets.test.ts",
    title: "leaves out the token of a payment page under another spelling",
  },
  {
    name: "ready-of-a-neighbour",
    fault: "Everybody behind a proxy on the gateway's machine read the operator's view of /ready.",
    file: "gateway/auth/operator-view.ts",
    find: 'if (typeof header !== "string") return false;',
    replace: 'if (typeof header !== "string") return true;',
    test: "test/gateway/gateway-started.test.ts",
    title: "/ready says which of three nodes is out and since when",
  },
  {
    name: "names-told-to-a-key",
    fault: "A merchant's key learned which names the gateway's own name servers know.",
    file: "gateway/callbacks/guard.ts",
    find: "return faults.includes(reason) ? namelessForKey : reason;",
    replace: "return faults.length === 0 ? namelessForKey : reason;",
    test: "test/gateway/callbacks-by-key.test.ts",
    title: "does not tell a key which names",
  },
  {
    name: "nodes-asked-as-root",
    fault: "The check that a reload runs read the answers of nodes as root, outside of the sandbox.",
    file: "agent/check/main.ts",
    find: "becomeOwner(courierFolder);",
    replace: 'becomeOwner(courierFolder === "" ? "" : "/");',
    test: "test/cli/crypto-check.test.ts",
    title: "a check by root asks the nodes as the owner of the courier's folder",
  },
  {
    name: "full-disk-refuses",
    fault: "A full disk at a commit ended the gateway as if a sync had failed.",
    file: "gateway/store/library-errors.ts",
    find: "return code === fullCode || (code",
    replace: "return code === -fullCode || (code",
    test: "test/gateway/passing-faults.test.ts",
    title: "while it runs: GATEWAY_DISK_FULL",
  },
  {
    name: "full-disk-start",
    fault: "A start on a full disk ended with 2, so systemd never tried again.",
    file: "base/codes-gateway.ts",
    find: '"free space on that disk; nothing is damaged, and no backup is needed", "disk"],',
    replace: '"free space on that disk; nothing is damaged, and no backup is needed"],',
    test: "test/gateway/passing-faults.test.ts",
    title: "faults that pass have a row each",
  },
  {
    name: "exit-by-passing",
    fault: "The agent ended with 4 for a ledger without room.",
    file: "agent/launcher/exit-status.ts",
    find: "exitCode: isPassing ? exitCodes.no : (",
    replace: "exitCode: !isPassing && known === null ? exitCodes.no : (",
    test: "test/gateway/passing-faults.test.ts",
    title: "at a start: LEDGER_DISK_FULL",
  },
  {
    name: "held-file-remembered",
    fault: "Each write waited a second of its own for a database that another program held.",
    file: "gateway/store/writer.ts",
    find: 'if (this.trouble.isHeld && this.trouble.now() === "held") throw',
    replace: "if (this.trouble.isHeld && this.#isPoisoned) throw",
    test: "test/gateway/passing-faults.test.ts",
    title: "while it runs: GATEWAY_STORE_BUSY",
  },
  {
    name: "marks-half-line",
    fault: "A full disk left half a line in the marks, and the next line made the file unreadable.",
    file: "gateway/store/address-marks.ts",
    find: "          ftruncateSync(file, size);",
    replace: "          if (size < 0) ftruncateSync(file, size);",
    test: "test/gateway/passing-faults.test.ts",
    title: "while it runs: GATEWAY_MARKS",
  },
  {
    name: "no-free-file",
    fault: "A disk without a free file was told as a missing right, and ended the gateway with 2.",
    file: "gateway/store/disk.ts",
    find: 'if (hasNoRoom(path)) return "GATEWAY_DISK_FULL";',
    replace: 'if (path === "" && hasNoRoom(path)) return "GATEWAY_DISK_FULL";',
    test: "test/gateway/passing-faults.test.ts",
    title: "at a start: GATEWAY_DISK_FULL",
  },
  {
    name: "shared-memory-unknown",
    fault: "A commit without room for the shared memory may stand on disk.",
    file: "gateway/store/library-errors.ts",
    find: "code === fullCode ||",
    replace: "code === fullCode || code === 4874 ||",
    test: "test/gateway/store-together.test.ts",
    title: "no room for the shared memory",
  },
  {
    name: "alert-each-hour",
    fault: "Nobody was told of a gateway that does not run.",
    file: "gateway/reporting/down.ts",
    find: "const againMs = 3_600_000;",
    replace: "const againMs = 86_400_000;",
    test: "test/gateway/passing-faults.test.ts",
    title: "come at once, each hour",
  },
  {
    name: "units-tell",
    fault: "The unit started no alert for a failed try.",
    file: "systemd/autowithdraw-gateway.service",
    find: "success) act=stop ;; *) act=start",
    replace: "success) act=stop ;; *) act=stop",
    test: "test/install/systemd.test.ts",
    title: "tell of a gateway that failed",
  },
  {
    name: "one-xrp-network-in-a-written-config",
    fault: "A gateway with two networks of XRP wrote a config.json that the agent refuses.",
    file: "gateway/operator/agent-config.ts",
    find: "namesNetwork(chain.family) || isFirst(chain)",
    replace: 'namesNetwork(chain.family) || familyOf(chain.network).exclusion.kind !== "expiry" || isFirst(chain)',
    test: "test/gateway/preset-configs.test.ts",
    title: "writes a file that the agent takes for each pair of presets",
  },
  {
    name: "blocks-that-cannot-be-read-are-forgotten",
    fault:
      "A block that the nodes showed oddly for a moment stayed in the memory, and the chain's deposits stood still until a restart.",
    file: "chains/providers/kept-blocks.ts",
    find: "this.#forget(block);",
    replace: "if (this.#kept.size < 0) this.#forget(block);",
    test: "test/watcher/watcher-odd-blocks.test.ts",
    title: "is read when they show it right: EVM, a payment without its value",
  },
  {
    name: "receipts-that-cannot-be-read-are-not-kept",
    fault: "A receipt with an odd cost stayed in the memory, and its payout was judged by it until a restart.",
    file: "chains/evm/node-finality.ts",
    find: "seenLogsMax || !isRead(receipt)) return;",
    replace: 'seenLogsMax || (receipt.txHash === "" && !isRead(receipt))) return;',
    test: "test/watcher/watcher-odd-blocks.test.ts",
    title: "is no receipt to keep; one that can be read is",
  },
  {
    name: "payouts-are-read-whole-in-their-block",
    fault: "The sender of a payout was read after its block counted as read, so the block stayed in the memory.",
    file: "chains/evm/node-evidence.ts",
    find: "({ hash }) => hash === txHash, asPayout)",
    replace: "({ hash }) => hash === txHash, (one) => asPayout === undefined ? [] : [one.hash])",
    test: "test/watcher/watcher-odd-blocks.test.ts",
    title: "is read when they show it right: EVM, a payout with an odd sender",
  },
  {
    name: "tron-payouts-are-read-whole-in-their-block",
    fault: "The fields of a Tron payout were read after its block counted as read, so the block stayed in the memory.",
    file: "chains/tron/node-blocks.ts",
    find: "wholeOf(transactions.find((one) => one.txHash === txHash))",
    replace: "wholeOf(undefined) ?? transactions.find((one) => one.txHash === txHash)",
    test: "test/watcher/watcher-odd-blocks.test.ts",
    title: "is read when they show it right: Tron, a payout with an odd sender",
  },
];
