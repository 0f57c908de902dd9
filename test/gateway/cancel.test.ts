/**
 * A shop cancels a withdrawal over HTTP. The test writes the agent's part: rows as the hub writes
 * them, then the signal.
 */
import { describe, expect, it } from "vitest";
import { createMerchant } from "../../gateway/operator/accounts.ts";
import { insertSignature } from "../../gateway/store/signatures.ts";
import { updateWithdrawal } from "../../gateway/store/withdrawals.ts";
import { handmadeToken } from "../../lab/kit/gateway-server.ts";
import {
  agentRow,
  auto,
  countOf,
  db,
  decide,
  deposit,
  eachTestItsGateway,
  gateway,
  manual,
  online,
  ready,
  row,
} from "../support/shop.ts";

eachTestItsGateway();

const cancel = (transactionId: unknown) =>
  gateway.call("POST", "/api/v1/cancelWithdraw", { transactionId });
const made = async (): Promise<string> => {
  await ready();
  return (await auto()).body.transactionId;
};

/** The agent refuses a recalled withdrawal, as the hub stores it. */
function refuses(): void {
  const { store, signals } = gateway.service;
  signals.on("recall", () => {
    const [id = ""] = db()
      .all<{ transactionId: string }>("SELECT transactionId FROM recalls")
      .map(({ transactionId }) => transactionId);
    setImmediate(() => {
      store.write((database) =>
        updateWithdrawal(
          database,
          id,
          { status: 2, stage: "refused", code: "SHOP_CANCELLED" },
          gateway.clock.nowMs,
        ),
      );
      signals.emit("changed", { transactionId: id });
    });
  });
}

describe("a cancelled withdrawal", () => {
  it("ends with its agent's refusal, frees its funds, and answers the same each time", async () => {
    const id = await made();
    online();
    refuses();
    const answer = await cancel(id);
    const body = { transactionId: id, cancelled: true, status: 2, stage: "refused" };
    expect(answer).toMatchObject({
      status: 200,
      body: { ...body, message: "The withdrawal is cancelled: nothing is paid." },
    });
    expect(await cancel(id)).toMatchObject({ status: 200, body });
    expect([countOf("recalls"), row(id)?.code]).toEqual([0, "SHOP_CANCELLED"]);
    expect((await auto()).body).toMatchObject({
      code: "withdrawal_failed",
      reason: "SHOP_CANCELLED",
      signed: false,
    });
    expect((await auto({ renew: id })).body).toMatchObject({ status: 0, renews: id });
  });

  it("of an agent that is away stays open and recalled, and the answer says that it may be paid", async () => {
    const id = await made();
    expect(await cancel(id)).toMatchObject({ status: 200, body: { cancelled: false, status: 0 } });
    expect(await cancel(id)).toMatchObject({ status: 200, body: { cancelled: false } });
    expect(countOf("recalls")).toBe(1);
  });

  it("that waits for an operator ends as well", async () => {
    await ready();
    const id = (await manual()).body.transactionId;
    decide(id, { stage: "awaiting_approval", code: "POLICY_MANUAL" });
    online();
    refuses();
    expect((await cancel(id)).body).toMatchObject({ cancelled: true, status: 2 });
  });

  it("a withdrawal that was signed, is paid or has failed otherwise is not cancelled, and no deposit request is", async () => {
    const id = await made();
    const sign = {
      ...{
        transactionId: id,
        attempt: 1,
        agent: agentRow().id,
        network: "eip155:31337",
        account: "0x",
        slot: "0",
      },
      ...{
        txHash: `0x${"1".repeat(64)}`,
        feeMax: "1",
        seq: 1,
        validUntilMs: 0,
        pin: "",
        cancel: 0 as const,
      },
    };
    gateway.service.store.write((database) => insertSignature(database, sign));
    expect(await cancel(id)).toMatchObject({
      status: 409,
      body: { code: "not_cancellable", transactionId: id },
    });
    const second = (await auto({ orderId: "order-2" })).body.transactionId;
    decide(second, { status: 2, stage: "refused", code: "OPERATOR_REFUSED" });
    expect(await cancel(second)).toMatchObject({ status: 409 });
    const inbound = (await deposit({ orderId: "in-1" })).body.transactionId;
    expect(await cancel(inbound)).toMatchObject({ status: 409 });
    expect(countOf("recalls")).toBe(0);
  });

  it("a withdrawal whose signature comes while the shop waits is not called cancelled", async () => {
    const id = await made();
    online();
    gateway.service.signals.on("recall", () => {
      setImmediate(() => {
        const sign = {
          transactionId: id,
          attempt: 1,
          agent: agentRow().id,
          network: "eip155:31337",
          account: "0x",
          slot: "0",
        };
        const rest = {
          txHash: `0x${"2".repeat(64)}`,
          feeMax: "1",
          seq: 1,
          validUntilMs: 0,
          pin: "",
          cancel: 0 as const,
        };
        gateway.service.store.write((database) => insertSignature(database, { ...sign, ...rest }));
        gateway.service.signals.emit("changed", { transactionId: id });
      });
    });
    expect(await cancel(id)).toMatchObject({ status: 409, body: { code: "not_cancellable" } });
    expect(countOf("recalls")).toBe(0);
  });

  it("another merchant's withdrawal is not found, nor an id of another form, and a key without the scope cancels nothing", async () => {
    const id = await made();
    const { apiKey } = gateway.key({ scopes: ["withdraw:auto", "read"] });
    const headers = { signatureToken: handmadeToken(apiKey, gateway.clock.nowMs) };
    const refused = await gateway.call(
      "POST",
      "/api/v1/cancelWithdraw",
      { transactionId: id },
      headers,
    );
    expect(refused).toMatchObject({
      status: 403,
      body: { code: "scope_missing", scope: "withdraw:cancel" },
    });
    const other = createMerchant(gateway.operator, { name: "Other", language: "en" }).shopKey;
    const foreign = { signatureToken: handmadeToken(other, gateway.clock.nowMs) };
    expect(
      (await gateway.call("POST", "/api/v1/cancelWithdraw", { transactionId: id }, foreign)).status,
    ).toBe(404);
    for (const wrong of ["0".repeat(32), "x", 7, ""])
      expect((await cancel(wrong)).status).toBe(404);
    expect((await gateway.call("POST", "/api/v1/cancelWithdraw", {})).body.code).toBe(
      "field_missing",
    );
    expect(
      (await gateway.call("POST", "/api/v1/cancelWithdraw", { transactionId: id, orderId: "1" }))
        .body.code,
    ).toBe("field_unknown");
    expect(countOf("recalls")).toBe(0);
  });
});
