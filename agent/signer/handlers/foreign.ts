/**
 * Theft, on chains where no count of transactions shows it. A final transaction of an account that
 * no signature here explains stops first attempts on its network until an operator resumes it. The
 * gateway's signed word is enough, and so is the courier's, because a stop only makes payments
 * wait; and it is no lock, because one side's word must not force a recovery. Chains that count
 * have their own way: `checkChainCount` and the slot's end lock the signer. Touches nothing;
 * records go through the `RequestContext`. Source: docs/protocol.md section 6.9.
 */
import { type Refusal, refuse } from "../../../base/fault.ts";
import { findFamily } from "../../../chains/families.ts";
import type { ForeignTransaction, Job } from "../../../protocol/messages.ts";
import { foreignPerAckMax } from "../../../protocol/payloads.ts";
import { stopKey } from "../../socket/stops.ts";
import type { Core } from "../state/core.ts";
import type { RequestContext } from "./context.ts";

/** The side whose nodes show a foreign transaction; the approver of the record. */
export type ForeignObserver = "gateway" | "courier";

/** Returns why no first attempt of a job is signed; null if one may be. */
export function refuseIfFirstAttemptStopped(
  { core }: Pick<RequestContext, "core">,
  { network, currency }: Pick<Job, "network" | "currency">,
): Refusal | null {
  const held = core.stops.on(network, currency);
  const stopped = core.stops.on(network) ?? held;
  const code = stopped === held ? "CURRENCY_MOVES_OTHERWISE" : "NETWORK_PAUSED";
  return stopped === null
    ? null
    : refuse(code, `${stopKey(stopped)}: ${stopped.txHashes.at(-1) ?? stopped.approver}`);
}

/**
 * Stops each network that a foreign transaction is on. A transaction that the ledger has recorded
 * already, one of its own and one on a chain that counts change nothing, so a repeat is harmless.
 * The courier's word is recorded once for each stop, so that it cannot fill the ledger. Nothing is
 * recorded on a full disk, where nothing new is signed either.
 */
export function stopNetworksOfForeign(
  context: RequestContext,
  named: readonly ForeignTransaction[],
  by: ForeignObserver,
): void {
  if (named.length === 0 || context.fullDisk() !== null) return;
  const { core } = context;
  const news = new Map<string, string[]>();
  for (const { network, account, txHash } of named) {
    if (!isForeign(core, network, txHash)) continue;
    if (account !== context.accountOn(network) && !core.book.pays(network, account)) continue;
    if (by === "courier" && core.stops.on(network) !== null) continue;
    const hashes = news.get(network) ?? [];
    if (!hashes.includes(txHash)) news.set(network, [...hashes, txHash]);
  }
  for (const [network, hashes] of news)
    stop(context, network, hashes.slice(0, foreignPerAckMax), by);
}

/** True for a transaction that stops its network and is news to this ledger. */
function isForeign(core: Core, network: string, txHash: string): boolean {
  const family = findFamily(network);
  if (family === undefined || family.slots.isCounted || !family.isTxHash(txHash)) return false;
  return !core.stops.knows(network, txHash) && !core.book.hasSigned(network, txHash);
}

function stop(
  context: RequestContext,
  network: string,
  txHashes: readonly string[],
  by: ForeignObserver,
): void {
  // It may be the payment of a withdrawal that both sides have forgotten.
  context.run.sightings.forgetOrders();
  const isNew = context.core.stops.on(network) === null;
  const detail = `${network}: ${txHashes.join(", ")}, as the ${by} shows; no first payment is signed there`;
  context.commit([
    ...(isNew ? [{ kind: "ALARM", code: "CHAIN_COIN_FOREIGN", detail } as const] : []),
    { kind: "PAUSED", paused: true, approver: by, network, txHashes },
  ]);
}
