/**
 * Sweeps and top-ups at the signer: the wallet gives both ends again, each payment has a slot of
 * its hot wallet and ceilings of its own, and a sweep has one top-up.
 */
import { Transaction } from "ethers";
import { describe, expect, it } from "vitest";
import { depositAccountIdOf } from "../../agent/signer/policy/own-accounts.ts";
import { families } from "../../chains/families.ts";
import {
  hotWallet,
  Kit,
  merchant,
  settings,
  token,
  txParams,
  vault,
} from "../../lab/kit/signer-kit.ts";
import { deriveOrderTransactionId } from "../../protocol/identity.ts";
import type { Job } from "../../protocol/messages.ts";

const xpub = depositAccountIdOf(vault.accounts, "evm");
const deposit = (index: number): string => families.evm.depositAddress(xpub, index);
const sweepId = (orderId: string): string =>
  deriveOrderTransactionId({ merchant, operation: "sweep", orderId });

function sweep(index = 3, change: Partial<Job> = {}): Partial<Job> {
  const orderId = change.orderId ?? `${deposit(index)}/1`;
  return {
    ...{
      mode: "sweep",
      transactionId: sweepId(orderId),
      orderId,
      currency: "usdt",
      amount: "12.5",
      address: "",
    },
    ...{ depositIndex: index, depositAddress: deposit(index), depositNext: "0" },
    ...change,
  };
}

function topUp(index = 3, change: Partial<Job> = {}): Partial<Job> {
  const orderId = change.orderId ?? sweepId(`${deposit(index)}/1`);
  return {
    ...sweep(index),
    ...{
      mode: "topup",
      transactionId: deriveOrderTransactionId({ merchant, operation: "topup", orderId }),
      orderId,
      amount: "0.002",
    },
    depositNext: undefined as never,
    ...change,
  };
}

const adopt = (kit: Kit, index = 3, slot = "0", quorum = 2) =>
  kit.ask("adopt", { chain: "local", slot, quorum, address: deposit(index) });

/** A sweep's job, followed by the job of its top-up. */
function withSweep(kit: Kit, job: Partial<Job>): Partial<Job> {
  const index = job.depositIndex ?? 3;
  kit.request(sweep(index, { orderId: `${deposit(index)}/1` }));
  return job;
}

/** From request to released bytes, read by independent code. */
function paid(kit: Kit, job: Partial<Job>): Transaction {
  const view = kit.request(job);
  if (job.mode === "sweep") adopt(kit, job.depositIndex);
  kit.ask("sign", { transactionId: view.transactionId, txParams });
  const [step] = kit.acknowledge().withdrawals;
  return Transaction.from(step?.attempts[0]?.raw ?? "");
}

/** Counters above the chain's: BoltzExchange/boltz-backend 1201, leather-io/extension 5934. */
describe("the first slot of a deposit address", () => {
  it("is what the gateway's job names, whatever number of nodes the courier names; without, what its nodes show now", () => {
    const unnamed = new Kit().ready();
    unnamed.request(sweep(3, { depositNext: undefined as never }));
    expect(adopt(unnamed)).toMatchObject({ code: "ACCOUNT_FIRST_UNNAMED" });
    unnamed.sight({
      next: [{ network: "eip155:31337", account: deposit(3), slot: "0", isUnused: true }],
    });
    expect(adopt(unnamed)).toMatchObject({ ok: true });
    const kit = new Kit().ready();
    const { transactionId } = kit.request(sweep());
    expect(adopt(kit, 3, "1000000", 8)).toMatchObject({ code: "ACCOUNT_FIRST_SLOT" });
    expect(kit.ask("sign", { transactionId, txParams }).code).toBe("ACCOUNT_NOT_ADOPTED");
    expect(adopt(kit)).toMatchObject({ ok: true });
    expect(kit.ask("sign", { transactionId, txParams }).withdrawal.slot).toBe("0");
  });

  it("is another where the gateway's job says the same number as the nodes", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request(sweep(3, { depositNext: "7" }));
    expect(adopt(kit, 3, "0")).toMatchObject({ code: "ACCOUNT_FIRST_SLOT" });
    expect(adopt(kit, 3, "8")).toMatchObject({ code: "ACCOUNT_FIRST_SLOT" });
    expect(adopt(kit, 3, "7")).toMatchObject({ ok: true });
    expect(kit.ask("sign", { transactionId, txParams }).withdrawal.slot).toBe("7");
  });

  it("is any other by an operator's yes to what the nodes count", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request(sweep());
    const wish = { chain: "local", address: deposit(3) };
    expect(kit.operate("adopt", { ...wish, slot: "4" }).code).toBe("ACCOUNT_NOT_ADOPTED");
    adopt(kit, 3, "4");
    expect(kit.operate("adopt", { ...wish, slot: "" }).first).toMatchObject({
      account: deposit(3),
      counted: "4",
      adopted: "",
    });
    expect(kit.operate("adopt", { ...wish, slot: "5" }).code).toBe("ACCOUNT_FIRST_SLOT");
    expect(kit.operate("adopt", { ...wish, slot: "4" }).ok).toBe(true);
    expect(kit.ask("sign", { transactionId, txParams }).withdrawal.slot).toBe("4");
  });
});

describe("a sweep", () => {
  it("pays from its address to the hot wallet, which no job names", () => {
    const kit = new Kit().ready();
    const bytes = paid(kit, sweep());
    expect(bytes.from).toBe(deposit(3));
    expect([bytes.to, bytes.nonce]).toEqual([token, 0]);
    expect(bytes.data.slice(0, 74)).toBe(
      `0xa9059cbb${hotWallet.slice(2).toLowerCase().padStart(64, "0")}`,
    );
    const coins = paid(
      kit,
      sweep(4, { currency: "eth", amount: "1.25", orderId: `${deposit(4)}/1` }),
    );
    expect([coins.from, coins.to, coins.value]).toEqual([
      deposit(4),
      hotWallet,
      1_250_000_000_000_000_000n,
    ]);
  });

  it("has the next slot of its own address, beside the hot wallet's", () => {
    const kit = new Kit().ready();
    expect(paid(kit, sweep()).nonce).toBe(0);
    expect(paid(kit, sweep(3, { orderId: `${deposit(3)}/2`, amount: "1" })).nonce).toBe(1);
    expect(kit.pay().slot).toBe("5");
    const adopted = kit
      .records()
      .flatMap((record) => (record.kind === "ADOPTED" ? [[record.account, record.slot]] : []));
    expect(adopted).toEqual([
      [hotWallet, "5"],
      [deposit(3), "0"],
    ]);
  });

  it("of an address that is not the wallet's at that place is refused, and one of its own is not", () => {
    const kit = new Kit().ready();
    const refused = kit.request(sweep(3, { depositAddress: deposit(4) }));
    expect([refused.state, refused.code]).toEqual(["refused", "JOB_DEPOSIT_ADDRESS"]);
    expect(kit.request(sweep(4, { orderId: `${deposit(4)}/1` })).state).toBe("approved");
  });

  it("is refused where config.json does not allow it, and its currency is paid out all the same", () => {
    const { usdt } = settings.policy;
    const policy = { ...settings.policy, usdt: { ...usdt!, sweeps: { allowed: false } } };
    const kit = new Kit({ settings: { ...settings, policy } }).ready();
    expect(kit.request(sweep()).code).toBe("POLICY_SWEEP_OFF");
    expect(kit.request(topUp()).code).toBe("POLICY_SWEEP_OFF");
    expect(kit.pay().state).toBe("released");
    expect(new Kit().ready().request(sweep()).state).toBe("approved");
  });

  it("takes nothing of a day's limit, and no withdrawal's limit of amount holds for it", () => {
    const kit = new Kit().ready();
    const eth = { currency: "eth", orderId: `${deposit(3)}/1` };
    expect(kit.request(sweep(3, { ...eth, amount: "9.9" })).state).toBe("approved");
    expect(kit.request({ currency: "eth", amount: "1" }).state).toBe("approved");
    const { limits } = kit.operate("status").status;
    expect(limits.find(({ currency }) => currency === "eth")?.usedInDay).toBe("1");
    expect(kit.request({ currency: "eth", amount: "2.5" }).code).toBe("POLICY_ABOVE_WITHDRAWAL");
  });

  it("has ceilings of its own for fees", () => {
    const { usdt } = settings.policy;
    const sweeps = { maxFee: "0.0001" };
    const kit = new Kit({
      settings: { ...settings, policy: { ...settings.policy, usdt: { ...usdt!, sweeps } } },
    }).ready();
    const { transactionId } = kit.request(sweep());
    adopt(kit);
    expect(kit.ask("sign", { transactionId, txParams }).code).toBe("POLICY_FEE_ABOVE_WITHDRAWAL");
    const cheap = { ...txParams, maxFeePerGas: "1500000000" };
    expect(kit.ask("sign", { transactionId, txParams: cheap }).ok).toBe(true);
    expect(kit.pay().state).toBe("released");
  });

  it("shows in status how much of the ceilings of sweeps and top-ups is used", () => {
    const kit = new Kit().ready();
    const used = (): unknown =>
      kit.operate("status").status.limits.find(({ currency }) => currency === "usdt")?.sweeps;
    const nothing = { usedFeesInDay: "0", usedTopUpsInDay: "0", usedTopUpFeesInDay: "0" };
    expect(used()).toMatchObject(nothing);
    paid(kit, withSweep(kit, topUp()));
    expect(used()).toMatchObject({
      ...nothing,
      usedTopUpsInDay: "0.002",
      usedTopUpFeesInDay: "0.00013",
    });
    adopt(kit);
    kit.ask("sign", { transactionId: sweepId(`${deposit(3)}/1`), txParams });
    expect(used()).toMatchObject({
      usedFeesInDay: "0.00013",
      usedTopUpsInDay: "0.002",
      usedTopUpFeesInDay: "0.00013",
    });
    kit.now += 24 * 3_600_000;
    expect(used()).toMatchObject(nothing);
  });

  it("waits for the first counter of its address, which enough nodes must count", () => {
    const kit = new Kit().ready();
    expect(adopt(kit).code).toBe("ACCOUNT_NOT_ADOPTED");
    const { transactionId } = kit.request(sweep(3, { depositNext: "7" }));
    expect(kit.ask("sign", { transactionId, txParams }).code).toBe("ACCOUNT_NOT_ADOPTED");
    kit.ask("account", { chain: "local", slot: "5", quorum: 2 });
    expect(adopt(kit, 3, "7", 1).code).toBe("ACCOUNT_FIRST_SLOT");
    expect(adopt(kit, 3, "7", 2).account).toMatchObject({
      address: deposit(3),
      nextSlot: "7",
      deposit: true,
    });
    expect(kit.ask("sign", { transactionId, txParams }).withdrawal).toMatchObject({
      account: deposit(3),
      slot: "7",
    });
    // An account that has given a slot counts on from there; another first slot changes nothing.
    expect(adopt(kit, 3, "0").account.nextSlot).toBe("8");
  });

  it("is signed once after a crash at any moment, with the same bytes", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request(sweep());
    adopt(kit);
    kit.send("sign", { transactionId, txParams });
    kit.crash();
    kit.handshake();
    if (kit.show(transactionId).slot === "") kit.ask("sign", { transactionId, txParams });
    kit.acknowledge();
    const intents = kit.records().filter((record) => record.kind === "INTENT");
    expect(intents).toMatchObject([{ account: deposit(3), slot: "0", address: hotWallet }]);
    expect(kit.left.size).toBe(1);
  });

  it("gets a replacement with a higher fee on its own slot, and a cancel goes to its own address", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request(sweep());
    adopt(kit);
    kit.ask("sign", { transactionId, txParams });
    kit.acknowledge();
    kit.ask("replace", { transactionId, above: 1, txParams });
    kit.acknowledge();
    const made = kit.show(transactionId).attempts.map(({ raw }) => Transaction.from(raw ?? ""));
    expect(made.map(({ from, nonce }) => [from, nonce])).toEqual([
      [deposit(3), 0],
      [deposit(3), 0],
    ]);
    const wish = {
      transactionId,
      act: "cancel",
      txParams: { gasLimit: "", maxFeePerGas: "", maxPriorityFeePerGas: "" },
    };
    const { plan } = kit.operate("manualReplacement", { ...wish, plan: null }) as unknown as {
      plan: object;
    };
    expect(kit.operate("manualReplacement", { ...wish, plan }).ok).toBe(true);
    kit.acknowledge();
    const cancel = Transaction.from(kit.show(transactionId).attempts.at(-1)?.raw ?? "");
    expect([cancel.from, cancel.to, cancel.nonce, cancel.value]).toEqual([
      deposit(3),
      deposit(3),
      0,
      0n,
    ]);
  });

  it("shows who else uses its address: an alarm, then a lock", () => {
    const kit = new Kit().ready();
    paid(kit, sweep());
    const count = (slot: string) =>
      kit.ask("account", { chain: "local", slot, quorum: 2, address: deposit(3) });
    expect(count("1").ok).toBe(true);
    count("2");
    kit.now += 61_000;
    expect(count("2").code).toBe("SIGNER_LOCKED");
    expect(kit.records().map(({ kind }) => kind)).toContain("LOCKED");
  });
});

describe("a top-up", () => {
  it("brings the coin that pays the fees from the hot wallet to the address", () => {
    const kit = new Kit().ready();
    const bytes = paid(kit, withSweep(kit, topUp()));
    expect([bytes.from, bytes.to, bytes.value, bytes.nonce, bytes.data]).toEqual([
      hotWallet,
      deposit(3),
      2_000_000_000_000_000n,
      5,
      "0x",
    ]);
  });

  it("is never sent twice for one sweep, whatever comes again", () => {
    const kit = new Kit().ready();
    paid(kit, withSweep(kit, topUp()));
    kit.request(topUp());
    kit.request(topUp(3, { amount: "0.003" }));
    const repeated = kit
      .records()
      .flatMap((record) => (record.kind === "REPEATED" ? [record.code] : []));
    expect(repeated).toEqual(["", "WITHDRAWAL_EXISTS_DIFFERENT_AMOUNT"]);
    expect(kit.records().filter(({ kind }) => kind === "INTENT")).toHaveLength(1);
  });

  it("whose id is not that of its sweep is refused, with an alarm by its code", () => {
    const kit = new Kit().ready();
    expect(kit.request(topUp(3, { transactionId: "ab".repeat(16) })).code).toBe("JOB_ID_MISMATCH");
    expect(kit.request(withSweep(kit, topUp())).state).toBe("approved");
  });

  it("is refused unless the open sweep that it is for stands in the ledger, and approved behind it", () => {
    const kit = new Kit().ready();
    expect(kit.request(topUp()).code).toBe("JOB_TOPUP_SWEEP");
    const far = 2_000_000_000;
    expect(kit.request(topUp(far, { orderId: sweepId(`${deposit(far)}/1`) })).code).toBe(
      "JOB_TOPUP_SWEEP",
    );
    kit.request(sweep(4, { orderId: `${deposit(4)}/1` }));
    const ofFour = (change: Partial<Job>) =>
      topUp(4, { orderId: sweepId(`${deposit(4)}/1`), ...change });
    const elsewhere = { depositIndex: 5, depositAddress: deposit(5) };
    expect(kit.request(ofFour(elsewhere)).code).toBe("JOB_TOPUP_SWEEP");
    const { transactionId: withdrawal } = kit.request({ currency: "usdt", amount: "1" });
    expect(kit.request(topUp(4, { orderId: withdrawal })).code).toBe("JOB_TOPUP_SWEEP");
    const again = sweep(6, { orderId: `${deposit(6)}/1` });
    kit.request(again);
    expect(kit.request(topUp(6, { orderId: sweepId(`${deposit(6)}/1`) })).state).toBe("approved");
    expect(kit.records().filter(({ kind }) => kind === "INTENT")).toHaveLength(0);
  });

  it("that is refused ends its sweep with it, which the gateway may then order again", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request(sweep());
    expect(kit.request(topUp(3, { amount: "900" })).code).toBe("POLICY_ABOVE_WITHDRAWAL");
    expect(kit.show(transactionId)).toMatchObject({
      state: "refused",
      code: "POLICY_ABOVE_WITHDRAWAL",
    });
    const next = sweep(3, { orderId: `${deposit(3)}/2` });
    expect(kit.request(next).state).toBe("approved");
    expect(kit.request(topUp(3, { orderId: sweepId(`${deposit(3)}/2`) })).state).toBe("approved");
  });

  it("is held to a ceiling for one and for a day", () => {
    const { usdt } = settings.policy;
    const sweeps = { maxTopUp: "0.003", maxTopUpPerDay: "0.005" };
    const kit = new Kit({
      settings: { ...settings, policy: { ...settings.policy, usdt: { ...usdt!, sweeps } } },
    }).ready();
    const ask = (index: number, amount: string) =>
      kit.request(
        withSweep(kit, topUp(index, { orderId: sweepId(`${deposit(index)}/1`), amount })),
      );
    expect(ask(1, "0.0031").code).toBe("POLICY_ABOVE_WITHDRAWAL");
    expect(ask(2, "0.003").state).toBe("approved");
    expect(ask(4, "0.0021").code).toBe("POLICY_ABOVE_DAY");
    expect(ask(5, "0.002").state).toBe("approved");
    kit.now += 86_400_001;
    kit.handshake();
    expect(ask(6, "0.003").state).toBe("approved");
  });
});
