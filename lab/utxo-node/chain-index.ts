/**
 * The chain and the mempool of a daemon by addresses and spent coins, which its own RPC does not
 * have. Brought up to date before every answer; blocks that left the chain are dropped.
 */
import type { UtxoNode } from "./daemon.ts";

export interface IndexedOutput {
  readonly address: string; // "" for a script without one
  readonly script: string; // hex
  readonly units: number; // sat
}

export interface IndexedTransaction {
  readonly txid: string;
  readonly spent: readonly string[]; // txid:vout
  readonly outputs: readonly IndexedOutput[];
}

export interface IndexedBlock {
  readonly hash: string;
  readonly height: number;
  readonly parent: string;
  readonly time: number;
  readonly transactions: readonly IndexedTransaction[];
}

/** The view of one provider: the chain up to a block, and perhaps a mempool. */
export interface Sight {
  readonly blocks: readonly IndexedBlock[];
  readonly mempool: readonly IndexedTransaction[];
}

interface RpcTransaction {
  readonly txid: string;
  readonly vin: readonly { readonly txid?: string; readonly vout?: number }[];
  readonly vout: readonly {
    readonly value: number;
    readonly n: number;
    readonly scriptPubKey: {
      readonly hex: string;
      readonly address?: string;
      readonly addresses?: readonly string[];
    };
  }[];
}

interface RpcBlock {
  readonly hash: string;
  readonly height: number;
  readonly previousblockhash?: string;
  readonly time: number;
  readonly tx: readonly RpcTransaction[];
}

export class ChainIndex {
  readonly #node: UtxoNode;
  readonly #blocks: IndexedBlock[] = [];
  readonly #pooled = new Map<string, IndexedTransaction>(); // in the order in which they came
  #updating: Promise<void> | null = null;

  constructor(node: UtxoNode) {
    this.#node = node;
  }

  async sight(): Promise<Sight> {
    this.#updating ??= this.#update().finally(() => {
      this.#updating = null;
    });
    await this.#updating;
    return { blocks: [...this.#blocks], mempool: [...this.#pooled.values()] };
  }

  async #update(): Promise<void> {
    const fresh: IndexedBlock[] = [];
    let hash = await this.#node.ask<string>("getbestblockhash");
    for (;;) {
      const at = this.#blocks.findIndex((block) => block.hash === hash);
      if (at !== -1) {
        this.#blocks.splice(at + 1);
        break;
      }
      const block = await this.#node.ask<RpcBlock>("getblock", hash, 2);
      fresh.unshift(indexed(block));
      if (block.previousblockhash === undefined) {
        this.#blocks.splice(0);
        break;
      }
      hash = block.previousblockhash;
    }
    this.#blocks.push(...fresh);
    const ids = new Set(await this.#node.ask<string[]>("getrawmempool"));
    for (const txid of this.#pooled.keys()) if (!ids.has(txid)) this.#pooled.delete(txid);
    for (const txid of ids) if (!this.#pooled.has(txid)) await this.#pool(txid);
  }

  async #pool(txid: string): Promise<void> {
    const found = await this.#node
      .ask<RpcTransaction>("getrawtransaction", txid, true)
      .catch(() => null);
    // One may have left the mempool meanwhile.
    if (found !== null) this.#pooled.set(txid, transactionOf(found));
  }
}

function indexed({
  hash,
  height,
  previousblockhash: parent = "",
  time,
  tx,
}: RpcBlock): IndexedBlock {
  return { hash, height, parent, time, transactions: tx.map(transactionOf) };
}

function transactionOf({ txid, vin, vout }: RpcTransaction): IndexedTransaction {
  const outputs = vout.map(({ value, scriptPubKey: { hex: script, address, addresses } }) => ({
    address: address ?? addresses?.[0] ?? "",
    script,
    units: Math.round(value * 1e8),
  }));
  return {
    txid,
    spent: vin.flatMap((one) => (one.txid === undefined ? [] : [`${one.txid}:${one.vout}`])),
    outputs,
  };
}
