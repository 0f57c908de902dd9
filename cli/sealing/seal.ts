/** The work of the sealing process (main.ts), apart from its pipes. */
import { randomBytes } from "node:crypto";
import { hasKeystore, openKeystoreIn, writeKeystore } from "../../agent/keystore/file.ts";
import { sealKeystore, wipeKeystore } from "../../agent/keystore/keystore.ts";
import {
  deriveAccounts,
  pairedAccountsOf,
  walletFingerprintOfAccounts,
  wipeAccounts,
} from "../../agent/keystore/nodes.ts";
import { Secret } from "../../agent/keystore/secret.ts";
import { AgentError, invariant } from "../../base/fault.ts";
import { addressSpacesOf } from "../../chains/several-networks.ts";
import { answerOf, type SealedWallet, type SealingAnswer, type SealingSettings } from "./answer.ts";
import { seedOf } from "./mnemonic.ts";
import { sealedWalletOf } from "./wallet.ts";

function seal(
  settings: SealingSettings,
  mnemonic: Uint8Array,
  encKey: Uint8Array,
): SealingAnswer & { readonly ok: true } {
  const seed = seedOf(mnemonic);
  mnemonic.fill(0);
  const accounts = deriveAccounts(seed, addressSpacesOf(settings.networks));
  seed.fill(0);
  const wallet = walletFingerprintOfAccounts(accounts);
  try {
    const named = pairedAccountsOf(accounts);
    assertExpected(named, settings.expected);
    if (settings.isLook) return { ok: true, made: false, wallet, accounts: named, signerKey: "" };
    const isThere = hasKeystore(settings.folder);
    if (!isThere) {
      const contents = {
        wallet,
        networks: settings.networks,
        accounts,
        signerSeed: new Secret(randomBytes(32)),
      };
      const text = sealKeystore({ contents, encKey, random: (bytes) => randomBytes(bytes) });
      contents.signerSeed.wipe();
      writeKeystore({ folder: settings.folder, text, encKey });
    }
    const back = openKeystoreIn(settings.folder, encKey);
    try {
      if (back.wallet !== wallet) {
        throw new AgentError(
          "KEYSTORE_EXISTS",
          "none",
          `${settings.folder} holds the keystore of another wallet`,
        );
      }
      if (JSON.stringify(pairedAccountsOf(back.accounts)) !== JSON.stringify(named)) {
        throw new AgentError(
          "PAIRING_READ_BACK",
          "none",
          `the keystore in ${settings.folder}, read back, gives other addresses than the mnemonic`,
        );
      }
      return { ok: true, made: !isThere, ...sealedWalletOf(back) };
    } finally {
      wipeKeystore(back);
    }
  } finally {
    wipeAccounts(accounts);
  }
}

function assertExpected(
  accounts: SealedWallet["accounts"],
  expected: SealingSettings["expected"],
): void {
  const hot = accounts.filter(({ purpose }) => purpose === "hot").map(({ id }) => id);
  if (expected.length === 0 || expected.some((one) => hot.includes(one))) return;
  throw new AgentError(
    "PAIRING_OTHER_WALLET",
    "none",
    `the mnemonic gives ${hot.join(" and ")}, not ${expected.join(" or ")}`,
  );
}

/**
 * Does the process's task with its parts: settings, mnemonic and encKey, which it wipes. Calling it
 * again with the same mnemonic is harmless.
 */
export function answerSealing([settings, mnemonic, encKey]: readonly Uint8Array[]): SealingAnswer {
  invariant(
    settings !== undefined && mnemonic !== undefined && encKey !== undefined,
    "three parts come over stdin",
  );
  return answerOf(() => {
    try {
      return seal(
        JSON.parse(Buffer.from(settings).toString("utf8")) as SealingSettings,
        mnemonic,
        encKey,
      );
    } finally {
      mnemonic.fill(0);
      encKey.fill(0);
    }
  });
}
