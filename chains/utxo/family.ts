/**
 * A network of such a coin behind the offline interface. Each network is a family of its own,
 * because its addresses and keys are its own. The chain counts no payments of an account, so a
 * second payment is excluded by the pin: the anchor, which all attempts spend. Source: CAIP-2.
 */
import { refuse } from "../../base/fault.ts";
import { accountsBy } from "../curve/account-proof.ts";
import type { Family } from "../family.ts";
import { ordinalSlots } from "../ordinal-slots.ts";
import { depositAddressOf, keyPathsOf, readAccount } from "./account.ts";
import { addressOfPublicKey, parseAddress } from "./address.ts";
import { type NativeCoin, ofEachFamily, type UtxoFamilyName, type UtxoNetwork } from "./network.ts";
import { feesOf } from "./offers.ts";
import { paymentUri } from "./payment-uri.ts";
import { coinTexts, readCoin } from "./tx-params.ts";

const txHashForm = /^[0-9a-f]{64}$/;

/** Six blocks are what most services of these coins wait for. */
export const finalDepth = 6;

export const utxoFamilies: Readonly<Record<UtxoFamilyName, Family>> = ofEachFamily(familyOn);

function familyOn(network: UtxoNetwork, coin: NativeCoin): Family {
  const addressOf = (publicKey: Uint8Array): string => addressOfPublicKey(publicKey, network);
  return {
    name: network.family,
    title: coin.title,
    slots: ordinalSlots,
    fees: feesOf(coin),
    feeModels: [],
    exclusion: { kind: "pin", coins: coinTexts },
    blockTimes: "about",
    finalDepth,
    countsConfirmations: true,
    readChainId: (value) => (value === network.reference ? network.reference : null),
    networkOf: () => network.id,
    addressSpace: network.id,
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
      ...accountsBy(addressOf),
      keyLetters: network.accountKeys.p2wpkh.letters,
      readKey(text) {
        const read = readAccount(text, network);
        return read.ok ? read.id : null;
      },
    },
  };
}
