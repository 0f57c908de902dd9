/**
 * The questions of a sender on Tron, against the fake for java-tron: chain state, energy,
 * activation, locations, outcomes, the worth of a broadcast's answer, and the independent reading
 * of signed bytes.
 */
import { afterEach, expect, describe as group, it } from "vitest";
import type { Payment } from "../../chains/family.ts";
import { examineTron, type ProbeQuestion } from "../../chains/tron/node-probe.ts";
import { readAttemptBack } from "../../chains/tron/node-read-back.ts";
import { createSender, type TronSender } from "../../chains/tron/node-sender.ts";
import type { Lie } from "../../lab/tron-node/lies.ts";
import type { TronNodeOptions } from "../../lab/tron-node/tron-node.ts";
import {
  inhabitant,
  paused,
  type Sending,
  sender,
  startTestNetwork,
  type TestNetwork,
  usdt,
} from "../support/tron-network.ts";

const tether = { contract: usdt, decimal: 6 };
let testNetwork: TestNetwork;
let nodes: TronSender;
const received: string[] = [];

async function begin(fronts = 2, options: TronNodeOptions = {}): Promise<void> {
  testNetwork = await startTestNetwork({
    fronts: Array.from({ length: fronts }, () => ({})),
    ...options,
  });
  nodes = open(testNetwork.node.urls);
}

function open(urls: readonly string[]): TronSender {
  received.length = 0;
  const log = (event: string): void => void received.push(event);
  const clock = (): number => performance.now();
  return createSender({
    urls,
    chainId: chainId(),
    tokens: [tether],
    clock,
    log,
    timeoutMs: 20_000,
    patienceMs: 40_000,
  });
}

function chainId(): string {
  return testNetwork.node.chainId;
}

afterEach(async () => {
  nodes.close();
  await testNetwork.node.close();
});

const holder = inhabitant("a holder");
const coinsTo = (destination: string, amountUnits = 1_000_000n) => ({
  contract: "",
  destination,
  tag: "",
  amountUnits,
});
const tokensTo = (destination: string, amountUnits = 5n) => ({
  contract: usdt,
  destination,
  tag: "",
  amountUnits,
});

group("the chain state for a payment on Tron", () => {
  it("the chain state for a payment on Tron refers to the newest solidified block and carries its time, the chain's prices and the account's funds there", async () => {
    await begin();
    const chainState = await nodes.chainState(sender.address);
    const solid = testNetwork.node.chain.blocks[6]!;
    expect(chainState).toEqual({
      number: 25,
      finalNumber: 6,
      chainMs: solid.timestampMs,
      accountHasCode: false,
      isKeyChanged: false,
      unfit: new Map(),
      balances: new Map([
        ["", 100_000_000_000n],
        [usdt, 1_000_000_000_000n],
      ]),
      feeMarket: {
        refBlockBytes: 6n,
        refBlockHash: BigInt(`0x${solid.id.slice(16, 32)}`),
        blockMs: BigInt(solid.timestampMs),
        ...{ energySun: 100n, byteSun: 1_000n, activationSun: 1_100_000n },
      },
    });
  });

  it("a transaction that is made of the chain state is taken by the chain", async () => {
    await begin();
    const { feeMarket } = await nodes.chainState(sender.address);
    if (feeMarket === null) throw new Error("no market");
    const hex = (value: bigint, digits: number): string => value.toString(16).padStart(digits, "0");
    const reference = {
      refBytes: hex(feeMarket.refBlockBytes ?? 0n, 4),
      refHash: hex(feeMarket.refBlockHash ?? 0n, 16),
    };
    const times = {
      timestampMs: Number(feeMarket.blockMs),
      expirationMs: Number(feeMarket.blockMs) + 300_000,
    };
    const signed = testNetwork.token(sender, usdt, holder.address, 5n, { reference, ...times });
    expect(await testNetwork.send(signed)).toMatchObject({ result: true });
  });

  it("a provider of two that names other prices leaves no market and all else; one of three changes nothing", async () => {
    await begin(2);
    testNetwork.node.fronts[1]!.suffer({ lies: [{ kind: "cheap" }] });
    const { number, finalNumber, balances, feeMarket, unread } = await nodes.chainState(
      sender.address,
    );
    expect([feeMarket, unread?.get("market")?.code, unread?.size]).toEqual([
      null,
      "NODE_DISAGREE",
      1,
    ]);
    expect([number > 0, finalNumber > 0, (balances.get("") ?? 0n) > 0n]).toEqual([
      true,
      true,
      true,
    ]);
    nodes.close();
    await testNetwork.node.close();
    await begin(3);
    testNetwork.node.fronts[0]!.suffer({ lies: [{ kind: "cheap" }] });
    expect(await nodes.chainState(sender.address)).toMatchObject({
      feeMarket: { energySun: 100n },
    });
    expect(await nodes.chainState(sender.address)).not.toHaveProperty("unread");
  });

  it("the chain state is of the older block if one provider of two lags; a block that only one has gives none", async () => {
    await begin(2);
    testNetwork.node.chain.mine(3);
    testNetwork.node.fronts[1]!.suffer({ lagBlocks: 2 });
    expect((await nodes.chainState(sender.address)).finalNumber).toBe(7);
    testNetwork.node.fronts[1]!.suffer({ lies: [{ kind: "all-solid" }] });
    expect((await nodes.chainState(sender.address)).finalNumber).toBe(9);
  });

  it("a contract that is no token's, and a token that counts otherwise than configured, are out of service alone", async () => {
    await begin();
    const other = inhabitant("a token of 18 decimals").address;
    testNetwork.node.deploy({
      address: other,
      kind: "plain",
      name: "Other",
      symbol: "OTH",
      decimals: 18,
    });
    testNetwork.node.mint(other, sender.address, 7n);
    const open = (decimal: number): TronSender => {
      nodes.close();
      const tokens = [
        tether,
        { contract: other, decimal },
        { contract: holder.address, decimal: 6 },
      ];
      nodes = createSender({
        urls: testNetwork.node.urls,
        chainId: chainId(),
        tokens,
        clock: () => performance.now(),
        log: () => undefined,
      });
      return nodes;
    };
    const wrong = await open(6).chainState(sender.address);
    expect([...wrong.balances.keys()].sort()).toEqual(["", usdt].sort());
    expect(wrong.unfit).toEqual(
      new Map([
        [other, "the contract has 18 decimals, and config.json says 6 decimals"],
        [holder.address, "the contract is no token's, and config.json says 6 decimals"],
      ]),
    );
    const right = await open(18).chainState(sender.address);
    expect(right.balances.get(other)).toBe(7n);
    expect([...right.unfit.keys()]).toEqual([holder.address]);
  });

  it("a provider of two that reports other decimals of a token stops its currency; one of three changes nothing", async () => {
    for (const fronts of [2, 3]) {
      await begin(fronts);
      testNetwork.node.fronts[0]!.suffer({ lies: [{ kind: "decimals", decimals: 18 }] });
      const { balances, unfit } = await nodes.chainState(sender.address);
      expect(balances.get(usdt)).toBe(fronts === 2 ? undefined : 1_000_000_000_000n);
      expect(unfit).toEqual(new Map());
      if (fronts === 2) {
        nodes.close();
        await testNetwork.node.close();
      }
    }
  });
});

group("the compute limit of a payment on Tron", () => {
  it("coins to a known account are 0, to one that the chain does not know 1; a contract takes none", async () => {
    await begin();
    expect(await nodes.computeLimit(sender.address, coinsTo(holder.address))).toEqual({
      ok: true,
      computeLimit: 1n,
    });
    testNetwork.node.fund(holder.address, 1n);
    expect(await nodes.computeLimit(sender.address, coinsTo(holder.address))).toEqual({
      ok: true,
      computeLimit: 0n,
    });
    expect(await nodes.computeLimit(sender.address, coinsTo(usdt))).toMatchObject({
      ok: false,
      code: "NODE_WOULD_REVERT",
    });
  });

  it("a token takes the energy that the chain then takes", async () => {
    await begin();
    const asked = await nodes.computeLimit(sender.address, tokensTo(holder.address));
    await testNetwork.send(testNetwork.token(sender, usdt, holder.address, 5n));
    testNetwork.node.chain.mine();
    const [{ receipt }] = (await testNetwork.ask("wallet/gettransactioninfobyblocknum", {
      num: 26,
    })) as never as [{ receipt: { energy_usage_total: number } }];
    expect(asked).toEqual({ ok: true, computeLimit: BigInt(receipt.energy_usage_total) });
    expect(await nodes.computeLimit(sender.address, tokensTo(holder.address))).toEqual({
      ok: true,
      computeLimit: 64_285n,
    });
  });

  it("a call that would revert is refused with the chain's words, and more than the account has reverts", async () => {
    await begin();
    const refused = { ok: false, code: "NODE_WOULD_REVERT", detail: "REVERT opcode executed" };
    expect(
      await nodes.computeLimit(sender.address, { ...tokensTo(holder.address), contract: paused }),
    ).toEqual(refused);
    expect(
      await nodes.computeLimit(sender.address, tokensTo(holder.address, 2_000_000_000_000n)),
    ).toEqual(refused);
    expect(
      await nodes.computeLimit(sender.address, tokensTo(holder.address, 1_000_000_000_000n)),
    ).toMatchObject({ ok: true });
  });

  it("a provider of two that reports a tenth of the energy leaves no figure; one of three changes nothing", async () => {
    await begin(2);
    testNetwork.node.fronts[0]!.suffer({ lies: [{ kind: "cheap" }] });
    await expect(
      nodes.computeLimit(sender.address, tokensTo(holder.address)),
    ).rejects.toMatchObject({ code: "NODE_DISAGREE" });
    nodes.close();
    await testNetwork.node.close();
    await begin(3);
    testNetwork.node.fronts[0]!.suffer({ lies: [{ kind: "cheap" }] });
    expect(await nodes.computeLimit(sender.address, tokensTo(holder.address))).toEqual({
      ok: true,
      computeLimit: 130_285n,
    });
  });
});

group("a signed payment on its way into the chain", () => {
  const asPayment = (amountUnits: bigint, contract = usdt) => ({
    account: sender.address,
    destination: holder.address,
    tag: "",
    contract,
    amountUnits,
  });
  const attempt = (txHash: string) => ({ txHash, isCancel: false });

  it("a signed payment on its way into the chain has no place, then one that enough nodes show, and an outcome once it is solidified", async () => {
    await begin();
    const signed = testNetwork.token(sender, usdt, holder.address, 5n);
    const question = [{ slot: "0", txHashes: [signed.txID] }];
    expect(await nodes.locations(sender.address, question)).toEqual([
      { location: null, isDoubtful: false },
    ]);
    expect(await nodes.broadcast(hexOf(signed))).toMatchObject({ standing: "taken", meaning: "" });
    testNetwork.node.chain.mine();
    const { id: blockHash } = testNetwork.node.chain.head;
    expect(await nodes.locations(sender.address, question)).toEqual([
      { location: { txHash: signed.txID, block: 26, blockHash }, isDoubtful: false },
    ]);
    expect(await nodes.holds(26, blockHash)).toBe(true);
    testNetwork.node.chain.mine(18);
    expect(await nodes.chainOutcome(asPayment(5n), [attempt(signed.txID)])).toBeNull();
    testNetwork.node.chain.mine();
    expect(await nodes.chainOutcome(asPayment(5n), [attempt(signed.txID)])).toEqual({
      outcome: "paid",
      txHash: signed.txID,
      block: 26,
    });
    expect(await nodes.chainOutcome(asPayment(6n), [attempt(signed.txID)])).toMatchObject({
      outcome: "moved",
    });
  });

  it("signed payments in one block have their places by one question for the block to each node, until another head", async () => {
    await begin();
    const signed = [1, 2, 3].map((amount) => testNetwork.coins(sender, holder.address, amount));
    for (const one of signed) await nodes.broadcast(hexOf(one));
    testNetwork.node.chain.mine();
    await nodes.tip();
    const front = testNetwork.node.fronts[0]!;
    const blocksAsked = (): number =>
      [...front.counts].reduce(
        (sum, [path, count]) => (path.includes("getblockbynum") ? sum + count : sum),
        0,
      );
    const before = blocksAsked();
    const place = async ({ txID }: { readonly txID: string }) =>
      (await nodes.locations(sender.address, [{ slot: "0", txHashes: [txID] }]))[0];
    // One after the other, so that no moment is shared.
    for (const one of signed)
      expect(await place(one)).toMatchObject({ location: { txHash: one.txID, block: 26 } });
    expect(blocksAsked()).toBe(before + 1);
    const known = (await place(signed[0]!))?.location?.blockHash;
    testNetwork.node.chain.replace(1, { kept: "all" });
    await nodes.tip();
    const moved = (await place(signed[0]!))?.location?.blockHash;
    expect([moved === undefined, moved === known]).toEqual([false, false]);
    for (const one of signed)
      expect(await place(one)).toMatchObject({ location: { txHash: one.txID, blockHash: moved } });
    expect(blocksAsked()).toBe(before + 2);
  });

  it("a signed payment on its way into the chain loses its place with its block", async () => {
    await begin();
    const signed = testNetwork.coins(sender, holder.address, 7);
    await nodes.broadcast(hexOf(signed));
    testNetwork.node.chain.mine();
    const { id } = testNetwork.node.chain.head;
    testNetwork.node.chain.replace(1, { kept: "none" });
    expect(await nodes.locations(sender.address, [{ slot: "0", txHashes: [signed.txID] }])).toEqual(
      [{ location: null, isDoubtful: false }],
    );
    expect(await nodes.holds(26, id)).toBe(false);
    expect(await nodes.holds(99, id)).toBe(false);
  });

  it("a signed payment on its way into the chain is doubtful while one of two providers shows it, and has no outcome", async () => {
    await begin();
    const signed = testNetwork.coins(sender, holder.address, 7);
    await nodes.broadcast(hexOf(signed));
    testNetwork.node.chain.mine(20);
    testNetwork.node.fronts[1]!.suffer({ lies: [{ kind: "hides" }] });
    expect(await nodes.locations(sender.address, [{ slot: "0", txHashes: [signed.txID] }])).toEqual(
      [{ location: null, isDoubtful: true }],
    );
    expect(await nodes.chainOutcome(asPayment(7n, ""), [attempt(signed.txID)])).toBeNull();
    testNetwork.node.fronts[1]!.suffer({});
    expect(await nodes.chainOutcome(asPayment(7n, ""), [attempt(signed.txID)])).toMatchObject({
      outcome: "paid",
    });
  });

  it.each([
    ["out of energy", { feeLimitSun: 1_000_000 }, 5n],
    ["by a revert", {}, 2_000_000_000_000n],
  ] as const)(
    "a signed payment on its way into the chain that failed %s is reverted by its solidified receipt, and by no provider's word alone",
    async (_, sending, units) => {
      await begin();
      const signed = testNetwork.token(sender, usdt, holder.address, units, sending as Sending);
      await nodes.broadcast(hexOf(signed));
      testNetwork.node.chain.mine(20);
      expect(await nodes.chainOutcome(asPayment(units), [attempt(signed.txID)])).toMatchObject({
        outcome: "reverted",
      });
      for (const lie of ["success", "moved"] satisfies Lie["kind"][]) {
        testNetwork.node.fronts[0]!.suffer({ lies: [{ kind: lie }] });
        await expect(
          nodes.chainOutcome(asPayment(units), [attempt(signed.txID)]),
        ).rejects.toMatchObject({
          code: "NODE_DISAGREE",
        });
      }
    },
  );

  it("a provider of two whose receipt has another amount leaves no outcome; one of three changes nothing", async () => {
    for (const fronts of [2, 3]) {
      await begin(fronts);
      const signed = testNetwork.token(sender, usdt, holder.address, 5n);
      await nodes.broadcast(hexOf(signed));
      testNetwork.node.chain.mine(20);
      testNetwork.node.fronts[0]!.suffer({ lies: [{ kind: "amount" }] });
      const chainOutcome = nodes.chainOutcome(asPayment(5n), [attempt(signed.txID)]);
      if (fronts === 3) expect(await chainOutcome).toMatchObject({ outcome: "paid" });
      else {
        await expect(chainOutcome).rejects.toMatchObject({ code: "NODE_DISAGREE" });
        nodes.close();
        await testNetwork.node.close();
      }
    }
  });

  it("an older attempt that failed leaves the outcome to the newest", async () => {
    await begin();
    const [first, second] = [
      testNetwork.token(sender, usdt, holder.address, 5n, { feeLimitSun: 1_000_000 }),
      testNetwork.token(sender, usdt, holder.address, 5n),
    ];
    for (const signed of [first, second]) await nodes.broadcast(hexOf(signed));
    testNetwork.node.chain.mine(20);
    const both = [attempt(first.txID), attempt(second.txID)];
    expect(await nodes.chainOutcome(asPayment(5n), both)).toMatchObject({
      outcome: "paid",
      txHash: second.txID,
    });
    expect(
      await nodes.chainOutcome(asPayment(5n), [attempt(first.txID), attempt("11".repeat(32))]),
    ).toBeNull();
  });
});

group("what a provider's answer to signed bytes is worth", () => {
  it("signed bytes that a provider takes are accepted, the same again are known, and an account without coins lacks funds", async () => {
    await begin(1);
    const signed = hexOf(testNetwork.coins(sender, holder.address, 7));
    expect(await nodes.broadcast(signed)).toMatchObject({ standing: "taken" });
    expect(await nodes.broadcast(signed)).toMatchObject({ meaning: "known" });
    testNetwork.node.fund(holder.address, 5n);
    expect(
      await nodes.broadcast(hexOf(testNetwork.coins(holder, sender.address, 700))),
    ).toMatchObject({ meaning: "funds" });
  });

  it("signed bytes with a reference that the chain does not have are refused, and refused again where the node calls them known", async () => {
    await begin(1);
    const reference = { refBytes: "0001", refHash: "00".repeat(8) };
    const signed = hexOf(testNetwork.coins(sender, holder.address, 7, { reference }));
    const refused = {
      standing: "refused",
      meaning: "bytes",
      text: expect.stringMatching(/^TAPOS_ERROR/),
    };
    expect(await nodes.broadcast(signed)).toMatchObject(refused);
    expect(await nodes.broadcast(signed)).toMatchObject(refused);
    nodes.close();
    // A later run does not know what the node said before.
    nodes = open(testNetwork.node.urls);
    expect(await nodes.broadcast(signed)).toMatchObject({
      standing: "doubtful",
      text: expect.stringMatching(/^DUP/),
    });
  });

  it("a transaction past its end is expired, unless some provider leaves it open", async () => {
    await begin(2);
    const late = (): string =>
      hexOf(
        testNetwork.coins(sender, holder.address, 7, {
          expirationMs: testNetwork.node.chain.head.timestampMs,
        }),
      );
    expect(await nodes.broadcast(late())).toMatchObject({ meaning: "expired" });
    testNetwork.node.fronts[1]!.suffer({ isGarbage: true, paths: "broadcast" });
    expect(await nodes.broadcast(late())).toMatchObject({ standing: "doubtful" });
  });

  it("one provider's yes is enough, and another's no changes nothing", async () => {
    await begin(3);
    testNetwork.node.fronts[0]!.suffer({ status: 500 });
    testNetwork.node.fronts[1]!.suffer({ isGarbage: true, paths: "broadcast" });
    expect(
      await nodes.broadcast(hexOf(testNetwork.coins(sender, holder.address, 7))),
    ).toMatchObject({ standing: "taken" });
  });

  it.each([
    ["cut in the middle", { isCut: true, paths: "broadcast" }, "doubtful"],
    ["an HTTP error", { status: 502, paths: "broadcast" }, "doubtful"],
    ["too many questions", { status: 429, paths: "broadcast" }, "refused"],
    ["no JSON", { isGarbage: true, paths: "broadcast" }, "doubtful"],
  ])("%s takes no signed bytes, and they are sent once", async (_, trouble, standing) => {
    await begin(1);
    await nodes.tip();
    testNetwork.node.fronts[0]!.suffer(trouble);
    expect(
      await nodes.broadcast(hexOf(testNetwork.coins(sender, holder.address, 7))),
    ).toMatchObject({ standing });
    expect(testNetwork.node.fronts[0]!.counts.get("/wallet/broadcasthex")).toBe(1);
  });

  it("a provider that nobody can reach has seen nothing: unsent", async () => {
    await begin(1);
    const signed = hexOf(testNetwork.coins(sender, holder.address, 7));
    await testNetwork.node.close();
    expect(await nodes.broadcast(signed)).toMatchObject({ standing: "unsent" });
  });
});

group("a provider looked at", () => {
  const lookAtNode = (question: ProbeQuestion) => examineTron(question).look(question.contracts);
  const blockHashAt = (question: ProbeQuestion, number: number) =>
    examineTron(question).hashAt(number);

  it("a provider looked at shows its chain, its head's time and how tokens count; another chain's is kept out", async () => {
    await begin(1);
    const [url] = testNetwork.node.urls;
    const question = {
      url: url!,
      chainId: chainId(),
      contracts: [usdt, holder.address],
      timeoutMs: 20_000,
    };
    expect(await lookAtNode(question)).toMatchObject({
      ...{
        url,
        code: "",
        detail: "",
        block: 25,
        blockAtMs: testNetwork.node.chain.head.timestampMs,
      },
      tokens: [
        { contract: usdt, decimals: 6 },
        { contract: holder.address, decimals: -1 },
      ],
    });
    expect(await blockHashAt(question, 3)).toBe(testNetwork.node.chain.blocks[3]!.id);
    expect(await blockHashAt(question, 300)).toBe("");
    expect(await lookAtNode({ ...question, chainId: "0x2b6653dc" })).toMatchObject({
      code: "NODE_WRONG_CHAIN",
    });
  });

  it("a provider looked at without its API key is an HTTP error, and the key is in no word that is shown", async () => {
    await begin(1, { fronts: [{ apiKey: "secret-key" }] });
    const url = testNetwork.node.urls[0]!;
    const question = { chainId: chainId(), contracts: [], timeoutMs: 20_000 };
    const detail = "HTTP status 401, no key or a wrong one: write it as https://KEY@host";
    expect(await lookAtNode({ ...question, url })).toMatchObject({ code: "NODE_HTTP", detail });
    const keyed = await lookAtNode({ ...question, url: url.replace("//", "//secret-key@") });
    expect(keyed).toMatchObject({ code: "", block: 25 });
    expect(JSON.stringify(keyed)).not.toContain("secret-key");
  });

  it("a provider looked at that fails is named once, rests, and is told of when it answers again", async () => {
    await begin(2);
    testNetwork.node.fronts[0]!.suffer({ status: 500 });
    await nodes.tip();
    expect(nodes.status()[0]).toMatchObject({
      ok: false,
      detail: "NODE_HTTP: HTTP status 500 (internal error): trouble",
    });
    testNetwork.node.fronts[0]!.suffer({});
    const isWell = async (): Promise<boolean> => {
      await nodes.chainState(sender.address);
      return nodes.status()[0]?.ok === true;
    };
    await expect.poll(isWell).toBe(true);
    expect(received).toEqual(["node-failed", "node-recovered"]);
  });
});

group("signed bytes read back by other code", () => {
  const said = (signed: { txID: string }, payment: Partial<Payment>, sending: Sending) => {
    const { id } = testNetwork.node.chain.blocks[testNetwork.node.chain.solid]!;
    const txParams = {
      refBlockBytes: `${Number.parseInt(id.slice(12, 16), 16)}`,
      refBlockHash: `${BigInt(`0x${id.slice(16, 32)}`)}`,
      ...{
        timestampMs: `${sending.timestampMs}`,
        expirationMs: `${sending.expirationMs}`,
        feeLimitSun: `${sending.feeLimitSun}`,
      },
    };
    const whole = {
      network: "tron:0x00000001",
      account: sender.address,
      slot: "0",
      contract: usdt,
      destination: holder.address,
      tag: "",
      amountUnits: 5n,
    };
    return { payment: { ...whole, ...payment }, txParams, txHash: signed.txID, isCancel: false };
  };
  const times = {
    timestampMs: 1_790_000_000_123,
    expirationMs: 1_790_000_300_000,
    feeLimitSun: 30_000_000,
  };

  it("tronweb's bytes of a token and of coins read as what was asked for", async () => {
    await begin(1);
    const token = testNetwork.token(sender, usdt, holder.address, 5n, times);
    expect(await readAttemptBack(hexOf(token), said(token, {}, times))).toBe("");
    const coins = testNetwork.coins(sender, holder.address, 5, times);
    const free = { ...times, feeLimitSun: 0 };
    expect(await readAttemptBack(hexOf(coins), said(coins, { contract: "" }, free))).toBe("");
  });

  it("each thing that differs is named", async () => {
    await begin(1);
    const token = testNetwork.token(sender, usdt, holder.address, 5n, times);
    const read = (payment: Partial<Payment>, other: Sending = {}) =>
      readAttemptBack(hexOf(token), said(token, payment, { ...times, ...other }));
    expect(await read({ amountUnits: 6n })).toMatch(/^amount reads as 5/);
    expect(await read({ destination: sender.address })).toMatch(/^receiver of the token/);
    expect(await read({ account: holder.address })).toMatch(/^sender/);
    expect(await read({ contract: holder.address })).toMatch(/^receiver/);
    expect(await read({}, { expirationMs: 1 })).toMatch(/^expiration/);
    expect(await read({}, { timestampMs: 1 })).toMatch(/^timestamp/);
    expect(await read({}, { feeLimitSun: 1 })).toMatch(/^fee limit/);
    expect(
      await readAttemptBack(hexOf(token), { ...said(token, {}, times), txHash: "00" }),
    ).toMatch(/^id/);
    expect(await read({ tag: "7" })).toMatch(/^tag reads as none, not 7$/);
  });
});

/** A whole transaction: what tronweb made and signed, in its protobuf frame. */
function hexOf({
  raw_data_hex: raw,
  signature,
}: {
  readonly raw_data_hex: string;
  readonly signature: readonly string[];
}): string {
  const field = (tag: string, hex: string): string => {
    const bytes = hex.length / 2;
    const length = bytes < 128 ? [bytes] : [(bytes & 127) | 128, bytes >> 7];
    return tag + Buffer.from(length).toString("hex") + hex;
  };
  return field("0a", raw) + signature.map((one) => field("12", one)).join("");
}
