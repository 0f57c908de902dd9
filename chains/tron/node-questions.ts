/**
 * Questions about accounts, contracts and prices, with readers of their answers. They go to one
 * node, or to several that must agree.
 */
import { AgentError } from "../../base/fault.ts";
import { type CanonicalText, requireCanonicalText } from "../providers/canonical-text.ts";
import { addressBytes } from "./address.ts";
import {
  type Account,
  type CallTrial,
  readAccount,
  readFields,
  readParameters,
  readTrial,
} from "./answers.ts";
import type { ApiSide } from "./node-receipts.ts";
import type { Question } from "./node-wire.ts";

/** balanceOf(address) and decimals(), as functions of TIP-20. */
const balanceSelector = "70a08231";
const decimalsSelector = "313ce567";
/** The caller of a trial that only reads; the chain takes any address. */
const nobody = requireCanonicalText("41".padEnd(42, "0"), /^41[0-9a-f]{40}$/, "address");

/** Prices of the chain in sun, read from its parameters. */
export interface FeeSchedule {
  readonly energySun: bigint;
  readonly byteSun: bigint;
  readonly activationSun: bigint; // charge for a receiver that is new on chain: a part instead of the price of bandwidth, and a part in addition
}

export function accountQuestion(side: ApiSide, address: string): Question<Account> {
  return {
    path: `${side}/getaccount`,
    fields: { address: hexOfAddress(address) },
    read: readAccount,
  };
}

const dataOf = (text: string): CanonicalText =>
  requireCanonicalText(text, /^(?:[0-9a-f]{2})*$/, "data of a call");

/** A call of a contract that changes nothing on chain. */
export function trialQuestion(
  side: ApiSide,
  owner: string,
  contract: string,
  data: string,
): Question<CallTrial> {
  const fields = {
    owner_address: owner === "" ? nobody : hexOfAddress(owner),
    contract_address: hexOfAddress(contract),
    data: dataOf(data),
  };
  return { path: `${side}/triggerconstantcontract`, fields, read: readTrial };
}

/** Base units of a token. @throws NODE_ANSWER if the contract gives no balance */
export function tokenBalanceQuestion(
  side: ApiSide,
  contract: string,
  holder: string,
): Question<bigint> {
  const question = trialQuestion(
    side,
    "",
    contract,
    balanceSelector + hexOfAddress(holder).slice(2).padStart(64, "0"),
  );
  return { ...question, read: (value) => wordOf(question.read(value), contract) };
}

export function decimalsQuestion(side: ApiSide, contract: string): Question<bigint> {
  const question = trialQuestion(side, "", contract, decimalsSelector);
  return { ...question, read: (value) => wordOf(question.read(value), contract) };
}

/**
 * As `decimalsQuestion`, but null if the address has no token contract. A statement of the node
 * about itself, for example that it is busy, stays a fault.
 */
export function namedDecimalsQuestion(side: ApiSide, contract: string): Question<bigint | null> {
  const question = trialQuestion(side, "", contract, decimalsSelector);
  const read = (value: unknown): bigint | null => {
    const { code } = readFields(readFields(value, "trial").result, "result");
    if (code === "CONTRACT_VALIDATE_ERROR") return null;
    const { isReverted, returned } = question.read(value);
    return !isReverted && returned.length === 64 ? BigInt(`0x${returned}`) : null;
  };
  return { ...question, read };
}

export const feeScheduleQuestion: Question<FeeSchedule> = {
  path: "/wallet/getchainparameters",
  fields: {},
  read: (value) => {
    const parameters = readParameters(value);
    const named = (name: string): bigint => {
      const figure = parameters.get(name);
      if (figure === undefined)
        throw new AgentError("NODE_ANSWER", "none", `the node names no ${name}`);
      return figure;
    };
    return {
      energySun: named("getEnergyFee"),
      byteSun: named("getTransactionFee"),
      activationSun: named("getCreateNewAccountFeeInSystemContract") + named("getCreateAccountFee"),
    };
  },
};

/** @throws AgentError NODE_ERROR: the contract has no such function, or not in this form */
function wordOf({ isReverted, returned, text }: CallTrial, contract: string): bigint {
  if (!isReverted && returned.length === 64) return BigInt(`0x${returned}`);
  throw new AgentError(
    "NODE_ERROR",
    "none",
    text === "" ? "the token does not answer with one word" : text,
    { contract },
  );
}

export function hexOfAddress(address: string): CanonicalText {
  const bytes = addressBytes(
    requireCanonicalText(address, /^T[1-9A-HJ-NP-Za-km-z]{33}$/, "address"),
  );
  return requireCanonicalText(Buffer.from(bytes).toString("hex"), /^41[0-9a-f]{40}$/, "address");
}
