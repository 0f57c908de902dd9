/**
 * Limits on a chain where a slot excludes, held against signed bytes: after any order, higher fee,
 * stop or wait, the amount that blocks can still take from the bytes is within hour and day. Four
 * faults of the windows, each of which the bytes show. Reported for such software:
 * ElusionPDX/Ze3o-Reports #12 (a day's limit passed by smaller amounts), celo-org/celo-monorepo
 * #4895 (one that held on one way out alone).
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { SlidingWindow } from "../../agent/signer/policy/window.ts";
import { payable } from "../../lab/kit/payable-bytes.ts";
import { SeededRandom } from "../../lab/kit/seeded.ts";
import { mostPayable, payableWithin } from "../../lab/kit/signed-bytes.ts";
import { Kit, settings, shop } from "../../lab/kit/signer-kit.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const policy = {
  maxPerWithdrawal: "40",
  maxPerHour: "100",
  maxPerDay: "300",
  maxFee: "1",
  maxFeePerDay: "1000",
};
const limits = { perHour: 100_000_000n, perDay: 300_000_000n };

const txParams = (gwei: number): object => ({
  ...{
    gasLimit: "65000",
    maxFeePerGas: `${gwei}000000000`,
    maxPriorityFeePerGas: `${gwei}000000000`,
  },
});

/** Orders until the limits stop them, for so many steps; the bytes are looked at now and then. */
function spending(seed: number, steps = 60): number {
  const random = new SeededRandom(seed);
  const kit = new Kit({
    settings: { ...settings, policy: { usdt: policy } },
    segmentBytesMax: 20_000,
  }).ready();
  const ids: string[] = [];
  for (let step = 1; step <= steps; step += 1) {
    const pick = random.below(10);
    if (pick < 7) {
      const order = {
        address: shop,
        amount: `${1 + random.below(40)}`,
        expiresAt: kit.now + 90 * hourMs,
      };
      const { transactionId, state } = kit.request(order);
      if (state === "approved") ids.push(transactionId);
      if (random.chance(8)) kit.send("sign", { transactionId, txParams: txParams(2) });
      else kit.ask("sign", { transactionId, txParams: txParams(2) });
    } else if (pick < 8 && ids.length > 0) {
      const transactionId = random.pick(ids);
      const { attempts } = kit.show(transactionId);
      kit.acknowledge();
      if (attempts.length === 0) kit.ask("sign", { transactionId, txParams: txParams(2) });
      else
        kit.ask("replace", {
          transactionId,
          above: attempts.length,
          txParams: txParams(2 + 2 * attempts.length),
        });
    } else {
      if (random.chance(4)) kit.crash(random.below(2_000));
      kit.now += random.chance(3) ? hourMs + minuteMs : 9 * minuteMs;
      kit.handshake();
    }
    kit.settle();
    if (step % 10 === 0) payable({ records: kit.records(), limits: { usdt: limits } });
  }
  return kit.records().filter(({ kind }) => kind === "SIGNED").length;
}

const seeds = [1, 2, 3];
const { add, sumAt } = SlidingWindow.prototype;

afterEach(() => {
  vi.restoreAllMocks();
});

describe("signed bytes where a slot excludes", () => {
  it.each(seeds)("stay within hour and day, whatever is asked (seed %i)", (seed) => {
    expect(spending(seed)).toBeGreaterThan(10);
  });

  const faults: Readonly<Record<string, () => void>> = {
    "an amount counts by half": () => {
      vi.spyOn(SlidingWindow.prototype, "add").mockImplementation(function (
        this: SlidingWindow,
        id,
        atMs,
        units,
        standing,
      ) {
        add.call(this, id, atMs, units / 2n, standing);
      });
    },
    "an hour is over after ten minutes": () => {
      vi.spyOn(SlidingWindow.prototype, "sumAt").mockImplementation(function (
        this: SlidingWindow,
        nowMs,
      ) {
        return sumAt.call(this, nowMs + 50 * minuteMs);
      });
    },
    "nothing is added up": () => {
      vi.spyOn(SlidingWindow.prototype, "sumAt").mockReturnValue(0n);
    },
    "every amount is taken for one that counts already": () => {
      vi.spyOn(SlidingWindow.prototype, "unitsOf").mockReturnValue(2n ** 200n);
    },
  };

  it.each(Object.keys(faults))("signed bytes show it if %s", (name) => {
    faults[name]!();
    const all = (): void => {
      for (const seed of seeds) spending(seed);
    };
    expect(all).toThrow(/within its limit/);
  });

  it("count once a slot, by its dearest attempt, from its first signature", () => {
    const bytes = (units: bigint, signedAt: number, slot: string) => ({
      units,
      signedAt,
      validUntilMs: null,
      slot,
    });
    const all = [
      bytes(60n, 0, "a"),
      bytes(60n, hourMs - 1, "a"),
      bytes(40n, hourMs - 1, "b"),
      bytes(60n, hourMs, "c"),
    ];
    expect(mostPayable(all)).toMatchObject({ inHour: 100n, inDay: 160n });
    expect(() => payableWithin(all, { perHour: 100n, perDay: 160n })).not.toThrow();
    expect(() => payableWithin(all, { perHour: 99n, perDay: 160n })).toThrow("in an hour");
    expect(() => payableWithin(all, { perHour: null, perDay: 159n })).toThrow("in a day");
  });

  it("signed bytes that end by expiry count from their signature, and from their own end if they were signed after it", () => {
    const bytes = (signedAt: number, validUntilMs: number) => ({
      units: 60n,
      signedAt,
      validUntilMs,
      slot: "",
    });
    const early = bytes(0, 5 * minuteMs);
    expect(mostPayable([early, bytes(hourMs, hourMs + 5 * minuteMs)])).toMatchObject({
      inHour: 60n,
      inDay: 120n,
    });
    expect(
      mostPayable([bytes(2 * minuteMs, 5 * minuteMs), bytes(hourMs, 2 * hourMs)]),
    ).toMatchObject({ inHour: 120n });
    const late = bytes(9 * minuteMs, minuteMs);
    expect(mostPayable([late, bytes(hourMs + 2 * minuteMs, 2 * hourMs)])).toMatchObject({
      inHour: 60n,
      inDay: 120n,
    });
  });
});
