/**
 * The gateway's machine: the real store, hub, watcher and withdrawals over one database in memory,
 * whose commits are what a power failure leaves. The database is made once per process and emptied
 * for each run.
 */

import { EventEmitter } from "node:events";
import type { Server } from "node:http";
import type { DatabaseSync } from "@photostructure/sqlite";
import { AgentError } from "../../../base/fault.ts";
import { isAnswer } from "../../../gateway/answer/answer.ts";
import type { Language } from "../../../gateway/answer/language.ts";
import { compareMarks, raisedMarksOf } from "../../../gateway/deposits/ceilings.ts";
import { requestDeposit } from "../../../gateway/deposits/deposits.ts";
import { watchSkipped } from "../../../gateway/deposits/skipped-addresses.ts";
import { startHub } from "../../../gateway/hub/hub.ts";
import { depositBody } from "../../../gateway/operations/deposits.ts";
import { cancelBody, withdrawalBodies } from "../../../gateway/operations/withdrawals.ts";
import type { OperatorContext } from "../../../gateway/operator/accounts.ts";
import { pairAgent } from "../../../gateway/pairing/pairing.ts";
import { createPriceBoard } from "../../../gateway/prices/price-cache.ts";
import type { Service } from "../../../gateway/service.ts";
import { createSightingsAnswerer } from "../../../gateway/sightings/sightings.ts";
import type { AddressMark, IssuedAddressMarks } from "../../../gateway/store/address-marks.ts";
import { keepNativeCoins } from "../../../gateway/store/posting.ts";
import { createSignals } from "../../../gateway/store/signals.ts";
import { type SqlScalar, type Store, storeOver } from "../../../gateway/store/store.ts";
import { createSweeps } from "../../../gateway/sweeps/sweeps.ts";
import { startWatcher } from "../../../gateway/watcher/watcher.ts";
import { cancelWithdrawal } from "../../../gateway/withdrawals/cancel.ts";
import { placeWaitingJobs } from "../../../gateway/withdrawals/placing.ts";
import { createWaiters } from "../../../gateway/withdrawals/waiters.ts";
import { requestWithdrawal } from "../../../gateway/withdrawals/withdrawals.ts";
import { publicKeyHex } from "../../../protocol/envelope.ts";
import { memoryMarks } from "../../kit/address-marks.ts";
import { unpricedChoices } from "../../kit/choices.ts";
import { derivedAddress } from "../invariants/sweeps.ts";
import { kernel, note } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
import type { Machine } from "./agent.ts";
import { readerOf } from "./bad-items.ts";
import { type Lies, perhapsFalse } from "./false-sightings.ts";
import { logOf } from "./log.ts";
import type { Network } from "./network.ts";
import { isSwept, type Plan } from "./plan.ts";
import {
  accounts,
  begun,
  gatewayConfig,
  gatewayKey,
  linkDeadMs,
  merchant,
  network,
  pairedCurrencies,
  stage,
  wallet,
} from "./setting.ts";
import { Tables } from "./tables.ts";

type RawDatabase = InstanceType<typeof DatabaseSync>;
const linkLimits = { helloMs: 3_000, heartbeatMs: 6_000, resendMs: 8_000 };
const pollMs = {
  evm: 5_000,
  xrp: 5_000,
  bitcoinregtest: 5_000,
  litecoinregtest: 5_000,
  tron: 10_000,
} as const;

/**
 * A fault at a commit: the process dies before it or after it, or the disk fails and nobody knows.
 */
export type CommitVerdict = "fine" | "dies before" | "dies after" | "fails before" | "fails after";

const tables = new Tables();

/** A request of a shop, as the HTTP server has it. */
interface ShopCall {
  readonly merchant: string;
  readonly body: Uint8Array;
  readonly language: Language;
}

interface GatewayOptions {
  readonly plan: Plan;
  readonly net: Network;
  readonly verdict: () => CommitVerdict;
  /** A commit is durable; these of the tables that tell of withdrawals were written to. */
  readonly committed: (tables: ReadonlySet<string>) => void;
  readonly thrown: (owner: Owner, error: unknown) => void;
  readonly lies: Lies;
}

/** As pairing leaves them in the agent's row. */
const rowAccounts = () =>
  accounts.map(({ family, purpose, id }) => ({
    family,
    purpose,
    id,
    firstAddress: purpose === "hot" ? id : derivedAddress(0),
  }));

type OtherColumn =
  | "id"
  | "wallet"
  | "signerKey"
  | "linkKey"
  | "accounts"
  | "networks"
  | "currencies";

export class Gateway {
  readonly #options: GatewayOptions;
  skewMs = 0;
  readonly bad = { questions: 0 }; // answers that were a fault of the bad merchant's things
  owner: Owner | null = null;
  service: Service | null = null;
  #runs = 0;
  #marks: ReadonlyMap<string, AddressMark> | null = null;
  #stored = 0; // signatures of an unpaired agent, when it was unpaired

  constructor(options: GatewayOptions) {
    this.#options = options;
    tables.empty();
    tables.prepare("INSERT INTO meta (name, value) VALUES ('schema', '1')").run();
    tables
      .prepare("INSERT INTO merchants (id, name, createdAt) VALUES (?, 'Shop', 0)")
      .run(merchant);
  }

  readonly clock = (): number => begun + Math.floor(kernel.scheduler.nowMs) + this.skewMs;

  /** The view of an operator at the database, outside every process. */
  all<Row>(sql: string, ...values: readonly SqlScalar[]): readonly Row[] {
    return tables.prepare(sql).all(...values) as Row[];
  }

  /** All signatures that the gateway was told of. */
  txHashes(): ReadonlySet<string> {
    return new Set(
      this.all<{ txHash: string }>("SELECT txHash FROM signatures").map(({ txHash }) => txHash),
    );
  }

  get isInTransaction(): boolean {
    return tables.isTransaction;
  }

  admit(machine: Machine, ledgerEpoch: number): void {
    tables
      .prepare(
        `INSERT INTO agents (id, merchant, wallet, ledgerEpoch, signerKey, linkKey, accounts, networks, currencies, pairedAt)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        ...[
          machine.id,
          merchant,
          wallet,
          ledgerEpoch,
          publicKeyHex(machine.vault.signerKey),
          machine.linkKeyHex,
        ],
        ...[
          JSON.stringify(rowAccounts()),
          JSON.stringify([network]),
          JSON.stringify(pairedCurrencies),
          this.clock(),
        ],
      );
  }

  /** Another merchant is paired, as pairing leaves it. */
  admitAs(
    merchant: string,
    row: Readonly<Record<OtherColumn, string>> & { readonly ledgerEpoch: number },
  ): void {
    tables
      .prepare("INSERT INTO merchants (id, name, createdAt) VALUES (?, 'Other', 0)")
      .run(merchant);
    tables
      .prepare(
        `INSERT INTO agents (id, merchant, wallet, ledgerEpoch, signerKey, linkKey, accounts, networks, currencies, pairedAt)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        ...[
          row.id,
          merchant,
          row.wallet,
          row.ledgerEpoch,
          row.signerKey,
          row.linkKey,
          row.accounts,
          row.networks,
          row.currencies,
        ],
        this.clock(),
      );
  }

  /**
   * One command of the gateway's operator, in a process of its own beside the gateway's. Answers
   * null when the database did not take it, or when it died before it could say; what it wrote may
   * be there.
   */
  command<T>(act: (by: OperatorContext) => T, answered: (said: T | null) => void): void {
    const owner: Owner = { name: "operator", isAlive: true, hasPromises: false };
    kernel.scheduler.after(1, owner, () => {
      const random = (count: number): Uint8Array => kernel.random.bytes("operator's random", count);
      const run = this.service === null ? null : this.run;
      let said: T | null = null;
      try {
        const store = this.#storeOf(owner, logOf(owner));
        said = act({ store, gatewayKey, random, nowMs: this.clock(), run, actor: "operator" });
      } catch (error) {
        if (owner.isAlive && !(error instanceof AgentError)) throw error;
        note("command failed", error instanceof AgentError ? error.code : "");
      }
      tables.rollback();
      answered(owner.isAlive ? said : null);
    });
  }

  /** Signatures of unpaired agents are counted from here. */
  keepReleased(): void {
    this.#stored = this.#storedOfReleased();
  }

  /** Whether signatures of an unpaired agent were stored since it was unpaired. */
  get servesUnpaired(): boolean {
    return this.#storedOfReleased() > this.#stored;
  }

  #storedOfReleased(): number {
    const sql =
      "SELECT count(*) AS n FROM signatures JOIN agents ON agents.id = signatures.agent WHERE unpairedAt IS NOT NULL";
    return this.all<{ n: number }>(sql)[0]?.n ?? 0;
  }

  start(): void {
    const owner: Owner = { name: "gateway", isAlive: true, hasPromises: true };
    this.owner = owner;
    kernel.scheduler.after(0, owner, () => this.#run(owner));
  }

  /** The name of the process that runs, or ran last. */
  get run(): string {
    return `run ${this.#runs}`;
  }

  #run(owner: Owner): void {
    this.#runs += 1;
    const { plan, net, lies } = this.#options;
    const log = logOf(owner);
    const store = this.#storeOf(owner, log);
    store.onPoisoned(() => this.ends(owner));
    const signals = createSignals();
    const waiters = createWaiters(signals);
    const config = gatewayConfig(plan);
    const { clock, run } = this;
    const server = new EventEmitter() as EventEmitter & Server;
    const limits = { ...linkLimits, deadMs: linkDeadMs[stage.family] };
    const marks = this.#openMarks(store);
    const sightings = createSightingsAnswerer({
      store,
      log,
      clock,
      reader: (of) => watcher.readerOf(of),
    });
    const answerQuestion = perhapsFalse(sightings, lies);
    startHub({
      server,
      store,
      gatewayKey: gatewayKey.privateKey,
      signals,
      config,
      log,
      clock,
      limits,
      run,
      marks,
      answerQuestion,
    });
    const sweeps = isSwept(plan) ? createSweeps({ store, signals, config, log, clock, run }) : {};
    const onRead = (): void => {
      try {
        placeWaitingJobs({ store, signals, log, clock, run });
      } catch (error) {
        // Jobs that the database did not take are placed after the next pass.
        if (!(error instanceof AgentError)) throw error;
      }
    };
    const monotonic = (): number => kernel.scheduler.nowMs;
    const watching = {
      store,
      signals,
      config,
      log,
      clock,
      monotonic,
      run,
      choices: unpricedChoices(config, clock),
      onRead,
      pollMs: pollMs[stage.family],
    };
    const watcher = startWatcher({ ...watching, ...readerOf(plan, this.bad), ...sweeps });
    store.write((database) => keepNativeCoins(database, new Map([[network, stage.coin.id]])));
    const confirmations = (id: string): number | null => watcher.confirmations(id);
    const outOfService = (currency: string): string => watcher.outOfService().get(currency) ?? "";
    const random = (count: number): Uint8Array => kernel.random.bytes("gateway random", count);
    const prices = createPriceBoard(config, clock);
    this.service = {
      ...{ addressMarks: marks, readAt: (of: string) => watcher.readAt(of) },
      waitsRead: (of: string) => watcher.waitsRead(of),
      ...{ config, store, signals, key: gatewayKey, log, clock, random, waiters, run },
      ...{
        confirmations,
        outOfService,
        prices,
        ownClock: () => watcher.ownClock(),
        unreadSince: (place) => watcher.unreadSince(place),
        isLate: (of) => watcher.isLate(of),
      },
    };
    net.listener = { owner, server };
    note("gateway up");
  }

  /** The file beside the database: nothing here loses it. */
  #openMarks(store: Store): IssuedAddressMarks {
    const known = this.#marks;
    store.write((database) => compareMarks(database, known, this.clock()));
    while (store.write((database) => watchSkipped(database, 100)) > 0);
    const marks = memoryMarks(raisedMarksOf(store.database, known));
    this.#marks = marks.kept;
    return marks;
  }

  #storeOf(owner: Owner, log: ReturnType<typeof logOf>): Store {
    const { verdict, committed } = this.#options;
    const check = (): void => {
      if (!owner.isAlive) throw new Error("a dead process reaches nothing");
    };
    const touched = new Set<string>();
    const said = (): void => {
      committed(touched);
      touched.clear();
    };
    const commit = (): void => {
      const fate = verdict();
      const isDone = fate !== "dies before" && fate !== "fails before";
      if (isDone) tables.exec("COMMIT");
      else tables.rollback();
      note("commit", fate);
      if (isDone) said();
      touched.clear();
      if (fate === "fine") return;
      if (fate.startsWith("dies")) this.ends(owner);
      check();
      throw Object.assign(new Error("disk I/O error: simulated"), { errcode: 10 });
    };
    const raw = {
      prepare: (sql: string) => {
        const statement = tables.prepare(sql);
        return {
          get: (...values: SqlScalar[]) => {
            check();
            return statement.get(...values);
          },
          all: (...values: SqlScalar[]) => {
            check();
            return statement.all(...values);
          },
          run: (...values: SqlScalar[]) => {
            check();
            const done = statement.run(...values);
            for (const name of statement.writesTo) touched.add(name);
            if (!tables.isTransaction) said();
            return done;
          },
        };
      },
      exec: (sql: string) => {
        check();
        if (sql === "COMMIT") commit();
        else tables.exec(sql);
      },
      get isTransaction() {
        return owner.isAlive && tables.isTransaction;
      },
      isOpen: true,
      close: () => {},
    };
    return storeOver(raw as unknown as RawDatabase, ":memory:", log);
  }

  /** The process is gone, with what it had not committed; another one is started. */
  ends(owner: Owner, isCaughtUp = true): void {
    if (!owner.isAlive) return;
    if (owner !== this.owner) {
      owner.isAlive = false;
      tables.rollback();
      return;
    }
    note("gateway ends");
    owner.isAlive = false;
    tables.rollback();
    this.owner = null;
    this.service = null;
    this.#options.net.listener = null;
    this.#options.net.died(owner, isCaughtUp);
    kernel.scheduler.after(
      kernel.random.between("gateway back", 100, 2_500),
      kernel.scheduler.world,
      () => {
        if (this.owner === null) this.start();
      },
    );
  }

  readonly backup = (): ReturnType<Tables["backup"]> => tables.backup();

  restore(rows: ReturnType<Tables["backup"]>): void {
    if (this.owner !== null) this.ends(this.owner);
    tables.restore(rows);
  }

  /** As the HTTP server would, in this process; answers nothing when it dies meanwhile. */
  pair(body: Uint8Array, answered: (answer: ReturnType<typeof pairAgent>) => void): void {
    const { owner, service } = this;
    if (owner === null || service === null) return;
    kernel.scheduler.after(1, owner, () => {
      try {
        answered(pairAgent(service, body, { address: "127.0.0.1", unreadable: "" }));
      } catch (error) {
        if (!(error instanceof AgentError)) throw error;
        note("pairing failed", error.code);
      }
    });
  }

  /** A deposit request; answers its address, and nothing when the process dies meanwhile. */
  askDeposit(body: Uint8Array, answered: (address: string) => void, whose = merchant): void {
    const read = (answer: object): void => {
      const { kind, body: text } = answer as { readonly kind: string; readonly body: string };
      if (kind === "data") answered((JSON.parse(text) as { address: string }).address);
    };
    this.#answer(read, (service) => {
      const order = depositBody.read(body);
      if (isAnswer(order)) return Promise.resolve(order);
      const { writeTogether: write } = service.store;
      return requestDeposit(service, { merchant: whose, order, write });
    });
  }

  /** A shop's cancel, answered as `request` answers an order. */
  cancel({ body, ...request }: ShopCall, answered: (answer: object) => void): void {
    this.#answer(answered, (service) => {
      const transactionId = cancelBody.read(body);
      if (isAnswer(transactionId)) return Promise.resolve(transactionId);
      const { writeTogether: write } = service.store;
      return cancelWithdrawal(service, { ...request, transactionId, write });
    });
  }

  /** As the HTTP server would, in this process; answers nothing when it dies meanwhile. */
  request(
    { body, ...request }: ShopCall & { readonly mode: "auto" | "manual" },
    answered: (answer: object) => void,
  ): void {
    this.#answer(answered, (service) => {
      const order = withdrawalBodies[request.mode].read(body);
      if (isAnswer(order)) return Promise.resolve(order);
      const { writeTogether: write } = service.store;
      return requestWithdrawal(service, { ...request, order, write });
    });
  }

  #answer(answered: (answer: object) => void, ask: (service: Service) => Promise<object>): void {
    const { owner, service } = this;
    if (owner === null || service === null) return;
    kernel.scheduler.after(1, owner, () => {
      ask(service).then(answered, (error: unknown) => {
        // The server answers 500 and the shop asks again: what the database did not take was never
        // promised.
        if (error instanceof AgentError) note("request failed", error.code);
        else this.#options.thrown(owner, error);
      });
    });
  }
}
