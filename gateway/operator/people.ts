/**
 * The operator's acts on merchants, keys and agents, each in one database transaction with its line in the audit table. They work
 * beside a running gateway, which reads the same rows at its next request.
 */
import { type Refusal, refuse } from "../../protocol/fault.ts";
import type { GatewayKey } from "../auth/gateway-key.ts";
import { createKey, type NewKey, revokeKey, scopes } from "../auth/keys.ts";
import { hearing, unheardReason } from "../hub/hearing.ts";
import { beginRecovery } from "../recovery/recovery.ts";
import { recordAct } from "../store/audit.ts";
import type { AgentRow, MerchantRow } from "../store/rows.ts";
import type { Database, Store } from "../store/store.ts";

/** @public */
export interface Operator {
  readonly store: Store;
  readonly gatewayKey: GatewayKey;
  readonly random: (bytes: number) => Uint8Array;
  readonly nowMs: number;
  readonly run: string | null; // of the gateway that owns the database now; null when none does
}

const merchantIdBytes = 8;

/**
 * Makes a merchant and its first key, which has every scope.
 * @public
 */
export function createMerchant(
  by: Operator,
  merchant: { readonly name: string; readonly language: "en" | "tr" },
): { readonly merchantId: string; readonly keyId: string; readonly apiKey: string } {
  const merchantId = `m_${Buffer.from(by.random(merchantIdBytes)).toString("hex")}`;
  return by.store.write((database) => {
    const sql = "INSERT INTO merchants (id, name, language, createdAt) VALUES (?, ?, ?, ?)";
    database.run(sql, merchantId, merchant.name, merchant.language, by.nowMs);
    const key = createKey(database, { merchant: merchantId, scopes, profile: "compatible", alg: "HS256" }, by);
    recordAct(database, { at: by.nowMs, actor: "operator", act: "merchant created", subject: merchantId, detail: key.keyId });
    return { merchantId, ...key };
  });
}

/**
 * Makes a key for a merchant that exists. Refuses GATEWAY_UNKNOWN_MERCHANT.
 * @public
 */
export function addKey(
  by: Operator,
  key: NewKey,
): { readonly ok: true; readonly keyId: string; readonly apiKey: string } | Refusal {
  return by.store.write((database) => {
    if (database.get<MerchantRow>("SELECT * FROM merchants WHERE id = ?", key.merchant) === undefined) {
      return refuse("GATEWAY_UNKNOWN_MERCHANT");
    }
    const made = createKey(database, key, by);
    const detail = `${key.merchant} ${key.scopes.join(",")} ${key.profile} ${key.alg}`;
    recordAct(database, { at: by.nowMs, actor: "operator", act: "key created", subject: made.keyId, detail });
    return { ok: true, ...made };
  });
}

/**
 * Revokes a key. Refuses GATEWAY_UNKNOWN_KEY, also for a revoked one.
 * @public
 */
export function revoke(by: Operator, keyId: string): { readonly ok: true } | Refusal {
  return by.store.write((database) => {
    if (!revokeKey(database, keyId, by.nowMs)) return refuse("GATEWAY_UNKNOWN_KEY");
    recordAct(database, { at: by.nowMs, actor: "operator", act: "key revoked", subject: keyId, detail: "" });
    return { ok: true };
  });
}

/** @public */
export interface AgentLine {
  readonly agentId: string;
  readonly merchantId: string;
  readonly merchant: string;
  readonly wallet: string;
  readonly hotAddress: string;
  readonly epoch: number;
  readonly shortCode: string;
  readonly pairedAt: string;
  readonly lastSeenAt: string; // "" never
  readonly releasedAt: string; // "" while paired
  readonly lockedCode: string; // "" while it is not locked
  readonly software: string; // name and version of its newest greeting; "" before the first
  readonly unheard: string; // why this database may lack its payments; "" once it was heard
  readonly openWithdrawals: number;
}

/** ISO 8601, UTC; "" for never. */
export const dateOf = (atMs: number | null): string => (atMs === null ? "" : new Date(atMs).toISOString());

/**
 * Every agent, paired ones first.
 * @public
 */
export function listAgents({ store, run }: Pick<Operator, "store" | "run">): readonly AgentLine[] {
  type Row = AgentRow & { readonly name: string; readonly open: number; readonly paired: string | null };
  const rows = store.database.all<Row>(
    `SELECT agents.*, merchants.name,
       (SELECT count(*) FROM jobs JOIN transactions ON transactions.id = jobs.transactionId
          WHERE jobs.agent = agents.id AND transactions.status = 0) AS open,
       (SELECT detail FROM audit WHERE act = 'paired' AND subject = agents.id ORDER BY audit.id DESC LIMIT 1) AS paired
     FROM agents JOIN merchants ON merchants.id = agents.merchant ORDER BY releasedAt IS NOT NULL, pairedAt DESC`,
  );
  return rows.map((row) => ({
    agentId: row.id,
    merchantId: row.merchant,
    merchant: row.name,
    wallet: row.wallet,
    hotAddress: row.hotAddress,
    epoch: row.epoch,
    shortCode: (row.paired ?? "").split(" ")[0] ?? "",
    pairedAt: dateOf(row.pairedAt),
    lastSeenAt: dateOf(row.lastSeenAt),
    releasedAt: dateOf(row.releasedAt),
    lockedCode: row.lockedCode,
    software: row.software,
    unheard: (row.releasedAt === null || row.heard === hearing.given ? unheardReason(row, run) : null) ?? "",
    openWithdrawals: row.open,
  }));
}

function openWithdrawals(database: Database, agentId: string): number {
  const sql =
    "SELECT count(*) AS n FROM jobs JOIN transactions ON transactions.id = jobs.transactionId WHERE jobs.agent = ? AND transactions.status = 0";
  return database.get<{ n: number }>(sql, agentId)?.n ?? 0;
}

/**
 * Releases an agent, so that the merchant may pair another server, and gives the merchant's keys their right to pair back. The agent
 * keeps the withdrawals that were handed to it. Refuses GATEWAY_UNKNOWN_AGENT, also for a released one, and GATEWAY_AGENT_UNHEARD while
 * the database may lack payments of the agent. `unheard` releases the agent all the same; until it is heard again, every agent that
 * pairs for the merchant begins with a recovery.
 * @public
 */
export function releaseAgent(
  by: Operator,
  agentId: string,
  unheard?: "unheard",
): { readonly ok: true; readonly openWithdrawals: number } | Refusal {
  return by.store.write((database) => {
    const agent = database.get<AgentRow>("SELECT * FROM agents WHERE id = ? AND releasedAt IS NULL", agentId);
    if (agent === undefined) return refuse("GATEWAY_UNKNOWN_AGENT");
    const reason = unheardReason(agent, by.run);
    if (reason !== null && unheard === undefined) return refuse("GATEWAY_AGENT_UNHEARD", reason);
    const heard = unheard === undefined ? agent.heard : hearing.given;
    database.run("UPDATE agents SET releasedAt = ?, heard = ? WHERE id = ?", by.nowMs, heard, agentId);
    database.run("UPDATE keys SET pairingUsed = 0 WHERE merchant = ?", agent.merchant);
    const act = unheard === undefined ? "agent released" : "agent released unheard";
    recordAct(database, {
      at: by.nowMs,
      actor: "operator",
      act,
      subject: agentId,
      detail: `${agent.merchant} ${reason ?? ""}`.trim(),
    });
    return { ok: true, openWithdrawals: openWithdrawals(database, agentId) };
  });
}

/**
 * Begins an agent's recovery: raises its epoch, also above `above`, and offers the order to its next link. Twice is harmless: the
 * second order replaces the first. Refuses GATEWAY_UNKNOWN_AGENT, also for a released one.
 * @public
 */
export function recoverAgent(
  by: Operator,
  agentId: string,
  above: number,
): { readonly ok: true; readonly epoch: number; readonly openWithdrawals: number } | Refusal {
  return by.store.write((database) => {
    const agent = database.get<AgentRow>("SELECT * FROM agents WHERE id = ? AND releasedAt IS NULL", agentId);
    if (agent === undefined) return refuse("GATEWAY_UNKNOWN_AGENT");
    const { epoch } = beginRecovery(database, agent, above, by.nowMs);
    return { ok: true, epoch, openWithdrawals: openWithdrawals(database, agentId) };
  });
}
