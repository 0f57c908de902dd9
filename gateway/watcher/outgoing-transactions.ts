/**
 * Keeps every final outgoing transaction of a hot wallet by its slot, including transactions that
 * no withdrawal explains. After a restore the watcher reads the same blocks again, so a payment
 * that ledger and database have both forgotten appears here. On a chain without slots, a foreign
 * transaction uses no slot and appears nowhere else, so operators get an alert. Source:
 * docs/protocol.md section 8.
 */
import { familyOf } from "../../chains/families.ts";
import { inWaves } from "../../chains/map-limit.ts";
import type { WatchedBlock } from "../../chains/nodes.ts";
import { formatAmount } from "../../protocol/amount.ts";
import { hotWalletAddressOn } from "../store/agent-accounts.ts";
import { listPairedWallets, listSendersFrom } from "../store/agents.ts";
import { keepOutgoing, listUntoldOutgoing, markOutgoingTold } from "../store/outgoing-transactions.ts";
import type { OutgoingRow } from "../store/rows.ts";
import { signedBy } from "../store/signatures.ts";
import type { Database } from "../store/store.ts";
import { raiseAlarm, type WatchedChain } from "./chain.ts";
import { noteUnread } from "./unread.ts";
import { checkIncluded } from "./void-attempts.ts";

const questionsAtOnce = 32;

/** True if no slot on the chain shows that an account sent a transaction. */
function isUncounted({ network }: WatchedChain): boolean {
  return !familyOf(network).slots.isCounted;
}

/**
 * The outgoing transactions of `payers` in final, agreed blocks. A failed transaction paid nothing
 * and is left out.
 */
export async function findOutgoing(
  chain: WatchedChain,
  payers: ReadonlySet<string>,
  blocks: readonly WatchedBlock[],
): Promise<readonly OutgoingRow[]> {
  const { found: sent, unread } = await chain.reader.outgoing(blocks, payers);
  const wallets = listPairedWallets(chain.store.database, chain.network);
  noteUnread(
    chain,
    unread,
    (account) => wallets.find((one) => hotWalletAddressOn(one, chain.network) === account)?.merchant ?? "",
  );
  const found = await inWaves(sent, questionsAtOnce, async (outgoingTx): Promise<OutgoingRow | null> => {
    const { account, slot, txHash, block, receiver, tag, contract, amountUnits } = outgoingTx;
    const isKnown = signedBy(chain.store.database, outgoingTx) !== undefined;
    if (!isKnown && (await chain.reader.hasFailed(txHash))) return null;
    const untold = isUncounted(chain) && !isKnown ? 1 : 0;
    const paid = { receiver, tag, contract, units: amountUnits.toString() };
    return { network: chain.network, account, slot, txHash, block, ...paid, untold };
  });
  return found.filter((outgoingTx) => outgoingTx !== null);
}

/**
 * Keeps outgoing transactions, and raises the alarm for an attempt that was called void. Runs in
 * the caller's transaction.
 */
export function keepAllOutgoing(chain: WatchedChain, database: Database, outgoing: readonly OutgoingRow[]): void {
  for (const outgoingTx of outgoing) {
    keepOutgoing(database, outgoingTx);
    const { txHash, block } = outgoingTx;
    const id = signedBy(database, outgoingTx);
    if (id !== undefined) checkIncluded(chain, database, { id, txHash, block });
  }
}

/** An amount in its currency; in base units of a contract that is not configured. */
function paidText({ currencies }: WatchedChain, contract: string, units: string): string {
  const currency = currencies.find((one) => one.contract === contract);
  if (currency !== undefined) return `${formatAmount(BigInt(units), currency.decimal)} ${currency.id}`;
  return `${units} units ${contract === "" ? "of the coin" : `of ${contract}`}`;
}

/**
 * Reports outgoing transactions that nobody here ordered. A database restored from a backup may
 * lack the order until its agent resends it. So nothing is reported before the paying agent has
 * caught up in this run.
 */
export function tellForeign(chain: WatchedChain): void {
  const { store, network, run } = chain;
  const untold = listUntoldOutgoing(store.database, network);
  if (untold.length === 0) return;
  const isCaughtUp = (account: string): boolean =>
    listSendersFrom(store.database, account, network).every(({ caughtUp }) => caughtUp === run);
  const ripe = untold.filter(({ account, isExplained }) => isExplained === 1 || isCaughtUp(account));
  if (ripe.length === 0) return;
  store.write((database) => {
    for (const outgoingTx of ripe) {
      markOutgoingTold(database, outgoingTx);
      if (outgoingTx.isExplained === 1) continue;
      const { txHash, account, units, contract, receiver, block } = outgoingTx;
      const detail = `${account} paid ${paidText(chain, contract, units)} to ${receiver || "nobody"} in block ${block}`;
      raiseAlarm(chain, database, { code: "WATCHER_OUTGOING_FOREIGN", subject: txHash, detail });
    }
  });
}
