/**
 * The state machine against its own drawing; slots and attempts over the signer's verbs; and a
 * state replayed from any checkpoint.
 */
import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { emptyArchive } from "../../agent/ledger/archive.ts";
import { readRules } from "../../agent/signer/policy/rules.ts";
import { Core, type CoreSnapshot } from "../../agent/signer/state/core.ts";
import {
  allStates,
  isFinal,
  isUnfinished,
  nextState,
  type RecordedWithdrawalState,
  type WithdrawalTransition,
} from "../../agent/signer/state/machine.ts";
import { SeededRandom, seedsOfRun } from "../../lab/kit/seeded.ts";
import { share } from "../../lab/kit/share.ts";
import { hotWallet, Kit, own, settings, shop, txParams } from "../../lab/kit/signer-kit.ts";

const lines = readFileSync(
  new URL("../../agent/signer/state/machine.ts", import.meta.url),
  "utf8",
).split("\n");

describe("the drawn machine", () => {
  const start = lines.findIndex((line) => line.startsWith(" * state "));
  const cells = (line: string): string[] => line.slice(3).trim().split(/\s+/);
  const [, ...steps] = cells(lines[start] ?? "");
  const rows = lines.slice(start + 1, start + 1 + allStates.length).map(cells);

  it("has a row for every state, in order", () => {
    expect(rows.map((row) => row[0])).toEqual([...allStates]);
    expect(steps).toHaveLength(14);
  });

  it.each(rows.map((row) => [row[0] as RecordedWithdrawalState, row.slice(1)] as const))(
    "goes from %s where the drawing goes",
    (state, drawn) => {
      expect(steps.map((by) => nextState(state, by as WithdrawalTransition) ?? ".")).toEqual(drawn);
    },
  );

  it("ends where no step leads to anything but an end, and counts as unfinished what has a slot", () => {
    const ends = ["paid", "reverted", "conflicted", "cancelled", "refused", "expired", "moved"];
    for (const [state, ...drawn] of rows) {
      expect(isFinal(state as RecordedWithdrawalState)).toBe(
        drawn.every((cell) => cell === "." || ends.includes(cell)),
      );
      const assigned = ["intent", "signed", "released", "broadcast", "included", "quarantined"];
      expect(isUnfinished(state as RecordedWithdrawalState)).toBe(assigned.includes(state!));
    }
  });
});

describe("slots", () => {
  it("are adopted, and given out in order without gaps", () => {
    const kit = new Kit();
    kit.handshake();
    const { transactionId } = kit.request();
    expect(kit.ask("sign", { transactionId, txParams }).code).toBe("ACCOUNT_NOT_ADOPTED");
    expect(kit.begin("7", 1).account).toEqual({
      ...{ chain: "local", network: "eip155:31337", address: hotWallet, nextSlot: "7" },
    });
    expect(kit.begin("7", 1).ok).toBe(true);
    expect(kit.ask("adopt", { chain: "elsewhere", slot: "8", quorum: 9 }).code).toBe(
      "ACCOUNT_NOT_ADOPTED",
    );
    expect(kit.kinds().filter((kind) => kind === "ADOPTED")).toHaveLength(1);
    const nonces = [kit.ask("sign", { transactionId, txParams }).withdrawal.slot];
    for (let i = 0; i < 3; i++)
      nonces.push(
        kit.ask("sign", { transactionId: kit.request().transactionId, txParams }).withdrawal.slot,
      );
    expect(nonces).toEqual(["7", "8", "9", "10"]);
    expect(kit.begin("7", 1).account.nextSlot).toBe("11");
  });

  it("begin elsewhere when that is said before the first is bound, and never after", () => {
    const kit = new Kit().ready();
    const adopt = (nonce: string) => kit.begin(nonce);
    expect(adopt("9007199254740991").account.nextSlot).toBe("9007199254740991");
    kit.start();
    kit.handshake();
    expect(adopt("8").account.nextSlot).toBe("8");
    expect(kit.statements.length).toBe(0);
    kit.receive();
    const entries = kit.statements.flatMap((statement) => statement.entries);
    expect(entries.map((entry) => (entry.kind === "adopted" ? entry.slot : entry.kind))).toEqual([
      "5",
      "9007199254740991",
      "8",
    ]);
    const { transactionId } = kit.request();
    expect(kit.ask("sign", { transactionId, txParams }).withdrawal.slot).toBe("8");
    for (const nonce of ["9", "7"])
      expect(adopt(nonce)).toMatchObject({ code: "ACCOUNT_ADOPTED", detail: "began at 8" });
    expect(kit.kinds().filter((kind) => kind === "ADOPTED")).toHaveLength(3);
  });

  it("above nothing begin with an operator's yes to the nodes' count, and with no other number", () => {
    const kit = new Kit();
    kit.handshake();
    const first = () => kit.operate("adopt", { chain: "local", slot: "" }).first;
    const network = "eip155:31337";
    expect(first()).toEqual({
      ...{
        chain: "local",
        network,
        account: hotWallet,
        adopted: "",
        isBegun: false,
        counted: "",
        quorum: 0,
      },
    });
    expect(kit.operate("adopt", { chain: "local", slot: "1000" }).code).toBe("ACCOUNT_NOT_ADOPTED");
    expect(kit.ask("adopt", { chain: "local", slot: "1000", quorum: 9 }).code).toBe(
      "ACCOUNT_FIRST_UNNAMED",
    );
    expect(first()).toMatchObject({ adopted: "", counted: "1000", quorum: 9 });
    expect(kit.operate("adopt", { chain: "local", slot: "7" }).code).toBe("ACCOUNT_FIRST_SLOT");
    expect(kit.operate("adopt", { chain: "elsewhere", slot: "7" }).code).toBe("CHAIN_UNKNOWN");
    expect(kit.kinds()).toEqual(["PAIRED"]);
    expect(kit.ask("hello").accounts[0]!.nextSlot).toBe("");
    kit.ask("adopt", { chain: "local", slot: "7", quorum: 2 });
    expect(kit.operate("adopt", { chain: "local", slot: "7" }).first).toMatchObject({
      adopted: "7",
      isBegun: false,
    });
    expect(kit.operate("adopt", { chain: "local", slot: "7" }).ok).toBe(true);
    kit.ask("sign", { transactionId: kit.request().transactionId, txParams });
    expect(first()).toMatchObject({ adopted: "7", isBegun: true });
    expect(kit.kinds().filter((kind) => kind === "ADOPTED")).toHaveLength(1);
  });

  it("begin at nothing on two words, the courier's and the gateway's, and on neither alone", () => {
    const kit = new Kit();
    kit.handshake();
    const adopt = (slot: string) => kit.ask("adopt", { chain: "local", slot, quorum: 2 });
    const word = (slot: string, isUnused: boolean) =>
      kit.sight({ next: [{ network: "eip155:31337", account: hotWallet, slot, isUnused }] });
    expect(adopt("0").code).toBe("ACCOUNT_FIRST_UNNAMED");
    expect(word("0", false).ok).toBe(true);
    expect(adopt("0").code).toBe("ACCOUNT_FIRST_SLOT");
    kit.now += 1;
    word("1", true);
    expect(adopt("0").code).toBe("ACCOUNT_FIRST_SLOT");
    expect(kit.kinds()).toEqual(["PAIRED"]);
    kit.now += 1;
    word("0", true);
    expect(adopt("0").account.nextSlot).toBe("0");
  });

  it("begin on no word of the gateway that is old, of another run, of another epoch or of another key", () => {
    const kit = new Kit();
    kit.handshake();
    const next = [{ network: "eip155:31337", account: hotWallet, slot: "0", isUnused: true }];
    const frame = (change: object = {}) => kit.gateway.sightings(kit.nonce, { next, ...change });
    const take = (bytes: Uint8Array) => kit.ask("sightings", { frames: [bytes] });
    const adopt = () => kit.ask("adopt", { chain: "local", slot: "0", quorum: 2 });
    expect(take(kit.gateway.sightings("ab".repeat(32), { next })).code).toBe("SIGHTINGS_OTHER_RUN");
    expect(take(frame({ ledgerEpoch: 2 })).code).toBe("ADMISSION_OTHER_EPOCH");
    expect(take(frame({ agent: "bb".repeat(8) })).code).toBe("ADMISSION_OTHER_AGENT");
    expect(take(frame({ at: kit.now - 3_600_000 })).code).toBe("CLOCK_SKEW");
    const other = generateKeyPairSync("ed25519").privateKey;
    expect(take(kit.gateway.sightings(kit.nonce, { next }, other)).code).toBe("ENVELOPE_SIGNATURE");
    expect(adopt().code).toBe("ACCOUNT_FIRST_UNNAMED");
    const earlier = frame();
    expect(take(earlier).ok).toBe(true);
    // A word ages: the account may have sent meanwhile. The same frame again makes it no younger.
    kit.now += 600_000;
    expect(take(earlier).ok).toBe(true);
    expect(adopt().code).toBe("ACCOUNT_FIRST_UNNAMED");
    kit.crash();
    kit.handshake();
    expect(take(earlier).code).toBe("SIGHTINGS_OTHER_RUN");
    expect(adopt().code).toBe("ACCOUNT_FIRST_UNNAMED");
    expect(take(frame()).ok).toBe(true);
    expect(adopt().ok).toBe(true);
  });

  it("are not begun further on than an earlier run said: what lies between may be this ledger's own, from before a restore", () => {
    const kit = new Kit().ready();
    const adopt = (nonce: string) => kit.begin(nonce);
    kit.crash();
    kit.handshake();
    expect(adopt("7")).toMatchObject({ code: "ACCOUNT_ADOPTED", detail: "began at 5" });
    expect(adopt("5").account.nextSlot).toBe("5");
    // Too high a first slot would leave a gap permanently, and a lower one pays nothing again; nor
    // does this way raise it.
    expect(adopt("4").account.nextSlot).toBe("4");
    expect(adopt("6")).toMatchObject({ code: "ACCOUNT_ADOPTED", detail: "began at 4" });
  });

  it("begin elsewhere a hundred times in one run at most", () => {
    const kit = new Kit().ready();
    const adopt = (nonce: number) => kit.begin(`${nonce}`);
    for (let i = 0; i < 99; i++) expect(adopt(6 + i).ok).toBe(true);
    expect(adopt(5).code).toBe("ACCOUNT_ADOPTED");
    expect(adopt(104).ok).toBe(true);
  });

  it("begin only on the word of at least one node, within what is a number, once the handshake is complete", () => {
    const kit = new Kit();
    const first = { chain: "local", slot: "9007199254740991", quorum: 1 };
    expect(kit.ask("adopt", first).code).toBe("SIGNER_NO_HANDSHAKE");
    expect(kit.ask("account", first).code).toBe("SIGNER_NO_HANDSHAKE");
    expect(kit.kinds()).toEqual(["PAIRED"]);
    kit.handshake();
    expect(kit.ask("adopt", { ...first, quorum: 0 }).code).toBe("JSON_SHAPE");
    expect(kit.ask("adopt", { ...first, slot: "9007199254740992" })).toMatchObject({
      code: "ACCOUNT_FIRST_SLOT",
      detail: "no account comes so far",
    });
    expect(kit.kinds()).toEqual(["PAIRED"]);
    expect(kit.ask("adopt", first).code).toBe("ACCOUNT_FIRST_UNNAMED");
    expect(kit.kinds()).toEqual(["PAIRED"]);
    expect(kit.begin(first.slot, 1).ok).toBe(true);
    expect(kit.ask("account", first).ok).toBe(true);
  });

  it("stay with their withdrawal, whatever parameters come with a second request", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request();
    const { withdrawal } = kit.ask("sign", { transactionId, txParams });
    const again = kit.ask("sign", {
      transactionId,
      txParams: { ...txParams, maxFeePerGas: "9000000000" },
    });
    expect(again.withdrawal).toEqual(withdrawal);
    expect(kit.kinds().filter((kind) => kind === "INTENT")).toHaveLength(1);
  });

  it("are not bound by a request that is refused", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request();
    for (const bad of [
      { ...txParams, gasLimit: "20999" },
      { ...txParams, maxPriorityFeePerGas: "2000000001" },
      { ...txParams, maxFeePerGas: "0", maxPriorityFeePerGas: "0" },
    ]) {
      expect(kit.ask("sign", { transactionId, txParams: bad }).code).toBe("TRANSACTION_FIELD");
    }
    for (const bad of ["-1", "1.5", "01", "", 5, "9".repeat(40)]) {
      expect(
        kit.ask("sign", { transactionId, txParams: { ...txParams, gasLimit: bad } }).code,
      ).toBe("JSON_SHAPE");
    }
    expect(kit.ask("sign", { transactionId: "00".repeat(16), txParams }).code).toBe(
      "WITHDRAWAL_UNKNOWN",
    );
    expect(kit.ask("sign", { transactionId, txParams }).withdrawal.slot).toBe("5");
  });

  it("are at most 512 of an account that no block holds", () => {
    const kit = new Kit().ready();
    const ids: string[] = [];
    for (let i = 0; i < 513; i++) ids.push(kit.request({ amount: "0.01" }).transactionId);
    for (const transactionId of ids.slice(0, 512)) kit.send("sign", { transactionId, txParams });
    kit.settle();
    expect(kit.ask("sign", { transactionId: ids[512], txParams })).toMatchObject({
      code: "ACCOUNT_FULL",
    });
    kit.acknowledge();
    const first = kit.show(ids[0]!);
    const { txHash } = first.attempts[0]!;
    const observe = (stage: string, outcome = "") =>
      kit.ask("observed", { transactionId: ids[0], stage, outcome, txHash, block: 1 });
    const fits = () => kit.ask("sign", { transactionId: ids[512], txParams }).ok;
    observe("broadcast");
    expect(fits()).toBe(false);
    observe("included");
    observe("broadcast");
    expect(fits()).toBe(false);
    observe("included");
    observe("final", "paid");
    expect(kit.ask("sign", { transactionId: ids[512], txParams }).withdrawal.slot).toBe("517");
    const last = kit.request({ amount: "0.01" }).transactionId;
    expect(kit.ask("sign", { transactionId: last, txParams }).code).toBe("ACCOUNT_FULL");
  });
});

describe("a replacement", () => {
  const released = () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.pay();
    return { kit, transactionId };
  };
  const cheap = { gasLimit: "65000", maxFeePerGas: "1", maxPriorityFeePerGas: "1" };

  it("keeps slot, destination and amount, and raises both fees by an eighth at least", () => {
    const { kit, transactionId } = released();
    const { withdrawal } = kit.ask("replace", { transactionId, above: 1, txParams: cheap });
    expect(withdrawal).toMatchObject({ state: "released", slot: "5" });
    expect(withdrawal.attempts.map((attempt) => attempt.txParams?.maxFeePerGas)).toEqual([
      "2000000000",
      "2250000000",
    ]);
    expect(withdrawal.attempts.map((attempt) => attempt.txParams?.maxPriorityFeePerGas)).toEqual([
      "1000000000",
      "1125000000",
    ]);
    expect(withdrawal.attempts[1]!.raw).toBeUndefined();
    const [first, second] = kit.records().filter((record) => record.kind === "INTENT");
    expect(second).toMatchObject({ slot: "5", address: shop, amountUnits: "1500000", attempt: 2 });
    expect(second!.digest).not.toBe(first!.digest);
    expect(kit.acknowledge().withdrawals[0]!.attempts[1]!.raw).toMatch(/^0x02/);
  });

  it("rounds up, and raises a tip of nothing", () => {
    const kit = new Kit().ready();
    const { transactionId } = kit.request();
    kit.ask("sign", {
      transactionId,
      txParams: { gasLimit: "65000", maxFeePerGas: "9", maxPriorityFeePerGas: "0" },
    });
    kit.acknowledge();
    const { attempts } = kit.ask("replace", {
      transactionId,
      above: 1,
      txParams: { ...cheap, maxPriorityFeePerGas: "0" },
    }).withdrawal;
    expect(attempts[1]).toMatchObject({
      txParams: { maxFeePerGas: "11", maxPriorityFeePerGas: "1" },
    });
  });

  it("comes half a minute after the one before, for everybody", () => {
    const { kit, transactionId } = released();
    const replace = (above: number) =>
      kit.askAtOnce("replace", { transactionId, above, txParams: cheap });
    expect(replace(1).code).toBe("WITHDRAWAL_TOO_SOON");
    kit.now += 29_999;
    for (let again = 0; again < 20; again += 1) expect(replace(1).code).toBe("WITHDRAWAL_TOO_SOON");
    expect(kit.show(transactionId).attempts).toHaveLength(1);
    kit.now += 1;
    expect(replace(1).ok).toBe(true);
    kit.acknowledge();
    expect(replace(2).code).toBe("WITHDRAWAL_TOO_SOON");
  });

  it("leaves an operator six of the twenty attempts, however a courier hurries", () => {
    const { kit, transactionId } = released();
    for (let above = 1; above < 40; above += 1) {
      kit.ask("replace", { transactionId, above, txParams: cheap });
      kit.acknowledge();
    }
    expect(kit.show(transactionId).attempts).toHaveLength(14);
  });

  it("has no tip above the ceiling, but for the least step above one that an operator named", () => {
    const { kit, transactionId } = released();
    const tipped = (gwei: number) => ({
      ...cheap,
      maxFeePerGas: "60000000000",
      maxPriorityFeePerGas: `${gwei}000000000`,
    });
    expect(kit.ask("replace", { transactionId, above: 1, txParams: tipped(51) }).code).toBe(
      "POLICY_TIP_ABOVE_MAX",
    );
    expect(kit.ask("replace", { transactionId, above: 1, txParams: tipped(50) }).ok).toBe(true);
    kit.acknowledge();
    // An eighth above fifty is above the ceiling.
    expect(kit.ask("replace", { transactionId, above: 2, txParams: cheap }).code).toBe(
      "POLICY_TIP_ABOVE_MAX",
    );
    expect(kit.show(transactionId).attempts).toHaveLength(2);
  });

  it("asked twice is the one already made; one of an attempt that is not there yet is refused", () => {
    const { kit, transactionId } = released();
    expect(kit.ask("replace", { transactionId, above: 2, txParams: cheap }).code).toBe(
      "WITHDRAWAL_ATTEMPT_UNKNOWN",
    );
    const once = kit.ask("replace", { transactionId, above: 1, txParams: cheap }).withdrawal;
    expect(kit.ask("replace", { transactionId, above: 1, txParams }).withdrawal).toEqual(once);
    expect(kit.ask("replace", { transactionId, above: 2, txParams: cheap }).code).toBe(
      "WITHDRAWAL_NOT_RELEASED",
    );
    expect(kit.kinds().filter((kind) => kind === "INTENT")).toHaveLength(2);
  });

  it("is refused before release, in a block, after the end, and beyond the courier's fourteen attempts", () => {
    const { kit, transactionId } = released();
    const fresh = kit.request().transactionId;
    expect(kit.ask("replace", { transactionId: fresh, above: 1, txParams: cheap }).code).toBe(
      "WITHDRAWAL_ATTEMPT_UNKNOWN",
    );
    kit.ask("sign", { transactionId: fresh, txParams });
    expect(kit.ask("replace", { transactionId: fresh, above: 1, txParams: cheap }).code).toBe(
      "WITHDRAWAL_NOT_RELEASED",
    );
    const { txHash } = kit.show(transactionId).attempts[0]!;
    const observed = (stage: string, outcome = "") =>
      kit.ask("observed", { transactionId, stage, outcome, txHash, block: 1 });
    observed("included");
    expect(kit.ask("replace", { transactionId, above: 1, txParams: cheap }).code).toBe(
      "WITHDRAWAL_INCLUDED",
    );
    observed("broadcast");
    for (let above = 1; above < 14; above++) {
      expect(kit.ask("replace", { transactionId, above, txParams: cheap }).ok).toBe(true);
      kit.acknowledge();
    }
    expect(kit.ask("replace", { transactionId, above: 14, txParams: cheap }).code).toBe(
      "WITHDRAWAL_WAITS_FOR_OPERATOR",
    );
    observed("final", "paid");
    kit.acknowledge();
    expect(kit.ask("replace", { transactionId, above: 20, txParams: cheap }).code).toBe(
      "WITHDRAWAL_CLOSED",
    );
  });
});

describe("a checkpoint", () => {
  it.each(seedsOfRun(share(6, 2)))(
    "anywhere leads to the same state as the whole ledger (SEED=%i)",
    (seed) => {
      const random = new SeededRandom(seed);
      const kit = new Kit().ready();
      for (let i = 0; i < 25; i++) {
        kit.now += random.below(2_000_000);
        const { transactionId, state, attempts } = random.chance(4)
          ? kit.pay()
          : kit.request({ amount: `${1 + random.below(900)}` });
        if (state === "approved") kit.ask("sign", { transactionId, txParams });
        if (random.chance(3)) kit.acknowledge();
        const txHash = attempts[0]?.txHash ?? "";
        if (state === "released") {
          kit.ask("observed", { transactionId, stage: "final", outcome: "paid", txHash, block: i });
          kit.signer.tick();
        }
      }
      const records = kit.records();
      const rules = readRules(settings, own);
      const whole = new Core(rules, emptyArchive);
      for (const record of records) whole.apply(record);
      for (let i = 0; i < 8; i++) {
        const cut = 1 + random.below(records.length);
        const before = new Core(rules, emptyArchive);
        for (const record of records.slice(0, cut)) before.apply(record);
        const after = new Core(
          rules,
          emptyArchive,
          JSON.parse(JSON.stringify(before.snapshot())) as CoreSnapshot,
        );
        for (const record of records.slice(cut)) after.apply(record);
        expect(JSON.stringify(after.snapshot())).toBe(JSON.stringify(whole.snapshot()));
      }
    },
  );
});
