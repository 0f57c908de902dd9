/**
 * The fate of signed bytes after every class of a node's answer: in a validated ledger, in none, or
 * behind a gap in what the nodes keep. The answer to the bytes never decides it. Then the uses of a
 * slot by a transaction that is none of ours.
 */
import { randomInt } from "node:crypto";
import { afterEach, beforeEach, expect, describe as group, it } from "vitest";
import type { SenderNodes } from "../../chains/nodes.ts";
import { shareOf } from "../../lab/kit/share.ts";
import { readBlob } from "../../lab/xrp-node/transaction.ts";
import { type ChangingProvider, changing, openLab, type XrpLab, xrpOf } from "./xrp-lab.ts";
import { owner, type SignedXrp } from "./xrp-wallet.ts";

let lab: XrpLab;
beforeEach(async () => {
  lab = await openLab();
});
afterEach(() => lab.close());

const allEngines = [
  ...(["tesSUCCESS", "terQUEUED", "terPRE_SEQ", "tecUNFUNDED_PAYMENT", "tefALREADY"] as const),
  ...([
    "tefPAST_SEQ",
    "tefMAX_LEDGER",
    "telINSUF_FEE_P",
    "terINSUF_FEE_B",
    "temMALFORMED",
  ] as const),
];
// Half of them, which half is drawn, so that the quick tier sees each in time.
const engines = shareOf(allEngines, 2, randomInt(2));

group("after a node's answer", () => {
  let proxies: readonly ChangingProvider[] = [];
  afterEach(async () => {
    await Promise.all(proxies.map((proxy) => proxy.close()));
    proxies = [];
  });

  /** Providers that answer signed bytes with this result, and forget them. */
  async function answering(engine: string): Promise<SenderNodes> {
    for (const front of lab.node.fronts) front.suffer({ taking: "drops" });
    const change = (result: Record<string, unknown>) => ({
      ...{ ...result, engine_result: engine, applied: false, queued: false },
      kept: engine === "terPRE_SEQ" || engine.startsWith("tec"),
    });
    proxies = await Promise.all(lab.node.urls.map((url) => changing(url, "submit", change)));
    return lab.open(proxies.map(({ url }) => url));
  }

  async function fateOf(sender: SenderNodes, signed: SignedXrp, slot: string) {
    const payment = lab.payment({ slot });
    const { txHash } = signed;
    const [location] = await sender.locations(lab.from.address, [{ slot, txHashes: [txHash] }]);
    const outcome = await sender.chainOutcome(payment, [{ txHash, isCancel: false }]);
    return { location, outcome, judged: await lab.judged(payment, [signed]) };
  }

  it.each(engines)("%s: validated, it is there and paid", async (engine) => {
    const sender = await answering(engine);
    const [slot, signed] = [lab.slot(), lab.sign(lab.payment())];
    await sender.broadcast(signed.raw);
    lab.validate(signed);
    const { index: block, hash: blockHash } = lab.node.chain.head;
    const { txHash } = signed;
    expect(await fateOf(sender, signed, slot)).toEqual({
      location: { location: { txHash, block, blockHash }, isDoubtful: false },
      outcome: { outcome: "paid", txHash, block },
      judged: { kind: "completed", final: { txHash, block, feeUnits: 12n } },
    });
  });

  it.each(engines)(
    "%s: not validated, its slot shows that it is nowhere, and it stays open",
    async (engine) => {
      const sender = await answering(engine);
      const [slot, signed] = [lab.slot(), lab.sign(lab.payment())];
      await sender.broadcast(signed.raw);
      lab.node.closeLedgers(25); // past its last ledger
      expect(await fateOf(sender, signed, slot)).toEqual({
        location: { location: null, isDoubtful: false },
        outcome: null,
        judged: { kind: "waiting" },
      });
    },
  );

  it.each(engines)(
    "%s: behind a gap, the nodes could not answer, and nothing failed",
    async (engine) => {
      const sender = await answering(engine);
      const [slot, signed] = [lab.slot(), lab.sign(lab.payment())];
      await sender.broadcast(signed.raw);
      lab.validate(signed);
      lab.node.closeLedgers(3);
      const gap = {
        holes: [{ from: lab.node.chain.head.index - 3, to: lab.node.chain.head.index - 3 }],
      };
      lab.suffer(gap, gap);
      expect(await fateOf(sender, signed, slot)).toEqual({
        location: null,
        outcome: null,
        judged: {
          kind: "stuck",
          code: "WATCHER_SLOT_CONSUMED",
          detail: expect.stringContaining(`sequence ${slot} of`),
        },
      });
      lab.suffer({}, {});
      expect((await fateOf(sender, signed, slot)).judged).toMatchObject({ kind: "completed" });
    },
  );
});

group("one of our attempts in a ledger", () => {
  it("one of our attempts that fails there has reverted, with its fee", async () => {
    const payment = lab.payment({
      destination: owner("without an account").address,
      amountUnits: 1n,
    });
    const signed = lab.sign(payment, false, "40");
    lab.validate(signed);
    const { index: block } = lab.node.chain.head;
    const { txHash } = signed;
    expect(await lab.sender.chainOutcome(payment, [{ txHash, isCancel: false }])).toEqual({
      outcome: "reverted",
      txHash,
      block,
    });
    const final = { txHash, block, feeUnits: 40n };
    expect(await lab.judged(payment, [signed])).toEqual({
      kind: "failed",
      code: "chain_reverted",
      final,
    });
    expect(await lab.watcher.hasFailed(txHash)).toBe(true);
  });

  it("one of our attempts that is there is asked for by its id once, for its place and its end", async () => {
    const payment = lab.payment();
    const signed = lab.sign(payment);
    lab.validate(signed);
    const { txHash } = signed;
    const asked = (): readonly number[] =>
      lab.node.fronts.map(({ counts }) => counts.get("tx") ?? 0);
    const before = asked();
    const [found] = await lab.sender.locations(lab.from.address, [
      { slot: payment.slot, txHashes: [txHash] },
    ]);
    expect(found?.location?.txHash).toBe(txHash);
    expect(await lab.sender.chainOutcome(payment, [{ txHash, isCancel: false }])).toMatchObject({
      outcome: "paid",
    });
    expect(asked()).toEqual(before.map((count) => count + 1));
  });

  it("one of our attempts that is the cancel has cancelled; the other attempt is nowhere", async () => {
    const payment = lab.payment();
    const [signed, cancel] = [lab.sign(payment), lab.sign(payment, true, "15")];
    lab.validate(cancel);
    const { index: block, hash: blockHash } = lab.node.chain.head;
    const attempts = [signed, cancel].map(({ txHash }, at) => ({ txHash, isCancel: at === 1 }));
    expect(await lab.sender.chainOutcome(payment, attempts)).toEqual({
      outcome: "cancelled",
      txHash: cancel.txHash,
      block,
    });
    const final = { txHash: cancel.txHash, block, feeUnits: 15n };
    expect(await lab.judged(payment, [signed, cancel])).toEqual({
      kind: "failed",
      code: "cancelled",
      final,
    });
    expect(await lab.watcher.hasFailed(cancel.txHash)).toBe(false);
    const ask = (txHashes: readonly string[]) =>
      lab.sender.locations(lab.from.address, [{ slot: payment.slot, txHashes }]);
    expect(await ask([signed.txHash])).toEqual([{ location: null, isDoubtful: false }]);
    expect(await ask([signed.txHash, cancel.txHash])).toEqual([
      { location: { txHash: cancel.txHash, block, blockHash }, isDoubtful: false },
    ]);
  });

  it.each<[string, object]>([
    ["amount", { amountUnits: 4_999_999n }],
    ["receiver", { destination: owner("another").address }],
    ["tag", { tag: "8" }],
    ["missing tag", { tag: "" }],
  ])("one of our attempts that pays another %s than asked for differs", async (_, change) => {
    const payment = lab.payment({ tag: "7" });
    const signed = lab.sign(payment);
    lab.validate(signed);
    const { txHash } = signed;
    expect(await lab.judged({ ...payment, ...change }, [signed])).toMatchObject({
      kind: "stuck",
      code: "WATCHER_CONTENT_DIFFERS",
    });
    const outcomeOf = (wanted: typeof payment) =>
      lab.sender.chainOutcome(wanted, [{ txHash, isCancel: false }]);
    expect((await outcomeOf({ ...payment, ...change }))?.outcome).toBe("moved");
    expect((await outcomeOf(payment))?.outcome).toBe("paid");
    expect(await lab.judged(payment, [signed])).toMatchObject({ kind: "completed" });
  });

  it("one of our attempts that one node does not know is doubtful, and confirming for the watcher", async () => {
    const payment = lab.payment();
    const signed = lab.sign(payment);
    lab.validate(signed);
    lab.suffer({}, { lies: [{ kind: "hides", hashes: [signed.txHash] }] });
    const asked = [{ slot: payment.slot, txHashes: [signed.txHash] }];
    expect(await lab.sender.locations(lab.from.address, asked)).toEqual([
      { location: null, isDoubtful: true },
    ]);
    expect(await lab.sender.chainOutcome(payment, [{ ...signed, isCancel: false }])).toBeNull();
    const block = lab.node.chain.head.index;
    expect(await lab.judged(payment, [signed])).toEqual({
      kind: "confirming",
      txHash: signed.txHash,
      block,
    });
    lab.suffer({}, { lies: [{ kind: "result", result: "tecPATH_DRY" }] });
    await expect(lab.judged(payment, [signed])).rejects.toMatchObject({ code: "NODE_DISAGREE" });
  });

  it("one of our attempts in a ledger after the pass's final one is confirming there", async () => {
    const final = await lab.watcher.finalTip();
    const payment = lab.payment();
    const signed = lab.sign(payment);
    lab.validate(signed);
    const { txHash } = signed;
    expect(await lab.watcher.pass(final).judge(payment, [txHash], "")).toEqual({
      kind: "confirming",
      txHash,
      block: final.number + 1,
    });
    expect(await lab.judged(payment, [signed])).toMatchObject({ kind: "completed" });
  });

  it("one of our attempts is asked for only once its account's sequence has passed, if many are judged", async () => {
    const payment = lab.payment();
    const signed = lab.sign(payment);
    expect(await lab.judged(payment, [signed], 10)).toEqual({ kind: "waiting" });
    expect(lab.node.fronts[0]?.counts.get("tx") ?? 0).toBe(0);
    lab.validate(signed);
    expect(await lab.judged(payment, [signed], 10)).toMatchObject({ kind: "completed" });
  });
});

group("a foreign use of the slot", () => {
  /** A transaction of the account on the same slot, by another writer. */
  async function foreign(fields: Parameters<XrpLab["payment"]>[0], isCancel = false) {
    const payment = lab.payment({ tag: "7" });
    const [own, other] = [lab.sign(payment), lab.sign({ ...payment, ...fields }, isCancel, "99")];
    lab.validate(other);
    const { index: block } = lab.node.chain.head;
    const blocks = [await lab.watcher.block(block, true)];
    const [outgoing] = (await lab.watcher.outgoing(blocks, new Set([lab.from.address]))).found;
    const byTransaction =
      outgoing === undefined ? null : await lab.watcher.judgeOutgoing(payment, outgoing);
    return {
      byTransaction,
      byAttempts: await lab.judged(payment, [own]),
      outgoing,
      other,
      block,
      payment,
    };
  }

  it("a foreign use of the slot that pays another account failed the withdrawal, with that transaction as evidence", async () => {
    const { byTransaction, byAttempts, other, block, outgoing, payment } = await foreign({
      destination: owner("another").address,
    });
    const final = { txHash: other.txHash, block, feeUnits: 99n };
    expect(byTransaction).toEqual({ kind: "failed", code: "chain_slot_consumed", final });
    expect(byAttempts).toEqual(byTransaction);
    const receiver = owner("another").address;
    expect(outgoing).toMatchObject({
      account: lab.from.address,
      slot: payment.slot,
      block,
      receiver,
      tag: "7",
      amountUnits: xrpOf(5),
    });
  });

  it.each<[string, object]>([
    ["another amount", { amountUnits: 1n }],
    ["another tag", { tag: "8" }],
    ["no tag", { tag: "" }],
  ])(
    "a foreign use of the slot that pays the receiver with %s is for an operator",
    async (_, fields) => {
      const { byTransaction, byAttempts } = await foreign(fields);
      expect(byTransaction).toMatchObject({ kind: "stuck", code: "WATCHER_SLOT_CONSUMED" });
      expect(byAttempts).toEqual(byTransaction);
    },
  );

  it("a foreign use of the slot that is exactly the payment completed it", async () => {
    const { byTransaction, byAttempts } = await foreign({});
    expect(byTransaction).toMatchObject({ kind: "completed" });
    expect(byAttempts).toEqual(byTransaction);
  });

  it.each<[string, object, boolean]>([
    ["only uses the slot up", {}, true],
    ["failed", { destination: owner("nobody").address, amountUnits: 1n }, false],
    ["failed on its way to the receiver", { amountUnits: xrpOf(1_000) }, false],
  ])("a foreign use of the slot that %s failed the withdrawal", async (_, fields, isCancel) => {
    const { byTransaction, byAttempts } = await foreign(fields, isCancel);
    expect(byTransaction).toMatchObject({ kind: "failed", code: "chain_slot_consumed" });
    expect(byAttempts).toEqual(byTransaction);
  });

  it("a foreign use of the slot that one node alone has validated leaves the place of our attempts open", async () => {
    const { payment } = await foreign({ destination: owner("another").address });
    const asked = [{ slot: payment.slot, txHashes: [lab.sign(payment).txHash] }];
    lab.suffer({}, { lagLedgers: 1 });
    expect(await lab.sender.locations(lab.from.address, asked)).toEqual([null]);
    lab.suffer({}, {});
    expect(await lab.sender.locations(lab.from.address, asked)).toEqual([
      { location: null, isDoubtful: false },
    ]);
  });

  it("a foreign use of the slot is searched for once, however often its withdrawal is judged", async () => {
    const { payment } = await foreign({ tag: "8" });
    const before = lab.node.fronts[0]?.counts.get("account_tx");
    expect(await lab.judged(payment, [lab.sign(payment)])).toMatchObject({ kind: "stuck" });
    expect(lab.node.fronts[0]?.counts.get("account_tx")).toBe(before);
  });

  it("a foreign use of the slot is found in a long list, page by page", async () => {
    const { payment } = await foreign({ destination: lab.node.people.faucet.address });
    for (let count = 0; count < 450; count += 1) lab.node.people.fund(lab.from.address, 1n, count);
    lab.node.closeLedgers();
    const [own, before] = [lab.sign(payment), lab.node.fronts[0]?.counts.get("account_tx") ?? 0];
    const asked = [{ slot: payment.slot, txHashes: [own.txHash] }];
    expect(await lab.sender.locations(lab.from.address, asked)).toEqual([
      { location: null, isDoubtful: false },
    ]);
    expect((lab.node.fronts[0]?.counts.get("account_tx") ?? 0) - before).toBe(3);
  });
});

group("a replacement", () => {
  it("a replacement with the same sequence is taken from the queue at a higher fee, and one of both is validated", async () => {
    lab.node.escalate(5_000n);
    const payment = lab.payment();
    const [low, same, high] = ["40", "40", "60"].map((fee, at) =>
      lab.sign({ ...payment, tag: `${at}` }, false, fee),
    );
    expect(await lab.sender.broadcast(low!.raw)).toMatchObject({ standing: "taken", meaning: "" });
    expect(await lab.sender.broadcast(same!.raw)).toMatchObject({ meaning: "price" });
    expect(await lab.sender.broadcast(high!.raw)).toMatchObject({ standing: "taken", meaning: "" });
    lab.node.escalate();
    lab.node.closeLedgers(2);
    expect(lab.node.chain.placeOf(high!.txHash)).toBeDefined();
    expect(lab.node.chain.placeOf(low!.txHash)).toBeUndefined();
    expect(await lab.judged({ ...payment, tag: "2" }, [low!, high!])).toMatchObject({
      kind: "completed",
    });
    expect(await lab.sender.broadcast(low!.raw)).toMatchObject({ meaning: "slot-used" });
  });

  it("a replacement that one node takes is taken, and unsent bytes are unsent", async () => {
    const signed = lab.sign(lab.payment());
    lab.suffer({ isCut: true, methods: ["submit"] });
    expect(await lab.sender.broadcast(signed.raw)).toMatchObject({ standing: "taken" });
    expect(readBlob(signed.raw.slice(2)).hash).toBe(signed.txHash);
    const nobody = lab.open(["http://127.0.0.1:1", "http://127.0.0.1:2"]);
    expect(await nobody.broadcast(signed.raw)).toMatchObject({ standing: "unsent" });
    lab.suffer({ isCut: true, methods: ["submit"] }, { isCut: true, methods: ["submit"] });
    expect(await lab.sender.broadcast(signed.raw)).toMatchObject({ standing: "doubtful" });
  });
});
