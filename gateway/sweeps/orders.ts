/**
 * Turns a sweep into rows and jobs: the sweep's first, then those of the top-up, from which the
 * address pays the fee. One order is one transaction; a restart continues from the rows. Source:
 * docs/protocol.md section 5.
 */

import { invariant } from "../../base/fault.ts";
import { familyOf } from "../../chains/families.ts";
import { formatAmount } from "../../protocol/amount.ts";
import { deriveOrderTransactionId } from "../../protocol/identity.ts";
import type { JobMode } from "../../protocol/job-mode.ts";
import { hotWalletAddressOn } from "../store/agent-accounts.ts";
import { readAgent } from "../store/agents.ts";
import { agentOfJob } from "../store/jobs.ts";
import { unsweptBalanceOf } from "../store/journal.ts";
import type { AgentRow, SweepRow, TransferRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import {
  dropSweepNote,
  dropSweepRequest,
  listSweepableAt,
  listSweepsAwaitingTopUp,
  newestSweepNumber,
  type SweepableRow,
  topUpOf,
} from "../store/sweeps.ts";
import { readTransfer, sweepOrderOf } from "../store/transactions.ts";
import { insertPendingTransfer, updateWithdrawal } from "../store/withdrawals.ts";
import { makeJob } from "../withdrawals/jobs.ts";
import { contentHashOfJob } from "../withdrawals/withdrawals.ts";
import type { SweepSize } from "./sweep-threshold.ts";

/** A sweep that can be ordered. */
export interface PlannedSweep extends SweepSize {
  readonly row: SweepableRow;
  readonly decimal: number; // the currency's decimals
  readonly next?: string; // next slot of the address, by the gateway's nodes
}

/** The run that orders, and the time within which an agent may begin. */
export interface OrderingRun {
  readonly run: string;
  readonly nowMs: number;
  readonly lifetimeMs: number;
}

/**
 * Orders a sweep, with a top-up if necessary. Checks again inside the transaction: orders nothing
 * for an address that has an open sweep there, or a smaller balance by now.
 * @returns the agents to wake; empty if nothing was ordered
 */
export function orderSweep(
  database: Database,
  wanted: PlannedSweep,
  ordering: OrderingRun,
): readonly string[] {
  const { row, amountUnits, topUpUnits } = wanted;
  const { address, network, currency } = row;
  const now = listSweepableAt(database, address).find(
    (one) => one.network === network && one.currency === currency,
  );
  const agent = readAgent(database, row.agent);
  if (agent === undefined || now === undefined || now.open !== "" || now.agent !== row.agent)
    return [];
  if (unsweptBalanceOf(database, address, network, currency) < amountUnits) return [];
  const hotWalletAddress = hotWalletAddressOn(agent, network);
  const sweep = insert(database, agent, ordering, row, {
    mode: "sweep",
    orderId: sweepOrderOf(address, newestSweepNumber(database, address) + 1),
    units: amountUnits,
    decimal: wanted.decimal,
    payer: address,
    receiver: hotWalletAddress,
    nextSlot: wanted.next ?? "",
  });
  // The sweep's job goes first, because an agent accepts a top-up only for an open sweep. The agent
  // signs the sweep when its address has the coins.
  makeJob(database, agent, transferOf(database, sweep), ordering.run);
  if (topUpUnits > 0n) {
    const topUp = insert(database, agent, ordering, row, {
      mode: "topup",
      orderId: sweep,
      units: topUpUnits,
      decimal: familyOf(network).fees.decimal,
      payer: hotWalletAddress,
      receiver: address,
      nextSlot: "",
    });
    const paying = readAgent(database, agent.id) ?? agent;
    makeJob(database, paying, transferOf(database, topUp), ordering.run);
  }
  dropSweepRequest(database, row);
  dropSweepNote(database, row);
  return [agent.id];
}

/** The fields of a new row that depend on what the sweep or the top-up is. */
interface OrderedMove {
  readonly mode: Extract<JobMode, "sweep" | "topup">;
  readonly orderId: string;
  readonly units: bigint;
  readonly decimal: number;
  readonly payer: string;
  readonly receiver: string;
  readonly nextSlot: string; // that a sweep's job names; "" none
}

/** Makes the row of a sweep, or of its top-up, and gives its id. */
function insert(
  database: Database,
  { merchant }: AgentRow,
  { nowMs, lifetimeMs }: OrderingRun,
  { currency, network, address, addressIndex }: SweepableRow,
  { mode, orderId, units, decimal, payer, receiver, nextSlot }: OrderedMove,
): string {
  const amount = formatAmount(units, decimal);
  const id = deriveOrderTransactionId({ merchant, operation: mode, orderId });
  const content = { mode, currency, amount, depositAddress: address, address: "", tag: "" };
  const row = {
    id,
    merchant,
    orderId,
    currency,
    network,
    amount,
    units: units.toString(),
    contentHash: contentHashOfJob(content),
    payer,
    receiver,
    tag: "",
    stage: "queued",
    addressIndex,
    createdAt: nowMs,
    changedAt: nowMs,
    expiresAt: nowMs + lifetimeMs,
  };
  if (mode === "topup") insertPendingTransfer(database, { ...row, operation: mode });
  else insertPendingTransfer(database, { ...row, operation: mode, nextSlot });
  return id;
}

function transferOf(database: Database, id: string): TransferRow {
  const row = readTransfer(database, id);
  invariant(row !== undefined, "a transfer that was just made is in the table");
  return row;
}

/**
 * Continues sweeps of an earlier attempt of the gateway, whose top-up came before their job. A
 * completed top-up lets its sweep begin; a failed top-up ends it. Harmless to call twice.
 * @returns the ids of the rows that changed, and the agents to wake
 */
export function resumeToppedUpSweeps(
  database: Database,
  network: string,
  { run, nowMs }: Pick<OrderingRun, "run" | "nowMs">,
): { readonly changed: readonly string[]; readonly agents: readonly string[] } {
  const changed: string[] = [];
  const agents: string[] = [];
  for (const sweep of listSweepsAwaitingTopUp(database, network)) {
    if (sweep.topUpStatus === 0) continue;
    changed.push(sweep.id);
    if (sweep.topUpStatus === 2) {
      updateWithdrawal(
        database,
        sweep.id,
        { status: 2, stage: "failed", code: sweep.topUpCode || "topup_failed" },
        nowMs,
      );
      continue;
    }
    const holder = holderOf(database, sweep);
    // An unpaired agent would never take the job, because it signs nothing more.
    if (holder === undefined || holder.unpairedAt !== null) {
      updateWithdrawal(
        database,
        sweep.id,
        { status: 2, stage: "failed", code: "agent_unpaired" },
        nowMs,
      );
      continue;
    }
    updateWithdrawal(database, sweep.id, { stage: "queued" }, nowMs);
    makeJob(database, holder, readTransfer(database, sweep.id) ?? sweep, run);
    agents.push(holder.id);
  }
  return { changed, agents };
}

/** The agent that had the top-up also gets the sweep. */
function holderOf(database: Database, sweep: SweepRow): AgentRow | undefined {
  const topUp = topUpOf(database, sweep);
  return topUp === undefined ? undefined : agentOfJob(database, topUp.id);
}
