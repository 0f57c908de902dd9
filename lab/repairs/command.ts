/**
 * `npm run repairs`: takes each mend of rows.ts out, one by one in copies of the tree, and sees the
 * test that holds it turn red.
 */
import { availableParallelism } from "node:os";
import { readCommandLine } from "../kit/command-line.ts";
import { findHolders, TreeCopy } from "./copy.ts";
import { type Repair, repairs } from "./rows.ts";

const { values, operands, whole, stop } = readCommandLine({
  name: "repairs",
  does: "Takes each repair out, one by one in a copy of the tree, and sees its test turn red.",
  operands: "name of a repair",
  options: {
    list: { says: "names the repairs, and ends" },
    workers: { takes: "N", default: String(Math.min(8, availableParallelism())), says: "so many repairs at the same time" },
  },
});
const unknown = operands.find((name) => !repairs.some((row) => row.name === name));
if (unknown !== undefined) stop(`there is no repair ${unknown}; --list names them`);
if (values.list) {
  for (const { name, fault } of repairs) process.stdout.write(`${name}: ${fault}\n`);
  process.exit(0);
}

const queue: Repair[] = repairs.filter(({ name }) => operands.length === 0 || operands.includes(name));
const workers = Math.min(whole("workers", { least: 1, most: 64 }), queue.length);
const unseen: string[] = [];
const holders = findHolders();

/** Judges rows of the queue until none is left. */
async function work(): Promise<void> {
  const copy = new TreeCopy(holders);
  try {
    for (let row = queue.shift(); row !== undefined; row = queue.shift()) {
      const verdict = await copy.judge(row);
      process.stdout.write(`${verdict === "red" ? "red" : "GREEN"}  ${row.name}\n`);
      if (verdict !== "red") unseen.push(`${row.name}: ${verdict}`);
    }
  } finally {
    copy.close();
  }
}

const ended = await Promise.allSettled(Array.from({ length: workers }, work));
for (const { reason } of ended.filter((one) => one.status === "rejected")) unseen.push(`a worker ended: ${String(reason)}`);
process.stdout.write(`${unseen.map((line) => `${line}\n`).join("")}${unseen.length} repairs that no test sees\n`);
process.exit(unseen.length === 0 ? 0 : 1);
