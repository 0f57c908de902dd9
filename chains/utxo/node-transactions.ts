/**
 * Transactions by their id, from any one node, a block or this program's own bytes: the id proves
 * them. Those that an account's coins come from are needed in every block, so the recent ones are
 * kept. Touches nodes only through node-wire.ts.
 */
import { AgentError } from "../../base/fault.ts";
import type { UnusableCoin } from "../nodes.ts";
import {
  type ChainOutput,
  type ChainTransaction,
  readWholeTransaction,
} from "./chain-transaction.ts";
import { transactionQuestion } from "./node-questions.ts";
import type { NodePool, PoolNode } from "./node-wire.ts";
import { previousBytesMax } from "./previous.ts";

export interface KnownTransaction {
  readonly txHash: string;
  readonly outpoints: readonly string[]; // the coins that it spends, txHash:output
  readonly outputs: readonly ChainOutput[];
  readonly isReward: boolean; // the first transaction of a block
  readonly isExtension: boolean; // pays out of Litecoin's extension
  readonly body: Uint8Array; // its bytes without SegWit data
}

export interface KnownTransactions {
  /** Null if no node has it. @throws a fault if no node answers */
  get(txHash: string): Promise<KnownTransaction | null>;
  /** Keeps a transaction that was read already, so that no node is asked for it. */
  keep(transaction: ChainTransaction): void;
}

/** Bound for the bytes of all kept transactions. */
const keptBytesMax = 16 * 1024 * 1024;

export function createKnownTransactions(pool: NodePool): KnownTransactions {
  const kept = new Map<string, KnownTransaction>();
  let bytes = 0;

  function keep(transaction: KnownTransaction): void {
    if (kept.has(transaction.txHash)) return;
    kept.set(transaction.txHash, transaction);
    bytes += weightOf(transaction);
    for (const [txHash, one] of kept) {
      if (bytes <= keptBytesMax) break;
      kept.delete(txHash);
      bytes -= weightOf(one);
    }
  }

  return {
    get: async (txHash) => {
      const known = kept.get(txHash);
      if (known !== undefined) return known;
      const transaction = await pool.first((node) => transactionOf(pool, node, txHash));
      if (transaction !== null) keep(transaction);
      return transaction;
    },
    keep: (transaction) => keep(knownOf(transaction)),
  };
}

/** A body above the limit of evidence is kept too, or a coin of it would be read in every block. */
function weightOf({ body, outputs }: KnownTransaction): number {
  return 1_000 + body.length + outputs.length * 200;
}

async function transactionOf(
  pool: NodePool,
  node: PoolNode,
  txHash: string,
): Promise<KnownTransaction | null> {
  const bytes = await pool.ask(node, transactionQuestion(txHash));
  if (bytes === null) return null;
  const whole = readWholeTransaction(bytes);
  if (whole?.txHash !== txHash) {
    const message = "the bytes are no transaction with the id that was asked for";
    const fault = new AgentError("NODE_ANSWER", "none", message, { node: node.rpc.origin });
    pool.fail(node, fault);
    throw fault;
  }
  return knownOf(whole);
}

/** The scripts are views of the whole answer, which may have megabytes, so they are copied. */
function knownOf({
  txHash,
  inputs,
  outputs,
  isReward,
  isExtension,
  body,
}: ChainTransaction): KnownTransaction {
  const outpoints = inputs.map(({ outpoint }) => outpoint);
  const copied = outputs.map(({ units, script }) => ({ units, script: Uint8Array.from(script) }));
  return { txHash, outpoints, outputs: copied, isReward, isExtension, body: Uint8Array.from(body) };
}

/** The scripts of coins by their transactions, whose id proves them. */
export function createScriptReader({
  get,
}: KnownTransactions): (outpoint: string) => Promise<Uint8Array> {
  return async (outpoint) => {
    const [txHash = "", output = ""] = outpoint.split(":");
    const script = (await get(txHash))?.outputs[Number(output)]?.script;
    if (script !== undefined) return script;
    throw new AgentError(
      "NODE_NO_BLOCK",
      "none",
      `no node shows the transaction that made ${outpoint}`,
    );
  };
}

/** True if the transaction can be evidence for a coin that it made. */
export function canBeEvidence({ body }: KnownTransaction): boolean {
  return body.length <= previousBytesMax;
}

/** Those of these coins whose transactions are too large to be evidence: nothing spends them. */
export function unusableCoinsOf(
  coins: readonly (Pick<UnusableCoin, "id" | "units"> & { readonly made: KnownTransaction })[],
): readonly UnusableCoin[] {
  const wordsOf = ({ body }: KnownTransaction): string =>
    `the transaction that made it has ${body.length} bytes, and one of more than ${previousBytesMax} cannot be proven`;
  return coins
    .filter(({ made }) => !canBeEvidence(made))
    .map(({ id, units, made }) => ({ id, units, words: wordsOf(made) }));
}
