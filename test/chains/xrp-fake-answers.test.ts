/**
 * The node that stands in for rippled: what its methods answer and the ways by which XRP comes to
 * an account.
 */
import { afterEach, beforeEach, expect, describe as group, it } from "vitest";
import { codecs, type Json } from "../../lab/xrp-node/codecs.ts";
import type { Person } from "../../lab/xrp-node/people.ts";
import type { XrpNode } from "../../lab/xrp-node/xrp-node.ts";
import { hasXrpNode, startXrpNetwork, type XrpTestNetwork } from "../support/xrp-network.ts";

interface Item {
  readonly tx: Json & {
    readonly hash: string;
    readonly ledger_index: number;
    readonly date: number;
  };
  readonly meta: Json & {
    readonly delivered_amount?: unknown;
    readonly AffectedNodes: readonly Json[];
  };
  readonly validated: boolean;
}

const first = 95_000_000;

let testNetwork: XrpTestNetwork;
let node: XrpNode;
let payer: Person;
let holder: Person;

function ask(method: string, asked: Json = {}, front = 0): Promise<Json> {
  return testNetwork.ask(method, asked, front);
}

async function items(asked: Json = {}, front = 0): Promise<readonly Item[]> {
  const question = {
    account: holder.address,
    ledger_index_min: -1,
    ledger_index_max: -1,
    ...asked,
  };
  return (await ask("account_tx", question, front)).transactions as readonly Item[];
}

group.skipIf(!hasXrpNode())("the fake for rippled", () => {
  beforeEach(async () => {
    testNetwork = await startXrpNetwork({ fronts: [{}, {}] });
    ({ node, payer, holder } = testNetwork);
  });

  afterEach(() => node.close());

  group("XRP that comes to an account", () => {
    it("a payment with a tag: metadata shows both accounts before and after", async () => {
      const { hash } = node.people.pay(payer, holder.address, 5_000_000n, 77);
      node.closeLedgers();
      const [item] = await items();
      const { index, closeTime } = node.chain.head;
      expect(item).toMatchObject({
        validated: true,
        tx: {
          hash,
          DestinationTag: 77,
          Amount: "5000000",
          DeliverMax: "5000000",
          ledger_index: index,
          date: closeTime,
        },
        meta: { TransactionResult: "tesSUCCESS", TransactionIndex: 0, delivered_amount: "5000000" },
      });
      const root = (account: string): unknown =>
        item!.meta.AffectedNodes.map(({ ModifiedNode }) => ModifiedNode as Json).find(
          ({ FinalFields }) => (FinalFields as Json).Account === account,
        );
      expect(root(holder.address)).toMatchObject({
        ...{
          LedgerEntryType: "AccountRoot",
          PreviousFields: { Balance: "20000000" },
          FinalFields: { Balance: "25000000" },
        },
        PreviousTxnLgrSeq: first + 2,
      });
      expect(root(payer.address)).toMatchObject({
        PreviousFields: { Balance: "100000000", Sequence: first + 1 },
        FinalFields: { Balance: "94999988", Sequence: first + 2 },
      });
    });

    it("metadata can be encoded by Ripple's codec as it is", async () => {
      const { decode, encode } = codecs().binary;
      node.people.payPartly(holder.address, 9n, 4n);
      node.closeLedgers();
      for (const { meta } of await items()) {
        const { delivered_amount: _, ...bare } = meta;
        expect(decode(encode(bare))).toEqual(bare);
      }
      expect(await items()).toHaveLength(2);
    });

    it("a partial payment delivers less than its Amount", async () => {
      const hash = node.people.payPartly(holder.address, 9_000_000n, 4_000n, 5);
      node.closeLedgers();
      const told = await ask("tx", { transaction: hash });
      const amounts = { DeliveredAmount: "4000", delivered_amount: "4000" };
      expect(told).toMatchObject({
        Amount: "9000000",
        DestinationTag: 5,
        validated: true,
        meta: amounts,
      });
      expect(node.balance(holder.address)).toBe(20_004_000n);
    });

    it("an issued token shows an object and moves no XRP", async () => {
      const hash = node.people.payToken(holder.address, "12.5", 6);
      node.closeLedgers();
      const [item] = await items();
      expect(item).toMatchObject({
        tx: { hash },
        meta: { delivered_amount: { currency: "USD", value: "12.5" } },
      });
      expect(node.balance(holder.address)).toBe(20_000_000n);
    });

    it("escrows and checks bring XRP without a payment, and leave the receiver's sequence", async () => {
      const before = testNetwork.sequenceOf(holder);
      node.people.finishEscrow(holder.address, 3_000_000n);
      node.people.cashCheck(holder.address, 2_000_000n);
      node.closeLedgers();
      const [check, escrow] = await items();
      expect(check).toMatchObject({
        tx: { TransactionType: "CheckCash" },
        meta: { delivered_amount: "2000000" },
      });
      expect(escrow).toMatchObject({ tx: { TransactionType: "EscrowFinish" } });
      expect(escrow!.meta).not.toHaveProperty("delivered_amount");
      expect(node.balance(holder.address)).toBe(25_000_000n - 12n);
      expect(testNetwork.sequenceOf(holder)).toBe(before);
    });
  });

  group("account_tx", () => {
    beforeEach(() => {
      for (let turn = 0; turn < 25; turn += 1) {
        node.people.pay(payer, holder.address, 1n, turn);
        if (turn % 3 === 2) node.closeLedgers();
      }
      node.closeLedgers();
    });

    it.each([true, false])(
      "pages by markers tell each transaction once, in order (forward %s)",
      async (forward) => {
        const seen: Item[] = [];
        let marker: unknown;
        do {
          const page = {
            account: holder.address,
            ledger_index_min: -1,
            ledger_index_max: -1,
            forward,
            limit: 10,
          };
          const answer = await ask("account_tx", marker === undefined ? page : { ...page, marker });
          seen.push(...(answer.transactions as readonly Item[]));
          marker = answer.marker;
        } while (marker !== undefined);
        expect(new Set(seen.map(({ tx }) => tx.hash)).size).toBe(26);
        const ledgers = seen.map(({ tx }) => tx.ledger_index);
        expect(ledgers).toEqual([...ledgers].sort((a, b) => (forward ? a - b : b - a)));
        expect(seen).toHaveLength(26);
      },
    );

    it("a range is answered as it was searched, and one that ends before its history is lgrIdxsInvalid", async () => {
      const { index } = node.chain.head;
      const account = holder.address;
      expect(
        await ask("account_tx", { account, ledger_index_min: 1, ledger_index_max: index + 50 }),
      ).toMatchObject({
        ...{ ledger_index_min: first, ledger_index_max: index, status: "success", validated: true },
      });
      expect(
        await ask("account_tx", { account, ledger_index_min: index, ledger_index_max: index }),
      ).toMatchObject({
        transactions: [{ tx: { DestinationTag: 24 } }],
      });
      const early = { account, ledger_index_min: 1, ledger_index_max: 50 };
      expect(await ask("account_tx", early)).toMatchObject({
        error: "lgrIdxsInvalid",
        error_code: 57,
        status: "error",
      });
      expect(await ask("account_tx", { account, ledger_index: 50 })).toMatchObject({
        error: "lgrNotFound",
      });
      expect(await ask("account_tx", { account: "rNobody" })).toMatchObject({
        error: "actMalformed",
      });
    });

    it("a hole in its history: the answered range begins behind it, and the other provider has all", async () => {
      const [from, to, account] = [first + 4, first + 5, holder.address];
      node.fronts[1]!.suffer({ holes: [{ from, to }] });
      const whole = { account, ledger_index_min: first, ledger_index_max: -1 };
      expect(await ask("account_tx", whole, 1)).toMatchObject({ ledger_index_min: first + 6 });
      expect(await ask("account_tx", whole, 0)).toMatchObject({ ledger_index_min: first });
      const { info } = await ask("server_info", {}, 1);
      const { index } = node.chain.head;
      expect(info).toMatchObject({
        complete_ledgers: `${first}-${first + 3},${first + 6}-${index}`,
      });
      const [lost] = await items({ ledger_index_min: from, ledger_index_max: from });
      const wanted = { transaction: lost!.tx.hash, min_ledger: from, max_ledger: index };
      expect(await ask("tx", wanted, 1)).toMatchObject({
        error: "txnNotFound",
        searched_all: false,
      });
      expect(await ask("tx", wanted, 0)).toMatchObject({ validated: true });
      expect(await ask("ledger", { ledger_index: from }, 1)).toMatchObject({
        error: "lgrNotFound",
        error_code: 21,
      });
      expect(await ask("ledger", { ledger_index: to + 1 }, 1)).toMatchObject({ validated: true });
    });
  });

  group("other methods", () => {
    it("tx says whether it searched every ledger", async () => {
      const transaction = "AB".repeat(32);
      const { index } = node.chain.head;
      const bare = await ask("tx", { transaction });
      expect(bare).toMatchObject({
        error: "txnNotFound",
        error_code: 29,
        request: { command: "tx", transaction },
      });
      expect(bare).not.toHaveProperty("searched_all");
      expect(await ask("tx", { transaction, min_ledger: first, max_ledger: index })).toMatchObject({
        searched_all: true,
      });
      const late = { transaction, min_ledger: first, max_ledger: index + 1 };
      expect(await ask("tx", late)).toMatchObject({ searched_all: false });
      node.closeLedgers();
      expect(await ask("tx", late)).toMatchObject({ searched_all: true });
      expect(await ask("tx", { ...late, max_ledger: first + 1_001 })).toMatchObject({
        error: "excessiveLgrRange",
      });
      expect(await ask("tx", { ...late, max_ledger: first - 1 })).toMatchObject({
        error: "invalidLgrRange",
      });
    });

    it("account_info tells the open, the validated and an older ledger apart", async () => {
      node.people.pay(payer, holder.address, 5n);
      const balance = async (asked: Json): Promise<unknown> => {
        const told = await ask("account_info", { account: payer.address, ...asked });
        return [
          (told.account_data as Json).Balance,
          told.validated,
          told.ledger_index ?? told.ledger_current_index,
        ];
      };
      const { index } = node.chain.head;
      expect(await balance({})).toEqual(["99999983", false, index + 1]);
      expect(await balance({ ledger_index: "validated" })).toEqual(["100000000", true, index]);
      node.closeLedgers();
      expect(await balance({ ledger_index: "validated" })).toEqual(["99999983", true, index + 1]);
      expect(await balance({ ledger_index: index })).toEqual(["100000000", true, index]);
      const nobody = { account: testNetwork.outsider.address, ledger_index: "validated" };
      expect(await ask("account_info", nobody)).toMatchObject({
        error: "actNotFound",
        ledger_index: index + 1,
        validated: true,
      });
      expect(await ask("account_info", { ...nobody, ledger_index: 5 })).toMatchObject({
        error: "lgrNotFound",
      });
    });

    it("ledgers are a chain, whose headers can be asked by number and by hash", async () => {
      node.closeLedgers(3);
      const { index, hash } = node.chain.head;
      const [newest, before] = [
        await ask("ledger", { ledger_index: "validated" }),
        await ask("ledger", { ledger_index: index - 1 }),
      ];
      expect(newest).toMatchObject({ ledger_hash: hash, ledger_index: index, validated: true });
      expect(newest.ledger).toMatchObject({
        ledger_index: String(index),
        parent_hash: before.ledger_hash,
        closed: true,
      });
      const times = [before, newest].map(({ ledger }) => Number((ledger as Json).close_time));
      expect(times[1]!).toBeGreaterThan(times[0]!);
      expect(await ask("ledger", { ledger_hash: hash })).toMatchObject({ ledger_index: index });
    });

    it("server_info and fee tell fees, reserves and the network", async () => {
      const { index: seq, hash } = node.chain.head;
      const { info } = await ask("server_info");
      const ledger = {
        seq,
        hash,
        base_fee_xrp: 0.00001,
        reserve_base_xrp: 1,
        reserve_inc_xrp: 0.2,
      };
      expect(info).toMatchObject({
        network_id: 0,
        server_state: "full",
        load_factor: 1,
        validated_ledger: ledger,
      });
      const fees = { base_fee: "10", minimum_fee: "10", open_ledger_fee: "10" };
      expect(await ask("fee")).toMatchObject({
        drops: fees,
        ledger_current_index: seq + 1,
        status: "success",
      });
      expect(await ask("sign")).toMatchObject({ error: "unknownCmd", status: "error" });
    });
  });

  it("Clio takes the validated ledger where none is named, and tells no state of a server", async () => {
    await node.close();
    testNetwork = await startXrpNetwork({ fronts: [{}, { isClio: true }] });
    ({ node, payer, holder } = testNetwork);
    node.people.pay(payer, holder.address, 5n);
    const account = { account: holder.address };
    expect(await ask("account_info", account, 0)).toMatchObject({
      account_data: { Balance: "20000005" },
      validated: false,
    });
    expect(await ask("account_info", account, 1)).toMatchObject({
      account_data: { Balance: "20000000" },
      validated: true,
    });
    const current = { ...account, ledger_index: "current" };
    expect(await ask("account_info", current, 1)).toMatchObject({
      account_data: { Balance: "20000005" },
    });
    const [{ info: rippled }, { info: clio }] = [
      await ask("server_info", {}, 0),
      await ask("server_info", {}, 1),
    ];
    expect(rippled).toMatchObject({ build_version: "2.6.2", server_state: "full" });
    expect(clio).toMatchObject({ rippled_version: "2.6.2", network_id: 0 });
    expect(clio).not.toHaveProperty("server_state");
  });

  it("ledgers close by themselves at a pace, with the machine's time", async () => {
    await node.close();
    testNetwork = await startXrpNetwork({ isPaced: true, closeMs: 20 });
    ({ node } = testNetwork);
    const { index } = node.chain.head;
    await expect.poll(() => node.chain.head.index).toBeGreaterThan(index + 3);
  });
});
