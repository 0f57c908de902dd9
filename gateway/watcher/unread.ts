/**
 * Transactions in final blocks that name an account of ours and cannot be read. Each is a fault of
 * its own, told at once; the block and the cursor go on, and nothing is credited by guess. It is
 * read again with rests. Source: docs/architecture.md section 8.
 */
import { failed, good } from "../../base/result.ts";
import type { UnreadTransaction } from "../../chains/nodes.ts";
import type { Fault, FaultKey } from "../faults/fault.ts";
import type { WatchedChain } from "./chain.ts";
import { keyOn } from "./items.ts";

/** Transactions that one pass reads again, each with its block. */
const againMax = 4;

/** The id has the block, so that it can be asked for again, and the account that it names. */
function keyOf(chain: WatchedChain, { txHash, block, account }: Omit<UnreadTransaction, "fault">, merchant: string): FaultKey {
  return keyOn(chain, "transaction", `${block} ${txHash || "?"} ${account || "?"}`, merchant);
}

/** The place of a transaction that could not be read. */
export function placeOf({ id }: Pick<FaultKey, "id">): {
  readonly block: number;
  readonly txHash: string;
  readonly account: string;
} {
  const [block = "", txHash = "", account = ""] = id.split(" ");
  return { block: Number(block), txHash, account };
}

/** Notes the transactions of final blocks that could not be read. Harmless to call twice. */
export function noteUnread(
  chain: WatchedChain,
  unread: readonly UnreadTransaction[],
  merchantOf: (account: string) => string,
): void {
  for (const one of unread) {
    const key = keyOf(chain, one, merchantOf(one.account));
    if (chain.faults.standing(key) === null) {
      const { network, log } = chain;
      log.error(
        { event: "transaction-unread", network, block: one.block, txHash: one.txHash, err: one.fault },
        one.fault.message,
      );
    }
    chain.faults.settle(key, failed(one.fault));
  }
}

/** Those of the final blocks up to one that are due again. */
export function dueUnread(chain: WatchedChain, final: number): readonly Fault[] {
  return chain.faults
    .list({ domain: "transaction", network: chain.network })
    .filter((fault) => fault.id !== "" && placeOf(fault).block <= final && chain.faults.isDue(fault))
    .slice(0, againMax);
}

/** Clears a transaction that could be read. */
export function clearUnread({ faults }: WatchedChain, fault: Fault): void {
  faults.settle(fault, good(null));
}

/** Accounts and addresses that a transaction names which nobody could read. */
export function accountsUnread({ faults, network }: WatchedChain): ReadonlySet<string> {
  return new Set(faults.list({ domain: "transaction", network }).map((fault) => placeOf(fault).account));
}
