/**
 * chains/tron offline against tronweb, a share of the fuzz targets `tron` and `tron-transfers`:
 * generated transfers, and malformed bytes. SEED=<number> replays them.
 */
import { setImmediate as turn } from "node:timers/promises";
import { expect, describe as group, it } from "vitest";
import { buildTransfer } from "../../chains/tron/transaction.ts";
import { judgeBytes, judgeMutations, judgeTransfers } from "../../lab/fuzz/tron-judged.ts";
import { seedsOfRun } from "../../lab/kit/seeded.ts";
import { isLongTier, share } from "../../lab/kit/share.ts";
import { readByTronweb } from "../../lab/kit/tron-judge.ts";
import { plain } from "../../lab/kit/tron-values.ts";

const seed = seedsOfRun(1)[0]!;

group("Tron transfers against tronweb", () => {
  it(`generated transfers are the same bytes, id and sender to tronweb, SEED=${seed}`, async () => {
    const count = share(400, 60);
    const all = { coins: 0, tokens: 0, encodedByTronweb: 0 };
    for (let part = 0; part < count / 20; part += 1) {
      await turn(); // The runner's answers wait for the end of what is synchronous.
      const judged = judgeTransfers(seed + part, 20);
      all.coins += judged.coins;
      all.tokens += judged.tokens;
      all.encodedByTronweb += judged.encodedByTronweb;
    }
    expect(all.coins + all.tokens).toBe(count);
    expect(Math.min(all.coins, all.tokens)).toBeGreaterThan(share(120, 8));
    expect(all.encodedByTronweb).toBeGreaterThan(share(350, 45));
  });

  it(`malformed bytes of transfers are refused or read as tronweb reads them, SEED=${seed}`, async () => {
    const wanted = [
      "ADDRESS_ZERO",
      "TRANSACTION_CALL",
      "TRANSACTION_FIELD",
      "TRANSACTION_PROTOBUF",
      "TRANSACTION_TYPE",
    ];
    const codes = new Set<string>();
    // The quick tier goes on only while one of the rare codes is missing.
    for (let part = 0; part < 10 && (isLongTier || codes.size < wanted.length); part += 1) {
      await turn();
      const { read, refused, refusedThoughRead, byCode } = judgeMutations(seed + part, 400);
      expect(read + refused).toBe(400);
      expect(read).toBeGreaterThan(20);
      // Without bytes that a lenient reader takes, the refusals would prove little.
      expect(refusedThoughRead).toBeGreaterThan(80);
      for (const code of Object.keys(byCode)) codes.add(code);
    }
    expect([...codes].sort()).toEqual(wanted);
  });

  it("bytes with a length that leads beyond its message are refused at once, by us and by the judge", () => {
    // A type URL of 12 billion bytes: Google's reader alone went on for many minutes.
    const endless = Buffer.from(
      "0a02a8e3220800000000000000e940cdc7f599ca0f5a69080112650ab9d199ca2d747970652e676f6f676c65617069732e636f6d2f" +
        "70726f746f636f6c2e5472616e73666572436f6e747261637412340a154141986cec46c5a580422064e6babc1a050b46a3e6121541" +
        "c40d7e57bee52fd4f752095cc7c1cbf016c26c6318b0c9d89e2c70b0b9d199ca0f",
      "hex",
    );
    expect(judgeBytes(endless)).toBe("TRANSACTION_PROTOBUF");
    expect(() => readByTronweb(endless)).toThrow("a length leads beyond its message");
    // The twin: the same field with its true length.
    expect(readByTronweb(buildTransfer(plain)).sender).toBe(plain.sender);
  });
});
