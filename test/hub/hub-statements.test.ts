/**
 * The entries of an agent's ledger that the hub takes and those that it refuses, the state that a
 * restart keeps, and the effect of each entry by itself.
 */
import { describe, expect, it } from "vitest";
import { type EntryContext, entryEffectOf } from "../../gateway/hub/effect.ts";
import type { SignatureRow } from "../../gateway/store/rows.ts";
import { isOnPostgres } from "../../lab/kit/fresh-store.ts";
import {
  type AnyTransaction,
  accountsText,
  askWithdrawal,
  insertTransaction,
  pairAgent,
  readAgent,
  readTransaction,
  receiver,
  requestedRecord,
} from "../../lab/kit/gateway-database.ts";
import { type EntryBody, hashAt, headAt, statementOf } from "../../lab/kit/link-agent.ts";
import { parseJob } from "../../protocol/payloads.ts";
import {
  audit,
  connect,
  db,
  decision,
  eachTestItsHub,
  handshake,
  keys,
  observed,
  signed,
  start,
  stop,
  told,
} from "../support/hub-server.ts";

eachTestItsHub();

describe("statements", () => {
  it("move a withdrawal from decision to broadcast and keep its slot and signature", async () => {
    const id = askWithdrawal(db.store, keys.id, 1, { stage: "" });
    const agent = await handshake();
    agent.state(statementOf(keys.id, 0, [decision(id, "held", "POLICY_HELD")]));
    expect(await agent.next("ack")).toMatchObject({
      agent: keys.id,
      ledgerEpoch: 2,
      head: headAt(1),
    });
    expect(readTransaction(db.store, id)).toMatchObject({
      status: 0,
      stage: "awaiting_approval",
      code: "POLICY_HELD",
    });
    agent.state(statementOf(keys.id, 1, [decision(id, "approved"), signed(id, "7")]));
    await agent.next("ack");
    expect(readTransaction(db.store, id)).toMatchObject({ status: 0, stage: "signed", code: "" });
    agent.state(statementOf(keys.id, 3, [observed(id, "broadcast"), observed(id, "final")]));
    await agent.next("ack");
    expect(readTransaction(db.store, id)).toMatchObject({ status: 0, stage: "broadcast" });
    expect(db.store.database.all("SELECT slot, transactionId FROM slots")).toEqual([
      { slot: "7", transactionId: id },
    ]);
    expect(db.store.database.all("SELECT attempt, feeMax, seq FROM signatures")).toEqual([
      { attempt: 1, feeMax: "21000", seq: 3 },
    ]);
    expect(told).toEqual([
      "a online",
      "changed 1",
      "decided 1",
      "changed 1",
      "decided 1",
      "changed 1",
    ]);
  });

  it("fail a refused or expired withdrawal that was never signed", async () => {
    const refused = askWithdrawal(db.store, keys.id, 1);
    const expired = askWithdrawal(db.store, keys.id, 2);
    const agent = await handshake();
    agent.state(
      statementOf(keys.id, 0, [
        decision(refused, "refused", "POLICY_ABOVE_DAY"),
        decision(expired, "expired"),
      ]),
    );
    await agent.next("ack");
    expect(readTransaction(db.store, refused)).toMatchObject({
      status: 2,
      stage: "refused",
      code: "POLICY_ABOVE_DAY",
    });
    expect(readTransaction(db.store, expired)).toMatchObject({ status: 2, stage: "expired" });
    expect(db.store.database.all("SELECT sequence FROM jobs WHERE answeredAt IS NULL")).toEqual([]);
  });

  it("store doubled statements once, and one that overlaps only when it comes again from where the gateway stands", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const agent = await handshake();
    const first = statementOf(keys.id, 0, [decision(id, "approved"), signed(id, "0")]);
    agent.state(first);
    agent.state(first);
    expect((await agent.next("ack")).head).toEqual(headAt(2));
    agent.state(
      statementOf(keys.id, 0, [
        decision(id, "approved"),
        signed(id, "0"),
        observed(id, "broadcast"),
      ]),
    );
    expect(await agent.closed).toEqual({ code: 4006, reason: "busy" });
    expect(readAgent(db.store, keys.id)).toMatchObject({ headSeq: 2, lockedCode: "" });
    const again = connect();
    expect((await again.handshake()).gatewayHead).toEqual(headAt(2));
    again.state(statementOf(keys.id, 2, [observed(id, "broadcast")]));
    expect((await again.next("ack")).head).toEqual(headAt(3));
    again.state(first);
    expect((await again.next("ack")).head).toEqual(headAt(3));
    expect(db.store.database.all("SELECT seq FROM signatures")).toHaveLength(1);
    expect(readTransaction(db.store, id).stage).toBe("broadcast");
  });

  it("of another ledger with the same numbers are not taken", async () => {
    const [one, other] = [askWithdrawal(db.store, keys.id, 1), askWithdrawal(db.store, keys.id, 2)];
    const agent = await handshake();
    agent.state(statementOf(keys.id, 0, [decision(one, "approved"), signed(one, "5")]));
    await agent.next("ack");
    // A copy of the folder has a record 2 of its own: beside it stands another withdrawal's
    // signature.
    agent.state(statementOf(keys.id, 2, [signed(other, "6")], { previous: hashAt(2, "copy") }));
    expect(await agent.closed).toEqual({ code: 4004, reason: "locked" });
    expect(readAgent(db.store, keys.id)).toMatchObject({
      headSeq: 2,
      lockedCode: "HUB_LEDGER_FORKED",
    });
    expect(db.store.database.all("SELECT slot FROM slots")).toEqual([{ slot: "5" }]);
  });

  it("of one tick share one transaction and one acknowledgement", async () => {
    const ids = [1, 2, 3, 4].map((number) => askWithdrawal(db.store, keys.id, number));
    const agent = await handshake();
    let writes = 0;
    const write = db.store.writeIfOk;
    db.store.writeIfOk = (fn) => {
      writes += 1;
      return write(fn);
    };
    for (const [index, id] of ids.entries())
      agent.state(statementOf(keys.id, index, [decision(id, "approved")]));
    expect((await agent.next("ack")).head).toEqual(headAt(4));
    expect(writes).toBe(1);
  });

  it("that leave a gap close the link and say lastingly, once, that the database is behind", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    for (let round = 0; round < 2; round += 1) {
      const agent = await handshake();
      agent.state(statementOf(keys.id, 5, [decision(id, "approved")]));
      expect(await agent.closed).toEqual({ code: 4009, reason: "behind" });
      expect(agent.frames.some((frame) => frame.kind === "ack")).toBe(false);
    }
    expect(audit().map((row) => row.act)).toEqual(["alarm HUB_DATABASE_BEHIND"]);
    expect(audit()[0]?.detail).toContain(`gateway database is behind agent ${keys.id}`);
    const agent = await handshake();
    agent.state(statementOf(keys.id, 0, [decision(id, "approved")], { head: headAt(6) }));
    expect((await agent.next("ack")).head).toEqual(headAt(6));
  });

  it("about a transaction the database lost are not acknowledged", async () => {
    const agent = await handshake();
    agent.state(statementOf(keys.id, 0, [decision("f".repeat(32), "approved")]));
    expect((await agent.closed).code).toBe(4009);
    expect(readAgent(db.store, keys.id)).toMatchObject({ headSeq: 0, lockedCode: "" });
  });

  it("of another ledger at the acknowledged place lock the agent", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const agent = await handshake();
    agent.state(statementOf(keys.id, 0, [decision(id, "approved")]));
    await agent.next("ack");
    agent.state(
      statementOf(keys.id, 0, [decision(id, "approved")], { head: headAt(1, "restored") }),
    );
    expect((await agent.closed).code).toBe(4004);
    expect(readAgent(db.store, keys.id).lockedCode).toBe("HUB_LEDGER_FORKED");
  });

  it.each([
    [
      "one slot for two withdrawals",
      "HUB_SLOT_REUSED",
      (first: string, second: string) => [signed(first, "7"), signed(second, "7")],
    ],
    [
      "a second slot for a withdrawal",
      "HUB_SLOT_REUSED",
      (first: string) => [signed(first, "7"), signed(first, "8", { attempt: 2 })],
    ],
    [
      "an attempt signed twice",
      "HUB_CONTRADICTION",
      (first: string) => [
        signed(first, "7"),
        signed(first, "7", { txHash: `0x${"ee".repeat(32)}` }),
      ],
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
      "a twenty-first attempt",
      "HUB_CONTRADICTION",
      (first: string) => [
        signed(first, "7"),
        signed(first, "7", { attempt: 21, txHash: `0x${"ee".repeat(32)}` }),
      ],
    ],
    [
      "another account",
      "HUB_CONTRADICTION",
      (first: string) => [signed(first, "7", { account: receiver })],
    ],
    ["another spelling of a slot", "HUB_CONTRADICTION", (first: string) => [signed(first, "07")]],
  ])(
    "with %s are neither stored nor acknowledged, and lock the agent",
    async (_name, code, bodies) => {
      const first = askWithdrawal(db.store, keys.id, 1);
      const second = askWithdrawal(db.store, keys.id, 2);
      const agent = await handshake();
      agent.state(statementOf(keys.id, 0, bodies(first, second)));
      expect(await agent.closed).toEqual({ code: 4004, reason: "locked" });
      expect(agent.frames.some((frame) => frame.kind === "ack")).toBe(false);
      expect(readAgent(db.store, keys.id)).toMatchObject({ headSeq: 0, lockedCode: code });
      expect(db.store.database.all("SELECT * FROM signatures")).toEqual([]);
      expect(db.store.database.all("SELECT * FROM slots")).toEqual([]);
      expect(audit().map((row) => row.act)).toEqual([`alarm ${code}`]);
    },
  );

  it("of an honest agent are stored though another's contradict in the same tick", async () => {
    const other = pairAgent(db.store, "b");
    const mine = askWithdrawal(db.store, keys.id, 1);
    const theirs = askWithdrawal(db.store, other.id, 2);
    const honest = await handshake();
    const liar = connect(other);
    await liar.handshake();
    liar.state(statementOf(other.id, 0, [decision(mine, "approved")]));
    honest.state(statementOf(keys.id, 0, [decision(mine, "approved")]));
    expect((await honest.next("ack")).head).toEqual(headAt(1));
    expect((await liar.closed).code).toBe(4004);
    expect(readTransaction(db.store, theirs).stage).toBe("queued");
    expect(readAgent(db.store, other.id).lockedCode).toBe("HUB_CONTRADICTION");
  });

  it("accept a fee bump on the same slot, late ones of a finished withdrawal too", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const agent = await handshake();
    agent.state(statementOf(keys.id, 0, [decision(id, "approved"), signed(id, "7")]));
    await agent.next("ack");
    db.store.database.run("UPDATE transfers SET status = 1, stage = 'completed'");
    const bump = (attempt: number): EntryBody =>
      signed(id, "7", { attempt, txHash: `0x${`${attempt}`.padStart(64, "0")}` });
    agent.state(statementOf(keys.id, 2, [bump(2), bump(20)]));
    expect((await agent.next("ack")).head).toEqual(headAt(4));
    expect(readTransaction(db.store, id)).toMatchObject({ status: 1, stage: "completed" });
    expect(db.store.database.all("SELECT attempt FROM signatures ORDER BY attempt")).toEqual(
      [1, 2, 20].map((attempt) => ({ attempt })),
    );
  });

  it("keep an alarm, and the lock when the signer stopped", async () => {
    const agent = await handshake();
    const alarm = (code: string, locked: boolean): EntryBody => ({ kind: "alarm", code, locked });
    agent.state(statementOf(keys.id, 0, [alarm("CHAIN_SLOT_AHEAD", false)]));
    await agent.next("ack");
    expect(readAgent(db.store, keys.id).lockedCode).toBe("");
    agent.state(statementOf(keys.id, 1, [alarm("LEDGER_FORKED", true)]));
    await agent.next("ack");
    expect(readAgent(db.store, keys.id).lockedCode).toBe("LEDGER_FORKED");
    expect(audit().map((row) => row.act)).toEqual([
      "alarm CHAIN_SLOT_AHEAD",
      "alarm LEDGER_FORKED",
    ]);
  });

  it("keep each alarm of an agent once, and codes nobody knows under one name", async () => {
    const agent = await handshake();
    const alarm = (code: string, locked = false): EntryBody => ({ kind: "alarm", code, locked });
    const made = Array.from({ length: 200 }, (_, number) => alarm(`MADE_UP_${number}`));
    agent.state(
      statementOf(keys.id, 0, [alarm("CHAIN_SLOT_AHEAD"), ...made, alarm("CHAIN_SLOT_AHEAD")]),
    );
    expect((await agent.next("ack")).head).toEqual(headAt(202));
    agent.state(
      statementOf(keys.id, 202, [alarm("CHAIN_SLOT_AHEAD"), alarm("MADE_UP_LAST", true)]),
    );
    expect((await agent.next("ack")).head).toEqual(headAt(204));
    expect(audit().map((row) => row.act)).toEqual([
      "alarm CHAIN_SLOT_AHEAD",
      "alarm ALARM_UNKNOWN",
    ]);
    expect(readAgent(db.store, keys.id).lockedCode).toBe("ALARM_UNKNOWN");
  });

  it("that ask for lost transactions one after another leave one alarm", async () => {
    for (const id of ["e", "f"]) {
      const agent = await handshake();
      agent.state(statementOf(keys.id, 0, [decision(id.repeat(32), "approved")]));
      expect((await agent.closed).code).toBe(4009);
    }
    expect(audit().map((row) => row.act)).toEqual(["alarm HUB_DATABASE_BEHIND"]);
  });

  // PostgreSQL chooses its way by the number of rows, which is small here.
  it.skipIf(isOnPostgres)("are looked up by indexes alone", () => {
    const plan = (sql: string): string =>
      db.store.database
        .all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
        .map((row) => row.detail)
        .join();
    for (const sql of [
      "SELECT 1 FROM audit WHERE subject = 'a' AND act = 'b' AND actor = 'c' LIMIT 1",
      "SELECT slot FROM slots WHERE transactionId = 'a'",
      "SELECT * FROM signatures WHERE transactionId = 'a' AND attempt = 1",
    ])
      expect(plan(sql), sql).toMatch(/^SEARCH .* USING (?:COVERING )?INDEX/);
  });

  it("apply an old entry never again, though it comes once more", async () => {
    const agent = await handshake();
    const alarm: EntryBody = { kind: "alarm", code: "LEDGER_FORKED", locked: true };
    agent.state(statementOf(keys.id, 0, [alarm]));
    await agent.next("ack");
    db.store.database.run("UPDATE agents SET lockedCode = ''");
    const adopted: EntryBody = {
      kind: "adopted",
      network: "eip155:31337",
      account: keys.hotWalletAddress,
      slot: "0",
    };
    agent.state(statementOf(keys.id, 0, [alarm]));
    agent.state(statementOf(keys.id, 1, [adopted]));
    expect((await agent.next("ack")).head).toEqual(headAt(2));
    expect(readAgent(db.store, keys.id).lockedCode).toBe("");
  });

  it("survive a restart on the same database", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const before = await handshake();
    before.state(statementOf(keys.id, 0, [decision(id, "approved")]));
    await before.next("ack");
    askWithdrawal(db.store, keys.id, 2);
    await stop();
    await before.closed;
    db.reopen();
    await start();
    const after = connect();
    const welcome = await after.handshake();
    expect(welcome.gatewayHead).toEqual(headAt(1));
    expect(welcome.jobs.sequence).toBe(2);
    expect((await after.next("jobs")).jobs.map((text) => parseJob(text).sequence)).toEqual([2]);
    after.state(statementOf(keys.id, 1, [signed(id, "3")]));
    expect((await after.next("ack")).head).toEqual(headAt(2));
  });
});

describe("effect of an entry", () => {
  const row = (change: Partial<AnyTransaction> = {}) =>
    requestedRecord(
      insertTransaction(db.store, {
        id: "5".repeat(32),
        orderId: "o",
        operation: "withdraw",
        mode: "manual",
        stage: "awaiting_approval",
        ...change,
      }),
    );
  const around = (change: Partial<EntryContext>): EntryContext => ({
    agent: { id: keys.id, accounts: accountsText(keys.hotWalletAddress), nextDepositIndex: 0 },
    row: null,
    pin: "",
    jobAgent: keys.id,
    isSigned: false,
    slot: null,
    known: null,
    slotOwner: null,
    hashOwner: null,
    assigned: null,
    ...{ isVoid: false, isCoinGone: false, isHandshakeDone: true, nowMs: 0 },
    ...change,
  });
  const entry = (body: EntryBody): never => ({ ...body, seq: 1, at: 1 }) as never;

  it("gives a manual withdrawal the address the operator approved", () => {
    const effect = entryEffectOf(
      entry(decision("5".repeat(32), "approved")),
      around({ row: row() }),
    );
    expect(effect).toEqual({
      kind: "answer",
      change: { stage: "queued", code: "", receiver },
    });
  });

  it("is a contradiction when decided for another address, unsigned without one, or asked of another agent", () => {
    const other = row({ receiver: keys.hotWalletAddress });
    expect(entryEffectOf(entry(decision(other.id, "approved")), around({ row: other })).kind).toBe(
      "contradiction",
    );
    expect(
      entryEffectOf(entry(decision(other.id, "approved")), around({ row: { ...other, receiver } }))
        .kind,
    ).toBe("answer");
    expect(
      entryEffectOf(entry(signed(other.id, "1")), around({ row: { ...other, receiver: "" } })).kind,
    ).toBe("contradiction");
    expect(entryEffectOf(entry(signed(other.id, "1")), around({ row: other })).kind).toBe("sign");
    expect(
      entryEffectOf(entry(signed(other.id, "1")), around({ row: other, jobAgent: "b".repeat(16) }))
        .kind,
    ).toBe("contradiction");
    expect(
      entryEffectOf(entry(signed(other.id, "1")), around({ row: other, hashOwner: "x" })).kind,
    ).toBe("contradiction");
  });

  it("never moves a stage back and never believes an agent that a payment is final", () => {
    const confirming = row({ stage: "confirming", receiver });
    const known = { attempt: 1, slot: "1", txHash: "0x" } as SignatureRow;
    const beside = around({
      row: confirming,
      isSigned: true,
      slot: "1",
      known,
      slotOwner: confirming.id,
    });
    expect(entryEffectOf(entry(decision(confirming.id, "approved")), beside)).toEqual({
      kind: "answer",
      change: {},
    });
    expect(entryEffectOf(entry(observed(confirming.id, "broadcast")), beside).kind).toBe("none");
    expect(entryEffectOf(entry(observed(confirming.id, "final")), beside).kind).toBe("none");
    expect(entryEffectOf(entry(decision(confirming.id, "refused")), beside).kind).toBe(
      "contradiction",
    );
  });
});
