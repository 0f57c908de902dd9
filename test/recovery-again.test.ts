/** Recoveries that are not the first: one cut anywhere and done again, one after another, and what an earlier one took over. */
import { describe, expect, it } from "vitest";
import type { LedgerRecord } from "../agent/ledger/records.ts";
import { readRules } from "../agent/signer/policy/rules.ts";
import { Core, type CoreSnapshot } from "../agent/signer/state/core.ts";
import { assertWhole } from "./support/forgetful-signer.ts";
import { MemoryDisk } from "./support/ledger-disk.ts";
import { backup, type Contents, databaseOf, ledgerOf, offer, recovered, restore, taken } from "./support/recovery-order.ts";
import { hot, Rig, settings } from "./support/signer-rig.ts";

/** A rig with a recovery behind it, and the disk cut after so many of its records. */
function cutsOf(): { rig: Rig; contents: Contents; before: number; cuts: { kept: number; disk: MemoryDisk }[] } {
  const rig = new Rig().ready();
  rig.pay();
  const copy = backup(rig);
  rig.pay();
  rig.request({ currency: "eth", amount: "1.5" });
  rig.acknowledge();
  const contents = databaseOf(rig);
  restore(rig, copy);
  rig.greet();
  const before = ledgerOf(rig).length;
  recovered(rig, contents);
  const [name, bytes] = [...rig.disk.files].at(-1)!;
  const text = Buffer.from(bytes).toString();
  const lines = text.split("\n").filter((line) => line !== "");
  const cuts = [];
  for (let kept = before; kept <= lines.length; kept++) {
    const head = lines.slice(0, kept).map((line) => `${line}\n`);
    cuts.push({ kept, disk: MemoryDisk.of([[name, Buffer.from(head.join(""))]]) });
    if (kept < lines.length) {
      const torn = Buffer.from(head.join("") + lines[kept]!.slice(0, 40));
      cuts.push({ kept, disk: MemoryDisk.of([[name, torn]]) });
    }
  }
  return { rig, contents, before, cuts };
}

describe("a recovery cut by a power failure", () => {
  it("has done nothing or all of it, after any of its records, and can be done again", () => {
    const { contents, before, cuts, rig } = cutsOf();
    const { length } = ledgerOf(rig);
    expect(cuts.length).toBeGreaterThan(8);
    for (const { kept, disk } of cuts) {
      const found = new Rig({ found: disk, gatewayKey: rig.gateway.key });
      found.gateway.texts.push(...rig.gateway.texts);
      const isDone = kept === length;
      expect(found.core.locked?.code ?? "").toBe(isDone ? "" : "LEDGER_BEHIND_GATEWAY");
      expect(found.core.paired.epoch).toBe(isDone ? 2 : 1);
      expect(found.core.book.openCount).toBe(isDone ? 3 : 1);
      if (!isDone) expect(found.core.book.count("quarantined")).toBe(0);
      recovered(found, contents);
      expect(found.core.book.count("quarantined")).toBe(2);
      expect(found.core.accounts.find("eip155:31337", hot)?.next).toBe(7n);
      expect(ledgerOf(found).length).toBeGreaterThan(before);
      assertWhole(found);
    }
  });
});

describe("a second recovery", () => {
  it("takes over what the first did, keeps every token and needs a higher epoch", () => {
    const rig = new Rig().ready();
    const bound = rig.pay();
    const first = databaseOf(rig);
    taken(rig, first);
    const held = rig.request();
    rig.acknowledge();
    const second = databaseOf(rig);
    expect(offer(rig, second, { epoch: 2 }).code).toBe("RECOVERY_OTHER_EPOCH");
    taken(rig, { ...second, accounts: first.accounts, withdrawals: [...first.withdrawals, second.withdrawals.at(-1)!] });
    expect(rig.core.paired.epoch).toBe(3);
    expect(rig.show(bound.transactionId)).toMatchObject({ state: "quarantined", nonce: "5" });
    expect(rig.show(held.transactionId).state).toBe("held");
    assertWhole(rig);
  });

  it("and a checkpoint keep everything: the state folded from it is the state that was lived", () => {
    const rig = new Rig({ segmentBytesMax: 2_000 }).ready();
    rig.pay();
    const copy = backup(rig);
    rig.pay();
    const contents = databaseOf(rig);
    restore(rig, copy);
    taken(rig, contents);
    rig.request();
    rig.acknowledge();
    const lived = rig.core.snapshot();
    const folded = new Core(readRules(settings, hot), JSON.parse(JSON.stringify(lived)) as CoreSnapshot);
    expect(folded.snapshot()).toEqual(lived);
    const whole = new Core(readRules(settings, hot));
    for (const record of ledgerOf(rig) as readonly LedgerRecord[]) whole.fold(record);
    expect({ ...whole.snapshot(), policy: null }).toEqual({ ...lived, policy: null });
    rig.signer.tick();
    rig.crash();
    expect(rig.operate("status").status).toMatchObject({ epoch: 2, recovery: "RECOVERY_HOLD" });
    expect(rig.core.accounts.gave("eip155:31337", hot, 6n)).toBe(false);
    expect(rig.core.accounts.gave("eip155:31337", hot, 5n)).toBe(true);
    rig.greet();
    rig.acknowledge();
    const endedAt = rig.now;
    expect(rig.operate("finish").ok).toBe(true);
    const kept = JSON.parse(JSON.stringify(rig.core.snapshot())) as CoreSnapshot;
    const job = rig.core.book.find(rig.request().transactionId)!.job;
    const after = new Core(readRules(settings, hot), kept);
    expect(after.isOfRecovery({ ...job, issuedAt: endedAt - 1 })).toBe(true);
    expect(after.isOfRecovery({ ...job, issuedAt: endedAt })).toBe(false);
  });
});

describe("a withdrawal that an earlier recovery took over, where a later order does not name it,", () => {
  /** The gateway went back and was recovered: it learned anew of a withdrawal whose job's number others have since. */
  function learned(): { rig: Rig; learned: string; old: Contents } {
    const rig = new Rig().ready();
    rig.pay();
    const old = databaseOf(rig);
    const { last } = rig.gateway;
    rig.pay();
    const { transactionId } = rig.request({ currency: "eth", amount: "1.5" });
    rig.acknowledge();
    Object.assign(rig.gateway, { stored: old.held, last });
    rig.gateway.texts.splice(1);
    taken(rig, old);
    expect(rig.show(transactionId)).toMatchObject({ state: "held", sequence: 3 });
    return { rig, learned: transactionId, old };
  }

  it("has ended at the gateway, whatever number its job had", () => {
    const { rig, learned: transactionId } = learned();
    const copy = backup(rig);
    rig.operate("refuse", { transactionId });
    rig.acknowledge();
    const contents = { ...databaseOf(rig), jobs: rig.gateway.last };
    restore(rig, copy);
    const plan = recovered(rig, contents);
    expect(plan.withdrawals.find((one) => one.transactionId === transactionId)).toMatchObject({ becomes: "settled" });
    expect(rig.show(transactionId).state).toBe("settled");
  });

  it("is lost there once more when the gateway went back to before it had learned of it", () => {
    const { rig, learned: transactionId, old } = learned();
    taken(rig, old);
    expect(rig.show(transactionId).state).toBe("held");
  });
});
