/**
 * The questions of java-tron's HTTP API, answered from the chain: /wallet for the head,
 * /walletsolidity for what is solidified. Only what customers, watchers and tronweb ask. Source:
 * Tron's documentation of the HTTP API.
 */
import type { Block, Chain, ExecutedTransaction } from "./chain.ts";
import { callContract, methodOf } from "./contracts.ts";
import {
  addressOf,
  blockHeaderJson,
  blockJson,
  hexText,
  infoJson,
  shown,
  transactionJson,
} from "./printing.ts";
import { Rejection } from "./rules.ts";
import { type State, usedAt } from "./state.ts";
import {
  buildJson,
  type Json,
  type ReadTransaction,
  readHex,
  readJson,
  UnreadableTransactionError,
} from "./transaction.ts";

/** The chain as one node sees it: some blocks behind the others, or with fewer abilities. */
export interface View {
  readonly chain: Chain;
  readonly head: number;
  readonly solid: number;
  readonly estimates: boolean; // answers /wallet/estimateenergy
  readonly offered: Set<string>; // ids of transactions that this node was ever offered
  readonly swallows: boolean; // says yes to transactions and forgets them
}

type Answer = (view: View, asked: Json, isSolid: boolean) => unknown;

const builtMs = 60_000; // how long a transaction lives that the node makes up
const blocksMax = 100;

const answers: Readonly<Record<string, Answer>> = {
  getnowblock: (view, _, isSolid) => blockJson(blockAt(view, top(view, isSolid))!),
  getblock: (view, { id_or_num: wanted, detail }, isSolid) => {
    const block =
      wanted === undefined || wanted === ""
        ? blockAt(view, top(view, isSolid))
        : named(view, String(wanted), isSolid);
    if (block === undefined) return {};
    return detail === true ? blockJson(block) : blockHeaderJson(block);
  },
  getblockbynum: (view, { num }, isSolid) => blockOr(below(view, Number(num ?? 0), isSolid)),
  getblockbyid: (view, { value }, isSolid) => blockOr(named(view, String(value), isSolid)),
  getblockbylimitnext: (view, { startNum, endNum }, isSolid) => {
    const [from, to] = [Number(startNum), Number(endNum)];
    if (!(from >= 0 && to > from && to - from <= blocksMax)) return {};
    const numbers = Array.from({ length: to - from }, (_, at) => from + at);
    return shown({
      block: numbers.flatMap((one) => below(view, one, isSolid) ?? []).map(blockJson),
    });
  },
  gettransactionbyid: (view, { value }, isSolid) => {
    const place = placed(view, value, isSolid);
    return place === null ? {} : transactionJson(place.done);
  },
  gettransactioninfobyid: (view, { value }, isSolid) => {
    const place = placed(view, value, isSolid);
    return place === null ? {} : infoJson(place.block, place.done);
  },
  gettransactioninfobyblocknum: (view, { num }, isSolid) => {
    const block = below(view, Number(num ?? 0), isSolid);
    return block === undefined ? [] : block.done.map((done) => infoJson(block, done));
  },
  gettransactionfrompending: ({ chain }, { value }) => {
    const tx = chain.pending.find(({ txId }) => txId === value);
    return tx === undefined
      ? {}
      : { txID: tx.txId, raw_data: tx.rawData, raw_data_hex: tx.rawDataHex };
  },
  gettransactionlistfrompending: ({ chain }) =>
    shown({ txId: chain.pending.map(({ txId }) => txId) }),
  getpendingsize: ({ chain }) => ({ pendingSize: chain.pending.length }),
  getaccount: (view, { address }, isSolid) =>
    accountJson(stateOf(view, isSolid), addressOf(address)),
  getaccountresource: resourceJson,
  getchainparameters: ({ chain }) => ({
    chainParameter: Object.entries(chain.parameters).map(([key, value]) => ({ key, value })),
  }),
  getenergyprices: ({ chain }) => ({ prices: `0:${chain.parameters.getEnergyFee}` }),
  getbandwidthprices: ({ chain }) => ({ prices: `0:${chain.parameters.getTransactionFee}` }),
  getcontract: (view, { value }, isSolid) => contractJson(stateOf(view, isSolid), addressOf(value)),
  triggerconstantcontract: constantCall,
  estimateenergy: (view, asked, isSolid) => {
    if (!view.estimates)
      return {
        result: refusal("CONTRACT_VALIDATE_ERROR", "this node does not support estimate energy"),
      };
    const call = simulated(view, asked, isSolid);
    if (call === null)
      return { result: refusal("CONTRACT_VALIDATE_ERROR", "Smart contract is not exist.") };
    if (call.isReverted) return { result: refusal("CONTRACT_EXE_ERROR", "REVERT opcode executed") };
    return { result: { result: true }, energy_required: call.energy };
  },
  createtransaction: (view, asked) =>
    built(view, "TransferContract", {
      ...{ owner_address: addressOf(asked.owner_address), to_address: addressOf(asked.to_address) },
      amount: Number(asked.amount),
    }),
  transferasset: (view, asked) =>
    built(view, "TransferAssetContract", {
      ...{ owner_address: addressOf(asked.owner_address), to_address: addressOf(asked.to_address) },
      ...{ asset_name: String(asked.asset_name), amount: Number(asked.amount) },
    }),
  triggersmartcontract: (view, asked) => {
    const value = {
      ...{
        owner_address: addressOf(asked.owner_address),
        contract_address: addressOf(asked.contract_address),
      },
      ...shown({ data: dataOf(asked), call_value: Number(asked.call_value ?? 0) }),
    };
    const times = shown({ fee_limit: Number(asked.fee_limit ?? 0) });
    return {
      result: { result: true },
      transaction: built(view, "TriggerSmartContract", value, times),
    };
  },
  broadcasttransaction: (view, asked) => broadcast(view, () => readJson(asked)),
  broadcasthex: (view, { transaction }) => {
    const tx = readHex(transaction);
    const answer = broadcast(view, () => tx) as { code?: string; message?: string };
    const isTaken = answer.code === undefined;
    const message = Buffer.from(answer.message ?? "", "hex").toString("utf8");
    const text = JSON.stringify({ raw_data: tx.rawData, signature: tx.signatures });
    return {
      result: isTaken,
      ...answer,
      code: answer.code ?? "SUCCESS",
      message,
      transaction: text,
    };
  },
  getnodeinfo: ({ chain, head, solid }) => ({
    block: `Num:${head},ID:${chain.blocks[head]?.id}`,
    solidityBlock: `Num:${solid},ID:${chain.blocks[solid]?.id}`,
    ...{ currentConnectCount: 1, activeConnectCount: 1, configNodeInfo: { codeVersion: "4.8.0" } },
  }),
  listnodes: () => ({ nodes: [] }),
};

/** Undefined for a path that there is not. @throws UnreadableTransactionError, Rejection */
export function answerOf(view: View, path: string, asked: Json): unknown {
  const [, room = "", verb = "", ...more] = path.split("/");
  const answer = Object.hasOwn(answers, verb) ? answers[verb] : undefined;
  if (answer === undefined || more.length > 0 || (room !== "wallet" && room !== "walletsolidity"))
    return undefined;
  const isSolid = room === "walletsolidity";
  return isSolid && (verb.startsWith("broadcast") || verb.startsWith("create"))
    ? undefined
    : answer(view, asked, isSolid);
}

function top({ head, solid }: View, isSolid: boolean): number {
  return isSolid ? solid : head;
}

function blockAt({ chain }: View, number: number): Block | undefined {
  return chain.blocks[number];
}

function below(view: View, number: number, isSolid: boolean): Block | undefined {
  return number <= top(view, isSolid) ? blockAt(view, number) : undefined;
}

function named(view: View, text: string, isSolid: boolean): Block | undefined {
  const number = text.length === 64 ? Number.parseInt(text.slice(0, 16), 16) : Number(text);
  const block = below(view, number, isSolid);
  return block === undefined || (text.length === 64 && block.id !== text) ? undefined : block;
}

function blockOr(block: Block | undefined): Json {
  return block === undefined ? {} : blockJson(block);
}

function placed(
  view: View,
  value: unknown,
  isSolid: boolean,
): { readonly block: Block; readonly done: ExecutedTransaction } | null {
  const place = view.chain.placeOf(String(value).toLowerCase());
  return place !== null && place.block.number <= top(view, isSolid) ? place : null;
}

function stateOf(view: View, isSolid: boolean): State {
  return view.chain.stateAt(top(view, isSolid));
}

function accountJson(state: State, address: string): Json {
  const account = state.account(address);
  if (account === undefined) return {};
  const { balanceSun, createdAtMs, freeNet, isContract, assets } = account;
  return shown({
    address,
    balance: balanceSun,
    create_time: createdAtMs,
    type: isContract ? "Contract" : "",
    free_net_usage: freeNet.used,
    assetV2: Object.entries(assets).map(([key, value]) => ({ key, value })),
  });
}

function resourceJson(view: View, { address }: Json, isSolid: boolean): Json {
  const account = stateOf(view, isSolid).account(addressOf(address));
  if (account === undefined) return {};
  const nowMs = blockAt(view, top(view, isSolid))!.timestampMs;
  return shown({
    freeNetUsed: usedAt(account.freeNet, nowMs),
    freeNetLimit: view.chain.parameters.getFreeNetLimit,
    NetUsed: usedAt(account.net, nowMs),
    NetLimit: account.net.limit,
    EnergyUsed: usedAt(account.energy, nowMs),
    EnergyLimit: account.energy.limit,
  });
}

function contractJson(state: State, address: string): Json {
  const contract = state.contracts.get(address);
  if (contract === undefined) return {};
  const { name, owner } = contract;
  return {
    bytecode: "00",
    consume_user_resource_percent: 100,
    name,
    origin_address: owner,
    abi: {},
    contract_address: address,
  };
}

function constantCall(view: View, asked: Json, isSolid: boolean): Json {
  const call = simulated(view, asked, isSolid);
  if (call === null)
    return { result: refusal("CONTRACT_VALIDATE_ERROR", "Smart contract is not exist.") };
  const ret = call.isReverted ? [{ ret: "FAILED" }] : [{}];
  const result = {
    result: true,
    ...(call.isReverted ? { message: hexText("REVERT opcode executed") } : {}),
  };
  return {
    result,
    energy_used: call.energy,
    constant_result: [call.returns],
    ...shown({ logs: call.logs }),
    transaction: { ret },
  };
}

/** A call that leaves nothing behind; null where no contract stands. */
function simulated(view: View, asked: Json, isSolid: boolean) {
  const state = stateOf(view, isSolid).fork();
  const address = addressOf(asked.contract_address);
  const contract = state.contracts.get(address);
  if (contract === undefined) return null;
  const sun = BigInt(Number(asked.call_value ?? 0));
  const call = {
    contract: address,
    caller: addressOf(asked.owner_address),
    sun,
    data: dataOf(asked),
    nowMs: 0,
  };
  return callContract(state, contract, call);
}

function dataOf({ function_selector: selector, parameter, data }: Json): string {
  if (typeof selector === "string" && selector !== "")
    return methodOf(selector) + String(parameter ?? "");
  return String(data ?? "").replace(/^0x/, "");
}

function built(view: View, type: string, value: Json, more: Json = {}): unknown {
  const block = blockAt(view, view.head)!;
  const reference = { refBytes: block.id.slice(12, 16), refHash: block.id.slice(16, 32) };
  const times = { expiration: block.timestampMs + builtMs, timestamp: view.chain.nowMs, ...more };
  return buildJson(type, value, reference, times);
}

function broadcast({ chain, offered, swallows }: View, read: () => ReadTransaction): Json {
  const tx = read();
  try {
    // java-tron remembers what it was offered before it looks at it: a second offer of what it
    // refused is refused as known.
    if (offered.has(tx.txId))
      throw new Rejection("DUP_TRANSACTION_ERROR", "Transaction already exists.");
    offered.add(tx.txId);
    if (!swallows) chain.push(tx);
    return { result: true, txid: tx.txId };
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    return { ...refusal(error.code, error.message), txid: tx.txId };
  }
}

function refusal(code: string, message: string): Json {
  return { code, message: hexText(message) };
}

/** java-tron's answer to an unreadable question. */
export function errorJson(error: unknown): Json {
  if (error instanceof UnreadableTransactionError)
    return { Error: `class com.google.protobuf.InvalidProtocolBufferException : ${error.message}` };
  throw error;
}
