/**
 * The answers of Tron's nodes, read strictly: shapes, whole numbers of any size, events, and the
 * rule for "paid" over several attempts.
 */
import { expect, describe as group, it } from "vitest";
import {
  readAccount,
  readBlock,
  readParameters,
  readReceipt,
  readTrial,
} from "../../chains/tron/answers.ts";
import { transfersOf } from "../../chains/tron/events.ts";
import { type AttemptEvidence, judgePayout } from "../../chains/tron/outcome.ts";
import { parseJson } from "../../chains/tron/rpc.ts";
import { inhabitant, usdt } from "../support/tron-network.ts";

const sender = inhabitant("sender");
const receiver = inhabitant("a receiver");
const id = (byte: string): string => byte.repeat(32);
const topic = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const word = (hex: string): string => hex.padStart(64, "0");

group("JSON of 64-bit integers", () => {
  it("integers of sixteen digits and more keep each digit, texts and fractions are as they were", () => {
    const text =
      '{"a":9007199254740993,"b":-9007199254740993,"c":"x:1234567890123456789,","d":12,"e":1.2345678901234567,"f":[18446744073709551615]}';
    expect(parseJson(text)).toEqual({
      ...{
        a: "9007199254740993",
        b: "-9007199254740993",
        c: "x:1234567890123456789,",
        d: 12,
        e: 1.2345678901234567,
      },
      f: ["18446744073709551615"],
    });
  });

  it("a text with quotes and digits in it stays one text", () => {
    const value = { name: 'a\\"1234567890123456,', other: '":1234567890123456,"' };
    expect(parseJson(JSON.stringify(value))).toEqual(value);
  });
});

group("answers of nodes", () => {
  const header = { raw_data: { number: 26, parentHash: id("aa"), timestamp: 1_790_000_000_000 } };
  const blockID = `${(26).toString(16).padStart(16, "0")}${"bb".repeat(24)}`;
  const contract = (type: string, value: object) => [{ type, parameter: { value } }];
  const coins = { owner_address: sender.hex, to_address: receiver.hex, amount: "9007199254740993" };
  const transaction = {
    txID: id("cc"),
    ret: [{ contractRet: "SUCCESS" }],
    raw_data: { contract: contract("TransferContract", coins) },
  };

  it("a block is read with its coins to the last unit; one that is not there is null", () => {
    const block = readBlock({ blockID, block_header: header, transactions: [transaction] });
    expect(block?.transactions[0]).toMatchObject({
      kind: "coins",
      receiver: receiver.address,
      amountSun: 9_007_199_254_740_993n,
      isDone: true,
    });
    expect(readBlock({})).toBeNull();
  });

  it.each([
    ["an id that begins with another number", { blockID: id("bb"), block_header: header }],
    ["no parent", { blockID, block_header: { raw_data: { number: 26, timestamp: 1 } } }],
    ["no list of transactions", { blockID, block_header: header, transactions: {} }],
    ["nothing", null],
  ])("a block with %s is no answer", (_, value) => {
    expect(() => readBlock(value)).toThrow(
      expect.objectContaining({ code: "NODE_ANSWER", effect: "none" }),
    );
  });

  it.each([
    ["an amount below zero", { ...coins, amount: -1 }, "amountSun"],
    ["an amount that a number cannot hold", { ...coins, amount: 2 ** 60 }, "amountSun"],
    [
      "a receiver of another chain",
      { ...coins, to_address: `a0${receiver.hex.slice(2)}` },
      "receiver",
    ],
    ["no owner", { ...coins, owner_address: undefined }, "owner"],
  ] as const)(
    "a foreign transaction with %s fails no block, and is a fault for whom it concerns",
    (_, value, field) => {
      const malformed = {
        ...transaction,
        raw_data: { contract: contract("TransferContract", value) },
      };
      const block = readBlock({
        blockID,
        block_header: header,
        transactions: [malformed, transaction],
      });
      expect(block?.transactions[1]?.receiver).toBe(receiver.address);
      expect(() => block?.transactions[0]?.[field]).toThrow(
        expect.objectContaining({ code: "NODE_ANSWER", effect: "none" }),
      );
    },
  );

  it.each([
    ["no contract", { raw_data: {} }],
    ["no data at all", { raw_data: null }],
    ["a contract that is a number", { raw_data: { contract: 7 } }],
    ["a result that is a text", { ret: "SUCCESS" }],
  ])("a transaction with %s fails no block and pays nobody", (_, fields) => {
    const block = readBlock({
      blockID,
      block_header: header,
      transactions: [{ ...transaction, ...fields }],
    });
    expect(block?.transactions[0]).toMatchObject({
      txHash: id("cc"),
      ...("ret" in fields ? { isDone: false } : { kind: "other", receiverKey: "" }),
    });
  });

  it("a foreign log or internal entry with odd fields fails no receipt", () => {
    const receipt = readReceipt({
      id: id("cc"),
      log: [7, { address: "x", topics: 1, data: null }],
      internal_transactions: [
        null,
        { callValueInfo: 5 },
        { callValueInfo: [{ callValue: -3 }], note: 5 },
      ],
    });
    expect(receipt?.logs.map(({ addressKey }) => addressKey)).toEqual(["", ""]);
    expect(receipt).toMatchObject({ internal: [], others: [] });
  });

  it("a transaction without its result, or with another, is not done", () => {
    for (const ret of [
      undefined,
      [],
      [{}],
      [{ contractRet: "REVERT" }],
      [{ contractRet: "success" }],
    ]) {
      const block = readBlock({
        blockID,
        block_header: header,
        transactions: [{ ...transaction, ret }],
      });
      expect(block?.transactions[0]?.isDone).toBe(false);
    }
  });

  it("a receipt that is missing is null, one that failed says so by either field", () => {
    expect(readReceipt({})).toBeNull();
    const read = (fields: object) =>
      readReceipt({ id: id("cc"), blockNumber: 26, ...fields })?.isDone;
    expect(read({ receipt: { net_usage: 1 } })).toBe(true);
    expect(read({ receipt: { result: "SUCCESS" } })).toBe(true);
    expect(read({ receipt: { result: "OUT_OF_ENERGY" } })).toBe(false);
    expect(read({ receipt: { result: "SUCCESS" }, result: "FAILED" })).toBe(false);
  });

  const entry = (note: string | undefined, callValue: unknown, more: object = {}) => ({
    ...{
      transferTo_address: receiver.hex,
      callValueInfo: [{ callValue }],
      rejected: false,
      ...more,
    },
    ...(note === undefined ? {} : { note }),
  });
  const hexOf = (text: string): string => Buffer.from(text).toString("hex");
  const entriesOf = (...internal_transactions: readonly unknown[]) =>
    readReceipt({ id: id("cc"), internal_transactions });

  it.each(["call", "create", "suicide"])(
    "an internal entry with the note %s counts, in hex and in letters",
    (note) => {
      expect(entriesOf(entry(hexOf(note), 5), entry(note, 6))).toMatchObject({
        internal: [
          { receiverKey: receiver.hex, amountSun: 5n },
          { receiverKey: receiver.hex, amountSun: 6n },
        ],
        others: [],
      });
    },
  );

  // Entries beside those three: trezor/blockbook #1682 and tronprotocol/java-tron #5945 list some,
  // with the amount that was staked, delegated or withdrawn.
  it.each([
    ...[
      "delegateResourceOfEnergy",
      "unDelegateResourceOfEnergy",
      "freezeBalanceV2ForEnergy",
      "unfreezeBalanceV2ForEnergy",
    ],
    ...[
      "withdrawExpireUnfreezeWhileUnstaking",
      "withdrawExpireUnfreeze",
      "cancelAllUnfreezeV2",
      "voteWitness",
    ],
    ...["withdrawReward", "freezeForBandwidth", "unfreezeForEnergy", "callx", "Call"],
  ])("an internal entry with the note %s counts as nothing and is kept apart", (note) => {
    const amountSun = 1_000_000_000n;
    expect(entriesOf(entry(hexOf(note), Number(amountSun)), entry(hexOf("call"), 5))).toMatchObject(
      {
        internal: [{ receiverKey: receiver.hex, amountSun: 5n }],
        others: [{ receiverKey: receiver.hex, amountSun, note }],
      },
    );
  });

  it("an internal entry without a note, undone or of a TRC-10 token counts as nothing", () => {
    const receipt = entriesOf(
      entry(undefined, 4),
      entry("", 4),
      entry(hexOf("call"), 6, { rejected: true }),
      { ...entry(hexOf("call"), 0), callValueInfo: [{ callValue: 7, tokenId: "1000001" }, {}] },
      { transferTo_address: receiver.hex, note: hexOf("call") },
    );
    expect(receipt?.internal).toEqual([]);
    expect(receipt?.others.map(({ note }) => note)).toEqual(["", ""]);
  });

  it("an account whose owner permission names another key, or asks for more than its own, is not its own key's any more", () => {
    const owner = (threshold: number, ...keys: readonly (readonly [string, number])[]) => ({
      ...{ address: sender.hex, owner_permission: { permission_name: "owner", threshold } },
      ...{
        owner_permission: {
          threshold,
          keys: keys.map(([address, weight]) => ({ address, weight })),
        },
      },
    });
    const other = `41${"ab".repeat(20)}`;
    const changed = [owner(1, [other, 1]), owner(2, [sender.hex, 1], [other, 1]), owner(1)];
    expect(changed.map((one) => readAccount(one).isKeyChanged)).toEqual([true, true, true]);
    const own = [
      owner(1, [sender.hex, 1]),
      owner(2, [sender.hex, 2], [other, 1]),
      { address: sender.hex },
    ];
    expect(own.map((one) => readAccount(one).isKeyChanged)).toEqual([false, false, false]);
  });

  it("an account that the chain does not know has nothing; parameters that are off are 0", () => {
    expect(readAccount({})).toEqual({
      exists: false,
      balanceSun: 0n,
      isContract: false,
      isKeyChanged: false,
    });
    expect(readAccount({ address: sender.hex })).toEqual({
      exists: true,
      balanceSun: 0n,
      isContract: false,
      isKeyChanged: false,
    });
    expect(
      readParameters({
        chainParameter: [{ key: "a", value: 3 }, { key: "b" }, { key: "c", value: -1 }],
      }),
    ).toEqual(
      new Map([
        ["a", 3n],
        ["b", 0n],
        ["c", 0n],
      ]),
    );
  });

  it("a trial that the node would not make is the node's error in its own words", () => {
    const message = Buffer.from("Smart contract is not exist.").toString("hex");
    expect(() => readTrial({ result: { code: "CONTRACT_VALIDATE_ERROR", message } })).toThrow(
      /CONTRACT_VALIDATE_ERROR Smart contract/,
    );
  });
});

group("Transfer events", () => {
  const log = {
    address: inhabitant("contract of usdt").hex.slice(2),
    topics: [topic, word(sender.hex.slice(2)), word(receiver.hex.slice(2))],
    data: word("05"),
  };
  const receiptWith = (...logs: readonly object[]) => readReceipt({ id: id("cc"), log: logs })!;

  it("Transfer events of the contract are read with their place, others are left out", () => {
    const other = { ...log, address: "22".repeat(20) };
    const approval = { ...log, topics: [word("01"), ...log.topics.slice(1)] };
    const transfer = {
      from: sender.address,
      to: receiver.address,
      toKey: receiver.hex,
      amountUnits: 5n,
      index: 2,
    };
    expect(transfersOf(usdt, receiptWith(other, approval, log))).toEqual([transfer]);
  });

  it.each([
    ["no receiver", { ...log, topics: log.topics.slice(0, 2) }],
    [
      "bytes before the receiver's address",
      {
        ...log,
        topics: [...log.topics.slice(0, 2), `${"0".repeat(22)}41${receiver.hex.slice(2)}`],
      },
    ],
    ["an amount of two words", { ...log, data: word("05") + word("05") }],
    ["no amount", { ...log, data: "" }],
  ])("one with %s is no transfer that is known", (_, malformed) => {
    expect(transfersOf(usdt, receiptWith(malformed))).toEqual([null]);
  });
});

group("the end of a payment on Tron by all its attempts", () => {
  const payment = {
    account: sender.address,
    contract: "",
    destination: receiver.address,
    tag: "",
    amountUnits: 5n,
  };
  const attempt = (txHash: string, isDone: boolean, change: object = {}): AttemptEvidence => {
    const base = {
      txHash,
      kind: "coins",
      owner: sender.address,
      receiver: receiver.address,
      amountSun: 5n,
    } as const;
    const transaction = { ...base, contract: "", data: "", isDone, ...change };
    const receipt = {
      txHash,
      block: 7,
      isDone,
      callResult: "",
      feeSun: 9n,
      logs: [],
      internal: [],
      others: [],
    };
    return { txHash, includedIn: 7, final: { receipt, transaction } };
  };
  const nowhere = (txHash: string): AttemptEvidence => ({ txHash, includedIn: null, final: null });
  const end = (txHash: string) => ({ txHash, block: 7, feeUnits: 9n });

  it("one that paid completes it, with its fee, whatever became of others", () => {
    expect(judgePayout(payment, [attempt("a", true)])).toEqual({
      kind: "completed",
      final: end("a"),
    });
    expect(judgePayout(payment, [attempt("a", false), attempt("b", true)])).toEqual({
      kind: "completed",
      final: end("b"),
    });
    expect(judgePayout(payment, [attempt("a", true), nowhere("b")])).toEqual({
      kind: "completed",
      final: end("a"),
    });
  });

  it("the newest that failed ends it; an older one leaves it open", () => {
    expect(judgePayout(payment, [nowhere("a"), attempt("b", false)])).toEqual({
      kind: "failed",
      code: "chain_reverted",
      final: end("b"),
    });
    expect(judgePayout(payment, [attempt("a", false), nowhere("b")])).toEqual({ kind: "waiting" });
  });

  it("a payment with no attempt in a block is waiting, one with an attempt not final yet is confirming: nothing missing is a failure", () => {
    expect(judgePayout(payment, [nowhere("a")])).toEqual({ kind: "waiting" });
    expect(judgePayout(payment, [{ txHash: "a", includedIn: 9, final: null }])).toEqual({
      kind: "confirming",
      txHash: "a",
      block: 9,
    });
  });

  it.each([
    ["another amount", [attempt("a", true, { amountSun: 6n })]],
    ["another receiver", [attempt("a", true, { receiver: sender.address })]],
    ["another sender", [attempt("a", true, { owner: receiver.address })]],
    ["two that paid", [attempt("a", true), attempt("b", true)]],
  ])("%s is for an operator", (_, attempts) => {
    expect(judgePayout(payment, attempts)).toMatchObject({
      kind: "stuck",
      code: "WATCHER_CONTENT_DIFFERS",
    });
  });
});
