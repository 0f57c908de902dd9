/**
 * Reads bytes back before they are sent, as the courier does with ethers, by the simulated chain's
 * own reader.
 */

import type { CourierSettings } from "../../../agent/config/settings.ts";
import type { ReadBack } from "../../../agent/courier/nodes/read-back.ts";
import { readCoinRaw } from "./coin-raw.ts";
import { scriptOf } from "./coin-script.ts";
import { isCancel, readRaw } from "./raw.ts";
import { payeeText, readSequenceRaw } from "./sequence-raw.ts";
import { stage } from "./setting.ts";
import { addressHex, readTransfer } from "./tron-raw.ts";

type Settings = Pick<CourierSettings, "chains" | "currencies">;
type ReadBackArguments = Parameters<ReadBack>;

export function readBack(settings: Settings): ReadBack {
  const isSame = readers[stage.family];
  return (withdrawal, attempt) =>
    Promise.resolve(isSame(settings, withdrawal, attempt) ? "" : "the bytes say something else");
}

const readers = {
  ...{ evm: saysTransaction, tron: saysTransfer, xrp: saysSequence },
  ...{ bitcoinregtest: saysCoins, litecoinregtest: saysCoins },
} as const;

/** The token that a withdrawal pays, "" for the coin. */
function tokenOf({ currencies }: Settings, { mode, currency }: ReadBackArguments[0]): string {
  const { contract = "" }: { readonly contract?: string } = currencies[currency] ?? {};
  return mode === "topup" ? "" : contract;
}

function saysTransaction(
  settings: Settings,
  withdrawal: ReadBackArguments[0],
  attempt: ReadBackArguments[1],
): boolean {
  const read = readRaw(attempt.raw ?? "");
  if (read?.payment == null || read.hash !== attempt.txHash) return false;
  const isPlaced =
    read.chainId === settings.chains[withdrawal.chain]?.chainId &&
    `${read.nonce}` === withdrawal.slot;
  if (!isPlaced || attempt.isCancel === true) return isPlaced && isCancel(read);
  const { contract, receiver, units } = read.payment;
  const token = tokenOf(settings, withdrawal).toLowerCase();
  return (
    contract === token &&
    receiver === withdrawal.address.toLowerCase() &&
    `${units}` === withdrawal.amountUnits
  );
}

function saysTransfer(
  settings: Settings,
  withdrawal: ReadBackArguments[0],
  attempt: ReadBackArguments[1],
): boolean {
  const read = readTransfer(attempt.raw ?? "");
  if (
    read === null ||
    read.hash !== attempt.txHash ||
    read.owner !== addressHex(withdrawal.account)
  )
    return false;
  const token = tokenOf(settings, withdrawal);
  const isToken = read.contract === (token === "" ? "" : addressHex(token));
  return (
    isToken &&
    read.receiver === addressHex(withdrawal.address) &&
    `${read.units}` === withdrawal.amountUnits
  );
}

function saysSequence(
  _: Settings,
  withdrawal: ReadBackArguments[0],
  attempt: ReadBackArguments[1],
): boolean {
  const read = readSequenceRaw(attempt.raw ?? "");
  if (read?.payment == null || read.hash !== attempt.txHash || `${read.nonce}` !== withdrawal.slot)
    return false;
  if (attempt.isCancel === true) return isCancel(read);
  const payee = payeeText(withdrawal.address, withdrawal.tag).toLowerCase();
  return read.payment.receiver === payee && `${read.payment.units}` === withdrawal.amountUnits;
}

function saysCoins(
  _: Settings,
  { account, address, amountUnits }: ReadBackArguments[0],
  attempt: ReadBackArguments[1],
): boolean {
  const read = readCoinRaw(attempt.raw ?? "");
  if (read === null || read.hash !== attempt.txHash) return false;
  const paid = read.outputs.filter(({ script }) => script !== scriptOf(account));
  if (attempt.isCancel === true) return paid.length === 0;
  return (
    paid.length === 1 && paid[0]?.script === scriptOf(address) && `${paid[0].units}` === amountUnits
  );
}
