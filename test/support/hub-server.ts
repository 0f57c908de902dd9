/** A hub on a port and a database of its own for every test, and the entries an agent may state. */
import { generateKeyPairSync } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach } from "vitest";
import { type Hub, type HubOptions, startHub } from "../../gateway/hub/hub.ts";
import type { LinkLimits } from "../../gateway/hub/link-limits.ts";
import { createSignals, type Signals } from "../../gateway/store/signals.ts";
import { memoryMarks } from "../../lab/kit/address-marks.ts";
import {
  type AgentKeys,
  type GatewayDatabase,
  gatewayDatabase,
  pairAgent,
  receiver,
  silentLog,
} from "../../lab/kit/gateway-database.ts";
import { callLevel } from "../../lab/kit/level-reader.ts";
import { type EntryBody, LinkAgent } from "../../lab/kit/link-agent.ts";
import type { DecisionEntry, SignedEntry } from "../../protocol/messages.ts";

export const gateway = generateKeyPairSync("ed25519");
export const clock = { nowMs: 1_000_000 };

// The running test's own: each test has others.
export let db: GatewayDatabase;
export let keys: AgentKeys;
export let hub: Hub;
export let signals: Signals;
export let port: number;
/** The hub's signals to the rest of the gateway, in order. */
export let told: string[];
let server: Server;

/** To be called once at the head of a test file. */
export function eachTestItsHub(): void {
  beforeEach(async () => {
    db = gatewayDatabase();
    keys = pairAgent(db.store);
    clock.nowMs = 1_000_000;
    answers.question = async () => null;
    await start();
  });
  afterEach(async () => {
    await stop();
    db.remove();
  });
}

/** The answer to every question that reaches the hub; silence unless a test says otherwise. */
export const answers: { question: HubOptions["answerQuestion"] } = { question: async () => null };

/** `run` names the process of the hub; a proxy of `trustProxy` gives the origin of a connection. */
export async function start(
  limits: Partial<LinkLimits> = {},
  run = "first run",
  trustProxy: string[] = [],
): Promise<void> {
  server = createServer((_request, response) => response.end());
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  port = (server.address() as AddressInfo).port;
  signals = createSignals();
  told = [];
  signals.on("decided", ({ transactionId }) =>
    told.push(`decided ${Number(`0x${transactionId}`)}`),
  );
  signals.on("changed", ({ transactionId }) =>
    told.push(`changed ${Number(`0x${transactionId}`)}`),
  );
  signals.on("agent", ({ agent, online }) =>
    told.push(`${agent[0]} ${online ? "online" : "offline"}`),
  );
  const gatewayKey = gateway.privateKey;
  const config = { trustProxy };
  callLevel(db.store.database, run);
  hub = startHub({
    server,
    store: db.store,
    gatewayKey,
    signals,
    config,
    log: silentLog,
    clock: () => clock.nowMs,
    limits,
    run,
    marks: memoryMarks(),
    answerQuestion: (agent, question) => answers.question(agent, question),
  });
}

export async function stop(): Promise<void> {
  await hub.close();
  await new Promise<void>((done) => server.close(() => done()));
}

export const connect = (who: AgentKeys = keys, from?: string): LinkAgent =>
  new LinkAgent(port, who, gateway.publicKey, from);

export async function handshake(): Promise<LinkAgent> {
  const agent = connect();
  await agent.handshake();
  return agent;
}

export const decision = (
  transactionId: string,
  verdict: DecisionEntry["decision"],
  code = "",
): EntryBody => ({
  kind: "decision",
  transactionId,
  decision: verdict,
  code,
  address: receiver,
});
export const signed = (
  transactionId: string,
  slot: string,
  change: Partial<SignedEntry> = {},
): EntryBody => ({
  kind: "signed",
  transactionId,
  attempt: 1,
  network: "eip155:31337",
  account: keys.hotWalletAddress,
  slot,
  txHash: `0x${transactionId.slice(-2)}${slot.padStart(62, "0")}`,
  feeMax: "21000",
  ...change,
});
export const observed = (
  transactionId: string,
  stage: "broadcast" | "included" | "final",
): EntryBody => ({
  kind: "observed",
  transactionId,
  stage,
  outcome: stage === "final" ? "paid" : "",
  txHash: "0x01",
});
export const audit = (): { act: string; detail: string }[] =>
  db.store.database.all("SELECT act, detail FROM audit ORDER BY id");
