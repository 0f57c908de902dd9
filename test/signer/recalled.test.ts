/**
 * A shop's recall, as the gateway names it in its acknowledgements: it refuses what has no slot,
 * and nothing else.
 */
import { expect, it } from "vitest";
import { depositAccountIdOf } from "../../agent/signer/policy/own-accounts.ts";
import { families } from "../../chains/families.ts";
import { Kit, merchant, txParams, vault } from "../../lab/kit/signer-kit.ts";
import { deriveOrderTransactionId } from "../../protocol/identity.ts";

/** The gateway's newest acknowledgement names these; gives the withdrawals that it touched. */
function recall(kit: Kit, ...recalled: string[]): readonly string[] {
  kit.receive();
  kit.now += 1;
  const answer = kit.release(kit.gateway.ack(kit.gateway.stored!, { at: kit.now, recalled }));
  expect(answer.ok).toBe(true);
  return answer.withdrawals.map(({ transactionId }: { transactionId: string }) => transactionId);
}

it("a recalled withdrawal without a slot is refused by its shop, held or approved, and is never signed", () => {
  const kit = new Kit().ready();
  const approved = kit.request();
  const held = kit.request({ mode: "manual", address: "" });
  const other = kit.request();
  expect([approved.state, held.state]).toEqual(["approved", "held"]);
  expect(recall(kit, approved.transactionId, held.transactionId)).toEqual([
    approved.transactionId,
    held.transactionId,
  ]);
  for (const { transactionId } of [approved, held]) {
    expect(kit.show(transactionId)).toMatchObject({
      state: "refused",
      code: "SHOP_CANCELLED",
      slot: "",
    });
    expect(kit.ask("sign", { transactionId, txParams })).toMatchObject({ ok: false });
  }
  expect(kit.show(other.transactionId).state).toBe("approved");
  kit.receive();
  expect(kit.statements.at(-1)?.entries).toMatchObject([
    {
      kind: "decision",
      decision: "refused",
      code: "SHOP_CANCELLED",
      transactionId: approved.transactionId,
    },
    {
      kind: "decision",
      decision: "refused",
      code: "SHOP_CANCELLED",
      transactionId: held.transactionId,
    },
  ]);
  const count = kit.records().length;
  recall(kit, approved.transactionId, held.transactionId);
  expect(kit.kinds().slice(count)).toEqual(["REPORTED"]);
});

it("a recalled withdrawal stays refused over a crash", () => {
  const kit = new Kit().ready();
  const { transactionId } = kit.request();
  recall(kit, transactionId);
  kit.crash();
  kit.handshake();
  expect(kit.show(transactionId)).toMatchObject({ state: "refused", code: "SHOP_CANCELLED" });
});

it("a recalled withdrawal that has a slot goes on, signed or not, and its end on chain is the answer", () => {
  const kit = new Kit().ready();
  const paid = kit.pay();
  const count = kit.records().length;
  expect(recall(kit, paid.transactionId)).toEqual([]);
  expect(kit.records()).toHaveLength(count);
  expect(kit.show(paid.transactionId).state).toBe("released");
});

it("a recalled withdrawal that comes as a job later in the same run is refused at once; without the recall it is approved", () => {
  const kit = new Kit().ready();
  kit.gateway.job({}, kit.now);
  const text = kit.gateway.texts.at(-1)!;
  const { transactionId } = JSON.parse(text) as { transactionId: string };
  recall(kit, transactionId);
  const answer = kit.admit(kit.gateway.jobs([text], { at: kit.now }));
  expect(answer.withdrawals).toMatchObject([
    { transactionId, state: "refused", code: "SHOP_CANCELLED" },
  ]);
  expect(kit.request().state).toBe("approved");
});

it("a recall counts until the next acknowledgement leaves it out, and an older acknowledgement does not bring it back", () => {
  const kit = new Kit().ready();
  kit.gateway.job({}, kit.now);
  const text = kit.gateway.texts.at(-1)!;
  const { transactionId } = JSON.parse(text) as { transactionId: string };
  kit.receive();
  const old = kit.gateway.ack(kit.gateway.stored!, { at: kit.now, recalled: [transactionId] });
  recall(kit);
  kit.release(old);
  expect(kit.admit(kit.gateway.jobs([text], { at: kit.now })).withdrawals).toMatchObject([
    { state: "approved" },
  ]);
});

it("a recall that the gateway did not sign refuses nothing", () => {
  const kit = new Kit().ready();
  const { transactionId } = kit.request();
  kit.receive();
  kit.now += 1;
  const ack = Uint8Array.from(
    kit.gateway.ack(kit.gateway.stored!, { at: kit.now, recalled: [transactionId] }),
  );
  ack[ack.length - 30]! ^= 1;
  expect(kit.release(ack).code).toBe("ENVELOPE_SIGNATURE");
  expect(kit.show(transactionId).state).toBe("approved");
});

it("a recall of a sweep refuses nothing, because only a payment to a receiver is the shop's", () => {
  const kit = new Kit().ready();
  const depositAddress = families.evm.depositAddress(depositAccountIdOf(vault.accounts, "evm"), 3);
  const orderId = `${depositAddress}/1`;
  const { transactionId } = kit.request({
    ...{
      mode: "sweep",
      transactionId: deriveOrderTransactionId({ merchant, operation: "sweep", orderId }),
      orderId,
    },
    ...{
      currency: "usdt",
      amount: "12.5",
      address: "",
      depositIndex: 3,
      depositAddress,
      depositNext: "0",
    },
  });
  expect(recall(kit, transactionId)).toEqual([]);
  expect(kit.show(transactionId).state).toBe("approved");
});
