/**
 * Chains on which only expiry excludes a second payment: the statements about ended attempts that
 * the hub takes, its words to an agent on attempts that no block can take any more, and the moment
 * at which a signed withdrawal may be over.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { fundsOf } from "../../gateway/balance/funds.ts";
import type { GatewayCurrency } from "../../gateway/config/config.ts";
import { makeRecoveryOffer } from "../../gateway/recovery/offer.ts";
import { beginRecovery, recoveryOf } from "../../gateway/recovery/recovery.ts";
import { insertAssigned } from "../../gateway/store/assigned-payments.ts";
import { keepBalance } from "../../gateway/store/balances.ts";
import { keepOutgoing } from "../../gateway/store/outgoing-transactions.ts";
import { correctReservedSums } from "../../gateway/store/reserved.ts";
import type { SignatureRow } from "../../gateway/store/rows.ts";
import { markVoid, takeExpiryStatement } from "../../gateway/store/void-attempts.ts";
import { askWithdrawal, readAgent, readTransaction } from "../../lab/kit/gateway-database.ts";
import { callLevel } from "../../lab/kit/level-reader.ts";
import { type EntryBody, headAt, type LinkAgent, statementOf } from "../../lab/kit/link-agent.ts";
import type { DecisionEntry, SignedEntry } from "../../protocol/messages.ts";
import { voidPerAckMax } from "../../protocol/payloads.ts";
import { parseRecoveryPart } from "../../protocol/recovery.ts";
import {
  audit,
  connect,
  db,
  decision,
  eachTestItsHub,
  handshake,
  keys,
  signals,
  signed,
  start,
  stop,
} from "../support/hub-server.ts";
import { inhabitant } from "../support/tron-network.ts";

eachTestItsHub();

const network = "tron:0x2b6653dc";
const hotWallet = inhabitant("a hot wallet").address;
const receiver = inhabitant("a receiver").address;
const until = 1_300_000;
const trx: GatewayCurrency = {
  ...{
    id: "trx",
    chain: "tron",
    network,
    name: "",
    symbol: "",
    decimal: 6,
    contract: "",
    minPaymentAmount: "1",
  },
  ...{
    minWithdrawAmount: "1",
    paymentTolerance: "0",
    surplusTolerance: "0",
    enabled: true,
    depositOnly: false,
    preset: "",
    market: "",
    listUnpriced: false,
  },
  sweep: { isAutomatic: true, feeMultiple: 20, least: "1" },
};

beforeEach(() => {
  const accounts = JSON.stringify([
    { family: "tron", purpose: "hot", id: hotWallet, firstAddress: hotWallet },
  ]);
  const paired = JSON.stringify([{ id: "trx", network, contract: "", decimal: 6, maxFee: "2" }]);
  db.store.database.run(
    "UPDATE agents SET accounts = ?, networks = ?, currencies = ?",
    accounts,
    `["${network}"]`,
    paired,
  );
  callLevel(db.store.database, "first run");
});

function ask(number: number): string {
  const place = {
    network,
    currency: "trx",
    amount: "5",
    units: "5000000",
    receiver,
    payer: hotWallet,
  };
  return askWithdrawal(db.store, keys.id, number, place);
}

const hashOf = (id: string, attempt = 1): string => `${id.slice(-2)}${attempt}`.padStart(64, "a");

const attempt = (id: string, number = 1, change: Partial<SignedEntry> = {}): EntryBody => ({
  ...{
    kind: "signed",
    transactionId: id,
    attempt: number,
    network,
    account: hotWallet,
    slot: `${Number(`0x${id}`)}`,
  },
  ...{ txHash: hashOf(id, number), feeMax: "1377000", validUntilMs: until + number },
  ...change,
});
const word = (id: string, verdict: DecisionEntry["decision"], code = ""): EntryBody => ({
  ...{ kind: "decision", transactionId: id, decision: verdict, code, address: receiver },
});
const signatures = (): readonly SignatureRow[] =>
  db.store.database.all("SELECT * FROM signatures ORDER BY transactionId, attempt");

/** The watcher's act when its nodes report it void. */
function dies(id: string, number = 1): void {
  const end = { transactionId: id, txHash: hashOf(id, number), validUntilMs: until + number };
  expect(db.store.write((database) => markVoid(database, end, 7_000))).toBe(true);
  signals.emit("void", { transactionId: id });
}

/** States, as a signer that took this connection's handshake. */
function states(agent: LinkAgent, after: number, bodies: readonly EntryBody[]): void {
  agent.state(statementOf(keys.id, after, bodies, { handshake: agent.nonce }));
}

async function paying(
  count = 1,
): Promise<{ readonly agent: LinkAgent; readonly ids: readonly string[] }> {
  const ids = Array.from({ length: count }, (_, at) => ask(at + 1));
  const agent = await handshake();
  for (const [at, id] of ids.entries()) {
    states(agent, at * 2, [word(id, "approved"), attempt(id)]);
    expect(await agent.next("ack")).not.toHaveProperty("void");
  }
  return { agent, ids };
}

async function isStopped(agent: LinkAgent, detail: string): Promise<void> {
  expect(await agent.closed).toEqual({ code: 4004, reason: "locked" });
  expect(readAgent(db.store, keys.id).lockedCode).toBe("HUB_CONTRADICTION");
  expect(audit().at(-1)?.detail).toContain(detail);
}

describe("an attempt that ends", () => {
  it("is kept with its end, and repeated by it alone", async () => {
    const { agent, ids } = await paying();
    expect(signatures()).toMatchObject([{ validUntilMs: until + 1, voidAt: null, slot: "1" }]);
    states(agent, 2, [attempt(ids[0]!)]);
    expect((await agent.next("ack")).head).toEqual(headAt(3));
    states(agent, 3, [attempt(ids[0]!, 1, { validUntilMs: until + 9 })]);
    await isStopped(agent, `was signed until ${new Date(until + 9).toISOString()}`);
    expect(signatures()).toMatchObject([{ validUntilMs: until + 1 }]);
  });

  it("an attempt that says no end is not taken where only expiry excludes a second payment", async () => {
    const id = ask(1);
    const agent = await handshake();
    const { validUntilMs: _, ...endless } = attempt(id) as SignedEntry;
    states(agent, 0, [word(id, "approved"), endless]);
    await isStopped(agent, "was signed without an end");
    expect(signatures()).toEqual([]);
  });

  it("an attempt that calls itself a cancel is not taken where only expiry excludes a second payment, and its twin that pays is", async () => {
    const [first, second] = [ask(1), ask(2)];
    const agent = await handshake();
    states(agent, 0, [word(first, "approved"), attempt(first)]);
    await agent.next("ack");
    states(agent, 2, [word(second, "approved"), attempt(second, 1, { cancel: true })]);
    await isStopped(agent, "is a cancel, and its chain has none");
    expect(signatures()).toMatchObject([{ transactionId: first, cancel: 0 }]);
  });

  it("an attempt with an end that no calendar has is refused like every wrong one", async () => {
    const { agent, ids } = await paying();
    const never = Number.MAX_SAFE_INTEGER;
    states(agent, 2, [attempt(ids[0]!, 1, { validUntilMs: never })]);
    await isStopped(agent, `was signed until ${never} ms after 1970`);
  });

  it("an attempt with an end is not taken where slots exclude, and its twin without one is", async () => {
    const accounts = JSON.stringify([
      {
        family: "evm",
        purpose: "hot",
        id: keys.hotWalletAddress,
        firstAddress: keys.hotWalletAddress,
      },
    ]);
    db.store.database.run("UPDATE agents SET accounts = ?", accounts);
    const [first, second] = [
      askWithdrawal(db.store, keys.id, 1),
      askWithdrawal(db.store, keys.id, 2),
    ];
    const agent = await handshake();
    states(agent, 0, [decision(first, "approved"), signed(first, "0")]);
    await agent.next("ack");
    states(agent, 2, [decision(second, "approved"), signed(second, "1", { validUntilMs: until })]);
    await isStopped(agent, `was signed until ${new Date(until).toISOString()}`);
  });

  it("a second attempt is taken once the first is void, and not before", async () => {
    const { agent, ids } = await paying(2);
    const [one, two] = ids as [string, string];
    dies(one);
    expect(await agent.next("ack")).toMatchObject({ void: [hashOf(one)] });
    states(agent, 4, [attempt(one, 2)]);
    expect((await agent.next("ack")).head).toEqual(headAt(5));
    states(agent, 5, [attempt(two, 2)]);
    await isStopped(agent, "was signed while another is not void");
    expect(signatures().map(({ attempt: number }) => number)).toEqual([1, 2, 1]);
  });

  it("a second attempt that is sent again to a restored database is taken, though it forgot that it is void", async () => {
    const { agent, ids } = await paying();
    agent.state(statementOf(keys.id, 2, [attempt(ids[0]!, 2)], { handshake: "" }));
    expect((await agent.next("ack")).head).toEqual(headAt(3));
    expect(signatures()).toHaveLength(2);
  });

  it("a claim that an attempt is void moves nothing: the gateway reads the chain itself", async () => {
    const { agent, ids } = await paying();
    const txHash = hashOf(ids[0]!);
    states(agent, 2, [
      { kind: "observed", transactionId: ids[0]!, stage: "void", outcome: "", txHash },
    ]);
    expect((await agent.next("ack")).head).toEqual(headAt(3));
    expect(signatures()).toMatchObject([{ voidAt: null }]);
    expect(readTransaction(db.store, ids[0]!)).toMatchObject({ status: 0, stage: "signed" });
  });
});

describe("a void attempt that the gateway tells", () => {
  it("comes at once with the stored head, and again to a later connection", async () => {
    const { agent, ids } = await paying(2);
    dies(ids[1]!);
    expect(await agent.next("ack")).toMatchObject({
      head: headAt(4),
      ended: [],
      void: [hashOf(ids[1]!)],
    });
    const other = connect();
    await other.hello();
    await other.next("welcome");
    expect(await other.next("ack")).toMatchObject({ void: [hashOf(ids[1]!)] });
  });

  it("is sent again at each handshake and with a later heartbeat while the withdrawal is open", async () => {
    const { ids } = await paying();
    dies(ids[0]!);
    await stop();
    await start({ heartbeatMs: 20, deadMs: 600_000 });
    const agent = await handshake();
    expect(await agent.next("ack")).toMatchObject({ void: [hashOf(ids[0]!)] });
    expect(await agent.next("ack")).toMatchObject({ void: [hashOf(ids[0]!)] });
    db.store.database.run("UPDATE transfers SET status = 2 WHERE id = ?", ids[0]!);
    const heartbeats = async (count: number): Promise<void> => {
      for (let came = 0; came < count; came += 1) await agent.next("heartbeat");
    };
    // Those that are on their way.
    await heartbeats(agent.frames.filter(({ kind }) => kind === "heartbeat").length + 2);
    const before = agent.frames.filter(({ kind }) => kind === "ack").length;
    await heartbeats(10);
    expect(agent.frames.filter(({ kind }) => kind === "ack").length).toBe(before);
  });

  it("a void attempt of what has ended is told to an agent whose ledger has it open, as after a restore, and to no other", async () => {
    const { ids } = await paying(2);
    for (const id of ids) dies(id);
    db.store.database.run(
      "UPDATE transfers SET status = 2, stage = 'expired', code = 'JOB_EXPIRED'",
    );
    const agent = connect();
    await agent.hello({ open: [{ network, account: hotWallet, first: "2", last: "3" }] });
    await agent.next("welcome");
    expect(await agent.next("ack")).toMatchObject({ ended: [ids[1]], void: [hashOf(ids[1]!)] });
    const other = connect();
    await other.hello({ open: [{ network, account: hotWallet, first: "7", last: "9" }] });
    await other.next("welcome");
    states(other, 4, [
      {
        kind: "observed",
        transactionId: ids[0]!,
        stage: "void",
        outcome: "",
        txHash: hashOf(ids[0]!),
      },
    ]);
    const ack = await other.next("ack");
    expect(ack.head).toEqual(headAt(5));
    expect(ack).not.toHaveProperty("void");
  });

  it("void attempts are told in as many acknowledgements as it takes", async () => {
    const { ids } = await paying();
    const { database } = db.store;
    for (let number = 1; number <= voidPerAckMax + 5; number += 1) {
      const id = ask(100 + number);
      const sql = `INSERT INTO signatures (transactionId, attempt, agent, network, account, slot, txHash, feeMax, seq, validUntilMs, voidAt)
        VALUES (?, 1, ?, ?, ?, ?, ?, '1', 9, 5, 6)`;
      database.run(
        sql,
        id,
        keys.id,
        network,
        hotWallet,
        `${100 + number}`,
        `bb${number.toString(16).padStart(62, "0")}`,
      );
    }
    const agent = await handshake();
    expect((await agent.next("ack")).void).toHaveLength(voidPerAckMax);
    expect((await agent.next("ack")).void).toHaveLength(5);
    expect(ids).toHaveLength(1);
  });
});

describe("a recovery where attempts end", () => {
  it("a recovery's order says until when each attempt lives, and names outgoing transactions that have no slot", async () => {
    const { ids } = await paying();
    const foreign = { txHash: "cd".repeat(32), block: 9, receiver, contract: "", units: "5" };
    const tagged = { ...foreign, txHash: "ce".repeat(32), block: 8, tag: "77" };
    const own = { ...foreign, txHash: hashOf(ids[0]!) };
    for (const one of [{ ...foreign, tag: "" }, { ...own, tag: "" }, tagged])
      keepOutgoing(db.store.database, { network, account: hotWallet, slot: "", ...one, untold: 0 });
    db.store.write((database) => beginRecovery(database, readAgent(db.store, keys.id), 0, 1));
    const agent = readAgent(db.store, keys.id);
    const asking = {
      hello: { nonce: "07".repeat(32), open: [] },
      sign: () => "ab".repeat(64),
      nowMs: 9,
    };
    const [part] = makeRecoveryOffer(
      db.store.database,
      agent,
      recoveryOf(db.store.database, agent)!,
      asking,
    );
    const read = parseRecoveryPart(JSON.stringify(part));
    expect(read.withdrawals[0]?.attempts).toEqual([
      { txHash: hashOf(ids[0]!), feeMax: "1377000", validUntilMs: until + 1 },
    ]);
    const sent = { network, account: hotWallet, slot: "" };
    expect(read.outgoing).toEqual([
      { ...sent, ...foreign },
      { ...sent, ...tagged },
    ]);
    expect(read.outgoing[0]).not.toHaveProperty("tag");
    expect(read.accounts).toEqual([{ network, account: hotWallet, next: "2" }]);
  });
});

describe("a signed withdrawal that is over", () => {
  const funds = () => fundsOf(db.store.database, readAgent(db.store, keys.id), trx)!;

  it("fails when every attempt is void, and its funds are free again", async () => {
    const { agent, ids } = await paying(2);
    keepBalance(db.store.database, {
      account: hotWallet,
      currency: "trx",
      units: "100000000",
      block: 3,
      at: 1,
    });
    expect(funds().reservedUnits).toBe(14_000_000n);
    dies(ids[0]!);
    await agent.next("ack");
    states(agent, 4, [word(ids[0]!, "expired", "JOB_EXPIRED")]);
    const ack = await agent.next("ack");
    expect(ack.head).toEqual(headAt(5));
    expect(readTransaction(db.store, ids[0]!)).toMatchObject({
      status: 2,
      stage: "expired",
      code: "JOB_EXPIRED",
      finalBlock: null,
    });
    expect(funds().reservedUnits).toBe(7_000_000n);
    expect(db.store.write(correctReservedSums)).toBe(0);
    // Nothing of it may come back.
    states(agent, 5, [attempt(ids[0]!, 2)]);
    await isStopped(agent, "was signed while another is not void");
  });

  it.each([
    ["an attempt is not void", [] as number[]],
    ["the newest of two attempts is not void", [1]],
  ])(
    "a signed withdrawal is not over while %s: nothing is stored and the agent is stopped",
    async (_, voidAttempts) => {
      const { agent, ids } = await paying();
      for (const number of voidAttempts) {
        dies(ids[0]!, number);
        await agent.next("ack");
        states(agent, 2, [attempt(ids[0]!, 2)]);
        await agent.next("ack");
      }
      states(agent, 2 + voidAttempts.length, [word(ids[0]!, "expired", "JOB_EXPIRED")]);
      await isStopped(agent, "was expired while an attempt of it is not void");
      expect(readTransaction(db.store, ids[0]!)).toMatchObject({ status: 0, stage: "signed" });
      expect(readAgent(db.store, keys.id).headSeq).toBe(2 + voidAttempts.length);
    },
  );

  it("is Completed by the payment that an operator assigned, which gateway and agent had forgotten", async () => {
    const { agent, ids } = await paying(2);
    const [id, twin] = ids as readonly [string, string];
    for (const one of ids) {
      dies(one);
      await agent.next("ack");
    }
    const assigned = {
      transactionId: id,
      network,
      account: hotWallet,
      txHash: hashOf(id, 7),
      block: 9,
      feeUnits: "21",
      at: 1,
    };
    db.store.write((database) => insertAssigned(database, assigned));
    states(agent, 4, [
      word(id, "expired", "OPERATOR_CANCELLED"),
      word(twin, "expired", "OPERATOR_CANCELLED"),
    ]);
    await agent.next("ack");
    const completed = {
      status: 1,
      stage: "completed",
      code: "",
      txHash: hashOf(id, 7),
      finalBlock: 9,
      feeUnits: "21",
    };
    expect(readTransaction(db.store, id)).toMatchObject(completed);
    expect(readTransaction(db.store, twin)).toMatchObject({ status: 2, stage: "expired" });
    // The same word again, as after a backup of the ledger, is no contradiction.
    states(agent, 6, [word(id, "expired", "OPERATOR_CANCELLED")]);
    let { head } = await agent.next("ack");
    // An acknowledgement of before may come once more.
    while (head.seq < 7) ({ head } = await agent.next("ack"));
    expect(head).toEqual(headAt(7));
    expect(readTransaction(db.store, id)).toMatchObject(completed);
  });

  it("a signed withdrawal is refused by nobody any more, though it is void", async () => {
    const { agent, ids } = await paying();
    dies(ids[0]!);
    await agent.next("ack");
    states(agent, 2, [word(ids[0]!, "refused", "POLICY_REFUSED")]);
    await isStopped(agent, "was refused after it had been signed");
  });

  it("a signed withdrawal that the chain has paid is not over", async () => {
    const { agent, ids } = await paying();
    dies(ids[0]!);
    await agent.next("ack");
    db.store.database.run(
      "UPDATE transfers SET status = 1, stage = 'completed' WHERE id = ?",
      ids[0]!,
    );
    states(agent, 2, [word(ids[0]!, "expired", "JOB_EXPIRED")]);
    await isStopped(agent, "was expired after the chain had paid it");
  });

  it("a signed withdrawal whose end is sent again to a database that forgot that it is void waits for the gateway's own word", async () => {
    const { agent, ids } = await paying();
    agent.state(
      statementOf(keys.id, 2, [word(ids[0]!, "expired", "JOB_EXPIRED")], { handshake: "" }),
    );
    expect((await agent.next("ack")).head).toEqual(headAt(3));
    expect(readTransaction(db.store, ids[0]!)).toMatchObject({ status: 0, stage: "signed" });
    expect(takeExpiryStatement(db.store.database, ids[0]!)).toBe("JOB_EXPIRED");
    expect(takeExpiryStatement(db.store.database, ids[0]!)).toBeUndefined();
  });

  it("a signed withdrawal where slots exclude is never over by an agent's word", async () => {
    const accounts = JSON.stringify([
      {
        family: "evm",
        purpose: "hot",
        id: keys.hotWalletAddress,
        firstAddress: keys.hotWalletAddress,
      },
    ]);
    db.store.database.run("UPDATE agents SET accounts = ?", accounts);
    const id = askWithdrawal(db.store, keys.id, 1);
    const agent = await handshake();
    states(agent, 0, [decision(id, "approved"), signed(id, "0")]);
    await agent.next("ack");
    db.store.database.run("UPDATE signatures SET voidAt = 9");
    states(agent, 2, [decision(id, "expired", "JOB_EXPIRED")]);
    await isStopped(agent, "was expired after it had been signed");
  });
});
