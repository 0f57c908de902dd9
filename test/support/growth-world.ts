/**
 * A gateway's database with so many agents, addresses and records, a watcher over nodes of the
 * test's own whose blocks have no transaction, and the questions to both.
 */

import { HDKey } from "@scure/bip32";
import { goodResult } from "../../base/result.ts";
import { familyOf } from "../../chains/families.ts";
import type { BalanceQuestion, WatcherNodes } from "../../chains/nodes.ts";
import type { GatewayChain } from "../../gateway/config/config.ts";
import { rightClock } from "../../gateway/own-clock.ts";
import { createSignals, type Signals } from "../../gateway/store/signals.ts";
import { ChainWatch, type WatcherOptions } from "../../gateway/watcher/watcher.ts";
import { unpricedChoices } from "../../lab/kit/choices.ts";
import {
  depositXpub,
  type GatewayDatabase,
  gatewayDatabase,
  silentLog,
} from "../../lab/kit/gateway-database.ts";
import { fillAddresses, fillRecords } from "./grown-tables.ts";
import { currency, network } from "./watched-chain.ts";

const blockMs = 12_000;
export const hotOf = (at: number): string =>
  `0x${"c".repeat(32)}${at.toString(16).padStart(8, "0")}`;

export interface Costs {
  questions: number;
  statements: number;
  rows: number;
}

/** The size of a world. */
export interface Size {
  readonly agents: number;
  readonly addresses?: number;
  readonly records?: number;
}

type PassOptions = Pick<WatcherOptions, "onPass" | "onRead">;

export class World {
  readonly db: GatewayDatabase = gatewayDatabase();
  readonly signals: Signals = createSignals();
  readonly costs: Costs = { questions: 0, statements: 0, rows: 0 };
  readonly watch: ChainWatch;
  nowMs = 1_790_000_000_000;
  readonly texts = new Set<string>(); // SQL of each statement
  #height = 100;

  constructor(
    { agents, addresses = 0, records = 0 }: Size,
    own: (world: World) => PassOptions = () => ({}),
  ) {
    const { store } = this.db;
    const parent = HDKey.fromExtendedKey(depositXpub);
    store.write((database) => {
      for (let at = 1; at <= agents; at += 1) {
        const { publicKey, chainCode } = parent.deriveChild(at);
        const { versions, depth, index, parentFingerprint } = parent;
        const { publicExtendedKey: id } = new HDKey({
          versions,
          depth,
          index,
          parentFingerprint,
          publicKey: publicKey!,
          chainCode: chainCode!,
        });
        const accounts = [
          { family: "evm", purpose: "hot", id: hotOf(at), firstAddress: hotOf(at) },
          {
            family: "evm",
            purpose: "deposits",
            id,
            firstAddress: familyOf(network).depositAddress(id, 0),
          },
        ];
        database.run("INSERT INTO merchants (id, name, createdAt) VALUES (?, 'Shop', 0)", `n${at}`);
        database.run(
          `INSERT INTO agents (id, merchant, wallet, ledgerEpoch, signerKey, linkKey, accounts, networks, currencies, pairedAt)
             VALUES (?, ?, ?, 1, ?, ?, ?, ?, '[]', 0)`,
          ...[
            `agent ${at}`,
            `n${at}`,
            `wallet ${at}`,
            `${at}`,
            `${at}`,
            JSON.stringify(accounts),
            JSON.stringify([network]),
          ],
        );
      }
    });
    if (addresses > 0)
      fillAddresses(store, { agents, count: addresses, network, atMs: this.nowMs });
    if (records > 0) fillRecords(store, { agents, count: records, network, hotOf });
    const currencies = {
      eth: { ...currency("eth", ""), network },
      usdt: { ...currency("usdt", hotOf(0)), network },
    };
    const clock = (): number => this.nowMs;
    const config = {
      chains: {},
      currencies,
      lifetimes: { withdrawalHours: 24 },
      sweepsAtOnce: 50,
    } as never;
    const options = { store, signals: this.signals, log: silentLog, clock, run: "one run", config };
    this.watch = new ChainWatch(
      "one",
      {
        family: "evm",
        chainId: 31337,
        network,
        nodes: [],
        confirmations: 1,
      } as unknown as GatewayChain,
      {
        ...options,
        choices: unpricedChoices(config, clock),
        ...{
          monotonic: clock,
          ownClock: () => rightClock,
          openReader: () => this.#reader(),
          ...own(this),
        },
      },
      currencies as never,
    );
  }

  /** Counts what the database is given, and gives. */
  count(): void {
    const { database } = this.db.store;
    for (const name of ["get", "all", "run"] as const) {
      const real = database[name] as (sql: string, ...values: never[]) => unknown;
      // No spy, which would keep each call.
      (database as Record<typeof name, typeof real>)[name] = (sql, ...values) => {
        const answer = real.call(database, sql, ...values);
        this.costs.statements += 1;
        this.costs.rows += Array.isArray(answer) ? answer.length : 1;
        this.texts.add(sql);
        return answer;
      };
    }
  }

  async pass(blocks: number): Promise<void> {
    for (let at = 0; at < blocks; at += 1) {
      this.nowMs += blockMs;
      this.#height += 1;
      while (!(await this.watch.passOnce()));
    }
  }

  /** The costs of so many idle blocks. */
  async costOf(blocks: number): Promise<Costs> {
    const before = { ...this.costs };
    await this.pass(blocks);
    const { questions, statements, rows } = this.costs;
    return {
      questions: questions - before.questions,
      statements: statements - before.statements,
      rows: rows - before.rows,
    };
  }

  async close(): Promise<void> {
    await this.watch.close();
    this.db.remove();
  }

  #reader(): WatcherNodes {
    const ask = async <T>(answer: T): Promise<T> => {
      this.costs.questions += 1;
      return answer;
    };
    const blockOf = (number: number) => ({
      number,
      hash: `hash ${number}`,
      parentHash: `hash ${number - 1}`,
      content: null,
    });
    const nothing = { found: [], unread: [] };
    return {
      status: () => [],
      close: () => {},
      readsWholeBlocks: true,
      tip: () => ask(blockOf(this.#height + 2)),
      finalTip: () => ask(blockOf(this.#height)),
      block: (number: number) => ask(blockOf(number)),
      timestamp: () => ask(Math.floor(this.nowMs / 1_000)),
      decimals: () => ask(6n),
      // Each balance counts, as on a chain that has no question for many.
      balances: async (questions: readonly BalanceQuestion[]) => {
        this.costs.questions += questions.length;
        return questions.map(() => goodResult(0n));
      },
      wereUsed: async (accounts: readonly string[]) => {
        this.costs.questions += accounts.length;
        return accounts.map(() => goodResult(false));
      },
      payments: () => ask(nothing),
      outgoing: () => ask(nothing),
      pass: () => ({ judge: async () => ({ kind: "waiting" }) }),
    } as unknown as WatcherNodes;
  }
}
