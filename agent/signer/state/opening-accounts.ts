/**
 * Which slot each account gives next in a new ledger: above everything that ledger and chain know
 * of and that the new ledger keeps. The gateway's order moves no account further: a slot that
 * nobody closes would hold up all behind it. Pure. Source: docs/protocol.md section 8.
 */
import { familyOf, farthestSlot, saySlot, waitingOf } from "../../../chains/families.ts";
import { type Refusal, refuse } from "../../../protocol/fault.ts";
import { parseJob } from "../../../protocol/payloads.ts";
import type { RecoveryAccountView } from "../../socket/recovery-plan.ts";
import { dearer } from "../policy/sums.ts";
import { type AccountEntries, isBegun, isPending } from "./accounts.ts";
import type { Opening } from "./opening-terms.ts";
import type { Withdrawal } from "./withdrawal.ts";

/** Every account with what it gives next, and what a person should see of that. */
export interface OpenedAccounts {
  readonly ok: true;
  readonly entries: AccountEntries;
  readonly views: readonly RecoveryAccountView[];
}

/**
 * The first slot that anybody gets from now on: above everything that ledger and chain know of and
 * that the new ledger keeps. `free` are slots that only versions that never left were made for, and
 * whose withdrawals do not keep them. Refuses RECOVERY_SLOT where the order goes further, or leaves
 * a slot in between that nobody has: no block would take those above it.
 */
export function accountsOf(opening: Opening, kept: readonly Withdrawal[], free: ReadonlySet<string>): OpenedAccounts | Refusal {
  const { old, order, counts, accountOn } = opening;
  const known = new Map(old.accounts.filter(([network, of]) => of === accountOn(network)).map((each) => [each[0], each]));
  const mine = order.accounts.filter(({ network, account }) => account === accountOn(network));
  const told = new Map(mine.map(({ network, next }) => [network, next]));
  const counted = [...counts].filter(([network, count]) => count !== familyOf(network).slots.first).map(([network]) => network);
  const paying = kept.filter(({ job, account }) => account === accountOn(job.network));
  const networks = new Set([...known.keys(), ...told.keys(), ...counted, ...paying.map(({ job }) => job.network)]);
  const entries: AccountEntries[number][] = [];
  const views: RecoveryAccountView[] = [];
  for (const network of [...networks].sort()) {
    const { slots } = familyOf(network);
    const account = accountOn(network);
    const own = paying.filter(({ job }) => job.network === network);
    const [, , adopted = slots.first, ledgerNext = ""] = known.get(network) ?? [];
    const marks = [told.get(network), counts.get(network), ...own.map(({ slot }) => slots.next(slot))];
    const floor = withoutFree({ network, account, mark: ledgerNext || slots.first }, free);
    const next = farthestSlot(network, [floor, ...marks.filter((mark) => mark !== undefined)]);
    if (!isSlot(network, next)) return refuse("RECOVERY_ORDER", `slot ${next} cannot be`);
    const beyond = beyondOf({ network, account, floor, count: counts.get(network), next }, own);
    if (beyond !== null) return beyond;
    // An account that nothing was ever bound on begins as any other does.
    const isNew = ledgerNext !== "" && !isBegun({ adopted, next: ledgerNext }) && next === adopted;
    const pending = own.filter(({ state }) => isPending(state)).length;
    entries.push([network, account, isNew ? adopted : slots.first, next, pending, ...stampOf(opening, network, account)]);
    const chainCount = counts.get(network) ?? "";
    views.push({ network, account, ledgerNext, gatewayNext: told.get(network) ?? "", chainCount, next });
  }
  const swept = sweptOf(opening, kept);
  if (!swept.ok) return swept;
  return { ok: true, entries: [...entries, ...swept.entries], views: [...views, ...swept.views] };
}

/** One account on its way into the new ledger. */
interface Reach {
  readonly network: string;
  readonly account: string;
  readonly floor: string; // the ledger's next slot, "first" where it has none
  readonly count: string | undefined; // of the chain, as nodes agree
  readonly next: string;
}

/**
 * Each slot from ledger and chain up to the next one is some kept withdrawal's. On a chain that
 * takes slots in any order none holds up another.
 */
function beyondOf({ network, account, floor, count, next }: Reach, own: readonly Withdrawal[]): Refusal | null {
  const { slots } = familyOf(network);
  if (!slots.blocksLater) return null;
  const taken = new Set(own.map(({ slot }) => slot));
  let reached = farthestSlot(network, count === undefined ? [floor] : [floor, count]);
  while (taken.has(reached)) reached = slots.next(reached);
  if (slots.compare(reached, next) >= 0) return null;
  const chain = count === undefined ? "the chain's count is not known here yet" : `the chain counts ${count}`;
  const words = `${network} ${account}: the order goes on at ${saySlot(network, next)}, and ${saySlot(network, reached)} is nobody's`;
  return refuse("RECOVERY_SLOT", `${words}; ${chain}`);
}

/**
 * Addresses for deposits. One that keeps a slot goes on above everything that ledger and order know
 * of; any other begins anew with its next sweep, where the nodes agree on a count.
 */
function sweptOf(opening: Opening, kept: readonly Withdrawal[]): OpenedAccounts | Refusal {
  const { old, order, accountOn } = opening;
  const mine = new Map<string, Withdrawal[]>();
  // On a chain that counts none, no node could say where such an address goes on.
  for (const [network, account] of old.accounts)
    if (account !== accountOn(network) && !familyOf(network).slots.isCounted) mine.set(`${network} ${account}`, []);
  for (const one of kept) {
    if (one.account === accountOn(one.job.network)) continue;
    const key = `${one.job.network} ${one.account}`;
    mine.set(key, [...(mine.get(key) ?? []), one]);
  }
  const entries: AccountEntries[number][] = [];
  const views: RecoveryAccountView[] = [];
  for (const [key, own] of [...mine].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const [network = "", address = ""] = key.split(" ");
    const [, , , ledgerNext = ""] = old.accounts.find(([at, of]) => at === network && of === address) ?? [];
    const gatewayNext = order.accounts.find((each) => each.network === network && each.account === address)?.next ?? "";
    const { slots } = familyOf(network);
    const marks = [ledgerNext, gatewayNext].filter((mark) => mark !== "");
    const next = farthestSlot(network, [slots.first, ...marks, ...own.map(({ slot }) => slots.next(slot))]);
    if (!isSlot(network, next)) return refuse("RECOVERY_ORDER", `slot ${next} cannot be`);
    const pending = own.filter(({ state }) => isPending(state)).length;
    entries.push([network, address, slots.first, next, pending, ...stampOf(opening, network, address)]);
    views.push({ network, account: address, ledgerNext, gatewayNext, chainCount: "", next });
  }
  return { ok: true, entries, views };
}

/**
 * A stamp that no version of the account has above itself, as far as ledger and gateway know: the
 * end of a version is never before its stamp. Nothing where slots exclude.
 */
function stampOf({ old, order }: Opening, network: string, account: string): readonly [string] | readonly [] {
  if (waitingOf(network) === null) return [];
  const [, , , , , known = "0"] = old.accounts.find(([at, of]) => at === network && of === account) ?? [];
  const told = [...order.withdrawals, ...order.ended].filter(
    (item) => item.account === account && parseJob(item.job).network === network,
  );
  const own = old.book.open.filter((one) => one.account === account && one.job.network === network);
  const ends = [...told, ...own].flatMap(({ versions }) => versions.map(({ until = 0 }) => BigInt(until)));
  const last = ends.reduce(dearer, BigInt(known));
  return last === 0n ? [] : [`${last}`];
}

/** The mark moves down over the free slots right below it. */
function withoutFree(
  { network, account, mark }: { readonly network: string; readonly account: string; readonly mark: string },
  free: ReadonlySet<string>,
): string {
  const { slots } = familyOf(network);
  const start = `${network} ${account} `;
  const own = [...free].flatMap((each) => (each.startsWith(start) ? [each.slice(start.length)] : []));
  let floor = mark;
  for (const slot of own.sort(slots.compare).reverse()) if (slots.next(slot) === floor) floor = slot;
  return floor;
}

/** Whether an account can come so far. */
export function isSlot(network: string, slot: string): boolean {
  const { slots } = familyOf(network);
  return slots.read(slot) !== null && slots.compare(slot, slots.last) <= 0;
}
