/**
 * The stream `withdrawals`: kills at every system call and at moments of chance, failing and full
 * disks, short writes, power failures, and everything that can be restored restored, in worlds of a
 * few dozen strikes each. A world's seed makes the same choices again, though not the same timing.
 */
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RecordBody } from "../../agent/ledger/records.ts";
import type { KitOptions } from "../kit/kit.ts";
import { Counterpart } from "./counterpart.ts";
import { type GatewayFault, GatewayWorld } from "./gateway-world.ts";
import { type History, restoreLedgers, runTwice } from "./restores.ts";
import { copySignerFolder, makeSignerFolder, type SignerFolder } from "./signer-folder.ts";
import { type Aftermath, type Scene, type SignerFault, SignerWorld } from "./signer-world.ts";
import {
  type FaultKind,
  faultKinds,
  pick,
  type Random,
  type Report,
  seeded,
  shuffled,
  Tally,
} from "./tally.ts";
import type { Point } from "./trace.ts";
import { Trio } from "./trio.ts";

/** How many of each. */
export type FaultCounts = Readonly<Record<FaultKind, number>>;

export interface WithdrawalFaults {
  readonly counts: FaultCounts;
  readonly seed: string;
  readonly say: (line: string) => void;
  /** Worlds at the same time. */
  readonly workers: number;
  /** Only this one of the planned worlds, to play a finding again. */
  readonly only: number | null;
  /** Without the whole system on its own chain: the worlds of one process each. */
  readonly isLight: boolean;
}

export interface WithdrawalReport extends FaultCounts, Report {
  readonly withdrawals: number;
  readonly paidOnce: number;
  readonly detail: Readonly<Record<string, number>>; // each kind of strike in words
}

/** One world: a few dozen strikes, at most `count` of `kind`. */
interface World {
  readonly name: string;
  readonly kind: FaultKind;
  readonly count: number;
  readonly play: (world: World, seed: string, tally: Tally) => Promise<void>;
}

const orders = 3;
const strikesPerWorld = 25;
/**
 * A ledger this long has its next segment begun at once: 16 MiB of alarms, each about 24 KiB on
 * disk.
 */
const rotationAlarms = 720;
const idleMax = 60;

const spoken = (counts: FaultCounts): string =>
  faultKinds.map((kind) => `${counts[kind]} ${kind}`).join(", ");

/** Plays all worlds, `workers` at a time. */
export async function playWithdrawals({
  counts,
  seed,
  say,
  workers,
  only,
  isLight,
}: WithdrawalFaults): Promise<WithdrawalReport> {
  const tally = new Tally();
  const worlds = planOf(counts, isLight).map((world, place) => ({ world, place }));
  const waiting = worlds.filter(({ place }) => only === null || place === only);
  const total = waiting.length;
  let ended = 0;
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { world, place } = next;
      const own = new Tally();
      await world.play(world, `${seed}/${place}`, own).catch((error: unknown) => {
        own.violated(`world ${place}, ${world.name}`, [
          error instanceof Error ? (error.stack ?? error.message) : String(error),
        ]);
      });
      ended += 1;
      for (const violation of own.violations) say(`violation: ${violation}`);
      tally.add(own);
      const news =
        own.violations.length > 0
          ? `, VIOLATED in world ${place}: play it again with --only ${place}`
          : "";
      say(`${ended} of ${total} worlds: ${spoken(tally.counts)}${news}`);
    }
  };
  await Promise.all(Array.from({ length: workers }, worker));
  const { withdrawals, paidOnce, violations, detail } = tally;
  const lines = Object.entries(detail)
    .sort()
    .map(([words, count]) => `${count}  ${words}`);
  lines.push(
    `${spoken(tally.counts)}; ${paidOnce} of ${withdrawals} withdrawals paid exactly once`,
  );
  return { ...tally.counts, withdrawals, paidOnce, detail, violations, lines };
}

/** A kind of world: its share of the strikes of one kind, and the most of them in one world. */
type Way = readonly [name: string, share: number, play: World["play"], most?: number];

function waysOf(kind: FaultKind, isLight: boolean): readonly Way[] {
  const signer = (share: number): Way => ["signer", share, signerWorld("signing")];
  const gateway = (share: number): Way => ["gateway", share, gatewayWorld, 15];
  const start = (share: number): Way => ["signer's start", share, signerWorld("start")];
  const rotation: Way = ["signer's next segment", 0.05, signerWorld("rotation"), 5];
  const inWhole = (...ways: readonly Way[]): readonly Way[] => (isLight ? [] : ways);
  switch (kind) {
    case "kills":
      return [
        signer(0.5),
        gateway(0.22),
        start(0.08),
        rotation,
        ...inWhole(["whole system", 0.15, trioKills, 30]),
      ];
    case "moments":
      return inWhole(["whole system, at moments of chance", 1, trioMoments, 100]);
    case "short":
      return [signer(0.65), gateway(0.35)];
    case "restores":
      return [
        ["signer's ledger", 0.6, ledgerRestores, 40],
        ["second agent", 0.15, twins, 10],
        ...inWhole(["ledger, database and pairing of the whole", 0.25, trioRestores, 25]),
      ];
    default:
      return [signer(0.5), gateway(0.35), start(0.1), rotation];
  }
}

/** Shares of each kind for the worlds that can have it; what is left over goes to the first. */
function planOf(counts: FaultCounts, isLight: boolean): readonly World[] {
  return faultKinds.flatMap((kind) => {
    const ways = waysOf(kind, isLight);
    const parts = ways.map(([, share]) => Math.floor(counts[kind] * share));
    const rest = counts[kind] - parts.reduce((sum, part) => sum + part, 0);
    return ways.flatMap(([name, , play, most = strikesPerWorld], place) => {
      const total = (parts[place] ?? 0) + (place === 0 ? rest : 0);
      const counted = Array.from({ length: Math.ceil(total / most) }, (_, at) =>
        Math.min(most, total - at * most),
      );
      return counted.map((count): World => ({ name, kind, count, play }));
    });
  });
}

const newFolder = (): string => mkdtempSync(join(tmpdir(), "autowithdraw-faults-"));

const aftermaths: readonly Aftermath[] = ["start", "lose power", "speak and lose power"];

function signerFault(
  kind: FaultKind,
  scene: Scene,
  points: readonly Point[],
  random: Random,
  place: number,
): SignerFault {
  const point = points[place % points.length];
  if (kind === "short")
    return { kind: "short", bytes: 1 + Math.floor(random() * 500), heals: random() < 0.4 };
  if (kind === "enospc" && scene === "signing" && random() < 0.1) return { kind: "full" };
  if (point === undefined) throw new Error("a dry run made no calls");
  if (kind === "kills") {
    const aftermath =
      scene === "signing"
        ? pick(random, [...aftermaths, "copy"] as const)
        : pick(random, ["start", "lose power"] as const);
    return { kind: "kill", point, aftermath };
  }
  const aftermath =
    scene === "signing" ? pick(random, aftermaths) : pick(random, ["start", "lose power"] as const);
  return { kind: "error", errno: kind === "eio" ? "EIO" : "ENOSPC", point, aftermath };
}

const wordsOf = (fault: SignerFault | GatewayFault): string => {
  if (fault.kind === "short")
    return "heals" in fault && fault.heals ? "short write that went on" : "short write, then none";
  if (fault.kind === "full") return "no room";
  return `${fault.point.syscall}, then ${fault.aftermath}`;
};

/** One strike, drawn and ready. */
interface Strike {
  readonly fault: SignerFault | GatewayFault;
  /** False when the fault found nothing to strike. */
  readonly hit: () => Promise<boolean>;
  /** Violations that its world has seen so far. */
  readonly violations: () => readonly string[];
}

/**
 * Strikes until as many have hit as the world counts. Violations are kept also if a strike ends the
 * world.
 */
async function strikeOn(
  world: World,
  seed: string,
  tally: Tally,
  draw: (place: number) => Promise<Strike>,
): Promise<void> {
  for (let done = 0, idle = 0, place = 0; done < world.count; place += 1) {
    const { fault, hit, violations } = await draw(place);
    const isStruck = await hit().catch((error: unknown) => {
      tally.violated(`${world.name} ${seed}`, violations());
      throw error;
    });
    if (isStruck) {
      done += 1;
      idle = 0;
      tally.struck(world.kind, `${world.name} ${wordsOf(fault)}`);
    } else if (++idle > idleMax) throw new Error("strikes find nothing to strike");
  }
}

function signerWorld(scene: Scene): World["play"] {
  return async (world, seed, tally) => {
    const random = seeded(seed);
    const dir = newFolder();
    const which = world.kind === "kills" ? "kill" : "error";
    const gateway = generateKeyPairSync("ed25519").privateKey;
    const begin = async (
      name: string,
    ): Promise<{ folder: SignerFolder; counterpart: Counterpart }> => {
      const counterpart = new Counterpart(gateway);
      if (scene !== "rotation")
        return {
          folder: await makeSignerFolder(join(dir, name), counterpart.identity),
          counterpart,
        };
      const long =
        prefab[0] ??
        (await makeSignerFolder(join(dir, "prefab"), counterpart.identity, longLedger()));
      prefab[0] = long;
      return { folder: await copySignerFolder(long, join(dir, name)), counterpart };
    };
    const prefab: SignerFolder[] = [];
    const finish = async (made: SignerWorld): Promise<void> => {
      tally.violated(`${world.name} ${seed}`, await made.close());
      tally.withdrawals += made.counterpart.asked.length;
      tally.paidOnce += made.counterpart.paidOnce;
    };
    const dry = await begin("dry");
    const first = new SignerWorld(dry.folder.dir, dry.folder, dry.counterpart, random);
    const points =
      world.kind === "short" ? [] : shuffled(random, await first.points(scene, which, orders));
    let current = first;
    // A segment begins once: each strike on that has a ledger of its own.
    await strikeOn(world, seed, tally, async (place) => {
      if (scene === "rotation") {
        await finish(current);
        const next = await begin(`world-${place}`);
        current = new SignerWorld(next.folder.dir, next.folder, next.counterpart, random);
      }
      const fault = signerFault(world.kind, scene, points, random, place);
      const count = scene === "start" ? 0 : 1 + Math.floor(random() * orders);
      return {
        fault,
        hit: () => current.strike(scene, fault, count),
        violations: () => current.counterpart.violations,
      };
    });
    await finish(current);
    prefab[0]?.lock.release();
    rmSync(dir, { recursive: true, force: true });
  };
}

function longLedger(): readonly RecordBody[] {
  // A control character takes six bytes in JSON: few records make a long file.
  const detail = "\u0001".repeat(4_096);
  return Array.from(
    { length: rotationAlarms },
    () => ({ kind: "ALARM", code: "GATEWAY_BEHIND", detail }) as const,
  );
}

const gatewayWorld: World["play"] = async (world, seed, tally) => {
  const random = seeded(seed);
  const made = await GatewayWorld.create(newFolder(), random);
  const which = world.kind === "kills" ? "kill" : "error";
  const points = world.kind === "short" ? [] : shuffled(random, await made.points(which, orders));
  await strikeOn(world, seed, tally, async (place) => {
    const point = points[place % points.length];
    const aftermath = pick(random, aftermaths);
    const fault: GatewayFault =
      point === undefined
        ? { kind: "short", bytes: 1 + Math.floor(random() * 12_000) }
        : world.kind === "kills"
          ? { kind: "kill", point, aftermath }
          : { kind: "error", errno: world.kind === "eio" ? "EIO" : "ENOSPC", point, aftermath };
    const count = 1 + Math.floor(random() * orders);
    return { fault, hit: () => made.strike(fault, count), violations: () => made.agent.violations };
  });
  tally.violated(`${world.name} ${seed}`, await made.close());
  tally.withdrawals += made.withdrawals;
  tally.paidOnce += made.withdrawals;
};

/** One world of the whole system, ended and judged whatever happens in it. */
function trioWorld(
  act: (trio: Trio, count: number) => Promise<void>,
  chain?: KitOptions,
): World["play"] {
  return async ({ count }, seed, tally) => {
    const trio = await Trio.create(seed, tally, chain);
    try {
      await act(trio, count);
    } finally {
      await trio.close();
    }
  };
}

const trioKills = trioWorld((trio, count) => trio.strike(count));
/** On a chain at its usual pace, so that a strike meets payments at every stage. */
const trioMoments = trioWorld((trio, count) => trio.strikeAtMoments(count), { confirmations: 2 });
const trioRestores = trioWorld(async (trio, count) => {
  await trio.pairAgain();
  const ledgers = Math.floor((count - 1) / 2);
  for (let done = 0; done < ledgers; done += 1) await trio.restoreLedger();
  for (let left = count - 1 - ledgers; left > 0; ) left -= await trio.restoreDatabases(left);
});

/** Histories of a counterpart of their own, until `act` has struck as often as the world counts. */
function historyWorld(act: (history: History) => Promise<number>): World["play"] {
  return async (world, seed, tally) => {
    const random = seeded(seed);
    for (let most = world.count; most > 0; ) {
      const counterpart = new Counterpart(generateKeyPairSync("ed25519").privateKey);
      most -= await act({ dir: newFolder(), counterpart, most, random, tally });
      tally.violated(`${world.name} ${seed}`, counterpart.violations);
      tally.withdrawals += counterpart.asked.length;
      tally.paidOnce += counterpart.paidOnce;
    }
  };
}

const ledgerRestores = historyWorld(restoreLedgers);
const twins = historyWorld(runTwice);
