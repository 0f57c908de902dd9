/** Accounts, coins, previous transactions and payments for the tests of chains/utxo, by a seed. */
import { secp256k1 } from "@noble/curves/secp256k1";
import { signDigest } from "../../agent/signer/vault/curve.ts";
import { AgentError } from "../../base/fault.ts";
import type { Coin, FamilyTransactions, Payment, TxParams } from "../../chains/family.ts";
import { addressOfPublicKey, addressOfScript, parseAddress } from "../../chains/utxo/address.ts";
import type { NativeCoin, UtxoNetwork } from "../../chains/utxo/network.ts";
import {
  decodeTransaction,
  encodeTransaction,
  type TransactionOutput,
} from "../../chains/utxo/raw-transaction.ts";
import { coinTexts } from "../../chains/utxo/tx-params.ts";
import { SeededRandom } from "../../lab/kit/seeded.ts";

export interface Account {
  readonly key: Uint8Array;
  readonly address: string;
  readonly script: Uint8Array;
}

/** A coin and the transaction that made it. */
export type MadeCoin = Coin & { readonly made: string };

export const scriptKinds = ["p2pkh", "p2sh", "p2wpkh", "p2wsh", "p2tr"] as const;

export class Values {
  readonly random: SeededRandom;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.random.below(256));
  }

  units(from: number, to: number): bigint {
    return BigInt(from + this.random.below(to - from + 1));
  }

  account(network: UtxoNetwork): Account {
    const key = this.bytes(32);
    const address = addressOfPublicKey(secp256k1.getPublicKey(key), network);
    return { key, address, script: scriptOf(address, network) };
  }

  /** A script of the kind; for P2TR the key is a point of the curve. */
  script(kind: (typeof scriptKinds)[number]): Uint8Array {
    if (kind === "p2pkh") return Uint8Array.of(0x76, 0xa9, 20, ...this.bytes(20), 0x88, 0xac);
    if (kind === "p2sh") return Uint8Array.of(0xa9, 20, ...this.bytes(20), 0x87);
    if (kind === "p2wpkh") return Uint8Array.of(0, 20, ...this.bytes(20));
    if (kind === "p2wsh") return Uint8Array.of(0, 32, ...this.bytes(32));
    return Uint8Array.of(0x51, 32, ...secp256k1.getPublicKey(this.bytes(32)).subarray(1));
  }

  destination(network: UtxoNetwork, kind = this.random.pick(scriptKinds)): string {
    return addressOfScript(this.script(kind), network) as string;
  }

  /** A transaction of others, with or without SegWit data, that pays `units` to the script. */
  coin(script: Uint8Array, units: bigint): MadeCoin {
    const inputs = Array.from({ length: 1 + this.random.below(3) }, () => ({
      txHash: Buffer.from(this.bytes(32)).toString("hex"),
      ...{
        output: this.random.below(9),
        script: this.bytes(this.random.below(80)),
        sequence: 0xffffffff,
      },
    }));
    const count = 1 + this.random.below(300 * Number(this.random.chance(20)) + 4);
    const output = this.random.below(count);
    const outputs: TransactionOutput[] = Array.from({ length: count }, (_, place) =>
      place === output
        ? { units, script }
        : {
            units: this.units(300, 1_000_000),
            script: this.script(this.random.pick(["p2pkh", "p2sh", "p2wpkh"])),
          },
    );
    const stacks = inputs.map(() => [this.bytes(71), this.bytes(33)]);
    const transaction = {
      version: 1 + this.random.below(2),
      inputs,
      outputs,
      lockTime: this.random.below(900_000),
    };
    const made = encodeTransaction(transaction, this.random.chance(2) ? stacks : undefined);
    return {
      id: `${decodeTransaction(made)?.txHash}:${output}`,
      units,
      made: Buffer.from(made).toString("hex"),
    };
  }

  /** A coin whose transaction has so many bytes without SegWit data, at least some hundred. */
  largeCoin(script: Uint8Array, units: bigint, length: number): MadeCoin {
    const of = (scripts: readonly number[]): Uint8Array => {
      const inputs = scripts.map((size, at) => ({
        ...{ txHash: Buffer.from(this.bytes(32)).toString("hex"), output: at },
        ...{ script: new Uint8Array(size), sequence: 0xffffffff },
      }));
      return encodeTransaction({ version: 2, inputs, outputs: [{ units, script }], lockTime: 0 });
    };
    const long = Array.from({ length: Math.floor(length / 60_000) }, () => 50_000);
    const made = of([...long, length - of([...long, 300]).length + 300]);
    return {
      id: `${decodeTransaction(made)?.txHash}:0`,
      units,
      made: Buffer.from(made).toString("hex"),
    };
  }

  coins(script: Uint8Array, count: number): MadeCoin[] {
    return Array.from({ length: count }, () => this.coin(script, this.units(20_000, 5_000_000)));
  }
}

export function scriptOf(address: string, network: UtxoNetwork): Uint8Array {
  const parsed = parseAddress(address, network);
  if (!parsed.ok) throw new Error(`${address}: ${parsed.code}`);
  return parsed.script;
}

/** The evidence for parameters, in the order of their coins. */
export function evidenceFor(
  txParams: Readonly<Record<string, string>>,
  coins: readonly MadeCoin[],
): string[] {
  return (txParams.coins ?? "")
    .split(",")
    .map((text) => coins.find(({ id }) => text.startsWith(`${id}:`))?.made ?? "");
}

export const signAll = (digests: readonly Uint8Array[], key: Uint8Array): Uint8Array[] =>
  digests.map((digest) => signDigest(digest, key));

export const mainOf = (coin: NativeCoin): UtxoNetwork => coin.networks[0] as UtxoNetwork;

/** Builds as the signer does, with the proof of the coins. @throws as `build` and `unproven` */
export function provenBy(transactions: Pick<Required<FamilyTransactions>, "build" | "unproven">) {
  return (payment: Payment, txParams: TxParams, evidence: readonly string[]): Uint8Array => {
    const unsigned = transactions.build(payment, txParams);
    const refusal = transactions.unproven(payment, coinTexts(txParams), evidence);
    if (refusal !== null)
      throw new AgentError(refusal.code, "none", refusal.detail ?? refusal.code);
    return unsigned;
  };
}
