/**
 * Sweeps and top-ups at the signer: the wallet gives both ends again, each payment has a slot of
 * its paying account and ceilings of its own, and a sweep has one top-up.
 */
import { Transaction } from "ethers";
import { describe, expect, it } from "vitest";
import { depositsOf } from "../../agent/signer/policy/own.ts";
import { families } from "../../chains/families.ts";
import { facts, hot, merchant, Rig, settings, token, vault } from "../../lab/rig/signer-rig.ts";
import { transactionIdOf } from "../../protocol/identity.ts";
import type { Job } from "../../protocol/messages.ts";

const xpub = depositsOf(vault.accounts, "evm");
const deposit = (index: number): string => families.evm.depositAddress(xpub, index);
const sweepId = (orderId: string): string => transactionIdOf({ merchant, operation: "sweep", orderId });

function sweep(index = 3, change: Partial<Job> = {}): Partial<Job> {
  const orderId = change.orderId ?? `${deposit(index)}/1`;
  return {
    ...{ mode: "sweep", transactionId: sweepId(orderId), orderId, currency: "usdt", amount: "12.5", address: "" },
    ...{ depositIndex: index, depositAddress: deposit(index) },
    ...change,
  };
}

function topUp(index = 3, change: Partial<Job> = {}): Partial<Job> {
  const orderId = change.orderId ?? sweepId(`${deposit(index)}/1`);
  return {
    ...sweep(index),
    ...{ mode: "topup", transactionId: transactionIdOf({ merchant, operation: "topup", orderId }), orderId, amount: "0.002" },
    ...change,
  };
}

const adopt = (rig: Rig, index = 3, slot = "0", witnesses = 2) =>
  rig.ask("adopt", { chain: "local", slot, witnesses, address: deposit(index) });

/** A sweep's job, followed by the job of its top-up. */
function withSweep(rig: Rig, job: Partial<Job>): Partial<Job> {
  const index = job.depositIndex ?? 3;
  rig.request(sweep(index, { orderId: `${deposit(index)}/1` }));
  return job;
}

/** From request to released bytes, read by independent code. */
function paid(rig: Rig, job: Partial<Job>): Transaction {
  const view = rig.request(job);
  if (job.mode === "sweep") adopt(rig, job.depositIndex);
  rig.ask("sign", { transactionId: view.transactionId, facts });
  const [step] = rig.acknowledge().withdrawals;
  return Transaction.from(step?.versions[0]?.raw ?? "");
}

/** Counters above the chain's: BoltzExchange/boltz-backend 1201, leather-io/extension 5934. */
describe("the first slot of an address for deposits", () => {
  it("the first slot of an address for deposits is the first slot alone on the courier's word, whatever number of nodes it names", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request(sweep());
    expect(adopt(rig, 3, "1000000", 8)).toMatchObject({ code: "ACCOUNT_FIRST_SLOT" });
    expect(rig.ask("sign", { transactionId, facts }).code).toBe("ACCOUNT_NOT_ADOPTED");
    expect(adopt(rig)).toMatchObject({ ok: true });
    expect(rig.ask("sign", { transactionId, facts }).withdrawal.slot).toBe("0");
  });

  it("the first slot of an address for deposits is another where the gateway's job says the same number as the nodes", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request(sweep(3, { depositNext: "7" }));
    expect(adopt(rig, 3, "0")).toMatchObject({ code: "ACCOUNT_FIRST_SLOT" });
    expect(adopt(rig, 3, "8")).toMatchObject({ code: "ACCOUNT_FIRST_SLOT" });
    expect(adopt(rig, 3, "7")).toMatchObject({ ok: true });
    expect(rig.ask("sign", { transactionId, facts }).withdrawal.slot).toBe("7");
  });

  it("the first slot of an address for deposits is any other by a person's yes to what the nodes count", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request(sweep());
    const wish = { chain: "local", address: deposit(3) };
    expect(rig.operate("adopt", { ...wish, slot: "4" }).code).toBe("ACCOUNT_NOT_ADOPTED");
    adopt(rig, 3, "4");
    expect(rig.operate("adopt", { ...wish, slot: "" }).first).toMatchObject({ account: deposit(3), counted: "4", adopted: "" });
    expect(rig.operate("adopt", { ...wish, slot: "5" }).code).toBe("ACCOUNT_FIRST_SLOT");
    expect(rig.operate("adopt", { ...wish, slot: "4" }).ok).toBe(true);
    expect(rig.ask("sign", { transactionId, facts }).withdrawal.slot).toBe("4");
  });
});

describe("a sweep", () => {
  it("a sweep pays from its address to the paying one, which no job names", () => {
    const rig = new Rig().ready();
    const bytes = paid(rig, sweep());
    expect(bytes.from).toBe(deposit(3));
    expect([bytes.to, bytes.nonce]).toEqual([token, 0]);
    expect(bytes.data.slice(0, 74)).toBe(`0xa9059cbb${hot.slice(2).toLowerCase().padStart(64, "0")}`);
    const coins = paid(rig, sweep(4, { currency: "eth", amount: "1.25", orderId: `${deposit(4)}/1` }));
    expect([coins.from, coins.to, coins.value]).toEqual([deposit(4), hot, 1_250_000_000_000_000_000n]);
  });

  it("a sweep has the next slot of its own address, beside the paying account's", () => {
    const rig = new Rig().ready();
    expect(paid(rig, sweep()).nonce).toBe(0);
    expect(paid(rig, sweep(3, { orderId: `${deposit(3)}/2`, amount: "1" })).nonce).toBe(1);
    expect(rig.pay().slot).toBe("5");
    const adopted = rig.records().flatMap((record) => (record.kind === "ADOPTED" ? [[record.account, record.slot]] : []));
    expect(adopted).toEqual([
      [hot, "5"],
      [deposit(3), "0"],
    ]);
  });

  it("a sweep of an address that is not the wallet's at that place is refused, and one of its own is not", () => {
    const rig = new Rig().ready();
    const refused = rig.request(sweep(3, { depositAddress: deposit(4) }));
    expect([refused.state, refused.code]).toEqual(["refused", "JOB_DEPOSIT_ADDRESS"]);
    expect(rig.request(sweep(4, { orderId: `${deposit(4)}/1` })).state).toBe("approved");
  });

  it("a sweep is refused where config.json does not allow it, and its currency is paid out all the same", () => {
    const { usdt } = settings.policy;
    const policy = { ...settings.policy, usdt: { ...usdt!, sweeps: { allowed: false } } };
    const rig = new Rig({ settings: { ...settings, policy } }).ready();
    expect(rig.request(sweep()).code).toBe("POLICY_SWEEP_OFF");
    expect(rig.request(topUp()).code).toBe("POLICY_SWEEP_OFF");
    expect(rig.pay().state).toBe("released");
    expect(new Rig().ready().request(sweep()).state).toBe("approved");
  });

  it("a sweep takes nothing of a day's limit, and no withdrawal's limit of amount holds for it", () => {
    const rig = new Rig().ready();
    const eth = { currency: "eth", orderId: `${deposit(3)}/1` };
    expect(rig.request(sweep(3, { ...eth, amount: "9.9" })).state).toBe("approved");
    expect(rig.request({ currency: "eth", amount: "1" }).state).toBe("approved");
    const { limits } = rig.operate("status").status;
    expect(limits.find(({ currency }) => currency === "eth")?.usedInDay).toBe("1");
    expect(rig.request({ currency: "eth", amount: "2.5" }).code).toBe("POLICY_ABOVE_WITHDRAWAL");
  });

  it("a sweep has ceilings of its own for fees", () => {
    const { usdt } = settings.policy;
    const sweeps = { maxFee: "0.0001" };
    const rig = new Rig({ settings: { ...settings, policy: { ...settings.policy, usdt: { ...usdt!, sweeps } } } }).ready();
    const { transactionId } = rig.request(sweep());
    adopt(rig);
    expect(rig.ask("sign", { transactionId, facts }).code).toBe("POLICY_FEE_ABOVE_WITHDRAWAL");
    const cheap = { ...facts, maxFeePerGas: "1500000000" };
    expect(rig.ask("sign", { transactionId, facts: cheap }).ok).toBe(true);
    expect(rig.pay().state).toBe("released");
  });

  it("a sweep shows in status how much of the ceilings of sweeps and top-ups is used", () => {
    const rig = new Rig().ready();
    const used = (): unknown => rig.operate("status").status.limits.find(({ currency }) => currency === "usdt")?.sweeps;
    const nothing = { usedFeesInDay: "0", usedTopUpsInDay: "0", usedTopUpFeesInDay: "0" };
    expect(used()).toMatchObject(nothing);
    paid(rig, withSweep(rig, topUp()));
    expect(used()).toMatchObject({ ...nothing, usedTopUpsInDay: "0.002", usedTopUpFeesInDay: "0.00013" });
    adopt(rig);
    rig.ask("sign", { transactionId: sweepId(`${deposit(3)}/1`), facts });
    expect(used()).toMatchObject({ usedFeesInDay: "0.00013", usedTopUpsInDay: "0.002", usedTopUpFeesInDay: "0.00013" });
    rig.now += 24 * 3_600_000;
    expect(used()).toMatchObject(nothing);
  });

  it("a sweep waits for the first counter of its address, which enough nodes must count", () => {
    const rig = new Rig().ready();
    expect(adopt(rig).code).toBe("ACCOUNT_NOT_ADOPTED");
    const { transactionId } = rig.request(sweep(3, { depositNext: "7" }));
    expect(rig.ask("sign", { transactionId, facts }).code).toBe("ACCOUNT_NOT_ADOPTED");
    rig.ask("account", { chain: "local", slot: "5", witnesses: 2 });
    expect(adopt(rig, 3, "7", 1).code).toBe("ACCOUNT_FIRST_SLOT");
    expect(adopt(rig, 3, "7", 2).account).toMatchObject({ address: deposit(3), nextSlot: "7", deposit: true });
    expect(rig.ask("sign", { transactionId, facts }).withdrawal).toMatchObject({ account: deposit(3), slot: "7" });
    // An account that has given a slot counts on from there; another first slot changes nothing.
    expect(adopt(rig, 3, "0").account.nextSlot).toBe("8");
  });

  it("a sweep is signed once after a crash at any moment, with the same bytes", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request(sweep());
    adopt(rig);
    rig.send("sign", { transactionId, facts });
    rig.crash();
    rig.greet();
    if (rig.show(transactionId).slot === "") rig.ask("sign", { transactionId, facts });
    rig.acknowledge();
    const intents = rig.records().filter((record) => record.kind === "INTENT");
    expect(intents).toMatchObject([{ account: deposit(3), slot: "0", address: hot }]);
    expect(rig.left.size).toBe(1);
  });

  it("a sweep gets a dearer version on its own slot, and a cancel goes to its own address", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request(sweep());
    adopt(rig);
    rig.ask("sign", { transactionId, facts });
    rig.acknowledge();
    rig.ask("replace", { transactionId, above: 1, facts });
    rig.acknowledge();
    const made = rig.show(transactionId).versions.map(({ raw }) => Transaction.from(raw ?? ""));
    expect(made.map(({ from, nonce }) => [from, nonce])).toEqual([
      [deposit(3), 0],
      [deposit(3), 0],
    ]);
    const wish = { transactionId, act: "cancel", facts: { gasLimit: "", maxFeePerGas: "", maxPriorityFeePerGas: "" } };
    const { plan } = rig.operate("unstick", { ...wish, plan: null }) as unknown as { plan: object };
    expect(rig.operate("unstick", { ...wish, plan }).ok).toBe(true);
    rig.acknowledge();
    const cancel = Transaction.from(rig.show(transactionId).versions.at(-1)?.raw ?? "");
    expect([cancel.from, cancel.to, cancel.nonce, cancel.value]).toEqual([deposit(3), deposit(3), 0, 0n]);
  });

  it("a sweep shows who else uses its address: an alarm, then a lock", () => {
    const rig = new Rig().ready();
    paid(rig, sweep());
    const count = (slot: string) => rig.ask("account", { chain: "local", slot, witnesses: 2, address: deposit(3) });
    expect(count("1").ok).toBe(true);
    count("2");
    rig.now += 61_000;
    expect(count("2").code).toBe("SIGNER_LOCKED");
    expect(rig.records().map(({ kind }) => kind)).toContain("LOCKED");
  });
});

describe("a top-up", () => {
  it("a top-up brings the coin that pays the fees from the paying account to the address", () => {
    const rig = new Rig().ready();
    const bytes = paid(rig, withSweep(rig, topUp()));
    expect([bytes.from, bytes.to, bytes.value, bytes.nonce, bytes.data]).toEqual([
      hot,
      deposit(3),
      2_000_000_000_000_000n,
      5,
      "0x",
    ]);
  });

  it("a top-up is never sent twice for one sweep, whatever comes again", () => {
    const rig = new Rig().ready();
    paid(rig, withSweep(rig, topUp()));
    rig.request(topUp());
    rig.request(topUp(3, { amount: "0.003" }));
    const repeated = rig.records().flatMap((record) => (record.kind === "REPEATED" ? [record.code] : []));
    expect(repeated).toEqual(["", "WITHDRAWAL_EXISTS_DIFFERENT_AMOUNT"]);
    expect(rig.records().filter(({ kind }) => kind === "INTENT")).toHaveLength(1);
  });

  it("a top-up whose id is not that of its sweep is refused, with an alarm by its code", () => {
    const rig = new Rig().ready();
    expect(rig.request(topUp(3, { transactionId: "ab".repeat(16) })).code).toBe("JOB_ID_MISMATCH");
    expect(rig.request(withSweep(rig, topUp())).state).toBe("approved");
  });

  it("a top-up is refused unless the open sweep that it is for stands in the ledger, and approved behind it", () => {
    const rig = new Rig().ready();
    expect(rig.request(topUp()).code).toBe("JOB_TOPUP_SWEEP");
    const far = 2_000_000_000;
    expect(rig.request(topUp(far, { orderId: sweepId(`${deposit(far)}/1`) })).code).toBe("JOB_TOPUP_SWEEP");
    rig.request(sweep(4, { orderId: `${deposit(4)}/1` }));
    const ofFour = (change: Partial<Job>) => topUp(4, { orderId: sweepId(`${deposit(4)}/1`), ...change });
    const elsewhere = { depositIndex: 5, depositAddress: deposit(5) };
    expect(rig.request(ofFour(elsewhere)).code).toBe("JOB_TOPUP_SWEEP");
    const { transactionId: withdrawal } = rig.request({ currency: "usdt", amount: "1" });
    expect(rig.request(topUp(4, { orderId: withdrawal })).code).toBe("JOB_TOPUP_SWEEP");
    const again = sweep(6, { orderId: `${deposit(6)}/1` });
    rig.request(again);
    expect(rig.request(topUp(6, { orderId: sweepId(`${deposit(6)}/1`) })).state).toBe("approved");
    expect(rig.records().filter(({ kind }) => kind === "INTENT")).toHaveLength(0);
  });

  it("a top-up that is refused ends its sweep with it, which the gateway may then order again", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request(sweep());
    expect(rig.request(topUp(3, { amount: "900" })).code).toBe("POLICY_ABOVE_WITHDRAWAL");
    expect(rig.show(transactionId)).toMatchObject({ state: "refused", code: "POLICY_ABOVE_WITHDRAWAL" });
    const next = sweep(3, { orderId: `${deposit(3)}/2` });
    expect(rig.request(next).state).toBe("approved");
    expect(rig.request(topUp(3, { orderId: sweepId(`${deposit(3)}/2`) })).state).toBe("approved");
  });

  it("a top-up is held to a ceiling for one and for a day", () => {
    const { usdt } = settings.policy;
    const sweeps = { maxTopUp: "0.003", maxTopUpPerDay: "0.005" };
    const rig = new Rig({ settings: { ...settings, policy: { ...settings.policy, usdt: { ...usdt!, sweeps } } } }).ready();
    const ask = (index: number, amount: string) =>
      rig.request(withSweep(rig, topUp(index, { orderId: sweepId(`${deposit(index)}/1`), amount })));
    expect(ask(1, "0.0031").code).toBe("POLICY_ABOVE_WITHDRAWAL");
    expect(ask(2, "0.003").state).toBe("approved");
    expect(ask(4, "0.0021").code).toBe("POLICY_ABOVE_DAY");
    expect(ask(5, "0.002").state).toBe("approved");
    rig.now += 86_400_001;
    rig.greet();
    expect(ask(6, "0.003").state).toBe("approved");
  });
});
