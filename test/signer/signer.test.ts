/**
 * The signer as a whole, driven over its verbs on a disk in memory with real keys; and its process,
 * started as crypto starts it.
 */
import { Transaction } from "ethers";
import { describe, expect, it, vi } from "vitest";
import { assertSafe } from "../../lab/rig/invariants.ts";
import { type AnyAnswer, facts, hot, Rig, shop, token, vault } from "../../lab/rig/signer-rig.ts";

describe("the way of one withdrawal", () => {
  it("the way of one withdrawal goes from job to released bytes, each step durable before the next", () => {
    const rig = new Rig().ready();
    const { transactionId, ...asked } = rig.request();
    expect(asked).toMatchObject({ state: "approved", amountUnits: "1500000", address: shop, slot: "", versions: [] });
    const { withdrawal: signed } = rig.ask("sign", { transactionId, facts });
    expect(signed).toMatchObject({ state: "signed", slot: "5", account: hot });
    expect(signed.versions).toHaveLength(1);
    expect(signed.versions[0]!.raw).toBeUndefined();
    expect(rig.left.size).toBe(0);
    const [released] = rig.acknowledge().withdrawals;
    expect(released!.state).toBe("released");
    const { txHash, raw } = released!.versions[0]!;
    const transaction = Transaction.from(raw!);
    expect(transaction).toMatchObject({ from: hot, to: token, nonce: 5, chainId: 31337n, value: 0n, hash: txHash });
    const call = `0xa9059cbb${shop.slice(2).toLowerCase().padStart(64, "0")}${1_500_000n.toString(16).padStart(64, "0")}`;
    expect(transaction.data).toBe(call);
    for (const [stage, outcome] of [
      ["broadcast", ""],
      ["included", ""],
      ["final", "paid"],
    ]) {
      rig.ask("observed", { transactionId, stage, outcome, txHash, block: 7 });
    }
    expect(rig.core.book.openCount).toBe(1);
    rig.acknowledge();
    expect(rig.core.book.openCount).toBe(0);
    expect(rig.show(transactionId)).toMatchObject({ state: "paid", versions: [{ txHash }] });
    expect(rig.kinds().join(" ")).toBe(
      "PAIRED ADOPTED POLICY REQUESTED APPROVED INTENT SIGNED RELEASED OBSERVED OBSERVED OBSERVED ENDED REPORTED",
    );
  });

  it("the signer answers nothing before it is on disk", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    const answers: AnyAnswer[] = [];
    rig.send("sign", { transactionId, facts }, (answer) => answers.push(answer));
    expect(answers).toEqual([]);
    rig.disk.sync();
    expect(answers).toEqual([]);
    expect(rig.disk.files.get("00000001.jsonl")!.toString()).toContain('"kind":"INTENT"');
    rig.disk.sync();
    expect(answers).toMatchObject([{ ok: true, withdrawal: { state: "signed" } }]);
  });

  it("the signer lets no bytes out with a repeated job while their release is on its way to the disk", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    rig.ask("sign", { transactionId, facts });
    rig.hear();
    const { gateway, now: at } = rig;
    rig.send("release", { frames: [gateway.ack(gateway.stored!, { at })] });
    rig.send("admit", { frames: [gateway.jobs(gateway.texts, { at })] });
    expect(rig.left.size).toBe(0);
    rig.settle();
    expect(rig.left.size).toBe(1);
  });

  it("the signer shares one sync among all who ask in one tick", () => {
    const rig = new Rig().ready();
    const ids = Array.from({ length: 64 }, () => rig.request({ amount: "0.1" }).transactionId);
    const before = rig.disk.syncs;
    let signed = 0;
    for (const transactionId of ids) {
      rig.send("sign", { transactionId, facts }, (answer) => {
        if (answer.ok) signed += 1;
      });
    }
    rig.settle();
    expect(signed).toBe(64);
    expect(rig.disk.syncs - before).toBeLessThanOrEqual(4);
  });

  it("the signer signs once for two who ask at once", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    const answers: AnyAnswer[] = [];
    for (let i = 0; i < 3; i++) rig.send("sign", { transactionId, facts }, (answer) => answers.push(answer));
    rig.send("decline", { transactionId, code: "CHAIN_WOULD_REVERT" }, (answer) => answers.push(answer));
    rig.settle();
    expect(answers.filter((answer) => answer.ok)).toHaveLength(3);
    expect(answers.find((answer) => !answer.ok)).toMatchObject({ code: "WITHDRAWAL_BOUND" });
    expect(rig.kinds().slice(-2)).toEqual(["INTENT", "SIGNED"]);
  });
});

describe("a crash", () => {
  it("a crash at any byte of any write leads to the same bytes, one token and a whole ledger", () => {
    let hash = "";
    let points = 0;
    for (let kept = 0; kept < 4_000; kept += 97) {
      for (let syncs = 0; syncs < 3; syncs++) {
        const rig = new Rig().ready();
        const { transactionId } = rig.request();
        rig.send("sign", { transactionId, facts });
        for (let i = 0; i < syncs; i++) rig.disk.sync();
        rig.crash(kept);
        rig.greet();
        const again = rig.ask("sign", { transactionId, facts: { ...facts, gasLimit: "65000" } }).withdrawal;
        hash ||= again.versions[0]!.txHash;
        expect(again).toMatchObject({ slot: "5", versions: [{ txHash: hash }] });
        expect(rig.acknowledge().withdrawals).toHaveLength(1);
        assertSafe({ records: rig.records(), left: rig.left, genuine: new Set(rig.gateway.texts), limits: { usdt } });
        points += 1;
      }
    }
    expect(points).toBeGreaterThan(100);
  });

  it("records no signature with a wrong parity, neither the first of an account nor a later one", () => {
    const rig = new Rig().ready();
    for (const nonce of ["5", "6"]) {
      const { transactionId } = rig.request();
      const faulty = vi.spyOn(vault, "sign").mockImplementation((clearance, receipt) => {
        const right = Object.getPrototypeOf(vault).sign.call(vault, clearance, receipt) as readonly Uint8Array[];
        return right.map((one) => Uint8Array.from([...one.subarray(0, 64), 1 - (one[64] ?? 0)]));
      });
      expect(rig.ask("sign", { transactionId, facts }).code).toBe("TRANSACTION_SENDER");
      faulty.mockRestore();
      expect(rig.kinds().at(-1)).toBe("INTENT");
      expect(rig.show(transactionId).state).toBe("intent");
      expect(rig.ask("sign", { transactionId, facts }).withdrawal).toMatchObject({ state: "signed", slot: nonce });
    }
  });

  it("a crash after INTENT signs the recorded bytes, whatever the facts now say", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    rig.send("sign", { transactionId, facts });
    rig.disk.sync();
    rig.crash();
    expect(rig.show(transactionId)).toMatchObject({ state: "intent", slot: "5" });
    expect(rig.ask("sign", { transactionId, facts }).code).toBe("SIGNER_NOT_GREETED");
    rig.greet();
    const { withdrawal } = rig.ask("sign", { transactionId, facts: { ...facts, maxFeePerGas: "9000000000" } });
    expect(withdrawal.versions[0]!.facts?.maxFeePerGas).toBe(facts.maxFeePerGas);
    expect(rig.kinds().filter((kind) => kind === "INTENT")).toHaveLength(1);
  });

  it("a crash after INTENT is made good before anything new is bound, lowest nonce first, and the courier hears of it", () => {
    const rig = new Rig().ready();
    const later = rig.request().transactionId;
    const first = rig.request().transactionId;
    rig.send("sign", { transactionId: first, facts });
    rig.send("sign", { transactionId: later, facts });
    rig.disk.sync();
    rig.crash(1_000); // all of the second intent, a piece of the signature behind it
    expect(rig.kinds().filter((kind) => kind === "INTENT" || kind === "SIGNED")).toEqual(["INTENT", "INTENT"]);
    rig.greet();
    const third = rig.request().transactionId;
    rig.ask("sign", { transactionId: third, facts });
    const signed = rig.records().filter((record) => record.kind === "SIGNED");
    expect(signed.map(({ transactionId }) => transactionId)).toEqual([first, later, third]);
    expect([first, later, third].map((id) => rig.show(id).slot)).toEqual(["5", "6", "7"]);
    const told = rig.pushes.flatMap((push) => (push.push === "changed" ? [push.withdrawal.transactionId] : []));
    expect(told).toEqual(expect.arrayContaining([first, later]));
    rig.greet();
    expect(rig.kinds().filter((kind) => kind === "SIGNED")).toHaveLength(3);
  });

  it("a crash that loses only the greeting is made good as well, when the same greeting comes again", () => {
    const rig = new Rig().ready();
    const first = rig.request().transactionId;
    const welcome = rig.gateway.welcome(rig.nonce, { at: rig.now });
    rig.admit(welcome);
    rig.send("sign", { transactionId: first, facts });
    // The clocks part before the intent is on disk, so that it is not signed.
    expect(rig.admit(rig.gateway.welcome(rig.nonce, { at: rig.now + 3_600_000 })).code).toBe("CLOCK_SKEW");
    rig.settle();
    expect(rig.show(first).state).toBe("intent");
    expect(rig.admit(welcome).ok).toBe(true);
    rig.settle();
    expect(rig.show(first).state).toBe("signed");
  });

  it("a crash gives the courier everything it needs to go on", () => {
    const rig = new Rig().ready();
    const released = rig.pay();
    const signed = rig.request().transactionId;
    rig.ask("sign", { transactionId: signed, facts });
    const approved = rig.request().transactionId;
    const held = rig.request({ mode: "manual" }).transactionId;
    rig.crash();
    const hello = rig.ask("hello");
    expect(hello).toMatchObject({ greeted: false, locked: "", nonce: rig.nonce, acked: rig.core.heads.acked.seq });
    expect(hello.accounts).toContainEqual({ chain: "local", network: "eip155:31337", address: hot, nextSlot: "7" });
    expect(hello.accounts).toContainEqual({ chain: "mainnet", network: "eip155:1", address: hot, nextSlot: "" });
    const states = Object.fromEntries(hello.open.map((view) => [view.transactionId, view.state]));
    expect(states).toEqual({ [released.transactionId]: "released", [signed]: "signed", [approved]: "approved", [held]: "held" });
    expect(hello.open.find((view) => view.state === "released")!.versions[0]!.raw).toBe(released.versions[0]!.raw);
  });
});

describe("a disk", () => {
  it("a disk that fails ends the run: nothing is answered, nothing leaves", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    let answered = false;
    rig.send("sign", { transactionId, facts }, () => {
      answered = true;
    });
    rig.disk.broken = new Error("EIO");
    rig.settle();
    expect([rig.poisoned, answered]).toEqual(["LEDGER_POISONED", false]);
    rig.disk.broken = null;
    rig.crash();
    rig.greet();
    expect(rig.ask("sign", { transactionId, facts }).withdrawal.slot).toBe("5");
  });

  it("a disk that is read-only leaves the signer up: it says so, takes, decides and signs nothing, and pays after the next start", () => {
    const rig = new Rig({ segmentBytesMax: 1_000 }).ready();
    const { transactionId } = rig.request();
    rig.settle();
    // Bound, and the power goes before it is signed.
    rig.send("sign", { transactionId, facts });
    rig.disk.sync();
    rig.disk = rig.disk.crash();
    const signing = vi.spyOn(vault, "sign");
    rig.disk.broken = Object.assign(new Error("read-only file system"), { code: "EROFS" });
    rig.start();
    const files = [...rig.disk.files].map(([name, bytes]) => `${name} ${Buffer.from(bytes).toString("base64")}`);
    expect(rig.operate("status").status).toMatchObject({ ledgerWritable: false, ledgerReadOnly: true, locked: "" });
    rig.greet();
    expect(rig.ask("sign", { transactionId, facts }).code).toBe("LEDGER_READ_ONLY");
    expect(rig.operate("pause", { paused: true, approver: "ann" }).code).toBe("LEDGER_READ_ONLY");
    expect(rig.operate("verify")).toMatchObject({ ok: true });
    rig.signer.tick();
    rig.settle();
    expect(signing).not.toHaveBeenCalled();
    signing.mockRestore();
    expect([...rig.disk.files].map(([name, bytes]) => `${name} ${Buffer.from(bytes).toString("base64")}`)).toEqual(files);
    rig.disk.broken = null;
    rig.crash();
    rig.greet();
    expect(rig.ask("sign", { transactionId, facts }).withdrawal.slot).toBe("5");
    expect(rig.operate("status").status).not.toHaveProperty("ledgerReadOnly");
  });

  it("a disk without room binds nothing new and goes on by itself", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    rig.disk.free = 0;
    rig.ask("observed", { transactionId, stage: "broadcast", outcome: "", txHash: "", block: 0 });
    rig.ask("adopt", { chain: "mainnet", slot: "0", witnesses: 1 });
    expect(rig.ask("sign", { transactionId, facts }).code).toBe("LEDGER_DISK_FULL");
    rig.gateway.job();
    expect(rig.admit(rig.gateway.jobs(rig.gateway.texts.slice(-1))).code).toBe("LEDGER_DISK_FULL");
    expect(rig.operate("status").status.ledgerWritable).toBe(false);
    rig.disk.free = Number.MAX_SAFE_INTEGER;
    expect(rig.ask("sign", { transactionId, facts }).ok).toBe(true);
    expect(rig.admit(rig.gateway.jobs(rig.gateway.texts.slice(-1))).ok).toBe(true);
  });
});

describe("statements", () => {
  it("statements join without a gap, carry every entry once, and come again until acknowledged", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    rig.ask("sign", { transactionId, facts });
    rig.hear();
    const entries = rig.statements.flatMap((statement) => statement.entries);
    expect(entries.map((entry) => entry.kind)).toEqual(["adopted", "decision", "signed"]);
    expect(entries[2]).toMatchObject({
      ...{ transactionId, version: 1, network: "eip155:31337", account: hot, slot: "5" },
      feeMax: (65_000n * 2_000_000_000n).toString(),
    });
    rig.start();
    rig.gateway.stored = null;
    rig.statements.length = 0;
    rig.hear();
    expect(rig.statements.flatMap((statement) => statement.entries)).toEqual(entries);
  });

  it("statements are pushed as they become durable, and many make several", () => {
    const rig = new Rig().ready();
    for (let i = 0; i < 600; i++) rig.request({ amount: "0.001" });
    const pushed = rig.pushes.filter((push) => push.push === "statement").length;
    expect(pushed).toBeGreaterThan(600);
    const { frames } = rig.ask("report", { after: 0 });
    expect(frames).toHaveLength(3);
    for (const frame of frames) expect(frame.length).toBeLessThan(262_144);
    rig.hear();
    expect(rig.statements.flatMap((statement) => statement.entries)).toHaveLength(601);
    rig.release(rig.gateway.ack(rig.gateway.stored!));
    // Nothing is left to say but that the greeting was taken.
    const before = rig.statements.length;
    rig.hear();
    expect(rig.statements.slice(before)).toMatchObject([{ entries: [], head: rig.gateway.stored! }]);
  });
});

describe("the operator", () => {
  it("the operator sees the state and the history, and can have the ledger checked", () => {
    const rig = new Rig().ready();
    const paid = rig.pay();
    rig.request({ amount: "1001" });
    const { status } = rig.operate("status");
    expect(status).toMatchObject({ greeted: true, locked: "", ledgerWritable: true, courierConnected: true, courier: null });
    expect(status.counts).toMatchObject({ released: 1, refused: 1, approved: 0, paid: 0 });
    expect(rig.operate("list", { openOnly: true, limit: 10 }).withdrawals.map((view) => view.state)).toEqual(["released"]);
    expect(rig.operate("list", { openOnly: false, limit: 1 }).withdrawals.map((view) => view.state)).toEqual(["refused"]);
    const { history } = rig.operate("show", { transactionId: paid.transactionId });
    expect(history.map((line) => line.kind)).toEqual(["REQUESTED", "APPROVED", "INTENT", "SIGNED", "RELEASED"]);
    expect(history[3]!.detail).toContain(paid.versions[0]!.txHash);
    expect(rig.operate("verify")).toMatchObject({ ok: true, segments: 1, head: rig.core.heads.head });
    expect(rig.operate("show", { transactionId: "00".repeat(16) }).code).toBe("WITHDRAWAL_UNKNOWN");
  });

  it("the operator can look at a thousand closed withdrawals, and every order is remembered permanently", () => {
    const rig = new Rig({ segmentBytesMax: 100_000 }).ready();
    const first = rig.request({ amount: "1001" });
    for (let i = 0; i < 1_000; i++) {
      rig.request({ amount: "1001" });
      if (i % 100 === 99) rig.acknowledge();
      if (i % 100 === 99) rig.signer.tick();
    }
    rig.acknowledge();
    expect(rig.operate("show", { transactionId: first.transactionId }).code).toBe("WITHDRAWAL_UNKNOWN");
    rig.start();
    rig.greet();
    rig.gateway.job({ orderId: first.orderId, amount: "1" });
    expect(rig.admit(rig.gateway.jobs(rig.gateway.texts.slice(-1)))).toMatchObject({ ok: true, withdrawals: [] });
    expect(rig.records().slice(-2)).toMatchObject([
      { kind: "REPEATED", code: "WITHDRAWAL_EXISTS_DIFFERENT_AMOUNT" },
      { kind: "ALARM" },
    ]);
    expect(rig.operate("status").status.counts.refused).toBe(1_001);
  });
});

describe("a socket", () => {
  it("a socket refuses what it does not know, and answers under the request's own number", () => {
    const rig = new Rig().ready();
    expect(rig.ask("reveal").code).toBe("SOCKET_VERB");
    expect(rig.ask("constructor").code).toBe("SOCKET_VERB");
    expect(rig.ask("hello", { more: 1 }).code).toBe("JSON_SHAPE");
    expect(rig.ask("sign", { transactionId: "zz", facts }).code).toBe("JSON_SHAPE");
    expect(rig.operate("sign", { transactionId: "00".repeat(16), facts }).code).toBe("SOCKET_VERB");
    expect(rig.ask("approve", { transactionId: "00".repeat(16), digest: "", address: "" }).code).toBe("SOCKET_VERB");
  });

  it("a socket answers many of one verb on one line, each as it would be alone", () => {
    const rig = new Rig().ready();
    const ids = [rig.request().transactionId, rig.request().transactionId];
    const bodies = [
      ...ids.map((transactionId) => ({ transactionId, facts })),
      { transactionId: "00".repeat(16), facts },
      { facts },
    ];
    const { answers } = rig.ask("each", { of: "sign", bodies }) as unknown as { answers: object[] };
    expect(answers).toMatchObject([
      { ok: true, withdrawal: { transactionId: ids[0], state: "signed" } },
      { ok: true, withdrawal: { transactionId: ids[1], state: "signed" } },
      { ok: false, code: "WITHDRAWAL_UNKNOWN", effect: "none" },
      { ok: false, code: "JSON_SHAPE", effect: "none" },
    ]);
    expect(rig.ask("sign", { transactionId: ids[1], facts })).toMatchObject({ ok: true, withdrawal: { slot: "6" } });
  });

  it("a socket takes no line of too many, of none, or of a verb that comes alone", () => {
    const rig = new Rig().ready();
    const body = { transactionId: "00".repeat(16), facts };
    expect(rig.ask("each", { of: "sign", bodies: Array.from({ length: 64 }, () => body) }).ok).toBe(true);
    expect(rig.ask("each", { of: "sign", bodies: Array.from({ length: 65 }, () => body) }).code).toBe("JSON_SHAPE");
    expect(rig.ask("each", { of: "sign", bodies: [] }).code).toBe("JSON_SHAPE");
    expect(rig.ask("each", { of: "each", bodies: [body] }).code).toBe("JSON_SHAPE");
    expect(rig.ask("each", { of: "release", bodies: [body] }).code).toBe("JSON_SHAPE");
  });

  it("a report of the courier is kept for status", () => {
    const rig = new Rig().ready();
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
    expect(rig.ask("tell", { courier }).ok).toBe(true);
    expect(rig.ask("tell", { courier: { ...courier, key: "" } }).code).toBe("JSON_SHAPE");
    expect(rig.operate("status").status.courier).toEqual(courier);
  });
});

const usdt = { perWithdrawal: 1_000_000_000n, perHour: null, perDay: 10n ** 12n, fee: 10n ** 16n, feePerDay: 10n ** 19n };
