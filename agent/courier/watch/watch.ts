/**
 * Alerts new blocks of one chain and gathers their data for the scheduler in advance. Polls; the
 * interval follows the chain's own pace. A fault of the nodes is reported once, and so is its end.
 */

import { AgentError } from "../../../base/fault.ts";
import type { ChainState } from "../../../chains/nodes.ts";
import { type ChainAccess, headKey, troubleOf, troubleWords } from "../nodes/chain.ts";

export interface WatchOptions {
  readonly access: ChainAccess;
  readonly account: string;
  readonly pollMsMin: number;
  readonly pollMsMax: number;
  readonly clock: () => number; // monotonic
  /** Called at once with each new block; its state follows. */
  readonly onHead: (number: number) => void;
  readonly onChainState: (chainState: ChainState) => void;
  /** `words` is the text of the fault, with its code at the beginning. */
  readonly onAway: (code: string, words: string) => void;
  readonly onBug: (error: unknown) => void;
}

export interface Watch {
  close(): void;
}

/** Four polls to a block keep the delay below a quarter of it. */
const pollsPerBlock = 4;

/** Starts to poll at once. */
export function createWatch(options: WatchOptions): Watch {
  const { access, account, pollMsMin, pollMsMax } = options;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  let known = "";
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
  const poll = async (): Promise<void> => {
    try {
      const head = await access.nodes.tip();
      if (isClosed || (headKey(head) === known && awayCode === "")) return;
      pace(head.number);
      options.onHead(head.number);
      const chainState = await access.chainState(account);
      if (isClosed) return;
      known = headKey(head);
      awayCode = "";
      options.onChainState(chainState);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      const trouble = troubleOf(error);
      if (isClosed || awayCode === trouble) return;
      awayCode = trouble;
      options.onAway(trouble, troubleWords(error));
    }
  };
  const next = (): void => {
    if (isClosed) return;
    const intervalMs = blockMs === null ? pollMsMin : blockMs / pollsPerBlock;
    timer = setTimeout(run, Math.min(pollMsMax, Math.max(pollMsMin, intervalMs)));
  };
  const run = (): void => {
    poll().then(next).catch(options.onBug);
  };

  run();
  return {
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
