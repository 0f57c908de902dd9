/**
 * The interface of the stream `restored` to a family's chain: that of the stream `steps`, as far as
 * nobody is killed at a step, and how long the chain needs until everything that waits is final.
 */
import type { StepsChain } from "../steps/chain.ts";

type Steps =
  | "id"
  | "chainName"
  | "decimal"
  | "unit"
  | "fees"
  | "served"
  | "fund"
  | "receiver"
  | "goesOn"
  | "judge"
  | "close";

export interface RestoredChain extends Pick<StepsChain, Steps> {
  /** The whole system has started on it and its local EVM chain. */
  begins?(evmUrl: string): Promise<void>;
  /** Members of the chain in the agent's config.json. */
  readonly agentLines?: Readonly<Record<string, unknown>>;
}

export interface OpenedChain {
  readonly chain: RestoredChain;
  /** Milliseconds in which everything that the nodes have taken becomes final. */
  readonly finalMs: number;
  /** Runs on one started system; a chain with a clock of its own may not pass the machine's. */
  readonly runsMax: number;
  readonly words: string; // the chain, for people
}
