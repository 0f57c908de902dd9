/**
 * The gateway's half of a recovery: the epoch that ends the old one, the order, the new ledger, and
 * the facts that the gateway learns from it.
 */
import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { jobHashAt } from "../../gateway/recovery/offer.ts";
import { beginRecovery } from "../../gateway/recovery/recovery.ts";
import type { RecoveryRow } from "../../gateway/store/rows.ts";
import { makeJob } from "../../gateway/withdrawals/jobs.ts";
import {
  askWithdrawal,
  askWithdrawals,
  insertTransaction,
  readAgent,
  readTransaction,
  receiver,
  transferRow,
} from "../../lab/kit/gateway-database.ts";
import { type EntryBody, headAt, type LinkAgent, statementOf } from "../../lab/kit/link-agent.ts";
import { signJob, verifyJobSignature } from "../../protocol/envelope.ts";
import { deriveOrderTransactionId, jobHashOf, zeroHash } from "../../protocol/identity.ts";
import type { RecoveredEntry, Statement } from "../../protocol/messages.ts";
import { parseJob } from "../../protocol/payloads.ts";
import type { RecoveryPart } from "../../protocol/recovery.ts";
import {
  audit,
  connect,
  db,
  decision,
  eachTestItsHub,
  gateway,
  handshake,
  keys,
  observed,
  signed,
  start,
  stop,
} from "../support/hub-server.ts";

eachTestItsHub();

function begin(above = 0): void {
  db.store.write((database) => beginRecovery(database, readAgent(db.store, keys.id), above, 7_000));
}

const newest = (): RecoveryRow | undefined =>
  db.store.database.get("SELECT * FROM recoveries ORDER BY ledgerEpoch DESC");

/** The name of an order of the newest recovery. */
const orderName = (): string => `${newest()?.mark ?? ""}${"0a".repeat(32)}`.slice(0, 64);

/** By the newest order that the database gave, but for `change`. */
function openedBy(sequence: number, change: Partial<RecoveredEntry> = {}): EntryBody {
  const { database } = db.store;
  const row = newest();
  const held =
    row === undefined || row.heldSeq === 0 ? null : { seq: row.heldSeq, hash: row.heldHash };
  const jobHash = jobHashAt(database, readAgent(db.store, keys.id), sequence);
  return { kind: "recovered", order: orderName(), held, sequence, jobHash, ...change };
}

/** The agent with its old epoch, and the parts it is offered. */
async function offered(): Promise<{
  agent: LinkAgent;
  part: Awaited<ReturnType<LinkAgent["next"]>>;
}> {
  const agent = connect();
  await agent.hello();
  return { agent, part: await agent.next("recovery") };
}

/**
 * A ledger of epoch 3 as it names itself until its recovery by the newest order is acknowledged.
 */
const told = (change: Partial<Statement> = {}): Partial<Statement> => ({
  ledgerEpoch: 3,
  recovered: orderName(),
  ...change,
});

async function renewed(): Promise<LinkAgent> {
  const agent = connect();
  await agent.hello({ ledgerEpoch: 3 });
  return agent;
}

/** The agent signs withdrawals `after + 1` to `count`, each with its number as the nonce. */
async function signAll(count: number, after = 0): Promise<void> {
  const agent = await handshake();
  for (let from = after; from < count; from += 200) {
    const numbers = Array.from(
      { length: Math.min(200, count - from) },
      (_, index) => from + index + 1,
    );
    agent.state(
      statementOf(
        keys.id,
        from,
        numbers.map((number) => signed(number.toString(16).padStart(32, "0"), `${number}`)),
      ),
    );
    await agent.next("ack");
  }
  agent.socket.terminate();
}

describe("a recovery offer", () => {
  it("of a size that no connection takes at once comes whole to one that reads slowly", async () => {
    await stop();
    await start({ deadMs: 600_000 }); // a slow machine takes its time for a statement
    askWithdrawals(db.store, keys.id, 3_000);
    await signAll(3_000);
    begin();
    const agent = connect();
    await agent.hello();
    agent.socket.pause();
    await new Promise((resolve) => setTimeout(resolve, 500));
    agent.socket.resume();
    const first = await agent.next("recovery");
    expect(first.parts).toBeGreaterThan(50);
    let withdrawals = first.withdrawals.length;
    for (let part = 2; part <= first.parts; part++)
      withdrawals += (await agent.next("recovery")).withdrawals.length;
    expect(withdrawals).toBe(3_000);
  });

  it("goes to the old epoch in place of a welcome, and says all that is signed and open, each job under the gateway's key", async () => {
    const first = askWithdrawal(db.store, keys.id, 1);
    const second = askWithdrawal(db.store, keys.id, 2);
    const third = askWithdrawal(db.store, keys.id, 3);
    const agent = await handshake();
    const bodies = [
      decision(first, "approved"),
      signed(first, "7"),
      decision(second, "refused"),
      decision(third, "approved"),
    ];
    agent.state(statementOf(keys.id, 0, bodies));
    await agent.next("ack");
    begin();
    const { part } = await offered();
    expect(part).toMatchObject({
      agent: keys.id,
      ledgerEpoch: 3,
      answers: "07".repeat(32),
      part: 1,
      parts: 1,
      held: headAt(4),
    });
    const { accounts, jobs, withdrawals } = part as never as RecoveryPart;
    expect(accounts).toEqual([
      { network: "eip155:31337", account: keys.hotWalletAddress, next: "8" },
    ]);
    expect(jobs).toEqual({ sequence: 3, hash: readAgent(db.store, keys.id).jobHash });
    expect(withdrawals).toMatchObject([
      { slot: "7", account: keys.hotWalletAddress, attempts: [{ feeMax: "21000" }] },
    ]);
    const [{ job, signature }] = withdrawals as unknown as [RecoveryPart["withdrawals"][number]];
    expect(parseJob(job).transactionId).toBe(first);
    expect(verifyJobSignature(job, signature, gateway.publicKey)).toBe(true);
    expect(verifyJobSignature(`${job} `, signature, gateway.publicKey)).toBe(false);
  });

  it("names what the account spent and nothing explains, the newest first", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const agent = await handshake();
    agent.state(statementOf(keys.id, 0, [signed(id, "1")]));
    await agent.next("ack");
    const [{ txHash }] = db.store.database.all<{ txHash: string }>(
      "SELECT txHash FROM signatures",
    ) as [{ txHash: string }];
    for (const [token, hash, block] of [
      ["1", txHash, 5],
      ["2", "0xab", 6],
      ["3", "0xcd", 9],
    ] as const) {
      const values = [
        "eip155:31337",
        keys.hotWalletAddress,
        token,
        hash,
        block,
        receiver,
        "",
        "5",
      ] as const;
      db.store.database.run(
        "INSERT INTO outgoing VALUES (?, ?, ?, ?, ?, ?, '', ?, ?, 0)",
        ...values,
      );
    }
    begin();
    const { outgoing } = (await offered()).part as never as RecoveryPart;
    expect(outgoing.map(({ slot, block }) => [slot, block])).toEqual([
      ["3", 9],
      ["2", 6],
    ]);
  });

  it("compares slots as numbers", async () => {
    const ids = [1, 2, 3].map((number) => askWithdrawal(db.store, keys.id, number));
    const agent = await handshake();
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
    for (let round = 0; round < 2; round++)
      names.push(((await offered()).part as { order: string }).order);
    askWithdrawal(db.store, keys.id, 2);
    names.push(((await offered()).part as { order: string }).order);
    expect(names[0]).toBe(names[1]);
    expect(names[2]).not.toBe(names[0]);
  });

  it("is in parts when it is long, accounts and spent in the first", async () => {
    askWithdrawals(db.store, keys.id, 150);
    await signAll(150);
    begin();
    const { agent, part } = await offered();
    const first = part as never as { parts: number; withdrawals: object[]; order: string };
    expect(first.parts).toBeGreaterThan(1);
    let count = first.withdrawals.length;
    for (let each = 2; each <= first.parts; each++) {
      const next = await agent.next("recovery");
      expect(next).toMatchObject({
        part: each,
        order: first.order,
        accounts: [],
        spent: [],
        outgoing: [],
      });
      count += next.withdrawals.length;
    }
    expect(count).toBe(150);
    expect(Math.max(...agent.frames.map(({ bytes }) => bytes))).toBeLessThan(65_536);
  });

  it("counts what ended within the day, the dearest attempt of each", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const agent = await handshake();
    agent.state(
      statementOf(keys.id, 0, [
        signed(id, "7"),
        { ...signed(id, "7"), attempt: 2, txHash: `0x${"cd".repeat(32)}` } as never,
      ]),
    );
    await agent.next("ack");
    db.store.database.run("UPDATE transfers SET status = 1 WHERE id = ?", id);
    begin();
    const { part } = await offered();
    expect(part).toMatchObject({
      spent: [{ currency: "eth", units: "1000000000000000000", feesUnits: "21000" }],
      withdrawals: [],
    });
  });

  it("is for nobody whose epoch is over without a recovery, nor for the new one", async () => {
    db.store.database.run("UPDATE agents SET ledgerEpoch = 3 WHERE id = ?", keys.id);
    const late = connect();
    await late.hello();
    expect((await late.closed).code).toBe(4003);
    begin();
    const agent = connect();
    await agent.hello({ ledgerEpoch: 4 });
    expect(await agent.next("welcome")).toMatchObject({ ledgerEpoch: 4, gatewayHead: null });
  });

  it("of a second beginning replaces the first, above whatever epoch is named, with the same head", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const agent = await handshake();
    agent.state(statementOf(keys.id, 0, [decision(id, "approved")]));
    await agent.next("ack");
    begin();
    begin(9);
    expect((await offered()).part).toMatchObject({ ledgerEpoch: 10, held: headAt(1) });
  });
});

describe("the old epoch", () => {
  it("the epoch before a recovery is over with the commit: not a statement of it is stored any more, also on a link that is open", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const agent = await handshake();
    begin();
    agent.state(statementOf(keys.id, 0, [decision(id, "approved"), signed(id, "7")]));
    expect((await agent.closed).code).toBe(4003);
    expect(agent.frames.some(({ kind }) => kind === "ack")).toBe(false);
    expect(db.store.database.all("SELECT * FROM signatures")).toEqual([]);
    expect(db.store.database.all("SELECT * FROM slots")).toEqual([]);
  });
});

describe("the recovered ledger", () => {
  it("takes the old one's place with its first statement, and the old head stays in the tables", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    const old = await handshake();
    old.state(
      statementOf(keys.id, 0, [
        decision(id, "approved"),
        signed(id, "7"),
        observed(id, "broadcast"),
      ]),
    );
    await old.next("ack");
    db.store.database.run(
      "UPDATE agents SET lockedCode = 'HUB_LEDGER_FORKED' WHERE id = ?",
      keys.id,
    );
    begin();
    expect(readAgent(db.store, keys.id)).toMatchObject({
      ledgerEpoch: 3,
      headSeq: 0,
      lockedCode: "RECOVERY_OFFERED",
    });
    const agent = await renewed();
    expect(await agent.next("welcome")).toMatchObject({ ledgerEpoch: 3, gatewayHead: null });
    agent.state(
      statementOf(
        keys.id,
        1,
        [openedBy(1), decision(id, "held")],
        told({ after: 0, previous: zeroHash }),
      ),
    );
    expect(await agent.next("ack")).toMatchObject({ ledgerEpoch: 3, head: headAt(3) });
    expect(readAgent(db.store, keys.id)).toMatchObject({
      ledgerEpoch: 3,
      headSeq: 3,
      headHash: headAt(3).hash,
      lockedCode: "",
    });
    const acts = audit().map(({ act, detail }) => [act, detail]);
    expect(acts[0]).toEqual([
      "agent recovery begun",
      `epoch 3 after 2; head 3 ${headAt(3).hash}; was HUB_LEDGER_FORKED`,
    ]);
    expect(acts[1]?.[0]).toBe("agent recovered");
    expect(acts[1]?.[1]).toContain(`head 3 ${headAt(3).hash} gave way to 3`);
    // The hub's checks stand: the same entry again is harmless, another slot is not.
    agent.state(statementOf(keys.id, 3, [signed(id, "7")], { ledgerEpoch: 3 }));
    await agent.next("ack");
    agent.state(statementOf(keys.id, 4, [signed(id, "8")], { ledgerEpoch: 3 }));
    expect((await agent.closed).code).toBe(4004);
  });

  it.each<[string, Partial<RecoveredEntry>]>([
    ["held more", { held: headAt(9) }],
    ["held another record there", { held: headAt(1, "other") }],
    ["held nothing", { held: null }],
    ["had another job there", { jobHash: "0b".repeat(32) }],
    ["had more jobs", { sequence: 2, jobHash: "0b".repeat(32) }],
  ])(
    "of an order from before the restore of the database, which %s, is refused until the next one",
    async (_, change) => {
      const id = askWithdrawal(db.store, keys.id, 1);
      const old = await handshake();
      old.state(statementOf(keys.id, 0, [decision(id, "held")]));
      await old.next("ack");
      begin();
      const agent = await renewed();
      agent.state(
        statementOf(keys.id, 4, [openedBy(1, change)], told({ after: 0, previous: zeroHash })),
      );
      expect((await agent.closed).code).toBe(4009);
      expect(agent.frames.some(({ kind }) => kind === "ack")).toBe(false);
      expect(readAgent(db.store, keys.id)).toMatchObject({
        headSeq: 0,
        lockedCode: "RECOVERY_OFFERED",
        caughtUp: "behind",
      });
      expect(audit().at(-1)).toMatchObject({
        act: "alarm HUB_DATABASE_BEHIND",
        detail: expect.stringContaining(
          "by an order that this gateway did not give: order a recovery again",
        ),
      });
      begin();
      const again = await renewed();
      expect(await again.next("recovery")).toMatchObject({ ledgerEpoch: 4, held: headAt(1) });
    },
  );

  it.each<[string, () => Partial<Statement> | null, (order: string) => EntryBody[]]>([
    [
      "an earlier recovery",
      () => ({ recovered: orderName() }),
      (order) => [openedBy(1, { order })],
    ],
    ["an earlier recovery, told in parts", () => ({ recovered: orderName() }), () => []],
    [
      "an earlier recovery that names the new order in front of it",
      () => ({}),
      (order) => [openedBy(1, { order })],
    ],
    ["a pairing", () => null, () => []],
  ])(
    "a ledger that reached the awaited epoch by %s is refused, not a word of it is acknowledged",
    async (_, saying, opening) => {
      const id = askWithdrawal(db.store, keys.id, 1);
      const old = await handshake();
      old.state(statementOf(keys.id, 0, [decision(id, "held")]));
      await old.next("ack");
      begin();
      const order = orderName();
      const said = saying();
      // The database was restored to before that, and its operator orders a recovery.
      db.store.database.run("DELETE FROM recoveries");
      db.store.database.run(
        "UPDATE agents SET ledgerEpoch = 2, headSeq = 1, headHash = ? WHERE id = ?",
        headAt(1).hash,
        keys.id,
      );
      begin();
      expect(orderName()).not.toBe(order);
      const agent = await renewed();
      const entries = [...opening(order), decision(id, "approved"), signed(id, "7")];
      agent.state(
        statementOf(keys.id, 0, entries, said === null ? { ledgerEpoch: 3 } : told(said)),
      );
      expect((await agent.closed).code).toBe(4009);
      expect(agent.frames.some(({ kind }) => kind === "ack")).toBe(false);
      expect(db.store.database.all("SELECT * FROM signatures")).toEqual([]);
      expect(readAgent(db.store, keys.id)).toMatchObject({
        headSeq: 0,
        lockedCode: "RECOVERY_OFFERED",
        caughtUp: "behind",
      });
      begin();
      const again = await renewed();
      expect(await again.next("recovery")).toMatchObject({ ledgerEpoch: 4, held: headAt(1) });
    },
  );

  it("that nobody awaits is a contradiction", async () => {
    const agent = await handshake();
    agent.state(statementOf(keys.id, 0, [openedBy(0)]));
    expect((await agent.closed).code).toBe(4004);
  });

  it("gets what is open and unsigned as new jobs, behind all others, and none before it took the handshake", async () => {
    const first = askWithdrawal(db.store, keys.id, 1);
    const bound = askWithdrawal(db.store, keys.id, 2);
    const old = await handshake();
    old.state(statementOf(keys.id, 0, [decision(first, "approved"), signed(bound, "7")]));
    await old.next("ack");
    begin();
    const agent = await renewed();
    const { challenge } = await agent.next("welcome");
    agent.state(statementOf(keys.id, 2, [openedBy(2)], told({ after: 0, previous: zeroHash })));
    await agent.next("ack");
    expect(agent.frames.some(({ kind }) => kind === "jobs")).toBe(false);
    agent.state(statementOf(keys.id, 3, [], { ledgerEpoch: 3, handshake: challenge }));
    const { jobs, signatures } = await agent.next("jobs");
    expect(
      jobs.map((text) => [
        parseJob(text).transactionId,
        parseJob(text).sequence,
        parseJob(text).ledgerEpoch,
      ]),
    ).toEqual([[first, 3, 3]]);
    expect(verifyJobSignature(jobs[0]!, signatures[0]!, gateway.publicKey)).toBe(true);
  });

  it("may be told of in parts: until it is opened nothing of it counts as the end of the recovery", async () => {
    const id = askWithdrawal(db.store, keys.id, 1);
    begin();
    const agent = await renewed();
    await agent.next("welcome");
    agent.state(statementOf(keys.id, 0, [decision(id, "approved"), signed(id, "7")], told()));
    await agent.next("ack");
    expect(readAgent(db.store, keys.id)).toMatchObject({
      headSeq: 2,
      lockedCode: "RECOVERY_OFFERED",
    });
    agent.state(statementOf(keys.id, 2, [openedBy(1)], told()));
    await agent.next("ack");
    expect(readAgent(db.store, keys.id)).toMatchObject({ headSeq: 3, lockedCode: "" });
  });
});

describe("a job that was lost", () => {
  const transactionId = deriveOrderTransactionId({
    merchant: "m1",
    operation: "withdraw",
    orderId: "conflicted",
  });
  const job = {
    ...{
      agent: "a".repeat(16),
      wallet: "a".repeat(32),
      network: "eip155:31337",
      ledgerEpoch: 2,
      sequence: 1,
      previous: zeroHash,
    },
    ...{
      issuedAt: 3_000,
      expiresAt: 9_000_000,
      mode: "auto",
      transactionId,
      orderId: "conflicted",
      currency: "eth",
      amount: "0.5",
    },
    ...{ address: receiver, tag: "" },
  };
  const currencies = JSON.stringify([
    { id: "eth", network: "eip155:31337", contract: "", decimal: 18, maxFee: "0.01" },
  ]);
  const askedFor = (
    change: object = {},
    key = gateway.privateKey,
    beside: object = {},
  ): EntryBody => {
    const text = JSON.stringify({ ...job, ...change });
    const told = {
      transactionId,
      sequence: 1,
      jobHash: jobHashOf(text),
      job: text,
      signature: signJob(text, key),
    };
    return { kind: "asked", ...told, ...beside } as EntryBody;
  };

  async function stating(bodies: readonly EntryBody[]): Promise<LinkAgent> {
    db.store.database.run("UPDATE agents SET currencies = ? WHERE id = ?", currencies, keys.id);
    const agent = await handshake();
    agent.state(statementOf(keys.id, 0, bodies));
    return agent;
  }

  it("comes back by the gateway's own signature, at its place in the chain, with what was signed", async () => {
    const agent = await stating([
      askedFor(),
      decision(transactionId, "approved"),
      signed(transactionId, "7"),
    ]);
    await agent.next("ack");
    const row = {
      units: "500000000000000000",
      receiver,
      stage: "signed",
      status: 0,
      createdAt: 3_000,
    };
    expect(readTransaction(db.store, transactionId)).toMatchObject(row);
    const text = JSON.stringify(job);
    expect(db.store.database.all("SELECT sequence, hash, text FROM jobs")).toEqual([
      { sequence: 1, hash: jobHashOf(text), text },
    ]);
    expect(readAgent(db.store, keys.id)).toMatchObject({
      jobSequence: 1,
      jobHash: jobHashOf(text),
    });
    // A repeat changes nothing.
    agent.state(statementOf(keys.id, 3, [askedFor()]));
    await agent.next("ack");
    expect(db.store.database.all("SELECT sequence FROM jobs")).toHaveLength(1);
  });

  it("a lost job that the shop asked for again, and that a recovered ledger keeps, stands in the next order with the text that was signed", async () => {
    const content = {
      currency: "eth",
      network: "eip155:31337",
      amount: "0.5",
      receiver,
    };
    const place = {
      id: transactionId,
      orderId: "conflicted",
      operation: "withdraw",
      mode: "auto",
    } as const;
    const row = insertTransaction(db.store, { ...place, ...content });
    db.store.write((database) =>
      makeJob(database, readAgent(db.store, keys.id), transferRow(row), "first run"),
    );
    const kept = askedFor({}, gateway.privateKey, { sequence: 0 });
    const agent = await stating([
      kept,
      decision(transactionId, "approved"),
      signed(transactionId, "7"),
    ]);
    await agent.next("ack");
    agent.socket.terminate();
    begin();
    const { withdrawals } = (await offered()).part as never as RecoveryPart;
    expect(withdrawals).toMatchObject([{ job: JSON.stringify(job), slot: "7" }]);
  });

  const other = generateKeyPairSync("ed25519").privateKey;
  it.each<[string, EntryBody]>([
    ["with another's signature", askedFor({}, other)],
    [
      "with another text than was signed",
      askedFor({}, gateway.privateKey, { job: JSON.stringify({ ...job, amount: "5" }) }),
    ],
    ["for another agent", askedFor({ agent: "b".repeat(16) })],
    ["about another order", askedFor({}, gateway.privateKey, { transactionId: "5".repeat(32) })],
    ["at another place than it says", askedFor({ sequence: 2, previous: "1".repeat(64) })],
    ["in a currency that was not paired", askedFor({ currency: "doge" })],
    [
      "that leaves a gap",
      askedFor({ sequence: 3, previous: "1".repeat(64) }, gateway.privateKey, { sequence: 3 }),
    ],
  ])("does not come back %s", async (_, entry) => {
    const agent = await stating([entry]);
    expect((await agent.closed).code).toBe(4004);
    expect(
      db.store.database.all("SELECT id FROM transfers UNION ALL SELECT id FROM deposits"),
    ).toEqual([]);
    expect(readAgent(db.store, keys.id).jobSequence).toBe(0);
  });

  it("that is another at its place is a contradiction", async () => {
    askWithdrawal(db.store, keys.id, 1);
    const agent = await stating([askedFor()]);
    expect((await agent.closed).code).toBe(4004);
  });
});

describe("a withdrawal that is asked for", () => {
  it("while its agent has not caught up waits for its place, and gets it with the agent's word", async () => {
    const row = insertTransaction(db.store, {
      id: "7".repeat(32),
      orderId: "w-7",
      operation: "withdraw",
      mode: "auto",
      receiver,
    });
    db.store.write((database) =>
      makeJob(database, readAgent(db.store, keys.id), transferRow(row), "first run"),
    );
    expect(db.store.database.get("SELECT sequence, text FROM jobs")).toEqual({
      sequence: -1,
      text: "",
    });
    const agent = await handshake();
    expect(agent.frames.some(({ kind }) => kind === "jobs")).toBe(false);
    agent.state(statementOf(keys.id, 0, [], { handshake: agent.nonce, head: headAt(1) }));
    const { jobs } = await agent.next("jobs");
    expect(parseJob(jobs[0]!)).toMatchObject({ sequence: 1, transactionId: "7".repeat(32) });
    // From here on each has its place at once.
    const next = insertTransaction(db.store, {
      id: "8".repeat(32),
      orderId: "w-8",
      operation: "withdraw",
      mode: "auto",
      receiver,
    });
    db.store.write((database) =>
      makeJob(database, readAgent(db.store, keys.id), transferRow(next), "first run"),
    );
    expect(readAgent(db.store, keys.id).jobSequence).toBe(2);
  });
});
