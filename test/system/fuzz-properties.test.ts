/**
 * RLP and descriptions of transactions by generators that shrink a failing case: the encoded value
 * is read back, ethers reads the same, and both refuse or read one changed byte alike. The seed is
 * printed: SEED=<number> replays a run.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeRlp, encodeRlp, type RlpItem } from "../../chains/evm/rlp.ts";
import {
  buildTransfer,
  describeTransfer as describeBytes,
  type Transfer,
} from "../../chains/evm/transaction.ts";
import { description, rlp } from "../../lab/fuzz/targets/transaction.ts";
import { seedsOfRun } from "../../lab/kit/seeded.ts";
import { share } from "../../lab/kit/share.ts";

const seed = seedsOfRun(1)[0] as number;
const options = { seed, numRuns: share(500) };

const { item } = fc.letrec<{ item: RlpItem }>((tie) => ({
  item: fc.oneof(
    { maxDepth: 4 },
    fc.uint8Array({ maxLength: 70 }),
    fc.array(tie("item"), { maxLength: 5 }),
  ),
}));
const address = fc
  .uint8Array({ minLength: 20, maxLength: 20 })
  .map((bytes) => `0x${Buffer.from(bytes).toString("hex")}`);
const word = (min: bigint, max: bigint): fc.Arbitrary<bigint> =>
  fc.oneof(fc.bigInt({ min, max }), fc.constantFrom(min, max));
const word256 = 2n ** 256n - 1n;

const transfer: fc.Arbitrary<Transfer> = fc
  .record({
    chainId: word(1n, 2n ** 53n - 1n),
    nonce: word(0n, 2n ** 53n - 1n), // the largest that ethers reads
    contract: fc.option(address, { nil: "" }),
    destination: address,
    amountUnits: word(1n, word256),
    gasLimit: word(21_000n, 2n ** 64n - 1n),
    maxFeePerGas: word(1n, word256),
    share: fc.bigInt({ min: 0n, max: 100n }),
  })
  .filter(({ contract, destination }) => ![contract, destination].includes(`0x${"00".repeat(20)}`))
  .map(({ share, ...fields }) => ({
    ...fields,
    maxPriorityFeePerGas: (fields.maxFeePerGas * share) / 100n,
  }));

/** One byte made another, or the end cut off. */
const damage = fc.record({ place: fc.nat(), change: fc.integer({ min: 0, max: 255 }) });

function damaged(
  bytes: Uint8Array,
  { place, change }: { readonly place: number; readonly change: number },
): Uint8Array {
  const copy = Uint8Array.from(bytes);
  const at = place % Math.max(1, copy.length);
  if (change === 0) return copy.subarray(0, at);
  copy[at] = (copy[at] ?? 0) ^ change;
  return copy;
}

describe(`transactions, SEED=${seed}`, () => {
  it("RLP gives back what was encoded", () => {
    fc.assert(
      fc.property(item, (value) => {
        expect(decodeRlp(encodeRlp(value))).toEqual({ ok: true, item: value });
      }),
      options,
    );
  });

  it("RLP with one byte changed is refused, or is itself the only form of what it says", () => {
    fc.assert(
      fc.property(item, damage, (value, what) => void rlp.run(damaged(encodeRlp(value), what))),
      options,
    );
  });

  it("a transfer is described as it was asked for, and ethers reads the same", () => {
    fc.assert(
      fc.property(transfer, (asked) => {
        const bytes = buildTransfer(asked);
        const read = describeBytes(bytes);
        expect(read).toMatchObject({
          ok: true,
          description: { nonce: asked.nonce, amountUnits: asked.amountUnits },
        });
        if (read.ok) expect(read.description.destination.toLowerCase()).toBe(asked.destination);
        void description.run(bytes);
      }),
      options,
    );
  });

  it("a transfer with one byte changed is refused, or both read the change", () => {
    fc.assert(
      fc.property(
        transfer,
        damage,
        (asked, what) => void description.run(damaged(buildTransfer(asked), what)),
      ),
      options,
    );
  });
});
