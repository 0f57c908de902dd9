/**
 * The state machine against its own drawing; tokens and versions over the signer's verbs; and a
 * state folded from any checkpoint.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { noPast } from "../../agent/ledger/past.ts";
import { readRules } from "../../agent/signer/policy/rules.ts";
import { Core, type CoreSnapshot } from "../../agent/signer/state/core.ts";
import { isFinal, isUnfinished, type State, type Step, states, step } from "../../agent/signer/state/machine.ts";
import { Seeded, seedsOfRun } from "../../lab/rig/seeded.ts";
import { facts, hot, own, Rig, settings, shop } from "../../lab/rig/signer-rig.ts";

const lines = readFileSync(new URL("../../agent/signer/state/machine.ts", import.meta.url), "utf8").split("\n");

describe("the drawn machine", () => {
  const start = lines.findIndex((line) => line.startsWith(" * state "));
  const cells = (line: string): string[] => line.slice(3).trim().split(/\s+/);
  const [, ...steps] = cells(lines[start] ?? "");
  const rows = lines.slice(start + 1, start + 1 + states.length).map(cells);

  it("the drawn machine has a row for every state, in order", () => {
    expect(rows.map((row) => row[0])).toEqual([...states]);
    expect(steps).toHaveLength(13);
  });

  it.each(rows.map((row) => [row[0] as State, row.slice(1)] as const))(
    "the drawn machine goes from %s where the drawing goes",
    (state, drawn) => {
      expect(steps.map((by) => step(state, by as Step) ?? ".")).toEqual(drawn);
    },
  );

  it("the drawn machine ends where no step leads to anything but an end, and counts as unfinished what has a token", () => {
    const ends = ["paid", "reverted", "lost", "cancelled", "refused", "expired", "settled"];
    for (const [state, ...drawn] of rows) {
      expect(isFinal(state as State)).toBe(drawn.every((cell) => cell === "." || ends.includes(cell)));
      const bound = ["intent", "signed", "released", "broadcast", "included", "quarantined"];
      expect(isUnfinished(state as State)).toBe(bound.includes(state!));
    }
  });
});

describe("tokens", () => {
  it("tokens are adopted, and given out in order without gaps", () => {
    const rig = new Rig();
    rig.greet();
    const { transactionId } = rig.request();
    expect(rig.ask("sign", { transactionId, facts }).code).toBe("ACCOUNT_NOT_ADOPTED");
    expect(rig.begin("7", 1).account).toEqual({
      ...{ chain: "local", network: "eip155:31337", address: hot, nextSlot: "7" },
    });
    expect(rig.begin("7", 1).ok).toBe(true);
    expect(rig.ask("adopt", { chain: "elsewhere", slot: "8", witnesses: 9 }).code).toBe("ACCOUNT_NOT_ADOPTED");
    expect(rig.kinds().filter((kind) => kind === "ADOPTED")).toHaveLength(1);
    const nonces = [rig.ask("sign", { transactionId, facts }).withdrawal.slot];
    for (let i = 0; i < 3; i++)
      nonces.push(rig.ask("sign", { transactionId: rig.request().transactionId, facts }).withdrawal.slot);
    expect(nonces).toEqual(["7", "8", "9", "10"]);
    expect(rig.begin("7", 1).account.nextSlot).toBe("11");
  });

  it("tokens begin elsewhere when that is said before the first is bound, and never after", () => {
    const rig = new Rig().ready();
    const adopt = (nonce: string) => rig.begin(nonce);
    expect(adopt("9007199254740991").account.nextSlot).toBe("9007199254740991");
    rig.start();
    rig.greet();
    expect(adopt("8").account.nextSlot).toBe("8");
    expect(rig.statements.length).toBe(0);
    rig.hear();
    const entries = rig.statements.flatMap((statement) => statement.entries);
    expect(entries.map((entry) => (entry.kind === "adopted" ? entry.slot : entry.kind))).toEqual(["5", "9007199254740991", "8"]);
    const { transactionId } = rig.request();
    expect(rig.ask("sign", { transactionId, facts }).withdrawal.slot).toBe("8");
    for (const nonce of ["9", "7"]) expect(adopt(nonce)).toMatchObject({ code: "ACCOUNT_ADOPTED", detail: "began at 8" });
    expect(rig.kinds().filter((kind) => kind === "ADOPTED")).toHaveLength(3);
  });

  it("tokens above nothing begin with a person's yes to the nodes' count, and with no other number", () => {
    const rig = new Rig();
    rig.greet();
    const first = () => rig.operate("adopt", { chain: "local", slot: "" }).first;
    const network = "eip155:31337";
    expect(first()).toEqual({
      ...{ chain: "local", network, account: hot, adopted: "", isBegun: false, counted: "", witnesses: 0 },
    });
    expect(rig.operate("adopt", { chain: "local", slot: "1000" }).code).toBe("ACCOUNT_NOT_ADOPTED");
    expect(rig.ask("adopt", { chain: "local", slot: "1000", witnesses: 9 }).code).toBe("ACCOUNT_FIRST_SLOT");
    expect(first()).toMatchObject({ adopted: "", counted: "1000", witnesses: 9 });
    expect(rig.operate("adopt", { chain: "local", slot: "7" }).code).toBe("ACCOUNT_FIRST_SLOT");
    expect(rig.operate("adopt", { chain: "elsewhere", slot: "7" }).code).toBe("CHAIN_UNKNOWN");
    expect(rig.kinds()).toEqual(["PAIRED"]);
    expect(rig.ask("hello").accounts[0]!.nextSlot).toBe("");
    rig.ask("adopt", { chain: "local", slot: "7", witnesses: 2 });
    expect(rig.operate("adopt", { chain: "local", slot: "7" }).first).toMatchObject({ adopted: "7", isBegun: false });
    expect(rig.operate("adopt", { chain: "local", slot: "7" }).ok).toBe(true);
    rig.ask("sign", { transactionId: rig.request().transactionId, facts });
    expect(first()).toMatchObject({ adopted: "7", isBegun: true });
    expect(rig.kinds().filter((kind) => kind === "ADOPTED")).toHaveLength(1);
  });

  it("tokens begin at nothing on the courier's word alone", () => {
    const rig = new Rig();
    rig.greet();
    expect(rig.ask("adopt", { chain: "local", slot: "0", witnesses: 2 }).account.nextSlot).toBe("0");
  });

  it("tokens are not begun further on than an earlier run said: what lies between may be this ledger's own, from before a restore", () => {
    const rig = new Rig().ready();
    const adopt = (nonce: string) => rig.begin(nonce);
    rig.crash();
    rig.greet();
    expect(adopt("7")).toMatchObject({ code: "ACCOUNT_ADOPTED", detail: "began at 5" });
    expect(adopt("5").account.nextSlot).toBe("5");
    // Too high a first slot would leave a gap permanently, and a lower one pays nothing again; nor
    // does this way raise it.
    expect(adopt("4").account.nextSlot).toBe("4");
    expect(adopt("6")).toMatchObject({ code: "ACCOUNT_ADOPTED", detail: "began at 4" });
  });

  it("tokens begin elsewhere a hundred times in one run at most", () => {
    const rig = new Rig().ready();
    const adopt = (nonce: number) => rig.begin(`${nonce}`);
    for (let i = 0; i < 99; i++) expect(adopt(6 + i).ok).toBe(true);
    expect(adopt(5).code).toBe("ACCOUNT_ADOPTED");
    expect(adopt(104).ok).toBe(true);
  });

  it("tokens begin only on the word of at least one witness, within what is a number, once the gateway has greeted", () => {
    const rig = new Rig();
    const first = { chain: "local", slot: "9007199254740991", witnesses: 1 };
    expect(rig.ask("adopt", first).code).toBe("SIGNER_NOT_GREETED");
    expect(rig.ask("account", first).code).toBe("SIGNER_NOT_GREETED");
    expect(rig.kinds()).toEqual(["PAIRED"]);
    rig.greet();
    expect(rig.ask("adopt", { ...first, witnesses: 0 }).code).toBe("JSON_SHAPE");
    expect(rig.ask("adopt", { ...first, slot: "9007199254740992" })).toMatchObject({
      code: "ACCOUNT_FIRST_SLOT",
      detail: "no account comes so far",
    });
    expect(rig.kinds()).toEqual(["PAIRED"]);
    expect(rig.ask("adopt", first).code).toBe("ACCOUNT_FIRST_SLOT");
    expect(rig.kinds()).toEqual(["PAIRED"]);
    expect(rig.begin(first.slot, 1).ok).toBe(true);
    expect(rig.ask("account", first).ok).toBe(true);
  });

  it("tokens stay with their withdrawal, whatever facts come with a second request", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    const { withdrawal } = rig.ask("sign", { transactionId, facts });
    const again = rig.ask("sign", { transactionId, facts: { ...facts, maxFeePerGas: "9000000000" } });
    expect(again.withdrawal).toEqual(withdrawal);
    expect(rig.kinds().filter((kind) => kind === "INTENT")).toHaveLength(1);
  });

  it("tokens are not bound by a request that is refused", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    for (const bad of [
      { ...facts, gasLimit: "20999" },
      { ...facts, maxPriorityFeePerGas: "2000000001" },
      { ...facts, maxFeePerGas: "0", maxPriorityFeePerGas: "0" },
    ]) {
      expect(rig.ask("sign", { transactionId, facts: bad }).code).toBe("TRANSACTION_FIELD");
    }
    for (const bad of ["-1", "1.5", "01", "", 5, "9".repeat(40)]) {
      expect(rig.ask("sign", { transactionId, facts: { ...facts, gasLimit: bad } }).code).toBe("JSON_SHAPE");
    }
    expect(rig.ask("sign", { transactionId: "00".repeat(16), facts }).code).toBe("WITHDRAWAL_UNKNOWN");
    expect(rig.ask("sign", { transactionId, facts }).withdrawal.slot).toBe("5");
  });

  it("tokens are at most 512 of an account that no block holds", () => {
    const rig = new Rig().ready();
    const ids: string[] = [];
    for (let i = 0; i < 513; i++) ids.push(rig.request({ amount: "0.01" }).transactionId);
    for (const transactionId of ids.slice(0, 512)) rig.send("sign", { transactionId, facts });
    rig.settle();
    expect(rig.ask("sign", { transactionId: ids[512], facts })).toMatchObject({ code: "ACCOUNT_FULL" });
    rig.acknowledge();
    const first = rig.show(ids[0]!);
    const { txHash } = first.versions[0]!;
    const observe = (stage: string, outcome = "") =>
      rig.ask("observed", { transactionId: ids[0], stage, outcome, txHash, block: 1 });
    const fits = () => rig.ask("sign", { transactionId: ids[512], facts }).ok;
    observe("broadcast");
    expect(fits()).toBe(false);
    observe("included");
    observe("broadcast");
    expect(fits()).toBe(false);
    observe("included");
    observe("final", "paid");
    expect(rig.ask("sign", { transactionId: ids[512], facts }).withdrawal.slot).toBe("517");
    const last = rig.request({ amount: "0.01" }).transactionId;
    expect(rig.ask("sign", { transactionId: last, facts }).code).toBe("ACCOUNT_FULL");
  });
});

describe("a replacement", () => {
  const released = () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.pay();
    return { rig, transactionId };
  };
  const cheap = { gasLimit: "65000", maxFeePerGas: "1", maxPriorityFeePerGas: "1" };

  it("a replacement keeps token, destination and amount, and raises both fees by an eighth at least", () => {
    const { rig, transactionId } = released();
    const { withdrawal } = rig.ask("replace", { transactionId, above: 1, facts: cheap });
    expect(withdrawal).toMatchObject({ state: "released", slot: "5" });
    expect(withdrawal.versions.map((version) => version.facts?.maxFeePerGas)).toEqual(["2000000000", "2250000000"]);
    expect(withdrawal.versions.map((version) => version.facts?.maxPriorityFeePerGas)).toEqual(["1000000000", "1125000000"]);
    expect(withdrawal.versions[1]!.raw).toBeUndefined();
    const [first, second] = rig.records().filter((record) => record.kind === "INTENT");
    expect(second).toMatchObject({ slot: "5", address: shop, amountUnits: "1500000", version: 2 });
    expect(second!.digest).not.toBe(first!.digest);
    expect(rig.acknowledge().withdrawals[0]!.versions[1]!.raw).toMatch(/^0x02/);
  });

  it("a replacement rounds up, and raises a tip of nothing", () => {
    const rig = new Rig().ready();
    const { transactionId } = rig.request();
    rig.ask("sign", { transactionId, facts: { gasLimit: "65000", maxFeePerGas: "9", maxPriorityFeePerGas: "0" } });
    rig.acknowledge();
    const { versions } = rig.ask("replace", {
      transactionId,
      above: 1,
      facts: { ...cheap, maxPriorityFeePerGas: "0" },
    }).withdrawal;
    expect(versions[1]).toMatchObject({ facts: { maxFeePerGas: "11", maxPriorityFeePerGas: "1" } });
  });

  it("a replacement comes half a minute after the one before, for everybody", () => {
    const { rig, transactionId } = released();
    const replace = (above: number) => rig.askAtOnce("replace", { transactionId, above, facts: cheap });
    expect(replace(1).code).toBe("WITHDRAWAL_TOO_SOON");
    rig.now += 29_999;
    for (let again = 0; again < 20; again += 1) expect(replace(1).code).toBe("WITHDRAWAL_TOO_SOON");
    expect(rig.show(transactionId).versions).toHaveLength(1);
    rig.now += 1;
    expect(replace(1).ok).toBe(true);
    rig.acknowledge();
    expect(replace(2).code).toBe("WITHDRAWAL_TOO_SOON");
  });

  it("a replacement leaves a person six of the twenty versions, however a courier hurries", () => {
    const { rig, transactionId } = released();
    for (let above = 1; above < 40; above += 1) {
      rig.ask("replace", { transactionId, above, facts: cheap });
      rig.acknowledge();
    }
    expect(rig.show(transactionId).versions).toHaveLength(14);
  });

  it("a replacement has no tip above the ceiling, but for the least step above one that a person named", () => {
    const { rig, transactionId } = released();
    const tipped = (gwei: number) => ({ ...cheap, maxFeePerGas: "60000000000", maxPriorityFeePerGas: `${gwei}000000000` });
    expect(rig.ask("replace", { transactionId, above: 1, facts: tipped(51) }).code).toBe("POLICY_TIP_ABOVE_MAX");
    expect(rig.ask("replace", { transactionId, above: 1, facts: tipped(50) }).ok).toBe(true);
    rig.acknowledge();
    // An eighth above fifty is above the ceiling.
    expect(rig.ask("replace", { transactionId, above: 2, facts: cheap }).code).toBe("POLICY_TIP_ABOVE_MAX");
    expect(rig.show(transactionId).versions).toHaveLength(2);
  });

  it("a replacement asked twice is the one already made; one of a version that is not there yet is refused", () => {
    const { rig, transactionId } = released();
    expect(rig.ask("replace", { transactionId, above: 2, facts: cheap }).code).toBe("WITHDRAWAL_VERSION_UNKNOWN");
    const once = rig.ask("replace", { transactionId, above: 1, facts: cheap }).withdrawal;
    expect(rig.ask("replace", { transactionId, above: 1, facts }).withdrawal).toEqual(once);
    expect(rig.ask("replace", { transactionId, above: 2, facts: cheap }).code).toBe("WITHDRAWAL_NOT_RELEASED");
    expect(rig.kinds().filter((kind) => kind === "INTENT")).toHaveLength(2);
  });

  it("a replacement is refused before release, in a block, after the end, and beyond the courier's fourteen versions", () => {
    const { rig, transactionId } = released();
    const fresh = rig.request().transactionId;
    expect(rig.ask("replace", { transactionId: fresh, above: 1, facts: cheap }).code).toBe("WITHDRAWAL_VERSION_UNKNOWN");
    rig.ask("sign", { transactionId: fresh, facts });
    expect(rig.ask("replace", { transactionId: fresh, above: 1, facts: cheap }).code).toBe("WITHDRAWAL_NOT_RELEASED");
    const { txHash } = rig.show(transactionId).versions[0]!;
    const observed = (stage: string, outcome = "") => rig.ask("observed", { transactionId, stage, outcome, txHash, block: 1 });
    observed("included");
    expect(rig.ask("replace", { transactionId, above: 1, facts: cheap }).code).toBe("WITHDRAWAL_INCLUDED");
    observed("broadcast");
    for (let above = 1; above < 14; above++) {
      expect(rig.ask("replace", { transactionId, above, facts: cheap }).ok).toBe(true);
      rig.acknowledge();
    }
    expect(rig.ask("replace", { transactionId, above: 14, facts: cheap }).code).toBe("WITHDRAWAL_WAITS_FOR_PERSON");
    observed("final", "paid");
    rig.acknowledge();
    expect(rig.ask("replace", { transactionId, above: 20, facts: cheap }).code).toBe("WITHDRAWAL_CLOSED");
  });
});

describe("a checkpoint", () => {
  it.each(seedsOfRun(6))("a checkpoint anywhere leads to the same state as the whole ledger (SEED=%i)", (seed) => {
    const random = new Seeded(seed);
    const rig = new Rig().ready();
    for (let i = 0; i < 25; i++) {
      rig.now += random.below(2_000_000);
      const { transactionId, state, versions } = random.chance(4)
        ? rig.pay()
        : rig.request({ amount: `${1 + random.below(900)}` });
      if (state === "approved") rig.ask("sign", { transactionId, facts });
      if (random.chance(3)) rig.acknowledge();
      const txHash = versions[0]?.txHash ?? "";
      if (state === "released") {
        rig.ask("observed", { transactionId, stage: "final", outcome: "paid", txHash, block: i });
        rig.signer.tick();
      }
    }
    const records = rig.records();
    const rules = readRules(settings, own);
    const whole = new Core(rules, noPast);
    for (const record of records) whole.fold(record);
    for (let i = 0; i < 8; i++) {
      const cut = 1 + random.below(records.length);
      const before = new Core(rules, noPast);
      for (const record of records.slice(0, cut)) before.fold(record);
      const after = new Core(rules, noPast, JSON.parse(JSON.stringify(before.snapshot())) as CoreSnapshot);
      for (const record of records.slice(cut)) after.fold(record);
      expect(JSON.stringify(after.snapshot())).toBe(JSON.stringify(whole.snapshot()));
    }
  });
});
