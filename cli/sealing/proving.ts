/**
 * The process that proves, for one pairing, that the keys are here: the signer's key and the key of
 * each account sign the transcript. `pair` starts it without a network if the machine permits this;
 * the registering process only carries its result. It signs no transcript that names a wallet or
 * signer other than its own. Reads stdin: the signer's folder, encKey, the transcript, each u32be
 * length ‖ bytes. Answers one line of JSON without a secret.
 */
import "../../base/no-inspector.ts";
import { openKeystoreIn } from "../../agent/keystore/file.ts";
import { wipeKeystore } from "../../agent/keystore/keystore.ts";
import { proveAccounts } from "../../agent/keystore/nodes.ts";
import { readFrames } from "../../agent/launcher/frames.ts";
import { AgentError, invariant } from "../../base/fault.ts";
import { privateKeyFromSeed } from "../../protocol/envelope.ts";
import { accountDigestOf, parseTranscript, signTranscript } from "../../protocol/pairing.ts";
import { answerWith, type ProvingAnswer } from "./answer.ts";
import { walletIn } from "./wallet.ts";

function prove(folder: string, encKey: Uint8Array, text: string): ProvingAnswer & { readonly ok: true } {
  const transcript = parseTranscript(text);
  const contents = openKeystoreIn(folder, encKey);
  try {
    const ours = walletIn(contents);
    const isOurs =
      transcript.wallet === ours.wallet &&
      transcript.signerKey === ours.signerKey &&
      JSON.stringify(transcript.accounts) === JSON.stringify(ours.accounts);
    if (!isOurs) {
      throw new AgentError("PAIRING_PROGRESS", "none", `the keystore in ${folder} is another one than pairing was begun with`);
    }
    const proofs = proveAccounts(contents.accounts, accountDigestOf(text));
    return { ok: true, signerSignature: signTranscript(text, privateKeyFromSeed(contents.signerSeed.bytes)), proofs };
  } finally {
    wipeKeystore(contents);
  }
}

const [folder, encKey, transcript] = readFrames();
invariant(folder !== undefined && encKey !== undefined && transcript !== undefined, "three parts come over stdin");
answerWith(() => {
  try {
    return prove(Buffer.from(folder).toString("utf8"), encKey, Buffer.from(transcript).toString("utf8"));
  } finally {
    encKey.fill(0);
  }
});
