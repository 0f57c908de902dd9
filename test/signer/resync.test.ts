/**
 * Only the gateway is restored from a backup: the agent reports the lost records again, and nobody
 * acts.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { GatewayCurrency } from "../../gateway/config/config.ts";
import { refundedUnits } from "../../gateway/store/transactions.ts";
import { checkRefund } from "../../gateway/withdrawals/checks.ts";
import { insertTransaction } from "../../lab/kit/gateway-database.ts";
import { merchant, txParams } from "../../lab/kit/signer-kit.ts";
import { parseJob } from "../../protocol/payloads.ts";
import { SignerAndGateway } from "../support/signer-and-gateway.ts";

let both: SignerAndGateway;
beforeEach(() => {
  both = new SignerAndGateway();
});
afterEach(() => both.remove());

const chainOf = () => {
  const { jobSequence: sequence, jobHash: hash } = both.agent;
  return { sequence, hash };
};
const signaturesOf = (id: string) =>
  both.store.database.all<{ txHash: string; slot: string }>(
    "SELECT txHash, slot FROM signatures WHERE transactionId = ?",
    id,
  );

describe("a gateway that was rolled back", () => {
  it("takes its own orders back with row, place and hash as they were, and signatures with them", () => {
    both.pay("before");
    both.keepDatabase("old");
    const paid = both.pay("lost-and-signed");
    both.complete(paid);
    const held = both.order("lost-and-decided");
    both.acknowledge();
    const [before, row, signed] = [chainOf(), both.row(paid), signaturesOf(paid)];
    both.putDatabaseBack("old");
    expect(both.row(paid)).toBeUndefined();
    expect(both.connect()).toMatchObject({ ok: true });
    expect(both.kit.ask("hello").handshakeDone).toBe(false);
    both.acknowledge();
    expect(both.kit.ask("hello").handshakeDone).toBe(true);
    both.acknowledge();
    expect(chainOf()).toEqual(before);
    expect(signaturesOf(paid)).toEqual(signed);
    const { units, receiver, contentHash } = row!;
    expect(both.row(paid)).toMatchObject({
      units,
      receiver,
      contentHash,
      stage: "signed",
    });
    expect(both.row(held)).toMatchObject({ stage: "queued" });
    expect(both.kit.records().some(({ kind }) => kind === "RECOVERED" || kind === "LOCKED")).toBe(
      false,
    );
    expect(both.agent.ledgerEpoch).toBe(1);
    // The chain goes on where it was.
    const next = both.order("after");
    expect(both.kit.show(next)).toMatchObject({ state: "approved", sequence: before.sequence + 1 });
  });

  it("learns a job that was recorded and not acknowledged, which shows in no head", () => {
    both.pay("before");
    both.acknowledge();
    both.keepDatabase("old");
    const id = both.order("recorded");
    both.putDatabaseBack("old");
    both.meet();
    expect(both.row(id)).toMatchObject({ stage: "queued" });
    expect(both.isAnswered(id)).toBe(true);
    expect(both.kit.ask("hello").handshakeDone).toBe(true);
  });

  it("gives no job a place before it has been told, and then the one after what it forgot", () => {
    both.pay("before");
    both.keepDatabase("old");
    const lost = both.pay("conflicted");
    both.putDatabaseBack("old");
    const early = both.order("asked-early");
    expect(
      both.store.database.get("SELECT sequence FROM jobs WHERE transactionId = ?", early),
    ).toEqual({ sequence: -1 });
    both.meet();
    expect(both.kit.show(lost)).toMatchObject({ sequence: 2 });
    expect(both.kit.show(early)).toMatchObject({ sequence: 3, state: "approved" });
    expect(both.kit.core.locked).toBeNull();
  });

  it("attaches what the shop asked for again to the job that was signed, and pays it once", () => {
    both.keepDatabase("old");
    const id = both.pay("again");
    both.putDatabaseBack("old");
    both.order("again");
    both.meet();
    expect(signaturesOf(id)).toHaveLength(1);
    const [job] = both.store.database.all<{ sequence: number; text: string }>(
      "SELECT * FROM jobs WHERE transactionId = ?",
      id,
    );
    expect([job!.sequence, parseJob(job!.text).sequence]).toEqual([1, 1]);
    expect(both.kit.records().filter(({ kind }) => kind === "REQUESTED")).toHaveLength(1);
    expect(
      both.store.database.all("SELECT 1 FROM audit WHERE act = 'alarm HUB_ORDER_REPLACED'"),
    ).toEqual([]);
  });

  it("keeps what was signed where the shop asks again for something else, and says so", () => {
    both.keepDatabase("old");
    const id = both.pay("again");
    both.putDatabaseBack("old");
    both.order("again", { amount: "9", units: "9000000", contentHash: "other" });
    both.meet();
    expect(both.row(id)).toMatchObject({ amount: "1.5", units: "1500000" });
    expect(
      both.store.database.all("SELECT 1 FROM audit WHERE act = 'alarm HUB_ORDER_REPLACED'"),
    ).toHaveLength(1);
    expect(signaturesOf(id)).toHaveLength(1);
  });

  it("is told in parts when it lost more than one statement holds", () => {
    both.keepDatabase("old");
    const ids = Array.from({ length: 200 }, (_, number) => {
      const id = both.order(`many-${number}`);
      if (number % 50 === 49) both.acknowledge();
      return id;
    });
    both.putDatabaseBack("old");
    const { ok, frames } = {
      ok: both.connect()?.ok,
      frames: both.kit.ask("report", { after: 0 }).frames,
    };
    expect(ok).toBe(true);
    expect(frames.length).toBeGreaterThan(1);
    expect(Math.max(...frames.map((frame) => frame.length))).toBeLessThan(262_144);
    both.meet();
    expect(ids.every((id) => both.isAnswered(id))).toBe(true);
    expect(both.agent.jobSequence).toBe(200);
  });

  it("goes on from where it stands when it is restored once more while it is told", () => {
    both.keepDatabase("old");
    const first = both.pay("first");
    both.keepDatabase("middle");
    const second = both.pay("second");
    both.putDatabaseBack("old");
    both.connect();
    both.putDatabaseBack("middle");
    both.meet();
    expect([signaturesOf(first), signaturesOf(second)].map(({ length }) => length)).toEqual([1, 1]);
    expect(both.kit.ask("hello").handshakeDone).toBe(true);
  });

  it("lets nothing new be signed or let out before it holds all of it", () => {
    both.keepDatabase("old");
    both.pay("conflicted");
    const waiting = both.order("waiting");
    both.putDatabaseBack("old");
    both.connect();
    expect(both.kit.ask("sign", { transactionId: waiting, txParams })).toMatchObject({
      code: "SIGNER_NO_HANDSHAKE",
    });
    both.meet();
    expect(both.kit.ask("sign", { transactionId: waiting, txParams })).toMatchObject({ ok: true });
  });

  it("with another record at the place where it stands is a fork, and locks", () => {
    both.pay("one");
    both.acknowledge();
    both.pay("two");
    const { headSeq } = both.agent;
    both.store.database.run(
      "UPDATE agents SET headSeq = ?, headHash = ?",
      headSeq - 1,
      "ab".repeat(32),
    );
    expect(both.connect()).toMatchObject({ code: "SIGNER_LOCKED", detail: "LEDGER_FORKED" });
  });
});

describe("a refund that a restored database lost", () => {
  const deposit = "de".repeat(16);
  const usdt = { id: "usdt", network: "eip155:31337", decimal: 6 } as GatewayCurrency;
  const refund = { refundOf: deposit };

  /** A deposit that received 2 USDT; a refund is of 1.5. */
  function begin(): void {
    insertTransaction(both.store, {
      ...{ id: deposit, orderId: "in-1", merchant, currency: "usdt", status: 1 },
      ...{ amount: "2", units: "2000000", receivedUnits: "2000000" },
    });
    both.keepDatabase("old");
  }

  /** The answer's code to another refund of the deposit; null if it is taken. */
  function refusalOf(amountUnits: bigint): string | null {
    const { database } = both.store;
    const answer = checkRefund(database, {
      merchant,
      refundOf: deposit,
      agent: both.agent,
      currency: usdt,
      amountUnits,
    });
    return answer === null
      ? null
      : JSON.stringify(answer).includes("refund_above_received")
        ? "refund_above_received"
        : "other";
  }

  const refunds: readonly (readonly [state: string, order: () => string, stage: string])[] = [
    ["approved", () => both.order("refund", refund), "queued"],
    ["signed", () => both.pay("refund", refund), "signed"],
    [
      "seen final by the agent",
      () => {
        const id = both.pay("refund", refund);
        both.complete(id);
        return id;
      },
      "signed",
    ],
    [
      "held for an operator",
      () => both.order("refund", { ...refund, mode: "manual" }),
      "awaiting_approval",
    ],
  ];

  it.each(refunds)(
    "counts when its agent tells it again, %s: the deposit is not paid back twice, and its rest is",
    (_, order, stage) => {
      begin();
      const id = order();
      both.acknowledge();
      both.putDatabaseBack("old");
      expect(refusalOf(1_500_000n)).toBeNull();
      both.meet();
      expect(both.row(id)).toMatchObject({ refundOf: deposit, status: 0, stage });
      expect(refundedUnits(both.store.database, deposit)).toBe(1_500_000n);
      expect([refusalOf(1_500_000n), refusalOf(500_001n), refusalOf(500_000n)]).toEqual([
        "refund_above_received",
        "refund_above_received",
        null,
      ]);
    },
  );

  it("counts when it comes from a ledger that was recovered since", () => {
    begin();
    const id = both.pay("refund", refund);
    both.complete(id);
    both.recover();
    both.putDatabaseBack("old");
    both.recover(true, both.kit.core.paired.ledgerEpoch);
    expect(both.row(id)).toMatchObject({ refundOf: deposit });
    expect([refusalOf(1_500_000n), refusalOf(500_000n)]).toEqual(["refund_above_received", null]);
  });

  it("ends the refunds that were taken meanwhile and are too much now, the newest first, before the agent gets them", () => {
    begin();
    both.pay("refund", refund);
    both.putDatabaseBack("old");
    const rest = { ...refund, amount: "0.5", units: "500000" };
    const [fits, twice, plain] = [
      both.order("rest", rest),
      both.order("again", refund),
      both.order("plain"),
    ];
    both.meet();
    expect(both.row(twice)).toMatchObject({
      status: 2,
      stage: "refused",
      code: "REFUND_ABOVE_RECEIVED",
    });
    expect(both.kit.operate("show", { transactionId: twice })).toMatchObject({
      code: "WITHDRAWAL_UNKNOWN",
    });
    for (const id of [fits, plain]) expect(both.kit.show(id)).toMatchObject({ state: "approved" });
    expect(refundedUnits(both.store.database, deposit)).toBe(2_000_000n);
  });

  it("takes the deposit of the job that was signed, where the shop names another one for the same order", () => {
    begin();
    const id = both.pay("refund", refund);
    both.putDatabaseBack("old");
    both.order("refund", { refundOf: "ef".repeat(16) });
    both.meet();
    expect(both.row(id)).toMatchObject({ refundOf: deposit, stage: "signed" });
    expect(
      both.store.database.all("SELECT 1 FROM audit WHERE act = 'alarm HUB_ORDER_REPLACED'"),
    ).toHaveLength(1);
  });

  it("stays a plain withdrawal where it was one", () => {
    begin();
    const id = both.pay("plain");
    both.putDatabaseBack("old");
    both.meet();
    expect(both.row(id)).toMatchObject({ refundOf: "", stage: "signed" });
    expect(refusalOf(2_000_000n)).toBeNull();
  });
});

describe("an old word of the gateway", () => {
  it("completes no handshake with a signer whose gateway was rolled back since", () => {
    both.keepDatabase("old");
    both.pay("conflicted");
    const { kit } = both;
    const head = { seq: both.agent.headSeq, hash: both.agent.headHash };
    const old = kit.gateway.ack(head);
    both.putDatabaseBack("old");
    kit.now += 5;
    both.connect();
    expect(kit.release(old)).toMatchObject({ ok: true });
    expect(kit.ask("hello").handshakeDone).toBe(false);
    expect(kit.release(kit.gateway.ack(kit.core.heads.head))).toMatchObject({ ok: true });
    expect(kit.ask("hello").handshakeDone).toBe(true);
  });
});
