/**
 * Joins several nodes of one chain: decides the order of questions, the rest after a failure, the
 * exclusion of a node of another chain, and the number of nodes that must agree. An answer is only
 * trusted as far as the caller demands here. Knows no protocol: a family brings its clients.
 */
import { createHash } from "node:crypto";
import { AgentError } from "../../base/fault.ts";
import type { NodeStatus } from "../nodes.ts";
import { createGate, type Gate } from "./node-gate.ts";
import { Heads, type Link } from "./node-heads.ts";
import { inOrder } from "./node-order.ts";
import type { Client, PoolNode, PoolOptions } from "./pool-node.ts";
import { hourOf } from "./server.ts";
import { UnreadAnswers } from "./unread-answers.ts";

export type { Client, PoolNode, PoolOptions, Refusal } from "./pool-node.ts";

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
  sawHead(node: PoolNode<C>, number: number, atMs: number, link?: Link): void;
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
      heads: new Heads(),
      finals: new Heads(),
      ranges: null,
      hour: hourOf(options.servers?.[at]),
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
    throw fault ?? noNode();
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
            : (fault ?? noNode()),
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

export function noNode(): AgentError {
  return new AgentError("NODE_NONE", "none", "no node is configured");
}

/** The reason why too few nodes gave an answer: the first fault, if there is one. */
export function firstFault(settled: readonly SettledAnswer<unknown>[]): AgentError {
  for (const one of settled) if (!one.ok) return one.error;
  return noNode();
}
