/**
 * The books judge the rules of crediting: without one rule, the closing names the address of the
 * story in which the rule matters; with the rule it names no address. The last part names the rules
 * of which the books cannot tell, since they change whose request counts and not the sum on an
 * address.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import * as bloom from "../../chains/evm/bloom.ts";
import * as tronAnswers from "../../chains/tron/answers.ts";
import * as states from "../../gateway/store/address-states.ts";
import * as deposits from "../../gateway/store/deposits.ts";
import * as store from "../../gateway/store/payments.ts";
import * as posting from "../../gateway/store/posting.ts";
import * as topUps from "../../gateway/store/top-ups.ts";
import * as credit from "../../gateway/watcher/credit.ts";
import * as readings from "../../gateway/watcher/readings.ts";
import { pairAgent } from "../../lab/kit/gateway-database.ts";
import { type Given, TestNetwork } from "../support/credited-network.ts";

const eth = 10n ** 18n;
const fee = eth / 1000n;
const usd = 10n ** 6n;

let testNetwork: TestNetwork | null = null;
afterEach(() => {
  vi.restoreAllMocks();
  testNetwork?.db.remove();
  testNetwork = null;
});

/** The functions themselves, before any is exchanged. */
const real = {
  ...{
    explainedUnits: states.explainedUnits,
    applyReading: readings.applyReading,
    readReceipt: tronAnswers.readReceipt,
  },
  ...{
    keepFinalPayment: store.keepFinalPayment,
    keepDepositEnd: deposits.keepDepositEnd,
    judgeDeposit: credit.judgeDeposit,
  },
};
type Explained = typeof states.explainedUnits;

/** `explainedUnits` with something left out: sums of rows, by a query with the address. */
function explaining(sql: string, sign: bigint): void {
  vi.spyOn(states, "explainedUnits").mockImplementation(
    (...[database, place, ...how]: Parameters<Explained>) => {
      const isNative = place.currency === "eth" || place.currency === "trx";
      const rows = isNative ? database.all<{ units: string }>(sql, place.address) : [];
      return (
        real.explainedUnits(database, place, ...how) +
        sign * rows.reduce((sum, { units }) => sum + BigInt(units), 0n)
      );
    },
  );
}

const asFinal: typeof store.keepDetectedPayment = (database, payment) =>
  real.keepFinalPayment(database, { ...payment, final: 1 });

/** An address that was compared once before anybody paid. */
async function given(at: TestNetwork, ...change: Parameters<TestNetwork["give"]>): Promise<Given> {
  const one = at.give(...change);
  await at.settle();
  return one;
}

/** A sweep of an address that ended on the chain. */
async function swept(
  at: TestNetwork,
  { address }: Given,
  currency: string,
  units: bigint,
): Promise<void> {
  const contract = currency === "usd" ? { contract: at.usd } : {};
  const id = at.row({
    operation: "sweep",
    currency,
    payer: address,
    units: `${units}`,
    receiver: at.agent.hotWalletAddress,
  });
  const block = at.mine({ address, units: -units, ...contract }, { address, units: -fee });
  at.change(id, `status = 1, stage = 'completed', finalBlock = ${block}, feeUnits = '${fee}'`);
  await at.settle();
}

/** A top-up for a token's sweep, which then ends. */
async function toppedUp(at: TestNetwork): Promise<Given> {
  const one = await given(at, { currency: "usd", units: `${5n * usd}` });
  await at.settle({ address: one.address, units: 5n * usd, contract: at.usd, txHash: "paid" });
  const ends = { payer: at.agent.hotWalletAddress, receiver: one.address };
  const sweep = at.row({
    operation: "sweep",
    currency: "usd",
    payer: one.address,
    receiver: at.agent.hotWalletAddress,
    units: `${5n * usd}`,
  });
  const id = at.row({
    operation: "topup",
    orderId: sweep,
    currency: "usd",
    ...ends,
    units: `${2n * fee}`,
  });
  at.sign(id, "top-up");
  const paid = at.mine({ address: one.address, units: 2n * fee, txHash: "top-up" });
  const block = at.mine(
    { address: one.address, units: -5n * usd, contract: at.usd },
    { address: one.address, units: -fee },
  );
  at.change(id, `status = 1, stage = 'completed', finalBlock = ${paid}, feeUnits = '0'`);
  at.change(sweep, `status = 1, stage = 'completed', finalBlock = ${block}, feeUnits = '${fee}'`);
  await at.settle();
  await at.nextDay();
  return one;
}

/** The balance of an address before it was given out. */
async function remainder(at: TestNetwork): Promise<Given> {
  const one = at.give();
  at.mine({ address: one.address, units: 5n * eth });
  at.mine();
  at.mine();
  await at.settle();
  await at.settle();
  return one;
}

const staked = async (at: TestNetwork, note: string): Promise<Given> => {
  const one = await given(at, { units: "1000000000" });
  await at.settle({ address: one.address, units: 1_000_000_000n, note });
  await at.settle();
  return one;
};

interface Rule {
  readonly rule: string;
  readonly takeOut: () => unknown;
  readonly story: (at: TestNetwork) => Promise<Given>;
  readonly named: string; // units that the address holds beyond what is explained, and their currency
  readonly isTron?: boolean;
}

const direct = async (at: TestNetwork): Promise<Given> => {
  const one = await given(at);
  await at.settle({ address: one.address, units: eth, txHash: "paid" });
  return one;
};

const rules: readonly Rule[] = [
  {
    rule: "the balance pays nothing that a payment explains already",
    takeOut: () => vi.spyOn(states, "explainedUnits").mockReturnValue(0n),
    story: async (at) => {
      const one = await direct(at);
      await at.nextDay();
      return one;
    },
    named: `${-eth} eth`,
  },
  {
    rule: "a payment is posted to its address",
    takeOut: () => vi.spyOn(posting, "postPaymentMove").mockReturnValue(),
    story: direct,
    named: `${eth} eth`,
  },
  {
    rule: "a baseline is what no payment explains",
    takeOut: () => vi.spyOn(states, "explainedUnits").mockReturnValueOnce(0n),
    story: async (at) => {
      const one = at.give();
      at.mine({ address: one.address, units: eth, txHash: "paid" });
      at.mine();
      at.mine();
      await at.settle();
      return one;
    },
    named: `${-eth} eth`,
  },
  {
    rule: "a balance from before an address was given out is no payment",
    takeOut: () => explaining("SELECT units FROM moves WHERE kind = 'opening' AND toSide = ?", -1n),
    story: remainder,
    named: `${-5n * eth} eth`,
  },
  {
    rule: "the top-up of an address' own sweep is no payment",
    takeOut: () => vi.spyOn(topUps, "isOwnTopUp").mockReturnValue(false),
    story: toppedUp,
    named: `${-2n * fee} eth`,
  },
  {
    rule: "a top-up explains what it brought",
    takeOut: () =>
      explaining("SELECT units FROM transfers WHERE operation = 'topup' AND receiver = ?", -1n),
    story: toppedUp,
    named: `${-2n * fee} eth`,
  },
  {
    rule: "a payout between merchants of one gateway is a payment",
    takeOut: () =>
      vi
        .spyOn(topUps, "isOwnTopUp")
        .mockImplementation(
          (database, { txHash }) =>
            database.get("SELECT 1 FROM signatures WHERE txHash = ?", txHash) !== undefined,
        ),
    story: async (at) => {
      const other = pairAgent(at.db.store, "b", "0x90F79bf6EB2c4f870365E785982E1f101E93b906");
      const one = await given(at, { currency: "usd", units: `${5n * usd}` });
      const ends = { payer: other.hotWalletAddress, receiver: one.address };
      const id = at.row({
        merchant: "m-b",
        operation: "withdraw",
        currency: "usd",
        ...ends,
        units: `${5n * usd}`,
        status: 1,
      });
      at.sign(id, "payout", other);
      await at.settle({
        address: one.address,
        units: 5n * usd,
        contract: at.usd,
        txHash: "payout",
      });
      return one;
    },
    named: `${5n * usd} usd`,
  },
  {
    rule: "a request ends by the balance of its last block, not by the clock",
    takeOut: () =>
      vi
        .spyOn(deposits, "keepDepositEnd")
        .mockImplementation((database, id, _, final) =>
          real.keepDepositEnd(database, id, 0, final),
        ),
    story: async (at) => {
      const one = await given(at, { expiresAt: at.clock + 1_000 });
      at.mine({ address: one.address, units: eth });
      at.clock += 1_000;
      await at.settle();
      return one;
    },
    named: `${eth} eth`,
  },
  {
    rule: "an old address is compared once a day",
    takeOut: () => {
      vi.spyOn(states, "listComparedBefore").mockReturnValue([]);
      vi.spyOn(states, "listDueByAge").mockReturnValue([]);
    },
    story: async (at) => {
      const one = await given(at, { status: 2, stage: "expired", code: "deposit_expired" });
      await at.settle({ address: one.address, units: eth });
      await at.nextDay();
      return one;
    },
    named: `${eth} eth`,
  },
  {
    rule: "an address that is being swept is left for later",
    takeOut: () => vi.spyOn(states, "isBeingSwept").mockReturnValue(false),
    story: async (at) => {
      const one = await direct(at);
      const payer = at.agent.hotWalletAddress;
      const away = { payer: one.address, receiver: payer, currency: "usd", units: "1" };
      const orderId = at.row({ operation: "sweep", ...away });
      const ends = { payer, receiver: one.address, orderId, currency: "usd" };
      const id = at.row({ operation: "topup", ...ends, units: `${fee}` });
      await at.settle({ address: one.address, units: fee });
      await at.nextDay();
      at.change(id, `status = 1, stage = 'completed', finalBlock = ${at.final}`);
      await at.settle();
      return one;
    },
    named: `${-fee} eth`,
  },
  {
    rule: "a sweep explains its fee as well",
    takeOut: () =>
      explaining(
        "SELECT feeUnits AS units FROM transfers WHERE operation = 'sweep' AND payer = ?",
        1n,
      ),
    story: async (at) => {
      const one = await direct(at);
      await swept(at, one, "eth", eth / 2n);
      await at.settle({ address: one.address, units: 7n });
      await at.nextDay();
      return one;
    },
    named: "7 eth",
  },
  {
    rule: "an empty list of logs is proved by the block's bloom",
    takeOut: () => vi.spyOn(bloom, "mayBloomHold").mockReturnValue(false),
    story: async (at) => {
      const one = await given(at, { currency: "usd", units: `${5n * usd}` });
      at.isSilent = true;
      await at.settle({ address: one.address, units: 5n * usd, contract: at.usd, txHash: "paid" });
      return one;
    },
    named: `${5n * usd} usd`,
  },
  {
    rule: "a newest balance is held against the payments of every block that it may be of",
    takeOut: () =>
      vi
        .spyOn(readings, "applyReading")
        .mockImplementation((chain, database, { from, ...reading }) =>
          real.applyReading(chain, database, { ...reading, from, to: from }),
        ),
    story: async (at) => {
      const one = await given(at);
      at.ahead = 1;
      await at.settle({ address: one.address, units: eth, txHash: "paid" });
      return one;
    },
    named: `${-eth} eth`,
    isTron: true,
  },
  {
    rule: "a receipt's entry counts as far as the final balance bears it out",
    takeOut: () => vi.spyOn(store, "dropDetectedPayment").mockImplementation(asFinal),
    story: (at) => staked(at, "call"),
    named: "-1000000000 eth",
    isTron: true,
  },
  {
    rule: "staked coins are none: neither the note of an entry nor the balance is looked at",
    takeOut: () => {
      withoutNotes();
      vi.spyOn(store, "dropDetectedPayment").mockImplementation(asFinal);
    },
    story: (at) => staked(at, "freezeBalanceV2ForBandwidth"),
    named: "-1000000000 eth",
    isTron: true,
  },
];

/** Every entry of a receipt counts, with any note. */
function withoutNotes(): void {
  vi.spyOn(tronAnswers, "readReceipt").mockImplementation((value) => {
    const receipt = real.readReceipt(value);
    return receipt === null
      ? null
      : { ...receipt, internal: [...receipt.internal, ...receipt.others] };
  });
}

const statusOf = (at: TestNetwork, { id }: Given): unknown =>
  at.db.store.database.get("SELECT status FROM deposits WHERE id = ?", id);

/** Rules of which the books cannot tell: the sum of an address stays explained. */
const unseen: readonly (Omit<Rule, "named"> & {
  readonly differs: (at: TestNetwork, one: Given) => unknown;
})[] = [
  {
    rule: "a baseline that is not kept is credited as a payment: the request completes by it, the sum is explained",
    takeOut: () => vi.spyOn(states, "keepBaseline").mockReturnValue(),
    story: remainder,
    differs: statusOf,
  },
  {
    rule: "a tolerance of the full amount completes a request that was paid in part",
    takeOut: () =>
      vi
        .spyOn(credit, "judgeDeposit")
        .mockImplementation((request, ...rest) =>
          real.judgeDeposit({ ...request, toleranceUnits: request.amountUnits }, ...rest),
        ),
    story: async (at) => {
      const one = await given(at);
      await at.settle({ address: one.address, units: 1n, txHash: "paid" });
      return one;
    },
    differs: statusOf,
  },
  {
    rule: "a payment that counts when it is seen completes its request, and leaves the books with its block",
    takeOut: () => vi.spyOn(store, "keepDetectedPayment").mockImplementation(asFinal),
    story: async (at) => {
      const one = await given(at);
      at.mine({ address: one.address, units: eth, txHash: "paid" });
      await at.pass();
      at.reorganise(1);
      await at.settle();
      return one;
    },
    differs: statusOf,
  },
  {
    rule: "what comes after the owner of a key took coins out goes unseen, as less than explained is the owner's matter",
    takeOut: () => vi.spyOn(states, "keepTakenByOwner").mockReturnValue(),
    story: async (at) => {
      const one = await given(at, {}, false);
      await at.settle({ address: one.address, units: eth, txHash: "paid" });
      await at.settle({ address: one.address, units: -eth });
      await at.nextDay();
      await at.settle({ address: one.address, units: eth / 2n });
      await at.nextDay();
      return one;
    },
    differs: (at) => at.db.store.database.get("SELECT count(*) AS paid FROM payments"),
  },
  {
    rule: "staked coins whose note nobody looks at show as seen, and the final balance drops them",
    takeOut: withoutNotes,
    story: async (at) => {
      const one = await given(at, { units: "1000000000" });
      at.mine({ address: one.address, units: 1_000_000_000n, note: "freezeBalanceV2ForBandwidth" });
      await at.pass();
      return one;
    },
    differs: (at) => at.db.store.database.get("SELECT count(*) AS seen FROM payments"),
    isTron: true,
  },
];

async function played(
  story: Rule["story"],
  isTron: boolean | undefined,
): Promise<{ readonly at: TestNetwork; readonly one: Given }> {
  testNetwork?.db.remove();
  testNetwork = new TestNetwork(isTron);
  return { at: testNetwork, one: await story(testNetwork) };
}

describe("the books judge the rules of crediting", () => {
  it.each(rules)(
    "reconcile names the address without this rule, and none with it: $rule",
    async ({ takeOut, story, named, isTron }) => {
      const sound = await played(story, isTron);
      expect(await sound.at.reconcile()).toEqual([]);
      takeOut();
      const { at, one } = await played(story, isTron);
      expect(await at.reconcile()).toEqual([`${one.address} ${named}`]);
    },
  );

  it.each(unseen)(
    "reconcile cannot tell of this: $rule",
    async ({ takeOut, story, differs, isTron }) => {
      const sound = await played(story, isTron);
      const right = differs(sound.at, sound.one);
      expect(await sound.at.reconcile()).toEqual([]);
      takeOut();
      const { at, one } = await played(story, isTron);
      expect(differs(at, one)).not.toEqual(right);
      expect(await at.reconcile()).toEqual([]);
    },
  );
});
