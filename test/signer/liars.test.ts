/**
 * Gateway and courier lie together, at random, on a chain where attempts end by expiry: they order
 * payments, call living or paid attempts void, wait at will and ask for every signature. The judge
 * is the bytes that leave, not the signer's records; and six faults of the limits, each of which
 * these bytes show.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { Policy } from "../../agent/signer/policy/policy.ts";
import { LimitSums } from "../../agent/signer/policy/sums.ts";
import { SlidingWindow } from "../../agent/signer/policy/window.ts";
import { expiryExclusionOf } from "../../chains/families.ts";
import { SeededRandom } from "../../lab/kit/seeded.ts";
import { mostPayable, payableWithin, type SignedBytes } from "../../lab/kit/signed-bytes.ts";
import { exactNumbersOfSigned } from "../../lab/kit/tron-judge.ts";
import {
  network,
  offerAt,
  receiver,
  type WaitingKit,
  waitingKit,
  waitingSettings,
} from "../support/waiting-kit.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const { marginMs } = expiryExclusionOf(network)!;
const usdt = {
  maxPerWithdrawal: "40",
  maxPerHour: "100",
  maxPerDay: "300",
  maxFee: "45",
  maxFeePerDay: "90000",
};
const limits = { perHour: 100_000_000n, perDay: 300_000_000n };

/** The same bytes are read once. */
const read = new Map<string, ReturnType<typeof exactNumbersOfSigned>>();

function signedBytes(kit: WaitingKit): readonly SignedBytes[] {
  const atOf = new Map(
    kit
      .records()
      .flatMap((record) => (record.kind === "SIGNED" ? [[record.raw, record.at] as const] : [])),
  );
  return [...kit.left].map((raw) => {
    const numbers = read.get(raw) ?? exactNumbersOfSigned(raw);
    read.set(raw, numbers);
    const { amountUnits, expirationMs } = numbers;
    return {
      units: BigInt(amountUnits),
      signedAt: atOf.get(raw)!,
      validUntilMs: Number(expirationMs) + marginMs,
      slot: "",
    };
  });
}

/** Two liars with one mind, for so many steps; after each the bytes are looked at. */
function liars(seed: number, steps = 60): readonly SignedBytes[] {
  const random = new SeededRandom(seed);
  const kit = waitingKit({
    settings: { ...waitingSettings, policy: { trx: usdt, usdt } },
    segmentBytesMax: 20_000,
  });
  const ids: string[] = [];
  const say = (id: string, txHash: string): void => {
    kit.gateway.voided.add(txHash);
    kit.ask("observed", {
      transactionId: id,
      stage: "void",
      outcome: "",
      txHash,
      block: 900,
      quorum: 2,
    });
  };
  for (let step = 0; step < steps; step++) {
    const pick = random.below(10);
    if (pick < 3) {
      const amount = `${1 + random.below(40)}`;
      const { transactionId } = kit.request({ network, address: receiver, amount });
      if (kit.ask("sign", { transactionId, txParams: offerAt(kit.now) }).ok)
        ids.push(transactionId);
    } else if (pick < 8) {
      for (const id of ids) {
        const { attempts } = kit.show(id);
        const newest = attempts.at(-1);
        if (newest !== undefined) say(id, newest.txHash);
        kit.acknowledge();
        kit.askAtOnce("replace", {
          transactionId: id,
          above: attempts.length,
          txParams: offerAt(kit.now, step + 7),
        });
      }
    } else {
      kit.now += random.chance(4) ? hourMs + minuteMs : 8 * minuteMs;
      if (random.chance(6)) kit.start();
      kit.handshake();
    }
    kit.acknowledge();
    payableWithin(signedBytes(kit), limits);
  }
  return signedBytes(kit);
}

const seeds = [1, 2, 3];
const { add: addAsWritten } = SlidingWindow.prototype;
const { apply: applyAsWritten, stand: standAsWritten } = LimitSums.prototype;

afterEach(() => {
  vi.restoreAllMocks();
});

describe("gateway and courier lie together", () => {
  it.each(seeds)(
    "payments stay within hour and day when gateway and courier lie together, whatever they do (seed %i)",
    (seed) => {
      const most = mostPayable(liars(seed));
      expect(most.atOnce).toBeGreaterThan(0n);
      expect(most.inHour).toBeGreaterThan(limits.perHour / 2n);
    },
  );

  /** A fault of the limits, by name; each exchanges one method. */
  const faults: Readonly<Record<string, () => void>> = {
    "a later attempt is not weighed": () => {
      vi.spyOn(Policy.prototype, "withoutRoom").mockReturnValue(null);
    },
    "a later attempt does not count": () => {
      vi.spyOn(LimitSums.prototype, "apply").mockImplementation(function (
        this: LimitSums,
        record,
        currency,
      ) {
        if (record.kind !== "INTENT" || record.attempt === 1)
          applyAsWritten.call(this, record, currency);
      });
      vi.spyOn(LimitSums.prototype, "stand").mockImplementation(function (
        this: LimitSums,
        currency,
        counted,
        standing,
        atMs,
      ) {
        if (counted.attempt === 1) standAsWritten.call(this, currency, counted, standing, atMs);
      });
    },
    "what is given back is not bounded": () => {
      vi.spyOn(SlidingWindow.prototype, "backAt").mockReturnValue(0n);
    },
    "an amount leaves the window by whatever is said of its attempt": () => {
      vi.spyOn(SlidingWindow.prototype, "stand").mockImplementation(function (
        this: SlidingWindow,
        id,
      ) {
        this.remove(id);
      });
    },
    "every amount is taken for one that counts already": () => {
      vi.spyOn(SlidingWindow.prototype, "unitsOf").mockReturnValue(2n ** 200n);
    },
    "an amount counts by half": () => {
      vi.spyOn(SlidingWindow.prototype, "add").mockImplementation(function (
        this: SlidingWindow,
        id,
        atMs,
        units,
      ) {
        addAsWritten.call(this, id, atMs, units / 2n);
      });
    },
  };

  it.each(Object.keys(faults))(
    "the bytes show it when gateway and courier lie together and %s",
    (name) => {
      faults[name]!();
      const all = (): void => {
        for (const seed of seeds) liars(seed);
      };
      expect(all).toThrow(/within (?:each limit|its limit)/);
    },
  );
});
