/**
 * The signer as a whole, driven over its verbs on a disk in memory with real keys; and its process,
 * started as crypto starts it.
 */
import { Transaction } from "ethers";
import { describe, expect, it, vi } from "vitest";
import type { ListFilter } from "../../agent/socket/verbs.ts";
import { assertSafe } from "../../lab/kit/invariants.ts";
import { share } from "../../lab/kit/share.ts";
import {
  type AnyAnswer,
  hotWallet,
  Kit,
  shop,
  token,
  txParams,
  vault,
} from "../../lab/kit/signer-kit.ts";
import { requestMany } from "../support/many-requests.ts";
import { places, strideOfRun } from "../support/stride.ts";

describe("the way of one withdrawal", () => {
  it("goes from job to released bytes, each step durable before the next", () => {
    const kit = new Kit().ready();
    const { transactionId, ...asked } = kit.request();
    expect(asked).toMatchObject({
      state: "approved",
      amountUnits: "1500000",
      address: shop,
      slot: "",
      attempts: [],
    });
    const { withdrawal: signed } = kit.ask("sign", { transactionId, txParams });
    expect(signed).toMatchObject({ state: "signed", slot: "5", account: hotWallet });
    expect(signed.attempts).toHaveLength(1);
    expect(signed.attempts[0]!.raw).toBeUndefined();
    expect(kit.left.size).toBe(0);
    const [released] = kit.acknowledge().withdrawals;
    expect(released!.state).toBe("released");
    const { txHash, raw } = released!.attempts[0]!;
    const transaction = Transaction.from(raw!);
    expect(transaction).toMatchObject({
      from: hotWallet,
      to: token,
      nonce: 5,
      chainId: 31337n,
      value: 0n,
      hash: txHash,
    });
    const call = `0xa9059cbb${shop.slice(2).toLowerCase().padStart(64, "0")}${1_500_000n.toString(16).padStart(64, "0")}`;
    expect(transaction.data).toBe(call);
    for (const [stage, outcome] of [
      ["broadcast", ""],
      ["included", ""],
      ["final", "paid"],
    ]) {
      kit.ask("observed", { transactionId, stage, outcome, txHash, block: 7 });
    }
    expect(kit.core.book.openCount).toBe(1);
    kit.acknowledge();
    expect(kit.core.book.openCount).toBe(0);
    expect(kit.show(transactionId)).toMatchObject({ state: "paid", attempts: [{ txHash }] });
    expect(kit.kinds().join(" ")).toBe(
      "PAIRED ADOPTED POLICY REQUESTED APPROVED INTENT SIGNED RELEASED OBSERVED OBSERVED OBSERVED ENDED REPORTED",
    );
  });

  it("the signer answers nothing before it is on disk", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request();
    const answers: AnyAnswer[] = [];
    kit.send("sign", { transactionId, txParams }, (answer) => answers.push(answer));
    expect(answers).toEqual([]);
    kit.disk.sync();
    expect(answers).toEqual([]);
    expect(kit.disk.files.get("00000001.jsonl")!.toString()).toContain('"kind":"INTENT"');
    kit.disk.sync();
    expect(answers).toMatchObject([{ ok: true, withdrawal: { state: "signed" } }]);
  });

  it("the signer lets no bytes out with a repeated job while their release is on its way to the disk", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request();
    kit.ask("sign", { transactionId, txParams });
    kit.receive();
    const { gateway, now: at } = kit;
    kit.send("release", { frames: [gateway.ack(gateway.stored!, { at })] });
    kit.send("admit", { frames: [gateway.jobs(gateway.texts, { at })] });
    expect(kit.left.size).toBe(0);
    kit.settle();
    expect(kit.left.size).toBe(1);
  });

  it("the signer shares one sync among all who ask in one tick", () => {
    const kit = new Kit().ready();
    const ids = Array.from({ length: 64 }, () => kit.request({ amount: "0.1" }).transactionId);
    const before = kit.disk.syncs;
    let signed = 0;
    for (const transactionId of ids) {
      kit.send("sign", { transactionId, txParams }, (answer) => {
        if (answer.ok) signed += 1;
      });
    }
    kit.settle();
    expect(signed).toBe(64);
    expect(kit.disk.syncs - before).toBeLessThanOrEqual(4);
  });

  it("the signer signs once for two who ask at once", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request();
    const answers: AnyAnswer[] = [];
    for (let i = 0; i < 3; i++)
      kit.send("sign", { transactionId, txParams }, (answer) => answers.push(answer));
    kit.send("decline", { transactionId, code: "CHAIN_WOULD_REVERT" }, (answer) =>
      answers.push(answer),
    );
    kit.settle();
    expect(answers.filter((answer) => answer.ok)).toHaveLength(3);
    expect(answers.find((answer) => !answer.ok)).toMatchObject({ code: "WITHDRAWAL_HAS_SLOT" });
    expect(kit.kinds().slice(-2)).toEqual(["INTENT", "SIGNED"]);
  });
});

describe("a crash", () => {
  it("at any byte of any write leads to the same bytes, one slot and a complete ledger", () => {
    let hash = "";
    let points = 0;
    const stride = strideOfRun();
    // Nothing of the write and all of it, and a share of the places between.
    for (const kept of new Set([0, ...[...places(42, stride)].map((at) => at * 97), 4_000])) {
      for (let syncs = 0; syncs < 3; syncs++) {
        const kit = new Kit().ready();
        const { transactionId } = kit.request();
        kit.send("sign", { transactionId, txParams });
        for (let i = 0; i < syncs; i++) kit.disk.sync();
        kit.crash(kept);
        kit.handshake();
        const again = kit.ask("sign", {
          transactionId,
          txParams: { ...txParams, gasLimit: "65000" },
        }).withdrawal;
        hash ||= again.attempts[0]!.txHash;
        expect(again).toMatchObject({ slot: "5", attempts: [{ txHash: hash }] });
        expect(kit.acknowledge().withdrawals).toHaveLength(1);
        assertSafe({
          records: kit.records(),
          left: kit.left,
          genuine: new Set(kit.gateway.texts),
          limits: { usdt },
        });
        points += 1;
      }
    }
    expect(points).toBeGreaterThan(share(100, 12));
  });

  it("the signer records no signature with a wrong parity, neither the first of an account nor a later one", () => {
    const kit = new Kit().ready();
    for (const nonce of ["5", "6"]) {
      const { transactionId } = kit.request();
      const faulty = vi.spyOn(vault, "sign").mockImplementation((clearance, receipt) => {
        const right = Object.getPrototypeOf(vault).sign.call(
          vault,
          clearance,
          receipt,
        ) as readonly Uint8Array[];
        return right.map((one) => Uint8Array.from([...one.subarray(0, 64), 1 - (one[64] ?? 0)]));
      });
      expect(kit.ask("sign", { transactionId, txParams }).code).toBe("TRANSACTION_SENDER");
      faulty.mockRestore();
      expect(kit.kinds().at(-1)).toBe("INTENT");
      expect(kit.show(transactionId).state).toBe("intent");
      expect(kit.ask("sign", { transactionId, txParams }).withdrawal).toMatchObject({
        state: "signed",
        slot: nonce,
      });
    }
  });

  it("after INTENT signs the recorded bytes, whatever the parameters now say", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request();
    kit.send("sign", { transactionId, txParams });
    kit.disk.sync();
    kit.crash();
    expect(kit.show(transactionId)).toMatchObject({ state: "intent", slot: "5" });
    expect(kit.ask("sign", { transactionId, txParams }).code).toBe("SIGNER_NO_HANDSHAKE");
    kit.handshake();
    const { withdrawal } = kit.ask("sign", {
      transactionId,
      txParams: { ...txParams, maxFeePerGas: "9000000000" },
    });
    expect(withdrawal.attempts[0]!.txParams?.maxFeePerGas).toBe(txParams.maxFeePerGas);
    expect(kit.kinds().filter((kind) => kind === "INTENT")).toHaveLength(1);
  });

  it("after INTENT is made good before anything new is bound, lowest nonce first, and the courier learns of it", () => {
    const kit = new Kit().ready();
    const later = kit.request().transactionId;
    const first = kit.request().transactionId;
    const before = kit.request().transactionId;
    for (const transactionId of [before, first, later])
      kit.send("sign", { transactionId, txParams });
    kit.disk.sync();
    kit.disk.sync();
    kit.crash(1_000); // a piece of the two signatures
    expect(kit.kinds().filter((kind) => kind === "INTENT" || kind === "SIGNED")).toEqual([
      "INTENT",
      "INTENT",
      "INTENT",
      "SIGNED",
    ]);
    kit.handshake();
    const third = kit.request().transactionId;
    kit.ask("sign", { transactionId: third, txParams });
    const signed = kit.records().filter((record) => record.kind === "SIGNED");
    expect(signed.map(({ transactionId }) => transactionId)).toEqual([before, first, later, third]);
    expect([before, first, later, third].map((id) => kit.show(id).slot)).toEqual([
      "5",
      "6",
      "7",
      "8",
    ]);
    const told = kit.pushes.flatMap((push) =>
      push.push === "changed" ? [push.withdrawal.transactionId] : [],
    );
    expect(told).toEqual(expect.arrayContaining([first, later]));
    kit.handshake();
    expect(kit.kinds().filter((kind) => kind === "SIGNED")).toHaveLength(4);
  });

  it("that loses only the handshake is made good as well, when the same handshake comes again", () => {
    const kit = new Kit().ready();
    const first = kit.request().transactionId;
    const welcome = kit.gateway.welcome(kit.nonce, { at: kit.now });
    kit.admit(welcome);
    kit.send("sign", { transactionId: first, txParams });
    // The clocks part before the intent is on disk, so that it is not signed.
    expect(kit.admit(kit.gateway.welcome(kit.nonce, { at: kit.now + 3_600_000 })).code).toBe(
      "CLOCK_SKEW",
    );
    kit.settle();
    expect(kit.show(first).state).toBe("intent");
    expect(kit.admit(welcome).ok).toBe(true);
    kit.settle();
    expect(kit.show(first).state).toBe("signed");
  });

  it("gives the courier everything it needs to go on", () => {
    const kit = new Kit().ready();
    const released = kit.pay();
    const signed = kit.request().transactionId;
    kit.ask("sign", { transactionId: signed, txParams });
    const approved = kit.request().transactionId;
    const held = kit.request({ mode: "manual" }).transactionId;
    kit.crash();
    const hello = kit.ask("hello");
    expect(hello).toMatchObject({
      handshakeDone: false,
      locked: "",
      nonce: kit.nonce,
      acked: kit.core.heads.acked.seq,
    });
    expect(hello.accounts).toContainEqual({
      chain: "local",
      network: "eip155:31337",
      address: hotWallet,
      nextSlot: "7",
    });
    expect(hello.accounts).toContainEqual({
      chain: "mainnet",
      network: "eip155:1",
      address: hotWallet,
      nextSlot: "",
    });
    const states = Object.fromEntries(hello.open.map((view) => [view.transactionId, view.state]));
    expect(states).toEqual({
      [released.transactionId]: "released",
      [signed]: "signed",
      [approved]: "approved",
      [held]: "held",
    });
    expect(hello.open.find((view) => view.state === "released")!.attempts[0]!.raw).toBe(
      released.attempts[0]!.raw,
    );
  });
});

describe("a disk", () => {
  it("that fails ends the run: nothing is answered, nothing leaves", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request();
    let answered = false;
    kit.send("sign", { transactionId, txParams }, () => {
      answered = true;
    });
    kit.disk.broken = new Error("EIO");
    kit.settle();
    expect([kit.poisoned, answered]).toEqual(["LEDGER_POISONED", false]);
    kit.disk.broken = null;
    kit.crash();
    kit.handshake();
    expect(kit.ask("sign", { transactionId, txParams }).withdrawal.slot).toBe("5");
  });

  it("that is read-only leaves the signer up: it says so, takes, decides and signs nothing, and pays after the next start", () => {
    const kit = new Kit({ segmentBytesMax: 1_000 }).ready();
    const { transactionId } = kit.request();
    kit.settle();
    // Bound, and the power goes before it is signed.
    kit.send("sign", { transactionId, txParams });
    kit.disk.sync();
    kit.disk = kit.disk.crash();
    const signing = vi.spyOn(vault, "sign");
    kit.disk.broken = Object.assign(new Error("read-only file system"), { code: "EROFS" });
    kit.start();
    const files = [...kit.disk.files].map(
      ([name, bytes]) => `${name} ${Buffer.from(bytes).toString("base64")}`,
    );
    expect(kit.operate("status").status).toMatchObject({
      ledgerWritable: false,
      ledgerReadOnly: true,
      locked: "",
    });
    kit.handshake();
    expect(kit.ask("sign", { transactionId, txParams }).code).toBe("LEDGER_READ_ONLY");
    expect(kit.operate("pause", { paused: true, approver: "ann" }).code).toBe("LEDGER_READ_ONLY");
    expect(kit.operate("verify")).toMatchObject({ ok: true });
    kit.signer.tick();
    kit.settle();
    expect(signing).not.toHaveBeenCalled();
    signing.mockRestore();
    expect(
      [...kit.disk.files].map(
        ([name, bytes]) => `${name} ${Buffer.from(bytes).toString("base64")}`,
      ),
    ).toEqual(files);
    kit.disk.broken = null;
    kit.crash();
    kit.handshake();
    expect(kit.ask("sign", { transactionId, txParams }).withdrawal.slot).toBe("5");
    expect(kit.operate("status").status).not.toHaveProperty("ledgerReadOnly");
  });

  it("without room binds nothing new and goes on by itself", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request();
    kit.disk.free = 0;
    kit.ask("observed", { transactionId, stage: "broadcast", outcome: "", txHash: "", block: 0 });
    kit.sight({ next: [{ network: "eip155:1", account: hotWallet, slot: "0", isUnused: true }] });
    kit.ask("adopt", { chain: "mainnet", slot: "0", quorum: 1 });
    expect(kit.ask("sign", { transactionId, txParams }).code).toBe("LEDGER_DISK_FULL");
    kit.gateway.job();
    expect(kit.admit(kit.gateway.jobs(kit.gateway.texts.slice(-1))).code).toBe("LEDGER_DISK_FULL");
    expect(kit.operate("status").status.ledgerWritable).toBe(false);
    kit.disk.free = Number.MAX_SAFE_INTEGER;
    expect(kit.ask("sign", { transactionId, txParams }).ok).toBe(true);
    expect(kit.admit(kit.gateway.jobs(kit.gateway.texts.slice(-1))).ok).toBe(true);
  });
});

describe("statements", () => {
  it("join without a gap, carry every entry once, and come again until acknowledged", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request();
    kit.ask("sign", { transactionId, txParams });
    kit.receive();
    const entries = kit.statements.flatMap((statement) => statement.entries);
    expect(entries.map((entry) => entry.kind)).toEqual(["adopted", "decision", "signed"]);
    expect(entries[2]).toMatchObject({
      ...{ transactionId, attempt: 1, network: "eip155:31337", account: hotWallet, slot: "5" },
      feeMax: (65_000n * 2_000_000_000n).toString(),
    });
    kit.start();
    kit.gateway.stored = null;
    kit.statements.length = 0;
    kit.receive();
    expect(kit.statements.flatMap((statement) => statement.entries)).toEqual(entries);
  });

  it("are pushed as they become durable, and many make several", () => {
    const kit = new Kit().ready();
    for (let i = 0; i < 600; i++) kit.request({ amount: "0.001" });
    const pushed = kit.pushes.filter((push) => push.push === "statement").length;
    expect(pushed).toBeGreaterThan(600);
    const { frames } = kit.ask("report", { after: 0 });
    expect(frames).toHaveLength(3);
    for (const frame of frames) expect(frame.length).toBeLessThan(262_144);
    kit.receive();
    expect(kit.statements.flatMap((statement) => statement.entries)).toHaveLength(601);
    kit.release(kit.gateway.ack(kit.gateway.stored!));
    // Nothing is left to say but that the handshake was taken.
    const before = kit.statements.length;
    kit.receive();
    expect(kit.statements.slice(before)).toMatchObject([
      { entries: [], head: kit.gateway.stored! },
    ]);
  });
});

describe("the operator", () => {
  it("lists the withdrawals of an order, an address or a time, and no others", () => {
    const kit = new Kit().ready();
    const first = kit.pay();
    const [begun] = kit.operate("list", { openOnly: false, limit: 10 }).withdrawals;
    const { orderId = "", address = "", requestedAt = 0 } = begun ?? {};
    kit.now += 60_000;
    kit.request({ amount: "1001" });
    const listed = (filter: ListFilter): string[] =>
      kit
        .operate("list", { openOnly: false, limit: 10, ...filter })
        .withdrawals.map((view) => view.transactionId);
    expect(listed({})).toHaveLength(2);
    expect(listed({ order: orderId })).toEqual([first.transactionId]);
    expect(listed({ order: `${orderId}x` })).toEqual([]);
    expect(listed({ address: address.toLowerCase() })).toContain(first.transactionId);
    expect(listed({ address: `0x${"01".repeat(20)}` })).toEqual([]);
    expect(listed({ until: requestedAt + 1 })).toEqual([first.transactionId]);
    expect(listed({ since: requestedAt + 1 })).not.toContain(first.transactionId);
    expect(listed({ since: requestedAt, until: requestedAt })).toEqual([]);
  });

  it("sees the state and the history, and can have the ledger checked", () => {
    const kit = new Kit().ready();
    const paid = kit.pay();
    kit.request({ amount: "1001" });
    const { status } = kit.operate("status");
    expect(status).toMatchObject({
      handshakeDone: true,
      locked: "",
      ledgerWritable: true,
      courierConnected: true,
      courier: null,
    });
    expect(status.counts).toMatchObject({ released: 1, refused: 1, approved: 0, paid: 0 });
    expect(
      kit.operate("list", { openOnly: true, limit: 10 }).withdrawals.map((view) => view.state),
    ).toEqual(["released"]);
    expect(
      kit.operate("list", { openOnly: false, limit: 1 }).withdrawals.map((view) => view.state),
    ).toEqual(["refused"]);
    const { history } = kit.operate("show", { transactionId: paid.transactionId });
    expect(history.map((line) => line.kind)).toEqual([
      "REQUESTED",
      "APPROVED",
      "INTENT",
      "SIGNED",
      "RELEASED",
    ]);
    expect(history[3]!.detail).toContain(paid.attempts[0]!.txHash);
    expect(kit.operate("verify")).toMatchObject({
      ok: true,
      segments: 1,
      head: kit.core.heads.head,
    });
    expect(kit.operate("show", { transactionId: "00".repeat(16) }).code).toBe("WITHDRAWAL_UNKNOWN");
  });

  it("can look at a thousand closed withdrawals, and every order is remembered permanently", () => {
    const kit = new Kit({ segmentBytesMax: 100_000 }).ready();
    const first = kit.request({ amount: "1001" });
    for (let i = 0; i < 10; i++) {
      requestMany(kit, 100, { amount: "1001" });
      kit.acknowledge();
      kit.signer.tick();
    }
    kit.acknowledge();
    expect(kit.operate("show", { transactionId: first.transactionId }).code).toBe(
      "WITHDRAWAL_UNKNOWN",
    );
    kit.start();
    kit.handshake();
    kit.gateway.job({ orderId: first.orderId, amount: "1" });
    expect(kit.admit(kit.gateway.jobs(kit.gateway.texts.slice(-1)))).toMatchObject({
      ok: true,
      withdrawals: [],
    });
    expect(kit.records().slice(-2)).toMatchObject([
      { kind: "REPEATED", code: "WITHDRAWAL_EXISTS_DIFFERENT_AMOUNT" },
      { kind: "ALARM" },
    ]);
    expect(kit.operate("status").status.counts.refused).toBe(1_001);
  });
});

describe("a socket", () => {
  it("refuses what it does not know, and answers under the request's own number", () => {
    const kit = new Kit().ready();
    expect(kit.ask("reveal").code).toBe("SOCKET_VERB");
    expect(kit.ask("constructor").code).toBe("SOCKET_VERB");
    expect(kit.ask("hello", { more: 1 }).code).toBe("JSON_SHAPE");
    expect(kit.ask("sign", { transactionId: "zz", txParams }).code).toBe("JSON_SHAPE");
    expect(kit.operate("sign", { transactionId: "00".repeat(16), txParams }).code).toBe(
      "SOCKET_VERB",
    );
    expect(
      kit.ask("approve", { transactionId: "00".repeat(16), digest: "", address: "" }).code,
    ).toBe("SOCKET_VERB");
  });

  it("answers many of one verb on one line, each as it would be alone", () => {
    const kit = new Kit().ready();
    const ids = [kit.request().transactionId, kit.request().transactionId];
    const bodies = [
      ...ids.map((transactionId) => ({ transactionId, txParams })),
      { transactionId: "00".repeat(16), txParams },
      { txParams },
    ];
    const { answers } = kit.ask("each", { of: "sign", bodies }) as unknown as { answers: object[] };
    expect(answers).toMatchObject([
      { ok: true, withdrawal: { transactionId: ids[0], state: "signed" } },
      { ok: true, withdrawal: { transactionId: ids[1], state: "signed" } },
      { ok: false, code: "WITHDRAWAL_UNKNOWN", effect: "none" },
      { ok: false, code: "JSON_SHAPE", effect: "none" },
    ]);
    expect(kit.ask("sign", { transactionId: ids[1], txParams })).toMatchObject({
      ok: true,
      withdrawal: { slot: "6" },
    });
  });

  it("takes no line of too many, of none, or of a verb that comes alone", () => {
    const kit = new Kit().ready();
    const body = { transactionId: "00".repeat(16), txParams };
    expect(kit.ask("each", { of: "sign", bodies: Array.from({ length: 64 }, () => body) }).ok).toBe(
      true,
    );
    expect(
      kit.ask("each", { of: "sign", bodies: Array.from({ length: 65 }, () => body) }).code,
    ).toBe("JSON_SHAPE");
    expect(kit.ask("each", { of: "sign", bodies: [] }).code).toBe("JSON_SHAPE");
    expect(kit.ask("each", { of: "each", bodies: [body] }).code).toBe("JSON_SHAPE");
    expect(kit.ask("each", { of: "release", bodies: [body] }).code).toBe("JSON_SHAPE");
  });

  it("a report of the courier is kept for status", () => {
    const kit = new Kit().ready();
    const courier = {
      at: 1,
      link: "up",
      linkDetail: "",
      chains: [],
      waiting: [],
      durableMedianUs: 0,
      notify: null,
      outOfService: [],
      lowFunds: [],
      configDigest: "c0".repeat(32),
    };
    expect(kit.ask("tell", { courier }).ok).toBe(true);
    expect(kit.ask("tell", { courier: { ...courier, key: "" } }).code).toBe("JSON_SHAPE");
    expect(kit.operate("status").status.courier).toEqual(courier);
  });
});

const usdt = {
  perWithdrawal: 1_000_000_000n,
  perHour: null,
  perDay: 10n ** 12n,
  fee: 10n ** 16n,
  feePerDay: 10n ** 19n,
};
