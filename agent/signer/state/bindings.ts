/**
 * Which withdrawal has which slot, when a ledger is opened: what the gateway's order says and what
 * the ledger says, held against each other. A contradiction is no refusal: whoever is part of one
 * keeps the slot, and nothing is signed for it. Pure.
 */
import { parseJob } from "../../../protocol/payloads.ts";
import type { Recovery, RecoveryWithdrawal } from "../../../protocol/recovery.ts";
import { canonicalAddress, contentOf, differenceOf } from "./content.ts";
import { isFinal, type State } from "./machine.ts";
import { isOver, type Withdrawal } from "./withdrawal.ts";

/**
 * Why nothing is signed for a withdrawal: the chain, or a person's cancel, decides which payment
 * gets the slot.
 * @public
 */
export const contestedCode = "SLOT_CONTESTED";

/** One withdrawal on its slot, as the order or the ledger or both have it. */
export interface Bound {
  readonly item: RecoveryWithdrawal | undefined;
  readonly own: Withdrawal | undefined;
  readonly account: string;
  readonly slot: string;
  readonly isContested: boolean;
  readonly rival: string; // whom the gateway has on the slot in its place, "" for nobody
}

interface Bindings {
  readonly bound: readonly Bound[];
  /**
   * `network account slot` of what this ledger had bound, was never out and is another's or
   * nobody's now.
   */
  readonly free: ReadonlySet<string>;
}

/**
 * `both`: the gateway went back as well, so that it does not know everything that ever left. If it
 * did not, then a slot of ours that no version of ours left on gives way to what the gateway says.
 */
export function bindings(
  open: readonly Withdrawal[],
  { withdrawals, ended }: Pick<Recovery, "withdrawals" | "ended">,
  both: boolean,
  stateOf: (transactionId: string) => State | undefined,
): Bindings {
  const ours = new Map(open.map((one) => [one.transactionId, one]));
  const isBoundHere = (id: string): boolean => {
    const own = ours.get(id);
    return own !== undefined && own.slot !== "" && !isOver(own);
  };
  // What has ended there is of use for its hashes only, to what is open here on its slot.
  const told = [...withdrawals, ...ended.filter(({ job }) => isBoundHere(parseJob(job).transactionId))];
  const items = new Map(told.map((item) => [parseJob(item.job).transactionId, item]));
  const owners = new Map<string, string>();
  const free = new Set<string>();
  const contested = new Set<string>();
  for (const item of [...withdrawals, ...ended]) {
    const { network, transactionId } = parseJob(item.job);
    const place = `${network} ${item.account} ${item.slot}`;
    // An order that gives one slot to two contradicts itself.
    const other = owners.get(place);
    if (other !== undefined) contested.add(other).add(transactionId);
    owners.set(place, transactionId);
  }
  const bound = new Map<string, Omit<Bound, "isContested">>();
  const rivalOf = ({ job, account, slot, transactionId }: Withdrawal): string => {
    const owner = owners.get(`${job.network} ${account} ${slot}`) ?? "";
    return owner === transactionId ? "" : owner;
  };
  for (const [id, item] of items) {
    const own = ours.get(id);
    const state = stateOf(id);
    const hasEnded = state !== undefined && isFinal(state) && !isBoundHere(id);
    const isUnsignedEnd = state === "refused" || state === "expired";
    // Here it is known how its slot ended.
    if (hasEnded && !isUnsignedEnd) continue;
    if (isUnsignedEnd || (own !== undefined && (differs(own, item) || waitsForChain(own)))) contested.add(id);
    bound.set(id, { item, own, account: item.account, slot: item.slot, rival: "" });
  }
  for (const [id, own] of ours) {
    if (!isBoundHere(id)) continue;
    const slot = `${own.job.network} ${own.account} ${own.slot}`;
    const rival = rivalOf(own);
    const item = items.get(id);
    const isAgreed = item?.slot === own.slot;
    const mayBeOut = both || own.versions.some(({ released }) => released);
    const isOther = rival !== "" || (item !== undefined && !isAgreed);
    if (isOther && !mayBeOut) {
      free.add(slot);
      // Its own slot, when the gateway has one for it, stands in `bound` already.
      continue;
    }
    if (isOther) {
      contested.add(id);
      if (rival !== "") contested.add(rival);
    }
    if (waitsForChain(own)) contested.add(id);
    if (item === undefined) bound.set(id, { item, own, account: own.account, slot: own.slot, rival });
  }
  return { bound: [...bound].map(([id, each]) => ({ ...each, isContested: contested.has(id) })), free };
}

/**
 * An order before contradicted it: its versions may be out on another slot than the one it has
 * here. An order that agrees now settles nothing: the chain does, or a person's cancel.
 */
function waitsForChain({ state, code }: Withdrawal): boolean {
  return state === "quarantined" && code === contestedCode;
}

/** Another content or another destination than here. */
function differs(own: Withdrawal, item: RecoveryWithdrawal): boolean {
  if (differenceOf(contentOf(own.job), contentOf(parseJob(item.job))) !== "") return true;
  const isApproved = own.amountUnits !== "";
  return isApproved && item.address !== "" && canonicalAddress(item.address) !== own.address;
}
