/**
 * `withdrawals`: lists withdrawals, and shows one with its agent and every signed attempt. `paid`
 * names the transaction that paid an order which gateway and agent have both forgotten, `release`
 * one that did not pay the order that it holds back, and `moved` ends one that moved something
 * else.
 */
import { type Command, InvalidArgumentError } from "commander";
import { type Refusal, refuse } from "../../base/fault.ts";
import { commandOfEnd } from "../../base/state-end.ts";
import { familyOf } from "../../chains/families.ts";
import { formatAmount } from "../../protocol/amount.ts";
import {
  type PaymentAssignedToWithdrawal,
  readAssignedPayment,
} from "../store/assigned-payments.ts";
import { type AuditAct, listActsOn } from "../store/audit.ts";
import { type CurrencyHold, currencyHoldOf } from "../store/currency-holds.ts";
import { agentOfJob, isUnplaced, jobOf } from "../store/jobs.ts";
import { isWalletChainRead, readCatchUpTrouble } from "../store/levels.ts";
import { type MovedPayment, readMovedPayment } from "../store/moved-payments.ts";
import type { UnexplainedOutgoingRow } from "../store/outgoing-holds.ts";
import { recalledAtOf } from "../store/recalls.ts";
import type { JobRow, SignatureRow } from "../store/rows.ts";
import { listSignatures } from "../store/signatures.ts";
import {
  listTransactionsWithMerchant,
  readTransactionWithMerchant,
  type WithdrawalWithMerchant,
} from "../store/transaction-lists.ts";
import { formatTimestamp, type OperatorContext } from "./accounts.ts";
import { assignPayment } from "./assigning.ts";
import {
  isOkOrPrintsRefusal,
  type JsonOption,
  printJson,
  printList,
  printText,
  runInOperatorContext,
} from "./command.ts";
import { addMovedCommand } from "./moved-commands.ts";
import { checkRecordFilter } from "./named.ts";
import {
  addRecordFilters,
  describeActs,
  describeRecord,
  jsonOfActs,
  jsonOfRecord,
  type ListOptions,
  printRecords,
  queryOf,
  writeLineOrSetAside,
} from "./records.ts";
import { holdersOfOrder, releaseOrder } from "./releasing.ts";
import { gatewayStateEnds } from "./state-ends.ts";
import { addActorOptions, addConfigAndJsonOptions, csvTable, readRemark } from "./words.ts";

export interface ShownWithdrawal {
  readonly ok: true;
  readonly row: WithdrawalWithMerchant;
  readonly job: JobRow | undefined;
  readonly signatures: readonly SignatureRow[];
  readonly recalledAt: number | null; // when its shop asked for its end; null if it did not, or it has ended or is signed
  readonly assigned: PaymentAssignedToWithdrawal | undefined; // what paid it, as an operator says
  readonly holders: readonly UnexplainedOutgoingRow[]; // that may have paid it, so that it waits
  readonly unread: string; // why it waits for the reader of its chain; "" if it does not
  readonly hold: CurrencyHold | undefined; // the hold of its currency, while it waits for that
  readonly moved: MovedPayment | undefined; // its final attempt, if that moved something else
  readonly acts: readonly AuditAct[];
}

/** A withdrawal with its job and its signed attempts. Refuses GATEWAY_UNKNOWN_RECORD. */
export function showWithdrawal(
  by: Pick<OperatorContext, "store" | "run">,
  id: string,
): ShownWithdrawal | Refusal {
  const { database } = by.store;
  const row = readTransactionWithMerchant(database, "withdraw", id);
  if (row === undefined) return refuse("GATEWAY_UNKNOWN_RECORD");
  const [signatures, acts] = [listSignatures(database, id), listActsOn(database, id)];
  const [recalledAt, assigned] = [recalledAtOf(database, id), readAssignedPayment(database, id)];
  const waits = { holders: holdersOfOrder(database, row), unread: unreadWords(by, row) };
  const isUnsigned = row.status === 0 && signatures.length === 0;
  const hold = isUnsigned ? currencyHoldOf(database, row.currency, row.merchant) : undefined;
  const moved = readMovedPayment(database, id);
  return {
    ok: true,
    row,
    job: jobOf(database, id),
    signatures,
    recalledAt,
    assigned,
    ...waits,
    hold,
    moved,
    acts,
  };
}

/** Why an order waits for the reader of its chain in this run; "" if it does not. */
function unreadWords(
  { store: { database }, run }: Pick<OperatorContext, "store" | "run">,
  { id, network, payer }: WithdrawalWithMerchant,
): string {
  const wallet = { network, account: payer };
  const agent = agentOfJob(database, id);
  if (
    run === null ||
    agent?.caughtUp !== run ||
    !isUnplaced(database, id) ||
    isWalletChainRead(database, wallet, run)
  )
    return "";
  return (
    readCatchUpTrouble(database, wallet) ||
    "it is not read up to its newest block since the gateway was started"
  );
}

const amountOf = ({ amount, currency }: WithdrawalWithMerchant): string => `${amount} ${currency}`;

function list(options: ListOptions): void {
  const table = csvTable(options);
  runInOperatorContext(options, (by, config) => {
    if (!isOkOrPrintsRefusal(checkRecordFilter(by, options))) return;
    const { store } = by;
    const rows = listTransactionsWithMerchant(store.database, queryOf(["withdraw"], options));
    if (table !== null) printRecords(by, table, rows, config);
    else if (options.json === true) printJson(rows.map((row) => jsonOfRecord(by, row, config)));
    else
      printList(
        rows.map((row) => writeLineOrSetAside(by, row, () => describeRecord(row, amountOf(row)))),
        "No withdrawal is like that.",
      );
  });
}

const jobWords = (job: JobRow): string => {
  const place = job.sequence > 0 ? `place ${job.sequence}` : "waits for a place";
  return `  agent ${job.agent}, ${place}, ${job.answeredAt === null ? "not answered" : `answered ${formatTimestamp(job.answeredAt)}`}`;
};

/**
 * The end of an attempt that expires: the last chain time, and the time since which the attempt is
 * called void.
 */
function endOf({ validUntilMs, voidAt }: SignatureRow): {
  readonly validUntil?: string;
  readonly voidAt?: string;
} {
  return validUntilMs === 0
    ? {}
    : { validUntil: formatTimestamp(validUntilMs), voidAt: formatTimestamp(voidAt) };
}

function endWords({ validUntil, voidAt = "" }: ReturnType<typeof endOf>): string {
  if (validUntil === undefined) return "";
  return voidAt === "" ? `, ends at ${validUntil}` : `, void since ${voidAt}`;
}

function show(id: string, options: JsonOption): void {
  runInOperatorContext(options, (by, config) => {
    const shown = showWithdrawal(by, id);
    if (!isOkOrPrintsRefusal(shown)) return;
    const { row, job, signatures, recalledAt, assigned, holders, unread, hold, moved, acts } =
      shown;
    const attempts = signatures.map((signature) => {
      const { attempt, account, slot, txHash, feeMax } = signature;
      const fee = formatAmount(BigInt(feeMax), familyOf(row.network).fees.decimal);
      return { attempt, account, slot, txHash, feeMax: fee, ...endOf(signature) };
    });
    if (options.json === true) {
      const place =
        job === undefined
          ? {}
          : {
              agentId: job.agent,
              place: job.sequence,
              answeredAt: formatTimestamp(job.answeredAt),
            };
      const end = {
        minedAttempt: minedIn(row, signatures)?.attempt ?? null,
        finalBlock: row.finalBlock,
        recalledAt: formatTimestamp(recalledAt),
        assigned: assigned?.txHash ?? "",
        heldBy: holders.map(({ txHash, block, final }) => ({ txHash, block, final: final === 1 })),
        unread,
        currencyHeldSince: hold === undefined ? "" : formatTimestamp(hold.at),
        moved: moved === undefined ? null : movedFields(moved),
      };
      printJson({
        ...jsonOfRecord(by, row, config),
        ...place,
        ...end,
        attempts,
        acts: jsonOfActs(acts),
      });
      return;
    }
    printText(
      `${describeRecord(row, amountOf(row))}\n  to ${row.receiver ?? "an address that is not named yet"} (${row.network})`,
    );
    if (job !== undefined) printText(jobWords(job));
    for (const line of [...waitingLines(shown), ...movedLines(shown)]) printText(line);
    for (const one of attempts)
      printText(
        `  attempt ${one.attempt}, slot ${one.slot} of ${one.account}, ${one.txHash}${endWords(one)}`,
      );
    if (assigned !== undefined)
      printText(
        `  paid by ${assigned.txHash} in block ${assigned.block}, as an operator says${waitWords(row)}`,
      );
    else if (recalledAt !== null)
      printText(
        `  its shop asked at ${formatTimestamp(recalledAt)} to cancel it; the agent has not answered yet`,
      );
    if (row.status !== 0) printText(endOfWithdrawal(shown));
    printText(`  callback ${callbackWords[row.callbackStatus]}`);
    if (acts.length > 0) printText(describeActs(acts));
  });
}

/** Why an order without a place waits, and what ends that. */
function waitingLines({
  row: { id, network, currency },
  holders,
  unread,
  hold,
}: ShownWithdrawal): readonly string[] {
  const waits =
    hold === undefined
      ? []
      : [
          `  waits: ${currency} is held since ${formatTimestamp(hold.at)}, because ${hold.transactionId} moved something else`,
          `  do: once it is clear why: ${commandOfEnd(gatewayStateEnds.agents.currencyHeld, { ID: currency })}`,
        ];
  const reader =
    unread === ""
      ? []
      : [
          `  waits for the chain ${network}: ${unread}`,
          "  do: nothing, it goes on by itself; status says how its nodes are",
        ];
  const held = holders.flatMap(({ txHash, block, final }) => {
    const place =
      block === null ? "in no block yet" : `in block ${block}${final === 1 ? "" : ", not final"}`;
    const paid = final === 1 ? "" : "  (once it is final)";
    return [
      `  held: ${txHash}, ${place}, paid exactly this, and no order here explains it`,
      `  do: if it paid this order: ${commandOfEnd(gatewayStateEnds.agents.foreignPayment, { ORDER: id, HASH: txHash })}${paid}`,
      `      if it did not:         ${commandOfEnd(gatewayStateEnds.withdrawals.awaiting_operator, { ORDER: id, HASH: txHash })}`,
    ];
  });
  return [...reader, ...waits, ...held];
}

/** The final attempt that moved something else, and the line to type while nobody has ended it. */
function movedLines({ row, moved }: ShownWithdrawal): readonly string[] {
  if (moved === undefined) return [];
  const found = `  moved something else: ${moved.txHash}, in block ${moved.block}`;
  if (moved.receivedUnits !== null)
    return [
      `${found}; ${moved.receivedUnits} base units received, ${moved.sentUnits} sent, as an operator says`,
    ];
  if (row.status !== 0) return [found];
  return [
    found,
    `  do: ${commandOfEnd(gatewayStateEnds.stuck.WATCHER_CONTENT_DIFFERS, { ID: row.id })} shows what nodes tell of it, and ends it`,
  ];
}

function movedFields({ txHash, block, receivedUnits, sentUnits }: MovedPayment): object {
  return { txHash, block, receivedUnits, sentUnits };
}

/** The attempt that a block holds; undefined without one that is known. */
const minedIn = (
  { txHash }: WithdrawalWithMerchant,
  signatures: readonly SignatureRow[],
): SignatureRow | undefined =>
  txHash === "" ? undefined : signatures.find((one) => one.txHash === txHash);

const waitWords = ({ status }: WithdrawalWithMerchant): string =>
  status === 0 ? "; Completed once its agent has refused or cancelled it" : "";

const callbackWords = ["waits to be delivered", "delivered", "given up", "not asked for"] as const;

/**
 * The end of a withdrawal: its time, the transaction that a block holds, and the fee that was paid.
 */
function endOfWithdrawal({ row, signatures }: ShownWithdrawal): string {
  const { feeUnits, network, txHash, finalBlock, changedAt } = row;
  const ended = `  ended ${formatTimestamp(changedAt)}`;
  if (txHash === "" || finalBlock === null) return ended;
  const mined = minedIn(row, signatures);
  const which = mined === undefined ? txHash : `attempt ${mined.attempt}, ${txHash}`;
  const fee =
    feeUnits === ""
      ? ""
      : `, fee paid ${formatAmount(BigInt(feeUnits), familyOf(network).fees.decimal)}`;
  return `${ended}: ${which}, in block ${finalBlock}${fee}`;
}

interface PaidOptions extends JsonOption {
  readonly transaction: string;
  readonly reason: string;
}

function paid(
  id: string,
  { transaction: txHash, reason, ...options }: PaidOptions,
): Promise<void> | void {
  return runInOperatorContext(options, async (by, config) => {
    const assigned = await assignPayment(by, config, id, { txHash, reason });
    if (!isOkOrPrintsRefusal(assigned)) return;
    const { row } = assigned;
    const state =
      row.status === 1
        ? "it is Completed"
        : "it is Completed once its agent has refused or cancelled it";
    if (options.json === true) printJson(jsonOfRecord(by, row, config));
    else printText(`${txHash} paid ${id}: ${state}.`);
  });
}

interface ReleaseOptions extends JsonOption {
  readonly not: string;
  readonly order: boolean; // false: --no-order
  readonly reason: string;
}

function release(id: string, { not: txHash, order, reason, ...options }: ReleaseOptions): void {
  runInOperatorContext(options, (by, config) => {
    const released = releaseOrder(by, id, { txHash, reason, isNoOrders: !order });
    if (!isOkOrPrintsRefusal(released)) return;
    const { row, holders } = released;
    const hashes = holders.map((one) => one.txHash);
    if (options.json === true) printJson({ ...jsonOfRecord(by, row, config), heldBy: hashes });
    else if (hashes.length > 0)
      printText(`${txHash} holds ${id} no longer; it is still held by ${hashes.join(", ")}.`);
    else
      printText(
        `${id} is released: the running gateway gives it to its agent, which judges it like every other.`,
      );
  });
}

export function addWithdrawalCommands(program: Command): void {
  const withdrawals = program
    .command("withdrawals")
    .alias("withdrawal")
    .description("withdrawal orders and their payments");
  addRecordFilters(
    withdrawals.command("list", { isDefault: true }).description("the newest ones"),
  ).action(list);
  addConfigAndJsonOptions(
    withdrawals
      .command("show")
      .description("one, with its agent and what was signed for it")
      .argument("<transactionId>"),
  ).action(show);
  addActorOptions(
    withdrawals
      .command("paid")
      .description(
        "name the transaction that paid one, where gateway and agent have both forgotten it",
      )
      .argument("<transactionId>"),
  )
    .requiredOption(
      "--transaction <hash>",
      "a final one of the hot wallet that no order here explains",
      txHashText,
    )
    .requiredOption("--reason <text>", "why, for anybody who looks later", readRemark)
    .action(paid);
  addActorOptions(
    withdrawals
      .command("release")
      .description(
        "say that a transaction which holds one back did not pay it, so that its agent may",
      )
      .argument("<transactionId>"),
  )
    .requiredOption("--not <hash>", "the transaction, as withdrawals show names it", txHashText)
    .option(
      "--no-order",
      "it paid no order at all: it holds no other order back either, also none that comes later",
    )
    .requiredOption("--reason <text>", "why, for anybody who looks later", readRemark)
    .action(release);
  addMovedCommand(withdrawals, "withdraw");
}

function txHashText(text: string): string {
  if (!/^[0-9A-Za-z]{1,100}$/.test(text))
    throw new InvalidArgumentError("a transaction's hash, as a block explorer shows it");
  return text;
}
