/**
 * Joins several nodes of one chain: decides the order of questions, the rest after a failure, the
 * exclusion of a node of another chain, and the number of nodes that must agree. An answer is only
 * trusted as far as the caller demands here. Knows no protocol: a family brings its clients.
 */
import { createHash } from "node:crypto";
import { AgentError } from "../../base/fault.ts";
import { comparedHeight } from "../heights.ts";
import type { NodeStatus } from "../nodes.ts";
import { type HeadHashes, NodeHeads } from "./node-heads.ts";
import type { Client, PoolNode, PoolOptions } from "./pool-node.ts";
import { hourCountOf } from "./server.ts";

/*
 * Answers that could not be read. An answer about transactions of others is a server's failure
 * only if another server reads its own answer to the same question: else the item is odd, and not
 * the server. Touches nothing itself.
 */

type AnswerSettlement = { readonly ok: true } | { readonly ok: false; readonly error: AgentError };

/** Faults of an answer that came. */
const ofAnswer: ReadonlySet<string> = new Set(["NODE_ANSWER", "CHAIN_NO_EIP1559"]);

class UnreadAnswers<N> {
  readonly #fail: (node: N, error: AgentError) => void;
  readonly #unread = new WeakMap<AgentError, N>();

  constructor(fail: (node: N, error: AgentError) => void) {
    this.#fail = fail;
  }

  /** Takes the fault of a reader, and returns it. */
  take(node: N, error: AgentError, isOfOthers: boolean): AgentError {
    if (!ofAnswer.has(error.code)) return error;
    if (isOfOthers) this.#unread.set(error, node);
    else this.#fail(node, error);
    return error;
  }

  /** Another node has read its answer: each of these faults is its node's failure. */
  blame(faults: readonly AgentError[]): void {
    for (const fault of faults) {
      const node = this.#unread.get(fault);
      if (node !== undefined) this.#fail(node, fault);
      this.#unread.delete(fault);
    }
  }

  /** Settles the blame when all nodes have answered. A bug is the caller's. */
  async settle(answers: readonly Promise<AnswerSettlement>[]): Promise<void> {
    const all = await Promise.allSettled(answers);
    const settled = all.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    if (settled.some(({ ok }) => ok))
      this.blame(settled.flatMap((one) => (one.ok ? [] : [one.error])));
  }
}

/* The order in which the nodes of a chain are asked. Pure. */

interface AskedNode {
  readonly restUntil: number; // by the pool's clock
  readonly heads: NodeHeads;
}

/** Nodes in the order in which they are asked. */
function inOrder<N extends AskedNode>(nodes: readonly N[], nowMs: number): readonly N[] {
  // Among nodes that answer, those that lack blocks come last, because their answers are old.
  const height = comparedHeight(nodes.flatMap(({ heads }) => heads.number ?? [])) ?? 0;
  const blockMs = nodes.reduce<number | null>((known, { heads }) => known ?? heads.blockMs, null);
  const rank = ({ restUntil, heads }: N): number =>
    restUntil > nowMs ? 2 : heads.isBehind(height, blockMs) ? 1 : 0;
  // At one height, a head comes first that stands on a block of another node too.
  const isJoined = (node: N): boolean =>
    nodes.some((other) => other !== node && node.heads.isJoinedTo(other.heads));
  const isApart = (node: N): boolean =>
    !isJoined(node) &&
    nodes.some((other) => other.heads.number === node.heads.number && isJoined(other));
  const place = new Map(nodes.map((node) => [node, rank(node) + (isApart(node) ? 0.5 : 0)]));
  return [...nodes].sort((a, b) => (place.get(a) ?? 0) - (place.get(b) ?? 0));
}

/*
 * Lets a question through only to a node that serves the right chain, that its provider did not ask
 * for a pause, and that its hour still allows; and remembers how each node does. Knows no protocol.
 */

const restFirstMs = 1_000;
const restMaxMs = 30_000;
interface Gate<C extends Client> {
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
function createGate<C extends Client, A>({
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

export type { Client, PoolNode, PoolOptions, ProviderRefusal } from "./pool-node.ts";

export type SettledAnswer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: AgentError };

export interface NodePool<C extends Client> extends Omit<Gate<C>, "check"> {
  readonly nodes: readonly PoolNode<C>[];
  readonly quorumMin: number; // min(2, configured)
  /**
   * A newest head that the node showed. `atMs` is the block's own time, 0 for unknown; `link` joins
   * it to the blocks of other nodes.
   */
  sawHead(node: PoolNode<C>, number: number, atMs: number, link?: HeadHashes): void;
  /** A final block that the node has reached; as `sawHead`. */
  sawFinal(node: PoolNode<C>, number: number, atMs: number): void;
  /**
   * Asks each awake node without a recent head for its head, and does not wait for the answers. An
   * answer goes to `sawHead`.
   */
  lookAround(askHead: (node: PoolNode<C>) => Promise<unknown>): void;
  /**
   * The fault of an answer that could not be read, as it is thrown on. An answer about transactions
   * of others (`isOfOthers`) is the node's failure only if another node reads its own; every other
   * answer is at once.
   */
  unreadable(node: PoolNode<C>, error: AgentError, isOfOthers: boolean): AgentError;
  /**
   * Asks one node after the other until one has the answer; null if all that answered returned
   * null. @throws the first fault
   */
  first<T>(job: (node: PoolNode<C>) => Promise<T | null>): Promise<T | null>;
  /**
   * Asks every node that is not resting, or all nodes if those would be too few. With `graceMs`,
   * leaves out nodes that have not answered by this time after enough others.
   */
  all<T>(
    job: (node: PoolNode<C>) => Promise<T>,
    graceMs?: number,
  ): Promise<readonly SettledAnswer<T>[]>;
  /**
   * Resolves when `quorumMin` nodes gave answers with the same key. @throws NODE_DISAGREE, or a
   * fault when too few answered
   */
  agree<T>(
    job: (node: PoolNode<C>) => Promise<T>,
    keyOf: (value: T) => string,
    what: string,
  ): Promise<T>;
  /** Asks every node for its chain. @throws the first fault when no node is right */
  checkChain(): Promise<void>;
  status(): readonly NodeStatus[];
  close(): void;
}

/** A head counts as known for this time after the node showed it. */
const headKnownMs = 5_000;

export function createNodePool<C extends Client, A>(options: PoolOptions<C, A>): NodePool<C> {
  const nodes = options.clients.map(
    (rpc, at): PoolNode<C> => ({
      rpc,
      chain: "unchecked",
      checking: null,
      failures: 0,
      asked: 0,
      failedAt: 0,
      outAt: null,
      restUntil: 0,
      quiet: null,
      detail: "not asked yet",
      heads: new NodeHeads(),
      finals: new NodeHeads(),
      ranges: null,
      hour: hourCountOf(options.servers?.[at]),
    }),
  );
  const quorumMin = Math.min(2, nodes.length);
  const gate = createGate(options);
  const asking = new Set<PoolNode<C>>(); // for their heads
  const unread = new UnreadAnswers(gate.fail);

  const ordered = (): readonly PoolNode<C>[] => inOrder(nodes, options.clock());

  function chosen(): readonly PoolNode<C>[] {
    const awake = nodes.filter((node) => node.restUntil <= options.clock());
    return awake.length >= quorumMin ? awake : nodes;
  }

  async function first<T>(job: (node: PoolNode<C>) => Promise<T | null>): Promise<T | null> {
    let fault: AgentError | null = null;
    let hasAnswer = false;
    const faults: AgentError[] = [];
    for (const node of ordered()) {
      const settled = await settlePromise(job(node));
      if (!settled.ok) {
        fault ??= settled.error;
        faults.push(settled.error);
      } else if (settled.value !== null) {
        unread.blame(faults);
        return settled.value;
      } else hasAnswer = true;
    }
    if (hasAnswer) return null;
    throw fault ?? noNodeFault();
  }

  return {
    nodes,
    quorumMin,
    exchange: gate.exchange,
    fail: gate.fail,
    unreadable: (node, error, isOfOthers) => unread.take(node, error, isOfOthers),
    sawHead: (node, number, atMs, link) => node.heads.saw(number, atMs, options.clock(), link),
    sawFinal: (node, number, atMs) => node.finals.saw(number, atMs, options.clock()),
    lookAround: (askHead) => {
      const nowMs = options.clock();
      for (const node of nodes) {
        if (
          node.restUntil > nowMs ||
          node.heads.isKnownSince(headKnownMs, nowMs) ||
          asking.has(node)
        )
          continue;
        asking.add(node);
        // A bug in the question is also a bug of the caller, which asks the same question itself.
        void Promise.allSettled([askHead(node)]).then(() => asking.delete(node));
      }
    },
    first,
    all: (job, graceMs) => {
      const answers = chosen().map((node) => settlePromise(job(node)));
      void unread.settle(answers);
      return graceMs === undefined ? Promise.all(answers) : mostOf(answers, quorumMin, graceMs);
    },
    agree: (job, keyOf, what) => {
      const some = chosen();
      const answers = some.map((node) => settlePromise(job(node)));
      void unread.settle(answers);
      return agreement(answers, keyOf, {
        min: quorumMin,
        what,
        names: some.map(({ rpc }) => rpc.origin),
      });
    },
    checkChain: async () => {
      const checks = await Promise.all(nodes.map((node) => settlePromise(gate.check(node))));
      const fault = checks.find((check) => !check.ok);
      if (fault !== undefined && !fault.ok && !checks.some((check) => check.ok)) throw fault.error;
    },
    status: () => nodes.map((node) => statusOf(node, options.clock())),
    close: () => {
      for (const node of nodes) node.rpc.close();
    },
  };
}

function statusOf(node: PoolNode<Client>, nowMs: number): NodeStatus {
  const { rpc, chain, failures, outAt, detail, heads, finals, ranges } = node;
  const refusal = rpc.refusal?.() ?? null;
  const head = heads.view(nowMs);
  const hour = node.hour?.view(nowMs) ?? null;
  const shown = {
    url: rpc.origin,
    block: head?.number ?? null,
    head,
    final: finals.view(nowMs),
    ranges,
    hour,
  };
  if (chain === "right" && failures === 0 && refusal === null)
    return { ...shown, ok: true, detail: "", outForMs: null };
  const failedForMs = outAt === null ? null : nowMs - outAt;
  const outForMs = refusal === null ? failedForMs : Math.max(refusal.forMs, failedForMs ?? 0);
  return { ...shown, ok: false, detail: refusal?.detail ?? detail, outForMs };
}

/** Only faults of the world outside are values here; a bug is thrown on. */
export async function settlePromise<T>(promise: Promise<T>): Promise<SettledAnswer<T>> {
  try {
    return { ok: true, value: await promise };
  } catch (error) {
    if (error instanceof AgentError) return { ok: false, error };
    throw error;
  }
}

/** The answers that settled until enough had succeeded, and for `graceMs` after that. */
function mostOf<T>(
  answers: readonly Promise<SettledAnswer<T>>[],
  min: number,
  graceMs: number,
): Promise<readonly SettledAnswer<T>[]> {
  return new Promise((resolve, reject) => {
    const settled: SettledAnswer<T>[] = [];
    let timer: NodeJS.Timeout | null = null;
    const end = (): void => {
      if (timer !== null) clearTimeout(timer);
      resolve([...settled]);
    };
    const count = (one: SettledAnswer<T>): void => {
      settled.push(one);
      if (settled.length === answers.length) end();
      else if (settled.filter(({ ok }) => ok).length === min) timer ??= setTimeout(end, graceMs);
    };
    for (const answer of answers) answer.then(count).catch(reject);
    if (answers.length === 0) end();
  });
}

function agreement<T>(
  answers: readonly Promise<SettledAnswer<T>>[],
  keyOf: (value: T) => string,
  {
    min,
    what,
    names,
  }: { readonly min: number; readonly what: string; readonly names: readonly string[] },
): Promise<T> {
  return new Promise((resolve, reject) => {
    const votes = new Map<string, number>();
    const said = new Map<number, string>();
    let open = answers.length;
    let answered = 0;
    let fault: AgentError | null = null;
    const count = (settled: SettledAnswer<T>, at: number): void => {
      open -= 1;
      if (settled.ok) {
        answered += 1;
        const key = keyOf(settled.value);
        said.set(at, key);
        votes.set(key, (votes.get(key) ?? 0) + 1);
        if ((votes.get(key) ?? 0) >= min) resolve(settled.value);
      } else fault ??= settled.error;
      if (open === 0)
        reject(
          answered >= min
            ? disagreementFault(what, votes.size, saidBy(names, said))
            : (fault ?? noNodeFault()),
        );
    };
    for (const [at, answer] of answers.entries())
      answer.then((settled) => count(settled, at)).catch(reject);
  });
}

/** `said`: what each node says, for the operator; "" where that is told elsewhere. */
export function disagreementFault(what: string, versions: number, said = ""): AgentError {
  const words = `the nodes do not agree on the ${what}${said === "" ? "" : `: ${said}`}`;
  return new AgentError("NODE_DISAGREE", "none", words, { what, versions });
}

/** So much of an answer is shown; of longer ones a digest stands behind. */
const saidMax = 60;

function saidBy(names: readonly string[], said: ReadonlyMap<number, string>): string {
  const shown = (key: string): string =>
    key.length <= saidMax
      ? key
      : `${key.slice(0, saidMax)}… (${createHash("sha256").update(key).digest("hex").slice(0, 8)})`;
  return [...said]
    .sort(([a], [b]) => a - b)
    .map(([at, key]) => `${names[at]} says ${shown(key.replace(/[^\x20-\x7e]+/g, " "))}`)
    .join(", ");
}

export function noNodeFault(): AgentError {
  return new AgentError("NODE_NONE", "none", "no node is configured");
}

/** The reason why too few nodes gave an answer: the first fault, if there is one. */
export function firstFault(settled: readonly SettledAnswer<unknown>[]): AgentError {
  for (const one of settled) if (!one.ok) return one.error;
  return noNodeFault();
}
