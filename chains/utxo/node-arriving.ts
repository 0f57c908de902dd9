/**
 * Payments to an address in the mempools of nodes. Any node's word shows one, and none proves that
 * a payment will be in a block: this is for people who wait, never for credit. Touches nodes only
 * through node-wire.ts.
 */
import type { ArrivingPayment, ArrivingPayments } from "../nodes.ts";
import { graceMs } from "../providers/chain-blocks.ts";
import { firstFault } from "../providers/node-pool.ts";
import type { AddressTransaction } from "./answers.ts";
import type { UtxoNetwork } from "./network.ts";
import { addressOf } from "./node-coins.ts";
import { historyLimits } from "./node-history.ts";
import { poolQuestion } from "./node-questions.ts";
import type { NodePool } from "./node-wire.ts";

/**
 * `satPerKvBMin`: a lower rate makes a payment unsure; null if no rate is known, and then each one
 * is; asked for only if something arrives. @throws NODE_* if no node answers
 */
export async function arrivingAt(
  pool: NodePool,
  address: string,
  network: UtxoNetwork,
  satPerKvBMin: () => Promise<bigint | null>,
): Promise<ArrivingPayments> {
  const { script } = addressOf(address, network);
  const settled = await pool.all((node) => pool.ask(node, poolQuestion(address)), graceMs);
  const lists = settled.flatMap((one) => (one.ok ? [one.value] : []));
  if (lists.length === 0) throw firstFault(settled);
  const isAny = lists.some((list) =>
    list.some((one) => one.place === null && unitsTo(one, script) > 0n),
  );
  const least = isAny ? await satPerKvBMin() : null;
  const shown = new Map<string, ArrivingPayment[]>();
  for (const list of lists)
    for (const one of list) {
      const units = unitsTo(one, script);
      if (one.place !== null || units === 0n) continue;
      const isSure = least !== null && one.satPerKvB !== null && one.satPerKvB >= least;
      const { txHash, isReplaceable } = one;
      shown.set(txHash, [...(shown.get(txHash) ?? []), { txHash, units, isReplaceable, isSure }]);
    }
  const isWhole =
    lists.length === settled.length && lists.every((list) => list.length < historyLimits.pool);
  return { isWhole, payments: [...shown.values()].map((words) => joined(words, pool.quorumMin)) };
}

/** Several nodes' words on one payment: the least of what they say. */
function joined(words: readonly ArrivingPayment[], quorumMin: number): ArrivingPayment {
  const [least] = [...words].sort(
    (a, b) => Number(a.units > b.units) - Number(a.units < b.units),
  ) as [ArrivingPayment];
  return {
    ...least,
    isReplaceable: words.some(({ isReplaceable }) => isReplaceable),
    isSure: words.length >= quorumMin && words.every(({ isSure }) => isSure),
  };
}

function unitsTo({ outputs }: AddressTransaction, script: string): bigint {
  return outputs.reduce((sum, one) => (one.script === script ? sum + one.units : sum), 0n);
}
