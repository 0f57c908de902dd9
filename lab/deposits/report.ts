/** The settings of a run of deposits on one family, and its report. */
import type { Figures } from "./judge.ts";

export interface DepositFaults {
  readonly records: number; // deposit requests, on each family
  readonly kills: number;
  readonly seed: string;
  readonly blockMs: number; // between two blocks of either chain
  /** Names of the profiles of the two nodes; drawn by the seed unless told. */
  readonly profiles?: readonly [string, string];
  /** Else only what completes by itself, so that nobody waits for the end of a request's time. */
  readonly untilExpired: boolean;
  readonly say: (line: string) => void;
}

export interface DepositReport extends Figures {
  readonly family: string;
  readonly profiles: readonly string[]; // the nodes'
  readonly early: number; // addresses that were paid before they could be handed out
  readonly deposits: number;
  readonly payments: number; // transactions that people sent
  readonly kills: Readonly<Record<string, number>>;
  readonly reorganisations: number;
  readonly blocksReplaced: number;
  readonly paymentsMoved: number; // into another block
  readonly paymentsRedone: number;
  readonly paymentsLost: number;
  readonly ownDropped: number; // transactions of the agent's that a replaced block held, dropped
  readonly troubles: Readonly<Record<string, number>>; // by name, of nodes without a profile
  readonly seconds: number;
}
