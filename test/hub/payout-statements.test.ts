/**
 * The SQL of a payout in the hub: few statements, none that SQLite prepares again at each call, and
 * none that looks at each job that the agent ever had. Jobs of one turn leave together.
 */
import { describe, expect, it, vi } from "vitest";
import { listPendingWithSlot } from "../../gateway/store/slots.ts";
import type { Database } from "../../gateway/store/store.ts";
import { askWithdrawal } from "../../lab/kit/gateway-database.ts";
import { statementOf } from "../../lab/kit/link-agent.ts";
import {
  db,
  decision,
  eachTestItsHub,
  handshake,
  keys,
  observed,
  signals,
  signed,
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

/** True if SQLite reads all jobs of an agent for the statement. */
function walksJobs(database: Database, sql: string): boolean {
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
    expect(asked.length).toBeLessThan(75);
    const read = asked.filter((sql) => !isChange(sql));
    expect(read.filter((sql) => preparedAgain.test(sql))).toEqual([]);
    expect(read.filter((sql) => walksJobs(db.store.database, sql))).toEqual([]);
    expect(
      read.some((sql) => sql.includes("FROM recalls")) &&
        read.some((sql) => sql.includes("s.voidAt IS NOT NULL")),
    ).toBe(true);
  });

  it("would be caught if they walked a list of all jobs", async () => {
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
