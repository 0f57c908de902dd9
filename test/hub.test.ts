/**
 * The hub over real WebSockets: greeting, jobs, statements, what is refused and what a restart keeps; and the pure effect of entries.
 */
import { generateKeyPairSync } from "node:crypto";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { addressReader } from "../gateway/hub/address.ts";
import { type Around, effectOf } from "../gateway/hub/effect.ts";
import { type Hub, linkPath, startHub } from "../gateway/hub/hub.ts";
import { fillEnvelope } from "../gateway/hub/outbox.ts";
import type { LinkLimits } from "../gateway/hub/session.ts";
import type { SignatureRow, TransactionRow } from "../gateway/store/rows.ts";
import { createSignals, type Signals } from "../gateway/store/signals.ts";
import { Bug } from "../protocol/fault.ts";
import { jobHashOf, zeroHash } from "../protocol/identity.ts";
import type { DecisionEntry, SignedEntry } from "../protocol/messages.ts";
import { parseJob } from "../protocol/payloads.ts";
import {
  type AgentKeys,
  askWithdrawal,
  type GatewayDatabase,
  gatewayDatabase,
  insertTransaction,
  pairAgent,
  readAgent,
  readTransaction,
  receiver,
  silentLog,
} from "./support/gateway-database.ts";
import { type EntryBody, headAt, LinkAgent, statementOf } from "./support/link-agent.ts";

const gateway = generateKeyPairSync("ed25519");
let db: GatewayDatabase;
let keys: AgentKeys;
let server: Server;
let port: number;
let signals: Signals;
let hub: Hub;
let told: string[];
let nowMs = 1_000_000;

async function start(limits: Partial<LinkLimits> = {}): Promise<void> {
  server = createServer((_request, response) => response.end());
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  port = (server.address() as AddressInfo).port;
  signals = createSignals();
  told = [];
  signals.on("decided", ({ transactionId }) => told.push(`decided ${Number(`0x${transactionId}`)}`));
  signals.on("changed", ({ transactionId }) => told.push(`changed ${Number(`0x${transactionId}`)}`));
  signals.on("agent", ({ agent, online }) => told.push(`${agent[0]} ${online ? "online" : "offline"}`));
  const gatewayKey = gateway.privateKey;
  const config = { trustProxy: [] };
  hub = startHub({ server, store: db.store, gatewayKey, signals, config, log: silentLog, clock: () => nowMs, limits });
}

async function stop(): Promise<void> {
  await hub.close();
  await new Promise<void>((done) => server.close(() => done()));
}

const connect = (who: AgentKeys = keys): LinkAgent => new LinkAgent(port, who, gateway.publicKey);

async function greeted(): Promise<LinkAgent> {
  const agent = connect();
  await agent.greeted();
  return agent;
}

const decision = (transactionId: string, verdict: DecisionEntry["decision"], code = ""): EntryBody => ({
  kind: "decision",
  transactionId,
  decision: verdict,
  code,
  address: receiver,
});
const signed = (transactionId: string, token: string, change: Partial<SignedEntry> = {}): EntryBody => ({
  kind: "signed",
  transactionId,
  version: 1,
  network: "eip155:31337",
  account: keys.hotAddress,
  token,
  txHash: `0x${transactionId.slice(-2)}${token.padStart(62, "0")}`,
  feeMax: "21000",
  ...change,
});
const observed = (transactionId: string, stage: "broadcast" | "included" | "final"): EntryBody => ({
  kind: "observed",
  transactionId,
  stage,
  outcome: stage === "final" ? "paid" : "",
  txHash: "0x01",
});
const audit = (): { act: string; detail: string }[] => db.store.database.all("SELECT act, detail FROM audit ORDER BY id");

beforeEach(async () => {
  db = gatewayDatabase();
  keys = pairAgent(db.store);
  nowMs = 1_000_000;
  await start();
});
afterEach(async () => {
  await stop();
  db.remove();
});

describe("greeting", () => {
  it("welcomes the paired agent and names what it durably knows", async () => {
    const agent = connect();
    const welcome = await agent.greeted();
    expect(welcome).toMatchObject({ agent: keys.id, epoch: 2, answers: "07".repeat(32), echo: null, at: 1_000_000 });
    expect(welcome.jobs).toEqual({ sequence: 0, hash: zeroHash });
    expect(hub.online(keys.id)).toBe(true);
    expect(readAgent(db.store, keys.id).lastSeenAt).toBe(1_000_000);
    expect(told).toEqual(["a online"]);
  });

  it.each([
    ["a wrong key", {}, () => keys.signerKey],
    ["an unknown agent", { agent: "b".repeat(16) }, () => keys.linkKey],
    ["another challenge's answer", { answers: "00".repeat(32) }, () => keys.linkKey],
  ])("refuses %s", async (_name, change, key) => {
    const agent = connect();
    await agent.hello(change, key());
    expect(await agent.closed).toEqual({ code: 4001, reason: "refused" });
    expect(hub.online(keys.id)).toBe(false);
  });

  it("refuses a released agent, a lower epoch and one it has locked", async () => {
    const lower = connect();
    await lower.hello({ epoch: 1 });
    expect(await lower.closed).toEqual({ code: 4003, reason: "epoch" });
    db.store.database.run("UPDATE agents SET lockedCode = 'HUB_TOKEN_REUSED'");
    const locked = connect();
    await locked.hello();
    expect((await locked.closed).code).toBe(4004);
    db.store.database.run("UPDATE agents SET lockedCode = '', releasedAt = 1");
    const released = connect();
    await released.hello();
    expect((await released.closed).code).toBe(4001);
  });

  it("knows from a higher epoch that its database was restored", async () => {
    const agent = connect();
    await agent.hello({ epoch: 3 });
    expect(await agent.closed).toEqual({ code: 4009, reason: "behind" });
    expect(audit()[0]?.detail).toContain(`gateway database is behind agent ${keys.id}`);
  });

  it("does not take a replayed hello on another connection", async () => {
    const first = connect();
    const { nonce } = await first.next("challenge");
    const hello = { agent: keys.id, epoch: 2, answers: nonce, nonce: "07".repeat(32), software: "test", at: 1 };
    first.send("hello", hello, keys.linkKey);
    await first.next("welcome");
    const second = connect();
    await second.next("challenge");
    second.send("hello", hello, keys.linkKey);
    expect((await second.closed).code).toBe(4001);
    expect(hub.online(keys.id)).toBe(true);
  });

  it("lets a newer connection replace the older and stays online", async () => {
    const older = await greeted();
    const newer = await greeted();
    expect(await older.closed).toEqual({ code: 4000, reason: "replaced" });
    expect(hub.online(keys.id)).toBe(true);
    const id = askWithdrawal(db.store, keys.id, 1);
    newer.state(statementOf(keys.id, 0, [decision(id, "approved")]));
    expect((await newer.next("ack")).head).toEqual(headAt(1));
    expect(told).not.toContain("a offline");
  });
});

describe("jobs", () => {
  it("go out in strict sequence from the first unanswered one, chained, in envelopes the agent takes", async () => {
    for (let number = 1; number <= 300; number += 1) askWithdrawal(db.store, keys.id, number);
    db.store.database.run("UPDATE jobs SET answeredAt = 1 WHERE sequence <= 20");
    const agent = await greeted();
    const texts: string[] = [];
    while (texts.length < 280) texts.push(...(await agent.next("jobs")).jobs);
    expect(texts.map((text) => parseJob(text).sequence)).toEqual(Array.from({ length: 280 }, (_, index) => index + 21));
    for (let index = 1; index < texts.length; index += 1) {
      expect(parseJob(texts[index]!).previous).toBe(jobHashOf(texts[index - 1]!));
    }
    const frames = agent.frames.filter((frame) => frame.kind === "jobs");
    expect(frames.length).toBeGreaterThan(1);
    expect(frames[0]!.bytes).toBeGreaterThan(50 * 1024);
  });

  it("carry the newest echo and follow a signal or a wake", async () => {
    const agent = await greeted();
    const first = askWithdrawal(db.store, keys.id, 1);
    signals.emit("job", { agent: keys.id });
    expect((await agent.next("jobs")).echo).toBeNull();
    agent.state(statementOf(keys.id, 0, [decision(first, "approved")]));
    await agent.next("ack");
    askWithdrawal(db.store, keys.id, 2);
    hub.wake(keys.id);
    const jobs = await agent.next("jobs");
    expect(jobs.echo).toEqual(headAt(1));
    expect(jobs.jobs.map((text) => parseJob(text).sequence)).toEqual([2]);
  });

  it("are sent again on a new connection until they are answered, and on the same one when nothing is heard", async () => {
    await stop();
    await start({ beatMs: 40, resendMs: 1_000 });
    askWithdrawal(db.store, keys.id, 1);
    const first = await greeted();
    await first.next("jobs");
    nowMs += 2_000;
    expect((await first.next("jobs")).jobs).toHaveLength(1);
    const second = await greeted();
    expect((await second.next("jobs")).jobs).toHaveLength(1);
  });

  it("that an agent could not read are never chained", () => {
    for (const change of [{ amount: "1.0" }, { orderId: "with space" }, { receiverAddress: "" }, { expiresAt: 1_000 }]) {
      expect(() => askWithdrawal(db.store, keys.id, 1, change), JSON.stringify(change)).toThrow(Bug);
    }
    expect(readAgent(db.store, keys.id).jobSequence).toBe(0);
    askWithdrawal(db.store, keys.id, 1);
    expect(readAgent(db.store, keys.id).jobSequence).toBe(1);
  });

  it("fill an envelope but never leave it empty", () => {
    const jobs = Array.from({ length: 100 }, (_, index) => ({ sequence: index + 1, text: `"${"x".repeat(998)}` }));
    expect(fillEnvelope(jobs, 11_100)).toHaveLength(10);
    expect(fillEnvelope(jobs, 10)).toHaveLength(1);
    expect(fillEnvelope([])).toHaveLength(0);
  });
});

describe("statements", () => {
  it("move a withdrawal from decision to broadcast and keep its token and signature", async () => {
    const id = askWithdrawal(db.store, keys.id, 1, { stage: "" });
    const agent = await greeted();
    agent.state(statementOf(keys.id, 0, [decision(id, "held", "POLICY_HELD")]));
    expect(await agent.next("ack")).toMatchObject({ agent: keys.id, epoch: 2, head: headAt(1) });
    expect(readTransaction(db.store, id)).toMatchObject({ status: 0, stage: "awaiting_approval", code: "POLICY_HELD" });
    agent.state(statementOf(keys.id, 1, [decision(id, "approved"), signed(id, "7")]));
    await agent.next("ack");
    expect(readTransaction(db.store, id)).toMatchObject({ status: 0, stage: "signed", code: "" });
    agent.state(statementOf(keys.id, 3, [observed(id, "broadcast"), observed(id, "final")]));
    await agent.next("ack");
    expect(readTransaction(db.store, id)).toMatchObject({ status: 0, stage: "broadcast" });
    expect(db.store.database.all("SELECT token, transactionId FROM tokens")).toEqual([{ token: "7", transactionId: id }]);
    expect(db.store.database.all("SELECT version, feeMaxWei, seq FROM signatures")).toEqual([
      { version: 1, feeMaxWei: "21000", seq: 3 },
    ]);
    expect(told).toEqual(["a online", "changed 1", "decided 1", "changed 1", "decided 1", "changed 1"]);
  });

  it("fail a refused or expired withdrawal that was never signed", async () => {
    const refused = askWithdrawal(db.store, keys.id, 1);
    const expired = askWithdrawal(db.store, keys.id, 2);
    const agent = await greeted();
    agent.state(statementOf(keys.id, 0, [decision(refused, "refused", "POLICY_ABOVE_DAY"), decision(expired, "expired")]));
    await agent.next("ack");
    expect(readTransaction(db.store, refused)).toMatchObject({ status: 2, stage: "refused", code: "POLICY_ABOVE_DAY" });
    expect(readTransaction(db.store, expired)).toMatchObject({ status: 2, stage: "expired" });
    expect(db.store.database.all("SELECT sequence FROM jobs WHERE answeredAt IS NULL")).toEqual([]);
  });

  it("store what is new of doubled and overlapping statements once", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const agent = await greeted();
    const first = statementOf(keys.id, 0, [decision(id, "approved"), signed(id, "0")]);
    agent.state(first);
    agent.state(first);
    agent.state(statementOf(keys.id, 0, [decision(id, "approved"), signed(id, "0"), observed(id, "broadcast")]));
    let ack = await agent.next("ack");
    while (ack.head.seq < 3) ack = await agent.next("ack");
    expect(ack.head).toEqual(headAt(3));
    agent.state(first);
    expect((await agent.next("ack")).head).toEqual(headAt(3));
    expect(db.store.database.all("SELECT seq FROM signatures")).toHaveLength(1);
    expect(readTransaction(db.store, id).stage).toBe("broadcast");
  });

  it("of one tick share one transaction and one acknowledgement", async () => {
    const ids = [1, 2, 3, 4].map((number) => askWithdrawal(db.store, keys.id, number));
    const agent = await greeted();
    let writes = 0;
    const write = db.store.write;
    db.store.write = (fn) => {
      writes += 1;
      return write(fn);
    };
    for (const [index, id] of ids.entries()) agent.state(statementOf(keys.id, index, [decision(id, "approved")]));
    expect((await agent.next("ack")).head).toEqual(headAt(4));
    expect(writes).toBe(1);
  });

  it("that leave a gap close the link and say lastingly, once, that the database is behind", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    for (let round = 0; round < 2; round += 1) {
      const agent = await greeted();
      agent.state(statementOf(keys.id, 5, [decision(id, "approved")]));
      expect(await agent.closed).toEqual({ code: 4009, reason: "behind" });
      expect(agent.frames.some((frame) => frame.kind === "ack")).toBe(false);
    }
    expect(audit().map((row) => row.act)).toEqual(["alarm HUB_DATABASE_BEHIND"]);
    expect(audit()[0]?.detail).toContain(`gateway database is behind agent ${keys.id}`);
    const agent = await greeted();
    agent.state(statementOf(keys.id, 0, [decision(id, "approved")], { head: headAt(6) }));
    expect((await agent.next("ack")).head).toEqual(headAt(6));
  });

  it("about a transaction the database lost are not acknowledged", async () => {
    const agent = await greeted();
    agent.state(statementOf(keys.id, 0, [decision("f".repeat(32), "approved")]));
    expect((await agent.closed).code).toBe(4009);
    expect(readAgent(db.store, keys.id)).toMatchObject({ headSeq: 0, lockedCode: "" });
  });

  it("of another ledger at the acknowledged place lock the agent", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const agent = await greeted();
    agent.state(statementOf(keys.id, 0, [decision(id, "approved")]));
    await agent.next("ack");
    agent.state(statementOf(keys.id, 0, [decision(id, "approved")], { head: headAt(1, "restored") }));
    expect((await agent.closed).code).toBe(4004);
    expect(readAgent(db.store, keys.id).lockedCode).toBe("HUB_LEDGER_FORKED");
  });

  it.each([
    [
      "one token for two withdrawals",
      "HUB_TOKEN_REUSED",
      (first: string, second: string) => [signed(first, "7"), signed(second, "7")],
    ],
    [
      "a second token for a withdrawal",
      "HUB_TOKEN_REUSED",
      (first: string) => [signed(first, "7"), signed(first, "8", { version: 2 })],
    ],
    [
      "a version signed twice",
      "HUB_CONTRADICTION",
      (first: string) => [signed(first, "7"), signed(first, "7", { txHash: `0x${"ee".repeat(32)}` })],
    ],
    [
      "a refusal after a signature",
      "HUB_CONTRADICTION",
      (first: string) => [signed(first, "7"), decision(first, "refused", "POLICY_ABOVE_DAY")],
    ],
    [
      "a signature after a refusal",
      "HUB_CONTRADICTION",
      (first: string) => [decision(first, "refused", "POLICY_ABOVE_DAY"), signed(first, "7")],
    ],
    [
      "a twenty-first version",
      "HUB_CONTRADICTION",
      (first: string) => [signed(first, "7"), signed(first, "7", { version: 21, txHash: `0x${"ee".repeat(32)}` })],
    ],
    ["another account", "HUB_CONTRADICTION", (first: string) => [signed(first, "7", { account: receiver })]],
    ["another spelling of a token", "HUB_CONTRADICTION", (first: string) => [signed(first, "07")]],
  ])("with %s are neither stored nor acknowledged, and lock the agent", async (_name, code, bodies) => {
    const first = askWithdrawal(db.store, keys.id, 1);
    const second = askWithdrawal(db.store, keys.id, 2);
    const agent = await greeted();
    agent.state(statementOf(keys.id, 0, bodies(first, second)));
    expect(await agent.closed).toEqual({ code: 4004, reason: "locked" });
    expect(agent.frames.some((frame) => frame.kind === "ack")).toBe(false);
    expect(readAgent(db.store, keys.id)).toMatchObject({ headSeq: 0, lockedCode: code });
    expect(db.store.database.all("SELECT * FROM signatures")).toEqual([]);
    expect(db.store.database.all("SELECT * FROM tokens")).toEqual([]);
    expect(audit().map((row) => row.act)).toEqual([`alarm ${code}`]);
  });

  it("of an honest agent are stored though another's contradict in the same tick", async () => {
    const other = pairAgent(db.store, "b");
    const mine = askWithdrawal(db.store, keys.id, 1);
    const theirs = askWithdrawal(db.store, other.id, 2);
    const honest = await greeted();
    const liar = connect(other);
    await liar.greeted();
    liar.state(statementOf(other.id, 0, [decision(mine, "approved")]));
    honest.state(statementOf(keys.id, 0, [decision(mine, "approved")]));
    expect((await honest.next("ack")).head).toEqual(headAt(1));
    expect((await liar.closed).code).toBe(4004);
    expect(readTransaction(db.store, theirs).stage).toBe("queued");
    expect(readAgent(db.store, other.id).lockedCode).toBe("HUB_CONTRADICTION");
  });

  it("accept a fee bump of the same token, late ones of a finished withdrawal too", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const agent = await greeted();
    agent.state(statementOf(keys.id, 0, [decision(id, "approved"), signed(id, "7")]));
    await agent.next("ack");
    db.store.database.run("UPDATE transactions SET status = 1, stage = 'completed'");
    const bump = (version: number): EntryBody => signed(id, "7", { version, txHash: `0x${`${version}`.padStart(64, "0")}` });
    agent.state(statementOf(keys.id, 2, [bump(2), bump(20)]));
    expect((await agent.next("ack")).head).toEqual(headAt(4));
    expect(readTransaction(db.store, id)).toMatchObject({ status: 1, stage: "completed" });
    expect(db.store.database.all("SELECT version FROM signatures ORDER BY version")).toEqual(
      [1, 2, 20].map((version) => ({ version })),
    );
  });

  it("keep an alarm, and the lock when the signer stopped", async () => {
    const agent = await greeted();
    const alarm = (code: string, locked: boolean): EntryBody => ({ kind: "alarm", code, locked });
    agent.state(statementOf(keys.id, 0, [alarm("GATEWAY_BEHIND", false)]));
    await agent.next("ack");
    expect(readAgent(db.store, keys.id).lockedCode).toBe("");
    agent.state(statementOf(keys.id, 1, [alarm("GATEWAY_FORKED", true)]));
    await agent.next("ack");
    expect(readAgent(db.store, keys.id).lockedCode).toBe("GATEWAY_FORKED");
    expect(audit().map((row) => row.act)).toEqual(["alarm GATEWAY_BEHIND", "alarm GATEWAY_FORKED"]);
  });

  it("of a ledger behind the acknowledged one mark the agent, until it stands level again", async () => {
    const agent = await greeted();
    const filler = Array.from({ length: 5 }, (): EntryBody => ({ kind: "alarm", code: "GATEWAY_BEHIND", locked: false }));
    agent.state(statementOf(keys.id, 0, filler));
    await agent.next("ack");
    agent.state(statementOf(keys.id, 0, filler.slice(0, 2))); // an old one sent again says nothing
    await agent.next("ack");
    expect(readAgent(db.store, keys.id).lockedCode).toBe("");
    agent.state(statementOf(keys.id, 2, [{ kind: "alarm", code: "LEDGER_BEHIND_GATEWAY", locked: true }]));
    expect((await agent.next("ack")).head).toEqual(headAt(5));
    expect(readAgent(db.store, keys.id)).toMatchObject({ lockedCode: "AGENT_BEHIND", headSeq: 5 });
    agent.state(statementOf(keys.id, 5, filler.slice(0, 1)));
    await agent.next("ack");
    expect(readAgent(db.store, keys.id).lockedCode).toBe("");
    const beat = (seq: number) => agent.send("beat", { agent: keys.id, head: headAt(seq), at: 5_000 + seq }, keys.linkKey);
    for (const [seq, marked] of [
      [6, ""],
      [3, "AGENT_BEHIND"],
      [3, "AGENT_BEHIND"],
      [6, ""],
    ] as const) {
      beat(seq);
      agent.state(statementOf(keys.id, 0, filler.slice(0, 1))); // answered after the beat
      await agent.next("ack");
      expect(readAgent(db.store, keys.id).lockedCode).toBe(marked);
    }
    expect(audit().map((row) => row.act)).toEqual(["alarm GATEWAY_BEHIND", "alarm AGENT_BEHIND"]);
  });

  it("keep each alarm of an agent once, and codes nobody knows under one name", async () => {
    const agent = await greeted();
    const alarm = (code: string, locked = false): EntryBody => ({ kind: "alarm", code, locked });
    const made = Array.from({ length: 200 }, (_, number) => alarm(`MADE_UP_${number}`));
    agent.state(statementOf(keys.id, 0, [alarm("GATEWAY_BEHIND"), ...made, alarm("GATEWAY_BEHIND")]));
    expect((await agent.next("ack")).head).toEqual(headAt(202));
    agent.state(statementOf(keys.id, 202, [alarm("GATEWAY_BEHIND"), alarm("MADE_UP_LAST", true)]));
    expect((await agent.next("ack")).head).toEqual(headAt(204));
    expect(audit().map((row) => row.act)).toEqual(["alarm GATEWAY_BEHIND", "alarm ALARM_UNKNOWN"]);
    expect(readAgent(db.store, keys.id).lockedCode).toBe("ALARM_UNKNOWN");
  });

  it("that ask for lost transactions one after another leave one alarm", async () => {
    for (const id of ["e", "f"]) {
      const agent = await greeted();
      agent.state(statementOf(keys.id, 0, [decision(id.repeat(32), "approved")]));
      expect((await agent.closed).code).toBe(4009);
    }
    expect(audit().map((row) => row.act)).toEqual(["alarm HUB_DATABASE_BEHIND"]);
  });

  it("are looked up by indexes alone", () => {
    const plan = (sql: string): string =>
      db.store.database
        .all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
        .map((row) => row.detail)
        .join();
    for (const sql of [
      "SELECT 1 FROM audit WHERE subject = 'a' AND act = 'b' AND actor = 'c' LIMIT 1",
      "SELECT token FROM tokens WHERE transactionId = 'a'",
      "SELECT * FROM signatures WHERE transactionId = 'a' AND version = 1",
    ])
      expect(plan(sql), sql).toMatch(/^SEARCH .* USING (?:COVERING )?INDEX/);
  });

  it("apply an old entry never again, though it comes beside a new one", async () => {
    const agent = await greeted();
    const alarm: EntryBody = { kind: "alarm", code: "GATEWAY_FORKED", locked: true };
    agent.state(statementOf(keys.id, 0, [alarm]));
    await agent.next("ack");
    db.store.database.run("UPDATE agents SET lockedCode = ''");
    const adopted: EntryBody = { kind: "adopted", network: "eip155:31337", account: keys.hotAddress, token: "0" };
    agent.state(statementOf(keys.id, 0, [alarm, adopted]));
    expect((await agent.next("ack")).head).toEqual(headAt(2));
    expect(readAgent(db.store, keys.id).lockedCode).toBe("");
  });

  it("survive a restart on the same database", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const before = await greeted();
    before.state(statementOf(keys.id, 0, [decision(id, "approved")]));
    await before.next("ack");
    askWithdrawal(db.store, keys.id, 2);
    await stop();
    await before.closed;
    db.reopen();
    await start();
    const after = connect();
    const welcome = await after.greeted();
    expect(welcome.echo).toEqual(headAt(1));
    expect(welcome.jobs.sequence).toBe(2);
    expect((await after.next("jobs")).jobs.map((text) => parseJob(text).sequence)).toEqual([2]);
    after.state(statementOf(keys.id, 0, [decision(id, "approved"), signed(id, "3")]));
    expect((await after.next("ack")).head).toEqual(headAt(2));
  });
});

describe("bad frames", () => {
  it("a statement under the link key, of another agent or epoch, ends the link and stores nothing", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const statement = statementOf(keys.id, 0, [decision(id, "approved")]);
    const cases = [
      [statement, keys.linkKey, 4002],
      [{ ...statement, agent: "b".repeat(16) }, keys.signerKey, 4002],
      [{ ...statement, epoch: 1 }, keys.signerKey, 4003],
      [{ ...statement, more: 1 }, keys.signerKey, 4002],
    ] as const;
    for (const [payload, key, code] of cases) {
      const agent = await greeted();
      agent.send("statement", payload, key);
      expect((await agent.closed).code).toBe(code);
    }
    expect(readAgent(db.store, keys.id).headSeq).toBe(0);
  });

  it("plaintext, garbage and oversize end the link", async () => {
    const text = await greeted();
    text.socket.send(JSON.stringify({ hello: 1 }));
    expect((await text.closed).code).toBe(4002);
    const garbage = await greeted();
    garbage.socket.send(Buffer.alloc(200, 7));
    expect((await garbage.closed).code).toBe(4002);
    const large = await greeted();
    large.socket.send(Buffer.alloc(256 * 1024 + 1));
    expect((await large.closed).code).toBe(1009);
    const early = connect();
    await early.next("challenge");
    early.socket.send(Buffer.alloc(5000));
    expect((await early.closed).code).toBe(4001);
  });

  it("more fragments than a frame may have end the link", async () => {
    const agent = await greeted();
    for (let part = 0; part < 40; part += 1) agent.socket.send(Buffer.alloc(1), { fin: false });
    expect([1006, 1008]).toContain((await agent.closed).code);
    expect(hub.online(keys.id)).toBe(false);
  });
});

describe("silence", () => {
  it("beats both ways, and is ended when nothing comes", async () => {
    await stop();
    await start({ beatMs: 30, deadMs: 150 });
    const agent = await greeted();
    nowMs = 2_000_000;
    const first = await agent.next("beat");
    expect(first.head).toBeNull();
    nowMs = 1_000_000;
    expect((await agent.next("beat")).at).toBeGreaterThan(first.at);
    for (let beat = 0; beat < 8; beat += 1) {
      agent.send("beat", { agent: keys.id, head: null, at: 1 }, keys.linkKey);
      await agent.next("beat");
    }
    expect(hub.online(keys.id)).toBe(true);
    expect(await agent.closed).toEqual({ code: 4005, reason: "silent" });
    expect(told).toEqual(["a online", "a offline"]);
  });

  it("ends a connection without hello, and one whose agent was released meanwhile", async () => {
    await stop();
    await start({ helloMs: 50, beatMs: 30 });
    expect((await connect().closed).code).toBe(4005);
    const agent = await greeted();
    db.store.database.run("UPDATE agents SET releasedAt = 5");
    expect((await agent.closed).code).toBe(4001);
  });
});

describe("upgrade", () => {
  const upgradeStatus = (path: string, headers: Record<string, string> = {}): Promise<number> =>
    new Promise((done) => {
      const asked = request({ port, path, headers: { connection: "Upgrade", upgrade: "websocket", ...headers } });
      asked.on("response", (response) => {
        response.resume();
        done(response.statusCode ?? 0);
      });
      asked.end();
    });

  it("takes no other path and no long header", async () => {
    expect(await upgradeStatus("/api/v1/transactions")).toBe(404);
    expect(await upgradeStatus(linkPath, { "x-long": "x".repeat(9000) })).toBe(431);
  });

  it("takes twenty connections of one address", async () => {
    const agents = Array.from({ length: 20 }, () => connect());
    for (const agent of agents) await agent.next("challenge");
    expect(await upgradeStatus(linkPath)).toBe(429);
    agents[0]!.socket.terminate();
    await agents[0]!.closed;
    await new Promise((done) => setTimeout(done, 20));
    await connect().next("challenge");
  });

  it("believes only trusted proxies about the address", () => {
    const read = addressReader(["10.0.0.0/8", "127.0.0.1"]);
    const from = (remoteAddress: string, forwarded?: string): string =>
      read({ socket: { remoteAddress }, headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded } } as never);
    expect(from("8.8.8.8", "1.1.1.1")).toBe("8.8.8.8");
    expect(from("::ffff:127.0.0.1", "6.6.6.6, 1.1.1.1")).toBe("1.1.1.1");
    expect(from("10.1.2.3", "6.6.6.6, 1.1.1.1, 10.0.0.9")).toBe("1.1.1.1");
    expect(from("127.0.0.1", "nonsense")).toBe("127.0.0.1");
    expect(from("127.0.0.1")).toBe("127.0.0.1");
  });
});

describe("effect of an entry", () => {
  const row = (change: Partial<TransactionRow> = {}): TransactionRow =>
    insertTransaction(db.store, {
      id: "5".repeat(32),
      orderId: "o",
      operation: "withdraw",
      mode: "manual",
      stage: "awaiting_approval",
      ...change,
    });
  const around = (change: Partial<Around>): Around => ({
    agent: { id: keys.id, hotAddress: keys.hotAddress },
    row: null,
    jobAgent: keys.id,
    isSigned: false,
    token: null,
    known: null,
    tokenOwner: null,
    hashOwner: null,
    ...change,
  });
  const entry = (body: EntryBody): never => ({ ...body, seq: 1, at: 1 }) as never;

  it("gives a manual withdrawal the address the operator approved", () => {
    const effect = effectOf(entry(decision("5".repeat(32), "approved")), around({ row: row() }));
    expect(effect).toEqual({ kind: "answer", change: { stage: "queued", code: "", receiverAddress: receiver } });
  });

  it("is a contradiction when decided for another address, unsigned without one, or asked of another agent", () => {
    const other = row({ receiverAddress: keys.hotAddress });
    expect(effectOf(entry(decision(other.id, "approved")), around({ row: other })).kind).toBe("contradiction");
    expect(effectOf(entry(decision(other.id, "approved")), around({ row: { ...other, receiverAddress: receiver } })).kind).toBe(
      "answer",
    );
    expect(effectOf(entry(signed(other.id, "1")), around({ row: { ...other, receiverAddress: "" } })).kind).toBe("contradiction");
    expect(effectOf(entry(signed(other.id, "1")), around({ row: other })).kind).toBe("sign");
    expect(effectOf(entry(signed(other.id, "1")), around({ row: other, jobAgent: "b".repeat(16) })).kind).toBe("contradiction");
    expect(effectOf(entry(signed(other.id, "1")), around({ row: other, hashOwner: "x" })).kind).toBe("contradiction");
  });

  it("never moves a stage back and never believes an agent that a payment is final", () => {
    const confirming = row({ stage: "confirming", receiverAddress: receiver });
    const known = { version: 1, token: "1", txHash: "0x" } as SignatureRow;
    const beside = around({ row: confirming, isSigned: true, token: "1", known, tokenOwner: confirming.id });
    expect(effectOf(entry(decision(confirming.id, "approved")), beside)).toEqual({ kind: "answer", change: {} });
    expect(effectOf(entry(observed(confirming.id, "broadcast")), beside).kind).toBe("none");
    expect(effectOf(entry(observed(confirming.id, "final")), beside).kind).toBe("none");
    expect(effectOf(entry(decision(confirming.id, "refused")), beside).kind).toBe("contradiction");
  });
});
