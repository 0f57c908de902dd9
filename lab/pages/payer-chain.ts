/**
 * One request in each state of the payment page that a chain with quick blocks has, each reached as
 * in service: a gateway process, a paired agent, and payments on a local chain that has Ethereum's
 * chain id. Only time is moved: chain and gateway go one lifetime ahead together. The chain stands
 * still afterwards, so that a state lasts as long as somebody looks at it.
 */
import { type Client, createClient } from "../../clients/typescript/client.ts";
import { type PayerState as AnyState, payerStates } from "../../gateway/pages/state.ts";
import { type Kit, startKit } from "../kit/kit.ts";
import { stop, until } from "../kit/processes.ts";
import { rpc, sendUnlocked, tokenCall } from "../kit/rpc.ts";
import { deployToken } from "../kit/token.ts";

/** States that need a slow chain or an invoice; payer-states.ts has them by rows. */
export const rowStates = [
  "unconfirmed",
  "ending",
  "quoteOver",
  "paidOtherwise",
  "cancelled",
] as const;
export type RowState = (typeof rowStates)[number];
type PayerState = Exclude<AnyState, RowState>;
const isReached = (state: AnyState): state is PayerState =>
  !(rowStates as readonly string[]).includes(state);
export const reachedStates: readonly PayerState[] = payerStates.filter(isReached);

export interface PayerChain {
  readonly url: string;
  /** The path of each state's page. */
  readonly pathOf: Readonly<Record<PayerState, string>>;
  /** Pays to a request's address; the payment is in a block afterwards. */
  pay(state: PayerState, coin: Coin, units: bigint): Promise<void>;
  /** An invoice of 1071 lira in all currencies that are in service: the path of its page. */
  invoice(orderId: string): Promise<string>;
  /** Pays tokens to any address; the payment is in a block afterwards. */
  payTo(address: string, units: bigint): Promise<void>;
  /** Puts more blocks on the chain. */
  mine(blocks: number): Promise<void>;
  close(): Promise<void>;
}

interface PayerRequest {
  readonly id: string;
  readonly path: string;
  readonly address: string;
}

const shop = "Çınar Kitabevi";
const origin = "https://shop.example.com";
const confirmations = 12;
const lifetimeMinutes = 60;
const aheadMs = (lifetimeMinutes + 1) * 60_000;
const ether = 10n ** 18n;
const usdt = 10n ** 6n;

type Coin = "eth" | "usdt" | "usdc";
type Basket =
  | { readonly amount: string }
  | { readonly fiatCurrency: "TRY"; readonly fiatAmount: string };
const ordered: Readonly<Record<PayerState, Basket & { readonly currency: Coin }>> = {
  waiting: { currency: "usdt", fiatCurrency: "TRY", fiatAmount: "1071" },
  seen: { currency: "eth", amount: "0.25" },
  short: { currency: "eth", amount: "0.25" },
  over: { currency: "usdt", amount: "25.5" },
  completed: { currency: "eth", fiatCurrency: "TRY", fiatAmount: "31500" },
  expired: { currency: "usdt", amount: "25.5" },
  expiredWithMoney: { currency: "usdt", amount: "25.5" },
  late: { currency: "usdt", amount: "25.5" },
  otherCoin: { currency: "eth", amount: "0.25" },
  outOfService: { currency: "usdc", amount: "120" },
};

/** Runs in the gateway's process before the gateway, whose clock goes ahead at SIGUSR2. */
const movedClock = (aheadMs: number, nextMs: number): readonly string[] => [
  "--import",
  `data:text/javascript,${encodeURIComponent(
    `let ahead = ${aheadMs}; process.on("SIGUSR2", () => { ahead = ${nextMs}; }); const now = Date.now; Date.now = () => now() + ahead;`,
  )}`,
];

class Story {
  readonly kit: Kit;
  readonly #usdc: string;
  readonly #asked = new Map<PayerState, PayerRequest>();
  #aheadMs = 0;

  constructor(kit: Kit, usdc: string) {
    this.kit = kit;
    this.#usdc = usdc;
  }

  async mine(blocks: number): Promise<void> {
    await rpc(this.kit.anvil.url, "anvil_mine", [`0x${blocks.toString(16)}`, "0x0"]);
  }

  #client(): Client {
    const { gatewayUrl, shopKey } = this.kit;
    return createClient({
      baseUrl: gatewayUrl,
      key: { apiKey: shopKey },
      now: () => Date.now() + this.#aheadMs,
    });
  }

  async order(...states: readonly PayerState[]): Promise<void> {
    const client = this.#client();
    for (const state of states) {
      const orderId = `in-${1042 + reachedStates.indexOf(state)}`;
      const order = { ...ordered[state], orderId, returnUrl: `${origin}/thanks?order=${orderId}` };
      const {
        transactionId,
        address,
        paymentUrl = "",
      } = await until(`the request for ${state}`, 30_000, async () => {
        const result = await client.createTransactionRequest(order);
        if (!result.ok) throw new Error(`${result.code} ${result.message}`);
        return result.value;
      });
      this.#asked.set(state, { id: transactionId, address, path: new URL(paymentUrl).pathname });
    }
  }

  async invoice(orderId: string): Promise<string> {
    const order = { orderId, fiatCurrency: "TRY", fiatAmount: "1071" } as const;
    const made = await this.#client().createInvoice({ ...order, returnUrl: `${origin}/thanks` });
    if (!made.ok) throw new Error(`${made.code} ${made.message}`);
    return new URL(made.value.paymentUrl).pathname;
  }

  async payTo(to: string, units: bigint): Promise<void> {
    const mint = { to: this.kit.token, data: tokenCall("mint", to, units), gas: "0x30d40" };
    await sendUnlocked(this.kit.anvil.url, mint);
  }

  async pay(state: PayerState, coin: Coin, units: bigint): Promise<void> {
    const { address: to = "" } = this.#asked.get(state) ?? {};
    const contract = coin === "usdc" ? this.#usdc : this.kit.token;
    const value = `0x${units.toString(16)}`;
    const mint = { to: contract, data: tokenCall("mint", to, units), gas: "0x30d40" };
    await sendUnlocked(this.kit.anvil.url, coin === "eth" ? { to, value } : mint);
  }

  /** Ends when the page of a request is in a state, as its own script reads it. */
  async reach(request: PayerState, state = request): Promise<void> {
    await until(`the state ${state} of ${request}`, 30_000, async () => {
      const answer = await fetch(`${this.kit.gatewayUrl}${this.#asked.get(request)?.path}/state`);
      const shown = (await answer.json()) as { readonly state: string };
      if (shown.state !== state) throw new Error(`it is ${shown.state}`);
      return true;
    });
  }

  /** Ends when the record of a request is Failed, after which a payment is late. */
  async end(request: PayerState): Promise<void> {
    const client = this.#client();
    await until(`the end of ${request}`, 30_000, async () => {
      const result = await client.transaction(this.#asked.get(request)?.id ?? "", 1);
      return result.ok && result.value.status === 2 ? true : undefined;
    });
  }

  /** From now on a block for each payment, and others only when asked for. */
  async standStill(): Promise<void> {
    await rpc(this.kit.anvil.url, "evm_setIntervalMining", [0]);
    await rpc(this.kit.anvil.url, "evm_setAutomine", [true]);
  }

  /** Chain and gateway are one lifetime later. */
  async moveTime(): Promise<void> {
    const { kit } = this;
    await rpc(kit.anvil.url, "evm_increaseTime", [aheadMs / 1000]);
    await this.mine(1);
    kit.gateway?.child.kill("SIGUSR2");
    this.#aheadMs = aheadMs;
  }

  async startAgain(): Promise<void> {
    const { kit } = this;
    if (kit.gateway !== null) await stop(kit.gateway);
    kit.gatewayNodeOptions = movedClock(this.#aheadMs, this.#aheadMs);
    await kit.startGateway();
  }

  async breakUsdc(): Promise<void> {
    await rpc(this.kit.anvil.url, "anvil_setCode", [this.#usdc, "0x"]);
  }

  paths(): PayerChain["pathOf"] {
    const all = [...this.#asked].map(([state, { path }]) => [state, path]);
    return Object.fromEntries(all) as Record<PayerState, string>;
  }
}

async function play(story: Story): Promise<void> {
  await story.standStill();
  await story.order("expired", "expiredWithMoney", "late");
  await story.pay("expiredWithMoney", "usdt", 10n * usdt);
  await story.mine(confirmations);
  await story.reach("expiredWithMoney", "short");
  await story.moveTime();
  await story.order("waiting", "seen", "short", "over", "completed", "otherCoin", "outOfService");
  for (const request of ["expired", "expiredWithMoney", "late"] as const) await story.end(request);
  await story.pay("late", "usdt", (255n * usdt) / 10n);
  await story.pay("short", "eth", ether / 10n);
  await story.pay("over", "usdt", 30n * usdt);
  await story.pay("completed", "eth", ether / 4n);
  await story.pay("otherCoin", "usdc", 750n * usdt);
  await story.mine(confirmations);
  for (const state of ["late", "short", "over", "completed", "otherCoin"] as const)
    await story.reach(state);
  await story.pay("seen", "eth", ether / 4n);
  await story.mine(2);
  await story.breakUsdc();
  await story.startAgain();
  for (const state of reachedStates) await story.reach(state);
}

/** A gateway, its agent, and a merchant with settings of the payment page. */
async function startShop(): Promise<Story> {
  let usdc = "";
  const kit = await startKit({
    ...{ preset: "ethereum", confirmations, blockTimeMs: 250 },
    settings: {
      lifetimes: { depositMinutes: lifetimeMinutes },
      limits: { payerReadsPerSecond: 1000 },
    },
    async alsoServes(url) {
      usdc = (await deployToken(url, { symbol: "USDC" })).address;
      const currency = {
        chain: "local",
        decimal: 6,
        contract: usdc,
        name: "USD Coin",
        symbol: "USDC",
        minPaymentAmount: "1",
      };
      return {
        chains: {},
        currencies: { usdc: currency },
        prices: { usdc: { usd: "1", eur: "0.87", try: "42" } },
      };
    },
  });
  const settings = ["--shown-name", shop, "--contact", "help@shop.example.com", "--origin", origin];
  kit.gatewayNodeOptions = movedClock(0, aheadMs);
  try {
    await kit.startGateway();
    const [paired] = await Promise.all([
      kit.pair(),
      kit.operate("merchant", "page", kit.merchantId, ...settings),
    ]);
    if (paired.code !== 0) throw new Error(`pair.js ended with ${paired.code}:\n${paired.output}`);
    await kit.startCrypto();
    return new Story(kit, usdc);
  } catch (error) {
    await kit.close();
    throw error;
  }
}

/** Plays until all are reached. */
export async function startPayerChain(): Promise<PayerChain> {
  const story = await startShop();
  const { kit } = story;
  try {
    await play(story);
  } catch (error) {
    process.stderr.write(kit.gateway?.output().slice(-4000) ?? "");
    await kit.close();
    throw error;
  }
  return {
    url: kit.gatewayUrl,
    pathOf: story.paths(),
    pay: (...given) => story.pay(...given),
    invoice: (orderId) => story.invoice(orderId),
    payTo: (address, units) => story.payTo(address, units),
    mine: (blocks) => story.mine(blocks),
    close: () => kit.close(),
  };
}
