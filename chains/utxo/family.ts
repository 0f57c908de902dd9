/**
 * The family on a network of such a coin, behind the offline interface. Each network is an address
 * space of its own, because its addresses and keys are its own. The chain counts no payments of an
 * account, so a second payment is excluded by the pin: the anchor, which all attempts spend.
 * Source: CAIP-2.
 */

import { base58 } from "@scure/base";
import { AgentError, type Refusal, refuse } from "../../base/fault.ts";
import { accountKeyOf, childKeyOf, keyPathsOfCoinType } from "../curve/account-node.ts";
import { createCompressedKeyAccounts } from "../curve/account-proof.ts";
import type { Family, KeyPaths } from "../family.ts";
import { paymentOrdinalSlotRules } from "../ordinal-slots.ts";
import { addressOfPublicKey, parseAddress } from "./address.ts";
import { joinBytes } from "./bytes.ts";
import { sha256Twice } from "./hash.ts";
import {
  bitcoin,
  mapUtxoNetworks,
  type NativeCoin,
  type UtxoNetwork,
  type UtxoNetworkName,
} from "./network.ts";
import { utxoFeesOf } from "./offers.ts";
import { paymentUri } from "./payment-uri.ts";
import { coinTexts, readCoin } from "./tx-params.ts";

/*
 * The deposit account by its extended public key, and its addresses. An account's id is its xpub,
 * on test networks too, because the key is the same. Wallets show it as zpub or vpub, which say
 * that the addresses are P2WPKH. No network, no disk, and no private key. Sources: BIP-32, BIP-84,
 * SLIP-132.
 */

/** BIP-84: an account's node is m/84'/coinType'/N'. */
const purpose = 84;
/** Version, depth, fingerprint, index, chain code, key. */
const keyBytes = 78;
const keyShape = /^[1-9A-HJ-NP-Za-km-z]{100,120}$/;
const idVersion = (bitcoin.networks[0] as UtxoNetwork).accountKeys.any.bytes;

type ReadAccount = { readonly ok: true; readonly id: string } | Refusal;

/**
 * Reads an account's extended public key: zpub or xpub, on a test network vpub or tpub. Refuses
 * with ADDRESS_XPUB. An xpub of an account for other scripts looks alike and is accepted.
 */
export function readExtendedPublicKey(text: string, network: UtxoNetwork): ReadAccount {
  const { any, p2wpkh } = network.accountKeys;
  const version = [any, p2wpkh].find(({ letters }) => text.startsWith(letters));
  // Checked first, so a private key that was pasted by mistake is never decoded.
  if (version === undefined)
    return refuse(
      "ADDRESS_XPUB",
      `give the ${p2wpkh.letters} of an account, such as m/84'/${network.coinType}'/1'`,
    );
  const id = withVersion(text, version.bytes, idVersion);
  if (id === null) return refuse("ADDRESS_XPUB", "a character of it is wrong");
  try {
    accountKeyOf(id);
    return { ok: true, id };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return refuse(error.code, error.message);
  }
}

/**
 * The P2WPKH address at path 0/`addressIndex` (0 … 2^31-1) under an account's id. @throws
 * ADDRESS_XPUB, ADDRESS_INDEX
 */
export function depositAddressOf(id: string, addressIndex: number, network: UtxoNetwork): string {
  return addressOfPublicKey(childKeyOf(id, addressIndex), network);
}

/** The derivation paths of the keys on a network. */
function keyPathsOf(network: UtxoNetwork): KeyPaths {
  return { ...keyPathsOfCoinType(network.coinType), purpose };
}

/** The same key under another version; null if the text is not a key of the first version. */
function withVersion(text: string, from: number, to: number): string | null {
  if (!keyShape.test(text)) return null;
  const whole = base58.decode(text);
  const bytes = Buffer.from(whole.subarray(0, keyBytes));
  const isKey =
    whole.length === keyBytes + 4 &&
    Buffer.compare(whole.subarray(keyBytes), checksumOf(bytes)) === 0;
  if (!isKey || bytes.readUInt32BE() !== from) return null;
  bytes.writeUInt32BE(to);
  return base58.encode(joinBytes([bytes, checksumOf(bytes)]));
}

function checksumOf(bytes: Uint8Array): Uint8Array {
  return sha256Twice(bytes).subarray(0, 4);
}

const txHashForm = /^[0-9a-f]{64}$/;

/** Six blocks are what most services of these coins wait for. */
export const finalDepth = 6;

export const utxoFamilies: Readonly<Record<UtxoNetworkName, Family>> = mapUtxoNetworks(familyOn);

function familyOn(network: UtxoNetwork<UtxoNetworkName>, coin: NativeCoin): Family {
  const addressOf = (publicKey: Uint8Array): string => addressOfPublicKey(publicKey, network);
  return {
    name: "utxo",
    title: coin.title,
    slots: paymentOrdinalSlotRules,
    fees: utxoFeesOf(coin),
    feeModels: [],
    exclusion: { kind: "pin", coins: coinTexts },
    blockTimes: "about",
    finalDepth,
    countsConfirmations: true,
    readChainId: (value) => (value === network.reference ? network.reference : null),
    networkOf: () => network.id,
    addressSpace: { name: network.name, networks: network.id },
    isTxHash: (text) => txHashForm.test(text),
    readPin: (text) => (readCoin(text) === null ? null : text),
    parseAddress(text, id) {
      if (id !== network.id) return refuse("ADDRESS_FORMAT", "the network is of another family");
      const parsed = parseAddress(text, network);
      return parsed.ok ? { ok: true, address: parsed.address } : parsed;
    },
    readTag: () => null,
    isReserved: () => false,
    depositAddress: (accountId, index) => depositAddressOf(accountId, index, network),
    paymentUri: (link) => paymentUri(coin.name, link),
    paths: keyPathsOf(network),
    accounts: {
      ...createCompressedKeyAccounts(addressOf),
      keyLetters: network.accountKeys.p2wpkh.letters,
      readKey(text) {
        const read = readExtendedPublicKey(text, network);
        return read.ok ? read.id : null;
      },
    },
  };
}
