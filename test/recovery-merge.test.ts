/** Where ledger and order meet: watermarks, what contradicts, what the order does not name, sums. */
import { describe, expect, it } from "vitest";
import { transactionIdOf } from "../protocol/identity.ts";
import type { RecoveryWithdrawal } from "../protocol/recovery.ts";
import { approve, assertWhole } from "./support/forgetful-signer.ts";
import {
  backup,
  type Contents,
  databaseOf,
  ledgerOf,
  offer,
  recovered,
  restore,
  shown,
  taken,
} from "./support/recovery-order.ts";
import { type AnyAnswer, facts, hot, merchant, Rig, settings, shop } from "./support/signer-rig.ts";

function planOf(rig: Rig, contents: Contents): { code: string } & Record<string, unknown> {
  const offered = offer(rig, contents);
  if (!offered.ok) return offered as never;
  return rig.operate("recover", { digest: "" }) as never;
}

/** The same contents with one withdrawal changed. */
function withOne(contents: Contents, index: number, change: Partial<RecoveryWithdrawal>): Contents {
  const withdrawals = contents.withdrawals.map((one, i) => (i === index ? { ...one, ...change } : one));
  return { ...contents, withdrawals };
}

const oneVersion = [{ txHash: "0xab", feeMax: "1" }];

describe("the next token", () => {
  const cases = [
    ["the ledger's own", "6", undefined, "7"],
    ["the gateway's", "9", undefined, "9"],
    ["the chain's, as nodes agree on it,", "6", 12n, "12"],
    ["not lowered by a chain that counts less:", "9", 1n, "9"],
  ] as const;

  it.each(cases)("is %s the highest", (name, gatewayNext, count, next) => {
    const rig = new Rig().ready();
    rig.pay();
    if (count !== undefined) rig.ask("account", { chain: "local", nonce: `${count}`, witnesses: 2 });
    const contents = { ...databaseOf(rig), accounts: [{ network: "eip155:31337", account: hot, next: gatewayNext }] };
    if (name === "the ledger's own") rig.pay();
    offer(rig, contents);
    expect(shown(rig).accounts).toMatchObject([{ next }]);
  });

  it("is the chain's where ledger and gateway have both forgotten the account, and shown; one that paid nothing is not", () => {
    const fresh = (nonce: string): Rig => {
      const rig = new Rig();
      rig.ask("account", { chain: "local", nonce, witnesses: 2 });
      return rig;
    };
    const rig = fresh("3");
    const none = { ...databaseOf(rig), accounts: [] };
    offer(rig, none);
    const counted = { ledgerNext: "", gatewayNext: "", chainCount: "3", next: "3", passed: 0, passedFrom: "" };
    expect(shown(rig).accounts).toEqual([{ network: "eip155:31337", account: hot, ...counted }]);
    const other = fresh("3");
    taken(other, none);
    expect(other.core.accounts.find("eip155:31337", hot)?.next).toBe(3n);
    const unused = fresh("0");
    offer(unused, none);
    expect(shown(unused).accounts).toEqual([]);
  });

  it("is never taken from a single node where two are known", () => {
    const rig = new Rig().ready();
    rig.pay();
    rig.ask("account", { chain: "local", nonce: "6", witnesses: 2 });
    rig.ask("account", { chain: "local", nonce: "40", witnesses: 1 });
    offer(rig, databaseOf(rig));
    expect(shown(rig).accounts).toMatchObject([{ chainCount: "6", next: "6" }]);
  });

  it("is settled by the recovery, also where this ledger had given out none and began further on", () => {
    const rig = new Rig().ready();
    rig.ask("adopt", { chain: "local", nonce: "9", witnesses: 2 });
    rig.acknowledge();
    taken(rig, { ...databaseOf(rig), accounts: [{ network: "eip155:31337", account: hot, next: "7" }] });
    expect(rig.ask("adopt", { chain: "local", nonce: "7", witnesses: 2 }).code).toBe("ACCOUNT_ADOPTED");
    expect(rig.core.accounts.find("eip155:31337", hot)?.next).toBe(9n);
  });

  it("is shown while the signer is locked", () => {
    const rig = new Rig().ready();
    rig.pay();
    const contents = databaseOf(rig);
    rig.crash();
    offer(rig, contents);
    rig.ask("account", { chain: "local", nonce: "8", witnesses: 2 });
    expect(shown(rig).accounts).toMatchObject([{ ledgerNext: "6", gatewayNext: "6", chainCount: "8", next: "8" }]);
  });
});

describe("what contradicts is refused as a whole", () => {
  function pair(): { rig: Rig; contents: Contents } {
    const rig = new Rig().ready();
    rig.pay();
    rig.pay();
    return { rig, contents: databaseOf(rig) };
  }
  const job = (contents: Contents, index: number): string => contents.withdrawals[index]!.job;
  /** One more that the ledger does not know, on a token that no watermark covers. */
  const unknown = (contents: Contents): RecoveryWithdrawal => {
    const transactionId = transactionIdOf({ merchant, operation: "withdraw", orderId: "order-8" });
    const text = JSON.stringify({ ...JSON.parse(job(contents, 0)), orderId: "order-8", transactionId });
    return { job: text, address: shop, account: hot, token: "7", versions: oneVersion };
  };

  it("the twin of them all is taken", () => {
    const { rig, contents } = pair();
    expect(planOf(rig, contents)).toMatchObject({ ok: true, plan: { quarantined: 2 } });
  });

  const cases: readonly (readonly [string, string, (contents: Contents) => Contents])[] = [
    ["another token than the one here", "RECOVERY_CONFLICT", (c) => withOne(c, 0, { token: "4" })],
    ["another hash of a version that was let out", "RECOVERY_CONFLICT", (c) => withOne(c, 0, { versions: oneVersion })],
    [
      "one token for two",
      "RECOVERY_CONFLICT",
      (c) => withOne({ ...c, withdrawals: c.withdrawals.slice(0, 1) }, 0, { token: "6" }),
    ],
    ["a withdrawal that stands twice", "RECOVERY_ORDER", (c) => ({ ...c, withdrawals: [...c.withdrawals, ...c.withdrawals] })],
    ["another account", "RECOVERY_ORDER", (c) => withOne(c, 0, { account: "0x0000000000000000000000000000000000000001" })],
    ["a token that comes next", "RECOVERY_ORDER", (c) => ({ ...c, withdrawals: [...c.withdrawals, unknown(c)] })],
    ["an id that is not its order's", "RECOVERY_ORDER", (c) => withOne(c, 0, { job: job(c, 0).replace("order-1", "order-9") })],
    ["another amount", "RECOVERY_CONFLICT", (c) => withOne(c, 0, { job: job(c, 0).replace('"1.5"', '"2.5"') })],
    ["another agent's job", "RECOVERY_ORDER", (c) => withOne(c, 0, { job: job(c, 0).replace("aa".repeat(8), "bb".repeat(8)) })],
  ];

  it.each(cases)("%s", (_, code, change) => {
    const { rig, contents } = pair();
    const records = ledgerOf(rig).length;
    expect(planOf(rig, change(contents)).code).toBe(code);
    expect(ledgerOf(rig)).toHaveLength(records);
  });

  it("a token that this ledger gave to one that has ended", () => {
    const rig = new Rig().ready();
    const { transactionId, versions } = rig.pay();
    rig.ask("observed", { transactionId, stage: "final", outcome: "paid", txHash: versions[0]!.txHash, block: 3 });
    rig.acknowledge();
    rig.request();
    const contents = { ...databaseOf(rig), accounts: [{ network: "eip155:31337", account: hot, next: "6" }] };
    const claimed = withOne(contents, 0, { token: "5", account: hot, versions: oneVersion });
    expect(planOf(rig, claimed)).toMatchObject({ code: "RECOVERY_CONFLICT", detail: expect.stringContaining("nonce 5") });
    expect(planOf(rig, contents)).toMatchObject({ ok: true });
  });

  it("one refused here and signed there", () => {
    const rig = new Rig().ready();
    rig.pay();
    const { transactionId } = rig.request({ currency: "eth", amount: "1.5" });
    const contents = databaseOf(rig);
    rig.operate("refuse", { transactionId });
    const signed = withOne(contents, 1, { token: "6", account: hot, versions: oneVersion });
    const accounts = [{ network: "eip155:31337", account: hot, next: "7" }];
    expect(planOf(rig, { ...signed, accounts }).code).toBe("RECOVERY_CONFLICT");
    expect(planOf(rig, { ...contents, accounts })).toMatchObject({ ok: true });
  });
});

describe("what the order does not name", () => {
  it("and has no token ends here: the gateway may have seen it paid", () => {
    const rig = new Rig().ready();
    rig.pay();
    const { transactionId } = rig.request({ currency: "eth", amount: "1.5" });
    rig.acknowledge();
    const contents = databaseOf(rig);
    const forgotten = { ...contents, withdrawals: contents.withdrawals.slice(0, 1) };
    expect(taken(rig, forgotten).seq).toBeGreaterThan(0);
    expect(rig.show(transactionId)).toMatchObject({ state: "settled", code: "RECOVERY_SETTLED" });
    expect(rig.operate("approve", { transactionId, digest: "00".repeat(32), address: "" }).code).toBe("WITHDRAWAL_NOT_HELD");
    assertWhole(rig);
  });

  it("and has a token keeps it, whatever became of it", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.pay();
    const contents = databaseOf(rig);
    taken(rig, { ...contents, withdrawals: [] });
    expect(rig.show(transactionId)).toMatchObject({ state: "quarantined", nonce: "5" });
    assertWhole(rig);
  });
});

describe("limits", () => {
  it("count what was taken over with a token, and what the forgotten day came to", () => {
    const tight = { ...settings.policy.eth!, maxPerDay: "4", maxPerHour: "4", maxPerWithdrawal: "3", holdAbove: "3" };
    const rig = new Rig({ settings: { ...settings, policy: { ...settings.policy, eth: tight } } }).ready();
    const copy = backup(rig);
    const lost = rig.pay({ currency: "eth", amount: "2" });
    const spent = [{ currency: "eth", units: (10n ** 18n).toString(), feesWei: "1000" }];
    const contents = { ...databaseOf(rig), spent };
    restore(rig, copy);
    taken(rig, contents);
    const over = rig.request({ currency: "eth", amount: "1.5" });
    const fits = rig.request({ currency: "eth", amount: "1" });
    const digest = (id: string): string => rig.show(id).approvalDigest;
    const answer = (id: string): string =>
      rig.operate("approve", { transactionId: id, digest: digest(id), address: "" }).code ?? "approved";
    expect(answer(over.transactionId)).toBe("POLICY_ABOVE_HOUR");
    expect(answer(fits.transactionId)).toBe("approved");
    // The bound one counts already: a yes to it makes no sum larger.
    expect(answer(lost.transactionId)).toBe("approved");
  });

  it("count what was only held here when its ledger was put back, and has a token since", () => {
    const tight = { ...settings.policy.eth!, maxPerDay: "4", maxPerHour: "4", maxPerWithdrawal: "3", holdAbove: "1" };
    const rig = new Rig({ settings: { ...settings, policy: { ...settings.policy, eth: tight } } }).ready();
    const { transactionId } = rig.request({ currency: "eth", amount: "2.5" });
    rig.acknowledge();
    const copy = backup(rig);
    approve(rig, transactionId);
    rig.ask("sign", { transactionId, facts });
    rig.acknowledge();
    const contents = databaseOf(rig);
    restore(rig, copy);
    expect(rig.show(transactionId)).toMatchObject({ state: "held", nonce: "" });
    taken(rig, contents);
    expect(rig.show(transactionId)).toMatchObject({ state: "quarantined", nonce: "5" });
    const counted = ledgerOf(rig).filter((record) => record.kind === "IMPORTED");
    expect(counted).toMatchObject([{ transactionId, amountUnits: `${25n * 10n ** 17n}` }]);
    const next = rig.request({ currency: "eth", amount: "2" });
    const yes = (id: string): AnyAnswer =>
      rig.operate("approve", { transactionId: id, digest: rig.show(id).approvalDigest, address: "" });
    expect(yes(next.transactionId).code).toBe("POLICY_ABOVE_HOUR");
    expect(yes(transactionId).ok).toBe(true);
  });

  it("do not count twice what the ledger has not forgotten", () => {
    const rig = new Rig().ready();
    const { transactionId, versions } = rig.pay();
    rig.ask("observed", { transactionId, stage: "final", outcome: "paid", txHash: versions[0]!.txHash, block: 3 });
    rig.acknowledge();
    const spent = [{ currency: "usdt", units: "1500000", feesWei: "130000000000000" }];
    recovered(rig, { ...databaseOf(rig), spent });
    expect(ledgerOf(rig).at(-1)).toMatchObject({ kind: "RECOVERED", spent: [] });
  });
});
