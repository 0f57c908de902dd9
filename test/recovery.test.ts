/**
 * A restored, forked or lost ledger and its way back: the gateway's order is only kept, a person's yes to exactly it moves everything
 * at once, what is bound stays bound, and nothing open is paid by itself. The gateway that lost data is recovery-gateway.test.ts.
 */
import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createLockedLedger } from "../agent/signer/ledger/ledger.ts";
import { publicKeyHex } from "../protocol/envelope.ts";
import type { Recovery } from "../protocol/recovery.ts";
import { assertSafe, type World } from "./invariants.ts";
import { MemoryDisk } from "./support/ledger-disk.ts";
import { backup, databaseOf, ledgerOf, offer, orderFrame, recovered, restore, shown, taken } from "./support/recovery-order.ts";
import { agentId, facts, hot, merchant, Rig, shop, wallet } from "./support/signer-rig.ts";

const limits = {
  eth: { perWithdrawal: 2n * 10n ** 18n, perHour: 5n * 10n ** 18n, perDay: 10n ** 19n, fee: 10n ** 16n, feePerDay: 10n ** 17n },
  usdt: { perWithdrawal: 10n ** 9n, perHour: null, perDay: 10n ** 12n, fee: 10n ** 16n, feePerDay: 10n ** 19n },
};

function worldOf(rig: Rig): World {
  return { records: ledgerOf(rig), left: rig.left, genuine: new Set(rig.gateway.texts), limits };
}

/** One withdrawal paid before a backup; after it one released and one held, which the backup has not. */
function forgetful(): { rig: Rig; lost: string; raw: string; held: string; contents: ReturnType<typeof databaseOf> } {
  const rig = new Rig().ready();
  rig.pay();
  const copy = backup(rig);
  const { transactionId: lost, versions } = rig.pay();
  const { transactionId: held } = rig.request({ currency: "eth", amount: "1.5" });
  rig.acknowledge();
  const contents = databaseOf(rig);
  restore(rig, copy);
  return { rig, lost, raw: versions[0]?.raw ?? "", held, contents };
}

/** The same, found out and locked. */
function locked(): ReturnType<typeof forgetful> {
  const found = forgetful();
  expect(found.rig.greet()).toMatchObject({ code: "SIGNER_LOCKED", detail: "LEDGER_BEHIND_GATEWAY" });
  return found;
}

describe("an order", () => {
  it("is only kept: nothing changes, and nothing is signed any more, until a person says yes to it", () => {
    const { rig, contents } = locked();
    const before = ledgerOf(rig).length;
    expect(rig.operate("recover", { digest: "" }).code).toBe("RECOVERY_NONE");
    expect(offer(rig, contents).ok).toBe(true);
    expect(offer(rig, contents).ok).toBe(true);
    expect(rig.operate("status").status).toMatchObject({
      recovery: "RECOVERY_OFFERED",
      locked: "LEDGER_BEHIND_GATEWAY",
      epoch: 1,
    });
    expect(ledgerOf(rig)).toHaveLength(before);
    expect(rig.ask("hello").locked).toBe("LEDGER_BEHIND_GATEWAY");
  });

  it("stops a signer that was not locked: its epoch is over, and no old greeting brings it back", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    const welcome = rig.gateway.welcome(rig.nonce, { at: rig.now });
    expect(offer(rig, databaseOf(rig)).ok).toBe(true);
    expect(rig.ask("sign", { transactionId, facts }).code).toBe("RECOVERY_OFFERED");
    rig.admit(welcome);
    expect(rig.ask("sign", { transactionId, facts }).code).toBe("RECOVERY_OFFERED");
    expect(rig.ask("hello").locked).toBe("RECOVERY_OFFERED");
  });

  const refused: readonly (readonly [string, string, Partial<Recovery>])[] = [
    ["for another run", "RECOVERY_OTHER_RUN", { answers: "ee".repeat(32) }],
    ["for another agent", "ADMISSION_OTHER_AGENT", { agent: "bb".repeat(8) }],
    ["for another wallet", "ADMISSION_OTHER_WALLET", { wallet: "bb".repeat(16) }],
    ["for the epoch there is", "RECOVERY_OTHER_EPOCH", { epoch: 1 }],
    ["by a clock that is far off", "CLOCK_SKEW", { at: 0 }],
  ];

  it.each(refused)("%s is refused, and its twin is not", (_, code, change) => {
    const { rig, contents } = locked();
    expect(offer(rig, contents, change).code).toBe(code);
    expect(rig.operate("recover", { digest: "" }).code).toBe("RECOVERY_NONE");
    expect(offer(rig, contents).ok).toBe(true);
    expect(shown(rig).newEpoch).toBe(2);
  });

  it("that another key signed is no order", () => {
    const { rig, contents } = locked();
    const { privateKey } = generateKeyPairSync("ed25519");
    expect(rig.admit(orderFrame(rig, contents, {}, privateKey)).code).toBe("ENVELOPE_SIGNATURE");
    expect(rig.admit(orderFrame(rig, contents)).ok).toBe(true);
  });

  it("counts when all of its parts are there, in any order, and parts of two orders make none", () => {
    const { rig, contents } = locked();
    const [first, ...rest] = contents.withdrawals;
    const name = "0d".repeat(32);
    const one = { order: name, part: 1, parts: 2, withdrawals: [first!] };
    const two = { order: name, part: 2, parts: 2, withdrawals: rest, accounts: [], spent: [] };
    offer(rig, contents, two);
    offer(rig, contents, { ...one, order: "0e".repeat(32) });
    expect(rig.operate("recover", { digest: "" }).code).toBe("RECOVERY_NONE");
    offer(rig, contents, two);
    offer(rig, contents, one);
    expect(shown(rig)).toMatchObject({ order: name, quarantined: 1 + 1, held: 1 });
  });

  it("that is older than the one at hand is not taken again", () => {
    const { rig, contents } = locked();
    const old = orderFrame(rig, contents);
    rig.now += 1_000;
    offer(rig, contents, { epoch: 3 });
    expect(rig.admit(old).code).toBe("RECOVERY_STALE");
    expect(shown(rig).newEpoch).toBe(3);
  });
});

describe("a yes", () => {
  it("is to what was shown: a digest of anything else does nothing", () => {
    const { rig, contents } = locked();
    offer(rig, contents);
    expect(rig.operate("recover", { digest: "11".repeat(32) }).code).toBe("RECOVERY_NONE");
    const { digest } = shown(rig);
    expect(rig.operate("recover", { digest: "11".repeat(32) }).code).toBe("RECOVERY_CHANGED");
    expect(rig.core.locked).not.toBeNull();
    expect(rig.operate("recover", { digest }).ok).toBe(true);
    expect(rig.core.locked).toBeNull();
  });

  it("holds for the order shown, whatever came since; one to an order that was never shown does nothing", () => {
    const { rig, contents } = locked();
    offer(rig, contents);
    const before = shown(rig);
    rig.now += 1_000;
    offer(rig, { ...contents, withdrawals: contents.withdrawals.slice(1) });
    expect(rig.operate("recover", { digest: before.digest }).ok).toBe(true);
    expect(rig.core.book.count("quarantined")).toBe(before.quarantined);

    const other = locked();
    offer(other.rig, other.contents);
    const first = shown(other.rig);
    other.rig.now += 1_000;
    offer(other.rig, { ...other.contents, withdrawals: other.contents.withdrawals.slice(1) });
    shown(other.rig);
    expect(other.rig.operate("recover", { digest: first.digest }).code).toBe("RECOVERY_CHANGED");
  });

  it("does nothing when the ledger went on since, and the same is shown anew", () => {
    const rig = new Rig().ready();
    const { transactionId, versions } = rig.pay();
    offer(rig, databaseOf(rig));
    const { digest } = shown(rig);
    rig.ask("observed", { transactionId, stage: "broadcast", outcome: "", txHash: versions[0]!.txHash, block: 0 });
    expect(rig.operate("recover", { digest }).code).toBe("RECOVERY_CHANGED");
    expect(rig.operate("recover", { digest: shown(rig).digest }).ok).toBe(true);
  });

  it("lifts the lock, gives the epoch and uses the order up", () => {
    const { rig, contents } = locked();
    const frame = orderFrame(rig, contents);
    const { digest } = recovered(rig, contents);
    expect(rig.operate("status").status).toMatchObject({ epoch: 2, locked: "", recovery: "RECOVERY_HOLD", greeted: false });
    expect(rig.pushes).toContainEqual({ push: "recovered" });
    expect(rig.pushes.at(-1)).toMatchObject({ push: "statement", after: 0 });
    expect(rig.operate("recover", { digest }).code).toBe("RECOVERY_NONE");
    expect(rig.admit(frame).code).toBe("RECOVERY_OTHER_EPOCH");
    rig.crash();
    expect(rig.operate("status").status).toMatchObject({ epoch: 2, locked: "", recovery: "RECOVERY_HOLD" });
    expect(rig.admit(frame).code).toBe("RECOVERY_OTHER_RUN");
  });

  it("needs room on the disk", () => {
    const { rig, contents } = locked();
    offer(rig, contents);
    const { digest } = shown(rig);
    rig.disk.free = 0;
    rig.start();
    offer(rig, contents);
    expect(rig.operate("recover", { digest: shown(rig).digest }).code).toBe("LEDGER_DISK_FULL");
    expect(digest).not.toBe("");
    rig.disk.free = Number.MAX_SAFE_INTEGER;
    expect(rig.operate("recover", { digest: shown(rig).digest }).ok).toBe(true);
  });
});

describe("after it", () => {
  it("old words of the gateway open nothing, and the stream begins with the recovery", () => {
    const { rig, contents } = locked();
    const ack = rig.gateway.ack(rig.gateway.stored!, { at: rig.now });
    const welcome = rig.gateway.welcome(rig.nonce, { at: rig.now });
    recovered(rig, contents);
    expect(rig.release(ack).code).toBe("ADMISSION_OTHER_EPOCH");
    expect(rig.admit(welcome).code).toBe("ADMISSION_OTHER_EPOCH");
    expect(rig.greet().ok).toBe(true);
    rig.statements.length = 0;
    rig.acknowledge();
    expect(rig.statements[0]).toMatchObject({
      epoch: 2,
      after: 0,
      entries: [
        { kind: "recovered", held: contents.held, sequence: contents.jobs.sequence, jobHash: contents.jobs.hash },
        { kind: "decision" },
        ...[{}, {}],
      ],
    });
    const kinds = ledgerOf(rig).map(({ kind }) => kind);
    const begun = kinds.indexOf("RECOVERING");
    expect(kinds.slice(begun)).toEqual(["RECOVERING", "IMPORTED", "IMPORTED", "IMPORTED", "RECOVERED", "REPORTED"]);
    assertSafe(worldOf(rig));
  });

  it("a ledger put back to before it meets an echo, or no greeting at all", () => {
    const { rig, contents } = locked();
    const before = backup(rig);
    taken(rig, contents);
    const middle = backup(rig);
    rig.request();
    rig.acknowledge();
    restore(rig, middle);
    expect(rig.greet()).toMatchObject({ code: "SIGNER_LOCKED", detail: "LEDGER_BEHIND_GATEWAY" });
    restore(rig, before);
    expect(rig.greet().code).toBe("ADMISSION_OTHER_EPOCH");
  });

  it("what was bound is only watched until a person says yes, and is never refused, declined or run out", () => {
    const { rig, contents, lost } = locked();
    taken(rig, contents);
    expect(rig.show(lost)).toMatchObject({ state: "quarantined", nonce: "6", code: "RECOVERY_HOLD" });
    expect(rig.show(lost).versions).toMatchObject([{ isOut: true }]);
    expect(rig.ask("sign", { transactionId: lost, facts }).code).toBe("WITHDRAWAL_HELD");
    expect(rig.ask("replace", { transactionId: lost, above: 1, facts }).code).toBe("WITHDRAWAL_HELD");
    expect(rig.ask("decline", { transactionId: lost, code: "CHAIN_WOULD_REVERT" }).code).toBe("WITHDRAWAL_BOUND");
    expect(rig.operate("refuse", { transactionId: lost }).code).toBe("WITHDRAWAL_BOUND");
    rig.now += 2 * 86_400_000;
    rig.greet();
    rig.signer.tick();
    expect(rig.show(lost).state).toBe("quarantined");
    expect(rig.ask("observed", { transactionId: lost, ...final("ab") }).code).toBe("WITHDRAWAL_OTHER_TRANSACTION");
    const { txHash } = rig.show(lost).versions[0]!;
    rig.ask("observed", { transactionId: lost, stage: "included", outcome: "", txHash, block: 9 });
    expect(rig.show(lost).state).toBe("quarantined");
    rig.ask("observed", { transactionId: lost, ...final(txHash) });
    expect(rig.show(lost).state).toBe("paid");
    assertSafe(worldOf(rig));
  });

  it("a nonce that a foreign transaction used is an alarm while a person decides everything, and a lock once it has ended", () => {
    const { rig, contents, lost, held } = locked();
    taken(rig, contents);
    const lose = (transactionId: string) =>
      rig.ask("observed", { transactionId, stage: "final", outcome: "lost", txHash: "", block: 0 });
    expect(lose(lost).withdrawal.state).toBe("lost");
    expect(ledgerOf(rig).slice(-2)).toMatchObject([{ kind: "ALARM", code: "CHAIN_NONCE_LOST" }, { kind: "OBSERVED" }]);
    expect(rig.core.locked).toBeNull();
    approve(rig, held);
    expect(rig.ask("sign", { transactionId: held, facts }).ok).toBe(true);
    rig.acknowledge();
    expect(rig.operate("finish").ok).toBe(true);
    expect(lose(held).withdrawal.state).toBe("lost");
    expect(rig.core.locked?.code).toBe("CHAIN_NONCE_FOREIGN");
    assertSafe(worldOf(rig));
  });

  it("a yes to one whose bytes are gone signs anew on its own nonce, and on no other", () => {
    const { rig, contents, lost } = locked();
    taken(rig, contents);
    const { approvalDigest: digest } = rig.show(lost);
    expect(rig.operate("approve", { transactionId: lost, digest: "00".repeat(32), address: "" }).code).toBe("WITHDRAWAL_DIGEST");
    expect(rig.operate("approve", { transactionId: lost, digest, address: "" }).ok).toBe(true);
    expect(rig.show(lost).state).toBe("released");
    expect(rig.ask("sign", { transactionId: lost, facts }).ok).toBe(true);
    expect(ledgerOf(rig).filter(({ kind }) => kind === "INTENT")).toHaveLength(1);
    rig.ask("replace", { transactionId: lost, above: 1, facts });
    const [, second] = rig.show(lost).versions;
    expect(second).not.toHaveProperty("raw");
    expect(rig.acknowledge().withdrawals[0]?.versions[1]).toHaveProperty("raw");
    const intents = ledgerOf(rig).filter((record) => record.kind === "INTENT" && record.transactionId === lost);
    expect(intents).toMatchObject([{ version: 2, nonce: "6" }]);
    // The same facts would make the forgotten bytes again, as another version of theirs.
    expect(second?.txHash).not.toBe(rig.show(lost).versions[0]?.txHash);
    assertSafe(worldOf(rig));
  });

  it("a yes to one whose bytes are here lets the very same out again", () => {
    const rig = new Rig().ready();
    const { transactionId, versions } = rig.pay();
    taken(rig, databaseOf(rig));
    expect(rig.show(transactionId).versions[0]).not.toHaveProperty("raw");
    approve(rig, transactionId);
    expect(rig.show(transactionId)).toMatchObject({ state: "released", nonce: "5", versions: [{ raw: versions[0]?.raw }] });
    assertSafe(worldOf(rig));
  });

  it("one signed and never let out waits for the gateway's word again, after the yes", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    const before = { ...databaseOf(rig) };
    rig.ask("sign", { transactionId, facts });
    taken(rig, before);
    expect(rig.show(transactionId)).toMatchObject({ state: "quarantined", nonce: "5" });
    expect(rig.left.size).toBe(0);
    approve(rig, transactionId);
    expect(rig.show(transactionId).state).toBe("signed");
    expect(rig.left.size).toBe(0);
    rig.acknowledge();
    expect(rig.show(transactionId).state).toBe("released");
    expect(rig.left.size).toBe(1);
    assertSafe(worldOf(rig));
  });

  it("one only intended is signed after the yes as it was recorded", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    const contents = databaseOf(rig);
    rig.send("sign", { transactionId, facts });
    // The intent reaches the disk, the signature does not.
    rig.disk.sync();
    rig.crash();
    taken(rig, contents);
    expect(rig.show(transactionId)).toMatchObject({ state: "quarantined", nonce: "5" });
    approve(rig, transactionId);
    expect(rig.show(transactionId).state).toBe("intent");
    rig.ask("sign", { transactionId, facts: { ...facts, maxFeePerGas: "3000000000" } });
    expect(rig.acknowledge().withdrawals[0]).toMatchObject({ nonce: "5", versions: [{ maxFeePerGas: facts.maxFeePerGas }] });
    assertSafe(worldOf(rig));
  });

  it("what has no token waits for a fresh yes, and everything new is held until the recovery ends", () => {
    const { rig, contents, held } = locked();
    const head = taken(rig, contents);
    expect(head.seq).toBeGreaterThan(0);
    expect(rig.show(held)).toMatchObject({ state: "held", code: "RECOVERY_HOLD", nonce: "" });
    const fresh = rig.request();
    expect(fresh).toMatchObject({ state: "held", code: "RECOVERY_HOLD" });
    approve(rig, fresh.transactionId);
    rig.ask("sign", { transactionId: fresh.transactionId, facts });
    expect(rig.show(fresh.transactionId).nonce).toBe("7");
    expect(rig.operate("finish").ok).toBe(true);
    expect(rig.operate("finish").ok).toBe(true);
    expect(rig.operate("status").status.recovery).toBe("");
    expect(rig.request().state).toBe("approved");
    expect(rig.show(held).state).toBe("held");
    expect(ledgerOf(rig).filter(({ kind }) => kind === "RESUMED")).toHaveLength(1);
    assertSafe(worldOf(rig));
  });

  it("ends only once the gateway has taken it", () => {
    const { rig, contents } = locked();
    recovered(rig, contents);
    expect(rig.operate("finish").code).toBe("SIGNER_NOT_GREETED");
    rig.greet();
    expect(rig.operate("finish").code).toBe("RECOVERY_NOT_TAKEN");
    rig.acknowledge();
    expect(rig.operate("finish").ok).toBe(true);
  });

  it("an order that was here before and comes as a job again is never paid again", () => {
    const { rig, contents, lost } = locked();
    taken(rig, contents);
    const { orderId } = JSON.parse(contents.withdrawals.find(({ token }) => token === "6")!.job) as { orderId: string };
    rig.request({ orderId });
    expect(ledgerOf(rig).at(-1)).toMatchObject({ kind: "REPEATED", transactionId: lost, code: "" });
    expect(rig.show(lost)).toMatchObject({ state: "quarantined", nonce: "6" });
  });
});

function final(txHash: string): object {
  return { stage: "final", outcome: "paid", txHash, block: 9 };
}

function approve(rig: Rig, transactionId: string): void {
  const { approvalDigest: digest } = rig.show(transactionId);
  expect(rig.operate("approve", { transactionId, digest, address: "" })).toMatchObject({ ok: true });
}

describe("a ledger begun anew", () => {
  function anew(rig: Rig): void {
    const disk = new MemoryDisk();
    const gatewayKey = publicKeyHex(rig.gateway.key);
    createLockedLedger(disk, { kind: "PAIRED", agent: agentId, merchant, wallet, epoch: 1, gatewayKey }, () => rig.now);
    restore(rig, disk);
  }

  it("is locked from its first moment, and an order fills it", () => {
    const { rig, contents, lost, held } = forgetful();
    anew(rig);
    expect(rig.operate("status").status.locked).toBe("LEDGER_NEW");
    rig.greet();
    expect(rig.ask("adopt", { chain: "local", nonce: "0", witnesses: 2 }).code).toBe("SIGNER_LOCKED");
    taken(rig, contents);
    expect(rig.show(lost)).toMatchObject({ state: "quarantined", nonce: "6", address: shop });
    expect(rig.show(held).state).toBe("held");
    // Where the account began is settled, whatever the courier says now.
    expect(rig.ask("adopt", { chain: "local", nonce: "3", witnesses: 2 }).code).toBe("ACCOUNT_ADOPTED");
    approve(rig, held);
    rig.ask("sign", { transactionId: held, facts });
    expect(rig.show(held)).toMatchObject({ nonce: "7", account: hot });
    assertSafe(worldOf(rig));
  });

  it("is not begun where one is", () => {
    const { rig } = forgetful();
    const first = { kind: "PAIRED", agent: agentId, merchant, wallet, epoch: 1, gatewayKey: "aa".repeat(32) } as const;
    expect(() => createLockedLedger(rig.disk, first, () => 0)).toThrow(/already/);
  });
});
