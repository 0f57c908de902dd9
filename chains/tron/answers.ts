/**
 * The answers of Tron's nodes, as types, and the strict readers that turn JSON into them. Offline:
 * values in, values out. An answer of another form is a fault (NODE_ANSWER). A default only stands
 * for a field that the API itself leaves out at its default value. Source: the chain's
 * documentation of its HTTP API.
 */
import { AgentError } from "../../base/fault.ts";
import { addressOfBytes } from "./address.ts";

export interface BlockHead {
  readonly number: number;
  readonly hash: string; // the block's id, 64 hex digits: number(8) ‖ hash(24)
  readonly parentHash: string;
  readonly timestampMs: number;
}

/**
 * A transaction of any sender, as its block shows it. Keys are the 21 bytes of an address in
 * lower-case hex, "" for none or an odd one. Addresses (base58check), amount and data are read when
 * the caller asks for them.
 * @throws AgentError NODE_ANSWER if that field is odd
 */
export interface BlockTransaction {
  readonly txHash: string;
  readonly kind: "coins" | "call" | "other";
  readonly ownerKey: string;
  readonly receiverKey: string; // of coins
  readonly shown: string; // all fields that are read, as one text for comparison
  readonly isDone: boolean; // its result is SUCCESS
  readonly owner: string; // "" for a kind that names none
  readonly receiver: string; // receiver of coins, else ""
  readonly amountSun: bigint; // amount of coins, or of coins sent along with a call
  readonly contract: string; // contract of a call, else ""
  readonly data: string; // data of a call, hex
}

export interface Block extends BlockHead {
  readonly transactions: readonly BlockTransaction[];
}

/** An event of any contract. An odd field is "". */
export interface Log {
  readonly addressKey: string; // 20 bytes, lower-case hex
  readonly topics: readonly string[]; // 64 hex digits each
  readonly data: string; // hex
}

/** Coins that a contract sent. Only these entries count for the index of an entry. */
export interface InternalTransfer {
  readonly receiverKey: string; // as a transaction's
  readonly amountSun: bigint;
}

/**
 * Another internal entry. It has an amount but moves no coins, or this program does not know if it
 * does.
 */
export interface UnclearTransfer extends InternalTransfer {
  readonly note: string; // the node's note, cut and cleaned; "" if there is none
}

/** A transaction's receipt, which names its block only by number. */
export interface Receipt {
  readonly txHash: string;
  readonly block: number;
  readonly isDone: boolean; // no field says that it failed
  readonly callResult: string; // result of a call, "" for other transactions
  readonly feeSun: bigint;
  readonly logs: readonly Log[];
  readonly internal: readonly InternalTransfer[];
  readonly others: readonly UnclearTransfer[];
}

export interface Account {
  readonly exists: boolean;
  readonly balanceSun: bigint;
  readonly isContract: boolean;
  /** True if its own key alone signs no transaction of it: its owner permission names others. */
  readonly isKeyChanged: boolean;
}

/** The result that a call would have now. */
export interface CallTrial {
  readonly isReverted: boolean;
  readonly energy: bigint;
  readonly returned: string; // hex
  readonly text: string; // the node's own words
}

type Fields = Readonly<Record<string, unknown>>;

/** Reads a block without its transactions; null for a block that the node does not have. */
export function readHead(value: unknown): BlockHead | null {
  const block = readFields(value, "block");
  if (block.blockID === undefined && block.block_header === undefined) return null;
  const hash = readHash(block.blockID, "blockID");
  const header = readFields(
    readFields(block.block_header, "block_header").raw_data,
    "block header",
  );
  const number = readCount(header.number ?? 0, "number");
  // The genesis block has no time.
  const timestampMs = readCount(header.timestamp ?? 0, "timestamp");
  if (Number.parseInt(hash.slice(0, 16), 16) !== number)
    throw wrong("blockID", "begin with the block's number");
  return { number, hash, parentHash: readHash(header.parentHash, "parentHash"), timestampMs };
}

/** Null for a block that the node does not have. */
export function readBlock(value: unknown): Block | null {
  const head = readHead(value);
  if (head === null) return null;
  const { transactions = [] } = readFields(value, "block");
  return { ...head, transactions: readList(transactions, "transactions").map(readTransaction) };
}

function readTransaction(value: unknown): BlockTransaction {
  const transaction = readFields(value, "transaction");
  const txHash = readHash(transaction.txID, "txID");
  const [result] = listOf(transaction.ret);
  const isDone = fieldsOf(result).contractRet === "SUCCESS";
  const [contract] = listOf(fieldsOf(transaction.raw_data).contract);
  const { type, parameter } = fieldsOf(contract);
  const kind =
    type === "TransferContract" ? "coins" : type === "TriggerSmartContract" ? "call" : "other";
  // Keeps only these fields, because the others would only fill the memory.
  const {
    owner_address: owner,
    to_address: to,
    amount,
    contract_address: called,
    call_value: sent,
    data,
  } = fieldsOf(fieldsOf(parameter).value);
  return {
    txHash,
    kind,
    isDone,
    ownerKey: keyOf(owner, addressShape),
    receiverKey: kind === "coins" ? keyOf(to, addressShape) : "",
    shown: JSON.stringify([
      txHash,
      kind,
      isDone,
      owner,
      to,
      String(amount),
      called,
      String(sent),
      data,
    ]),
    get owner() {
      return kind === "other" && owner === undefined ? "" : readAddress(owner, "owner");
    },
    get receiver() {
      return kind === "coins" ? readAddress(to, "receiver") : "";
    },
    get amountSun() {
      if (kind === "other") return 0n;
      return kind === "coins"
        ? readUnits(amount ?? 0, "amount")
        : readUnits(sent ?? 0, "call_value");
    },
    get contract() {
      return kind === "call" ? readAddress(called, "contract") : "";
    },
    get data() {
      return kind === "call" ? readHex(data ?? "", "data") : "";
    },
  };
}

const hashShape = /^[0-9a-f]{64}$/;
const addressShape = /^41[0-9a-fA-F]{40}$/;
const eventAddressShape = /^(?:41)?[0-9a-fA-F]{40}$/;
const hexShape = /^[0-9a-fA-F]*$/;

/** Lower-case hex that fits `shape`, "" for any other value, which cannot be ours. */
function keyOf(value: unknown, shape: RegExp): string {
  return typeof value === "string" && shape.test(value) ? value.toLowerCase() : "";
}

/**
 * For any sender: a value that is no object has no fields, and a value that is no list has no
 * members.
 */
function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Null for a transaction of which the node shows no receipt. */
export function readReceipt(value: unknown): Receipt | null {
  const info = readFields(value, "receipt");
  if (info.id === undefined) return null;
  const paid = readFields(info.receipt ?? {}, "receipt");
  const callResult = readText(paid.result ?? "", "result");
  return {
    txHash: readHash(info.id, "id"),
    block: readCount(info.blockNumber ?? 0, "blockNumber"),
    isDone: info.result !== "FAILED" && (callResult === "" || callResult === "SUCCESS"),
    callResult,
    get feeSun() {
      return readUnits(info.fee ?? 0, "fee");
    },
    logs: readList(info.log ?? [], "log").map(logOf),
    ...entriesOf(readList(info.internal_transactions ?? [], "internal_transactions")),
  };
}

export function readReceipts(value: unknown): readonly Receipt[] {
  return readList(value, "receipts").map((one) => {
    const receipt = readReceipt(one);
    if (receipt === null) throw wrong("receipts", "have ids");
    return receipt;
  });
}

function logOf(value: unknown): Log {
  const { address, topics, data } = fieldsOf(value);
  return {
    addressKey: keyOf(address, eventAddressShape).slice(-40),
    topics: listOf(topics).map((topic) => keyOf(topic, hashShape)),
    data: keyOf(data, hexShape),
  };
}

/**
 * Internal entries that move coins, by their notes. Nodes that keep the chain's "featured" entries
 * list staked, delegated and withdrawn TRX in the same list, with an amount and a receiver, but no
 * coins move. A node without that setting keeps only these three. Source: java-tron,
 * Program.addInternalTx and vm.saveFeaturedInternalTx.
 */
const notesOfCoins = ["call", "create", "suicide"];

function entriesOf(list: readonly unknown[]): Pick<Receipt, "internal" | "others"> {
  const found = list.flatMap(entryOf);
  const isOfCoins = ({ note }: UnclearTransfer): boolean => notesOfCoins.includes(note);
  return {
    internal: found
      .filter(isOfCoins)
      .map(({ receiverKey, amountSun }) => ({ receiverKey, amountSun })),
    others: found.filter((one) => !isOfCoins(one)),
  };
}

/** Leaves out an entry without a readable amount, and one that was undone. */
function entryOf(value: unknown): readonly UnclearTransfer[] {
  const { transferTo_address: to, callValueInfo, rejected, note } = fieldsOf(value);
  if (rejected === true) return [];
  return listOf(callValueInfo).flatMap((one) => {
    const { callValue = 0, tokenId } = fieldsOf(one);
    const amountSun = isUnits(callValue) ? BigInt(callValue) : 0n;
    if (tokenId !== undefined || amountSun === 0n) return [];
    return [{ receiverKey: keyOf(to, addressShape), amountSun, note: nodeTextOf(note) }];
  });
}

export function readAccount(value: unknown): Account {
  const { address, balance = 0, type, owner_permission: owner } = readFields(value, "account");
  if (address === undefined)
    return { exists: false, balanceSun: 0n, isContract: false, isKeyChanged: false };
  const isKeyChanged = owner !== undefined && !isOwnedBy(address, owner);
  return {
    exists: true,
    balanceSun: readUnits(balance, "balance"),
    isContract: type === "Contract",
    isKeyChanged,
  };
}

/** An account without an owner permission is its own key's. Source: TIP-16. */
function isOwnedBy(address: unknown, permission: unknown): boolean {
  const { threshold = 1, keys } = readFields(permission, "owner_permission");
  const own = readList(keys ?? [], "owner_permission.keys").find(
    (one) => readFields(one, "key").address === address,
  );
  return (
    own !== undefined &&
    readUnits(readFields(own, "key").weight ?? 0, "weight") >= readUnits(threshold, "threshold")
  );
}

/** The chain's parameters by name. A parameter that is 0, or off, has no value there. */
export function readParameters(value: unknown): ReadonlyMap<string, bigint> {
  const list = readList(readFields(value, "parameters").chainParameter, "chainParameter");
  return new Map(
    list.map((one) => {
      const { key, value: figure = 0 } = readFields(one, "parameter");
      // Some parameters are negative to mean "off"; none of those is asked for here.
      return [
        readText(key, "key"),
        typeof figure === "number" && figure < 0 ? 0n : readUnits(figure, "value"),
      ] as const;
    }),
  );
}

/**
 * Reads the result of a call that changes nothing on chain. @throws NODE_ERROR with the node's text
 * if the node did not try the call
 */
export function readTrial(value: unknown): CallTrial {
  const trial = readFields(value, "trial");
  const { result, code, message = "" } = readFields(trial.result, "result");
  const text = nodeTextOf(message);
  if (result !== true)
    throw new AgentError("NODE_ERROR", "none", `${String(code ?? "")} ${text}`.trim());
  const [ret] = readList(readFields(trial.transaction, "transaction").ret ?? [], "ret");
  const [returned = ""] = readList(trial.constant_result ?? [], "constant_result");
  return {
    isReverted: ret !== undefined && readFields(ret, "ret").ret === "FAILED",
    energy: readUnits(trial.energy_used ?? 0, "energy_used"),
    returned: readHex(returned, "constant_result"),
    text,
  };
}

/** A node's text, which comes as hex, cut and cleaned for the operator. */
export function nodeTextOf(message: unknown): string {
  if (typeof message !== "string") return "";
  const isHex = message.length > 0 && message.length % 2 === 0 && /^[0-9a-f]*$/.test(message);
  const text = isHex ? Buffer.from(message, "hex").toString("utf8") : message;
  return text.slice(0, 300).replace(/[^\x20-\x7e]+/g, " ");
}

export function readFields(value: unknown, what: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw wrong(what, "fields");
  return value as Fields;
}

function readList(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw wrong(what, "a list");
  return value;
}

function readText(value: unknown, what: string): string {
  if (typeof value !== "string") throw wrong(what, "a text");
  return value;
}

function readHash(value: unknown, what: string): string {
  if (typeof value !== "string" || !hashShape.test(value)) throw wrong(what, "64 hex digits");
  return value;
}

function readHex(value: unknown, what: string): string {
  const isHex = typeof value === "string" && value.length % 2 === 0 && hexShape.test(value);
  if (!isHex) throw wrong(what, "bytes as hex");
  return value.toLowerCase();
}

function readAddress(value: unknown, what: string): string {
  const address =
    typeof value === "string" && /^[0-9a-fA-F]{42}$/.test(value)
      ? addressOfBytes(Buffer.from(value, "hex"))
      : null;
  if (address === null) throw wrong(what, "21 bytes of an address");
  return address;
}

/** An integer below 2^53: heights and times, never money. */
function readCount(value: unknown, what: string): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
    throw wrong(what, "a count below 2^53");
  return value;
}

/** A whole number: a JSON number while it is exact, else its digits (rpc-json.ts). */
function isUnits(value: unknown): value is number | string {
  if (typeof value === "number") return Number.isSafeInteger(value) && value >= 0;
  return typeof value === "string" && /^[0-9]{1,78}$/.test(value);
}

function readUnits(value: unknown, what: string): bigint {
  if (!isUnits(value)) throw wrong(what, "a whole number");
  return BigInt(value);
}

function wrong(what: string, expected: string): AgentError {
  return new AgentError("NODE_ANSWER", "none", `the node's ${what} must be ${expected}`);
}
