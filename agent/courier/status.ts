/**
 * The courier's view of the outside as the signer is given it, so that a person's `status` has one
 * place to ask.
 */
import { type CourierStatus, statusTextMax } from "../socket/verbs.ts";
import { type DeskState, waiting } from "./desk/desk.ts";
import type { Outlook } from "./events/outlook.ts";
import type { ChainDoor } from "./nodes/chain.ts";
import type { Shared } from "./run-state.ts";

/** Stands where a fault of the nodes would, until the first of them has answered or not. */
export const asking = "asking";

export function statusOf({ options, state }: Pick<Shared, "options" | "state">, waits: CourierStatus["waiting"]): CourierStatus {
  return {
    at: options.clock(),
    link: state.link,
    linkDetail: clip(state.linkDetail),
    chains: [...state.chains].map(([chain, known]) => {
      const door = options.doors.get(chain);
      const trouble = known.hasCode ? "COURIER_ACCOUNT_CODE" : known.away;
      const nodes = door === undefined ? "" : nodesDetail(door);
      const detail = [trouble, nodes].filter((part) => part !== "").join("; ") || `block ${known.block}`;
      const { block, nativeBalance } = known;
      return { chain, ok: trouble === "", isAsking: trouble === asking, detail: clip(detail), block, nativeBalance };
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
    chains: [...state.chains].map(([chain, { away, block, balances, hasCode }]) => ({
      ...{ chain, block, balances, ok: away === "" && !hasCode, isAsking: away === asking && !hasCode },
      detail: hasCode ? "COURIER_ACCOUNT_CODE" : away,
      nodes: options.doors.get(chain)?.nodes.status() ?? [],
    })),
    items: [...desk.book.items.values()].map(({ view, waiting: why }) => {
      const { transactionId, state: standing, code, currency, chain, amount } = view;
      return { transactionId, state: standing, code, currency, chain, amount, why: told.get(transactionId) ?? why };
    }),
    summary: state.summary,
  };
}

/** The nodes that do not do well, each with why. */
export function nodesDetail(door: ChainDoor): string {
  return door.nodes
    .status()
    .filter((node) => !node.ok)
    .map((node) => `${node.url} ${node.detail}`)
    .join("; ");
}

function clip(text: string): string {
  return text.length <= statusTextMax ? text : `${text.slice(0, statusTextMax - 3)}...`;
}
