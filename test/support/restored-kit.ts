/**
 * A gateway that takes deposits beside a scripted chain, whose database may be restored while the
 * rest of the world goes on: real store, real file of addresses, real watcher.
 */

import { randomBytes } from "node:crypto";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { depositAddressOf } from "../../chains/evm/address.ts";
import { type Answer, isAnswer } from "../../gateway/answer/answer.ts";
import {
  compareMarks,
  endRestoreWaitIfRead,
  raisedMarksOf,
} from "../../gateway/deposits/ceilings.ts";
import { requestDeposit } from "../../gateway/deposits/deposits.ts";
import { watchSkipped } from "../../gateway/deposits/skipped-addresses.ts";
import { depositBody } from "../../gateway/operations/deposits.ts";
import { rightClock } from "../../gateway/own-clock.ts";
import type { Service } from "../../gateway/service.ts";
import {
  type IssuedAddressMarks,
  marksPathOf,
  openMarks,
  readMarks,
} from "../../gateway/store/address-marks.ts";
import { copyStore } from "../../gateway/store/copy.ts";
import { addReceivingKey } from "../../gateway/store/receiving-keys.ts";
import type { DepositRow, PaymentRow, TransactionRow } from "../../gateway/store/rows.ts";
import { createSignals } from "../../gateway/store/signals.ts";
import { createStore, openStore, type Store } from "../../gateway/store/store.ts";
import { depositsSql, narrowTransactionRow } from "../../gateway/store/transaction-rows.ts";
import { startWatcher, type Watcher } from "../../gateway/watcher/watcher.ts";
import { createWaiters } from "../../gateway/withdrawals/waiters.ts";
import { unpricedChoices } from "../../lab/kit/choices.ts";
import { type ChainNode, FakeChain, hashOf, serveChain } from "../../lab/kit/fake-chain.ts";
import { depositXpub, silentLog } from "../../lab/kit/gateway-database.ts";
import { until } from "./until.ts";
import { configOf, eth, network, outsider } from "./watched-chain.ts";

const confirmations = 2;
const merchant = "m1";

/** The result of an order: an address, or the reason for none. */
interface Ordered {
  readonly address: string;
  readonly reason: string;
  readonly code: string; // the code of the answer
}

export class RestoredKit {
  readonly chain = new FakeChain();
  readonly folder = mkdtempSync(join(tmpdir(), "restored-"));
  database = join(this.folder, "gateway-0.db");
  /** Every address that left, with its orders. */
  readonly left = new Map<string, Set<string>>();
  nowMs = 5_000;
  store!: Store;
  marks!: IssuedAddressMarks;
  service!: Service;
  reason = ""; // why the newest start took the database for one that was restored
  run = "";
  #node!: ChainNode;
  #watcher!: Watcher;
  #runs = 0;
  #hashes = 0;

  async begin(): Promise<void> {
    this.chain.mineEmpty(5);
    this.#node = await serveChain(this.chain);
    createStore(this.database, "", silentLog).close();
    this.store = openStore(this.database, silentLog);
    this.store.database.run(
      "INSERT INTO merchants (id, name, createdAt) VALUES (?, 'Shop', 0)",
      merchant,
    );
    this.own(this.store);
    this.store.close();
    this.start();
    await this.read();
  }

  /** The merchant's own part: an account to receive. */
  own({ database }: Store): void {
    const firstDepositAddress = depositAddressOf(depositXpub, 0);
    addReceivingKey(database, {
      merchant,
      family: "evm",
      xpub: depositXpub,
      firstDepositAddress,
      createdAt: 0,
    });
  }

  start(): void {
    this.store = openStore(this.database, silentLog);
    this.#runs += 1;
    this.run = `run ${this.#runs}`;
    const path = marksPathOf(this.database);
    const known = readMarks(path);
    this.reason = this.store.write((database) => compareMarks(database, known, this.nowMs)).reason;
    this.marks = openMarks(path, raisedMarksOf(this.store.database, known));
    const config = configOf([this.#node.url], confirmations);
    const signals = createSignals();
    const { store, run, marks } = this;
    const clock = (): number => this.nowMs;
    const readAt = (of: string): number | null => this.#watcher.readAt(of);
    const waitsRead = (of: string): number | null => this.#watcher.waitsRead(of);
    const onPass = async (): Promise<void> => {
      while (store.write((database) => watchSkipped(database, 7)) > 0);
      const isRead = (wait: number): boolean => (waitsRead(network) ?? -1) >= wait;
      store.write((database) => endRestoreWaitIfRead(database, isRead));
    };
    this.#watcher = startWatcher({
      choices: unpricedChoices(config, clock),
      store,
      signals,
      config,
      log: silentLog,
      clock,
      run,
      pollMs: 2,
      onPass,
    });
    this.service = {
      random: (bytes: number) => randomBytes(bytes),
      ...{
        store,
        signals,
        clock,
        run,
        readAt,
        waitsRead,
        addressMarks: marks,
        log: silentLog,
        outOfService: () => "",
        ownClock: () => rightClock,
        unreadSince: () => null,
        isLate: () => false,
      },
      waiters: createWaiters(signals),
      config: { ...config, lifetimes: { depositMinutes: 60 } },
      confirmations: () => null,
    } as unknown as Service;
  }

  async stop(): Promise<void> {
    await this.#watcher.close();
    this.store.close();
    this.marks.close();
  }

  async remove(): Promise<void> {
    await this.stop();
    await this.#node.close();
    rmSync(this.folder, { recursive: true });
  }

  /** A copy as `backup` makes it, or as an operator makes one of a file. */
  keep(name: string, by: "backup" | "file"): void {
    const path = join(this.folder, name);
    if (by === "backup") copyStore(this.store.database, path, this.nowMs);
    else this.store.database.run("VACUUM INTO ?", path);
  }

  /** The copy takes the place of the database; `also` is done while no gateway runs. */
  async restored(name: string, also: () => void = () => {}): Promise<void> {
    await this.stop();
    // At another path: this process keeps a hand on the old one until its garbage is collected.
    const marks = marksPathOf(this.database);
    this.database = join(this.folder, `gateway-${this.#runs}.db`);
    copyFileSync(join(this.folder, name), this.database);
    copyFileSync(marks, marksPathOf(this.database));
    also();
    this.nowMs += 1_000;
    this.start();
  }

  async order(orderId: string, amount = "1"): Promise<Ordered> {
    const body = new TextEncoder().encode(JSON.stringify({ currency: "eth", amount, orderId }));
    const order = depositBody.read(body);
    const answer: Answer = isAnswer(order)
      ? order
      : await requestDeposit(this.service, {
          merchant,
          order,
          write: (fn) => this.store.writeTogether(fn),
        });
    const address = answer.kind === "data" ? String(JSON.parse(answer.body).address) : "";
    if (address !== "") this.left.set(address, (this.left.get(address) ?? new Set()).add(orderId));
    const [code, reason] =
      answer.kind === "code" ? [answer.code, String(answer.extra.reason ?? "")] : ["", ""];
    return { address, reason, code };
  }

  /** Asks until an address comes, as a shop does after the answer to come again. */
  async orderSoon(orderId: string): Promise<string> {
    let got = await this.order(orderId);
    for (let round = 0; round < 200 && got.address === ""; round += 1) {
      await this.read();
      await this.meet();
      got = await this.order(orderId);
    }
    if (got.address === "") throw new Error(`no address for ${orderId}: ${got.code} ${got.reason}`);
    return got.address;
  }

  /** Each agent that this gateway has to receive catches up. */
  async meet(): Promise<void> {}

  pay(address: string, units = eth): void {
    this.#hashes += 1;
    this.chain.mine({
      hash: hashOf(`payment ${this.#hashes}`),
      from: outsider,
      to: address,
      value: units,
    });
  }

  /** Its node answers nothing. */
  set isDeaf(isDeaf: boolean) {
    this.#node.isDown = isDeaf;
  }

  get nodeUrl(): string {
    return this.#node.url;
  }

  /** Mined blocks become final and are read. */
  async settle(): Promise<void> {
    this.chain.mineEmpty(confirmations + 1);
    await this.read();
  }

  /** The watcher has read the chain as it stands now. */
  async read(): Promise<void> {
    this.nowMs += 1;
    const since = this.nowMs;
    // Not one of before, when the clock may have been ahead.
    await until(() => this.service.readAt(network) === since);
  }

  /** The deposits, in the order of their orders' ids. */
  rows(): readonly DepositRow[] {
    const sql = `${depositsSql} ORDER BY d.orderId`;
    return this.store.database
      .all<TransactionRow>(sql)
      .map(narrowTransactionRow) as readonly DepositRow[];
  }

  payments(): readonly PaymentRow[] {
    return this.store.database.all("SELECT * FROM payments ORDER BY block, logIndex");
  }

  /** The chain's payments to addresses that left, by address. */
  paid(): ReadonlyMap<string, bigint> {
    const paid = new Map<string, bigint>();
    for (const { transactions } of this.chain.blocks) {
      for (const { to, value = 0n } of transactions)
        if (this.left.has(to)) paid.set(to, (paid.get(to) ?? 0n) + value);
    }
    return paid;
  }
}
