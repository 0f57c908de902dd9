/** The events of the stream `gateways`, drawn by the seed. Pure. */
import { type Random, seeded, shuffled } from "../tally.ts";

/** How often each kind of event comes. */
export interface GatewayCounts {
  readonly kills: number;
  readonly freezes: number;
  readonly failovers: number;
  readonly restores: number;
}

/** One event, after a pause. */
export type GatewayEvent = { readonly pauseMs: number } & (
  | { readonly kind: "kill" }
  | { readonly kind: "freeze"; readonly frozenMs: number }
  /** The standby of PostgreSQL lacks so many commits; its promotion comes after a time. */
  | { readonly kind: "failover"; readonly commits: number; readonly toolMs: number }
  /** So many orders are answered between the backup and its restore. */
  | { readonly kind: "restore"; readonly orders: number }
);

const pauseMsMax = 2_500;
const freezeMsMin = 5_000;
/** Most freezes are short: the share of the range is a cube. */
const freezePower = 3;
const commitsMax = 500;
const toolMsMax = 5_000;
const ordersMax = 20;

/** The events in the order in which they come. */
export function planOf(
  seed: string,
  { kills, freezes, failovers, restores }: GatewayCounts,
  freezeMsMax: number,
): readonly GatewayEvent[] {
  const random = seeded(`${seed}/plan`);
  const several = (count: number, make: () => GatewayEvent): readonly GatewayEvent[] =>
    Array.from({ length: count }, make);
  const pauseMs = (): number => Math.floor(random() * pauseMsMax);
  return shuffled(random, [
    ...several(kills, () => ({ kind: "kill", pauseMs: pauseMs() })),
    ...several(freezes, () => {
      const frozenMs = freezeMsMin + (freezeMsMax - freezeMsMin) * random() ** freezePower;
      return { kind: "freeze", pauseMs: pauseMs(), frozenMs: Math.floor(frozenMs) };
    }),
    ...several(failovers, () => ({
      ...{ kind: "failover", pauseMs: pauseMs(), commits: upToByPowers(random, commitsMax) },
      toolMs: Math.floor(random() * toolMsMax),
    })),
    ...several(restores, () => ({
      ...{ kind: "restore", pauseMs: pauseMs(), orders: 1 + Math.floor(random() * ordersMax) },
    })),
  ]);
}

/** From 1 to `most`, each power of ten as likely as another. */
function upToByPowers(random: Random, most: number): number {
  return Math.round(most ** random());
}

/** An event in words. */
export function wordsOf(event: GatewayEvent): string {
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  if (event.kind === "kill") return "kill -9 of the active gateway";
  if (event.kind === "freeze") return `the active gateway frozen for ${seconds(event.frozenMs)}`;
  if (event.kind === "restore") return `a base backup restored after ${event.orders} orders more`;
  return `the primary killed ${event.commits} commits ahead of its standby, promoted after ${seconds(event.toolMs)}`;
}
