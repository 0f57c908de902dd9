/** The memory of coins that closed withdrawals have spent: its bounds, and its way over a start. */
import { describe, expect, it } from "vitest";
import type { Withdrawal } from "../../agent/signer/state/withdrawal.ts";
import type { Book } from "../../agent/signer/state/withdrawals.ts";
import { type CoinKit, coinKit, made, network } from "../support/coin-kit.ts";

const closedMax = 1_000;

/** Pays from a coin and has the withdrawal closed; its id. */
function paidFrom(kit: CoinKit, coin: ReturnType<typeof made>): string {
  const transactionId = kit.released([coin]);
  const { txHash } = kit.show(transactionId).attempts[0]!;
  const final = { stage: "final", outcome: "paid", txHash, block: 9 };
  kit.ask("observed", { transactionId, ...final });
  kit.gateway.ended.add(transactionId);
  kit.acknowledge();
  expect(kit.core.book.openOne(transactionId)).toBeUndefined();
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
function refusedElsewhere(book: Book, { job }: Withdrawal, count: number): void {
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
