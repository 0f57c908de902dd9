/**
 * Limits on a chain where versions end by waiting: each version that can still be paid counts,
 * against every lie that gateway and courier agree on. The sums are held against the bytes that
 * left the signer, read by code that is not ours. A second attempt that pays again:
 * SatoshiPortal/bullbitcoin-mobile #2601, peanutprotocol/peanut-ui #2619; one that waits for the
 * first one's end: zodl-inc/ zodl-project #88.
 */

import { describe, expect, it } from "vitest";
import { readRules } from "../../agent/signer/policy/rules.ts";
import { Core, type CoreSnapshot } from "../../agent/signer/state/core.ts";
import { usedAt } from "../../agent/signer/state/policy-state.ts";
import { waitingOf } from "../../chains/families.ts";
import { mostPayable, payableWithin, type SignedBytes } from "../../lab/rig/signed-bytes.ts";
import type { RigOptions } from "../../lab/rig/signer-rig.ts";
import { exactNumbersOfSigned } from "../../lab/rig/tron-judge.ts";
import { databaseOf, recovered } from "../support/recovery-order.ts";
import { keys, network, offerAt, receiver, type WaitingRig, waitingRig, waitingSettings } from "../support/waiting-rig.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const { marginMs } = waitingOf(network)!;

/** The example's limits; its fee limit is wide, so that the amounts decide. */
const example = { maxPerWithdrawal: "1000", maxPerHour: "15000", maxPerDay: "50000", maxFee: "45", maxFeePerDay: "90000" };

function limitedRig(
  limits: Partial<typeof example> & { readonly resignAbove?: string } = {},
  options: RigOptions = {},
): WaitingRig {
  const usdt = { ...example, resignAbove: "500", ...limits };
  return waitingRig({ settings: { ...waitingSettings, policy: { trx: example, usdt } }, ...options });
}

/** Bytes that left the signer; the time of signing is that of their record in the ledger. */
function signedBytes(rig: WaitingRig): readonly SignedBytes[] {
  const atOf = new Map(rig.records().flatMap((record) => (record.kind === "SIGNED" ? [[record.raw, record.at] as const] : [])));
  return [...rig.left].map((raw) => {
    const { amountUnits, expirationMs } = exactNumbersOfSigned(raw);
    return { units: BigInt(amountUnits), signedAt: atOf.get(raw)!, untilMs: Number(expirationMs) + marginMs, slot: "" };
  });
}

/** Both liars call every version dead, and ask for the next one. */
function lie(rig: WaitingRig, ids: readonly string[], version: number): void {
  for (const id of ids) {
    const txHash = rig.show(id).versions[version - 1]?.txHash;
    if (txHash === undefined) continue;
    rig.gateway.dead.add(txHash);
    rig.ask("observed", { transactionId: id, stage: "dead", outcome: "", txHash, block: 900, witnesses: 2 });
  }
  rig.acknowledge();
  for (const id of ids) rig.askAtOnce("replace", { transactionId: id, above: version, facts: offerAt(rig.now, version + 7) });
  rig.acknowledge();
}

function usedInHour(rig: WaitingRig): string {
  return rig.operate("status").status.limits.find(({ currency }) => currency === "usdt")!.usedInHour;
}

describe("two liars on Tron", () => {
  const limits = { perHour: 15_000_000_000n, perDay: 50_000_000_000n };

  it("two liars on Tron get no death taken before its end, and so no second version of 30 orders within seconds", () => {
    const rig = limitedRig();
    const ids = Array.from({ length: 30 }, () => rig.payout({ amount: "500" }));
    for (let version = 1; version < 14; version++) lie(rig, ids, version);
    expect(rig.kinds()).not.toContain("DEAD");
    expect(mostPayable(signedBytes(rig))).toMatchObject({ atOnce: 15_000_000_000n, inHour: 15_000_000_000n });
    payableWithin(signedBytes(rig), limits);
  });

  it("two liars on Tron that wait for each end get never more at once than the limit, and in an hour at most the limit given back once", () => {
    const rig = limitedRig();
    const ids = Array.from({ length: 30 }, () => rig.payout({ amount: "500" }));
    for (let version = 1; version < 14; version++) {
      rig.now += 8 * minuteMs;
      rig.greet();
      lie(rig, ids, version);
      payableWithin(signedBytes(rig), limits);
    }
    const most = mostPayable(signedBytes(rig));
    expect(most.atOnce).toBe(15_000_000_000n);
    expect(most.inHour).toBe(30_000_000_000n);
  });
});

describe("an amount that can still be paid", () => {
  it("an amount that can still be paid counts for longer than the hour, until both words and its own end, and then is given back", () => {
    const rig = limitedRig({ maxPerHour: "1000" });
    const id = rig.payout({ amount: "600" });
    rig.now += hourMs + minuteMs;
    rig.greet();
    const other = rig.request({ network, address: receiver, amount: "600" }).transactionId;
    const sign = () => rig.ask("sign", { transactionId: other, facts: offerAt(rig.now) });
    expect(usedInHour(rig)).toBe("600");
    expect(sign()).toMatchObject({ ok: false, code: "POLICY_ABOVE_HOUR" });
    rig.gatewaySays(id);
    expect(sign().code).toBe("POLICY_ABOVE_HOUR");
    rig.courierSays(id);
    expect(sign().ok).toBe(true);
    expect(usedInHour(rig)).toBe("600");
  });

  it("an amount that can still be paid leaves the hour by its own time once it is paid and both have said so", () => {
    const rig = limitedRig({ maxPerHour: "1000" });
    const id = rig.payout({ amount: "600" });
    const paid = { transactionId: id, stage: "final", outcome: "paid", txHash: rig.hashOf(id), block: 7 };
    expect(rig.ask("observed", paid).ok).toBe(true);
    rig.acknowledge();
    rig.acknowledge();
    expect(usedInHour(rig)).toBe("600");
    rig.now += hourMs + minuteMs;
    rig.greet();
    expect(usedInHour(rig)).toBe("0");
  });

  it("an amount that can still be paid counts again when a block has what both had called dead", () => {
    const rig = limitedRig({ maxPerHour: "1000", resignAbove: "1000" });
    const id = rig.payout({ amount: "600" });
    rig.callDead(id);
    rig.now += hourMs;
    rig.greet();
    expect(usedInHour(rig)).toBe("0");
    const seen = { transactionId: id, stage: "included", outcome: "", txHash: rig.hashOf(id), block: 7 };
    expect(rig.ask("observed", seen).ok).toBe(true);
    expect(usedInHour(rig)).toBe("600");
  });
});

describe("a next version that a limit leaves no room for", () => {
  /** One withdrawal that died after an hour, beside another that was paid meanwhile. */
  function crowded(): { readonly rig: WaitingRig; readonly id: string; readonly other: string } {
    const rig = limitedRig({ maxPerHour: "1000", resignAbove: "1000" });
    const id = rig.payout({ amount: "600" });
    rig.now += hourMs + minuteMs;
    rig.greet();
    rig.callDead(id);
    return { rig, id, other: rig.payout({ amount: "600" }) };
  }

  it("a next version that a limit leaves no room for waits and is not refused, status and the answer say so, and it goes on when the window has room", () => {
    const { rig, id, other } = crowded();
    expect(rig.next(id)).toMatchObject({ ok: false, code: "WITHDRAWAL_WAITS_FOR_LIMIT", detail: "POLICY_ABOVE_HOUR" });
    expect(rig.show(id).state).toBe("released");
    const { status } = rig.operate("status");
    expect(status.noRoom).toEqual({ transactionId: id, network, slot: "0", versions: 1, code: "POLICY_ABOVE_HOUR" });
    expect(rig.kinds().filter((kind) => kind === "INTENT")).toHaveLength(2);
    rig.callDead(other);
    expect(rig.operate("status").status.noRoom).toBeUndefined();
    expect(rig.next(id).ok).toBe(true);
  });

  it("a next version that a limit leaves no room for waits for a person's word as well, and a person may cancel it", () => {
    const { rig, id } = crowded();
    expect(rig.order("replace", id).ok).toBe(true);
    expect(rig.next(id).code).toBe("WITHDRAWAL_WAITS_FOR_LIMIT");
    expect(rig.order("cancel", id).withdrawal.state).toBe("expired");
    expect(rig.operate("status").status.noRoom).toBeUndefined();
  });

  it("a next version that a limit leaves no room for is made where the limit is wider", () => {
    const { rig, id } = crowded();
    const usdt = { ...example, maxPerHour: "1200", resignAbove: "1000" };
    rig.edited = { ...waitingSettings, policy: { trx: example, usdt } };
    rig.start();
    rig.greet();
    rig.gatewaySays(id);
    expect(rig.next(id).ok).toBe(true);
  });
});

describe("folded again", () => {
  const rulesOf = (rig: WaitingRig) =>
    readRules(rig.edited ?? { ...waitingSettings, policy: { trx: example, usdt: example } }, keys.vault.accounts);

  it("versions count the same when folded again from the file, from a checkpoint and from one of an earlier program", () => {
    const rig = limitedRig({}, { segmentBytesMax: 1_500 });
    const same = (): void => {
      rig.settle();
      const live = JSON.stringify(rig.core.snapshot());
      rig.start();
      expect(JSON.stringify(rig.core.snapshot())).toBe(live);
      expect(JSON.stringify(new Core(rulesOf(rig), rig.signer.ledger.past, JSON.parse(live)).snapshot())).toBe(live);
      rig.greet();
      rig.signer.tick();
      rig.settle();
    };
    const [dead, alive] = [rig.payout({ amount: "100" }), rig.payout({ amount: "200" })];
    same();
    rig.callDead(dead);
    same();
    rig.gatewaySays(dead);
    expect(rig.next(dead).ok).toBe(true);
    rig.acknowledge();
    same();
    rig.now += hourMs + minuteMs;
    rig.greet();
    rig.request({ network, address: receiver });
    same();
    expect(usedInHour(rig)).toBe("300");
    expect(rig.show(alive).versions).toHaveLength(1);
    expect(rig.kinds().filter((kind) => kind === "CHECKPOINT").length).toBeGreaterThan(2);
    // An earlier program counted a withdrawal once, and let it leave the window by its time.
    const now = rig.core.snapshot();
    const windows = now.policy.windows.map(([currency, hour, day]) => [currency, hour, day, [], [], []] as const);
    const older = { ...now, policy: { ...now.policy, windows } } as CoreSnapshot;
    const used = usedAt(new Core(rulesOf(rig), rig.signer.ledger.past, older).policy, "usdt", rig.now);
    expect(used.hourUnits).toBe(300_000_000n);
    expect(used.feesUnits).toBeGreaterThan(0n);
  });

  it("each version that may be paid counts in a ledger that an order opened", () => {
    const rig = limitedRig({ resignAbove: "1000" });
    const id = rig.payout({ amount: "100" });
    rig.callDead(id);
    expect(rig.next(id).ok).toBe(true);
    rig.acknowledge();
    const contents = databaseOf(rig);
    rig.forget();
    recovered(rig, contents);
    rig.now += 1;
    rig.greet();
    expect(usedInHour(rig)).toBe("200");
  });
});
