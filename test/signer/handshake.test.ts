/**
 * The weight of the gateway's messages for the signer: handshake, gateway head, acknowledgement,
 * and the time that they lend the ledger.
 */
import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ledgerTime } from "../../agent/signer/state/ledger-time.ts";
import { begun, Kit, txParams } from "../../lab/kit/signer-kit.ts";
import type { Statement } from "../../protocol/messages.ts";
import { parseStatement } from "../../protocol/payloads.ts";

const foreignKey = generateKeyPairSync("ed25519").privateKey;

/** A kit after the handshake with one job waiting in the gateway's chain. */
function waiting(): Kit {
  const kit = new Kit().ready();
  kit.gateway.job();
  return kit;
}

const lastText = (kit: Kit): string => kit.gateway.texts.at(-1)!;
const take = (kit: Kit, change: object = {}) =>
  kit.admit(kit.gateway.jobs([lastText(kit)], { at: kit.now, ...change }));

describe("that the handshake was taken", () => {
  const report = (kit: Kit, after = kit.core.heads.acked.seq): readonly Statement[] =>
    kit.ask("report", { after }).frames.map((frame) => parseStatement(frame.subarray(66)));
  const welcomed = (kit: Kit, digit: string, change: object = {}) =>
    kit.admit(
      kit.gateway.welcome(kit.nonce, { challenge: digit.repeat(64), at: ++kit.now, ...change }),
    );

  it("the word that the handshake was taken is said whenever it is asked for, without a record, by the acknowledged head", () => {
    const kit = new Kit().ready();
    kit.pay();
    kit.acknowledge();
    const records = kit.records().length;
    for (const digit of ["1", "2"]) {
      expect(welcomed(kit, digit).ok).toBe(true);
      const { acked } = kit.core.heads;
      const word = {
        handshake: digit.repeat(64),
        after: acked.seq,
        previous: acked.hash,
        head: acked,
        entries: [],
      };
      // The first answer may have arrived, or the line may have lost it.
      for (let times = 0; times < 2; times += 1) expect(report(kit)).toMatchObject([word]);
    }
    expect(kit.records()).toHaveLength(records);
  });

  it("the word that the handshake was taken is said by the newest record that was told, and not by one acknowledged before it", () => {
    const kit = new Kit().ready();
    kit.pay();
    kit.acknowledge();
    const { acked } = kit.core.heads;
    kit.request();
    const told = report(kit).at(-1)?.head ?? acked;
    expect(told.seq).toBeGreaterThan(acked.seq);
    expect(welcomed(kit, "1").ok).toBe(true);
    expect(report(kit, told.seq)).toMatchObject([
      { handshake: "1".repeat(64), after: told.seq, previous: told.hash, head: told, entries: [] },
    ]);
    expect(welcomed(kit, "2").ok).toBe(true);
    // Nothing so new was reported, so the word falls back to the acknowledged head.
    const { acked: held } = kit.core.heads;
    expect(report(kit, kit.core.heads.head.seq + 9).at(-1)).toMatchObject({
      handshake: "2".repeat(64),
      head: held,
    });
  });

  it("the word that the handshake was taken is said by the ledger's head before the first acknowledgement, and only once it is taken", () => {
    const kit = new Kit();
    expect(report(kit)).toEqual([]);
    welcomed(kit, "1");
    expect(report(kit)).toMatchObject([
      { handshake: "1".repeat(64), after: 0, previous: "0".repeat(64), head: kit.core.heads.head },
    ]);
    kit.start();
    expect(report(kit)).toEqual([]);
  });

  it("the word that the handshake was taken stands in every statement, and none is said while a resync of the gateway goes on", () => {
    const kit = new Kit().ready();
    kit.pay();
    kit.acknowledge();
    welcomed(kit, "1");
    kit.request();
    expect(report(kit)).toMatchObject([{ handshake: "1".repeat(64) }]);
    expect(welcomed(kit, "2", { jobs: { sequence: 0, hash: "0".repeat(64) } }).ok).toBe(true);
    expect(report(kit)).toMatchObject([{ handshake: "" }]);
  });

  it("the word that the handshake was taken is not said by a locked signer", () => {
    const kit = new Kit().ready();
    kit.pay();
    welcomed(kit, "1", { gatewayHead: { seq: kit.core.heads.acked.seq, hash: "ab".repeat(32) } });
    expect(kit.core.locked?.code).toBe("LEDGER_FORKED");
    expect(welcomed(kit, "2").ok).toBe(true);
    for (const { handshake } of report(kit)) expect(handshake).toBe("");
    kit.start();
    welcomed(kit, "3");
    for (const { handshake } of report(kit)) expect(handshake).toBe("");
  });
});

describe("the handshake", () => {
  it("opens signing only when it answers this run", () => {
    const kit = new Kit();
    expect(kit.admit(kit.gateway.welcome("00".repeat(32))).code).toBe("WELCOME_OTHER_RUN");
    expect(kit.ask("hello").handshakeDone).toBe(false);
    const old = kit.gateway.welcome(kit.nonce);
    expect(kit.admit(old).ok).toBe(true);
    expect(kit.ask("hello").handshakeDone).toBe(true);
    kit.start();
    expect(kit.admit(old).code).toBe("WELCOME_OTHER_RUN");
    expect(kit.ask("hello").handshakeDone).toBe(false);
  });

  it.each([
    ["agent", { agent: "bb".repeat(8) }, "ADMISSION_OTHER_AGENT"],
    ["wallet", { wallet: "bb".repeat(16) }, "ADMISSION_OTHER_WALLET"],
    ["ledgerEpoch", { ledgerEpoch: 2 }, "ADMISSION_OTHER_EPOCH"],
  ])("for another %s does not open signing", (_, change, code) => {
    const kit = new Kit();
    expect(kit.admit(kit.gateway.welcome(kit.nonce, change)).code).toBe(code);
    expect(kit.ask("hello").handshakeDone).toBe(false);
  });

  it("looks at the ledger before it writes: an alarm of the clocks is no record for a forgotten one's place", () => {
    const kit = new Kit().ready();
    kit.acknowledge();
    const backup = kit.disk.crash();
    kit.request({ currency: "eth", amount: "1.5" });
    kit.receive();
    kit.disk = backup;
    kit.start();
    const before = kit.records().length;
    const apart = kit.gateway.welcome(kit.nonce, {
      at: kit.now + 120_000,
      gatewayHead: { ...kit.gateway.stored!, seq: before + 1 },
    });
    expect(kit.admit(apart)).toMatchObject({
      code: "SIGNER_LOCKED",
      detail: "LEDGER_BEHIND_GATEWAY",
    });
    expect(kit.records().slice(before)).toMatchObject([
      { kind: "LOCKED", code: "LEDGER_BEHIND_GATEWAY" },
    ]);
  });

  it("locks a ledger that is behind what the gateway holds, permanently", () => {
    const kit = new Kit().ready();
    kit.pay();
    const backup = kit.disk.crash();
    const { transactionId } = kit.pay();
    kit.disk = backup;
    kit.start();
    expect(kit.ask("sign", { transactionId, txParams }).code).toBe("SIGNER_NO_HANDSHAKE");
    expect(kit.handshake()).toMatchObject({
      ok: false,
      code: "SIGNER_LOCKED",
      detail: "LEDGER_BEHIND_GATEWAY",
    });
    expect(kit.pushes).toContainEqual({ push: "locked", code: "LEDGER_BEHIND_GATEWAY" });
    for (let run = 0; run < 2; run++) {
      expect(kit.ask("sign", { transactionId, txParams })).toMatchObject({
        code: "SIGNER_LOCKED",
        detail: "LEDGER_BEHIND_GATEWAY",
      });
      expect(kit.ask("replace", { transactionId, above: 1, txParams }).code).toBe("SIGNER_LOCKED");
      expect(kit.release(kit.gateway.ack(kit.core.heads.head)).code).toBe("SIGNER_LOCKED");
      expect(kit.admit(kit.gateway.jobs([])).code).toBe("SIGNER_LOCKED");
      kit.start();
    }
  });

  it("locks when the gateway holds another record at the same place", () => {
    const kit = new Kit().ready();
    const gatewayHead = { seq: kit.core.heads.head.seq, hash: "ab".repeat(32) };
    expect(kit.admit(kit.gateway.welcome(kit.nonce, { gatewayHead }))).toMatchObject({
      code: "SIGNER_LOCKED",
      detail: "LEDGER_FORKED",
    });
  });

  it("waits for a gateway that lost jobs or reports to be sent again; a replayed one completes no handshake", () => {
    const kit = new Kit().ready();
    const early = kit.gateway.welcome(kit.nonce, { at: kit.now });
    kit.pay();
    expect(kit.admit(early).code).toBe("WELCOME_STALE");
    expect(kit.ask("hello").handshakeDone).toBe(true);
    kit.now += 1;
    const fitting = kit.gateway.welcome(kit.nonce, { at: kit.now - 1 });
    const jobs = { sequence: 0, hash: "0".repeat(64) };
    expect(kit.admit(kit.gateway.welcome(kit.nonce, { at: kit.now, jobs })).ok).toBe(true);
    expect(kit.ask("hello")).toMatchObject({ handshakeDone: false, locked: "" });
    expect(kit.operate("status").status).toMatchObject({ isResyncing: true, locked: "" });
    // An old handshake that fits, kept by an attacker on the line, takes nothing back.
    expect(kit.admit(fitting).code).toBe("WELCOME_STALE");
    expect(kit.ask("hello").handshakeDone).toBe(false);
    kit.now += 1;
    expect(kit.admit(kit.gateway.welcome(kit.nonce, { at: kit.now, gatewayHead: null })).ok).toBe(
      true,
    );
    expect(kit.ask("hello").handshakeDone).toBe(false);
    kit.now += 1;
    expect(kit.handshake().ok).toBe(true);
    expect(kit.operate("status").status).toMatchObject({ handshakeDone: true, isResyncing: false });
  });

  it("of a gateway that lost something is refused by a locked ledger, which reports to it all the same", () => {
    const kit = new Kit().ready();
    kit.pay();
    const { sequence, hash } = kit.core.chain;
    kit.admit(
      kit.gateway.welcome(kit.nonce, {
        at: kit.now + 1,
        jobs: { sequence, hash: "ab".repeat(32) },
      }),
    );
    expect(kit.core.locked).toMatchObject({ code: "LEDGER_FORKED" });
    const fitting = {
      at: kit.now + 2,
      gatewayHead: kit.core.heads.acked,
      jobs: { sequence, hash },
    };
    expect(kit.admit(kit.gateway.welcome(kit.nonce, fitting)).ok).toBe(true);
    for (const [index, lost] of [
      { gatewayHead: null },
      { jobs: { sequence: 0, hash: "0".repeat(64) } },
    ].entries()) {
      const at = kit.now + 3 + index;
      expect(kit.admit(kit.gateway.welcome(kit.nonce, { ...fitting, ...lost, at })).ok).toBe(true);
      expect(kit.operate("status").status).toMatchObject({
        isResyncing: true,
        locked: "LEDGER_FORKED",
      });
    }
    expect(kit.core.locked).toMatchObject({ code: "LEDGER_FORKED" });
  });

  it("locks when the newest job has another hash", () => {
    const kit = new Kit().ready();
    kit.request();
    const jobs = { sequence: 1, hash: "ab".repeat(32) };
    expect(kit.admit(kit.gateway.welcome(kit.nonce, { at: kit.now + 1, jobs })).detail).toBe(
      "LEDGER_FORKED",
    );
  });

  it("is refused while the clocks are more than ten minutes apart, and says so from a minute on", () => {
    const kit = new Kit();
    expect(kit.admit(kit.gateway.welcome(kit.nonce, { at: kit.now + 600_001 })).code).toBe(
      "CLOCK_SKEW",
    );
    expect(kit.records().at(-1)).toMatchObject({ kind: "ALARM", code: "CLOCK_SKEW" });
    kit.start();
    expect(kit.admit(kit.gateway.welcome(kit.nonce, { at: kit.now - 600_000 })).ok).toBe(true);
    kit.start();
    const before = kit.records().length;
    expect(kit.admit(kit.gateway.welcome(kit.nonce, { at: kit.now + 60_000 })).ok).toBe(true);
    expect(kit.records()).toHaveLength(before);
  });

  it("stands for an acknowledgement that was lost on the way", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request();
    kit.ask("sign", { transactionId, txParams });
    kit.receive();
    kit.start();
    expect(kit.show(transactionId).state).toBe("signed");
    expect(kit.handshake().withdrawals).toMatchObject([{ transactionId, state: "released" }]);
    expect(kit.pushes).toContainEqual(
      expect.objectContaining({
        push: "changed",
        withdrawal: expect.objectContaining({ state: "released" }),
      }),
    );
  });
});

describe("the gateway head in an envelope of jobs", () => {
  it("a gateway head older than the acknowledged head is refused, and locks nothing", () => {
    const kit = new Kit().ready();
    kit.request();
    const old = kit.gateway.jobs(kit.gateway.texts);
    kit.acknowledge();
    expect(kit.admit(old).code).toBe("JOB_HEAD_STALE");
    expect(kit.core.locked).toBeNull();
    expect(kit.admit(kit.gateway.jobs(kit.gateway.texts)).ok).toBe(true);
  });

  it.each([
    ["ahead of the ledger", 1, "LEDGER_BEHIND_GATEWAY"],
    ["with another hash", 0, "LEDGER_FORKED"],
  ])("the gateway head in an envelope of jobs: %s locks", (_, ahead, code) => {
    const kit = waiting();
    const gatewayHead = { seq: kit.core.heads.head.seq + ahead, hash: "ab".repeat(32) };
    expect(take(kit, { gatewayHead })).toMatchObject({ code: "SIGNER_LOCKED", detail: code });
  });
});

describe("an acknowledgement", () => {
  /** Signed, known to the gateway, not yet acknowledged. */
  function signed(): { kit: Kit; transactionId: string } {
    const kit = new Kit().ready();
    const { transactionId } = kit.request();
    kit.acknowledge();
    kit.ask("sign", { transactionId, txParams });
    return { kit, transactionId };
  }

  it("releases what it covers, once", () => {
    const { kit, transactionId } = signed();
    expect(kit.left.size).toBe(0);
    expect(kit.acknowledge().withdrawals).toMatchObject([{ transactionId, state: "released" }]);
    expect(kit.left.size).toBe(1);
    const before = kit.records().length;
    expect(kit.acknowledge()).toMatchObject({ ok: true, withdrawals: [] });
    expect(kit.records()).toHaveLength(before);
  });

  it("that is older, foreign, altered or for another agent or epoch releases nothing", () => {
    const { kit } = signed();
    const { acked, head } = kit.core.heads;
    expect(kit.release(kit.gateway.ack(acked)).withdrawals).toEqual([]);
    expect(
      kit.release(kit.gateway.ack({ seq: 1, hash: kit.records()[0]!.hash })).withdrawals,
    ).toEqual([]);
    // A recovered ledger does not know the hashes of records before it.
    expect(kit.release(kit.gateway.ack({ seq: 1, hash: "ab".repeat(32) })).withdrawals).toEqual([]);
    expect(kit.release(kit.gateway.ack(head, {}, foreignKey)).code).toBe("ENVELOPE_SIGNATURE");
    expect(kit.release(kit.gateway.ack(head, { agent: "bb".repeat(8) })).code).toBe(
      "ADMISSION_OTHER_AGENT",
    );
    expect(kit.release(kit.gateway.ack(head, { ledgerEpoch: 2 })).code).toBe(
      "ADMISSION_OTHER_EPOCH",
    );
    const altered = Uint8Array.from(kit.gateway.ack(head));
    altered[altered.length - 2]! ^= 1;
    expect(kit.release(altered).code).toBe("ENVELOPE_SIGNATURE");
    expect(kit.left.size).toBe(0);
    expect(kit.release(kit.gateway.ack(head)).withdrawals).toHaveLength(1);
  });

  it("that ends one record before SIGNED does not release it", () => {
    const { kit } = signed();
    const before = kit.records().at(-2)!;
    expect(
      kit.release(kit.gateway.ack({ seq: before.seq, hash: before.hash })).withdrawals,
    ).toEqual([]);
    expect(kit.left.size).toBe(0);
    const last = kit.records().find((record) => record.kind === "SIGNED")!;
    expect(
      kit.release(kit.gateway.ack({ seq: last.seq, hash: last.hash })).withdrawals,
    ).toHaveLength(1);
  });

  it.each([
    ["of a record we do not have", 1, "LEDGER_BEHIND_GATEWAY"],
    ["of another record at our place", 0, "LEDGER_FORKED"],
  ])("an acknowledgement: %s locks", (_, ahead, code) => {
    const { kit } = signed();
    const head = { seq: kit.core.heads.head.seq + ahead, hash: "ab".repeat(32) };
    expect(kit.release(kit.gateway.ack(head))).toMatchObject({
      code: "SIGNER_LOCKED",
      detail: code,
    });
    expect(kit.left.size).toBe(0);
  });
});

describe("the time of the ledger", () => {
  const run = {
    handshakeDone: true,
    orders: { isWhole: false },
    gatewayAt: 1_000_000,
    receivedAt: 500,
    chainLeadMs: Number.NEGATIVE_INFINITY,
  };

  it.each([
    ["stands before the handshake", { ...run, handshakeDone: false }, 9_000_000, 600, 0],
    [
      "goes on with a recovery offer for this run",
      { ...run, handshakeDone: false, orders: { isWhole: true } },
      1_000_100,
      600,
      1_000_100,
    ],
    ["is the local clock's", run, 1_000_100, 600, 1_000_100],
    ["is the local clock's up to ten minutes ahead", run, 1_600_100, 600, 1_600_100],
    ["and goes no further", run, 1_600_101, 600, 1_600_100],
    ["but on with the time that passes", run, 9_000_000, 700, 1_600_200],
    [
      "stands where both clocks are an hour ahead of every block",
      { ...run, chainLeadMs: -2_600_601 },
      1_000_100,
      600,
      0,
    ],
    ["goes on within the hour", { ...run, chainLeadMs: -2_600_500 }, 1_000_100, 600, 1_000_100],
    ["is whole milliseconds", run, 9_000_000, 600.7, 1_600_100],
  ])("the time of the ledger: %s", (_, given, local, monotonic, time) => {
    expect(ledgerTime(given, local, monotonic)).toBe(time);
  });

  it("is that of the newest record until the handshake with the gateway is complete, whatever the local clock says", () => {
    const kit = new Kit();
    kit.skew = 600_001;
    kit.now += 1;
    expect(kit.handshake().code).toBe("CLOCK_SKEW");
    expect(kit.handshake().code).toBe("CLOCK_SKEW");
    expect(kit.records().slice(1)).toMatchObject([
      { kind: "ALARM", code: "CLOCK_SKEW", at: begun },
    ]);
    kit.skew = 600_000;
    expect(kit.handshake().ok).toBe(true);
    kit.begin("5");
    expect(kit.records().at(-1)).toMatchObject({ kind: "ADOPTED", at: begun + 600_001 });
    kit.skew = 86_400_000;
    kit.begin("6");
    expect(kit.records().at(-1)).toMatchObject({ kind: "ADOPTED", at: begun + 600_001 });
    // The next handshake shows that the clock has jumped: time stands, and nothing is signed.
    kit.now += 1;
    expect(kit.handshake().code).toBe("CLOCK_SKEW");
    expect(kit.ask("hello").handshakeDone).toBe(false);
    kit.skew = 0;
    expect(kit.handshake().ok).toBe(true);
  });

  it("is never moved back by jobs and acknowledgements that were held up, nor by an old handshake", () => {
    const kit = new Kit();
    const old = kit.gateway.welcome(kit.nonce);
    kit.now += 599_000;
    kit.ready();
    kit.request();
    kit.receive();
    kit.admit(kit.gateway.jobs([], { at: begun }));
    kit.release(kit.gateway.ack(kit.gateway.stored!, { at: begun }));
    expect(kit.signer.run).toMatchObject({
      gatewayAt: begun + 599_000,
      receivedAt: begun + 599_000,
    });
    kit.now += 2_000;
    expect(kit.admit(old).code).toBe("CLOCK_SKEW");
    expect(kit.kinds()).not.toContain("ALARM");
    expect(kit.ask("hello").handshakeDone).toBe(true);
  });

  it("that is ahead of the gateway's, as an old ledger may be, is told to an operator", () => {
    const kit = new Kit();
    kit.now -= 600_000;
    expect(kit.handshake().ok).toBe(true);
    expect(kit.kinds()).toEqual(["PAIRED"]);
    kit.now -= 1;
    kit.start();
    expect(kit.handshake().ok).toBe(true);
    expect(kit.records().at(-1)).toMatchObject({ kind: "ALARM", code: "CLOCK_SKEW", at: begun });
  });

  it("takes no job and no acknowledgement from a clock more than ten minutes away, and both at ten", () => {
    const kit = waiting();
    const count = kit.records().length;
    for (const at of [kit.now - 600_001, kit.now + 600_001]) {
      expect(take(kit, { at }).code).toBe("CLOCK_SKEW");
      expect(kit.release(kit.gateway.ack(kit.core.heads.head, { at })).code).toBe("CLOCK_SKEW");
    }
    expect(kit.records()).toHaveLength(count);
    expect(take(kit, { at: kit.now - 600_000 }).ok).toBe(true);
    expect(kit.release(kit.gateway.ack(kit.core.heads.head, { at: kit.now + 600_000 })).ok).toBe(
      true,
    );
  });
});
