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
import {
  listAgents,
  type OperatorContext,
  recoverAgent,
  unpairAgent,
} from "../../gateway/operator/accounts.ts";
import { keepCaughtUp, keepNotCaughtUp } from "../../gateway/recovery/catch-up.ts";
import { acceptRecoveredLedger, recoveryOf } from "../../gateway/recovery/recovery.ts";
import { owningRun, ownStore } from "../../gateway/store/owner.ts";
import { createStore } from "../../gateway/store/store.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";
import { type GatewayAnswer, newAgentKeys } from "../../lab/kit/gateway-server.ts";
import { type EntryBody, headAt, statementOf } from "../../lab/kit/link-agent.ts";
import { zeroHash } from "../../protocol/identity.ts";
import type { Statement } from "../../protocol/messages.ts";
import * as link from "../support/hub-server.ts";
import {
  agentRow,
  caughtUp,
  countOf,
  db,
  eachTestItsGateway,
  gateway,
  ready,
} from "../support/shop.ts";

const notCaughtUp = { ok: false, code: "GATEWAY_AGENT_NOT_CAUGHT_UP" };
const released = { ok: true, openWithdrawals: 0 };
const byOrder = { order: "0a".repeat(32), held: null, sequence: 0, jobHash: zeroHash };

describe("an agent counts as caught up", () => {
  link.eachTestItsHub();
  type Agent = Awaited<ReturnType<typeof link.handshake>>;
  const fast = { heartbeatMs: 20, deadMs: 5_000 };
  const release = (run: string | null, notCaughtUpToo?: "notCaughtUp"): object => {
    const by = { store: link.db.store, nowMs: 9_000, run, actor: "operator" } as OperatorContext;
    return unpairAgent(by, link.keys.id, notCaughtUpToo);
  };
  const caughtUpIs = (): string | undefined =>
    link.db.store.database.get<{ caughtUp: string }>(
      "SELECT caughtUp FROM agents WHERE id = ?",
      link.keys.id,
    )?.caughtUp;
  const heartbeat = (agent: Agent, seq: number): void =>
    agent.send(
      "heartbeat",
      { agent: link.keys.id, head: headAt(seq), at: 5_000 },
      link.keys.linkKey,
    );
  const stands = (seq: number): unknown =>
    link.db.store.database.run(
      "UPDATE agents SET headSeq = ?, headHash = ?",
      seq,
      headAt(seq).hash,
    );
  /** The signer's word on a taken handshake, with nothing new in it. */
  const word = (handshake: string, seq = 3): Statement =>
    statementOf(link.keys.id, seq, [], { handshake });
  /** Sends it over the connection that it names, and waits for the answer. */
  const saysSo = async (agent: Agent, seq = 3): Promise<void> => {
    agent.state(word(agent.nonce, seq));
    await agent.next("ack");
  };

  it("once its signer says that it took this handshake: not before, not by a gateway that is not there, not in another run", async () => {
    stands(3);
    const agent = await link.handshake();
    expect(release("first run")).toMatchObject(notCaughtUp);
    await saysSo(agent);
    expect(caughtUpIs()).toBe("first run");
    expect(release(null)).toMatchObject({
      ...notCaughtUp,
      detail: expect.stringContaining("does not run"),
    });
    expect(release("second run")).toMatchObject(notCaughtUp);
    expect(release("first run")).toEqual(released);
  });

  it("an agent does not count as caught up by messages that its courier can send alone: heartbeats, statements of a signer that took no handshake, or took another", async () => {
    stands(3);
    const first = await link.handshake();
    const agent = await link.handshake();
    for (const seq of [3, 4]) heartbeat(agent, seq);
    for (const handshake of ["", first.nonce, "0".repeat(64)]) {
      agent.state(word(handshake));
      await agent.next("ack");
    }
    agent.state(
      statementOf(link.keys.id, 3, [{ kind: "alarm", code: "CLOCK_SKEW", locked: false }], {
        handshake: first.nonce,
      }),
    );
    await agent.next("ack");
    expect(caughtUpIs()).toBe("");
    expect(release("first run")).toMatchObject(notCaughtUp);
    await saysSo(agent, 4);
    expect(caughtUpIs()).toBe("first run");
  });

  it("also by a statement that says more than that", async () => {
    stands(3);
    const agent = await link.handshake();
    const more: EntryBody = { kind: "alarm", code: "CLOCK_SKEW", locked: false };
    agent.state(statementOf(link.keys.id, 3, [more], { handshake: agent.nonce }));
    await agent.next("ack");
    expect(caughtUpIs()).toBe("first run");
  });

  it("in each run again", async () => {
    stands(3);
    await saysSo(await link.handshake());
    await link.stop();
    await link.start(fast, "second run");
    expect(release("second run")).toMatchObject(notCaughtUp);
    await saysSo(await link.handshake());
    expect(caughtUpIs()).toBe("second run");
    expect(release("second run")).toEqual(released);
  });

  it("an agent does not count as caught up when its ledger stands behind what is held: then both sides may have been restored", async () => {
    stands(4);
    const agent = await link.handshake();
    await saysSo(agent, 3);
    expect(release("first run")).toMatchObject(notCaughtUp);
    await saysSo(agent, 4);
    expect(caughtUpIs()).toBe("first run");
    expect(release("first run")).toEqual(released);
  });

  it("an agent does not count as caught up when it knows more than the database, even if it did before", async () => {
    stands(3);
    const agent = await link.handshake();
    await saysSo(agent);
    agent.state(
      statementOf(link.keys.id, 7, [link.decision("0".repeat(32), "approved")], {
        handshake: agent.nonce,
      }),
    );
    expect((await agent.closed).code).toBe(4009);
    expect(release("first run")).toMatchObject({
      ...notCaughtUp,
      detail: expect.stringContaining("HUB_DATABASE_BEHIND"),
    });
    await link.stop();
    await link.start(fast, "second run");
    expect(release("second run")).toMatchObject({
      ...notCaughtUp,
      detail: expect.stringContaining("HUB_DATABASE_BEHIND"),
    });
    await saysSo(await link.handshake());
    expect(caughtUpIs()).toBe("second run");
    expect(release("second run")).toEqual(released);
  });

  it("an agent does not count as caught up when it was granted an epoch that the database never gave", async () => {
    stands(3);
    await saysSo(await link.handshake());
    const later = link.connect();
    await later.hello({ ledgerEpoch: 3 });
    expect((await later.closed).code).toBe(4009);
    expect(release("first run")).toMatchObject(notCaughtUp);
  });

  it("an agent does not count as caught up when its word contradicts the database", async () => {
    const agent = await link.handshake();
    agent.state(statementOf(link.keys.id, 0, [], { handshake: agent.nonce, head: headAt(3) }));
    await agent.next("ack");
    expect(caughtUpIs()).toBe("first run");
    agent.state(statementOf(link.keys.id, 3, [{ kind: "recovered", ...byOrder }]));
    expect((await agent.closed).code).toBe(4004);
    expect(release("first run")).toMatchObject(notCaughtUp);
  });

  it("an agent does not count as caught up while its recovery is awaited", () => {
    const { store } = link.db;
    recoverAgent(
      { store, nowMs: 9_000, actor: "operator", run: null } as unknown as OperatorContext,
      link.keys.id,
      0,
    );
    keepCaughtUp(store.database, link.keys.id, "first run");
    expect(caughtUpIs()).toBe("");
    store.database.run("UPDATE recoveries SET takenAt = 9000");
    keepCaughtUp(store.database, link.keys.id, "first run");
    expect(caughtUpIs()).toBe("first run");
  });

  it("an agent does not count as caught up once it was given up, whatever comes over a link that is open", async () => {
    stands(3);
    const agent = await link.handshake();
    expect(release("first run", "notCaughtUp")).toEqual(released);
    agent.state(word(agent.nonce));
    expect((await agent.closed).code).toBe(4001);
    const { database } = link.db.store;
    keepCaughtUp(database, link.keys.id, "first run");
    keepNotCaughtUp(database, link.keys.id, true);
    expect(caughtUpIs()).toBe("given up");
    // After another pairing the gateway waits for the agent's word: a contradiction on the way does
    // not make it an agent that was never given up.
    database.run("UPDATE agents SET unpairedAt = NULL");
    keepNotCaughtUp(database, link.keys.id, false);
    expect(caughtUpIs()).toBe("given up");
    keepCaughtUp(database, link.keys.id, "first run");
    expect(caughtUpIs()).toBe("first run");
  });
});

describe("a run of the gateway", () => {
  it("has a name beside its database as long as it owns it, and another one each time", () => {
    const folder = mkdtempSync(join(tmpdir(), "gateway-run-"));
    const path = join(folder, "gateway.db");
    createStore(path, "", silentLog).close();
    try {
      expect(owningRun(path)).toBeNull();
      const first = ownStore(path);
      expect([owningRun(path), owningRun(path)]).toEqual([first.run, first.run]);
      expect(() => ownStore(path)).toThrow(
        expect.objectContaining({ code: "GATEWAY_STORE_OWNED" }),
      );
      expect(owningRun(path)).toBe(first.run);
      first.release();
      expect(owningRun(path)).toBeNull();
      const second = ownStore(path);
      expect(second.run).not.toBe(first.run);
      expect(owningRun(path)).toBe(second.run);
      second.release();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it.each([
    ["once", 1, true],
    ["again and again", 1_000, false],
  ])(
    "is the one its lock file names, where another that starts wrote its own name over it %s",
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
          expect(owningRun(path)).toBe(run);
          release();
        } else {
          expect(() => ownStore(path)).toThrow(
            expect.objectContaining({ code: "GATEWAY_STORE_OWNED" }),
          );
        }
        expect(owningRun(path)).toBeNull();
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  );
});

describe("a release without catching up", () => {
  eachTestItsGateway();
  const epochOf = (answer: GatewayAnswer): number => JSON.parse(answer.body.grant).ledgerEpoch;
  const recovering = (): object => ({
    ledgerEpoch: agentRow().ledgerEpoch,
    lockedCode: agentRow().lockedCode,
  });
  const giveUp = (): string => {
    const { id } = agentRow();
    expect(unpairAgent(gateway.operator, id)).toMatchObject(notCaughtUp);
    expect(unpairAgent(gateway.operator, id, "notCaughtUp")).toMatchObject({ ok: true });
    return id;
  };
  /** The hub's act at the first statement of a recovered ledger. */
  const recovered = (): void => {
    const agent = agentRow();
    gateway.service.store.write((database) => {
      const order = `${recoveryOf(database, agent)?.mark}${byOrder.order}`.slice(0, 64);
      expect(
        acceptRecoveredLedger(
          database,
          agent,
          { kind: "recovered", ...byOrder, order, seq: 2, at: 1 },
          headAt(2),
          1,
        ),
      ).toBe("");
    });
  };

  it("a release of an agent that has not caught up frees nothing without its flag; with it the next server begins with a recovery", async () => {
    await ready();
    const { id } = agentRow();
    expect(unpairAgent(gateway.operator, id)).toMatchObject(notCaughtUp);
    expect((await gateway.pair({}, undefined, newAgentKeys())).body.code).toBe("pairing_taken");
    expect(db().all("SELECT 1 FROM audit WHERE act LIKE 'agent unpaired%'")).toEqual([]);
    expect(unpairAgent(gateway.operator, id, "notCaughtUp")).toEqual(released);
    const next = await gateway.pair({}, undefined, newAgentKeys());
    expect([next.status, epochOf(next), recovering()]).toEqual([
      200,
      1,
      { ledgerEpoch: 2, lockedCode: "RECOVERY_OFFERED" },
    ]);
    expect(db().get("SELECT actor FROM audit WHERE act = 'agent recovery begun'")).toEqual({
      actor: "pairing",
    });
    expect(
      db().get("SELECT detail FROM audit WHERE act = 'agent unpaired before catching up'"),
    ).toMatchObject({
      detail: expect.stringContaining("has not caught up since"),
    });
  });

  it("is an ordinary release when the agent has caught up", async () => {
    await ready();
    caughtUp();
    expect(unpairAgent(gateway.operator, agentRow().id)).toEqual(released);
    const next = await gateway.pair({}, undefined, newAgentKeys());
    expect([epochOf(next), recovering(), countOf("recoveries")]).toEqual([
      1,
      { ledgerEpoch: 1, lockedCode: "" },
      0,
    ]);
  });

  it("a release of an agent that has not caught up gives a pairing request that comes again the very same grant", async () => {
    await ready();
    giveUp();
    const sealed = gateway.sealed({}, undefined, newAgentKeys());
    const granted = await gateway.register(sealed);
    expect((await gateway.register(sealed)).text).toBe(granted.text);
    recoverAgent(gateway.operator, agentRow().id, 0);
    expect((await gateway.register(sealed)).text).toBe(granted.text);
    expect(recovering()).toEqual({ ledgerEpoch: 3, lockedCode: "RECOVERY_OFFERED" });
  });

  it("a release of an agent that has not caught up is not overtaken by pairing once more; a recovery that was carried out is", async () => {
    await ready();
    giveUp();
    const keys = newAgentKeys();
    await gateway.pair({}, undefined, keys);
    expect(epochOf(await gateway.pair({}, undefined, keys))).toBe(3);
    expect(recovering()).toEqual({ ledgerEpoch: 4, lockedCode: "RECOVERY_OFFERED" });
    recovered();
    expect(epochOf(await gateway.pair({}, undefined, keys))).toBe(5);
    expect(recovering()).toEqual({ ledgerEpoch: 5, lockedCode: "" });
  });

  it("a release of an agent that has not caught up counts for every server that pairs, until the agent itself has caught up again", async () => {
    await ready();
    const first = giveUp();
    for (const keys of [newAgentKeys(), newAgentKeys()]) {
      await gateway.pair({}, undefined, keys);
      expect(recovering()).toEqual({ ledgerEpoch: 2, lockedCode: "RECOVERY_OFFERED" });
      recovered();
      caughtUp();
      expect(unpairAgent(gateway.operator, agentRow().id)).toEqual(released);
    }
    const lines = listAgents(gateway.operator).filter(({ notCaughtUp: reason }) => reason !== "");
    expect(lines.map(({ agentId }) => agentId)).toEqual([first]);
    await gateway.pair();
    expect(agentRow()).toMatchObject({ id: first, ledgerEpoch: 3, lockedCode: "RECOVERY_OFFERED" });
    recovered();
    caughtUp();
    expect(unpairAgent(gateway.operator, first)).toEqual(released);
    await gateway.pair({}, undefined, newAgentKeys());
    expect(recovering()).toEqual({ ledgerEpoch: 1, lockedCode: "" });
  });
});
