/** The public part of an opened keystore. Touches nothing. */
import type { KeystoreContents } from "../../agent/keystore/keystore.ts";
import { pairedAccountsOf } from "../../agent/keystore/nodes.ts";
import { privateKeyFromSeed, publicKeyHex } from "../../protocol/envelope.ts";
import type { SealedWallet } from "./answer.ts";

/** In the order of pairing.json. */
export function sealedWalletOf({ wallet, accounts, signerSeed }: KeystoreContents): SealedWallet {
  return {
    wallet,
    accounts: pairedAccountsOf(accounts),
    signerKey: publicKeyHex(privateKeyFromSeed(signerSeed.bytes)),
  };
}
