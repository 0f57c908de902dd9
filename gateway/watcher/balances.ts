/**
 * Reads the balances of the paired agents' hot wallets at the newest final block, in each currency
 * of the chain: of wallets that something moved, that promise something or that somebody asked for,
 * and of the others in turn. The gateway's reservations are based on these balances, so enough
 * nodes must agree on them.
 */

import { resultOf } from "../../base/result.ts";
import { hasQuestionsLeftFor } from "../../chains/hour-share.ts";
import type { BlockId } from "../../chains/nodes.ts";
import type { GatewayCurrency } from "../config/config.ts";
import { currencyItemId, keyText } from "../faults/fault.ts";
import { MerchantTurns } from "../faults/turns.ts";
import { keepBalance, readBalanceRow } from "../store/balances.ts";
import { listAccountsWithReserves } from "../store/reserved.ts";
import { listSweepReceivers } from "../store/sweeps.ts";
import { keepUnusable } from "../store/unusable-coins.ts";
import type { WatchedChain } from "./chain.ts";
import {
  askBalances,
  faultKeyOn,
  readableCurrencies,
  settleBalances,
  type WatchedBalance,
  watchedBalancesOf,
} from "./items.ts";
import type { HotWallets } from "./wallets.ts";

export interface BalanceMemory {
  moved: number; // readings in a row that were discarded because the final block moved meanwhile
  readonly turns: MerchantTurns; // of merchants
  readonly wallets: HotWallets;
  promising: ReadonlySet<string>; // wallets with a promise at the last pass
  currencies: ReadonlySet<string>; // that could be read then
  version: number; // the wallets whose faults and turns are kept
}

export function newBalanceMemory(wallets: HotWallets): BalanceMemory {
  const nothing = new Set<string>();
  return {
    moved: 0,
    turns: new MerchantTurns(),
    wallets,
    promising: nothing,
    currencies: nothing,
    version: -1,
  };
}

/**
 * Hot wallets in one currency that a pass reads, and the same if each is its own question; the
 * others come in the next passes.
 */
const questionsPerPass = 512;
const questionsPerPassEach = 128;
/**
 * After this many discarded readings in a row the next is kept, because the chain's final block
 * moves faster than balances are read.
 */
const movedMax = 3;

/**
 * Reads the wallets that are due. Some nodes report balances only at their newest final block. A
 * reading from such nodes is discarded if that block moved meanwhile, at most `movedMax` times in a
 * row. Otherwise a payment of the later block would count twice: in the balance and on its own.
 * A hot wallet that cannot be read costs no other; its last balance stays, with its time.
 * @throws AgentError NODE_CLOSED
 */
export async function readBalances(
  chain: WatchedChain,
  final: BlockId,
  memory: BalanceMemory,
): Promise<void> {
  const { wallets } = memory;
  wallets.reached(final.number);
  wallets.refresh(chain.store.database);
  const currencies = readableCurrencies(chain);
  markWallets(chain, memory, currencies);
  const due = wallets
    .due()
    .flatMap((account) =>
      watchedBalancesOf(
        chain,
        "account",
        { account, merchant: wallets.merchantOf(account) ?? "", isWaited: true },
        currencies,
      ),
    )
    .filter(
      ({ key, account, currency }) =>
        wallets.isDue(account, currency.id) && chain.faults.isDue(key),
    );
  // Other parts of a pass take the agents too, so the list may have changed before.
  if (memory.version !== wallets.version) forgetOthers(chain, memory);
  memory.version = wallets.version;
  for (const { account, currency } of await readItems(chain, final, memory, due))
    wallets.wasRead(account, currency.id, currencies, chain.clock());
}

/** Forgets faults and turns of wallets whose agent was unpaired. */
function forgetOthers(chain: WatchedChain, { wallets, turns }: BalanceMemory): void {
  const keys = wallets
    .all()
    .flatMap((account) =>
      chain.currencies.map(({ id }) => faultKeyOn(chain, "account", currencyItemId(account, id))),
    );
  const ids = new Set(keys.map(({ id }) => id));
  chain.faults.keepOnly("account", (id) => ids.has(id));
  turns.keep(new Set(keys.map(keyText)));
}

/**
 * Marks the wallets of this pass. A wallet that promised something at the last pass is read once
 * more, because its last withdrawal ended at this final block. A currency that comes back into
 * service is read on each wallet.
 */
function markWallets(
  chain: WatchedChain,
  memory: BalanceMemory,
  currencies: readonly GatewayCurrency[],
): void {
  const { wallets } = memory;
  const { database } = chain.store;
  const readable = new Set(currencies.map(({ id }) => id));
  if ([...readable].some((id) => !memory.currencies.has(id)))
    wallets.markAll([...readable].filter((id) => memory.currencies.has(id)));
  memory.currencies = readable;
  const promising = new Set([
    ...listAccountsWithReserves(database, chain.network),
    ...listSweepReceivers(database, chain.network),
  ]);
  for (const account of new Set([...promising, ...memory.promising])) wallets.mark(account, 0);
  memory.promising = promising;
  wallets.markFirst(mostOf(chain));
  if (hasQuestionsLeftFor("comparison", chain.reader.status()))
    wallets.markResting(chain.clock(), currencies.length);
}

const mostOf = ({ reader }: WatchedChain): number =>
  reader.tellsNewestBalances === true ? questionsPerPassEach : questionsPerPass;

/** @returns the items whose balances are known now */
async function readItems(
  chain: WatchedChain,
  final: BlockId,
  memory: BalanceMemory,
  due: readonly WatchedBalance[],
): Promise<readonly WatchedBalance[]> {
  if (due.length === 0) return [];
  memory.turns.beginPass();
  const items = memory.turns.deal(due, mostOf(chain), ({ key }) => ({
    id: keyText(key),
    merchant: key.merchant,
    questions: 1,
  }));
  const told = await askBalances(chain, items, final.number);
  const units = new Map(
    [...told].flatMap(([text, answer]) => (answer.ok ? [[text, answer.value] as const] : [])),
  );
  const balances = items.flatMap(({ key, account, currency }): readonly WalletBalance[] => {
    const known = units.get(keyText(key));
    return known === undefined ? [] : [{ account, currency: currency.id, units: known }];
  });
  if (!(await areOf(chain, final, balances, memory))) return [];
  if (balances.length > 0) {
    const nowMs = chain.clock();
    chain.store.write((database) => {
      for (const { account, currency, units: known } of balances) {
        keepBalance(database, {
          account,
          currency,
          units: known.toString(),
          block: final.number,
          at: nowMs,
        });
        keepUnusable(database, { account, currency }, unusableIn(chain, account, currency, nowMs));
      }
    });
  }
  const known = settleBalances(chain, items, told);
  return items.filter(({ key }) => known.has(keyText(key)));
}

/** Coins are the balance of the native coin; on other chains there are none. */
function unusableIn(
  { currencies, reader }: WatchedChain,
  account: string,
  currency: string,
  at: number,
) {
  const isNative = currencies.some(({ id, contract }) => id === currency && contract === "");
  const coins = isNative ? (reader.unusableCoins?.(account) ?? []) : [];
  const [first] = coins;
  if (first === undefined) return null;
  const units = coins.reduce((sum, coin) => sum + coin.units, 0n);
  return { units: `${units}`, words: `coin ${first.id}: ${first.words}`, at };
}

interface WalletBalance {
  readonly account: string;
  readonly currency: string;
  readonly units: bigint;
}

/**
 * True if these values are of this block. A value that equals the kept value is valid at every
 * block since then.
 */
async function areOf(
  { reader, store }: WatchedChain,
  final: BlockId,
  balances: readonly WalletBalance[],
  memory: BalanceMemory,
): Promise<boolean> {
  const isNew = ({ account, currency, units }: WalletBalance): boolean =>
    readBalanceRow(store.database, account, currency)?.units !== units.toString();
  if (reader.tellsNewestBalances !== true || memory.moved >= movedMax || !balances.some(isNew)) {
    memory.moved = 0;
    return true;
  }
  // Enough nodes are still at this block, so at least one node that agreed on a value read it here.
  const now = await resultOf(() => reader.finalTip());
  const isStill = now.ok && now.value.hash === final.hash;
  memory.moved = isStill ? 0 : memory.moved + 1;
  return isStill;
}
