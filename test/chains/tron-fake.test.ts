/**
 * The node that stands in for java-tron, judged by tronweb: its answers are those of the documented
 * HTTP API, and its rules are the chain's.
 */
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, describe as group, it } from "vitest";
import { encodeDisperse } from "../../lab/tron-node/contracts.ts";
import { startTronProcess } from "../../lab/tron-node/process.ts";
import { startsTheBuild } from "../support/built.ts";
import {
  disperser,
  feeToken,
  inhabitant,
  liar,
  lookAlike,
  paused,
  sender,
  startTestNetwork,
  type TestNetwork,
  trc10,
  usdt,
} from "../support/tron-network.ts";

startsTheBuild();

const command = fileURLToPath(new URL("../../dist/lab/tron-node/command.js", import.meta.url));

let testNetwork: TestNetwork;

beforeEach(async () => {
  testNetwork = await startTestNetwork();
});

afterEach(() => testNetwork.node.close());

interface Info {
  readonly fee?: number;
  readonly result?: string;
  readonly receipt: Readonly<Record<string, number | string>>;
  readonly log?: readonly {
    readonly address: string;
    readonly topics: readonly string[];
    readonly data: string;
  }[];
  readonly contractResult: readonly string[];
  readonly resMessage?: string;
}

async function infoOf(txId: string): Promise<Info> {
  return (await testNetwork.ask("wallet/gettransactioninfobyid", {
    value: txId,
  })) as unknown as Info;
}

async function mined(sent: Promise<{ txid?: string; code?: string }>): Promise<Info> {
  const { txid, code } = await sent;
  expect(code).toBeUndefined();
  testNetwork.node.chain.mine();
  return infoOf(txid!);
}

const holder = inhabitant("a holder");
const outsider = inhabitant("an outsider");

group("tronweb against the fake for java-tron", () => {
  it("tronweb builds, signs and sends a payment of coins through the fake, and reads it back", async () => {
    const { tronweb, node } = testNetwork;
    node.fund(holder.address, 5_000_000n);
    const unsigned = await tronweb.transactionBuilder.sendTrx(
      holder.address,
      1_500_000,
      sender.address,
    );
    const sent = await tronweb.trx.sendRawTransaction(await tronweb.trx.sign(unsigned, sender.key));
    expect(sent.result).toBe(true);
    node.chain.mine();
    expect(await tronweb.trx.getUnconfirmedBalance(holder.address)).toBe(6_500_000);
    expect(await tronweb.trx.getBalance(holder.address)).toBe(5_000_000);
    expect(await tronweb.trx.getUnconfirmedTransactionInfo(unsigned.txID)).toMatchObject({
      blockNumber: 26,
    });
    expect(await tronweb.trx.getTransactionInfo(unsigned.txID)).toEqual({});
    node.chain.mine(19);
    expect(await tronweb.trx.getTransactionInfo(unsigned.txID)).toMatchObject({
      id: unsigned.txID,
      blockNumber: 26,
    });
    const block = await tronweb.trx.getBlockByNumber(26);
    expect(block.transactions?.[0]?.txID).toBe(unsigned.txID);
    expect((await tronweb.trx.getCurrentBlock()).block_header.raw_data.number).toBe(45);
  });

  it("tronweb sends a token through the fake, which says false and moves it all the same", async () => {
    const { tronweb, node } = testNetwork;
    tronweb.setPrivateKey(sender.key);
    const parameters = [
      { type: "address", value: holder.address },
      { type: "uint256", value: 7_000_000 },
    ];
    const method = "transfer(address,uint256)";
    const { transaction } = await tronweb.transactionBuilder.triggerSmartContract(
      usdt,
      method,
      {},
      parameters,
      sender.address,
    );
    const sent = await tronweb.trx.sendRawTransaction(
      await tronweb.trx.sign(transaction, sender.key),
    );
    const info = await mined(Promise.resolve(sent as never));
    expect(info.contractResult[0]).toBe("0".repeat(64));
    expect(info.log?.[0]).toMatchObject({ data: (7_000_000).toString(16).padStart(64, "0") });
    expect(node.balance(holder.address, usdt)).toBe(7_000_000n);
    const asked = await tronweb.transactionBuilder.triggerConstantContract(
      usdt,
      "balanceOf(address)",
      {},
      [parameters[0]!],
    );
    expect(BigInt(`0x${asked.constant_result[0]}`)).toBe(7_000_000n);
  });

  it("the fake answers a whole transaction as hex like java-tron", async () => {
    const { tronweb } = testNetwork;
    const signed = testNetwork.coins(sender, outsider.address, 2_000_000);
    const sent = (await tronweb.trx.sendHexTransaction(hexOf(signed))) as unknown as Record<
      string,
      unknown
    >;
    expect(sent).toMatchObject({ result: true, code: "SUCCESS", txid: signed.txID });
    const malformed = hexOf({ ...signed, signature: [`${signed.signature[0]!.slice(0, 128)}1d`] });
    expect(await testNetwork.ask("wallet/broadcasthex", { transaction: malformed })).toMatchObject({
      result: false,
    });
  });
});

/** A transaction's protobuf frame around what tronweb made: raw data, then signatures. */
function hexOf({
  raw_data_hex: raw,
  signature,
}: {
  raw_data_hex: string;
  signature: readonly string[];
}): string {
  const field = (tag: string, hex: string): string => {
    const bytes = hex.length / 2;
    const length = bytes < 128 ? [bytes] : [(bytes & 127) | 128, bytes >> 7];
    return tag + Buffer.from(length).toString("hex") + hex;
  };
  return field("0a", raw) + signature.map((one) => field("12", one)).join("");
}

group("the fake's rules for taking a transaction in", () => {
  it("the same bytes twice are a duplicate, in the pool and in a block; others with another time are not", async () => {
    const signed = testNetwork.coins(sender, holder.address, 3_000_000);
    expect(await testNetwork.send(signed)).toMatchObject({ result: true });
    expect(await testNetwork.send(signed)).toMatchObject({ code: "DUP_TRANSACTION_ERROR" });
    testNetwork.node.chain.mine();
    testNetwork.node.fronts[0]!.forget();
    expect(await testNetwork.send(signed)).toMatchObject({ code: "DUP_TRANSACTION_ERROR" });
    expect(
      await testNetwork.send(testNetwork.coins(sender, holder.address, 3_000_000)),
    ).toMatchObject({ result: true });
  });

  it("a transaction that a node refused once is a duplicate there from then on, though no chain has it", async () => {
    const signed = testNetwork.coins(holder, sender.address, 1_000_000);
    expect(await testNetwork.send(signed)).toMatchObject({ code: "CONTRACT_VALIDATE_ERROR" });
    testNetwork.node.fund(holder.address, 50_000_000n);
    expect(await testNetwork.send(signed)).toMatchObject({ code: "DUP_TRANSACTION_ERROR" });
    testNetwork.node.chain.mine();
    expect(await testNetwork.ask("wallet/gettransactionbyid", { value: signed.txID })).toEqual({});
  });

  it("expiration is held against the head's time: at it is late, one past it is not, a day ahead is too far", async () => {
    const { timestampMs } = testNetwork.node.chain.head;
    const at = (expirationMs: number) =>
      testNetwork.send(testNetwork.coins(sender, holder.address, 1_000_000, { expirationMs }));
    expect(await at(timestampMs)).toMatchObject({ code: "TRANSACTION_EXPIRATION_ERROR" });
    expect(await at(timestampMs + 1)).toMatchObject({ result: true });
    expect(await at(timestampMs + 86_400_001)).toMatchObject({
      code: "TRANSACTION_EXPIRATION_ERROR",
    });
  });

  it("the block after a halt takes a transaction that expired meanwhile", async () => {
    const signed = testNetwork.coins(sender, holder.address, 1_000_000, {
      expirationMs: testNetwork.node.chain.head.timestampMs + 30_000,
    });
    await testNetwork.send(signed);
    testNetwork.node.chain.halt(3_600_000);
    testNetwork.node.chain.mine();
    expect(testNetwork.node.chain.placeOf(signed.txID)?.block.timestampMs).toBeGreaterThan(
      testNetwork.node.chain.blocks[25]!.timestampMs + 3_600_000,
    );
  });

  it("the block after a halt does not take, by the later rule, a transaction that expired meanwhile", async () => {
    await testNetwork.node.close();
    testNetwork = await startTestNetwork({ isSlotChecked: true });
    const signed = testNetwork.coins(sender, holder.address, 1_000_000, {
      expirationMs: testNetwork.node.chain.head.timestampMs + 30_000,
    });
    await testNetwork.send(signed);
    testNetwork.node.chain.halt(3_600_000);
    testNetwork.node.chain.mine();
    expect(testNetwork.node.chain.placeOf(signed.txID)).toBeNull();
  });

  it("a reference to a block that the chain does not have is refused, one to an older block is taken", async () => {
    const older = testNetwork.node.chain.blocks[3]!;
    const reference = { refBytes: older.id.slice(12, 16), refHash: older.id.slice(16, 32) };
    expect(
      await testNetwork.send(testNetwork.coins(sender, holder.address, 1_000_000, { reference })),
    ).toMatchObject({
      result: true,
    });
    const wrong = { ...reference, refHash: "0011223344556677" };
    expect(
      await testNetwork.send(
        testNetwork.coins(sender, holder.address, 1_000_000, { reference: wrong }),
      ),
    ).toMatchObject({
      code: "TAPOS_ERROR",
    });
  });

  it("a signature by another key is refused", async () => {
    const signed = testNetwork.coins({ ...sender, key: outsider.key }, holder.address, 1_000_000);
    expect(await testNetwork.send(signed)).toMatchObject({ code: "SIGERROR" });
  });

  it("JSON whose fields, bytes and id do not belong together is no transaction", async () => {
    const signed = {
      ...testNetwork.coins(sender, holder.address, 1_000_000),
      txID: "00".repeat(32),
    };
    expect(await testNetwork.send(signed)).toHaveProperty("Error");
  });
});

group("the fake's rules for what a transaction costs", () => {
  it("a new receiver costs 1.1 TRX, a known one only bandwidth", async () => {
    const first = await mined(
      testNetwork.send(testNetwork.coins(sender, holder.address, 1_000_000)),
    );
    expect(first.fee).toBe(1_100_000);
    const second = await mined(
      testNetwork.send(testNetwork.coins(sender, holder.address, 1_000_000)),
    );
    expect(second.fee).toBeUndefined();
    expect(second.receipt.net_usage).toBeGreaterThan(250);
  });

  it("bandwidth is free up to 600 bytes a day, then all of it is burned, and a day later it is free again", async () => {
    testNetwork.node.fund(holder.address, 10_000_000n);
    const pay = () => mined(testNetwork.send(testNetwork.coins(holder, sender.address, 10)));
    const bytes = Number((await pay()).receipt.net_usage);
    await pay();
    const third = await pay();
    expect(third.receipt).toEqual({ net_fee: bytes * 1_000 });
    testNetwork.node.chain.halt(86_400_000);
    testNetwork.node.chain.mine();
    expect((await pay()).receipt).toEqual({ net_usage: bytes });
  });

  it("an account without coins for its bandwidth is refused", async () => {
    testNetwork.node.fund(holder.address, 20n);
    for (let sent = 0; sent < 2; sent += 1)
      await mined(testNetwork.send(testNetwork.coins(holder, sender.address, 1)));
    expect(await testNetwork.send(testNetwork.coins(holder, sender.address, 1))).toMatchObject({
      code: "BANDWITH_ERROR",
    });
  });

  it("more coins than the account has are refused", async () => {
    testNetwork.node.fund(holder.address, 1_000_000n);
    expect(
      await testNetwork.send(testNetwork.coins(holder, sender.address, 1_000_001)),
    ).toMatchObject({
      code: "CONTRACT_VALIDATE_ERROR",
    });
    expect(
      await testNetwork.send(testNetwork.coins(holder, sender.address, 1_000_000)),
    ).toMatchObject({ result: true });
  });

  it("a first token for a receiver costs twice the energy of a second, burned at the price of the chain", async () => {
    const first = await mined(
      testNetwork.send(testNetwork.token(sender, usdt, holder.address, 5n)),
    );
    expect(first.receipt).toMatchObject({
      energy_usage_total: 130_285,
      energy_fee: 13_028_500,
      result: "SUCCESS",
    });
    const second = await mined(
      testNetwork.send(testNetwork.token(sender, usdt, holder.address, 5n)),
    );
    expect(second.receipt).toMatchObject({ energy_usage_total: 64_285, energy_fee: 6_428_500 });
  });

  it("a fee limit too low for the energy fails in its block, costs all of the limit and moves nothing", async () => {
    const info = await mined(
      testNetwork.send(
        testNetwork.token(sender, usdt, holder.address, 5n, { feeLimitSun: 1_000_000 }),
      ),
    );
    expect(info).toMatchObject({
      result: "FAILED",
      receipt: { result: "OUT_OF_ENERGY", energy_fee: 1_000_000 },
    });
    expect(testNetwork.node.balance(holder.address, usdt)).toBe(0n);
  });

  it("staked energy is used before coins are burned", async () => {
    testNetwork.node.stake(sender.address, { energy: 100_000, net: 10_000 });
    const info = await mined(testNetwork.send(testNetwork.token(sender, usdt, holder.address, 5n)));
    expect(info.receipt).toMatchObject({
      energy_usage: 100_000,
      energy_fee: 3_028_500,
      energy_usage_total: 130_285,
    });
  });

  it("a call that reverts fails in its block and moves nothing", async () => {
    const info = await mined(
      testNetwork.send(testNetwork.token(sender, paused, holder.address, 5n)),
    );
    expect(info).toMatchObject({ result: "FAILED", receipt: { result: "REVERT" } });
    expect(Buffer.from(info.resMessage ?? "", "hex").toString()).toBe("REVERT opcode executed");
    const more = await mined(
      testNetwork.send(testNetwork.token(sender, usdt, holder.address, 2_000_000_000_000n)),
    );
    expect(more.receipt.result).toBe("REVERT");
  });
});

group("the fake's tokens", () => {
  it("a token with a fee tells of what the receiver gets and of the fee", async () => {
    const info = await mined(
      testNetwork.send(testNetwork.token(sender, feeToken, holder.address, 1_000n)),
    );
    expect(info.log?.map(({ data }) => BigInt(`0x${data}`))).toEqual([990n, 10n]);
    expect(testNetwork.node.balance(holder.address, feeToken)).toBe(990n);
  });

  it("a token that lies tells of a transfer and moves nothing; a look-alike has the name of USDT", async () => {
    const info = await mined(
      testNetwork.send(testNetwork.token(sender, liar, holder.address, 1_000n)),
    );
    expect(info.log).toHaveLength(1);
    expect(testNetwork.node.balance(holder.address, liar)).toBe(0n);
    expect(
      await testNetwork.ask("wallet/getcontract", { value: lookAlike, visible: true }),
    ).toMatchObject({
      name: "Tether USD",
    });
  });

  it("one transaction pays many in a token, or in coins by internal transfers", async () => {
    const [a, b] = [inhabitant("a").hex, inhabitant("b").hex];
    const tokens = testNetwork.call(
      sender,
      disperser,
      encodeDisperse(inhabitant("contract of usdt").hex, [a, b, a], [1n, 2n, 3n]),
    );
    expect((await mined(testNetwork.send(tokens))).log).toHaveLength(3);
    expect(testNetwork.node.balance(a, usdt)).toBe(4n);
    const coins = testNetwork.call(sender, disperser, encodeDisperse("", [a, b], [10n, 20n]), {
      callSun: 30,
    });
    expect(await mined(testNetwork.send(coins))).toMatchObject({
      internal_transactions: [{ transferTo_address: a }, {}],
    });
    expect(testNetwork.node.balance(b)).toBe(20n);
  });

  it("TRC-10 tokens move beside coins and leave no log", async () => {
    const info = await mined(testNetwork.send(testNetwork.asset(sender, holder.address, 500)));
    expect(info.log).toBeUndefined();
    expect(await testNetwork.ask("wallet/getaccount", { address: holder.hex })).toMatchObject({
      assetV2: [{ key: trc10, value: 500 }],
    });
  });
});

group("the fake's blocks", () => {
  it("a replaced block takes its transactions back into the pool, or loses them; solidified blocks stay", async () => {
    const signed = testNetwork.coins(sender, holder.address, 1_000_000);
    await mined(testNetwork.send(signed));
    const { chain } = testNetwork.node;
    const before = chain.head.id;
    chain.replace(1, { kept: "all", empty: 1 });
    expect(chain.blocks[26]!.id).not.toBe(before);
    expect(chain.placeOf(signed.txID)?.block.number).toBe(27);
    chain.replace(2, { kept: "none" });
    expect(chain.placeOf(signed.txID)).toBeNull();
    expect(testNetwork.node.balance(holder.address)).toBe(0n);
    expect(() => chain.replace(19)).not.toThrow();
    expect(() => chain.replace(20)).toThrow("solidified");
  });

  it("a block of a replaced branch is no reference any more", async () => {
    const { chain } = testNetwork.node;
    chain.mine();
    const { id } = chain.head;
    const reference = { refBytes: id.slice(12, 16), refHash: id.slice(16, 32) };
    const signed = testNetwork.coins(sender, holder.address, 1_000_000, { reference });
    chain.replace(1);
    expect(await testNetwork.send(signed)).toMatchObject({ code: "TAPOS_ERROR" });
  });

  it("every block names the one before it, and its id begins with its number", async () => {
    testNetwork.node.chain.mine(3);
    const { block } = (await testNetwork.ask("wallet/getblockbylimitnext", {
      startNum: 25,
      endNum: 29,
    })) as {
      block: {
        blockID: string;
        block_header: { raw_data: { number: number; parentHash: string } };
      }[];
    };
    expect(block).toHaveLength(4);
    for (const [at, one] of block.entries()) {
      expect(Number.parseInt(one.blockID.slice(0, 16), 16)).toBe(25 + at);
      if (at > 0) expect(one.block_header.raw_data.parentHash).toBe(block[at - 1]!.blockID);
    }
  });

  it("a process of its own answers, obeys its control, and ends with its parent's word", async () => {
    const node = await startTronProcess({ solidLag: 5 }, command);
    const where = await node.control("mine", { count: 7 });
    expect(where).toMatchObject({ head: 7, solid: 2, chainId: testNetwork.node.chainId });
    await node.stop();
    await expect(fetch(`${node.urls[0]}/wallet/getnowblock`)).rejects.toThrow();
  });
});
