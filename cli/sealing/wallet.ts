/** What is public about an opened keystore. Touches nothing. */
import type { KeystoreContents } from "../../agent/keystore/keystore.ts";
import { accountsOf } from "../../agent/keystore/nodes.ts";
import { privateKeyFromSeed, publicKeyHex } from "../../protocol/envelope.ts";
import type { SealedWallet } from "./answer.ts";

/** In the order in which pairing.json has it. */
export function walletIn({ wallet, evm, signerSeed }: KeystoreContents): SealedWallet {
  return {
    wallet,
    accounts: accountsOf(evm),
    signerKey: publicKeyHex(privateKeyFromSeed(signerSeed.bytes)),
  };
}
