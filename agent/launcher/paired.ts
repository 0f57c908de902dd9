/** Whether a state folder belongs to a paired agent, judged by the files each role needs. Looks, and changes nothing. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { AgentError } from "../../protocol/fault.ts";
import type { StateFolder } from "../state-folder.ts";

/**
 * A missing ledger beside a keystore is not this check's business: the signer locks over it.
 * @throws AgentError STATE_NOT_PAIRED
 * @public
 */
export function assertPaired(state: StateFolder, role: "both" | "signer" | "courier"): void {
  const isSealed = existsSync(join(state.signer, "keystore.json"));
  const isLinked = existsSync(join(state.courier, "link.json"));
  if (role !== "courier" && !isSealed) {
    throw new AgentError("STATE_NOT_PAIRED", "none", `${state.root} holds no paired agent`);
  }
  if (role !== "signer" && !isLinked) {
    const words = isSealed ? "pairing was begun but not finished" : "there is no paired agent";
    throw new AgentError("STATE_NOT_PAIRED", "none", `${words} in ${state.root}`);
  }
}
