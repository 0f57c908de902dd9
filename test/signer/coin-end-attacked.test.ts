/**
 * Gateway and courier lie together about coins, and the operator says yes to all that the signer
 * shows. A renewal and the payment that it renews still spend a coin in common, attempt by attempt,
 * wherever an attempt spends a coin beside the missing one: the chain takes one of the two.
 */
import { expect, it } from "vitest";
import { families, pinExclusionOf } from "../../chains/families.ts";
import { SeededRandom, seedsOfRun } from "../../lab/kit/seeded.ts";
import { share } from "../../lab/kit/share.ts";
import { merchant } from "../../lab/kit/signer-kit.ts";
import { deriveOrderTransactionId } from "../../protocol/identity.ts";
import { evidenceFor, type MadeCoin } from "../chains/utxo-values.ts";
import { type CoinKit, coinKit, made, network, raised, sender, shop } from "../support/coin-kit.ts";

const hourMs = 3_600_000;
let compared = 0;
const word = ({ id, units }: MadeCoin) => ({ network, account: sender, id, units: `${units}` });

/** The coins of each attempt that pays, without their amounts; the pin first. */
function coinsOf(kit: CoinKit, transactionId: string): readonly (readonly string[])[] {
  const { attempts } = kit.core.book.find(transactionId)!;
  const signed = attempts.filter(({ isCancel, txHash }) => !isCancel && txHash !== "");
  return signed.map(({ txParams }) =>
    pinExclusionOf(network)!
      .coins(txParams!)
      .map((coin) => coin.slice(0, coin.lastIndexOf(":"))),
  );
}

/** Signs on coins that the liars like, and perhaps replaces the attempt on others. */
function paid(
  kit: CoinKit,
  random: SeededRandom,
  transactionId: string,
  wallet: readonly MadeCoin[],
): boolean {
  const some = (): MadeCoin[] => wallet.filter(() => random.chance(2));
  const coins = some();
  const wanted = { network, contract: "", destination: shop, tag: "", amountUnits: 100_000n };
  const market = {
    feeMarket: { satPerKvB: 2_000n },
    computeLimit: 1n,
    coins,
    owed: coins.slice(-1),
  };
  const first = families.bitcoinregtest.fees.first(market, wanted);
  if (first === null) return false;
  if (!kit.ask("sign", { transactionId, txParams: first, evidence: evidenceFor(first, coins) }).ok)
    return false;
  kit.acknowledge();
  for (let more = random.below(3); more > 0; more -= 1) {
    const used = kit.core.book.find(transactionId)!.attempts[0]!.pin!;
    const offered = [
      ...wallet.filter(({ id }) => used.startsWith(id)),
      ...some().filter(({ id }) => !used.startsWith(id)),
    ];
    const rate = 2_000n * BigInt(4 + random.below(20));
    const txParams = raised(kit, transactionId, offered, rate);
    if (txParams === null) continue;
    const above = kit.core.book.find(transactionId)!.attempts.length;
    kit.ask("replace", {
      transactionId,
      above,
      txParams,
      evidence: evidenceFor(txParams, [...wallet]),
    });
    kit.acknowledge();
  }
  return true;
}

/** Both liars say that the coin is gone, for a day, and name what they like. */
function lie(
  kit: CoinKit,
  random: SeededRandom,
  transactionId: string,
  wallet: readonly MadeCoin[],
): void {
  const pin = kit.core.book.find(transactionId)!.attempts[0]!.pin!;
  const coin = pin.slice(0, pin.lastIndexOf(":"));
  for (let at = 0; at <= 24; at += 1) {
    kit.ask("unseen", { transactionId, coin, isShown: false, chainMs: kit.now });
    if (at < 24) kit.now += hourMs;
  }
  kit.sight({ coins: wallet.filter(() => random.chance(2)).map(word) });
  kit.receive();
  kit.now += 1;
  kit.release(
    kit.gateway.ack(kit.gateway.stored!, {
      at: kit.now,
      unreachable: [transactionId],
      endable: [transactionId],
    }),
  );
}

it.each(seedsOfRun(share(120, 12)))(
  "a renewal spends a coin of each attempt that could still be paid (SEED=%i)",
  (seed) => {
    const random = new SeededRandom(seed);
    const kit = coinKit();
    const wallet = Array.from({ length: 5 }, (_, at) => made(60_000n + BigInt(at) * 5_000n));
    const first = kit.order();
    if (!paid(kit, random, first, wallet)) return;
    lie(kit, random, first, wallet);
    const isEnded = kit.operate("end", { transactionId: first, slot: "0", approver: "ann" }).ok;
    if (!isEnded) return;
    kit.acknowledge();
    const { orderId } = kit.core.book.find(first)!.job;
    let renews = first;
    for (let round = 0; round < 4; round += 1) {
      const transactionId = deriveOrderTransactionId({
        merchant,
        operation: "withdraw",
        orderId,
        renews,
      });
      const job = {
        network,
        currency: "btc",
        amount: "0.001",
        address: shop,
        orderId,
        transactionId,
        renews,
      };
      kit.request({ ...job, expiresAt: kit.now + 1_000 });
      for (let tries = 0; tries < 6; tries += 1)
        if (paid(kit, random, transactionId, wallet)) break;
      const attempts = coinsOf(kit, transactionId);
      for (const [, ...others] of coinsOf(kit, first).filter(({ length }) => length > 1))
        for (const coins of attempts) {
          compared += 1;
          expect(
            others.some((coin) => coins.includes(coin)),
            `${others} ${coins}`,
          ).toBe(true);
        }
      if (attempts.length > 0) return;
      kit.now += 2_000;
      kit.sign(transactionId, wallet);
      kit.acknowledge();
      renews = transactionId;
    }
  },
);

it("such pairs were compared", () => expect(compared).toBeGreaterThan(0));
