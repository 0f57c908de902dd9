/**
 * The backup's own process, without a network if the machine permits this: makes, checks or
 * restores one file. Stdin has the task, and encKey for a sealed backup. The answer is one line of
 * JSON without a secret.
 */
import "../../base/no-inspector.ts";
import { readFrames } from "../../agent/launcher/frames.ts";
import { invariant } from "../../base/fault.ts";
import { answerWith } from "../sealing/answer.ts";
import type { BackupTask } from "./answer.ts";
import { checkBackup } from "./check.ts";
import { makeBackup } from "./make.ts";
import { restoreBackup } from "./restore.ts";

const [settings, encKey = null] = readFrames();
invariant(settings !== undefined, "a task comes over stdin");
const task = JSON.parse(Buffer.from(settings).toString("utf8")) as BackupTask;
answerWith(() => {
  try {
    switch (task.act) {
      case "make":
        return { ok: true, manifest: makeBackup(task, encKey) };
      case "check":
        return { ok: true, manifest: checkBackup(task.file, encKey) };
      case "restore":
        return { ok: true, ...restoreBackup(task.file, task.state, encKey) };
    }
  } finally {
    encKey?.fill(0);
  }
});
