/**
 * Limits on a chain where attempts end by expiry: each attempt that can still be paid counts,
 * against every lie that gateway and courier agree on. The sums are held against the bytes that
 * left the signer, read by code that is not ours. A second attempt that pays again:
 * SatoshiPortal/bullbitcoin-mobile #2601, peanutprotocol/peanut-ui #2619; one that waits for the
 * first one's end: zodl-inc/ zodl-project #88.
 */

import { describe, expect, it } from "vitest";
import { readRules } from "../../agent/signer/policy/rules.ts";
import { Core, type CoreSnapshot } from "../../agent/signer/state/core.ts";
import { limitUseAt } from "../../agent/signer/state/policy-state.ts";
import { expiryExclusionOf } from "../../chains/families.ts";
import { mostPayable, payableWithin, type SignedBytes } from "../../lab/kit/signed-bytes.ts";
import type { KitOptions } from "../../lab/kit/signer-kit.ts";
import { exactNumbersOfSigned } from "../../lab/kit/tron-judge.ts";
import { databaseOf, recovered } from "../support/recovery-offer.ts";
import {
  keys,
  network,
  offerAt,
  receiver,
  type WaitingKit,
  waitingKit,
  waitingSettings,
} from "../support/waiting-kit.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const { marginMs } = expiryExclusionOf(network)!;

/** The example's limits; its fee limit is wide, so that the amounts decide. */
const example = {
  maxPerWithdrawal: "1000",
  maxPerHour: "15000",
  maxPerDay: "50000",
  maxFee: "45",
  maxFeePerDay: "90000",
};

function limitedKit(
  limits: Partial<typeof example> & { readonly manualReplaceAbove?: string } = {},
  options: KitOptions = {},
): WaitingKit {
  const usdt = { ...example, manualReplaceAbove: "500", ...limits };
  return waitingKit({
    settings: { ...waitingSettings, policy: { trx: example, usdt } },
    ...options,
  });
}

/** Bytes that left the signer; the time of signing is that of their record in the ledger. */
function signedBytes(kit: WaitingKit): readonly SignedBytes[] {
  const atOf = new Map(
    kit
      .records()
      .flatMap((record) => (record.kind === "SIGNED" ? [[record.raw, record.at] as const] : [])),
  );
  return [...kit.left].map((raw) => {
    const { amountUnits, expirationMs } = exactNumbersOfSigned(raw);
    return {
      units: BigInt(amountUnits),
      signedAt: atOf.get(raw)!,
      validUntilMs: Number(expirationMs) + marginMs,
      slot: "",
    };
  });
}

/** Both liars call every attempt void, and ask for the next one. */
function lie(kit: WaitingKit, ids: readonly string[], attempt: number): void {
  for (const id of ids) {
    const txHash = kit.show(id).attempts[attempt - 1]?.txHash;
    if (txHash === undefined) continue;
    kit.gateway.voided.add(txHash);
    kit.ask("observed", {
      transactionId: id,
      stage: "void",
      outcome: "",
      txHash,
      block: 900,
      quorum: 2,
    });
  }
  kit.acknowledge();
  for (const id of ids)
    kit.askAtOnce("replace", {
      transactionId: id,
      above: attempt,
      txParams: offerAt(kit.now, attempt + 7),
    });
  kit.acknowledge();
}

function usedInHour(kit: WaitingKit): string {
  return kit.operate("status").status.limits.find(({ currency }) => currency === "usdt")!
    .usedInHour;
}

describe("two liars on Tron", () => {
  const limits = { perHour: 15_000_000_000n, perDay: 50_000_000_000n };

  it("get no attempt called void before its end, and so no second attempt of 30 orders within seconds", () => {
    const kit = limitedKit();
    const ids = Array.from({ length: 30 }, () => kit.payout({ amount: "500" }));
    for (let attempt = 1; attempt < 14; attempt++) lie(kit, ids, attempt);
    expect(kit.kinds()).not.toContain("VOID");
    expect(mostPayable(signedBytes(kit))).toMatchObject({
      atOnce: 15_000_000_000n,
      inHour: 15_000_000_000n,
    });
    payableWithin(signedBytes(kit), limits);
  });

  it("that wait for each end get never more at once than the limit, and in an hour at most the limit given back once", () => {
    const kit = limitedKit();
    const ids = Array.from({ length: 30 }, () => kit.payout({ amount: "500" }));
    for (let attempt = 1; attempt < 14; attempt++) {
      kit.now += 8 * minuteMs;
      kit.handshake();
      lie(kit, ids, attempt);
      payableWithin(signedBytes(kit), limits);
    }
    const most = mostPayable(signedBytes(kit));
    expect(most.atOnce).toBe(15_000_000_000n);
    expect(most.inHour).toBe(30_000_000_000n);
  });
});

describe("an amount that can still be paid", () => {
  it("counts for longer than the hour, until both words and its own end, and then is given back", () => {
    const kit = limitedKit({ maxPerHour: "1000" });
    const id = kit.payout({ amount: "600" });
    kit.now += hourMs + minuteMs;
    kit.handshake();
    const other = kit.request({ network, address: receiver, amount: "600" }).transactionId;
    const sign = () => kit.ask("sign", { transactionId: other, txParams: offerAt(kit.now) });
    expect(usedInHour(kit)).toBe("600");
    expect(sign()).toMatchObject({ ok: false, code: "POLICY_ABOVE_HOUR" });
    kit.gatewaySays(id);
    expect(sign().code).toBe("POLICY_ABOVE_HOUR");
    kit.courierSays(id);
    expect(sign().ok).toBe(true);
    expect(usedInHour(kit)).toBe("600");
  });

  it("leaves the hour by its own time once it is paid and both have said so", () => {
    const kit = limitedKit({ maxPerHour: "1000" });
    const id = kit.payout({ amount: "600" });
    const paid = {
      transactionId: id,
      stage: "final",
      outcome: "paid",
      txHash: kit.hashOf(id),
      block: 7,
    };
    expect(kit.ask("observed", paid).ok).toBe(true);
    kit.acknowledge();
    kit.acknowledge();
    expect(usedInHour(kit)).toBe("600");
    kit.now += hourMs + minuteMs;
    kit.handshake();
    expect(usedInHour(kit)).toBe("0");
  });

  it("counts again when a block has what both had called void", () => {
    const kit = limitedKit({ maxPerHour: "1000", manualReplaceAbove: "1000" });
    const id = kit.payout({ amount: "600" });
    kit.callVoid(id);
    kit.now += hourMs;
    kit.handshake();
    expect(usedInHour(kit)).toBe("0");
    const seen = {
      transactionId: id,
      stage: "included",
      outcome: "",
      txHash: kit.hashOf(id),
      block: 7,
    };
    expect(kit.ask("observed", seen).ok).toBe(true);
    expect(usedInHour(kit)).toBe("600");
  });
});

describe("a next attempt that a limit leaves no room for", () => {
  /**
   * One withdrawal whose attempt became void after an hour, beside another that was paid meanwhile.
   */
  function crowded(): { readonly kit: WaitingKit; readonly id: string; readonly other: string } {
    const kit = limitedKit({ maxPerHour: "1000", manualReplaceAbove: "1000" });
    const id = kit.payout({ amount: "600" });
    kit.now += hourMs + minuteMs;
    kit.handshake();
    kit.callVoid(id);
    return { kit, id, other: kit.payout({ amount: "600" }) };
  }

  it("waits and is not refused, status and the answer say so, and it goes on when the window has room", () => {
    const { kit, id, other } = crowded();
    expect(kit.next(id)).toMatchObject({
      ok: false,
      code: "WITHDRAWAL_WAITS_FOR_LIMIT",
      detail: "POLICY_ABOVE_HOUR",
    });
    expect(kit.show(id).state).toBe("released");
    const { status } = kit.operate("status");
    expect(status.noRoom).toEqual({
      transactionId: id,
      network,
      slot: "0",
      attempts: 1,
      code: "POLICY_ABOVE_HOUR",
    });
    expect(kit.kinds().filter((kind) => kind === "INTENT")).toHaveLength(2);
    kit.callVoid(other);
    expect(kit.operate("status").status.noRoom).toBeUndefined();
    expect(kit.next(id).ok).toBe(true);
  });

  it("waits for an operator's word as well, and an operator may cancel it", () => {
    const { kit, id } = crowded();
    expect(kit.order("replace", id).ok).toBe(true);
    expect(kit.next(id).code).toBe("WITHDRAWAL_WAITS_FOR_LIMIT");
    expect(kit.order("cancel", id).withdrawal.state).toBe("expired");
    expect(kit.operate("status").status.noRoom).toBeUndefined();
  });

  it("is made where the limit is wider", () => {
    const { kit, id } = crowded();
    const usdt = { ...example, maxPerHour: "1200", manualReplaceAbove: "1000" };
    kit.edited = { ...waitingSettings, policy: { trx: example, usdt } };
    kit.start();
    kit.handshake();
    kit.gatewaySays(id);
    expect(kit.next(id).ok).toBe(true);
  });
});

describe("replayed", () => {
  const rulesOf = (kit: WaitingKit) =>
    readRules(
      kit.edited ?? { ...waitingSettings, policy: { trx: example, usdt: example } },
      keys.vault.accounts,
    );

  it("attempts count the same when replayed from the file, from a checkpoint and from one of an earlier program", () => {
    const kit = limitedKit({}, { segmentBytesMax: 1_500 });
    const same = (): void => {
      kit.settle();
      const live = JSON.stringify(kit.core.snapshot());
      kit.start();
      expect(JSON.stringify(kit.core.snapshot())).toBe(live);
      expect(
        JSON.stringify(new Core(rulesOf(kit), kit.signer.ledger.past, JSON.parse(live)).snapshot()),
      ).toBe(live);
      kit.handshake();
      kit.signer.tick();
      kit.settle();
    };
    const [voided, alive] = [kit.payout({ amount: "100" }), kit.payout({ amount: "200" })];
    same();
    kit.callVoid(voided);
    same();
    kit.gatewaySays(voided);
    expect(kit.next(voided).ok).toBe(true);
    kit.acknowledge();
    same();
    kit.now += hourMs + minuteMs;
    kit.handshake();
    kit.request({ network, address: receiver });
    same();
    expect(usedInHour(kit)).toBe("300");
    expect(kit.show(alive).attempts).toHaveLength(1);
    expect(kit.kinds().filter((kind) => kind === "CHECKPOINT").length).toBeGreaterThan(2);
    // An earlier program counted a withdrawal once, and let it leave the window by its time.
    const now = kit.core.snapshot();
    const windows = now.policy.windows.map(
      ([currency, hour, day]) => [currency, hour, day, [], [], []] as const,
    );
    const older = { ...now, policy: { ...now.policy, windows } } as CoreSnapshot;
    const used = limitUseAt(
      new Core(rulesOf(kit), kit.signer.ledger.past, older).policy,
      "usdt",
      kit.now,
    );
    expect(used.hourUnits).toBe(300_000_000n);
    expect(used.feesUnits).toBeGreaterThan(0n);
  });

  it("each attempt that may be paid counts in a ledger that an order opened", () => {
    const kit = limitedKit({ manualReplaceAbove: "1000" });
    const id = kit.payout({ amount: "100" });
    kit.callVoid(id);
    expect(kit.next(id).ok).toBe(true);
    kit.acknowledge();
    const contents = databaseOf(kit);
    kit.forget();
    recovered(kit, contents);
    kit.now += 1;
    kit.handshake();
    expect(usedInHour(kit)).toBe("200");
  });
});
