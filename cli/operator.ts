/**
 * The CLI's end of the operator socket: one request, one answer, faults in words that help an
 * operator.
 */

import { join } from "node:path";
import type { StateFolder } from "../agent/files/state-folder.ts";
import { isThere, socketPaths } from "../agent/files/state-folder.ts";
import { unpairedFault } from "../agent/launcher/paired.ts";
import { createSocketClient } from "../agent/socket/client.ts";
import type { OperatorAnswers, OperatorRequests, OperatorVerb } from "../agent/socket/verbs.ts";
import { type Code, codes } from "../base/codes.ts";
import { AgentError } from "../base/fault.ts";
import { visibleAll } from "../base/visible.ts";
import { type Machine, thisMachine } from "./machine.ts";
import { explainUnreachableSigner } from "./unreachable.ts";

const timeoutMs = 10_000;
/** Reading back a complete ledger, or most of it, takes time. */
const verifyTimeoutMs = 600_000;

/**
 * Asks the signer.
 * @throws AgentError with the signer's own code for a no; COMMAND_DAEMON_AWAY with the reason as
 * far as it is known, COMMAND_RIGHT, STATE_NOT_PAIRED, SOCKET_*
 */
export async function askOperator<V extends OperatorVerb>(
  state: StateFolder,
  verb: V,
  body: OperatorRequests[V],
  machine: Machine = thisMachine,
): Promise<OperatorAnswers[V]> {
  const client = createSocketClient<OperatorRequests, OperatorAnswers>(
    socketPaths(state).operator,
    {
      timeoutMs: verb === "verify" || verb === "recover" ? verifyTimeoutMs : timeoutMs,
    },
  );
  try {
    // The signer passes on its courier's text, which an attacker may have written.
    const answer = visibleAll(await client.request(verb, body));
    if (answer.ok) return answer;
    const { code, detail, effect } = answer;
    throw new AgentError(code as Code, effect, wordsOf(code, detail));
  } catch (error) {
    const isAway = error instanceof AgentError && error.code === "SOCKET_UNREACHABLE";
    throw explainUnreachableSigner(state, isAway ? away(state, error) : error, machine);
  } finally {
    client.close();
  }
}

/**
 * A refusal's detail is one word or number, so the table's sentence comes first. A fault's detail
 * is a complete sentence.
 */
function wordsOf(code: string, detail: string): string {
  const row = Object.hasOwn(codes, code) ? codes[code as Code] : undefined;
  if (detail !== "" && row?.kind !== "refusal") return detail;
  const meaning = row?.meaning ?? `the signer says ${code}`;
  return detail === "" ? meaning : `${meaning} (${detail})`;
}

function away(state: StateFolder, cause: AgentError): AgentError {
  if (cause.context.reason === "EACCES")
    return new AgentError(
      "COMMAND_RIGHT",
      "none",
      "this user may not use crypto's operator socket",
      {},
      { cause },
    );
  if (isUnpaired(state)) return unpairedFault(state);
  return new AgentError(
    "COMMAND_DAEMON_AWAY",
    "none",
    `crypto does not run on ${state.root}`,
    {},
    { cause },
  );
}

/**
 * An operator who may only use the socket cannot look here, and gets the sure part: crypto does not
 * run.
 */
function isUnpaired(state: StateFolder): boolean {
  try {
    return !isThere(state.pairing) && !isThere(join(state.signer, "keystore.json"));
  } catch (error) {
    if (error instanceof AgentError && error.code === "STATE_FOLDER") return false;
    throw error;
  }
}
