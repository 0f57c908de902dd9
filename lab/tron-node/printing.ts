/**
 * Blocks, transactions and receipts as java-tron's HTTP API prints them: fields that have their
 * default are left out, 64-bit integers stand as bare digits, addresses are hex (41…) or, where
 * `visible` is asked for, base58. Source: Tron's documentation of the HTTP API.
 */
import { TronWeb } from "tronweb";
import type { Block, ExecutedTransaction } from "./chain.ts";
import type { Json } from "./transaction.ts";

const witness = `41${"57".repeat(20)}`;
const signatureText = "00".repeat(65);
const blockVersion = 31;

export function blockHeaderJson(block: Block): Json {
  const rawData = {
    number: block.number,
    txTrieRoot: block.root,
    witness_address: witness,
    parentHash: block.parentId,
    version: blockVersion,
    timestamp: block.timestampMs,
  };
  return {
    blockID: block.id,
    block_header: { raw_data: rawData, witness_signature: signatureText },
  };
}

export function blockJson(block: Block): Json {
  const transactions = block.done.map(transactionJson);
  return transactions.length === 0
    ? blockHeaderJson(block)
    : { ...blockHeaderJson(block), transactions };
}

export function transactionJson({ tx, result }: Pick<ExecutedTransaction, "tx" | "result">): Json {
  return {
    ret: [{ contractRet: result.contractRet }],
    signature: tx.signatures,
    txID: tx.txId,
    raw_data: tx.rawData,
    raw_data_hex: tx.rawDataHex,
  };
}

export function infoJson(block: Block, { tx, result }: ExecutedTransaction): Json {
  const isCall = result.contract !== "";
  const internal = result.internal.map(
    ({ from, to, sun, note = "call", isRejected = false }, at) => ({
      hash: `${tx.txId.slice(0, 60)}${at.toString(16).padStart(4, "0")}`,
      caller_address: from,
      transferTo_address: to,
      callValueInfo: [{ callValue: sun }],
      note: Buffer.from(note).toString("hex"),
      ...(isRejected ? { rejected: true } : {}),
    }),
  );
  return shown({
    id: tx.txId,
    fee: result.feeSun,
    blockNumber: block.number,
    blockTimeStamp: block.timestampMs,
    contractResult: [result.returns],
    contract_address: result.contract,
    receipt: shown({
      energy_usage: result.energyUsage,
      energy_fee: result.energyFeeSun,
      energy_usage_total: result.energyTotal,
      net_usage: result.netUsage,
      net_fee: result.netFeeSun,
      result: isCall ? result.contractRet : "",
    }),
    log: result.logs,
    result: result.contractRet === "SUCCESS" ? "" : "FAILED",
    resMessage: hexText(result.message),
    internal_transactions: internal,
  });
}

/** Without the fields that have their default. */
export function shown(fields: Json): Json {
  const isDefault = (value: unknown): boolean =>
    value === "" || value === 0 || value === 0n || (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isDefault(value)));
}

export function hexText(text: string): string {
  return Buffer.from(text, "utf8").toString("hex");
}

/** JSON text; a bigint comes as bare digits, however large. */
export function print(value: unknown): string {
  const mark = "bigint:";
  const text = JSON.stringify(value, (_, one: unknown) =>
    typeof one === "bigint" ? `${mark}${one}` : one,
  );
  return text.replace(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
}

/** Addresses as people write them, in all fields that hold one. */
export function visible(value: unknown, field = ""): unknown {
  if (Array.isArray(value)) return value.map((one) => visible(one, field));
  if (
    typeof value === "string" &&
    /(?:^|_)address$/.test(field) &&
    /^41[0-9a-f]{40}$/.test(value)
  ) {
    return TronWeb.address.fromHex(value);
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, visible(one, name)]));
}

/** An address of a question, hex or base58, as hex in small letters; "" for none. */
export function addressOf(value: unknown): string {
  if (typeof value !== "string" || value === "") return "";
  if (/^41[0-9a-fA-F]{40}$/.test(value)) return value.toLowerCase();
  return TronWeb.isAddress(value) ? TronWeb.address.toHex(value).toLowerCase() : "";
}
