/**
 * The cost of many payouts within one day to the signer: its memory after them, the state that it
 * keeps on disk, and its next start beside the first.
 */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type StartedProcess, stop } from "../kit/processes.ts";
import { pairAgent, placeIn, residentMiB, startAgent } from "./agent-process.ts";
import { startWorld } from "./world.ts";

export interface DayFigures {
  readonly payouts: number;
  readonly signerMiB: number; // after the payouts
  readonly courierMiB: number;
  readonly signerIdleMiB: number; // before them
  readonly checkpointMiB: number; // the newest one, 0 before the first
  readonly readyMs: number; // the first start
  readonly againMs: number; // the start after the payouts
  readonly readyRatio: number;
}

const settleMs = 5_000;

/** Each start counts by the median of three, since the disk and the scheduler vary. */
const startsEach = 3;

function newestCheckpointMiB(state: string): number {
  const folder = join(state, "signer", "ledger");
  const sizes = readdirSync(folder)
    .filter((name) => name.includes("checkpoint"))
    .sort()
    .map((name) => statSync(join(folder, name)).size);
  return Math.round(((sizes.at(-1) ?? 0) / 2 ** 20) * 10) / 10;
}

export async function measureDay(dir: string, payouts: number): Promise<DayFigures> {
  const place = await placeIn(dir);
  const world = await startWorld(join(dir, "world"));
  let crypto: StartedProcess | null = null;
  const starts = async (): Promise<number> => {
    const all: number[] = [];
    for (let at = 0; at < startsEach; at += 1) {
      if (crypto !== null) await stop(crypto);
      const { started, readyMs } = await startAgent(place);
      crypto = started;
      all.push(readyMs);
    }
    return all.sort((a, b) => a - b)[Math.floor(startsEach / 2)] ?? 0;
  };
  try {
    await pairAgent(place, world);
    const readyMs = await starts();
    if (crypto !== null) await stop(crypto);
    const { started, pidOf } = await startAgent(place);
    crypto = started;
    await world.linked();
    await sleep(settleMs);
    const signerIdleMiB = residentMiB(pidOf("signer"));
    await world.run(payouts, 256);
    await sleep(settleMs);
    const [signerMiB, courierMiB] = [residentMiB(pidOf("signer")), residentMiB(pidOf("courier"))];
    const againMs = await starts();
    const checkpointMiB = newestCheckpointMiB(place.state);
    const rounded = { readyMs: Math.round(readyMs), againMs: Math.round(againMs) };
    const readyRatio = Math.round((againMs / readyMs) * 100) / 100;
    return { payouts, signerMiB, courierMiB, signerIdleMiB, checkpointMiB, ...rounded, readyRatio };
  } finally {
    if (crypto !== null) await stop(crypto);
    await world.close();
  }
}

export function describeDay(day: DayFigures): string {
  const {
    payouts,
    signerMiB,
    courierMiB,
    signerIdleMiB,
    checkpointMiB,
    readyMs,
    againMs,
    readyRatio,
  } = day;
  return [
    `${payouts} payouts in one day`,
    `  signer ${signerMiB} MiB after them, ${signerIdleMiB} before; courier ${courierMiB}`,
    `  newest checkpoint ${checkpointMiB} MiB`,
    `  ready after ${againMs} ms, ${readyRatio} times the ${readyMs} ms of the first start`,
  ].join("\n");
}
