/**
 * Reads the answers of XRP Ledger nodes, version 1 of the API. Pure. Source: the ledger's
 * documentation of its public methods, of transaction metadata, and of basic data types.
 */
import { AgentError } from "../../base/fault.ts";
import type { Fields } from "./rpc.ts";

export interface LedgerHead {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestampMs: number; // time of its close, Unix milliseconds
}

/** An account at one ledger. */
export interface Account {
  readonly sequence: bigint; // its next transaction's
  readonly balanceDrops: bigint;
  readonly ownerCount: bigint;
  readonly flags: number;
  readonly isPseudo: boolean; // belongs to an object of the ledger, such as a pool, and to nobody
  /** The sequence after those in the node's queue; as `sequence` if nothing waits there. */
  readonly sequenceQueued: bigint;
}

/** Drops that an account must keep: for itself, and for each object that it owns. */
export interface Reserve {
  readonly baseDrops: bigint;
  readonly incrementDrops: bigint;
}

/** Figures of one node at its newest validated ledger. */
export interface ServerState {
  readonly reserve: Reserve;
  readonly ledgers: readonly (readonly [from: number, to: number])[]; // ledgers that it has complete
}

/** The cost of a transaction now by the API's `fee`, in drops. */
export interface FeeAnswer {
  readonly baseDrops: bigint;
  readonly openDrops: bigint; // to be in the open ledger
}

/** The parts of a validated transaction and its metadata on which payments depend. */
export interface LedgerTransaction {
  readonly txHash: string;
  readonly ledger: number;
  readonly account: string;
  readonly kind: string; // TransactionType
  readonly sequence: string; // "" for one that used a ticket
  readonly result: string; // tesSUCCESS or tec…
  readonly feeDrops: bigint;
  readonly destination: string; // "" for none
  readonly tag: string; // "" for none
  readonly amountDrops: bigint | null; // Amount; null for none, or for an issued token
  readonly deliveredDrops: bigint | null; // delivered_amount; null likewise
  /** Accounts whose balance of XRP rose, with the drops. */
  readonly risen: readonly (readonly [address: string, drops: bigint])[];
  /** Accounts whose balance of XRP fell, with the drops; fees are among them. */
  readonly fallen: readonly (readonly [address: string, drops: bigint])[];
}

declare const ofNode: unique symbol;
/** The place at which a node's list goes on: any JSON, which only goes back to the same node. */
export type Marker = { readonly [ofNode]: true };

/** A transaction of a page that cannot be read. */
export interface UnreadableTransaction {
  readonly txHash: string; // "" if even the hash cannot be read
  readonly ledger: number; // 0 if it cannot be read
  readonly fault: AgentError;
}

/** One page of an account's transactions. */
export interface HistoryPage {
  readonly from: number; // the first ledger that the node searched
  readonly to: number;
  readonly transactions: readonly LedgerTransaction[];
  readonly unread: readonly UnreadableTransaction[];
  readonly marker: Marker | undefined; // undefined on the last page
}

/** The answer to signed bytes. */
export interface SubmitAnswer {
  readonly result: string; // the engine's code
  readonly words: string;
  readonly txHash: string; // "" for none
  readonly applied: boolean | null; // null if the node does not say
  readonly kept: boolean | null;
  readonly queued: boolean | null;
}

const hashForm = /^[0-9A-F]{64}$/;
const wholeForm = /^(?:0|[1-9][0-9]{0,19})$/;
const decimalForm = /^([0-9]{1,20})(?:\.([0-9]{1,20}))?(?:[eE]([+-]?[0-9]{1,2}))?$/;
const addressForm = /^r[1-9A-HJ-NP-Za-km-z]{23,35}$/;
const kindForm = /^[A-Za-z]{1,60}$/;
const resultForm = /^t(?:es|ec)[A-Z_]{1,60}$/;
const engineForm = /^te[a-z][A-Za-z_0-9]{1,60}$/;
const success = "tesSUCCESS";
const numberMax = 0xffff_ffff;
const decimals = 6;
/** Seconds from the Unix epoch to that of the ledger, 1 January 2000. */
const epochSeconds = 946_684_800;
const rangesMax = 10_000;
/** A node pages by 400 at most; an operator may have raised this. */
const pageMax = 5_000;

/** The NetworkID as text, "none" if the node names none. */
export function readNetworkId(result: Fields): string {
  const { network_id: id } = fieldsOf(result.info, "server_info");
  return typeof id === "number" && Number.isSafeInteger(id) ? `${id}` : "none";
}

export function readServerState(result: Fields): ServerState {
  const info = fieldsOf(result.info, "server_info");
  const { reserve_base_xrp: base, reserve_inc_xrp: increment } = fieldsOf(
    info.validated_ledger,
    "server_info.validated_ledger",
  );
  return {
    reserve: {
      baseDrops: dropsOfXrp(base, "reserve_base_xrp"),
      incrementDrops: dropsOfXrp(increment, "reserve_inc_xrp"),
    },
    ledgers: rangesOf(info.complete_ledgers),
  };
}

/** @throws NODE_NO_BLOCK for a ledger that is not validated */
export function readLedger(result: Fields): LedgerHead {
  const ledger = fieldsOf(result.ledger, "ledger");
  const number = numberOf(result.ledger_index ?? ledger.ledger_index, "ledger.ledger_index");
  if (result.validated !== true)
    throw new AgentError("NODE_NO_BLOCK", "none", "the node has not validated the ledger", {
      number,
    });
  return {
    number,
    hash: hashOf(result.ledger_hash ?? ledger.ledger_hash, "ledger.ledger_hash"),
    parentHash: hashOf(ledger.parent_hash, "ledger.parent_hash"),
    timestampMs: (numberOf(ledger.close_time, "ledger.close_time") + epochSeconds) * 1000,
  };
}

export function readAccount(result: Fields): Account {
  const data = fieldsOf(result.account_data, "account_data");
  const sequence = BigInt(numberOf(data.Sequence, "account_data.Sequence"));
  return {
    sequence,
    balanceDrops: dropsOf(data.Balance, "account_data.Balance"),
    ownerCount: BigInt(numberOf(data.OwnerCount, "account_data.OwnerCount")),
    flags: numberOf(data.Flags, "account_data.Flags"),
    isPseudo: ["AMMID", "VaultID", "LoanBrokerID"].some((name) => data[name] !== undefined),
    sequenceQueued: queuedOf(result.queue_data, sequence),
  };
}

/** Transactions by ticket wait in the queue too, and name no sequence. */
function queuedOf(value: unknown, sequence: bigint): bigint {
  if (value === undefined) return sequence;
  const { highest_sequence: highest } = fieldsOf(value, "queue_data");
  if (highest === undefined) return sequence;
  const next = BigInt(numberOf(highest, "queue_data.highest_sequence")) + 1n;
  return next > sequence ? next : sequence;
}

export function readFee(result: Fields): FeeAnswer {
  const drops = fieldsOf(result.drops, "fee.drops");
  return {
    baseDrops: dropsOf(drops.base_fee, "fee.drops.base_fee"),
    openDrops: dropsOf(drops.open_ledger_fee, "fee.drops.open_ledger_fee"),
  };
}

/** The answer of `tx`; null until the transaction is in a validated ledger. */
export function readTransaction(result: Fields): LedgerTransaction | null {
  return result.validated === true ? transactionOf(result, result.meta) : null;
}

export function readHistoryPage(result: Fields): HistoryPage {
  const { transactions, marker } = result;
  if (!Array.isArray(transactions) || transactions.length > pageMax)
    throw odd("account_tx.transactions");
  const read: LedgerTransaction[] = [];
  const unread: UnreadableTransaction[] = [];
  for (const one of transactions) {
    const entry = fieldsOf(one, "account_tx.transactions");
    if (entry.validated !== true) throw odd("validated transaction");
    try {
      read.push(transactionOf(fieldsOf(entry.tx, "account_tx.tx"), entry.meta));
    } catch (fault) {
      if (!(fault instanceof AgentError)) throw fault;
      unread.push({ ...placeOf(entry.tx), fault });
    }
  }
  return {
    from: numberOf(result.ledger_index_min, "account_tx.ledger_index_min"),
    to: numberOf(result.ledger_index_max, "account_tx.ledger_index_max"),
    transactions: read,
    unread,
    marker: (marker ?? undefined) as Marker | undefined,
  };
}

/** As much of a transaction's place as can be read. */
function placeOf(value: unknown): Omit<UnreadableTransaction, "fault"> {
  const { hash, ledger_index: ledger } =
    typeof value === "object" && value !== null ? (value as Fields) : {};
  return {
    txHash: typeof hash === "string" && hashForm.test(hash) ? hash : "",
    ledger:
      typeof ledger === "number" && Number.isInteger(ledger) && ledger >= 0 && ledger <= numberMax
        ? ledger
        : 0,
  };
}

export function readSubmitted(result: Fields): SubmitAnswer {
  const { engine_result: code, engine_result_message: words, tx_json: json } = result;
  if (typeof code !== "string" || !engineForm.test(code)) throw odd("submit.engine_result");
  const hash = json === undefined ? undefined : fieldsOf(json, "submit.tx_json").hash;
  const saidOf = (value: unknown): boolean | null => (typeof value === "boolean" ? value : null);
  return {
    result: code,
    words: typeof words === "string" ? words : "",
    txHash: hash === undefined ? "" : hashOf(hash, "submit.tx_json.hash"),
    applied: saidOf(result.applied),
    kept: saidOf(result.kept),
    queued: saidOf(result.queued),
  };
}

function transactionOf(tx: Fields, metadata: unknown): LedgerTransaction {
  const meta = fieldsOf(metadata, "meta");
  const {
    TransactionType: kind,
    DestinationTag: tag,
    Destination: destination,
    TicketSequence: ticket,
  } = tx;
  const { TransactionResult: result } = meta;
  if (typeof kind !== "string" || !kindForm.test(kind)) throw odd("TransactionType");
  if (typeof result !== "string" || !resultForm.test(result)) throw odd("TransactionResult");
  const sequence = `${numberOf(tx.Sequence, "Sequence")}`;
  const changes = changesIn(meta);
  return {
    txHash: hashOf(tx.hash, "transaction.hash"),
    ledger: numberOf(tx.ledger_index, "transaction.ledger_index"),
    account: addressOf(tx.Account, "Account"),
    kind,
    sequence: ticket === undefined ? sequence : "",
    result,
    feeDrops: dropsOf(tx.Fee, "Fee"),
    destination: destination === undefined ? "" : addressOf(destination, "Destination"),
    tag: tag === undefined ? "" : `${numberOf(tag, "DestinationTag")}`,
    amountDrops: typeof tx.Amount === "string" ? dropsOf(tx.Amount, "Amount") : null,
    deliveredDrops: deliveredIn(tx, meta),
    risen: changes.filter(([, drops]) => drops > 0n),
    fallen: changes.filter(([, drops]) => drops < 0n).map(([address, drops]) => [address, -drops]),
  };
}

/**
 * Drops; null for an issued token, which is an object, and for what delivers nothing. A successful
 * payment of XRP says what it delivered: without that nobody knows how much came.
 * "unavailable" stands at partial payments of before 2014.
 */
function deliveredIn(
  { TransactionType: kind, Amount: amount }: Fields,
  meta: Fields,
): bigint | null {
  const { delivered_amount: delivered, TransactionResult: result } = meta;
  const isToken = typeof amount === "object" && amount !== null;
  if (kind === "Payment" && result === success && !isToken)
    return dropsOf(delivered, "delivered_amount");
  return typeof delivered !== "string" || delivered === "unavailable"
    ? null
    : dropsOf(delivered, "delivered_amount");
}

/** A node of the metadata leaves the fields out that it does not change. */
function changesIn({ AffectedNodes: nodes }: Fields): readonly (readonly [string, bigint])[] {
  if (!Array.isArray(nodes)) throw odd("AffectedNodes");
  const changes = nodes.flatMap((one): readonly (readonly [string, bigint])[] => {
    const {
      CreatedNode: created,
      ModifiedNode: modified,
      DeletedNode: deleted,
    } = fieldsOf(one, "AffectedNodes");
    const node = created ?? modified ?? deleted;
    if (node === undefined) return [];
    const {
      LedgerEntryType: type,
      NewFields: fresh,
      FinalFields: final,
      PreviousFields: previous,
    } = fieldsOf(node, "node");
    if (type !== "AccountRoot") return [];
    const before = created === undefined ? fieldsOf(previous ?? {}, "PreviousFields").Balance : "0";
    if (before === undefined) return [];
    const { Account: account, Balance: balance } = fieldsOf(
      created === undefined ? final : fresh,
      "FinalFields",
    );
    const drops = dropsOf(balance ?? "0", "Balance") - dropsOf(before, "Balance");
    return drops === 0n ? [] : [[addressOf(account, "AccountRoot.Account"), drops]];
  });
  return changes.sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Equal for the same transaction by two nodes. */
export function transactionKey(transaction: LedgerTransaction | null): string {
  return JSON.stringify(transaction, (_, value: unknown) =>
    typeof value === "bigint" ? `${value}` : value,
  );
}

/** "a-b,c-d", a single number, or "empty". */
function rangesOf(value: unknown): ServerState["ledgers"] {
  if (value === "empty" || value === undefined) return [];
  if (typeof value !== "string") throw odd("complete_ledgers");
  const parts = value.split(",");
  if (parts.length > rangesMax) throw odd("complete_ledgers");
  return parts.map((part) => {
    const [from, to = from] = part.split("-");
    return [numberOf(from, "complete_ledgers"), numberOf(to, "complete_ledgers")] as const;
  });
}

/** XRP with any number of places, and an exponent, to drops; a part of a drop is refused. */
function dropsOfXrp(value: unknown, what: string): bigint {
  const parts = typeof value === "number" ? decimalForm.exec(`${value}`) : null;
  if (parts === null) throw odd(what);
  const [, whole = "", places = "", exponent = "0"] = parts;
  const shift = decimals + Number(exponent) - places.length;
  const digits = BigInt(whole + places);
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const unit = 10n ** BigInt(-shift);
  if (digits % unit !== 0n) throw odd(what);
  return digits / unit;
}

export function fieldsOf(value: unknown, what: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw odd(what);
  return value as Fields;
}

function hashOf(value: unknown, what: string): string {
  if (typeof value !== "string" || !hashForm.test(value)) throw odd(what);
  return value;
}

function addressOf(value: unknown, what: string): string {
  if (typeof value !== "string" || !addressForm.test(value)) throw odd(what);
  return value;
}

function numberOf(value: unknown, what: string): number {
  const number =
    typeof value === "string" && wholeForm.test(value) ? Number.parseInt(value, 10) : value;
  if (typeof number !== "number" || !Number.isInteger(number) || number < 0 || number > numberMax)
    throw odd(what);
  return number;
}

function dropsOf(value: unknown, what: string): bigint {
  if (typeof value !== "string" || !wholeForm.test(value)) throw odd(what);
  return BigInt(value);
}

function odd(what: string): AgentError {
  return new AgentError("NODE_ANSWER", "none", `the node's answer is no ${what}`);
}
