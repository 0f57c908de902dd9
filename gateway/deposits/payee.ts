/**
 * Whose account takes a merchant's next deposit: that of its paired agent where it has one of the
 * chain's family, else the one of that family that the merchant was created with to receive alone.
 * Each place in an account is taken inside the transaction that makes the request. Sources:
 * docs/api.md, Deposit request; docs/keystore.md section 1.
 */
import { familyOf } from "../../chains/families.ts";
import { type Answer, isAnswer, say } from "../answer/answer.ts";
import type { GatewayCurrency } from "../config.ts";
import { depositsIdOn } from "../store/agent-accounts.ts";
import { takeDepositIndex } from "../store/agents.ts";
import { hasReceivingKey, moveReceivingKey, nextDepositIndexUnder, receivingKeyOf } from "../store/receiving-keys.ts";
import type { AgentRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { liveAgent, pays } from "../withdrawals/checks.ts";

/** A fresh address: `agent` is null where no agent has its key. */
export interface Payee {
  readonly agent: string | null;
  readonly addressIndex: number;
  readonly address: string;
}

/**
 * Takes the next address for a deposit of this currency, or says why there is none. Must run inside
 * the request's transaction.
 */
export function takeAddress(database: Database, merchant: string, currency: GatewayCurrency): Payee | Answer {
  const family = familyOf(currency.network);
  const agent = liveAgent(database, merchant, "deposits_not_ready");
  // An agent has accounts of the families of its own chains alone.
  if (!isAnswer(agent) && depositsIdOn(agent, currency.network) !== "") return underAgent(database, agent, currency);
  const key = receivingKeyOf(database, merchant, family.name);
  if (key === undefined) {
    const isReady = !isAnswer(agent) || hasReceivingKey(database, merchant);
    return isReady ? say("currency_not_payable", { field: "currency" }) : agent;
  }
  const addressIndex = nextDepositIndexUnder(database, key.firstDepositAddress);
  moveReceivingKey(database, key, addressIndex + 1);
  return { agent: null, addressIndex, address: family.depositAddress(key.xpub, addressIndex) };
}

function underAgent(database: Database, agent: AgentRow, currency: GatewayCurrency): Payee | Answer {
  const networks = JSON.parse(agent.networks) as readonly string[];
  const canTake = networks.includes(currency.network) && (currency.depositOnly || pays(agent, currency));
  if (!canTake) return say("currency_not_payable", { field: "currency" });
  const addressIndex = agent.nextDepositIndex;
  takeDepositIndex(database, agent.id);
  return {
    agent: agent.id,
    addressIndex,
    address: familyOf(currency.network).depositAddress(depositsIdOn(agent, currency.network), addressIndex),
  };
}
