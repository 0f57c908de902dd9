/**
 * No attempt that excludes no earlier one is made, on a chain without counts, before the gateway
 * has said in this run that nothing on the chain pays the withdrawal already.
 */
import { describe, expect, it } from "vitest";
import { depositAccountIdOf } from "../../agent/signer/policy/own-accounts.ts";
import { addressSpaceNames, families } from "../../chains/families.ts";
import { merchant } from "../../lab/kit/signer-kit.ts";
import { deriveOrderTransactionId } from "../../protocol/identity.ts";
import type { Job } from "../../protocol/messages.ts";
import { evidenceFor } from "../chains/utxo-values.ts";
import { coinKit, network as coins, made, raised, sender } from "../support/coin-kit.ts";
import { keys, network, offerAt, receiver, waitingKit } from "../support/waiting-kit.ts";

const depositAddress = families.tron.depositAddress(
  depositAccountIdOf(keys.vault.accounts, "tron"),
  3,
);
const orderId = `${depositAddress}/1`;
const sweep = {
  ...{
    network,
    mode: "sweep" as const,
    currency: "usdt",
    amount: "12.5",
    address: "",
    orderId,
    depositIndex: 3,
  },
  depositAddress,
  transactionId: deriveOrderTransactionId({ merchant, operation: "sweep", orderId }),
} satisfies Partial<Job>;
const uncleared = { ok: false, code: "WITHDRAWAL_UNCLEARED" };

describe("the gateway's word that nothing pays a withdrawal already", () => {
  it("is wanted on each family whose slots are not counted, and on no other", () => {
    const wanted = addressSpaceNames.filter((name) => !families[name].slots.isCounted);
    expect(wanted).toContain("tron");
    expect(wanted).toContain("bitcoin");
    expect(wanted).toContain("litecoin");
    expect(wanted).not.toContain("evm");
    expect(wanted).not.toContain("xrp");
  });

  it("comes before the first attempt where attempts end by expiry, for this run and this withdrawal", () => {
    const kit = waitingKit();
    kit.namesPins = false;
    const { transactionId } = kit.request({ network, address: receiver });
    const other = kit.request({ network, address: receiver }).transactionId;
    const sign = () => kit.ask("sign", { transactionId, txParams: offerAt(kit.now) });
    expect(sign()).toMatchObject(uncleared);
    expect(kit.sight({ orders: [other] }).ok).toBe(true);
    expect(sign()).toMatchObject(uncleared);
    const frame = kit.gateway.sightings(kit.nonce, { orders: [transactionId] });
    expect(kit.ask("sightings", { frames: [frame] })).toMatchObject({
      ok: true,
      orders: [transactionId],
    });
    kit.crash();
    kit.handshake();
    expect(kit.ask("sightings", { frames: [frame] }).code).toBe("SIGHTINGS_OTHER_RUN");
    expect(sign()).toMatchObject(uncleared);
    expect(kit.kinds()).not.toContain("INTENT");
    kit.sight({ orders: [transactionId] });
    expect(sign().ok).toBe(true);
  });

  it("counts for ten minutes, and no more once the chain shows a transaction that nothing explains", () => {
    const kit = waitingKit();
    kit.namesPins = false;
    const ids = [1, 2, 3].map(() => kit.request({ network, address: receiver }).transactionId);
    const sign = (at: number) =>
      kit.ask("sign", { transactionId: ids[at] ?? "", txParams: offerAt(kit.now) });
    kit.sight({ orders: ids });
    expect(sign(0).ok).toBe(true);
    kit.now += 600_001;
    kit.handshake();
    expect(sign(1)).toMatchObject(uncleared);
    kit.sight({ orders: ids });
    expect(sign(1).ok).toBe(true);
    kit.acknowledge();
    const foreign = [
      { network, account: keys.vault.accounts[0]?.id ?? "", txHash: "ab".repeat(32) },
    ];
    expect(kit.release(kit.gateway.ack(kit.gateway.stored!, { at: kit.now, foreign })).ok).toBe(
      true,
    );
    expect(sign(2)).toMatchObject({ ok: false, code: "NETWORK_PAUSED" });
    expect(kit.operate("pause", { paused: false, network: "tron" })).toMatchObject({ ok: true });
    expect(sign(2)).toMatchObject(uncleared);
    kit.sight({ orders: ids });
    expect(sign(2).ok).toBe(true);
  });

  it("comes before a further attempt there too, although both sides call the first one void", () => {
    const kit = waitingKit();
    const id = kit.payout();
    kit.crash();
    kit.handshake();
    kit.namesPins = false;
    kit.callVoid(id);
    expect(kit.next(id)).toMatchObject(uncleared);
    expect(kit.show(id).attempts).toHaveLength(1);
    kit.sight({ orders: [id] });
    expect(kit.next(id).ok).toBe(true);
  });

  it("comes before the first attempt with coins; a later one spends the same pin and needs none", () => {
    const kit = coinKit();
    kit.namesPins = false;
    const id = kit.order();
    const coin = made(500_000n);
    kit.sight({
      coins: [{ network: coins, account: sender, id: coin.id, units: `${coin.units}` }],
    });
    expect(kit.sign(id, [coin])).toMatchObject(uncleared);
    expect(kit.kinds()).not.toContain("INTENT");
    kit.sight({ orders: [id] });
    expect(kit.sign(id, [coin]).ok).toBe(true);
    kit.acknowledge();
    kit.crash();
    kit.handshake();
    const txParams = raised(kit, id, [coin]);
    expect(
      kit.ask("replace", {
        transactionId: id,
        above: 1,
        txParams,
        evidence: evidenceFor(txParams, [coin]),
      }).ok,
    ).toBe(true);
  });

  it("is not wanted for a sweep, because its money stays the merchant's", () => {
    const kit = waitingKit();
    kit.namesPins = false;
    kit.request(sweep);
    expect(
      kit.ask("sign", { transactionId: sweep.transactionId, txParams: offerAt(kit.now) }).ok,
    ).toBe(true);
  });
});
