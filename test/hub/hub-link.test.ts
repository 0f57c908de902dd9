/**
 * The hub over real WebSockets: who completes the handshake and who is sent away, how jobs go out,
 * bad frames, silence, and the upgrade.
 */
import { once } from "node:events";
import { request } from "node:http";
import { describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { Bug } from "../../base/fault.ts";
import { createClientAddressReader } from "../../gateway/config/client-address.ts";
import { linkLimits } from "../../gateway/hub/link-limits.ts";
import { fillEnvelope } from "../../gateway/hub/outbox.ts";
import { askWithdrawal, askWithdrawals, readAgent } from "../../lab/kit/gateway-database.ts";
import { callLevel } from "../../lab/kit/level-reader.ts";
import { headAt, statementOf } from "../../lab/kit/link-agent.ts";
import { openEnvelope } from "../../protocol/envelope.ts";
import { jobHashOf, zeroHash } from "../../protocol/identity.ts";
import { frameFormNumber, linkPath } from "../../protocol/messages.ts";
import { parseJob } from "../../protocol/payloads.ts";
import type { SightingsQuestion } from "../../protocol/sightings.ts";
import {
  answers,
  audit,
  clock,
  connect,
  db,
  decision,
  eachTestItsHub,
  gateway,
  handshake,
  hub,
  keys,
  port,
  signals,
  signed,
  start,
  stop,
  told,
} from "../support/hub-server.ts";
import { inhabitant } from "../support/tron-network.ts";
import { until } from "../support/until.ts";

eachTestItsHub();

describe("handshake", () => {
  it("the handshake welcomes the paired agent and names what it durably knows", async () => {
    const agent = connect();
    const welcome = await agent.handshake();
    expect(welcome).toMatchObject({
      agent: keys.id,
      ledgerEpoch: 2,
      answers: "07".repeat(32),
      gatewayHead: null,
      at: 1_000_000,
    });
    expect(welcome.jobs).toEqual({ sequence: 0, hash: zeroHash });
    expect(hub.online(keys.id)).toBe(true);
    expect(readAgent(db.store, keys.id).lastSeenAt).toBe(1_000_000);
    expect(told).toEqual(["a online"]);
  });

  it.each([
    ["a wrong key", {}, () => keys.signerKey],
    ["an unknown agent", { agent: "b".repeat(16) }, () => keys.linkKey],
    ["another challenge's answer", { answers: "00".repeat(32) }, () => keys.linkKey],
  ])("the handshake refuses %s", async (_name, change, key) => {
    const agent = connect();
    await agent.hello(change, key());
    expect(await agent.closed).toEqual({ code: 4001, reason: "refused" });
    expect(hub.online(keys.id)).toBe(false);
  });

  it("the handshake refuses an unpaired agent, a lower epoch and one it has locked", async () => {
    const lower = connect();
    await lower.hello({ ledgerEpoch: 1 });
    expect(await lower.closed).toEqual({ code: 4003, reason: "ledgerEpoch" });
    db.store.database.run("UPDATE agents SET lockedCode = 'HUB_SLOT_REUSED'");
    const locked = connect();
    await locked.hello();
    expect((await locked.closed).code).toBe(4004);
    db.store.database.run("UPDATE agents SET lockedCode = '', unpairedAt = 1");
    const released = connect();
    await released.hello();
    expect((await released.closed).code).toBe(4001);
  });

  it("the handshake shows by a higher epoch that the database was restored", async () => {
    const agent = connect();
    await agent.hello({ ledgerEpoch: 3 });
    expect(await agent.closed).toEqual({ code: 4009, reason: "behind" });
    expect(audit()[0]?.detail).toContain(`gateway database is behind agent ${keys.id}`);
  });

  it("the handshake is refused to an agent of an earlier program, with the line to type there and an alarm here", async () => {
    const earlier = connect();
    await earlier.hello({ kinds: undefined as never });
    const { code, reason } = await earlier.closed;
    expect(code).toBe(4010);
    expect(reason).toContain("node autowithdraw.js upgrade");
    expect(Buffer.byteLength(reason)).toBeLessThanOrEqual(120);
    expect(hub.online(keys.id)).toBe(false);
    expect(audit()[0]?.detail).toContain(`agent ${keys.id} runs test`);
    const fewer = connect();
    await fewer.hello({ kinds: frameFormNumber - 1 });
    expect((await fewer.closed).code).toBe(4010);
    await handshake();
    expect(hub.online(keys.id)).toBe(true);
  });

  it("the challenge has no field that an earlier program would refuse, unless the agent dials with its kinds", async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${linkPath}`);
    const [data] = (await once(socket, "message")) as [Buffer];
    const { payload } = openEnvelope(data, {
      kind: "challenge",
      publicKey: gateway.publicKey,
      bytesMax: 4096,
    });
    expect(Object.keys(JSON.parse(Buffer.from(payload).toString()) as object)).toEqual([
      "nonce",
      "at",
    ]);
    socket.terminate();
    expect(await connect().next("challenge")).toMatchObject({ kinds: frameFormNumber });
  });

  it("the handshake does not take a replayed hello on another connection", async () => {
    const first = connect();
    const { nonce } = await first.next("challenge");
    const hello = {
      agent: keys.id,
      ledgerEpoch: 2,
      answers: nonce,
      nonce: "07".repeat(32),
      software: "test",
      kinds: frameFormNumber,
      open: [],
      at: 1,
    };
    first.send("hello", hello, keys.linkKey);
    await first.next("welcome");
    const second = connect();
    await second.next("challenge");
    second.send("hello", hello, keys.linkKey);
    expect((await second.closed).code).toBe(4001);
    expect(hub.online(keys.id)).toBe(true);
  });

  it("the handshake lets a newer connection replace the older and stays online", async () => {
    const older = await handshake();
    const newer = await handshake();
    expect(await older.closed).toEqual({ code: 4000, reason: "replaced" });
    expect(hub.online(keys.id)).toBe(true);
    const id = askWithdrawal(db.store, keys.id, 1);
    newer.state(statementOf(keys.id, 0, [decision(id, "approved")]));
    expect((await newer.next("ack")).head).toEqual(headAt(1));
    expect(told).not.toContain("a offline");
  });
});

describe("a question", () => {
  const coin = {
    network: "bip122:0f9188f13cb7b2c71f2a335e3a4fc328",
    account: "bcrt1q",
    id: `${"a".repeat(64)}:0`,
    units: "5",
  };
  const question = (change: Partial<SightingsQuestion> = {}): SightingsQuestion => ({
    ...{ agent: keys.id, ledgerEpoch: 2, coins: [coin], accounts: [], orders: [], at: 1 },
    ...change,
  });

  it("is answered for the run of the hello, and silence is silence", async () => {
    const asked: SightingsQuestion[] = [];
    answers.question = async (_, one) => {
      asked.push(one);
      return asked.length === 1 ? null : { coins: one.coins, next: [] };
    };
    const agent = await handshake();
    agent.send("question", question(), keys.linkKey);
    await until(() => asked.length === 1);
    clock.nowMs += 1_000;
    agent.send("question", question(), keys.linkKey);
    const about = { agent: keys.id, ledgerEpoch: 2, answers: "07".repeat(32), at: clock.nowMs };
    expect(await agent.next("sightings")).toEqual({
      ...about,
      coins: [coin],
      next: [],
      orders: [],
    });
    expect(agent.frames.filter(({ kind }) => kind === "sightings")).toHaveLength(1);
  });

  it("about withdrawals is answered with those that nothing pays already, and a job is cleared before it is sent", async () => {
    const { network, account } = {
      network: "tron:0x2b6653dc",
      account: inhabitant("a hot wallet").address,
    };
    const accounts = JSON.stringify([
      { family: "tron", purpose: "hot", id: account, firstAddress: account },
    ]);
    const paired = JSON.stringify([{ id: "trx", network, contract: "", decimal: 6, maxFee: "2" }]);
    db.store.database.run(
      "UPDATE agents SET accounts = ?, networks = ?, currencies = ?",
      accounts,
      `["${network}"]`,
      paired,
    );
    const first = askWithdrawal(db.store, keys.id, 2, {
      network,
      currency: "trx",
      payer: account,
    });
    const agent = await handshake();
    agent.state(statementOf(keys.id, 0, [decision(first, "held")], { handshake: agent.nonce }));
    await agent.next("ack");
    await agent.next("jobs");
    const id = askWithdrawal(db.store, keys.id, 1, {
      network,
      currency: "trx",
      payer: account,
    });
    const asks = async (): Promise<void> => {
      clock.nowMs += 1_000;
      agent.send("question", question({ coins: [], orders: [id] }), keys.linkKey);
    };
    callLevel(db.store.database, "first run");
    hub.wake(keys.id);
    await agent.next("jobs");
    const kinds = agent.frames.map(({ kind }) => kind);
    expect(kinds.lastIndexOf("sightings")).toBe(kinds.lastIndexOf("jobs") - 1);
    expect(await agent.next("sightings")).toMatchObject({ coins: [], next: [], orders: [id] });
    await asks();
    expect(await agent.next("sightings")).toMatchObject({ answers: "07".repeat(32), orders: [id] });
  });

  it("that comes too soon is dropped, and one of another agent, epoch or key ends the link", async () => {
    const asked: SightingsQuestion[] = [];
    answers.question = async (_, one) => {
      asked.push(one);
      return null;
    };
    const agent = await handshake();
    for (let count = 0; count < 5; count += 1) agent.send("question", question(), keys.linkKey);
    agent.send("heartbeat", { agent: keys.id, head: null, at: 1 }, keys.linkKey);
    clock.nowMs += 1_000;
    agent.send("question", question({ agent: "bb".repeat(8) }), keys.linkKey);
    expect((await agent.closed).code).toBe(4002);
    expect(asked).toHaveLength(1);
    const other = await handshake();
    clock.nowMs += 1_000;
    other.send("question", question({ ledgerEpoch: 1 }), keys.linkKey);
    expect((await other.closed).code).toBe(4003);
    const third = await handshake();
    third.send("question", question(), keys.signerKey);
    expect((await third.closed).code).toBe(4002);
  });
});

describe("a hello", () => {
  it("tells what the agent runs, and it stays until another handshake says otherwise", async () => {
    expect(readAgent(db.store, keys.id).software).toBe("");
    await handshake();
    expect(readAgent(db.store, keys.id).software).toBe("test");
    db.store.database.run("UPDATE agents SET software = 'autowithdraw/0.0.9'");
    await handshake();
    expect(readAgent(db.store, keys.id).software).toBe("test");
  });
});

describe("jobs", () => {
  it("go out in strict sequence from the first unanswered one, chained, in envelopes the agent takes", async () => {
    askWithdrawals(db.store, keys.id, 300);
    db.store.database.run("UPDATE jobs SET answeredAt = 1 WHERE sequence <= 20");
    const agent = await handshake();
    const texts: string[] = [];
    while (texts.length < 280) texts.push(...(await agent.next("jobs")).jobs);
    expect(texts.map((text) => parseJob(text).sequence)).toEqual(
      Array.from({ length: 280 }, (_, index) => index + 21),
    );
    for (let index = 1; index < texts.length; index += 1) {
      expect(parseJob(texts[index]!).previous).toBe(jobHashOf(texts[index - 1]!));
    }
    const frames = agent.frames.filter((frame) => frame.kind === "jobs");
    expect(frames.length).toBeGreaterThan(1);
    expect(frames[0]!.bytes).toBeGreaterThan(50 * 1024);
  });

  it("that came while the connection was full go out once it has room again", async () => {
    const agent = await handshake();
    let full = 0; // what the next look at the connection finds waiting
    const spy = vi.spyOn(WebSocket.prototype, "bufferedAmount", "get").mockImplementation(() => {
      const bytes = full;
      full = 0;
      return bytes;
    });
    askWithdrawal(db.store, keys.id, 1);
    hub.wake(keys.id);
    full = linkLimits.fillBytesMax;
    askWithdrawal(db.store, keys.id, 2);
    hub.wake(keys.id);
    expect(full).toBe(0);
    const frames = [await agent.next("jobs"), await agent.next("jobs")];
    spy.mockRestore();
    expect(frames.map(({ jobs }) => jobs.map((text) => parseJob(text).sequence))).toEqual([
      [1],
      [2],
    ]);
  });

  it("carry the newest gateway head and follow a signal or a wake", async () => {
    const agent = await handshake();
    const first = askWithdrawal(db.store, keys.id, 1);
    signals.emit("job", { agent: keys.id });
    expect((await agent.next("jobs")).gatewayHead).toBeNull();
    agent.state(statementOf(keys.id, 0, [decision(first, "approved")]));
    await agent.next("ack");
    askWithdrawal(db.store, keys.id, 2);
    hub.wake(keys.id);
    const jobs = await agent.next("jobs");
    expect(jobs.gatewayHead).toEqual(headAt(1));
    expect(jobs.jobs.map((text) => parseJob(text).sequence)).toEqual([2]);
  });

  it("are sent again on a new connection until they are answered, and on the same one when no answer comes", async () => {
    await stop();
    await start({ heartbeatMs: 40, resendMs: 1_000 });
    askWithdrawal(db.store, keys.id, 1);
    const first = await handshake();
    await first.next("jobs");
    clock.nowMs += 2_000;
    expect((await first.next("jobs")).jobs).toHaveLength(1);
    const second = await handshake();
    expect((await second.next("jobs")).jobs).toHaveLength(1);
  });

  it("that an agent could not read are never chained", () => {
    for (const change of [{ amount: "1.0" }, { orderId: "with space" }, { receiver: "" }]) {
      expect(() => askWithdrawal(db.store, keys.id, 1, change), JSON.stringify(change)).toThrow(
        Bug,
      );
    }
    expect(readAgent(db.store, keys.id).jobSequence).toBe(0);
    askWithdrawal(db.store, keys.id, 1);
    expect(readAgent(db.store, keys.id).jobSequence).toBe(1);
  });

  it("fill an envelope but never leave it empty", () => {
    const jobs = Array.from({ length: 100 }, (_, index) => ({
      sequence: index + 1,
      text: `"${"x".repeat(998)}`,
      transactionId: "",
    }));
    expect(fillEnvelope(jobs, 12_400)).toHaveLength(10);
    expect(fillEnvelope(jobs, 10)).toHaveLength(1);
    expect(fillEnvelope([])).toHaveLength(0);
  });
});

describe("bad frames", () => {
  it("a statement under the link key, of another agent or epoch, ends the link and stores nothing", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const statement = statementOf(keys.id, 0, [decision(id, "approved")]);
    const cases = [
      [statement, keys.linkKey, 4002],
      [{ ...statement, agent: "b".repeat(16) }, keys.signerKey, 4002],
      [{ ...statement, ledgerEpoch: 1 }, keys.signerKey, 4003],
      [{ ...statement, more: 1 }, keys.signerKey, 4002],
    ] as const;
    for (const [payload, key, code] of cases) {
      const agent = await handshake();
      agent.send("statement", payload, key);
      expect((await agent.closed).code).toBe(code);
    }
    expect(readAgent(db.store, keys.id).headSeq).toBe(0);
  });

  it("plaintext, garbage and oversize end the link", async () => {
    const text = await handshake();
    text.socket.send(JSON.stringify({ hello: 1 }));
    expect((await text.closed).code).toBe(4002);
    const garbage = await handshake();
    garbage.socket.send(Buffer.alloc(200, 7));
    expect((await garbage.closed).code).toBe(4002);
    const large = await handshake();
    large.socket.send(Buffer.alloc(256 * 1024 + 1));
    expect((await large.closed).code).toBe(1009);
    const early = connect();
    await early.next("challenge");
    early.socket.send(Buffer.alloc(5000));
    expect((await early.closed).code).toBe(4001);
  });

  it("more fragments than a frame may have end the link", async () => {
    const agent = await handshake();
    for (let part = 0; part < 40; part += 1) agent.socket.send(Buffer.alloc(1), { fin: false });
    expect([1006, 1008]).toContain((await agent.closed).code);
    expect(hub.online(keys.id)).toBe(false);
  });
});

describe("silence", () => {
  it("a silent link sends heartbeats both ways, and is ended when nothing comes", async () => {
    await stop();
    await start({ heartbeatMs: 30, deadMs: 150 });
    const agent = await handshake();
    clock.nowMs = 2_000_000;
    const first = await agent.next("heartbeat");
    expect(first.head).toBeNull();
    clock.nowMs = 1_000_000;
    expect((await agent.next("heartbeat")).at).toBeGreaterThan(first.at);
    for (let heartbeat = 0; heartbeat < 8; heartbeat += 1) {
      agent.send("heartbeat", { agent: keys.id, head: null, at: 1 }, keys.linkKey);
      await agent.next("heartbeat");
    }
    expect(hub.online(keys.id)).toBe(true);
    expect(await agent.closed).toEqual({ code: 4005, reason: "silent" });
    expect(told).toEqual(["a online", "a offline"]);
  });

  it("a silent link ends a connection without hello, and one whose agent was released meanwhile", async () => {
    await stop();
    await start({ helloMs: 50, heartbeatMs: 30 });
    expect((await connect().closed).code).toBe(4005);
    const agent = await handshake();
    db.store.database.run("UPDATE agents SET unpairedAt = 5");
    expect((await agent.closed).code).toBe(4001);
  });
});

describe("an unpaired agent", () => {
  const release = (): unknown => db.store.database.run("UPDATE agents SET unpairedAt = 5");
  const kinds = (agent: Awaited<ReturnType<typeof handshake>>): string[] =>
    agent.frames.map(({ kind }) => kind);

  it("does not count any more from the commit on, also on a link that is open", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const agent = await handshake();
    await agent.next("jobs");
    release();
    agent.state(statementOf(keys.id, 0, [decision(id, "approved"), signed(id, "7")]));
    expect((await agent.closed).code).toBe(4001);
    expect(kinds(agent)).toEqual(["challenge", "welcome", "jobs"]);
    expect(db.store.database.all("SELECT * FROM signatures")).toEqual([]);
    expect(readAgent(db.store, keys.id).headSeq).toBe(0);
  });

  it("gets no acknowledgement of what was stored just before", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const agent = await handshake();
    const { store } = db;
    // Stands for the operator's process: its commit comes right after the hub's.
    const write = store.writeIfOk;
    store.writeIfOk = (fn) => {
      const done = write(fn);
      if (store.database.get("SELECT 1 FROM signatures") !== undefined) release();
      return done;
    };
    agent.state(statementOf(keys.id, 0, [decision(id, "approved"), signed(id, "7")]));
    expect((await agent.closed).code).toBe(4001);
    expect(kinds(agent)).not.toContain("ack");
    expect(store.database.all("SELECT slot FROM slots")).toEqual([{ slot: "7" }]);
  });

  it("gets no job", async () => {
    const agent = await handshake();
    askWithdrawal(db.store, keys.id, 1);
    release();
    hub.wake(keys.id);
    expect((await agent.closed).code).toBe(4001);
    expect(kinds(agent)).toEqual(["challenge", "welcome"]);
  });
});

describe("upgrade", () => {
  const upgradeStatus = (path: string, headers: Record<string, string> = {}): Promise<number> =>
    new Promise((done) => {
      const asked = request({
        port,
        path,
        headers: { connection: "Upgrade", upgrade: "websocket", ...headers },
      });
      asked.on("response", (response) => {
        response.resume();
        done(response.statusCode ?? 0);
      });
      asked.end();
    });

  it("the upgrade to the agents' link takes no other path and no long header", async () => {
    expect(await upgradeStatus("/api/v1/transactions")).toBe(404);
    expect(await upgradeStatus(linkPath, { "x-long": "x".repeat(9000) })).toBe(431);
  });

  it("the upgrade to the agents' link takes the address only from trusted proxies", () => {
    const read = createClientAddressReader(["10.0.0.0/8", "127.0.0.1"]);
    const from = (remoteAddress: string, forwarded?: string): string =>
      read({
        socket: { remoteAddress },
        headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded },
      } as never).address;
    expect(from("8.8.8.8", "1.1.1.1")).toBe("8.8.8.8");
    expect(from("::ffff:127.0.0.1", "6.6.6.6, 1.1.1.1")).toBe("1.1.1.1");
    expect(from("10.1.2.3", "6.6.6.6, 1.1.1.1, 10.0.0.9")).toBe("1.1.1.1");
    expect(from("127.0.0.1", "nonsense")).toBe("127.0.0.1");
    expect(from("127.0.0.1")).toBe("127.0.0.1");
  });
});
