/**
 * Exclusion by the pin: a signer in memory whose wallet pays on Bitcoin's regtest, and a courier
 * that offers coins and shows the transactions that made them.
 */
import { describe, expect, it } from "vitest";
import type { SignerSettings } from "../../agent/config/settings.ts";
import { type Offer, pinRefusal } from "../../agent/signer/handlers/pins.ts";
import { families } from "../../chains/families.ts";
import type { TxParams } from "../../chains/family.ts";
import { bitcoin, networkOf } from "../../chains/utxo/network.ts";
import { decodeTransaction } from "../../chains/utxo/raw-transaction.ts";
import { figuresOf, txParamsOf } from "../../chains/utxo/tx-params.ts";
import { type AnyAnswer, Kit, keysOf, settings } from "../../lab/kit/signer-kit.ts";
import { evidenceFor, type MadeCoin, scriptOf, Values } from "../chains/utxo-values.ts";
import { seed } from "../support/evm-values.ts";

const network = "bip122:0f9188f13cb7b2c71f2a335e3a4fc328";
const row = networkOf(bitcoin, network)!;
const keys = keysOf("bitcoinregtest", [network]);
const sender = keys.vault.accounts[0]!.id;
const limits = { maxPerWithdrawal: "1", maxPerDay: "10", maxFee: "0.001", maxFeePerDay: "0.1" };
const coinSettings: SignerSettings = {
  ...settings,
  chains: { regtest: { family: "bitcoinregtest", chainId: row.reference } },
  currencies: { btc: { chain: "regtest", decimal: 8 } },
  policy: { btc: limits },
};
const values = new Values(seed);
const { fees } = families.bitcoinregtest;
const shop = values.destination(row, "p2wpkh");
const made = (units: bigint): MadeCoin => values.coin(scriptOf(sender, row), units);
const satPerKvB = 2_000n;

class CoinKit extends Kit {
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
    return this.ask("sign", { transactionId, txParams, evidence: evidence ?? evidenceFor(txParams, coins) });
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

function coinKit(): CoinKit {
  const kit = new CoinKit({ settings: coinSettings, keys });
  kit.handshake();
  return kit;
}

/** The next attempt at a higher rate, on these coins. */
function raised(kit: CoinKit, transactionId: string, coins: readonly MadeCoin[], rate = satPerKvB * 3n): TxParams {
  const { attempts } = kit.show(transactionId);
  const wanted = { network, contract: "", destination: shop, tag: "", amountUnits: 100_000n };
  const market = { feeMarket: { satPerKvB: rate }, computeLimit: 1n, coins };
  return fees.bidding!.replacementAt(market, wanted, attempts, attempts.length, false)!;
}

/** An operator is shown a cancel at 9 sat for a byte, and orders it. */
function cancelled(kit: CoinKit, transactionId: string): void {
  const typed = fees.typed({ maxFee: "9" });
  if (!typed.ok) throw new Error(typed.problem);
  const wish = { transactionId, act: "cancel", txParams: typed.txParams };
  const { plan } = kit.operate("manualReplacement", { ...wish, plan: null }) as unknown as { plan: object };
  expect(kit.operate("manualReplacement", { ...wish, plan })).toMatchObject({ ok: true });
  kit.acknowledge();
}

describe("exclusion by the pin", () => {
  it("a withdrawal is paid from coins whose makers were shown, and its account begins by itself", () => {
    const kit = coinKit();
    const coin = made(500_000n);
    const id = kit.released([coin]);
    expect(kit.inputsOf(id)).toEqual([coin.id]);
    expect(kit.show(id)).toMatchObject({ state: "released", account: sender, slot: "0" });
  });

  it("nothing is signed without the transaction that made a coin, with another one, or with another amount", () => {
    const kit = coinKit();
    const id = kit.order();
    const coin = made(500_000n);
    expect(kit.sign(id, [coin], []).code).toBe("TRANSACTION_EVIDENCE");
    expect(kit.sign(id, [coin], [made(500_000n).made]).code).toBe("TRANSACTION_EVIDENCE");
    expect(kit.sign(id, [{ ...coin, units: 600_000n }]).code).toBe("TRANSACTION_EVIDENCE");
    expect(kit.sign(id, [values.coin(values.script("p2wpkh"), 500_000n)]).code).toBe("TRANSACTION_EVIDENCE");
    expect(kit.kinds()).not.toContain("INTENT");
    expect(kit.sign(id, [coin]).ok).toBe(true);
  });

  it("a coin of an open withdrawal pays no other, and any other coin does", () => {
    const kit = coinKit();
    const [first, second] = [made(500_000n), made(400_000n)];
    const one = kit.released([first]);
    const two = kit.order();
    expect(kit.sign(two, [first])).toMatchObject({ code: "ACCOUNT_PIN_TAKEN", detail: expect.stringContaining(one) });
    expect(kit.sign(two, [second]).ok).toBe(true);
    kit.acknowledge();
    expect(kit.inputsOf(two)).toEqual([second.id]);
  });

  it("a coin is free again once its withdrawal was cancelled by the pin and the gateway has ended it", () => {
    const kit = coinKit();
    const [pin, more] = [made(90_000n), made(80_000n)];
    const one = kit.released([pin, more]);
    expect(kit.inputsOf(one)).toEqual([pin.id, more.id]);
    cancelled(kit, one);
    const { txHash } = kit.show(one).attempts[1]!;
    expect(kit.inputsOf(one, 2)).toEqual([pin.id]);
    kit.ask("observed", { transactionId: one, stage: "final", outcome: "cancelled", txHash, block: 9 });
    const two = kit.order();
    const coins = [more, made(70_000n)];
    expect(kit.sign(two, coins).code).toBe("ACCOUNT_PIN_TAKEN");
    kit.gateway.ended.add(one);
    kit.acknowledge();
    expect(kit.sign(two, coins).ok).toBe(true);
  });

  it("each later attempt spends the pin, needs no evidence for it, and evidence for a coin that it adds", () => {
    const kit = coinKit();
    const [pin, more, other] = [made(101_000n), made(300_000n), made(900_000n)];
    const id = kit.released([pin]);
    const ask = (txParams: TxParams, evidence: readonly string[]): AnyAnswer =>
      kit.ask("replace", { transactionId: id, above: 1, txParams, evidence });
    const wrong = kit.offerOf([other]);
    expect(ask(wrong, evidenceFor(wrong, [other]))).toMatchObject({
      code: "ACCOUNT_PIN_OTHER",
      detail: `${pin.id}:${pin.units}`,
    });
    const figures = figuresOf(kit.offerOf([other, pin]));
    const behind = txParamsOf({
      ...figures,
      coins: [other, pin],
      changeSat: [900_000n + 101_000n - 100_000n - 5_000n],
      feeSat: 5_000n,
    });
    expect(ask(behind, [other.made]).code).toBe("ACCOUNT_PIN_OTHER");
    const next = raised(kit, id, [more], satPerKvB * 10n);
    expect(figuresOf(next).coins.map((coin) => coin.id)).toEqual([pin.id, more.id]);
    expect(ask(next, []).code).toBe("TRANSACTION_EVIDENCE");
    expect(ask(next, ["", more.made]).code).toBe("JSON_SHAPE");
    expect(ask(next, ["00", more.made]).ok).toBe(true);
    kit.acknowledge();
    expect(kit.inputsOf(id, 2)).toEqual([pin.id, more.id]);
  });

  it("an operator's cancel pays the pin back to the account, without evidence", () => {
    const kit = coinKit();
    const pin = made(500_000n);
    const id = kit.released([pin]);
    cancelled(kit, id);
    const { transaction } = decodeTransaction(Buffer.from(kit.show(id).attempts[1]!.raw!.slice(2), "hex"))!;
    const hexOf = (script: Uint8Array): string => Buffer.from(script).toString("hex");
    expect(transaction.outputs.map(({ script }) => hexOf(script))).toEqual([hexOf(scriptOf(sender, row))]);
    expect(kit.inputsOf(id, 2)).toEqual([pin.id]);
  });

  it("after a recovery the gateway's word for the pin is no proof of its amount", () => {
    const coin = made(500_000n);
    const account = { network, account: sender, adopted: "0", next: "1", pending: 0, lastTimestamp: 0n };
    const refusalOf = (told: MadeCoin, evidence?: readonly string[]) => {
      const attempts = [{ attempt: 1, txParams: null, pin: `${told.id}:${told.units}`, txHash: "00".repeat(32) }];
      const withdrawal = { job: { network }, account: sender, attempts } as unknown as Offer["withdrawal"];
      const kit = coinKit();
      const offer = { withdrawal, account, slot: "0", txParams: kit.offerOf([told]), evidence };
      return pinRefusal(kit.signer.context(), offer)?.code ?? "";
    };
    expect(refusalOf(coin)).toBe("TRANSACTION_EVIDENCE");
    expect(refusalOf({ ...coin, units: 900_000n }, [coin.made])).toBe("TRANSACTION_EVIDENCE");
    expect(refusalOf(coin, [coin.made])).toBe("");
  });

  it("the gateway learns the pin with each signature, and a crash between record and signature changes no coin", () => {
    const kit = coinKit();
    const [pin, other] = [made(500_000n), made(600_000n)];
    const id = kit.order();
    kit.send("sign", { transactionId: id, txParams: kit.offerOf([pin]), evidence: [pin.made] });
    kit.settle();
    kit.crash();
    kit.handshake();
    const txParams = kit.offerOf([other]);
    kit.ask("sign", { transactionId: id, txParams, evidence: [other.made] });
    kit.acknowledge();
    expect(kit.inputsOf(id)).toEqual([pin.id]);
    const signed = kit.statements.flatMap(({ entries }) => entries).filter(({ kind }) => kind === "signed");
    expect(signed).toMatchObject([{ transactionId: id, pin: `${pin.id}:${pin.units}` }]);
  });
});
