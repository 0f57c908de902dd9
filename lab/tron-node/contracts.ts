/**
 * The contracts of the fake's chain, by the effect that real ones have: a USDT whose event is
 * right and whose return value says false, tokens that take a fee, are paused, or tell of transfers
 * that never were, one that pays many in a single transaction, and one whose calls have entries of
 * coins that never move. Approvals are not modelled. No virtual machine: figures of energy are
 * those that USDT takes on the main network.
 */
import { utils } from "tronweb";
import type { Contract, State } from "./state.ts";

export interface Log {
  readonly address: string; // 20 bytes, without 41, as in java-tron's receipts
  readonly topics: readonly string[];
  readonly data: string;
}

/**
 * An entry of a call inside. Coins moved where nothing else is said: a note other than call, create
 * and suicide, and an entry that is rejected, move none.
 */
export interface InternalTransfer {
  readonly from: string;
  readonly to: string;
  readonly sun: bigint;
  readonly note?: string; // call unless told
  readonly isRejected?: boolean;
}

export interface CallResult {
  readonly isReverted: boolean;
  readonly returns: string; // hex
  readonly logs: readonly Log[];
  readonly internal: readonly InternalTransfer[];
  readonly energy: number;
}

export interface Call {
  readonly contract: string; // 41…, hex
  readonly caller: string;
  readonly sun: bigint; // sent along, already with the contract
  readonly data: string; // hex
  readonly nowMs: number;
}

/** A receiver that held some of the token before costs half of one that begins. */
const energyHolder = 64_285;
const energyNewHolder = 130_285;
const energyRead = 935;
const energyRevert = 4_200;
const transferTopic = selectorOf("Transfer(address,address,uint256)", 64);
const feePerCent = 1n;

const selectors = {
  transfer: selectorOf("transfer(address,uint256)"),
  balanceOf: selectorOf("balanceOf(address)"),
  decimals: selectorOf("decimals()"),
  symbol: selectorOf("symbol()"),
  name: selectorOf("name()"),
  disperseEther: selectorOf("disperseEther(address[],uint256[])"),
  disperseToken: selectorOf("disperseToken(address,address[],uint256[])"),
  delegate: selectorOf("delegateResource(address[],uint256[])"),
  payAndUndo: selectorOf("payAndUndo(address[],uint256[])"),
};

function selectorOf(signature: string, digits = 8): string {
  return utils.crypto.sha3(signature, false).slice(0, digits);
}

const coder = utils.ethersUtils.AbiCoder.defaultAbiCoder();

/** Carries a call out on `state`, which the caller gives up when it reverted. */
export function callContract(state: State, contract: Contract, call: Call): CallResult {
  const selector = call.data.slice(0, 8);
  const words = call.data.slice(8);
  if (contract.kind === "disperse") return disperse(state, selector, words, call);
  if (contract.kind === "staking") return stake(selector, words, call);
  switch (selector) {
    case selectors.transfer:
      return transfer(state, contract, call, words);
    case selectors.balanceOf:
      return reading(word(state.held(call.contract, addressAt(words, 0))));
    case selectors.decimals:
      return reading(word(BigInt(contract.decimals)));
    case selectors.symbol:
      return reading(coder.encode(["string"], [contract.symbol]).slice(2));
    case selectors.name:
      return reading(coder.encode(["string"], [contract.name]).slice(2));
    default:
      return reverted;
  }
}

const reverted: CallResult = {
  isReverted: true,
  returns: "",
  logs: [],
  internal: [],
  energy: energyRevert,
};

function reading(returns: string): CallResult {
  return { isReverted: false, returns, logs: [], internal: [], energy: energyRead };
}

function transfer(
  state: State,
  contract: Contract,
  { contract: address, caller, sun }: Call,
  words: string,
): CallResult {
  const to = addressAt(words, 0);
  const units = unitsAt(words, 1);
  const held = state.held(address, caller);
  if (words.length < 128 || sun > 0n || contract.kind === "paused") return reverted;
  if (contract.kind === "liar") return moved([logOf(address, caller, to, units)], energyHolder, 1n);
  if (held < units) return reverted;
  const energy = state.held(address, to) > 0n ? energyHolder : energyNewHolder;
  const fee = contract.kind === "fee" ? (units * feePerCent) / 100n : 0n;
  move(state, address, caller, to, units - fee);
  const logs = [logOf(address, caller, to, units - fee)];
  if (fee > 0n) {
    move(state, address, caller, contract.owner, fee);
    logs.push(logOf(address, caller, contract.owner, fee));
  }
  // USDT's transfer on the main network ends without a return statement, and so says false.
  return moved(logs, energy, contract.kind === "usdt" ? 0n : 1n);
}

function moved(logs: readonly Log[], energy: number, returned: bigint): CallResult {
  return { isReverted: false, returns: word(returned), logs, internal: [], energy };
}

function disperse(
  state: State,
  selector: string,
  words: string,
  { contract, caller, sun, nowMs }: Call,
): CallResult {
  if (selector === selectors.disperseEther) {
    const [receivers, amounts] = decoded(["address[]", "uint256[]"], words) as [string[], bigint[]];
    if (amounts.reduce((sum, one) => sum + one, 0n) !== sun) return reverted;
    const internal = receivers.map((to, at) => ({
      from: contract,
      to: tronOf(to),
      sun: amounts[at] ?? 0n,
    }));
    for (const one of internal) {
      state.add(contract, -one.sun, nowMs);
      state.add(one.to, one.sun, nowMs);
    }
    return {
      isReverted: false,
      returns: "",
      logs: [],
      internal,
      energy: 12_000 + 34_000 * internal.length,
    };
  }
  if (selector !== selectors.disperseToken) return reverted;
  const [named, receivers, amounts] = decoded(["address", "address[]", "uint256[]"], words) as [
    string,
    string[],
    bigint[],
  ];
  const token = tronOf(named);
  if (state.held(token, caller) < amounts.reduce((sum, one) => sum + one, 0n)) return reverted;
  const logs = receivers.map((receiver, at) => {
    const [to, units] = [tronOf(receiver), amounts[at] ?? 0n];
    move(state, token, caller, to, units);
    return logOf(token, caller, to, units);
  });
  return {
    isReverted: false,
    returns: "",
    logs,
    internal: [],
    energy: 12_000 + energyHolder * logs.length,
  };
}

/**
 * Lends staked coins' energy to every receiver, or pays each in a call inside that is undone. No
 * coin moves; java-tron lists an entry for each. Sources: tronprotocol/java-tron#5945 for the
 * first, trezor/blockbook#1682 for the second.
 */
function stake(selector: string, words: string, { contract, sun }: Call): CallResult {
  const isUndone = selector === selectors.payAndUndo;
  if ((selector !== selectors.delegate && !isUndone) || sun > 0n) return reverted;
  const [receivers, amounts] = decoded(["address[]", "uint256[]"], words) as [string[], bigint[]];
  const entry = isUndone ? { isRejected: true } : { note: "delegateResourceOfEnergy" };
  const internal = receivers.map((to, at) => ({
    from: contract,
    to: tronOf(to),
    sun: amounts[at] ?? 0n,
    ...entry,
  }));
  return {
    isReverted: false,
    returns: "",
    logs: [],
    internal,
    energy: 12_000 + 34_000 * internal.length,
  };
}

function move(state: State, contract: string, from: string, to: string, units: bigint): void {
  state.hold(contract, from, state.held(contract, from) - units);
  state.hold(contract, to, state.held(contract, to) + units);
}

function logOf(contract: string, from: string, to: string, units: bigint): Log {
  const topics = [transferTopic, from.slice(2).padStart(64, "0"), to.slice(2).padStart(64, "0")];
  return { address: contract.slice(2), topics, data: word(units) };
}

function decoded(types: readonly string[], words: string): unknown[] {
  return [...coder.decode(types, `0x${words}`)].map((one) =>
    typeof one === "object" ? [...one] : one,
  );
}

/** As the machine masks it: the twelve bytes before an address are not looked at. */
function addressAt(words: string, at: number): string {
  return `41${words.slice(at * 64 + 24, at * 64 + 64).padStart(40, "0")}`;
}

function unitsAt(words: string, at: number): bigint {
  return BigInt(`0x0${words.slice(at * 64, at * 64 + 64)}`);
}

function tronOf(address: string): string {
  return `41${address.slice(2).toLowerCase()}`;
}

function word(value: bigint): string {
  return value.toString(16).padStart(64, "0");
}

/** The call that pays many holders, or many accounts coins, in one transaction. */
export function encodeDisperse(
  token: string,
  receivers: readonly string[],
  amounts: readonly bigint[],
): string {
  const to = receivers.map((one) => `0x${one.slice(2)}`);
  if (token === "")
    return (
      selectors.disperseEther + coder.encode(["address[]", "uint256[]"], [to, amounts]).slice(2)
    );
  const values = [`0x${token.slice(2)}`, to, amounts];
  return (
    selectors.disperseToken + coder.encode(["address", "address[]", "uint256[]"], values).slice(2)
  );
}

/** The call whose entries move nothing: of lent energy, or of payments that are undone. */
export function encodeDelegation(
  isUndone: boolean,
  receivers: readonly string[],
  amounts: readonly bigint[],
): string {
  const to = receivers.map((one) => `0x${one.slice(2)}`);
  const selector = isUndone ? selectors.payAndUndo : selectors.delegate;
  return selector + coder.encode(["address[]", "uint256[]"], [to, amounts]).slice(2);
}

export function encodeTransfer(to: string, units: bigint): string {
  return selectors.transfer + to.slice(2).padStart(64, "0") + word(units);
}

export function methodOf(signature: string): string {
  return selectorOf(signature);
}
