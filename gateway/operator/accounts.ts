/**
 * The operator's acts on merchants, keys and agents, each in one database transaction with a line
 * in the audit table. They work while a gateway runs, because the gateway reads the same rows at
 * its next request.
 */
import { type Refusal, refuse } from "../../base/fault.ts";
import { formatTimestampUtc } from "../../base/timestamp.ts";
import type { GatewayKey } from "../auth/gateway-key.ts";
import { createKey, type NewKey, pairingScopes, revokeKey, shopScopes } from "../auth/keys.ts";
import { catchUpStates, notCaughtUpReason } from "../recovery/catch-up.ts";
import { beginRecovery } from "../recovery/recovery.ts";
import {
  type AgentAccount,
  hotWalletAddresses,
  hotWalletAddressOn,
} from "../store/agent-accounts.ts";
import { listAgentRows, markUnpaired, networksOf, readPairedAgent } from "../store/agents.ts";
import { recordAct } from "../store/audit.ts";
import { countPendingOf } from "../store/jobs.ts";
import { restorePairingRights, setKeyAddresses } from "../store/keys.ts";
import { isWalletChainRead } from "../store/levels.ts";
import { insertMerchant, readMerchant } from "../store/merchants.ts";
import { addReceivingKey, isAccountOfOthers } from "../store/receiving-keys.ts";
import type { AgentRow } from "../store/rows.ts";
import type { Database, Store } from "../store/store.ts";
import type { ReceivingAccount } from "./xpub.ts";

export interface OperatorContext {
  readonly store: Store;
  readonly gatewayKey: GatewayKey;
  readonly random: (bytes: number) => Uint8Array;
  readonly nowMs: number;
  readonly actor: string; // in the audit: "operator" and the name that the person claims
  readonly run: string | null; // run of the gateway that owns the database now; null without one
}

const merchantIdBytes = 8;

export interface NewMerchant {
  readonly name: string;
  readonly language: "en" | "tr";
  readonly profile?: NewKey["profile"];
}

export interface MadeMerchant {
  readonly merchantId: string;
  readonly keyId: string;
  readonly apiKey: string;
  readonly shopKeyId: string;
  readonly shopKey: string;
}

/**
 * Makes a merchant and two keys: `apiKey` can only pair a server, `shopKey` can order and read but
 * not pair.
 */
export function createMerchant(by: OperatorContext, merchant: NewMerchant): MadeMerchant {
  return by.store.write((database) => makeMerchant(database, by, merchant));
}

/**
 * Makes a merchant that receives on these accounts, at most one account in a family, without an
 * agent; also makes the two keys. Refuses GATEWAY_ACCOUNT_TAKEN.
 */
export function createReceivingMerchant(
  by: OperatorContext,
  merchant: NewMerchant,
  ...accounts: readonly ReceivingAccount[]
): (MadeMerchant & { readonly ok: true }) | Refusal {
  return by.store.write((database) => {
    if (isAccountOfOthers(database, "", accounts.map(asAgents)))
      return refuse("GATEWAY_ACCOUNT_TAKEN");
    const made = makeMerchant(database, by, merchant);
    for (const account of accounts) {
      addReceivingKey(database, { merchant: made.merchantId, ...account, createdAt: by.nowMs });
      const detail = `receives from ${account.firstDepositAddress} on`;
      recordAct(database, {
        at: by.nowMs,
        actor: by.actor,
        act: "receiving account",
        subject: made.merchantId,
        detail,
      });
    }
    return { ok: true, ...made };
  });
}

function makeMerchant(
  database: Database,
  by: OperatorContext,
  merchant: NewMerchant,
): MadeMerchant {
  const merchantId = `m_${Buffer.from(by.random(merchantIdBytes)).toString("hex")}`;
  const { name, language, profile = "compatible" } = merchant;
  insertMerchant(database, { id: merchantId, name, language, createdAt: by.nowMs });
  const pairing = createKey(
    database,
    { merchant: merchantId, scopes: pairingScopes, profile: "compatible", alg: "HS256" },
    by,
  );
  const shop = createKey(
    database,
    { merchant: merchantId, scopes: shopScopes, profile, alg: "HS256" },
    by,
  );
  const detail = `${pairing.keyId} ${shop.keyId}`;
  recordAct(database, {
    at: by.nowMs,
    actor: by.actor,
    act: "merchant created",
    subject: merchantId,
    detail,
  });
  return { merchantId, ...pairing, shopKeyId: shop.keyId, shopKey: shop.apiKey };
}

/**
 * Makes a key for an existing merchant. Only these addresses and networks may use the key, or any
 * if none is given. Refuses GATEWAY_UNKNOWN_MERCHANT.
 */
export function addKey(
  by: OperatorContext,
  key: NewKey,
  addresses: readonly string[] = [],
): { readonly ok: true; readonly keyId: string; readonly apiKey: string } | Refusal {
  return by.store.write((database) => {
    if (readMerchant(database, key.merchant) === undefined)
      return refuse("GATEWAY_UNKNOWN_MERCHANT");
    const made = createKey(database, key, by);
    setKeyAddresses(database, made.keyId, addresses);
    const from = addresses.length === 0 ? "" : ` from ${addresses.join(" ")}`;
    const detail = `${key.merchant} ${key.scopes.join(",")} ${key.profile} ${key.alg}${from}`;
    recordAct(database, {
      at: by.nowMs,
      actor: by.actor,
      act: "key created",
      subject: made.keyId,
      detail,
    });
    return { ok: true, ...made };
  });
}

/** Revokes a key. Refuses GATEWAY_UNKNOWN_KEY, also for a revoked key. */
export function revokeMerchantKey(
  by: OperatorContext,
  keyId: string,
): { readonly ok: true } | Refusal {
  return by.store.write((database) => {
    if (!revokeKey(database, keyId, by.nowMs)) return refuse("GATEWAY_UNKNOWN_KEY");
    recordAct(database, {
      at: by.nowMs,
      actor: by.actor,
      act: "key revoked",
      subject: keyId,
      detail: "",
    });
    return { ok: true };
  });
}

function asAgents({ family, xpub, firstDepositAddress }: ReceivingAccount): AgentAccount {
  return { family, purpose: "deposits", id: xpub, firstAddress: firstDepositAddress };
}

export interface AgentLine {
  readonly agentId: string;
  readonly merchantId: string;
  readonly merchant: string;
  readonly wallet: string;
  readonly hotWalletAddresses: readonly string[]; // one for each family
  readonly ledgerEpoch: number;
  readonly shortCode: string;
  readonly pairedAt: string;
  readonly lastSeenAt: string; // "" never
  readonly unpairedAt: string; // "" while paired
  readonly lockedCode: string; // "" while not locked
  readonly pausedAt: string; // "" while its operator allows signatures
  readonly software: string; // name and version in its newest hello; "" before the first
  readonly policy: string; // digest of its signer's limits; "" before its first statement
  readonly notCaughtUp: string; // why this database may lack its payments; "" after it has caught up
  readonly openWithdrawals: number;
}

/** ISO 8601, UTC; "" for never. */
export const formatTimestamp = (atMs: number | null): string =>
  atMs === null ? "" : formatTimestampUtc(atMs);

/** All agents; paired agents come first. */
export function listAgents({
  store,
  run,
}: Pick<OperatorContext, "store" | "run">): readonly AgentLine[] {
  return listAgentRows(store.database).map((row) => ({
    agentId: row.id,
    merchantId: row.merchant,
    merchant: row.name,
    wallet: row.wallet,
    hotWalletAddresses: hotWalletAddresses(row),
    ledgerEpoch: row.ledgerEpoch,
    shortCode: (row.paired ?? "").split(" ")[0] ?? "",
    pairedAt: formatTimestamp(row.pairedAt),
    lastSeenAt: formatTimestamp(row.lastSeenAt),
    unpairedAt: formatTimestamp(row.unpairedAt),
    lockedCode: row.lockedCode,
    pausedAt: formatTimestamp(row.pausedAt),
    software: row.software,
    policy: row.policy,
    notCaughtUp:
      (row.unpairedAt === null || row.caughtUp === catchUpStates.given
        ? notCaughtUpReason(row, run)
        : null) ?? "",
    openWithdrawals: row.open,
  }));
}

/**
 * Releases an agent, so that the merchant may pair another server, and restores the right to pair
 * of the merchant's keys. The agent keeps its withdrawals and sweeps, and no recovery of another
 * server names them. Refuses GATEWAY_UNKNOWN_AGENT, also for an unpaired agent. Refuses
 * GATEWAY_AGENT_NOT_CAUGHT_UP while the database may lack payments of the agent, and
 * GATEWAY_AGENT_OPEN while any of its withdrawals or sweeps are open. `open` skips the last check.
 * `notCaughtUp` skips both checks; then every agent that pairs for the merchant begins with a
 * recovery, until the unpaired agent has caught up.
 */
export function unpairAgent(
  by: OperatorContext,
  agentId: string,
  passing?: "open" | "notCaughtUp",
): { readonly ok: true; readonly openWithdrawals: number } | Refusal {
  return by.store.write((database) => {
    const agent = readPairedAgent(database, agentId);
    if (agent === undefined) return refuse("GATEWAY_UNKNOWN_AGENT");
    const reason = notCaughtUpReason(agent, by.run);
    const isCatchUpSkipped = passing === "notCaughtUp";
    if (reason !== null && !isCatchUpSkipped) return refuse("GATEWAY_AGENT_NOT_CAUGHT_UP", reason);
    const openWithdrawals = countPendingOf(database, agentId);
    if (openWithdrawals > 0 && passing === undefined)
      return refuse("GATEWAY_AGENT_OPEN", openWords(openWithdrawals));
    const caughtUp = isCatchUpSkipped ? catchUpStates.given : agent.caughtUp;
    markUnpaired(database, agentId, { caughtUp, nowMs: by.nowMs });
    restorePairingRights(database, agent.merchant);
    const act = isCatchUpSkipped ? "agent unpaired before catching up" : "agent unpaired";
    const left = openWithdrawals === 0 ? "" : `, open: ${openWithdrawals}`;
    recordAct(database, {
      at: by.nowMs,
      actor: by.actor,
      act,
      subject: agentId,
      detail: `${`${agent.merchant} ${reason ?? ""}`.trim()}${left}`,
    });
    return { ok: true, openWithdrawals };
  });
}

function openWords(count: number): string {
  const are = count === 1 ? "1 withdrawal or sweep is" : `${count} withdrawals and sweeps are`;
  return `${are} open with this server, and no other can end ${count === 1 ? "it" : "them"}`;
}

/**
 * Begins an agent's recovery: raises its epoch, also above `above`, and offers the recovery offer
 * to its next link. Harmless to call twice, because the second order replaces the first. Refuses
 * GATEWAY_UNKNOWN_AGENT, also for an unpaired agent.
 */
export function recoverAgent(
  by: OperatorContext,
  agentId: string,
  above: number,
): BegunRecovery | Refusal {
  return by.store.write((database) => {
    const agent = readPairedAgent(database, agentId);
    if (agent === undefined) return refuse("GATEWAY_UNKNOWN_AGENT");
    const { ledgerEpoch } = beginRecovery(database, agent, above, by.nowMs, by.actor);
    const unread = networksOf(agent).filter((network) => !isReadOn(by, agent, network));
    return { ok: true, ledgerEpoch, openWithdrawals: countPendingOf(database, agentId), unread };
  });
}

interface BegunRecovery {
  readonly ok: true;
  readonly ledgerEpoch: number;
  readonly openWithdrawals: number;
  // networks on which the running gateway has not read all that the hot wallet paid: the order
  // lacks what both sides have forgotten there
  readonly unread: readonly string[];
}

function isReadOn(
  { store: { database }, run }: OperatorContext,
  agent: AgentRow,
  network: string,
): boolean {
  return (
    run !== null &&
    isWalletChainRead(database, { network, account: hotWalletAddressOn(agent, network) }, run)
  );
}
