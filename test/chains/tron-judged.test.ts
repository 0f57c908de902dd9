/**
 * chains/tron offline against tronweb, a share of what `npm run tron` does in full: generated
 * transfers, and bent bytes. SEED=<number> replays them.
 */
import { expect, describe as group, it } from "vitest";
import { judgeMutations, judgeTransfers } from "../../lab/fuzz/tron-judged.ts";
import { seedsOfRun } from "../../lab/rig/seeded.ts";

const seed = seedsOfRun(1)[0]!;

group("Tron transfers against tronweb", () => {
  it(`generated transfers are the same bytes, id and sender to tronweb, SEED=${seed}`, () => {
    const { coins, tokens, encodedByTronweb } = judgeTransfers(seed, 400);
    expect(coins + tokens).toBe(400);
    expect(Math.min(coins, tokens)).toBeGreaterThan(120);
    expect(encodedByTronweb).toBeGreaterThan(350);
  });

  it(`bent bytes of transfers are refused or read as tronweb reads them, SEED=${seed}`, () => {
    const { read, refused, refusedThoughRead, byCode } = judgeMutations(seed, 4_000);
    expect(read + refused).toBe(4_000);
    expect(read).toBeGreaterThan(200);
    // Without bytes that a lenient reader takes, the refusals would prove little.
    expect(refusedThoughRead).toBeGreaterThan(800);
    const wanted = ["ADDRESS_ZERO", "TRANSACTION_CALL", "TRANSACTION_FIELD", "TRANSACTION_PROTOBUF", "TRANSACTION_TYPE"];
    expect(Object.keys(byCode).sort()).toEqual(wanted);
  });
});
