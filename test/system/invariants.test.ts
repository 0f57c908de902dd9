/**
 * The simulator's own reckoning of how long limits hold a withdrawal back, beside the moment at
 * which the signer binds it; which payments need an operator, by their bytes and jobs alone; which
 * withdrawals with a slot may end without a payment; which slots are free again; and which tables a
 * commit has written, because it is compared only with the checks of these.
 */
import { HDKey } from "@scure/bip32";
import { getBytes, hexlify, parseEther, Transaction } from "ethers";
import { describe, expect, it } from "vitest";
import type { PolicySettings } from "../../agent/config/settings.ts";
import type { LedgerRecord } from "../../agent/ledger/records.ts";
import { begun, Kit, keysOf, settings, txParams } from "../../lab/kit/signer-kit.ts";
import { fastCurve } from "../../lab/simulation/fakes/curve.ts";
import { Payments } from "../../lab/simulation/invariants/payments.ts";
import { RecordInvariants } from "../../lab/simulation/invariants/records.ts";
import { SignedMoney } from "../../lab/simulation/invariants/signed-money.ts";
import { Chain } from "../../lab/simulation/world/chain.ts";
import { planOf } from "../../lab/simulation/world/draw.ts";
import { type Order, receivers } from "../../lab/simulation/world/plan.ts";
import type { SignedTransaction } from "../../lab/simulation/world/raw.ts";
import { hotWallet, network, settle } from "../../lab/simulation/world/setting.ts";
import { Tables } from "../../lab/simulation/world/tables.ts";
import type { Job } from "../../protocol/messages.ts";
import { accountAt } from "../chains/xrp-values.ts";

const hourMs = 3_600_000;
const dayMs = 86_400_000;
const generous = {
  maxPerWithdrawal: "1000000",
  maxPerDay: "1000000",
  maxFee: "1",
  maxFeePerDay: "1",
};

/**
 * A kit with this policy for usdt: the acts that sign the n-th order, and the time until which the
 * simulator would wait for that order.
 */
function kitOf(change: Partial<PolicySettings>) {
  const policy = { ...generous, ...change };
  const kit = new Kit({ settings: { ...settings, policy: { usdt: policy } } }).ready();
  const ids: string[] = [];
  return {
    kit,
    ask: (amount: string): void =>
      void ids.push(kit.request({ amount, expiresAt: begun + 9 * dayMs }).transactionId),
    sign: (index: number): string =>
      kit.ask("sign", { transactionId: ids[index], txParams }).code ?? "",
    until: (index: number): number => {
      const atMax = (): number => Number.POSITIVE_INFINITY;
      const stateOf = (): never => {
        throw new Error("nothing is opened here");
      };
      const invariants = new RecordInvariants({
        name: "a",
        policy,
        decimals: { usdt: 6 },
        coinDecimal: 18,
        isGatewayHonest: true,
        atMax,
        endMax: atMax,
        stateOf,
      });
      for (const record of kit.records()) invariants.add(record);
      return invariants.heldBackUntil(ids[index] ?? "");
    },
  };
}

describe("a withdrawal that a limit holds back", () => {
  it.each([
    ["hour", { maxPerHour: "10" }, hourMs, "POLICY_ABOVE_HOUR"],
    ["day", { maxPerDay: "10" }, dayMs, "POLICY_ABOVE_DAY"],
  ])(
    "a withdrawal waits until the very moment at which the limit of the %s lets it through",
    (_, change, spanMs, code) => {
      const { kit, ask, sign, until } = kitOf(change);
      for (const amount of ["6", "5", "7"]) {
        ask(amount);
        kit.now += spanMs;
      }
      expect([0, 1, 2].map(until)).toEqual([0, 0, 0]);
      const assignedAt = kit.now;
      expect(sign(0)).toBe("");
      expect([0, 1, 2].map(until)).toEqual([0, assignedAt + spanMs, assignedAt + spanMs]);
      for (const [next, last] of [
        [1, 2],
        [2, 1],
      ] as const) {
        const untilAt = until(next);
        kit.now = untilAt - 1;
        kit.start();
        kit.handshake();
        expect(sign(next)).toBe(code);
        kit.now += 1;
        expect(sign(next)).toBe("");
        // A late binding was held back until then, also when another was bound after it.
        expect(until(next)).toBe(untilAt);
        expect(until(last)).toBe(last === 2 ? untilAt + spanMs : untilAt - spanMs);
      }
    },
  );

  it("a withdrawal is not held back by a limit with room for it, nor by one before its approval", () => {
    const { kit, ask, sign, until } = kitOf({ maxPerHour: "10", holdAbove: "7" });
    ask("6");
    ask("4");
    ask("8");
    expect([sign(0), sign(2)]).toEqual(["", "WITHDRAWAL_HELD"]);
    expect([0, 1, 2, 3].map(until)).toEqual([0, 0, 0, 0]);
    expect(sign(1)).toBe("");
    expect(kit.kinds().filter((kind) => kind === "INTENT")).toHaveLength(2);
  });
});

describe("a payment that leaves without an operator's yes", () => {
  const amount = "0.1";
  const address = receivers[0] ?? "";
  const policy = { ...generous, allow: [address] };
  const job = (mode: "auto" | "manual"): Job =>
    ({ transactionId: "t", mode, currency: "eth", amount, address, network, orderId: "o" }) as Job;

  /** The hot wallet's signature on one payment; the simulator's own, which its readers know. */
  function signed(): string {
    const path = "m/44'/60'/0'/0/0";
    const key = HDKey.fromMasterSeed(Uint8Array.from({ length: 64 }, (_, index) => index)).derive(
      path,
    ).privateKey;
    const fees = { gasLimit: 21_000, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n };
    const made = Transaction.from({
      type: 2,
      chainId: 31_337,
      nonce: 0,
      to: address,
      value: parseEther(amount),
      ...fees,
    });
    const digest = getBytes(made.unsignedHash);
    const [signature, parity] = [fastCurve.sign(digest, key ?? new Uint8Array()), digest[31]! & 1];
    const [r, s] = [signature.subarray(0, 32), signature.subarray(32, 64)].map((half) =>
      hexlify(half),
    );
    return Transaction.from({ ...made.toJSON(), signature: { r, s, yParity: parity } }).serialized;
  }

  function left(jobs: readonly Job[], yes: boolean): void {
    settle("evm");
    const known = {
      jobsOf: () => jobs,
      hasYes: () => yes,
      isEnded: () => false,
      isOrdered: () => false,
      nowMs: () => begun,
    };
    new SignedMoney(policy, known).left(signed(), "t", begun);
  }

  it.each([
    ["its one job is manual", ["manual"]],
    ["each of its jobs is manual", ["manual", "manual"]],
  ] as const)("is a violation if %s", (_, modes) => {
    expect(() => left(modes.map(job), false)).toThrow(
      "a payment for an operator leaves by an operator's yes",
    );
    expect(() => left(modes.map(job), true)).not.toThrow();
  });

  it.each([
    ["first", ["auto", "manual"]],
    ["second", ["manual", "auto"]],
  ] as const)("is none if a gateway has signed a job for policy too, as the %s", (_, modes) => {
    expect(() => left(modes.map(job), false)).not.toThrow();
  });
});

describe("a withdrawal with a slot that ends without a payment", () => {
  const keys = keysOf("xrp", ["xrpl:0"]);
  const account = keys.vault.accounts.find(({ purpose }) => purpose === "hot")!.id;
  const [first, stated] = [95_000_000, 5];

  /** Two payments below the account's first sequence; operators end both, and it begins again. */
  function records(change: Partial<PolicySettings> = {}): readonly LedgerRecord[] {
    const policy = { xrp: { ...generous, maxFee: "0.001", maxFeePerDay: "0.1", ...change } };
    const approvers = change.twoApproversAbove === undefined ? ["ann"] : ["ann", "bob"];
    const chains = { local: { family: "xrp", chainId: 0 } } as const;
    const currencies = { xrp: { chain: "local", decimal: 6 } };
    const kit = new Kit({ settings: { ...settings, chains, currencies, policy }, keys });
    const adopts = (slot: number): void => {
      kit.sight({ next: [{ network: "xrpl:0", account, slot: `${slot}`, isUnused: true }] });
      expect(kit.ask("adopt", { chain: "local", slot: `${slot}`, quorum: 2 }).code).toBeUndefined();
    };
    kit.handshake();
    adopts(stated);
    const ids = ["1.5", "2.5"].map((amount) => {
      const job = {
        network: "xrpl:0",
        currency: "xrp",
        amount,
        address: accountAt(1).address,
        tag: "7",
      };
      const { transactionId } = kit.request(job);
      if (approvers.length === 2)
        for (const approver of approvers)
          kit.operate("approve", {
            transactionId,
            digest: kit.show(transactionId).approvalDigest,
            address: "",
            approver,
          });
      expect(
        kit.ask("sign", { transactionId, txParams: { feeDrops: "12", lastLedger: "95123456" } })
          .code,
      ).toBeUndefined();
      kit.acknowledge();
      return transactionId;
    });
    kit.ask("account", {
      chain: "local",
      slot: `${first}`,
      quorum: 2,
      began: { slot: `${first}`, absentMs: kit.now - dayMs },
    });
    kit.receive();
    kit.now += 1;
    kit.release(kit.gateway.ack(kit.gateway.stored!, { at: kit.now, unreachable: ids }));
    for (const [at, transactionId] of ids.entries())
      for (const approver of approvers)
        expect(
          kit.operate("end", { transactionId, slot: `${stated + at}`, approver }).code,
        ).toBeUndefined();
    adopts(first);
    return kit.records();
  }

  /** The run is of this family when a withdrawal ends. */
  function follow(
    all: readonly LedgerRecord[],
    change: Partial<PolicySettings> = {},
    family: "xrp" | "evm" = "xrp",
  ): void {
    settle("xrp");
    const endless = (): number => Number.POSITIVE_INFINITY;
    const stateOf = (): never => {
      throw new Error("nothing is opened here");
    };
    const invariants = new RecordInvariants({
      ...{
        name: "a",
        policy: { ...generous, ...change },
        decimals: { xrp: 6 },
        coinDecimal: 6,
        isGatewayHonest: true,
      },
      ...{ atMax: endless, endMax: endless, stateOf },
    });
    for (const record of all) {
      if (record.kind === "EXPIRED") settle(family);
      invariants.add(record);
    }
  }

  type Change = (all: readonly LedgerRecord[]) => readonly LedgerRecord[];
  const isOrder = ({ kind }: LedgerRecord): boolean => kind === "MANUAL_REPLACEMENT";
  const isFirst = (one: LedgerRecord): boolean =>
    one.kind === "MANUAL_REPLACEMENT" && one.isFirstYes === true;
  const replaced =
    (kind: LedgerRecord["kind"], by: object): Change =>
    (all) =>
      all.map((one) => (one.kind === kind ? ({ ...one, ...by } as LedgerRecord) : one));
  const twoOperators = { twoApproversAbove: "1" };

  it("is none if an operator's order stands before each end, and the account begins again behind both", () => {
    const all = records();
    const [order, end] = ["MANUAL_REPLACEMENT", "EXPIRED"];
    expect(all.map(({ kind }) => kind).slice(-5)).toEqual([order, end, order, end, "ADOPTED"]);
    expect(() => follow(all)).not.toThrow();
  });

  it.each<[string, Change, string]>([
    [
      "no order stands before it",
      (all) => all.filter((one) => !isOrder(one)),
      "is never called unsigned",
    ],
    [
      "another act was ordered",
      replaced("MANUAL_REPLACEMENT", { act: "cancel" }),
      "is never called unsigned",
    ],
    [
      "the order is the first of two",
      replaced("MANUAL_REPLACEMENT", { isFirstYes: true }),
      "is never called unsigned",
    ],
    [
      "it is refused",
      replaced("EXPIRED", { kind: "REFUSED", by: "operator", code: "" }),
      "is never called unsigned",
    ],
    [
      "the account begins again while one is open",
      (all) => all.filter((_, at) => at !== all.length - 2),
      "behind an ended one",
    ],
  ])("is a violation if %s", (_, change, invariant) => {
    expect(() => follow(change(records()))).toThrow(invariant);
  });

  it("is a violation of a payment on a chain whose slots all come to their turn", () => {
    expect(() => follow(records(), {}, "evm")).toThrow("only where a chain may never take it");
  });

  it("is a violation above the limit for two operators, if one name ended it", () => {
    const all = records(twoOperators);
    expect(all.filter(isFirst)).toHaveLength(2);
    expect(() => follow(all, twoOperators)).not.toThrow();
    expect(() =>
      follow(
        all.filter((one) => !isFirst(one)),
        twoOperators,
      ),
    ).toThrow("is ended by two names");
    const byOne = all.map((one) =>
      isFirst(one) ? ({ ...one, approver: "Bob" } as LedgerRecord) : one,
    );
    expect(() => follow(byOne, twoOperators)).toThrow("is ended by two names");
  });
});

describe("a slot whose payment ledger and gateway have both forgotten", () => {
  const seed = 11_000_002_795; // sequences, restored without a recovery
  const [first, second] = [7, 8];
  const end = 4;

  /** Two orders, each on a slot by bytes that no block takes after `lastBlock`, and a chain. */
  function forgotten(lastBlock: number | undefined, known: readonly string[] = []) {
    settle("xrp");
    const plan = planOf(seed);
    const [one, other] = plan.orders as [Order, Order];
    const chain = new Chain({
      ...{ account: hotWallet.toLowerCase(), chainId: 0, contract: "", confirmations: 1 },
      ...{ nonce: first, nativeWei: 10n ** 9n, tokenUnits: 0n, baseFeeWei: 12n, startedAt: begun },
    });
    const bytes = new Map<string, SignedTransaction>();
    const prices = { see: () => {}, left: () => {} };
    const read = (raw: string): SignedTransaction | null => bytes.get(raw) ?? null;
    const payments = new Payments(chain, plan, { read, prices });
    const leaves = ({ units, address, tag }: Order, nonce: number, last?: number): string => {
      const receiver = (tag ? `${address}:${tag}` : address).toLowerCase();
      const from = hotWallet.toLowerCase();
      const hash = `${bytes.size + 1}`;
      bytes.set(hash, {
        ...{ hash, from, chainId: 0, nonce, tipWei: 0n, feeMaxWei: 12n, gasLimit: 21_000n },
        ...{ to: receiver, valueWei: units, data: "0x" },
        payment: { contract: "", receiver, units },
        ...(last === undefined ? {} : { lastBlock: last }),
      });
      payments.left(hash);
      return hash;
    };
    const made = [leaves(one, first, lastBlock), leaves(other, second, lastBlock)];
    payments.forget(new Set(known));
    const mineUntil = (block: number): void => {
      while (chain.top.number < block) chain.mine();
    };
    return { chain, payments, bytes, leaves, made, mineUntil, one, other };
  }

  it("is another order's, and the order has another slot, when no block can take the bytes", () => {
    const { leaves, mineUntil, one, other } = forgotten(end);
    mineUntil(end);
    leaves(other, first, end + 9);
    leaves(one, second, end + 9);
  });

  it("is its order's while a block can take the bytes", () => {
    const { leaves, mineUntil, one, other } = forgotten(end);
    mineUntil(end - 1);
    expect(() => leaves(other, first, end + 9)).toThrow("a slot has one withdrawal");
    expect(() => leaves(one, second + 1, end + 9)).toThrow("a withdrawal has one slot");
  });

  it("is its order's for good where bytes have no end", () => {
    const { leaves, mineUntil, one, other } = forgotten(undefined);
    mineUntil(end + 90);
    expect(() => leaves(other, first)).toThrow("a slot has one withdrawal");
    expect(() => leaves(one, second + 1)).toThrow("a withdrawal has one slot");
  });

  it("is its order's if a block has the bytes", () => {
    const { chain, bytes, leaves, made, mineUntil, one, other } = forgotten(end);
    chain.offer(bytes.get(made[0] ?? "") as SignedTransaction);
    mineUntil(end);
    expect(chain.includedIn(made[0] ?? "")).not.toBeNull();
    expect(() => leaves(other, first, end + 9)).toThrow("a slot has one withdrawal");
    expect(() => leaves(one, second + 1, end + 9)).toThrow("a withdrawal has one slot");
  });

  it("is its order's if the gateway's backup knows the bytes", () => {
    const { leaves, mineUntil, one, other } = forgotten(end, ["1", "2"]);
    mineUntil(end);
    expect(() => leaves(other, first, end + 9)).toThrow("a slot has one withdrawal");
    expect(() => leaves(one, second + 1, end + 9)).toThrow("a withdrawal has one slot");
  });

  it("is the new order's from then on, though its bytes run out as well", () => {
    const { leaves, mineUntil, one, other } = forgotten(end);
    mineUntil(end);
    leaves(other, first, end + 9);
    mineUntil(end + 9);
    expect(() => leaves(one, first, end + 20)).toThrow("a slot has one withdrawal");
    expect(() => leaves(other, second, end + 20)).toThrow("a withdrawal has one slot");
  });

  it("is its order's if the same bytes left again", () => {
    const { payments, leaves, made, mineUntil, other } = forgotten(end);
    payments.left(made[0] ?? "");
    mineUntil(end);
    expect(() => leaves(other, first, end + 9)).toThrow("a slot has one withdrawal");
  });

  it("is its order's if other bytes of it left since, until these are forgotten too", () => {
    const { payments, leaves, mineUntil, one, other } = forgotten(end);
    leaves(one, first, end + 9);
    mineUntil(end);
    expect(() => leaves(other, first, end + 9)).toThrow("a slot has one withdrawal");
    mineUntil(end + 9);
    expect(() => leaves(other, first, end + 20)).toThrow("a slot has one withdrawal");
    payments.forget(new Set());
    leaves(other, first, end + 20);
  });
});

describe("a statement of the simulated database writes", () => {
  const tables = new Tables();
  const ended = "UPDATE transfers SET status = 1 WHERE id = ''";

  it.each([
    [
      "its own table and those that triggers write and empty",
      ended,
      ["transfers", "completions", "recalls"],
    ],
    ["its own table beside a trigger's", "UPDATE agents SET caughtUp = ''", ["agents", "meta"]],
    ["its own table alone without one", "DELETE FROM networkStops", ["networkStops"]],
    ["nothing if it reads", "SELECT id FROM transfers", []],
  ])("%s", (_, sql, written) => {
    const { writesTo } = tables.prepare(sql);
    expect(writesTo.filter((name) => written.includes(name)).sort()).toEqual([...written].sort());
    if (written.length < 2) expect(writesTo).toEqual(written);
  });
});
