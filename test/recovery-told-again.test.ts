/** What a recovery tells a gateway that knows it already: nothing in it contradicts how the gateway says that it ended. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { backup, restore } from "./support/recovery-order.ts";
import { SignerAndGateway } from "./support/signer-and-gateway.ts";

let both: SignerAndGateway;

beforeEach(() => {
  both = new SignerAndGateway();
});
afterEach(() => both.remove());

/** Policy's yes, and then the courier's no, which the gateway has not heard of yet. */
function declined(orderId: string): string {
  const id = both.order(orderId);
  expect(both.rig.ask("decline", { transactionId: id, code: "ACCOUNT_FULL" })).toMatchObject({ ok: true });
  return id;
}

it("a withdrawal that was approved and then declined, when the backup lacks only that the gateway had heard of it", () => {
  const id = declined("declined");
  const copy = backup(both.rig);
  both.acknowledge();
  expect(both.row(id)).toMatchObject({ status: 2, code: "ACCOUNT_FULL" });
  both.pay("later");
  restore(both.rig, copy);
  expect(both.connect()).toMatchObject({ code: "SIGNER_LOCKED" });
  expect(both.recover()).toMatchObject({ isGatewayBehind: false, restated: 2 });
  expect(both.row(id)).toMatchObject({ status: 2, code: "ACCOUNT_FULL" });
  expect(both.rig.operate("finish").ok).toBe(true);
});

it("one that ran out after it was approved, to a gateway that lost it: it ends there as it did here", () => {
  both.pay("first");
  both.keepDatabase("old");
  const id = both.order("late");
  both.acknowledge();
  both.rig.now += 86_400_001;
  both.rig.signer.tick();
  both.acknowledge();
  expect(both.row(id)).toMatchObject({ status: 2, code: "JOB_EXPIRED" });
  both.putDatabaseBack("old");
  expect(both.connect()).toMatchObject({ code: "GATEWAY_BEHIND" });
  expect(both.recover()).toMatchObject({ isGatewayBehind: true });
  expect(both.row(id)).toMatchObject({ status: 2, code: "JOB_EXPIRED" });
});
