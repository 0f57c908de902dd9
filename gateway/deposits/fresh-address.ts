/**
 * The fresh address of a new record. The transaction that makes the record also takes the address's
 * index, so that two requests never share an address. An address leaves only after a look at it.
 * Sources: docs/api.md, Deposit request; docs/keystore.md section 1 (whose addresses).
 */
import { familyOf } from "../../chains/families.ts";
import { addressSpaceOf } from "../../chains/network-names.ts";
import { payeeOf } from "../../chains/payees.ts";
import { type Answer, isAnswer, problemAnswer } from "../answer/answer.ts";
import type { GatewayCurrency } from "../config/config.ts";
import { currencyItemId } from "../faults/fault.ts";
import type { Service } from "../service.ts";
import type { IssuedAddressMarks } from "../store/address-marks.ts";
import {
  issueAddress,
  issuedAddress,
  type LookTimes,
  lookMs,
  readAddressState,
  wasLookedAt,
  wasUsed,
} from "../store/address-states.ts";
import { type AgentAccount, depositAccountOn } from "../store/agent-accounts.ts";
import { agentOfMerchant, skipDepositIndexes } from "../store/agents.ts";
import { giveAddress } from "../store/deposit-addresses.ts";
import { hasFaultStoodSince } from "../store/faults.ts";
import { hasLookGap } from "../store/look-gaps.ts";
import { hasReceivingKey, moveReceivingKey, receivingKeyOf } from "../store/receiving-keys.ts";
import type { AgentRow, DepositRow } from "../store/rows.ts";
import type { AddressLook } from "../store/signals.ts";
import type { Database } from "../store/store.ts";
import { readDeposit } from "../store/transactions.ts";
import { canPay, requirePairedAgent } from "../withdrawals/checks.ts";
import {
  missingCeilingOfAgent,
  type NextIndexResult,
  nextDepositIndexOfAgent,
  nextDepositIndexOfKey,
} from "./ceilings.ts";

/*
 * Chooses the account for a merchant's next deposit: the paired agent's account in the chain's
 * family, else the receiving account of that family that the merchant was created with. Each index
 * is taken inside the transaction that makes the request. Sources: docs/api.md, Deposit request;
 * docs/keystore.md section 1.
 */

/** A new address. `agent` is null if no agent has its key. */
interface DepositAddress {
  readonly agent: string | null;
  readonly account: string; // the account's address at index 0
  readonly source: string; // the text that the account's addresses are derived from
  readonly addressIndex: number;
  readonly address: string;
}

/** Sources outside the database that are checked before an address leaves. */
interface AddressSources {
  readonly marks: IssuedAddressMarks;
  readonly readAt: (network: string) => number | null; // service.ts
  readonly waitsRead: (network: string) => number | null; // service.ts
  readonly nowMs: number;
  /** Currencies in which an address must have been looked at: the request's own, and the coin. */
  readonly lookedIn: readonly string[];
}

/** The next address has no look yet; it leaves after the watcher's look. */
interface UncheckedAddress {
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
  const agent = requirePairedAgent(database, merchant, "deposits_not_ready");
  // An agent has accounts only of the families of its own chains.
  const account = isAnswer(agent) ? undefined : depositAccountOn(agent, currency.network);
  if (!isAnswer(agent) && account !== undefined)
    return underAgent(database, agent, account, currency, beside);
  const key = receivingKeyOf(database, merchant, family.addressSpace.name);
  if (key === undefined) {
    const isReady = !isAnswer(agent) || hasReceivingKey(database, merchant);
    return isReady ? problemAnswer("currency_not_payable", { field: "currency" }) : agent;
  }
  const place = nextDepositIndexOfKey(
    database,
    key,
    askedOf(key.firstDepositAddress, currency, beside),
  );
  if (!place.ok) return unavailable(place.reason);
  const unused = firstUnused(database, place.index, key.xpub, currency, beside);
  moveReceivingKey(database, key, unused.next);
  if (!("address" in unused)) return unused.none;
  const { addressIndex, address } = unused;
  return { agent: null, account: key.firstDepositAddress, source: key.xpub, addressIndex, address };
}

/** True if the merchant has an account that receives this currency. */
export function canReceive(
  database: Database,
  merchant: string,
  currency: GatewayCurrency,
): boolean {
  const agent = agentOfMerchant(database, merchant);
  if (agent !== undefined && depositAccountOn(agent, currency.network) !== undefined)
    return canTake(agent, currency);
  const space = familyOf(currency.network).addressSpace.name;
  return receivingKeyOf(database, merchant, space) !== undefined;
}

/** True if an agent was paired with the currency's network, and with the currency if it pays it. */
function canTake(agent: AgentRow, currency: GatewayCurrency): boolean {
  const networks = JSON.parse(agent.networks) as readonly string[];
  return networks.includes(currency.network) && (currency.depositOnly || canPay(agent, currency));
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
  | Extract<NextIndexResult, { ok: false }>["reason"]
  | "addresses_used"
  | "address_unchecked"
  | "currency_out_of_service";

const unavailable = (reason: PassingReason): Answer =>
  problemAnswer("unavailable", { reason }, { "Retry-After": retrySeconds });

/** While no node answers, the chain stands still for this gateway: the last look still counts. */
const lookTimes = (
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
  if (!canTake(agent, currency))
    return problemAnswer("currency_not_payable", { field: "currency" });
  const place = nextDepositIndexOfAgent(database, agent, askedOf(firstAddress, currency, beside));
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
      hasFaultStoodSince(
        database,
        { domain: "address", network, id: currencyItemId(address, currency) },
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

/** How long an order waits for a look at its address: a pass or two of the watcher. */
const lookWaitMs = 5_000;

/** A record that a transaction is about to make at a fresh address. */
export interface PlannedRecord {
  readonly id: string;
  readonly currency: GatewayCurrency;
  /** Writes the row and all that belongs to it, inside the same transaction. */
  readonly insert: (place: Pick<DepositRow, "address" | "payTo" | "tag">) => void;
}

/** A request for a record. `plan` names it, finds the one that was made before, or refuses. */
export interface FreshRequest {
  readonly merchant: string;
  readonly write: <T>(fn: (database: Database) => T) => Promise<T>; // resolves when it is durable
  readonly plan: (database: Database) => PlannedRecord | DepositRow | Answer;
}

interface MadeDeposit {
  readonly row: DepositRow;
  readonly depositAddress: DepositAddress | null; // null: it was made before
}

/** A record, and whether this call made it. */
export interface FreshRecord {
  readonly row: DepositRow;
  readonly isNew: boolean;
}

/** No address of the currency can leave yet. */
interface UnlookedRecord extends UncheckedAddress {
  readonly currency: GatewayCurrency;
}

function makeRecord(
  service: Service,
  { merchant, write, plan }: FreshRequest,
): Promise<MadeDeposit | Answer | UnlookedRecord> {
  return write((database) => {
    const planned = plan(database);
    if (isAnswer(planned)) return planned;
    if (!("insert" in planned)) return { row: planned, depositAddress: null };
    const { id, currency, insert } = planned;
    if (service.outOfService(currency.id) !== "") {
      return problemAnswer(
        "unavailable",
        { reason: "currency_out_of_service" },
        { "Retry-After": "60" },
      );
    }
    const { addressMarks: marks, readAt, waitsRead, clock } = service;
    const nowMs = clock();
    const lookedIn = [currency.id, coinOf(service.config, currency).id];
    const beside = { marks, readAt, waitsRead, nowMs, lookedIn };
    const depositAddress = takeAddress(database, merchant, currency, beside);
    if (isAnswer(depositAddress)) return depositAddress;
    if ("look" in depositAddress) return { ...depositAddress, currency };
    const { agent, addressIndex, address } = depositAddress;
    const payee = payeeOf(currency.network, address);
    insert({ address, payTo: payee.address, tag: payee.tag });
    issueAddress(database, address, lookTimes(currency.network, { readAt, nowMs }));
    giveAddress(database, {
      address,
      addressSpace: addressSpaceOf(currency.network),
      merchant,
      agent,
      addressIndex,
      request: id,
      at: nowMs,
    });
    return { row: readDeposit(database, id) as DepositRow, depositAddress };
  });
}

/** The coin of a currency's chain; the currency itself if none is configured. */
function coinOf({ currencies }: Service["config"], currency: GatewayCurrency): GatewayCurrency {
  return (
    Object.values(currencies).find(
      ({ network, contract }) => network === currency.network && contract === "",
    ) ?? currency
  );
}

/** True if no balance in a currency, or in the coin of its chain, can be read now. */
function isCurrencyUnread({ config, unreadSince }: Service, currency: GatewayCurrency): boolean {
  return [currency, coinOf(config, currency)].some(
    ({ id, network }) => unreadSince({ network, currency: id, address: "" }) !== null,
  );
}

/** Tries again after each look at the next addresses, until an unused address is known. */
async function makeWhenLooked(
  service: Service,
  request: FreshRequest,
): Promise<MadeDeposit | Answer> {
  const endMs = service.clock() + lookWaitMs;
  for (;;) {
    const made = await makeRecord(service, request);
    if (!("look" in made)) return made;
    // A clock that is set back meanwhile makes no wait longer.
    const leftMs = Math.min(lookWaitMs, endMs - service.clock());
    const isLooked = leftMs > 0 && (await service.waiters.looked(made.look, leftMs));
    if (!isLooked)
      return unavailable(
        isCurrencyUnread(service, made.currency) ? "currency_out_of_service" : "address_unchecked",
      );
    // The look was made, and the address could not be read in the request's currency or the coin.
    if (isCurrencyUnread(service, made.currency)) return unavailable("currency_out_of_service");
  }
}

/** Asks long before the agent's ceiling is used up, and again while an order waits for it. */
function askForCeiling({ store, signals }: Service, merchant: string): void {
  const agent = agentOfMerchant(store.database, merchant);
  if (agent !== undefined && missingCeilingOfAgent(agent) !== null)
    signals.emit("ceiling", { agent: agent.id });
}

/**
 * Makes the record at a fresh address, or finds it. Answers what `plan` refuses, 400 if the
 * merchant cannot receive the currency, and 503 if no address can leave now; nothing was made then.
 * Harmless to call twice. The address is marked before it is told.
 */
export async function makeAtFreshAddress(
  service: Service,
  request: FreshRequest,
): Promise<FreshRecord | Answer> {
  const made = await makeWhenLooked(service, request);
  if (isAnswer(made) || made.depositAddress !== null) askForCeiling(service, request.merchant);
  if (isAnswer(made)) return made;
  const { row, depositAddress } = made;
  // Only now the address leaves.
  const { addressMarks, signals } = service;
  if (depositAddress === null) {
    await addressMarks.settled();
    return { row, isNew: false };
  }
  const { source: account, addressIndex: index } = depositAddress;
  await addressMarks.note(depositAddress.account, index + 1);
  signals.emit("changed", { transactionId: row.id });
  signals.emit("left", { network: row.network, account, index });
  return { row, isNew: true };
}
