/**
 * Chooses the account for a merchant's next deposit: the paired agent's account in the chain's
 * family, else the receiving account of that family that the merchant was created with. Each index
 * is taken inside the transaction that makes the request. Sources: docs/api.md, Deposit request;
 * docs/keystore.md section 1.
 */
import { familyOf } from "../../chains/families.ts";
import { type Answer, isAnswer, say } from "../answer/answer.ts";
import type { GatewayCurrency } from "../config.ts";
import type { AddressMarks } from "../store/address-marks.ts";
import { issuedAddress, lookMs, readAddressState, wasLookedAt, wasUsed } from "../store/address-states.ts";
import { type AgentAccount, depositsAccountOn } from "../store/agent-accounts.ts";
import { skipDepositIndexes } from "../store/agents.ts";
import { hasReceivingKey, moveReceivingKey, receivingKeyOf } from "../store/receiving-keys.ts";
import type { AgentRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { liveAgent, pays } from "../withdrawals/checks.ts";
import { type Place, placeUnderAgent, placeUnderKey } from "./ceilings.ts";

/** A new address. `agent` is null if no agent has its key. */
export interface Payee {
  readonly agent: string | null;
  readonly account: string; // the account's address at index 0
  readonly addressIndex: number;
  readonly address: string;
}

/** Sources outside the database that are checked before an address leaves. */
export interface Beside {
  readonly marks: AddressMarks;
  readonly isRead: (network: string, sinceMs: number) => boolean;
  readonly nowMs: number;
  readonly run: string; // names this process (store/owner.ts)
}

/** Seconds after which the same order may succeed. */
const retrySeconds = "5";

/**
 * Takes the next address for a deposit of this currency, or returns the reason why there is none.
 * Must run inside the request's transaction.
 * @throws AgentError GATEWAY_MARKS
 */
export function takeAddress(database: Database, merchant: string, currency: GatewayCurrency, beside: Beside): Payee | Answer {
  const family = familyOf(currency.network);
  const agent = liveAgent(database, merchant, "deposits_not_ready");
  // An agent has accounts only of the families of its own chains.
  const account = isAnswer(agent) ? undefined : depositsAccountOn(agent, currency.network);
  if (!isAnswer(agent) && account !== undefined) return underAgent(database, agent, account, currency, beside);
  const key = receivingKeyOf(database, merchant, family.name);
  if (key === undefined) {
    const isReady = !isAnswer(agent) || hasReceivingKey(database, merchant);
    return isReady ? say("currency_not_payable", { field: "currency" }) : agent;
  }
  const place = placeUnderKey(database, key, askedOf(key.firstDepositAddress, currency, beside));
  if (!place.ok) return later(place);
  const unused = firstUnused(database, place.index, (index) => family.depositAddress(key.xpub, index), currency, beside);
  moveReceivingKey(database, key, unused.next);
  if (unused.address === "") return later({ ok: false, reason: "addresses_used" });
  const { addressIndex, address } = unused;
  return { agent: null, account: key.firstDepositAddress, addressIndex, address };
}

const askedOf = (firstAddress: string, { network }: GatewayCurrency, { marks, isRead, nowMs }: Beside) => ({
  ...{ marks, firstAddress, nowMs },
  isRead: (sinceMs: number) => isRead(network, sinceMs),
});

const later = ({ reason }: Extract<Place, { ok: false }> | { readonly ok: false; readonly reason: "addresses_used" }): Answer =>
  say("unavailable", { reason }, { "Retry-After": retrySeconds });

function underAgent(
  database: Database,
  agent: AgentRow,
  { id, firstAddress }: AgentAccount,
  currency: GatewayCurrency,
  beside: Beside,
): Payee | Answer {
  const networks = JSON.parse(agent.networks) as readonly string[];
  const canTake = networks.includes(currency.network) && (currency.depositOnly || pays(agent, currency));
  if (!canTake) return say("currency_not_payable", { field: "currency" });
  const place = placeUnderAgent(database, agent, askedOf(firstAddress, currency, beside));
  if (!place.ok) return later(place);
  const family = familyOf(currency.network);
  const unused = firstUnused(database, place.index, (index) => family.depositAddress(id, index), currency, beside);
  skipDepositIndexes(database, agent.id, unused.next);
  if (unused.address === "") return later({ ok: false, reason: "addresses_used" });
  const { addressIndex, address } = unused;
  return { agent: agent.id, account: firstAddress, addressIndex, address };
}

/**
 * Largest number of indexes that one order skips: fewer than the distance from the first of them to
 * the ceiling (ceilings.ts).
 */
const passedOverMax = 100;

/**
 * The first place whose address nobody used: what lies on a used one is nobody's payment. Behind a
 * used one nothing leaves that this process has not looked at: the account was used elsewhere.
 * Without an address where there is none yet; `next` is the place to go on from.
 */
function firstUnused(
  database: Database,
  first: number,
  addressAt: (index: number) => string,
  { network }: GatewayCurrency,
  { run, nowMs }: Beside,
): Pick<Payee, "addressIndex" | "address"> & { readonly next: number } {
  let isDoubtful = false;
  for (let addressIndex = first; addressIndex < first + passedOverMax; addressIndex += 1) {
    const address = addressAt(addressIndex);
    if (issuedAddress(database, address) !== undefined) continue;
    if (wasUsed(database, address)) isDoubtful = true;
    else {
      const state = readAddressState(database, network, address);
      const isKnown = !isDoubtful || wasLookedAt(state, run, nowMs - lookMs);
      return isKnown ? { addressIndex, address, next: addressIndex + 1 } : { addressIndex, address: "", next: addressIndex };
    }
  }
  const next = first + passedOverMax;
  return { addressIndex: next - 1, address: "", next };
}
