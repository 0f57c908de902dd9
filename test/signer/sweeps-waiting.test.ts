/**
 * A sweep and its top-up on a chain where only expiry excludes: no attempt of one is begun while
 * the other may still come into a block, for every request of the courier, and neither waits
 * without end.
 */
import { describe, expect, it } from "vitest";
import { depositAccountIdOf } from "../../agent/signer/policy/own-accounts.ts";
import { families } from "../../chains/families.ts";
import { computeLimitOfActivation } from "../../chains/tron/fees.ts";
import { Kit, merchant, txParams, vault } from "../../lab/kit/signer-kit.ts";
import { deriveOrderTransactionId } from "../../protocol/identity.ts";
import type { Job } from "../../protocol/messages.ts";
import { keys, network, offerAt, type WaitingKit, waitingKit } from "../support/waiting-kit.ts";

const dayMs = 86_400_000;
const refused = { ok: false, code: "SWEEP_OR_TOPUP_OPEN" };

interface Named {
  readonly transactionId: string;
}

type Jobs = Readonly<Record<"sweep" | "topUp", Partial<Job> & Named>>;

/** The jobs of a sweep of a token and of its top-up. */
function jobsOf(depositAddress: string, onNetwork: string, coins: string): Jobs {
  const orderId = `${depositAddress}/1`;
  const id = deriveOrderTransactionId({ merchant, operation: "sweep", orderId });
  const topUpId = deriveOrderTransactionId({ merchant, operation: "topup", orderId: id });
  const both = {
    network: onNetwork,
    currency: "usdt",
    address: "",
    depositIndex: 3,
    depositAddress,
  };
  return {
    sweep: { ...both, mode: "sweep", transactionId: id, orderId, amount: "12.5" },
    topUp: { ...both, mode: "topup", transactionId: topUpId, orderId: id, amount: coins },
  };
}

const { sweep, topUp } = jobsOf(
  families.tron.depositAddress(depositAccountIdOf(keys.vault.accounts, "tron"), 3),
  network,
  "8",
);

/** An offer of now: a top-up is a transfer of coins that makes its address an account. */
const offerFor = (kit: WaitingKit, { transactionId }: Named) => ({
  transactionId,
  txParams: offerAt(
    kit.now,
    7,
    transactionId === topUp.transactionId ? computeLimitOfActivation : undefined,
  ),
});

const sign = (kit: WaitingKit, one: Named) => kit.ask("sign", offerFor(kit, one));

/** The courier reports an end on chain; the gateway confirms it in its next acknowledgement. */
function paid(kit: WaitingKit, { transactionId }: Named): void {
  const seen = { stage: "final", outcome: "paid", txHash: kit.hashOf(transactionId), block: 7 };
  expect(kit.ask("observed", { transactionId, ...seen })).toMatchObject({ ok: true });
}

function ordered(): WaitingKit {
  const kit = waitingKit();
  for (const job of [sweep, topUp]) expect(kit.request(job).state).toBe("approved");
  return kit;
}

/** The sweep is out; the job of its top-up comes behind. */
function sweptFirst(): WaitingKit {
  const kit = waitingKit();
  kit.request(sweep);
  expect(sign(kit, sweep)).toMatchObject({ ok: true });
  kit.acknowledge();
  expect(kit.request(topUp).state).toBe("approved");
  return kit;
}

describe("a sweep whose top-up is open", () => {
  it("is not signed before courier and gateway have both said that the top-up ended", () => {
    const kit = ordered();
    expect(sign(kit, sweep)).toMatchObject({
      ...refused,
      detail: `topup ${topUp.transactionId} is open`,
    });
    expect(sign(kit, topUp)).toMatchObject({ ok: true });
    kit.acknowledge();
    expect(sign(kit, sweep)).toMatchObject(refused);
    paid(kit, topUp);
    expect(sign(kit, sweep)).toMatchObject(refused);
    kit.acknowledge();
    expect(sign(kit, sweep)).toMatchObject({ ok: true });
  });

  it("a sweep without a top-up is signed at once", () => {
    const kit = waitingKit();
    kit.request(sweep);
    expect(sign(kit, sweep)).toMatchObject({ ok: true });
  });

  it("a sweep ends with its top-up that ends unpaid, because it gets no coins: refused by an operator, declined, or cancelled", () => {
    const refusal = ordered();
    refusal.operate("refuse", { transactionId: topUp.transactionId });
    expect(refusal.show(topUp.transactionId).state).toBe("refused");
    expect(refusal.show(sweep.transactionId)).toMatchObject({
      state: "refused",
      code: "OPERATOR_REFUSED",
    });
    const declined = ordered();
    declined.ask("decline", { transactionId: topUp.transactionId, code: "CHAIN_WOULD_REVERT" });
    expect(declined.show(sweep.transactionId).state).toBe("refused");
    const kit = ordered();
    sign(kit, topUp);
    kit.acknowledge();
    kit.callVoid(topUp.transactionId);
    expect(sign(kit, sweep)).toMatchObject(refused);
    expect(kit.order("cancel", topUp.transactionId).withdrawal.state).toBe("expired");
    expect(kit.show(sweep.transactionId).state).toBe("expired");
    // A sweep that is refused takes no top-up along, and one with a slot goes on for itself.
    const alone = ordered();
    alone.operate("refuse", { transactionId: sweep.transactionId });
    expect(alone.show(topUp.transactionId).state).toBe("approved");
    const out = sweptFirst();
    out.operate("refuse", { transactionId: topUp.transactionId });
    expect(out.show(sweep.transactionId).state).toBe("released");
  });

  it("gets no other attempt either", () => {
    const kit = sweptFirst();
    kit.callVoid(sweep.transactionId);
    expect(kit.next(sweep.transactionId)).toMatchObject(refused);
    expect(sign(kit, topUp)).toMatchObject({ ok: true });
    kit.acknowledge();
    expect(kit.next(sweep.transactionId)).toMatchObject(refused);
    paid(kit, topUp);
    kit.acknowledge();
    expect(kit.next(sweep.transactionId).withdrawal.attempts).toHaveLength(2);
  });

  it("runs out all the same", () => {
    const kit = ordered();
    kit.now += dayMs + 3_600_000;
    kit.handshake();
    expect(sign(kit, sweep).code).toBe("JOB_EXPIRED");
  });
});

describe("a top-up whose sweep is signed", () => {
  it("waits until every attempt of the sweep is void by both words", () => {
    const kit = sweptFirst();
    const { transactionId } = sweep;
    expect(sign(kit, topUp)).toMatchObject({
      ...refused,
      detail: expect.stringContaining(`sweep ${transactionId} on `),
    });
    kit.courierSays(transactionId);
    expect(sign(kit, topUp)).toMatchObject(refused);
    kit.gatewaySays(transactionId);
    expect(sign(kit, topUp)).toMatchObject({ ok: true });
  });

  it("waits for no sweep that the gateway calls ended as well", () => {
    const kit = sweptFirst();
    paid(kit, sweep);
    expect(sign(kit, topUp)).toMatchObject(refused);
    kit.acknowledge();
    expect(sign(kit, topUp)).toMatchObject({ ok: true });
  });

  it("waits for an attempt that is recorded and whose signature is under way", () => {
    const kit = waitingKit();
    kit.request(sweep);
    kit.send("sign", offerFor(kit, sweep));
    kit.gateway.job(topUp, kit.now);
    const frame = kit.gateway.jobs([kit.gateway.texts.at(-1)!], { at: kit.now });
    kit.send("admit", { frames: [frame] });
    const codes: string[] = [];
    kit.send("sign", offerFor(kit, topUp), ({ code }) => codes.push(code));
    kit.settle();
    expect(codes).toEqual([refused.code]);
    expect(kit.show(sweep.transactionId).attempts).toHaveLength(1);
    expect(kit.show(topUp.transactionId)).toMatchObject({ state: "approved", attempts: [] });
  });
});

describe("a sweep on a chain whose slots exclude", () => {
  it("is signed beside its top-up: no block takes it before its coins are there", () => {
    const kit = new Kit().ready();
    const evm = jobsOf(
      families.evm.depositAddress(depositAccountIdOf(vault.accounts, "evm"), 3),
      "eip155:31337",
      "0.002",
    );
    for (const job of [evm.sweep, evm.topUp]) expect(kit.request(job).state).toBe("approved");
    const address = evm.sweep.depositAddress as string;
    kit.sight({ next: [{ network: "eip155:31337", account: address, slot: "0", isUnused: true }] });
    kit.ask("adopt", { chain: "local", slot: "0", quorum: 2, address });
    for (const { transactionId } of [evm.sweep, evm.topUp])
      expect(kit.ask("sign", { transactionId, txParams }).ok).toBe(true);
  });
});
