/**
 * The memory of coins that closed withdrawals have spent: its bounds, its way over a start, and the
 * coin that an operator frees.
 */
import { describe, expect, it } from "vitest";
import type { Withdrawal } from "../../agent/signer/state/withdrawal.ts";
import type { WithdrawalBook } from "../../agent/signer/state/withdrawals.ts";
import { type CoinKit, coinKit, made, network, satPerKvB } from "../support/coin-kit.ts";

const closedMax = 1_000;

/** Has a released withdrawal be final and closed. */
function closeFinal(kit: CoinKit, transactionId: string): void {
  const { txHash } = kit.show(transactionId).attempts[0]!;
  const final = { stage: "final", outcome: "paid", txHash, block: 9 };
  kit.ask("observed", { transactionId, ...final });
  kit.gateway.ended.add(transactionId);
  kit.acknowledge();
  expect(kit.core.book.openOne(transactionId)).toBeUndefined();
}

/** Pays from a coin and has the withdrawal closed; its id. */
function paidFrom(kit: CoinKit, coin: ReturnType<typeof made>): string {
  const transactionId = kit.released([coin]);
  closeFinal(kit, transactionId);
  return transactionId;
}

/** The refusal of a new payment from this coin; "" if the coin pays it. */
const refusalOf = (kit: CoinKit, coin: ReturnType<typeof made>): string =>
  kit.sign(kit.order(), [coin]).code ?? "";

/** Other closed withdrawals like this one, each with its own id, hash and coin. */
function othersLike(
  one: Withdrawal,
  coin: string,
  count: number,
  change: Readonly<Record<string, string>> = {},
): readonly Withdrawal[] {
  const { txHash, digest } = one.attempts[0]!;
  return Array.from({ length: count }, (_, at) => {
    const replaced = {
      ...change,
      [one.transactionId]: `a${at.toString(16).padStart(31, "0")}`,
      [txHash]: `b${at.toString(16).padStart(63, "0")}`,
      [digest]: `d${at.toString(16).padStart(63, "0")}`,
      [coin]: `c${at.toString(16).padStart(63, "0")}:0`,
    };
    const text = Object.entries(replaced).reduce(
      (before, [from, to]) => before.replaceAll(from, to),
      JSON.stringify(one),
    );
    return JSON.parse(text) as Withdrawal;
  });
}

/** The ledger's state with these closed withdrawals, oldest first, as a checkpoint gives it. */
function loaded(kit: CoinKit, recent: readonly Withdrawal[]): void {
  const { book, ...state } = kit.core.snapshot();
  kit.core.load(JSON.parse(JSON.stringify({ ...state, book: { ...book, recent } })));
}

/** Orders of another network that an operator refuses, one after the other, each closed. */
function refusedElsewhere(book: WithdrawalBook, { job }: Withdrawal, count: number): void {
  const seq = 1_000_000;
  for (let at = 0; at < count; at += 1) {
    const transactionId = `e${at.toString(16).padStart(31, "0")}`;
    const line = { seq: seq + 2 * at, prev: "", at: 1, hash: "", transactionId };
    book.begin(
      { ...line, kind: "REQUESTED", sequence: at, jobHash: "", job: "", signature: "" },
      { ...job, transactionId, network: "eip155:1" },
    );
    const refused = { kind: "REFUSED", by: "operator", approver: "ann", code: "" } as const;
    book.apply({ ...line, ...refused, seq: line.seq + 1 });
    expect(book.acknowledge(line.seq + 1)).toEqual([transactionId]);
  }
}

describe("the memory of spent coins", () => {
  it("keeps a coin while another network closes as many withdrawals as it likes", () => {
    const kit = coinKit();
    const coin = made(500_000n);
    const one = kit.core.book.find(paidFrom(kit, coin))!;
    refusedElsewhere(kit.core.book, one, 1_200);
    expect([...kit.core.book.recent()]).toHaveLength(closedMax + 1);
    expect(refusalOf(kit, coin)).toBe("ACCOUNT_COIN_SPENT");
    expect(refusalOf(kit, made(600_000n))).toBe("");
  });

  it.each([
    ["of another account", { account: '"account":"other"' }],
    ["of deposit addresses", { mode: '"mode":"sweep"' }],
    ["of another network", { network: '"network":"bip122:12a765e31ffd4059bada1e25190f6e98"' }],
  ] as const)("keeps a coin beside 1,200 closed withdrawals %s", (_, change) => {
    const kit = coinKit();
    const coin = made(500_000n);
    const one = kit.core.book.find(paidFrom(kit, coin))!;
    const own = {
      account: `"account":"${one.account}"`,
      mode: `"mode":"${one.job.mode}"`,
      network: `"network":"${network}"`,
    };
    const [[field, text] = ["account", ""] as const] = Object.entries(change) as [
      keyof typeof own,
      string,
    ][];
    loaded(kit, [one, ...othersLike(one, coin.id, 1_200, { [own[field]]: text })]);
    expect([...kit.core.book.recent()]).toHaveLength(closedMax + 1);
    expect(refusalOf(kit, coin)).toBe("ACCOUNT_COIN_SPENT");
  });

  it("frees the oldest coin of an account behind a thousand later ones of the same account", () => {
    for (const [others, code] of [
      [closedMax - 2, "ACCOUNT_COIN_SPENT"],
      [closedMax - 1, ""],
    ] as const) {
      const kit = coinKit();
      const [coin, next] = [made(500_000n), made(600_000n)];
      const one = kit.core.book.find(paidFrom(kit, coin))!;
      loaded(kit, [one, ...othersLike(one, coin.id, others)]);
      expect(refusalOf(kit, coin)).toBe("ACCOUNT_COIN_SPENT");
      paidFrom(kit, next);
      expect(refusalOf(kit, coin), `behind ${others + 1}`).toBe(code);
      expect(refusalOf(kit, next)).toBe("ACCOUNT_COIN_SPENT");
    }
  });

  it("is the same after a start from a checkpoint as before", () => {
    const kit = coinKit({ segmentBytesMax: 5_000 });
    const coin = made(500_000n);
    paidFrom(kit, coin);
    kit.signer.tick();
    kit.settle();
    paidFrom(kit, made(600_000n));
    const written = kit.kinds();
    expect(written.lastIndexOf("CHECKPOINT")).toBeGreaterThan(written.indexOf("ENDED"));
    expect(written.at(-1)).not.toBe("CHECKPOINT");
    const { book } = kit.core.snapshot();
    kit.crash();
    kit.handshake();
    expect(kit.core.snapshot().book).toEqual(book);
    expect(refusalOf(kit, coin)).toBe("ACCOUNT_COIN_SPENT");
  });
});

/** An operator frees a coin, or looks; the answer. */
const freed = (kit: CoinKit, { id: coin }: { readonly id: string }, change: object = {}) =>
  kit.operate("freeCoin", { chain: "regtest", coin, approver: "ann", ...change });

describe("an operator frees a spent coin", () => {
  it("and it pays another order, over a crash too, until a payment has spent it again", () => {
    const kit = coinKit();
    const [coin, other] = [made(500_000n), made(500_000n)];
    const [id] = [paidFrom(kit, coin), paidFrom(kit, other)];
    const { txHash } = kit.show(id).attempts[0]!;
    const spent = { chain: "regtest", network, coin: coin.id, transactionId: id, state: "paid" };
    const before = kit.kinds().length;
    expect(freed(kit, coin, { isLook: true })).toMatchObject({
      ok: true,
      spent: { ...spent, txHash, isFree: false },
    });
    expect(kit.kinds()).toHaveLength(before);
    expect(refusalOf(kit, coin)).toBe("ACCOUNT_COIN_SPENT");
    expect(freed(kit, coin)).toMatchObject({ ok: true, spent: { ...spent, isFree: true } });
    const record = { kind: "COIN_FREED", network, coin: coin.id, approver: "ann" };
    expect(kit.records().at(-1)).toMatchObject(record);
    const { history } = kit.operate("show", { transactionId: id }) as unknown as {
      history: { kind: string; detail: string }[];
    };
    expect(history.at(-1)).toMatchObject({
      kind: "COIN_FREED",
      detail: expect.stringContaining(`${coin.id} by ann`),
    });
    kit.crash();
    kit.handshake();
    kit.now += 60_000;
    // The old bytes are known: the freed coin never makes one transaction count for two orders.
    expect(refusalOf(kit, coin)).toBe("ACCOUNT_BYTES_TAKEN");
    expect(refusalOf(kit, other)).toBe("ACCOUNT_COIN_SPENT");
    const next = kit.order();
    const ask = { transactionId: next, txParams: kit.offerOf([coin], satPerKvB * 2n) };
    expect(kit.ask("sign", { ...ask, evidence: [coin.made] }).ok).toBe(true);
    kit.acknowledge();
    expect(kit.inputsOf(next)).toEqual([coin.id]);
    closeFinal(kit, next);
    expect(refusalOf(kit, coin)).toBe("ACCOUNT_COIN_SPENT");
    expect(freed(kit, coin, { isLook: true })).toMatchObject({
      spent: { transactionId: next, isFree: false },
    });
  });

  it("twice without harm: the second yes adds no record", () => {
    const kit = coinKit();
    const coin = made(500_000n);
    const id = paidFrom(kit, coin);
    const first = freed(kit, coin);
    expect(freed(kit, coin)).toEqual({ ...first, id: expect.any(Number) });
    kit.crash();
    expect(freed(kit, coin).code).toBe("SIGNER_NO_HANDSHAKE");
    kit.handshake();
    expect(freed(kit, coin)).toMatchObject({ ok: true, spent: { transactionId: id } });
    expect(kit.kinds().filter((kind) => kind === "COIN_FREED")).toHaveLength(1);
  });

  it("which is refused for a coin of an open withdrawal, also once it is final, and not when it is closed", () => {
    const kit = coinKit();
    const coin = made(500_000n);
    const id = kit.released([coin]);
    const taken = { code: "ACCOUNT_PIN_TAKEN", detail: `${coin.id} is ${id}'s` };
    expect(freed(kit, coin)).toMatchObject(taken);
    const { txHash } = kit.show(id).attempts[0]!;
    const final = { stage: "final", outcome: "paid", txHash, block: 9 };
    kit.ask("observed", { transactionId: id, ...final });
    expect(freed(kit, coin)).toMatchObject(taken);
    expect(freed(kit, coin, { isLook: true })).toMatchObject(taken);
    kit.gateway.ended.add(id);
    kit.acknowledge();
    expect(freed(kit, coin).ok).toBe(true);
    // The freed coin is an open withdrawal's again, and not to be freed from that one.
    const next = kit.order();
    const txParams = kit.offerOf([coin], satPerKvB * 2n);
    kit.ask("sign", { transactionId: next, txParams, evidence: [coin.made] });
    expect(freed(kit, coin)).toMatchObject({ code: "ACCOUNT_PIN_TAKEN" });
    expect(kit.kinds().filter((kind) => kind === "COIN_FREED")).toHaveLength(1);
  });

  it("which is refused for a coin that nothing here has spent, or of a chain that is not configured", () => {
    const kit = coinKit();
    const [coin, never] = [made(500_000n), made(600_000n)];
    paidFrom(kit, coin);
    expect(freed(kit, never)).toMatchObject({ code: "ACCOUNT_COIN_UNKNOWN", detail: never.id });
    expect(freed(kit, { id: `${coin.id}0` }).code).toBe("ACCOUNT_COIN_UNKNOWN");
    expect(freed(kit, coin, { chain: "bitcoin" }).code).toBe("CHAIN_UNKNOWN");
    expect(kit.kinds()).not.toContain("COIN_FREED");
    expect(freed(kit, coin).ok).toBe(true);
  });

  it("of whatever withdrawals have claimed it, and of each other coin nothing is freed", () => {
    const kit = coinKit({ segmentBytesMax: 5_000 });
    const [pin, more] = [made(90_000n), made(80_000n)];
    const id = kit.released([pin, more]);
    closeFinal(kit, id);
    const one = kit.core.book.find(id)!;
    const twin = { ...one, transactionId: "ab".repeat(16), state: "conflicted" };
    loaded(kit, [one, twin as Withdrawal]);
    expect(freed(kit, pin)).toMatchObject({ spent: { transactionId: twin.transactionId } });
    expect(kit.core.book.spenderOf(network, more.id)).toBe(id);
    kit.signer.tick();
    kit.settle();
    expect(kit.kinds().at(-1)).toBe("CHECKPOINT");
    const { book } = kit.core.snapshot();
    kit.crash();
    kit.handshake();
    expect(kit.core.snapshot().book).toEqual(book);
    for (const [coin, spender] of [
      [pin, undefined],
      [more, id],
    ] as const)
      expect(kit.core.book.spenderOf(network, coin.id)).toBe(spender);
  });
});
