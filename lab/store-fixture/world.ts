/**
 * The fixture's gateway: the product's own store, routes, hub, watcher, sweeps, callbacks and books
 * over a folder, with chains in memory and a clock that the story moves. The watcher's parts run in
 * the order of its own pass, but only when the story says so.
 */

import { createHmac, createPublicKey, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttpServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { recordOf } from "../../gateway/answer/record.ts";
import { addPayerPages } from "../../gateway/api/payer.ts";
import { addOperations } from "../../gateway/api/routes.ts";
import { createServer } from "../../gateway/api/server.ts";
import { addServiceRoutes } from "../../gateway/api/service-routes.ts";
import { readGatewayKey } from "../../gateway/auth/gateway-key.ts";
import { closeBooks } from "../../gateway/books/closing.ts";
import { startCallbacks } from "../../gateway/callbacks/callbacks.ts";
import type {
  CallbackSender,
  DeliveryRequest,
  DeliveryResult,
} from "../../gateway/callbacks/send.ts";
import { type GatewayConfig, readConfig } from "../../gateway/config/config.ts";
import {
  compareMarks,
  endRestoreWaitIfRead,
  raisedMarksOf,
} from "../../gateway/deposits/ceilings.ts";
import { watchSkipped } from "../../gateway/deposits/skipped-addresses.ts";
import { FaultBook } from "../../gateway/faults/book.ts";
import { type Hub, startHub } from "../../gateway/hub/hub.ts";
import type { OperatorContext } from "../../gateway/operator/accounts.ts";
import type { OutgoingPaymentJudge } from "../../gateway/operator/assigning.ts";
import { rightClock } from "../../gateway/own-clock.ts";
import { createPriceBoard } from "../../gateway/prices/price-cache.ts";
import { fiatValueOf } from "../../gateway/prices/value.ts";
import type { Service } from "../../gateway/service.ts";
import {
  type IssuedAddressMarks,
  marksPathOf,
  openMarks,
  readMarks,
} from "../../gateway/store/address-marks.ts";
import { waitingTargets } from "../../gateway/store/callback-deliveries.ts";
import { hasChanges } from "../../gateway/store/callback-outbox.ts";
import { firstForgottenRange } from "../../gateway/store/forgotten-ranges.ts";
import { ownStore } from "../../gateway/store/owner.ts";
import { keepNativeCoins } from "../../gateway/store/posting.ts";
import { readChainWaitNumber } from "../../gateway/store/restored-database.ts";
import { createSignals, type Signals } from "../../gateway/store/signals.ts";
import { createStore, openStore, type Store } from "../../gateway/store/store.ts";
import { hasUnvaluedCompletions } from "../../gateway/store/transactions.ts";
import { createSweeps, type Sweeps } from "../../gateway/sweeps/sweeps.ts";
import {
  type AddressLookMemory,
  lookAtNextAddresses,
  newAddressLookMemory,
  requestAddressLook,
} from "../../gateway/watcher/ahead.ts";
import {
  type BalanceMemory,
  newBalanceMemory,
  readBalances,
} from "../../gateway/watcher/balances.ts";
import { currenciesOf, type Tip, type WatchedChain } from "../../gateway/watcher/chain.ts";
import { newTokenMemory } from "../../gateway/watcher/decimals.ts";
import { type DepositMemory, newDepositMemory } from "../../gateway/watcher/deposit-memory.ts";
import { checkTokens, scanDeposits } from "../../gateway/watcher/deposits.ts";
import { tellForeign } from "../../gateway/watcher/outgoing-transactions.ts";
import {
  checkVoidAttempts,
  newVoidMemory,
  type VoidMemory,
} from "../../gateway/watcher/void-attempts.ts";
import {
  checkWithdrawals,
  newWithdrawalMemory,
  type WithdrawalMemory,
} from "../../gateway/watcher/withdrawals.ts";
import { createWaiters } from "../../gateway/withdrawals/waiters.ts";
import { parseApiKey } from "../../protocol/pairing.ts";
import { unpricedChoices } from "../kit/choices.ts";
import type { FixtureChain } from "./chain.ts";
import { type ChainName, fixedRandom, networks } from "./setting.ts";

export type Chains = Readonly<Record<ChainName, FixtureChain>>;

interface Watch {
  readonly chain: WatchedChain;
  readonly ahead: AddressLookMemory;
  readonly balances: BalanceMemory;
  readonly deposits: DepositMemory;
  readonly voids: VoidMemory;
  readonly withdrawals: WithdrawalMemory;
}

/** One run of the gateway on the folder. */
interface GatewayRun {
  readonly service: Service;
  readonly store: Store;
  readonly marks: IssuedAddressMarks;
  readonly server: FastifyInstance;
  readonly httpServer: Server;
  readonly hub: Hub;
  readonly sweeps: Sweeps;
  readonly watches: readonly Watch[];
  readonly release: () => void;
}

const silent = pino({ level: "silent" });

/** The story's clock stands while this machine's goes on: no link is too quiet. */
const patient = { helloMs: 600_000, heartbeatMs: 600_000, deadMs: 2_000_000, resendMs: 2_000_000 };

/** A JWT as a shop makes it. */
export function shopToken(apiKey: string, nowMs: number, jti: string): string {
  const { keyId, secret } = parseApiKey(apiKey);
  const part = (value: object): string =>
    Buffer.from(JSON.stringify(value), "utf8").toString("base64url");
  const iat = Math.floor(nowMs / 1000);
  const text = `${part({ alg: "HS256", typ: "JWT", kid: keyId })}.${part({ sub: keyId, iat, exp: iat + 60, jti })}`;
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

export class World {
  nowMs: number;
  readonly chains: Chains;
  readonly random = fixedRandom("gateway");
  readonly #configFile: string;
  /** The receiver of callbacks: what it answers, by the URL. */
  readonly receivers = new Map<
    string,
    (letter: DeliveryRequest) => Omit<DeliveryResult, "durationMs" | "retryAfter">
  >();
  readonly #readAt = new Map<string, number>();
  readonly #waitsRead = new Map<string, number>();
  #running: GatewayRun | null = null;
  #jti = 0;

  constructor(configFile: string, chains: Chains, nowMs: number) {
    this.#configFile = configFile;
    this.chains = chains;
    this.nowMs = nowMs;
  }

  get running(): GatewayRun {
    if (this.#running === null) throw new Error("the gateway does not run");
    return this.#running;
  }

  get service(): Service {
    return this.running.service;
  }

  get config(): GatewayConfig {
    return this.service.config;
  }

  get store(): Store {
    return this.running.store;
  }

  get port(): number {
    return (this.running.httpServer.address() as AddressInfo).port;
  }

  get gatewayPublicKey(): KeyObject {
    return createPublicKey(this.service.key.privateKey);
  }

  operator(actor = "operator Nora"): OperatorContext {
    const { store, service } = this.running;
    return {
      store,
      gatewayKey: service.key,
      random: this.random,
      nowMs: this.nowMs,
      run: service.run,
      actor,
    };
  }

  sleep(ms: number): void {
    this.nowMs += ms;
  }

  /** The first start makes the database; each later one reads it, as a restart does. */
  async start(isFirst: boolean): Promise<void> {
    const config = readConfig(this.#configFile);
    const key = readGatewayKey(config.keyFile);
    const store = isFirst
      ? createStore(config.database, key.fingerprint, silent)
      : openStore(config.database, silent);
    const ownership = ownStore(config.database);
    const coins = Object.values(config.currencies).filter(({ contract }) => contract === "");
    store.write((database) =>
      keepNativeCoins(database, new Map(coins.map(({ network, id }) => [network, id]))),
    );
    const known = readMarks(marksPathOf(config.database));
    store.write((database) => compareMarks(database, known, this.nowMs));
    const marks = openMarks(marksPathOf(config.database), raisedMarksOf(store.database, known));
    const signals = createSignals();
    const clock = (): number => this.nowMs;
    const { run } = ownership;
    const common = { config, store, signals, log: silent, clock, run };
    const board = createPriceBoard(config, clock);
    const views = {
      confirmations: () => null,
      outOfService: () => "",
      unreadSince: () => null,
      isLate: () => false,
      ownClock: () => rightClock,
    };
    const readAt = (network: string): number | null => this.#readAt.get(network) ?? null;
    const waiters = createWaiters(signals);
    const own = { key, random: this.random, waiters, prices: board, addressMarks: marks };
    const waitsRead = (network: string): number | null => this.#waitsRead.get(network) ?? null;
    const service: Service = { ...common, ...views, ...own, readAt, waitsRead };
    const server = createServer(service);
    addOperations(server, service);
    addPayerPages(server, service);
    addServiceRoutes(server, service, []);
    await server.ready();
    const httpServer = createHttpServer();
    httpServer.listen(0, "127.0.0.1");
    await once(httpServer, "listening");
    const hub = startHub({
      ...common,
      server: httpServer,
      gatewayKey: key.privateKey,
      marks,
      limits: patient,
      answerQuestion: async () => null,
    });
    const sweeps = createSweeps({ ...common, prices: board });
    const watches = Object.entries(config.chains).map(([name]) =>
      this.#watch(name as ChainName, common),
    );
    const release = (): void => ownership.release();
    this.#readAt.clear();
    this.#waitsRead.clear();
    this.#running = { service, store, marks, server, httpServer, hub, sweeps, watches, release };
    while (firstForgottenRange(store.database) !== undefined)
      store.write((database) => watchSkipped(database, 200));
  }

  #watch(
    name: ChainName,
    common: Pick<Service, "config" | "store" | "log" | "clock" | "run"> & { signals: Signals },
  ): Watch {
    const { config, store, signals, log, clock, run } = common;
    const settings = config.chains[name];
    if (settings === undefined) throw new Error(`no chain ${name} is configured`);
    const network = networks[name];
    const reader = this.chains[name].reader();
    const currencies = currenciesOf(settings, config.currencies);
    const chain = {
      name,
      network,
      reader,
      currencies,
      tokens: newTokenMemory(),
      faults: new FaultBook(clock),
      store,
      signals,
      log,
      clock,
      ownClock: () => rightClock,
      confirmingMs: 0,
      run,
      choices: unpricedChoices(config, clock),
      hasLongBlocks: false,
    };
    const ahead = newAddressLookMemory(network);
    // An order waits for this look; a pass would come a moment later.
    signals.on("look", (look) => {
      if (look.network !== network) return;
      requestAddressLook(ahead, look.account);
      void reader.finalTip().then((final) => lookAtNextAddresses(chain, ahead, final));
    });
    const deposits = newDepositMemory(network);
    return {
      chain,
      ahead,
      balances: newBalanceMemory(deposits.wallets),
      deposits,
      voids: newVoidMemory(),
      withdrawals: newWithdrawalMemory(),
    };
  }

  async stop(): Promise<void> {
    const { hub, httpServer, server, marks, store, release, service } = this.running;
    service.waiters.close();
    await hub.close();
    await server.close();
    await new Promise<void>((done) => httpServer.close(() => done()));
    store.close();
    marks.close();
    release();
    this.#running = null;
  }

  /** One block on each chain that is named, or on all. */
  mine(count = 1, names: readonly ChainName[] = Object.keys(networks) as ChainName[]): void {
    for (let block = 0; block < count; block += 1) {
      this.sleep(15_000);
      for (const name of names) this.chains[name].mine(this.nowMs);
    }
  }

  /** Passes of the watcher on every chain until all is read. */
  async pass(): Promise<void> {
    for (const watch of this.running.watches) {
      for (let isAllRead = false; !isAllRead; ) isAllRead = await this.#passOn(watch);
    }
    const isRead = (wait: number): boolean =>
      Object.values(networks).every((one) => (this.#waitsRead.get(one) ?? -1) >= wait);
    this.store.write((database) => endRestoreWaitIfRead(database, isRead));
  }

  /** The order of the watcher's own pass. */
  async #passOn({ chain, ahead, balances, deposits, voids, withdrawals }: Watch): Promise<boolean> {
    const waits = readChainWaitNumber(this.store.database);
    const tip: Tip = {
      head: await chain.reader.tip(),
      final: await chain.reader.finalTip(),
      askedAt: this.nowMs,
    };
    await checkTokens(chain);
    await checkWithdrawals(chain, tip, withdrawals);
    await readBalances(chain, tip.final, balances);
    await lookAtNextAddresses(chain, ahead, tip.final);
    const isAllRead = await scanDeposits(chain, tip, deposits);
    if (isAllRead) await checkVoidAttempts(chain, tip, voids);
    tellForeign(chain);
    if (!isAllRead) return false;
    this.#readAt.set(chain.network, tip.askedAt);
    this.#waitsRead.set(chain.network, waits);
    await this.running.sweeps.onPass(chain, tip);
    return true;
  }

  /** Blocks until what stands in the newest ones is final, read after each. */
  async settle(blocks = 4): Promise<void> {
    for (let block = 0; block < blocks; block += 1) {
      this.mine();
      await this.pass();
    }
  }

  /** The judge of a transaction that an operator names. */
  judgeOf(name: ChainName): OutgoingPaymentJudge {
    const reader = this.chains[name].reader();
    return async (payment, txHash) =>
      reader.pass(await reader.finalTip()).judge(payment, [txHash], "");
  }

  /** The books of every chain, as each night. */
  async closeBooks(): Promise<void> {
    for (const { chain } of this.running.watches) {
      const { network, reader, currencies, store, clock } = chain;
      const whole = { merchant: null, isWhole: true };
      await closeBooks({
        store,
        network,
        reader,
        currencies,
        ...whole,
        clock,
        rest: async () => {},
      });
    }
  }

  /** Tells shops of every change, as far as deliveries are due, and keeps the results. */
  async tell(): Promise<void> {
    const { store, service } = this.running;
    const { signals, config, log, clock, key, prices } = service;
    const own = { sealingKey: key.sealingKey, random: this.random, callbackSender: this.#sender() };
    const callbacks = startCallbacks({
      ...{ store, signals, config, log, clock, ...own },
      recordOf: (row) => recordOf(row, service),
      invoiceOf: ({ id }: { readonly id: string }) => ({ invoice: id }),
      fiatValueOf: (row) => fiatValueOf(row, { currencies: config.currencies, prices }),
    });
    const isBusy = (): boolean =>
      hasChanges(store.database) ||
      hasUnvaluedCompletions(store.database) ||
      waitingTargets(store.database).some(({ nextAt }) => nextAt <= this.nowMs);
    while (isBusy()) await new Promise((done) => setTimeout(done, 10));
    callbacks.close();
  }

  #sender(): CallbackSender {
    const send = async (letter: DeliveryRequest): Promise<DeliveryResult> => {
      const answered = this.receivers.get(letter.url)?.(letter) ?? { status: 200, answer: "taken" };
      return { ...answered, retryAfter: undefined, durationMs: 7 };
    };
    return { send, close: () => {} };
  }

  /** A shop's request; the body of its answer. */
  async ask(
    apiKey: string,
    method: "GET" | "POST",
    path: string,
    body?: object,
  ): Promise<ServiceAnswer> {
    this.#jti += 1;
    const token = shopToken(apiKey, this.nowMs, `fixture-request-${this.#jti}`);
    const response = await this.running.server.inject({
      method,
      url: path,
      headers: { signatureToken: token, "content-type": "application/json" },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    return { status: response.statusCode, body: JSON.parse(response.body) as unknown };
  }
}

export interface ServiceAnswer {
  readonly status: number;
  readonly body: unknown;
}
