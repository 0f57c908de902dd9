/**
 * The part of pairing that talks to the gateway. Proves the API secret and the link key over the
 * transcript, carries the proofs of the wallet's keys, and checks the grant against the key that
 * apiKey names. Never has the mnemonic or encKey. Reads stdin: settings, apiKey, the link key's
 * seed, each u32be length ‖ bytes. Answers one line of JSON without a secret. Source:
 * docs/protocol.md, section on pairing.
 */
import "../../base/no-inspector.ts";
import { readFrames } from "../../agent/launcher/frames.ts";
import { answerRegistering } from "./register.ts";

process.stdout.write(`${JSON.stringify(await answerRegistering(readFrames()))}\n`);
