/**
 * The node that stands in for rippled, judged by Ripple's packages: each result with a twin that
 * passes, the rule of sequences, and the queue.
 */
import { afterEach, beforeEach, expect, describe as group, it } from "vitest";
import type { Json } from "../../lab/xrp-node/codecs.ts";
import { type Person, person } from "../../lab/xrp-node/people.ts";
import type { XrpNode, XrpNodeOptions } from "../../lab/xrp-node/xrp-node.ts";
import {
  hasXrpNode,
  payment,
  startXrpNetwork,
  type XrpTestNetwork,
} from "../support/xrp-network.ts";

let testNetwork: XrpTestNetwork;
let node: XrpNode;
let payer: Person;
let holder: Person;
let outsider: Person;

async function begin(options: XrpNodeOptions = {}): Promise<void> {
  testNetwork = await startXrpNetwork(options);
  ({ node, payer, holder, outsider } = testNetwork);
}

function ask(method: string, asked: Json = {}): Promise<Json> {
  return testNetwork.ask(method, asked);
}

function submit(from: Person, fields: Json): Promise<Json> {
  return testNetwork.submit(from, fields);
}

function resultOf(from: Person, fields: Json): Promise<string> {
  return testNetwork.resultOf(from, fields);
}

function sequenceOf(one: Person): number {
  return testNetwork.sequenceOf(one);
}

group.skipIf(!hasXrpNode())("the fake for rippled", () => {
  beforeEach(() => begin());

  afterEach(() => node.close());

  group("results of transactions, each with a twin that passes", () => {
    const usd = (value: string): Json => ({
      currency: "USD",
      issuer: person("issuer").address,
      value,
    });
    const refused: readonly (readonly [string, Json, Json])[] = [
      ["temBAD_FEE", { Fee: usd("1") }, { Fee: "12" }],
      ["temBAD_AMOUNT", { Amount: "0" }, { Amount: "1" }],
      ["temDST_NEEDED", { Destination: "rrrrrrrrrrrrrrrrrrrrrhoLvTp" }, {}],
      ["temMALFORMED", { AccountTxnID: "AB".repeat(32) }, { InvoiceID: "AB".repeat(32) }],
      ["temINVALID_FLAG", { Flags: 0x8008_0000 }, { Flags: 0 }],
      ["temBAD_SEND_XRP_PARTIAL", { Flags: 0x8002_0000 }, {}],
      ["temBAD_SEND_XRP_MAX", { SendMax: "5" }, {}],
      ["telINSUF_FEE_P", { Fee: "9" }, { Fee: "10" }],
      ["telNETWORK_ID_MAKES_TX_NON_CANONICAL", { NetworkID: 1 }, {}],
    ];

    it.each(refused)("%s takes nothing", async (result, wrong, right) => {
      const answer = await submit(payer, payment(holder.address, 5n, wrong));
      expect(answer).toMatchObject({
        engine_result: result,
        accepted: false,
        applied: false,
        broadcast: false,
        kept: false,
      });
      node.closeLedgers();
      expect(node.balance(payer.address)).toBe(100_000_000n);
      expect(await submit(payer, payment(holder.address, 5n, right))).toMatchObject({
        engine_result: "tesSUCCESS",
        engine_result_code: 0,
        ...{ accepted: true, applied: true, broadcast: true, kept: true, queued: false },
      });
    });

    it("temREDUNDANT: a payment to oneself; to another it passes", async () => {
      expect(await resultOf(payer, payment(payer.address, 5n))).toBe("temREDUNDANT");
      expect(await resultOf(payer, payment(holder.address, 5n))).toBe("tesSUCCESS");
    });

    it("tefBAD_AUTH: another's key, with a good signature; the account's own key passes", async () => {
      const foreign = payment(holder.address, 5n, {
        Account: payer.address,
        Sequence: sequenceOf(payer),
      });
      expect(await submit(holder, foreign)).toMatchObject({
        engine_result: "tefBAD_AUTH",
        engine_result_code: -196,
      });
      expect(await resultOf(payer, foreign)).toBe("tesSUCCESS");
    });

    it("a signature over other bytes, a text that is no transaction, a missing field: invalidTransaction", async () => {
      const blob = node.people.sign(payer, payment(holder.address, 5n));
      const tampered = blob.replace("614000000000000005", "614000000000000006");
      expect(tampered).not.toBe(blob);
      const unnamed = node.people.sign(payer, { TransactionType: "Payment", Amount: "5" });
      for (const tx_blob of [tampered, "1200", unnamed])
        expect(await ask("submit", { tx_blob })).toMatchObject({
          error: "invalidTransaction",
          status: "error",
        });
      expect(await ask("submit", { tx_blob: blob })).toMatchObject({
        engine_result: "tesSUCCESS",
        status: "success",
      });
    });

    it("tefMAX_LEDGER: the open ledger is past LastLedgerSequence; the last one itself passes", async () => {
      const open = node.chain.open.index;
      expect(
        await resultOf(payer, payment(holder.address, 5n, { LastLedgerSequence: open - 1 })),
      ).toBe("tefMAX_LEDGER");
      expect(await resultOf(payer, payment(holder.address, 5n, { LastLedgerSequence: open }))).toBe(
        "tesSUCCESS",
      );
    });

    it("terNO_ACCOUNT is kept, and comes into a ledger when the account is there", async () => {
      const fields = payment(holder.address, 5n, { Sequence: node.chain.open.index });
      const answer = await submit(outsider, fields);
      expect(answer).toMatchObject({
        engine_result: "terNO_ACCOUNT",
        accepted: true,
        applied: false,
        kept: true,
      });
      node.fund(outsider.address, 2_000_000n);
      node.closeLedgers();
      expect(node.balance(outsider.address)).toBe(2_000_000n - 17n);
    });

    it("terINSUF_FEE_B: more fee than there is; all there is passes", async () => {
      expect(await resultOf(holder, { TransactionType: "AccountSet", Fee: "20000001" })).toBe(
        "terINSUF_FEE_B",
      );
      expect(await resultOf(holder, { TransactionType: "AccountSet", Fee: "20000000" })).toBe(
        "tesSUCCESS",
      );
      node.closeLedgers();
      expect(node.balance(holder.address)).toBe(0n);
    });

    it("a network above 1024 asks for its number", async () => {
      await node.close();
      await begin({ rules: { networkId: 21_337 } });
      expect(await resultOf(payer, payment(holder.address, 5n, { NetworkID: undefined }))).toBe(
        "telREQUIRES_NETWORK_ID",
      );
      expect(await resultOf(payer, payment(holder.address, 5n, { NetworkID: 5 }))).toBe(
        "telWRONG_NETWORK",
      );
      expect(await resultOf(payer, payment(holder.address, 5n, { NetworkID: 21_337 }))).toBe(
        "tesSUCCESS",
      );
    });
  });

  group("tec: fee and sequence are gone, and nothing else", () => {
    async function claims(result: string, from: Person, fields: Json): Promise<void> {
      const [before, sequence] = [
        node.chain.open.state.account(from.address)!.balanceDrops,
        sequenceOf(from),
      ];
      const answer = await submit(from, fields);
      expect(answer).toMatchObject({ engine_result: result, applied: true });
      node.closeLedgers();
      expect(node.balance(from.address)).toBe(before - 12n);
      expect(sequenceOf(from)).toBe(sequence + 1);
      const { hash } = answer.tx_json as { readonly hash: string };
      const told = await ask("tx", { transaction: hash });
      expect(told).toMatchObject({ validated: true, meta: { TransactionResult: result } });
      expect(told.meta).not.toHaveProperty("delivered_amount");
    }

    it("tecUNFUNDED_PAYMENT: the reserve stays; a drop less passes", async () => {
      await claims("tecUNFUNDED_PAYMENT", payer, payment(holder.address, 99_000_001n));
      expect(await resultOf(payer, payment(holder.address, 98_999_988n))).toBe("tesSUCCESS");
    });

    it("an owned object keeps 0.2 XRP more", async () => {
      node.own(payer.address, 2);
      await claims("tecUNFUNDED_PAYMENT", payer, payment(holder.address, 98_600_001n));
      expect(await resultOf(payer, payment(holder.address, 98_599_988n))).toBe("tesSUCCESS");
    });

    it("tecNO_DST_INSUF_XRP: below the reserve nobody opens an account; the reserve does", async () => {
      await claims("tecNO_DST_INSUF_XRP", payer, payment(outsider.address, 999_999n));
      expect(await resultOf(payer, payment(outsider.address, 1_000_000n))).toBe("tesSUCCESS");
      const { index } = node.chain.open;
      node.closeLedgers();
      const info = await ask("account_info", {
        account: outsider.address,
        ledger_index: "validated",
      });
      expect(info.account_data).toMatchObject({
        Balance: "1000000",
        Sequence: index,
        OwnerCount: 0,
        Flags: 0,
      });
    });

    it("tecNO_DST: a token to nobody; to somebody without its line tecPATH_DRY", async () => {
      const token = { currency: "USD", issuer: person("issuer").address, value: "1" };
      await claims("tecNO_DST", payer, payment(outsider.address, 1n, { Amount: token }));
      await claims("tecPATH_DRY", payer, payment(holder.address, 1n, { Amount: token }));
    });

    it("tecDST_TAG_NEEDED: RequireDest; with a tag, 0 as well, it passes", async () => {
      expect(node.people.setFlag(holder, 1).result).toBe("tesSUCCESS");
      node.closeLedgers();
      await claims("tecDST_TAG_NEEDED", payer, payment(holder.address, 5n));
      expect(await resultOf(payer, payment(holder.address, 5n, { DestinationTag: 0 }))).toBe(
        "tesSUCCESS",
      );
      const info = await ask("account_info", { account: holder.address });
      expect(info).toMatchObject({
        account_data: { Flags: 0x0002_0000 },
        account_flags: { requireDestinationTag: true },
      });
    });

    it("tecNO_PERMISSION: DepositAuth; DisallowXRP is advice alone and passes", async () => {
      node.people.setFlag(holder, 9);
      node.people.setFlag(payer, 3);
      node.closeLedgers();
      await claims("tecNO_PERMISSION", payer, payment(holder.address, 5n));
      expect(await resultOf(holder, payment(payer.address, 5n))).toBe("tesSUCCESS");
    });
  });

  group("one transaction a sequence", () => {
    it("an early one waits, and follows the one before it into the next ledger", async () => {
      const sequence = sequenceOf(payer);
      const early = await submit(payer, payment(holder.address, 7n, { Sequence: sequence + 1 }));
      expect(early).toMatchObject({
        engine_result: "terPRE_SEQ",
        accepted: true,
        applied: false,
        kept: true,
      });
      node.closeLedgers();
      expect(node.balance(holder.address)).toBe(20_000_000n);
      expect(await resultOf(payer, payment(holder.address, 5n, { Sequence: sequence }))).toBe(
        "tesSUCCESS",
      );
      node.closeLedgers(2);
      expect(node.balance(holder.address)).toBe(20_000_012n);
      expect(sequenceOf(payer)).toBe(sequence + 2);
    });

    it("the second of a sequence is tefPAST_SEQ, and the same one tefALREADY; the next sequence passes", async () => {
      const sequence = sequenceOf(payer);
      const first = node.people.sign(payer, payment(holder.address, 5n));
      expect(await ask("submit", { tx_blob: first })).toMatchObject({
        engine_result: "tesSUCCESS",
      });
      expect(await ask("submit", { tx_blob: first })).toMatchObject({
        engine_result: "tefALREADY",
        accepted: false,
      });
      const second = payment(holder.address, 6n, { Sequence: sequence, Fee: "1000" });
      expect(await resultOf(payer, second)).toBe("tefPAST_SEQ");
      node.closeLedgers();
      expect(await ask("submit", { tx_blob: first })).toMatchObject({
        engine_result: "tefPAST_SEQ",
      });
      expect(await resultOf(payer, second)).toBe("tefPAST_SEQ");
      expect(await resultOf(payer, payment(holder.address, 6n))).toBe("tesSUCCESS");
      node.closeLedgers();
      expect(node.balance(holder.address)).toBe(20_000_011n);
    });

    it("a ledger that leaves a transaction out takes it later, or never", async () => {
      const { hash } = node.people.pay(payer, holder.address, 5n);
      node.closeLedgers(1, "kept");
      expect(await ask("tx", { transaction: hash })).toMatchObject({ validated: false, hash });
      node.closeLedgers();
      expect(await ask("tx", { transaction: hash })).toMatchObject({ validated: true, hash });
      const lost = node.people.pay(payer, holder.address, 6n);
      node.closeLedgers(1, "lost");
      node.closeLedgers();
      expect(await ask("tx", { transaction: lost.hash })).toMatchObject({ error: "txnNotFound" });
      expect(node.balance(holder.address)).toBe(20_000_005n);
    });

    it("a transaction that was left out until its last ledger is gone for good", async () => {
      const open = node.chain.open.index;
      node.people.submit(payer, payment(holder.address, 5n, { LastLedgerSequence: open }));
      node.closeLedgers(1, "kept");
      node.closeLedgers(2);
      expect(node.balance(holder.address)).toBe(20_000_000n);
    });
  });

  group("the queue of a dear ledger", () => {
    it("a base fee waits in the queue, and comes in when the price falls", async () => {
      node.escalate(500n);
      const queued = await submit(payer, payment(holder.address, 5n));
      expect(queued).toMatchObject({
        engine_result: "terQUEUED",
        queued: true,
        applied: false,
        accepted: true,
      });
      expect(queued.account_sequence_available).toBe(Number(queued.account_sequence_next) + 1);
      expect(await resultOf(holder, payment(payer.address, 5n, { Fee: "500" }))).toBe("tesSUCCESS");
      expect(await ask("fee")).toMatchObject({
        current_queue_size: "1",
        drops: { open_ledger_fee: "500" },
      });
      const info = await ask("account_info", { account: payer.address, queue: true });
      expect(info.queue_data).toMatchObject({
        txn_count: 1,
        transactions: [{ fee: "12", fee_level: "307" }],
      });
      node.closeLedgers(2);
      expect(node.balance(payer.address)).toBe(100_000_005n);
      node.escalate();
      node.closeLedgers(2);
      expect(node.balance(payer.address)).toBe(100_000_005n - 17n);
    });

    it.each([
      ["12", "14", "15"],
      ["20", "25", "26"], // 1.25 times exactly is not enough
    ])(
      "a replacement of %s drops asks for more than 1.25 times: not %s, but %s",
      async (fee, short, enough) => {
        node.escalate(500n);
        const fields = payment(holder.address, 5n, { Fee: fee });
        const { tx_json } = await submit(payer, fields);
        const same = { Sequence: (tx_json as { readonly Sequence: number }).Sequence };
        expect(await resultOf(payer, payment(holder.address, 6n, { ...same, Fee: short }))).toBe(
          "telCAN_NOT_QUEUE_FEE",
        );
        expect(await resultOf(payer, payment(holder.address, 7n, { ...same, Fee: enough }))).toBe(
          "terQUEUED",
        );
        node.escalate();
        node.closeLedgers(2);
        expect(node.balance(holder.address)).toBe(20_000_007n);
      },
    );

    it("a replacement that pays the price of the open ledger goes in at once", async () => {
      node.escalate(500n);
      const { tx_json } = await submit(payer, payment(holder.address, 5n));
      const same = { Sequence: (tx_json as { readonly Sequence: number }).Sequence };
      expect(await resultOf(payer, payment(holder.address, 6n, { ...same, Fee: "500" }))).toBe(
        "tesSUCCESS",
      );
      node.closeLedgers(2);
      expect(node.balance(holder.address)).toBe(20_000_006n);
    });

    it("a dear transaction behind a cheap one waits with it", async () => {
      node.escalate(500n);
      expect(await resultOf(payer, payment(holder.address, 5n))).toBe("terQUEUED");
      expect(await resultOf(payer, payment(holder.address, 6n, { Fee: "500" }))).toBe("terQUEUED");
      node.closeLedgers(2);
      expect(node.balance(holder.address)).toBe(20_000_000n);
      node.escalate();
      node.closeLedgers(2);
      expect(node.balance(holder.address)).toBe(20_000_011n);
    });

    it("telCAN_NOT_QUEUE: a transaction that ends too soon; one that lives for two ledgers waits", async () => {
      node.escalate(500n);
      const open = node.chain.open.index;
      const soon = payment(holder.address, 5n, { LastLedgerSequence: open + 1 });
      expect(await resultOf(payer, soon)).toBe("telCAN_NOT_QUEUE");
      expect(await resultOf(payer, { ...soon, LastLedgerSequence: open + 2 })).toBe("terQUEUED");
      node.closeLedgers(2);
      expect(await ask("fee")).toMatchObject({ current_queue_size: "1" });
      node.closeLedgers();
      expect(await ask("fee")).toMatchObject({ current_queue_size: "0" });
      node.escalate();
      node.closeLedgers(2);
      expect(node.balance(holder.address)).toBe(20_000_000n);
    });

    it("telCAN_NOT_QUEUE_FULL: an account has ten places, each behind the one before it", async () => {
      node.escalate(500n);
      for (let turn = 0; turn < 10; turn += 1)
        expect(await resultOf(payer, payment(holder.address, 1n))).toBe("terQUEUED");
      expect(await resultOf(payer, payment(holder.address, 1n))).toBe("telCAN_NOT_QUEUE_FULL");
      node.escalate();
      node.closeLedgers(2);
      expect(node.balance(holder.address)).toBe(20_000_010n);
    });
  });
});
