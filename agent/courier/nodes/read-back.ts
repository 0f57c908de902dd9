/**
 * Reads a signed transaction back with code that shares nothing with the code that built it (ethers), before a byte of it reaches a
 * node: chain, nonce, destination, value, call, fees and hash. ethers is loaded on the first use: most of a quiet courier's memory.
 */
import type { Interface, Transaction } from "ethers";
import { parseAmount } from "../../../protocol/amount.ts";
import type { CourierSettings } from "../../config/settings.ts";
import type { VersionView, WithdrawalView } from "../../socket/verbs.ts";

/**
 * Resolves with "" when the bytes say what the withdrawal says, else with what differs. Never rejects for what bytes contain.
 * @public
 */
export type ReadBack = (withdrawal: WithdrawalView, version: VersionView) => Promise<string>;

interface Ethers {
  readonly read: (raw: string) => Transaction;
  readonly hashOf: (raw: Uint8Array) => string;
  readonly token: Interface;
}

/** @public */
export function createReadBack(settings: Pick<CourierSettings, "chains" | "currencies">): ReadBack {
  let loading: Promise<Ethers> | null = null;
  return async (withdrawal, version) => {
    loading ??= load();
    const ethers = await loading;
    try {
      return compare(ethers, settings, withdrawal, version);
    } catch (error) {
      return `unreadable: ${error instanceof Error ? error.message : "no reason"}`;
    }
  };
}

async function load(): Promise<Ethers> {
  const { Interface, keccak256, Transaction } = await import("ethers");
  return {
    read: (raw) => Transaction.from(raw),
    hashOf: (raw) => keccak256(raw),
    token: new Interface(["function transfer(address to, uint256 amount)"]),
  };
}

function compare(
  { read, hashOf, token }: Ethers,
  settings: Pick<CourierSettings, "chains" | "currencies">,
  withdrawal: WithdrawalView,
  version: VersionView,
): string {
  const raw = version.raw ?? "";
  const transaction = read(raw);
  const chain = settings.chains[withdrawal.chain];
  const currency = settings.currencies[withdrawal.currency];
  if (chain === undefined || currency === undefined) return "this courier does not know the chain or the currency";
  const amount = parseAmount(withdrawal.amount, currency.decimal);
  const contract = currency.contract ?? "";
  const call =
    contract === "" ? "0x" : token.encodeFunctionData("transfer", [withdrawal.address, BigInt(withdrawal.amountUnits)]);
  const checks: readonly (readonly [what: string, said: unknown, expected: unknown])[] = [
    ["type", transaction.type, 2],
    ["chain", transaction.chainId, BigInt(chain.chainId)],
    ["network", withdrawal.network, `eip155:${chain.chainId}`],
    ["contract", lower(withdrawal.contract), lower(contract)],
    ["amount", amount.ok ? amount.units : amount.code, BigInt(withdrawal.amountUnits)],
    ["nonce", transaction.nonce, Number(withdrawal.nonce)],
    ["to", lower(transaction.to ?? ""), lower(contract === "" ? withdrawal.address : contract)],
    ["value", transaction.value, contract === "" ? BigInt(withdrawal.amountUnits) : 0n],
    ["call", lower(transaction.data), lower(call)],
    ["access list", transaction.accessList?.length ?? 0, 0],
    ["gas limit", transaction.gasLimit, BigInt(version.gasLimit)],
    ["maxFeePerGas", transaction.maxFeePerGas, BigInt(version.maxFeePerGas)],
    ["maxPriorityFeePerGas", transaction.maxPriorityFeePerGas, BigInt(version.maxPriorityFeePerGas)],
    // Of the bytes that go out, not of what the reader would make of them again.
    ["hash", hashOf(Buffer.from(raw.slice(2), "hex")), version.txHash],
  ];
  const wrong = checks.find(([, said, expected]) => said !== expected);
  return wrong === undefined ? "" : `${wrong[0]} reads as ${wrong[1]}, not ${wrong[2]}`;
}

function lower(text: string): string {
  return text.toLowerCase();
}
