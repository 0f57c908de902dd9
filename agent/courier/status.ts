/** The courier's view of the outside for the signer, so `status` has only one source. */
import { feeMarketTexts } from "../../chains/fee-market.ts";
import type { ChainHealth } from "../../chains/health.ts";
import type { NodeStatus } from "../../chains/nodes.ts";
import type { CourierNode } from "../socket/courier-status.ts";
import { type CourierStatus, statusTextMax } from "../socket/verbs.ts";
import type { Snapshot } from "./events/snapshot.ts";
import type { ChainAccess } from "./nodes/chain.ts";
import type { KnownChain, RunContext } from "./run-state.ts";
import { accountKey } from "./scheduler/accounts.ts";
import type { SchedulerState } from "./scheduler/scheduler.ts";
import { stoppedCurrenciesOn } from "./scheduler/stops.ts";
import { listWaitingItems } from "./scheduler/waiting.ts";

/** Stands instead of a fault of the nodes until the first of them has answered or failed. */
export const stillAskingDetail = "asking";
export function statusOf(
  { options, state }: Pick<RunContext, "options" | "state">,
  waits: CourierStatus["waiting"],
  unbegun: NonNullable<CourierStatus["unbegun"]> = [],
): CourierStatus {
  return {
    at: options.clock(),
    link: state.link,
    linkDetail: clip(state.linkDetail),
    chains: [...state.chains].map(([chain, known]) => {
      const nowMs = options.clock();
      const access = options.chainAccess.get(chain);
      const health = access?.health(chain, nowMs) ?? null;
      const trouble = troubleOf(known, health);
      const age = health?.headAgeMs ?? null;
      const seconds = age === null ? "" : `, ${Math.max(0, Math.round(age / 1000))} s old`;
      const detail =
        trouble ||
        `block ${known.block}${seconds}${known.unusable === "" ? "" : `; ${known.unusable}`}`;
      const lates = (health?.delays ?? []).map(({ code, words }) => `${code}: ${words}`);
      const delays = trouble === "" ? [...lates, ...known.unread].map(clip) : [];
      const { block, nativeBalance, feeMarket } = known;
      const told = {
        chain,
        ok: trouble === "",
        isAsking: trouble === stillAskingDetail,
        detail: clip(detail),
        block,
        nativeBalance,
      };
      const market =
        trouble !== "" || feeMarket === null ? {} : { feeMarket: feeMarketTexts(feeMarket) };
      const late = delays.length === 0 ? {} : { delays };
      return {
        ...told,
        ...market,
        ...late,
        headAtMs: headAtMs(access?.nodes.status() ?? []),
        nodes: nodeViews(access, health),
      };
    }),
    waiting: waits,
    ...(unbegun.length === 0 ? {} : { unbegun }),
    durableMedianUs: options.metrics.durableMedianUs(),
    configDigest: options.configDigest,
    notify: options.alertMonitor?.notify() ?? null,
    outOfService: outOfService({ options, state }),
    lowFunds: options.alertMonitor?.lowFunds() ?? [],
  };
}

/** The newest block time that min(2, configured) nodes have reached; 0 before their first. */
function headAtMs(nodes: readonly NodeStatus[]): number {
  const times = nodes
    .flatMap(({ head }) => (head === null ? [] : [head.atMs]))
    .sort((a, b) => b - a);
  return Math.max(0, times[Math.min(2, nodes.length) - 1] ?? 0);
}

function outOfService({
  options,
  state,
}: Pick<RunContext, "options" | "state">): CourierStatus["outOfService"] {
  return Object.entries(options.currencies).flatMap(([currency, { chain, contract = "" }]) => {
    const why = state.chains.get(chain)?.unfit.get(contract);
    return why === undefined ? [] : [{ currency, why }];
  });
}

/** The complete snapshot at this moment, for alerts and metrics. */
export function snapshotOf(
  { options, state }: Pick<RunContext, "options" | "state">,
  agent: string,
  scheduler: SchedulerState,
): Snapshot {
  const told = new Map(
    listWaitingItems(scheduler).map(({ transactionId, why }) => [transactionId, why]),
  );
  return {
    agent,
    locked: scheduler.book.locked,
    link: state.link,
    linkDetail: clip(state.linkDetail),
    chains: [...state.chains].map(([chain, known]) => {
      const { block, balances } = known;
      const access = options.chainAccess.get(chain);
      const health = access?.health(chain, options.clock()) ?? null;
      const detail = troubleOf(known, health);
      const nodes = access?.nodes.status() ?? [];
      const { network = "" } = scheduler.book.accounts.get(accountKey(chain, undefined)) ?? {};
      const stopped = scheduler.book.stopped.get(network) ?? "";
      const held = stoppedCurrenciesOn(scheduler.book, network);
      return {
        chain,
        block,
        balances,
        ok: detail === "",
        isAsking: detail === stillAskingDetail,
        detail,
        nodes,
        health,
        stopped,
        held,
      };
    }),
    items: [...scheduler.book.items.values()].map(({ view, waiting: why }) => {
      const {
        transactionId,
        state: standing,
        code,
        currency,
        chain,
        amount,
        awaited = null,
      } = view;
      return {
        transactionId,
        state: standing,
        code,
        currency,
        chain,
        amount,
        why: told.get(transactionId) ?? why,
        awaited,
      };
    }),
    summary: state.summary,
  };
}

/**
 * The reason that keeps a chain from being used, with a code at the beginning, "" for none.
 * Payments wait from the moment at which too few nodes are left to agree, although questions under
 * way may still wait for answers.
 */
function troubleOf({ lost, away, awayWords }: KnownChain, health: ChainHealth | null): string {
  if (lost !== "") return lost;
  const fault = awayWords || away;
  if (health === null || health.code === "") return fault;
  // Nodes may also contradict each other; a lag explains this without another reason.
  const isOfTwoMinds = away.startsWith("NODE_DISAGREE") && !lags.has(health.code);
  return isOfTwoMinds ? `${fault}; ${health.words}` : `${health.code}: ${health.words}`;
}

const lags: ReadonlySet<string> = new Set(["NODE_LAG", "NODE_STALE", "NODE_ROLLED_BACK"]);

/** The nodes with a problem, each with its reason and time. */
export function describeNodeProblems(access: ChainAccess, chain: string, nowMs: number): string {
  return access
    .health(chain, nowMs)
    .nodes.filter(({ code }) => code !== "")
    .map(({ url, words }) => `${url} ${words}`)
    .join("; ");
}

/** A node that answers but lags, stands still or was rolled back has a problem too. */
function nodeViews(
  access: ChainAccess | undefined,
  health: ChainHealth | null,
): readonly CourierNode[] {
  const statuses = access?.nodes.status() ?? [];
  return statuses.map(({ url, ok, detail }, at) => {
    const { code, words, since } = health?.nodes[at] ?? { code: "", words: "", since: 0 };
    return {
      url: clip(url),
      ok: ok && code === "",
      detail: clip(code === "" ? detail : `${code}: ${words}`),
      since,
    };
  });
}

function clip(text: string): string {
  return text.length <= statusTextMax ? text : `${text.slice(0, statusTextMax - 3)}...`;
}
