/**
 * EIP-1559 transfers of native coin and ERC-20 tokens: build, describe back only from the bytes,
 * digest, attach a signature. Offline: no network, no disk, no private key. `describe` refuses
 * bytes that it cannot explain to the last byte. Sources: EIP-1559, EIP-2718 (type byte), EIP-2930
 * (access list), EIP-2681 (nonce bound), EIP-2 (low s).
 */

import { AgentError, type Refusal, refuse } from "../../base/fault.ts";
import { keccak256 } from "../curve/keccak.ts";
import { splitSenderSignature } from "../curve/sender.ts";
import { addressBytes, addressOfBytes, isZeroAddress, parseAddress } from "./address.ts";
import { decodeTransferCall, encodeTransferCall } from "./erc20.ts";
import { gasOfPlainTransfer } from "./gas.ts";
import { txHashOf } from "./hash.ts";
import {
  decodeRlp,
  encodeRlp,
  integerBytes,
  type RlpItem,
  readShortestInteger,
  stripLeadingZeros,
} from "./rlp.ts";

/** One transfer. Addresses in any form `parseAddress` takes. Fees in wei per gas. */
export interface Transfer {
  readonly chainId: bigint; // 1 … 2^53-1
  readonly nonce: bigint; // 0 … 2^64-2
  readonly contract: string; // the token, "" for the native coin
  readonly destination: string;
  readonly amountUnits: bigint; // 1 … 2^256-1
  readonly gasLimit: bigint; // 21000 … 2^64-1
  readonly maxFeePerGas: bigint; // 1 … 2^256-1
  readonly maxPriorityFeePerGas: bigint; // 0 … maxFeePerGas
}

/**
 * The content of the bytes, addresses in EIP-55 form. feeMaxWei = gasLimit × maxFeePerGas, the most
 * that the fee can be.
 */
export type Description = Transfer & { readonly feeMaxWei: bigint };

/** A zero payment from an account to itself, which uses a nonce up. */
export type Cancel = Omit<Transfer, "contract" | "destination" | "amountUnits"> & {
  readonly account: string;
};

/** A transaction type byte (EIP-2718). */
const dynamicFeeType = 0x02;
/** chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gasLimit, to, value, data, accessList. */
const fieldCount = 9;
/** The longest transfer has fewer than 200 bytes. A much longer text is not read. */
const unsignedBytesMax = 512;
/** EIP-2681: the highest nonce an account can use. */
const nonceMax = 2n ** 64n - 2n;
const word64Max = 2n ** 64n - 1n;
const word256Max = 2n ** 256n - 1n;
/** Chain ids are JSON numbers in settings, so they stay exact integers. */
const chainIdMax = BigInt(Number.MAX_SAFE_INTEGER);
/**
 * The unsigned bytes: 0x02 ‖ rlp([chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gasLimit, to,
 * value, data, []]). Deterministic. @throws TRANSACTION_FIELD, or the codes of `parseAddress`, when
 * a field is out of range
 */
export function buildTransfer(transfer: Transfer): Uint8Array {
  return bytesOf(transfer, 1n);
}

/** As `buildTransfer`, for a cancel. */
export function buildCancel({ account, ...numbers }: Cancel): Uint8Array {
  return bytesOf({ ...numbers, contract: "", destination: account, amountUnits: 0n }, 0n);
}

function bytesOf(transfer: Transfer, leastUnits: bigint): Uint8Array {
  const outOfRange = rangeRefusal(transfer, leastUnits);
  if (outOfRange !== null) throw faultOf(outOfRange);
  const destination = addressOrThrow(transfer.destination);
  const isNative = transfer.contract === "";
  const to = isNative ? destination : addressOrThrow(transfer.contract);
  const data = isNative ? new Uint8Array(0) : encodeTransferCall(destination, transfer.amountUnits);
  return typed([
    integerBytes(transfer.chainId),
    integerBytes(transfer.nonce),
    integerBytes(transfer.maxPriorityFeePerGas),
    integerBytes(transfer.maxFeePerGas),
    integerBytes(transfer.gasLimit),
    addressBytes(to),
    integerBytes(isNative ? transfer.amountUnits : 0n),
    data,
    [],
  ]);
}

/**
 * Reads an unsigned transaction back, only from the bytes. Refuses every text that is not exactly a
 * transfer as `buildTransfer` makes it: TRANSACTION_TYPE, TRANSACTION_RLP, TRANSACTION_FIELD,
 * TRANSACTION_CALL, TRANSACTION_ACCESS_LIST, ADDRESS_ZERO.
 */
export function describeTransfer(unsigned: Uint8Array): DescriptionResult {
  return read(unsigned, 1n);
}

/**
 * As `describe`, but only for a cancel of `account` (EIP-55). Refuses a transaction that pays an
 * amount or another receiver.
 */
export function describeCancel(unsigned: Uint8Array, account: string): DescriptionResult {
  const found = read(unsigned, 0n);
  if (!found.ok) return found;
  const { contract, destination, amountUnits } = found.description;
  const isCancel = contract === "" && amountUnits === 0n && destination === account;
  return isCancel ? found : refuse("TRANSACTION_FIELD", "it is no payment of nothing to oneself");
}

type DescriptionResult = { readonly ok: true; readonly description: Description } | Refusal;

function read(unsigned: Uint8Array, leastUnits: bigint): DescriptionResult {
  const list = fieldsOf(unsigned);
  if (!list.ok) return list;
  const [
    chainId,
    nonce,
    maxPriorityFeePerGas,
    maxFeePerGas,
    gasLimit,
    to,
    value,
    data,
    accessList,
  ] = list.fields;
  if (accessList instanceof Uint8Array)
    return refuse("TRANSACTION_FIELD", "access list is not a list");
  if (accessList === undefined || accessList.length !== 0) return refuse("TRANSACTION_ACCESS_LIST");
  const integers = integersOf({
    chainId,
    nonce,
    maxPriorityFeePerGas,
    maxFeePerGas,
    gasLimit,
    value,
  });
  if (!integers.ok) return integers;
  if (!(to instanceof Uint8Array) || to.length !== 20)
    return refuse("TRANSACTION_FIELD", "to is not 20 bytes");
  if (!(data instanceof Uint8Array)) return refuse("TRANSACTION_FIELD", "data is a list");
  const payment = paymentOf(addressOfBytes(to), integers.values.value, data);
  if (!payment.ok) return payment;
  const { value: _value, ...numbers } = integers.values;
  const { contract, destination, amountUnits } = payment;
  const transfer: Transfer = { ...numbers, contract, destination, amountUnits };
  const outOfRange = rangeRefusal(transfer, leastUnits);
  if (outOfRange !== null) return outOfRange;
  // Both addresses come from 20 bytes, so only the zero address can be refused here.
  if (isZeroAddress(destination) || isZeroAddress(contract)) return refuse("ADDRESS_ZERO");
  return {
    ok: true,
    description: { ...transfer, feeMaxWei: transfer.gasLimit * transfer.maxFeePerGas },
  };
}

/** The 32 bytes that get signed: keccak-256 of the unsigned bytes. */
export function digestOf(unsigned: Uint8Array): Uint8Array {
  return keccak256(unsigned);
}

/**
 * Puts the signature r(32) ‖ s(32) ‖ y parity(1) into the transaction, if the sender recovered from
 * it is the address `sender`.
 * @returns the raw transaction, 0x02 ‖ rlp([… fields, yParity, r, s]), and its hash as 0x hex,
 * lower case
 * @throws TRANSACTION_SIGNATURE, TRANSACTION_SENDER, or a code of `describe` when the bytes are not
 * a list of an unsigned transaction
 */
export function attachSignature(
  unsigned: Uint8Array,
  signature: Uint8Array,
  sender: string,
): { readonly raw: Uint8Array; readonly txHash: string } {
  const read = fieldsOf(unsigned);
  if (!read.ok) throw faultOf(read);
  const { pair, parity } = splitSenderSignature(digestOf(unsigned), signature, sender, (text) =>
    addressBytes(addressOrThrow(text)),
  );
  const ends = [
    integerBytes(BigInt(parity)),
    stripLeadingZeros(pair.subarray(0, 32)),
    stripLeadingZeros(pair.subarray(32)),
  ];
  const raw = typed([...read.fields, ...ends]);
  return { raw, txHash: txHashOf(raw) };
}

function fieldsOf(
  unsigned: Uint8Array,
): { readonly ok: true; readonly fields: readonly RlpItem[] } | Refusal {
  if (unsigned.length > unsignedBytesMax)
    return refuse("TRANSACTION_FIELD", "longer than any transfer");
  if (unsigned[0] !== dynamicFeeType) return refuse("TRANSACTION_TYPE");
  const decoded = decodeRlp(unsigned.subarray(1));
  if (!decoded.ok) return decoded;
  if (decoded.item instanceof Uint8Array) return refuse("TRANSACTION_RLP", "not a list");
  if (decoded.item.length !== fieldCount)
    return refuse("TRANSACTION_RLP", `${decoded.item.length} fields`);
  return { ok: true, fields: decoded.item };
}

type Integers<K extends string> =
  | { readonly ok: true; readonly values: Readonly<Record<K, bigint>> }
  | Refusal;

function integersOf<K extends string>(
  items: Readonly<Record<K, RlpItem | undefined>>,
): Integers<K> {
  const values = {} as Record<K, bigint>;
  for (const name of Object.keys(items) as K[]) {
    const item = items[name];
    const value = item instanceof Uint8Array ? readShortestInteger(item, 32) : null;
    if (value === null)
      return refuse("TRANSACTION_FIELD", `${name} is not an integer in its shortest form`);
    values[name] = value;
  }
  return { ok: true, values };
}

type Payment = { readonly ok: true } & Pick<Transfer, "contract" | "destination" | "amountUnits">;

function paymentOf(to: string, value: bigint, data: Uint8Array): Payment | Refusal {
  if (data.length === 0) return { ok: true, contract: "", destination: to, amountUnits: value };
  const call = decodeTransferCall(data);
  if (call === null)
    return refuse("TRANSACTION_CALL", "call data is not transfer(address,uint256)");
  if (value !== 0n) return refuse("TRANSACTION_CALL", "a token call that also pays native coin");
  return { ok: true, contract: to, ...call };
}

function rangeRefusal(transfer: Transfer, leastUnits: bigint): Refusal | null {
  const bounds: readonly (readonly [name: string, value: bigint, min: bigint, max: bigint])[] = [
    ["chainId", transfer.chainId, 1n, chainIdMax],
    ["nonce", transfer.nonce, 0n, nonceMax],
    ["amountUnits", transfer.amountUnits, leastUnits, word256Max],
    ["gasLimit", transfer.gasLimit, gasOfPlainTransfer, word64Max],
    ["maxFeePerGas", transfer.maxFeePerGas, 1n, word256Max],
    ["maxPriorityFeePerGas", transfer.maxPriorityFeePerGas, 0n, transfer.maxFeePerGas],
  ];
  for (const [name, value, min, max] of bounds) {
    if (typeof value !== "bigint" || value < min || value > max)
      return refuse("TRANSACTION_FIELD", `${name} is out of range`);
  }
  return null;
}

function addressOrThrow(text: string): string {
  const parsed = parseAddress(text);
  if (!parsed.ok) throw faultOf(parsed);
  return parsed.address;
}

function faultOf(refusal: Refusal): AgentError {
  return new AgentError(refusal.code, "none", refusal.detail ?? refusal.code);
}

function typed(fields: readonly RlpItem[]): Uint8Array {
  const bytes = encodeRlp(fields, 1);
  bytes[0] = dynamicFeeType;
  return bytes;
}
