/** Temporary door. */
import { buildTree, loadTree } from "./tree.ts";

const t0 = performance.now();
const tree = await loadTree(buildTree());
process.on("unhandledRejection", (error) => tree.rejected(error));
const t1 = performance.now();
process.stderr.write(`tree ${(t1 - t0).toFixed(0)} ms\n`);
const from = Number(process.argv[2] ?? 1);
const count = Number(process.argv[3] ?? 1);
const isReadable = process.argv[4] === "trace";
let steps = 0;
let simulated = 0;
const sentences = new Map<string, number[]>();
for (let seed = from; seed < from + count; seed += 1) {
  const result = await tree.runSeed(seed, { only: null, isReadable });
  if (isReadable) process.stdout.write(`${result.lines.join("\n")}\n`);
  steps += result.steps;
  simulated += result.simulatedMs;
  if (result.violation !== null) {
    const seeds = sentences.get(result.violation.sentence) ?? [];
    seeds.push(seed);
    sentences.set(result.violation.sentence, seeds);
    if (count < 10 || seeds.length < 4) process.stdout.write(`${seed} ${result.violation.detail} [${result.taken.join(" ")}]\n`);
  } else if (count < 10) process.stdout.write(`${seed} ${result.hash} ${result.steps} steps ${result.simulatedMs} ms\n`);
}
const ms = performance.now() - t1;
process.stdout.write(
  `${count} seeds, ${(ms / count).toFixed(2)} ms each, ${steps / count} steps, ${simulated / count / 1000} s simulated\n`,
);
for (const [sentence, seeds] of sentences) process.stdout.write(`${seeds.length} × ${sentence}: ${seeds.slice(0, 8).join()}\n`);
