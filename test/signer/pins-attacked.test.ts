/**
 * An attacker has the courier and the gateway, and tries to get two transactions for one withdrawal
 * that share no coin, or a transaction that loses more than its fee.
 */
import { describe, expect, it } from "vitest";
import { decodeTransaction } from "../../chains/utxo/raw-transaction.ts";
import { figuresOf, txParamsOf } from "../../chains/utxo/tx-params.ts";
import type { MemoryDisk } from "../../lab/kit/ledger-disk.ts";
import type { AnyAnswer } from "../../lab/kit/signer-kit.ts";
import { evidenceFor, type MadeCoin } from "../chains/utxo-values.ts";
import { type CoinKit, cancelled, coinKit, made, raised, sender } from "../support/coin-kit.ts";
import {
  backup,
  type Contents,
  databaseOf,
  offer,
  recovered,
  restore,
} from "../support/recovery-offer.ts";

const textOf = ({ id, units }: MadeCoin): string => `${id}:${units}`;

/**
 * The ledger of a backup, opened by an order that the operator takes, and the handshake after it.
 */
function opened(kit: CoinKit, copy: MemoryDisk, contents: Contents): void {
  restore(kit, copy);
  recovered(kit, contents);
  kit.now += 1;
  kit.handshake();
  kit.acknowledge();
  expect(kit.ask("hello")).toMatchObject({ handshakeDone: true, locked: "" });
}

type Told = Contents["withdrawals"][number];

/** The order of a gateway that changes what it tells of each withdrawal. */
function told(contents: Contents, change: (one: Told) => Partial<Told>): Contents {
  return {
    ...contents,
    withdrawals: contents.withdrawals.map((one) => ({ ...one, ...change(one) })),
  };
}

const pinnedTo =
  (coin: MadeCoin) =>
  ({ attempts }: Told): Partial<Told> => ({
    attempts: attempts.map((one) => ({ ...one, pin: textOf(coin) })),
  });

const invented = (coin: MadeCoin): Told["attempts"] => [
  { txHash: "ab".repeat(32), feeMax: "300", pin: textOf(coin) },
];

/** Another attempt on these coins, first in order, after all that there are. */
function more(
  kit: CoinKit,
  transactionId: string,
  coins: readonly MadeCoin[],
  evidence?: readonly string[],
): AnyAnswer {
  const txParams = kit.offerOf(coins, 9_000n);
  const above = kit.core.book.find(transactionId)!.attempts.length;
  const body = { transactionId, txParams, evidence: evidence ?? evidenceFor(txParams, coins) };
  return above === 0 ? kit.ask("sign", body) : kit.ask("replace", { ...body, above });
}

/** The coins of bytes that left the signer. */
function coinsIn(raw: string): readonly string[] {
  const { transaction } = decodeTransaction(Buffer.from(raw.slice(2), "hex"))!;
  return transaction.inputs.map(({ txHash, output }) => `${txHash}:${output}`);
}

describe("a pin under attack", () => {
  it("a pin is the same after a recovery from a ledger that lost its withdrawal, with the amount that its maker proves", () => {
    const kit = coinKit();
    const [pin, other] = [made(500_000n), made(600_000n)];
    const copy = backup(kit);
    const id = kit.released([pin]);
    const first = kit.show(id).attempts[0]!;
    opened(kit, copy, databaseOf(kit));
    expect(kit.show(id)).toMatchObject({ state: "released", slot: "0", account: sender });
    expect(kit.show(id).attempts).toMatchObject([
      { attempt: 1, txHash: first.txHash, pin: textOf(pin) },
    ]);
    expect(more(kit, id, [other])).toMatchObject({
      code: "ACCOUNT_PIN_OTHER",
      detail: textOf(pin),
    });
    expect(more(kit, id, [{ ...pin, units: 900_000n }]).code).toBe("ACCOUNT_PIN_OTHER");
    expect(more(kit, id, [pin], []).code).toBe("TRANSACTION_EVIDENCE");
    expect(more(kit, id, [pin], [other.made]).code).toBe("TRANSACTION_EVIDENCE");
    const two = kit.order();
    expect(kit.sign(two, [pin])).toMatchObject({
      code: "ACCOUNT_PIN_TAKEN",
      detail: expect.stringContaining(id),
    });
    expect(more(kit, id, [pin]).ok).toBe(true);
    kit.acknowledge();
    expect([kit.inputsOf(id, 2), [...kit.left].map(coinsIn)]).toEqual([[pin.id], [[pin.id]]]);
  });

  it("a pin or a hash that the chain does not have is in no order that a signer takes, for its courier would ask nodes with it", () => {
    const kit = coinKit();
    kit.released([made(500_000n)]);
    const contents = databaseOf(kit);
    const codeOf = (change: object): string => {
      offer(
        kit,
        told(contents, ({ attempts }) => ({
          attempts: attempts.map((one) => ({ ...one, ...change })),
        })),
      );
      return (kit.operate("recover", { digest: "", bothRestored: false }) as AnyAnswer).code ?? "";
    };
    expect(codeOf({})).toBe("");
    for (const pin of ["zz:0:1", "../../admin/x?y=:0", `${"a".repeat(64)}:0`])
      expect(codeOf({ pin }), pin).toBe("RECOVERY_OFFER");
    for (const txHash of ["zz", "AB".repeat(32)])
      expect(codeOf({ txHash }), txHash).toBe("RECOVERY_OFFER");
  });

  it("a pin whose amount the gateway made larger is refused after a recovery, and no fee comes out of it", () => {
    const kit = coinKit();
    const pin = made(500_000n);
    const large = { ...pin, units: 900_000n };
    const copy = backup(kit);
    const id = kit.released([pin]);
    opened(kit, copy, told(databaseOf(kit), pinnedTo(large)));
    expect(more(kit, id, [large], [pin.made])).toMatchObject({
      code: "TRANSACTION_EVIDENCE",
      detail: `coin ${pin.id} has another amount`,
    });
    expect(kit.left.size).toBe(0);
  });

  const lies: readonly (readonly [string, (contents: Contents, coin: MadeCoin) => Contents])[] = [
    ["names another pin", (contents, coin) => told(contents, pinnedTo(coin))],
    [
      "names another attempt",
      (contents, coin) => told(contents, () => ({ attempts: invented(coin) })),
    ],
    ["names no attempt", (contents) => ({ ...contents, withdrawals: [] })],
    [
      "names another slot",
      (contents, coin) => told(contents, () => ({ slot: "1", attempts: invented(coin) })),
    ],
    [
      "calls it ended",
      (contents, coin) => ({
        ...contents,
        withdrawals: [],
        ended: told(contents, pinnedTo(coin)).withdrawals,
      }),
    ],
  ];
  for (const when of ["before", "after"] as const) {
    it.each(lies)(
      `a pin of a signature that a ledger from ${when} its release remembers stays when the order %s`,
      (_, lie) => {
        const kit = coinKit();
        const [pin, other] = [made(500_000n), made(600_000n)];
        const id = kit.order();
        kit.sign(id, [pin]);
        const early = backup(kit);
        kit.acknowledge();
        expect([...kit.left].map(coinsIn)).toEqual([[pin.id]]);
        opened(kit, when === "before" ? early : backup(kit), lie(databaseOf(kit), other));
        expect(more(kit, id, [other]).ok).toBe(false);
        const { attempts } = kit.core.book.find(id)!;
        expect(attempts.map((one) => one.pin)).toContain(textOf(pin));
        for (let times = 0; times < 2; times++) kit.acknowledge();
        for (const raw of kit.left) expect(coinsIn(raw)).toContain(pin.id);
      },
    );
  }

  it("a pin that a ledger recorded and had not signed yet contests an order with another one, and agrees with its own", () => {
    const kit = coinKit();
    const [pin, other] = [made(500_000n), made(600_000n)];
    const id = kit.order();
    kit.send("sign", { transactionId: id, txParams: kit.offerOf([pin]), evidence: [pin.made] });
    kit.disk.sync();
    kit.crash();
    expect(kit.core.book.find(id)!.attempts).toMatchObject([{ txHash: "", pin: textOf(pin) }]);
    const copy = backup(kit);
    kit.handshake();
    kit.acknowledge();
    expect([...kit.left].map(coinsIn)).toEqual([[pin.id]]);
    const contents = databaseOf(kit);
    opened(kit, copy, told(contents, pinnedTo(other)));
    expect(kit.show(id)).toMatchObject({ state: "quarantined", code: "SLOT_CONTESTED" });
    expect(more(kit, id, [other]).code).toBe("WITHDRAWAL_HELD");
    kit.gateway.ledgerEpoch = 1;
    opened(kit, copy, contents);
    expect(kit.show(id)).toMatchObject({ state: "released", code: "" });
    expect(more(kit, id, [pin]).ok).toBe(true);
  });

  it("a pin of a signature that the gateway never stored goes on with it in the ledger that an order opens", () => {
    const kit = coinKit();
    const pin = made(500_000n);
    const id = kit.order();
    const contents = databaseOf(kit);
    kit.sign(id, [pin]);
    opened(kit, backup(kit), contents);
    expect(kit.show(id)).toMatchObject({ state: "released", slot: "0" });
    expect(more(kit, id, [pin]).ok).toBe(true);
    kit.acknowledge();
    expect(kit.inputsOf(id, 2)).toEqual([pin.id]);
  });

  it("a pin in another spelling, twice, or with another amount is refused, and makes no record", () => {
    const kit = coinKit();
    const pin = made(500_000n);
    const id = kit.released([pin]);
    const next = raised(kit, id, []);
    const [txHash = "", output = ""] = pin.id.split(":");
    const records = kit.kinds().length;
    const ask = (coins: string, evidence: readonly string[] = []): string =>
      kit.ask("replace", { transactionId: id, above: 1, txParams: { ...next, coins }, evidence })
        .code;
    for (const spelled of [
      `${txHash}:0${output}`,
      `${txHash.toUpperCase()}:${output}`,
      `0${txHash}:${output}`,
      ` ${pin.id}`,
    ])
      expect(ask(`${spelled}:${pin.units}`, [pin.made])).toBe("JSON_SHAPE");
    expect(ask(`${pin.id}:0${pin.units}`, [pin.made])).toBe("JSON_SHAPE");
    expect(ask(`${textOf(pin)},${pin.id}:400000`, [pin.made, pin.made])).toBe("JSON_SHAPE");
    expect(ask(`${pin.id}:500001`, [pin.made])).toBe("ACCOUNT_PIN_OTHER");
    expect(kit.kinds()).toHaveLength(records);
    expect(ask(textOf(pin))).toBeUndefined();
    expect(kit.kinds().slice(records)).toEqual(["INTENT", "SIGNED"]);
  });

  it("a coin beside the pin that one attempt proved has no other amount in the next one", () => {
    const kit = coinKit();
    const [pin, beside] = [made(90_000n), made(80_000n)];
    const id = kit.released([pin, beside]);
    const ask = (units: bigint): AnyAnswer => {
      const { coins, feeSat } = figuresOf(raised(kit, id, []));
      const [first] = coins;
      const both = [first!, { id: beside.id, units }];
      const changeSat = [first!.units + units - 100_000n - feeSat];
      const txParams = txParamsOf({ coins: both, changeSat, feeSat });
      return kit.ask("replace", {
        transactionId: id,
        above: 1,
        txParams,
        evidence: ["00", beside.made],
      });
    };
    expect(ask(85_000n)).toMatchObject({
      code: "TRANSACTION_EVIDENCE",
      detail: `coin ${beside.id} has another amount`,
    });
    expect(ask(80_000n).ok).toBe(true);
  });

  it("a fee above maxFee, change that is missing, and an amount that grows are refused, whatever the coins", () => {
    const kit = coinKit();
    const coin = made(900_000n);
    const id = kit.order();
    const ask = (changeSat: readonly bigint[], feeSat: bigint): string => {
      const txParams = txParamsOf({ coins: [coin], changeSat, feeSat });
      return kit.ask("sign", { transactionId: id, txParams, evidence: [coin.made] }).code;
    };
    expect(ask([], 800_000n)).toBe("POLICY_FEE_ABOVE_WITHDRAWAL");
    expect(ask([699_999n], 100_001n)).toBe("POLICY_FEE_ABOVE_WITHDRAWAL");
    expect(ask([699_999n], 100_000n)).toBe("TRANSACTION_FIELD");
    expect(ask([600_000n], 100_000n)).toBe("TRANSACTION_FIELD");
    expect(kit.kinds()).not.toContain("INTENT");
    expect(ask([700_000n], 100_000n)).toBeUndefined();
  });

  it("a pin of a replacement that was recorded and not signed stays after a crash, whatever the courier offers then", () => {
    const kit = coinKit();
    const [pin, added, other] = [made(101_000n), made(300_000n), made(400_000n)];
    const id = kit.released([pin]);
    const offer = (coin: MadeCoin): object => {
      const txParams = raised(kit, id, [coin], 20_000n);
      return { transactionId: id, above: 1, txParams, evidence: ["00", coin.made] };
    };
    kit.now += 60_000;
    kit.send("replace", offer(added));
    kit.disk.sync();
    kit.crash();
    expect(kit.core.book.find(id)!.attempts).toMatchObject([{}, { txHash: "", pin: textOf(pin) }]);
    kit.handshake();
    expect(kit.ask("replace", offer(other)).ok).toBe(true);
    kit.acknowledge();
    expect(kit.inputsOf(id, 2)).toEqual([pin.id, added.id]);
    expect(kit.show(id).attempts).toHaveLength(2);
  });

  it("a pin of an end that was a lie of both sides pays no second withdrawal, and the first gets no other attempt", () => {
    const kit = coinKit();
    const [pin, other] = [made(500_000n), made(600_000n)];
    const one = kit.released([pin]);
    cancelled(kit, one);
    const { txHash } = kit.show(one).attempts[1]!;
    kit.ask("observed", {
      transactionId: one,
      stage: "final",
      outcome: "cancelled",
      txHash,
      block: 9,
    });
    // The courier's word alone frees no coin.
    expect(kit.sign(kit.order(), [pin]).code).toBe("ACCOUNT_PIN_TAKEN");
    kit.gateway.ended.add(one);
    kit.acknowledge();
    expect(kit.sign(kit.order(), [pin]).code).toBe("ACCOUNT_COIN_SPENT");
    expect(more(kit, one, [other]).code).toBe("WITHDRAWAL_CLOSED");
    expect(more(kit, one, [pin]).code).toBe("WITHDRAWAL_CLOSED");
    for (const raw of kit.left) expect(coinsIn(raw)).toEqual([pin.id]);
    expect(kit.sign(kit.order(), [other]).ok).toBe(true);
  });
});
