/**
 * Reads a signed transaction back before a byte reaches a node: chain, nonce, destination, value,
 * call, fees and hash. The reader (ethers) shares no code with the builder of the transaction. It
 * is loaded on the first use, because ethers is most of a quiet courier's memory. Its decoder and
 * hash are enough; the complete Transaction class costs five times as much. Source: EIP-1559,
 * EIP-2718.
 */
import type { Interface, RlpStructuredData } from "ethers";
import type { ExpectedAttempt, IndependentReading } from "../nodes.ts";

interface Ethers {
  readonly read: (rlp: string) => RlpStructuredData;
  readonly hashOf: (raw: Uint8Array) => string;
  readonly token: Interface;
}

/**
 * The type byte, and the number of fields of the signed list: the nine fields of the unsigned one,
 * then y parity, r and s.
 */
const typeText = "0x02";
const fieldCount = 12;

let loading: Promise<Ethers> | null = null;

/** In the interface's form; the chain's id is part of the network's name (CAIP-2). */
export const readAttemptBack: IndependentReading = async (raw, said) => {
  loading ??= load();
  return compare(await loading, raw, said);
};

async function load(): Promise<Ethers> {
  const { decodeRlp, Interface, keccak256 } = await import("ethers");
  return {
    read: (rlp) => decodeRlp(rlp),
    hashOf: (raw) => keccak256(raw),
    token: new Interface(["function transfer(address to, uint256 amount)"]),
  };
}

function compare(
  { read, hashOf, token }: Ethers,
  raw: string,
  { payment, txParams, txHash, isCancel }: ExpectedAttempt,
): string {
  if (!raw.startsWith(typeText)) return "type reads as another, not 2";
  const fields = read(`0x${raw.slice(typeText.length)}`);
  if (typeof fields === "string" || fields.length !== fieldCount)
    return `fields read as ${fields.length}, not ${fieldCount}`;
  const [chainId, nonce, tip, fee, gasLimit, to, value, data, accessList, parity] = fields;
  const { network, account, slot, contract, destination, tag, amountUnits } = payment;
  const isPlain = isCancel || contract === "";
  const receiver = isCancel ? account : destination;
  const call = isPlain ? "0x" : token.encodeFunctionData("transfer", [destination, amountUnits]);
  const checks: readonly (readonly [what: string, said: unknown, expected: unknown])[] = [
    ["chain", `eip155:${numberOf(chainId)}`, network],
    ["nonce", numberOf(nonce), BigInt(slot)],
    ["tag", "none", tag || "none"],
    ["to", to, lower(isPlain ? receiver : contract)],
    ["value", numberOf(value), isPlain && !isCancel ? amountUnits : 0n],
    ["call", data, lower(call)],
    ["access list", typeof accessList === "string" ? "bytes" : accessList?.length, 0],
    ["gas limit", numberOf(gasLimit), figure(txParams, "gasLimit")],
    ["maxFeePerGas", numberOf(fee), figure(txParams, "maxFeePerGas")],
    ["maxPriorityFeePerGas", numberOf(tip), figure(txParams, "maxPriorityFeePerGas")],
    ["y parity", parity === "0x" || parity === "0x01", true],
    // Hashes the bytes that go out, not bytes that the reader encoded again.
    ["hash", hashOf(Buffer.from(raw.slice(2), "hex")), txHash],
  ];
  const wrong = checks.find(([, said, expected]) => said !== expected);
  return wrong === undefined ? "" : `${wrong[0]} reads as ${wrong[1]}, not ${wrong[2]}`;
}

function numberOf(field: RlpStructuredData | undefined): bigint | string {
  if (typeof field !== "string") return "a list";
  return field === "0x" ? 0n : BigInt(field);
}

function figure(txParams: ExpectedAttempt["txParams"], name: string): bigint {
  return BigInt(txParams?.[name] ?? "-1");
}

function lower(text: string): string {
  return text.toLowerCase();
}
