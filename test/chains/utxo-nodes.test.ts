/**
 * chains/utxo against real nodes on regtest: bitcoind and litecoind accept generated withdrawals,
 * which two other programs read alike; the least output of every kind; and replacements and cancels
 * as their coin allows. RUNS=<number> sets the withdrawals of each coin, SEED=<number> replays.
 * Skipped, with the command that brings them, where the nodes are not there.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { firstOffer, type PaymentOrCancel, replacementOffer } from "../../chains/utxo/fees.ts";
import { bitcoin, litecoin, type NativeCoin, type UtxoNetwork } from "../../chains/utxo/network.ts";
import { decodeTransaction } from "../../chains/utxo/raw-transaction.ts";
import { dustOf } from "../../chains/utxo/size.ts";
import { utxoTransactions } from "../../chains/utxo/transactions.ts";
import { feeMaxOf, figuresOf } from "../../chains/utxo/tx-params.ts";
import { freePort } from "../../lab/kit/processes.ts";
import { missing, type NodeName, startNode, type UtxoNode } from "../../lab/utxo-node/daemon.ts";
import { bytes, seed } from "../support/evm-values.ts";
import { readByBitcoinjs, readByScure } from "./utxo-judges.ts";
import {
  type Account,
  evidenceFor,
  type MadeCoin,
  provenBy,
  scriptKinds,
  scriptOf,
  signAll,
  Values,
} from "./utxo-values.ts";

const withdrawals = Number(process.env.RUNS ?? 500);
const matureAfter = 100;
const coinCount = 40;

function regtestOf(coin: NativeCoin): UtxoNetwork {
  return coin.networks.at(-1) as UtxoNetwork;
}

describe.each<[NodeName, NativeCoin]>([
  ["bitcoin", bitcoin],
  ["litecoin", litecoin],
])("%sd", (name, coin) => {
  const why = missing(name);
  if (why !== null) {
    process.stderr.write(`\n*** SKIPPED: ${why}\n\n`);
    it.skip(why, () => undefined);
    return;
  }
  const network = regtestOf(coin);
  const transactions = utxoTransactions;
  const values = new Values(seed);
  const owner: Account = values.account(network);
  const place = { network: network.id, account: owner.address, slot: "1" };
  let node: UtxoNode;
  let coins: MadeCoin[] = [];

  beforeAll(async () => {
    node = await startNode(name, await freePort());
    const blocks = await node.ask<string[]>("generatetoaddress", coinCount, owner.address);
    await node.ask("generatetoaddress", matureAfter, values.destination(network, "p2wpkh"));
    coins = [];
    for (const block of blocks) coins.push(await coinIn(block)); // litecoind refuses many questions at once
  });
  afterAll(() => node?.stop());

  /** The account's coin among the outputs of a block's first transaction. */
  async function coinIn(block: string): Promise<MadeCoin> {
    const { tx } = await node.ask<{ tx: string[] }>("getblock", block, 1);
    const made = await node.ask<string>("getrawtransaction", tx[0], false, block);
    const { transaction, txHash } = decodeTransaction(bytes(made))!;
    expect(txHash).toBe(tx[0]);
    const output = transaction.outputs.findIndex(
      ({ script }) => Buffer.compare(script, owner.script) === 0,
    );
    return { id: `${txHash}:${output}`, units: transaction.outputs[output]!.units, made };
  }

  function signed(txParams: Readonly<Record<string, string>>, target: PaymentOrCancel): string {
    const evidence = evidenceFor(txParams, coins);
    const paid = { destination: target?.destination ?? "", amountUnits: target?.amountUnits ?? 0n };
    const payment = { ...place, contract: "", tag: "", ...paid };
    const { cancels, digests, attach } = transactions;
    const unsigned =
      target === null
        ? cancels.build(place, txParams)
        : provenBy(transactions)(payment, txParams, evidence);
    return Buffer.from(
      attach(unsigned, signAll(digests(unsigned), owner.key), owner.address).raw,
    ).toString("hex");
  }

  async function verdictOn(raw: string): Promise<string> {
    const [answer] = await node.ask<{ allowed: boolean; "reject-reason"?: string; txid: string }[]>(
      "testmempoolaccept",
      [raw],
    );
    return answer?.allowed ? "" : `${answer?.["reject-reason"]}`;
  }

  const some = (count: number, from = 0) => coins.slice(from, from + count);
  const sumOf = (all: readonly MadeCoin[]): bigint =>
    all.reduce((sum, { units }) => sum + units, 0n);

  it("its first block names the network", async () => {
    expect((await node.ask<string>("getblockhash", 0)).startsWith(network.reference)).toBe(true);
  });

  it(
    `the daemon accepts ${withdrawals} generated withdrawals`,
    async () => {
      process.stdout.write(`SEED=${seed} RUNS=${withdrawals}\n`);
      const counts = new Set<number>();
      for (let run = 0; run < withdrawals; run += 1) {
        const offered = some(1 + values.random.below(8), values.random.below(coinCount - 8));
        const target = {
          destination: values.destination(network),
          amountUnits: (sumOf(offered) * values.units(1, 999)) / 1000n,
        };
        const txParams = firstOffer(
          network,
          { satPerKvB: values.units(0, 9_000), coins: offered },
          target,
        )!;
        const raw = signed(txParams, target);
        expect(await verdictOn(raw), JSON.stringify(txParams)).toBe("");
        const amounts = figuresOf(txParams).coins.map(({ units }) => units);
        const byScure = readByScure(bytes(raw), network, owner.script, amounts);
        expect(readByBitcoinjs(bytes(raw), network, owner.script, amounts, true)).toEqual(byScure);
        expect(byScure.outputs[0]).toEqual({
          address: target.destination,
          units: target.amountUnits,
        });
        counts.add(amounts.length);
      }
      expect(counts.size).toBe(8);
    },
    withdrawals * 600,
  );

  it("the daemon accepts the least output of every kind, and no output below it", async () => {
    for (const kind of scriptKinds) {
      const destination = values.destination(network, kind);
      const amountUnits = dustOf(scriptOf(destination, network), network);
      const txParams = firstOffer(
        network,
        { satPerKvB: 1_000n, coins: some(1) },
        { destination, amountUnits },
      )!;
      expect(await verdictOn(signed(txParams, { destination, amountUnits })), kind).toBe("");
      // Our own writer refuses it, so the amount is lowered in the signed bytes: dust comes before
      // the signature in the node's checks.
      const raw = signed(txParams, { destination, amountUnits });
      const [least, below] = [amountUnits, amountUnits - 1n].map((units) => {
        const text = Buffer.alloc(8);
        text.writeBigUInt64LE(units);
        return text.toString("hex");
      });
      expect(await verdictOn(raw.replace(least!, below!)), kind).toMatch(/^dust/);
    }
  });

  it("the daemon takes replacement and cancel with the same anchor as the coin's rows say", async () => {
    const offered = some(2, 20);
    const target = {
      destination: values.destination(network, "p2wpkh"),
      amountUnits: sumOf(offered) - 1_000_000n,
    };
    const market = { satPerKvB: 1_000n, coins: some(4, 20) };
    const attempts = [firstOffer(network, market, target)!];
    const anchor = figuresOf(attempts[0]!).coins[0]!.id;
    const next = (wanted: PaymentOrCancel) =>
      replacementOffer(
        network,
        market,
        wanted,
        attempts.map((txParams) => ({ txParams, feeMax: `${feeMaxOf(txParams)}` })),
        anchor,
      )!;
    const raws = [signed(attempts[0]!, target)];
    await node.ask("sendrawtransaction", raws[0]);
    for (const wanted of [target, target, null]) {
      const txParams = next(wanted);
      attempts.push(txParams);
      const raw = signed(txParams, wanted);
      raws.push(raw);
      expect(figuresOf(txParams).coins[0]!.id).toBe(anchor);
      if (network.isReplaced) await node.ask("sendrawtransaction", raw);
      else expect(await node.refusal("sendrawtransaction", raw)).toContain("txn-mempool-conflict");
    }
    const to = values.destination(network, "p2wpkh");
    // A block of litecoind takes the cancel only from its miner's hands.
    if (network.isReplaced) await node.ask("generatetoaddress", 1, to);
    else await node.ask("generateblock", to, [raws.at(-1)]);
    expect(await node.ask<string[]>("getrawmempool")).toEqual([]);
    for (const raw of raws.slice(0, -1)) expect(await verdictOn(raw)).toBe("missing-inputs");
  });
});
