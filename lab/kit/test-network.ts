/**
 * Chain, customer and shop in one process, told what to do over stdin: `{id, act, …}` a line,
 * answered by `{id, ok, …}` on stdout. For a test whose gateway and agent live in a network of
 * their own, where the test itself cannot reach: this process is started inside it. Its end of
 * stdin ends it, and the chain with it.
 */
import { createInterface } from "node:readline";
import { type Anvil, startAnvil } from "./anvil.ts";
import { balanceWei, rpc, sendUnlocked, tokenCall, tokenUnits, transactionCount } from "./rpc.ts";
import { createShop, type Shop } from "./shop.ts";
import { deployToken } from "./token.ts";

type ActArguments = Readonly<Record<string, string>>;

let anvil: Anvil | null = null;
let shop: Shop | null = null;
let token = "";
const port = Number(process.argv[2] ?? "8545");
const url = `http://127.0.0.1:${port}`;

const theShop = (): Shop => {
  if (shop === null) throw new Error("no shop yet: act shop first");
  return shop;
};
const text = (asked: ActArguments, name: string): string => {
  const value = asked[name];
  if (value === undefined) throw new Error(`${asked.act} needs ${name}`);
  return value;
};

const acts: Readonly<Record<string, (asked: ActArguments) => Promise<object>>> = {
  async chain() {
    anvil = await startAnvil({ port, chainId: 31337, blockTimeMs: 500 });
    token = (await deployToken(url)).address;
    return { url, token };
  },
  /** The node hangs, or goes on; its port stays taken meanwhile. */
  async node(asked) {
    process.kill(anvil?.pid as number, text(asked, "how") === "away" ? "SIGSTOP" : "SIGCONT");
    return {};
  },
  async shop(asked) {
    shop = createShop({ gatewayUrl: text(asked, "gatewayUrl"), shopKey: text(asked, "shopKey") });
    return {};
  },
  async fund(asked) {
    const to = text(asked, "address");
    await sendUnlocked(url, { to, value: `0x${BigInt(text(asked, "wei")).toString(16)}` });
    await sendUnlocked(url, {
      to: token,
      data: tokenCall("mint", to, BigInt(text(asked, "units"))),
      gas: "0x30d40",
    });
    return {};
  },
  async withdraw(asked) {
    const order = {
      currency: text(asked, "currency"),
      amount: text(asked, "amount"),
      orderId: text(asked, "orderId"),
    };
    return { ...(await theShop().autoWithdraw({ ...order, receiver: text(asked, "receiver") })) };
  },
  async record(asked) {
    return { ...(await theShop().transaction(text(asked, "transactionId"))) };
  },
  async balance(asked) {
    return { ...(await theShop().balance(text(asked, "currency"))) };
  },
  async received(asked) {
    const address = text(asked, "address");
    return {
      wei: `${await balanceWei(url, address)}`,
      units: `${await tokenUnits(url, token, address)}`,
    };
  },
  async count(asked) {
    return {
      count: await transactionCount(url, text(asked, "address")),
      block: Number(await rpc(url, "eth_blockNumber")),
    };
  },
};

async function carryOut(line: string): Promise<void> {
  const asked = JSON.parse(line) as ActArguments;
  const say = (answer: object): void =>
    void process.stdout.write(`${JSON.stringify({ id: asked.id, ...answer })}\n`);
  try {
    const act = acts[text(asked, "act")];
    if (act === undefined) throw new Error(`there is no act ${asked.act}`);
    say({ ok: true, answer: await act(asked) });
  } catch (error) {
    const cause =
      error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : "";
    say({
      ok: false,
      error: `${asked.act}: ${error instanceof Error ? error.message : String(error)}${cause}`,
    });
  }
}

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => void carryOut(line));
lines.on("close", () => {
  const gone = anvil === null ? Promise.resolve() : anvil.stop();
  void gone.then(() => process.exit(0));
});
