/**
 * Assigns slots to withdrawals for a recovered ledger, by comparing the gateway's order with the
 * old ledger. A contradiction is no refusal: each withdrawal involved keeps its slot and gets no
 * signature. Pure.
 */
import { expiryExclusionOf, pinExclusionOf } from "../../../chains/families.ts";
import { parseJob } from "../../../protocol/payloads.ts";
import type { RecoveryPart, RecoveryWithdrawal } from "../../../protocol/recovery.ts";
import { canonicalAddress, contentDifferenceOf, contentHashesOf } from "./content.ts";
import { isFinal, type RecordedWithdrawalState } from "./machine.ts";
import { isOver, isQuarantined, type Withdrawal } from "./withdrawal.ts";

/**
 * The code of a withdrawal for which nothing is signed: the chain, or an operator's cancel, decides
 * which payment gets the slot.
 */
export const contestedCode = "SLOT_CONTESTED";

/** One withdrawal on its slot, from the order, the ledger or both. */
export interface AssignedSlot {
  readonly item: RecoveryWithdrawal | undefined;
  readonly own: Withdrawal | undefined;
  readonly account: string;
  readonly slot: string;
  readonly isContested: boolean;
  readonly rival: string; // the withdrawal that the gateway has on the slot instead, "" for none
}

interface SlotAssignments {
  readonly assigned: readonly AssignedSlot[];
  /**
   * `network account slot` of each slot that this ledger had given out, but only inside the signer,
   * and that now belongs to another withdrawal or to none.
   */
  readonly free: ReadonlySet<string>;
}

/**
 * `both`: the gateway was restored too, so it does not know everything that ever left. If it was
 * not, our claim to a slot gives way to the gateway's, unless an attempt of ours on that slot was
 * signed. Long: three walks over the same maps, each of which needs the one before.
 */
export function assignRecoveredSlots(
  open: readonly Withdrawal[],
  { withdrawals, ended }: Pick<RecoveryPart, "withdrawals" | "ended">,
  bothRestored: boolean,
  stateOf: (transactionId: string) => RecordedWithdrawalState | undefined,
): SlotAssignments {
  const ours = new Map(open.map((one) => [one.transactionId, one]));
  const isAssignedHere = (id: string): boolean => {
    const own = ours.get(id);
    return own !== undefined && own.slot !== "" && !isOver(own) && isExcluding(own);
  };
  // An end in the order only adds hashes to a withdrawal that is open here with a slot.
  const told = [
    ...withdrawals,
    ...ended.filter(({ job }) => isAssignedHere(parseJob(job).transactionId)),
  ];
  const items = new Map(told.map((item) => [parseJob(item.job).transactionId, item]));
  const owners = new Map<string, string>();
  const free = new Set<string>();
  const contested = new Set<string>();
  for (const item of [...withdrawals, ...ended]) {
    const { network, transactionId } = parseJob(item.job);
    const place = `${network} ${item.account} ${item.slot}`;
    // An order that gives one slot to two withdrawals contradicts itself.
    const other = owners.get(place);
    if (other !== undefined) contested.add(other).add(transactionId);
    owners.set(place, transactionId);
  }
  const assigned = new Map<string, Omit<AssignedSlot, "isContested">>();
  const rivalOf = ({ job, account, slot, transactionId }: Withdrawal): string => {
    const owner = owners.get(`${job.network} ${account} ${slot}`) ?? "";
    return owner === transactionId ? "" : owner;
  };
  for (const [id, item] of items) {
    const own = ours.get(id);
    const state = stateOf(id);
    const hasEnded = state !== undefined && isFinal(state) && !isAssignedHere(id);
    const isUnsignedEnd = state === "refused" || state === "expired";
    // This ledger knows how the slot ended.
    if (hasEnded && !isUnsignedEnd) continue;
    if (isUnsignedEnd || (own !== undefined && (differs(own, item) || waitsForChain(own))))
      contested.add(id);
    assigned.set(id, { item, own, account: item.account, slot: item.slot, rival: "" });
  }
  for (const [id, own] of ours) {
    if (!isAssignedHere(id)) continue;
    const slot = `${own.job.network} ${own.account} ${own.slot}`;
    const rival = rivalOf(own);
    const item = items.get(id);
    const isAgreed = item?.slot === own.slot;
    // The copy may be older than the release, and the order is only the gateway's word.
    const mayBeOut = bothRestored || own.attempts.some(({ txHash }) => txHash !== "");
    const isOther = rival !== "" || (item !== undefined && !isAgreed);
    if (isOther && !mayBeOut) {
      free.add(slot);
      // The gateway's slot for the withdrawal, if any, is in `assigned` already.
      continue;
    }
    if (isOther) {
      contested.add(id);
      if (rival !== "") contested.add(rival);
    }
    if (waitsForChain(own)) contested.add(id);
    if (item === undefined)
      assigned.set(id, { item, own, account: own.account, slot: own.slot, rival });
  }
  return {
    assigned: [...assigned].map(([id, each]) => ({ ...each, isContested: contested.has(id) })),
    free,
  };
}

/**
 * True if an earlier order contradicted the withdrawal: its attempts may be out on another slot
 * than the one here. A new order that agrees settles nothing; only the chain or an operator's
 * cancel does.
 */
function waitsForChain(own: Withdrawal): boolean {
  return isQuarantined(own) && own.code === contestedCode;
}

/**
 * True if the slot of a withdrawal, or the pin or the end of an attempt that was signed, keeps a
 * second payment out. An intent alone does so only by its slot: on a chain without counts, the
 * withdrawal comes again as a job, which the hold of a recovery leaves to an operator.
 */
function isExcluding({ job: { network }, attempts }: Withdrawal): boolean {
  const isBySlot = expiryExclusionOf(network) === null && pinExclusionOf(network) === null;
  return isBySlot || attempts.some(({ txHash }) => txHash !== "");
}

/** True if the content, the destination or the pin is not the same as here. */
function differs(own: Withdrawal, item: RecoveryWithdrawal): boolean {
  const pins = new Set([...own.attempts, ...item.attempts].map(({ pin }) => pin));
  if (own.attempts.length > 0 && pins.size > 1) return true;
  if (contentDifferenceOf(contentHashesOf(own.job), contentHashesOf(parseJob(item.job))) !== "")
    return true;
  const isApproved = own.amountUnits !== "";
  return (
    isApproved &&
    item.address !== "" &&
    canonicalAddress(own.job.network, item.address) !== own.address
  );
}
