/**
 * The task and the answers of the backup's own process. encKey travels next to the task; neither
 * holds a secret. Only types.
 */
import type { StateFolder } from "../../agent/files/state-folder.ts";
import type { AgentLedgerHead } from "../../protocol/messages.ts";
import type { Manifest } from "./manifest.ts";

export type BackupTask =
  | {
      readonly act: "make";
      readonly file: string;
      readonly state: StateFolder;
      /** config.json; null for none. A file that an operator named may have any owner. */
      readonly config: { readonly path: string; readonly isNamed: boolean } | null;
      readonly upTo: AgentLedgerHead | null; // the running signer's durable head; null when none runs
      readonly hasKeys: boolean;
      readonly madeAt: number; // Unix milliseconds
    }
  | { readonly act: "check"; readonly file: string }
  | { readonly act: "restore"; readonly file: string; readonly state: StateFolder };

export interface BackupAnswers {
  make: { readonly ok: true; readonly manifest: Manifest };
  check: { readonly ok: true; readonly manifest: Manifest };
  restore: { readonly ok: true; readonly manifest: Manifest; readonly config: string }; // path of the restored config.json, "" for none
}
