/**
 * Seals the keystore again under another encKey, in a process that has no network if the machine
 * permits this. Reads stdin: the signer's folder, the old encKey, the new one. Answers one line of
 * JSON without a secret.
 */
import "../../base/no-inspector.ts";
import { readFrames } from "../../agent/launcher/frames.ts";
import { writeAnswer } from "./answer.ts";
import { answerRekey } from "./seal-again.ts";

writeAnswer(answerRekey(readFrames()));
