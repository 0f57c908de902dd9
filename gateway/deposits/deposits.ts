/**
 * createTransactionRequest: one new address for each request. The transaction
 * that makes the record also takes the index, so that two requests never share an address. The same
 * orderId gives the same address permanently. Sources: docs/api.md, Deposit request;
 * docs/keystore.md section 1 (whose addresses).
 */
import { createHash } from "node:crypto";
import { familyOf } from "../../chains/families.ts";
import { addressSpaceOf } from "../../chains/network-names.ts";
import { payeeOf } from "../../chains/payees.ts";
import { parseAmount } from "../../protocol/amount.ts";
import { deriveOrderTransactionId } from "../../protocol/identity.ts";
import { type Answer, dataAnswer, isAnswer, problemAnswer } from "../answer/answer.ts";
import { lifetimeAndToleranceLimits, type Order } from "../answer/body.ts";
import { paymentFieldsOf } from "../answer/record.ts";
import type { GatewayCurrency } from "../config/config.ts";
import { isAllowedOrigin } from "../config/origin.ts";
import { currencyItemId } from "../faults/fault.ts";
import { quoteAmount } from "../prices/quote.ts";
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
import { readMerchant } from "../store/merchants.ts";
import { hasReceivingKey, moveReceivingKey, receivingKeyOf } from "../store/receiving-keys.ts";
import type { AgentRow, DepositRow } from "../store/rows.ts";
import type { AddressLook } from "../store/signals.ts";
import type { Database } from "../store/store.ts";
import { insertDeposit, readDeposit, recordOfOrder } from "../store/transactions.ts";
import { canPay, checkAmount, checkCurrency, requirePairedAgent } from "../withdrawals/checks.ts";
import { checkRenewal, renewalOf } from "../withdrawals/renewal.ts";
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
  const networks = JSON.parse(agent.networks) as readonly string[];
  const canTake =
    networks.includes(currency.network) && (currency.depositOnly || canPay(agent, currency));
  if (!canTake) return problemAnswer("currency_not_payable", { field: "currency" });
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

export interface DepositRequest {
  readonly merchant: string;
  readonly order: Order; // as it was sent
  readonly write: <T>(fn: (database: Database) => T) => Promise<T>; // resolves when it is durable
}

const minuteMs = 60_000;
/** How long an order waits for a look at its address: a pass or two of the watcher. */
const lookWaitMs = 5_000;

/**
 * Hash of the requested amount, not of its conversion: the same fiat amount is the same order at
 * any price.
 */
function contentHashOf({
  currency,
  amount,
  fiat,
  expiresInMinutes,
  tolerancePercent,
}: Order): string {
  const sum = fiat === null ? [currency, amount] : [currency, fiat.fiatCurrency, fiat.fiatAmount];
  const hasTerms = expiresInMinutes !== null || tolerancePercent !== "";
  const content = hasTerms ? [...sum, { expiresInMinutes, tolerancePercent }] : sum;
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}

interface NewDeposit {
  readonly depositAddress: DepositAddress;
  readonly currency: GatewayCurrency;
  readonly amount: string;
  readonly amountUnits: bigint;
  readonly quote: string; // JSON; "" if the order names the amount itself
}

/**
 * The amount of an order. A fiat amount is converted at the present price; only such an order uses
 * prices.
 */
function amountOf(
  { config, prices }: Service,
  order: Order,
): Pick<NewDeposit, "amount" | "quote"> | Answer {
  if (order.fiat === null) return { amount: order.amount, quote: "" };
  const currency = checkCurrency(config, order.currency);
  if (isAnswer(currency)) return currency;
  const quoted = quoteAmount(prices, currency, order.fiat);
  if (quoted.ok) return { amount: quoted.amount, quote: JSON.stringify(quoted.quote) };
  const later: Record<string, string> =
    quoted.code === "price_stale" && quoted.comes ? { "Retry-After": "60" } : {};
  return problemAnswer(quoted.code, { field: "fiatCurrency" }, later);
}

const percentUnits = 100n * 10n ** BigInt(lifetimeAndToleranceLimits.percentDecimal);

/**
 * The part of the amount that may be missing: the order's own, rounded down, or the one in the
 * present configuration. A later change affects only later requests.
 */
function toleranceOf({ tolerancePercent }: Order, { currency, amountUnits }: NewDeposit): string {
  if (tolerancePercent === "0") return "0";
  if (tolerancePercent === "") {
    const parsed = parseAmount(currency.paymentTolerance, currency.decimal);
    return parsed.ok ? parsed.units.toString() : "0";
  }
  const percent = parseAmount(tolerancePercent, lifetimeAndToleranceLimits.percentDecimal);
  if (!percent.ok) throw new TypeError("a tolerance that was not checked");
  return ((amountUnits * percent.units) / percentUnits).toString();
}

const payTokenBytes = 16;

/** Names the payment page. Nothing of the order goes into it, so nobody guesses it. */
const newPayToken = ({ random }: Pick<Service, "random">): string =>
  Buffer.from(random(payTokenBytes)).toString("base64url");

/** True if the payment page may lead there: an origin on the merchant's list, or nowhere. */
function mayReturn(database: Database, merchant: string, { returnUrl }: Order): boolean {
  return (
    returnUrl === "" || isAllowedOrigin(readMerchant(database, merchant)?.origins ?? "", returnUrl)
  );
}

function insert(
  service: Service,
  database: Database,
  request: DepositRequest,
  order: Order,
  fresh: NewDeposit,
): DepositRow {
  const { currency } = fresh;
  const { agent, addressIndex, address } = fresh.depositAddress;
  const payee = payeeOf(currency.network, address);
  const { merchant } = request;
  const nowMs = service.clock();
  const id = deriveOrderTransactionId({
    merchant,
    operation: "deposit",
    orderId: order.orderId,
    renews: order.renew,
  });
  const expiresAt =
    nowMs + (order.expiresInMinutes ?? service.config.lifetimes.depositMinutes) * minuteMs;
  insertDeposit(database, {
    id,
    merchant,
    orderId: order.orderId,
    contentHash: contentHashOf(order),
    currency: currency.id,
    network: currency.network,
    amount: fresh.amount,
    units: fresh.amountUnits.toString(),
    address,
    payTo: payee.address,
    tag: payee.tag,
    stage: "waiting",
    metadata: order.metadata,
    createdAt: nowMs,
    changedAt: nowMs,
    expiresAt,
    quote: fresh.quote,
    toleranceUnits: toleranceOf(order, fresh),
    payToken: newPayToken(service),
    returnUrl: order.returnUrl,
    renews: order.renew,
  });
  issueAddress(database, address, lookTimes(currency.network, { readAt: service.readAt, nowMs }));
  giveAddress(database, {
    address,
    addressSpace: addressSpaceOf(currency.network),
    merchant,
    agent,
    addressIndex,
    request: id,
    at: nowMs,
  });
  return readDeposit(database, id) as DepositRow;
}

interface MadeDeposit {
  readonly row: DepositRow;
  readonly depositAddress: DepositAddress | null; // null: the order was known
}

/** A renewal keeps what the shop leaves out. */
function keptOf(
  { metadata, returnUrl }: Order,
  renewed: DepositRow | null,
): Pick<Order, "metadata" | "returnUrl"> {
  return {
    metadata: metadata || (renewed?.metadata ?? ""),
    returnUrl: returnUrl || (renewed?.returnUrl ?? ""),
  };
}

function make(
  service: Service,
  request: DepositRequest,
  asked: Order,
): Promise<MadeDeposit | Answer | UncheckedAddress> {
  return request.write((database) => {
    const place = {
      merchant: request.merchant,
      operation: "deposit",
      orderId: asked.orderId,
      renews: asked.renew,
    } as const;
    const known = recordOfOrder(database, place);
    if (known !== undefined) return { row: known, depositAddress: null };
    const renewed = checkRenewal(database, place, contentHashOf(asked));
    if (isAnswer(renewed)) return renewed;
    const order = { ...asked, ...keptOf(asked, renewed) };
    if (!mayReturn(database, request.merchant, order))
      return problemAnswer("return_url_invalid", { field: "returnUrl" });
    const sum = amountOf(service, order);
    if (isAnswer(sum)) return sum;
    const amount = checkAmount(
      service.config,
      { ...order, amount: sum.amount },
      "minPaymentAmount",
    );
    if ("kind" in amount) return amount;
    if (service.outOfService(amount.currency.id) !== "") {
      return problemAnswer(
        "unavailable",
        { reason: "currency_out_of_service" },
        { "Retry-After": "60" },
      );
    }
    const { addressMarks: marks, readAt, waitsRead, clock } = service;
    const lookedIn = [amount.currency.id, coinOf(service.config, amount.currency).id];
    const beside = { marks, readAt, waitsRead, nowMs: clock(), lookedIn };
    const depositAddress = takeAddress(database, request.merchant, amount.currency, beside);
    if (isAnswer(depositAddress) || "look" in depositAddress) return depositAddress;
    return {
      row: insert(service, database, request, order, { depositAddress, ...sum, ...amount }),
      depositAddress,
    };
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

/** True if no balance in the order's currency, or in the coin of its chain, can be read now. */
function isCurrencyUnread({ config, unreadSince }: Service, order: Order): boolean {
  const currency = Object.hasOwn(config.currencies, order.currency)
    ? config.currencies[order.currency]
    : undefined;
  if (currency === undefined) return false;
  const coin = coinOf(config, currency);
  return [currency, coin].some(
    ({ id, network }) => unreadSince({ network, currency: id, address: "" }) !== null,
  );
}

/** Tries again after each look at the next addresses, until an unused address is known. */
async function makeWhenLooked(
  service: Service,
  request: DepositRequest,
  order: Order,
): Promise<MadeDeposit | Answer> {
  const endMs = service.clock() + lookWaitMs;
  for (;;) {
    const made = await make(service, request, order);
    if (!("look" in made)) return made;
    // A clock that is set back meanwhile makes no wait longer.
    const leftMs = Math.min(lookWaitMs, endMs - service.clock());
    const isLooked = leftMs > 0 && (await service.waiters.looked(made.look, leftMs));
    if (!isLooked)
      return unavailable(
        isCurrencyUnread(service, order) ? "currency_out_of_service" : "address_unchecked",
      );
    // The look was made, and the address could not be read in the request's currency or the coin.
    if (isCurrencyUnread(service, order)) return unavailable("currency_out_of_service");
  }
}

/** Asks long before the agent's ceiling is used up, and again while an order waits for it. */
function askForCeiling({ store, signals }: Service, merchant: string): void {
  const agent = agentOfMerchant(store.database, merchant);
  if (agent !== undefined && missingCeilingOfAgent(agent) !== null)
    signals.emit("ceiling", { agent: agent.id });
}

/**
 * Makes the deposit request, or finds the one that this orderId made before. Answers 400 or 503 if
 * nothing was made, 409 if the orderId was used with other content. Harmless to call twice; the
 * answer has the first quote again.
 */
export async function requestDeposit(service: Service, request: DepositRequest): Promise<Answer> {
  const { order } = request;
  const made = await makeWhenLooked(service, request, order);
  if (isAnswer(made) || made.depositAddress !== null) askForCeiling(service, request.merchant);
  if (isAnswer(made)) return made;
  const { row, depositAddress } = made;
  // Only now the address leaves.
  const { addressMarks } = service;
  await (depositAddress === null
    ? addressMarks.settled()
    : addressMarks.note(depositAddress.account, depositAddress.addressIndex + 1));
  if (row.contentHash !== contentHashOf(order))
    return problemAnswer("order_id_reused", { transactionId: row.id });
  if (depositAddress !== null) {
    const { source: account, addressIndex: index } = depositAddress;
    service.signals.emit("changed", { transactionId: row.id });
    service.signals.emit("left", { network: row.network, account, index });
  }
  return dataAnswer({
    address: row.payTo,
    amount: row.amount,
    tag: row.tag,
    transactionId: row.id,
    currency: row.currency,
    network: row.network,
    expiresAt: new Date(row.expiresAt).toISOString(),
    status: row.status,
    stage: row.stage,
    late: row.late === 1,
    ...renewalOf(service.store.database, row),
    ...paymentFieldsOf(row, service.config),
  });
}
