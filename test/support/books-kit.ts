/**
 * Books beside a chain in memory: each act of money stands on the chain and in the database alike,
 * until a test takes one of the two away. No node, no watcher, no time that passes.
 */

import { afterEach, beforeEach } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { goodResult, type Result } from "../../base/result.ts";
import { closeBooks } from "../../gateway/books/closing.ts";
import type { BookNodes, ClosingOptions } from "../../gateway/books/compare.ts";
import { amountWords, type ClosingResult } from "../../gateway/books/keeping.ts";
import type { MonthNodes } from "../../gateway/books/months.ts";
import { keepFinalPayment } from "../../gateway/store/payments.ts";
import {
  type AgentKeys,
  type AnyTransaction,
  askWithdrawal,
  type GatewayDatabase,
  gatewayDatabase,
  giveAddress,
  insertTransaction,
  pairAgent,
} from "../../lab/kit/gateway-database.ts";

export const network = "eip155:31337";
const token = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
export const currencies = [
  { id: "eth", contract: "", decimal: 18 },
  { id: "usd", contract: token, decimal: 6 },
];
const contractOf = (currency: string): string =>
  currencies.find(({ id }) => id === currency)?.contract ?? "";

// State of the test that runs.
export let db: GatewayDatabase;
export let agent: AgentKeys;
export let chain: MemoryChain;
export const clock = { nowMs: Date.parse("2026-03-01T03:00:00Z") };
let made = 0;

/** Time from one block to the next. */
export const blockMs = 60_000;

/** Balances at the end of every block, as nodes tell them. */
class MemoryChain implements BookNodes, MonthNodes {
  block = 100;
  oldest = 0; // nodes keep no state before it
  calls = 0;
  questions = 0;
  timesAsked = 0;
  genesisMs = Date.parse("2026-03-01T00:00:00Z");
  isAway = false;
  tellsNewestBalances = false;
  readonly #moves = new Map<string, { readonly block: number; readonly units: bigint }[]>();

  move(account: string, currency: string, units: bigint, block = this.block): void {
    const name = `${account} ${contractOf(currency)}`;
    this.#moves.set(name, [...(this.#moves.get(name) ?? []), { block, units }]);
  }

  async balances(
    asked: readonly { readonly account: string; readonly contract: string }[],
    block: number,
  ): Promise<readonly Result<bigint>[]> {
    this.calls += 1;
    this.questions += asked.length;
    if (this.isAway) throw new AgentError("NODE_UNREACHABLE", "none", "away");
    if (block < this.oldest) throw new AgentError("NODE_ERROR", "none", "missing trie node");
    const at = this.tellsNewestBalances ? this.block : block;
    return asked.map(({ account, contract }) => {
      const moves = this.#moves.get(`${account} ${contract}`) ?? [];
      return goodResult(
        moves.reduce((sum, move) => (move.block <= at ? sum + move.units : sum), 0n),
      );
    });
  }

  /** Seconds since 1970: block 0 at `genesisMs`, and a block every minute. */
  async timestamp(block: number): Promise<number> {
    this.timesAsked += 1;
    if (this.isAway) throw new AgentError("NODE_UNREACHABLE", "none", "away");
    if (block < this.oldest) throw new AgentError("NODE_ERROR", "none", "pruned");
    return (this.genesisMs + block * blockMs) / 1000;
  }

  async finalTip(): Promise<{ readonly number: number; readonly hash: string }> {
    return { number: this.block, hash: `${this.block}` };
  }
}

/** To be called once at the head of a test file. */
export function eachTestItsBooks(): void {
  beforeEach(() => {
    db = gatewayDatabase();
    agent = pairAgent(db.store);
    chain = new MemoryChain();
    made = 0;
    read();
  });
  afterEach(() => db.remove());
}

/** The watcher has read every block. */
export function read(block = chain.block): void {
  db.store.database.run(
    `INSERT INTO cursors (network, block, hash) VALUES (?, ?, ?)
     ON CONFLICT (network) DO UPDATE SET block = excluded.block, hash = excluded.hash`,
    network,
    block,
    `${block}`,
  );
}

/** Another block, which the watcher reads. */
export function mine(count = 1): number {
  chain.block += count;
  read();
  return chain.block;
}

const options = (change: Partial<ClosingOptions> = {}): ClosingOptions => ({
  ...{
    store: db.store,
    network,
    reader: chain,
    currencies,
    merchant: null,
    isWhole: true,
  },
  ...{ clock: () => clock.nowMs, rest: async () => {} },
  ...change,
});
export const close = (change: Partial<ClosingOptions> = {}): Promise<ClosingResult> =>
  closeBooks(options(change));

/** Each difference as "ADDRESS AMOUNT CURRENCY from BLOCK". */
export const differences = ({ differences: rows }: ClosingResult): readonly string[] =>
  rows.map(({ address, currency, expectedUnits, foundUnits, sinceBlock }) => {
    const rest = BigInt(foundUnits) - BigInt(expectedUnits);
    return `${address} ${amountWords(rest, currency, currencies)} from ${sinceBlock ?? "unknown"}`;
  });

function nextId(): string {
  made += 1;
  return made.toString(16).padStart(32, "0");
}

/** A deposit address, with the request it was given out for. */
export function issue(
  change: Partial<AnyTransaction> = {},
  isOurs = true,
): { readonly id: string; readonly address: string } {
  const id = nextId();
  const address = `0x${"d".repeat(8)}${id}`;
  giveAddress(
    db.store,
    { id, address, place: made, agent: isOurs ? agent.id : null },
    { orderId: `d-${id}`, network, ...change },
  );
  return { id, address };
}

/** A payment as the database holds it. */
export function keepPayment(
  to: { readonly id: string; readonly address: string },
  currency: string,
  units: bigint,
  block = chain.block,
): void {
  const payment = {
    ...{ network, txHash: `hash ${nextId()}`, logIndex: -1, address: to.address, currency },
    ...{
      units: units.toString(),
      block,
      blockHash: `${block}`,
      final: 1 as const,
      transactionId: to.id,
    },
  } as const;
  db.store.write((database) => keepFinalPayment(database, payment));
}

/** A payment, on the chain and in the database. */
export function pay(
  to: { readonly id: string; readonly address: string },
  currency: string,
  units: bigint,
): number {
  chain.move(to.address, currency, units);
  keepPayment(to, currency, units);
  return chain.block;
}

type Ended = Pick<
  AnyTransaction,
  "operation" | "currency" | "payer" | "receiver" | "units" | "feeUnits"
> &
  Partial<AnyTransaction>;

/** A withdrawal, sweep or top-up that ended on the chain, as the database holds it. */
export function keepEnded(row: Ended): string {
  const id = nextId();
  const txHash = `outgoing ${id}`;
  insertTransaction(db.store, {
    ...{
      id,
      orderId: `o-${id}`,
      network,
      status: 1,
      stage: "completed",
      txHash,
      finalBlock: chain.block,
    },
    ...row,
  });
  return id;
}

/** A sweep of an address, with its fee in the coin. */
export function sweep(
  { address }: { readonly address: string },
  currency: string,
  units: bigint,
  fee: bigint,
): string {
  chain.move(address, currency, -units);
  chain.move(address, "eth", -fee);
  chain.move(agent.hotWalletAddress, currency, units);
  const ends = { payer: address, receiver: agent.hotWalletAddress };
  return keepEnded({
    operation: "sweep",
    currency,
    ...ends,
    units: `${units}`,
    feeUnits: `${fee}`,
  });
}

/** A top-up of an address for its sweep of a currency, with its fee. */
export function topUp(
  { address }: { readonly address: string },
  currency: string,
  units: bigint,
  fee: bigint,
): string {
  chain.move(agent.hotWalletAddress, "eth", -units - fee);
  chain.move(address, "eth", units);
  const ends = { payer: agent.hotWalletAddress, receiver: address };
  return keepEnded({
    operation: "topup",
    currency,
    ...ends,
    units: `${units}`,
    feeUnits: `${fee}`,
  });
}

export const customer = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";

/** A payout from the hot wallet, with its fee. */
export function payout(
  currency: string,
  units: bigint,
  fee: bigint,
  change: Partial<AnyTransaction> = {},
): string {
  chain.move(agent.hotWalletAddress, currency, -units);
  chain.move(agent.hotWalletAddress, "eth", -fee);
  const ends = { payer: agent.hotWalletAddress, receiver: customer };
  return keepEnded({
    operation: "withdraw",
    mode: "auto",
    currency,
    ...ends,
    units: `${units}`,
    feeUnits: `${fee}`,
    ...change,
  });
}

/** A transaction of the hot wallet that nobody here ordered, as the watcher reads it. */
export function outgoingForeign(currency: string, units: bigint, fee: bigint): string {
  chain.move(agent.hotWalletAddress, currency, -units);
  chain.move(agent.hotWalletAddress, "eth", -fee);
  const txHash = `foreign ${nextId()}`;
  db.store.database.run(
    "INSERT INTO outgoing VALUES (?, ?, ?, ?, ?, ?, '', ?, ?, 0)",
    ...[
      network,
      agent.hotWalletAddress,
      `${made}`,
      txHash,
      chain.block,
      customer,
      contractOf(currency),
      units.toString(),
    ],
  );
  return txHash;
}

/** A withdrawal that is signed and has not ended. */
export function signed(number: number, change: Partial<AnyTransaction> = {}): string {
  const id = askWithdrawal(db.store, agent.id, 1_000 + number, {
    network,
    stage: "broadcast",
    ...change,
  });
  const { payer: account = agent.hotWalletAddress } = change;
  db.store.database.run(
    "INSERT INTO signatures VALUES (?, 1, ?, ?, ?, ?, ?, '21000', ?, 0, '', NULL, 0)",
    ...[id, agent.id, network, account, `${number}`, `signed ${id}`, number],
  );
  return id;
}
