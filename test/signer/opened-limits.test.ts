/**
 * A recovery order is only the gateway's word: its withdrawals are checked as jobs are, and no
 * account moves beyond the count of ledger, chain and kept withdrawals. Public reports of the same
 * kind, an account that is left beyond the chain: BoltzExchange/boltz-backend 1201 and
 * status-im/status-web 1314 (a counter above the chain's that nothing lowers); of the other, data
 * of a recovery that is taken as it comes: fedimint/fedimint 3941.
 */
import { describe, expect, it } from "vitest";
import type { RecoveryPlan } from "../../agent/socket/recovery-plan.ts";
import { Seeded } from "../../lab/rig/seeded.ts";
import { type AnyAnswer, facts, hot, other, Rig } from "../../lab/rig/signer-rig.ts";
import { signJob } from "../../protocol/envelope.ts";
import type { Job } from "../../protocol/messages.ts";
import type { RecoveryWithdrawal } from "../../protocol/recovery.ts";
import { type Contents, databaseOf, offer, recovered, shown } from "../support/recovery-order.ts";

const network = "eip155:31337";
const eth = 10n ** 18n;
/** As `settings` of the rig says for eth. */
const perHour = 5n * eth;
const perDay = 10n * eth;

/** A row of an order that is in no ledger. */
function invented(rig: Rig, slot: number | bigint, change: Partial<Job> = {}): RecoveryWithdrawal {
  rig.gateway.job({ currency: "eth", amount: "1", address: other, ...change }, rig.now);
  const job = rig.gateway.texts.pop()!;
  const txHash = `0x${slot.toString(16).padStart(64, "b")}`;
  return {
    ...{ job, signature: signJob(job, rig.gateway.key), address: other, account: hot, slot: `${slot}` },
    versions: [{ txHash, feeMax: "42000000000000" }],
  };
}

/** The gateway's own contents with rows of its own making behind them. */
function contentsWith(rig: Rig, rows: readonly RecoveryWithdrawal[], next?: string): Contents {
  const known = databaseOf(rig);
  const highest = Math.max(4, ...rows.map(({ slot }) => Number(slot)));
  const accounts = [{ network, account: hot, next: next ?? `${highest + 1}` }];
  return { ...known, jobs: rig.gateway.last, accounts, withdrawals: [...known.withdrawals, ...rows] };
}

const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, i) => from + i);

/** The courier has every withdrawal signed that the signer lets it. */
function signAll(rig: Rig): void {
  rig.now += 1;
  rig.greet();
  rig.acknowledge();
  for (const { transactionId, state, versions } of rig.ask("hello").open) {
    if (state === "quarantined") continue;
    const higher = { ...facts, maxFeePerGas: "4000000000", maxPriorityFeePerGas: "2000000000" };
    const done = rig.ask("sign", { transactionId, facts });
    if (done.ok) rig.acknowledge();
    rig.askAtOnce("replace", { transactionId, above: versions.length, facts: higher });
    rig.acknowledge();
  }
}

/** Every withdrawal that was signed by this opened ledger, with its amount of eth. */
function signedSince(rig: Rig): ReadonlyMap<string, bigint> {
  const records = rig.records();
  const opened = records.map(({ kind }) => kind).lastIndexOf("OPENED");
  const intents = records.slice(opened + 1).filter((record) => record.kind === "INTENT");
  return new Map(intents.filter(({ contract }) => contract === "").map((one) => [one.transactionId, BigInt(one.amountUnits)]));
}

const sumOf = (units: Iterable<bigint>): bigint => [...units].reduce((sum, one) => sum + one, 0n);

describe("withdrawals that only the gateway's order knows", () => {
  it("withdrawals that only the gateway's order knows are signed again up to the limit of the hour; the rest waits for a person, and the plan says so", () => {
    const rig = new Rig().ready();
    const rows = range(5, 12).map((slot) => invented(rig, slot));
    const plan: RecoveryPlan = recovered(rig, contentsWith(rig, rows));
    expect(plan.unknown).toEqual([{ lane: "eth", count: 12, amount: "12", maxPerHour: "5", maxPerDay: "10", above: 7 }]);
    expect(plan.withdrawals.map(({ code }) => code)).toEqual([
      ...Array.from({ length: 5 }, () => ""),
      ...Array.from({ length: 7 }, () => "POLICY_ABOVE_HOUR"),
    ]);
    signAll(rig);
    expect(sumOf(signedSince(rig).values())).toBe(perHour);
    expect(rig.core.book.count("quarantined")).toBe(7);
    // A withdrawal that may have been paid counts: a job finds no room beside it.
    expect(rig.request({ currency: "eth", amount: "0.1" })).toMatchObject({ state: "refused", code: "POLICY_ABOVE_HOUR" });
    // An hour passes no yes: only a person's does.
    rig.now += 2 * 3_600_000;
    rig.signer.tick();
    signAll(rig);
    expect(rig.core.book.count("quarantined")).toBe(7);
    const [held] = rig.ask("hello").open.filter(({ state }) => state === "quarantined");
    const yes = { transactionId: held!.transactionId, digest: rig.show(held!.transactionId).approvalDigest, address: "" };
    expect(rig.operate("approve", yes)).toMatchObject({ ok: true });
  });

  it("withdrawals that only the gateway's order knows are all signed again where the limits of hour and day have room for them", () => {
    const rig = new Rig().ready();
    const rows = range(5, 4).map((slot) => invented(rig, slot));
    expect(recovered(rig, contentsWith(rig, rows)).unknown).toMatchObject([{ count: 4, above: 0 }]);
    signAll(rig);
    expect(sumOf(signedSince(rig).values())).toBe(4n * eth);
    expect(rig.core.book.count("quarantined")).toBe(0);
  });

  it("withdrawals that only the gateway's order knows are weighed beside what the gateway says was spent and what the ledger had bound", () => {
    const rig = new Rig().ready();
    rig.pay({ currency: "eth", amount: "1" });
    const rows = range(6, 5).map((slot) => invented(rig, slot));
    const contents = contentsWith(rig, rows);
    const spent = [{ currency: "eth", units: `${2n * eth}`, feesUnits: "1" }];
    expect(recovered(rig, { ...contents, spent }).unknown).toMatchObject([{ count: 5, above: 3 }]);
  });
});

describe("a second order", () => {
  it("a second order takes back nothing that the first one had quarantined: that is a person's, however often it is told", () => {
    const rig = new Rig().ready();
    const rows = range(5, 7).map((slot) => invented(rig, slot));
    expect(recovered(rig, contentsWith(rig, rows)).unknown).toMatchObject([{ count: 7, above: 2 }]);
    signAll(rig);
    rig.now += 2 * 3_600_000;
    recovered(rig, { ...contentsWith(rig, rows), held: rig.gateway.stored });
    signAll(rig);
    expect(signedSince(rig).size).toBe(5);
    expect(rig.core.book.count("quarantined")).toBe(2);
  });

  it("a second order that gives one slot to two withdrawals has neither signed on it", () => {
    const rig = new Rig().ready();
    recovered(rig, contentsWith(rig, [invented(rig, 5), invented(rig, 6), invented(rig, 6), invented(rig, 6)]));
    signAll(rig);
    expect(signedSince(rig).size).toBe(1);
    expect(rig.core.book.count("quarantined")).toBe(3);
  });
});

describe("an order's next slot", () => {
  const planOf = (rig: Rig, contents: Contents): AnyAnswer => {
    offer(rig, contents);
    return rig.operate("recover", { digest: "", both: false });
  };

  it("an order's next slot is refused where ledger, chain and the order's own withdrawals end below it", () => {
    const rig = new Rig().ready();
    const refused = planOf(rig, contentsWith(rig, [invented(rig, 5)], "1000000"));
    expect(refused).toMatchObject({ code: "RECOVERY_SLOT", detail: expect.stringContaining("nonce 6 is nobody's") });
    expect(planOf(rig, contentsWith(rig, [invented(rig, 5)], "6"))).toMatchObject({ ok: true });
  });

  it("an order's next slot is refused where a withdrawal leaves a gap below itself, until the chain counts what lies there", () => {
    const rig = new Rig().ready();
    const contents = contentsWith(rig, [invented(rig, 9)]);
    expect(planOf(rig, contents)).toMatchObject({ code: "RECOVERY_SLOT" });
    rig.ask("account", { chain: "local", slot: "8", witnesses: 2 });
    expect(planOf(rig, contents)).toMatchObject({ code: "RECOVERY_SLOT" });
    rig.ask("account", { chain: "local", slot: "9", witnesses: 2 });
    expect(planOf(rig, contents)).toMatchObject({ ok: true });
    expect(shown(rig).accounts).toMatchObject([{ next: "10" }]);
  });
});

describe("orders of random shapes", () => {
  /** One ledger with a past, and an order of the gateway's imagination. */
  function shaped(seed: number): void {
    const chance = new Seeded(seed);
    const rig = new Rig().ready();
    let slot = 5;
    for (let i = chance.below(4); i > 0; i--) {
      const view = rig.request({ currency: "eth", amount: chance.pick(["0.5", "1", "2"]) });
      if (view.state !== "approved" || chance.chance(3)) continue;
      rig.ask("sign", { transactionId: view.transactionId, facts });
      if (!chance.chance(4)) rig.acknowledge();
      slot += 1;
    }
    if (chance.chance(3)) rig.now += chance.pick([1_800_000, 3_600_000, 80_000_000]);
    const before = sumOf(
      rig
        .records()
        .filter((record) => record.kind === "INTENT" && record.at > rig.now - 3_600_000)
        .map((record) => BigInt((record as { amountUnits: string }).amountUnits)),
    );
    const from = slot + (chance.chance(3) ? chance.below(1_000_000) : 0);
    const amounts = ["0.1", "0.5", "1", "2", "3"];
    const rows = range(from, chance.below(24)).flatMap((at) =>
      chance.chance(12) ? [] : [invented(rig, at, { amount: chance.pick(amounts), mode: chance.chance(9) ? "manual" : "auto" })],
    );
    const next = chance.chance(4) ? `${slot + chance.below(2_000_000)}` : undefined;
    const count = chance.chance(3) ? slot : slot - 1;
    rig.ask("account", { chain: "local", slot: `${count}`, witnesses: 2 });
    const contents = contentsWith(rig, rows, next);
    offer(rig, contents, chance.chance(5) ? { spent: [{ currency: "eth", units: `${eth}`, feesUnits: "5" }] } : {});
    const both = chance.chance(4);
    const asked = rig.operate("recover", { digest: "", both }) as AnyAnswer & { plan: RecoveryPlan };
    if (!asked.ok) {
      expect(asked.code, `seed ${seed}`).toBe("RECOVERY_SLOT");
      return;
    }
    expect(rig.operate("recover", { digest: asked.plan.digest, both }).ok).toBe(true);
    rig.gateway.epoch = asked.plan.newEpoch;
    rig.gateway.stored = null;
    signAll(rig);
    const known = new Set(rig.records().flatMap((record) => (record.kind === "REQUESTED" ? [record.transactionId] : [])));
    const fresh = sumOf([...signedSince(rig)].filter(([id]) => !known.has(id)).map(([, units]) => units));
    expect(fresh === 0n || before + fresh <= perHour, `seed ${seed}: ${before} and ${fresh} in an hour`).toBe(true);
    expect(fresh <= perDay, `seed ${seed}: ${fresh} in a day`).toBe(true);
    // Each slot from the chain's count to the next one is an open withdrawal's.
    const open = new Set(rig.ask("hello").open.map((one) => one.slot));
    const account = rig.core.accounts.find(network, hot)!;
    for (let at = BigInt(slot); at < BigInt(account.next); at++) expect(open.has(`${at}`), `seed ${seed}: ${at}`).toBe(true);
  }

  it("orders of random shapes let nothing above hour and day be signed without a person, and no account go beyond the chain", () => {
    const first = Number(process.env.SEED ?? 1);
    for (const seed of process.env.SEED === undefined ? range(first, 200) : [first]) shaped(seed);
  });
});
