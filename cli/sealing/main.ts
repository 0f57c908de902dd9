/**
 * The only process that ever has the mnemonic: makes the wallet and seals it into the keystore,
 * reads the keystore back and compares. `pair` starts it without a network if the machine permits
 * this. It imports no module that opens a network connection. Reads stdin: settings, mnemonic,
 * encKey, each u32be length ‖ bytes. Answers one line of JSON without a secret.
 */
import "../../base/no-inspector.ts";
import { readFrames } from "../../agent/launcher/frames.ts";
import { writeAnswer } from "./answer.ts";
import { answerSealing } from "./seal.ts";

writeAnswer(answerSealing(readFrames()));
