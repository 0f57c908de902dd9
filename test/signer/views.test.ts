/**
 * The two views of a withdrawal: the operator's names the digest that an approval is bound to, the
 * courier's never does, whatever the courier asks and whatever moved the withdrawal. The courier's
 * report on itself reaches the operator complete.
 */
import { describe, expect, it } from "vitest";
import type { CourierStatus } from "../../agent/socket/courier-status.ts";
import { Kit, other, shop, txParams } from "../../lab/kit/signer-kit.ts";

/** Fields that only an operator sees. */
const operatorsOwn = [
  "approvalDigest",
  "orderId",
  "decimal",
  "requestedAt",
  "expiresAt",
  "isCancelling",
];

describe("the courier's socket", () => {
  it("never answers a field of the operator's view; the operator's socket does", () => {
    const kit = new Kit().ready();
    const said: unknown[] = [];
    const ask = (verb: string, body: object = {}) => {
      const answer = kit.ask(verb, body);
      said.push(answer);
      return answer;
    };
    const admit = (change: object) => {
      kit.gateway.job(change, kit.now);
      const answer = kit.admit(kit.gateway.jobs([kit.gateway.texts.at(-1)!], { at: kit.now }));
      said.push(answer);
      return answer.withdrawals[0]!.transactionId;
    };
    const held = admit({ currency: "eth", amount: "1.5", mode: "manual", address: shop });
    const refused = admit({ currency: "eth", amount: "1.5", mode: "manual", address: other });
    const paid = admit({});
    const declined = admit({});
    for (const body of [
      { transactionId: paid, txParams },
      { transactionId: held, txParams },
    ])
      ask("sign", body);
    ask("each", { of: "sign", bodies: [{ transactionId: held, txParams }] });
    said.push(kit.acknowledge());
    ask("replace", { transactionId: paid, above: 1, txParams });
    ask("decline", { transactionId: declined, code: "CHAIN_WOULD_REVERT" });
    const { txHash } = kit.show(paid).attempts[0]!;
    ask("observed", { transactionId: paid, stage: "included", outcome: "", txHash, block: 7 });
    const digest = kit.show(held).approvalDigest;
    kit.operate("refuse", { transactionId: refused });
    const approved = kit.operate("approve", { transactionId: held, digest, address: "" });
    const view = ask("hello").open.find(({ transactionId }) => transactionId === held);
    ask("report", { after: 0 });
    const received = JSON.stringify([...said, kit.pushes]);

    expect([view?.state, kit.pushes.some(({ push }) => push === "changed")]).toEqual([
      "approved",
      true,
    ]);
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(received).not.toContain(digest);
    expect(operatorsOwn.filter((field) => received.includes(`"${field}"`))).toEqual([]);

    const shown = JSON.stringify([
      approved,
      kit.operate("list", { openOnly: false, limit: 9 }),
      kit.show(refused),
    ]);
    expect(operatorsOwn.filter((field) => !shown.includes(`"${field}"`))).toEqual(["isCancelling"]);
    const again = kit.request({ currency: "eth", amount: "1.5", mode: "manual" });
    expect(JSON.stringify(kit.operate("show", { transactionId: again.transactionId }))).toContain(
      again.approvalDigest,
    );
    expect(again.approvalDigest).toMatch(/^[0-9a-f]{64}$/);
  });
});

/** A type with every optional field, so that a new one has to be added to the test below. */
type Complete<T> = T extends readonly (infer Item)[]
  ? readonly Complete<Item>[]
  : T extends object
    ? { readonly [K in keyof T]-?: Complete<NonNullable<T[K]>> }
    : T;

const status: Complete<CourierStatus> = {
  at: 1,
  link: "up",
  linkDetail: "",
  chains: [
    {
      ...{ chain: "local", ok: true, isAsking: false, detail: "block 9, 1 s old", block: 9 },
      ...{ headAtMs: 1_000, nativeBalance: "7", feeMarket: { baseFee: "5" } },
      nodes: [{ url: "http://node-1", ok: true, detail: "", since: 0 }],
      delays: ["CHAIN_FINAL_STALE: the final block of local is 3"],
    },
  ],
  waiting: [{ transactionId: "1".repeat(32), why: "fee ceiling" }],
  durableMedianUs: 3,
  configDigest: "c0".repeat(32),
  notify: { ok: true, detail: "" },
  outOfService: [{ currency: "usdt", why: "has other decimals" }],
  unbegun: [{ chain: "local", why: "the gateway named no slot" }],
  lowFunds: [{ currency: "eth", has: "1", wanted: "2" }],
};

describe("the courier's report on itself", () => {
  it("is taken with every field that it can have, and shown to the operator", () => {
    const kit = new Kit().ready();
    expect(kit.ask("tell", { courier: status })).toMatchObject({ ok: true });
    expect(kit.operate("status")).toMatchObject({ status: { courier: status } });
    const odd = { ...status, chains: [{ ...status.chains[0], late: [] }] };
    expect(kit.ask("tell", { courier: odd })).toMatchObject({ ok: false, code: "JSON_SHAPE" });
  });
});
