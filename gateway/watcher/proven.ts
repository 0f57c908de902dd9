/**
 * A payment that an operator names by its transaction's hash, where tags tell payments apart and no
 * balance would show it: enough nodes prove it, and it is kept exactly as the reading of its block
 * would have kept it. Kept twice, it is the same row. Source: docs/architecture.md section 8.
 */
import type { DetectedPayment } from "../../chains/nodes.ts";
import { payeeOf } from "../../chains/payees.ts";
import { readCursor } from "../store/cursors.ts";
import { readPayment } from "../store/payments.ts";
import type { PaymentRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import type { WatchedChain } from "./chain.ts";
import { paymentRowsOf, WatchList } from "./findings.ts";
import { judgeRequests } from "./payments.ts";
import { commitFinds } from "./search.ts";
import { keepPayment } from "./strays.ts";

/** The result for one hash: its rows, or in words why nothing is kept. */
export type ProofResult = { readonly rows: readonly PaymentRow[] } | { readonly problem: string };

/**
 * Asks the nodes for the payments of a transaction to the account of a deposit address, and keeps
 * them. `also` runs in the same write. Harmless to call twice.
 * @throws AgentError NODE_*; nothing is kept then
 */
export async function provePaymentsByHash(
  chain: WatchedChain,
  { txHash, depositAddress }: { readonly txHash: string; readonly depositAddress: string },
  also: (database: Database, rows: readonly PaymentRow[]) => void,
): Promise<ProofResult> {
  const { network, reader, store, currencies } = chain;
  if (!currencies.some(({ contract }) => contract === ""))
    return { problem: `no currency of ${network} is configured` };
  const { address: account } = payeeOf(network, depositAddress);
  const payment = (await reader.paymentBy?.(txHash, account)) ?? null;
  if (payment === null)
    return { problem: `no transaction ${txHash} in a validated ledger paid ${account}` };
  const readTo = readCursor(store.database, network)?.block ?? 0;
  // What is read next is credited by itself, and small payments are added to sums only then.
  if (payment.block > readTo)
    return {
      problem: `ledger ${payment.block} is not read yet, only up to ${readTo}: the payment counts by itself then`,
    };
  return keep(chain, payment, also);
}

function keep(
  chain: WatchedChain,
  payment: DetectedPayment,
  also: (database: Database, rows: readonly PaymentRow[]) => void,
): ProofResult {
  const list = new WatchList(chain.network);
  list.refresh(chain.store.database);
  const rows = paymentRowsOf(chain, list, [payment], true);
  commitFinds(chain, (database) => {
    // Its block counts as read: nothing is added to a sum, whose part the payment may be.
    const touched = rows.flatMap((row) => keepPayment(chain, database, row, row.block));
    also(database, rows);
    return judgeRequests(chain, database, touched, 0);
  });
  const kept = rows.filter((row) => readPayment(chain.store.database, row)?.final === 1);
  if (kept.length > 0) return { rows: kept };
  return {
    problem: `${payment.txHash} is too small a payment, or one too many, to be a row of its own; deposits strays has the sums`,
  };
}
