/**
 * Watches a chain during a run: passes the nodes' reports to the scheduler, and the nodes'
 * availability to the status.
 */
import type { FeeMarket } from "../../chains/family.ts";
import type { ChainState, UnusableCoin } from "../../chains/nodes.ts";
import type { RunContext } from "./run-state.ts";
import { lostControl } from "./scheduler/accounts.ts";
import { asking, nodesDetail } from "./status.ts";
import { createWatch, type Watch } from "./watch/watch.ts";

/** Watches a deposit address while a sweep of it is open. The chain's own watch gives the rest. */
export function watchDeposit(
  { options, feed }: RunContext,
  chain: string,
  account: string,
): Watch | null {
  const access = options.chainAccess.get(chain);
  if (access === undefined) return null;
  return createWatch({
    access,
    account,
    pollMsMin: options.pollMs.min,
    pollMsMax: options.pollMs.max,
    clock: options.monotonic,
    isIdle: () => false,
    onBug: options.onBug,
    onHead: (number) => feed({ kind: "head", chain, account, number }),
    onChainState: (chainState) => feed({ kind: "block", chain, account, chainState }),
    onAway: (code) => feed({ kind: "away", chain, account, code }),
  });
}

/** Whether a currency of the chain is below the threshold of notify.lowFunds. */
function isLow({ alertMonitor, currencies }: RunContext["options"], chain: string): boolean {
  return (
    alertMonitor?.lowFunds().some(({ currency }) => currencies[currency]?.chain === chain) === true
  );
}

const partNames = {
  market: "the market's price",
  funds: "the account's funds",
  control: "the account's own state",
} as const;

/** What lacks beside blocks that are read, each with its code. */
function partWords({ unread }: ChainState): readonly string[] {
  return [...(unread ?? [])].map(
    ([part, { code, message }]) => `${code}: ${partNames[part]} cannot be read: ${message}`,
  );
}

/** Watches a hot wallet on one chain. Returns null if no nodes are configured for it. */
export function watchChain(
  { options, feed, state, tellStatus, isIdle }: RunContext,
  chain: string,
  account: string,
): Watch | null {
  const access = options.chainAccess.get(chain);
  if (access === undefined) return null;
  const { log, metrics, pollMs, onBug } = options;
  const known = {
    away: asking,
    awayWords: "",
    block: 0,
    nativeBalance: "",
    feeMarket: null as FeeMarket | null,
    balances: new Map<string, bigint>() as ReadonlyMap<string, bigint>,
    unfit: new Map<string, string>() as ReadonlyMap<string, string>,
    unread: [] as readonly string[],
    lost: "" as ReturnType<typeof lostControl>,
    unusable: "",
  };
  state.chains.set(chain, known);
  return createWatch({
    access,
    account,
    pollMsMin: pollMs.min,
    pollMsMax: pollMs.max,
    clock: options.monotonic,
    isIdle: () => isIdle(chain),
    isShort: () => known.nativeBalance === "0" || isLow(options, chain),
    onBug,
    onHead(number) {
      metrics.count("blocks");
      known.block = number;
      feed({ kind: "head", chain, number });
    },
    onChainState(chainState) {
      const isBack = known.away !== "";
      if (isBack)
        log.info(
          { event: "chain-answers", chain, block: chainState.number },
          "the chain's nodes answer",
        );
      const lost = lostControl(chainState);
      if (lost !== "" && known.lost === "")
        log.error({ event: "account-code", code: lost, chain, account }, "an operator must look");
      known.away = "";
      known.awayWords = "";
      known.block = chainState.number;
      known.lost = lost;
      known.nativeBalance = `${chainState.balances.get("") ?? ""}`;
      known.balances = chainState.balances;
      known.feeMarket = chainState.feeMarket;
      known.unfit = chainState.unfit;
      known.unusable = unusableWords(chainState.unusable ?? []);
      known.unread = partWords(chainState);
      feed({ kind: "block", chain, chainState });
      if (isBack) tellStatus();
    },
    onAway(code, words) {
      metrics.count("nodeFaults");
      known.away = code;
      known.awayWords = words;
      const detail = words.replace(/^[A-Z_]+: /, "");
      log.warn(
        {
          event: "chain-away",
          chain,
          code,
          detail,
          nodes: nodesDetail(access, chain, options.clock()),
        },
        "the chain's nodes do not answer",
      );
      feed({ kind: "away", chain, code });
      tellStatus();
    },
  });
}

/** Says which coins of the hot wallet no payment spends; "" for none. */
function unusableWords(coins: readonly UnusableCoin[]): string {
  const [first] = coins;
  if (first === undefined) return "";
  const units = coins.reduce((sum, coin) => sum + coin.units, 0n);
  const count = coins.length === 1 ? "1 coin" : `${coins.length} coins`;
  return `${count} of ${units} units in all left out of what is available, such as ${first.id}: ${first.words}`;
}
