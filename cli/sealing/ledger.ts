/**
 * Begins a ledger at pairing, or again and locked if the old one is gone. The process has the
 * wallet's keys, and no network if the machine permits this. Reads stdin: the task, encKey. Answers
 * one line of JSON without a secret.
 */
import "../../base/no-inspector.ts";
import { readFrames } from "../../agent/launcher/frames.ts";
import { writeAnswer } from "./answer.ts";
import { answerLedger } from "./begin-ledger.ts";

writeAnswer(answerLedger(readFrames()));
