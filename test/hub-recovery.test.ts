/** The gateway's half of a recovery: the epoch that ends the old one, the order, the ledger that takes its place, what is learnt. */
import { describe, expect, it } from "vitest";
import { jobHashAt } from "../gateway/recovery/order.ts";
import { beginRecovery } from "../gateway/recovery/recovery.ts";
import type { RecoveryRow } from "../gateway/store/rows.ts";
import { jobHashOf, transactionIdOf, zeroHash } from "../protocol/identity.ts";
import type { AskedEntry, RecoveredEntry } from "../protocol/messages.ts";
import { parseJob } from "../protocol/payloads.ts";
import { askWithdrawal, readAgent, readTransaction, receiver } from "./support/gateway-database.ts";
import { audit, connect, db, decision, eachTestItsHub, greeted, keys, observed, signed } from "./support/hub-server.ts";
import { type EntryBody, headAt, type LinkAgent, statementOf } from "./support/link-agent.ts";

eachTestItsHub();

const order = "0a".repeat(32);

function begin(above = 0): void {
  db.store.write((database) => beginRecovery(database, readAgent(db.store, keys.id), above, 7_000));
}

/** By the newest order that the database gave, but for `change`. */
function recoveredBy(sequence: number, change: Partial<RecoveredEntry> = {}): EntryBody {
  const { database } = db.store;
  const row = database.get<RecoveryRow>("SELECT * FROM recoveries ORDER BY epoch DESC");
  const held = row === undefined || row.heldSeq === 0 ? null : { seq: row.heldSeq, hash: row.heldHash };
  const jobHash = jobHashAt(database, readAgent(db.store, keys.id), sequence);
  return { kind: "recovered", order, held, sequence, jobHash, ...change };
}

/** The agent with its old epoch, and the parts it is offered. */
async function offered(): Promise<{ agent: LinkAgent; part: Awaited<ReturnType<LinkAgent["next"]>> }> {
  const agent = connect();
  await agent.hello();
  return { agent, part: await agent.next("recovery") };
}

async function renewed(): Promise<LinkAgent> {
  const agent = connect();
  await agent.hello({ epoch: 3 });
  return agent;
}

describe("the order", () => {
  it("of a size that no connection takes at once comes whole to one that reads slowly", async () => {
    for (let number = 1; number <= 9_000; number++) askWithdrawal(db.store, keys.id, number);
    begin();
    const agent = connect();
    await agent.hello();
    agent.socket.pause();
    await new Promise((resolve) => setTimeout(resolve, 500));
    agent.socket.resume();
    const first = await agent.next("recovery");
    expect(first.parts).toBeGreaterThan(100);
    let withdrawals = first.withdrawals.length;
    for (let part = 2; part <= first.parts; part++) withdrawals += (await agent.next("recovery")).withdrawals.length;
    expect(withdrawals).toBe(9_000);
  });

  it("goes to the old epoch in place of a welcome, and says all that is open with its token and versions", async () => {
    const first = askWithdrawal(db.store, keys.id, 1);
    const second = askWithdrawal(db.store, keys.id, 2);
    const third = askWithdrawal(db.store, keys.id, 3);
    const agent = await greeted();
    const bodies = [decision(first, "approved"), signed(first, "7"), decision(second, "refused"), decision(third, "approved")];
    agent.state(statementOf(keys.id, 0, bodies));
    await agent.next("ack");
    begin();
    const { part } = await offered();
    expect(part).toMatchObject({ agent: keys.id, epoch: 3, answers: "07".repeat(32), part: 1, parts: 1, held: headAt(4) });
    const { accounts, jobs, withdrawals } = part as never as Record<string, never[]>;
    expect(accounts).toEqual([{ network: "eip155:31337", account: keys.hotAddress, next: "8" }]);
    expect(jobs).toEqual({ sequence: 3, hash: readAgent(db.store, keys.id).jobHash });
    const [one, two] = withdrawals as unknown as { job: string; token: string; versions: object[] }[];
    expect(withdrawals).toHaveLength(2);
    expect(one).toMatchObject({ token: "7", account: keys.hotAddress, versions: [{ feeMax: "21000" }] });
    expect(parseJob(one!.job).transactionId).toBe(first);
    expect(two).toMatchObject({ token: "", account: "", versions: [] });
  });

  it("counts tokens as numbers", async () => {
    const ids = [1, 2, 3].map((number) => askWithdrawal(db.store, keys.id, number));
    const agent = await greeted();
    agent.state(
      statementOf(
        keys.id,
        0,
        ["10", "11", "9"].map((token, i) => signed(ids[i]!, token)),
      ),
    );
    await agent.next("ack");
    begin();
    expect((await offered()).part).toMatchObject({ accounts: [{ next: "12" }] });
  });

  it("has the same name for the same run as long as nothing changes, and another when something did", async () => {
    askWithdrawal(db.store, keys.id, 1);
    begin();
    const names = [];
    for (let round = 0; round < 2; round++) names.push(((await offered()).part as { order: string }).order);
    askWithdrawal(db.store, keys.id, 2);
    names.push(((await offered()).part as { order: string }).order);
    expect(names[0]).toBe(names[1]);
    expect(names[2]).not.toBe(names[0]);
  });

  it("is in parts when it is long, accounts and spent in the first", async () => {
    for (let number = 1; number <= 150; number++) askWithdrawal(db.store, keys.id, number);
    begin();
    const { agent, part } = await offered();
    const first = part as never as { parts: number; withdrawals: object[]; order: string };
    expect(first.parts).toBeGreaterThan(1);
    let count = first.withdrawals.length;
    for (let each = 2; each <= first.parts; each++) {
      const next = await agent.next("recovery");
      expect(next).toMatchObject({ part: each, order: first.order, accounts: [], spent: [] });
      count += next.withdrawals.length;
    }
    expect(count).toBe(150);
    expect(Math.max(...agent.frames.map(({ bytes }) => bytes))).toBeLessThan(65_536);
  });

  it("counts what ended within the day, the dearest version of each", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const agent = await greeted();
    agent.state(
      statementOf(keys.id, 0, [signed(id, "7"), { ...signed(id, "7"), version: 2, txHash: `0x${"cd".repeat(32)}` } as never]),
    );
    await agent.next("ack");
    db.store.database.run("UPDATE transactions SET status = 1 WHERE id = ?", id);
    begin();
    const { part } = await offered();
    expect(part).toMatchObject({ spent: [{ currency: "eth", units: "1000000000000000000", feesWei: "21000" }], withdrawals: [] });
  });

  it("is for nobody whose epoch is over without a recovery, nor for the new one", async () => {
    db.store.database.run("UPDATE agents SET epoch = 3 WHERE id = ?", keys.id);
    const late = connect();
    await late.hello();
    expect((await late.closed).code).toBe(4003);
    begin();
    const agent = connect();
    await agent.hello({ epoch: 4 });
    expect(await agent.next("welcome")).toMatchObject({ epoch: 4, echo: null });
  });

  it("of a second beginning replaces the first, above whatever epoch is named, with the same head", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const agent = await greeted();
    agent.state(statementOf(keys.id, 0, [decision(id, "approved")]));
    await agent.next("ack");
    begin();
    begin(9);
    expect((await offered()).part).toMatchObject({ epoch: 10, held: headAt(1) });
  });
});

describe("the old epoch", () => {
  it("is over with the commit: not a statement of it is stored any more, also on a link that is open", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const agent = await greeted();
    begin();
    agent.state(statementOf(keys.id, 0, [decision(id, "approved"), signed(id, "7")]));
    expect((await agent.closed).code).toBe(4003);
    expect(agent.frames.some(({ kind }) => kind === "ack")).toBe(false);
    expect(db.store.database.all("SELECT * FROM signatures")).toEqual([]);
    expect(db.store.database.all("SELECT * FROM tokens")).toEqual([]);
  });
});

describe("the recovered ledger", () => {
  it("takes the old one's place with its first statement, and the old head stays in the tables", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const old = await greeted();
    old.state(statementOf(keys.id, 0, [decision(id, "approved"), signed(id, "7"), observed(id, "broadcast")]));
    await old.next("ack");
    db.store.database.run("UPDATE agents SET lockedCode = 'HUB_LEDGER_FORKED' WHERE id = ?", keys.id);
    begin();
    expect(readAgent(db.store, keys.id)).toMatchObject({ epoch: 3, headSeq: 0, lockedCode: "AGENT_RECOVERING" });
    const agent = await renewed();
    expect(await agent.next("welcome")).toMatchObject({ epoch: 3, echo: null });
    agent.state(statementOf(keys.id, 1, [recoveredBy(1), decision(id, "held")], { epoch: 3, after: 0, previous: zeroHash }));
    expect(await agent.next("ack")).toMatchObject({ epoch: 3, head: headAt(3) });
    expect(readAgent(db.store, keys.id)).toMatchObject({ epoch: 3, headSeq: 3, headHash: headAt(3).hash, lockedCode: "" });
    const acts = audit().map(({ act, detail }) => [act, detail]);
    expect(acts[0]).toEqual(["agent recovery begun", `epoch 3 after 2; head 3 ${headAt(3).hash}; was HUB_LEDGER_FORKED`]);
    expect(acts[1]?.[0]).toBe("agent recovered");
    expect(acts[1]?.[1]).toContain(`head 3 ${headAt(3).hash} gave way to 3`);
    // The hub's checks stand: the same entry again is harmless, another token is not.
    agent.state(statementOf(keys.id, 3, [signed(id, "7")], { epoch: 3 }));
    await agent.next("ack");
    agent.state(statementOf(keys.id, 4, [signed(id, "8")], { epoch: 3 }));
    expect((await agent.closed).code).toBe(4004);
  });

  it("is told from one that goes on as if nothing had been", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    begin();
    const agent = await renewed();
    await agent.next("welcome");
    agent.state(statementOf(keys.id, 0, [decision(id, "approved")], { epoch: 3 }));
    expect((await agent.closed).code).toBe(4009);
    expect(readAgent(db.store, keys.id)).toMatchObject({ headSeq: 0, lockedCode: "AGENT_RECOVERING" });
  });

  it.each<[string, Partial<RecoveredEntry>]>([
    ["held more", { held: headAt(9) }],
    ["held another record there", { held: headAt(1, "other") }],
    ["held nothing", { held: null }],
    ["had another job there", { jobHash: "0b".repeat(32) }],
    ["had more jobs", { sequence: 2, jobHash: "0b".repeat(32) }],
  ])("of an order from before the database was put back, which %s, is refused until the next one", async (_, change) => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const old = await greeted();
    old.state(statementOf(keys.id, 0, [decision(id, "held")]));
    await old.next("ack");
    begin();
    const agent = await renewed();
    agent.state(statementOf(keys.id, 4, [recoveredBy(1, change)], { epoch: 3, after: 0, previous: zeroHash }));
    expect((await agent.closed).code).toBe(4009);
    expect(agent.frames.some(({ kind }) => kind === "ack")).toBe(false);
    expect(readAgent(db.store, keys.id)).toMatchObject({ headSeq: 0, lockedCode: "AGENT_RECOVERING", heard: "behind" });
    expect(audit().at(-1)).toMatchObject({
      act: "alarm HUB_DATABASE_BEHIND",
      detail: expect.stringContaining("by an order that this gateway did not give: order a recovery again"),
    });
    begin();
    const again = await renewed();
    expect(await again.next("recovery")).toMatchObject({ epoch: 4, held: headAt(1) });
  });

  it("that nobody awaits is a contradiction", async () => {
    const agent = await greeted();
    agent.state(statementOf(keys.id, 0, [recoveredBy(0)]));
    expect((await agent.closed).code).toBe(4004);
  });

  it("gets jobs again from the one after the order's, and none before it is taken", async () => {
    askWithdrawal(db.store, keys.id, 1);
    begin();
    askWithdrawal(db.store, keys.id, 2);
    const agent = await renewed();
    await agent.next("welcome");
    agent.state(statementOf(keys.id, 0, [recoveredBy(1)], { epoch: 3 }));
    await agent.next("ack");
    const { jobs } = await agent.next("jobs");
    expect(jobs.map((text) => parseJob(text).sequence)).toEqual([2]);
    expect(agent.frames.map(({ kind }) => kind)).toEqual(["challenge", "welcome", "ack", "jobs"]);
  });
});

describe("what is asked for again between order and yes", () => {
  it("is ordered again when the ledger knows it already, so that its job leaves no gap", async () => {
    begin();
    const id = askWithdrawal(db.store, keys.id, 1);
    const early = await renewed();
    early.state(statementOf(keys.id, 0, [recoveredBy(0), decision(id, "approved"), signed(id, "7")], { epoch: 3 }));
    expect((await early.closed).code).toBe(4009);
    expect(audit().at(-1)).toMatchObject({ detail: expect.stringContaining("order a recovery again") });
    expect(readAgent(db.store, keys.id).headSeq).toBe(0);
    begin();
    const again = connect();
    await again.hello({ epoch: 4 });
    askWithdrawal(db.store, keys.id, 2);
    again.state(statementOf(keys.id, 0, [recoveredBy(1), decision(id, "approved"), signed(id, "7")], { epoch: 4 }));
    await again.next("ack");
    const { jobs } = await again.next("jobs");
    expect(jobs.map((text) => parseJob(text).sequence)).toEqual([2]);
  });
});

describe("what was lost", () => {
  const transactionId = transactionIdOf({ merchant: "m1", operation: "withdraw", orderId: "lost" });
  const asked: Omit<AskedEntry, "seq" | "at"> = {
    ...{ kind: "asked", transactionId, mode: "auto", network: "eip155:31337", orderId: "lost", currency: "eth", amount: "0.5" },
    ...{ address: receiver, tag: "", issuedAt: 3_000, expiresAt: 9_000_000 },
  };
  const currencies = JSON.stringify([{ id: "eth", network: "eip155:31337", contract: "", decimal: 18, maxFee: "0.01" }]);

  async function learning(bodies: readonly EntryBody[]): Promise<LinkAgent> {
    db.store.database.run("UPDATE agents SET currencies = ? WHERE id = ?", currencies, keys.id);
    begin();
    const agent = await renewed();
    agent.state(statementOf(keys.id, 0, [recoveredBy(0), ...bodies], { epoch: 3 }));
    return agent;
  }

  it("comes back by the agent's word, signatures and all, outside of the chain of jobs", async () => {
    const agent = await learning([asked, decision(transactionId, "approved"), signed(transactionId, "7"), asked]);
    await agent.next("ack");
    const row = { amountUnits: "500000000000000000", receiverAddress: receiver, stage: "signed", status: 0, createdAt: 3_000 };
    expect(readTransaction(db.store, transactionId)).toMatchObject(row);
    const [job] = db.store.database.all<{ sequence: number; text: string; hash: string }>("SELECT * FROM jobs");
    expect(job).toMatchObject({ sequence: -1 });
    expect(jobHashOf(job!.text)).toBe(job!.hash);
    expect(parseJob(job!.text)).toMatchObject({ transactionId, previous: zeroHash });
    expect(readAgent(db.store, keys.id).jobSequence).toBe(0);
    // And an order made later names it.
    begin();
    const again = connect();
    await again.hello({ epoch: 3 });
    expect((await again.next("recovery")).withdrawals).toMatchObject([{ token: "7" }]);
  });

  const refused: readonly (readonly [string, Partial<AskedEntry>])[] = [
    ["another order's id", { orderId: "other" }],
    ["a currency that was not paired", { currency: "doge" }],
    ["another network", { network: "eip155:1" }],
    ["an amount the currency has not", { amount: "0.0000000000000000001" }],
    ["an automatic payment to nobody", { address: "" }],
  ];

  it.each(refused)("does not come back as %s", async (_, change) => {
    const agent = await learning([{ ...asked, ...change } as EntryBody]);
    expect((await agent.closed).code).toBe(4004);
    expect(db.store.database.all("SELECT * FROM transactions")).toEqual([]);
  });

  it("does not come back outside of a recovery", async () => {
    db.store.database.run("UPDATE agents SET currencies = ? WHERE id = ?", currencies, keys.id);
    const agent = await greeted();
    agent.state(statementOf(keys.id, 0, [asked]));
    expect((await agent.closed).code).toBe(4009);
  });
});
