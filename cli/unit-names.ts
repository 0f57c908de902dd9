/**
 * The service manager's names of the agent's units, as the files of packaging/systemd/ have them.
 */
export const serviceNames = [
  "autowithdraw-signer.service",
  "autowithdraw-courier.service",
] as const;

/** The line that starts a paired agent, now and with the machine. */
export const agentStartCommand = "systemctl enable --now autowithdraw.target";
