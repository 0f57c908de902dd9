/**
 * The first state of a recovered ledger, from the gateway's order and the old ledger. A slot is
 * used if order or ledger uses it; a withdrawal keeps its slot if order or ledger assigns one. If
 * the two contradict, both sides wait for the chain and nothing is signed. Withdrawals without a
 * slot are left out and come again as jobs. Pure: snapshot, order and counts in, snapshot out.
 * Source: docs/protocol.md section 8.
 */
import { type Refusal, refuse } from "../../../base/fault.ts";
import { expiryExclusionOf, familyOf, pinExclusionOf, saySlot } from "../../../chains/families.ts";
import { farthestSlot } from "../../../chains/several-networks.ts";
import { deriveOrderTransactionId, zeroHash } from "../../../protocol/identity.ts";
import { operationOf } from "../../../protocol/job-mode.ts";
import { parseJob } from "../../../protocol/payloads.ts";
import type {
  RecoveryAccountView,
  RecoveryWithdrawalView,
  UnknownSumView,
} from "../../socket/recovery-plan.ts";
import { largerOf } from "../policy/sums.ts";
import { type AccountEntries, isAwaitingInclusion, isBegun } from "./accounts.ts";
import { canonicalAddress, contentHashesOf } from "./content.ts";
import type { CoreSnapshot } from "./core.ts";
import type { RecordedWithdrawalState } from "./machine.ts";
import { type KeptWithdrawal, sumRecovered } from "./recovered-sums.ts";
import type { RecoveryInput } from "./recovered-terms.ts";
import { type AssignedSlot, assignRecoveredSlots, contestedCode } from "./slot-assignments.ts";
import { foreignKeptMax, foreignTransactionKey } from "./stops.ts";
import {
  type Attempt,
  isOver,
  isQuarantined,
  recoveryHoldCode,
  unreceivedTimeMark,
  type Withdrawal,
} from "./withdrawal.ts";

/*
 * The next slot of each account in a recovered ledger: above everything that ledger and chain know
 * and that the new ledger keeps. The gateway's order does not move an account further, because a
 * slot that no withdrawal uses would block all later ones. Pure. Source: docs/protocol.md section
 * 8.
 */

/** Every account with its next slot, and the view of it for an operator. */
interface RecoveredAccounts {
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
function accountsOf(
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
    const pending = own.filter(({ state }) => isAwaitingInclusion(state)).length;
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
    const pending = own.filter(({ state }) => isAwaitingInclusion(state)).length;
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
function isSlot(network: string, slot: string): boolean {
  const { slots } = familyOf(network);
  return slots.read(slot) !== null && slots.compare(slot, slots.last) <= 0;
}

/** The new state, and the view of it for an operator. */
export interface RecoveredState {
  readonly ok: true;
  readonly state: CoreSnapshot;
  readonly accounts: readonly RecoveryAccountView[];
  readonly kept: readonly RecoveryWithdrawalView[];
  readonly unknown: readonly UnknownSumView[];
  readonly left: number; // open withdrawals that come again as jobs, if the gateway has them
}

/**
 * Returns the same state for the same input. Refuses with RECOVERY_OFFER an order that our gateway
 * never makes.
 */
export function recoverState(input: RecoveryInput): RecoveredState | Refusal {
  const { old, order, bothRestored, nowMs, resyncFrom } = input;
  const wrong = problemOf(input);
  if (wrong !== null) return wrong;
  const { assigned, free } = assignRecoveredSlots(
    old.book.open,
    order,
    bothRestored,
    input.stateOf,
  );
  const isHolding = bothRestored || old.recovered?.isHolding === true;
  const each = assigned.map((one) => weighable(one, input, isHolding));
  const { decimalOf, limitsOf } = input;
  const sums = sumRecovered({
    windows: old.policy.windows,
    open: old.book.open,
    order,
    each,
    nowMs,
    decimalOf,
    limitsOf,
  });
  // A withdrawal that may have been paid needs an operator, whether a limit has room for it or not.
  const codeOf = (one: Withdrawal): string =>
    one.code === recoveryHoldCode
      ? recoveryHoldCode
      : (sums.above.get(one.transactionId) ?? one.code);
  const kept = each.map(({ kept: one }) => ({ ...one, code: codeOf(one) }));
  const ids = new Set(kept.map(({ transactionId }) => transactionId));
  const accounts = accountsOf(input, kept, free);
  if (!accounts.ok) return accounts;
  const ended = closedOf(input, ids);
  const { sequence, hash } = order.jobs;
  const state: CoreSnapshot = {
    ...old,
    paired: { ...old.paired, ledgerEpoch: order.ledgerEpoch },
    locked: null,
    // The gateway's order counts up to its own time, so this ledger continues from there.
    heads: { acked: { seq: 0, hash: zeroHash }, from: 1, hashes: [], at: nowMs },
    chain: { sequence, hash, links: sequence === 0 ? [] : [[sequence, hash, ""]] },
    accounts: accounts.entries,
    policy: { ...old.policy, approvals: [], windows: sums.windows },
    book: { open: kept, ...ended, unreleased: [], finals: [] },
    outbox: [],
    recovered: {
      seq: 0,
      order: order.order,
      resyncFrom,
      isHolding,
      outgoing: bothRestored ? order.outgoing : (old.recovered?.outgoing ?? []),
    },
    heldBefore: old.heldBefore ?? 0,
    foreign: bothRestored ? foreignOf(old, order) : (old.foreign ?? []),
    ceiling: Math.max(old.ceiling ?? 0, order.ceiling ?? 0),
  };
  const here = new Map(old.book.open.map((one) => [one.transactionId, one.state]));
  const open = old.book.open.filter((one) => !isOver(one));
  return {
    ok: true,
    state,
    accounts: accounts.views,
    kept: kept.map((one) => viewOf(one, here.get(one.transactionId))),
    unknown: sums.unknown,
    left: open.filter(({ transactionId }) => !ids.has(transactionId)).length,
  };
}

/** The operator of this recovery sees these, so none of them stops its network again. */
function foreignOf(old: CoreSnapshot, order: RecoveryInput["order"]): readonly string[] {
  const shown = order.outgoing.map(({ network, txHash }) => foreignTransactionKey(network, txHash));
  return [...new Set([...(old.foreign ?? []), ...shown])].slice(-foreignKeptMax);
}

/**
 * No signer makes an attempt that ends later than eleven minutes ahead; the rest allows for wrong
 * clocks.
 */
const untilAheadMsMax = 86_400_000;

/**
 * Checks the order against the gateway's own rules; only another program would make an order that
 * breaks them.
 */
function problemOf({ old, order, senderOf, nowMs }: RecoveryInput): Refusal | null {
  const { agent, wallet, merchant } = old.paired;
  const seen = new Set<string>();
  for (const item of [...order.withdrawals, ...order.ended]) {
    const job = parseJob(item.job);
    const { transactionId, orderId, renews } = job;
    if (job.agent !== agent || job.wallet !== wallet)
      return refuse("RECOVERY_OFFER", `${transactionId} is another agent's`);
    if (
      transactionId !==
      deriveOrderTransactionId({ merchant, operation: operationOf(job.mode), orderId, renews })
    ) {
      return refuse("RECOVERY_OFFER", `${transactionId} is not its order's id`);
    }
    if (seen.has(transactionId)) return refuse("RECOVERY_OFFER", `${transactionId} stands twice`);
    if (item.account !== senderOf(job))
      return refuse("RECOVERY_OFFER", `${item.account} is not our account`);
    if (!isSlot(job.network, item.slot))
      return refuse("RECOVERY_OFFER", `slot ${item.slot} cannot be`);
    const waits = expiryExclusionOf(job.network) !== null;
    if (item.attempts.some(({ validUntilMs }) => (validUntilMs !== undefined) !== waits))
      return refuse(
        "RECOVERY_OFFER",
        `${transactionId} has an attempt without its end, or with one that it cannot have`,
      );
    // Such an attempt could never be called void, and each later timestamp would be above it.
    if (item.attempts.some(({ validUntilMs = 0 }) => validUntilMs > nowMs + untilAheadMsMax))
      return refuse(
        "RECOVERY_OFFER",
        `${transactionId} has an attempt that ends later than any can`,
      );
    if (waits && item.attempts.some(({ cancel }) => cancel === true))
      return refuse("RECOVERY_OFFER", `${transactionId} has a cancel, and its chain has none`);
    const pinned = pinExclusionOf(job.network) !== null;
    const pins = new Set(item.attempts.map(({ pin = "" }) => pin));
    if (item.attempts.length > 0 && (pins.size > 1 || pins.has("") === pinned))
      return refuse(
        "RECOVERY_OFFER",
        `${transactionId} has attempts without one pin, or with one that they cannot have`,
      );
    // Both become questions of the courier to its nodes.
    const { readPin, isTxHash } = familyOf(job.network);
    if (
      item.attempts.some(
        ({ txHash, pin }) => !isTxHash(txHash) || (pin !== undefined && readPin(pin) === null),
      )
    )
      return refuse(
        "RECOVERY_OFFER",
        `${transactionId} has an attempt with a hash or a pin that its chain does not have`,
      );
    seen.add(transactionId);
  }
  return null;
}

/** Returns a kept withdrawal with the old ledger's knowledge, which decides how limits apply. */
function weighable(
  assigned: AssignedSlot,
  input: RecoveryInput,
  isHolding: boolean,
): KeptWithdrawal {
  const { own, isContested } = assigned;
  const kept = keptOf(assigned, isHolding);
  return {
    kept,
    isContested,
    isUnknown: own === undefined && input.stateOf(kept.transactionId) === undefined,
    wasApproved: own !== undefined && own.amountUnits !== "",
  };
}

/**
 * Returns the withdrawal on its slot, with every attempt that may have left. Policy decides how it
 * continues; the chain does if the slot is contested.
 */
function keptOf(
  { item, own, isContested, slot, account, rival }: AssignedSlot,
  isHolding: boolean,
): Withdrawal {
  const job = own?.job ?? parseJob(item?.job ?? "");
  const attempts = attemptsOf(item, own);
  const isApproved = own !== undefined && own.amountUnits !== "" && !isContested;
  const address = canonicalAddress(job.network, own?.address || item?.address || job.address);
  return {
    transactionId: job.transactionId,
    job,
    jobText: own?.jobText ?? item?.job ?? "",
    jobSignature: own?.jobSignature ?? item?.signature ?? "",
    isKept: true,
    ...(rival === "" ? {} : { rival }),
    requestedAt: own?.requestedAt ?? unreceivedTimeMark,
    changedAt: own?.changedAt ?? unreceivedTimeMark,
    state: "quarantined",
    code: isContested ? contestedCode : quarantineOf(own) || (isHolding ? holdOf(job.network) : ""),
    address,
    revision: own?.revision ?? 0,
    amountUnits: isApproved ? own.amountUnits : "",
    contract: isApproved ? own.contract : "",
    confirmed: null,
    account,
    slot: slot,
    attempts,
    observed: null,
    observations: 0,
    history: own?.history ?? [],
    isEnded: false,
    endSeq: 0,
    isEndReceived: false,
    // An operator's cancel stays valid; another attempt must be ordered again.
    ...(own?.ordered?.act === "cancel" ? { ordered: own.ordered } : {}),
  };
}

/**
 * Both sides may have forgotten an attempt. A slot or a pin keeps the next one from being paid too.
 * The end of an attempt that is known says nothing about it, so an operator decides.
 */
function holdOf(network: string): string {
  return expiryExclusionOf(network) === null ? "" : recoveryHoldCode;
}

/** Returns why an operator must look, from the old ledger: no order and no report revokes that. */
function quarantineOf(own: Withdrawal | undefined): string {
  if (own === undefined || !isQuarantined(own)) return "";
  if (own.code === recoveryHoldCode) return recoveryHoldCode;
  if (own.amountUnits !== "") return "";
  return own.code === contestedCode ? "" : own.code;
}

/**
 * Returns the gateway's attempts under the gateway's numbers, then the attempts that only this
 * ledger has signed. Bytes are kept only if the gateway has the attempt, because an attempt that it
 * lacks must not leave. Such an attempt may have left all the same, because the ledger may be older
 * than its release. Terms of an attempt that this ledger has signed are its own, and one that was
 * called void here stays void: a hash names bytes, whatever was restored.
 */
function attemptsOf(item: AssignedSlot["item"], own: Withdrawal | undefined): Attempt[] {
  const mine = new Map(
    own?.attempts.filter(({ txHash }) => txHash !== "").map((one) => [one.txHash, one]),
  );
  const named = (item?.attempts ?? []).map((told, index): Attempt => {
    const known = mine.get(told.txHash);
    mine.delete(told.txHash);
    return known?.released === true
      ? { ...known, attempt: index + 1 }
      : bareAttempt(known ?? { ...told, isCancel: told.cancel === true }, index + 1);
  });
  const rest = [...mine.values()].map((one, index) => bareAttempt(one, named.length + index + 1));
  return [...named, ...rest];
}

/**
 * Returns an attempt without its bytes. Its hash remains for recognition, and its highest fee, so
 * that the next attempt pays more.
 */
function bareAttempt(
  {
    txHash,
    feeMax,
    isCancel,
    validUntilMs,
    pin,
    voidBy,
  }: Pick<Attempt, "txHash" | "feeMax" | "isCancel" | "validUntilMs" | "pin" | "voidBy">,
  attempt: number,
): Attempt {
  return {
    attempt,
    intentSeq: 0,
    digest: "",
    unsigned: "",
    txParams: null,
    txHash,
    raw: "",
    signedAt: 0,
    released: true,
    isCancel,
    feeMax,
    ...(validUntilMs === undefined ? {} : { validUntilMs }),
    ...(pin === undefined ? {} : { pin }),
    ...(voidBy === undefined ? {} : { voidBy }),
  };
}

/**
 * Returns the closed withdrawals: an end is permanent, even before the gateway has acknowledged it.
 */
function closedOf(
  { old: { book }, stateOf }: RecoveryInput,
  kept: ReadonlySet<string>,
): Pick<CoreSnapshot["book"], "closed" | "ends" | "recent"> {
  const isOpen = new Set(book.open.map(({ transactionId }) => transactionId));
  const ended = book.open.filter((one) => isOver(one) && !kept.has(one.transactionId));
  const ends = new Map(book.ends);
  const count = (state: RecordedWithdrawalState, by: number): void => {
    ends.set(state, (ends.get(state) ?? 0) + by);
  };
  for (const { state } of ended) count(state, 1);
  // A withdrawal that ended here and has a slot at the gateway is open again.
  for (const id of kept) {
    const state = isOpen.has(id) ? undefined : stateOf(id);
    if (state !== undefined) count(state, -1);
  }
  const closed = ended.map(
    ({ transactionId, state, job }) => [transactionId, state, contentHashesOf(job)] as const,
  );
  return {
    closed: [...book.closed.filter(([id]) => !kept.has(id)), ...closed],
    ends: [...ends].filter(([, number]) => number !== 0),
    recent: [...book.recent.filter(({ transactionId }) => !kept.has(transactionId)), ...ended],
  };
}

function viewOf(
  { transactionId, job, address, code, slot, attempts }: Withdrawal,
  state: Withdrawal["state"] | undefined,
): RecoveryWithdrawalView {
  const { orderId, currency, amount } = job;
  return {
    transactionId,
    orderId,
    currency,
    amount,
    address,
    here: state === "requested" ? "held" : (state ?? ""),
    isContested: code === contestedCode,
    code,
    slot,
    txHashes: attempts.map(({ txHash }) => txHash),
  };
}
