/**
 * The coins of this kind and their networks, as one table. A network's name is CAIP-2: namespace
 * bip122, and the first 32 hex digits of the first block's hash. Pure. Sources: CAIP-2 registry,
 * bip122; chainparams.cpp and policy.h of Bitcoin Core and Litecoin Core; SLIP-44, SLIP-132,
 * SLIP-173.
 */

import type { FirstOffers } from "../offers.ts";

export const namespace = "bip122";

/** Decimals of a coin: amounts and fees are in sat, the smallest unit, for Litecoin too. */
export const nativeDecimal = 8;

/** The properties that all networks of a coin share. */
interface NativeCoinRow {
  readonly title: string; // for people
  /** Nodes accept a transaction with a higher fee in place of one in their mempool. */
  readonly isReplaced: boolean;
  /** The rate at which nodes count an output as dust, in sat per 1,000 vB. */
  readonly dustSatPerKvB: bigint;
  /** Fee caps for a network without preset, in coins: some 350 sat for a byte on Bitcoin. */
  readonly ceilings: FirstOffers["ceilings"];
  /** No amount is higher: all coins that will ever be, in sat. */
  readonly supplySat: bigint;
}

/** The properties of one network. */
interface NetworkRow<Name extends string> {
  readonly name: Name; // of its address space: addresses and keys are its own
  readonly reference: string; // 32 hex digits, the second part of its CAIP-2 name
  readonly prefix: string; // of SegWit addresses, SLIP-173
  readonly p2pkh: number; // version byte of base58check
  readonly p2sh: number;
  /** Another version byte of P2SH, under which addresses read as those of another chain. */
  readonly p2shRefused: number | null;
  readonly coinType: number; // SLIP-44
  /**
   * Sat for each 1,000 vB where no node estimates, as on thin networks; null where each usual node
   * does.
   */
  readonly rateWithoutEstimate: bigint | null;
  /** Prefixes of an account's extended public key, by SLIP-132: any script, and P2WPKH. */
  readonly accountKeys: { readonly any: KeyVersion; readonly p2wpkh: KeyVersion };
}

/** An extended public key's version: its four bytes, and the letters that they become. */
export interface KeyVersion {
  readonly bytes: number;
  readonly letters: string;
}

export type UtxoNetwork<Name extends string = string> = NativeCoinRow &
  NetworkRow<Name> & { readonly id: string };

/** A coin by its networks, of which the first is the main one. */
export interface NativeCoin<Name extends string = string> {
  readonly name: string;
  readonly title: string; // for people
  readonly ceilings: FirstOffers["ceilings"];
  readonly networks: readonly UtxoNetwork<Name>[];
}

const mainKeys = {
  any: { bytes: 0x0488b21e, letters: "xpub" },
  p2wpkh: { bytes: 0x04b24746, letters: "zpub" },
};
const testKeys = {
  any: { bytes: 0x043587cf, letters: "tpub" },
  p2wpkh: { bytes: 0x045f1cf6, letters: "vpub" },
};
const bitcoinTest = {
  rateWithoutEstimate: 1_000n,
  p2pkh: 0x6f,
  p2sh: 0xc4,
  p2shRefused: null,
  coinType: 1,
  accountKeys: testKeys,
};

const bitcoinRow: NativeCoinRow = {
  title: "Bitcoin",
  isReplaced: true,
  dustSatPerKvB: 3_000n,
  ceilings: { maxFee: "0.0005", maxFeePerDay: "0.01" },
  supplySat: 2_100_000_000_000_000n,
};
export const bitcoin = coinOf("bitcoin", bitcoinRow, [
  {
    name: "bitcoin",
    reference: "000000000019d6689c085ae165831e93",
    prefix: "bc",
    p2pkh: 0x00,
    p2sh: 0x05,
    p2shRefused: null,
    rateWithoutEstimate: null,
    coinType: 0,
    accountKeys: mainKeys,
  },
  {
    name: "bitcointestnet4",
    reference: "00000000da84f2bafbbc53dee25a72ae",
    prefix: "tb",
    ...bitcoinTest,
  },
  {
    name: "bitcoinsignet",
    reference: "00000008819873e925422c1ff0f99f7c",
    prefix: "tb",
    ...bitcoinTest,
  },
  {
    name: "bitcoinregtest",
    reference: "0f9188f13cb7b2c71f2a335e3a4fc328",
    prefix: "bcrt",
    ...bitcoinTest,
  },
]);

/**
 * Litecoin's own nodes replace nothing by default. SLIP-132 has no P2WPKH prefix for it; its
 * wallets use Bitcoin's.
 */
const litecoinRow: NativeCoinRow = {
  title: "Litecoin",
  isReplaced: false,
  dustSatPerKvB: 30_000n,
  ceilings: { maxFee: "0.005", maxFeePerDay: "0.1" },
  supplySat: 8_400_000_000_000_000n,
};
export const litecoin = coinOf("litecoin", litecoinRow, [
  {
    name: "litecoin",
    reference: "12a765e31ffd4059bada1e25190f6e98",
    prefix: "ltc",
    p2pkh: 0x30,
    p2sh: 0x32,
    p2shRefused: 0x05,
    rateWithoutEstimate: 10_000n,
    coinType: 2,
    accountKeys: mainKeys,
  },
  {
    name: "litecoinregtest",
    reference: "530827f38f93b43ed12af0b3ad25a288",
    prefix: "rltc",
    p2pkh: 0x6f,
    p2sh: 0x3a,
    p2shRefused: 0xc4,
    rateWithoutEstimate: 1_000n,
    coinType: 1,
    accountKeys: testKeys,
  },
]);

const coins = [bitcoin, litecoin] as const;

/** The names in the rows above: a new row is the whole of a new network. */
export type UtxoNetworkName = (typeof coins)[number]["networks"][number]["name"];

/** Every network, in the order in which a wallet lists its accounts. */
export const utxoNetworks = coins.flatMap(
  ({ networks }): readonly UtxoNetwork<UtxoNetworkName>[] => networks,
);

/** Every prefix of SegWit addresses in the table. */
export const segwitPrefixes: readonly string[] = utxoNetworks.map(({ prefix }) => prefix);

/** One value for each network, by its name. */
export function mapUtxoNetworks<T>(
  make: (network: UtxoNetwork<UtxoNetworkName>, coin: NativeCoin) => T,
): Readonly<Record<UtxoNetworkName, T>> {
  const made = coins.flatMap((coin) =>
    coin.networks.map((network) => [network.name, make(network, coin)] as const),
  );
  return Object.fromEntries(made) as Record<UtxoNetworkName, T>;
}

/** A network by its CAIP-2 name; null if no row has it. */
export function networkOf(id: string): UtxoNetwork | null {
  return utxoNetworks.find((network) => network.id === id) ?? null;
}

function coinOf<Name extends string>(
  name: string,
  coin: NativeCoinRow,
  rows: readonly NetworkRow<Name>[],
): NativeCoin<Name> {
  return {
    name,
    title: coin.title,
    ceilings: coin.ceilings,
    networks: rows.map((row) => ({ id: `${namespace}:${row.reference}`, ...coin, ...row })),
  };
}
