/**
 * One simulated node of the XRP Ledger as its JSON-RPC shows it, on a chain whose every block is
 * validated: it may lag behind, answer errors or nothing, take a transaction and not say so, keep
 * one to itself, and lie. The real pool judges its questions and answers. Source: the ledger's
 * documentation of its public methods.
 */
import { AgentError } from "../../../base/fault.ts";
import type { RpcReply } from "../../../chains/xrp/rpc.ts";
import { kernel, note, type RpcEndpoint } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
import type { Block, Chain, IncludedTransaction } from "./chain.ts";
import { type NodeFaults, noFaults } from "./node.ts";
import { ledgersBefore, readSequenceRaw, type SequenceTransaction } from "./sequence-raw.ts";

type Json = Readonly<Record<string, unknown>>;

const silenceMs = 5_000;
/** More calls to one node than any run has that goes on. */
const callsMax = 20_000;
/** Seconds from the Unix epoch to that of the ledger. */
const epochSeconds = 946_684_800;
const reserveDrops = 1_000_000n;
/** An account of others. */
const outsider = "rrrrrrrrrrrrrrrrrrrrBZbvji";
/** The parts of a receiver that no simulated payment changes for anybody. */
const receiversDrops = 50_000_000n;
/** lsfDepositAuth */
const authorizesDeposits = 0x0100_0000;
const engine = {
  accepted: "tesSUCCESS",
  known: "tefALREADY",
  "slot-consumed": "tefPAST_SEQ",
  underpriced: "telCAN_NOT_QUEUE_FEE",
  funds: "terINSUF_FEE_B",
  intrinsic: "telINSUF_FEE_P",
  expired: "tefMAX_LEDGER",
} as const;

export class SequenceNode implements RpcEndpoint {
  faults: NodeFaults = { ...noFaults };
  readonly #chain: Chain;
  readonly #account: string;
  readonly #rejects: (receiver: string) => boolean;
  readonly #onCircle: (owner: Owner) => void;
  #hidden: SequenceTransaction[] = [];
  #calls = 0;

  constructor(
    chain: Chain,
    account: string,
    rejects: (receiver: string) => boolean,
    onCircle: (owner: Owner) => void,
  ) {
    this.#chain = chain;
    this.#account = account;
    this.#rejects = rejects;
    this.#onCircle = onCircle;
  }

  call(method: string, [asked]: readonly unknown[], isWrite: boolean): Promise<unknown> {
    const { random, scheduler } = kernel;
    const { error, silence, slowMs } = this.faults;
    const owner = scheduler.current;
    const fields = asked as Json;
    this.#calls += 1;
    if (this.#calls > callsMax) {
      this.#onCircle(owner);
      return new Promise(() => {});
    }
    note(`asks ${method}`, isWrite ? String(fields.tx_blob).slice(-16) : 0);
    if (error > 0 && random.fault("node error", error)) {
      const isRefused = random.below("refused or failed", 2) === 0;
      if (isRefused)
        return Promise.reject(
          new AgentError("NODE_UNREACHABLE", "none", "no connection: simulated", { method }),
        );
      return Promise.resolve(failed("internal", "simulated"));
    }
    if (silence > 0 && random.fault("node silence", silence)) {
      if (random.below("silence after", 2) === 1) this.#answer(method, fields);
      return new Promise((_, reject) => {
        scheduler.after(silenceMs, owner, () =>
          reject(
            new AgentError("NODE_TIMEOUT", isWrite ? "unknown" : "none", "no answer: simulated", {
              method,
            }),
          ),
        );
      });
    }
    if (slowMs === 0) return Promise.resolve(this.#answer(method, fields));
    return new Promise((resolve) => {
      scheduler.after(random.below("node delay", slowMs), owner, () =>
        resolve(this.#answer(method, fields)),
      );
    });
  }

  /** The transactions that it kept to itself reach the others. */
  passOn(): void {
    for (const transaction of this.#hidden.splice(0)) this.#chain.offer(transaction);
  }

  get #top(): Block {
    const { blocks } = this.#chain;
    return blocks[Math.max(0, blocks.length - 1 - this.faults.lagBlocks)] as Block;
  }

  #answer(method: string, fields: Json): RpcReply {
    if (method === "submit") return this.#submit(String(fields.tx_blob));
    const honest = this.#read(method, fields);
    const { lie, aheadBlocks } = this.faults;
    if (lie > 0 && kernel.random.fault("node lie", lie)) return this.#lie(method, fields, honest);
    const isNewest = aheadBlocks > 0 && method === "ledger" && fields.ledger_index === "validated";
    return isNewest && honest.ok ? numberedHigher(honest.result, aheadBlocks) : honest;
  }

  #read(method: string, fields: Json): RpcReply {
    switch (method) {
      case "server_info":
        return told({ info: this.#info() });
      case "fee":
        return told({ drops: { base_fee: "10", open_ledger_fee: `${this.#chain.baseFeeWei}` } });
      case "ledger":
        return this.#ledger(fields.ledger_index);
      case "account_info":
        return this.#accountInfo(String(fields.account), fields.ledger_index);
      case "account_tx":
        return this.#history(fields);
      case "tx":
        return this.#transaction(String(fields.transaction));
      default:
        return failed("unknownCmd", method);
    }
  }

  #info(): Json {
    return {
      network_id: 1,
      complete_ledgers: `${ledgersBefore}-${ledgersBefore + this.#top.number}`,
      validated_ledger: { reserve_base_xrp: 1, reserve_inc_xrp: 0.2 },
    };
  }

  /** Null for a ledger that this node has not. */
  #blockAt(index: unknown): Block | null {
    const top = this.#top;
    if (typeof index !== "number") return top;
    const number = index - ledgersBefore;
    return number > top.number ? null : (this.#chain.blocks[number] ?? null);
  }

  /** A ledger of before the run, where they are kept. */
  #blockBefore(index: unknown): Pick<Block, "number" | "hash" | "parentHash" | "timestamp"> | null {
    const { nonce, startedAt } = this.#chain.options;
    if (typeof index !== "number" || index >= ledgersBefore || nonce % 2 === 1) return null;
    const hash = `0x${index.toString(16).padStart(64, "0")}`;
    const timestamp = Math.floor(startedAt / 1000) - 4 * (ledgersBefore - index);
    return { number: index - ledgersBefore, hash, parentHash: hash, timestamp };
  }

  #ledger(index: unknown): RpcReply {
    const block = this.#blockAt(index) ?? this.#blockBefore(index);
    if (block === null) return failed("lgrNotFound", "ledgerNotFound");
    const { number, hash, parentHash, timestamp } = block;
    const names = {
      ledger_index: number + ledgersBefore,
      ledger_hash: hexOf(hash),
      validated: true,
    };
    return told({
      ...names,
      ledger: { parent_hash: hexOf(parentHash), close_time: timestamp - epochSeconds },
    });
  }

  /** The account in a ledger of before the run; nodes of every second chain do not keep them. */
  #accountBefore(address: string, index: number): RpcReply {
    const { nonce } = this.#chain.options;
    if (nonce % 2 === 1 || address !== this.#account)
      return failed("lgrNotFound", "ledgerNotFound");
    const names = { validated: true, ledger_index: index };
    if (index < nonce)
      return {
        ok: false,
        error: "actNotFound",
        words: "actNotFound: Account not found.",
        result: names,
      };
    return told({
      ...names,
      account_data: { Account: address, Sequence: nonce, Balance: "1", OwnerCount: 0, Flags: 0 },
    });
  }

  #accountInfo(address: string, index: unknown): RpcReply {
    if (typeof index === "number" && index < ledgersBefore)
      return this.#accountBefore(address, index);
    const block = this.#blockAt(index);
    if (block === null) return failed("lgrNotFound", "ledgerNotFound");
    const isOpen = index === "current";
    const names = isOpen
      ? { validated: false }
      : { validated: true, ledger_index: block.number + ledgersBefore };
    if (address !== this.#account) {
      const Flags = this.#rejects(address) ? authorizesDeposits : 0;
      const Balance = `${receiversDrops + reserveDrops}`;
      return told({
        ...names,
        account_data: { Account: address, Sequence: 7, Balance, OwnerCount: 0, Flags },
      });
    }
    const data = {
      Account: address,
      Sequence: block.nonce,
      Balance: `${block.nativeWei}`,
      OwnerCount: 0,
      Flags: 0,
    };
    return told({
      ...names,
      account_data: data,
      ...(isOpen ? { queue_data: this.#queue(block.nonce) } : {}),
    });
  }

  #queue(nonce: number): Json {
    let next = nonce;
    while (this.#chain.pool.has(next)) next += 1;
    return next === nonce
      ? { txn_count: 0 }
      : { txn_count: next - nonce, lowest_sequence: nonce, highest_sequence: next - 1 };
  }

  #history({ account, ledger_index_min: min, ledger_index_max: max, forward }: Json): RpcReply {
    const top = this.#top.number;
    const from = Math.max(0, Number(min) < 0 ? 0 : Number(min) - ledgersBefore);
    const to = Math.min(top, Number(max) < 0 ? top : Number(max) - ledgersBefore);
    if (to < from) return failed("lgrIdxsInvalid", "Ledger indexes invalid.");
    const blocks = account === this.#account ? this.#chain.blocks.slice(from, to + 1) : [];
    const listed = blocks.flatMap((block) =>
      block.included.map((one) => {
        const { meta, ...tx } = transactionJson(block, one);
        return { meta, tx, validated: true };
      }),
    );
    const isWhole =
      Number(min) < 0 && account === this.#account && this.#chain.options.nonce % 2 === 0;
    const all = isWhole ? [this.#creation(), ...listed] : listed;
    const transactions = forward === true ? all : all.reverse();
    return told({
      ledger_index_min: isWhole ? this.#chain.options.nonce : from + ledgersBefore,
      ledger_index_max: to + ledgersBefore,
      transactions,
    });
  }

  /** The payment of an outsider that made the account, where old ledgers are kept. */
  #creation(): Json {
    const { nonce } = this.#chain.options;
    const drops = `${reserveDrops}`;
    const fields = { Account: this.#account, Balance: drops };
    const node = { CreatedNode: { LedgerEntryType: "AccountRoot", NewFields: fields } };
    const meta = {
      TransactionResult: "tesSUCCESS",
      delivered_amount: drops,
      AffectedNodes: [node],
    };
    const from = {
      Account: outsider,
      Destination: this.#account,
      Amount: drops,
      Fee: "12",
      Sequence: 1,
    };
    const tx = { ...from, TransactionType: "Payment", hash: "C0".repeat(32), ledger_index: nonce };
    return { meta, tx, validated: true };
  }

  #transaction(hash: string): RpcReply {
    const block = this.#chain.includedIn(hash);
    if (block !== null && block.number <= this.#top.number) {
      const one = block.included.find(
        ({ transaction }) => transaction.hash === hash,
      ) as IncludedTransaction;
      return told({ ...transactionJson(block, one), validated: true });
    }
    const isWaiting = [...this.#chain.pool.values()].some((one) => one.hash === hash);
    return isWaiting
      ? told({ hash, validated: false })
      : failed("txnNotFound", "Transaction not found.");
  }

  #submit(raw: string): RpcReply {
    const transaction = readSequenceRaw(raw);
    if (transaction === null) return failed("invalidTransaction", "no transaction");
    const { hash } = transaction;
    if (this.faults.hides > 0 && kernel.random.fault("node hides", this.faults.hides)) {
      this.#hidden.push(transaction);
      return submitted("tesSUCCESS", hash);
    }
    const answer = this.#chain.offer(transaction);
    note("offered", answer, () => `sequence ${transaction.nonce} ${answer}`);
    return submitted(engine[answer], hash);
  }

  /** Something else in the same shape. */
  #lie(method: string, fields: Json, honest: RpcReply): RpcReply {
    const { random } = kernel;
    const turn = random.below("lie", 4);
    if (method === "fee")
      return told({
        drops: { base_fee: "10", open_ledger_fee: random.pick("fee", ["90000", "10", "5000"]) },
      });
    if (method === "tx" && (!honest.ok || honest.result.validated !== true))
      return this.#invented(String(fields.transaction));
    if (!honest.ok) return honest;
    const { result } = honest;
    if (method === "tx")
      return turn === 0
        ? failed("txnNotFound", "Transaction not found.")
        : lieAboutMeta(result, turn);
    if (method === "account_info") return lieAboutAccount(result, turn);
    if (method === "account_tx")
      return told({ ...result, transactions: turn < 2 ? [] : halfOf(result.transactions) });
    if (method === "ledger") {
      if (turn === 0) return told({ ...result, ledger_hash: "AB".repeat(32) });
      return fields.ledger_index === "validated"
        ? numberedHigher(result, random.pick("ahead by", [1, 2, 50]))
        : honest;
    }
    return honest;
  }

  /** Transactions of the pool, shown as if they were in the newest ledger. */
  #invented(hash: string): RpcReply {
    const waiting = [...this.#chain.pool.values()].find((one) => one.hash === hash);
    if (waiting === undefined) return failed("txnNotFound", "Transaction not found.");
    const one: IncludedTransaction = {
      transaction: waiting,
      status: 1,
      gasUsed: 1n,
      gasPriceWei: waiting.feeMaxWei,
    };
    return told({ ...transactionJson(this.#top, one), validated: true });
  }
}

function told(result: Json): RpcReply {
  return { ok: true, result };
}

function failed(error: string, words: string): RpcReply {
  return { ok: false, error, words: `${error}: ${words}`, result: {} };
}

function submitted(result: string, hash: string): RpcReply {
  const isTaken = result === "tesSUCCESS";
  return told({
    engine_result: result,
    tx_json: { hash },
    applied: isTaken,
    kept: isTaken,
    queued: false,
  });
}

function hexOf(text: string): string {
  return text.replace(/^0x/, "").toUpperCase();
}

function halfOf(list: unknown): readonly unknown[] {
  const all = list as readonly unknown[];
  return all.slice(0, Math.floor(all.length / 2));
}

function numberedHigher(result: Json, ledgers: number): RpcReply {
  return told({ ...result, ledger_index: Number(result.ledger_index) + ledgers });
}

function lieAboutAccount(result: Json, turn: number): RpcReply {
  const data = result.account_data as Json;
  const sequence = Math.max(1, Number(data.Sequence) + kernel.random.pick("sequence", [40, 1, -1]));
  if (turn < 2) return told({ ...result, account_data: { ...data, Sequence: sequence } });
  if (turn === 2)
    return told({
      ...result,
      account_data: { ...data, Balance: kernel.random.pick("balance", ["0", `${10n ** 15n}`]) },
    });
  return told({ ...result, account_data: { ...data, Flags: authorizesDeposits } });
}

function lieAboutMeta(result: Json, turn: number): RpcReply {
  const meta = result.meta as Json;
  if (turn === 1) {
    const other = meta.TransactionResult === "tesSUCCESS" ? "tecUNFUNDED_PAYMENT" : "tesSUCCESS";
    return told({ ...result, meta: { ...meta, TransactionResult: other } });
  }
  if (turn === 2) return told({ ...result, meta: { ...meta, delivered_amount: "1" } });
  return told({ ...result, ledger_index: Number(result.ledger_index) - 1 });
}

/** As `tx` shows it, with its metadata. */
function transactionJson(block: Block, { transaction, status }: IncludedTransaction): Json {
  const { shown, hash, nonce, valueWei, feeMaxWei } = transaction as SequenceTransaction;
  const { kind, account, destination, tag } = shown;
  const isPaid = kind === "Payment" && status === 1;
  const root = (address: string, before: bigint, after: bigint): Json => ({
    ModifiedNode: {
      LedgerEntryType: "AccountRoot",
      FinalFields: { Account: address, Balance: `${after}` },
      PreviousFields: { Balance: `${before}` },
    },
  });
  const received = isPaid ? [root(destination, receiversDrops, receiversDrops + valueWei)] : [];
  const nodes = [
    root(account, receiversDrops, receiversDrops - feeMaxWei - (isPaid ? valueWei : 0n)),
    ...received,
  ];
  return {
    ...{ TransactionType: kind, Account: account, Fee: `${feeMaxWei}`, Sequence: nonce, hash },
    ...(kind === "Payment" ? { Destination: destination, Amount: `${valueWei}` } : {}),
    ...(tag === "" ? {} : { DestinationTag: Number(tag) }),
    ledger_index: block.number + ledgersBefore,
    meta: {
      AffectedNodes: nodes,
      TransactionResult: status === 1 ? "tesSUCCESS" : "tecUNFUNDED_PAYMENT",
      ...(isPaid ? { delivered_amount: `${valueWei}` } : {}),
    },
  };
}
