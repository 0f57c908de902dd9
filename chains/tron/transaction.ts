/**
 * Transfers of TRX and of TRC-20 tokens: build, describe back only from the bytes, digest, attach a
 * signature. Offline: no network, no disk, no private key. `describe` refuses bytes that it cannot
 * explain to the last byte. The bytes name no network: only the reference to a block ties them to
 * one. Sources: java-tron's TransferActuator, VMActuator and Manager (validation of amounts, fee
 * limit and expiration).
 */
import { AgentError, type Refusal, refuse } from "../../base/fault.ts";
import { splitSenderSignature } from "../curve/sender.ts";
import { addressBytes, parseAddress } from "./address.ts";
import { lifetimeMsMax } from "./expiry-exclusion.ts";
import { sha256, txHashOf } from "./hash.ts";
import { encodeMessage } from "./protobuf.ts";
import { decodeRawData, encodeRawData, type Transfer } from "./raw-data.ts";

/** The chain's own bound of a fee limit, 15,000 TRX (getMaxFeeLimit). */
const feeLimitMax = 15_000_000_000n;
/** Times stay exact integers even as JavaScript numbers. */
const timeMax = BigInt(Number.MAX_SAFE_INTEGER);
const word63Max = 2n ** 63n - 1n;
const word64Max = 2n ** 64n - 1n;
const word256Max = 2n ** 256n - 1n;
/** A signature on the wire ends in 27 + parity, as the chain's own wallets write it. */
const parityBase = 27;

export type TransferResult = { readonly ok: true; readonly transfer: Transfer } | Refusal;

/**
 * The raw_data of a transfer, which are the bytes that get signed. Deterministic. @throws
 * TRANSACTION_FIELD, or the codes of `parseAddress`, when a field is out of range
 */
export function buildTransfer(transfer: Transfer): Uint8Array {
  const { sender, contract, destination } = transfer;
  for (const address of contract === "" ? [sender, destination] : [sender, destination, contract]) {
    const parsed = parseAddress(address);
    if (!parsed.ok) throw faultOf(parsed);
  }
  const outOfRange = rangeRefusal(transfer);
  if (outOfRange !== null) throw faultOf(outOfRange);
  return encodeRawData(transfer);
}

/**
 * Reads raw_data back, only from the bytes. Refuses every text that is not exactly a transfer as
 * `buildTransfer` makes it: TRANSACTION_PROTOBUF, TRANSACTION_TYPE, TRANSACTION_CALL,
 * TRANSACTION_FIELD, ADDRESS_ZERO.
 */
export function describeTransfer(rawData: Uint8Array): TransferResult {
  const decoded = decodeRawData(rawData);
  if (!decoded.ok) return decoded;
  const { sender, contract, destination } = decoded.transfer;
  for (const address of [sender, contract, destination]) {
    if (address === "") continue;
    const parsed = parseAddress(address);
    if (!parsed.ok) return parsed;
  }
  return rangeRefusal(decoded.transfer) ?? decoded;
}

/** The 32 bytes that get signed, which are also the transaction's id: SHA-256 of raw_data. */
export function digestOf(rawData: Uint8Array): Uint8Array {
  return sha256(rawData);
}

/**
 * Adds the signature r(32) ‖ s(32) ‖ y parity(1) to raw_data, if the sender recovered from it is
 * `sender`, the account that the bytes name.
 * @returns the transaction, raw_data(1) ‖ signature(2), and its id in 64 hex digits
 * @throws TRANSACTION_SIGNATURE, TRANSACTION_SENDER, or a code of `describe`
 */
export function attachSignature(
  rawData: Uint8Array,
  signature: Uint8Array,
  sender: string,
): { readonly raw: Uint8Array; readonly txHash: string } {
  const read = describeTransfer(rawData);
  if (!read.ok) throw faultOf(read);
  if (read.transfer.sender !== sender)
    throw new AgentError("TRANSACTION_SENDER", "none", "the bytes name another sender", { sender });
  const hashOf = (address: string): Uint8Array => addressBytes(address).subarray(1);
  const { pair, parity } = splitSenderSignature(digestOf(rawData), signature, sender, hashOf);
  return {
    raw: withSignature(rawData, Uint8Array.of(...pair, parityBase + parity)),
    txHash: txHashOf(rawData),
  };
}

/**
 * Bytes of bandwidth that the signed transaction takes: its own length, and 64 for the result that
 * the chain adds (Constant.MAX_RESULT_SIZE_IN_TX).
 */
export function bandwidthOf(rawData: Uint8Array): bigint {
  return BigInt(withSignature(rawData, new Uint8Array(65)).length + 64);
}

function withSignature(rawData: Uint8Array, signature: Uint8Array): Uint8Array {
  return encodeMessage([
    [1, rawData],
    [2, signature],
  ]);
}

function rangeRefusal(transfer: Transfer): Refusal | null {
  const isCoin = transfer.contract === "";
  const { expirationMs, timestampMs } = transfer;
  const bounds: readonly (readonly [name: string, value: bigint, min: bigint, max: bigint])[] = [
    ["amountUnits", transfer.amountUnits, 1n, isCoin ? word63Max : word256Max],
    ["refBlockBytes", transfer.refBlockBytes, 0n, 0xffffn],
    ["refBlockHash", transfer.refBlockHash, 0n, word64Max],
    ["timestampMs", timestampMs, 1n, timeMax - BigInt(lifetimeMsMax)],
    ["expirationMs", expirationMs, timestampMs + 1n, timestampMs + BigInt(lifetimeMsMax)],
    ["feeLimitSun", transfer.feeLimitSun, isCoin ? 0n : 1n, isCoin ? 0n : feeLimitMax],
  ];
  for (const [name, value, min, max] of bounds) {
    if (typeof value !== "bigint" || value < min || value > max)
      return refuse("TRANSACTION_FIELD", `${name} is out of range`);
  }
  // The chain refuses coins from an account to itself; a token would only cost its fee.
  return transfer.sender === transfer.destination
    ? refuse("TRANSACTION_FIELD", "it pays the sender itself")
    : null;
}

function faultOf(refusal: Refusal): AgentError {
  return new AgentError(refusal.code, "none", refusal.detail ?? refusal.code);
}
