/**
 * The rule for "paid" on the XRP Ledger, by transactions of every kind: what a use of the slot says
 * about a payment, and what came to an account.
 */
import { expect, describe as group, it } from "vitest";
import { encodeXAddress } from "../../chains/xrp/address.ts";
import type { LedgerTransaction } from "../../chains/xrp/node-answers.ts";
import {
  judgeAttempt,
  judgeSlotUser,
  outcomeOf,
  receivedPaymentOf,
} from "../../chains/xrp/node-outcome.ts";
import { owner, paymentOf } from "./xrp-wallet.ts";

const from = owner("a payer");
const receiver = owner("a receiver").address;
const other = owner("another").address;
const payment = paymentOf(from, { tag: "7" });
const { amountUnits } = payment;
const final = { txHash: "A".repeat(64), block: 95_000_000, feeUnits: 12n };

const paid: LedgerTransaction = {
  txHash: final.txHash,
  ledger: final.block,
  account: from.address,
  kind: "Payment",
  sequence: payment.slot,
  result: "tesSUCCESS",
  feeDrops: 12n,
  destination: receiver,
  tag: "7",
  amountDrops: amountUnits,
  deliveredDrops: amountUnits,
  risen: [[receiver, amountUnits]],
  fallen: [[from.address, amountUnits + 12n]],
};
const elsewhere = { destination: other, tag: "", risen: [[other, amountUnits]] as const };
const setting = {
  kind: "AccountSet",
  destination: "",
  tag: "",
  amountDrops: null,
  deliveredDrops: null,
  risen: [],
};
const consumed = { kind: "failed", code: "chain_slot_consumed", final };
const doubted = expect.objectContaining({ kind: "stuck", code: "WATCHER_SLOT_CONSUMED" });
const differs = expect.objectContaining({ kind: "stuck", code: "WATCHER_CONTENT_DIFFERS" });

group("a transaction that is none of our attempts", () => {
  it.each<[string, Partial<LedgerTransaction>, unknown]>([
    ["the payment itself", {}, { kind: "completed", final }],
    ["the payment out of another account", { account: other }, doubted],
    ["less than the payment, of the same amount in words", { deliveredDrops: 1n }, doubted],
    ["a token to the receiver", { amountDrops: null, deliveredDrops: null, risen: [] }, doubted],
    ["another tag", { tag: "8" }, doubted],
    ["another account", elsewhere, consumed],
    [
      "another account by way of the receiver's offer",
      { ...elsewhere, risen: [[receiver, 1n]] },
      doubted,
    ],
    [
      "an escrow for the receiver",
      { kind: "EscrowCreate", risen: [], deliveredDrops: null },
      doubted,
    ],
    ["a check for the receiver", { kind: "CheckCreate", risen: [], deliveredDrops: null }, doubted],
    ["an escrow for another account", { ...elsewhere, kind: "EscrowCreate", risen: [] }, consumed],
    ["several payments beside it", { ...setting, kind: "Batch" }, doubted],
    ["a setting", setting, consumed],
    [
      "nothing, because it failed",
      { result: "tecNO_DST", deliveredDrops: null, risen: [] },
      consumed,
    ],
    [
      "nothing of several payments, because it failed",
      { ...setting, kind: "Batch", result: "tecNO_DST" },
      consumed,
    ],
  ])(
    "a transaction that is none of our attempts and makes %s is judged so",
    (_, change, judgement) => {
      expect(judgeSlotUser(payment, { ...paid, ...change })).toEqual(judgement);
    },
  );
});

group("one of our attempts", () => {
  it.each<[string, Partial<LedgerTransaction>, string, unknown]>([
    ["the payment", {}, "paid", { kind: "completed", final }],
    [
      "a failure",
      { result: "tecNO_DST" },
      "reverted",
      { kind: "failed", code: "chain_reverted", final },
    ],
    ["the cancel", setting, "cancelled", { kind: "failed", code: "cancelled", final }],
    ["a partial payment", { deliveredDrops: 1n }, "moved", differs],
    ["a payment to another tag", { tag: "" }, "moved", differs],
    ["a transaction of another account", { account: other }, "moved", differs],
    ["a failure of another account", { account: other, result: "tecNO_DST" }, "moved", differs],
    ["a setting of another account", { ...setting, account: other }, "moved", differs],
    ["the payment on another sequence", { sequence: "8" }, "paid", differs],
    ["the payment by a ticket", { sequence: "" }, "paid", differs],
    ["an escrow", { kind: "EscrowCreate" }, "moved", differs],
  ])("one of our attempts that is %s is judged so", (_, change, outcome, judgement) => {
    const transaction = { ...paid, ...change };
    expect(outcomeOf(payment, transaction)).toBe(outcome);
    expect(judgeAttempt(payment, transaction)).toEqual(judgement);
  });

  it("one of our attempts in a token is never paid, because no token is paid here", () => {
    expect(outcomeOf({ ...payment, contract: "USD" }, paid)).toBe("moved");
    expect(outcomeOf(payment, paid)).toBe("paid");
  });
});

group("money that came", () => {
  const named = (tag: string): string => encodeXAddress({ address: receiver, tag });
  it.each<[string, Partial<LedgerTransaction>, unknown]>([
    ["a payment with a tag", {}, { address: named("7"), drops: amountUnits, index: -1 }],
    [
      "a payment with the tag 0",
      { tag: "0" },
      { address: named("0"), drops: amountUnits, index: -1 },
    ],
    ["a payment without a tag", { tag: "" }, { address: named(""), drops: amountUnits, index: -1 }],
    ["a partial payment", { deliveredDrops: 3n }, { address: named("7"), drops: 3n, index: -1 }],
    ["a payment of a token", { amountDrops: null, deliveredDrops: null, risen: [] }, null],
    ["a failed payment", { result: "tecPATH_DRY" }, null],
    [
      "a payment to another account by way of an offer",
      { ...elsewhere, risen: [[receiver, 4n]] },
      { address: named(""), drops: 4n, index: 0 },
    ],
    ["a payment to another account", elsewhere, null],
    [
      "the rest of a deleted account, by its tag",
      { kind: "AccountDelete" },
      { address: named("7"), drops: amountUnits, index: 0 },
    ],
    [
      "the rest of a deleted account without a tag",
      { kind: "AccountDelete", tag: "" },
      { address: named(""), drops: amountUnits, index: 0 },
    ],
    [
      "an escrow that ended",
      { ...setting, kind: "EscrowFinish", risen: [[receiver, 6n]] },
      { address: named(""), drops: 6n, index: 0 },
    ],
    [
      "a claim of a channel",
      { ...setting, kind: "PaymentChannelClaim", risen: [[receiver, 6n]] },
      { address: named(""), drops: 6n, index: 0 },
    ],
    ["an escrow that began", { kind: "EscrowCreate", risen: [] }, null],
  ])("money that came by %s is told with its payee", (_, change, received) => {
    expect(receivedPaymentOf(receiver, { ...paid, ...change })).toEqual(received);
  });

  it("money that came to two accounts by one transaction is told apart", () => {
    const both = { ...paid, risen: [[other, 4n] as const, [receiver, amountUnits] as const] };
    expect(receivedPaymentOf(receiver, both)).toEqual({
      address: named("7"),
      drops: amountUnits,
      index: -1,
    });
    expect(receivedPaymentOf(other, both)).toEqual({
      address: encodeXAddress({ address: other, tag: "" }),
      drops: 4n,
      index: 0,
    });
    expect(receivedPaymentOf(receiver, { ...both, kind: "EscrowFinish" })).toEqual({
      address: named("7"),
      drops: amountUnits,
      index: 1,
    });
  });

  it("money that came by a transaction of the account itself is what it fetched, its fee included, and nothing else", () => {
    const own = { ...paid, account: receiver, ...setting, risen: [[receiver, 88n]] as const };
    for (const kind of ["CheckCash", "EscrowFinish", "PaymentChannelClaim"])
      expect(receivedPaymentOf(receiver, { ...own, kind })).toEqual({
        address: named(""),
        drops: 100n,
        index: 0,
      });
    expect(receivedPaymentOf(receiver, { ...own, kind: "OfferCreate" })).toBeNull();
    expect(
      receivedPaymentOf(receiver, { ...own, kind: "CheckCash", result: "tecNO_ENTRY" }),
    ).toBeNull();
    expect(receivedPaymentOf(receiver, { ...own, kind: "CheckCash", risen: [] })).toBeNull();
  });
});
