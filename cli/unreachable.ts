/**
 * The reason why no process answers on the signer's socket, as far as this user can see it: ended
 * with a reason, stopped, failing, hung, not allowed.
 */

import { join } from "node:path";
import type { ExitReason } from "../agent/exit-reason.ts";
import { type StateFolder, socketPaths } from "../agent/files/state-folder.ts";
import { AgentError } from "../base/fault.ts";
import type { Machine, UnitView } from "./machine.ts";
import { momentHere } from "./terminal.ts";
import { serviceNames } from "./unit-names.ts";

const signerLog = "journalctl -u autowithdraw-signer -n 20";
const startAll = "systemctl start autowithdraw.target";
/** systemd.exec(5): EXIT_CREDENTIALS. */
const exitCredentials = "243";
const restartsMany = 3;
const configFile = "/etc/autowithdraw/config.json";
const credential = "/etc/autowithdraw/encKey.cred";
const sealAgain = `write the encKey that is kept elsewhere into FILE, mode 0600, then: autowithdraw install --enc-key-file FILE`;

/**
 * Adds the reason and the line to type to the fault of a signer that does not run or does not
 * answer. Returns any other fault unchanged.
 */
export function explainUnreachableSigner(
  state: StateFolder,
  error: unknown,
  machine: Machine,
  installed: string | undefined = process.env.AUTOWITHDRAW_STATE,
): unknown {
  if (!(error instanceof AgentError)) return error;
  const isUnderUnits = machine.isUnderUnits(state);
  const isSilent = error.code === "SOCKET_TIMEOUT" || error.code === "COMMAND_DAEMON_AWAY";
  if (isSilent && machine.isReadOnly(join(state.signer, "ledger")))
    return withoutWrites(state, error);
  if (error.code === "SOCKET_TIMEOUT")
    return failing(state, machine, error) ?? hung(error, isUnderUnits);
  if (error.code === "COMMAND_RIGHT") return noRight(state, error, isUnderUnits);
  if (error.code !== "COMMAND_DAEMON_AWAY") return error;
  // A courier does not know why its signer is silent, and an attacker inside the courier could make
  // root type its hint.
  const last = machine.exitReason(state).find(({ role }) => role !== "courier");
  if (!isUnderUnits)
    return last === undefined
      ? away(error.message, startWords(state, installed), error)
      : ended(last, last.hint, error);
  const units = machine.units(serviceNames);
  const signer = units.get(serviceNames[0]);
  if (signer?.ExecMainStatus === exitCredentials) return withoutCredential(machine, error);
  return byUnits(signer, units.get(serviceNames[1]), last, error);
}

/**
 * A folder next to the installed agent's is usually a copy of it, and to start this copy is the
 * greatest danger.
 */
function startWords({ root }: StateFolder, installed: string | undefined): string {
  if ((installed ?? "") === "" || root === installed) return "start it with: node crypto.js";
  return `the installed agent is in ${installed}: leave --state out to ask it; start nothing on a copy of its folder`;
}

/** systemd reports the same for a missing file and for one that does not open. */
function withoutCredential(machine: Machine, cause: AgentError): AgentError {
  const cannot = (why: string, hint: string): AgentError =>
    away(
      `autowithdraw-signer cannot start: ${why}`,
      `${hint}; then: ${startAll}; more in: ${signerLog}`,
      cause,
    );
  if (!machine.isThere(configFile))
    return cannot(`${configFile} is not there`, "put it back, mode 0600");
  if (!machine.isThere(credential)) return cannot(`${credential} is not there`, sealAgain);
  return cannot("the credential encKey does not open on this machine (status 243)", sealAgain);
}

/** The keystore's own hint does not name the source of encKey for units. */
function remedyOf({ code, hint }: ExitReason): string {
  return code === "KEYSTORE_ENCKEY"
    ? `write the encKey that it was sealed with into FILE, then: systemd-creds encrypt --name=encKey FILE ${credential}`
    : hint;
}

/**
 * The signer needs its disk, and can report a read-only one only if its sockets lie on another
 * disk.
 */
function withoutWrites({ signer }: StateFolder, cause: AgentError): AgentError {
  const message = `autowithdraw-signer does not answer, and the disk of ${join(signer, "ledger")} is read-only`;
  return new AgentError("LEDGER_READ_ONLY", "none", message, {}, { cause });
}

/** A socket of the service manager takes questions while the signer ends again and again. */
function failing(state: StateFolder, machine: Machine, cause: AgentError): AgentError | null {
  const last = machine.exitReason(state).find(({ role }) => role !== "courier");
  if (last === undefined) return null;
  const hint = `${remedyOf(last)}; more in: ${signerLog}`;
  return away(
    `autowithdraw-signer ends and is started again, since ${momentHere(last.at)}: ${last.message}`,
    hint,
    cause,
  );
}

function hung(cause: AgentError, isUnderUnits: boolean): AgentError {
  const hint = isUnderUnits
    ? "systemctl restart autowithdraw-signer (nothing is lost: it reads its ledger back)"
    : "stop crypto, with kill -9 if it must be, and start it again: nothing is lost, it reads its ledger back";
  const message =
    "autowithdraw-signer took the question and gave no answer in time: it hangs, or the machine does";
  return new AgentError("SOCKET_TIMEOUT", "unknown", message, { hint }, { cause });
}

function noRight(state: StateFolder, cause: AgentError, isUnderUnits: boolean): AgentError {
  const hint = isUnderUnits
    ? "run it as root, or as a member of autowithdraw-operators: usermod -aG autowithdraw-operators NAME, then log in again"
    : "run it as the user that runs crypto, or as a member of the socket's group";
  const message = `this user may not use crypto's operator socket ${socketPaths(state).operator}`;
  return new AgentError("COMMAND_RIGHT", "none", message, { hint }, { cause });
}

function ended({ role, message, at }: ExitReason, hint: string, cause: AgentError): AgentError {
  return away(
    `autowithdraw-${role} is not running since ${momentHere(at)}: ${message}`,
    hint,
    cause,
  );
}

function away(message: string, hint: string, cause: AgentError): AgentError {
  return new AgentError("COMMAND_DAEMON_AWAY", "none", message, { hint }, { cause });
}

/**
 * The state of the unit in the service manager counts more than the last lines of an earlier
 * process. Those lines then explain it.
 */
function byUnits(
  signer: UnitView | undefined,
  courier: UnitView | undefined,
  last: ExitReason | undefined,
  cause: AgentError,
): AgentError {
  const hint =
    last === undefined ? signerLog : `${remedyOf(last)}; then: ${startAll}; more in: ${signerLog}`;
  if (signer === undefined)
    return last === undefined
      ? away("autowithdraw-signer does not run", signerLog, cause)
      : ended(last, hint, cause);
  const {
    ActiveState: active = "",
    SubState: sub = "",
    Result: result = "",
    ExecMainStatus: exit = "0",
  } = signer;
  const restarts = Number(signer.NRestarts ?? 0);
  const why = last === undefined ? "" : `: ${last.message}`;
  if (sub === "auto-restart" || (active === "activating" && restarts > restartsMany))
    return away(
      `autowithdraw-signer ends and is started again, ${restarts} times by now${why}`,
      hint,
      cause,
    );
  if (active === "failed")
    return away(`autowithdraw-signer has failed (${result}, status ${exit})${why}`, hint, cause);
  if (active === "activating" || active === "active")
    return away(
      `autowithdraw-signer is starting, and does not answer yet${why}`,
      `ask again in a few seconds; then ${signerLog}`,
      cause,
    );
  // A unit that ended by itself with 0 looks like one after an operator's stop.
  if (active === "inactive" && exit === "0" && courier?.ActiveState !== "active")
    return away(
      "crypto was stopped on purpose: no unit of it runs, and none has failed",
      `start it with: ${startAll}`,
      cause,
    );
  return last === undefined
    ? away(`autowithdraw-signer does not run (${active})`, `${startAll}; ${signerLog}`, cause)
    : ended(last, hint, cause);
}
