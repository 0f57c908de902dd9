/**
 * Reads the balances of the paired agents' hot wallets at the newest final block, in each currency
 * of the chain. The gateway's reservations are based on these balances, so enough nodes must agree
 * on them.
 */

import { resultOf } from "../../base/result.ts";
import type { BlockId } from "../../chains/nodes.ts";
import { idIn, keyText } from "../faults/fault.ts";
import { Turns } from "../faults/turns.ts";
import { hotWalletAddressOn } from "../store/agent-accounts.ts";
import { listPairedWallets } from "../store/agents.ts";
import { keepBalance, readBalanceRow } from "../store/balances.ts";
import { keepUnusable } from "../store/unusable-coins.ts";
import type { WatchedChain } from "./chain.ts";
import { askBalances, itemsOf, readableCurrencies, settleBalances } from "./items.ts";

export interface BalanceMemory {
  final: string; // hash of the block of the readings in `done`
  readonly done: Set<string>; // items that were read at this block
  moved: number; // readings in a row that were discarded because the final block moved meanwhile
  readonly turns: Turns; // of merchants
}

export function newBalanceMemory(): BalanceMemory {
  return { final: "", done: new Set(), moved: 0, turns: new Turns() };
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
 * Reads again if the final block moved or an agent was added. Some nodes report balances only at
 * their newest final block. A reading from such nodes is discarded if that block moved meanwhile,
 * at most `movedMax` times in a row. Otherwise a payment of the later block would count twice: in
 * the balance and on its own.
 * A hot wallet that cannot be read costs no other; its last balance stays, with its time.
 * @throws AgentError NODE_CLOSED
 */
export async function readBalances(
  chain: WatchedChain,
  final: BlockId,
  memory: BalanceMemory,
): Promise<void> {
  if (memory.final !== final.hash) memory.done.clear();
  memory.final = final.hash;
  const wallets = listPairedWallets(chain.store.database, chain.network);
  const all = wallets.flatMap((one) => {
    const account = hotWalletAddressOn(one, chain.network);
    if (account === "") return [];
    return itemsOf(
      chain,
      "account",
      { account, merchant: one.merchant, isWaited: true },
      readableCurrencies(chain),
    );
  });
  const due = all.filter(({ key }) => !memory.done.has(keyText(key)) && chain.faults.isDue(key));
  const ids = new Set(
    wallets.flatMap((one) =>
      chain.currencies.map(({ id }) => idIn(hotWalletAddressOn(one, chain.network), id)),
    ),
  );
  chain.faults.keepOnly("account", (id) => ids.has(id));
  if (due.length === 0) return;
  memory.turns.beginPass();
  memory.turns.keep(new Set(all.map(({ key }) => keyText(key))));
  const most = chain.reader.tellsNewestBalances === true ? questionsPerPassEach : questionsPerPass;
  const items = memory.turns.deal(due, most, ({ key }) => ({
    id: keyText(key),
    merchant: key.merchant,
    questions: 1,
  }));
  const told = await askBalances(chain, items, final.number);
  const units = new Map(
    [...told].flatMap(([text, answer]) => (answer.ok ? [[text, answer.value] as const] : [])),
  );
  const balances = items.flatMap(({ key, account, currency }): readonly Reading[] => {
    const known = units.get(keyText(key));
    return known === undefined ? [] : [{ account, currency: currency.id, units: known }];
  });
  if (!(await areOf(chain, final, balances, memory))) return;
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
  for (const text of settleBalances(chain, items, told).keys()) memory.done.add(text);
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

interface Reading {
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
  balances: readonly Reading[],
  memory: BalanceMemory,
): Promise<boolean> {
  const isNew = ({ account, currency, units }: Reading): boolean =>
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
