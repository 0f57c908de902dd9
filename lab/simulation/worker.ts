/**
 * One worker of a sharded run: loads the tree it is told, runs the parts it is given, and says what
 * came of each.
 */
import { type Cells, cellsOf, together } from "./cells.ts";
import type { Failure, Part, ShardReport } from "./shards.ts";
import { loadTree } from "./tree.ts";

const tree = await loadTree(process.argv[2] ?? "");
process.on("unhandledRejection", (error) => tree.rejected(error));

async function run({ from, seeds }: Part): Promise<ShardReport> {
  const hashes: string[] = [];
  const failures: Failure[] = [];
  let [steps, apart] = [0, 0];
  let cells: Cells = {};
  for (let seed = from; seed < from + seeds; seed += 1) {
    const result = await tree.runSeed(seed);
    hashes.push(result.hash);
    steps += result.steps;
    apart += result.apart;
    cells = together(cells, cellsOf(result));
    if (result.violation !== null) failures.push({ seed, ...result.violation });
  }
  return { from, seeds, hashes: hashes.join(""), steps, apart, cells, failures };
}

process.on("message", (part) => {
  run(part as Part).then(
    (done) => process.send?.(done),
    (error: unknown) => {
      process.stderr.write(`worker: ${error instanceof Error ? error.stack : String(error)}\n`);
      process.exit(1);
    },
  );
});
