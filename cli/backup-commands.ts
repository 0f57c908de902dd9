/**
 * `backup` and `restore`: make one file of all the data that a server must not lose, while crypto
 * runs. Read the file through as a drill. Put it into an empty state folder. Each command prints
 * the meaning of a restore.
 */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { findConfigFile } from "../agent/config/location.ts";
import type { StateFolder } from "../agent/files/state-folder.ts";
import { exitCodes } from "../agent/launcher/exit-status.ts";
import { AgentError } from "../base/fault.ts";
import { formatTerminalSafeJson } from "../base/visible.ts";
import type { AgentLedgerHead } from "../protocol/messages.ts";
import type { BackupAnswers, BackupTask } from "./backup/answer.ts";
import { isSealedFile } from "./backup/check.ts";
import type { Manifest } from "./backup/manifest.ts";
import { askNetworklessChild } from "./child.ts";
import { type EncKeyOptions, encKeyInUse } from "./enc-key.ts";
import { askOperator } from "./operator.ts";
import { fieldLines, momentText, type Terminal, withProgress } from "./terminal.ts";

export interface BackupOptions extends EncKeyOptions {
  readonly withoutKeys?: boolean | undefined;
  readonly check?: boolean | undefined;
  readonly yes?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/**
 * Makes a backup, or reads one through with `check`. Resolves with the exit code.
 * @throws AgentError BACKUP_*, ENCKEY_*, CONFIG_*, KEYSTORE_*, LEDGER_*, COMMAND_*,
 * STATE_NOT_PAIRED
 */
export async function runBackup(
  state: StateFolder,
  named: string,
  options: BackupOptions,
  terminal: Terminal,
): Promise<number> {
  const file = resolve(named);
  if (options.check === true) return check(file, options, terminal);
  if (existsSync(file) && options.yes !== true)
    throw new AgentError("BACKUP_EXISTS", "none", `${file} is there already`);
  const hasKeys = options.withoutKeys !== true;
  const config = findConfigFile(options.config);
  const isNamed = options.config !== undefined;
  const upTo = await runningHead(state);
  const task: BackupTask = {
    act: "make",
    file,
    state,
    config: isNamed || existsSync(config) ? { path: config, isNamed } : null,
    upTo,
    hasKeys,
    madeAt: terminal.now(),
  };
  const { manifest } = await askBackup<"make">(
    task,
    hasKeys,
    options,
    terminal,
    "copying, and reading the copy back",
  );
  if (options.json === true)
    terminal.out(`${formatTerminalSafeJson({ ok: true, file, manifest })}\n`);
  else
    terminal.out(
      `backed up, and read back whole\n\n${manifestRows(file, manifest)}\n\n${keepWords(manifest, config, task.config)}`,
    );
  return exitCodes.fine;
}

async function check(file: string, options: BackupOptions, terminal: Terminal): Promise<number> {
  const { manifest } = await askBackup<"check">(
    { act: "check", file },
    isSealedFile(file),
    options,
    terminal,
    "reading it through",
  );
  if (options.json === true)
    terminal.out(`${formatTerminalSafeJson({ ok: true, file, manifest })}\n`);
  else {
    const parts = manifest.parts.map(({ name, bytes }) => `  ${name}, ${bytes} bytes`).join("\n");
    terminal.out(
      `the backup is whole: every part and the ledger's chain are as they were\n\n${manifestRows(file, manifest)}\n\n${parts}\n`,
    );
  }
  return exitCodes.fine;
}

/**
 * Restores a backup into an empty state folder, and prints the next steps. Resolves with the exit
 * code.
 * @throws AgentError STATE_NOT_EMPTY, BACKUP_*, ENCKEY_*, CONFIG_*, LEDGER_*, COMMAND_CHILD
 */
export async function runRestore(
  state: StateFolder,
  named: string,
  options: EncKeyOptions & { readonly json?: boolean | undefined },
  terminal: Terminal,
): Promise<number> {
  const file = resolve(named);
  const task: BackupTask = { act: "restore", file, state };
  const { manifest, config } = await askBackup<"restore">(
    task,
    isSealedFile(file),
    options,
    terminal,
    "reading it through, and restoring",
  );
  const next = nextSteps(manifest, config);
  if (options.json === true)
    terminal.out(
      `${formatTerminalSafeJson({ ok: true, state: state.root, manifest, config, next })}\n`,
    );
  else {
    const lines = next.map((line) => `  - ${line}\n`).join("");
    terminal.out(
      `restored into ${state.root}\n\n${manifestRows(file, manifest)}\n\nbefore anything is paid:\n${lines}`,
    );
  }
  return exitCodes.fine;
}

/**
 * The running signer's durable head; null if no signer runs. @throws AgentError COMMAND_RIGHT,
 * STATE_NOT_PAIRED, SOCKET_*
 */
async function runningHead(state: StateFolder): Promise<AgentLedgerHead | null> {
  try {
    return (await askOperator(state, "status", {})).status.head;
  } catch (error) {
    if (error instanceof AgentError && error.code === "COMMAND_DAEMON_AWAY") return null;
    throw error;
  }
}

/** Gives the task to the backup's own process, with encKey if the file is sealed. */
async function askBackup<A extends keyof BackupAnswers>(
  task: BackupTask & { readonly act: A },
  needsKey: boolean,
  options: EncKeyOptions,
  terminal: Terminal,
  what: string,
): Promise<BackupAnswers[A]> {
  const encKey = needsKey ? (await encKeyInUse(options, terminal)).bytes : null;
  try {
    const parts = [Buffer.from(JSON.stringify(task)), ...(encKey === null ? [] : [encKey])];
    return await withProgress(
      terminal,
      what,
      askNetworklessChild<BackupAnswers[A]>(terminal, "./backup/main", parts),
    );
  } finally {
    encKey?.fill(0);
  }
}

function manifestRows(file: string, manifest: Manifest): string {
  const { agent, wallet, head, madeAt, software, hasKeys, isRunning, parts } = manifest;
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  return fieldLines([
    ["file", file],
    ["agent", agent],
    ["wallet", wallet],
    ["made", `${momentText(madeAt)}, by version ${software}`],
    [
      "ledger",
      `up to record ${head.seq}, ${isRunning ? "as the running signer had it on disk" : "while no signer ran"}`,
    ],
    ["head", head.hash],
    [
      "holds",
      `${parts.length} parts, ${bytes} bytes${hasKeys ? ", sealed under encKey" : ", no keys and nothing secret"}`,
    ],
  ]);
}

function keepWords({ hasKeys }: Manifest, config: string, copied: object | null): string {
  const missing =
    copied === null
      ? [`  - there is no ${config}, so config.json is not in it: name it with --config`]
      : [];
  const keys = hasKeys
    ? [
        "  - encKey is not in it: keep that apart, where this file is not. Anybody who has both has the keys",
      ]
    : ["  - no keys are in it: it shows what was done, and cannot bring an agent back"];
  const rest = [
    "  - keep it on another machine; try it now and then: backup --check FILE",
    "  - the ledger in it is old from the next payment on. Restored after that it locks",
    "    the agent, and an operator carries out a recovery (docs/recovering.md, section 3)",
  ];
  return `${[...missing, ...keys, ...rest].join("\n")}\n`;
}

function nextSteps({ agent, madeAt }: Manifest, config: string): readonly string[] {
  return [
    `be sure that no other server runs agent ${agent}: two on one wallet take each other's slots`,
    ...(config === ""
      ? ["the backup held no config.json: have one written at the gateway, or take yours"]
      : [`compare ${config} with the config.json you start with; encKey is not in it`]),
    "start crypto, then look with status",
    `anything recorded after ${momentText(madeAt)} is missing here: then status says LOCKED (LEDGER_BEHIND_GATEWAY), and docs/recovering.md, section 3, is the way on`,
    "where the gateway was restored from a backup too: order the recovery before crypto is started (docs/recovering.md, section 4)",
  ];
}
