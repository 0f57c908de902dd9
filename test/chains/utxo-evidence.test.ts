/**
 * chains/utxo offline, a lying courier: amounts, scripts and transactions that are not those of the
 * coins. Each lie is refused with a code, and its honest twin is built.
 */
import { setImmediate as pause } from "node:timers/promises";
import { Transaction } from "bitcoinjs-lib";
import { describe, expect, it } from "vitest";
import { evidenceBytesMax } from "../../agent/socket/offered.ts";
import { firstOffer } from "../../chains/utxo/fees.ts";
import { bitcoin, litecoin } from "../../chains/utxo/network.ts";
import { coinMadeBy, previousBytesMax } from "../../chains/utxo/previous.ts";
import {
  decodeTransaction,
  encodeTransaction,
  txHashOf,
} from "../../chains/utxo/raw-transaction.ts";
import { utxoTransactions } from "../../chains/utxo/transactions.ts";
import { figuresOf, txParamsOf } from "../../chains/utxo/tx-params.ts";
import { share } from "../../lab/kit/share.ts";
import { bytes, codeOf, seed } from "../support/evm-values.ts";
import { evidenceFor, mainOf, provenBy, scriptKinds, signAll, Values } from "./utxo-values.ts";

const hexOf = (text: Uint8Array): string => Buffer.from(text).toString("hex");
const readMade = (made: string) => decodeTransaction(bytes(made))!;

describe("a lying courier", () => {
  it.each(Array.from({ length: share(5, 1) }, (_, at) => at))(
    "requests, each with a lie, give a code and no bytes; without it each is built: share %i",
    async (at) => {
      const values = new Values(seed + at);
      const codes = new Map<string, number>();
      for (let run = 0; run < share(100, 50); run += 1) {
        const coin = run % 2 === 0 ? bitcoin : litecoin;
        const network = mainOf(coin);
        const build = provenBy(utxoTransactions);
        const owner = values.account(network);
        const coins = values.coins(owner.script, 1 + values.random.below(4));
        const all = coins.reduce((sum, { units }) => sum + units, 0n);
        const payment = {
          network: network.id,
          account: owner.address,
          slot: "1",
          contract: "",
          tag: "",
          destination: values.destination(network),
          amountUnits: all / 2n,
        };
        const txParams = firstOffer(network, { satPerKvB: 2_000n, coins }, payment)!;
        const evidence = evidenceFor(txParams, coins);
        const figures = figuresOf(txParams);
        const at = values.random.below(figures.coins.length);
        const target = figures.coins[at]!;
        const withUnits = (units: bigint) => ({
          ...figures,
          coins: figures.coins.map((each, place) => (place === at ? { ...each, units } : each)),
        });
        const shown = (made: string): string[] =>
          evidence.map((each, place) => (place === at ? made : each));
        const more = values.units(1, 1_000_000);
        const outputs = readMade(evidence[at]!).transaction.outputs;
        const number = Number(target.id.split(":")[1]);
        const lies: readonly (() => string)[] = [
          // First more than there is, hidden in the fee; then less, so that the fee takes the rest.
          () =>
            codeOf(() =>
              build(
                payment,
                txParamsOf({ ...withUnits(target.units + more), feeSat: figures.feeSat + more }),
                evidence,
              ),
            ),
          () =>
            codeOf(() =>
              build(
                { ...payment, amountUnits: payment.amountUnits - 1n },
                txParamsOf(withUnits(target.units - 1n)),
                evidence,
              ),
            ),
          () =>
            codeOf(() =>
              build(payment, txParams, shown(values.coin(owner.script, target.units).made)),
            ),
          () => {
            const foreign = values.coin(
              values.script(values.random.pick(scriptKinds)),
              target.units,
            );
            const coinsShown = figures.coins.map((each, place) =>
              place === at ? { id: foreign.id, units: target.units } : each,
            );
            return codeOf(() =>
              build(payment, txParamsOf({ ...figures, coins: coinsShown }), shown(foreign.made)),
            );
          },
          () =>
            codeOf(() =>
              build(
                payment,
                txParams,
                shown(evidence[at]!.slice(0, values.random.below(evidence[at]!.length))),
              ),
            ),
          () =>
            codeOf(() =>
              build(
                payment,
                txParams,
                shown(`${evidence[at]}${hexOf(values.bytes(1 + values.random.below(5)))}`),
              ),
            ),
          () =>
            codeOf(() =>
              build(payment, txParams, shown(hexOf(values.bytes(values.random.below(400))))),
            ),
          () => {
            const flipped = bytes(evidence[at]!);
            flipped[values.random.below(flipped.length)]! ^= 1 << values.random.below(8);
            const code = codeOf(() => build(payment, txParams, shown(hexOf(flipped))));
            // SegWit data is no part of the id, so a change there shows the same outputs.
            if (code !== "") return code;
            expect(readMade(hexOf(flipped)).transaction.outputs).toEqual(outputs);
            return codeOf(() => build(payment, txParams, shown("")));
          },
          () => {
            const other = target.id.replace(/:.*/, `:${outputs.length + values.random.below(9)}`);
            const coinsShown = figures.coins.map((each, place) =>
              place === at ? { ...each, id: other } : each,
            );
            return codeOf(() =>
              build(payment, txParamsOf({ ...figures, coins: coinsShown }), evidence),
            );
          },
          () => {
            // The courier's own transaction with a higher amount: its id is another one.
            const { transaction } = readMade(evidence[at]!);
            const raised = outputs.map((output, place) =>
              place === number ? { ...output, units: output.units + more } : output,
            );
            const made = hexOf(encodeTransaction({ ...transaction, outputs: raised }));
            return codeOf(() =>
              build(
                payment,
                txParamsOf({ ...withUnits(target.units + more), feeSat: figures.feeSat + more }),
                shown(made),
              ),
            );
          },
        ];
        const code = lies[run % lies.length]!();
        expect(code, `lie ${run % lies.length} of run ${run}`).toBe("TRANSACTION_EVIDENCE");
        codes.set(code, (codes.get(code) ?? 0) + 1);
        expect(codeOf(() => build(payment, txParams, evidence))).toBe("");
        await pause();
      }
      expect(codes.get("TRANSACTION_EVIDENCE")).toBe(share(100, 50));
    },
  );

  it("two requests, each with one amount false, cannot become one payment with a huge fee", () => {
    const values = new Values(seed + 1);
    const network = mainOf(bitcoin);
    const transactions = utxoTransactions;
    const { digests } = transactions;
    const build = provenBy(transactions);
    const owner = values.account(network);
    const coins = [
      values.coin(owner.script, 2_500_000_000n),
      values.coin(owner.script, 2_500_000_000n),
    ] as const;
    const payment = {
      network: network.id,
      account: owner.address,
      slot: "1",
      contract: "",
      tag: "",
      destination: values.destination(network),
      amountUnits: 100_000_000n,
    };
    const evidence = coins.map(({ made }) => made);
    // Each request shows one coin as it is, and the other so small that the fee looks small.
    const request = (first: bigint, second: bigint) =>
      txParamsOf({
        coins: [
          { ...coins[0], units: first },
          { ...coins[1], units: second },
        ],
        changeSat: [],
        feeSat: first + second - payment.amountUnits,
      });
    for (const lie of [request(2_500_000_000n, 1n), request(1n, 2_500_000_000n)]) {
      expect(codeOf(() => build(payment, lie, evidence))).toBe("TRANSACTION_EVIDENCE");
    }
    const honest = build(payment, request(2_500_000_000n, 2_500_000_000n), evidence);
    expect(figuresOf(request(2_500_000_000n, 2_500_000_000n)).feeSat).toBe(4_900_000_000n);
    expect(signAll(digests(honest), owner.key).length).toBe(2);
  });
});

describe("previous transactions", () => {
  const values = new Values(seed + 2);
  const script = values.script("p2wpkh");
  const { transaction } = readMade(values.coin(script, 1_000n).made);
  const stacks = transaction.inputs.map(() => [values.bytes(71)]);

  it("the id is the same with and without SegWit data", () => {
    const [plain, whole] = [encodeTransaction(transaction), encodeTransaction(transaction, stacks)];
    expect(decodeTransaction(whole)?.txHash).toBe(txHashOf(plain));
    expect(decodeTransaction(plain)?.txHash).toBe(txHashOf(plain));
    expect(hexOf(whole)).not.toBe(hexOf(plain));
  });

  it("the signed transaction of BIP-143 has the id that another program reads", () => {
    const raw =
      "01000000000102fff7f7881a8099afa6940d42d1e7f6362bec38171ea3edf433541db4e4ad969f00000000494830450221008b9d1dc26ba6a9cb62127b02742fa9d754cd3bebf337f7a55d114c8e5cdd30be022040529b194ba3f9281a99f2b1c0a19c0489bc22ede944ccf4ecbab4cc618ef3ed01eeffffffef51e1b804cc89d182d279655c3aa89e815b1b309fe287d9b2b55d57b90ec68a0100000000ffffffff02202cb206000000001976a9148280b37df378db99f66f85c95a783a76ac7a6d5988ac9093510d000000001976a9143bde42dbee7e4dbe6a21b2d50ce2f0167faa815988ac000247304402203609e17b84f6a7d30c80bfa610b5b4542f32a8a0d5447a12fb1366d7f01cc44a0220573a954c4518331561406f90300e8f3358f51928d43c212a8caed02de67eebee0121025476c2e83188368da1ff3e292e7acafcdb3566bb0ad253f62fc70f07aeee635711000000";
    expect(decodeTransaction(bytes(raw))?.txHash).toBe(Transaction.fromHex(raw).getId());
    expect(hexOf(encodeTransaction(decodeTransaction(bytes(raw))!.transaction))).not.toBe(raw);
  });

  it("bytes at the limit are read, and one more is not", () => {
    const of = (scriptBytes: number) => {
      const inputs = [50_000, scriptBytes].map((size) => ({
        ...transaction.inputs[0]!,
        script: new Uint8Array(size),
      }));
      return encodeTransaction({ ...transaction, inputs });
    };
    const long = (length: number) => of(length - of(300).length + 300);
    const [whole, over] = [long(previousBytesMax), long(previousBytesMax + 1)];
    expect([whole.length, over.length]).toEqual([previousBytesMax, previousBytesMax + 1]);
    expect([previousBytesMax, evidenceBytesMax]).toEqual([100_000, 100_000]);
    const idOf = (raw: Uint8Array) => `${txHashOf(raw)}:0`;
    expect(coinMadeBy(idOf(whole), hexOf(whole)).ok).toBe(true);
    expect(coinMadeBy(idOf(over), hexOf(over))).toMatchObject({
      ok: false,
      code: "TRANSACTION_EVIDENCE",
    });
  });

  it("other forms of the same transaction are no transaction", () => {
    const plain = hexOf(encodeTransaction(transaction));
    const version = plain.slice(0, 8);
    const count = plain.slice(8, 10);
    expect(decodeTransaction(bytes(plain))).not.toBe(null);
    for (const other of [
      `${version}fd${count}00${plain.slice(10)}`, // a count in a longer form
      `${version}fe${count}000000${plain.slice(10)}`,
      `${version}ffffffffffffffffff${plain.slice(10)}`,
      `${version}0000${plain.slice(8)}`, // no flag
      `${version}0002${plain.slice(8)}`, // an unknown flag
      `${version}0001${plain.slice(8)}`, // SegWit data that is not there
      `${version}00${plain.slice(10)}`,
      plain.slice(0, -2),
      `${plain}00`,
      "",
    ])
      expect(decodeTransaction(bytes(other))).toBe(null);
  });

  it("the last transaction of a Litecoin block, with flag 8, has the id of its body", () => {
    const plain = encodeTransaction(transaction);
    const flagged = Uint8Array.of(
      ...plain.subarray(0, 4),
      0,
      8,
      ...plain.subarray(4, -4),
      0,
      ...plain.subarray(-4),
    );
    expect(decodeTransaction(flagged)?.txHash).toBe(txHashOf(plain));
    flagged[flagged.length - 5] = 1;
    expect(decodeTransaction(flagged)).toBe(null);
  });
});
