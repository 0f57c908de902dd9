/**
 * Deposits by a tag on an address that many share: whatever tag a customer gives, the money is
 * counted for the request with that tag, or kept for an operator, to the unit. Reported for such
 * software: xrpl.js and its wallets (payments without a tag, and with the tag of another customer),
 * which no program could find again.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { familyOf } from "../../chains/families.ts";
import type {
  DetectedPayment,
  WatchedAddresses,
  WatchedBlock,
  WatcherNodes,
} from "../../chains/nodes.ts";
import { hasTags, payeeOf } from "../../chains/payees.ts";
import { encodeXAddress } from "../../chains/xrp/address.ts";
import { sheetsOf } from "../../gateway/books/accounts.ts";
import { creditPayments } from "../../gateway/operator/crediting.ts";
import { searchRecords } from "../../gateway/operator/find.ts";
import { listUnattributed } from "../../gateway/store/credits.ts";
import { sumUnsweptUnits } from "../../gateway/store/journal.ts";
import type { Tip } from "../../gateway/watcher/chain.ts";
import { newDepositMemory } from "../../gateway/watcher/deposit-memory.ts";
import {
  type GatewayDatabase,
  gatewayDatabase,
  giveAddress,
  readTransaction,
} from "../../lab/kit/gateway-database.ts";
import { SeededRandom } from "../../lab/kit/seeded.ts";
import { scan, watchedBy } from "../support/watched-by.ts";
import { currency } from "../support/watched-chain.ts";

const network = "xrpl:1";
const hotWallet = "rHsMGQEkVNJmpGWs8XUBoTBiAAbwxZN5v3";
const requests = 40;
const amountUnits = 1_000n;
const lag = 4;

interface Arrival {
  readonly tag: string;
  readonly units: bigint;
}

let db: GatewayDatabase;
let blocks: Arrival[][];
/** The texts that the reader was asked about. */
let asked: ReadonlySet<string>;
const clock = { nowMs: 2_000_000 };

const idOf = (at: number): string => at.toString(16).padStart(32, "0");
const placeOf = (at: number): string => familyOf(network).depositAddress(hotWallet, at);
const tagOf = (at: number): string => payeeOf(network, placeOf(at)).tag;
const head = (): number => blocks.length - 1;
const final = (): number => Math.max(0, head() - lag);
const hashOf = (number: number): string => `block ${number}`;

beforeEach(() => {
  db = gatewayDatabase();
  blocks = [[], []];
  asked = new Set();
  for (let at = 0; at < requests; at += 1) give(at);
});
afterEach(() => db.remove());

function give(at: number): void {
  const address = placeOf(at);
  const payee = payeeOf(network, address);
  const row = {
    network,
    currency: "xrp",
    units: `${amountUnits}`,
    createdAt: 0,
    expiresAt: 1e15,
    tag: payee.tag,
  };
  giveAddress(
    db.store,
    { id: idOf(at), address, place: at, agent: null },
    { ...row, payTo: payee.address },
  );
}

function detected(
  { number, hash }: WatchedBlock,
  addresses: WatchedAddresses,
): readonly DetectedPayment[] {
  asked = new Set(addresses.all());
  return (blocks[number] ?? []).map(({ tag, units }, at) => {
    const address = encodeXAddress({ address: hotWallet, tag });
    return {
      txHash: `${number} ${at}`,
      index: -1,
      address,
      contract: "",
      amountUnits: units,
      block: number,
      blockHash: hash,
    };
  });
}

const neverAsked = async (): Promise<never> => {
  throw new Error("a deposit address with a tag has no balance of its own");
};
const reader: Partial<WatcherNodes> = {
  block: async (number) => ({
    number,
    hash: hashOf(number),
    parentHash: hashOf(number - 1),
    content: null,
  }),
  timestamp: async () => 0,
  outgoing: async () => ({ found: [], unread: [] }),
  payments: async (some, _contracts, addresses) => ({
    found: some.flatMap((one) => detected(one, addresses)),
    unread: [],
  }),
  balance: neverAsked,
  balances: neverAsked,
};

async function pass(memory = newDepositMemory(network)): Promise<void> {
  const tip = (): Tip => ({
    ...{
      head: { number: head(), hash: hashOf(head()) },
      final: { number: final(), hash: hashOf(final()) },
    },
    askedAt: clock.nowMs,
  });
  const chain = watchedBy({
    db,
    network,
    reader,
    currencies: [{ ...currency("xrp", ""), minPaymentAmount: "0.000000000000000001" }],
    clock: () => clock.nowMs,
  });
  await scan(chain, tip, memory);
}

const receivedBy = (at: number): bigint =>
  BigInt(readTransaction(db.store, idOf(at)).receivedUnits);
const unassigned = () => listUnattributed(db.store.database, null, 1_000);

describe("deposits by tags", () => {
  it("are of a network that says so", () => {
    expect([hasTags(network), hasTags("eip155:1")]).toEqual([true, false]);
    expect(payeeOf("eip155:1", "0x9858EfFD232B4033E47d90003D41EC34EcaEda94").tag).toBe("");
    expect(new Set(Array.from({ length: requests }, (_, at) => tagOf(at))).size).toBe(requests);
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])(
    "deposits by tags: each of a hundred payments with a right, wrong or missing tag is credited or kept, to the unit, seed %i",
    async (seed) => {
      const random = new SeededRandom(seed);
      const expected = new Map<string, bigint>();
      let memory = newDepositMemory(network);
      const known = new Set(Array.from({ length: requests }, (_, at) => tagOf(at)));
      for (let sent = 0; sent < 100; sent += 1) {
        const wrong = `${random.below(3) === 0 ? 0 : random.below(2 ** 31)}`;
        const tag = [tagOf(random.below(requests)), tagOf(random.below(requests)), wrong, ""][
          random.below(4)
        ]!;
        const units = BigInt(1 + random.below(1_500));
        const place = known.has(tag) ? tag : `unassigned ${tag}`;
        expected.set(place, (expected.get(place) ?? 0n) + units);
        if (random.below(2) === 0) blocks.push([]);
        blocks.at(-1)!.push({ tag, units });
        blocks.push([]);
        // A new process has read nothing before.
        if (random.below(15) === 0) memory = newDepositMemory(network);
        if (random.below(3) === 0) await pass(memory);
      }
      for (let more = 0; more <= lag; more += 1) blocks.push([]);
      await pass(memory);
      for (let at = 0; at < requests; at += 1)
        expect(receivedBy(at)).toBe(expected.get(tagOf(at)) ?? 0n);
      const kept = new Map<string, bigint>();
      for (const { address, leftUnits } of unassigned()) {
        const place = `unassigned ${payeeOf(network, address).tag}`;
        kept.set(place, (kept.get(place) ?? 0n) + leftUnits);
      }
      expect(kept).toEqual(
        new Map([...expected].filter(([place]) => place.startsWith("unassigned"))),
      );
      // All of it lies in the hot wallet, so nothing waits for a sweep, and the books count it
      // there.
      expect(sumUnsweptUnits(db.store.database, "m1", "xrp")).toBe(0n);
      const account = { address: hotWallet, merchant: "m1", kind: "hot", isOurs: true } as const;
      const sheets = await sheetsOf(db.store.database, { network }, [account], 0, async () => {});
      expect(sheets.get(hotWallet)?.at("xrp", head())).toBe(
        [...expected.values()].reduce((sum, units) => sum + units, 0n),
      );
      expect(asked.has(placeOf(0))).toBe(true);
    },
  );

  it("are shown before they are final with a tag that somebody asked for, and with no other", async () => {
    blocks.push([
      { tag: tagOf(3), units: 700n },
      { tag: "77", units: 5n },
    ]);
    await pass();
    expect(readTransaction(db.store, idOf(3)).stage).not.toBe("waiting");
    expect(db.store.database.all("SELECT 1 FROM payments WHERE final = 0")).toHaveLength(1);
    for (let more = 0; more <= lag; more += 1) blocks.push([]);
    await pass();
    expect(unassigned().map(({ leftUnits }) => leftUnits)).toEqual([5n]);
  });

  it("deposits by tags: an operator finds the money without a tag and credits it to the request that it was for", async () => {
    blocks.push([{ tag: "", units: amountUnits }]);
    for (let more = 0; more <= lag; more += 1) blocks.push([]);
    await pass();
    const [payment] = unassigned();
    expect(payment).toMatchObject({
      address: encodeXAddress({ address: hotWallet, tag: "" }),
      leftUnits: amountUnits,
      merchant: "m1",
    });
    const by = { store: db.store, nowMs: clock.nowMs, actor: "ann" };
    const how = {
      payments: [payment!.txHash],
      reason: "the payer showed the hash",
      isShortFine: false,
    };
    expect(creditPayments(by as never, idOf(5), how)).toMatchObject({ ok: true });
    expect(receivedBy(5)).toBe(amountUnits);
    expect(unassigned()).toEqual([]);
    const config = { chains: {}, currencies: {} };
    const found = (text: string): readonly string[] =>
      searchRecords(db.store.database, config, text, 5).records.map(({ row }) => row.id);
    expect(found(`${hotWallet} ${tagOf(5)}`)).toEqual([idOf(5)]);
    expect(found(placeOf(6))).toEqual([idOf(6)]);
    expect(found(`${hotWallet} 4`)).toEqual([]);
  });

  it("deposits by tags: money on an account that got no request here is nobody's", async () => {
    db.store.database.run("DELETE FROM addresses");
    db.store.database.run("DELETE FROM deposits");
    blocks.push([{ tag: "1", units: 5n }]);
    for (let more = 0; more <= lag; more += 1) blocks.push([]);
    await pass();
    expect(unassigned()).toEqual([]);
  });
});
