/**
 * The sending accounts in the scheduler's memory: the hot wallet of each chain, and a deposit
 * address while a sweep of it is open. Pure data; only the scheduler's own steps change it.
 */
import { expiryExclusionOf, familyOf, pinExclusionOf } from "../../../chains/families.ts";
import type { ChainState } from "../../../chains/nodes.ts";
import type { OpenSlots } from "../../../protocol/messages.ts";
import { openAccountsMax } from "../../../protocol/payloads.ts";
import type { AccountView, CourierView } from "../../socket/verbs.ts";
import { newHeldCoins, newOwnCoins } from "./coins.ts";
import type { SchedulerEffect } from "./events.ts";
import type { Account, AccountCounts, SchedulerBook } from "./item.ts";
import { newNamedCoins } from "./naming.ts";

/** An account is idle once no withdrawal was open or expected for this time. */
const idleAfterMs = 60_000;

export const noAccountCounts: AccountCounts = {
  askedAtMs: null,
  dueAtMs: 0,
  detail: "",
  highest: "",
  latest: null,
};

/**
 * The key of an account in a book. `deposit` is a deposit address, undefined for the chain's hot
 * wallet.
 */
export function accountKey(chain: string, deposit: string | undefined): string {
  return deposit === undefined ? chain : `${chain} ${deposit}`;
}

/** The fields by which an effect names the account of its answer. */
export function accountFieldsOfEffect({ chain, address, isDeposit }: Account): {
  readonly chain: string;
  readonly account?: string;
} {
  return isDeposit ? { chain, account: address } : { chain };
}

/** Runs an act on the account that an event names. @returns that account, if there is one */
export function runOnAccount(
  book: SchedulerBook,
  { chain, account: deposit }: { readonly chain: string; readonly account?: string },
  run: (account: Account) => void,
): Iterable<Account> {
  const account = book.accounts.get(accountKey(chain, deposit));
  if (account === undefined) return [];
  run(account);
  return [account];
}

export function putAccount(book: SchedulerBook, view: AccountView): Account {
  const isDeposit = view.deposit === true;
  const key = accountKey(view.chain, isDeposit ? view.address : undefined);
  let account = book.accounts.get(key);
  if (account === undefined) {
    account = {
      isDeposit,
      chain: view.chain,
      network: view.network,
      address: view.address,
      slots: familyOf(view.network).slots,
      expiryExclusion: expiryExclusionOf(view.network),
      pinExclusion: pinExclusionOf(view.network),
      nextSlot: view.nextSlot,
      isUnbegun: false,
      chainState: null,
      head: -1,
      foundLately: 0,
      away: "",
      busyAtMs: Number.NEGATIVE_INFINITY,
      queues: new Map(),
      flight: new Set(),
      pending: new Set(),
      unincluded: new Set(),
      refusing: new Map(),
      transferable: new Map(),
      reservedNative: 0n,
      reservedTokens: new Map(),
      settling: [],
      slotCounts: { ...noAccountCounts },
      askingVoid: null,
      naming: newNamedCoins(),
      ownCoins: newOwnCoins(),
      held: newHeldCoins(),
      waitingOffer: null,
    };
    book.accounts.set(key, account);
  }
  account.nextSlot = view.nextSlot;
  return account;
}

/**
 * The account that pays a withdrawal; undefined for a chain without an account of this agent. A
 * deposit address is known after the first sweep, and the next slot after the first question.
 */
export function senderAccountOf(
  book: SchedulerBook,
  { mode, chain, network, sender }: CourierView,
): Account | undefined {
  const isSweep = mode === "sweep" && sender !== "";
  const known = book.accounts.get(accountKey(chain, isSweep ? sender : undefined));
  if (known !== undefined || !isSweep || !book.accounts.has(chain)) return known;
  return putAccount(book, { chain, network, address: sender, nextSlot: "", deposit: true });
}

/** Whether a chain's hot wallet is idle, so the nodes are asked for little. */
export function isHotWalletIdle(book: SchedulerBook, chain: string, nowMs: number): boolean {
  const account = book.accounts.get(accountKey(chain, undefined));
  return account === undefined || isQuiet(account, nowMs);
}

function isQuiet({ busyAtMs }: Account, nowMs: number): boolean {
  return nowMs - busyAtMs > idleAfterMs;
}

/** Keeps an account busy with withdrawals in a queue or on a slot; called each second and block. */
export function keepAccountBusy(account: Account, nowMs: number): void {
  const isOpen =
    account.flight.size > 0 || [...account.queues.values()].some((queue) => queue.length > 0);
  if (isOpen) account.busyAtMs = nowMs;
}

/**
 * A withdrawal is there or expected. The state of an idle account's chain may be a minute old, so
 * it is forgotten and read again before anything is signed.
 */
export function wakeAccount(account: Account, nowMs: number, out: SchedulerEffect[]): void {
  const isStale = isQuiet(account, nowMs);
  account.busyAtMs = nowMs;
  if (!isStale || account.chainState === null) return;
  account.chainState = null;
  out.push({ kind: "wake", ...accountFieldsOfEffect(account) });
}

/** The account has no first slot yet, as the signer says: its counts are asked for at once. */
export function markAccountUnbegun(account: Account, nowMs: number): void {
  account.isUnbegun = true;
  account.slotCounts.dueAtMs = nowMs;
}

/** Removes a deposit address without open withdrawals. */
export function forgetIdleDepositAddress(book: SchedulerBook, account: Account): void {
  if (!account.isDeposit) return;
  for (const item of book.items.values()) if (item.account === account) return;
  book.accounts.delete(accountKey(account.chain, account.address));
}

/**
 * For each account, the range of slots with open withdrawals in the ledger. A gateway that recovers
 * the ledger reports the final ones among these.
 */
export function listOpenSlots({ accounts, awaiting }: SchedulerBook): readonly OpenSlots[] {
  const open = new Map<string, OpenSlots>();
  const flying = [...accounts.values()].flatMap((account) =>
    [...account.flight].map(({ view: { slot } }) => ({ account, slot })),
  );
  for (const { account, slot } of [...flying, ...awaiting.values()]) {
    if (slot === "") continue;
    const { network, address, slots } = account;
    const key = `${network} ${address}`;
    const { first = slot, last = slot } = open.get(key) ?? {};
    const range = {
      first: slots.compare(slot, first) < 0 ? slot : first,
      last: slots.compare(slot, last) > 0 ? slot : last,
    };
    open.set(key, { network, account: address, ...range });
  }
  // The hot wallets pay others, so they come first if there is no room for all accounts.
  const hotWallets = new Set(
    [...accounts.values()].flatMap((one) =>
      one.isDeposit ? [] : [`${one.network} ${one.address}`],
    ),
  );
  return [...open]
    .sort(([a], [b]) => Number(hotWallets.has(b)) - Number(hotWallets.has(a)))
    .slice(0, openAccountsMax)
    .map(([, range]) => range);
}

/** The alarm for an account that its own key does not control any more; "" while it does. */
/** The fault of the first part of the chain's state that a new signature needs and that lacks. */
export function codeOfUnreadState({ unread }: Pick<ChainState, "unread">): string {
  const fault = unread?.get("control") ?? unread?.get("market") ?? unread?.get("funds");
  return fault?.code ?? "";
}

export function codeOfLostControl({
  accountHasCode,
  isKeyChanged = false,
}: Pick<ChainState, "accountHasCode" | "isKeyChanged">):
  | "COURIER_ACCOUNT_CODE"
  | "ACCOUNT_KEY_CHANGED"
  | "" {
  if (accountHasCode) return "COURIER_ACCOUNT_CODE";
  return isKeyChanged ? "ACCOUNT_KEY_CHANGED" : "";
}
