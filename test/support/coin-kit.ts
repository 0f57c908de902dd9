/**
 * A signer in memory whose wallet pays on Bitcoin's regtest, and a courier that offers coins and
 * shows the transactions that made them.
 */
import { expect } from "vitest";
import type { SignerSettings } from "../../agent/config/settings.ts";
import { families } from "../../chains/families.ts";
import type { TxParams } from "../../chains/family.ts";
import { networkOf } from "../../chains/utxo/network.ts";
import { decodeTransaction } from "../../chains/utxo/raw-transaction.ts";
import {
  type AnyAnswer,
  Kit,
  type KitOptions,
  keysOf,
  settings,
} from "../../lab/kit/signer-kit.ts";
import { evidenceFor, type MadeCoin, scriptOf, Values } from "../chains/utxo-values.ts";
import { seed } from "./evm-values.ts";

export const network = "bip122:0f9188f13cb7b2c71f2a335e3a4fc328";
export const row = networkOf(network)!;
export const keys = keysOf("bitcoinregtest", [network]);
export const sender = keys.vault.accounts[0]!.id;
const limits = { maxPerWithdrawal: "1", maxPerDay: "10", maxFee: "0.001", maxFeePerDay: "0.1" };
export const coinSettings: SignerSettings = {
  ...settings,
  chains: { regtest: { family: "bitcoinregtest", chainId: row.reference } },
  currencies: { btc: { chain: "regtest", decimal: 8 } },
  policy: { btc: limits },
};
export const values = new Values(seed);
const { fees } = families.bitcoinregtest;
export const shop = values.destination(row, "p2wpkh");
export const made = (units: bigint): MadeCoin => values.coin(scriptOf(sender, row), units);
export const satPerKvB = 2_000n;

export class CoinKit extends Kit {
  /** A job of 0.001 BTC, admitted. */
  order(): string {
    return this.request({ network, currency: "btc", amount: "0.001", address: shop }).transactionId;
  }

  offerOf(coins: readonly MadeCoin[], rate = satPerKvB): TxParams {
    const wanted = { network, contract: "", destination: shop, tag: "", amountUnits: 100_000n };
    return fees.first({ feeMarket: { satPerKvB: rate }, computeLimit: 1n, coins }, wanted)!;
  }

  sign(transactionId: string, coins: readonly MadeCoin[], evidence?: readonly string[]): AnyAnswer {
    const txParams = this.offerOf(coins);
    return this.ask("sign", {
      transactionId,
      txParams,
      evidence: evidence ?? evidenceFor(txParams, coins),
    });
  }

  /** Signed, and the bytes released. */
  released(coins: readonly MadeCoin[]): string {
    const transactionId = this.order();
    const answer = this.sign(transactionId, coins);
    if (!answer.ok) throw new Error(`${answer.code} ${answer.detail}`);
    this.acknowledge();
    return transactionId;
  }

  inputsOf(transactionId: string, attempt = 1): string[] {
    const raw = this.show(transactionId).attempts[attempt - 1]!.raw!;
    const { transaction } = decodeTransaction(Buffer.from(raw.slice(2), "hex"))!;
    return transaction.inputs.map(({ txHash, output }) => `${txHash}:${output}`);
  }
}

export function coinKit(options: Pick<KitOptions, "segmentBytesMax"> = {}): CoinKit {
  const kit = new CoinKit({ ...options, settings: coinSettings, keys });
  kit.handshake();
  return kit;
}

/** The next attempt at a higher rate, on these coins. */
export function raised(
  kit: CoinKit,
  transactionId: string,
  coins: readonly MadeCoin[],
  rate = satPerKvB * 3n,
): TxParams {
  const { attempts } = kit.show(transactionId);
  const wanted = { network, contract: "", destination: shop, tag: "", amountUnits: 100_000n };
  const market = { feeMarket: { satPerKvB: rate }, computeLimit: 1n, coins };
  return fees.bidding!.replacementAt(market, wanted, attempts, attempts.length, false)!;
}

/** An operator is shown a cancel at 9 sat for a byte, and orders it. */
export function cancelled(kit: CoinKit, transactionId: string): void {
  const typed = fees.typed({ maxFee: "9" });
  if (!typed.ok) throw new Error(typed.problem);
  const wish = { transactionId, act: "cancel", txParams: typed.txParams };
  const { plan } = kit.operate("manualReplacement", { ...wish, plan: null }) as unknown as {
    plan: object;
  };
  expect(kit.operate("manualReplacement", { ...wish, plan })).toMatchObject({ ok: true });
  kit.acknowledge();
}
