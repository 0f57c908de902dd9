/**
 * Sweeps of coins at the signer: the amount of the job is what leaves the address, its fee
 * included, whatever the courier offers; a payout's amount is what its receiver gets.
 */
import { describe, expect, it } from "vitest";
import { depositAccountIdOf } from "../../agent/signer/policy/own-accounts.ts";
import { families } from "../../chains/families.ts";
import type { TxParams } from "../../chains/family.ts";
import { decodeTransaction } from "../../chains/utxo/raw-transaction.ts";
import { figuresOf, txParamsOf } from "../../chains/utxo/tx-params.ts";
import { merchant } from "../../lab/kit/signer-kit.ts";
import { deriveOrderTransactionId } from "../../protocol/identity.ts";
import { evidenceFor, type MadeCoin, scriptOf } from "../chains/utxo-values.ts";
import {
  type CoinKit,
  coinKit,
  keys,
  made,
  network,
  row,
  sender,
  values,
} from "../support/coin-kit.ts";

const { fees, depositAddress } = families.bitcoinregtest;
const address = depositAddress(depositAccountIdOf(keys.vault.accounts, "bitcoinregtest"), 3);
const coinOf = (units: bigint): MadeCoin => values.coin(scriptOf(address, row), units);

/** A sweep of 0.001 BTC, admitted. */
function ordered(kit: CoinKit): string {
  const orderId = `${address}/1`;
  const transactionId = deriveOrderTransactionId({ merchant, operation: "sweep", orderId });
  const place = { depositIndex: 3, depositAddress: address };
  return kit.request({
    ...place,
    mode: "sweep",
    transactionId,
    orderId,
    network,
    currency: "btc",
    amount: "0.001",
    address: "",
  }).transactionId;
}

const wanted = { network, contract: "", destination: sender, tag: "", amountUnits: 100_000n };
const market = (coins: readonly MadeCoin[], rate: bigint) => ({
  feeMarket: { satPerKvB: rate },
  computeLimit: 1n,
  coins,
});
const offerOf = (coins: readonly MadeCoin[], isFeeInside: boolean): TxParams =>
  fees.first(market(coins, 2_000n), { ...wanted, isFeeInside })!;
const sign = (
  kit: CoinKit,
  transactionId: string,
  coins: readonly MadeCoin[],
  txParams: TxParams,
) => kit.ask("sign", { transactionId, txParams, evidence: evidenceFor(txParams, coins) });
const outputsOf = (kit: CoinKit, transactionId: string, attempt = 1) =>
  decodeTransaction(
    Buffer.from(kit.show(transactionId).attempts[attempt - 1]!.raw!.slice(2), "hex"),
  )!.transaction.outputs;

describe("a sweep of coins", () => {
  it("pays the hot wallet the amount less the fee, and leaves nothing", () => {
    const kit = coinKit();
    const id = ordered(kit);
    const coins = [coinOf(60_000n), coinOf(40_000n)];
    expect(sign(kit, id, coins, offerOf(coins, true))).toMatchObject({ ok: true });
    kit.acknowledge();
    expect(outputsOf(kit, id).map(({ units, script }) => [units, Buffer.from(script)])).toEqual([
      [100_000n - 356n, Buffer.from(scriptOf(sender, row))],
    ]);
    expect(kit.records()).toContainEqual(
      expect.objectContaining({ kind: "INTENT", amountUnits: "100000", feeMax: "356" }),
    );
  });

  it("is replaced by one that pays less, by the courier and by an operator, also after a crash", () => {
    const kit = coinKit();
    const id = ordered(kit);
    const coins = [coinOf(100_000n)];
    sign(kit, id, coins, offerOf(coins, true));
    kit.acknowledge();
    const { attempts } = kit.show(id);
    const txParams = fees.bidding!.replacementAt(
      market([], 30_000n),
      { ...wanted, isFeeInside: true },
      attempts,
      1,
      false,
    )!;
    expect(
      kit.ask("replace", { transactionId: id, above: 1, txParams, evidence: [] }),
    ).toMatchObject({ ok: true });
    kit.acknowledge();
    expect(outputsOf(kit, id, 2).map(({ units }) => units)).toEqual([96_700n]);
    kit.crash();
    kit.handshake();
    const wish = { transactionId: id, act: "replace", txParams: { satPerKvB: "90000" } };
    const { plan } = kit.operate("manualReplacement", { ...wish, plan: null }) as unknown as {
      plan: object;
    };
    expect(kit.operate("manualReplacement", { ...wish, plan })).toMatchObject({ ok: true });
    kit.acknowledge();
    const [{ units }] = outputsOf(kit, id, 3) as unknown as [{ units: bigint }];
    expect(units).toBe(100_000n - figuresOf(kit.show(id).attempts[2]!.txParams!).feeSat);
    expect(units).toBeLessThan(91_000n);
  });

  it("is not signed with its fee beside the amount, with more than the amount, nor with less", () => {
    const kit = coinKit();
    const id = ordered(kit);
    const coins = [coinOf(150_000n)];
    const refused = (txParams: TxParams) =>
      expect(sign(kit, id, coins, txParams).code).toBe("TRANSACTION_FIELD");
    const inside = figuresOf(offerOf(coins, true));
    refused(offerOf(coins, false));
    for (const by of [1n, -1n])
      refused(txParamsOf({ ...inside, changeSat: [inside.changeSat[0]! + by] }));
    expect(kit.kinds()).not.toContain("INTENT");
    expect(sign(kit, id, coins, txParamsOf(inside))).toMatchObject({ ok: true });
  });

  it("is nothing that an offer can make of a payout: its receiver gets the whole amount", () => {
    const kit = coinKit();
    const id = kit.order();
    const coins = [made(150_000n)];
    expect(sign(kit, id, coins, offerOf(coins, true)).code).toBe("TRANSACTION_FIELD");
    expect(sign(kit, id, coins, offerOf(coins, false))).toMatchObject({ ok: true });
    kit.acknowledge();
    expect(outputsOf(kit, id)[0]!.units).toBe(100_000n);
  });

  it("spends a coin of a transaction as large as nodes forward, and 64 of them at once; none of a larger one", () => {
    const script = scriptOf(address, row);
    const kit = coinKit();
    const id = ordered(kit);
    const over = values.largeCoin(script, 100_000n, 100_001);
    expect(sign(kit, id, [over], offerOf([over], true)).code).toBe("JSON_SHAPE");
    const many = Array.from({ length: 64 }, () =>
      values.largeCoin(script, 100_000n / 64n, 100_000),
    );
    const coins = [
      ...many.slice(1),
      values.largeCoin(script, 100_000n - 63n * (100_000n / 64n), 100_000),
    ];
    expect(figuresOf(offerOf(coins, true)).coins).toHaveLength(64);
    expect(sign(kit, id, coins, offerOf(coins, true))).toMatchObject({ ok: true });
  });
});
