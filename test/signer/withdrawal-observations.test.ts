/**
 * The courier's reports of the chain: stages and ends of a withdrawal, the account's own count, and
 * a nonce that an unknown transaction used.
 */
import { describe, expect, it } from "vitest";
import { hotWallet, Kit, txParams } from "../../lab/kit/signer-kit.ts";

describe("an observation", () => {
  const released = () => {
    const kit = new Kit().ready();
    const { transactionId, attempts } = kit.pay();
    const { txHash } = attempts[0]!;
    const see = (stage: string, outcome = "", hash = txHash, block = 3) =>
      kit.ask("observed", { transactionId, stage, outcome, txHash: hash, block });
    return { kit, transactionId, see };
  };

  it("goes forward, except for a reorganisation, and ends permanently", () => {
    const { kit, transactionId, see } = released();
    for (const stage of ["broadcast", "included", "broadcast", "included"])
      expect(see(stage).withdrawal.state).toBe(stage);
    expect(see("final", "reverted").withdrawal.state).toBe("reverted");
    const before = kit.records().length;
    expect(see("final", "reverted").ok).toBe(true);
    expect(see("included").code).toBe("WITHDRAWAL_CLOSED");
    expect(kit.records()).toHaveLength(before);
    expect(kit.show(transactionId).state).toBe("reverted");
    // The reported end may be a lie until the gateway has confirmed one.
    expect(see("final", "paid").withdrawal.state).toBe("paid");
    kit.acknowledge();
    expect(see("final", "reverted").code).toBe("WITHDRAWAL_CLOSED");
    expect(kit.show(transactionId)).toMatchObject({ state: "paid", isOver: true });
  });

  it("of an end is taken a bounded number of times", () => {
    const { kit, see } = released();
    for (let i = 0; i < 150; i++)
      expect(see("final", i % 2 === 0 ? "paid" : "reverted").ok).toBe(true);
    for (let i = 0; i < 60; i++) see("final", i % 2 === 0 ? "paid" : "reverted");
    expect(see("final", "conflicted").code).toBe("WITHDRAWAL_TOO_MANY_OBSERVATIONS");
    kit.acknowledge();
    expect(kit.core.book.openCount).toBe(0);
  });

  it("a repeated observation records nothing; another block or hash does", () => {
    const { kit, transactionId, see } = released();
    see("included");
    const before = kit.records().length;
    expect(see("included").ok).toBe(true);
    expect(kit.records()).toHaveLength(before);
    expect(see("included", "", undefined, 4).ok).toBe(true);
    expect(kit.records()).toHaveLength(before + 1);
    expect(kit.show(transactionId).state).toBe("included");
  });

  it("of a transaction that is not ours is refused, unless it took our slot", () => {
    const { kit, see } = released();
    expect(see("included", "", "0xfeed").code).toBe("WITHDRAWAL_OTHER_TRANSACTION");
    expect(see("final", "paid", "0xfeed").code).toBe("WITHDRAWAL_OTHER_TRANSACTION");
    expect(see("final").code).toBe("WITHDRAWAL_OBSERVATION");
    expect(see("included", "paid").code).toBe("WITHDRAWAL_OBSERVATION");
    const fresh = kit.request().transactionId;
    expect(
      kit.ask("observed", {
        transactionId: fresh,
        stage: "final",
        outcome: "conflicted",
        txHash: "",
        block: 0,
      }).code,
    ).toBe("WITHDRAWAL_NOT_RELEASED");
    expect(see("final", "conflicted", "").withdrawal.state).toBe("conflicted");
  });

  it("observations to and fro without end stop being recorded, and the end still is", () => {
    const { see } = released();
    let refused = 0;
    for (let i = 0; i < 220; i++)
      if (see(i % 2 === 0 ? "included" : "broadcast").code === "WITHDRAWAL_TOO_MANY_OBSERVATIONS")
        refused += 1;
    expect(refused).toBe(10); // every other one repeats the last that was recorded
    expect(see("final", "paid").ok).toBe(true);
  });
});

describe("the account's own count", () => {
  it("a count ahead of ours is an alarm at once and a lock when it stays for a minute", () => {
    const kit = new Kit();
    kit.handshake();
    const count = (nonce: string, quorum = 2) =>
      kit.ask("account", { chain: "local", slot: nonce, quorum });
    expect(count("99").ok).toBe(true);
    kit.begin("5");
    expect(count("5").ok).toBe(true);
    expect(count("6", 1).ok).toBe(true);
    const before = kit.records().length;
    count("6");
    expect(kit.records().at(-1)).toMatchObject({ kind: "ALARM", code: "CHAIN_SLOT_AHEAD" });
    kit.now += 59_999;
    expect(count("6").ok).toBe(true);
    expect(kit.records()).toHaveLength(before + 1);
    count("5");
    kit.now += 1;
    expect(count("6").ok).toBe(true);
    kit.now += 60_000;
    expect(count("6")).toMatchObject({ code: "SIGNER_LOCKED", detail: "CHAIN_SLOT_FOREIGN" });
    expect(kit.records().at(-1)).toMatchObject({ kind: "LOCKED", code: "CHAIN_SLOT_FOREIGN" });
  });
});

describe("a courier that once made nodes up", () => {
  it("silences honest ones after it for two minutes and no longer", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request();
    const count = (nonce: string, quorum: number) =>
      kit.ask("account", { chain: "local", slot: nonce, quorum });
    count("6", 5);
    const sign = () => kit.ask("sign", { transactionId, txParams });
    expect(sign().code).toBe("ACCOUNT_BEHIND");
    kit.now += 119_999;
    count("5", 1);
    expect(sign().code).toBe("ACCOUNT_BEHIND");
    kit.now += 1;
    count("5", 1);
    expect(sign().withdrawal).toMatchObject({ slot: "5" });
  });

  it("is believed itself as long as nobody says more: one of two nodes alone moves nothing", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request();
    const count = (nonce: string, quorum: number) =>
      kit.ask("account", { chain: "local", slot: nonce, quorum });
    for (let minute = 0; minute < 5; minute++) {
      count("5", 2);
      count("9", 1);
      kit.now += 60_000;
    }
    expect(kit.ask("sign", { transactionId, txParams }).withdrawal).toMatchObject({ slot: "5" });
  });
});

describe("while the chain counts past the ledger", () => {
  const tell = (kit: Kit, nonce: string) =>
    kit.ask("account", { chain: "local", slot: nonce, quorum: 2 });

  it("no new slot is assigned from the first report on; a withdrawal with a slot goes on", () => {
    const kit = new Kit().ready();
    const assigned = kit.pay().transactionId;
    const { transactionId } = kit.request();
    tell(kit, "7");
    const detail = "the chain counts 7 transactions, the ledger 6";
    expect(kit.ask("sign", { transactionId, txParams })).toMatchObject({
      code: "ACCOUNT_BEHIND",
      detail,
    });
    expect(kit.show(transactionId)).toMatchObject({ state: "approved", slot: "" });
    expect(
      kit.ask("replace", { transactionId: assigned, above: 1, txParams }).withdrawal.attempts,
    ).toHaveLength(2);
    // A count that is lower again was a lag or a lie, and no longer stops the account.
    tell(kit, "6");
    expect(kit.ask("sign", { transactionId, txParams }).withdrawal).toMatchObject({ slot: "6" });
  });

  it("a count past the ledger that was told before the handshake was complete binds nothing new either", () => {
    const kit = new Kit().ready();
    kit.pay();
    const { transactionId } = kit.request();
    kit.acknowledge();
    kit.crash();
    expect(tell(kit, "7").code).toBe("SIGNER_NO_HANDSHAKE");
    kit.handshake();
    expect(kit.ask("sign", { transactionId, txParams }).code).toBe("ACCOUNT_BEHIND");
  });
});

describe("a nonce that was assigned and went to a foreign transaction", () => {
  const lose = (kit: Kit, transactionId: string) =>
    kit.ask("observed", {
      transactionId,
      stage: "final",
      outcome: "conflicted",
      txHash: "",
      block: 0,
    });
  const two = () => {
    const kit = new Kit().ready();
    const [first, second] = [kit.pay(), kit.pay()];
    return {
      kit,
      first: first.transactionId,
      second: second.transactionId,
      queued: kit.request().transactionId,
    };
  };

  it("is an alarm and a lock at once, though the chain counts no more than the ledger", () => {
    const { kit, first, second, queued } = two();
    expect(kit.ask("account", { chain: "local", slot: "7", quorum: 2 }).ok).toBe(true);
    const before = kit.records().length;
    expect(lose(kit, first).withdrawal.state).toBe("conflicted");
    const detail = expect.stringContaining(`nonce 5 of ${hotWallet} was bound to ${first}`);
    expect(kit.records().slice(before)).toMatchObject([
      { kind: "ALARM", code: "CHAIN_SLOT_CONFLICTED", detail },
      { kind: "LOCKED", code: "CHAIN_SLOT_FOREIGN", detail },
      { kind: "OBSERVED", transactionId: first, outcome: "conflicted" },
    ]);
    expect(kit.pushes).toContainEqual({ push: "locked", code: "CHAIN_SLOT_FOREIGN" });
    const stopped = { code: "SIGNER_LOCKED", detail: "CHAIN_SLOT_FOREIGN" };
    expect(kit.ask("sign", { transactionId: queued, txParams })).toMatchObject(stopped);
    expect(kit.ask("replace", { transactionId: second, above: 1, txParams })).toMatchObject(
      stopped,
    );
    expect(lose(kit, second).withdrawal.state).toBe("conflicted");
    kit.start();
    expect(kit.handshake().ok).toBe(true);
    expect(kit.ask("sign", { transactionId: queued, txParams })).toMatchObject(stopped);
    expect(kit.show(queued).state).toBe("approved");
    expect(kit.operate("status").status).toMatchObject({
      locked: "CHAIN_SLOT_FOREIGN",
      lockedDetail: detail,
    });
    expect(kit.kinds().filter((kind) => kind === "INTENT")).toHaveLength(2);
    kit.receive();
    const alarms = kit.statements.flatMap(({ entries }) =>
      entries.filter((entry) => entry.kind === "alarm"),
    );
    expect(alarms).toMatchObject([
      { code: "CHAIN_SLOT_CONFLICTED", locked: false },
      { code: "CHAIN_SLOT_FOREIGN", locked: true },
    ]);
  });

  it("is no foreign use when an earlier attempt of the withdrawal paid it", () => {
    const { kit, first, queued } = two();
    kit.ask("replace", { transactionId: first, above: 1, txParams });
    kit.acknowledge();
    const [{ txHash } = { txHash: "" }] = kit.show(first).attempts;
    const end = { transactionId: first, stage: "final", outcome: "paid", txHash, block: 9 };
    expect(kit.ask("observed", end).withdrawal.state).toBe("paid");
    expect(kit.kinds()).not.toContain("ALARM");
    expect(kit.ask("sign", { transactionId: queued, txParams }).withdrawal.slot).toBe("7");
  });

  it.each([0, 1, 2, 3])(
    "stops the account after a crash too, %i of the three lines kept",
    (kept) => {
      const twin = two();
      lose(twin.kit, twin.first);
      const written = twin.kit.records().slice(-3);
      const { kit, first, queued } = two();
      const before = kit.records().length;
      kit.send("observed", {
        transactionId: first,
        stage: "final",
        outcome: "conflicted",
        txHash: "",
        block: 0,
      });
      const macBytes = kept < 3 ? 0 : ',"mac":""'.length + 64; // The last line has the MAC.
      const lineBytes = (record: object): number =>
        Buffer.byteLength(`${JSON.stringify(record)}\n`);
      kit.crash(
        written.slice(0, kept).reduce((bytes, record) => bytes + lineBytes(record), macBytes),
      );
      // The mark in the state folder is durable first: a lock that the disk lost is recorded again.
      expect(kit.records()).toHaveLength(before + (kept < 3 ? 1 : 3));
      expect(kit.core.locked?.code).toBe("CHAIN_SLOT_FOREIGN");
      expect(kit.show(first).state).toBe(kept < 3 ? "released" : "conflicted");
      kit.handshake();
      expect(lose(kit, first).withdrawal.state).toBe("conflicted");
      expect(kit.ask("sign", { transactionId: queued, txParams }).detail).toBe(
        "CHAIN_SLOT_FOREIGN",
      );
    },
  );

  it("is not accepted before the handshake: a restored ledger has another reason to stop", () => {
    const { kit, first } = two();
    kit.start();
    const before = kit.records().length;
    expect(lose(kit, first).code).toBe("SIGNER_NO_HANDSHAKE");
    expect(kit.records()).toHaveLength(before);
    kit.handshake();
    expect(lose(kit, first).withdrawal.state).toBe("conflicted");
    expect(kit.core.locked?.code).toBe("CHAIN_SLOT_FOREIGN");
  });
});
