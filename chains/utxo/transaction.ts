/**
 * Payments from P2WPKH coins of one account: build, describe back only from the bytes, digest,
 * attach signatures. Output 0 pays the destination, and each further output is change to the own
 * account; a cancel has only change. Offline: no network, no disk, no private key. `describe`
 * refuses bytes that it cannot explain to the last byte. The lock time is 0, because the height of
 * a block would need a clock. Sources: BIP-68, BIP-125, BIP-141, BIP-143.
 */
import { AgentError, type Refusal, refuse } from "../../base/fault.ts";
import { isCanonicalSignature, recoverPublicKey } from "../curve/recover.ts";
import type { TxParams } from "../family.ts";
import {
  addressOfScript,
  compressPoint,
  keyHashOf,
  keyHashOfAddress,
  parseAddress,
  signedScriptOf,
} from "./address.ts";
import { ByteReader, joinBytes, prependLength, uint32, uint64 } from "./bytes.ts";
import { hash160, sha256Twice } from "./hash.ts";
import type { UtxoNetwork } from "./network.ts";
import { refusalOfCoins } from "./previous.ts";
import {
  decodeTransaction,
  encodeOutput,
  encodeTransaction,
  outpointOf,
  type RawTransaction,
  readOutput,
  type SegwitStack,
  type TransactionOutput,
  txHashOf,
} from "./raw-transaction.ts";
import { dustOf, dustOfChange, satPerByteMin, sizeOf } from "./size.ts";
import { amountOf, figuresOf, readCoin, type UtxoFigures } from "./tx-params.ts";

/*
 * The unsigned bytes: a PSBT of version 0 with the transaction, and with amount and script of each
 * coin, because a signature covers both (BIP-143) and the transaction names neither. No other field
 * is allowed. A PSBT is no larger than a form of our own, and every other program of the chain can
 * show it. The previous transactions are left out: `build` has checked them. Pure. Source: BIP-174.
 */

/** A transaction, and the coin of each input. */
interface UnsignedTransaction {
  readonly transaction: RawTransaction;
  readonly coins: readonly TransactionOutput[];
}

const start = Uint8Array.from(Buffer.from("70736274ff", "hex"));
/** A key of one byte behind its length, and the end of a map. */
const key = { transaction: Uint8Array.of(1, 0x00), coin: Uint8Array.of(1, 0x01) } as const;
const end = Uint8Array.of(0);
/** The longest that `build` makes has fewer than 6,000 bytes. */
const bytesMax = 8_192;

function encodeUnsigned({ transaction, coins }: UnsignedTransaction): Uint8Array {
  return joinBytes([
    ...[start, key.transaction, prependLength(encodeTransaction(transaction)), end],
    ...coins.flatMap((coin) => [key.coin, prependLength(encodeOutput(coin)), end]),
    ...transaction.outputs.map(() => end),
  ]);
}

/** Reads the bytes back; null unless `encodeUnsigned` makes exactly them. */
function decodeUnsigned(bytes: Uint8Array): UnsignedTransaction | null {
  if (bytes.length > bytesMax) return null;
  const reader = new ByteReader(bytes);
  reader.take(start.length + key.transaction.length);
  const decoded = decodeTransaction(reader.sized());
  if (decoded === null) return null;
  const { transaction } = decoded;
  const coins = transaction.inputs.map(() => {
    reader.take(end.length + key.coin.length + 1);
    return readOutput(reader);
  });
  const unsigned = { transaction, coins };
  return Buffer.compare(encodeUnsigned(unsigned), bytes) === 0 ? unsigned : null;
}

/*
 * Digests that get signed for P2WPKH coins, and signatures as the chain writes them. Every
 * signature covers the whole transaction (SIGHASH_ALL). Pure. Sources: BIP-143; BIP-66 for the
 * form of a signature.
 */

const hashTypeAll = 1;
const der = { sequence: 0x30, integer: 0x02 } as const;

/** The digest (32 bytes) of each P2WPKH coin in the order of the inputs; null for another coin. */
export function digestsOf({
  transaction,
  coins,
}: UnsignedTransaction): readonly (Uint8Array | null)[] {
  const { version, inputs, outputs, lockTime } = transaction;
  const outpoints = sha256Twice(joinBytes(inputs.map(outpointOf)));
  const sequences = sha256Twice(joinBytes(inputs.map(({ sequence }) => uint32(sequence))));
  const paid = sha256Twice(joinBytes(outputs.map(encodeOutput)));
  return inputs.map((input, place) => {
    const coin = coins[place];
    const keyHash = coin === undefined ? null : keyHashOf(coin.script);
    if (coin === undefined || keyHash === null) return null;
    const script = prependLength(signedScriptOf(keyHash));
    const own = [outpointOf(input), script, uint64(coin.units), uint32(input.sequence)];
    const parts = [
      uint32(version),
      outpoints,
      sequences,
      ...own,
      paid,
      uint32(lockTime),
      uint32(hashTypeAll),
    ];
    return sha256Twice(joinBytes(parts));
  });
}

/** A signature r(32) ‖ s(32) in DER, and behind it the byte of SIGHASH_ALL. */
export function encodeSignature(pair: Uint8Array): Uint8Array {
  const integers = joinBytes([integer(pair.subarray(0, 32)), integer(pair.subarray(32, 64))]);
  return Uint8Array.of(der.sequence, integers.length, ...integers, hashTypeAll);
}

/** The shortest form; a zero keeps a high first bit from being a sign. */
function integer(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0);
  const shortest = bytes.subarray(first === -1 ? bytes.length - 1 : first);
  const padded = (shortest[0] ?? 0) >= 0x80 ? [0, ...shortest] : [...shortest];
  return Uint8Array.of(der.integer, padded.length, ...padded);
}

/** Addresses in any spelling that `parseAddress` accepts. A cancel has no destination. */
export interface Transfer {
  readonly account: string; // P2WPKH
  readonly destination: string | null;
  readonly amountUnits: bigint; // sat; 0 for a cancel
  readonly isFeeInside?: boolean; // as `Payment` has it
}

/** The transfer in canonical spelling, and its exact fee in sat. */
export type TransferResult =
  | { readonly ok: true; readonly transfer: Transfer; readonly feeSat: bigint }
  | Refusal;

const version = 2;
const lockTime = 0;
/** Both are final; the lower one says that a higher fee may replace the transaction (BIP-125). */
const sequences = { replaced: 0xfffffffd, other: 0xffffffff } as const;
/** The scripts and figures that fix every byte. */
interface Content {
  readonly own: Uint8Array;
  readonly paid: { readonly script: Uint8Array; readonly units: bigint } | null;
  readonly figures: UtxoFigures;
}

/**
 * The unsigned bytes. The caller has proven the amounts of the coins (`unproven`). Deterministic.
 * @throws JSON_SHAPE (parameters), TRANSACTION_FIELD, or the codes of `parseAddress`
 */
export function buildTransfer(
  network: UtxoNetwork,
  transfer: Transfer,
  txParams: TxParams,
): Uint8Array {
  const figures = figuresOf(txParams);
  const own = scriptOrThrow(transfer.account, network);
  const { destination, amountUnits, isFeeInside = false } = transfer;
  const units = isFeeInside ? amountUnits - figures.feeSat : amountUnits;
  const paid = destination === null ? null : { script: scriptOrThrow(destination, network), units };
  const content = { own, paid, figures };
  const refusal = refusalOf(network, content);
  if (refusal !== null) throw faultOf(refusal);
  return bytesOf(network, content);
}

/**
 * Refuses coins of an account with TRANSACTION_EVIDENCE unless the transaction beside each, as hex,
 * made it. @throws the codes of `parseAddress` for the account
 */
export function refuseUnprovenCoins(
  network: UtxoNetwork,
  account: string,
  coins: readonly string[],
  evidence: readonly string[],
): Refusal | null {
  const read = coins.map(readCoin);
  const known = read.filter((coin) => coin !== null);
  if (known.length !== read.length) return refuse("TRANSACTION_EVIDENCE", "a text is no coin");
  return refusalOfCoins(known, evidence, scriptOrThrow(account, network));
}

/**
 * Reads unsigned bytes back. The parameters are compared, never believed. Refuses bytes that
 * `buildTransfer` does not make from them: TRANSACTION_PSBT, TRANSACTION_FIELD, or a code of
 * `parseAddress`. With `isFeeInside` the fee counts as a part of the amount; the bytes do not say.
 * @throws JSON_SHAPE (parameters)
 */
export function describeTransfer(
  network: UtxoNetwork,
  unsigned: Uint8Array,
  txParams: TxParams,
  { isCancel, isFeeInside = false }: { readonly isCancel: boolean; readonly isFeeInside?: boolean },
): TransferResult {
  const figures = figuresOf(txParams);
  const decoded = decodeUnsigned(unsigned);
  const own = decoded?.coins[0]?.script;
  if (!decoded || own === undefined) return refuse("TRANSACTION_PSBT");
  const [first] = decoded.transaction.outputs;
  const paid = isCancel || first === undefined ? null : first;
  const destination = paid === null ? null : addressOfScript(paid.script, network);
  if (paid !== null && destination === null)
    return refuse("TRANSACTION_FIELD", "it pays a script of no payable kind");
  const parsed = destination === null ? null : parseAddress(destination, network);
  if (parsed !== null && !parsed.ok) return parsed;
  const content = { own, paid, figures };
  const refusal = refusalOf(network, content);
  if (refusal !== null) return refusal;
  if (Buffer.compare(bytesOf(network, content), unsigned) !== 0)
    return refuse("TRANSACTION_FIELD", "it is not made from these parameters");
  const account = addressOfScript(own, network) as string;
  const { feeSat } = figures;
  const amountUnits = paid === null ? 0n : paid.units + (isFeeInside ? feeSat : 0n);
  return { ok: true, transfer: { account, destination, amountUnits }, feeSat };
}

/** The 32 bytes that get signed, for each coin in order. @throws TRANSACTION_PSBT */
export function signatureDigests(unsigned: Uint8Array): readonly Uint8Array[] {
  return decodedOrThrow(unsigned).digests;
}

/**
 * Puts signatures into the transaction, each r(32) ‖ s(32), with or without the y parity of R
 * behind it. The key is recovered from each, and must be the account's.
 * @returns the raw transaction, and its id as 64 hex digits
 * @throws TRANSACTION_PSBT, TRANSACTION_SIGNATURE, TRANSACTION_SENDER
 */
export function attachSignatures(
  unsigned: Uint8Array,
  signatures: readonly Uint8Array[],
  account: string,
): { readonly raw: Uint8Array; readonly txHash: string } {
  const { transaction, coins, digests: toSign } = decodedOrThrow(unsigned);
  const keyHash = keyHashOfAddress(account);
  if (keyHash === null || coins.some(({ script }) => !isSame(keyHashOf(script), keyHash))) {
    throw new AgentError("TRANSACTION_SENDER", "none", "the coins are those of another account", {
      account,
    });
  }
  if (signatures.length !== toSign.length)
    throw new AgentError("TRANSACTION_SIGNATURE", "none", "not one signature for each coin");
  const stacks = toSign.map((digest, place) =>
    stackOf(digest, signatures[place] as Uint8Array, keyHash),
  );
  return {
    raw: encodeTransaction(transaction, stacks),
    txHash: txHashOf(encodeTransaction(transaction)),
  };
}

/** Signature and key, which stand behind the transaction for one coin. */
function stackOf(digest: Uint8Array, signature: Uint8Array, keyHash: Uint8Array): SegwitStack {
  const pair = signature.subarray(0, 64);
  const parities =
    signature.length === 64
      ? ([0, 1] as const)
      : signature.length === 65
        ? ([0, 1] as const).filter((parity) => parity === signature[64])
        : [];
  if (parities.length === 0 || !isCanonicalSignature(pair)) {
    throw new AgentError(
      "TRANSACTION_SIGNATURE",
      "none",
      "signature is not r ‖ s in range with s in the lower half",
    );
  }
  for (const parity of parities) {
    const point = recoverPublicKey(digest, pair, parity);
    const key = point === null ? null : compressPoint(point);
    if (key !== null && isSame(hash160(key), keyHash)) return [encodeSignature(pair), key];
  }
  throw new AgentError(
    "TRANSACTION_SENDER",
    "none",
    "the signature was not made by the account's key",
  );
}

function decodedOrThrow(
  unsigned: Uint8Array,
): UnsignedTransaction & { readonly digests: readonly Uint8Array[] } {
  const decoded = decodeUnsigned(unsigned);
  const found = decoded === null ? [] : digestsOf(decoded).filter((digest) => digest !== null);
  if (decoded === null || found.length !== decoded.coins.length)
    throw faultOf(refuse("TRANSACTION_PSBT"));
  return { ...decoded, digests: found };
}

function bytesOf(network: UtxoNetwork, { own, paid, figures }: Content): Uint8Array {
  const sequence = network.isReplaced ? sequences.replaced : sequences.other;
  const inputs = figures.coins.map(({ id }) => {
    const [txHash = "", output = ""] = id.split(":");
    return { txHash, output: Number(output), script: new Uint8Array(0), sequence };
  });
  const changes = figures.changeSat.map((units) => ({ units, script: own }));
  const transaction: RawTransaction = {
    version,
    inputs,
    outputs: [...(paid === null ? [] : [paid]), ...changes],
    lockTime,
  };
  return encodeUnsigned({
    transaction,
    coins: figures.coins.map(({ units }) => ({ units, script: own })),
  });
}

function refusalOf(network: UtxoNetwork, { own, paid, figures }: Content): Refusal | null {
  const { coins, changeSat, feeSat } = figures;
  const problem = (text: string): Refusal => refuse("TRANSACTION_FIELD", text);
  if (keyHashOf(own) === null) return problem("the account is not P2WPKH");
  if (paid !== null && isSame(paid.script, own)) return problem("it pays the sender itself");
  if (paid === null && changeSat.length === 0) return problem("a cancel has no output");
  if (coins.some(({ units }) => units > network.supplySat))
    return problem("a coin's amount is out of range");
  if (paid !== null && paid.units < dustOf(paid.script, network))
    return problem("amountUnits is dust");
  if (changeSat.some((units) => units < dustOfChange(network))) return problem("changeSat is dust");
  if (amountOf(figures) !== (paid?.units ?? 0n))
    return problem("coins are not amount, change and fee together");
  const least = sizeOf(coins.length, paid?.script.length ?? null, changeSat.length) * satPerByteMin;
  return feeSat < least ? problem(`feeSat ${feeSat}, at least ${least}`) : null;
}

function scriptOrThrow(text: string, network: UtxoNetwork): Uint8Array {
  const parsed = parseAddress(text, network);
  if (!parsed.ok) throw faultOf(parsed);
  return parsed.script;
}

function isSame(a: Uint8Array | null, b: Uint8Array): boolean {
  return a !== null && Buffer.compare(a, b) === 0;
}

function faultOf(refusal: Refusal): AgentError {
  return new AgentError(refusal.code, "none", refusal.detail ?? refusal.code);
}
