/**
 * The courier's view of the outside as the signer is given it, so that a person's `status` has one
 * place to ask.
 */
import type { NodeStatus } from "../../chains/nodes.ts";
import type { CourierNode } from "../socket/courier-status.ts";
import { type CourierStatus, statusTextMax } from "../socket/verbs.ts";
import { type DeskState, waiting } from "./desk/desk.ts";
import type { Outlook } from "./events/outlook.ts";
import type { ChainDoor } from "./nodes/chain.ts";
import type { KnownChain, Shared } from "./run-state.ts";

/** Stands where a fault of the nodes would, until the first of them has answered or not. */
export const asking = "asking";
/** A node that is out for less says nothing of its chain: the next question may be answered. */
const outMsMin = 5_000;

export function statusOf({ options, state }: Pick<Shared, "options" | "state">, waits: CourierStatus["waiting"]): CourierStatus {
  return {
    at: options.clock(),
    link: state.link,
    linkDetail: clip(state.linkDetail),
    chains: [...state.chains].map(([chain, known]) => {
      const door = options.doors.get(chain);
      const trouble = troubleOf(known, door);
      const nodes = door === undefined ? "" : nodesDetail(door, options.clock());
      const detail = [trouble, nodes].filter((part) => part !== "").join("; ") || `block ${known.block}`;
      const { block, nativeBalance } = known;
      const told = { chain, ok: trouble === "", isAsking: trouble === asking, detail: clip(detail), block, nativeBalance };
      return { ...told, nodes: (door?.nodes.status() ?? []).map((node) => nodeView(node, options.clock())) };
    }),
    waiting: waits,
    durableMedianUs: options.metrics.durableMedianUs(),
    configDigest: options.configDigest,
    notify: options.watchman?.notify() ?? null,
    outOfService: outOfService({ options, state }),
    lowFunds: options.watchman?.lowFunds() ?? [],
  };
}

function outOfService({ options, state }: Pick<Shared, "options" | "state">): CourierStatus["outOfService"] {
  return Object.entries(options.currencies).flatMap(([currency, { chain, contract = "" }]) => {
    const why = state.chains.get(chain)?.unfit.get(contract);
    return why === undefined ? [] : [{ currency, why }];
  });
}

/** Everything at this moment, for notices and metrics. */
export function outlookOf({ options, state }: Pick<Shared, "options" | "state">, agent: string, desk: DeskState): Outlook {
  const told = new Map(waiting(desk).map(({ transactionId, why }) => [transactionId, why]));
  return {
    agent,
    locked: desk.book.locked,
    link: state.link,
    linkDetail: clip(state.linkDetail),
    chains: [...state.chains].map(([chain, known]) => {
      const { block, balances } = known;
      const detail = troubleOf(known, options.doors.get(chain));
      const nodes = options.doors.get(chain)?.nodes.status() ?? [];
      return { chain, block, balances, ok: detail === "", isAsking: detail === asking, detail, nodes };
    }),
    items: [...desk.book.items.values()].map(({ view, waiting: why }) => {
      const { transactionId, state: standing, code, currency, chain, amount } = view;
      return { transactionId, state: standing, code, currency, chain, amount, why: told.get(transactionId) ?? why };
    }),
    summary: state.summary,
  };
}

/**
 * What keeps a chain from being used, "" for nothing. Where too few nodes are left for the word of
 * enough, payments wait from then on, though the questions under way may wait still.
 */
function troubleOf({ hasCode, away }: KnownChain, door: ChainDoor | undefined): string {
  if (hasCode) return "COURIER_ACCOUNT_CODE";
  if (away !== "") return away;
  const nodes = door?.nodes.status() ?? [];
  const out = nodes.filter(({ outForMs }) => outForMs !== null && outForMs >= outMsMin);
  if (nodes.length - out.length >= Math.min(2, nodes.length)) return "";
  return /^[A-Z][A-Z0-9_]*/.exec(out[0]?.detail ?? "")?.[0] ?? "NODE_UNREACHABLE";
}

/** The nodes that do not do well, each with why and since when. */
export function nodesDetail(door: ChainDoor, nowMs: number): string {
  return door.nodes
    .status()
    .filter((node) => !node.ok)
    .map((node) => nodeView(node, nowMs))
    .map(({ url, detail, since }) => `${url} ${since === 0 ? "" : `since ${new Date(since).toISOString()}: `}${detail}`)
    .join("; ");
}

function nodeView({ url, ok, detail, outForMs }: NodeStatus, nowMs: number): CourierNode {
  return { url: clip(url), ok, detail: clip(detail), since: outForMs === null ? 0 : Math.max(1, Math.round(nowMs - outForMs)) };
}

function clip(text: string): string {
  return text.length <= statusTextMax ? text : `${text.slice(0, statusTextMax - 3)}...`;
}
