/**
 * Translates a job into the agent's own terms: asset, limits, possible destination, and the account
 * that pays. No job names the destination of a sweep or a top-up: both ends are derived again from
 * the wallet's own accounts. Touches nothing. Source: docs/protocol.md section 5.
 */

import { AgentError, invariant, type Refusal, refuse } from "../../../base/fault.ts";
import { familyOf } from "../../../chains/families.ts";
import type { ParsedAddress } from "../../../chains/family.ts";
import { parseAmount } from "../../../protocol/amount.ts";
import { isInternalMode, limitGroupOf } from "../../../protocol/job-mode.ts";
import type { Job } from "../../../protocol/messages.ts";
import { depositAccountIdOf, hotWalletAddressOf } from "./own-accounts.ts";
import type { Asset, Limits, Rules } from "./rules.ts";

type PaymentField =
  | "transactionId"
  | "network"
  | "mode"
  | "currency"
  | "amount"
  | "address"
  | "tag"
  | "expiresAt";

/** The fields of a job that policy judges. */
export type JudgedJobFields = Pick<Job, PaymentField | "depositIndex" | "depositAddress">;

/** A job in the agent's own terms. */
export interface AmountTerms {
  readonly ok: true;
  readonly limitGroup: string;
  readonly asset: Asset;
  readonly limits: Limits;
  readonly units: bigint;
}

/** An account that pays: the hot wallet, or a deposit address. */
export interface Sender {
  readonly account: string;
  readonly addressIndex: number | null; // address index of a deposit address
}

/** Returns the asset of a limit group: a top-up moves the coin that pays the fees. */
export function assetOf({ assets }: Pick<Rules, "assets">, limitGroup: string): Asset | undefined {
  const [currency = "", kind] = limitGroup.split(":");
  const asset = assets.get(currency);
  if (asset === undefined || kind !== "topup") return asset;
  return { ...asset, contract: "", decimal: asset.family.fees.decimal };
}

/** Translates a job into the agent's own terms, or refuses it. */
export function readAmountTerms(rules: Rules, question: JudgedJobFields): AmountTerms | Refusal {
  const limitGroup = limitGroupOf(question);
  const asset = assetOf(rules, limitGroup);
  if (asset === undefined) return refuse("POLICY_CURRENCY_UNKNOWN", question.currency);
  if (!rules.limits.has(question.currency)) return refuse("POLICY_NONE", question.currency);
  const limits = rules.limits.get(limitGroup);
  if (limits === undefined) return refuse("POLICY_SWEEP_OFF", question.currency);
  if (question.network !== asset.network) return refuse("JOB_NETWORK", question.network);
  if (question.tag !== "" && asset.family.readTag(question.tag) !== question.tag)
    return refuse("JOB_TAG_UNSUPPORTED");
  const amount = parseAmount(question.amount, asset.decimal);
  return amount.ok ? { ok: true, limitGroup, asset, limits, units: amount.units } : amount;
}

/**
 * Returns the destination that a job may pay. Refuses with ADDRESS_*, POLICY_DENIED*,
 * POLICY_NOT_ALLOWED, JOB_DEPOSIT_ADDRESS.
 */
export function destinationOf(
  rules: Rules,
  question: JudgedJobFields,
  text: string,
  limits: Limits,
): ParsedAddress {
  if (!isInternalMode(question.mode))
    return parseOutsideAddress(rules, text, question.network, limits);
  const deposit = depositOf(rules, question);
  if (!deposit.ok) return deposit;
  return {
    ok: true,
    address: question.mode === "sweep" ? hotWalletOn(rules, question.network) : deposit.address,
  };
}

/**
 * Returns an address outside the wallet; refuses the wallet's own address, a token's contract, and
 * an address of the chain itself.
 */
export function parseOutsideAddress(
  rules: Rules,
  text: string,
  network: string,
  limits: Limits,
): ParsedAddress {
  const family = familyOf(network);
  const parsed = family.parseAddress(text, network);
  if (!parsed.ok) return parsed;
  if (family.isReserved(parsed.address)) return refuse("ADDRESS_RESERVED");
  if (parsed.address === hotWalletOn(rules, network)) return refuse("POLICY_DENIED_OWN");
  if (rules.contracts.has(parsed.address)) return refuse("POLICY_DENIED_CONTRACT");
  if (limits.deny.has(parsed.address)) return refuse("POLICY_DENIED");
  if (limits.allow.size > 0 && !limits.allow.has(parsed.address))
    return refuse("POLICY_NOT_ALLOWED");
  return parsed;
}

/** Returns the account that pays for a job; a sweep is paid by the deposit address at its index. */
export function senderOf(
  rules: Rules,
  question: Pick<JudgedJobFields, "mode" | "network" | "depositIndex">,
): Sender | null {
  if (question.mode !== "sweep")
    return { account: hotWalletOn(rules, question.network), addressIndex: null };
  const account = derived(rules, question);
  return account === null ? null : { account, addressIndex: question.depositIndex ?? 0 };
}

/**
 * True if a job names another destination. For a job without a destination, an operator decides. A
 * sweep and a top-up never name one.
 */
export function hasOtherDestination(
  rules: Rules,
  question: JudgedJobFields,
  destination: string,
): boolean {
  const { network, address, mode } = question;
  if (isInternalMode(mode)) {
    const deposit = depositOf(rules, question);
    return (
      !deposit.ok ||
      destination !== (mode === "sweep" ? hotWalletOn(rules, network) : deposit.address)
    );
  }
  if (address === "") return mode === "auto";
  if (address === destination) return false;
  const parsed = familyOf(network).parseAddress(address, network);
  return !parsed.ok || parsed.address !== destination;
}

/**
 * Returns the deposit address in a job, if the job's index in the account gives exactly this
 * address.
 */
function depositOf(rules: Rules, question: JudgedJobFields): ParsedAddress {
  const address = derived(rules, question);
  if (address !== null && address === question.depositAddress) return { ok: true, address };
  return refuse("JOB_DEPOSIT_ADDRESS", question.depositAddress);
}

function hotWalletOn({ own }: Rules, network: string): string {
  return hotWalletAddressOf(own, familyOf(network).addressSpace.name);
}

/** Returns null if the wallet has no deposit account, or no address at that index. */
function derived(
  rules: Rules,
  { network, depositIndex }: Pick<JudgedJobFields, "network" | "depositIndex">,
): string | null {
  invariant(depositIndex !== undefined, "a sweep and a top-up name an address index");
  const family = familyOf(network);
  const deposits = depositAccountIdOf(rules.own, family.addressSpace.name);
  if (deposits === "") return null;
  try {
    return family.depositAddress(deposits, depositIndex);
  } catch (error) {
    if (error instanceof AgentError) return null;
    throw error;
  }
}
