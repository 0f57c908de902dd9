/**
 * Listening sockets that systemd opened for us (sd_listen_fds(3)): finds the courier's descriptor
 * and the operators'. Pure.
 */
import { AgentError } from "../../base/fault.ts";

export interface InheritedSockets {
  readonly courier: number;
  readonly operator: number;
}

const firstDescriptor = 3;

/**
 * Null if no sockets were passed to this process. Names come from FileDescriptorName= in the socket
 * units.
 * @throws AgentError COMMAND_USAGE when the two are not exactly courier and operator
 */
export function inheritedSockets(
  env: Readonly<Record<string, string | undefined>>,
  processId: number,
): InheritedSockets | null {
  if (env.LISTEN_PID !== String(processId) || env.LISTEN_FDS === undefined) return null;
  const names = (env.LISTEN_FDNAMES ?? "").split(":");
  const courier = names.indexOf("courier");
  const operator = names.indexOf("operator");
  if (env.LISTEN_FDS !== "2" || names.length !== 2 || courier < 0 || operator < 0) {
    throw new AgentError(
      "COMMAND_USAGE",
      "none",
      "the inherited sockets are not one named courier and one named operator",
      {
        hint: "the socket units set FileDescriptorName=courier and FileDescriptorName=operator",
      },
    );
  }
  return { courier: firstDescriptor + courier, operator: firstDescriptor + operator };
}
