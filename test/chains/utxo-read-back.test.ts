/**
 * The second reading of signed bytes, by another library: generated attempts of both coins read
 * as they should, and every other content is named.
 */
import { readFileSync } from "node:fs";
import { secp256k1 } from "@noble/curves/secp256k1";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ExpectedAttempt } from "../../chains/nodes.ts";
import { firstOffer, replacementOffer } from "../../chains/utxo/fees.ts";
import { bitcoin, litecoin, type NativeCoin, type UtxoNetwork } from "../../chains/utxo/network.ts";
import { independentReaderOn } from "../../chains/utxo/node-read-back.ts";
import { utxoTransactions } from "../../chains/utxo/transactions.ts";
import { feeMaxOf, figuresOf } from "../../chains/utxo/tx-params.ts";
import { share } from "../../lab/kit/share.ts";
import { seed } from "../support/evm-values.ts";
import { places, strideOfRun } from "../support/stride.ts";
import { signAll, Values } from "./utxo-values.ts";

const runs = share(150);

describe.each<[string, NativeCoin]>([
  ["Bitcoin", bitcoin],
  ["Litecoin", litecoin],
])("a signed transaction of %s", (_, coin) => {
  const values = new Values(seed);
  const network = values.random.pick(coin.networks) as UtxoNetwork;
  const readBack = independentReaderOn(network);

  /** A signed attempt, and the content that it should have. */
  function attempt(
    isCancel: boolean,
    owner = values.account(network),
  ): { readonly raw: string; readonly said: ExpectedAttempt } {
    const coins = values.coins(owner.script, 1 + values.random.below(6));
    const sum = coins.reduce((all, { units }) => all + units, 0n);
    const target = { destination: values.destination(network), amountUnits: sum / 2n };
    const market = { satPerKvB: 1_000n, coins };
    const paying = firstOffer(network, market, target)!;
    const earlier = [{ txParams: paying, feeMax: `${feeMaxOf(paying)}` }];
    const txParams = isCancel
      ? replacementOffer(network, market, null, earlier, figuresOf(paying).coins[0]!.id)!
      : paying;
    const place = { network: network.id, account: owner.address, slot: "0" };
    const payment = { ...place, contract: "", tag: "", ...target };
    const { build, cancels, digests, attach } = utxoTransactions;
    const unsigned = isCancel ? cancels.build(place, txParams) : build(payment, txParams);
    const { raw, txHash } = attach(unsigned, signAll(digests(unsigned), owner.key), owner.address);
    return { raw: Buffer.from(raw).toString("hex"), said: { payment, txParams, txHash, isCancel } };
  }

  it("a signed transaction reads as it should, payments and cancels", async () => {
    for (let run = 0; run < runs; run += 1) {
      const { raw, said } = attempt(run % 3 === 0);
      expect(await readBack(raw, said), raw).toBe("");
      expect(await readBack(`0x${raw}`, said)).toBe("");
    }
  });

  it("a signed transaction shows a key, which is proven to be a point of the curve once for each account", async () => {
    const points = vi.spyOn(secp256k1.Point, "fromHex");
    onTestFinished(() => points.mockRestore());
    for (const owner of [values.account(network), values.account(network)]) {
      const some = Array.from({ length: 5 }, (_, at) => attempt(at === 2, owner));
      points.mockClear();
      for (const { raw, said } of some) expect(await readBack(raw, said)).toBe("");
      expect(points).toHaveBeenCalledTimes(1);
    }
  });

  it("a signed transaction is named by its difference where any part of the content is another", async () => {
    const { raw, said } = attempt(false);
    const { payment, txParams } = said;
    const { coins = "", changeSat = "" } = txParams ?? {};
    const others: readonly (readonly [what: string, other: Partial<ExpectedAttempt>])[] = [
      ["network", { payment: { ...payment, network: "bip122:0" } }],
      ["tag", { payment: { ...payment, tag: "7" } }],
      ["token", { payment: { ...payment, contract: "a token" } }],
      ["receiver", { payment: { ...payment, destination: values.destination(network) } }],
      ["amount", { payment: { ...payment, amountUnits: payment.amountUnits + 1n } }],
      [
        "receiver of the change",
        { payment: { ...payment, account: values.account(network).address } },
      ],
      [
        "coins",
        {
          txParams: {
            ...txParams,
            coins: coins.replace(/^[0-9a-f]/, (digit) => (digit === "0" ? "1" : "0")),
          },
        },
      ],
      ["change", { txParams: { ...txParams, changeSat: `${changeSat}1` } }],
      ["change", { txParams: { ...txParams, changeSat: "0" } }],
      ["coins", { txParams: null }],
      ["id", { txHash: "ab".repeat(32) }],
      ["receiver", { isCancel: true }],
    ];
    for (const [what, other] of others) {
      const answer = await readBack(raw, { ...said, ...other });
      expect(answer, what).toMatch(
        new RegExp(what === "receiver" && other.isCancel ? "^change reads" : `^${what} reads`),
      );
    }
  });

  it("a signed transaction with one byte changed never reads as what it should be", async () => {
    const { raw, said } = attempt(false);
    const bytes = Buffer.from(raw, "hex");
    for (const at of places(bytes.length, strideOfRun())) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1 << values.random.below(8);
      const answer = await readBack(changed.toString("hex"), said).catch(() => "no transaction");
      // A signature's own bytes are the node's to judge; all others are compared.
      if (answer === "") expect(isInSignature(bytes, at), `byte ${at}`).toBe(true);
    }
  });
});

/** True if the byte stands in a signature: behind the outputs, in a text of at most 72 bytes. */
function isInSignature(bytes: Buffer, at: number): boolean {
  const text = bytes.toString("hex");
  return [...text.matchAll(/4[4-8]304[1-5]02/g)].some(
    ({ index }) => at > index / 2 && at < index / 2 + 72,
  );
}

it("the signer's code never loads the other library", () => {
  const offline = ["transaction", "transactions", "family", "fees", "previous", "address"];
  for (const file of offline) {
    const text = readFileSync(new URL(`../../chains/utxo/${file}.ts`, import.meta.url), "utf8");
    expect(text, file).not.toMatch(/btc-signer|node-read-back/);
  }
});
