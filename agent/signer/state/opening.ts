/**
 * A new ledger's first state: the gateway's order and the ledger before it, taken together. A slot
 * that either calls used is used; a withdrawal that either calls bound keeps its slot; where the
 * two contradict, both sides wait for the chain and nothing is signed. What has no slot is left out
 * and comes again as a job. Pure: snapshot, order and counts in, snapshot out. Source:
 * docs/protocol.md section 8.
 */
import { familyOf, farthestSlot, waitingOf } from "../../../chains/families.ts";
import { parseAmount } from "../../../protocol/amount.ts";
import { type Refusal, refuse } from "../../../protocol/fault.ts";
import { transactionIdOf, zeroHash } from "../../../protocol/identity.ts";
import { laneOf, operationOf } from "../../../protocol/job-mode.ts";
import type { Job } from "../../../protocol/messages.ts";
import { parseJob } from "../../../protocol/payloads.ts";
import type { Recovery } from "../../../protocol/recovery.ts";
import type { RecoveryAccountView, RecoveryWithdrawalView } from "../../socket/recovery-plan.ts";
import { dearer, Sums } from "../policy/sums.ts";
import { type AccountEntries, isBegun, isPending } from "./accounts.ts";
import { type Bound, bindings, contestedCode } from "./bindings.ts";
import { canonicalAddress, contentOf } from "./content.ts";
import type { CoreSnapshot } from "./core.ts";
import type { State } from "./machine.ts";
import { isOver, unheard, type Version, type Withdrawal } from "./withdrawal.ts";

/**
 * A whole order.
 * @public
 */
export type Order = Omit<Recovery, "part" | "parts">;

/** What a ledger is opened from. */
export interface Opening {
  readonly old: CoreSnapshot;
  readonly order: Order;
  // network → the slot after the account's final transactions, as nodes agree
  readonly counts: ReadonlyMap<string, string>;
  readonly accountOn: (network: string) => string; // paying address
  // the gateway went back as well, so this ledger may know what left and the gateway does not
  readonly both: boolean;
  readonly tellFrom: number;
  readonly nowMs: number; // ledger time
  // in the ledger before, however long ago
  readonly stateOf: (transactionId: string) => State | undefined;
  readonly decimalOf: (lane: string) => number | undefined;
  // whose slots a job's are: the hot address or one for deposits
  readonly payerOf: (job: Job) => string;
}

/**
 * The new state, and what a person should see of it.
 * @public
 */
export interface OpenedState {
  readonly ok: true;
  readonly state: CoreSnapshot;
  readonly accounts: readonly RecoveryAccountView[];
  readonly kept: readonly RecoveryWithdrawalView[];
  readonly left: number; // open withdrawals that come again as jobs, as far as the gateway has them
}

/**
 * The same for the same input. Refuses with RECOVERY_ORDER what no gateway of ours makes.
 * @public
 */
export function openState(opening: Opening): OpenedState | Refusal {
  const { old, order, both, nowMs, tellFrom } = opening;
  const wrong = problemOf(opening);
  if (wrong !== null) return wrong;
  const { bound, free } = bindings(old.book.open, order, both, opening.stateOf);
  const kept = bound.map((each) => keptOf(each, opening));
  const ids = new Set(kept.map(({ transactionId }) => transactionId));
  const accounts = accountsOf(opening, kept, free);
  if (!accounts.ok) return accounts;
  const ended = closedOf(opening, ids);
  const { sequence, hash } = order.jobs;
  const wasHolding = old.opened?.isHolding === true;
  const state: CoreSnapshot = {
    ...old,
    paired: { ...old.paired, epoch: order.epoch },
    locked: null,
    // What the gateway's order counts is counted at its time: this ledger goes on from there.
    heads: { acked: { seq: 0, hash: zeroHash }, from: 1, hashes: [], at: nowMs },
    chain: { sequence, hash, links: sequence === 0 ? [] : [[sequence, hash, ""]] },
    accounts: accounts.entries,
    policy: { ...old.policy, approvals: [], windows: sumsOf(opening, kept) },
    book: { open: kept, ...ended, unreleased: [], finals: [] },
    outbox: [],
    opened: {
      ...{ seq: 0, order: order.order, tellFrom, isHolding: both || wasHolding },
      spends: both ? order.spends : (old.opened?.spends ?? []),
    },
    heldBefore: old.heldBefore ?? 0,
  };
  const here = new Map(old.book.open.map((one) => [one.transactionId, one.state]));
  const open = old.book.open.filter((one) => !isOver(one));
  return {
    ...{ ok: true, state, accounts: accounts.views },
    kept: kept.map((one) => viewOf(one, here.get(one.transactionId))),
    left: open.filter(({ transactionId }) => !ids.has(transactionId)).length,
  };
}

/**
 * The gateway's own rules, held against its own word: what breaks them was made by something else.
 */
function problemOf({ old, order, payerOf }: Opening): Refusal | null {
  const { agent, wallet, merchant } = old.paired;
  const seen = new Set<string>();
  for (const item of [...order.withdrawals, ...order.ended]) {
    const job = parseJob(item.job);
    const { transactionId, orderId } = job;
    if (job.agent !== agent || job.wallet !== wallet) return refuse("RECOVERY_ORDER", `${transactionId} is another agent's`);
    if (transactionId !== transactionIdOf({ merchant, operation: operationOf(job.mode), orderId })) {
      return refuse("RECOVERY_ORDER", `${transactionId} is not its order's id`);
    }
    if (seen.has(transactionId)) return refuse("RECOVERY_ORDER", `${transactionId} stands twice`);
    if (item.account !== payerOf(job)) return refuse("RECOVERY_ORDER", `${item.account} is not our account`);
    if (!isSlot(job.network, item.slot)) return refuse("RECOVERY_ORDER", `slot ${item.slot} cannot be`);
    const waits = waitingOf(job.network) !== null;
    if (item.versions.some(({ until }) => (until !== undefined) !== waits))
      return refuse("RECOVERY_ORDER", `${transactionId} has a version without its end, or with one that it cannot have`);
    if (waits && item.versions.some(({ cancel }) => cancel === true))
      return refuse("RECOVERY_ORDER", `${transactionId} has a cancel, and its chain has none`);
    seen.add(transactionId);
  }
  return null;
}

/**
 * On its slot, with every version that may be anywhere; policy, or for a contested one the chain,
 * says how it goes on.
 */
function keptOf({ item, own, isContested, slot, account, rival }: Bound, { both }: Opening): Withdrawal {
  const job = own?.job ?? parseJob(item?.job ?? "");
  const versions = versionsOf(item, own, both);
  const isApproved = own !== undefined && own.amountUnits !== "" && !isContested;
  const address = canonicalAddress(own?.address || item?.address || job.address);
  return {
    ...{ transactionId: job.transactionId, job, jobText: own?.jobText ?? item?.job ?? "" },
    ...{ jobSignature: own?.jobSignature ?? item?.signature ?? "", isKept: true, ...(rival === "" ? {} : { rival }) },
    ...{ requestedAt: own?.requestedAt ?? unheard, changedAt: own?.changedAt ?? unheard },
    ...{ state: "quarantined", code: isContested ? contestedCode : "", address, revision: own?.revision ?? 0 },
    ...{ amountUnits: isApproved ? own.amountUnits : "", contract: isApproved ? own.contract : "", confirmed: null },
    ...{ account, slot: slot, versions, observed: null, observations: 0, history: own?.history ?? [] },
    ...{ isEnded: false, endSeq: 0, isEndHeard: false },
    // A person's cancel stands; another version is asked for anew.
    ...(own?.ordered?.act === "cancel" ? { ordered: own.ordered } : {}),
  };
}

/**
 * The gateway's versions under their own numbers, then those that this ledger alone has signed.
 * Bytes stay only where the gateway has the version: what it lacks may not be shown to anybody.
 * Without a gateway that went back, what it lacks has never left. What was called dead here is
 * dead: a hash names bytes, whatever was put back.
 */
function versionsOf(item: Bound["item"], own: Withdrawal | undefined, both: boolean): Version[] {
  const mine = new Map(own?.versions.filter(({ txHash }) => txHash !== "").map((one) => [one.txHash, one]));
  const named = (item?.versions ?? []).map((told, index): Version => {
    const known = mine.get(told.txHash);
    mine.delete(told.txHash);
    return known?.released === true
      ? { ...known, version: index + 1 }
      : bareVersion({ ...told, isCancel: known?.isCancel ?? told.cancel === true }, index + 1);
  });
  const others = [...mine.values()].filter(({ released }) => released || both);
  const rest = others.map((one, index) => bareVersion(one, named.length + index + 1));
  return [...named, ...rest];
}

/**
 * Its bytes are gone: the hash is left, to be recognised by, and what it may cost, so that the next
 * one costs more.
 */
function bareVersion(
  { txHash, feeMax, isCancel, until, dead }: Pick<Version, "txHash" | "feeMax" | "isCancel" | "until" | "dead">,
  version: number,
): Version {
  return {
    ...{ version, intentSeq: 0, digest: "", unsigned: "", facts: null },
    ...{ txHash, raw: "", signedAt: 0, released: true, isCancel, feeMax },
    ...(until === undefined ? {} : { until }),
    ...(dead === undefined ? {} : { dead }),
  };
}

/** What ended stays ended for ever, also what the gateway has not acknowledged yet. */
function closedOf(
  { old: { book }, stateOf }: Opening,
  kept: ReadonlySet<string>,
): Pick<CoreSnapshot["book"], "closed" | "ends" | "recent"> {
  const isOpen = new Set(book.open.map(({ transactionId }) => transactionId));
  const ended = book.open.filter((one) => isOver(one) && !kept.has(one.transactionId));
  const ends = new Map(book.ends);
  const count = (state: State, by: number): void => {
    ends.set(state, (ends.get(state) ?? 0) + by);
  };
  for (const { state } of ended) count(state, 1);
  // What ended here and is bound there is open again.
  for (const id of kept) {
    const state = isOpen.has(id) ? undefined : stateOf(id);
    if (state !== undefined) count(state, -1);
  }
  const closed = ended.map(({ transactionId, state, job }) => [transactionId, state, contentOf(job)] as const);
  return {
    closed: [...book.closed.filter(([id]) => !kept.has(id)), ...closed],
    ends: [...ends].filter(([, number]) => number !== 0),
    recent: [...book.recent.filter(({ transactionId }) => !kept.has(transactionId)), ...ended],
  };
}

/**
 * What is bound counts; what was only approved does not; of a day that was forgotten here, the
 * gateway's sum.
 */
function sumsOf({ old, order, nowMs, decimalOf }: Opening, kept: readonly Withdrawal[]): CoreSnapshot["policy"]["windows"] {
  const sums = new Sums(old.policy.windows);
  const bound = new Set(kept.map(({ transactionId }) => transactionId));
  for (const one of old.book.open) {
    const { transactionId, job } = one;
    if (!bound.has(transactionId) && !isOver(one)) sums.forget(transactionId, laneOf(job));
  }
  const ended = new Set(order.ended.map(({ job }) => parseJob(job).transactionId));
  for (const { currency, units, feesUnits } of order.spent) {
    // What has ended there is in the gateway's sum, open here or not.
    const counted = sums.countedBeside(
      currency,
      [...bound].filter((id) => !ended.has(id)),
      nowMs,
    );
    const rest = (all: bigint, known: bigint): string => (all > known ? all - known : 0n).toString();
    const lost = { currency, units: rest(BigInt(units), counted.units), feesUnits: rest(BigInt(feesUnits), counted.feesUnits) };
    if (lost.units !== "0" || lost.feesUnits !== "0") sums.countSpent(`order ${order.order}`, lost, nowMs);
  }
  for (const { transactionId, job, amountUnits, versions } of kept) {
    const decimal = decimalOf(laneOf(job));
    const parsed = decimal === undefined ? null : parseAmount(job.amount, decimal);
    const units = amountUnits === "" ? (parsed?.ok ? parsed.units : 0n) : BigInt(amountUnits);
    const feeMaxUnits = versions.map(({ feeMax }) => BigInt(feeMax)).reduce(dearer, 0n);
    sums.countBound(transactionId, laneOf(job), units, feeMaxUnits, nowMs);
  }
  return sums.entriesAt(nowMs);
}

/**
 * The first slot that anybody gets from now on: above everything that ledger, gateway or chain know
 * of. `free` are slots that only versions that never left were made for, and whose withdrawals do
 * not keep them.
 */
function accountsOf(
  opening: Opening,
  kept: readonly Withdrawal[],
  free: ReadonlySet<string>,
): { readonly ok: true; readonly entries: AccountEntries; readonly views: readonly RecoveryAccountView[] } | Refusal {
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

/**
 * Addresses for deposits. One that keeps a slot goes on above everything that ledger and order know
 * of; any other begins anew with its next sweep, where the nodes agree on a count.
 */
function sweptOf(
  opening: Opening,
  kept: readonly Withdrawal[],
): { readonly ok: true; readonly entries: AccountEntries; readonly views: readonly RecoveryAccountView[] } | Refusal {
  const { old, order, accountOn } = opening;
  const mine = new Map<string, Withdrawal[]>();
  // Where the chain counts none, no node could say where such an address goes on.
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

function isSlot(network: string, slot: string): boolean {
  const { slots } = familyOf(network);
  return slots.read(slot) !== null && slots.compare(slot, slots.last) <= 0;
}

function viewOf(
  { transactionId, job, address, code, slot, versions }: Withdrawal,
  state: Withdrawal["state"] | undefined,
): RecoveryWithdrawalView {
  const { orderId, currency, amount } = job;
  return {
    ...{ transactionId, orderId, currency, amount, address, here: state === "requested" ? "held" : (state ?? "") },
    ...{ isContested: code === contestedCode, slot, txHashes: versions.map(({ txHash }) => txHash) },
  };
}
