/**
 * Acts of the fixture's story: what shops, customers, agents and chains do, one at a time. Each act
 * goes through the product's own way in.
 */
import { familyOf } from "../../chains/families.ts";
import type { AddressSpaceName } from "../../chains/family.ts";
import { payeeOf } from "../../chains/payees.ts";
import { createMerchant, type MadeMerchant } from "../../gateway/operator/accounts.ts";
import { type CallbackLine, listCallbacks } from "../../gateway/operator/callbacks.ts";
import { pairAgent } from "../../gateway/pairing/pairing.ts";
import { issuedAddress } from "../../gateway/store/address-states.ts";
import { parseAmount } from "../../protocol/amount.ts";
import type { SignedEntry } from "../../protocol/messages.ts";
import { FixtureAgent } from "./agent.ts";
import type { ChainPayment } from "./chain.ts";
import { sayCommand } from "./commands.ts";
import { type ChainName, networks } from "./setting.ts";
import type { World } from "./world.ts";

export interface Shop extends MadeMerchant {
  readonly name: string;
  /**
   * A key that reads callbacks too, and one that gets the interface's fields alone; some shops have
   * none.
   */
  readonly readKey?: string;
  readonly interfaceKey?: string;
}

/** A deposit as its shop knows it. */
export interface Deposit {
  readonly id: string;
  readonly address: string;
  readonly tag: string;
  readonly currency: string;
}

/** A payment that an agent makes: a withdrawal, a sweep or a top-up. */
export interface OutgoingPayment {
  readonly id: string;
  readonly network: string;
  readonly from: string;
  readonly to: string;
  readonly tag: string;
  readonly contract: string;
  readonly units: bigint;
}

export interface SignedAttempt {
  readonly hash: string;
  readonly slot: string;
}

/** A sweep or top-up as the operator's list shows it. */
export interface ListedSweep {
  readonly transactionId: string;
  readonly kind: "sweep" | "topup";
  readonly sweep: string;
  readonly currency: string;
  readonly asset: string;
  readonly network: string;
  readonly from: string;
  readonly to: string;
  readonly amount: string;
  readonly status: number;
  readonly stage: string;
}

/** A record as its shop reads it. */
export interface ListedRecord {
  readonly transactionId: string;
  readonly depositAddress: string;
}

interface ListedDifference {
  readonly address: string;
  readonly currency: string;
  readonly difference: string;
}

const minuteMs = 60_000;

export class Story {
  readonly world: World;
  readonly configFile: string;
  readonly shops = new Map<string, Shop>();
  readonly #slots = new Map<string, string>();
  readonly #customers: FixtureAgent;
  #made = 0;

  constructor(world: World, configFile: string) {
    this.world = world;
    this.configFile = configFile;
    const families: readonly AddressSpaceName[] = ["evm", "tron", "bitcoin", "xrp"];
    this.#customers = new FixtureAgent(world, "customers", {
      merchant: "nobody",
      apiKey: "",
      families,
    });
  }

  shop(name: string): Shop {
    const shop = this.shops.get(name);
    if (shop === undefined) throw new Error(`no shop ${name}`);
    return shop;
  }

  openShop(name: string, language: "en" | "tr" = "en"): Shop {
    this.world.sleep(minuteMs);
    const shop = { ...createMerchant(this.world.operator(), { name, language }), name };
    this.shops.set(name, shop);
    return shop;
  }

  /**
   * An address that none of the gateway's wallets has; on a chain with tags there is one account.
   */
  customer(network: string, index: number): string {
    const { accounts } = familyOf(network);
    if (accounts.deposits === "tags") return this.#customers.hot(network);
    return familyOf(network).depositAddress(this.#customers.depositsId(network), index);
  }

  currency(id: string) {
    const found = this.world.config.currencies[id];
    if (found === undefined) throw new Error(`no currency ${id}`);
    return found;
  }

  units(currency: string, amount: string): bigint {
    const parsed = parseAmount(amount, this.currency(currency).decimal);
    if (!parsed.ok) throw new Error(`${amount} is no amount of ${currency}`);
    return parsed.units;
  }

  chainOf(network: string): ChainName {
    return (
      (Object.keys(networks) as ChainName[]).find((name) => networks[name] === network) ??
      "ethereum"
    );
  }

  /** Mines one block of a chain with these payments; returns their hashes. */
  block(name: ChainName, ...payments: readonly Omit<ChainPayment, "hash">[]): readonly string[] {
    this.world.sleep(15_000);
    const chain = this.world.chains[name];
    const named = payments.map((one) => {
      this.#made += 1;
      return { hash: chain.hashOf(`payment ${this.#made}`), ...one };
    });
    chain.mine(this.world.nowMs, named);
    return named.map(({ hash }) => hash);
  }

  /** Money comes to an account, in a block of its own, without a transaction that names it. */
  grant(currency: string, account: string, amount: string): void {
    this.#move(currency, account, this.units(currency, amount));
  }

  /** Money leaves an account in the same way. */
  drop(currency: string, account: string, amount: string): void {
    this.#move(currency, account, -this.units(currency, amount));
  }

  #move(currency: string, account: string, units: bigint): void {
    const { network, contract } = this.currency(currency);
    this.world.sleep(15_000);
    this.world.chains[this.chainOf(network)].mine(
      this.world.nowMs,
      [],
      [{ account, contract, units }],
    );
  }

  /** A customer pays an address, in a block of its own. */
  pay(to: Pick<Deposit, "address" | "tag">, currency: string, amount: string, from = 1): string {
    const [hash = ""] = this.block(
      this.chainOf(this.currency(currency).network),
      this.paid(to, currency, amount, from),
    );
    return hash;
  }

  /** The payment of a customer, for a block. */
  paid(
    to: Pick<Deposit, "address" | "tag">,
    currency: string,
    amount: string,
    from: number,
  ): Omit<ChainPayment, "hash"> {
    const { network, contract } = this.currency(currency);
    const units = this.units(currency, amount);
    return { from: this.customer(network, from), to: to.address, tag: to.tag, contract, units };
  }

  async #order(shop: Shop, path: string, body: object): Promise<Record<string, unknown>> {
    this.world.sleep(minuteMs);
    const { status, body: said } = await this.world.ask(
      shop.shopKey,
      "POST",
      `/api/v1/${path}`,
      body,
    );
    if (status !== 200)
      throw new Error(`${path} ${JSON.stringify(body)}: ${status} ${JSON.stringify(said)}`);
    return said as Record<string, unknown>;
  }

  async deposit(
    shop: Shop,
    order: { readonly currency: string; readonly orderId: string } & Readonly<
      Record<string, unknown>
    >,
  ): Promise<Deposit> {
    const { transactionId, address, tag } = await this.#order(
      shop,
      "createTransactionRequest",
      order,
    );
    return {
      id: String(transactionId),
      address: String(address),
      tag: String(tag ?? ""),
      currency: order.currency,
    };
  }

  async withdraw(
    shop: Shop,
    order: {
      readonly currency: string;
      readonly orderId: string;
      readonly amount: string;
    } & Partial<Record<string, unknown>>,
    mode: "auto" | "manual" = "auto",
  ): Promise<OutgoingPayment> {
    const { network, contract } = this.currency(order.currency);
    const address =
      order.address ?? (mode === "auto" ? this.customer(network, 20 + this.#made) : undefined);
    this.#made += 1;
    const body = { ...order, ...(address === undefined ? {} : { address }) };
    const { transactionId } = await this.#order(
      shop,
      mode === "auto" ? "autoWithdraw" : "manualWithdraw",
      body,
    );
    return {
      ...{ id: String(transactionId), network, contract, from: "", tag: String(order.tag ?? "") },
      ...{ to: String(address ?? ""), units: this.units(order.currency, order.amount) },
    };
  }

  cancel(shop: Shop, transactionId: string): Promise<unknown> {
    return this.#order(shop, "cancelWithdraw", { transactionId });
  }

  async pair(shop: Shop, families: readonly AddressSpaceName[]): Promise<FixtureAgent> {
    const agent = new FixtureAgent(this.world, shop.name, {
      merchant: shop.merchantId,
      apiKey: shop.apiKey,
      families,
    });
    this.world.sleep(minuteMs);
    const served = Object.values(this.world.config.currencies).filter(({ network }) =>
      families.includes(familyOf(network).addressSpace.name),
    );
    const currencies = served.map(({ id, network, contract, decimal }) => ({
      id,
      network,
      contract,
      decimal,
      maxFee: "0.02",
    }));
    const body = Buffer.from(JSON.stringify(agent.sealed(currencies)));
    const answer = pairAgent(this.world.service, body, { address: "127.0.0.1", unreadable: "" });
    if (answer.kind !== "data")
      throw new Error(`${shop.name} cannot pair: ${JSON.stringify(answer)}`);
    await agent.connect();
    await agent.say({ kind: "ceiling", ceiling: 1_000 });
    return agent;
  }

  /** The next slot of an account, as its signer counts. */
  #slotOf(network: string, account: string): string {
    const { slots } = familyOf(network);
    const name = `${network} ${account}`;
    const slot = this.#slots.get(name) ?? slots.least;
    this.#slots.set(name, slots.next(slot));
    return slot;
  }

  /** A slot that somebody else used with the same key. */
  skipSlot(network: string, account: string): string {
    return this.#slotOf(network, account);
  }

  /** The agent signs an attempt; later attempts keep the slot. */
  async sign(
    agent: FixtureAgent,
    out: OutgoingPayment,
    more: Partial<SignedEntry> = {},
  ): Promise<SignedAttempt> {
    this.world.sleep(minuteMs);
    const { network, id: transactionId } = out;
    const account = out.from || agent.hot(network);
    const { exclusion } = familyOf(network);
    const chain = this.world.chains[this.chainOf(network)];
    const slot = more.slot ?? this.#slotOf(network, account);
    const attempt = more.attempt ?? 1;
    const hash = chain.hashOf(`attempt ${attempt} of ${transactionId}`);
    await agent.sign({
      ...{ transactionId, attempt, network, account, slot, txHash: hash },
      ...(exclusion.kind === "expiry" ? { validUntilMs: this.world.nowMs + 10 * minuteMs } : {}),
      ...(exclusion.kind === "pin" ? { pin: `${chain.hashOf(`coin of ${transactionId}`)}:0` } : {}),
      ...more,
    });
    return { hash, slot };
  }

  /** The agent approves, signs and hands over. */
  async send(agent: FixtureAgent, out: OutgoingPayment): Promise<SignedAttempt> {
    await agent.decide(out.id, "approved", "", out.to);
    const signed = await this.sign(agent, out);
    await agent.broadcast(out.id, signed.hash);
    return signed;
  }

  /** The attempt stands in a block, the newest one. */
  include(
    agent: FixtureAgent,
    out: OutgoingPayment,
    signed: SignedAttempt,
    change: Partial<ChainPayment> = {},
  ): void {
    this.block(this.chainOf(out.network), this.included(agent, out, signed, change));
  }

  /** The transaction of an attempt, for a block. */
  included(
    agent: FixtureAgent,
    out: OutgoingPayment,
    { hash, slot }: SignedAttempt,
    change: Partial<ChainPayment> = {},
  ): ChainPayment {
    const { network, contract, to, tag, units } = out;
    const fee = 10n ** BigInt(familyOf(network).fees.decimal) / 5_000n;
    return {
      hash,
      slot,
      from: out.from || agent.hot(network),
      contract,
      to,
      tag,
      units,
      fee,
      ...change,
    };
  }

  /** All the way to the end. */
  async carryOut(
    agent: FixtureAgent,
    out: OutgoingPayment,
    change: Partial<ChainPayment> = {},
  ): Promise<SignedAttempt> {
    const signed = await this.send(agent, out);
    this.include(agent, out, signed, change);
    await this.world.settle();
    return signed;
  }

  /** A shop's list of its records. */
  async records(
    shop: Shop,
    query: string,
  ): Promise<{ readonly transactions: readonly ListedRecord[] }> {
    const { body } = await this.world.ask(shop.shopKey, "GET", `/api/v1/transactions?${query}`);
    return { transactions: body as readonly ListedRecord[] };
  }

  /** The merchant's receivers of callbacks, in the order in which they were made. */
  callbacks(shop: Shop): readonly CallbackLine[] {
    return listCallbacks(this.world.operator(), shop.merchantId);
  }

  /** The amount of a difference that the newest closing of the books found. */
  async difference(address: string, currency: string): Promise<string> {
    const { text } = await sayCommand(
      this.configFile,
      ["reconcile", "--last", "--json"],
      this.world.nowMs,
    );
    const { chains } = JSON.parse(text) as {
      readonly chains: readonly { readonly differences: readonly ListedDifference[] }[];
    };
    const found = chains
      .flatMap(({ differences }) => differences)
      .find((one) => one.address === address && one.currency === currency);
    if (found === undefined)
      throw new Error(`the books name no difference of ${currency} at ${address}`);
    return found.difference;
  }

  /** True if one of the first addresses of the agent's deposit account is this one. */
  isOf(agent: FixtureAgent, address: string): boolean {
    const { depositAddress } = familyOf(networks.ethereum);
    const first = Array.from({ length: 100 }, (_, index) =>
      depositAddress(agent.depositsId(networks.ethereum), index),
    );
    return first.includes(address);
  }

  isNamed(address: string): boolean {
    return issuedAddress(this.world.store.database, address) !== undefined;
  }

  /** Sweeps and top-ups as the operator sees them, newest first. */
  async sweeps(): Promise<readonly ListedSweep[]> {
    const { text } = await sayCommand(
      this.configFile,
      ["sweeps", "list", "--json"],
      this.world.nowMs,
    );
    return (JSON.parse(text) as { sweeps: readonly ListedSweep[] }).sweeps;
  }

  /** A listed sweep or top-up as a payment of its agent. */
  outgoingOf({
    transactionId: id,
    network,
    from,
    to,
    asset,
    amount,
  }: ListedSweep): OutgoingPayment {
    const { contract } = this.currency(asset);
    return {
      id,
      network,
      from,
      to,
      tag: payeeOf(network, to).tag,
      contract,
      units: this.units(asset, amount),
    };
  }
}
