/**
 * The courier's reports of the chain: stages and ends of a withdrawal, the account's own count, and
 * a nonce that an unknown transaction used.
 */
import { describe, expect, it } from "vitest";
import { facts, hot, Rig } from "../../lab/rig/signer-rig.ts";

describe("an observation", () => {
  const released = () => {
    const rig = new Rig().ready();
    const { transactionId, versions } = rig.pay();
    const { txHash } = versions[0]!;
    const see = (stage: string, outcome = "", hash = txHash, block = 3) =>
      rig.ask("observed", { transactionId, stage, outcome, txHash: hash, block });
    return { rig, transactionId, see };
  };

  it("an observation goes forward, except for a reorganisation, and ends permanently", () => {
    const { rig, transactionId, see } = released();
    for (const stage of ["broadcast", "included", "broadcast", "included"]) expect(see(stage).withdrawal.state).toBe(stage);
    expect(see("final", "reverted").withdrawal.state).toBe("reverted");
    const before = rig.records().length;
    expect(see("final", "reverted").ok).toBe(true);
    expect(see("included").code).toBe("WITHDRAWAL_CLOSED");
    expect(rig.records()).toHaveLength(before);
    expect(rig.show(transactionId).state).toBe("reverted");
    // The reported end may be a lie until the gateway has confirmed one.
    expect(see("final", "paid").withdrawal.state).toBe("paid");
    rig.acknowledge();
    expect(see("final", "reverted").code).toBe("WITHDRAWAL_CLOSED");
    expect(rig.show(transactionId)).toMatchObject({ state: "paid", isOver: true });
  });

  it("an observation of an end is taken a bounded number of times", () => {
    const { rig, see } = released();
    for (let i = 0; i < 150; i++) expect(see("final", i % 2 === 0 ? "paid" : "reverted").ok).toBe(true);
    for (let i = 0; i < 60; i++) see("final", i % 2 === 0 ? "paid" : "reverted");
    expect(see("final", "lost").code).toBe("WITHDRAWAL_TOO_MANY_OBSERVATIONS");
    rig.acknowledge();
    expect(rig.core.book.openCount).toBe(0);
  });

  it("a repeated observation records nothing; another block or hash does", () => {
    const { rig, transactionId, see } = released();
    see("included");
    const before = rig.records().length;
    expect(see("included").ok).toBe(true);
    expect(rig.records()).toHaveLength(before);
    expect(see("included", "", undefined, 4).ok).toBe(true);
    expect(rig.records()).toHaveLength(before + 1);
    expect(rig.show(transactionId).state).toBe("included");
  });

  it("an observation of a transaction that is not ours is refused, unless it took our token", () => {
    const { rig, see } = released();
    expect(see("included", "", "0xfeed").code).toBe("WITHDRAWAL_OTHER_TRANSACTION");
    expect(see("final", "paid", "0xfeed").code).toBe("WITHDRAWAL_OTHER_TRANSACTION");
    expect(see("final").code).toBe("WITHDRAWAL_OBSERVATION");
    expect(see("included", "paid").code).toBe("WITHDRAWAL_OBSERVATION");
    const fresh = rig.request().transactionId;
    expect(rig.ask("observed", { transactionId: fresh, stage: "final", outcome: "lost", txHash: "", block: 0 }).code).toBe(
      "WITHDRAWAL_NOT_RELEASED",
    );
    expect(see("final", "lost", "").withdrawal.state).toBe("lost");
  });

  it("observations to and fro without end stop being recorded, and the end still is", () => {
    const { see } = released();
    let refused = 0;
    for (let i = 0; i < 220; i++)
      if (see(i % 2 === 0 ? "included" : "broadcast").code === "WITHDRAWAL_TOO_MANY_OBSERVATIONS") refused += 1;
    expect(refused).toBe(10); // every other one repeats the last that was recorded
    expect(see("final", "paid").ok).toBe(true);
  });
});

describe("the account's own count", () => {
  it("a count ahead of ours is an alarm at once and a lock when it stays for a minute", () => {
    const rig = new Rig();
    rig.greet();
    const count = (nonce: string, witnesses = 2) => rig.ask("account", { chain: "local", slot: nonce, witnesses });
    expect(count("99").ok).toBe(true);
    rig.begin("5");
    expect(count("5").ok).toBe(true);
    expect(count("6", 1).ok).toBe(true);
    const before = rig.records().length;
    count("6");
    expect(rig.records().at(-1)).toMatchObject({ kind: "ALARM", code: "CHAIN_SLOT_AHEAD" });
    rig.now += 59_999;
    expect(count("6").ok).toBe(true);
    expect(rig.records()).toHaveLength(before + 1);
    count("5");
    rig.now += 1;
    expect(count("6").ok).toBe(true);
    rig.now += 60_000;
    expect(count("6")).toMatchObject({ code: "SIGNER_LOCKED", detail: "CHAIN_SLOT_FOREIGN" });
    expect(rig.records().at(-1)).toMatchObject({ kind: "LOCKED", code: "CHAIN_SLOT_FOREIGN" });
  });
});

describe("a courier that once made nodes up", () => {
  it("a courier that once made nodes up silences honest ones after it for two minutes and no longer", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    const count = (nonce: string, witnesses: number) => rig.ask("account", { chain: "local", slot: nonce, witnesses });
    count("6", 5);
    const sign = () => rig.ask("sign", { transactionId, facts });
    expect(sign().code).toBe("ACCOUNT_BEHIND");
    rig.now += 119_999;
    count("5", 1);
    expect(sign().code).toBe("ACCOUNT_BEHIND");
    rig.now += 1;
    count("5", 1);
    expect(sign().withdrawal).toMatchObject({ slot: "5" });
  });

  it("a courier that once made nodes up is heard itself as long as nobody says more: one of two nodes alone moves nothing", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    const count = (nonce: string, witnesses: number) => rig.ask("account", { chain: "local", slot: nonce, witnesses });
    for (let minute = 0; minute < 5; minute++) {
      count("5", 2);
      count("9", 1);
      rig.now += 60_000;
    }
    expect(rig.ask("sign", { transactionId, facts }).withdrawal).toMatchObject({ slot: "5" });
  });
});

describe("while the chain counts past the ledger", () => {
  const tell = (rig: Rig, nonce: string) => rig.ask("account", { chain: "local", slot: nonce, witnesses: 2 });

  it("nothing new is bound, from the first telling on; what is bound already goes on", () => {
    const rig = new Rig().ready();
    const bound = rig.pay().transactionId;
    const { transactionId } = rig.request();
    tell(rig, "7");
    const detail = "the chain counts 7 transactions, the ledger 6";
    expect(rig.ask("sign", { transactionId, facts })).toMatchObject({ code: "ACCOUNT_BEHIND", detail });
    expect(rig.show(transactionId)).toMatchObject({ state: "approved", slot: "" });
    expect(rig.ask("replace", { transactionId: bound, above: 1, facts }).withdrawal.versions).toHaveLength(2);
    // A count that is lower again was a lag or a lie, and no longer stops the account.
    tell(rig, "6");
    expect(rig.ask("sign", { transactionId, facts }).withdrawal).toMatchObject({ slot: "6" });
  });

  it("a count past the ledger that was told before the gateway greeted binds nothing new either", () => {
    const rig = new Rig().ready();
    rig.pay();
    const { transactionId } = rig.request();
    rig.acknowledge();
    rig.crash();
    expect(tell(rig, "7").code).toBe("SIGNER_NOT_GREETED");
    rig.greet();
    expect(rig.ask("sign", { transactionId, facts }).code).toBe("ACCOUNT_BEHIND");
  });
});

describe("a nonce that was bound and went to a foreign transaction", () => {
  const lose = (rig: Rig, transactionId: string) =>
    rig.ask("observed", { transactionId, stage: "final", outcome: "lost", txHash: "", block: 0 });
  const two = () => {
    const rig = new Rig().ready();
    const [first, second] = [rig.pay(), rig.pay()];
    return { rig, first: first.transactionId, second: second.transactionId, queued: rig.request().transactionId };
  };

  it("a nonce that was bound and went to a foreign transaction is an alarm and a lock at once, though the chain counts no more than the ledger", () => {
    const { rig, first, second, queued } = two();
    expect(rig.ask("account", { chain: "local", slot: "7", witnesses: 2 }).ok).toBe(true);
    const before = rig.records().length;
    expect(lose(rig, first).withdrawal.state).toBe("lost");
    const detail = expect.stringContaining(`nonce 5 of ${hot} was bound to ${first}`);
    expect(rig.records().slice(before)).toMatchObject([
      { kind: "ALARM", code: "CHAIN_SLOT_LOST", detail },
      { kind: "LOCKED", code: "CHAIN_SLOT_FOREIGN", detail },
      { kind: "OBSERVED", transactionId: first, outcome: "lost" },
    ]);
    expect(rig.pushes).toContainEqual({ push: "locked", code: "CHAIN_SLOT_FOREIGN" });
    const stopped = { code: "SIGNER_LOCKED", detail: "CHAIN_SLOT_FOREIGN" };
    expect(rig.ask("sign", { transactionId: queued, facts })).toMatchObject(stopped);
    expect(rig.ask("replace", { transactionId: second, above: 1, facts })).toMatchObject(stopped);
    expect(lose(rig, second).withdrawal.state).toBe("lost");
    rig.start();
    expect(rig.greet().ok).toBe(true);
    expect(rig.ask("sign", { transactionId: queued, facts })).toMatchObject(stopped);
    expect(rig.show(queued).state).toBe("approved");
    expect(rig.operate("status").status).toMatchObject({ locked: "CHAIN_SLOT_FOREIGN", lockedDetail: detail });
    expect(rig.kinds().filter((kind) => kind === "INTENT")).toHaveLength(2);
    rig.hear();
    const alarms = rig.statements.flatMap(({ entries }) => entries.filter((entry) => entry.kind === "alarm"));
    expect(alarms).toMatchObject([
      { code: "CHAIN_SLOT_LOST", locked: false },
      { code: "CHAIN_SLOT_FOREIGN", locked: true },
    ]);
  });

  it("a nonce that was bound and went to a foreign transaction is no foreign use when an earlier version of the withdrawal paid it", () => {
    const { rig, first, queued } = two();
    rig.ask("replace", { transactionId: first, above: 1, facts });
    rig.acknowledge();
    const [{ txHash } = { txHash: "" }] = rig.show(first).versions;
    const end = { transactionId: first, stage: "final", outcome: "paid", txHash, block: 9 };
    expect(rig.ask("observed", end).withdrawal.state).toBe("paid");
    expect(rig.kinds()).not.toContain("ALARM");
    expect(rig.ask("sign", { transactionId: queued, facts }).withdrawal.slot).toBe("7");
  });

  it.each([0, 1, 2])(
    "a nonce that was bound and went to a foreign transaction stops the account after a crash too, %i of the three records kept",
    (kept) => {
      const twin = two();
      lose(twin.rig, twin.first);
      const written = twin.rig.records().slice(-3);
      const { rig, first, queued } = two();
      const before = rig.records().length;
      rig.send("observed", { transactionId: first, stage: "final", outcome: "lost", txHash: "", block: 0 });
      const macBytes = ',"mac":""'.length + 64;
      const lineBytes = (record: object): number => Buffer.byteLength(`${JSON.stringify(record)}\n`) + macBytes;
      rig.crash(written.slice(0, kept).reduce((bytes, record) => bytes + lineBytes(record), 0));
      // The mark in the state folder is durable first: a lock that the disk lost is recorded again.
      expect(rig.records()).toHaveLength(before + kept + (kept < 2 ? 1 : 0));
      expect(rig.core.locked?.code).toBe("CHAIN_SLOT_FOREIGN");
      expect(rig.show(first).state).toBe("released");
      rig.greet();
      expect(lose(rig, first).withdrawal.state).toBe("lost");
      expect(rig.ask("sign", { transactionId: queued, facts }).detail).toBe("CHAIN_SLOT_FOREIGN");
    },
  );

  it("a nonce that was bound and went to a foreign transaction is not heard before the greeting: a restored ledger has another reason to stop", () => {
    const { rig, first } = two();
    rig.start();
    const before = rig.records().length;
    expect(lose(rig, first).code).toBe("SIGNER_NOT_GREETED");
    expect(rig.records()).toHaveLength(before);
    rig.greet();
    expect(lose(rig, first).withdrawal.state).toBe("lost");
    expect(rig.core.locked?.code).toBe("CHAIN_SLOT_FOREIGN");
  });
});
