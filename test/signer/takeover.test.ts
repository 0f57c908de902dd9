/**
 * The time at which another server may take an agent's place: when the running gateway has the word
 * of the agent, because only the agent's signer knows if the database lacks a payment; or without
 * it, and then the next server begins with a recovery.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { describe, expect, it } from "vitest";
import { listAgents, type Operator, recoverAgent, releaseAgent } from "../../gateway/operator/people.ts";
import { keepHeard, keepUnheard } from "../../gateway/recovery/hearing.ts";
import { recoveryOf, takeRecovery } from "../../gateway/recovery/recovery.ts";
import { ownStore, runningOn } from "../../gateway/store/owner.ts";
import { createStore } from "../../gateway/store/store.ts";
import { silentLog } from "../../lab/rig/gateway-database.ts";
import { type Answered, newAgentKeys } from "../../lab/rig/gateway-server.ts";
import { type EntryBody, headAt, statementOf } from "../../lab/rig/link-agent.ts";
import { zeroHash } from "../../protocol/identity.ts";
import type { Statement } from "../../protocol/messages.ts";
import * as link from "../support/hub-server.ts";
import { agentRow, countOf, db, eachTestItsGateway, gateway, heard, ready } from "../support/shop.ts";

const unheard = { ok: false, code: "GATEWAY_AGENT_UNHEARD" };
const released = { ok: true, openWithdrawals: 0 };
const byOrder = { order: "0a".repeat(32), held: null, sequence: 0, jobHash: zeroHash };

describe("an agent counts as heard", () => {
  link.eachTestItsHub();
  type Agent = Awaited<ReturnType<typeof link.greeted>>;
  const fast = { beatMs: 20, deadMs: 5_000 };
  const release = (run: string | null, unheardToo?: "unheard"): object => {
    const by = { store: link.db.store, nowMs: 9_000, run } as Operator;
    return releaseAgent(by, link.keys.id, unheardToo);
  };
  const heardIs = (): string | undefined =>
    link.db.store.database.get<{ heard: string }>("SELECT heard FROM agents WHERE id = ?", link.keys.id)?.heard;
  const beat = (agent: Agent, seq: number): void =>
    agent.send("beat", { agent: link.keys.id, head: headAt(seq), at: 5_000 }, link.keys.linkKey);
  const stands = (seq: number): unknown =>
    link.db.store.database.run("UPDATE agents SET headSeq = ?, headHash = ?", seq, headAt(seq).hash);
  /** The signer's word on a taken greeting, with nothing new in it. */
  const word = (greeted: string, seq = 3): Statement => statementOf(link.keys.id, seq, [], { greeted });
  /** Sends it over the connection that it names, and waits for the answer. */
  const saysSo = async (agent: Agent, seq = 3): Promise<void> => {
    agent.state(word(agent.nonce, seq));
    await agent.next("ack");
  };

  it("an agent counts as heard once its signer says that it took this greeting: not before, not by a gateway that is not there, not in another run", async () => {
    stands(3);
    const agent = await link.greeted();
    expect(release("first run")).toMatchObject(unheard);
    await saysSo(agent);
    expect(heardIs()).toBe("first run");
    expect(release(null)).toMatchObject({ ...unheard, detail: expect.stringContaining("does not run") });
    expect(release("second run")).toMatchObject(unheard);
    expect(release("first run")).toEqual(released);
  });

  it("an agent does not count as heard by messages that its courier can send alone: beats, statements of a signer that took no greeting, or took another", async () => {
    stands(3);
    const first = await link.greeted();
    const agent = await link.greeted();
    for (const seq of [3, 4]) beat(agent, seq);
    for (const greeted of ["", first.nonce, "0".repeat(64)]) {
      agent.state(word(greeted));
      await agent.next("ack");
    }
    agent.state(statementOf(link.keys.id, 3, [{ kind: "alarm", code: "CLOCK_SKEW", locked: false }], { greeted: first.nonce }));
    await agent.next("ack");
    expect(heardIs()).toBe("");
    expect(release("first run")).toMatchObject(unheard);
    await saysSo(agent, 4);
    expect(heardIs()).toBe("first run");
  });

  it("an agent counts as heard also by a statement that says more than that", async () => {
    stands(3);
    const agent = await link.greeted();
    const more: EntryBody = { kind: "alarm", code: "CLOCK_SKEW", locked: false };
    agent.state(statementOf(link.keys.id, 3, [more], { greeted: agent.nonce }));
    await agent.next("ack");
    expect(heardIs()).toBe("first run");
  });

  it("an agent counts as heard in each run again", async () => {
    stands(3);
    await saysSo(await link.greeted());
    await link.stop();
    await link.start(fast, "second run");
    expect(release("second run")).toMatchObject(unheard);
    await saysSo(await link.greeted());
    expect(heardIs()).toBe("second run");
    expect(release("second run")).toEqual(released);
  });

  it("an agent does not count as heard when its ledger stands behind what is held: then both sides may have been restored", async () => {
    stands(4);
    const agent = await link.greeted();
    await saysSo(agent, 3);
    expect(release("first run")).toMatchObject(unheard);
    await saysSo(agent, 4);
    expect(heardIs()).toBe("first run");
    expect(release("first run")).toEqual(released);
  });

  it("an agent does not count as heard when it knows more than the database, even if it did before", async () => {
    stands(3);
    const agent = await link.greeted();
    await saysSo(agent);
    agent.state(statementOf(link.keys.id, 7, [link.decision("0".repeat(32), "approved")], { greeted: agent.nonce }));
    expect((await agent.closed).code).toBe(4009);
    expect(release("first run")).toMatchObject({ ...unheard, detail: expect.stringContaining("HUB_DATABASE_BEHIND") });
    await link.stop();
    await link.start(fast, "second run");
    expect(release("second run")).toMatchObject({ ...unheard, detail: expect.stringContaining("HUB_DATABASE_BEHIND") });
    await saysSo(await link.greeted());
    expect(heardIs()).toBe("second run");
    expect(release("second run")).toEqual(released);
  });

  it("an agent does not count as heard when it was granted an epoch that the database never gave", async () => {
    stands(3);
    await saysSo(await link.greeted());
    const later = link.connect();
    await later.hello({ epoch: 3 });
    expect((await later.closed).code).toBe(4009);
    expect(release("first run")).toMatchObject(unheard);
  });

  it("an agent does not count as heard when its word contradicts the database", async () => {
    const agent = await link.greeted();
    agent.state(statementOf(link.keys.id, 0, [], { greeted: agent.nonce, head: headAt(3) }));
    await agent.next("ack");
    expect(heardIs()).toBe("first run");
    agent.state(statementOf(link.keys.id, 3, [{ kind: "opened", ...byOrder }]));
    expect((await agent.closed).code).toBe(4004);
    expect(release("first run")).toMatchObject(unheard);
  });

  it("an agent does not count as heard while its recovery is awaited", () => {
    const { store } = link.db;
    recoverAgent({ store, nowMs: 9_000 } as Operator, link.keys.id, 0);
    keepHeard(store.database, link.keys.id, "first run");
    expect(heardIs()).toBe("");
    store.database.run("UPDATE recoveries SET takenAt = 9000");
    keepHeard(store.database, link.keys.id, "first run");
    expect(heardIs()).toBe("first run");
  });

  it("an agent does not count as heard once it was given up, whatever comes over a link that is open", async () => {
    stands(3);
    const agent = await link.greeted();
    expect(release("first run", "unheard")).toEqual(released);
    agent.state(word(agent.nonce));
    expect((await agent.closed).code).toBe(4001);
    const { database } = link.db.store;
    keepHeard(database, link.keys.id, "first run");
    keepUnheard(database, link.keys.id, true);
    expect(heardIs()).toBe("given up");
    // After another pairing the gateway waits for the agent's word: a contradiction on the way does
    // not make it an agent that was never given up.
    database.run("UPDATE agents SET releasedAt = NULL");
    keepUnheard(database, link.keys.id, false);
    expect(heardIs()).toBe("given up");
    keepHeard(database, link.keys.id, "first run");
    expect(heardIs()).toBe("first run");
  });
});

describe("a run of the gateway", () => {
  it("a run of the gateway has a name beside its database as long as it owns it, and another one each time", () => {
    const folder = mkdtempSync(join(tmpdir(), "gateway-run-"));
    const path = join(folder, "gateway.db");
    createStore(path, "", silentLog).close();
    try {
      expect(runningOn(path)).toBeNull();
      const first = ownStore(path);
      expect([runningOn(path), runningOn(path)]).toEqual([first.run, first.run]);
      expect(() => ownStore(path)).toThrow(expect.objectContaining({ code: "GATEWAY_STORE_OWNED" }));
      expect(runningOn(path)).toBe(first.run);
      first.release();
      expect(runningOn(path)).toBeNull();
      const second = ownStore(path);
      expect(second.run).not.toBe(first.run);
      expect(runningOn(path)).toBe(second.run);
      second.release();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it.each([
    ["once", 1, true],
    ["again and again", 1_000, false],
  ])(
    "a run of the gateway is the one its lock file names, where another that starts wrote its own name over it %s",
    (_, times, isWon) => {
      const folder = mkdtempSync(join(tmpdir(), "gateway-run-"));
      const path = join(folder, "gateway.db");
      createStore(path, "", silentLog).close();
      // Stands for the other gateway: after this one's name, before its lock.
      const lock = new DatabaseSync(`${path}.lock`);
      lock.exec(`CREATE TABLE run (id TEXT NOT NULL); CREATE TABLE written (at INTEGER);
      CREATE TRIGGER another AFTER INSERT ON run WHEN (SELECT count(*) FROM written) < ${times}
      BEGIN INSERT INTO written VALUES (1); UPDATE run SET id = 'another'; END`);
      lock.close();
      try {
        if (isWon) {
          const { run, release } = ownStore(path);
          expect(runningOn(path)).toBe(run);
          release();
        } else {
          expect(() => ownStore(path)).toThrow(expect.objectContaining({ code: "GATEWAY_STORE_OWNED" }));
        }
        expect(runningOn(path)).toBeNull();
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  );
});

describe("a release unheard", () => {
  eachTestItsGateway();
  const epochOf = (answer: Answered): number => JSON.parse(answer.body.grant).epoch;
  const recovering = (): object => ({ epoch: agentRow().epoch, lockedCode: agentRow().lockedCode });
  const giveUp = (): string => {
    const { id } = agentRow();
    expect(releaseAgent(gateway.operator, id)).toMatchObject(unheard);
    expect(releaseAgent(gateway.operator, id, "unheard")).toMatchObject({ ok: true });
    return id;
  };
  /** The hub's act at the first statement of a recovered ledger. */
  const recovered = (): void => {
    const agent = agentRow();
    gateway.service.store.write((database) => {
      const order = `${recoveryOf(database, agent)?.mark}${byOrder.order}`.slice(0, 64);
      expect(takeRecovery(database, agent, { kind: "opened", ...byOrder, order, seq: 2, at: 1 }, headAt(2), 1)).toBe("");
    });
  };

  it("a release of an unheard agent frees nothing without its flag; with it the next server begins with a recovery", async () => {
    await ready();
    const { id } = agentRow();
    expect(releaseAgent(gateway.operator, id)).toMatchObject(unheard);
    expect((await gateway.pair({}, undefined, newAgentKeys())).body.code).toBe("pairing_taken");
    expect(db().all("SELECT 1 FROM audit WHERE act LIKE 'agent released%'")).toEqual([]);
    expect(releaseAgent(gateway.operator, id, "unheard")).toEqual(released);
    const next = await gateway.pair({}, undefined, newAgentKeys());
    expect([next.status, epochOf(next), recovering()]).toEqual([200, 1, { epoch: 2, lockedCode: "RECOVERY_OFFERED" }]);
    expect(db().get("SELECT actor FROM audit WHERE act = 'agent recovery begun'")).toEqual({ actor: "pairing" });
    expect(db().get("SELECT detail FROM audit WHERE act = 'agent released unheard'")).toMatchObject({
      detail: expect.stringContaining("was not heard since"),
    });
  });

  it("a release without hearing is an ordinary release when the agent was heard", async () => {
    await ready();
    heard();
    expect(releaseAgent(gateway.operator, agentRow().id)).toEqual(released);
    const next = await gateway.pair({}, undefined, newAgentKeys());
    expect([epochOf(next), recovering(), countOf("recoveries")]).toEqual([1, { epoch: 1, lockedCode: "" }, 0]);
  });

  it("a release of an unheard agent gives a pairing request that comes again the very same grant", async () => {
    await ready();
    giveUp();
    const sealed = gateway.sealed({}, undefined, newAgentKeys());
    const granted = await gateway.register(sealed);
    expect((await gateway.register(sealed)).text).toBe(granted.text);
    recoverAgent(gateway.operator, agentRow().id, 0);
    expect((await gateway.register(sealed)).text).toBe(granted.text);
    expect(recovering()).toEqual({ epoch: 3, lockedCode: "RECOVERY_OFFERED" });
  });

  it("a release of an unheard agent is not overtaken by pairing once more; a recovery that was carried out is", async () => {
    await ready();
    giveUp();
    const keys = newAgentKeys();
    await gateway.pair({}, undefined, keys);
    expect(epochOf(await gateway.pair({}, undefined, keys))).toBe(3);
    expect(recovering()).toEqual({ epoch: 4, lockedCode: "RECOVERY_OFFERED" });
    recovered();
    expect(epochOf(await gateway.pair({}, undefined, keys))).toBe(5);
    expect(recovering()).toEqual({ epoch: 5, lockedCode: "" });
  });

  it("a release of an unheard agent counts for every server that pairs, until the agent itself was heard again", async () => {
    await ready();
    const first = giveUp();
    for (const keys of [newAgentKeys(), newAgentKeys()]) {
      await gateway.pair({}, undefined, keys);
      expect(recovering()).toEqual({ epoch: 2, lockedCode: "RECOVERY_OFFERED" });
      recovered();
      heard();
      expect(releaseAgent(gateway.operator, agentRow().id)).toEqual(released);
    }
    const lines = listAgents(gateway.operator).filter(({ unheard: reason }) => reason !== "");
    expect(lines.map(({ agentId }) => agentId)).toEqual([first]);
    await gateway.pair();
    expect(agentRow()).toMatchObject({ id: first, epoch: 3, lockedCode: "RECOVERY_OFFERED" });
    recovered();
    heard();
    expect(releaseAgent(gateway.operator, first)).toEqual(released);
    await gateway.pair({}, undefined, newAgentKeys());
    expect(recovering()).toEqual({ epoch: 1, lockedCode: "" });
  });
});
