/** The courier's view of the outside as the signer is given it, so that a person's `status` has one place to ask. */
import { type CourierStatus, statusTextMax } from "../socket/verbs.ts";
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
