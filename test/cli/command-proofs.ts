/**
 * Each command of both programs, and each option that ends a state of docs/states.md, with the test
 * that types it beside real processes. command-proofs.test.ts holds the rows against the command
 * lines and the tables of states, and asks for manual page and completion of each.
 */

/** A command, or a command with an option that ends a state. */
export interface CommandProof {
  /** As typed, without the program: "deposits revoke", "faults --retry". */
  readonly command: string;
  /** Test file below test/, without ".test.ts"; "" for none. */
  readonly file: string;
  /** The kit of that test which types it, from the project's root; absent: the test itself. */
  readonly kit?: string;
  /** Reason for which no test types it beside real processes; "" with a file. */
  readonly why: string;
}

const rows = (file: string, ...commands: readonly string[]): readonly CommandProof[] =>
  commands.map((command) => ({ command, file, why: "" }));
const none = (why: string, ...commands: readonly string[]): readonly CommandProof[] =>
  commands.map((command) => ({ command, file: "", why }));

export const agentProofs: readonly CommandProof[] = [
  ...rows("system/operators-night", "upgrade", "uninstall"),
  ...rows("install/install-image", "install"),
  ...rows("pairing/pairing", "pair"),
  ...rows("keystore/copies-process", "rekey", "backup", "restore"),
  ...rows(
    "system/commands-process",
    "status",
    "withdrawals",
    "show",
    "address",
    "verify",
    "doctor",
    "check",
    "completion",
    "token",
  ),
  ...rows(
    "system/commands-process",
    "approve",
    "refuse",
    "replace",
    "cancel",
    "adopt",
    "pause",
    "resume",
  ),
  ...rows("system/both-restored-process", "resume --network"),
  ...rows("system/moved-process", "resume --currency"),
  ...rows("system/recovery-process", "recover"),
  {
    command: "recover --finish",
    file: "system/recovery-process",
    kit: "test/support/recovery-kit.ts",
    why: "",
  },
  ...none(
    "a payment ends so after a day in which the nodes of both sides do not show its coin or slot",
    "end",
  ),
  ...none(
    "a coin comes back only when a block leaves the chain that was final, which no network of a test does",
    "free",
  ),
];

export const gatewayProofs: readonly CommandProof[] = [
  ...rows("gateway/gateway-process", "init", "start", "check", "merchant create", "agents unpair"),
  ...rows("gateway/gateway-backup", "backup"),
  ...rows("gateway/shared-database", "cluster", "copy"),
  ...rows("gateway/passing-faults-down", "alert-down"),
  ...rows("system/node-health-process", "health"),
  ...rows("system/recovery-process", "agents recover"),
  ...rows(
    "system/both-restored-process",
    "withdrawals show",
    "withdrawals release",
    "withdrawals paid",
  ),
  ...rows(
    "system/moved-process",
    "alarms",
    "alarms done",
    "withdrawals moved",
    "currencies resume",
  ),
  ...rows("system/xrp-process", "deposits unattributed"),
  ...rows(
    "system/deposit-commands-process",
    "deposits list",
    "deposits show",
    "deposits credit",
    "deposits credit --payment",
  ),
  ...rows(
    "system/deposit-commands-process",
    "deposits reread",
    "deposits revoke",
    "deposits keep",
    "deposits release",
  ),
  ...rows(
    "system/deposit-commands-process",
    "rows list",
    "rows retry",
    "faults",
    "faults --retry",
    "faults --give-up",
  ),
  ...rows(
    "system/commands-process",
    "merchant list",
    "merchant show",
    "merchant page",
    "merchant disable",
    "merchant enable",
  ),
  ...rows(
    "system/commands-process",
    "key create",
    "key list",
    "key rotate",
    "key allow",
    "key expire",
    "key revoke",
  ),
  ...rows(
    "system/commands-process",
    "callbacks add",
    "callbacks list",
    "callbacks test",
    "callbacks rotate",
  ),
  ...rows(
    "system/commands-process",
    "callbacks deliveries",
    "callbacks redeliver",
    "callbacks redeliver --callback",
  ),
  ...rows(
    "system/commands-process",
    "callbacks remove",
    "agents list",
    "find",
    "audit",
    "balances",
    "status",
  ),
  ...rows("system/commands-process", "deposits note", "deposits strays", "withdrawals list"),
  ...rows("system/commands-process", "sweeps list", "sweeps show", "sweeps order"),
  ...rows(
    "system/commands-process",
    "currencies list",
    "prices",
    "scan",
    "report",
    "reconcile",
    "reconcile note",
  ),
  ...none(
    "the rules of withdrawals moved, which a process test types, on a sweep: watcher/watcher-moved holds them",
    "sweeps moved",
  ),
];
