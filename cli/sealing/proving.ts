/**
 * The process that proves, for one pairing, that the keys are here: the signer's key and the key of
 * each account sign the transcript. `pair` starts it without a network if the machine permits this;
 * the registering process only carries its result. It signs no transcript that names a wallet or
 * signer other than its own. Reads stdin: the signer's folder, encKey, the transcript, each u32be
 * length ‖ bytes. Answers one line of JSON without a secret.
 */
import "../../base/no-inspector.ts";
import { readFrames } from "../../agent/launcher/frames.ts";
import { writeAnswer } from "./answer.ts";
import { answerProving } from "./prove.ts";

writeAnswer(answerProving(readFrames()));
