/** A hot wallet over a regtest network: offers, signs and sends as signer and courier do. */
import type { TxParams } from "../../chains/family.ts";
import {
  firstOfferWithMerging,
  type PaymentOrCancel,
  replacementOffer,
} from "../../chains/utxo/fees.ts";
import { bitcoin, litecoin, type NativeCoin, type UtxoNetwork } from "../../chains/utxo/network.ts";
import { createUtxoSender, type UtxoSender } from "../../chains/utxo/node-sender.ts";
import { createUtxoWatcher, type UtxoWatcher } from "../../chains/utxo/node-watcher.ts";
import { utxoTransactions } from "../../chains/utxo/transactions.ts";
import { feeMaxOf, figuresOf } from "../../chains/utxo/tx-params.ts";
import type { FrontOptions } from "../../lab/utxo-node/front.ts";
import { startUtxoNetwork, type UtxoTestNetwork } from "../../lab/utxo-node/network.ts";
import { seed } from "../support/evm-values.ts";
import { type Account, provenBy, signAll, Values } from "./utxo-values.ts";

/** A signed attempt. */
export interface Signed {
  readonly raw: string;
  readonly txHash: string;
  readonly txParams: TxParams;
  readonly target: PaymentOrCancel;
}

export interface Logged {
  readonly event: string;
  readonly [name: string]: string | number;
}

export class Wallet {
  readonly testNetwork: UtxoTestNetwork;
  readonly network: UtxoNetwork;
  readonly values = new Values(seed);
  readonly owner: Account;
  readonly sender: UtxoSender;
  readonly watcher: UtxoWatcher;
  readonly confirmations: number;
  readonly logged: Logged[] = [];

  constructor(coin: NativeCoin, testNetwork: UtxoTestNetwork, confirmations: number) {
    this.testNetwork = testNetwork;
    this.confirmations = confirmations;
    this.network = coin.networks.at(-1) as UtxoNetwork;
    this.owner = this.values.account(this.network);
    this.sender = this.open(testNetwork.urls);
    this.watcher = createUtxoWatcher({
      urls: testNetwork.urls,
      network: this.network,
      confirmations,
      log: this.log,
      timeoutMs: 20_000,
    });
  }

  readonly log = (event: string, fields: Readonly<Record<string, string | number>>): void => {
    this.logged.push({ event, ...fields });
  };

  open(urls: readonly string[]): UtxoSender {
    const clock = (): number => performance.now();
    const limits = { timeoutMs: 20_000, patienceMs: 40_000 };
    return createUtxoSender({
      urls,
      network: this.network,
      confirmations: this.confirmations,
      clock,
      log: this.log,
      ...limits,
    });
  }

  /** An address of others. */
  get other(): string {
    return this.values.destination(this.network, "p2wpkh");
  }

  async mine(count: number, address = this.other): Promise<readonly string[]> {
    return this.testNetwork.mine(count, address);
  }

  /** Blocks whose rewards are the account's, and enough on top that the chain takes them. */
  async fund(coins: number): Promise<void> {
    await this.mine(coins, this.owner.address);
    await this.mine(100 + this.confirmations);
  }

  async first(target: Exclude<PaymentOrCancel, null>, account = this.owner): Promise<Signed> {
    const market = await this.market(account);
    const txParams = firstOfferWithMerging(this.network, market, target);
    if (txParams === null) throw new Error("the coins do not suffice");
    return this.sign(txParams, target, account);
  }

  /** In the place of all earlier attempts; a null target is a cancel. */
  async next(target: PaymentOrCancel, attempts: readonly Signed[]): Promise<Signed> {
    const earlier = attempts.map(({ txParams }) => ({ txParams, feeMax: `${feeMaxOf(txParams)}` }));
    const anchor = anchorOf(attempts[0] as Signed);
    const txParams = replacementOffer(this.network, await this.market(), target, earlier, anchor);
    if (txParams === null) throw new Error("the coins do not suffice");
    return this.sign(txParams, target);
  }

  async market(account = this.owner) {
    const { feeMarket, coins = [] } = await this.sender.chainState(account.address);
    return { satPerKvB: feeMarket?.satPerKvB ?? 0n, coins };
  }

  async sign(txParams: TxParams, target: PaymentOrCancel, account = this.owner): Promise<Signed> {
    const evidence = await this.sender.evidence(txParams);
    const place = { network: this.network.id, account: account.address, slot: "0" };
    const transactions = utxoTransactions;
    const { cancels, digests, attach } = transactions;
    const unsigned =
      target === null
        ? cancels.build(place, txParams)
        : provenBy(transactions)(
            { ...place, contract: "", tag: "", ...target },
            txParams,
            evidence,
          );
    const { raw, txHash } = attach(
      unsigned,
      signAll(digests(unsigned), account.key),
      account.address,
    );
    return { raw: Buffer.from(raw).toString("hex"), txHash, txParams, target };
  }

  payment(target: Exclude<PaymentOrCancel, null>) {
    return {
      network: this.network.id,
      account: this.owner.address,
      slot: "0",
      contract: "",
      tag: "",
      ...target,
    };
  }

  async close(): Promise<void> {
    this.sender.close();
    this.watcher.close();
    await this.testNetwork.close();
  }
}

export function anchorOf({ txParams }: Signed): string {
  return figuresOf(txParams).coins[0]?.id ?? "";
}

export async function openWallet(
  name: "bitcoin" | "litecoin",
  confirmations: number,
  fronts?: readonly FrontOptions[],
): Promise<Wallet> {
  const testNetwork = await startUtxoNetwork(name, fronts);
  return new Wallet(name === "bitcoin" ? bitcoin : litecoin, testNetwork, confirmations);
}
