/**
 * The word of one method of one server on an account of the XRP Ledger, against the ledger's own
 * sum: lists that leave a payment out, a server whose `tx` forgets a validated transaction, and
 * payments without the amount that they delivered.
 */
import { afterEach, expect, describe as group, it } from "vitest";
import type { WatchedAddresses } from "../../chains/nodes.ts";
import { encodeXAddress } from "../../chains/xrp/address.ts";
import { xrp } from "../../chains/xrp/family.ts";
import { receivedPaymentOf } from "../../chains/xrp/node-outcome.ts";
import type { FrontOptions } from "../../lab/xrp-node/front.ts";
import { openLab, type XrpLab, xrpOf } from "./xrp-lab.ts";

let lab: XrpLab;
afterEach(() => lab.close());

async function opened(front: FrontOptions = {}): Promise<void> {
  lab = await openLab(2, { fronts: [front, front] });
}

/** All that the account got in the newest ledgers, as the watcher reads them. */
async function found(ledgers = 1, isAgreed = true) {
  const address = xrp.depositAddress(lab.to.address, 0);
  const book: WatchedAddresses = {
    size: 1,
    has: (one) => one === address,
    all: () => new Set([address]),
  };
  const { index } = lab.node.chain.head;
  const numbers = Array.from({ length: ledgers }, (_, at) => index - ledgers + 1 + at);
  const blocks = await Promise.all(numbers.map((number) => lab.watcher.block(number, true)));
  return lab.watcher.payments(blocks, [""], book, isAgreed);
}

group("a list of an account", () => {
  it("a list of an account whose servers leave one transaction out at each border of a page is whole all the same", async () => {
    await opened({ pageMost: 10, skipsAtBorders: true });
    for (let tag = 1; tag <= 34; tag += 1) lab.node.people.fund(lab.to.address, BigInt(tag), tag);
    lab.node.closeLedgers();
    // One server's list alone shows progress, and lacks three.
    expect((await found(1, false)).found).toHaveLength(31);
    const whole = (await found()).found;
    expect(whole).toHaveLength(34);
    expect(whole.reduce((sum, { amountUnits }) => sum + amountUnits, 0n)).toBe((34n * 35n) / 2n);
  });

  it("a list of an account that one of two servers cuts short at a border is agreed by other borders", async () => {
    lab = await openLab(2, {
      fronts: [
        { pageMost: 10, skipsAtBorders: true },
        { isClio: true, pageMost: 20 },
      ],
    });
    for (let tag = 1; tag <= 34; tag += 1) lab.node.people.fund(lab.to.address, BigInt(tag), tag);
    lab.node.closeLedgers();
    expect((await found()).found).toHaveLength(34);
  });

  it("a list of an account that no border mends is a fault, and never a smaller number", async () => {
    await opened();
    const hash = lab.node.fund(lab.to.address, 7n, 1);
    lab.node.closeLedgers();
    const hides = { lies: [{ kind: "hides", hashes: [hash] }], methods: ["account_tx"] } as const;
    lab.suffer(hides, hides);
    const { found: none, missing } = await found(2);
    expect([none, missing?.map(({ fault }) => fault.code)]).toEqual([[], ["NODE_LIST_SHORT"]]);
    lab.suffer({}, {});
    expect((await found(2)).found.map(({ amountUnits }) => amountUnits)).toEqual([7n]);
  });

  it("a list of an account counts its own payments and their fees", async () => {
    await opened();
    lab.validate(lab.sign(lab.payment()));
    const accounts = new Set([lab.from.address]);
    const block = await lab.watcher.block(lab.node.chain.head.index, true);
    expect((await lab.watcher.outgoing([block], accounts)).found).toHaveLength(1);
  });
});

group("one of two servers whose tx forgets a validated transaction", () => {
  const forgets = { lies: [{ kind: "hides" }], methods: ["tx"] } as const;

  it("one of two servers whose tx forgets a validated transaction keeps no payout from its end", async () => {
    await opened();
    const [payment, slot] = [lab.payment(), lab.slot()];
    const signed = lab.sign(payment);
    lab.validate(signed);
    lab.suffer(forgets, {});
    const { txHash } = signed;
    expect(await lab.judged(payment, [signed])).toMatchObject({
      kind: "completed",
      final: { txHash },
    });
    const [place] = await lab.sender.locations(lab.from.address, [{ slot, txHashes: [txHash] }]);
    expect(place).toMatchObject({ location: { txHash }, isDoubtful: false });
    const outcome = await lab.sender.chainOutcome(payment, [{ txHash, isCancel: false }]);
    expect(outcome).toMatchObject({ outcome: "paid", txHash });
  });

  it("one of two servers whose tx forgets it, and whose list as well, leaves the doubt", async () => {
    await opened();
    const payment = lab.payment();
    const signed = lab.sign(payment);
    lab.validate(signed);
    lab.suffer({ ...forgets, methods: ["tx", "account_tx"] }, {});
    const { txHash } = signed;
    expect(await lab.judged(payment, [signed])).toMatchObject({ kind: "confirming", txHash });
    expect(await lab.sender.chainOutcome(payment, [{ txHash, isCancel: false }])).toBeNull();
  });
});

group("a payment without the amount that it delivered", () => {
  it("a payment without the amount that it delivered is unread, and no payment of nothing", async () => {
    await opened();
    const hash = lab.node.fund(lab.to.address, xrpOf(5), 1);
    const odd = { lies: [{ kind: "odd", name: "delivered_amount", value: undefined }] } as const;
    lab.suffer(odd, odd);
    const { found: none, unread } = await found();
    expect([none.length, unread.map(({ txHash }) => txHash)]).toEqual([0, [hash]]);
    lab.suffer({}, {});
    expect((await found()).found.map(({ amountUnits }) => amountUnits)).toEqual([xrpOf(5)]);
  });

  it("a payment of another kind is the request's whose tag it names", async () => {
    await opened();
    const [account, other] = [lab.to.address, lab.from.address];
    const kind = {
      ...{
        txHash: "A".repeat(64),
        ledger: 1,
        account: other,
        kind: "AccountDelete",
        sequence: "1",
        result: "tesSUCCESS",
      },
      ...{ feeDrops: 12n, destination: account, tag: "7", amountDrops: null, deliveredDrops: 5n },
      ...{ risen: [[account, 5n]] as const, fallen: [[other, 17n]] as const },
    };
    expect(receivedPaymentOf(account, kind)).toMatchObject({
      address: encodeXAddress({ address: account, tag: "7" }),
      drops: 5n,
    });
    // A tag for somebody else is none of ours.
    const theirs = { ...kind, destination: other };
    expect(receivedPaymentOf(account, theirs)).toMatchObject({
      address: encodeXAddress({ address: account, tag: "" }),
    });
  });
});

group("a stock server", () => {
  it("a stock server that names no network is told with the lines that it lacks, and another network without", async () => {
    await opened();
    const nameless = { lies: [{ kind: "odd", name: "network_id", value: undefined }] } as const;
    lab.suffer(nameless, { networkId: 1 });
    await expect(lab.sender.tip()).rejects.toMatchObject({ code: "NODE_WRONG_CHAIN" });
    const [stock, other] = lab.sender.status().map(({ detail }) => detail);
    expect(stock).toContain("write the lines [network_id] and main into its configuration");
    expect(other).toBe("NODE_WRONG_CHAIN: chain id 1 instead of 0");
  });
});
