/**
 * A shop with a gateway of its own for every test, and the few words of a test: ask as the shop,
 * read the stored rows, and act as hub and watcher (rows as they write them, then the signal).
 */
import { afterEach, beforeEach, expect } from "vitest";
import { unpairAgent } from "../../gateway/operator/accounts.ts";
import type { AgentRow, JobRow } from "../../gateway/store/rows.ts";
import { updateWithdrawal } from "../../gateway/store/withdrawals.ts";
import { type AnyTransaction, readTransaction } from "../../lab/kit/gateway-database.ts";
import {
  type GatewayAnswer,
  receiver,
  startTestGateway,
  type TestGateway,
} from "../../lab/kit/gateway-server.ts";
import { callLevel } from "../../lab/kit/level-reader.ts";

export const ether = 10n ** 18n;
/** Limits that no test meets by accident. */
export const many = {
  limits: {
    readsPerSecond: 100_000,
    writesPerSecond: 100_000,
    pairingsPerMinute: 10_000,
    withdrawalWaitMs: 2_000,
  },
};

/** The gateway of the test that runs: another one in each. */
export let gateway: TestGateway;

/** To be called once at the head of a test file. */
export function eachTestItsGateway(): void {
  beforeEach(async () => {
    gateway = await startTestGateway(many);
  });
  afterEach(() => gateway.close());
}

/** Goes on with an empty gateway of other settings; the usual ones by default. */
export async function anotherGateway(change: object = {}): Promise<void> {
  await gateway.close();
  gateway = await startTestGateway(change);
}

/** Paired, with 10 ETH and 1000 USDT at block 100. */
export async function ready(): Promise<void> {
  expect((await gateway.pair()).status).toBe(200);
  gateway.fund("eth", 10n * ether);
  gateway.fund("usdt", 1_000_000_000n);
}

export const db = () => gateway.service.store.database;
export const row = (id: string): AnyTransaction | undefined =>
  readTransaction(gateway.service.store, id);
export const agentRow = () =>
  db().get<AgentRow>("SELECT * FROM agents WHERE unpairedAt IS NULL") as AgentRow;
export const countOf = (table: string) =>
  db().get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)?.n;

export const withdrawal = { currency: "eth", amount: "1", address: receiver, orderId: "order-1" };
export const auto = (
  change: object = {},
  headers: Record<string, string> = {},
): Promise<GatewayAnswer> =>
  gateway.call("POST", "/api/v1/autoWithdraw", { ...withdrawal, ...change }, headers);
export const manual = (change: object = {}): Promise<GatewayAnswer> =>
  gateway.call("POST", "/api/v1/manualWithdraw", {
    currency: "eth",
    amount: "1",
    orderId: "order-1",
    ...change,
  });
export const deposit = (change: object = {}): Promise<GatewayAnswer> =>
  gateway.call("POST", "/api/v1/createTransactionRequest", {
    currency: "eth",
    amount: "1",
    orderId: "order-1",
    ...change,
  });
export const read = (path: string, headers: Record<string, string> = {}): Promise<GatewayAnswer> =>
  gateway.call("GET", `/api/v1${path}`, undefined, headers);

/** The hub's rows and signal when the agent answers a job. */
export function decide(
  transactionId: string,
  change: { status?: 0 | 1 | 2; stage: string; code?: string },
): void {
  const { store, signals } = gateway.service;
  store.write((database) => {
    database.run(
      "UPDATE jobs SET answeredAt = ? WHERE transactionId = ?",
      gateway.clock.nowMs,
      transactionId,
    );
    updateWithdrawal(
      database,
      transactionId,
      { status: 0, code: "", ...change },
      gateway.clock.nowMs,
    );
  });
  signals.emit("decided", { transactionId });
}

export function online(isOnline = true): void {
  gateway.service.signals.emit("agent", { agent: agentRow().id, online: isOnline });
}

/** The hub's row of an agent that sends heartbeats over a link after the handshake. */
export function caughtUp(): void {
  db().run("UPDATE agents SET caughtUp = ? WHERE unpairedAt IS NULL", gateway.operator.run);
  callLevel(db(), gateway.operator.run ?? "");
}

/**
 * Releases the live agent as an operator does after the agent has caught up, with any open
 * withdrawals.
 */
export function release(): ReturnType<typeof unpairAgent> {
  caughtUp();
  return unpairAgent(gateway.operator, agentRow().id, "open");
}

/** Answers each job as it is made, as an agent would. */
export function answering(change: { status?: 0 | 1 | 2; stage: string; code?: string }): void {
  gateway.service.signals.on("job", ({ agent }) => {
    const job = db().get<JobRow>(
      "SELECT * FROM jobs WHERE agent = ? ORDER BY sequence DESC LIMIT 1",
      agent,
    );
    setImmediate(() => decide(job?.transactionId ?? "", change));
  });
}
