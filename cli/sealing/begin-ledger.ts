/** The work of the process that begins a ledger (ledger.ts), apart from its pipes. */
import { renameSync } from "node:fs";
import { join } from "node:path";
import { keystoreName } from "../../agent/files/keystore-name.ts";
import { isThere } from "../../agent/files/state-folder.ts";
import { openKeystoreIn } from "../../agent/keystore/file.ts";
import { type KeystoreContents, wipeKeystore } from "../../agent/keystore/keystore.ts";
import { ledgerKey } from "../../agent/keystore/ledger-key.ts";
import { ledgerDisk } from "../../agent/ledger/disk.ts";
import { createLedger, createLockedLedger } from "../../agent/ledger/ledger.ts";
import { assertPairingMac, pairingMacText } from "../../agent/ledger/pairing-mac.ts";
import { LedgerSeal } from "../../agent/ledger/seal.ts";
import { verifyLedger } from "../../agent/ledger/verify.ts";
import { AgentError, invariant, runNamingFile } from "../../base/fault.ts";
import type { ChildFault } from "../child.ts";
import { answerOf, type BegunLedger, type LedgerTask } from "./answer.ts";
import { sealedWalletOf } from "./wallet.ts";

function begin(task: LedgerTask, encKey: Uint8Array): BegunLedger {
  const contents = openKeystoreIn(task.signer, encKey);
  try {
    assertItsWallet(task, contents);
    const key = ledgerKey(contents);
    const seal = new LedgerSeal(key.bytes);
    key.wipe();
    const folder = join(task.signer, "ledger");
    return runNamingFile(folder, () =>
      task.isRedone ? beginAgain(task, folder, seal) : beginFirst(task, folder, seal),
    );
  } finally {
    wipeKeystore(contents);
  }
}

/**
 * The facts come from a file that another process could have changed, so their wallet is compared
 * with the keystore.
 */
function assertItsWallet({ signer, pairing }: LedgerTask, contents: KeystoreContents): void {
  if (JSON.stringify(pairing.wallet) === JSON.stringify(sealedWalletOf(contents))) return;
  throw new AgentError(
    "PAIRING_FORGED",
    "none",
    `pairing.json names another wallet than ${join(signer, keystoreName)}`,
  );
}

/** May be repeated while the ledger has only its first record. */
function beginFirst({ pairing, nowMs }: LedgerTask, folder: string, seal: LedgerSeal): BegunLedger {
  const disk = ledgerDisk(folder);
  if (disk.list().length === 0) createLedger(disk, firstOf(pairing), () => nowMs, seal);
  else if (verifyLedger(disk, seal).head.seq !== 1)
    throw new AgentError(
      "PAIRING_PROGRESS",
      "none",
      `${folder} holds more than the beginning that pairing wrote`,
    );
  return { ok: true, word: seal.wordOf(pairingMacText(pairing)), aside: "" };
}

/** Deletes nothing: the old files stay next to the new ones. */
function beginAgain({ pairing, nowMs }: LedgerTask, folder: string, seal: LedgerSeal): BegunLedger {
  assertPairingMac(seal, Buffer.from(JSON.stringify(pairing)), "pairing.json");
  const first = firstOf(pairing);
  let aside = "";
  if (isThere(folder)) {
    aside = `${folder}-aside-${new Date(nowMs).toISOString().replaceAll(/[^0-9]/g, "")}`;
    renameSync(folder, aside);
  }
  createLockedLedger(ledgerDisk(folder), first, seal);
  return { ok: true, word: pairing.word, aside };
}

function firstOf({ wallet, granted }: LedgerTask["pairing"]): Parameters<typeof createLedger>[1] {
  invariant(granted !== null, "the gateway granted before a ledger begins");
  const { agent, merchant, ledgerEpoch, gatewayKey } = granted;
  return { kind: "PAIRED", agent, merchant, wallet: wallet.wallet, ledgerEpoch, gatewayKey };
}

/**
 * Does the process's task with its parts: the task, and encKey, which it wipes. At pairing, the
 * same call may be repeated without harm.
 */
export function answerLedger([task, encKey]: readonly Uint8Array[]): BegunLedger | ChildFault {
  invariant(task !== undefined && encKey !== undefined, "two parts come over stdin");
  return answerOf(() => {
    try {
      return begin(JSON.parse(Buffer.from(task).toString("utf8")) as LedgerTask, encKey);
    } finally {
      encKey.fill(0);
    }
  });
}
