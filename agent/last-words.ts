/**
 * Why a process of the agent ended, as it wrote down itself: one small JSON file a role, in the state folder's `run`, or in the folder
 * that the service manager keeps for the unit. Read by whoever asks why nothing answers; touches those files alone.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseJson } from "../protocol/json.ts";
import { integer, object, oneOf, string } from "../protocol/shape.ts";
import type { StateFolder } from "./state-folder.ts";

/** @public */
export interface LastWords {
  readonly role: "signer" | "courier";
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly at: number; // Unix milliseconds
}

const roles = ["signer", "courier"] as const;
/** Where the units' processes write theirs: that of the one agent which they run. */
const unitState = "/var/lib/autowithdraw";
const bytesMax = 8_192;
const text = string({ max: 2_048 });
const shape = object({ role: oneOf(...roles), code: text, message: text, hint: text, at: integer() });

/**
 * The newest first; none where nothing was written, or nothing that this user may read.
 * @public
 */
export function readLastWords(state: StateFolder): readonly LastWords[] {
  const found = roles.flatMap((role) => {
    const folders = state.root === unitState ? [state.run, `/run/autowithdraw/${role}`] : [state.run];
    return folders.flatMap((folder) => {
      const path = join(folder, `last-words.${role}.json`);
      try {
        return [shape(parseJson(readFileSync(path), { bytesMax }), path)];
      } catch {
        return [];
      }
    });
  });
  return found.sort((a, b) => b.at - a.at);
}
