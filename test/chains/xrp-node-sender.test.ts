/**
 * The questions of payments to nodes of the XRP Ledger, against the stand-in for rippled: funds and
 * market, sequences, receivers, and the agreement of nodes of which one lies, lags or serves
 * another network.
 */
import { afterEach, expect, describe as group, it } from "vitest";
import { blockHashAt, lookAtNode, openSender, openWatcher } from "../../chains/connect.ts";
import type { Trouble } from "../../lab/xrp-node/front.ts";
import { person } from "../../lab/xrp-node/people.ts";
import { openLab, type XrpLab, xrpOf } from "./xrp-lab.ts";
import { owner } from "./xrp-wallet.ts";

let lab: XrpLab;
afterEach(() => lab.close());

const unfunded = owner("without an account").address;
const code = (name: string) => expect.objectContaining({ code: name, effect: "none" });

group("funds and market", () => {
  it("the chain state names the funds above the reserve, the fee, and the newest ledger", async () => {
    lab = await openLab();
    const { index } = lab.node.chain.head;
    expect(await lab.sender.tip()).toEqual({ number: index, hash: lab.node.chain.head.hash });
    expect(await lab.sender.chainState(lab.from.address)).toEqual({
      number: index,
      finalNumber: index,
      feeMarket: { feeDrops: 10n, ledger: BigInt(index) },
      balances: new Map([["", xrpOf(99)]]),
      unfit: new Map(),
      accountHasCode: false,
    });
    lab.node.own(lab.from.address, 3);
    lab.node.closeLedgers();
    expect((await lab.sender.chainState(lab.from.address)).balances.get("")).toBe(
      xrpOf(99) - 600_000n,
    );
    lab.node.own(lab.from.address, 600);
    lab.node.closeLedgers();
    expect((await lab.sender.chainState(lab.from.address)).balances.get("")).toBe(0n);
    expect((await lab.sender.chainState(unfunded)).balances.get("")).toBe(0n);
  });

  it("the fee market is the lower fee of two nodes, the middle one of three, and never a fee without a bound", async () => {
    lab = await openLab(3);
    const feeDrops = async (): Promise<bigint | undefined> =>
      (await lab.sender.chainState(lab.from.address)).feeMarket?.feeDrops;
    lab.suffer({ openFeeDrops: 5_000n }, { openFeeDrops: 300n }, { openFeeDrops: 10n });
    expect(await feeDrops()).toBe(300n);
    const two = lab.open(lab.node.urls.slice(0, 2));
    expect((await two.chainState(lab.from.address)).feeMarket?.feeDrops).toBe(300n);
    lab.suffer(...Array.from({ length: 3 }, () => ({ openFeeDrops: xrpOf(50) })));
    expect(await feeDrops()).toBe(100_000n);
    lab.suffer(...Array.from({ length: 3 }, () => ({ openFeeDrops: 1n })));
    expect(await feeDrops()).toBe(10n); // the base fee
  });
});

group("sequences", () => {
  it("the count of closed slots is that at the final ledger, in the open one, and in the queue", async () => {
    lab = await openLab();
    const first = BigInt(lab.slot());
    expect(await lab.sender.closed(lab.from.address)).toEqual({
      ...{ latest: first, pending: first, final: first, quorum: 2, isSame: true },
    });
    expect(await lab.sender.broadcast(lab.sign(lab.payment()).raw)).toMatchObject({
      standing: "taken",
      meaning: "",
    });
    lab.node.escalate(5_000n);
    expect(await lab.sender.broadcast(lab.sign(lab.payment()).raw)).toMatchObject({
      standing: "taken",
      meaning: "",
    });
    const { latest, pending, final } = await lab.sender.closed(lab.from.address);
    expect([latest, pending, final]).toEqual([first + 1n, first + 2n, first]);
    lab.node.escalate();
    lab.node.closeLedgers(2);
    expect((await lab.sender.closed(lab.from.address)).final).toBe(first + 2n);
  });

  it("the count of slots is refused for an account that does not exist, so nobody takes a first slot from nothing", async () => {
    lab = await openLab();
    await expect(lab.sender.closed(unfunded)).rejects.toEqual(code("NODE_ERROR"));
    lab.node.people.fund(unfunded, xrpOf(2));
    await expect(lab.sender.closed(unfunded)).rejects.toEqual(code("NODE_ERROR")); // in the open ledger alone
    lab.node.closeLedgers();
    expect((await lab.sender.closed(unfunded)).final).toBe(BigInt(lab.node.chain.head.index));
  });

  it("the count of slots needs the agreement on the final count alone", async () => {
    lab = await openLab(2);
    const { address } = lab.from;
    lab.suffer({}, { lies: [{ kind: "sequence", sequence: 5, address }] });
    await expect(lab.sender.closed(address)).rejects.toEqual(code("NODE_DISAGREE"));
    lab.suffer({}, { lagLedgers: 1 });
    lab.node.fund(unfunded, xrpOf(2));
    expect(await lab.sender.closed(address)).toMatchObject({ quorum: 2, isSame: true });
  });
});

group("a receiver", () => {
  const flags = { tag: 1, xrp: 3, deposits: 9 } as const;
  const kinds: readonly (readonly (keyof typeof flags)[])[] = [
    [],
    ["tag"],
    ["xrp"],
    ["deposits"],
    ["tag", "xrp"],
    ["tag", "deposits"],
    ["xrp", "deposits"],
    ["tag", "xrp", "deposits"],
  ];
  const rows = kinds.flatMap((kind) =>
    (["", "0", "4294967295"] as const).map((tag) => [kind.join("+") || "none", tag, kind] as const),
  );

  it.each(rows)(
    "a receiver with the flags %s and the tag '%s' is refused exactly if the ledger refuses it",
    async (_, tag, kind) => {
      lab = await openLab();
      const receiver = person("a careful one");
      lab.node.fund(receiver.address, xrpOf(30));
      for (const flag of kind) lab.node.people.setFlag(receiver, flags[flag]);
      lab.node.closeLedgers();
      const payment = lab.payment({ destination: receiver.address, tag });
      const answer = await lab.sender.computeLimit(lab.from.address, payment);
      const signed = lab.sign(payment);
      lab.validate(signed);
      const outcome = await lab.sender.chainOutcome(payment, [
        { txHash: signed.txHash, isCancel: false },
      ]);
      const isRefused = kind.includes("deposits") || (kind.includes("tag") && tag === "");
      expect(outcome?.outcome).toBe(isRefused ? "reverted" : "paid");
      if (isRefused) expect(answer).toMatchObject({ ok: false, code: "NODE_WOULD_REVERT" });
      else expect(answer).toEqual({ ok: true, computeLimit: 1n });
    },
  );

  it("a receiver that does not exist takes the reserve and no less; nobody pays himself", async () => {
    lab = await openLab();
    const ask = (amountUnits: bigint, destination = unfunded) =>
      lab.sender.computeLimit(lab.from.address, lab.payment({ destination, amountUnits }));
    expect(await ask(999_999n)).toMatchObject({ ok: false, code: "NODE_WOULD_REVERT" });
    expect(await ask(1_000_000n)).toEqual({ ok: true, computeLimit: 1n });
    expect(await ask(1n, lab.to.address)).toEqual({ ok: true, computeLimit: 1n });
    expect(await ask(1_000_000n, lab.from.address)).toMatchObject({
      ok: false,
      code: "NODE_WOULD_REVERT",
    });
  });

  it("a receiver with deposit authorization takes a small payment while it is poor", async () => {
    lab = await openLab();
    const poor = person("a poor one");
    lab.node.fund(poor.address, 1_000_012n);
    lab.node.people.setFlag(poor, 9);
    lab.node.closeLedgers();
    const ask = (amountUnits: bigint) =>
      lab.sender.computeLimit(
        lab.from.address,
        lab.payment({ destination: poor.address, amountUnits }),
      );
    expect(await ask(1_000_000n)).toEqual({ ok: true, computeLimit: 1n });
    expect(await ask(1_000_001n)).toMatchObject({ ok: false, code: "NODE_WOULD_REVERT" });
  });
});

group("the agreement of nodes", () => {
  const lies: readonly (readonly [string, Trouble])[] = [
    ["a balance", { lies: [{ kind: "balance", drops: xrpOf(1_000) }] }],
    ["the hashes of ledgers", { lies: [{ kind: "other-hash" }] }],
  ];

  it.each(lies)(
    "the agreement of nodes is missing between two when one lies about %s, and found among three",
    async (what, trouble) => {
      lab = await openLab(3);
      lab.suffer({}, trouble);
      const two = lab.open(lab.node.urls.slice(0, 2));
      if (what !== "a balance")
        await expect(two.chainState(lab.from.address)).rejects.toEqual(code("NODE_DISAGREE"));
      else {
        // The lie costs the part that it is about, and no other.
        const { unread, balances, feeMarket } = await two.chainState(lab.from.address);
        expect([unread?.get("funds")?.code, unread?.size, balances.size]).toEqual([
          "NODE_DISAGREE",
          1,
          0,
        ]);
        expect(feeMarket).not.toBeNull();
      }
      expect((await lab.sender.chainState(lab.from.address)).balances.get("")).toBe(xrpOf(99));
    },
  );

  it("the agreement of nodes is on the newest ledger that both have when one lags", async () => {
    lab = await openLab();
    lab.node.closeLedgers(5);
    lab.suffer({ lagLedgers: 3 });
    const { index } = lab.node.chain.head;
    const { finalNumber, feeMarket } = await lab.sender.chainState(lab.from.address);
    expect([finalNumber, feeMarket?.ledger]).toEqual([index - 3, BigInt(index - 3)]);
    lab.suffer();
    expect((await lab.sender.chainState(lab.from.address)).finalNumber).toBe(index);
  });

  it("the agreement of nodes leaves a node of another network out", async () => {
    lab = await openLab(3);
    lab.suffer({}, { networkId: 1 });
    expect((await lab.sender.chainState(lab.from.address)).balances.get("")).toBe(xrpOf(99));
    expect(lab.sender.status().map(({ ok, detail }) => [ok, detail])).toEqual([
      [true, ""],
      [false, "NODE_WRONG_CHAIN: chain id 1 instead of 0"],
      [true, ""],
    ]);
    const two = lab.open(lab.node.urls.slice(0, 2));
    await expect(two.chainState(lab.from.address)).rejects.toEqual(code("NODE_WRONG_CHAIN"));
    expect(lab.events).toContain("node-wrong-chain");
  });

  it("the agreement of nodes is asked of nodes of the configured network, whichever it is", async () => {
    lab = await openLab(2, { rules: { networkId: 1 } });
    await expect(lab.sender.chainState(lab.from.address)).rejects.toEqual(code("NODE_WRONG_CHAIN"));
    const chain = {
      family: "xrp",
      chainId: 1,
      nodes: lab.node.urls,
      confirmations: "finalized",
    } as const;
    const sender = openSender({
      chain,
      tokens: [],
      clock: () => performance.now(),
      log: () => undefined,
    });
    expect((await sender.chainState(lab.from.address)).balances.get("")).toBe(xrpOf(99));
    sender.close();
    const watcher = openWatcher({ chain, log: () => undefined });
    expect(await watcher.balance(lab.to.address, "", lab.node.chain.head.index)).toBe(xrpOf(19));
    watcher.close();
  });

  it("the agreement of nodes shares questions of one tick, and asks for a quota again", async () => {
    lab = await openLab();
    const asked = (): number => lab.node.fronts[0]?.counts.get("account_info") ?? 0;
    const { address } = lab.from;
    await Promise.all([
      lab.sender.chainState(address),
      lab.sender.chainState(address),
      lab.sender.chainState(address),
    ]);
    expect(asked()).toBe(1);
    lab.suffer({ status: 429, words: "slow down", times: 1 });
    expect((await lab.sender.chainState(address)).balances.get("")).toBe(xrpOf(99));
  });

  it("the agreement of nodes holds a ledger by number and hash", async () => {
    lab = await openLab();
    const { index, hash, parentHash } = lab.node.chain.head;
    expect(await lab.sender.holds(index, hash)).toBe(true);
    expect(await lab.sender.holds(index, parentHash)).toBe(false);
    expect(await lab.sender.holds(index + 1, hash)).toBe(false);
  });
});

group("the look at one node", () => {
  const question = (url: string) => ({
    chain: { family: "xrp", chainId: 0, confirmations: "finalized" } as const,
    url,
    contracts: [],
    timeoutMs: 20_000,
  });

  it("the look at one node names its newest ledger, the questions without an answer, and another network", async () => {
    lab = await openLab(3);
    lab.node.closeLedgers(600);
    lab.suffer(
      {},
      { networkId: 1 },
      { holes: [{ from: lab.node.chain.head.index - 40, to: lab.node.chain.head.index - 30 }] },
    );
    const [well = "", other = "", holed = ""] = lab.node.urls;
    const { index: block, hash } = lab.node.chain.head;
    expect(await lookAtNode(question(well))).toMatchObject({
      url: well,
      code: "",
      block,
      lacks: [],
      tokens: [],
    });
    expect(await lookAtNode(question(other))).toMatchObject({ code: "NODE_WRONG_CHAIN", block: 0 });
    expect((await lookAtNode(question(holed))).lacks).toMatchObject([
      { code: "NODE_NO_BLOCK", isOptional: true },
    ]);
    expect(await blockHashAt(question(well), block)).toBe(hash);
    expect(await blockHashAt(question(well), block + 1)).toBe("");
    lab.suffer({ isGarbage: true, methods: ["fee"] });
    expect((await lookAtNode(question(well))).lacks).toMatchObject([
      { question: "the fee", code: "NODE_ANSWER" },
    ]);
  });
});
