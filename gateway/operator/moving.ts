/**
 * Ends a withdrawal or a sweep whose final attempt moved something else than was asked for: an
 * operator says what the receiver got, and the gateway's nodes confirm the attempt again. It is
 * Completed by exactly what was asked for, else Failed as `chain_moved`. Its reservation ends, its
 * agent hears the end, and the books have what moved.
 */
import { AgentError, type Refusal, refuse } from "../../base/fault.ts";
import { expiryExclusionOf, isFeeInside } from "../../chains/families.ts";
import type { Payment } from "../../chains/family.ts";
import type { EndingTransaction, Judgement, WatcherNodes } from "../../chains/nodes.ts";
import type { GatewayConfig } from "../config/config.ts";
import { recordAct } from "../store/audit.ts";
import { type MovedPayment, movedCode, readMovedPayment } from "../store/moved-payments.ts";
import type { SignatureRow, TransferRow } from "../store/rows.ts";
import { listSignatures } from "../store/signatures.ts";
import type { Database } from "../store/store.ts";
import { readTransfer } from "../store/transactions.ts";
import { isAllVoid } from "../store/void-attempts.ts";
import { endWithdrawal } from "../store/withdrawals.ts";
import { contractOf } from "../watcher/chain.ts";
import type { OperatorContext } from "./accounts.ts";

/** The operator's statement, in base units. */
export interface MovedAmounts {
  readonly receivedUnits: bigint; // by the receiver
  readonly sentUnits: bigint; // out of the account that pays
  readonly reason: string;
}

/** An account in the block of the attempt, as nodes tell; null where they do not. */
export interface AccountBalances {
  readonly address: string;
  readonly before: bigint | null; // balance at the end of the block before
  readonly after: bigint | null; // and at the end of the block
}

/** The nodes' judgement now, and what they tell of both accounts. */
export interface MovedEvidence {
  readonly judged: Judgement;
  readonly receiver: AccountBalances;
  readonly payer: AccountBalances;
  /** Payments to the receiver in the block, by transaction; null if the block is not told. */
  readonly payments: readonly { readonly txHash: string; readonly units: bigint }[] | null;
}

/** Asks the chain's nodes about the attempts of a payment. */
export type MovedEvidenceReader = (
  payment: Payment,
  attempts: { readonly hashes: readonly string[]; readonly pin: string },
) => Promise<MovedEvidence>;

/** A withdrawal that waits for what its final attempt moved. */
export interface EvidencedWithdrawal {
  readonly ok: true;
  readonly row: TransferRow;
  readonly final: EndingTransaction;
  readonly seen: MovedEvidence;
}

/** A top-up is ended as a sweep is. */
export type MovedOperation = "withdraw" | "sweep";

const isOf = ({ operation: own }: TransferRow, operation: MovedOperation): boolean =>
  own === operation || (own === "topup" && operation === "sweep");

type MovedResult = { readonly ok: true; readonly row: TransferRow } | Refusal;

const no = (words: string): Refusal => refuse("GATEWAY_NOT_MOVED", words);

interface Candidate {
  readonly ok: true;
  readonly row: TransferRow;
  readonly payment: Payment;
  readonly hashes: readonly string[];
  readonly pin: string;
}

/**
 * The evidence about one that waits for an operator. Reads only. Refuses as `endMoved`.
 * @throws AgentError NODE_* if the nodes do not answer, or do not agree
 */
export async function movedEvidenceOf(
  by: Pick<OperatorContext, "store">,
  config: GatewayConfig,
  { operation, id }: { readonly operation: MovedOperation; readonly id: string },
  look: MovedEvidenceReader,
): Promise<EvidencedWithdrawal | Refusal> {
  const found = candidateOf(by.store.database, config, operation, id);
  if (!found.ok) return found;
  const seen = await look(found.payment, found);
  const final = finalOf(by.store.database, found, seen.judged);
  return "ok" in final ? final : { ok: true, row: found.row, final, seen };
}

/**
 * Ends it by what its final attempt moved. Harmless to call twice with the same units. Refuses
 * GATEWAY_UNKNOWN_RECORD. Refuses GATEWAY_NOT_MOVED for one that has ended otherwise or by other
 * units, for one whose final attempt is not known to have moved something else, and if the nodes
 * say otherwise now. After a refusal nothing is written.
 * @throws AgentError NODE_* if the nodes do not answer, or do not agree
 */
export async function endWithdrawalByMoved(
  by: OperatorContext,
  config: GatewayConfig,
  about: { readonly operation: MovedOperation; readonly id: string },
  moving: MovedAmounts,
  look: MovedEvidenceReader,
): Promise<MovedResult> {
  const before = endedBefore(by.store.database, about.operation, about.id, moving);
  if (before !== null) return before;
  const told = await movedEvidenceOf(by, config, about, look);
  if (!told.ok) return told;
  return by.store.writeIfOk((database): MovedResult => {
    const since = endedBefore(database, about.operation, about.id, moving);
    if (since !== null) return since;
    const still = candidateOf(database, config, about.operation, about.id);
    if (!still.ok) return still;
    const final = finalOf(database, still, told.seen.judged);
    if ("ok" in final) return final;
    keep(database, by, still.row, final, moving);
    return { ok: true, row: readTransfer(database, about.id) ?? still.row };
  });
}

function keep(
  database: Database,
  by: OperatorContext,
  row: TransferRow,
  final: EndingTransaction,
  moving: MovedAmounts,
): void {
  const { receivedUnits, sentUnits, reason } = moving;
  const isExact = receivedUnits === BigInt(row.units);
  endWithdrawal(database, row.id, {
    status: isExact ? 1 : 2,
    stage: isExact ? "completed" : "failed",
    code: isExact ? "" : movedCode,
    txHash: final.txHash,
    feeUnits: `${final.feeUnits}`,
    finalBlock: final.block,
    changedAt: by.nowMs,
    moved: { receivedUnits: `${receivedUnits}`, sentUnits: `${sentUnits}` },
  });
  const detail = `${final.txHash}: ${receivedUnits} base units received, ${sentUnits} sent: ${reason}`;
  recordAct(database, {
    at: by.nowMs,
    actor: by.actor,
    act: "moved payment ended",
    subject: row.id,
    detail,
  });
}

/** The answer for one that an operator has ended by what it moved; null for every other one. */
function endedBefore(
  database: Database,
  operation: MovedOperation,
  id: string,
  moving: MovedAmounts,
): MovedResult | null {
  const row = readTransfer(database, id);
  const moved = readMovedPayment(database, id);
  if (row === undefined || !isOf(row, operation) || row.status === 0 || !isSaid(moved)) return null;
  const isSame =
    moved.receivedUnits === `${moving.receivedUnits}` && moved.sentUnits === `${moving.sentUnits}`;
  if (isSame) return { ok: true, row };
  return no(
    `it was ended with ${moved.receivedUnits} base units received and ${moved.sentUnits} sent`,
  );
}

const isSaid = (
  moved: MovedPayment | undefined,
): moved is MovedPayment & { receivedUnits: string; sentUnits: string } =>
  moved !== undefined && moved.receivedUnits !== null && moved.sentUnits !== null;

function candidateOf(
  database: Database,
  config: GatewayConfig,
  operation: MovedOperation,
  id: string,
): Candidate | Refusal {
  const row = readTransfer(database, id);
  if (row === undefined || !isOf(row, operation)) return refuse("GATEWAY_UNKNOWN_RECORD");
  if (row.status !== 0) return no(`it has ended already (${row.stage})`);
  if (row.stage !== "stuck" || readMovedPayment(database, id) === undefined)
    return no(`its stage is ${row.stage}, and no final attempt of it moved something else`);
  const currency = config.currencies[row.currency];
  if (currency === undefined || currency.network !== row.network)
    return no(`the configuration does not have ${row.currency} any more`);
  const signatures = listSignatures(database, id);
  const [first] = signatures;
  if (first === undefined) return no("nothing was signed for it");
  return {
    ok: true,
    row,
    payment: paymentOf(row, first, contractOf(row, currency)),
    hashes: hashesOf(signatures),
    pin: first.pin,
  };
}

const hashesOf = (signatures: readonly SignatureRow[]): readonly string[] =>
  signatures.map(({ txHash }) => txHash);

function paymentOf(row: TransferRow, { account, slot }: SignatureRow, contract: string): Payment {
  const { network, tag, operation } = row;
  const isInside = isFeeInside(network, operation);
  return {
    network,
    account,
    slot,
    contract,
    destination: row.receiver ?? "",
    tag,
    amountUnits: BigInt(row.units),
    isFeeInside: isInside,
  };
}

/**
 * The final attempt, by the nodes' judgement now. If attempts exclude each other by expiry alone,
 * every other one has to be void, because a second one could still move something.
 */
function finalOf(
  database: Database,
  { row, hashes }: Candidate,
  judged: Judgement,
): EndingTransaction | Refusal {
  if (judged.kind !== "stuck" || judged.code !== "WATCHER_CONTENT_DIFFERS")
    return no(
      `the nodes do not say now that a final attempt moved something else (${judged.kind})`,
    );
  if (judged.final === null) return no(judged.detail);
  const { txHash } = judged.final;
  const isLast =
    expiryExclusionOf(row.network) === null ||
    hashes.length === 1 ||
    isAllVoid(database, row.id, txHash);
  return isLast
    ? judged.final
    : no("another attempt of it may still be in a block: wait for its end");
}

/** Asks the chain by its watcher's nodes. Null stands for an answer that they do not give. */
export async function readMovedEvidence(
  reader: WatcherNodes,
  payment: Payment,
  { hashes, pin }: { readonly hashes: readonly string[]; readonly pin: string },
): Promise<MovedEvidence> {
  const judged = await reader.pass(await reader.finalTip()).judge(payment, hashes, pin);
  const block =
    judged.kind === "stuck" && judged.code === "WATCHER_CONTENT_DIFFERS"
      ? (judged.final?.block ?? null)
      : null;
  return {
    judged,
    receiver: await seenOf(reader, payment.destination, payment.contract, block),
    payer: await seenOf(reader, payment.account, payment.contract, block),
    payments: block === null ? null : await orNull(() => paymentsIn(reader, payment, block)),
  };
}

async function paymentsIn(
  reader: WatcherNodes,
  { contract, destination }: Payment,
  block: number,
): Promise<MovedEvidence["payments"]> {
  const addresses = new Set([destination]);
  const book = { size: 1, has: (address: string) => addresses.has(address), all: () => addresses };
  const { found } = await reader.payments(
    [await reader.block(block, true)],
    [contract],
    book,
    true,
  );
  return found.map(({ txHash, amountUnits }) => ({ txHash, units: amountUnits }));
}

async function seenOf(
  reader: WatcherNodes,
  address: string,
  contract: string,
  block: number | null,
): Promise<AccountBalances> {
  // Nodes that tell balances of their newest block alone say nothing about this one.
  if (block === null || reader.tellsNewestBalances === true)
    return { address, before: null, after: null };
  return {
    address,
    before: await orNull(() => reader.balance(address, contract, block - 1)),
    after: await orNull(() => reader.balance(address, contract, block)),
  };
}

async function orNull<T>(question: () => Promise<T>): Promise<T | null> {
  try {
    return await question();
  } catch (error) {
    if (error instanceof AgentError && error.code.startsWith("NODE_")) return null;
    throw error;
  }
}
