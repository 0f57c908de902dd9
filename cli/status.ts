/** `status`: whether everything works, and if not, what does not; in one screen of plain words. */
import { exitCodes } from "../agent/launcher/verdict.ts";
import type { SignerStatus } from "../agent/socket/verbs.ts";
import type { StateFolder } from "../agent/state-folder.ts";
import { formatAmount } from "../protocol/amount.ts";
import { AgentError } from "../protocol/fault.ts";
import { askOperator } from "./operator.ts";
import { fields, moment, type Terminal } from "./terminal.ts";

const watchMs = 2_000;
/** The courier tells what it sees every few seconds; older than this, it has stopped. */
const courierWordMsMax = 60_000;
const nativeDecimal = 18;
const clearScreen = "\u001b[H\u001b[2J";

/** @public */
export interface StatusOptions {
  readonly watch?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** What keeps a status from being 0, in words; empty when everything works. */
export function problemsOf(status: SignerStatus, nowMs: number): readonly string[] {
  const problems: string[] = [];
  if (status.locked !== "") problems.push(`the signer is locked (${status.locked}): ${status.lockedDetail}`);
  if (!status.ledgerWritable) problems.push("the ledger cannot be written");
  if (!status.courierConnected) problems.push("the courier does not run");
  const { courier } = status;
  if (courier === null) return [...problems, "the courier has not said yet what it sees"];
  if (nowMs - courier.at > courierWordMsMax) problems.push(`the courier last said what it sees at ${moment(courier.at)}`);
  if (courier.link !== "up") problems.push(`the link to the gateway is down: ${courier.linkDetail}`);
  for (const chain of courier.chains) if (!chain.ok) problems.push(`no node of ${chain.chain} can be used: ${chain.detail}`);
  return problems;
}

/** 0 everything works, 1 something does not, 4 locked. */
export function exitCodeOf(status: SignerStatus, problems: readonly string[]): number {
  if (status.locked !== "") return exitCodes.locked;
  return problems.length === 0 ? exitCodes.fine : exitCodes.no;
}

/** @public */
export async function showStatus(state: StateFolder, options: StatusOptions, terminal: Terminal): Promise<number> {
  if (options.watch !== true) return show(await ask(state), options, terminal);
  for (;;) {
    try {
      const status = await ask(state);
      if (options.json !== true && terminal.isInteractive) terminal.out(clearScreen);
      show(status, options, terminal);
    } catch (error) {
      if (!(error instanceof AgentError) || error.code === "STATE_NOT_PAIRED") throw error;
      const line = options.json === true ? `${JSON.stringify({ ok: false, code: error.code })}\n` : `${error.message}\n`;
      terminal.out(options.json !== true && terminal.isInteractive ? clearScreen + line : line);
    }
    if (!(await terminal.sleep(watchMs))) return exitCodes.fine;
  }
}

async function ask(state: StateFolder): Promise<SignerStatus> {
  return (await askOperator(state, "status", {})).status;
}

function show(status: SignerStatus, options: StatusOptions, terminal: Terminal): number {
  const problems = problemsOf(status, terminal.now());
  const exitCode = exitCodeOf(status, problems);
  if (options.json === true) terminal.out(`${JSON.stringify({ ok: exitCode === exitCodes.fine, problems, status })}\n`);
  else terminal.out(`${headline(exitCode)}\n\n${fields(rowsOf(status))}\n${listed(problems)}`);
  return exitCode;
}

function headline(exitCode: number): string {
  if (exitCode === exitCodes.fine) return "everything works";
  return exitCode === exitCodes.locked ? "LOCKED: nothing is signed until a person has looked" : "NOT WELL";
}

function listed(problems: readonly string[]): string {
  return problems.length === 0 ? "" : `\nwhat is wrong:\n${problems.map((problem) => `  - ${problem}`).join("\n")}\n`;
}

function rowsOf(status: SignerStatus): readonly (readonly [string, string])[] {
  const rows: (readonly [string, string])[] = [
    ["agent", `${status.agent}, epoch ${status.epoch}, wallet ${status.wallet}`],
    ["running", `since ${moment(status.startedAt)}`],
    ["keys", `unlocked, encKey from ${encKeyPlaces[status.encKeyFrom] ?? status.encKeyFrom}`],
    ["isolation", status.isolation],
    [
      "ledger",
      `${status.ledgerWritable ? "writable" : "NOT WRITABLE"}, ${status.head.seq} records, the gateway has ${status.acked}`,
    ],
    ["gateway", gatewayWords(status)],
  ];
  for (const account of status.accounts) rows.push(["account", `${account.address} on ${account.chain} (${account.network})`]);
  for (const chain of status.courier?.chains ?? []) {
    const balance =
      chain.nativeBalance === ""
        ? "balance unknown"
        : `${formatAmount(BigInt(chain.nativeBalance), nativeDecimal)} of its own coin`;
    rows.push([chain.chain, `${chain.ok ? "ok" : "NOT OK"}, ${chain.detail}, ${balance}`]);
  }
  rows.push(["withdrawals", countsOf(status)]);
  for (const { transactionId, why } of status.courier?.waiting ?? []) rows.push(["waiting", `${transactionId}: ${why}`]);
  return rows;
}

const encKeyPlaces: Readonly<Record<string, string>> = {
  credential: "a systemd credential",
  file: "a file or descriptor",
  terminal: "the terminal",
  config: "config.json",
};

function gatewayWords({ courier, greeted }: SignerStatus): string {
  if (courier === null) return "not known yet";
  const link = courier.link === "up" ? "link up" : "LINK DOWN";
  const detail = courier.linkDetail === "" ? "" : `, ${courier.linkDetail}`;
  return `${link}${detail}${greeted ? "" : ", not greeted in this run"}`;
}

function countsOf({ counts }: SignerStatus): string {
  const words = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name}`);
  return words.length === 0 ? "none yet" : words.join(", ");
}
