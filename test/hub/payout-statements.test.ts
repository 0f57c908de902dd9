/**
 * The SQL of a payout in the hub: few statements, none that SQLite prepares again at each call, and
 * none that looks at each job that the agent ever had. Jobs of one turn leave together.
 */
import { describe, expect, it, vi } from "vitest";
import { isUnanswered } from "../../gateway/store/jobs.ts";
import { listPendingWithSlot } from "../../gateway/store/slots.ts";
import type { Database } from "../../gateway/store/store.ts";
import { isOnPostgres } from "../../lab/kit/fresh-store.ts";
import { askWithdrawal, readTransaction } from "../../lab/kit/gateway-database.ts";
import { statementOf } from "../../lab/kit/link-agent.ts";
import {
  clock,
  db,
  decision,
  eachTestItsHub,
  handshake,
  keys,
  observed,
  signals,
  signed,
  told,
} from "../support/hub-server.ts";

eachTestItsHub();

/** Each statement that `act` gives to the database, in order. */
async function askedBy(act: () => unknown): Promise<readonly string[]> {
  const asked: string[] = [];
  const { database } = db.store;
  const spies = (["run", "get", "all"] as const).map((name) => {
    const real = database[name] as (sql: string, ...values: never[]) => unknown;
    return vi
      .spyOn(database as Record<typeof name, typeof real>, name)
      .mockImplementation((sql, ...values) => {
        asked.push(sql);
        return real(sql, ...values);
      });
  });
  try {
    await act();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  return asked;
}

/**
 * True if SQLite reads all jobs of an agent for the statement. PostgreSQL chooses its way by the
 * number of rows, which is small here.
 */
function walksJobs(database: Database, sql: string): boolean {
  if (isOnPostgres) return false;
  const steps = database.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`);
  return steps.some(({ detail }) => /^SEARCH (?:j|jobs) USING .*\(agent=\?\)$/.test(detail));
}

/** A value that makes SQLite prepare the statement again at each call (statements.ts). */
const preparedAgain = /\bLIMIT \?|\b(?:operation|status) = \?(?! WHERE)/;
const isChange = (sql: string): boolean => /^\s*(?:INSERT|UPDATE|DELETE)/.test(sql);

describe("a payout's statements", () => {
  it("are few, are prepared once, and walk no list of all jobs", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const agent = await handshake();
    const asked = await askedBy(async () => {
      agent.state(statementOf(keys.id, 0, [decision(id, "approved")]));
      await agent.next("ack");
      agent.state(statementOf(keys.id, 1, [signed(id, "0")]));
      await agent.next("ack");
      agent.state(statementOf(keys.id, 2, [observed(id, "broadcast")]));
      await agent.next("ack");
      signals.emit("void", { transactionId: id });
    });
    expect(asked.length).toBeLessThan(45);
    const read = asked.filter((sql) => !isChange(sql));
    expect(read.filter((sql) => preparedAgain.test(sql))).toEqual([]);
    expect(read.filter((sql) => walksJobs(db.store.database, sql))).toEqual([]);
    expect(
      read.some((sql) => sql.includes("FROM recalls")) &&
        read.some((sql) => sql.includes("s.voidAt IS NOT NULL")),
    ).toBe(true);
  });

  it("read all withdrawals of a frame in one statement, and write each once", async () => {
    const ids = [1, 2, 3].map((number) => askWithdrawal(db.store, keys.id, number));
    const agent = await handshake();
    const entries = ids.flatMap((id, at) => [decision(id, "approved"), signed(id, `${at}`)]);
    const asked = await askedBy(async () => {
      agent.state(statementOf(keys.id, 0, entries));
      await agent.next("ack");
    });
    const counted = (start: string) => asked.filter((sql) => sql.startsWith(start)).length;
    expect(counted("SELECT t.id, t.operation")).toBe(1);
    expect(counted("UPDATE transfers") + counted("UPDATE withdrawals")).toBe(ids.length);
    expect(counted("UPDATE jobs")).toBe(ids.length);
    expect(asked.filter((sql) => sql.includes("assignedPayments"))).toHaveLength(1);
    for (const id of ids)
      expect(readTransaction(db.store, id)).toMatchObject({ status: 0, stage: "signed" });
  });

  it("leave a row alone that an answer does not change, and tell that it was answered", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const before = readTransaction(db.store, id);
    const agent = await handshake();
    told.length = 0;
    clock.nowMs += 5_000;
    agent.state(statementOf(keys.id, 0, [decision(id, "approved")]));
    await agent.next("ack");
    expect(readTransaction(db.store, id)).toEqual(before);
    expect(told).toEqual(["decided 1"]);
    expect(isUnanswered(db.store.database, id)).toBe(false);
    agent.state(statementOf(keys.id, 1, [signed(id, "0")]));
    await agent.next("ack");
    expect(readTransaction(db.store, id)).toMatchObject({
      stage: "signed",
      changedAt: clock.nowMs,
    });
    expect(told).toEqual(["decided 1", "changed 1"]);
  });

  it("look up together who is told of the ends of one turn", async () => {
    const ids = [1, 2, 3].map((number) => askWithdrawal(db.store, keys.id, number));
    const agent = await handshake();
    const entries = ids.flatMap((id, at) => [decision(id, "approved"), signed(id, `${at}`)]);
    agent.state(statementOf(keys.id, 0, entries));
    await agent.next("ack");
    db.store.database.run("UPDATE transfers SET status = 1");
    const asked = await askedBy(async () => {
      for (const transactionId of ids) signals.emit("changed", { transactionId });
      expect([...((await agent.next("ack")).ended ?? [])].sort()).toEqual(ids);
    });
    expect(asked.filter((sql) => sql.includes("JOIN slots"))).toHaveLength(1);
  });

  it("are one for the list of jobs that leave, and one for what an acknowledgement names", async () => {
    const agent = await handshake();
    const id = askWithdrawal(db.store, keys.id, 1);
    const asked = await askedBy(async () => {
      signals.emit("job", { agent: keys.id });
      await agent.next("jobs");
      agent.state(statementOf(keys.id, 0, [decision(id, "approved")]));
      await agent.next("ack");
    });
    expect(
      asked.filter((sql) => sql.startsWith("SELECT sequence, text, transactionId FROM jobs")),
    ).toHaveLength(1);
    expect(asked.filter((sql) => /\b(?:recalls|unknownCoins)\b/.test(sql))).toHaveLength(1);
  });

  it.skipIf(isOnPostgres)("would be caught if they walked a list of all jobs", async () => {
    const [sql = ""] = await askedBy(() => listPendingWithSlot(db.store.database, keys.id));
    expect(walksJobs(db.store.database, sql)).toBe(true);
  });

  it("the jobs of one turn leave in one frame", async () => {
    const agent = await handshake();
    for (const number of [1, 2, 3]) {
      askWithdrawal(db.store, keys.id, number);
      signals.emit("job", { agent: keys.id });
    }
    expect((await agent.next("jobs")).jobs).toHaveLength(3);
  });
});
