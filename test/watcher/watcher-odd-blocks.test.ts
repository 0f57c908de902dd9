/**
 * A block, or a list of transactions, that all nodes show oddly and alike for a moment: what cannot
 * be read is not kept, so it is read as soon as the nodes show it right, without a restart. One row
 * for each question of each family.
 */
import { afterEach, describe, expect, it } from "vitest";
import { resultOf } from "../../base/result.ts";
import { readBlock, readReceipt } from "../../chains/evm/answers.ts";
import type { EvmNodes } from "../../chains/evm/node.ts";
import { createSeenReceipts } from "../../chains/evm/node-finality.ts";
import { createWatcherOverNodes } from "../../chains/evm/node-watcher.ts";
import type {
  BlockFinds,
  WatchedAddresses,
  WatchedBlock,
  WatcherNodes,
} from "../../chains/nodes.ts";
import { createWatcher } from "../../chains/tron/node-watcher.ts";
import { createUtxoWatcher } from "../../chains/utxo/node-watcher.ts";
import { fakeEsplora, fakeNetwork } from "../chains/utxo-fake.ts";
import { openLab, xrpOf } from "../chains/xrp-lab.ts";
import {
  inhabitant,
  sender,
  startTestNetwork,
  type TestNetwork,
  usdt,
} from "../support/tron-network.ts";

/** One question about a chain with something of ours in it. */
interface Scene {
  /** Shows the field oddly at every node, or right again. */
  show(isOdd: boolean): void;
  ask(): Promise<unknown>;
  /** Questions for a block or list that the nodes got so far. */
  asked(): number;
  close(): Promise<void> | void;
}

const bookOf = (address: string): WatchedAddresses => ({
  size: 1,
  has: (one) => one === address,
  all: () => [address],
});

const ours = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const payee = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const evmId = (digit: string): string => `0x${digit.repeat(64)}`;
const evmTransaction = {
  ...{ hash: evmId("1"), from: ours.toLowerCase(), to: payee.toLowerCase() },
  ...{ nonce: "0x4", value: "0x7", input: "0x" },
};
const evmReceipt = {
  ...{
    transactionHash: evmId("1"),
    blockNumber: "0xc",
    blockHash: evmId("b"),
    status: "0x1",
    logs: [],
  },
  ...{
    from: ours.toLowerCase(),
    to: payee.toLowerCase(),
    gasUsed: "0x5208",
    effectiveGasPrice: "0x1",
  },
};
const evmPayment = {
  ...{
    network: "eip155:1",
    account: ours,
    slot: "4",
    contract: "",
    destination: payee,
    tag: "",
    amountUnits: 7n,
  },
};

/** Two nodes that show one block alike; `odd` are the fields that are wrong for a while. */
function evmScene(
  odd: object,
  question: (watcher: WatcherNodes, block: WatchedBlock) => Promise<unknown>,
) {
  return async (): Promise<Scene> => {
    let shown: object = evmTransaction;
    let asked = 0;
    const block = async () => {
      asked += 1;
      const head = { number: "0xc", hash: evmId("b"), parentHash: evmId("a"), timestamp: "0x1" };
      return readBlock({ ...head, transactions: [shown] }, true);
    };
    const receipt = async () => readReceipt(evmReceipt);
    const nodes = () => ({ block, receipt, finalReceipt: receipt }) as unknown as EvmNodes;
    const watcher = createWatcherOverNodes({ together: nodes(), each: [nodes(), nodes()] });
    return {
      show: (isOdd) => {
        shown = isOdd ? { ...evmTransaction, ...odd } : evmTransaction;
      },
      ask: async () => question(watcher, await watcher.block(12, true)),
      asked: () => asked,
      close: () => undefined,
    };
  };
}

const evmPaid = (watcher: WatcherNodes, block: WatchedBlock) =>
  watcher.payments([block], [""], bookOf(payee), true);
const evmSent = (watcher: WatcherNodes, block: WatchedBlock) =>
  watcher.outgoing([block], new Set([ours]));
const evmJudged = (watcher: WatcherNodes) =>
  watcher.pass({ number: 12, hash: evmId("b") }, 1).judge(evmPayment, [evmTransaction.hash], "");

type TronQuestion = (watcher: WatcherNodes, block: WatchedBlock, txId: string) => Promise<unknown>;
const tronPayee = inhabitant("deposit 0").address;

function tronScene(
  name: string,
  question: TronQuestion,
  made: (network: TestNetwork) => { readonly txID: string },
) {
  return async (): Promise<Scene> => {
    const network = await startTestNetwork({ fronts: [{}, {}] });
    const { urls, chainId, chain, fronts } = network.node;
    const signed = made(network);
    await network.send(signed as never);
    chain.mine(40);
    const watcher = createWatcher({
      urls,
      chainId,
      log: () => undefined,
      timeoutMs: 10_000,
      patienceMs: 20_000,
    });
    return {
      show: (isOdd) => {
        const lies = isOdd ? [{ kind: "odd", name, value: "x" } as const] : [];
        for (const front of fronts) front.suffer({ lies, paths: "getblockbynum" });
      },
      ask: async () => question(watcher, await watcher.block(26, true), signed.txID),
      asked: () =>
        fronts.reduce(
          (sum, { counts }) => sum + (counts.get("/walletsolidity/getblockbynum") ?? 0),
          0,
        ),
      close: async () => {
        watcher.close();
        await network.node.close();
      },
    };
  };
}

const coins = (network: TestNetwork) => network.coins(sender, tronPayee, 5);
const tronJudged: TronQuestion = (watcher, block, txId) => {
  const payment = {
    network: "",
    account: sender.address,
    slot: "1",
    contract: "",
    destination: tronPayee,
    tag: "",
    amountUnits: 5n,
  };
  return watcher.pass({ number: block.number + 1, hash: "" }, 1).judge(payment, [txId], "");
};

function xrpScene(
  question: (
    watcher: WatcherNodes,
    blocks: readonly WatchedBlock[],
    account: string,
  ) => Promise<unknown>,
) {
  return async (): Promise<Scene> => {
    const lab = await openLab();
    lab.node.fund(lab.to.address, xrpOf(3), 1);
    const { index } = lab.node.chain.head;
    return {
      show: (isOdd) => {
        const trouble = isOdd
          ? { lies: [{ kind: "odd", name: "delivered_amount", value: "x" } as const] }
          : {};
        lab.suffer(trouble, trouble);
      },
      ask: async () =>
        question(lab.watcher, [await lab.watcher.block(index, true)], lab.to.address),
      asked: () => 0,
      close: () => lab.close(),
    };
  };
}

/**
 * The first block of the regression network: its bytes, of which the nodes show all but the last
 * for a while.
 */
const genesis =
  `01000000${"00".repeat(32)}3ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4adae5494dffff7f2002000000` +
  `0101000000010000000000000000000000000000000000000000000000000000000000000000ffffffff4d04ffff001d0104455468652054` +
  `696d65732030332f4a616e2f32303039204368616e63656c6c6f72206f6e206272696e6b206f66207365636f6e64206261696c6f7574` +
  `20666f722062616e6b73ffffffff0100f2052a01000000434104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f` +
  `61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000`;
const genesisHash = "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206";

async function utxoScene(): Promise<Scene> {
  const servers = [await fakeEsplora(), await fakeEsplora()];
  const limits = { confirmations: 1, timeoutMs: 20_000, patienceMs: 20_000 };
  const urls = servers.map(({ url }) => url);
  const watcher = createUtxoWatcher({
    urls,
    network: fakeNetwork,
    log: () => undefined,
    ...limits,
  });
  return {
    show: (isOdd) => {
      const bytes = Buffer.from(genesis, "hex");
      const raw = isOdd ? bytes.subarray(0, -1) : bytes;
      for (const server of servers)
        server.answers = { "/block-height/0": genesisHash, [`/block/${genesisHash}/raw`]: raw };
    },
    ask: async () => [(await watcher.block(0, true)).hash],
    asked: () =>
      servers.flatMap(({ asked }) => asked.filter((path) => path.endsWith("/raw"))).length,
    close: async () => {
      watcher.close();
      for (const server of servers) await server.close();
    },
  };
}

const rows: readonly (readonly [name: string, open: () => Promise<Scene>])[] = [
  ["EVM, a payment without its value", evmScene({ value: "0x" }, evmPaid)],
  ["EVM, an outgoing transaction without its input", evmScene({ input: undefined }, evmSent)],
  ["EVM, an outgoing transaction with an odd nonce", evmScene({ nonce: "four" }, evmSent)],
  ["EVM, a payout with an odd sender", evmScene({ from: "0x" }, evmJudged)],
  ["EVM, a payout with an odd receiver", evmScene({ to: "0x" }, evmJudged)],
  [
    "Tron, a payment with an odd amount",
    tronScene(
      "amount",
      (one, block) => one.payments([block], [""], bookOf(tronPayee), true),
      coins,
    ),
  ],
  [
    "Tron, an outgoing transaction with an odd amount",
    tronScene("amount", (one, block) => one.outgoing([block], new Set([sender.address])), coins),
  ],
  [
    "Tron, an outgoing call of an odd contract",
    tronScene(
      "contract_address",
      (one, block) => one.outgoing([block], new Set([sender.address])),
      (network) => network.token(sender, usdt, tronPayee, 5n),
    ),
  ],
  ["Tron, a payout with an odd sender", tronScene("owner_address", tronJudged, coins)],
  [
    "XRP, a payment with an odd delivered amount",
    xrpScene((one, blocks, account) => one.payments(blocks, [""], bookOf(account), true)),
  ],
  [
    "XRP, an outgoing transaction with an odd delivered amount",
    xrpScene((one, blocks, account) => one.outgoing(blocks, new Set([account]))),
  ],
  ["Bitcoin, a block without its last byte", utxoScene],
];

const isFinds = (answer: unknown): answer is BlockFinds<object> =>
  typeof answer === "object" && answer !== null && "unread" in answer;

/**
 * The code and effect with which a question fails, or with which its transaction is unread; true
 * for the latter.
 */
async function oddCode({ ask }: Scene): Promise<readonly unknown[]> {
  const answer = await resultOf(ask);
  if (!answer.ok) return [answer.fault.code, answer.fault.effect, false];
  if (!isFinds(answer.value)) return [answer.value];
  const { found, unread } = answer.value;
  expect(found).toEqual([]);
  return unread.flatMap(({ fault }) => [fault.code, fault.effect, true]);
}

let scene: Scene | null = null;
afterEach(async () => {
  await scene?.close();
  scene = null;
});

describe("a block that all nodes show oddly for a moment", () => {
  it.each(rows)("is read when they show it right: %s", async (name, open) => {
    scene = await open();
    scene.show(true);
    // A payment and an outgoing transaction are named, and end no list.
    const isList = /, (?:a payment|an outgoing)/.test(name);
    expect(await oddCode(scene)).toEqual(["NODE_ANSWER", "none", isList]);
    scene.show(false);
    const read = await scene.ask();
    expect(read).not.toEqual({ kind: "waiting" });
    if (isFinds(read)) expect(read.unread).toEqual([]);
    const asked = scene.asked();
    expect(await scene.ask()).toEqual(read);
    expect(scene.asked()).toBe(asked); // what was read is kept
  });

  it("a receipt that all nodes show oddly for a moment is no receipt to keep; one that can be read is", () => {
    const seen = createSeenReceipts();
    const [odd, whole] = [readReceipt({ ...evmReceipt, gasUsed: "0x" }), readReceipt(evmReceipt)];
    const oddLog = readReceipt({ ...evmReceipt, logs: [{ address: payee, topics: "none" }] });
    for (const receipt of [odd, oddLog]) {
      seen.put(receipt);
      expect(seen.get(receipt.txHash)).toBeUndefined();
    }
    seen.put(whole);
    expect(seen.get(whole.txHash)).toBe(whole);
  });
});
