/**
 * A payment whose pin no node shows: the evidence of both sides that lets an operator end it, and
 * the coin that its renewal has to spend so that the chain takes only one of the two.
 */
import { describe, expect, it } from "vitest";
import { coinUnseenMinMs } from "../../agent/signer/handlers/coin-looks.ts";
import { families } from "../../chains/families.ts";
import { figuresOf, txParamsOf } from "../../chains/utxo/tx-params.ts";
import { type AnyAnswer, merchant } from "../../lab/kit/signer-kit.ts";
import { deriveOrderTransactionId } from "../../protocol/identity.ts";
import type { Job } from "../../protocol/messages.ts";
import type { MadeCoin } from "../chains/utxo-values.ts";
import { evidenceFor } from "../chains/utxo-values.ts";
import {
  CoinKit,
  coinKit,
  coinSettings,
  made,
  network,
  raised,
  satPerKvB,
  sender,
  shop,
} from "../support/coin-kit.ts";
import { databaseOf, taken } from "../support/recovery-offer.ts";

const hourMs = 3_600_000;
const lateMs = 600_000;

/** The gateway's newest word names these, the ripe ones apart. */
function names(
  kit: CoinKit,
  unreachable: readonly string[],
  endable: readonly string[] = unreachable,
): void {
  kit.receive();
  kit.now += 1;
  expect(
    kit.release(kit.gateway.ack(kit.gateway.stored!, { at: kit.now, unreachable, endable })).ok,
  ).toBe(true);
}

/** The courier's nodes were asked for the pin. */
function looks(kit: CoinKit, transactionId: string, { id }: MadeCoin, isShown = false): AnyAnswer {
  const answer = kit.ask("unseen", { transactionId, coin: id, isShown, chainMs: kit.now });
  kit.settle();
  return answer;
}

/** So many hours pass, with a look each half hour. */
function watches(kit: CoinKit, transactionId: string, coin: MadeCoin, hours: number): void {
  for (let at = 0; at < hours * 2; at += 1) {
    kit.now += hourMs / 2;
    expect(looks(kit, transactionId, coin).ok).toBe(true);
  }
}

const end = (kit: CoinKit, transactionId: string, slot = "0", approver = "ann"): AnyAnswer =>
  kit.operate("end", { transactionId, slot, approver });

/** A payment on coins, of which the first is shown by no node for a day. */
function gone(
  others: readonly MadeCoin[] = [],
  kit = coinKit(),
): { kit: CoinKit; id: string; pin: MadeCoin } {
  const pin = made(others.length === 0 ? 500_000n : 90_000n);
  const id = kit.released([pin, ...others]);
  expect(looks(kit, id, pin).ok).toBe(true);
  watches(kit, id, pin, 24);
  names(kit, [id]);
  return { kit, id, pin };
}

/** The order is asked for again, and the job is admitted. */
function renewed(kit: CoinKit, ended: string, change: Partial<Job> = {}): string {
  const { orderId } = kit.core.book.find(ended)!.job;
  const transactionId = deriveOrderTransactionId({
    merchant,
    operation: "withdraw",
    orderId,
    renews: ended,
  });
  const job = {
    network,
    currency: "btc",
    amount: "0.001",
    address: shop,
    orderId,
    transactionId,
    renews: ended,
  };
  return kit.request({ ...job, expiresAt: kit.now + 86_400_000, ...change }).transactionId;
}

const word = ({ id, units }: MadeCoin) => ({ network, account: sender, id, units: `${units}` });

describe("a payment whose coin no node shows", () => {
  it("is ended by an operator once both sides have missed it for a day, and may be renewed", () => {
    const { kit, id, pin } = gone();
    expect(end(kit, id, "")).toMatchObject({
      ok: true,
      plan: { slot: "0", pin: `${pin.id}:${pin.units}`, owed: [] },
    });
    expect(end(kit, id, "1").code).toBe("REPLACEMENT_OTHER_PLAN");
    expect(end(kit, id)).toMatchObject({
      ok: true,
      withdrawal: { state: "expired", code: "COIN_UNKNOWN" },
    });
    expect(end(kit, id).ok).toBe(true);
    expect(kit.records().slice(-2)).toMatchObject([
      { kind: "MANUAL_REPLACEMENT", act: "end", approver: "ann" },
      { kind: "EXPIRED", transactionId: id },
    ]);
    kit.receive();
    expect(kit.statements.at(-1)?.entries).toMatchObject([
      { kind: "decision", decision: "expired", code: "COIN_UNKNOWN" },
    ]);
    // The chain counts no slots, so the next payment has the next ordinal and waits for nothing.
    const next = renewed(kit, id);
    expect(kit.sign(next, [made(400_000n)])).toMatchObject({ ok: true, withdrawal: { slot: "1" } });
  });

  it.each<[string, (kit: CoinKit, id: string, pin: MadeCoin) => void, string]>([
    [
      "before the gateway has missed it for a day",
      (kit, id) => names(kit, [id], []),
      "the gateway's nodes have not missed",
    ],
    [
      "once the gateway's nodes show it",
      (kit) => names(kit, []),
      "the gateway's nodes have not missed",
    ],
    [
      "once the courier's nodes show it",
      (kit, id, pin) => looks(kit, id, pin, true),
      "the courier's nodes show its coin",
    ],
    [
      "after an hour without a look",
      (kit) => {
        kit.now += hourMs + lateMs;
      },
      "have not been asked",
    ],
    [
      "in the first hour of a run without a look",
      (kit, id) => {
        kit.crash();
        kit.handshake();
        names(kit, [id]);
      },
      "have not been asked",
    ],
    [
      "while the courier's nodes show it in a block",
      (kit, id) => included(kit, id),
      "show it in a block",
    ],
  ])("is not ended %s", (_, change, why) => {
    const { kit, id, pin } = gone();
    change(kit, id, pin);
    expect(end(kit, id)).toMatchObject({
      code: "REPLACEMENT_REACHABLE",
      detail: expect.stringContaining(why),
    });
    expect(kit.kinds()).not.toContain("EXPIRED");
  });

  it.each(["paid", "reverted", "conflicted", "moved"] as const)(
    "is ended where a courier alone calls it %s",
    (outcome) => {
      const kit = coinKit();
      const pin = made(500_000n);
      const id = kit.released([pin]);
      claims(kit, id, outcome);
      expect(kit.show(id)).toMatchObject({ state: outcome });
      expect(looks(kit, id, pin).ok).toBe(true);
      watches(kit, id, pin, 23);
      names(kit, [id]);
      expect(end(kit, id)).toMatchObject({ detail: expect.stringContaining("for 23 hours of 24") });
      watches(kit, id, pin, 1);
      expect(end(kit, id)).toMatchObject({
        ok: true,
        withdrawal: { state: "expired", code: "COIN_UNKNOWN" },
      });
    },
  );

  it("is not ended by a look from before the courier reported its end", () => {
    const { kit, id, pin } = gone();
    claims(kit, id, "paid");
    expect(end(kit, id)).toMatchObject({
      code: "REPLACEMENT_REACHABLE",
      detail: expect.stringContaining("have not been asked"),
    });
    looks(kit, id, pin);
    expect(end(kit, id).ok).toBe(true);
  });

  it("is not ended once the gateway has confirmed what the courier stated", () => {
    const { kit, id, pin } = gone();
    claims(kit, id, "paid");
    expect(kit.show(id).state).toBe("paid");
    kit.gateway.ended.add(id);
    kit.acknowledge();
    expect(looks(kit, id, pin).code).toBe("WITHDRAWAL_UNKNOWN");
    expect(end(kit, id).code).toBe("WITHDRAWAL_CLOSED");
  });

  it("is not ended after less than a day, however fast the courier's chain goes", () => {
    const kit = coinKit();
    const pin = made(500_000n);
    const id = kit.released([pin]);
    names(kit, [id]);
    looks(kit, id, pin);
    watches(kit, id, pin, 23);
    expect(end(kit, id)).toMatchObject({ detail: expect.stringContaining("for 23 hours of 24") });
    // Two hours ahead is the most that a block may be.
    for (let at = 0; at < 100; at += 1)
      kit.ask("unseen", {
        transactionId: id,
        coin: pin.id,
        isShown: false,
        chainMs: kit.now + at * 60_000,
      });
    expect(end(kit, id)).toMatchObject({ detail: expect.stringContaining("for 23 hours of 24") });
    expect(
      kit.ask("unseen", {
        transactionId: id,
        coin: pin.id,
        isShown: false,
        chainMs: kit.now + 3 * hourMs,
      }).code,
    ).toBe("WITHDRAWAL_OBSERVATION");
    watches(kit, id, pin, 1);
    expect(end(kit, id).ok).toBe(true);
  });

  it("a day in which nobody asked is none, and a restart does not begin the day again", () => {
    const kit = coinKit();
    const pin = made(500_000n);
    const id = kit.released([pin]);
    looks(kit, id, pin);
    kit.now += 23 * hourMs;
    looks(kit, id, pin);
    kit.now += 2 * hourMs;
    looks(kit, id, pin);
    names(kit, [id]);
    expect(end(kit, id)).toMatchObject({ detail: expect.stringContaining("for 2 hours of 24") });
    watches(kit, id, pin, 20);
    kit.crash();
    kit.handshake();
    looks(kit, id, pin);
    names(kit, [id]);
    expect(end(kit, id)).toMatchObject({ detail: expect.stringContaining("for 22 hours of 24") });
    watches(kit, id, pin, 2);
    expect(end(kit, id).ok).toBe(true);
    expect(coinUnseenMinMs).toBe(24 * hourMs);
  });

  it("begins its day again once a node of the courier showed the coin, and writes one record an hour at most", () => {
    const kit = coinKit();
    const pin = made(500_000n);
    const id = kit.released([pin]);
    looks(kit, id, pin);
    watches(kit, id, pin, 20);
    looks(kit, id, pin, true);
    looks(kit, id, pin, true);
    looks(kit, id, pin);
    watches(kit, id, pin, 5);
    names(kit, [id]);
    expect(end(kit, id)).toMatchObject({ detail: expect.stringContaining("for 5 hours of 24") });
    expect(kit.kinds().filter((kind) => kind === "UNSEEN")).toHaveLength(1 + 20 + 1 + 1 + 5);
  });

  it.each([
    [true, { code: "REPLACEMENT_REACHABLE", detail: expect.stringContaining("for 0 hours of 24") }],
    [false, { ok: true }],
  ])(
    "shown while the ledger's disk is full (%s), it begins its day again too",
    (isShown, ended) => {
      const { kit, id, pin } = gone();
      const measured = (free: number): void => {
        kit.disk.free = free;
        expect(kit.operate("status").status.freeBytes).toBe(free);
      };
      measured(0);
      const before = kit.kinds().length;
      expect(looks(kit, id, pin, isShown).ok).toBe(true);
      expect(kit.kinds()).toHaveLength(before);
      measured(Number.MAX_SAFE_INTEGER);
      kit.now += 1_000;
      looks(kit, id, pin);
      expect(end(kit, id)).toMatchObject(ended);
    },
  );

  it("takes looks at its own pin alone, and of payments that are out alone", () => {
    const kit = coinKit();
    const [pin, other] = [made(500_000n), made(400_000n)];
    const waiting = kit.order();
    expect(looks(kit, waiting, pin).code).toBe("WITHDRAWAL_CLOSED");
    const id = kit.released([pin]);
    expect(looks(kit, id, other).code).toBe("WITHDRAWAL_OBSERVATION");
    expect(looks(kit, "ab".repeat(16), pin).code).toBe("WITHDRAWAL_UNKNOWN");
    expect(looks(kit, id, pin).ok).toBe(true);
  });

  it("needs two operators above twoApproversAbove, and a name twice is one", () => {
    const settings = {
      ...coinSettings,
      policy: { btc: { ...coinSettings.policy.btc!, twoApproversAbove: "0.0005" } },
    };
    const kit = new CoinKit({ settings, keys: coinKit().keys });
    kit.handshake();
    const pin = made(500_000n);
    const id = kit.order();
    for (const approver of ["ann", "bob"]) {
      const { approvalDigest: digest } = kit.show(id);
      kit.operate("approve", { transactionId: id, digest, address: "", approver });
    }
    expect(kit.sign(id, [pin]).ok).toBe(true);
    kit.acknowledge();
    looks(kit, id, pin);
    watches(kit, id, pin, 24);
    names(kit, [id]);
    expect(end(kit, id)).toMatchObject({
      ok: true,
      plan: { isFirstYes: true },
      withdrawal: { state: "released" },
    });
    expect(end(kit, id, "0", "ANN")).toMatchObject({
      ok: true,
      plan: { isFirstYes: true },
      withdrawal: { state: "released" },
    });
    kit.crash();
    kit.handshake();
    names(kit, [id]);
    looks(kit, id, pin);
    expect(end(kit, id, "0", "bob")).toMatchObject({ ok: true, withdrawal: { state: "expired" } });
  });
});

/** The courier states an end, which the gateway's nodes do not see. */
function claims(
  kit: CoinKit,
  transactionId: string,
  outcome: "paid" | "reverted" | "conflicted" | "moved",
): void {
  const { txHash } = kit.show(transactionId).attempts[0]!;
  const claimed = kit.ask("observed", { transactionId, stage: "final", outcome, txHash, block: 9 });
  expect(claimed.ok).toBe(true);
  kit.receive();
  kit.gateway.ended.delete(transactionId);
}

function included(kit: CoinKit, transactionId: string): void {
  const { txHash } = kit.show(transactionId).attempts[0]!;
  const seen = kit.ask("observed", {
    transactionId,
    stage: "included",
    outcome: "",
    txHash,
    block: 9,
  });
  expect(seen.ok).toBe(true);
}

describe("an ended payment that spends real coins beside the missing one", () => {
  /** Ended, with one real coin in its attempt. */
  function ended(): { kit: CoinKit; id: string; real: MadeCoin } {
    const real = made(80_000n);
    const { kit, id } = gone([real]);
    expect(end(kit, id)).toMatchObject({
      code: "REPLACEMENT_REACHABLE",
      detail: expect.stringContaining("has named none"),
    });
    kit.sight({ coins: [word(real)] });
    expect(end(kit, id, "")).toMatchObject({
      ok: true,
      plan: { owed: [`${real.id}:${real.units}`] },
    });
    expect(end(kit, id).ok).toBe(true);
    kit.acknowledge();
    return { kit, id, real };
  }

  /** On the owed coin in front, as the courier offers it. */
  function owedFirst(owed: MadeCoin, others: readonly MadeCoin[]) {
    const wanted = { network, contract: "", destination: shop, tag: "", amountUnits: 100_000n };
    const market = {
      feeMarket: { satPerKvB },
      computeLimit: 1n,
      coins: [...others, owed],
      owed: [owed],
    };
    return families.bitcoinregtest.fees.first(market, wanted)!;
  }

  it("its renewal spends one of them in each attempt, on the network of the coin alone", () => {
    const { kit, id, real } = ended();
    const next = renewed(kit, id);
    expect(kit.signer.view(kit.core.book.find(next)!).owed).toEqual([`${real.id}:${real.units}`]);
    const large = made(900_000n);
    expect(kit.sign(next, [large])).toMatchObject({
      code: "ACCOUNT_COIN_OWED",
      detail: `${real.id}:${real.units}`,
    });
    const txParams = owedFirst(real, [large]);
    expect(txParams.coins?.startsWith(real.id)).toBe(true);
    const evidence = evidenceFor(txParams, [real, large]);
    expect(kit.ask("sign", { transactionId: next, txParams, evidence }).ok).toBe(true);
    kit.acknowledge();
    expect(kit.inputsOf(next)).toContain(real.id);
    const higher = raised(kit, next, [large, real]);
    expect(higher.coins).toContain(real.id);
    const more = evidenceFor(higher, [real, large]);
    expect(
      kit.ask("replace", { transactionId: next, above: 1, txParams: higher, evidence: more }).ok,
    ).toBe(true);
  });

  it("is not renewed on another network, and any other order needs no such coin", () => {
    const { kit, id } = ended();
    expect(kit.sign(kit.order(), [made(900_000n)]).ok).toBe(true);
    const id2 = renewed(kit, id, { network: "eip155:1" });
    expect(kit.show(id2)).toMatchObject({ state: "refused", code: "JOB_RENEWAL" });
  });

  it("its renewal never has its bytes, which stay good: one payment would count for both", () => {
    const { kit, id, pin } = gone();
    expect(end(kit, id).ok).toBe(true);
    kit.acknowledge();
    const next = renewed(kit, id);
    kit.sight({ coins: [word(pin)] });
    expect(kit.sign(next, [pin])).toMatchObject({ ok: false, code: "ACCOUNT_BYTES_TAKEN" });
    const { txParams } = kit.show(id).attempts[0]!;
    const figures = figuresOf(txParams!);
    const other = txParamsOf({
      ...figures,
      changeSat: [figures.changeSat[0]! - 1n, ...figures.changeSat.slice(1)],
      feeSat: figures.feeSat + 1n,
    });
    const body = { transactionId: next, txParams: other, evidence: [pin.made] };
    expect(kit.ask("sign", body).ok).toBe(true);
  });

  it("a renewal of the renewal owes the same, over a crash and a recovery", () => {
    const { kit, id, real } = ended();
    const first = renewed(kit, id, { expiresAt: kit.now + 1 });
    kit.now += 10;
    expect(kit.sign(first, [made(900_000n)]).code).toBe("JOB_EXPIRED");
    kit.acknowledge();
    kit.crash();
    kit.handshake();
    const second = renewed(kit, first);
    expect(kit.sign(second, [made(900_000n)]).code).toBe("ACCOUNT_COIN_OWED");
    kit.acknowledge();
    taken(kit, databaseOf(kit));
    expect(kit.core.owed.of(second)).toEqual([`${real.id}:${real.units}`]);
  });

  it("is free once another payment spent the coin, by the word of both sides", () => {
    const { kit, id, real } = ended();
    const next = renewed(kit, id);
    const other = kit.order();
    const large = made(900_000n);
    const txParams = owedFirst(real, [large]);
    expect(
      kit.ask("sign", {
        transactionId: other,
        txParams,
        evidence: evidenceFor(txParams, [real, large]),
      }).ok,
    ).toBe(true);
    kit.acknowledge();
    const { txHash } = kit.show(other).attempts[0]!;
    kit.ask("observed", {
      transactionId: other,
      stage: "final",
      outcome: "paid",
      txHash,
      block: 9,
    });
    expect(kit.sign(next, [made(700_000n)]).code).toBe("ACCOUNT_COIN_OWED");
    kit.gateway.ended.add(other);
    kit.acknowledge();
    expect(kit.sign(next, [made(700_000n)]).ok).toBe(true);
  });

  it("runs out unpaid where the ended payment was paid after all, since the coin is gone", () => {
    const { kit, id } = ended();
    const next = renewed(kit, id);
    expect(kit.sign(next, [made(700_000n)]).code).toBe("ACCOUNT_COIN_OWED");
    kit.now += 86_400_001;
    expect(kit.sign(next, [made(700_000n)]).code).toBe("JOB_EXPIRED");
  });
});
