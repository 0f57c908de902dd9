/** What goes into the backup's own process beside encKey, and what comes out: nothing secret. Only types. */
import type { StateFolder } from "../../agent/files/state-folder.ts";
import type { Head } from "../../protocol/messages.ts";
import type { Manifest } from "./manifest.ts";

/** @public */
export type BackupTask =
  | {
      readonly act: "make";
      readonly file: string;
      readonly state: StateFolder;
      readonly config: string | null; // config.json, when there is one
      readonly upTo: Head | null; // the running signer's durable head; null when none runs
      readonly hasKeys: boolean;
      readonly madeAt: number;
    }
  | { readonly act: "check"; readonly file: string }
  | { readonly act: "restore"; readonly file: string; readonly state: StateFolder };

/** @public */
export interface BackupAnswers {
  make: { readonly ok: true; readonly manifest: Manifest };
  check: { readonly ok: true; readonly manifest: Manifest };
  restore: { readonly ok: true; readonly manifest: Manifest; readonly config: string }; // where config.json was put, "" for none
}
