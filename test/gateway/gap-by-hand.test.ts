/**
 * A gap on a chain of tags that no server fills: its payments are credited one by one by the word
 * of the nodes about their transactions, and the requests that it holds end by an operator's word.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import type { DetectedPayment } from "../../chains/nodes.ts";
import type { OperatorContext } from "../../gateway/operator/accounts.ts";
import { creditPaymentsByName } from "../../gateway/operator/crediting.ts";
import { addPaymentsByHash, releaseDeposit } from "../../gateway/operator/deposits.ts";
import { giveUpGap, retryFault } from "../../gateway/operator/faults.ts";
import { listFaults } from "../../gateway/store/faults.ts";
import { type GapRow, listGaps, retryGapSoon } from "../../gateway/store/gaps.ts";
import { listTransactionsWithMerchant } from "../../gateway/store/transaction-lists.ts";
import type { Plant } from "../../lab/faults/items/plant-makers.ts";
import { ItemWorld, type MerchantTransfer } from "../../lab/faults/items/world.ts";

const minuteMs = 60_000;
let world: ItemWorld;
let isLost: boolean;
let proof: (txHash: string) => Promise<DetectedPayment | null>;
let asked: string[];

beforeEach(() => {
  isLost = false;
  asked = [];
  const plant: Plant = {
    report: "public-bugs-coins.md 7",
    of: "request",
    wrap: (honest) => ({
      ...honest,
      payments: async (blocks, contracts, addresses, isAgreed) => {
        const told = await honest.payments(blocks, contracts, addresses, isAgreed);
        if (isLost && isAgreed && told.found.length > 0)
          throw new AgentError("NODE_PRUNED", "none", "no list of the account");
        return told;
      },
    }),
  };
  world = new ItemWorld("xrp", plant);
  world.fund();
});
afterEach(() => world.close());

const by = (): OperatorContext =>
  ({
    store: world.store,
    actor: "ayse",
    nowMs: world.nowMs,
    run: null,
  }) as unknown as OperatorContext;
const rowOf = ({ id }: MerchantTransfer) =>
  world.database.get<{ status: number; stage: string; receivedUnits: string }>(
    "SELECT status, stage, receivedUnits FROM deposits WHERE id = ?",
    id,
  );
const held = (): readonly string[] =>
  listTransactionsWithMerchant(world.database, {
    operations: ["deposit"],
    isHeld: true,
    most: 9,
  }).map(({ id }) => id);
const nameOf = (): string => {
  const [gap] = listGaps(world.database, world.network) as [GapRow];
  return `history/${world.network}/${gap.account || "*"}/${gap.fromBlock}`;
};

function prove(id: string, txHash: string) {
  const config = {
    chains: { one: { network: world.network } },
    currencies: Object.fromEntries(world.currencies.map((one) => [one.id, one])),
  };
  const open = () => ({
    paymentBy: (hash: string) => {
      asked.push(hash);
      return proof(hash);
    },
    close: () => {},
  });
  const wanted = { payments: [txHash], reason: "seen in a block explorer" };
  return addPaymentsByHash(by(), { config: config as never, open }, id, wanted);
}

/** Two requests of one time, of which the first is paid in the gap. */
async function gap(): Promise<{
  readonly paid: MerchantTransfer;
  readonly unpaid: MerchantTransfer;
}> {
  await world.settle();
  for (let at = 0; at < 2; at += 1) await world.order("A", "coin", 30 * minuteMs);
  const [paid, unpaid] = world.requests as [MerchantTransfer, MerchantTransfer];
  await world.settle();
  world.requests.splice(1, 1);
  isLost = true;
  world.payAll();
  const block = world.chain.top;
  for (let at = 0; at < 14; at += 1) {
    world.nowMs += minuteMs;
    world.chain.mine(world.nowMs);
    await world.watch.passOnce();
  }
  expect(listGaps(world.database, world.network)).toHaveLength(1);
  const found = async (txHash: string): Promise<DetectedPayment | null> =>
    txHash !== paid.txHash
      ? null
      : {
          ...{
            txHash,
            index: -1,
            address: paid.address,
            contract: "",
            amountUnits: 1_000_000n,
            block,
          },
          blockHash: (await world.chain.reader().block(block, true)).hash,
        };
  proof = found;
  return { paid, unpaid };
}

async function hours(count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    world.nowMs += 60 * minuteMs;
    world.chain.mine(world.nowMs);
    await world.watch.passOnce();
  }
}

describe("a payment in a gap on a chain of tags", () => {
  it("is credited by its hash as the reading of its ledger would have, once, also if the gap is filled afterwards", async () => {
    const { paid } = await gap();
    expect(rowOf(paid)).toMatchObject({ status: 0, receivedUnits: "0" });
    expect(await prove(paid.id, paid.txHash.toLowerCase())).toEqual({ ok: true });
    const payments = () => world.database.all("SELECT * FROM payments ORDER BY txHash");
    const kept = payments();
    expect(rowOf(paid)).toEqual({ status: 1, stage: "completed", receivedUnits: "1000000" });
    expect(
      creditPaymentsByName(by(), paid.id, {
        payments: [paid.txHash],
        reason: "it",
        isShortFine: false,
      }),
    ).toMatchObject({ ok: true });
    expect(await prove(paid.id, paid.txHash)).toEqual({ ok: true });
    expect(asked).toEqual([paid.txHash]);
    isLost = false;
    const [row] = listGaps(world.database, world.network) as [GapRow];
    world.store.write((database) => retryGapSoon(database, row));
    for (let at = 0; at < 3; at += 1) await world.settle();
    expect([
      listGaps(world.database, world.network),
      payments(),
      rowOf(paid)?.receivedUnits,
    ]).toEqual([[], kept, "1000000"]);
  });

  it.each<[string, () => void, string]>([
    ["that no node shows", () => (proof = async () => null), "no transaction"],
    [
      "that one node of two shows",
      () =>
        (proof = async () =>
          Promise.reject(new AgentError("NODE_DISAGREE", "none", "fewer nodes show it"))),
      "NODE_DISAGREE: fewer nodes show it",
    ],
    [
      "in a ledger that is not read yet",
      () => {
        const before = proof;
        proof = async (hash) => ({
          ...((await before(hash)) as DetectedPayment),
          block: world.chain.top + 9,
        });
      },
      "is not read yet",
    ],
  ])("is not credited %s", async (_, change, words) => {
    const { paid } = await gap();
    change();
    expect(await prove(paid.id, paid.txHash)).toMatchObject({
      code: "GATEWAY_PAYMENT_UNPROVEN",
      detail: expect.stringContaining(words),
    });
    expect([rowOf(paid), world.database.all("SELECT 1 FROM payments")]).toMatchObject([
      { status: 0 },
      [],
    ]);
  });

  it("is nobody's question on a chain of addresses, and of a deposit that there is not", async () => {
    const { paid } = await gap();
    world.database.run("UPDATE deposits SET network = 'eip155:1' WHERE id = ?", paid.id);
    expect(await prove(paid.id, paid.txHash)).toEqual({ ok: true });
    expect(await prove("ab".repeat(16), paid.txHash)).toMatchObject({
      code: "GATEWAY_UNKNOWN_RECORD",
    });
    expect(asked).toEqual([]);
  });

  it("holds the requests of its time once it is given up by hand, until each is credited or released", async () => {
    const { paid, unpaid } = await gap();
    const name = nameOf();
    expect(giveUpGap(by(), name, "no server has it")).toMatchObject({ code: "GATEWAY_GAP_TAGGED" });
    expect(releaseDeposit(by(), unpaid.id, "too early")).toMatchObject({
      code: "GATEWAY_DEPOSIT_NOT_HELD",
    });
    expect(retryFault(by(), name)).toEqual({ ok: true });
    expect(giveUpGap(by(), name, "no server has it", true)).toEqual({
      ok: true,
      held: 2,
      isByHand: true,
    });
    expect(retryFault(by(), name)).toMatchObject({ code: "GATEWAY_GAP_GIVEN_UP" });
    // Longer than the book keeps a fault of which nothing is asked.
    await hours(50);
    expect([rowOf(paid), rowOf(unpaid)]).toMatchObject([{ status: 0 }, { status: 0 }]);
    expect([...held()].sort()).toEqual([paid.id, unpaid.id].sort());
    const told = listFaults(world.database).find(({ domain }) => domain === "history");
    expect(told?.words).toContain(
      "given up: 2 requests are held until an operator credits or releases each",
    );
    expect(await prove(paid.id, paid.txHash)).toEqual({ ok: true });
    expect(rowOf(paid)).toMatchObject({ status: 1, stage: "completed" });
    expect(releaseDeposit(by(), unpaid.id, "nothing with its tag")).toEqual({ ok: true });
    expect(releaseDeposit(by(), unpaid.id, "once more")).toMatchObject({
      code: "GATEWAY_DEPOSIT_NOT_HELD",
    });
    isLost = false;
    await hours(2);
    expect([rowOf(paid), rowOf(unpaid)]).toMatchObject([
      { status: 1 },
      { status: 2, stage: "expired" },
    ]);
    expect([held(), listGaps(world.database, world.network)]).toEqual([[], []]);
  });

  it("that came to a deposit which has ended makes it Completed, by the same command", async () => {
    const { paid } = await gap();
    world.database.run(
      "UPDATE deposits SET status = 2, stage = 'expired', code = 'deposit_expired' WHERE id = ?",
      paid.id,
    );
    expect(await prove(paid.id, paid.txHash)).toEqual({ ok: true });
    expect(rowOf(paid)).toMatchObject({ status: 2, receivedUnits: "1000000" });
    const named = { payments: [paid.txHash], reason: "late, by our own fault", isShortFine: false };
    expect(creditPaymentsByName(by(), paid.id, named)).toMatchObject({
      ok: true,
      row: { status: 1 },
    });
  });
});
