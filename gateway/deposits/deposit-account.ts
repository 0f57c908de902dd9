/**
 * Chooses the account for a merchant's next deposit: the paired agent's account in the chain's
 * family, else the receiving account of that family that the merchant was created with. Each index
 * is taken inside the transaction that makes the request. Sources: docs/api.md, Deposit request;
 * docs/keystore.md section 1.
 */
import { familyOf } from "../../chains/families.ts";
import { type Answer, isAnswer, problem } from "../answer/answer.ts";
import type { GatewayCurrency } from "../config/config.ts";
import { idIn } from "../faults/fault.ts";
import type { AddressMarks } from "../store/address-marks.ts";
import {
  issuedAddress,
  type LookTimes,
  lookMs,
  readAddressState,
  wasLookedAt,
  wasUsed,
} from "../store/address-states.ts";
import { type AgentAccount, depositsAccountOn } from "../store/agent-accounts.ts";
import { skipDepositIndexes } from "../store/agents.ts";
import { hasStoodSince } from "../store/faults.ts";
import { hasLookGap } from "../store/look-gaps.ts";
import { hasReceivingKey, moveReceivingKey, receivingKeyOf } from "../store/receiving-keys.ts";
import type { AgentRow } from "../store/rows.ts";
import type { AddressLook } from "../store/signals.ts";
import type { Database } from "../store/store.ts";
import { canPay, liveAgent } from "../withdrawals/checks.ts";
import { indexUnderAgent, indexUnderKey, type Place } from "./ceilings.ts";

/** A new address. `agent` is null if no agent has its key. */
export interface DepositAddress {
  readonly agent: string | null;
  readonly account: string; // the account's address at index 0
  readonly source: string; // the text that the account's addresses are derived from
  readonly addressIndex: number;
  readonly address: string;
}

/** Sources outside the database that are checked before an address leaves. */
export interface AddressSources {
  readonly marks: AddressMarks;
  readonly readAt: (network: string) => number | null; // service.ts
  readonly waitsRead: (network: string) => number | null; // service.ts
  readonly nowMs: number;
  /** Currencies in which an address must have been looked at: the request's own, and the coin. */
  readonly lookedIn: readonly string[];
}

/** The next address has no look yet; it leaves after the watcher's look. */
export interface UncheckedAddress {
  readonly look: AddressLook;
}

/** Seconds after which the same order may succeed. */
const retrySeconds = "5";

/**
 * Takes the next address for a deposit of this currency, or returns the reason why there is none.
 * Must run inside the request's transaction.
 * @throws AgentError GATEWAY_MARKS
 */
export function takeAddress(
  database: Database,
  merchant: string,
  currency: GatewayCurrency,
  beside: AddressSources,
): DepositAddress | Answer | UncheckedAddress {
  const family = familyOf(currency.network);
  const agent = liveAgent(database, merchant, "deposits_not_ready");
  // An agent has accounts only of the families of its own chains.
  const account = isAnswer(agent) ? undefined : depositsAccountOn(agent, currency.network);
  if (!isAnswer(agent) && account !== undefined)
    return underAgent(database, agent, account, currency, beside);
  const key = receivingKeyOf(database, merchant, family.name);
  if (key === undefined) {
    const isReady = !isAnswer(agent) || hasReceivingKey(database, merchant);
    return isReady ? problem("currency_not_payable", { field: "currency" }) : agent;
  }
  const place = indexUnderKey(database, key, askedOf(key.firstDepositAddress, currency, beside));
  if (!place.ok) return unavailable(place.reason);
  const unused = firstUnused(database, place.index, key.xpub, currency, beside);
  moveReceivingKey(database, key, unused.next);
  if (!("address" in unused)) return unused.none;
  const { addressIndex, address } = unused;
  return { agent: null, account: key.firstDepositAddress, source: key.xpub, addressIndex, address };
}

const askedOf = (
  firstAddress: string,
  { network }: GatewayCurrency,
  { marks, waitsRead, nowMs }: AddressSources,
) => ({
  marks,
  firstAddress,
  nowMs,
  isRead: (wait: number) => (waitsRead(network) ?? -1) >= wait,
});

/** Reasons that pass by themselves; docs/api.md explains each. */
type PassingReason =
  | Extract<Place, { ok: false }>["reason"]
  | "addresses_used"
  | "address_unchecked"
  | "currency_out_of_service";

export const unavailable = (reason: PassingReason): Answer =>
  problem("unavailable", { reason }, { "Retry-After": retrySeconds });

/** While no node answers, the chain stands still for this gateway: the last look still counts. */
export const lookTimes = (
  network: string,
  { readAt, nowMs }: Pick<AddressSources, "readAt" | "nowMs">,
): LookTimes => ({ since: (readAt(network) ?? nowMs) - lookMs, nowMs });

function underAgent(
  database: Database,
  agent: AgentRow,
  { id, firstAddress }: AgentAccount,
  currency: GatewayCurrency,
  beside: AddressSources,
): DepositAddress | Answer | UncheckedAddress {
  const networks = JSON.parse(agent.networks) as readonly string[];
  const canTake =
    networks.includes(currency.network) && (currency.depositOnly || canPay(agent, currency));
  if (!canTake) return problem("currency_not_payable", { field: "currency" });
  const place = indexUnderAgent(database, agent, askedOf(firstAddress, currency, beside));
  if (!place.ok) return unavailable(place.reason);
  const unused = firstUnused(database, place.index, id, currency, beside);
  skipDepositIndexes(database, agent.id, unused.next);
  if (!("address" in unused)) return unused.none;
  const { addressIndex, address } = unused;
  return { agent: agent.id, account: firstAddress, source: id, addressIndex, address };
}

/**
 * Largest number of indexes that one order skips: fewer than the distance from the first of them to
 * the ceiling (ceilings.ts).
 */
const passedOverMax = 100;

interface UnusedAddress {
  readonly addressIndex: number;
  readonly address: string;
  readonly next: number; // the index to continue from
}

/** No address can leave now; `next` as above. */
interface NoneYet {
  readonly none: Answer | UncheckedAddress;
  readonly next: number;
}

/**
 * An address that cannot be read for so long costs only itself: a later one leaves in its place.
 */
const unreadMsMax = 60_000;

/**
 * Finds the first index whose address was never used, because a balance on a used address is
 * nobody's payment. An address without a look waits. Otherwise its baseline would be found after a
 * customer could pay, and coins that a contract sends would count as old. One that cannot be read
 * is passed over if one behind it was looked at; if none was, nothing is passed over.
 */
function firstUnused(
  database: Database,
  first: number,
  account: string,
  { network }: GatewayCurrency,
  beside: AddressSources,
): UnusedAddress | NoneYet {
  const family = familyOf(network);
  const times = lookTimes(network, beside);
  const isUnread = (address: string): boolean =>
    beside.lookedIn.some((currency) =>
      hasStoodSince(
        database,
        { domain: "address", network, id: idIn(address, currency) },
        beside.nowMs - unreadMsMax,
      ),
    );
  let waiting: number | null = null; // the first index without a look
  for (let addressIndex = first; addressIndex < first + passedOverMax; addressIndex += 1) {
    const address = family.depositAddress(account, addressIndex);
    if (issuedAddress(database, address) !== undefined || wasUsed(database, address)) continue;
    const isLooked = wasLookedAt(readAddressState(database, network, address), times);
    if (
      isLooked &&
      !beside.lookedIn.some((currency) => hasLookGap(database, { network, address, currency }))
    )
      return { addressIndex, address, next: addressIndex + 1 };
    waiting ??= addressIndex;
    if (!isUnread(address)) break;
  }
  if (waiting !== null) return { none: { look: { network, account } }, next: waiting };
  return { none: unavailable("addresses_used"), next: first + passedOverMax };
}
