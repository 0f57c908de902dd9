/**
 * Payments that come to an account of the XRP Ledger, by tag: what counts as a payment, for which
 * request, and how far two nodes must agree on the list. Then balances and ledgers of the watcher.
 */

import { afterEach, beforeEach, expect, describe as group, it } from "vitest";
import { valuesIn } from "../../base/result.ts";
import type { DetectedPayment, MissingHistory, WatchedAddresses } from "../../chains/nodes.ts";
import { encodeXAddress } from "../../chains/xrp/address.ts";
import { xrp } from "../../chains/xrp/family.ts";
import { share } from "../../lab/kit/share.ts";
import { openLab, type XrpLab, xrpOf } from "./xrp-lab.ts";
import { owner } from "./xrp-wallet.ts";

let lab: XrpLab;
let book: Set<string>;
let firstLedger: number;

beforeEach(async () => {
  lab = await openLab();
  firstLedger = lab.node.chain.head.index + 1;
  book = new Set([0, 1, 2].map((index) => xrp.depositAddress(lab.to.address, index)));
});
afterEach(() => lab.close());

const bookOf = (addresses: Set<string>): WatchedAddresses => ({
  size: addresses.size,
  has: (address) => addresses.has(address),
  all: () => addresses,
});

const deposit = (index: number): string => xrp.depositAddress(lab.to.address, index);
const tagOf = (index: number): number => Number(xrp.accounts.payeeOf(deposit(index)).tag);
const tagged = (tag: string): string => encodeXAddress({ address: lab.to.address, tag });
const code = (name: string) => expect.objectContaining({ code: name, effect: "none" });

/** Blocks from the first of this test to the newest one. */
async function blocks(last = lab.node.chain.head.index) {
  const numbers = Array.from({ length: last - firstLedger + 1 }, (_, at) => firstLedger + at);
  return Promise.all(numbers.map((number) => lab.watcher.block(number, true)));
}

async function payments(isAgreed = true): Promise<readonly DetectedPayment[]> {
  return (await lab.watcher.payments(await blocks(), [""], bookOf(book), isAgreed)).found;
}

const shown = (found: readonly DetectedPayment[]) =>
  found.map(({ address, amountUnits }) => [address, amountUnits]).sort();

/** Codes of the lists that cannot be had. */
const lacking = ({
  missing = [],
}: {
  readonly missing?: readonly MissingHistory[];
}): readonly string[] => missing.map(({ fault }) => fault.code);

const missing = async (): Promise<readonly string[]> =>
  lacking(await lab.watcher.payments(await blocks(), [""], bookOf(book), true));

group("payments to an account", () => {
  it("payments to an account name the request by the tag, with ledger and hash", async () => {
    const hash = lab.node.fund(lab.to.address, xrpOf(3), tagOf(1));
    const { index: block, hash: blockHash } = lab.node.chain.head;
    const payment = {
      txHash: hash,
      index: -1,
      address: deposit(1),
      contract: "",
      amountUnits: xrpOf(3),
      block,
      blockHash,
    };
    expect(await payments()).toEqual([payment]);
    expect(await payments(false)).toEqual([payment]);
    expect(book.has(deposit(1))).toBe(true);
  });

  it("payments to an account with a tag of nobody, the tag 0, or none are told as such", async () => {
    lab.node.people.fund(lab.to.address, 1n, 77);
    lab.node.people.fund(lab.to.address, 2n, 0);
    lab.node.people.fund(lab.to.address, 3n);
    lab.node.closeLedgers();
    expect(shown(await payments())).toEqual(
      [
        [tagged("77"), 1n],
        [tagged("0"), 2n],
        [tagged(""), 3n],
      ].sort(),
    );
  });

  it("payments to an account count what arrived: a partial payment by its delivered amount, a token and a failed one not at all", async () => {
    lab.node.people.payPartly(lab.to.address, xrpOf(5_000), 7n, tagOf(0));
    lab.node.people.payToken(lab.to.address, "5000", tagOf(1));
    lab.node.people.pay(lab.node.people.faucet, lab.to.address, 10n ** 17n, tagOf(2)); // more than there is
    lab.node.closeLedgers();
    expect(shown(await payments())).toEqual([[deposit(0), 7n]]);
  });

  it("payments to an account include an escrow that ended and a check that was cashed, which name no request", async () => {
    lab.node.people.finishEscrow(lab.to.address, 500n);
    lab.node.people.cashCheck(lab.to.address, 900n);
    lab.node.closeLedgers();
    expect(shown(await payments())).toEqual([
      [tagged(""), 500n],
      [tagged(""), 900n],
    ]);
  });

  it("payments to an account leave out transactions of the account itself, and accounts that nobody watches", async () => {
    lab.node.fund(owner("another").address, xrpOf(2), tagOf(0));
    lab.validate(lab.sign(lab.payment({ destination: owner("another").address })));
    expect(await payments()).toEqual([]);
    book.add(xrp.depositAddress(owner("another").address, 5));
    expect(shown(await payments())).toHaveLength(2);
  });

  it("a payment to an account is proven by its transaction alone, as the list of its ledger tells it", async () => {
    const paymentBy = (txHash: string, account = lab.to.address) =>
      lab.watcher.paymentBy?.(txHash, account);
    const hash = lab.node.fund(lab.to.address, xrpOf(3), tagOf(1));
    const [listed] = await payments();
    const partly = lab.node.people.payPartly(lab.to.address, xrpOf(5_000), 7n, tagOf(0));
    const failed = lab.node.people.pay(
      lab.node.people.faucet,
      lab.to.address,
      10n ** 17n,
      tagOf(2),
    ).hash;
    expect(await paymentBy(partly)).toBeNull(); // in no ledger yet
    lab.node.closeLedgers();
    const lost = { methods: ["account_tx"], isGarbage: true };
    lab.suffer(lost, lost);
    expect(await paymentBy(hash)).toEqual(listed);
    expect(await paymentBy(partly)).toMatchObject({ address: deposit(0), amountUnits: 7n });
    for (const none of [failed, "AB".repeat(32)]) expect(await paymentBy(none)).toBeNull();
    expect(await paymentBy(hash, owner("another").address)).toBeNull();
    // One of two nodes alone proves nothing.
    lab.suffer(lost, { ...lost, holes: [{ from: firstLedger, to: firstLedger + 9 }] });
    await expect(paymentBy(hash)).rejects.toEqual(code("NODE_DISAGREE"));
    expect(await paymentBy("AB".repeat(32))).toBeNull();
  });

  it("payments to an account begin with the payment that makes the account", async () => {
    const fresh = owner("a new shop").address;
    book = new Set([xrp.depositAddress(fresh, 4)]);
    lab.node.closeLedgers();
    expect(await payments()).toEqual([]);
    const tag = Number(xrp.accounts.payeeOf(xrp.depositAddress(fresh, 4)).tag);
    lab.node.fund(fresh, xrpOf(2), tag);
    expect(shown(await payments())).toEqual([[xrp.depositAddress(fresh, 4), xrpOf(2)]]);
  });

  it("payments to an account are none for a book without addresses, without ledgers, or in another coin", async () => {
    lab.node.fund(lab.to.address, 5n, tagOf(0));
    const all = await blocks();
    expect((await lab.watcher.payments(all, ["USD"], bookOf(book), true)).found).toEqual([]);
    expect((await lab.watcher.payments([], [""], bookOf(book), true)).found).toEqual([]);
    expect((await lab.watcher.payments(all, [""], bookOf(new Set()), true)).found).toEqual([]);
    expect((await lab.watcher.payments(all, [""], bookOf(book), true)).found).toHaveLength(1);
  });

  it("payments to an account are credited to the drop, many of them, over pages of different sizes", async () => {
    await lab.close();
    lab = await openLab(2, { fronts: [{ pageMost: 37 }, { pageMost: share(400) }] });
    firstLedger = lab.node.chain.head.index + 1;
    const deposits = share(1_000, 120);
    const expected: [string, bigint][] = [];
    for (let count = 1; count <= deposits; count += 1) {
      const kind = count % 4;
      const tag = kind === 0 ? undefined : kind === 1 ? count : tagOf(count);
      if (kind === 3) lab.node.people.payPartly(lab.to.address, xrpOf(9), BigInt(count), tag);
      else lab.node.people.fund(lab.to.address, BigInt(count), tag);
      expected.push([tagged(tag === undefined ? "" : `${tag}`), BigInt(count)]);
      if (count % share(125) === 0) lab.node.closeLedgers();
    }
    const found = await payments();
    expect(shown(found)).toEqual(expected.sort());
    expect(new Set(found.map(({ txHash }) => txHash)).size).toBe(deposits);
  });
});

group("the agreement on payments", () => {
  it("the agreement on payments is missing if a node invents, changes or hides a payment; of three nodes the honest list is agreed", async () => {
    await lab.close();
    lab = await openLab(3);
    firstLedger = lab.node.chain.head.index + 1;
    lab.node.fund(lab.to.address, xrpOf(3), tagOf(1));
    const lies = [
      { kind: "invents", drops: 9n } as const,
      { kind: "delivered", drops: 9n } as const,
      { kind: "hides" } as const,
    ];
    for (const lie of lies) {
      lab.suffer({ lies: [lie] });
      expect(shown(await payments())).toEqual([[deposit(1), xrpOf(3)]]);
      lab.node.closeLedgers(); // another span, so nothing is remembered
    }
    for (const lie of lies) {
      lab.suffer({ lies: [lie] }, {}, { isCut: true, methods: ["account_tx"] });
      lab.node.closeLedgers();
      expect(await missing()).toEqual(["NODE_DISAGREE"]);
    }
  });

  it("the agreement on payments needs nodes that searched every ledger that was asked for", async () => {
    lab.node.fund(lab.to.address, xrpOf(3), tagOf(1));
    lab.node.closeLedgers(5);
    const all = await blocks();
    const ask = async () => lab.watcher.payments(all, [""], bookOf(book), true);
    const hole = { from: firstLedger + 2, to: firstLedger + 2 };
    lab.suffer({}, { holes: [hole] });
    expect(lacking(await ask())).toEqual(["NODE_NO_BLOCK"]);
    lab.suffer({}, { lagLedgers: 2 });
    expect(lacking(await ask())).toEqual(["NODE_NO_BLOCK"]);
    lab.suffer({}, { first: firstLedger + 1 });
    expect(lacking(await ask())).toEqual(["NODE_NO_BLOCK"]);
    lab.suffer({}, {});
    expect((await ask()).found).toHaveLength(1);
  });

  it("the agreement on payments is asked for once by all that read the same ledgers", async () => {
    lab.node.fund(lab.to.address, xrpOf(3), tagOf(1));
    const all = await blocks();
    const accounts = new Set([lab.to.address]);
    const [found, ...sent] = await Promise.all([
      lab.watcher.payments(all, [""], bookOf(book), true),
      lab.watcher.outgoing(all, accounts),
      lab.watcher.outgoing(all, accounts),
    ]);
    expect([found, ...sent].map((finds) => finds.found.length)).toEqual([1, 0, 0]);
    expect(lab.node.fronts.map(({ counts }) => counts.get("account_tx"))).toEqual([1, 1]);
  });
});

group("the watcher's other questions", () => {
  it("the watcher's questions read ledgers that follow one another, with their time", async () => {
    lab.node.closeLedgers(3);
    const all = await blocks();
    const { index, hash, closeTime } = lab.node.chain.head;
    expect(await lab.watcher.tip()).toEqual({ number: index, hash });
    expect(await lab.watcher.finalTip()).toEqual({ number: index, hash });
    for (const [at, one] of all.entries())
      if (at > 0) expect(one.parentHash).toBe(all[at - 1]?.hash);
    expect(await lab.watcher.timestamp(index)).toBe(closeTime + 946_684_800);
    for (const isAgreed of [true, false])
      await expect(lab.watcher.block(index + 1, isAgreed)).rejects.toEqual(code("NODE_NO_BLOCK"));
    expect(await lab.watcher.block(index, false)).toMatchObject({ number: index, hash });
  });

  it("the watcher's questions tell ledgers that all nodes have forgotten as older than all others, and no ledger of the future", async () => {
    lab.node.closeLedgers(5);
    const { index } = lab.node.chain.head;
    lab.suffer({ first: index - 2 }, { first: index - 1 });
    expect(await lab.watcher.timestamp(index - 4)).toBe(0);
    expect(await lab.watcher.timestamp(index - 2)).toBeGreaterThan(1_700_000_000); // one node has it
    await expect(lab.watcher.timestamp(index + 1)).rejects.toEqual(code("NODE_NO_BLOCK"));
    lab.suffer({ first: index - 2 }, { isCut: true });
    await expect(lab.watcher.timestamp(index - 4)).rejects.toMatchObject({ effect: "none" });
  });

  it("the watcher's questions give the account's funds for its address, and nothing for the names of its requests", async () => {
    const { index } = lab.node.chain.head;
    const asked = [lab.to.address, deposit(0), owner("without an account").address];
    const questions = asked.map((account) => ({ account, contract: "" }));
    expect(valuesIn(await lab.watcher.balances(questions, index))).toEqual([xrpOf(19), 0n, 0n]);
    expect(await lab.watcher.balance(lab.to.address, "", index)).toBe(xrpOf(19));
    expect(valuesIn(await lab.watcher.wereUsed(asked, index))).toEqual([true, false, false]);
    lab.suffer({}, { lies: [{ kind: "balance", drops: xrpOf(99) }] });
    await expect(lab.watcher.balance(lab.to.address, "", index)).rejects.toEqual(
      code("NODE_DISAGREE"),
    );
    expect(await lab.watcher.balance(deposit(0), "", index)).toBe(0n);
  });

  it("the watcher's questions know no decimals, name the cost with room, and count as the sender does", async () => {
    await expect(lab.watcher.decimals("USD")).rejects.toEqual(code("NODE_ERROR"));
    expect(await lab.watcher.cost(lab.from.address, lab.payment())).toEqual({
      ok: true,
      feeUnits: 20n,
    });
    const refused = await lab.watcher.cost(
      lab.from.address,
      lab.payment({ destination: lab.from.address }),
    );
    expect(refused).toMatchObject({ ok: false, code: "NODE_WOULD_REVERT" });
    expect(await lab.watcher.closed?.(lab.from.address)).toEqual(
      await lab.sender.closed(lab.from.address),
    );
  });

  it("the watcher's questions name an outgoing transaction by ticket without a slot", async () => {
    lab.node.people.cashCheck(lab.to.address, 900n);
    lab.node.closeLedgers();
    const [outgoing, ...more] = (
      await lab.watcher.outgoing(await blocks(), new Set([lab.to.address]))
    ).found;
    expect(more).toEqual([]);
    expect(outgoing).toMatchObject({ account: lab.to.address, slot: "", receiver: "" });
  });
});

group("the first sequence of an account", () => {
  const next = (address: string) => lab.watcher.nextSlot!(address);

  it("an account that never sent is shown as unused, however much it received, and none after its first transaction", async () => {
    const begins = lab.slot();
    lab.node.closeLedgers();
    for (const drops of [1n, 2n]) lab.node.people.fund(lab.from.address, drops);
    expect(await next(lab.from.address)).toEqual({ slot: begins, isUnused: true });
    lab.validate(lab.sign(lab.payment({ destination: lab.to.address, amountUnits: xrpOf(1) })));
    expect(await next(lab.from.address)).toEqual({
      slot: `${Number(begins) + 1}`,
      isUnused: false,
    });
  });

  it("nodes that do not keep the ledger before an account call it used, and so do others while a transaction waits", async () => {
    const begins = lab.slot();
    lab.node.closeLedgers();
    const signed = lab.sign(lab.payment({ destination: lab.to.address, amountUnits: xrpOf(1) }));
    await lab.sender.broadcast(signed.raw);
    expect(await next(lab.from.address)).toEqual({ slot: begins, isUnused: false });
    const short = await openLab(2);
    const late = { first: Number(short.slot()) };
    short.node.closeLedgers();
    expect((await short.watcher.nextSlot!(short.from.address)).isUnused).toBe(true);
    short.suffer(late, late);
    expect(await short.watcher.nextSlot!(short.from.address)).toMatchObject({ isUnused: false });
    await short.close();
  });
});
