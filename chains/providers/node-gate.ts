/**
 * Lets a question through only to a node that serves the right chain, that its provider did not ask
 * for a pause, and that its hour still allows; and remembers how each node does. Knows no protocol.
 */
import { AgentError } from "../../base/fault.ts";
import type { Client, PoolNode, PoolOptions } from "./pool-node.ts";

const restFirstMs = 1_000;
const restMaxMs = 30_000;
export interface Gate<C extends Client> {
  /**
   * One exchange with one node, after a check that the node serves the right chain. A read waits
   * for no node that was asked as often as its hour allows; a write is sent in any case. @throws
   * NODE_WRONG_CHAIN, NODE_QUOTA, or the fault of the exchange
   */
  exchange<T>(
    node: PoolNode<C>,
    talk: (client: C) => Promise<T>,
    use?: "read" | "write",
  ): Promise<T>;
  /**
   * Counts a failure that the node's answer showed. A fault with `quietMs` in its context stops
   * questions to the node for that time; 0 means until the end of its rest.
   */
  fail(node: PoolNode<C>, error: AgentError): void;
  check(node: PoolNode<C>): Promise<void>;
}

/**
 * Lets a question through only to a node that serves the right chain, and remembers how each node
 * does.
 */
export function createGate<C extends Client, A>({
  chain,
  askChain,
  chainOf,
  cureOf,
  log,
  clock,
}: PoolOptions<C, A>): Gate<C> {
  async function talk<T>(node: PoolNode<C>, exchange: (client: C) => Promise<T>): Promise<T> {
    node.asked += 1;
    node.hour?.asked(clock());
    const number = node.asked;
    try {
      const answer = await exchange(node.rpc);
      // An answer that was under way when another question failed does not end the rest.
      if (number <= node.failedAt) return answer;
      if (node.failures > 0) log("node-recovered", { node: node.rpc.origin });
      node.failures = 0;
      node.quiet = null;
      if (node.chain !== "wrong") {
        node.restUntil = 0;
        node.outAt = null;
      }
      return answer;
    } catch (error) {
      if (error instanceof AgentError && error.code !== "NODE_CLOSED") fail(node, error);
      throw error;
    }
  }

  function fail(node: PoolNode<C>, error: AgentError): void {
    const nowMs = clock();
    // One cause refuses all questions under way, so their failures are one.
    if (node.failures === 0 || node.restUntil <= nowMs) node.failures += 1;
    node.failedAt = node.asked;
    node.outAt ??= nowMs;
    node.detail = `${error.code}: ${error.message}`;
    const restMs = Math.min(restMaxMs, restFirstMs * 2 ** Math.min(node.failures - 1, 10));
    const { quietMs } = error.context;
    const isQuiet = typeof quietMs === "number";
    node.restUntil = nowMs + Math.max(restMs, isQuiet ? quietMs : 0);
    if (isQuiet) node.quiet = { untilMs: node.restUntil, fault: error };
    // After a failure, another machine may stand behind the same address.
    if (node.chain === "right") node.chain = "unchecked";
    if (node.failures === 1)
      log("node-failed", { node: node.rpc.origin, code: error.code, message: error.message });
  }

  async function compare(node: PoolNode<C>): Promise<void> {
    const answered = chainOf(await talk(node, askChain), node.rpc);
    if (answered === chain) {
      node.chain = "right";
      node.restUntil = 0;
      node.outAt = null;
      return;
    }
    if (node.chain !== "wrong")
      log("node-wrong-chain", { node: node.rpc.origin, expected: chain, answered });
    node.chain = "wrong";
    node.outAt ??= clock();
    const cure = cureOf?.(answered) ?? "";
    node.detail = `NODE_WRONG_CHAIN: chain id ${answered} instead of ${chain}${cure === "" ? "" : `; ${cure}`}`;
    node.restUntil = clock() + restMaxMs;
    throw wrongChain(node, cure);
  }

  /** @throws NODE_QUOTA until a question is within the hour's limit again */
  function refuseAboveHour(node: PoolNode<C>): void {
    const quietMs = node.hour?.waitMs(clock()) ?? 0;
    if (quietMs === 0) return;
    const words = `${node.hour?.view(clock()).perHour} questions in the last hour, the most that questionsPerHour allows`;
    const fault = new AgentError("NODE_QUOTA", "none", words, { node: node.rpc.origin, quietMs });
    fail(node, fault);
    throw fault;
  }

  function check(node: PoolNode<C>): Promise<void> {
    node.checking ??= compare(node).finally(() => {
      node.checking = null;
    });
    return node.checking;
  }

  return {
    check,
    fail,
    exchange: async (node, exchange, use = "read") => {
      if (node.chain === "wrong" && node.restUntil > clock()) throw wrongChain(node);
      // No byte leaves, so a write is surely unsent.
      if (node.quiet !== null && node.quiet.untilMs > clock()) throw stillQuiet(node.quiet.fault);
      if (use === "read") refuseAboveHour(node);
      if (node.chain !== "right") await check(node);
      return talk(node, exchange);
    },
  };
}

function stillQuiet({ code, message, context }: AgentError): AgentError {
  return new AgentError(code, "none", message, context);
}

function wrongChain(node: PoolNode<Client>, cure = ""): AgentError {
  const words =
    cure === ""
      ? "the node serves another chain"
      : `the node does not say that it serves the chain: ${cure}`;
  return new AgentError("NODE_WRONG_CHAIN", "none", words, { node: node.rpc.origin });
}
