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
];
