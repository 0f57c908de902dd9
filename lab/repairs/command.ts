/**
 * `npm run repairs`: takes each mend of rows.ts out, one by one in copies of the tree, and sees the
 * test that holds it turn red. With `--mutants` it sees which of some mutants the quick tier finds.
 */
import { availableParallelism } from "node:os";
import { readCommandLine } from "../kit/command-line.ts";
import { findHolders, TreeCopy } from "./copy.ts";
import { commitHash, drawMutants, testsReaching } from "./drawn.ts";
import { type Repair, repairs } from "./rows.ts";

const { values, operands, whole, stop } = readCommandLine({
  name: "repairs",
  does: "Takes each repair out, one by one in a copy of the tree, and sees its test turn red.",
  operands: "name of a repair",
  options: {
    mutants: {
      takes: "N",
      says: "so many mutants of the simulator, drawn by the commit's hash, against the quick tier",
    },
    least: {
      takes: "N",
      default: "0",
      says: "with --mutants: ends with 1 when fewer of them are found",
    },
    by: { takes: "HASH", says: "with --mutants: another commit's draw" },
    list: { says: "names the repairs, and ends" },
    workers: {
      takes: "N",
      default: String(Math.min(8, availableParallelism())),
      says: "so many repairs at the same time",
    },
  },
});
const unknown = operands.find((name) => !repairs.some((row) => row.name === name));
if (unknown !== undefined) stop(`there is no repair ${unknown}; --list names them`);
if (values.list) {
  for (const { name, fault } of repairs) process.stdout.write(`${name}: ${fault}\n`);
  process.exit(0);
}

const workers = whole("workers", { least: 1, most: 64 });
const holders = findHolders();

/** Takes items in turn, each worker in a copy of its own. @returns why workers ended early */
async function workThrough<T>(
  items: readonly T[],
  job: (copy: TreeCopy, item: T) => Promise<void>,
): Promise<readonly string[]> {
  const queue = [...items];
  const work = async (): Promise<void> => {
    const copy = new TreeCopy(holders);
    try {
      for (let item = queue.shift(); item !== undefined; item = queue.shift())
        await job(copy, item);
    } finally {
      copy.close();
    }
  };
  const ended = await Promise.allSettled(
    Array.from({ length: Math.min(workers, items.length) }, work),
  );
  return ended.flatMap((one) =>
    one.status === "rejected" ? [`a worker ended: ${String(one.reason)}`] : [],
  );
}

async function judgeRepairs(rows: readonly Repair[]): Promise<boolean> {
  const unseen: string[] = [];
  const trouble = await workThrough(rows, async (copy, row) => {
    const verdict = await copy.judge(row);
    process.stdout.write(`${verdict === "red" ? "red" : "GREEN"}  ${row.name}\n`);
    if (verdict !== "red") unseen.push(`${row.name}: ${verdict}`);
  });
  const lines = [...unseen, ...trouble];
  process.stdout.write(
    `${lines.map((line) => `${line}\n`).join("")}${lines.length} repairs that no test sees\n`,
  );
  return lines.length === 0;
}

async function judgeMutants(count: number, least: number, by: string): Promise<boolean> {
  const drawn = drawMutants(count, by);
  process.stdout.write(`${drawn.length} mutants drawn by ${by}\n`);
  let found = 0;
  const trouble = await workThrough(drawn, async (copy, mutant) => {
    const failing = await copy.firstFailing(mutant, testsReaching(mutant.file));
    if (failing !== null) found += 1;
    const said =
      failing === null
        ? `ALIVE  ${mutant.name}`
        : `found  ${mutant.name}: ${failing.file}: ${failing.name}`;
    process.stdout.write(`${said}\n`);
  });
  for (const line of trouble) process.stdout.write(`${line}\n`);
  process.stdout.write(`${found} of ${drawn.length} found by the quick tier\n`);
  return trouble.length === 0 && found >= least;
}

const isFine =
  values.mutants === undefined
    ? await judgeRepairs(
        repairs.filter(({ name }) => operands.length === 0 || operands.includes(name)),
      )
    : await judgeMutants(whole("mutants", { least: 1 }), whole("least"), values.by ?? commitHash());
process.exit(isFine ? 0 : 1);
