/**
 * Half a body, and the page of a gateway before the node, pass: a read is asked once more, a send
 * never is, and a refusal stays one. Reported for such software: ethers-io/ethers.js #2928,
 * ChainSafe/lodestar #1599, sigp/lighthouse #5051, ConsenSys-archive/truffle-migrate #36.
 */
import { afterEach, describe, expect, it } from "vitest";
import { createSender, type TronSender } from "../../chains/tron/node-sender.ts";
import type { FakeAnswer, FakeNodeOptions, RpcCall } from "../../lab/kit/fake-node.ts";
import { closesItsNodes, codeOf, fakeNode, nodesOf, signed } from "../support/evm-nodes.ts";
import { sender, startTestNetwork, type TestNetwork } from "../support/tron-network.ts";

closesItsNodes();

const hash = `0x${"aa".repeat(32)}`;
const block = {
  number: "0x64",
  hash,
  parentHash: hash,
  timestamp: "0x1",
  baseFeePerGas: "0x1",
  transactions: [],
};
const results: Readonly<Record<string, unknown>> = {
  eth_chainId: "0x7a69",
  eth_getBlockByNumber: block,
};

async function nodeThat(hijack: NonNullable<FakeNodeOptions["hijack"]>) {
  const answer = ({ method }: RpcCall): FakeAnswer => ({ result: results[method] ?? null });
  const fake = await fakeNode({ answer, hijack });
  return { fake, nodes: nodesOf([fake.url], { confirmations: 1 }) };
}

describe("a body that nobody can read", () => {
  /** The first question of the method is answered so, and every later one as it should be. */
  async function once(status: number, body: string, isAlways = false) {
    let times = 0;
    const { fake, nodes } = await nodeThat((calls, response) => {
      if (calls.every(({ method }) => method !== "eth_getBlockByNumber")) return false;
      times += 1;
      if (times > 1 && !isAlways) return false;
      response.writeHead(status, { "content-type": "text/html" }).end(body);
      return true;
    });
    return { fake, head: nodes.head() };
  }
  const page = "<html><title>502 Bad Gateway</title></html>";

  it.each([
    ["half of the JSON", 200, '{"jsonrpc":"2.0","id":2,"res'],
    ["a page with a good status", 200, page],
    ["a page of a gateway", 502, page],
    ["a gateway that is busy", 504, ""],
  ])("a read whose answer is %s is asked once more", async (_, status, body) => {
    const { fake, head } = await once(status, body);
    expect((await head).number).toBe(100);
    expect(fake.count("eth_getBlockByNumber")).toBe(2);
  });

  it.each([
    ["that is torn each time fails after two", 200, "{", true, 2],
    ["that is refused fails at once", 400, page, true, 1],
    ["to a node that fails inside fails at once", 500, "", true, 1],
    ["whose JSON is something else fails at once", 200, "7", true, 1],
  ] as const)("a read %s", async (_, status, body, isAlways, times) => {
    const { fake, head } = await once(status, body, isAlways);
    expect(await codeOf(head)).toBe(status === 200 ? "NODE_ANSWER" : "NODE_HTTP");
    expect(fake.count("eth_getBlockByNumber")).toBe(times);
  });

  it("a send whose answer is a page is never sent again", async () => {
    const { fake, nodes } = await nodeThat((calls, response) => {
      if (calls[0]?.method !== "eth_sendRawTransaction") return false;
      response.writeHead(502).end(page);
      return true;
    });
    expect((await nodes.broadcast(signed({ nonce: 3n }).raw)).standing).toBe("doubtful");
    expect(fake.count("eth_sendRawTransaction")).toBe(1);
  });
});

describe("a block that a node lacks below a head that it has shown", () => {
  /**
   * A balancer that takes turns between one machine that is up to date and `behind` machines that
   * are not.
   */
  async function balancer(behind: number) {
    let turn = 0;
    const answer = ({ method, params }: RpcCall): FakeAnswer => {
      if (method !== "eth_getBlockByNumber" || params[0] === "latest")
        return { result: results[method] ?? null };
      turn += 1;
      return { result: turn % (behind + 1) === 0 ? { ...block, number: params[0] } : null };
    };
    const fake = await fakeNode({ answer });
    return { fake, nodes: nodesOf([fake.url], { confirmations: 1 }) };
  }

  it.each([0, 1, 2])(
    "is asked for again where %s machines behind the same name lag",
    async (behind) => {
      const { nodes } = await balancer(behind);
      await nodes.head();
      // As often in each pass: the turns never come to another machine by themselves.
      for (let pass = 0; pass < 3; pass += 1) {
        expect((await nodes.finalBlock()).number).toBe(100);
        expect((await nodes.block(99, { full: false })).number).toBe(99);
      }
    },
  );

  it("is asked for three times and no more, and above that head once", async () => {
    const { fake, nodes } = await balancer(9);
    await nodes.head();
    const before = fake.count("eth_getBlockByNumber");
    expect(await codeOf(nodes.block(100, { full: false }))).toBe("NODE_NO_BLOCK");
    expect(fake.count("eth_getBlockByNumber") - before).toBe(3);
    expect(await codeOf(nodes.block(101, { full: false }))).toBe("NODE_NO_BLOCK");
    expect(fake.count("eth_getBlockByNumber") - before).toBe(4);
  });
});

describe("a body of Tron that nobody can read", () => {
  let testNetwork: TestNetwork | null = null;
  let nodes: TronSender | null = null;
  afterEach(async () => {
    nodes?.close();
    await testNetwork?.node.close();
    [testNetwork, nodes] = [null, null];
  });

  it.each([
    ["half a body", { isGarbage: true }, ""],
    ["a gateway's page", { status: 502 }, ""],
    ["a refusal", { status: 500 }, "NODE_HTTP"],
  ])(
    "a read answered with %s is asked once more, unless the answer is a refusal",
    async (_, trouble, code) => {
      testNetwork = await startTestNetwork({ fronts: [{}] });
      const clock = (): number => performance.now();
      nodes = createSender({
        urls: testNetwork.node.urls,
        chainId: testNetwork.node.chainId,
        tokens: [],
        clock,
        log: () => undefined,
      });
      await nodes.chainState(sender.address);
      testNetwork.node.fronts[0]!.suffer({ ...trouble, times: 1 });
      expect(await codeOf(nodes.chainState(sender.address))).toBe(code);
    },
  );
});
