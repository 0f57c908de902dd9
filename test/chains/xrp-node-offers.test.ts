/**
 * First attempts, replacements and cancels by the family's own offers, at the market that the nodes
 * name, through the reading back and the stand-in for rippled: each withdrawal is paid at most
 * once.
 */
import { afterEach, beforeEach, expect, describe as group, it } from "vitest";
import type { Payment, TxParams } from "../../chains/family.ts";
import type { PricedAttempt } from "../../chains/offers.ts";
import { independentReadingOf } from "../../chains/read-back.ts";
import { xrp } from "../../chains/xrp/family.ts";
import { openLab, type XrpLab, xrpOf } from "./xrp-lab.ts";
import { type SignedXrp, sign } from "./xrp-wallet.ts";

let lab: XrpLab;
beforeEach(async () => {
  lab = await openLab();
});
afterEach(() => lab.close());

async function marketNow() {
  const { feeMarket } = await lab.sender.chainState(lab.from.address);
  if (feeMarket === null) throw new Error("no market");
  return { feeMarket, computeLimit: 1n, coins: [] };
}

const priced = ({ txHash, txParams }: SignedXrp): PricedAttempt => ({
  txHash,
  txParams,
  feeMax: txParams.feeDrops ?? "",
});

/** Signs, has the bytes read back, and offers them to the nodes. */
async function offered(payment: Payment, txParams: TxParams | null | undefined, isCancel = false) {
  if (txParams === null || txParams === undefined) throw new Error("no offer");
  const signed = sign(lab.from, payment, txParams, isCancel);
  const { txHash } = signed;
  expect(
    await independentReadingOf("xrpl:0")(signed.raw, { payment, txParams, txHash, isCancel }),
  ).toBe("");
  return { signed, answer: await lab.sender.broadcast(signed.raw) };
}

group("offers at the market of the nodes", () => {
  it("offers at the market of the nodes are taken at once, end at a ledger after the newest, and leave the funds", async () => {
    const payment = lab.payment({ tag: "7" });
    const { index } = lab.node.chain.head;
    const txParams = xrp.fees.first(await marketNow(), payment);
    expect(txParams).toEqual({ feeDrops: "10", lastLedger: `${index + 20}` });
    const { signed, answer } = await offered(payment, txParams);
    expect(answer).toMatchObject({ standing: "taken", meaning: "" });
    lab.node.closeLedgers();
    expect(await lab.judged(payment, [signed])).toMatchObject({
      kind: "completed",
      final: { feeUnits: 10n },
    });
    expect((await lab.sender.chainState(lab.from.address)).balances.get("")).toBe(xrpOf(94) - 10n);
  });

  it("replace a queued attempt, pay once, and a cancel of the same sequence comes too late", async () => {
    const payment = lab.payment();
    const first = await offered(payment, xrp.fees.first(await marketNow(), payment));
    lab.node.escalate(5_000n);
    const queued = lab.payment();
    const second = await offered(queued, {
      feeDrops: "10",
      lastLedger: `${lab.node.chain.head.index + 20}`,
    });
    expect(second.answer).toMatchObject({ standing: "taken", meaning: "" });
    const next = xrp.fees.bidding?.replacementAt(
      await marketNow(),
      queued,
      [priced(second.signed)],
      1,
      false,
    );
    expect(BigInt(next?.feeDrops ?? "0")).toBeGreaterThanOrEqual(5_000n);
    const third = await offered(queued, next);
    expect(third.answer).toMatchObject({ standing: "taken", meaning: "" });
    lab.node.escalate();
    lab.node.closeLedgers(2);
    const attempts = [second.signed, third.signed];
    expect(await lab.judged(queued, attempts)).toMatchObject({ kind: "completed" });
    expect(await lab.judged(payment, [first.signed])).toMatchObject({ kind: "completed" });
    const asked = xrp.fees.bidding?.replacement(attempts.map(priced), next as TxParams, true);
    const late = await offered(queued, asked, true);
    expect(late.answer).toMatchObject({ meaning: "slot-used" });
    expect(lab.node.balance(lab.to.address)).toBe(xrpOf(30)); // two payments, each once
  });

  it("offers at the market of the nodes that expired in no ledger are followed by a cancel, which ends the withdrawal", async () => {
    const payment = lab.payment();
    lab.suffer({ taking: "drops" }, { taking: "drops" });
    const first = await offered(payment, xrp.fees.first(await marketNow(), payment));
    lab.suffer({}, {});
    lab.node.closeLedgers(25);
    expect(await lab.sender.broadcast(first.signed.raw)).toMatchObject({ meaning: "expired" });
    expect(await lab.judged(payment, [first.signed])).toEqual({ kind: "waiting" }); // an end proves nothing
    const lastLedger = `${lab.node.chain.head.index + 20}`;
    const asked = xrp.fees.bidding?.replacement(
      [priced(first.signed)],
      { feeDrops: "10", lastLedger },
      true,
    );
    const cancel = await offered(payment, asked, true);
    expect(cancel.answer).toMatchObject({ standing: "taken", meaning: "" });
    lab.node.closeLedgers();
    expect(await lab.judged(payment, [first.signed, cancel.signed])).toMatchObject({
      kind: "failed",
      code: "cancelled",
    });
    expect(lab.node.balance(lab.to.address)).toBe(xrpOf(20));
  });
});
