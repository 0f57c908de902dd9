/** The command around `fuzz/tron-judged.ts`: arguments, counts, exit code. */
import { randomInt } from "node:crypto";
import { judgeMutations, judgeTransfers } from "../fuzz/tron-judged.ts";
import { readCommandLine } from "../rig/command-line.ts";

const { values, whole } = readCommandLine({
  name: "tron",
  does: "Holds transfers, and bent bytes of them, against tronweb; ends with 1 at the first that the two read differently.",
  options: {
    transfers: { takes: "N", default: "5000", says: "so many generated transfers, signed" },
    mutations: { takes: "N", default: "50000", says: "so many bent ones, refused or read alike" },
    seed: { takes: "N", says: "where chance begins" },
    json: { says: "ends with one line of JSON" },
  },
});
const transfersMax = whole("transfers", { most: 10_000_000 });
const mutationsMax = whole("mutations", { most: 10_000_000 });
const seed = whole("seed", { otherwise: randomInt(2 ** 31) });
process.stderr.write(
  `tron: seed ${seed}; again with: npm run tron -- --transfers ${transfersMax} --mutations ${mutationsMax} --seed ${seed}\n`,
);
try {
  const transfers = judgeTransfers(seed, transfersMax);
  const mutations = judgeMutations(seed, mutationsMax);
  const codes = Object.entries(mutations.byCode).map(([code, count]) => `${code} ${count}`);
  process.stdout.write(
    values.json
      ? `${JSON.stringify({ seed, transfers, mutations })}\n`
      : `${transfers.coins} of TRX and ${transfers.tokens} of tokens alike, ${transfers.encodedByTronweb} of them written by tronweb too; ` +
          `bent: ${mutations.read} read alike, ${mutations.refused} refused (${codes.join(", ")}), ` +
          `${mutations.refusedThoughRead} of those readable to tronweb\n`,
  );
} catch (error) {
  process.stderr.write(`tron: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
