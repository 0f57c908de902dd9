/**
 * Reads the fees, gas and inclusion of a payment: figures on which min(2, configured) nodes agree,
 * exactly or within a margin, so one lying node of two cannot set any of them. A tip alone needs
 * one answer. The log names a node whose figure is far from the others.
 */
import { AgentError, type Refusal, refuse } from "../../base/fault.ts";
import type { NodeLog } from "../nodes.ts";
import { byQuorum } from "../providers/chain-blocks.ts";
import { createPrice, middleOf } from "../providers/market.ts";
import { disagreementFault, firstFault, settlePromise } from "../providers/node-pool.ts";
import type { Receipt } from "./answers.ts";
import { dataFeeCall, dataFeeWithRoom, operatorFeeCall } from "./data-fee.ts";
import type { FeeModel } from "./fee-model.ts";
import type { AskReceipt } from "./node-block-receipts.ts";
import { receiptKey, type SeenReceipts } from "./node-finality.ts";
import {
  askHead,
  balanceQuestion,
  callQuestion,
  codeQuestion,
  countQuestion,
  type GasCall,
  gasQuestion,
  oracleQuestion,
} from "./node-questions.ts";
import { isRevert } from "./node-refusals.ts";
import { createTips, type Tips } from "./node-tip.ts";
import type { NodePool, PoolNode } from "./node-wire.ts";

/**
 * Wei per gas. Honest nodes suggest different tips, so both ends are given. A payment offers the
 * lower first and goes up to the higher at most while no block takes it. `dataFee` in wei, on a
 * chain that bills data in addition to the gas: the most for any payment, with room.
 */
export interface Fees {
  readonly baseFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly maxPriorityFeePerGasHigh: bigint;
  readonly dataFee?: bigint;
}

/**
 * A receipt on which enough nodes agree, or null; `isShown` if at least one node shows a receipt.
 */
export interface AgreedReceipt {
  readonly receipt: Receipt | null;
  readonly isShown: boolean;
}

export interface NodeQuorum {
  fees(): Promise<Fees>;
  estimateGas(call: GasCall): Promise<{ readonly ok: true; readonly gas: bigint } | Refusal>;
  agreedBalance(address: string, contract: string, block: number): Promise<bigint>;
  hasCode(address: string): Promise<boolean>;
  /** The result of a call now, as 0x hex; null if the contract refuses it. */
  agreedCall(to: string, data: string): Promise<string | null>;
  shownReceipt(txHash: string): Promise<AgreedReceipt>;
  /**
   * The highest count of the account's transactions in blocks from any node. No nonce from this
   * count on is in a block.
   */
  usedNonces(address: string): Promise<bigint>;
}

/**
 * A base fee rises by an eighth a block at most (EIP-1559), so twice the fee means six blocks
 * later. Wei of slack for tiny fees.
 */
const baseFeeSpread = { times: 2n, slack: 100n };
/**
 * As the base fee, because it follows the base fees of layer 1. Wei of slack for a chain that bills
 * next to nothing.
 */
const dataFeeSpread = { times: 2n, slack: 1_000n };
/**
 * The same call costs about the same at two heads. A first payment to a receiver costs less than
 * twice a second one.
 */
const gasSpread = { times: 2n, slack: 0n };
/**
 * Tips differ widely between honest nodes. A tip this many times as high as another is named in the
 * log; the policy bounds it.
 */
const tipNamedTimes = 10n;

interface NodeReading<T> {
  readonly node: PoolNode;
  readonly value: T;
}

type Spread = typeof baseFeeSpread;

/**
 * Makes the reads that several nodes must answer alike. `log` gets a node whose figure stands
 * apart, one entry until it agrees again.
 */
export function createNodeQuorum(
  pool: NodePool,
  log: NodeLog,
  seen: SeenReceipts,
  askReceipt: AskReceipt,
  feeModel: FeeModel,
  clock: () => number,
): NodeQuorum {
  const apart = new Set<string>();
  const tipsOf = createTips(pool);
  const price = createPrice({ quorumMin: pool.quorumMin, clock });
  const name = <T>(
    what: string,
    said: readonly NodeReading<T>[],
    isApart: (one: NodeReading<T>) => boolean,
    show: (value: T) => string,
  ) => {
    for (const one of said) {
      const key = `${one.node.rpc.origin} ${what}`;
      if (!isApart(one)) apart.delete(key);
      else if (!apart.has(key)) {
        apart.add(key);
        const others = said.filter((other) => other !== one).map((other) => show(other.value));
        const message = `says ${show(one.value)} where others say ${others.join(", ")}`;
        log("node-outlier", { node: one.node.rpc.origin, what, message });
      }
    }
  };

  /**
   * The figures of the largest group that lies within the spread; of two groups of the same size,
   * the one with the higher figures.
   * @throws NODE_DISAGREE
   */
  const within = <T>(
    what: string,
    said: readonly NodeReading<T>[],
    figureOf: (value: T) => bigint,
    spread: Spread,
  ): readonly T[] => {
    const group = largestGroup(said, figureOf, spread);
    const isEnough = group.length >= pool.quorumMin;
    name(
      what,
      said,
      (one) => !isEnough || !group.includes(one),
      (value) => `${figureOf(value)}`,
    );
    if (!isEnough) throw disagreementFault(what, said.length);
    return group.map(({ value }) => value);
  };

  return {
    fees: async () => {
      const said = await askAll(pool, (node) => askMarket(pool, node, feeModel, tipsOf));
      const bases = within("base fee", said, ({ base }) => base, baseFeeSpread).map(
        ({ base }) => base,
      );
      const tips = price.figures(said.map(({ value }) => value.tip));
      const [low, high] = [middleOf(tips, "lower"), middleOf(tips, "higher")];
      name(
        "tip",
        said.flatMap(({ node, value: { tip } }) =>
          tip.ok && tip.value !== null ? [{ node, value: tip.value }] : [],
        ),
        ({ value }) => value > tipNamedTimes * low && value >= high && value > 0n,
        String,
      );
      const fees = {
        baseFeePerGas: bases.reduce(larger),
        maxPriorityFeePerGas: low,
        maxPriorityFeePerGasHigh: high,
      };
      if (feeModel !== "op-stack") return fees;
      const dataFees = within("fee for data", said, ({ data }) => data, dataFeeSpread).map(
        ({ data }) => data,
      );
      return { ...fees, dataFee: dataFeeWithRoom(dataFees.reduce(larger)) };
    },
    estimateGas: (call) => estimateGas(pool, call, within),
    agreedBalance: (address, contract, block) =>
      pool.agree(
        (node) => pool.ask(node, balanceQuestion(address, contract, block)),
        String,
        "balance",
      ),
    hasCode: async (address) => {
      const code = await pool.agree(
        (node) => pool.ask(node, codeQuestion(address, "latest")),
        (one) => String(one !== "0x"),
        "code of an address",
      );
      return code !== "0x";
    },
    agreedCall: (to, data) =>
      pool.agree(
        (node) => pool.ask(node, callQuestion(to, data, "latest")).catch(nullIfRefused),
        (answer) => `${answer}`,
        "answer of a contract",
      ),
    shownReceipt: async (txHash) => {
      const settled = await pool.all((node) => askReceipt(node, txHash));
      const whole = byQuorum(settled, pool.quorumMin, receiptKey).agreed;
      if (whole !== null) seen.put(whole);
      const placed = byQuorum(
        settled,
        pool.quorumMin,
        ({ blockNumber, blockHash }) => `${blockNumber} ${blockHash}`,
      );
      return { receipt: placed.agreed, isShown: placed.count > 0 };
    },
    usedNonces: async (address) => {
      const said = await askAll(pool, (node) => pool.ask(node, countQuestion(address, "latest")));
      return said.map(({ value }) => value).reduce(larger, 0n);
    },
  };
}

/** The fee market by one node, where a tip alone may be missing. */
async function askMarket(pool: NodePool, node: PoolNode, feeModel: FeeModel, tips: Tips) {
  const head = askHead(pool, node);
  const asked = [
    head,
    settlePromise(tips.ask(node, head)),
    askDataFee(pool, node, feeModel),
  ] as const;
  const [{ baseFeePerGas: base }, tip, data] = await Promise.all(asked);
  return { base, tip, data };
}

/**
 * The data fee from one node, 0 if the chain bills none. Before Isthmus there is no operator's fee.
 */
async function askDataFee(pool: NodePool, node: PoolNode, feeModel: FeeModel): Promise<bigint> {
  if (feeModel !== "op-stack") return 0n;
  const operatorFee = pool.ask(node, oracleQuestion(operatorFeeCall)).catch(nullIfRefused);
  const [dataFee, operators] = await Promise.all([
    pool.ask(node, oracleQuestion(dataFeeCall)),
    operatorFee,
  ]);
  return dataFee + (operators ?? 0n);
}

function nullIfRefused(error: unknown): null {
  if (error instanceof AgentError && error.code === "NODE_ERROR" && isRevert(error.message))
    return null;
  throw error;
}

type AnswersWithin = <T>(
  what: string,
  said: readonly NodeReading<T>[],
  figureOf: (value: T) => bigint,
  spread: Spread,
) => readonly T[];

async function estimateGas(
  pool: NodePool,
  call: GasCall,
  within: AnswersWithin,
): Promise<{ ok: true; gas: bigint } | Refusal> {
  const reasons: string[] = [];
  const said = await askAll(pool, async (node) => {
    try {
      return await pool.ask(node, gasQuestion(call));
    } catch (error) {
      if (!(error instanceof AgentError) || error.code !== "NODE_ERROR" || !isRevert(error.message))
        throw error;
      reasons.push(error.message);
      return null;
    }
  });
  const estimates = said.flatMap(({ node, value }) => (value === null ? [] : [{ node, value }]));
  if (reasons.length >= pool.quorumMin && estimates.length < pool.quorumMin) {
    return refuse("NODE_WOULD_REVERT", reasons[0]);
  }
  if (estimates.length < pool.quorumMin) throw disagreementFault("gas estimate", said.length);
  return {
    ok: true,
    gas: within("gas estimate", estimates, (gas) => gas, gasSpread).reduce(larger),
  };
}

/** Every node that is not resting. @throws the first fault when fewer than enough answered */
async function askAll<T>(
  pool: NodePool,
  job: (node: PoolNode) => Promise<T>,
): Promise<readonly NodeReading<T>[]> {
  const settled = await pool.all(async (node) => ({ node, value: await job(node) }));
  const said = settled.flatMap((one) => (one.ok ? [one.value] : []));
  if (said.length < pool.quorumMin) throw firstFault(settled);
  return said;
}

function largestGroup<T>(
  said: readonly NodeReading<T>[],
  figureOf: (value: T) => bigint,
  { times, slack }: Spread,
): readonly NodeReading<T>[] {
  const sorted = [...said].sort((a, b) => ascending(figureOf(a.value), figureOf(b.value)));
  let largest: readonly NodeReading<T>[] = [];
  for (const [at, one] of sorted.entries()) {
    const most = figureOf(one.value) * times + slack;
    const group = sorted.slice(at).filter((other) => figureOf(other.value) <= most);
    if (group.length >= largest.length) largest = group;
  }
  return largest;
}

function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
