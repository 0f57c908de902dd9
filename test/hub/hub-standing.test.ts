/**
 * The check that an agent's ledger is the acknowledged one: the events that mark the agent at its
 * gateway, and those that take the mark away.
 */
import { describe, expect, it } from "vitest";
import { keepStanding, standingOfOverlap } from "../../gateway/hub/standing.ts";
import { readAgent } from "../../lab/kit/gateway-database.ts";
import { type EntryBody, headAt, statementOf } from "../../lab/kit/link-agent.ts";
import { audit, db, eachTestItsHub, handshake, keys } from "../support/hub-server.ts";

eachTestItsHub();

describe("a ledger", () => {
  it("behind the acknowledged record marks the agent, until its signer shows that it stands level again", async () => {
    const agent = await handshake();
    const filler = Array.from(
      { length: 5 },
      (): EntryBody => ({ kind: "alarm", code: "CHAIN_SLOT_AHEAD", locked: false }),
    );
    agent.state(statementOf(keys.id, 0, filler));
    await agent.next("ack");
    agent.state(statementOf(keys.id, 0, filler.slice(0, 2))); // an old one sent again says nothing
    await agent.next("ack");
    expect(readAgent(db.store, keys.id).lockedCode).toBe("");
    agent.state(
      statementOf(keys.id, 2, [{ kind: "alarm", code: "LEDGER_BEHIND_GATEWAY", locked: true }]),
    );
    expect((await agent.next("ack")).head).toEqual(headAt(5));
    expect(readAgent(db.store, keys.id)).toMatchObject({ lockedCode: "AGENT_BEHIND", headSeq: 5 });
    agent.state(statementOf(keys.id, 5, filler.slice(0, 1)));
    await agent.next("ack");
    expect(readAgent(db.store, keys.id).lockedCode).toBe("");
    const heartbeat = (seq: number, branch = "") =>
      agent.send(
        "heartbeat",
        { agent: keys.id, head: headAt(seq, branch), at: 5_000 + seq },
        keys.linkKey,
      );
    const repeat = (handshake: string) => agent.state(statementOf(keys.id, 6, [], { handshake }));
    // answered after what came before it
    const old = () => agent.state(statementOf(keys.id, 0, filler.slice(0, 1)));
    for (const [say, marked] of [
      [() => [heartbeat(6), old()], ""],
      [() => [heartbeat(7), old()], ""],
      [() => [heartbeat(3), old()], "AGENT_BEHIND"],
      [() => [heartbeat(3), old()], "AGENT_BEHIND"],
      [() => [heartbeat(7), old()], "AGENT_BEHIND"],
      [() => [heartbeat(6), old()], "AGENT_BEHIND"], // a courier knows what the welcome said
      [() => repeat("0".repeat(64)), "AGENT_BEHIND"],
      [() => repeat(agent.nonce), ""],
      [() => [heartbeat(6, "another"), old()], "AGENT_BEHIND"],
    ] as const) {
      say();
      await agent.next("ack");
      expect(readAgent(db.store, keys.id).lockedCode).toBe(marked);
    }
    expect(audit().map((row) => row.act)).toEqual(["alarm CHAIN_SLOT_AHEAD", "alarm AGENT_BEHIND"]);
  });

  it("that repeats what the welcome named and goes on marks the agent as well, as often as it comes", async () => {
    const filler = (count: number): EntryBody[] =>
      Array.from({ length: count }, () => ({
        kind: "alarm",
        code: "CHAIN_SLOT_AHEAD",
        locked: false,
      }));
    const first = await handshake();
    first.state(statementOf(keys.id, 0, filler(5)));
    await first.next("ack");
    for (const lock of ["CHAIN_SLOT_AHEAD", "LEDGER_FORKED"]) {
      const agent = await handshake();
      agent.state(
        statementOf(keys.id, 2, [
          ...filler(3),
          { kind: "alarm", code: lock, locked: lock !== "CHAIN_SLOT_AHEAD" },
        ]),
      );
      expect(await agent.closed).toEqual({ code: 4006, reason: "busy" });
      expect(readAgent(db.store, keys.id)).toMatchObject({
        lockedCode: "AGENT_BEHIND",
        headSeq: 5,
      });
    }
    expect(audit().map((row) => row.act)).toEqual(["alarm CHAIN_SLOT_AHEAD", "alarm AGENT_BEHIND"]);
  });

  it("of before takes no lock away that the newest one told of in the same moment", async () => {
    const agent = await handshake();
    const alarm = (code: string, locked: boolean): EntryBody => ({ kind: "alarm", code, locked });
    agent.state(
      statementOf(keys.id, 0, [alarm("CHAIN_SLOT_AHEAD", false), alarm("CHAIN_SLOT_AHEAD", false)]),
    );
    await agent.next("ack");
    agent.state(statementOf(keys.id, 2, [alarm("CHAIN_SLOT_FOREIGN", true)]));
    agent.state(statementOf(keys.id, 0, [alarm("LEDGER_BEHIND_GATEWAY", true)]));
    expect((await agent.next("ack")).head).toEqual(headAt(3));
    expect(readAgent(db.store, keys.id).lockedCode).toBe("CHAIN_SLOT_FOREIGN");
    expect(audit().map((row) => row.act)).toEqual([
      "alarm CHAIN_SLOT_AHEAD",
      "alarm CHAIN_SLOT_FOREIGN",
    ]);
  });

  it("that repeats is another one only where it begins before what its connection's welcome named and ends behind it", () => {
    const filler = Array.from(
      { length: 4 },
      (): EntryBody => ({ kind: "alarm", code: "CHAIN_SLOT_AHEAD", locked: false }),
    );
    const says = (toldSeq: number, after: number) =>
      standingOfOverlap(toldSeq, statementOf(keys.id, after, filler));
    expect([says(5, 4), says(4, 4), says(8, 4), says(9, 4)]).toEqual(["behind", null, null, null]);
  });
});

describe("the mark", () => {
  it("of a ledger that lies behind replaces no lock, and takes none away, that came after the agent was read", () => {
    const lockedAs = (lockedCode: string): void =>
      void db.store.write((database) =>
        database.run("UPDATE agents SET lockedCode = ?", lockedCode),
      );
    for (const [before, standing, alone] of [
      ["", "behind", "AGENT_BEHIND"],
      ["AGENT_BEHIND", "level", ""],
    ] as const) {
      lockedAs(before);
      const read = readAgent(db.store, keys.id);
      lockedAs("CHAIN_SLOT_FOREIGN");
      expect(db.store.write((database) => keepStanding(database, read, standing, 1))).toBeNull();
      expect(readAgent(db.store, keys.id).lockedCode).toBe("CHAIN_SLOT_FOREIGN");
      expect(audit()).toEqual([]);
      lockedAs(before);
      expect(db.store.write((database) => keepStanding(database, read, standing, 1))).toBe(
        standing,
      );
      expect(readAgent(db.store, keys.id).lockedCode).toBe(alone);
      db.store.write((database) => {
        database.run("DELETE FROM openAlarms");
        database.run("DELETE FROM audit");
      });
    }
  });
});
