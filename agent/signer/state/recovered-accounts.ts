/**
 * The next slot of each account in a recovered ledger: above everything that ledger and chain know
 * and that the new ledger keeps. The gateway's order does not move an account further, because a
 * slot that no withdrawal uses would block all later ones. Pure. Source: docs/protocol.md section
 * 8.
 */

import { type Refusal, refuse } from "../../../base/fault.ts";
import { expiryExclusionOf, familyOf, saySlot } from "../../../chains/families.ts";
import { farthestSlot } from "../../../chains/several-networks.ts";
import { parseJob } from "../../../protocol/payloads.ts";
import type { RecoveryAccountView } from "../../socket/recovery-plan.ts";
import { largerOf } from "../policy/sums.ts";
import { type AccountEntries, isBegun, isPending } from "./accounts.ts";
import type { RecoveryInput } from "./recovered-terms.ts";
import type { Withdrawal } from "./withdrawal.ts";

/** Every account with its next slot, and the view of it for an operator. */
export interface RecoveredAccounts {
  readonly ok: true;
  readonly entries: AccountEntries;
  readonly views: readonly RecoveryAccountView[];
}

/**
 * Returns the first slot that any withdrawal gets from now on: above everything that ledger and
 * chain know and that the new ledger keeps. `free` are slots on which nothing was signed and whose
 * withdrawals do not keep them. Refuses with RECOVERY_COUNT if a chain that counts has not been
 * counted yet, and with RECOVERY_SLOT if the order goes further or leaves an unused slot in
 * between, because no block would take the slots above.
 */
export function accountsOf(
  input: RecoveryInput,
  kept: readonly Withdrawal[],
  free: ReadonlySet<string>,
): RecoveredAccounts | Refusal {
  const { old, order, counts, accountOn } = input;
  const known = new Map(
    old.accounts
      .filter(([network, of]) => of === accountOn(network))
      .map((each) => [each[0], each]),
  );
  const mine = order.accounts.filter(({ network, account }) => account === accountOn(network));
  const told = new Map(mine.map(({ network, next }) => [network, next]));
  const counted = [...counts]
    .filter(([network, count]) => count !== familyOf(network).slots.least)
    .map(([network]) => network);
  const paying = kept.filter(({ job, account }) => account === accountOn(job.network));
  const networks = new Set([
    ...known.keys(),
    ...told.keys(),
    ...counted,
    ...paying.map(({ job }) => job.network),
  ]);
  const uncounted = [...networks].filter(
    (network) => familyOf(network).slots.isCounted && !counts.has(network),
  );
  const awaited = uncounted.map(input.countedChain).filter((chain) => chain !== null);
  if (awaited.length > 0) return refuse("RECOVERY_COUNT", awaited.sort().join(", "));
  const entries: AccountEntries[number][] = [];
  const views: RecoveryAccountView[] = [];
  for (const network of [...networks].sort()) {
    const { slots } = familyOf(network);
    const account = accountOn(network);
    const own = paying.filter(({ job }) => job.network === network);
    const [, , adopted = slots.least, ledgerNext = ""] = known.get(network) ?? [];
    const marks = [
      told.get(network),
      counts.get(network),
      ...own.map(({ slot }) => slots.next(slot)),
    ];
    const floor = withoutFree({ network, account, mark: ledgerNext || slots.least }, free);
    const next = farthestSlot(network, [floor, ...marks.filter((mark) => mark !== undefined)]);
    if (!isSlot(network, next)) return refuse("RECOVERY_OFFER", `slot ${next} cannot be`);
    const beyond = beyondOf({ network, account, floor, count: counts.get(network), next }, own);
    if (beyond !== null) return beyond;
    // An account on which no slot was ever used begins as any other does.
    const isNew = ledgerNext !== "" && !isBegun({ adopted, next: ledgerNext }) && next === adopted;
    const pending = own.filter(({ state }) => isPending(state)).length;
    entries.push([
      network,
      account,
      isNew ? adopted : slots.least,
      next,
      pending,
      ...timestampOf(input, network, account),
    ]);
    const chainCount = counts.get(network) ?? "";
    views.push({
      network,
      account,
      ledgerNext,
      gatewayNext: told.get(network) ?? "",
      chainCount,
      next,
    });
  }
  const swept = sweptOf(input, kept);
  if (!swept.ok) return swept;
  return { ok: true, entries: [...entries, ...swept.entries], views: [...views, ...swept.views] };
}

/** One account on its way into the recovered ledger. */
interface AccountReach {
  readonly network: string;
  readonly account: string;
  readonly floor: string; // the ledger's next slot, "first" if it has none
  readonly count: string | undefined; // the chain's count, as nodes agree
  readonly next: string;
}

/**
 * Refuses if a slot between ledger or chain and the next slot belongs to no kept withdrawal. On a
 * chain that takes slots in any order, no slot blocks another.
 */
function beyondOf(
  { network, account, floor, count, next }: AccountReach,
  own: readonly Withdrawal[],
): Refusal | null {
  const { slots } = familyOf(network);
  if (!slots.blocksLater) return null;
  const taken = new Set(own.map(({ slot }) => slot));
  let reached = farthestSlot(network, count === undefined ? [floor] : [floor, count]);
  while (taken.has(reached)) reached = slots.next(reached);
  if (slots.compare(reached, next) >= 0) return null;
  const chain =
    count === undefined ? "the chain's count is not known here yet" : `the chain counts ${count}`;
  const words = `${network} ${account}: the order goes on at ${saySlot(network, next)}, and ${saySlot(network, reached)} is nobody's`;
  return refuse("RECOVERY_SLOT", `${words}; ${chain}`);
}

/**
 * Returns the deposit addresses. An address that keeps a slot continues above everything that
 * ledger and order know. Any other begins again with its next sweep, at the count on which the
 * nodes agree.
 */
function sweptOf(input: RecoveryInput, kept: readonly Withdrawal[]): RecoveredAccounts | Refusal {
  const { old, order, accountOn } = input;
  const mine = new Map<string, Withdrawal[]>();
  // On a chain that counts no transactions, no node could tell where such an address continues.
  for (const [network, account] of old.accounts)
    if (account !== accountOn(network) && !familyOf(network).slots.isCounted)
      mine.set(`${network} ${account}`, []);
  for (const one of kept) {
    if (one.account === accountOn(one.job.network)) continue;
    const key = `${one.job.network} ${one.account}`;
    mine.set(key, [...(mine.get(key) ?? []), one]);
  }
  const entries: AccountEntries[number][] = [];
  const views: RecoveryAccountView[] = [];
  for (const [key, own] of [...mine].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const [network = "", address = ""] = key.split(" ");
    const [, , , ledgerNext = ""] =
      old.accounts.find(([at, of]) => at === network && of === address) ?? [];
    const gatewayNext =
      order.accounts.find((each) => each.network === network && each.account === address)?.next ??
      "";
    const { slots } = familyOf(network);
    const marks = [ledgerNext, gatewayNext].filter((mark) => mark !== "");
    const next = farthestSlot(network, [
      slots.least,
      ...marks,
      ...own.map(({ slot }) => slots.next(slot)),
    ]);
    if (!isSlot(network, next)) return refuse("RECOVERY_OFFER", `slot ${next} cannot be`);
    const pending = own.filter(({ state }) => isPending(state)).length;
    entries.push([
      network,
      address,
      slots.least,
      next,
      pending,
      ...timestampOf(input, network, address),
    ]);
    views.push({ network, account: address, ledgerNext, gatewayNext, chainCount: "", next });
  }
  return { ok: true, entries, views };
}

/**
 * Returns a timestamp that no attempt of the account exceeds, as far as ledger and gateway know: an
 * attempt never ends before its timestamp. Empty on a chain with nonces.
 */
function timestampOf(
  { old, order }: RecoveryInput,
  network: string,
  account: string,
): readonly [string] | readonly [] {
  if (expiryExclusionOf(network) === null) return [];
  const [, , , , , known = "0"] =
    old.accounts.find(([at, of]) => at === network && of === account) ?? [];
  const told = [...order.withdrawals, ...order.ended].filter(
    (item) => item.account === account && parseJob(item.job).network === network,
  );
  const own = old.book.open.filter((one) => one.account === account && one.job.network === network);
  const ends = [...told, ...own].flatMap(({ attempts }) =>
    attempts.map(({ validUntilMs = 0 }) => BigInt(validUntilMs)),
  );
  const last = ends.reduce(largerOf, BigInt(known));
  return last === 0n ? [] : [`${last}`];
}

/** Moves the mark down over the free slots right below it. */
function withoutFree(
  {
    network,
    account,
    mark,
  }: { readonly network: string; readonly account: string; readonly mark: string },
  free: ReadonlySet<string>,
): string {
  const { slots } = familyOf(network);
  const start = `${network} ${account} `;
  const own = [...free].flatMap((each) =>
    each.startsWith(start) ? [each.slice(start.length)] : [],
  );
  let floor = mark;
  for (const slot of own.sort(slots.compare).reverse())
    if (slots.next(slot) === floor) floor = slot;
  return floor;
}

/** True if an account can reach the slot. */
export function isSlot(network: string, slot: string): boolean {
  const { slots } = familyOf(network);
  return slots.read(slot) !== null && slots.compare(slot, slots.last) <= 0;
}
