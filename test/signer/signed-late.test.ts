/**
 * The limits of hour and day are about signatures, because nobody can pay bytes before. A signature
 * may come long after the record that reserved its slot and its amount: after a restart, or in a
 * recovered ledger that was told of the withdrawal.
 */
import { describe, expect, it } from "vitest";
import { emptyArchive } from "../../agent/ledger/archive.ts";
import { readRules } from "../../agent/signer/policy/rules.ts";
import { Core, countUnsignedAsSpent } from "../../agent/signer/state/core.ts";
import { hotWallet, Kit, own, settings, txParams } from "../../lab/kit/signer-kit.ts";
import { signJob } from "../../protocol/envelope.ts";
import { type Contents, databaseOf, recovered } from "../support/recovery-offer.ts";

const hourMs = 3_600_000;
const eth = 10n ** 18n;
const asked = { currency: "eth", amount: "1" };
const limited = { ...settings, policy: { eth: { ...settings.policy.eth!, maxPerHour: "1" } } };

/** Asks for the signature of a new order, and of the same one again; why there is none, or "". */
function another(kit: Kit): () => string {
  const { transactionId, state } = kit.request(asked);
  expect(state).toBe("approved");
  return () => kit.ask("sign", { transactionId, txParams }).code ?? "";
}

/** An intent is durable, and the process ends before its signature is. */
function intended(): Kit {
  const kit = new Kit({ settings: limited }).ready();
  const { transactionId } = kit.request(asked);
  kit.send("sign", { transactionId, txParams });
  kit.disk.sync();
  kit.crash();
  expect(kit.kinds().at(-1)).toBe("INTENT");
  return kit;
}

describe("an intent that is signed late", () => {
  it("counts from its signature on, for an hour", () => {
    const kit = intended();
    kit.now += 25 * hourMs;
    kit.start();
    kit.handshake();
    expect(kit.kinds()).toContain("SIGNED");
    kit.now += hourMs - 1;
    const next = another(kit);
    expect(next()).toBe("POLICY_ABOVE_HOUR");
    kit.now += 1;
    expect(next()).toBe("");
  });

  it("an intent counts until it is signed, and over a checkpoint too", () => {
    const kit = intended();
    kit.now += 25 * hourMs;
    const { state } = kit.core.checkpoint();
    const kept = new Core(readRules(limited, own), emptyArchive, state);
    for (const { policy } of [kit.core, kept])
      expect(policy.sums.of("eth").hourAssigned.sumAt(kit.now)).toBe(eth);
  });
});

describe("an intent that is never signed", () => {
  it("leaves the window when its withdrawal is over", () => {
    const kit = intended();
    const [one] = [...kit.core.book.open()];
    kit.now += 25 * hourMs;
    const { sums } = kit.core.policy;
    expect(sums.of("eth").dayAssigned.sumAt(kit.now)).toBe(eth);
    expect(sums.of("eth").fees.sumAt(kit.now)).toBeGreaterThan(0n);
    for (let times = 0; times < 2; times++) countUnsignedAsSpent(sums, one!);
    expect(sums.of("eth").dayAssigned.sumAt(kit.now)).toBe(0n);
    expect(sums.of("eth").fees.sumAt(kit.now)).toBe(0n);
  });
});

describe("a withdrawal that a recovery tells, and that is signed late", () => {
  it("a withdrawal that a recovery tells counts from its first signature here on, for an hour", () => {
    const kit = new Kit().ready();
    const told = Array.from({ length: 5 }, (_, at) => {
      kit.gateway.job(asked, kit.now);
      const job = kit.gateway.texts.at(-1) ?? "";
      const attempts = [{ txHash: `0x${`${at}`.padStart(64, "b")}`, feeMax: "42000000000000" }];
      const { address } = JSON.parse(job) as { address: string };
      return {
        job,
        signature: signJob(job, kit.gateway.key),
        address,
        account: hotWallet,
        slot: `${5 + at}`,
        attempts,
      };
    });
    const accounts = [{ network: "eip155:31337", account: hotWallet, next: "10" }];
    const contents: Contents = {
      ...databaseOf(kit),
      jobs: kit.gateway.last,
      accounts,
      withdrawals: told,
    };
    recovered(kit, contents);
    kit.now += 1;
    kit.handshake();
    kit.acknowledge();
    kit.now += hourMs - 60_000;
    kit.handshake();
    const higher = { ...txParams, maxFeePerGas: "4000000000", maxPriorityFeePerGas: "2000000000" };
    for (const { transactionId } of kit.ask("hello").open)
      expect(kit.askAtOnce("replace", { transactionId, above: 1, txParams: higher })).toMatchObject(
        { ok: true },
      );
    kit.now += 120_000;
    const next = another(kit);
    expect(next()).toBe("POLICY_ABOVE_HOUR");
    kit.now += hourMs - 120_000;
    expect(next()).toBe("");
  });
});
