/**
 * The command around `images/`: draws images of a ledger of a thousand records, on two processes,
 * and says what became of them. Any one is made again by its number: `--from N --images 1 --seed
 * S`.
 */
import { fork } from "node:child_process";
import { randomInt } from "node:crypto";
import { fileURLToPath } from "node:url";
import { readCommandLine } from "../rig/command-line.ts";
import { Seeded } from "../rig/seeded.ts";
import { drawImage } from "./image.ts";
import { Judge } from "./judge.ts";
import { tellStory } from "./story.ts";

const records = 1_000;
const segmentBytesMax = 12_000;
const workers = 2;
const shownMax = 20;
const progressMs = 30_000;

/** The result of one process for its share. */
interface Share {
  images: number;
  recovered: number;
  refused: number;
  echoed: number;
  violations: number;
}

type Told = { readonly violation: string } | { readonly share: Share; readonly isDone: boolean };

const empty = (): Share => ({ images: 0, recovered: 0, refused: 0, echoed: 0, violations: 0 });

/** Image `number` of a seed: its own chance, so that it needs none before it. */
const chanceOf = (seed: number, number: number): Seeded =>
  new Seeded(Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b));

/** Every second image of the run, in a process of its own. */
function judgeShare(own: number, seed: number, from: number, count: number, tell: (told: Told) => void): void {
  const story = tellStory({ seed, records, segmentBytesMax });
  const judge = new Judge(story);
  const share = empty();
  let toldAt = performance.now();
  for (let number = from + own; number < from + count; number += workers) {
    const { fate, violation } = judge.judge(drawImage(story, chanceOf(seed, number)));
    share.images += 1;
    share[fate] += 1;
    if (violation !== null) {
      share.violations += 1;
      if (share.violations <= shownMax) tell({ violation: `image ${number}: ${violation}` });
    }
    if (performance.now() - toldAt < progressMs) continue;
    toldAt = performance.now();
    tell({ share: { ...share }, isDone: false });
  }
  tell({ share, isDone: true });
}

function judgeAll(seed: number, from: number, count: number): Promise<Share> {
  const shares = Array.from({ length: workers }, empty);
  const sum = (): Share => {
    const total = empty();
    for (const share of shares) for (const key of Object.keys(total) as (keyof Share)[]) total[key] += share[key];
    return total;
  };
  const args = ["--seed", String(seed), "--from", String(from), "--images", String(count)];
  const done = shares.map(
    (_, own) =>
      new Promise<void>((resolve, reject) => {
        const child = fork(fileURLToPath(import.meta.url), [...args, "--worker", String(own)]);
        let isDone = false;
        child.on("message", (told: Told) => {
          if ("violation" in told) {
            process.stderr.write(`images: ${told.violation}\n`);
            return;
          }
          shares[own] = told.share;
          isDone = told.isDone;
          if (!isDone) process.stderr.write(`images: ${sum().images} of ${count}, ${sum().violations} violations\n`);
        });
        child.on("error", reject);
        child.on("exit", (code) => (isDone ? resolve() : reject(new Error(`a worker ended early with ${code}`))));
      }),
  );
  return Promise.all(done).then(sum);
}

const { values, whole } = readCommandLine({
  name: "images",
  does: "Damages, cuts, mixes and ages a ledger; ends with 1 when an image is taken that forgets a payment.",
  options: {
    images: { takes: "N", default: "20000", says: "so many images" },
    from: { takes: "N", default: "0", says: "the first one's number" },
    seed: { takes: "N", says: "the same images again" },
    worker: { takes: "N", says: "" },
    json: { says: "ends with one line of JSON" },
  },
});
const count = whole("images", { most: 1_000_000_000 });
const from = whole("from", { most: 1_000_000_000 });
const seed = whole("seed", { most: 2 ** 31 - 1, otherwise: randomInt(2 ** 31) });
if (values.worker !== undefined) {
  judgeShare(whole("worker", { most: workers - 1 }), seed, from, count, (told) => process.send?.(told));
} else {
  process.stderr.write(`images: seed ${seed}; again with: npm run images -- --images ${count} --from ${from} --seed ${seed}\n`);
  const startedAt = performance.now();
  const { images, recovered, refused, echoed, violations } = await judgeAll(seed, from, count);
  const elapsedMs = Math.round(performance.now() - startedAt);
  const report = { images, recovered, refused, echoed, violations, seed, elapsedMs };
  if (values.json) process.stdout.write(`${JSON.stringify(report)}\n`);
  else {
    process.stdout.write(
      `${images} images: ${refused} refused, ${echoed} stopped by the gateway's echo, ${recovered} recovered; ${violations} violations\n`,
    );
  }
  process.exit(violations === 0 ? 0 : 1);
}
