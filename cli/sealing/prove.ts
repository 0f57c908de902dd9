/** The work of the proving process (proving.ts), apart from its pipes. */
import { openKeystoreIn } from "../../agent/keystore/file.ts";
import { wipeKeystore } from "../../agent/keystore/keystore.ts";
import { proveAccounts } from "../../agent/keystore/nodes.ts";
import { AgentError, invariant } from "../../base/fault.ts";
import { privateKeyFromSeed } from "../../protocol/envelope.ts";
import { accountDigestOf, parseTranscript, signTranscript } from "../../protocol/pairing.ts";
import { answerOf, type ProvingAnswer } from "./answer.ts";
import { sealedWalletOf } from "./wallet.ts";

function prove(
  folder: string,
  encKey: Uint8Array,
  text: string,
): ProvingAnswer & { readonly ok: true } {
  const transcript = parseTranscript(text);
  const contents = openKeystoreIn(folder, encKey);
  try {
    const ours = sealedWalletOf(contents);
    const isOurs =
      transcript.wallet === ours.wallet &&
      transcript.signerKey === ours.signerKey &&
      JSON.stringify(transcript.accounts) === JSON.stringify(ours.accounts);
    if (!isOurs) {
      throw new AgentError(
        "PAIRING_PROGRESS",
        "none",
        `the keystore in ${folder} is another one than pairing was begun with`,
      );
    }
    const proofs = proveAccounts(contents.accounts, accountDigestOf(text));
    return {
      ok: true,
      signerSignature: signTranscript(text, privateKeyFromSeed(contents.signerSeed.bytes)),
      proofs,
    };
  } finally {
    wipeKeystore(contents);
  }
}

/**
 * Does the process's task with its parts: the signer's folder, encKey, which it wipes, and the
 * transcript. Calling it again is harmless.
 */
export function answerProving([folder, encKey, transcript]: readonly Uint8Array[]): ProvingAnswer {
  invariant(
    folder !== undefined && encKey !== undefined && transcript !== undefined,
    "three parts come over stdin",
  );
  return answerOf(() => {
    try {
      return prove(
        Buffer.from(folder).toString("utf8"),
        encKey,
        Buffer.from(transcript).toString("utf8"),
      );
    } finally {
      encKey.fill(0);
    }
  });
}
