/** The work of the backup's own process (main.ts), apart from its pipes. */
import { invariant } from "../../base/fault.ts";
import { type AnswerOrFault, answerOf } from "../sealing/answer.ts";
import type { BackupAnswers, BackupTask } from "./answer.ts";
import { checkBackup } from "./check.ts";
import { makeBackup } from "./make.ts";
import { restoreBackup } from "./restore.ts";

/**
 * Does the process's task with its parts: the task, and for a sealed file encKey, which it wipes.
 */
export function answerBackup([
  settings,
  encKey = null,
]: readonly (Uint8Array | null)[]): AnswerOrFault<BackupAnswers[keyof BackupAnswers]> {
  invariant(settings !== undefined && settings !== null, "a task comes over stdin");
  const task = JSON.parse(Buffer.from(settings).toString("utf8")) as BackupTask;
  return answerOf((): BackupAnswers[keyof BackupAnswers] => {
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
}
