/**
 * The rows of a status: agent, version, config.json, limits, ledger, gateway, chains and waiting
 * withdrawals. Pure.
 */
import type { LimitView, SignerStatus, SweepLimitView } from "../../agent/socket/verbs.ts";
import { familyOf, pinExclusionOf } from "../../chains/families.ts";
import { hasTags } from "../../chains/payees.ts";
import { formatAmount } from "../../protocol/amount.ts";
import { momentHere, momentText } from "../terminal.ts";
import { bytesWords } from "./problems.ts";

/** For this time after a change of the limits, the looser ones are named. */
const looserMs = 86_400_000;

type Row = readonly [name: string, text: string];

/**
 * Names and texts. A row with the name "" continues the one before. `nowMs` in Unix milliseconds.
 */
export function rowsOf(status: SignerStatus, nowMs: number): readonly Row[] {
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
