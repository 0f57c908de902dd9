/**
 * Keeps every final outgoing transaction of a hot wallet by its slot, including transactions that
 * no withdrawal explains. Those are kept from the moment a node shows them, because they hold
 * orders back that ask for the same payment (withdrawals/holds.ts). After a restore the watcher
 * reads the same blocks again, so a payment that ledger and database have both forgotten appears
 * here. On a chain without slots, a foreign transaction uses no slot and appears nowhere else, so
 * operators get an alert. Source: docs/protocol.md section 8.
 */
import { familyOf } from "../../chains/families.ts";
import { mapWithLimit } from "../../chains/map-limit.ts";
import type {
  MissingHistory,
  OutgoingTransaction,
  UnconfirmedTransaction,
  UnreadTransaction,
  WatchedBlock,
} from "../../chains/nodes.ts";
import { formatAmount } from "../../protocol/amount.ts";
import { hotWalletAddressOn } from "../store/agent-accounts.ts";
import { listPairedWallets, listSendersFrom } from "../store/agents.ts";
import {
  countSeenUnexplainedOutgoing,
  forgetSeenOutgoingBefore,
  forgetUnexplainedOutgoing,
  hasSeenOutgoingBefore,
  isUnexplainedOutgoingKept,
  keepUnexplainedOutgoing,
} from "../store/outgoing-holds.ts";
import {
  keepOutgoing,
  listUntoldOutgoing,
  markOutgoingTold,
} from "../store/outgoing-transactions.ts";
import type { OutgoingRow } from "../store/rows.ts";
import { createAttemptWithdrawalLookup, withdrawalOfAttempt } from "../store/signatures.ts";
import type { Database } from "../store/store.ts";
import { hasExpiryStatements } from "../store/void-attempts.ts";
import { raiseAlarm, type WatchedChain } from "./chain.ts";
import { noteUnread } from "./unread.ts";
import { alarmVoidIncluded } from "./void-attempts.ts";

const questionsAtOnce = 32;

/** True if no slot on the chain shows that an account sent a transaction. */
function isUncounted({ network }: WatchedChain): boolean {
  return !familyOf(network).slots.isCounted;
}

/** Outgoing transactions of final blocks: those that paid, and those that failed. */
export interface FoundOutgoing {
  readonly paid: readonly OutgoingRow[];
  readonly failed: readonly OutgoingTransaction[];
}

/** Notes transactions of hot wallets that could not be read. Harmless to call twice. */
export function noteUnreadOutgoing(
  chain: WatchedChain,
  unread: readonly UnreadTransaction[],
): void {
  if (unread.length === 0) return;
  const wallets = listPairedWallets(chain.store.database, chain.network);
  noteUnread(
    chain,
    unread,
    (account) =>
      wallets.find((one) => hotWalletAddressOn(one, chain.network) === account)?.merchant ?? "",
  );
}

/**
 * The outgoing transactions of `payers` in final, agreed blocks. A failed transaction that nothing
 * explains paid nothing.
 */
export async function findOutgoing(
  chain: WatchedChain,
  payers: ReadonlySet<string>,
  blocks: readonly WatchedBlock[],
  missing: MissingHistory[] = [],
): Promise<FoundOutgoing> {
  const {
    found: sent,
    unread,
    missing: lacking = [],
  } = await chain.reader.outgoing(blocks, payers);
  missing.push(...lacking);
  noteUnreadOutgoing(chain, unread);
  const failed = new Set<OutgoingTransaction>();
  // One that is an attempt stays one.
  const signerOf = createAttemptWithdrawalLookup(chain.store.database, sent);
  const known = new Set(sent.filter((outgoingTx) => signerOf(outgoingTx) !== undefined));
  await mapWithLimit(sent, questionsAtOnce, async (outgoingTx) => {
    if (known.has(outgoingTx)) return;
    if (await chain.reader.hasFailed(outgoingTx.txHash)) failed.add(outgoingTx);
  });
  const paid = sent
    .filter((outgoingTx) => !failed.has(outgoingTx))
    .map((outgoingTx): OutgoingRow => {
      const { account, slot, txHash, block } = outgoingTx;
      const isUnknown =
        isUncounted(chain) &&
        !known.has(outgoingTx) &&
        withdrawalOfAttempt(chain.store.database, outgoingTx) === undefined;
      const untold = isUnknown ? 1 : 0;
      return {
        network: chain.network,
        account,
        slot,
        txHash,
        block,
        ...contentOf(outgoingTx),
        untold,
      };
    });
  return { paid, failed: [...failed] };
}

/** The content of a transaction, as the tables have it. */
function contentOf({
  receiver,
  tag,
  contract,
  amountUnits,
}: UnconfirmedTransaction): Pick<OutgoingRow, "receiver" | "tag" | "contract" | "units"> {
  return { receiver, tag, contract, units: amountUnits.toString() };
}

/**
 * Keeps outgoing transactions, and raises the alarm for an attempt that was called void. Runs in
 * the caller's transaction.
 */
export function keepAllOutgoing(
  chain: WatchedChain,
  database: Database,
  { paid, failed }: FoundOutgoing,
): void {
  const isAnyOver = paid.length > 0 && hasExpiryStatements(database);
  const signerOf = createAttemptWithdrawalLookup(database, paid);
  for (const outgoingTx of paid) {
    keepOutgoing(database, outgoingTx);
    const { txHash, block } = outgoingTx;
    const id = signerOf(outgoingTx);
    if (id === undefined)
      keepUnexplainedOutgoing(database, { ...outgoingTx, final: 1 }, chain.clock());
    else alarmVoidIncluded(chain, database, { id, txHash, block }, isAnyOver);
  }
  for (const { account, txHash } of failed)
    forgetUnexplainedOutgoing(database, { network: chain.network, account, txHash });
}

/**
 * More transactions of one account that nothing explains and no final block has are not kept: a
 * merchant who sends many of his own holds up his own wallet, and nobody else's.
 */
const seenMost = 1_000;
/** One that no final block has had for so long ends: no order waits so long for a place. */
const seenMsMax = 7 * 86_400_000;

type SeenTransaction = UnconfirmedTransaction & { readonly block: number | null };

/**
 * Keeps transactions that no final block has and that nothing explains. Nothing is written if there
 * is none.
 * @returns the accounts that have so many that some were not kept
 */
export function keepSeenOutgoing(
  { store, network, clock }: WatchedChain,
  seen: readonly SeenTransaction[],
): ReadonlySet<string> {
  const crowded = new Set<string>();
  const foreign = seen.filter(
    (outgoingTx) => withdrawalOfAttempt(store.database, outgoingTx) === undefined,
  );
  if (foreign.length === 0) return crowded;
  store.write((database) => {
    const kept = new Map<string, number>();
    for (const outgoingTx of foreign) {
      const { account, txHash, block } = outgoingTx;
      if (!isUnexplainedOutgoingKept(database, { network, account, txHash })) {
        const before =
          kept.get(account) ?? countSeenUnexplainedOutgoing(database, { network, account });
        if (before >= seenMost) crowded.add(account);
        if (before >= seenMost) continue;
        kept.set(account, before + 1);
      }
      keepUnexplainedOutgoing(
        database,
        { network, account, txHash, block, ...contentOf(outgoingTx), final: 0 },
        clock(),
      );
    }
  });
  return crowded;
}

/** Forgets transactions that were seen once and never came into a final block, after seven days. */
export function endSeenOutgoing({ store, network, clock }: WatchedChain): void {
  const beforeMs = clock() - seenMsMax;
  if (!hasSeenOutgoingBefore(store.database, network, beforeMs)) return;
  store.write((database) => forgetSeenOutgoingBefore(database, network, beforeMs));
}

/** An amount in its currency; in base units of a contract that is not configured. */
function paidText({ currencies }: WatchedChain, contract: string, units: string): string {
  const currency = currencies.find((one) => one.contract === contract);
  if (currency !== undefined)
    return `${formatAmount(BigInt(units), currency.decimal)} ${currency.id}`;
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
  const ripe = untold.filter(
    ({ account, isExplained }) => isExplained === 1 || isCaughtUp(account),
  );
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
  const robbed = new Set(
    ripe.filter(({ isExplained }) => isExplained === 0).map(({ account }) => account),
  );
  for (const account of robbed)
    for (const { id } of listSendersFrom(store.database, account, network))
      chain.signals.emit("foreign", { agent: id });
}
