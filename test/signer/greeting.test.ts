/**
 * The weight of the gateway's messages for the signer: greeting, echo, acknowledgement, and the
 * time that they lend the ledger.
 */
import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ledgerTime } from "../../agent/signer/state/ledger-time.ts";
import { begun, facts, Rig } from "../../lab/rig/signer-rig.ts";
import type { Statement } from "../../protocol/messages.ts";
import { parseStatement } from "../../protocol/payloads.ts";

const foreignKey = generateKeyPairSync("ed25519").privateKey;

/** A greeted rig with one job waiting in the gateway's chain. */
function waiting(): Rig {
  const rig = new Rig().ready();
  rig.gateway.job();
  return rig;
}

const lastText = (rig: Rig): string => rig.gateway.texts.at(-1)!;
const take = (rig: Rig, change: object = {}) => rig.admit(rig.gateway.jobs([lastText(rig)], { at: rig.now, ...change }));

describe("that the greeting was taken", () => {
  const report = (rig: Rig, after = rig.core.heads.acked.seq): readonly Statement[] =>
    rig.ask("report", { after }).frames.map((frame) => parseStatement(frame.subarray(66)));
  const welcomed = (rig: Rig, digit: string, change: object = {}) =>
    rig.admit(rig.gateway.welcome(rig.nonce, { challenge: digit.repeat(64), at: ++rig.now, ...change }));

  it("the word that the greeting was taken is said whenever it is asked for, without a record, by the acknowledged head", () => {
    const rig = new Rig().ready();
    rig.pay();
    rig.acknowledge();
    const records = rig.records().length;
    for (const digit of ["1", "2"]) {
      expect(welcomed(rig, digit).ok).toBe(true);
      const { acked } = rig.core.heads;
      const word = { greeted: digit.repeat(64), after: acked.seq, previous: acked.hash, head: acked, entries: [] };
      // The first answer may have arrived, or the line may have lost it.
      for (let times = 0; times < 2; times += 1) expect(report(rig)).toMatchObject([word]);
    }
    expect(rig.records()).toHaveLength(records);
  });

  it("the word that the greeting was taken is said by the newest record that was told, and not by one acknowledged before it", () => {
    const rig = new Rig().ready();
    rig.pay();
    rig.acknowledge();
    const { acked } = rig.core.heads;
    rig.request();
    const told = report(rig).at(-1)?.head ?? acked;
    expect(told.seq).toBeGreaterThan(acked.seq);
    expect(welcomed(rig, "1").ok).toBe(true);
    expect(report(rig, told.seq)).toMatchObject([
      { greeted: "1".repeat(64), after: told.seq, previous: told.hash, head: told, entries: [] },
    ]);
    expect(welcomed(rig, "2").ok).toBe(true);
    // Nothing so new was reported, so the word falls back to the acknowledged head.
    const { acked: held } = rig.core.heads;
    expect(report(rig, rig.core.heads.head.seq + 9).at(-1)).toMatchObject({ greeted: "2".repeat(64), head: held });
  });

  it("the word that the greeting was taken is said by the ledger's head before the first acknowledgement, and only once it is taken", () => {
    const rig = new Rig();
    expect(report(rig)).toEqual([]);
    welcomed(rig, "1");
    expect(report(rig)).toMatchObject([
      { greeted: "1".repeat(64), after: 0, previous: "0".repeat(64), head: rig.core.heads.head },
    ]);
    rig.start();
    expect(report(rig)).toEqual([]);
  });

  it("the word that the greeting was taken stands in every statement, and none is said while the gateway is told again", () => {
    const rig = new Rig().ready();
    rig.pay();
    rig.acknowledge();
    welcomed(rig, "1");
    rig.request();
    expect(report(rig)).toMatchObject([{ greeted: "1".repeat(64) }]);
    expect(welcomed(rig, "2", { jobs: { sequence: 0, hash: "0".repeat(64) } }).ok).toBe(true);
    expect(report(rig)).toMatchObject([{ greeted: "" }]);
  });

  it("the word that the greeting was taken is not said by a locked signer", () => {
    const rig = new Rig().ready();
    rig.pay();
    welcomed(rig, "1", { echo: { seq: rig.core.heads.acked.seq, hash: "ab".repeat(32) } });
    expect(rig.core.locked?.code).toBe("LEDGER_FORKED");
    expect(welcomed(rig, "2").ok).toBe(true);
    for (const { greeted } of report(rig)) expect(greeted).toBe("");
    rig.start();
    welcomed(rig, "3");
    for (const { greeted } of report(rig)) expect(greeted).toBe("");
  });
});

describe("the greeting", () => {
  it("the greeting opens signing only when it answers this run", () => {
    const rig = new Rig();
    expect(rig.admit(rig.gateway.welcome("00".repeat(32))).code).toBe("WELCOME_OTHER_RUN");
    expect(rig.ask("hello").greeted).toBe(false);
    const old = rig.gateway.welcome(rig.nonce);
    expect(rig.admit(old).ok).toBe(true);
    expect(rig.ask("hello").greeted).toBe(true);
    rig.start();
    expect(rig.admit(old).code).toBe("WELCOME_OTHER_RUN");
    expect(rig.ask("hello").greeted).toBe(false);
  });

  it.each([
    ["agent", { agent: "bb".repeat(8) }, "ADMISSION_OTHER_AGENT"],
    ["wallet", { wallet: "bb".repeat(16) }, "ADMISSION_OTHER_WALLET"],
    ["epoch", { epoch: 2 }, "ADMISSION_OTHER_EPOCH"],
  ])("the greeting for another %s does not open signing", (_, change, code) => {
    const rig = new Rig();
    expect(rig.admit(rig.gateway.welcome(rig.nonce, change)).code).toBe(code);
    expect(rig.ask("hello").greeted).toBe(false);
  });

  it("the greeting looks at the ledger before it writes: an alarm of the clocks is no record for a forgotten one's place", () => {
    const rig = new Rig().ready();
    rig.acknowledge();
    const backup = rig.disk.crash();
    rig.request({ currency: "eth", amount: "1.5" });
    rig.hear();
    rig.disk = backup;
    rig.start();
    const before = rig.records().length;
    const apart = rig.gateway.welcome(rig.nonce, { at: rig.now + 120_000, echo: { ...rig.gateway.stored!, seq: before + 1 } });
    expect(rig.admit(apart)).toMatchObject({ code: "SIGNER_LOCKED", detail: "LEDGER_BEHIND_GATEWAY" });
    expect(rig.records().slice(before)).toMatchObject([{ kind: "LOCKED", code: "LEDGER_BEHIND_GATEWAY" }]);
  });

  it("the greeting locks a ledger that is behind what the gateway holds, permanently", () => {
    const rig = new Rig().ready();
    rig.pay();
    const backup = rig.disk.crash();
    const { transactionId } = rig.pay();
    rig.disk = backup;
    rig.start();
    expect(rig.ask("sign", { transactionId, facts }).code).toBe("SIGNER_NOT_GREETED");
    expect(rig.greet()).toMatchObject({ ok: false, code: "SIGNER_LOCKED", detail: "LEDGER_BEHIND_GATEWAY" });
    expect(rig.pushes).toContainEqual({ push: "locked", code: "LEDGER_BEHIND_GATEWAY" });
    for (let run = 0; run < 2; run++) {
      expect(rig.ask("sign", { transactionId, facts })).toMatchObject({ code: "SIGNER_LOCKED", detail: "LEDGER_BEHIND_GATEWAY" });
      expect(rig.ask("replace", { transactionId, above: 1, facts }).code).toBe("SIGNER_LOCKED");
      expect(rig.release(rig.gateway.ack(rig.core.heads.head)).code).toBe("SIGNER_LOCKED");
      expect(rig.admit(rig.gateway.jobs([])).code).toBe("SIGNER_LOCKED");
      rig.start();
    }
  });

  it("the greeting locks when the gateway holds another record at the same place", () => {
    const rig = new Rig().ready();
    const echo = { seq: rig.core.heads.head.seq, hash: "ab".repeat(32) };
    expect(rig.admit(rig.gateway.welcome(rig.nonce, { echo }))).toMatchObject({ code: "SIGNER_LOCKED", detail: "LEDGER_FORKED" });
  });

  it("the greeting waits for a gateway that lost jobs or reports to be told again; a replayed one greets nobody", () => {
    const rig = new Rig().ready();
    const early = rig.gateway.welcome(rig.nonce, { at: rig.now });
    rig.pay();
    expect(rig.admit(early).code).toBe("WELCOME_STALE");
    expect(rig.ask("hello").greeted).toBe(true);
    rig.now += 1;
    const fitting = rig.gateway.welcome(rig.nonce, { at: rig.now - 1 });
    const jobs = { sequence: 0, hash: "0".repeat(64) };
    expect(rig.admit(rig.gateway.welcome(rig.nonce, { at: rig.now, jobs })).ok).toBe(true);
    expect(rig.ask("hello")).toMatchObject({ greeted: false, locked: "" });
    expect(rig.operate("status").status).toMatchObject({ isTellingAgain: true, locked: "" });
    // An old greeting that fits, kept by an attacker on the line, takes nothing back.
    expect(rig.admit(fitting).code).toBe("WELCOME_STALE");
    expect(rig.ask("hello").greeted).toBe(false);
    rig.now += 1;
    expect(rig.admit(rig.gateway.welcome(rig.nonce, { at: rig.now, echo: null })).ok).toBe(true);
    expect(rig.ask("hello").greeted).toBe(false);
    rig.now += 1;
    expect(rig.greet().ok).toBe(true);
    expect(rig.operate("status").status).toMatchObject({ greeted: true, isTellingAgain: false });
  });

  it("the greeting of a gateway that lost something is refused by a locked ledger, which reports to it all the same", () => {
    const rig = new Rig().ready();
    rig.pay();
    const { sequence, hash } = rig.core.chain;
    rig.admit(rig.gateway.welcome(rig.nonce, { at: rig.now + 1, jobs: { sequence, hash: "ab".repeat(32) } }));
    expect(rig.core.locked).toMatchObject({ code: "LEDGER_FORKED" });
    const fitting = { at: rig.now + 2, echo: rig.core.heads.acked, jobs: { sequence, hash } };
    expect(rig.admit(rig.gateway.welcome(rig.nonce, fitting)).ok).toBe(true);
    for (const [index, lost] of [{ echo: null }, { jobs: { sequence: 0, hash: "0".repeat(64) } }].entries()) {
      const at = rig.now + 3 + index;
      expect(rig.admit(rig.gateway.welcome(rig.nonce, { ...fitting, ...lost, at })).ok).toBe(true);
      expect(rig.operate("status").status).toMatchObject({ isTellingAgain: true, locked: "LEDGER_FORKED" });
    }
    expect(rig.core.locked).toMatchObject({ code: "LEDGER_FORKED" });
  });

  it("the greeting locks when the newest job has another hash", () => {
    const rig = new Rig().ready();
    rig.request();
    const jobs = { sequence: 1, hash: "ab".repeat(32) };
    expect(rig.admit(rig.gateway.welcome(rig.nonce, { at: rig.now + 1, jobs })).detail).toBe("LEDGER_FORKED");
  });

  it("the greeting is refused while the clocks are more than ten minutes apart, and says so from a minute on", () => {
    const rig = new Rig();
    expect(rig.admit(rig.gateway.welcome(rig.nonce, { at: rig.now + 600_001 })).code).toBe("CLOCK_SKEW");
    expect(rig.records().at(-1)).toMatchObject({ kind: "ALARM", code: "CLOCK_SKEW" });
    rig.start();
    expect(rig.admit(rig.gateway.welcome(rig.nonce, { at: rig.now - 600_000 })).ok).toBe(true);
    rig.start();
    const before = rig.records().length;
    expect(rig.admit(rig.gateway.welcome(rig.nonce, { at: rig.now + 60_000 })).ok).toBe(true);
    expect(rig.records()).toHaveLength(before);
  });

  it("the greeting stands for an acknowledgement that was lost on the way", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    rig.ask("sign", { transactionId, facts });
    rig.hear();
    rig.start();
    expect(rig.show(transactionId).state).toBe("signed");
    expect(rig.greet().withdrawals).toMatchObject([{ transactionId, state: "released" }]);
    expect(rig.pushes).toContainEqual(
      expect.objectContaining({ push: "changed", withdrawal: expect.objectContaining({ state: "released" }) }),
    );
  });
});

describe("the echo in an envelope of jobs", () => {
  it("an echo older than the acknowledged head is refused, and locks nothing", () => {
    const rig = new Rig().ready();
    rig.request();
    const old = rig.gateway.jobs(rig.gateway.texts);
    rig.acknowledge();
    expect(rig.admit(old).code).toBe("JOB_ECHO_STALE");
    expect(rig.core.locked).toBeNull();
    expect(rig.admit(rig.gateway.jobs(rig.gateway.texts)).ok).toBe(true);
  });

  it.each([
    ["ahead of the ledger", 1, "LEDGER_BEHIND_GATEWAY"],
    ["with another hash", 0, "LEDGER_FORKED"],
  ])("the echo in an envelope of jobs: %s locks", (_, ahead, code) => {
    const rig = waiting();
    const echo = { seq: rig.core.heads.head.seq + ahead, hash: "ab".repeat(32) };
    expect(take(rig, { echo })).toMatchObject({ code: "SIGNER_LOCKED", detail: code });
  });
});

describe("an acknowledgement", () => {
  /** Signed, known to the gateway, not yet acknowledged. */
  function signed(): { rig: Rig; transactionId: string } {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    rig.acknowledge();
    rig.ask("sign", { transactionId, facts });
    return { rig, transactionId };
  }

  it("an acknowledgement releases what it covers, once", () => {
    const { rig, transactionId } = signed();
    expect(rig.left.size).toBe(0);
    expect(rig.acknowledge().withdrawals).toMatchObject([{ transactionId, state: "released" }]);
    expect(rig.left.size).toBe(1);
    const before = rig.records().length;
    expect(rig.acknowledge()).toMatchObject({ ok: true, withdrawals: [] });
    expect(rig.records()).toHaveLength(before);
  });

  it("an acknowledgement that is older, foreign, altered or for another agent or epoch releases nothing", () => {
    const { rig } = signed();
    const { acked, head } = rig.core.heads;
    expect(rig.release(rig.gateway.ack(acked)).withdrawals).toEqual([]);
    expect(rig.release(rig.gateway.ack({ seq: 1, hash: rig.records()[0]!.hash })).withdrawals).toEqual([]);
    expect(rig.release(rig.gateway.ack(head, {}, foreignKey)).code).toBe("ENVELOPE_SIGNATURE");
    expect(rig.release(rig.gateway.ack(head, { agent: "bb".repeat(8) })).code).toBe("ADMISSION_OTHER_AGENT");
    expect(rig.release(rig.gateway.ack(head, { epoch: 2 })).code).toBe("ADMISSION_OTHER_EPOCH");
    const altered = Uint8Array.from(rig.gateway.ack(head));
    altered[altered.length - 2]! ^= 1;
    expect(rig.release(altered).code).toBe("ENVELOPE_SIGNATURE");
    expect(rig.left.size).toBe(0);
    expect(rig.release(rig.gateway.ack(head)).withdrawals).toHaveLength(1);
  });

  it("an acknowledgement that ends one record before SIGNED does not release it", () => {
    const { rig } = signed();
    const before = rig.records().at(-2)!;
    expect(rig.release(rig.gateway.ack({ seq: before.seq, hash: before.hash })).withdrawals).toEqual([]);
    expect(rig.left.size).toBe(0);
    const last = rig.records().find((record) => record.kind === "SIGNED")!;
    expect(rig.release(rig.gateway.ack({ seq: last.seq, hash: last.hash })).withdrawals).toHaveLength(1);
  });

  it.each([
    ["of a record we do not have", 1, "LEDGER_BEHIND_GATEWAY"],
    ["of another record at our place", 0, "LEDGER_FORKED"],
  ])("an acknowledgement: %s locks", (_, ahead, code) => {
    const { rig } = signed();
    const head = { seq: rig.core.heads.head.seq + ahead, hash: "ab".repeat(32) };
    expect(rig.release(rig.gateway.ack(head))).toMatchObject({ code: "SIGNER_LOCKED", detail: code });
    expect(rig.left.size).toBe(0);
  });
});

describe("the time of the ledger", () => {
  const heard = {
    greeted: true,
    orders: { isWhole: false },
    gatewayAt: 1_000_000,
    heardAt: 500,
    chainLeadMs: Number.NEGATIVE_INFINITY,
  };

  it.each([
    ["stands before the greeting", { ...heard, greeted: false }, 9_000_000, 600, 0],
    [
      "goes on with a recovery order for this run",
      { ...heard, greeted: false, orders: { isWhole: true } },
      1_000_100,
      600,
      1_000_100,
    ],
    ["is the local clock's", heard, 1_000_100, 600, 1_000_100],
    ["is the local clock's up to ten minutes ahead", heard, 1_600_100, 600, 1_600_100],
    ["and goes no further", heard, 1_600_101, 600, 1_600_100],
    ["but on with the time that passes", heard, 9_000_000, 700, 1_600_200],
    ["stands where both clocks are an hour ahead of every block", { ...heard, chainLeadMs: -2_600_601 }, 1_000_100, 600, 0],
    ["goes on within the hour", { ...heard, chainLeadMs: -2_600_500 }, 1_000_100, 600, 1_000_100],
    ["is whole milliseconds", heard, 9_000_000, 600.7, 1_600_100],
  ])("the time of the ledger: %s", (_, given, local, monotonic, time) => {
    expect(ledgerTime(given, local, monotonic)).toBe(time);
  });

  it("the time of the ledger is that of the newest record until the gateway greets, whatever the local clock says", () => {
    const rig = new Rig();
    rig.skew = 600_001;
    rig.now += 1;
    expect(rig.greet().code).toBe("CLOCK_SKEW");
    expect(rig.greet().code).toBe("CLOCK_SKEW");
    expect(rig.records().slice(1)).toMatchObject([{ kind: "ALARM", code: "CLOCK_SKEW", at: begun }]);
    rig.skew = 600_000;
    expect(rig.greet().ok).toBe(true);
    rig.begin("5");
    expect(rig.records().at(-1)).toMatchObject({ kind: "ADOPTED", at: begun + 600_001 });
    rig.skew = 86_400_000;
    rig.begin("6");
    expect(rig.records().at(-1)).toMatchObject({ kind: "ADOPTED", at: begun + 600_001 });
    // The next greeting shows that the clock has jumped: time stands, and nothing is signed.
    rig.now += 1;
    expect(rig.greet().code).toBe("CLOCK_SKEW");
    expect(rig.ask("hello").greeted).toBe(false);
    rig.skew = 0;
    expect(rig.greet().ok).toBe(true);
  });

  it("the time of the ledger is never moved back by jobs and acknowledgements that were held up, nor by an old greeting", () => {
    const rig = new Rig();
    const old = rig.gateway.welcome(rig.nonce);
    rig.now += 599_000;
    rig.ready();
    rig.request();
    rig.hear();
    rig.admit(rig.gateway.jobs([], { at: begun }));
    rig.release(rig.gateway.ack(rig.gateway.stored!, { at: begun }));
    expect(rig.signer.run).toMatchObject({ gatewayAt: begun + 599_000, heardAt: begun + 599_000 });
    rig.now += 2_000;
    expect(rig.admit(old).code).toBe("CLOCK_SKEW");
    expect(rig.kinds()).not.toContain("ALARM");
    expect(rig.ask("hello").greeted).toBe(true);
  });

  it("the time of the ledger that is ahead of the gateway's, as an old ledger may be, is told to a person", () => {
    const rig = new Rig();
    rig.now -= 600_000;
    expect(rig.greet().ok).toBe(true);
    expect(rig.kinds()).toEqual(["PAIRED"]);
    rig.now -= 1;
    rig.start();
    expect(rig.greet().ok).toBe(true);
    expect(rig.records().at(-1)).toMatchObject({ kind: "ALARM", code: "CLOCK_SKEW", at: begun });
  });

  it("the time of the ledger takes no job and no acknowledgement from a clock more than ten minutes away, and both at ten", () => {
    const rig = waiting();
    const count = rig.records().length;
    for (const at of [rig.now - 600_001, rig.now + 600_001]) {
      expect(take(rig, { at }).code).toBe("CLOCK_SKEW");
      expect(rig.release(rig.gateway.ack(rig.core.heads.head, { at })).code).toBe("CLOCK_SKEW");
    }
    expect(rig.records()).toHaveLength(count);
    expect(take(rig, { at: rig.now - 600_000 }).ok).toBe(true);
    expect(rig.release(rig.gateway.ack(rig.core.heads.head, { at: rig.now + 600_000 })).ok).toBe(true);
  });
});
