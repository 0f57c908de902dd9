/**
 * A coin of this kind by the names that every family has. The chain counts no payments of an
 * account, so a second payment is excluded by the anchor, the coin that all attempts have in
 * common: the pin. Texts of an unknown network are refused. Offline. Sources: CAIP-2, BIP-84.
 */
import { AgentError, type Refusal, refuse } from "../../base/fault.ts";
import type { Fees, KeyPaths, ParsedAddress, PinExclusion } from "../family.ts";
import { accountTextOf, depositAddressOf, keyPathsOf, type ReadAccount, readAccount } from "./account.ts";
import { addressOfPublicKey, parseAddress } from "./address.ts";
import { type NativeCoin, namespace, networkOf, readChainId, type UtxoNetwork } from "./network.ts";
import { feesOf } from "./offers.ts";
import { coinTexts } from "./tx-params.ts";

const txHashForm = /^[0-9a-f]{64}$/;

/** Every function is deterministic. A network is a CAIP-2 name. */
export interface UtxoFamily {
  readonly name: string;
  readonly namespace: string;
  /** The chain takes the pin once. No two open withdrawals share one of the holds. */
  readonly exclusion: PinExclusion;
  readonly countsConfirmations: true;
  readonly fees: Fees;
  readChainId(value: unknown): string | null;
  networkOf(chainId: string): string;
  hasNetwork(network: string): boolean;
  isTxHash(text: string): boolean;
  /** Refuses with ADDRESS_*. */
  parseAddress(text: string, network: string): ParsedAddress;
  /** @throws ADDRESS_* */
  depositAddress(accountId: string, index: number, network: string): string;
  /** Refuses with ADDRESS_XPUB. */
  readAccount(text: string, network: string): ReadAccount;
  /** @throws ADDRESS_XPUB */
  accountTextOf(accountId: string, network: string): string;
  /** @throws ADDRESS_PUBLIC_KEY, ADDRESS_FORMAT */
  addressOf(publicKey: Uint8Array, network: string): string;
  /** @throws ADDRESS_FORMAT */
  pathsOf(network: string): KeyPaths & { readonly purpose: number };
}

export function utxoFamily(coin: NativeCoin): UtxoFamily {
  /** The answer for a network of the coin, and else `other`. */
  const on = <T, U>(id: string, act: (network: UtxoNetwork) => T, other: U): T | U => {
    const network = networkOf(coin, id);
    return network === null ? other : act(network);
  };
  const onOrThrow = <T>(id: string, act: (network: UtxoNetwork) => T): T => {
    const network = networkOf(coin, id);
    if (network === null) throw new AgentError("ADDRESS_FORMAT", "none", `no network of ${coin.name}`, { network: id });
    return act(network);
  };
  const unknown: Refusal = refuse("ADDRESS_FORMAT", `no network of ${coin.name}`);
  return {
    name: coin.name,
    namespace,
    exclusion: { kind: "pin", coins: coinTexts },
    countsConfirmations: true,
    fees: feesOf(coin),
    readChainId: (value) => readChainId(coin, value),
    networkOf: (chainId) => `${namespace}:${chainId}`,
    hasNetwork: (network) => networkOf(coin, network) !== null,
    isTxHash: (text) => txHashForm.test(text),
    parseAddress: (text, id) =>
      on(
        id,
        (network) => {
          const parsed = parseAddress(text, network);
          return parsed.ok ? { ok: true, address: parsed.address } : parsed;
        },
        unknown,
      ),
    depositAddress: (id, index, network) => onOrThrow(network, (row) => depositAddressOf(id, index, row)),
    readAccount: (text, id) => on(id, (network) => readAccount(text, network), unknown),
    accountTextOf: (id, network) => onOrThrow(network, (row) => accountTextOf(id, row)),
    addressOf: (publicKey, network) => onOrThrow(network, (row) => addressOfPublicKey(publicKey, row)),
    pathsOf: (network) => onOrThrow(network, keyPathsOf),
  };
}
