/**
 * One simulated node of Tron as its HTTP API shows it: it may lag behind the chain, miss or forget
 * receipts, call the newest blocks solidified, answer errors or nothing, take a transaction and not
 * say so, keep one to itself, and lie. The real pool judges its questions and answers. Source:
 * Tron's documentation of the HTTP API.
 */
import { AgentError } from "../../../base/fault.ts";
import { kernel, note, type RpcEndpoint } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
import { type NodeFaults, noFaults } from "./node.ts";
import { type Provider, providerNamed } from "./provider.ts";
import {
  activationSun,
  byteSun,
  type ChainTransfer,
  createAccountSun,
  type TronBlock,
  type TronChain,
} from "./tron-chain.ts";
import { readTransfer, type SignedTransfer } from "./tron-raw.ts";

type Json = Readonly<Record<string, unknown>>;
type Room = "wallet" | "walletsolidity";

interface TronNodeFaults extends NodeFaults {
  /** It has receipts of no block that is less than so many below the newest. */
  receiptsLag: number;
  /** Its index of transactions is gone. */
  hasNoIndex: boolean;
  /** It calls its newest block solidified. */
  isHasty: boolean;
  /** The backends of its provider have come as far as the chain. */
  isCaughtUp: boolean;
}

export const noTronFaults: TronNodeFaults = {
  ...noFaults,
  ...{ receiptsLag: 0, hasNoIndex: false, isHasty: false, isCaughtUp: false },
};

const transferTopic = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const silenceMs = 5_000;
const aheadMs = [600_000, 3_600_000] as const;
/** More calls to one node than any run has that goes on. */
const callsMax = 60_000;
const texts: Readonly<Record<string, string>> = {
  DUP_TRANSACTION_ERROR: "Dup transaction.",
  TAPOS_ERROR: "Tapos check error.",
  TRANSACTION_EXPIRATION_ERROR: "Transaction expired",
  SIGERROR: "Validate signature error: sig error",
  CONTRACT_VALIDATE_ERROR:
    "Contract validate error : Validate TransferContract error, balance is not sufficient.",
  BANDWITH_ERROR: "Account resource insufficient error.",
};
const hexText = (text: string): string => Buffer.from(text, "utf8").toString("hex");
const word = (value: bigint): string => value.toString(16).padStart(64, "0");

export class TronNode implements RpcEndpoint {
  faults: TronNodeFaults = { ...noTronFaults };
  readonly #chain: TronChain;
  readonly #rejects: (receiver: string) => boolean;
  readonly #onCircle: (owner: Owner) => void;
  /** As java-tron: what it was offered before is known to it, whatever it said then. */
  readonly #offered = new Set<string>();
  readonly #provider: Provider;
  #hidden: SignedTransfer[] = [];
  #calls = 0;

  constructor(
    chain: TronChain,
    rejects: (receiver: string) => boolean,
    onCircle: (owner: Owner) => void,
    provider = providerNamed("tron", ""),
  ) {
    this.#provider = provider;
    this.#chain = chain;
    this.#rejects = rejects;
    this.#onCircle = onCircle;
  }

  call(path: string, [asked]: readonly unknown[], isWrite: boolean): Promise<unknown> {
    const { random, scheduler } = kernel;
    const { error, silence, slowMs } = this.faults;
    const owner = scheduler.current;
    const fields = asked as Json;
    this.#calls += 1;
    if (this.#calls > callsMax) {
      this.#onCircle(owner);
      return new Promise(() => {});
    }
    note(
      `asks ${path}`,
      isWrite
        ? String(fields.transaction).slice(-16)
        : String(fields.num ?? fields.value ?? "").slice(0, 16),
    );
    if (error > 0 && random.fault("node error", error)) {
      const isRefused = random.below("refused or failed", 2) === 0;
      if (isRefused)
        return Promise.reject(
          new AgentError("NODE_UNREACHABLE", "none", "no connection: simulated", { path }),
        );
      return Promise.resolve({ Error: "class java.lang.NullPointerException : simulated" });
    }
    if (silence > 0 && random.fault("node silence", silence)) {
      if (random.below("silence after", 2) === 1) this.#answer(path, fields);
      return new Promise((_, reject) => {
        scheduler.after(silenceMs, owner, () =>
          reject(
            new AgentError("NODE_TIMEOUT", isWrite ? "unknown" : "none", "no answer: simulated", {
              path,
            }),
          ),
        );
      });
    }
    const answer = (): Promise<unknown> => this.#provided(path, fields, isWrite);
    if (slowMs === 0) return answer();
    return new Promise((resolve) => {
      scheduler.after(random.below("node delay", slowMs), owner, () => resolve(answer()));
    });
  }

  /** As the provider has it: a fault of HTTP rejects. */
  async #provided(path: string, fields: Json, isWrite: boolean): Promise<unknown> {
    this.#provider.begin(path, isWrite);
    const refused = isWrite ? this.#provider.send() : null;
    if (refused !== null)
      return { result: false, code: refused.code, message: hexText(refused.code) };
    const answer = this.#answer(path, fields);
    return this.#provider.fields(path, answer, this.#top(path.split("/")[1] as Room).number);
  }

  /** The transactions that it kept to itself reach the others. */
  passOn(): void {
    for (const transfer of this.#hidden.splice(0)) this.#chain.offer(transfer);
  }

  #top(room: Room): TronBlock {
    const { blocks, solidNumber } = this.#chain;
    const backendLag = this.faults.isCaughtUp ? 0 : this.#provider.behind(blocks.length - 1);
    const lagBlocks = this.faults.lagBlocks + backendLag;
    const head = Math.max(0, blocks.length - 1 - lagBlocks);
    const solid = Math.max(0, Math.min(head, solidNumber - lagBlocks));
    return blocks[room === "wallet" || this.faults.isHasty ? head : solid] as TronBlock;
  }

  #answer(path: string, fields: Json): unknown {
    const [, room, verb = ""] = path.split("/");
    if (verb === "broadcasthex") return this.#send(String(fields.transaction));
    const honest = this.#read(room as Room, verb, fields);
    const { lie } = this.faults;
    return lie > 0 && kernel.random.fault("node lie", lie)
      ? this.#lie(verb, fields, honest)
      : honest;
  }

  #read(room: Room, verb: string, fields: Json): unknown {
    const top = this.#top(room);
    switch (verb) {
      case "getblock":
        return headJson(
          fields.id_or_num === undefined ? top : this.#blockAt(Number(fields.id_or_num), top),
        );
      case "getblockbynum":
        return blockJson(this.#blockAt(Number(fields.num), top));
      case "gettransactioninfobyid":
        return this.#receipt(String(fields.value), top);
      case "gettransactioninfobyblocknum": {
        const block = this.#blockAt(Number(fields.num), top);
        return block === null || this.#hasNoReceipts(block)
          ? []
          : block.done.map((one) => receiptJson(block, one));
      }
      case "getaccount":
        return this.#account(String(fields.address), top);
      case "getchainparameters":
        return parametersJson(this.#chain.energySun);
      case "triggerconstantcontract":
        return this.#trial(fields, top);
      default:
        return {};
    }
  }

  #blockAt(number: number, top: TronBlock): TronBlock | null {
    return number > top.number ? null : (this.#chain.blocks[number] ?? null);
  }

  #hasNoReceipts({ number }: TronBlock): boolean {
    const { receiptsLag, hasNoIndex } = this.faults;
    return hasNoIndex || number > this.#chain.top.number - receiptsLag;
  }

  #receipt(hash: string, top: TronBlock): Json {
    const block = this.#chain.includedIn(hash);
    const done = this.#chain.doneOf(hash);
    return block === null ||
      done === null ||
      block.number > top.number ||
      this.#hasNoReceipts(block)
      ? {}
      : receiptJson(block, done);
  }

  #account(address: string, top: TronBlock): Json {
    if (this.#rejects(address)) return { address, type: "Contract" };
    const purse = top.purses.get(address);
    return purse?.isActive !== true ? {} : { address, balance: Number(purse.sun) };
  }

  #trial({ contract_address: contract, data }: Json, top: TronBlock): Json {
    const text = String(data);
    const argument = `41${text.slice(32, 72)}`;
    if (contract !== this.#chain.options.contract)
      return { result: { code: "CONTRACT_VALIDATE_ERROR", message: "" } };
    const done = { result: { result: true }, transaction: { ret: [{}] } };
    if (text.startsWith("313ce567"))
      return { ...done, energy_used: 900, constant_result: [word(6n)] };
    if (text.startsWith("70a08231")) {
      return {
        ...done,
        energy_used: 900,
        constant_result: [word(this.#chain.purseOf(argument, top).units)],
      };
    }
    if (this.#rejects(argument)) return revertedTrial;
    const energy = Number(this.#chain.energyFor(argument, top.purses));
    return { ...done, energy_used: energy, constant_result: [word(0n)] };
  }

  #send(raw: string): Json {
    const transfer = readTransfer(raw);
    if (transfer === null)
      return { result: false, code: "OTHER_ERROR", message: hexText("no transaction") };
    const txid = transfer.hash;
    if (this.faults.hides > 0 && kernel.random.fault("node hides", this.faults.hides)) {
      this.#hidden.push(transfer);
      return { result: true, code: "SUCCESS", txid };
    }
    const answer =
      this.#offered.has(txid) && !this.#chain.pool.has(txid)
        ? this.#again(transfer)
        : this.#chain.offer(transfer);
    this.#offered.add(txid);
    note("offered", answer, () => `${txid.slice(0, 8)} ${answer}`);
    if (answer === "SUCCESS") return { result: true, code: "SUCCESS", txid };
    return { result: false, code: answer, message: hexText(texts[answer] ?? ""), txid };
  }

  /**
   * A transaction that the node forgot or dropped may be offered again after a while; until then
   * the node calls it known.
   */
  #again(transfer: SignedTransfer): ReturnType<TronChain["offer"]> {
    const isStillKnown = kernel.random.below("it still knows the id", 3) === 0;
    return isStillKnown ? "DUP_TRANSACTION_ERROR" : this.#chain.offer(transfer);
  }

  /** Something else in the same shape. */
  #lie(verb: string, fields: Json, honest: unknown): unknown {
    const { random } = kernel;
    const turn = random.below("lie", 4);
    if (verb === "gettransactioninfobyid")
      return this.#lieAboutReceipt(String(fields.value), honest as Json, turn);
    if (verb === "getblock") return lieAboutHead(honest as Json, turn);
    if (verb === "getblockbynum") return this.#lieAboutBlock(honest as Json, turn);
    if (verb === "getaccount") return { ...(honest as Json), balance: turn < 2 ? 0 : 10 ** 15 };
    if (verb === "getchainparameters")
      return parametersJson(random.pick("energy's price", [1n, 100_000n]));
    if (verb !== "triggerconstantcontract") return honest;
    if (turn === 0) return revertedTrial;
    const { energy_used: energy } = honest as { energy_used?: number };
    return {
      ...(honest as Json),
      energy_used: Math.floor((energy ?? 0) * (turn === 1 ? 10 : 0.4)),
      constant_result: [word(1n)],
    };
  }

  #lieAboutReceipt(hash: string, honest: Json, turn: number): Json {
    if (honest.id === undefined) {
      const waiting = this.#chain.pool.get(hash);
      const block = this.#top(turn < 2 ? "wallet" : "walletsolidity");
      return waiting === undefined
        ? invented(hash, block)
        : receiptJson(block, { transfer: waiting, ret: "SUCCESS", feeSun: 1n });
    }
    if (turn === 0) return {};
    if (turn === 1) return { ...honest, blockNumber: Number(honest.blockNumber) - 1 };
    const { result, receipt, ...others } = honest;
    if (result === "FAILED")
      return { ...others, receipt: { ...(receipt as Json), result: "SUCCESS" } };
    return {
      ...others,
      result: "FAILED",
      receipt: { ...(receipt as Json), result: "OUT_OF_ENERGY" },
      log: [],
    };
  }

  #lieAboutBlock(honest: Json, turn: number): Json {
    if (turn < 2) return withoutTransactions(honest);
    const [waiting] = this.#chain.pool.values();
    if (turn === 2 && waiting !== undefined && honest.blockID !== undefined) {
      return {
        ...honest,
        transactions: [transactionJson({ transfer: waiting, ret: "SUCCESS", feeSun: 1n })],
      };
    }
    return lieAboutHead(honest, turn);
  }
}

const revertedTrial: Json = {
  result: { result: true, message: hexText("REVERT opcode executed") },
  ...{ energy_used: 4_200, constant_result: [], transaction: { ret: [{ ret: "FAILED" }] } },
};

/** Long past everything that was ever signed, or another block. */
function lieAboutHead(honest: Json, turn: number): Json {
  const { block_header: header, blockID: id } = honest as {
    block_header?: { raw_data: Json };
    blockID?: string;
  };
  if (header === undefined || id === undefined) return honest;
  const raw = header.raw_data;
  if (turn === 3)
    return { ...honest, blockID: `${id.slice(0, 62)}${id.endsWith("00") ? "11" : "00"}` };
  const timestamp = Number(raw.timestamp) + kernel.random.pick("ahead by", aheadMs);
  return { ...honest, block_header: { raw_data: { ...raw, timestamp } } };
}

function withoutTransactions({ transactions, ...others }: Json): Json {
  return others;
}

function invented(id: string, block: TronBlock): Json {
  return {
    id,
    blockNumber: block.number,
    blockTimeStamp: block.timestampMs,
    fee: 1,
    receipt: { net_usage: 345 },
  };
}

function parametersJson(energySun: bigint): Json {
  const figures = {
    getEnergyFee: energySun,
    getTransactionFee: byteSun,
    getCreateAccountFee: createAccountSun,
    getCreateNewAccountFeeInSystemContract: activationSun,
  };
  return {
    chainParameter: Object.entries(figures).map(([key, value]) => ({ key, value: Number(value) })),
  };
}

const told = { head: new WeakMap<TronBlock, Json>(), whole: new WeakMap<TronBlock, Json>() };

/** Each block is put into words once. */
function headJson(block: TronBlock | null): Json {
  if (block === null) return {};
  const known = told.head.get(block);
  if (known !== undefined) return known;
  const { number, id, parentId, timestampMs: timestamp } = block;
  const made = {
    blockID: id,
    block_header: { raw_data: { number, parentHash: parentId, timestamp } },
  };
  told.head.set(block, made);
  return made;
}

function blockJson(block: TronBlock | null): Json {
  if (block === null || block.done.length === 0) return headJson(block);
  const known = told.whole.get(block) ?? {
    ...headJson(block),
    transactions: block.done.map(transactionJson),
  };
  told.whole.set(block, known);
  return known;
}

function transactionJson({ transfer, ret }: ChainTransfer): Json {
  const { hash, owner, contract, receiver, units, data } = transfer;
  const isCoin = contract === "";
  const value = isCoin
    ? { owner_address: owner, to_address: receiver, amount: Number(units) }
    : { owner_address: owner, contract_address: contract, data };
  const type = isCoin ? "TransferContract" : "TriggerSmartContract";
  return {
    ret: [{ contractRet: ret }],
    txID: hash,
    raw_data: { contract: [{ type, parameter: { value } }] },
  };
}

function receiptJson(block: TronBlock, { transfer, ret, feeSun }: ChainTransfer): Json {
  const { hash, owner, contract, receiver, units } = transfer;
  const isCall = contract !== "";
  const topics = [
    transferTopic,
    owner.slice(2).padStart(64, "0"),
    receiver.slice(2).padStart(64, "0"),
  ];
  const log = { address: contract.slice(2), topics, data: word(units) };
  return {
    ...{
      id: hash,
      fee: Number(feeSun),
      blockNumber: block.number,
      blockTimeStamp: block.timestampMs,
    },
    receipt: isCall ? { result: ret } : {},
    ...(isCall && ret === "SUCCESS" ? { log: [log] } : {}),
    ...(ret === "SUCCESS" ? {} : { result: "FAILED" }),
  };
}
