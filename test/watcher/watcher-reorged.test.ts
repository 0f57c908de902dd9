/**
 * A credited payment whose block leaves the chain, on every family: books and balance follow the
 * chain at once, an operator ends the deposit, and a payment that a block has again counts once.
 * Reports of the kind: slickage/baron #38 (a payment counted twice after a reorganisation),
 * pearl-research-labs/pearl #274 (money of a block that left stays in the balance) and
 * bitpal/bitpal_web #32 (a payment that is taken out of its block).
 */
import { afterEach, describe, expect, it } from "vitest";
import { goodResult } from "../../base/result.ts";
import { families } from "../../chains/families.ts";
import type { FamilyName } from "../../chains/family.ts";
import type {
  BalanceQuestion,
  WatchedAddresses,
  WatchedBlock,
  WatcherNodes,
} from "../../chains/nodes.ts";
import { eventsOf } from "../../gateway/callbacks/events.ts";
import type { OperatorContext } from "../../gateway/operator/accounts.ts";
import { keepReorgedDeposit, revokeReorgedCredit } from "../../gateway/operator/revoking.ts";
import { keepIssuedComparison } from "../../gateway/store/address-states.ts";
import { readChanges } from "../../gateway/store/callback-outbox.ts";
import { sumUnsweptUnits } from "../../gateway/store/journal.ts";
import { listTransactionsWithMerchant } from "../../gateway/store/transaction-lists.ts";
import { newDepositMemory } from "../../gateway/watcher/deposit-memory.ts";
import { checkRefund } from "../../gateway/withdrawals/checks.ts";
import {
  type AnyTransaction,
  type GatewayDatabase,
  gatewayDatabase,
  giveAddress,
  insertTransaction,
  readTransaction,
} from "../../lab/kit/gateway-database.ts";
import { journalFaults } from "../../lab/kit/journal-audit.ts";
import { scan, watchedBy } from "../support/watched-by.ts";
import { currency } from "../support/watched-chain.ts";

const evm = {
  network: "eip155:31337",
  address: "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
} as const;

interface Cell {
  readonly network: string;
  readonly address: string;
}

/**
 * Each family with an address of it, or the reason why no block of it leaves. Test networks of the
 * coins have the bytes of their main network, with other addresses.
 */
const cellsByFamily: Readonly<Record<FamilyName, Readonly<Record<string, Cell>> | string>> = {
  evm: { evm },
  tron: { tron: { network: "tron:0x2b6653dc", address: "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t" } },
  utxo: {
    bitcoin: {
      network: "bip122:000000000019d6689c085ae165831e93",
      address: "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
    },
    litecoin: {
      network: "bip122:12a765e31ffd4059bada1e25190f6e98",
      address: "ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9",
    },
  },
  xrp: "a ledger is read once it is validated, and validators never validate two ledgers of one number",
};

type Paid = { readonly txHash: string; readonly index: number; readonly units: bigint };

/** Blocks with payments to one address; coins without a hash show in the balance alone. */
class Blocks {
  readonly db: GatewayDatabase = gatewayDatabase();
  readonly id = "ab".repeat(16);
  readonly network: string;
  readonly address: string;
  blocks: { readonly hash: string; readonly paid: readonly Paid[] }[] = [];
  #made = 0;
  #clock = 1_000_000_000;
  #memory: ReturnType<typeof newDepositMemory>;

  constructor({ network, address }: Cell, change: Partial<AnyTransaction> = {}) {
    this.network = network;
    this.address = address;
    this.#memory = newDepositMemory(network);
    giveAddress(
      this.db.store,
      { id: this.id, address, place: 0, agent: null },
      { network, units: "5", expiresAt: 1e15, ...change },
    );
    this.db.store.database.run(
      "INSERT INTO callbackTargets (id, merchant, url, events, secretBox, createdAt) VALUES ('c1', 'm1', 'https://shop', '[]', x'00', 0)",
    );
    keepIssuedComparison(this.db.store.database, { network, address, block: 0, comparedAt: 0 });
    this.mine(4);
  }

  mine(count = 1, ...paid: readonly Paid[]): void {
    for (let block = 0; block < count; block += 1) {
      this.#made += 1;
      this.blocks.push({ hash: `hash ${this.#made}`, paid: block === 0 ? paid : [] });
    }
  }

  drop(count: number): void {
    this.blocks = this.blocks.slice(0, -count);
  }

  /** Reads all blocks; each is final at once. */
  async read(): Promise<void> {
    this.#clock += 1_000;
    const at = (number: number) => ({ number, hash: this.blocks[number]?.hash ?? "" });
    const top = at(this.blocks.length - 1);
    const sum = (block: number): bigint =>
      this.blocks
        .slice(0, block + 1)
        .reduce((all, { paid }) => paid.reduce((units, one) => units + one.units, all), 0n);
    const reader: Partial<WatcherNodes> = {
      block: async (number) => ({
        ...at(number),
        parentHash: this.blocks[number - 1]?.hash ?? "",
        content: null as never,
      }),
      timestamp: async () => 0,
      outgoing: async () => ({ found: [], unread: [] }),
      balances: async (asked: readonly BalanceQuestion[], block: number) =>
        asked.map(() => goodResult(sum(block))),
      payments: async (
        blocks: readonly WatchedBlock[],
        _contracts: readonly string[],
        list: WatchedAddresses,
      ) => ({
        found: list.has(this.address)
          ? blocks.flatMap(({ number: block, hash: blockHash }) =>
              (this.blocks[block]?.paid ?? [])
                .filter(({ txHash }) => txHash !== "")
                .map(({ txHash, index, units: amountUnits }) => ({
                  ...{
                    txHash,
                    index,
                    amountUnits,
                    address: this.address,
                    contract: "",
                    block,
                    blockHash,
                  },
                })),
            )
          : [],
        unread: [],
      }),
    };
    const chain = watchedBy({
      db: this.db,
      network: this.network,
      reader,
      clock: () => this.#clock,
    });
    await scan(chain, () => ({ head: top, final: top, askedAt: this.#clock }), this.#memory);
  }

  get row(): AnyTransaction {
    return readTransaction(this.db.store, this.id);
  }

  get state(): string {
    const { status, stage, code, receivedUnits } = this.row;
    return `${status} ${stage} ${code} ${receivedUnits}`.replace("  ", " ");
  }

  /** The money on its addresses, by the kept sums, which are what the rows add up to. */
  get held(): bigint {
    expect(journalFaults(this.db.store.database)).toEqual([]);
    return sumUnsweptUnits(this.db.store.database, "m1", "eth");
  }

  get alarms(): readonly string[] {
    const sql = "SELECT act FROM audit WHERE act LIKE 'alarm %' ORDER BY id";
    return this.db.store.database
      .all<{ act: string }>(sql)
      .map(({ act }) => act.replace("alarm WATCHER_FINAL_REORG ", ""));
  }

  get reorged(): readonly string[] {
    const query = { operations: ["deposit"], isReorged: true, most: 10 } as const;
    return listTransactionsWithMerchant(this.db.store.database, query).map(({ id }) => id);
  }

  get events(): readonly string[] {
    const changes = readChanges(this.db.store.database, 100);
    return changes.flatMap((one) =>
      eventsOf(one, {
        minPaymentUnits: 0n,
        surplusToleranceUnits: 0n,
        wasBroadcast: false,
        refundedUnits: 0n,
      }),
    );
  }

  end(how: "revoke" | "keep") {
    const by = {
      store: this.db.store,
      nowMs: 9_000,
      actor: "operator",
    } as unknown as OperatorContext;
    return (how === "revoke" ? revokeReorgedCredit : keepReorgedDeposit)(
      by,
      this.id,
      "looked it up",
    );
  }
}

let of: Blocks | undefined;
const open = (family: Cell, change?: Partial<AnyTransaction>): Blocks => {
  of = new Blocks(family, change);
  return of;
};
afterEach(() => of?.db.remove());

const a: Paid = { txHash: "aa", index: 3, units: 5n };

/** Completed by one payment, whose block then leaves with nothing in its place. */
async function lost(family: Cell = evm): Promise<Blocks> {
  const one = open(family);
  await one.read();
  one.mine(1, a);
  one.mine(3);
  await one.read();
  expect([one.state, one.held]).toEqual(["1 completed 5", 5n]);
  one.drop(4);
  one.mine(6);
  await one.read();
  return one;
}

describe("a credited payment whose block leaves the chain", () => {
  const cells = Object.values(cellsByFamily).flatMap((named) =>
    typeof named === "string" ? [] : Object.entries(named),
  );
  it("has a family for each, or the reason why it cannot be", () => {
    const names = new Set(Object.values(families).map(({ name }) => name));
    expect(new Set(Object.keys(cellsByFamily))).toEqual(names);
    expect(cells.map(([name]) => name)).toEqual(["evm", "tron", "bitcoin", "litecoin"]);
  });

  it.each(cells)(
    "on %s is named, out of the balance, revoked once, and counts again once",
    async (_name, family) => {
      const one = await lost(family);
      expect([one.state, one.held, one.reorged]).toEqual(["1 completed 5", 0n, [one.id]]);
      expect(one.alarms).toEqual(["chain", "deposit"]);
      await one.read();
      expect(one.alarms).toEqual(["chain", "deposit"]);
      expect(one.end("revoke")).toMatchObject({ ok: true, row: { status: 2 } });
      expect([one.state, one.held, one.reorged]).toEqual(["2 reorged deposit_reorged 0", 0n, []]);
      const acts = () =>
        one.db.store.database.get<{ n: number }>(
          "SELECT count(*) AS n FROM audit WHERE act = 'deposit revoked'",
        )?.n;
      expect(one.end("revoke")).toMatchObject({ ok: true, payments: [] });
      expect([one.state, acts()]).toEqual(["2 reorged deposit_reorged 0", 1]);
      expect(one.end("keep")).toMatchObject({ ok: false, code: "GATEWAY_NOT_REORGED" });
      // In another place of another block.
      one.mine(1, { ...a, index: 7 });
      one.mine(1);
      await one.read();
      await one.read();
      expect([one.state, one.held, one.row.late]).toEqual(["1 completed 5", 5n, 0]);
      expect(one.alarms).toEqual(["chain", "deposit", "payment"]);
      expect(one.events).toEqual(["deposit.completed", "deposit.revoked", "deposit.completed"]);
    },
  );

  it.each(cells)(
    "on %s stays Completed where an operator keeps it, and counts once when it comes again",
    async (_name, family) => {
      const one = await lost(family);
      expect(one.end("keep")).toMatchObject({ ok: true, row: { status: 1 } });
      expect(one.end("keep")).toMatchObject({ ok: true, payments: [] });
      expect([one.state, one.held, one.reorged]).toEqual(["1 completed 5", 0n, []]);
      one.mine(2, a);
      await one.read();
      expect([one.state, one.held, one.row.late]).toEqual(["1 completed 5", 5n, 0]);
      expect(one.events).toEqual(["deposit.completed"]);
    },
  );

  it("and is in another block at once concerns nobody", async () => {
    const one = open(evm);
    await one.read();
    one.mine(1, a);
    one.mine(3);
    await one.read();
    one.drop(4);
    one.mine(1);
    one.mine(4, { ...a, index: 9 });
    await one.read();
    expect([one.state, one.held, one.reorged]).toEqual(["1 completed 5", 5n, []]);
    expect(one.alarms).toEqual(["chain", "payment"]);
    expect(one.events).toEqual(["deposit.completed"]);
    expect(one.end("keep")).toMatchObject({ ok: false, code: "GATEWAY_NOT_REORGED" });
  });

  it("is found so far back as payments left", async () => {
    const one = open(evm);
    await one.read();
    one.mine(1, a);
    one.mine(600);
    await one.read();
    one.drop(601);
    one.mine(601);
    await one.read();
    expect([one.state, one.held, one.reorged]).toEqual(["1 completed 5", 0n, [one.id]]);
  });

  it("counts no more for an open request, which another payment of the same payer then completes", async () => {
    const one = open(evm, { units: "8" });
    await one.read();
    one.mine(4, a);
    await one.read();
    expect(one.state).toBe("0 partial 5");
    one.drop(4);
    one.mine(1);
    one.mine(4, { ...a, txHash: "bb" });
    await one.read();
    expect([one.state, one.held, one.reorged]).toEqual(["0 partial 5", 5n, []]);
    one.mine(1, { ...a, txHash: "cc", units: 3n });
    await one.read();
    expect(one.state).toBe("1 completed 8");
  });

  it("leaves a deposit Completed that has enough without it", async () => {
    const one = open(evm);
    await one.read();
    one.mine(1, { ...a, txHash: "bb" });
    one.mine(1, a);
    one.mine(1, { ...a, txHash: "dd", units: 2n });
    one.mine(1);
    await one.read();
    expect(one.state).toBe("1 completed 12");
    one.drop(2);
    one.mine(3);
    await one.read();
    expect([one.state, one.held]).toEqual(["1 completed 12", 10n]);
    one.end("revoke");
    expect([one.state, one.held]).toEqual(["1 completed 10", 10n]);
    expect(one.events.slice(-1)).toEqual(["deposit.reorged"]);
  });

  it("is not made up for by money that was paid back: neither when it is revoked, nor when it comes again", async () => {
    const refunded = async (refundUnits: string): Promise<readonly string[]> => {
      const one = open(evm, { units: "8" });
      const refund = (units: string): void => {
        const row = {
          id: "f".repeat(32),
          orderId: "back",
          operation: "withdraw",
          status: 1,
          stage: "completed",
        } as const;
        if (units !== "0") insertTransaction(one.db.store, { ...row, units, refundOf: one.id });
      };
      await one.read();
      one.mine(1, { ...a, txHash: "bb", units: 8n });
      one.mine(1, a);
      one.mine(1);
      await one.read();
      expect(one.state).toBe("1 completed 13");
      one.drop(2);
      one.mine(3);
      await one.read();
      refund(refundUnits);
      one.end("revoke");
      const revoked = one.state;
      one.mine(1, a);
      await one.read();
      const states = [revoked, one.state];
      one.db.remove();
      return states;
    };
    expect(await refunded("0")).toEqual(["1 completed 8", "1 completed 13"]);
    expect(await refunded("4")).toEqual(["2 reorged deposit_reorged 8", "1 completed 13"]);
    expect(await refunded("8")).toEqual([
      "2 reorged deposit_reorged 8",
      "2 reorged deposit_reorged 13",
    ]);
    of = undefined;
  });

  it("of coins that no transaction names is told by the balance, and found by it again", async () => {
    const one = open(evm);
    await one.read();
    one.mine(1, { txHash: "", index: 0, units: 5n });
    await one.read();
    one.db.store.database.run("UPDATE addressStates SET comparedAt = 0");
    await one.read();
    expect([one.state, one.held]).toEqual(["1 completed 5", 5n]);
    one.drop(1);
    one.mine(3);
    await one.read();
    expect([one.state, one.held, one.reorged]).toEqual(["1 completed 5", 0n, [one.id]]);
    one.end("revoke");
    one.mine(1, { txHash: "", index: 0, units: 5n });
    one.db.store.database.run("UPDATE addressStates SET comparedAt = 0");
    await one.read();
    expect([one.state, one.held]).toEqual(["1 completed 5", 5n]);
  });

  const refundOf = (one: Blocks) =>
    checkRefund(one.db.store.database, {
      ...{ merchant: "m1", refundOf: one.id, currency: currency("eth", ""), amountUnits: 5n },
    } as unknown as Parameters<typeof checkRefund>[1]);
  /**
   * A payment to its address that left as well, and that it never counted unless it is in ether.
   */
  const besides = (one: Blocks, token: string, state: "open" | "revoked"): unknown =>
    one.db.store.database.run(
      `INSERT INTO gonePayments SELECT network, 'besides', logIndex, address, ?, units, block, blockHash, transactionId, ?, at, toldAt
         FROM gonePayments WHERE txHash = 'aa'`,
      ...[token, state],
    );

  it("is paid back to nobody before an operator has decided", async () => {
    const one = await lost();
    expect(refundOf(one)).toMatchObject({ code: "refund_above_received" });
    one.end("keep");
    expect(refundOf(one)).toBeNull();
  });

  it("in another currency than its deposit's, or credited to another deposit, holds nothing of this one back", async () => {
    for (const [token, isHeld] of [["eth", true] as const, ["usdt", false] as const]) {
      const one = await lost();
      one.end("keep");
      besides(one, token, "open");
      expect([token, refundOf(one) !== null]).toEqual([token, isHeld]);
      if (token === "eth") {
        const to = "e".repeat(32);
        insertTransaction(one.db.store, { id: to, orderId: "of-another" });
        one.db.store.database.run(
          "INSERT INTO depositCredits VALUES (?, 'besides', 3, ?, '5', '5', 1)",
          one.network,
          to,
        );
        expect(refundOf(one)).toBeNull();
      }
      one.db.remove();
      const two = await lost();
      besides(two, token, "revoked");
      two.end("revoke");
      two.mine(1, a);
      await two.read();
      expect([token, two.state]).toEqual([
        token,
        isHeld ? "2 reorged deposit_reorged 5" : "1 completed 5",
      ]);
      two.db.remove();
    }
    of = undefined;
  });
});
