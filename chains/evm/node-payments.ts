/**
 * Payments to watched addresses in blocks: coins by transactions of their own, tokens by events. A
 * transaction that cannot be read is named and costs no other. Touches nodes only through node.ts.
 */
import { inWaves } from "../map-limit.ts";
import type { DetectedPayment, Finds, WatchedBlock } from "../nodes.ts";
import type { AddressIndex } from "../providers/address-index.ts";
import type { KeptBlocks } from "../providers/kept-blocks.ts";
import { agreedAnswer } from "../providers/node-agreement.ts";
import { agreedFinds, findEach, isUnreadable, joinFinds } from "../providers/unread.ts";
import type { BlockTransaction, FoundLog } from "./answers.ts";
import type { EvmNodes } from "./node.ts";
import { type AgreedBlock, alikeBlocks, asPayment } from "./node-blocks.ts";
import { createTransfers, notTogether, type Transfers } from "./node-logs.ts";
import { readTransferLog } from "./token-reads.ts";

const questionsAtOnce = 32;
/** Log index of a payment in the native coin, which leaves no log. */
const nativeIndex = -1;
const topicPadding = `0x${"0".repeat(24)}`;

interface Nodes {
  readonly together: EvmNodes;
  readonly each: readonly EvmNodes[];
}

export interface PaymentSource extends Nodes {
  readonly kept: KeptBlocks<AgreedBlock>;
  readonly seen: Transfers;
  readonly proven: ReadonlyMap<EvmNodes, Transfers>;
}

export function createPaymentSource(nodes: Nodes, kept: KeptBlocks<AgreedBlock>): PaymentSource {
  const proven = new Map(nodes.each.map((one) => [one, createTransfers(one)]));
  return { ...nodes, kept, seen: createTransfers(nodes.together), proven };
}

export interface PaymentQuestion {
  readonly blocks: readonly WatchedBlock[];
  readonly contracts: readonly string[]; // "" the native coin
  readonly index: AddressIndex;
  readonly isAgreed: boolean;
}

export function contentOf({ content }: WatchedBlock): AgreedBlock {
  return content as AgreedBlock;
}

export async function coinPayments(
  { together, kept }: PaymentSource,
  { blocks, contracts, index, isAgreed }: PaymentQuestion,
): Promise<Finds<DetectedPayment>> {
  if (!contracts.includes("")) return { found: [], unread: [] };
  const addressOf = ({ toKey }: BlockTransaction): string | undefined => index.find(toKey);
  const paying = blocks.map((block) => {
    const content = contentOf(block);
    const ours = alikeBlocks(
      content,
      (one) => addressOf(one) !== undefined,
      asPayment,
      (one) => addressOf(one) ?? "",
    );
    if (ours.unread.length > 0) kept.forget(content);
    return {
      unread: ours.unread,
      found: ours.found.filter(({ valueUnits }) => valueUnits > 0n).map((one) => ({ block, one })),
    };
  });
  const { found, unread } = joinFinds(paying);
  const finds = await inWaves(
    found,
    questionsAtOnce,
    async ({ block, one }): Promise<Finds<DetectedPayment>> => {
      const place = { txHash: one.hash, block: block.number };
      const account = addressOf(one) as string;
      try {
        const receipt = await (isAgreed
          ? together.finalReceipt(one.hash)
          : together.receipt(one.hash));
        if (receipt === null || receipt.blockHash !== block.hash)
          throw notTogether(block.number, "a receipt");
        if (receipt.status !== 1) return { found: [], unread: [] };
      } catch (fault) {
        if (!isUnreadable(fault)) throw fault;
        return { found: [], unread: [{ ...place, account, fault }] };
      }
      const paid = {
        index: nativeIndex,
        address: account,
        contract: "",
        amountUnits: one.valueUnits,
      };
      return { found: [{ ...place, ...paid, blockHash: block.hash }], unread: [] };
    },
  );
  return joinFinds([...finds, { found: [], unread }]);
}

/** Token payments by one node, or by several: only payments to our addresses are compared. */
export async function tokenPayments(
  { each, seen, proven }: PaymentSource,
  { blocks, contracts, index, isAgreed }: PaymentQuestion,
): Promise<Finds<DetectedPayment>> {
  const tokens = contracts.filter((contract) => contract !== "");
  if (tokens.length === 0) return { found: [], unread: [] };
  if (!isAgreed) return paymentsBy(seen, blocks, tokens, index);
  const told = new Map<EvmNodes, Promise<Finds<DetectedPayment>>>();
  const ask = (nodes: EvmNodes): Promise<Finds<DetectedPayment>> => {
    const finds =
      told.get(nodes) ?? paymentsBy(proven.get(nodes) as Transfers, blocks, tokens, index);
    told.set(nodes, finds);
    return finds;
  };
  const answered: Finds<DetectedPayment>[] = [];
  const keep = async (nodes: EvmNodes): Promise<Finds<DetectedPayment>> => {
    const finds = await ask(nodes);
    answered.push(finds);
    return finds;
  };
  return agreedFinds(
    (keyOf) => agreedAnswer(each, keep, keyOf, transfersOf(blocks)),
    () => answered,
    paymentsKey,
  );
}

async function paymentsBy(
  transfers: Transfers,
  blocks: readonly WatchedBlock[],
  contracts: readonly string[],
  index: AddressIndex,
): Promise<Finds<DetectedPayment>> {
  const byKey = new Map(contracts.map((contract) => [contract.toLowerCase(), contract]));
  const logs = (await transfers(blocks.map(contentOf), contracts)).filter(
    (one) => index.find(receiverKeyOf(one)) !== undefined,
  );
  const { found, unread } = findEach(
    logs,
    (one) =>
      paymentsOf(one, byKey.get(one.address) as string, index.find(receiverKeyOf(one)) as string),
    (one) => ({
      txHash: one.txKey,
      block: one.blockNumber,
      account: index.find(receiverKeyOf(one)) as string,
    }),
  );
  // Some nodes count logs within each transaction, so the name of a payment includes the hash.
  const byName = new Map(found.map((one) => [`${one.blockHash} ${one.txHash} ${one.index}`, one]));
  return { found: [...byName.values()], unread };
}

function paymentsOf(one: FoundLog, contract: string, address: string): readonly DetectedPayment[] {
  const log = one.read();
  const transfer = readTransferLog(log);
  // A transfer of zero is noise that others send to get attention.
  if (transfer === null || transfer.amountUnits === 0n) return [];
  const { txHash, logIndex: index, blockNumber: block, blockHash } = log;
  return [
    { txHash, index, address, contract, amountUnits: transfer.amountUnits, block, blockHash },
  ];
}

/** The receiver of a plain Transfer as its topic has it; "" for another event. */
function receiverKeyOf({ topics }: FoundLog): string {
  const to = topics[2] ?? "";
  return topics.length === 3 && to.startsWith(topicPadding)
    ? `0x${to.slice(topicPadding.length)}`
    : "";
}

function paymentsKey(payments: readonly DetectedPayment[]): string {
  const fields = payments.map((one) => [
    one.blockHash,
    one.txHash,
    one.index,
    one.contract,
    one.address,
    `${one.amountUnits}`,
  ]);
  return JSON.stringify(fields.map((each) => JSON.stringify(each)).sort());
}

function transfersOf(blocks: readonly WatchedBlock[]): string {
  return `transfers of blocks ${blocks[0]?.number} to ${blocks.at(-1)?.number}`;
}
