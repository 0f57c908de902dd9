/**
 * The backup's own process, without a network if the machine permits this: makes, checks or
 * restores one file. Stdin has the task, and encKey for a sealed backup. The answer is one line of
 * JSON without a secret.
 */
import "../../base/no-inspector.ts";
import { readFrames } from "../../agent/launcher/frames.ts";
import { writeAnswer } from "../sealing/answer.ts";
import { answerBackup } from "./task.ts";

writeAnswer(answerBackup(readFrames()));
