/**
 * A recovery offer is only the gateway's word: its withdrawals are checked as jobs are, and no
 * account moves beyond the count of ledger, chain and kept withdrawals. Public reports of the same
 * kind, an account that is left beyond the chain: BoltzExchange/boltz-backend 1201 and
 * status-im/status-web 1314 (a counter above the chain's that nothing lowers); of the other, data
 * of a recovery that is taken as it comes: fedimint/fedimint 3941.
 */
import { describe, expect, it } from "vitest";
import type { RecoveryPlan } from "../../agent/socket/recovery-plan.ts";
import { SeededRandom } from "../../lab/kit/seeded.ts";
import { type AnyAnswer, hotWallet, Kit, other, txParams } from "../../lab/kit/signer-kit.ts";
import { signJob } from "../../protocol/envelope.ts";
import type { Job } from "../../protocol/messages.ts";
import type { RecoveryWithdrawal } from "../../protocol/recovery.ts";
import { type Contents, databaseOf, offer, recovered, shown } from "../support/recovery-offer.ts";
import { places, strideOfRun } from "../support/stride.ts";

const network = "eip155:31337";
const eth = 10n ** 18n;
/** As `settings` of the kit says for eth. */
const perHour = 5n * eth;
const perDay = 10n * eth;

/** A row of an order that is in no ledger. */
function invented(kit: Kit, slot: number | bigint, change: Partial<Job> = {}): RecoveryWithdrawal {
  kit.gateway.job({ currency: "eth", amount: "1", address: other, ...change }, kit.now);
  const job = kit.gateway.texts.pop()!;
  const txHash = `0x${slot.toString(16).padStart(64, "b")}`;
  return {
    ...{
      job,
      signature: signJob(job, kit.gateway.key),
      address: other,
      account: hotWallet,
      slot: `${slot}`,
    },
    attempts: [{ txHash, feeMax: "42000000000000" }],
  };
}

/** The gateway's own contents with rows of its own making behind them. */
function contentsWith(kit: Kit, rows: readonly RecoveryWithdrawal[], next?: string): Contents {
  const known = databaseOf(kit);
  const highest = Math.max(4, ...rows.map(({ slot }) => Number(slot)));
  const accounts = [{ network, account: hotWallet, next: next ?? `${highest + 1}` }];
  return {
    ...known,
    jobs: kit.gateway.last,
    accounts,
    withdrawals: [...known.withdrawals, ...rows],
  };
}

const range = (from: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => from + i);

/** The courier has every withdrawal signed that the signer lets it. */
function signAll(kit: Kit): void {
  kit.now += 1;
  kit.handshake();
  kit.acknowledge();
  for (const { transactionId, state, attempts } of kit.ask("hello").open) {
    if (state === "quarantined") continue;
    const higher = { ...txParams, maxFeePerGas: "4000000000", maxPriorityFeePerGas: "2000000000" };
    const done = kit.ask("sign", { transactionId, txParams });
    if (done.ok) kit.acknowledge();
    kit.askAtOnce("replace", { transactionId, above: attempts.length, txParams: higher });
    kit.acknowledge();
  }
}

/** Every withdrawal that was signed by this recovered ledger, with its amount of eth. */
function signedSince(kit: Kit): ReadonlyMap<string, bigint> {
  const records = kit.records();
  const opened = records.map(({ kind }) => kind).lastIndexOf("RECOVERED");
  const intents = records.slice(opened + 1).filter((record) => record.kind === "INTENT");
  return new Map(
    intents
      .filter(({ contract }) => contract === "")
      .map((one) => [one.transactionId, BigInt(one.amountUnits)]),
  );
}

const sumOf = (units: Iterable<bigint>): bigint => [...units].reduce((sum, one) => sum + one, 0n);

describe("withdrawals that only the gateway's order knows", () => {
  it("are signed again up to the limit of the hour; the rest waits for an operator, and the plan says so", () => {
    const kit = new Kit().ready();
    const rows = range(5, 12).map((slot) => invented(kit, slot));
    const plan: RecoveryPlan = recovered(kit, contentsWith(kit, rows));
    expect(plan.unknown).toEqual([
      { limitGroup: "eth", count: 12, amount: "12", maxPerHour: "5", maxPerDay: "10", above: 7 },
    ]);
    expect(plan.withdrawals.map(({ code }) => code)).toEqual([
      ...Array.from({ length: 5 }, () => ""),
      ...Array.from({ length: 7 }, () => "POLICY_ABOVE_HOUR"),
    ]);
    signAll(kit);
    expect(sumOf(signedSince(kit).values())).toBe(perHour);
    expect(kit.core.book.count("quarantined")).toBe(7);
    // A withdrawal that may have been paid counts: a job finds no room beside it.
    expect(kit.request({ currency: "eth", amount: "0.1" })).toMatchObject({
      state: "refused",
      code: "POLICY_ABOVE_HOUR",
    });
    // An hour passes no yes: only an operator's does.
    kit.now += 2 * 3_600_000;
    kit.signer.tick();
    signAll(kit);
    expect(kit.core.book.count("quarantined")).toBe(7);
    const [held] = kit.ask("hello").open.filter(({ state }) => state === "quarantined");
    const yes = {
      transactionId: held!.transactionId,
      digest: kit.show(held!.transactionId).approvalDigest,
      address: "",
    };
    expect(kit.operate("approve", yes)).toMatchObject({ ok: true });
  });

  it("are all signed again where the limits of hour and day have room for them", () => {
    const kit = new Kit().ready();
    const rows = range(5, 4).map((slot) => invented(kit, slot));
    expect(recovered(kit, contentsWith(kit, rows)).unknown).toMatchObject([{ count: 4, above: 0 }]);
    signAll(kit);
    expect(sumOf(signedSince(kit).values())).toBe(4n * eth);
    expect(kit.core.book.count("quarantined")).toBe(0);
  });

  it("are weighed beside what the gateway says was spent and what the ledger had bound", () => {
    const kit = new Kit().ready();
    kit.pay({ currency: "eth", amount: "1" });
    const rows = range(6, 5).map((slot) => invented(kit, slot));
    const contents = contentsWith(kit, rows);
    const spent = [{ currency: "eth", units: `${2n * eth}`, feesUnits: "1" }];
    expect(recovered(kit, { ...contents, spent }).unknown).toMatchObject([{ count: 5, above: 3 }]);
  });
});

describe("a second order", () => {
  it("takes back nothing that the first one had quarantined: that is an operator's, however often it is told", () => {
    const kit = new Kit().ready();
    const rows = range(5, 7).map((slot) => invented(kit, slot));
    expect(recovered(kit, contentsWith(kit, rows)).unknown).toMatchObject([{ count: 7, above: 2 }]);
    signAll(kit);
    kit.now += 2 * 3_600_000;
    recovered(kit, { ...contentsWith(kit, rows), held: kit.gateway.stored });
    signAll(kit);
    expect(signedSince(kit).size).toBe(5);
    expect(kit.core.book.count("quarantined")).toBe(2);
  });

  it.each(["paid", "reverted"])(
    "takes nothing back either after the courier called what was quarantined %s",
    (outcome) => {
      const kit = new Kit().ready();
      const rows = range(5, 7).map((slot) => invented(kit, slot));
      recovered(kit, contentsWith(kit, rows));
      signAll(kit);
      const held = kit.ask("hello").open.filter(({ state }) => state === "quarantined");
      for (const { transactionId, attempts } of held) {
        const claim = {
          transactionId,
          stage: "final",
          outcome,
          txHash: attempts[0]?.txHash ?? "",
          block: 8,
        };
        expect(kit.ask("observed", claim)).toMatchObject({ ok: true });
      }
      expect(kit.core.book.count("quarantined")).toBe(0);
      recovered(kit, { ...contentsWith(kit, rows), held: kit.gateway.stored });
      signAll(kit);
      expect(held.map(({ transactionId }) => signedSince(kit).has(transactionId))).toEqual([
        false,
        false,
      ]);
      expect(kit.core.book.count("quarantined")).toBe(2);
    },
  );

  it("that gives one slot to two withdrawals has neither signed on it", () => {
    const kit = new Kit().ready();
    recovered(
      kit,
      contentsWith(kit, [invented(kit, 5), invented(kit, 6), invented(kit, 6), invented(kit, 6)]),
    );
    signAll(kit);
    expect(signedSince(kit).size).toBe(1);
    expect(kit.core.book.count("quarantined")).toBe(3);
  });
});

describe("a withdrawal with a slot of this ledger and without bytes", () => {
  /** The order tells each withdrawal with an attempt of its own, so no bytes are kept. */
  const toldOtherwise = (kit: Kit): Contents => {
    const told = kit.ask("hello").open.map(({ transactionId, address, slot }) => {
      const job = kit.gateway.texts.find((text) => text.includes(transactionId)) ?? "";
      const attempts = [{ txHash: `0x${slot.padStart(64, "c")}`, feeMax: "42000000000000" }];
      return {
        job,
        signature: signJob(job, kit.gateway.key),
        address,
        account: hotWallet,
        slot,
        attempts,
      };
    });
    const accounts = [{ network, account: hotWallet, next: `${5 + told.length}` }];
    return { ...databaseOf(kit), jobs: kit.gateway.last, accounts, withdrawals: told };
  };

  /** So many withdrawals of one eth are signed, and none of them leaves. */
  function assign(kit: Kit, count: number): void {
    for (let i = 0; i < count; i++) {
      const { transactionId } = kit.request({ currency: "eth", amount: "1" });
      expect(kit.ask("sign", { transactionId, txParams })).toMatchObject({ ok: true });
    }
  }

  it.each([
    ["an hour before the others needs room in the hour again", 3_600_001, 5],
    ["in the same hour as the others counts there, and all of it is signed", 60_000, 0],
  ])("a withdrawal without bytes, with a slot assigned %s", (_, laterMs, above) => {
    const kit = new Kit().ready();
    const first = above === 0 ? 2 : 5;
    assign(kit, first);
    kit.now += laterMs;
    assign(kit, above === 0 ? 3 : 5);
    recovered(kit, toldOtherwise(kit));
    signAll(kit);
    expect(kit.core.book.count("quarantined")).toBe(above);
    expect(sumOf(signedSince(kit).values())).toBe(perHour);
  });
});

describe("an order's next slot", () => {
  const planOf = (kit: Kit, contents: Contents): AnyAnswer => {
    offer(kit, contents);
    return kit.operate("recover", { digest: "", bothRestored: false });
  };

  it("is refused where ledger, chain and the order's own withdrawals end below it", () => {
    const kit = new Kit().ready();
    const refused = planOf(kit, contentsWith(kit, [invented(kit, 5)], "1000000"));
    expect(refused).toMatchObject({
      code: "RECOVERY_SLOT",
      detail: expect.stringContaining("nonce 6 is nobody's"),
    });
    expect(planOf(kit, contentsWith(kit, [invented(kit, 5)], "6"))).toMatchObject({ ok: true });
  });

  it("is refused where a withdrawal leaves a gap below itself, until the chain counts what lies there", () => {
    const kit = new Kit().ready();
    const contents = contentsWith(kit, [invented(kit, 9)]);
    expect(planOf(kit, contents)).toMatchObject({ code: "RECOVERY_SLOT" });
    kit.ask("account", { chain: "local", slot: "8", quorum: 2 });
    expect(planOf(kit, contents)).toMatchObject({ code: "RECOVERY_SLOT" });
    kit.ask("account", { chain: "local", slot: "9", quorum: 2 });
    expect(planOf(kit, contents)).toMatchObject({ ok: true });
    expect(shown(kit).accounts).toMatchObject([{ next: "10" }]);
  });
});

describe("orders of random shapes", () => {
  /** One ledger with a past, and an order of the gateway's imagination. */
  function shaped(seed: number): void {
    const chance = new SeededRandom(seed);
    const kit = new Kit().ready();
    let slot = 5;
    for (let i = chance.below(4); i > 0; i--) {
      const view = kit.request({ currency: "eth", amount: chance.pick(["0.5", "1", "2"]) });
      if (view.state !== "approved" || chance.chance(3)) continue;
      kit.ask("sign", { transactionId: view.transactionId, txParams });
      if (!chance.chance(4)) kit.acknowledge();
      slot += 1;
    }
    if (chance.chance(3)) kit.now += chance.pick([1_800_000, 3_600_000, 80_000_000]);
    const before = sumOf(
      kit
        .records()
        .filter((record) => record.kind === "INTENT" && record.at > kit.now - 3_600_000)
        .map((record) => BigInt((record as { amountUnits: string }).amountUnits)),
    );
    const from = slot + (chance.chance(3) ? chance.below(1_000_000) : 0);
    const amounts = ["0.1", "0.5", "1", "2", "3"];
    const rows = range(from, chance.below(24)).flatMap((at) =>
      chance.chance(12)
        ? []
        : [
            invented(kit, at, {
              amount: chance.pick(amounts),
              mode: chance.chance(9) ? "manual" : "auto",
            }),
          ],
    );
    const next = chance.chance(4) ? `${slot + chance.below(2_000_000)}` : undefined;
    const count = chance.chance(3) ? slot : slot - 1;
    kit.ask("account", { chain: "local", slot: `${count}`, quorum: 2 });
    const contents = contentsWith(kit, rows, next);
    offer(
      kit,
      contents,
      chance.chance(5) ? { spent: [{ currency: "eth", units: `${eth}`, feesUnits: "5" }] } : {},
    );
    const both = chance.chance(4);
    const asked = kit.operate("recover", { digest: "", bothRestored: both }) as AnyAnswer & {
      plan: RecoveryPlan;
    };
    if (!asked.ok) {
      expect(asked.code, `seed ${seed}`).toBe("RECOVERY_SLOT");
      return;
    }
    expect(kit.operate("recover", { digest: asked.plan.digest, bothRestored: both }).ok).toBe(true);
    kit.gateway.ledgerEpoch = asked.plan.newLedgerEpoch;
    kit.gateway.stored = null;
    signAll(kit);
    const known = new Set(
      kit
        .records()
        .flatMap((record) => (record.kind === "REQUESTED" ? [record.transactionId] : [])),
    );
    const fresh = sumOf(
      [...signedSince(kit)].filter(([id]) => !known.has(id)).map(([, units]) => units),
    );
    expect(
      fresh === 0n || before + fresh <= perHour,
      `seed ${seed}: ${before} and ${fresh} in an hour`,
    ).toBe(true);
    expect(fresh <= perDay, `seed ${seed}: ${fresh} in a day`).toBe(true);
    // Each slot from the chain's count to the next one is an open withdrawal's.
    const open = new Set(kit.ask("hello").open.map((one) => one.slot));
    const account = kit.core.accounts.find(network, hotWallet)!;
    for (let at = BigInt(slot); at < BigInt(account.next); at++)
      if (!open.has(`${at}`)) expect.unreachable(`seed ${seed}: ${at} is nobody's`);
  }

  it("let nothing above hour and day be signed without an operator, and no account go beyond the chain", () => {
    const seeds = [...places(200, strideOfRun())].map((at) => at + 1);
    for (const seed of process.env.SEED === undefined ? seeds : [Number(process.env.SEED)])
      shaped(seed);
  });
});
