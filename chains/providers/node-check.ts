/**
 * Examines one server before any process depends on it: its chain, its height, the time of its
 * blocks, the decimals of the tokens, and the questions that it answers. Bounded in time and
 * questions. A question without an answer is part of the view, never an error. A family brings its
 * questions and what needs them. Reaches the network only through them.
 */
import { AgentError } from "../../base/fault.ts";
import type { MissingAnswer, NodeView } from "../nodes.ts";
import type { Client, NodePool } from "./node-pool.ts";

type OnePool<N> = Pick<NodePool<Client>, "status" | "close"> & {
  first<T>(job: (node: N) => Promise<T | null>): Promise<T | null>;
};

/** What a family asks one server. `P`: a pool of this server alone; `H`: its newest head. */
export interface FamilyExamination<P extends OnePool<N>, N, H extends { readonly number: number }> {
  readonly open: () => P;
  readonly newest: (pool: P, node: N) => Promise<H | null>;
  readonly atMsOf: (head: H) => number; // the head's own time
  readonly hashAt: (pool: P, node: N, number: number) => Promise<string | null>;
  /** The questions that the server does not answer. Rejects only for bugs. */
  readonly lacksOf: (pool: P, head: H) => Promise<readonly MissingAnswer[]>;
  /** Milliseconds between two blocks by the newest ones. */
  readonly paceOf?: (pool: P, node: N, head: H) => Promise<number | null>;
  /** Below 0 for a contract that is no token. */
  readonly decimalsOf?: (pool: P, node: N, contract: string) => Promise<bigint>;
}

/** An examination whose pool is its family's own business. */
export interface NodeExaminer {
  look(contracts: readonly string[]): Promise<NodeView>;
  hashAt(number: number): Promise<string>;
}

const decimalsMax = 255n;

export function examineNode<P extends OnePool<N>, N, H extends { readonly number: number }>(
  of: FamilyExamination<P, N, H>,
): NodeExaminer {
  return {
    look: async (contracts) => {
      const pool = of.open();
      const url = pool.status()[0]?.url ?? "";
      try {
        const head = await pool.first((node) => of.newest(pool, node));
        if (head === null)
          throw new AgentError("NODE_NO_BLOCK", "none", "the node has no newest block");
        const answers = await Promise.all(
          contracts.map((contract) => decimalsOf(of, pool, contract)),
        );
        const tokens = contracts.flatMap((contract, at) => {
          const decimals = answers[at] ?? null;
          return decimals === null ? [] : [{ contract, decimals }];
        });
        const blockMs = await orNull(() =>
          pool.first(async (node) => (await of.paceOf?.(pool, node, head)) ?? null),
        );
        const lacks = await of.lacksOf(pool, head);
        return {
          url,
          code: "",
          detail: "",
          block: head.number,
          blockAtMs: of.atMsOf(head),
          blockMs,
          lacks,
          tokens,
        };
      } catch (error) {
        if (!(error instanceof AgentError)) throw error;
        const detail = pool.status()[0]?.detail.replace(/^[A-Z_]+: /, "") || error.message;
        return {
          url,
          code: error.code,
          detail,
          block: 0,
          blockAtMs: 0,
          blockMs: null,
          lacks: [],
          tokens: [],
        };
      } finally {
        pool.close();
      }
    },
    hashAt: async (number) => {
      const pool = of.open();
      const hash = await orNull(() => pool.first((node) => of.hashAt(pool, node, number)));
      pool.close();
      return hash ?? "";
    },
  };
}

async function orNull<T>(ask: () => Promise<T | null>): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof AgentError) return null;
    throw error;
  }
}

/** Null if the node did not answer; -1 if the answer is no number of decimals. */
async function decimalsOf<P extends OnePool<N>, N, H extends { readonly number: number }>(
  of: FamilyExamination<P, N, H>,
  pool: P,
  contract: string,
): Promise<number | null> {
  try {
    const decimals =
      (await pool.first(async (node) => (await of.decimalsOf?.(pool, node, contract)) ?? null)) ??
      -1n;
    return decimals >= 0n && decimals <= decimalsMax ? Number(decimals) : -1;
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    // A node's error about this call is the contract's answer; any other error is a failure of the
    // node.
    return error.code === "NODE_ERROR" ? -1 : null;
  }
}

/** Asks one server the questions of the work, and keeps those without an answer. */
export class MissingAnswers<N, Q> {
  readonly found: MissingAnswer[] = [];
  readonly #ask: (question: Q) => Promise<unknown>;

  /** `ask` asks the server in question. */
  constructor(node: N, ask: (node: N, question: Q) => Promise<unknown>) {
    this.#ask = (question) => ask(node, question);
  }

  /** Null without an answer. */
  async put<T>(
    neededBy: MissingAnswer["neededBy"],
    question: string,
    ask: () => Promise<T>,
    isOptional = false,
  ): Promise<T | null> {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      this.found.push({ question, neededBy, isOptional, code: error.code, words: error.message });
      return null;
    }
  }

  ask<T>(
    neededBy: MissingAnswer["neededBy"],
    question: string,
    asked: Q & { readonly read: (answer: never) => T },
    isOptional = false,
  ) {
    return this.put(neededBy, question, () => this.#ask(asked) as Promise<T>, isOptional);
  }
}
