/** The node that stands in for rippled: the faults of one provider, beside another that is well. */
import { afterEach, beforeEach, expect, describe as group, it } from "vitest";
import type { Json } from "../../lab/xrp-node/codecs.ts";
import type { Lie } from "../../lab/xrp-node/lies.ts";
import type { Person } from "../../lab/xrp-node/people.ts";
import type { XrpNode } from "../../lab/xrp-node/xrp-node.ts";
import {
  hasXrpNode,
  payment,
  startXrpNetwork,
  type XrpTestNetwork,
} from "../support/xrp-network.ts";

const first = 95_000_000;

let testNetwork: XrpTestNetwork;
let node: XrpNode;
let payer: Person;
let holder: Person;

function ask(method: string, asked: Json = {}, front = 0): Promise<Json> {
  return testNetwork.ask(method, asked, front);
}

group.skipIf(!hasXrpNode())("one of two fakes for rippled", () => {
  beforeEach(async () => {
    testNetwork = await startXrpNetwork({ fronts: [{}, {}] });
    ({ node, payer, holder } = testNetwork);
  });

  afterEach(() => node.close());

  it("one that lags shows the older ledger", async () => {
    const { hash } = node.people.pay(payer, holder.address, 5n);
    node.closeLedgers();
    const account = { account: holder.address, ledger_index: "validated" };
    node.fronts[1]!.suffer({ lagLedgers: 1 });
    expect(await ask("account_info", account, 1)).toMatchObject({
      account_data: { Balance: "20000000" },
    });
    expect(await ask("account_info", account, 0)).toMatchObject({
      account_data: { Balance: "20000005" },
    });
    expect(await ask("tx", { transaction: hash }, 1)).toMatchObject({ error: "txnNotFound" });
    node.fronts[1]!.suffer({});
    expect(await ask("tx", { transaction: hash }, 1)).toMatchObject({ validated: true });
  });

  it.each([
    ["drops", "txnNotFound", undefined],
    ["keeps", undefined, false],
  ] as const)(
    "one that %s a submitted transaction says yes, and no ledger has it",
    async (taking, error, validated) => {
      node.fronts[1]!.suffer({ taking });
      const tx_blob = node.people.sign(payer, payment(holder.address, 5n));
      const answer = await ask("submit", { tx_blob }, 1);
      expect(answer).toMatchObject({ engine_result: "tesSUCCESS", accepted: true });
      node.closeLedgers(2);
      const { hash } = answer.tx_json as unknown as { readonly hash: string };
      const told = await ask("tx", { transaction: hash }, 1);
      expect([told.error, told.validated]).toEqual([error, validated]);
      expect(node.balance(holder.address)).toBe(20_000_000n);
      await ask("submit", { tx_blob }, 0);
      node.closeLedgers();
      expect(await ask("tx", { transaction: hash }, 1)).toMatchObject({ validated: true });
    },
  );

  it("one whose own price is high queues, and the next ledger takes it all the same", async () => {
    node.fronts[1]!.suffer({ openFeeDrops: 5_000n });
    expect(await testNetwork.submit(payer, payment(holder.address, 5n), 1)).toMatchObject({
      engine_result: "terQUEUED",
    });
    expect(await ask("fee", {}, 1)).toMatchObject({ drops: { open_ledger_fee: "5000" } });
    expect(await ask("fee", {}, 0)).toMatchObject({ drops: { open_ledger_fee: "10" } });
    node.closeLedgers(2);
    expect(node.balance(holder.address)).toBe(20_000_005n);
  });

  it("one is overloaded twice, one breaks the connection after the effect, one is slow", async () => {
    node.fronts[1]!.suffer({ status: 503, words: "overloaded", times: 2, methods: ["fee"] });
    const status = async (): Promise<number> => {
      const body = JSON.stringify({ method: "fee", params: [{}] });
      return (await fetch(node.urls[1]!, { method: "POST", body })).status;
    };
    expect([await status(), await status(), await status()]).toEqual([503, 503, 200]);
    node.fronts[1]!.suffer({ isCutLate: true, methods: ["submit"] });
    await expect(testNetwork.submit(payer, payment(holder.address, 5n), 1)).rejects.toThrow();
    node.closeLedgers();
    expect(node.balance(holder.address)).toBe(20_000_005n);
    node.fronts[1]!.suffer({ delayMs: 60 });
    const began = performance.now();
    await ask("fee", {}, 1);
    expect(performance.now() - began).toBeGreaterThan(50);
  });

  const lies: readonly (readonly [string, Lie, string, Json])[] = [
    [
      "another balance",
      { kind: "balance", drops: 1n },
      "account_info",
      { account_data: { Balance: "1" } },
    ],
    [
      "another sequence",
      { kind: "sequence", sequence: 9 },
      "account_info",
      { account_data: { Sequence: 9 } },
    ],
    [
      "another amount",
      { kind: "delivered", drops: 7n },
      "account_tx",
      { transactions: [{ meta: { delivered_amount: "7" } }, {}] },
    ],
    [
      "another result",
      { kind: "result", result: "tecPATH_DRY" },
      "tx",
      { meta: { TransactionResult: "tecPATH_DRY" } },
    ],
    ["no transaction", { kind: "hides" }, "tx", { error: "txnNotFound", searched_all: true }],
    ["no transactions", { kind: "hides" }, "account_tx", { transactions: [] }],
    [
      "one payment more",
      { kind: "invents", drops: 8n },
      "account_tx",
      { transactions: [{}, {}, { tx: { Amount: "8" } }] },
    ],
    [
      "a later ledger",
      { kind: "ahead", ledgers: 5 },
      "server_info",
      { info: { validated_ledger: { seq: first + 8 } } },
    ],
  ];

  it.each(lies)("one lies: %s", async (_, lie, method, told) => {
    const { hash } = node.people.pay(payer, holder.address, 5n);
    node.closeLedgers();
    const asked = { account: holder.address, transaction: hash, ledger_index_min: -1 };
    node.fronts[1]!.suffer({ lies: [lie] });
    expect(await ask(method, asked, 1)).toMatchObject(told);
    expect(await ask(method, asked, 0)).not.toMatchObject(told);
  });

  it("one tells other hashes from a ledger on", async () => {
    node.closeLedgers();
    const { index, hash } = node.chain.head;
    node.fronts[1]!.suffer({ lies: [{ kind: "other-hash", from: index }] });
    const told = await ask("ledger", { ledger_index: index }, 1);
    expect(told.ledger_hash).not.toBe(hash);
    expect((told.ledger as Json).ledger_hash).toBe(told.ledger_hash);
    const before = await ask("ledger", { ledger_index: index - 1 }, 1);
    expect(before.ledger_hash).toBe(node.chain.ledger(index - 1)!.hash);
    const { info } = await ask("server_info", {}, 1);
    expect((info as { readonly validated_ledger: Json }).validated_ledger.hash).toBe(
      told.ledger_hash,
    );
  });
});
