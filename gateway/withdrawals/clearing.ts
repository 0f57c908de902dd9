/**
 * The gateway's word that nothing on the chain pays a withdrawal already, by the same rule as a
 * job's place: its wallet's chain is read far enough in this run, and no payment that nothing
 * explains looks like it. An agent's signer wants this word on chains without counts, where ledger
 * and database may both have been restored to a state before the payment. Source: docs/protocol.md
 * section 6.8.
 */
import { AgentError } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import { familyOf } from "../../chains/families.ts";
import { pairedCurrencies } from "../balance/funds.ts";
import { hotWalletAddressOn } from "../store/agent-accounts.ts";
import { type PayingAgent, readPayingAgent } from "../store/agents.ts";
import { findOpenGapSince } from "../store/gaps.ts";
import { readJobRecord } from "../store/jobs.ts";
import { isWalletChainRead } from "../store/levels.ts";
import type { UnexplainedOutgoingRow } from "../store/outgoing-holds.ts";
import type { AgentRow, TransferRow } from "../store/rows.ts";
import type { Signals } from "../store/signals.ts";
import type { Database, Store } from "../store/store.ts";
import { readTransfer } from "../store/transactions.ts";
import { hasUnreadTransaction } from "../store/unread-transactions.ts";
import { freeOrder, heldStage, holdOrder, listHoldingTransactions } from "./holds.ts";

interface ClearingRooms {
  readonly store: Store;
  readonly signals: Signals;
  readonly log: GatewayLog;
  readonly clock: () => number; // milliseconds since 1970
  readonly run: string; // names this process (store/owner.ts)
}

/** The withdrawals among these transaction ids that an agent may pay, by this gateway's word. */
export type ClearOrders = (agentId: string, ids: readonly string[]) => readonly string[];

interface HeldTransaction {
  readonly row: TransferRow;
  readonly holders: readonly UnexplainedOutgoingRow[];
}

/**
 * Clears withdrawals of an agent on chains without counts. One that an unexplained payment holds
 * waits for an operator from now on, and one that nothing holds any more is freed. Silent about
 * everything else, and about all while the chain is not read. Harmless to call again.
 */
export function createOrderClearing({
  store,
  signals,
  log,
  clock,
  run,
}: ClearingRooms): ClearOrders {
  const keep = (fn: (database: Database) => boolean, row: TransferRow): void => {
    try {
      if (store.write(fn)) signals.emit("changed", { transactionId: row.id, isOpen: true });
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      // The agent asks again.
      log.warn(
        { event: "note-unstored", code: error.code },
        "the database did not take the hold of an order",
      );
    }
  };
  return (agentId, ids) => {
    const agent = readPayingAgent(store.database, agentId);
    if (
      agent === undefined ||
      agent.unpairedAt !== null ||
      agent.caughtUp !== run ||
      !hasUncounted(agent)
    )
      return [];
    return ids.flatMap((id) => {
      const seen = seenOf(store.database, agent, id, run);
      if (seen === null) return [];
      const { row, holders } = seen;
      const isHeld = row.stage === heldStage;
      if (holders.length > 0 && !isHeld) {
        log.warn(
          { event: "order-held", agent: agentId, transactionId: id, holders: holders.length },
          "an order looks paid already",
        );
        keep((database) => holdOrder(database, row, holders, clock()), row);
      }
      if (holders.length === 0 && isHeld)
        keep((database) => freeOrder(database, row, clock()), row);
      return holders.length === 0 ? [id] : [];
    });
  };
}

function hasUncounted(agent: Pick<AgentRow, "currencies">): boolean {
  return pairedCurrencies(agent).some(({ network }) => !familyOf(network).slots.isCounted);
}

/** Null for a withdrawal about which the gateway is silent. */
function seenOf(
  database: Database,
  agent: PayingAgent,
  id: string,
  run: string,
): HeldTransaction | null {
  const asked = readJobRecord(database, id);
  // Most are on chains with counts: no more is read of these.
  if (asked === undefined || asked.jobAgent !== agent.id || familyOf(asked.network).slots.isCounted)
    return null;
  const row =
    asked.operation === "withdraw" && asked.status === 0 ? readTransfer(database, id) : undefined;
  if (row === undefined) return null;
  const wallet = { network: row.network, account: hotWalletAddressOn(agent, row.network) };
  // A payment of the wallet may be in what could not be read since.
  const isRead =
    isWalletChainRead(database, wallet, run) &&
    !hasUnreadTransaction(database, wallet.network, wallet.account);
  if (!isRead || findOpenGapSince(database, wallet.network, [wallet.account]) !== undefined)
    return null;
  return { row, holders: listHoldingTransactions(database, agent, row) };
}
