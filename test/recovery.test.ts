/**
 * A restored, forked or lost ledger and its way back: the gateway's order is only kept, and a person's yes to exactly it moves
 * everything at once. What holds afterwards is recovery-after.test.ts; the gateway that lost data is recovery-gateway.test.ts.
 */
import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createLockedLedger } from "../agent/ledger/ledger.ts";
import { publicKeyHex } from "../protocol/envelope.ts";
import type { Recovery } from "../protocol/recovery.ts";
import { approve, assertWhole, forgetful, locked } from "./support/forgetful-signer.ts";
import { MemoryDisk } from "./support/ledger-disk.ts";
import { databaseOf, ledgerOf, offer, orderFrame, recovered, restore, shown, taken } from "./support/recovery-order.ts";
import { agentId, facts, hot, merchant, Rig, shop, wallet } from "./support/signer-rig.ts";

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

describe("a ledger begun anew", () => {
  function anew(rig: Rig): void {
    const disk = new MemoryDisk();
    const gatewayKey = publicKeyHex(rig.gateway.key);
    createLockedLedger(disk, { kind: "PAIRED", agent: agentId, merchant, wallet, epoch: 1, gatewayKey });
    restore(rig, disk);
  }

  it("is locked from its first moment, and an order fills it", () => {
    const { rig, contents, lost, held } = forgetful();
    anew(rig);
    expect(rig.operate("status").status.locked).toBe("LEDGER_NEW");
    // By no clock of its own: one that is weeks ahead would make one day of all weeks until then.
    expect(ledgerOf(rig).map(({ kind, at }) => `${kind} ${at}`)).toEqual(["PAIRED 0", "LOCKED 0"]);
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
    assertWhole(rig);
  });

  it("is not begun where one is", () => {
    const { rig } = forgetful();
    const first = { kind: "PAIRED", agent: agentId, merchant, wallet, epoch: 1, gatewayKey: "aa".repeat(32) } as const;
    expect(() => createLockedLedger(rig.disk, first)).toThrow(/already/);
  });
});
