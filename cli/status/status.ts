/** `status`: shows in one screen of plain words if everything works, and otherwise each problem. */
import type { StateFolder } from "../../agent/files/state-folder.ts";
import { exitCodes } from "../../agent/launcher/exit-status.ts";
import { bytesWords, isStarting, type Problem } from "../../agent/problems/table.ts";
import type { LimitView, SignerStatus, SweepLimitView } from "../../agent/socket/verbs.ts";
import { AgentError } from "../../base/fault.ts";
import { formatTerminalSafeJson } from "../../base/visible.ts";
import { familyOf, pinExclusionOf } from "../../chains/families.ts";
import { hasTags } from "../../chains/payees.ts";
import { formatAmount } from "../../protocol/amount.ts";
import type { Machine } from "../machine.ts";
import { askOperator } from "../operator.ts";
import { fieldLines, momentHere, momentText, type Terminal } from "../terminal.ts";
import { problemsOf } from "./problems.ts";

/*
 * The rows of a status: agent, version, config.json, limits, ledger, gateway, chains and waiting
 * withdrawals. Pure.
 */

/** For this time after a change of the limits, the looser ones are named. */
const looserMs = 86_400_000;

type Row = readonly [name: string, text: string];

/**
 * Names and texts. A row with the name "" continues the one before. `nowMs` in Unix milliseconds.
 */
function rowsOf(status: SignerStatus, nowMs: number): readonly Row[] {
  const { config } = status;
  return [
    ["now", momentHere(nowMs)],
    ["agent", `${status.agent}, epoch ${status.ledgerEpoch}`],
    ["wallet", status.wallet],
    ["running", `version ${status.version}, since ${momentHere(status.startedAt)}`],
    ["config", `${config.path}, read ${momentHere(config.readAt)}`],
    // Later the limits in force are the usual ones, and the words would hide a new change.
    ...(nowMs - status.policyChangedAt < looserMs ? status.policyLooser : []).map(
      (words) =>
        ["", `looser than before ${momentText(status.policyChangedAt)}: ${words}`] as const,
    ),
    ...(status.policyChangedAt === 0
      ? []
      : [["", `limits last changed ${momentHere(status.policyChangedAt)}`] as const]),
    ["keys", `unlocked, encKey from ${encKeyPlaces[status.encKeyFrom] ?? status.encKeyFrom}`],
    ["isolation", status.isolation],
    ["ledger", ledgerWords(status)],
    [
      "room",
      `${bytesWords(status.freeBytes)} free, nothing new is begun below ${bytesWords(status.freeBytesMin)}`,
    ],
    ["gateway", gatewayWords(status)],
    ...status.accounts.map(
      (account): Row => ["account", `${account.address}, ${account.chain} ${account.network}`],
    ),
    ...chainRows(status),
    ...limitRows(status.limits),
    ["withdrawals", countsOf(status)],
    ...waitingRows(status),
  ];
}

const encKeyPlaces: Readonly<Record<string, string>> = {
  credential: "a systemd credential",
  file: "a file or descriptor",
  terminal: "the terminal",
  config: "config.json",
};

function ledgerWords(status: SignerStatus): string {
  const { head, acked, ledgerWritable, ledgerReadOnly } = status;
  const atGateway = recordsAtGateway(status);
  // The first record holds only the pairing, and says nothing about the gateway.
  const isOnlyItsWord = atGateway === String(acked) && acked === head.seq - 1 && acked > 0;
  const gateway = acked === head.seq && atGateway === String(acked) ? "all of them" : atGateway;
  const why = isOnlyItsWord ? " (and the newest says so)" : "";
  const writable = ledgerWritable
    ? "writable"
    : `NOT WRITABLE${ledgerReadOnly === true ? " (read-only disk)" : ""}`;
  return `${writable}, ${head.seq} ${head.seq === 1 ? "record" : "records"}, the gateway has ${gateway}${why}`;
}

/**
 * The number of records at the gateway. A ledger restored from a copy has forgotten it; then the
 * detail of the lock has the number.
 */
function recordsAtGateway({ locked, lockedDetail, acked }: SignerStatus): string {
  const told = locked === "" ? null : /^the gateway holds record (\d+)\b/.exec(lockedDetail);
  return told?.[1] ?? String(acked);
}

function gatewayWords({ courier, handshakeDone }: SignerStatus): string {
  if (courier === null) return "not known yet";
  const link = courier.link === "up" ? "link up" : "LINK DOWN";
  const detail = courier.linkDetail === "" ? "" : `, ${courier.linkDetail}`;
  return `${link}${detail}${handshakeDone ? "" : ", no handshake in this run"}`;
}

function chainRows({ courier, accounts }: SignerStatus): readonly Row[] {
  return (courier?.chains ?? []).map(({ chain, isAsking, ok, detail, nativeBalance }) => {
    const network = accounts.find((account) => account.chain === chain)?.network;
    const isKnown = nativeBalance !== "" && network !== undefined;
    const balance = isKnown
      ? `${formatAmount(BigInt(nativeBalance), familyOf(network).fees.decimal)} of its native coin`
      : "balance unknown";
    return [
      chain,
      isAsking ? "asking its nodes" : `${ok ? "ok" : "NOT OK"}, ${detail}, ${balance}`,
    ];
  });
}

/**
 * For each currency: amounts with their used parts, fees and lists, sweeps and top-ups.
 */
function limitRows(limits: readonly LimitView[]): readonly Row[] {
  if (limits.length === 0)
    return [["limits", "none: no currency has a policy, so nothing is paid"]];
  return limits.flatMap((one): Row[] => [
    ["limits", `${one.currency}: ${amountWords(one)}`],
    ["", `  ${feeWords(one)}${listWords(one)}`],
    ...sweepRows(one),
  ]);
}

function amountWords(one: LimitView): string {
  const hour = one.maxPerHour === "" ? [] : [`hour ${one.usedInHour} of ${one.maxPerHour}`];
  const held = one.holdAbove === "" ? [] : [`held above ${one.holdAbove}`];
  if (one.twoApproversAbove !== "") held.push(`two operators above ${one.twoApproversAbove}`);
  if (one.manualReplaceAbove !== "")
    held.push(`another attempt by an operator above ${one.manualReplaceAbove}`);
  const { holdAbove, delayMinutes } = one.newDestination;
  if (holdAbove !== "") held.push(`a new destination held above ${holdAbove}`);
  if (delayMinutes > 0) held.push(`a new destination waits ${delayMinutes} min`);
  return [
    `${one.maxPerWithdrawal} each`,
    ...hour,
    `day ${one.usedInDay} of ${one.maxPerDay}`,
    ...held,
  ].join("; ");
}

function feeWords(one: LimitView): string {
  const tip = one.tipUnit === "" ? "" : `, tip ${one.maxTip} ${one.tipUnit}`;
  return `fees ${one.maxFee} each, day ${one.usedFeesInDay} of ${one.maxFeePerDay}${tip}`;
}

/**
 * No row where deposits come to the hot wallet itself, and no top-ups where coins pay their own
 * fee.
 */
function sweepRows({ network, sweeps }: Pick<LimitView, "network" | "sweeps">): readonly Row[] {
  if (hasTags(network)) return [];
  return [["", `  ${sweepWords(sweeps, pinExclusionOf(network) === null)}`]];
}

function sweepWords(sweeps: SweepLimitView | null, hasTopUps: boolean): string {
  if (sweeps === null) return "sweeps never";
  const {
    maxFee,
    maxFeePerDay,
    usedFeesInDay,
    maxTopUp,
    maxTopUpPerDay,
    usedTopUpsInDay,
    usedTopUpFeesInDay,
  } = sweeps;
  const fees = `sweeps: fees ${maxFee} each, day ${usedFeesInDay} of ${maxFeePerDay}`;
  if (!hasTopUps) return fees;
  return `${fees}; top-ups: ${maxTopUp} each, day ${usedTopUpsInDay} of ${maxTopUpPerDay}, their fees ${usedTopUpFeesInDay} of ${maxFeePerDay}`;
}

function listWords({ allow, deny }: LimitView): string {
  const words = [
    allow === 0 ? "" : `only ${allow} destinations`,
    deny === 0 ? "" : `never ${deny} others`,
  ];
  const said = words.filter((word) => word !== "");
  return said.length === 0 ? "" : `; ${said.join(", ")}`;
}

function countsOf({ counts }: SignerStatus): string {
  const words = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name}`);
  return words.length === 0 ? "none yet" : words.join(", ");
}

function waitingRows({ courier }: SignerStatus): readonly Row[] {
  const medianUs = courier?.durableMedianUs ?? 0;
  const speed = `${(medianUs / 1000).toFixed(1)} ms from a job's arrival to its signature on disk, median`;
  return [
    ...(medianUs > 0 ? [["speed", speed] as const] : []),
    ...(courier?.waiting ?? []).map(
      ({ transactionId, why }): Row => ["waiting", `${transactionId}: ${why}`],
    ),
  ];
}

const watchMs = 2_000;
/** While crypto starts, it is asked again after this time. */
const startLookMs = 500;
const heldIdsMax = 500;

export interface StatusOptions {
  readonly watch?: boolean | undefined;
  readonly held?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/**
 * 0 if everything works, 1 if something does not, 4 if locked or in recovery. Warnings do not
 * count.
 */
export function exitCodeOf(status: SignerStatus, problems: readonly Problem[]): number {
  if (status.locked !== "" || status.recovery !== "") return exitCodes.locked;
  return problems.every((one) => one.isWarning) ? exitCodes.fine : exitCodes.no;
}

/**
 * Prints the status, and resolves with the exit code. With `watch` it repeats this until the
 * terminal ends the sleep.
 * @throws AgentError COMMAND_DAEMON_AWAY with the reason if one is known, COMMAND_RIGHT,
 * SOCKET_TIMEOUT, STATE_NOT_PAIRED
 */
export async function showStatus(
  state: StateFolder,
  options: StatusOptions,
  terminal: Terminal,
  machine: Machine,
): Promise<number> {
  if (options.held === true) return showHeld(state, options.json === true, terminal, machine);
  if (options.watch !== true)
    return show(state, await started(state, terminal, machine), options, terminal, machine);
  for (;;) {
    try {
      const status = await ask(state, machine);
      if (options.json !== true && terminal.isInteractive) terminal.clear?.();
      show(state, status, options, terminal, machine);
    } catch (error) {
      if (!(error instanceof AgentError) || error.code === "STATE_NOT_PAIRED") throw error;
      const line =
        options.json === true
          ? `${formatTerminalSafeJson({ ok: false, code: error.code })}\n`
          : `${error.message}\n`;
      if (options.json !== true && terminal.isInteractive) terminal.clear?.();
      terminal.out(line);
    }
    if (!(await terminal.sleep(watchMs))) return exitCodes.fine;
  }
}

/**
 * The status, once the courier has said what it sees. Right after a start this takes some seconds,
 * and an answer before would be about the start alone.
 */
async function started(
  state: StateFolder,
  terminal: Terminal,
  machine: Machine,
): Promise<SignerStatus> {
  for (;;) {
    const status = await ask(state, machine);
    const isSilent = status.courier === null && isStarting(status, terminal.now());
    if (!isSilent || !(await terminal.sleep(startLookMs))) return status;
  }
}

async function ask(state: StateFolder, machine: Machine): Promise<SignerStatus> {
  return (await askOperator(state, "status", {}, machine)).status;
}

function show(
  state: StateFolder,
  status: SignerStatus,
  options: StatusOptions,
  terminal: Terminal,
  machine: Machine,
): number {
  const seen = {
    nowMs: terminal.now(),
    isUnderUnits: machine.isUnderUnits(state),
    config: machine.configOnDisk(status.config.path),
  };
  const problems = problemsOf(status, seen);
  const exitCode = exitCodeOf(status, problems);
  if (options.json === true)
    terminal.out(
      `${formatTerminalSafeJson({ ok: exitCode === exitCodes.fine, problems, status })}\n`,
    );
  else {
    const rows = fieldLines(rowsOf(status, seen.nowMs), terminal.columns);
    const [warnings, wrong] = [
      problems.filter((one) => one.isWarning),
      problems.filter((one) => !one.isWarning),
    ];
    const lists = `${listed("what is wrong", wrong)}${listed("not wrong yet", warnings)}`;
    terminal.out(`${headline(exitCode, status, wrong.length)}\n\n${rows}\n${lists}`);
  }
  return exitCode;
}

/**
 * For scripts: prints the ids that wait for an operator, one on each line. Resolves with 1 if there
 * are any.
 */
async function showHeld(
  state: StateFolder,
  isJson: boolean,
  terminal: Terminal,
  machine: Machine,
): Promise<number> {
  const status = await ask(state, machine);
  const waits = status.counts.held + status.counts.quarantined;
  const { withdrawals } =
    waits === 0
      ? { withdrawals: [] }
      : await askOperator(state, "list", { openOnly: true, limit: heldIdsMax });
  const held = withdrawals
    .filter((one) => one.state === "held" || one.state === "quarantined")
    .map((one) => one.transactionId);
  if (isJson) terminal.out(`${formatTerminalSafeJson({ ok: waits === 0, count: waits, held })}\n`);
  else for (const id of held) terminal.out(`${id}\n`);
  return waits === 0 ? exitCodes.fine : exitCodes.no;
}

function headline(exitCode: number, { recovery }: SignerStatus, problemCount: number): string {
  if (exitCode === exitCodes.fine) return "everything works";
  if (recovery === "RECOVERY_OFFERED")
    return "RECOVERY OFFERED: nothing is signed until an operator has carried it out";
  if (recovery !== "") return "RECOVERY: nothing is paid without an operator's approve";
  return exitCode === exitCodes.locked
    ? "LOCKED: nothing is signed until an operator has looked"
    : `PROBLEMS (${problemCount})`;
}

function listed(title: string, problems: readonly Problem[]): string {
  if (problems.length === 0) return "";
  const lines = problems.map(
    ({ what, hint }) => `  - ${what}\n${hint === "" ? "" : `    hint: ${hint}\n`}`,
  );
  return `\n${title}:\n${lines.join("")}`;
}
