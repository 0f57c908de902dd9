/**
 * Finds new blocks of one chain and gathers their data for the scheduler in advance. Polls; the
 * interval follows the chain's own pace, and a job ends it at once. While the account is idle, only
 * the head is asked for, once a block, and the rest once a minute, or every few seconds while funds
 * are missing. A fault of the nodes is reported once, and so is its end.
 */

import { AgentError } from "../../../base/fault.ts";
import { lookPauseMs } from "../../../chains/look-pause.ts";
import type { ChainState } from "../../../chains/nodes.ts";
import { type ChainAccess, describeNodeFault, explainNodeFault, headKey } from "../nodes/chain.ts";

export interface ChainPollingOptions {
  readonly access: ChainAccess;
  readonly account: string;
  readonly pollMsMin: number;
  readonly pollMsMax: number; // more on a chain whose blocks take minutes
  readonly clock: () => number; // monotonic
  /** Runs something later, and returns what takes it back; by default setTimeout. */
  readonly wait?: (run: () => void, ms: number) => () => void;
  /** True while no withdrawal of the account is open or expected. */
  readonly isIdle: () => boolean;
  /** True while operators are alerted that the account has too little; by default never. */
  readonly isShort?: () => boolean;
  /** Called at once with each new block; its state follows. */
  readonly onHead: (number: number) => void;
  readonly onChainState: (chainState: ChainState) => void;
  /** `words` is the text of the fault, with its code at the beginning. */
  readonly onAway: (code: string, words: string) => void;
  readonly onBug: (error: unknown) => void;
}

export interface ChainPolling {
  /** Reads the chain's state at once, in full, also for a head whose state is known. */
  wake(): void;
  close(): void;
}

/** Four polls to a block keep the delay below a quarter of it. */
const pollsPerBlock = 4;
/**
 * Bounds of the interval while idle, and the time between two states, which only operators read.
 */
const idleMsMin = 1000;
const idleMsMax = 12_000;
const idleStateMs = 60_000;
/** An operator who sends funds looks for them soon. */
const shortStateMs = 3000;

function waitByTimer(run: () => void, ms: number): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

/** Starts to poll at once. */
export function startChainPolling(options: ChainPollingOptions): ChainPolling {
  const { access, account, pollMsMin, pollMsMax, wait = waitByTimer } = options;
  let isClosed = false;
  let isPolling = false;
  let isWoken = false;
  let takeBack = (): void => {};
  let seen = ""; // the newest head
  let known = ""; // the head whose state was passed on
  let knownAtMs = 0;
  let awayCode = "";
  let last: { readonly number: number; readonly atMs: number } | null = null;
  let blockMs: number | null = null;

  /**
   * Uses our own clock, because the chain's counts only seconds, and some chains' clocks run ahead.
   */
  const pace = (number: number): void => {
    const atMs = options.clock();
    if (last !== null && number > last.number) {
      const seenMs = (atMs - last.atMs) / (number - last.number);
      blockMs = blockMs === null ? seenMs : blockMs * 0.8 + seenMs * 0.2;
    }
    last = { number, atMs };
  };
  const isWanted = (head: string): boolean => {
    if (awayCode !== "" || known === "") return true;
    const stateMs = options.isShort?.() === true ? shortStateMs : idleStateMs;
    return head !== known && (!options.isIdle() || options.clock() - knownAtMs >= stateMs);
  };
  const poll = async (): Promise<void> => {
    try {
      const early = isWoken ? access.chainState(account) : null;
      isWoken = false;
      // A woken watch asks for both at once, because a withdrawal waits.
      const [head, earlyState] = await Promise.all([access.nodes.tip(), early]);
      if (isClosed) return;
      const key = headKey(head);
      if (key !== seen) {
        seen = key;
        pace(head.number);
        options.onHead(head.number);
      }
      if (earlyState === null && !isWanted(key)) return;
      const chainState = earlyState ?? (await access.chainState(account));
      if (isClosed) return;
      // Another machine of a node may have answered with the state of an earlier head.
      known = chainState.number < head.number || chainState.unread !== undefined ? "" : key;
      knownAtMs = options.clock();
      awayCode = "";
      options.onChainState(chainState);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      const trouble = describeNodeFault(error);
      if (isClosed || awayCode === trouble) return;
      awayCode = trouble;
      options.onAway(trouble, explainNodeFault(error));
    }
  };
  const intervalMs = (): number => {
    if (isWoken) return 0;
    const usualMs = options.access.blockMs ?? blockMs;
    const longMs = lookPauseMs(usualMs);
    if (awayCode === "" && options.isIdle())
      return Math.min(Math.max(idleMsMax, longMs), Math.max(idleMsMin, pollMsMin, usualMs ?? 0));
    return Math.min(
      Math.max(pollMsMax, longMs),
      Math.max(pollMsMin, usualMs === null ? pollMsMin : usualMs / pollsPerBlock),
    );
  };
  const next = (): void => {
    isPolling = false;
    if (!isClosed) takeBack = wait(run, intervalMs());
  };
  const run = (): void => {
    isPolling = true;
    poll().then(next).catch(options.onBug);
  };

  run();
  return {
    wake() {
      isWoken = true;
      if (isPolling || isClosed) return;
      takeBack();
      run();
    },
    close() {
      isClosed = true;
      takeBack();
    },
  };
}
