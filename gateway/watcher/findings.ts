/**
 * Finds the events for this gateway in a range of blocks: payments to watched addresses, and
 * foreign transactions that use a withdrawal's slot. Reads the chain and the tables, writes
 * nothing. Source: docs/architecture.md section 8.
 */

import { resultOf } from "../../base/result.ts";
import { mapWithLimit } from "../../chains/map-limit.ts";
import { addressSpaceOf } from "../../chains/network-names.ts";
import type {
  DetectedPayment,
  Judgement,
  MissingHistory,
  OutgoingTransaction,
  WatchedAddresses,
  WatchedBlock,
} from "../../chains/nodes.ts";
import { payeeOf } from "../../chains/payees.ts";
import {
  hasForgottenAfter,
  listAddressesAfter,
  type ReadPlaces,
} from "../store/deposit-addresses.ts";
import {
  insertStrayAddress,
  ownerOfTaggedAccount,
  unattributedIdOf,
} from "../store/forgotten-addresses.ts";
import { isInFoundBalance } from "../store/found-addresses.ts";
import { outgoingOfSlot } from "../store/outgoing-transactions.ts";
import type { PaymentRow } from "../store/rows.ts";
import { type JudgedRow, withdrawalOfAttempt } from "../store/signatures.ts";
import { listForeignSlotOwners, type Slot } from "../store/slots.ts";
import type { Database } from "../store/store.ts";
import { isOwnTopUp } from "../store/top-ups.ts";
import { contractOf, type WatchedChain } from "./chain.ts";
import { merchantOfRequest as merchantOf } from "./items.ts";
import { isStrayDayFull, noRequestId, strayRowUnitsMin } from "./strays.ts";
import { noteUnread } from "./unread.ts";
import type { HotWallets } from "./wallets.ts";

/**
 * Deposit addresses of one family with their requests. Only grows, because an address is watched
 * permanently.
 */
export class WatchList implements WatchedAddresses {
  readonly #requests = new Map<string, string>(); // transaction id by address
  readonly #addressSpace: string;
  #read: ReadPlaces = { given: 0, forgotten: 0 };

  /**
   * The list is for the family of `network`, whose addresses are watched on each of its networks.
   */
  constructor(network: string) {
    this.#addressSpace = addressSpaceOf(network);
  }

  /**
   * Adds addresses that were issued, or found to be forgotten, since the last call. Must run after
   * the nodes have named the blocks that are read next.
   */
  refresh(database: Database): void {
    const rows = listAddressesAfter(database, this.#read);
    for (const row of rows.filter((one) => one.addressSpace === this.#addressSpace))
      this.#requests.set(row.address, row.request ?? unattributedIdOf(row));
    for (const { place } of rows)
      this.#read = {
        given: Math.max(this.#read.given, place),
        forgotten: Math.min(this.#read.forgotten, place),
      };
  }

  /** True if a forgotten address is not in the list yet. */
  lacks(database: Database): boolean {
    return hasForgottenAfter(database, this.#read);
  }

  get size(): number {
    return this.#requests.size;
  }

  requestOf(address: string): string | undefined {
    return this.#requests.get(address);
  }

  has(address: string): boolean {
    return this.#requests.has(address);
  }

  all(): Iterable<string> {
    return this.#requests.keys();
  }
}

/**
 * The merchant of a request, or of an account that gets deposits with tags; "" if it is nobody's.
 */
function ownerOfAny(chain: WatchedChain, transactionId: string, account: string): string {
  return (
    merchantOf(chain, transactionId) ||
    (ownerOfTaggedAccount(chain.store.database, chain.network, account)?.merchant ?? "")
  );
}

/** A withdrawal whose slot a foreign transaction used, with the result for the withdrawal. */
export interface SlotConsumption {
  readonly row: JudgedRow;
  readonly verdict: Judgement;
}

const questionsAtOnce = 32;

/**
 * Payments in `blocks`, which are consecutive. `agreed`: enough nodes agree, and the payments count
 * as final. Adds the accounts whose payments cannot be had to `missing`.
 */
export async function findPayments(
  chain: WatchedChain,
  list: WatchList,
  blocks: readonly WatchedBlock[],
  agreed: boolean,
  missing: MissingHistory[] = [],
): Promise<readonly PaymentRow[]> {
  if (list.size === 0 || blocks.length === 0) return [];
  const contracts = chain.currencies.map(({ contract }) => contract);
  const {
    found,
    unread,
    missing: lacking = [],
  } = await chain.reader.payments(blocks, contracts, list, agreed);
  missing.push(...lacking);
  // A block that is only seen is read again as final.
  if (agreed)
    noteUnread(chain, unread, (account) =>
      ownerOfAny(chain, list.requestOf(account) ?? "", account),
    );
  return paymentRowsOf(chain, list, found, agreed);
}

/**
 * Marks the hot wallets that one node's blocks pay, where blocks are read whole: then they cost no
 * question of their own. A wallet that is not found here is read in its turn.
 */
export async function markPaidWallets(
  chain: WatchedChain,
  wallets: HotWallets,
  blocks: readonly WatchedBlock[],
): Promise<void> {
  wallets.refresh(chain.store.database);
  if (chain.reader.readsWholeBlocks !== true || wallets.size === 0 || blocks.length === 0) return;
  const contracts = chain.currencies.map(({ contract }) => contract);
  const told = await resultOf(() => chain.reader.payments(blocks, contracts, wallets.book, false));
  if (!told.ok) return;
  for (const { address, block } of told.value.found) wallets.mark(address, block);
  for (const { account, block } of told.value.unread) wallets.mark(account, block);
}

/**
 * Payments that nodes show, as rows. With `agreed`, those that nobody asked for are watched from
 * now on where tags tell payments apart.
 */
export function paymentRowsOf(
  chain: WatchedChain,
  list: WatchList,
  shown: readonly DetectedPayment[],
  agreed: boolean,
): readonly PaymentRow[] {
  const { network } = chain;
  const currencies = new Map(chain.currencies.map(({ contract, id }) => [contract, id]));
  const strays = agreed ? watchStrays(chain, list, shown, currencies) : [];
  const known = [...shown.filter(({ address }) => list.has(address)), ...strays];
  const found = known.filter(
    ({ address, block }) => !isInFoundBalance(chain.store.database, { network, address, block }),
  );
  const rows = found.map(({ contract, amountUnits, index, ...payment }) => ({
    ...payment,
    logIndex: index,
    currency: currencies.get(contract) as string,
    units: amountUnits.toString(),
    transactionId: list.requestOf(payment.address) ?? noRequestId,
    network,
    final: agreed ? (1 as const) : (0 as const),
  }));
  // A top-up of the address itself is the wallet's own money and no payment.
  return rows.filter((row) => !isOwnTopUp(chain.store.database, row));
}

/**
 * Watches deposit addresses with tags that nobody asked for, so that money with a wrong tag, or
 * without one, is kept like any other.
 * @returns payments that are too small for it, or too many
 */
function watchStrays(
  chain: WatchedChain,
  list: WatchList,
  shown: readonly DetectedPayment[],
  currencies: ReadonlyMap<string, string>,
): readonly DetectedPayment[] {
  const { store, network, clock } = chain;
  const strays = shown.filter(({ address }) => !list.has(address));
  if (strays.length === 0) return [];
  const more = new Map<string, number>();
  const worth = strays.filter(({ address, contract, amountUnits }) => {
    const { address: account } = payeeOf(network, address);
    const count = more.get(account) ?? 0;
    if (
      amountUnits < strayRowUnitsMin(chain, currencies.get(contract) ?? "") ||
      isStrayDayFull(chain, account, count)
    )
      return false;
    more.set(account, count + 1);
    return true;
  });
  if (worth.length > 0) {
    store.write((database) => {
      for (const { address } of worth) insertStrayAddress(database, { network, address }, clock());
    });
    list.refresh(store.database);
  }
  return strays.filter(
    ({ address }) =>
      !list.has(address) &&
      ownerOfTaggedAccount(store.database, network, payeeOf(network, address).address) !==
        undefined,
  );
}

/** Foreign uses of open withdrawals' slots by `users`; only for final, agreed blocks. */
export async function findSlotConsumptions(
  chain: WatchedChain,
  users: ReadonlySet<string>,
  blocks: readonly WatchedBlock[],
  missing: MissingHistory[] = [],
): Promise<readonly SlotConsumption[]> {
  const { database } = chain.store;
  const { found: sent, missing: lacking = [] } = await chain.reader.outgoing(blocks, users);
  missing.push(...lacking);
  const owners = listForeignSlotOwners(database, chain.network, sent);
  return mapWithLimit(owners, questionsAtOnce, async ({ place, ...row }) => ({
    row,
    verdict: await judge(chain, row, sent[place] as OutgoingTransaction),
  }));
}

/**
 * Judges a withdrawal whose slot was used by none of its attempts, with the transaction that an
 * earlier pass read. A ledger restored from a backup can give out a slot again that was used long
 * before, and no block is read twice. Null if no transaction with the slot was read.
 */
export async function judgeUsedSlot(
  chain: WatchedChain,
  row: JudgedRow,
  slot: Slot,
): Promise<Judgement | null> {
  const kept = outgoingOfSlot(chain.store.database, slot);
  if (kept === undefined || withdrawalOfAttempt(chain.store.database, kept) === row.id) return null;
  const block = await chain.reader.block(kept.block, true);
  const { found: sent } = await chain.reader.outgoing([block], new Set([slot.account]));
  const outgoingTx = sent.find(({ txHash }) => txHash === kept.txHash);
  return outgoingTx === undefined ? null : judge(chain, row, outgoingTx);
}

async function judge(
  chain: WatchedChain,
  row: JudgedRow,
  outgoingTx: OutgoingTransaction,
): Promise<Judgement> {
  const currency = chain.currencies.find(({ id }) => id === row.currency);
  if (currency === undefined)
    return {
      kind: "stuck",
      code: "WATCHER_SLOT_CONSUMED",
      detail: `currency ${row.currency} is not configured`,
    };
  const { account, slot } = outgoingTx;
  const to = {
    contract: contractOf(row, currency),
    destination: row.receiver ?? "",
    tag: row.tag,
    amountUnits: BigInt(row.units),
  };
  return chain.reader.judgeOutgoing({ network: chain.network, account, slot, ...to }, outgoingTx);
}
