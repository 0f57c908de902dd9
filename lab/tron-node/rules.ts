/**
 * The rules by which java-tron takes a transaction in and carries it out, as its documentation and
 * source have them: reference block, expiration, signature, bandwidth, activation, balance, energy
 * under a fee limit. Multiple signatures, permissions and memos are not modelled.
 */
import { callContract, type InternalTransfer, type Log } from "./contracts.ts";
import { type State, usedAt } from "./state.ts";
import type { ReadTransaction } from "./transaction.ts";

/** Names of chain parameters, as /wallet/getchainparameters spells them. */
export interface Parameters {
  readonly getTransactionFee: number; // sun a byte
  readonly getEnergyFee: number; // sun
  readonly getCreateAccountFee: number; // sun, in the place of bandwidth
  readonly getCreateNewAccountFeeInSystemContract: number; // sun
  readonly getFreeNetLimit: number; // bytes a day
  readonly getMaxFeeLimit: number; // sun
}

/** As on the main network in 2026. */
export const mainParameters: Parameters = {
  getTransactionFee: 1_000,
  getEnergyFee: 100,
  getCreateAccountFee: 100_000,
  getCreateNewAccountFeeInSystemContract: 1_000_000,
  getFreeNetLimit: 600,
  getMaxFeeLimit: 15_000_000_000,
};

/** The effects of a transaction; all that a receipt is made of. */
export interface Result {
  readonly contractRet: "SUCCESS" | "REVERT" | "OUT_OF_ENERGY";
  readonly feeSun: bigint;
  readonly netUsage: number;
  readonly netFeeSun: bigint;
  readonly energyUsage: number; // by stake
  readonly energyFeeSun: bigint;
  readonly energyTotal: number;
  readonly logs: readonly Log[];
  readonly internal: readonly InternalTransfer[];
  readonly returns: string;
  readonly contract: string; // 41…, "" for none
  readonly message: string;
}

/** A transaction that is not taken in: java-tron's code and its words. */
export class Rejection extends Error {
  override readonly name = "Rejection";
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The chain as a transaction meets it: the block before the one that it enters. */
export interface Moment {
  readonly headMs: number;
  readonly nextSlotMs: number;
  readonly isSlotChecked: boolean; // expiration is held against the next block's time as well
  readonly parameters: Parameters;
  refHash(refBlockBytes: string): string | null;
  isKnown(txId: string): boolean;
}

const resultBytesMax = 64;
const transactionBytesMax = 512_000;
const expirationMsMax = 24 * 60 * 60 * 1000;

/** Carries a transaction out on `state`. @throws Rejection, and `state` is then to be given up */
export function execute(state: State, tx: ReadTransaction, moment: Moment): Result {
  checkForm(tx, moment);
  if (moment.isKnown(tx.txId)) throw new Rejection("DUP_TRANSACTION_ERROR", "Dup transaction.");
  if (tx.signer !== tx.owner)
    throw new Rejection("SIGERROR", "Validate signature error: sig error");
  if (state.account(tx.owner) === undefined) throw invalid(`account [${tx.owner}] does not exist`);
  const net = payBandwidth(state, tx, moment);
  switch (tx.type) {
    case "TransferContract":
      return transferCoins(state, tx, moment, net);
    case "TransferAssetContract":
      return transferAsset(state, tx, moment, net);
    default:
      return trigger(state, tx, moment, net);
  }
}

function checkForm(tx: ReadTransaction, moment: Moment): void {
  if (moment.refHash(tx.refBlockBytes) !== tx.refBlockHash)
    throw new Rejection("TAPOS_ERROR", "Tapos check error.");
  if (tx.bytes + 2 * resultBytesMax > transactionBytesMax) {
    throw new Rejection(
      "TOO_BIG_TRANSACTION_ERROR",
      `Too big transaction, the size is ${tx.bytes} bytes`,
    );
  }
  const isLate =
    tx.expirationMs <= moment.headMs ||
    (moment.isSlotChecked && tx.expirationMs < moment.nextSlotMs);
  if (isLate || tx.expirationMs > moment.headMs + expirationMsMax) {
    throw new Rejection("TRANSACTION_EXPIRATION_ERROR", "Transaction expired");
  }
}

interface Bandwidth {
  readonly usage: number;
  readonly feeSun: bigint; // burned in its place, or for an account that is opened
}

/** By stake, else by the free quota, else all of it is burned; opening an account costs its own. */
function payBandwidth(
  state: State,
  tx: ReadTransaction,
  { parameters, headMs }: Moment,
): Bandwidth {
  const account = state.account(tx.owner)!;
  const bytes = tx.bytes + resultBytesMax;
  const opens = opensAccount(state, tx);
  const netUsed = usedAt(account.net, headMs);
  if (bytes <= account.net.limit - netUsed) {
    state.put(tx.owner, { net: { ...account.net, used: netUsed + bytes, atMs: headMs } });
    return { usage: bytes, feeSun: 0n };
  }
  const freeUsed = usedAt(account.freeNet, headMs);
  if (!opens && bytes <= parameters.getFreeNetLimit - freeUsed) {
    state.put(tx.owner, { freeNet: { used: freeUsed + bytes, atMs: headMs } });
    return { usage: bytes, feeSun: 0n };
  }
  const feeSun = BigInt(
    opens ? parameters.getCreateAccountFee : bytes * parameters.getTransactionFee,
  );
  if (account.balanceSun < feeSun)
    throw new Rejection("BANDWITH_ERROR", "Account resource insufficient error.");
  state.burn(tx.owner, feeSun);
  return { usage: 0, feeSun };
}

function opensAccount(state: State, { type, value }: ReadTransaction): boolean {
  const pays = type === "TransferContract" || type === "TransferAssetContract";
  return pays && state.account(String(value.to_address ?? "")) === undefined;
}

function transferCoins(
  state: State,
  tx: ReadTransaction,
  { parameters, headMs }: Moment,
  net: Bandwidth,
): Result {
  const to = receiverOf(tx);
  const sun = BigInt(Number(tx.value.amount ?? 0));
  if (to === tx.owner) throw invalid("Cannot transfer TRX to yourself.");
  if (sun <= 0n) throw invalid("Amount must be greater than 0.");
  const receiver = state.account(to);
  if (receiver?.isContract === true) throw invalid("Cannot transfer TRX to a smartContract.");
  const activationSun =
    receiver === undefined ? BigInt(parameters.getCreateNewAccountFeeInSystemContract) : 0n;
  if (state.account(tx.owner)!.balanceSun < sun + activationSun) {
    throw invalid("Validate TransferContract error, balance is not sufficient.");
  }
  state.burn(tx.owner, activationSun);
  state.add(tx.owner, -sun, headMs);
  state.add(to, sun, headMs);
  return plainResult(net, activationSun);
}

function transferAsset(
  state: State,
  tx: ReadTransaction,
  { parameters, headMs }: Moment,
  net: Bandwidth,
): Result {
  const to = receiverOf(tx);
  const id = Buffer.from(String(tx.value.asset_name ?? ""), "hex").toString("utf8");
  const units = BigInt(Number(tx.value.amount ?? 0));
  const owner = state.account(tx.owner)!;
  if (!state.assets.has(id)) throw invalid("No asset!");
  if (to === tx.owner) throw invalid("Cannot transfer asset to yourself.");
  if (units <= 0n) throw invalid("Amount must be greater than 0.");
  if ((owner.assets[id] ?? 0n) < units) throw invalid("assetBalance is not sufficient.");
  const isNew = state.account(to) === undefined;
  const activationSun = isNew ? BigInt(parameters.getCreateNewAccountFeeInSystemContract) : 0n;
  if (owner.balanceSun < activationSun)
    throw invalid("Validate TransferAssetActuator error, insufficient fee.");
  state.burn(tx.owner, activationSun);
  if (isNew) state.add(to, 0n, headMs);
  state.put(tx.owner, { assets: { ...owner.assets, [id]: (owner.assets[id] ?? 0n) - units } });
  const { assets } = state.account(to)!;
  state.put(to, { assets: { ...assets, [id]: (assets[id] ?? 0n) + units } });
  return plainResult(net, activationSun);
}

function trigger(state: State, tx: ReadTransaction, moment: Moment, net: Bandwidth): Result {
  const { parameters, headMs } = moment;
  const address = String(tx.value.contract_address ?? "");
  const contract = state.contracts.get(address);
  if (contract === undefined) throw invalid("No contract or not a valid smart contract");
  if (tx.feeLimitSun < 0n || tx.feeLimitSun > BigInt(parameters.getMaxFeeLimit)) {
    throw invalid(`feeLimit must be >= 0 and <= ${parameters.getMaxFeeLimit}`);
  }
  const sun = BigInt(Number(tx.value.call_value ?? 0));
  const caller = state.account(tx.owner)!;
  if (caller.balanceSun < sun)
    throw invalid("Validate InternalTransfer error, balance is not sufficient.");
  const price = BigInt(parameters.getEnergyFee);
  const stakeUsed = usedAt(caller.energy, headMs);
  const stake = Math.max(0, caller.energy.limit - stakeUsed);
  const affordable = BigInt(stake) + (caller.balanceSun - sun) / price;
  const limit = Number(min(affordable, tx.feeLimitSun / price));

  const inside = state.fork();
  inside.add(tx.owner, -sun, headMs);
  inside.add(address, sun, headMs);
  const call = {
    contract: address,
    caller: tx.owner,
    sun,
    data: String(tx.value.data ?? ""),
    nowMs: headMs,
  };
  const called = callContract(inside, contract, call);
  const isShort = called.energy > limit;
  const total = isShort ? limit : called.energy;
  const isDone = !isShort && !called.isReverted;
  const ours = isDone ? inside : state;
  const byStake = Math.min(stake, total);
  const energyFeeSun = BigInt(total - byStake) * price;
  ours.put(tx.owner, { energy: { ...caller.energy, used: stakeUsed + byStake, atMs: headMs } });
  ours.burn(tx.owner, energyFeeSun);
  if (isDone) state.become(inside);
  const energy = { energyUsage: byStake, energyFeeSun, energyTotal: total, contract: address };
  const paid = { ...plainResult(net, 0n), ...energy, feeSun: net.feeSun + energyFeeSun };
  if (isShort)
    return { ...paid, contractRet: "OUT_OF_ENERGY", message: outOfEnergy(limit, called.energy) };
  if (called.isReverted)
    return { ...paid, contractRet: "REVERT", message: "REVERT opcode executed" };
  return { ...paid, logs: called.logs, internal: called.internal, returns: called.returns };
}

function outOfEnergy(limit: number, wanted: number): string {
  return `Not enough energy for 'SSTORE' operation executing: curInvokeEnergyLimit[${limit}], curOpEnergy[${wanted - limit}], usedEnergy[${limit}]`;
}

function plainResult(net: Bandwidth, activationSun: bigint): Result {
  return {
    contractRet: "SUCCESS",
    feeSun: net.feeSun + activationSun,
    netUsage: net.usage,
    netFeeSun: net.feeSun,
    ...{
      energyUsage: 0,
      energyFeeSun: 0n,
      energyTotal: 0,
      logs: [],
      internal: [],
      returns: "",
      contract: "",
      message: "",
    },
  };
}

function receiverOf({ value }: ReadTransaction): string {
  const to = String(value.to_address ?? "");
  if (!/^41[0-9a-f]{40}$/.test(to)) throw invalid("Invalid toAddress!");
  return to;
}

function invalid(message: string): Rejection {
  return new Rejection("CONTRACT_VALIDATE_ERROR", `Contract validate error : ${message}`);
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
