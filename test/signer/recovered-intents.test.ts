/**
 * Recoveries on chains without counts, where no slot keeps a second payment out. An intent of a
 * backup may have been signed and sent since, and an attempt that is void may have had a successor:
 * when ledger and gateway are both restored, an operator decides.
 */
import { describe, expect, it } from "vitest";
import { MemoryDisk } from "../../lab/kit/ledger-disk.ts";
import { type CoinKit, coinKit, made } from "../support/coin-kit.ts";
import { backup, databaseOf, orderOf, recovered, restore } from "../support/recovery-offer.ts";
import {
  offerAt,
  type WaitingKit,
  waitingKit,
  network as waitingNetwork,
  receiver as waitingReceiver,
} from "../support/waiting-kit.ts";

function opened(kit: CoinKit | WaitingKit): void {
  kit.now += 1;
  kit.handshake();
  kit.acknowledge();
  expect(kit.ask("hello")).toMatchObject({ handshakeDone: true, locked: "" });
  kit.acknowledge();
}

/** The disk without what followed the newest intent. */
function upToIntent(disk: MemoryDisk): MemoryDisk {
  return MemoryDisk.of(
    [...disk.files].map(([name, bytes]) => {
      const text = Buffer.from(bytes).toString("latin1");
      const at = text.lastIndexOf('"INTENT"');
      return [name, at < 0 ? bytes : bytes.slice(0, text.indexOf("\n", at) + 1)] as const;
    }),
  );
}

/** An order with an intent in the backup, which was signed and sent since. */
function sentSince() {
  const kit = coinKit();
  const pin = made(500_000n);
  const id = kit.order();
  const order = orderOf(kit.gateway.texts.at(-1) ?? "");
  kit.send("sign", { transactionId: id, txParams: kit.offerOf([pin]), evidence: [pin.made] });
  const [before, forgotten] = [upToIntent(backup(kit)), databaseOf(kit)];
  kit.crash();
  kit.handshake();
  expect(kit.sign(id, [pin]).ok).toBe(true);
  kit.acknowledge();
  expect(kit.show(id).state).toBe("released");
  return { kit, id, pin, order, before, forgotten, known: databaseOf(kit) };
}

describe("an intent that may have been sent since the backup", () => {
  it("is not paid again by itself: the order comes again and is held", () => {
    const { kit, id, order, before, forgotten } = sentSince();
    restore(kit, before);
    expect(kit.show(id).state).toBe("intent");
    const plan = recovered(kit, forgotten, {}, true);
    expect([plan.left, plan.withdrawals]).toEqual([1, []]);
    opened(kit);
    const { transactionId } = kit.request(order);
    expect(transactionId).toBe(id);
    expect(kit.show(id)).toMatchObject({ state: "held", code: "RECOVERY_HOLD" });
    expect(kit.sign(id, [made(600_000n)])).toMatchObject({ ok: false });
  });

  it("keeps the pin that the gateway knows, where the ledger alone was restored", () => {
    const { kit, id, pin, before, known } = sentSince();
    restore(kit, before);
    recovered(kit, known);
    opened(kit);
    expect(kit.show(id)).toMatchObject({
      state: "released",
      attempts: [{ pin: `${pin.id}:${pin.units}`, isOut: true }],
    });
    const other = made(600_000n);
    kit.now += 60_000;
    const next = {
      transactionId: id,
      above: 1,
      txParams: kit.offerOf([other], 50_000n),
      evidence: [other.made],
    };
    expect(kit.askAtOnce("replace", next).code).toBe("ACCOUNT_PIN_OTHER");
  });
});

describe("an attempt that ended by expiry before the backup", () => {
  const succeeded = () => {
    const kit = waitingKit();
    const id = kit.payout();
    kit.callVoid(id);
    const [before, forgotten] = [backup(kit), databaseOf(kit)];
    expect(kit.next(id).ok).toBe(true);
    kit.acknowledge();
    restore(kit, before);
    return { kit, id, forgotten };
  };

  it("may have had a successor: an operator decides on the next one", () => {
    const { kit, id, forgotten } = succeeded();
    recovered(kit, forgotten, {}, true);
    opened(kit);
    expect(kit.show(id)).toMatchObject({ state: "quarantined", code: "RECOVERY_HOLD" });
    kit.callVoid(id);
    expect(kit.next(id).code).toBe("WITHDRAWAL_HELD");
    expect(kit.operate("finish")).toMatchObject({ ok: true });
    expect(kit.next(id).code).toBe("WITHDRAWAL_HELD");
    expect(kit.order("cancel", id)).toMatchObject({ ok: true });
    kit.signer.tick();
    expect(kit.show(id).state).toBe("expired");
  });

  it("may have had a successor, also when a limit has no room: no later recovery pays it by itself", () => {
    const kit = waitingKit();
    const { transactionId: id } = kit.request({
      network: waitingNetwork,
      address: waitingReceiver,
    });
    const before = backup(kit);
    expect(kit.ask("sign", { transactionId: id, txParams: offerAt(kit.now) }).ok).toBe(true);
    kit.acknowledge();
    const forgotten = databaseOf(kit);
    kit.callVoid(id);
    expect(kit.next(id).ok).toBe(true);
    kit.acknowledge();
    restore(kit, before);
    const spent = [{ currency: "usdt", units: "1000000000000", feesUnits: "0" }];
    recovered(kit, { ...forgotten, spent }, {}, true);
    opened(kit);
    expect(kit.show(id)).toMatchObject({ state: "quarantined", code: "RECOVERY_HOLD" });
    expect(kit.operate("finish")).toMatchObject({ ok: true });
    kit.acknowledge();
    const later = { ...databaseOf(kit), withdrawals: forgotten.withdrawals };
    kit.now += 90_000_000;
    restore(kit, backup(kit));
    recovered(kit, later);
    opened(kit);
    kit.callVoid(id);
    expect(kit.show(id)).toMatchObject({ state: "quarantined", code: "RECOVERY_HOLD" });
    expect(kit.next(id).code).toBe("WITHDRAWAL_HELD");
  });

  it("is followed by another at once, where the gateway knows all attempts", () => {
    const { kit, id, forgotten } = succeeded();
    recovered(kit, forgotten);
    opened(kit);
    expect(kit.show(id).code).toBe("");
    kit.callVoid(id);
    expect(kit.next(id).ok).toBe(true);
  });
});
