/**
 * The killer of every stream: `kill -9` and other strikes at moments of chance that are spread over
 * the whole run, by how far it has come, and by time where nothing moves.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Kit } from "../kit/kit.ts";
import { until } from "../kit/processes.ts";
import { pick, type Random } from "./tally.ts";

export interface Victim {
  readonly name: string;
  readonly tickets: number; // in the draw
  /** Ends when whatever nobody else starts again was started again. */
  readonly strike: () => Promise<void>;
}

/** The next strike comes after this time even if nothing moved. */
const stillMs = 8_000;
const lookMs = 100;

export class Killer {
  readonly struck: Record<string, number>;
  readonly #victims: readonly Victim[];
  readonly #random: Random;
  readonly #moments: readonly number[]; // shares of the whole, rising

  constructor(victims: readonly Victim[], random: Random, strikes: number) {
    this.struck = Object.fromEntries(victims.map(({ name }) => [name, 0]));
    this.#victims = victims.flatMap((victim) =>
      Array.from({ length: victim.tickets }, () => victim),
    );
    this.#random = random;
    this.#moments = Array.from({ length: strikes }, () => random()).sort((a, b) => a - b);
  }

  /** Strikes until every moment has come. `progress` is a share of the whole, 0 to 1. */
  async play(progress: () => number): Promise<void> {
    let [seen, seenAt] = [-1, performance.now()];
    for (const moment of this.#moments) {
      for (;;) {
        const now = progress();
        if (now !== seen) [seen, seenAt] = [now, performance.now()];
        if (now >= moment || performance.now() - seenAt > stillMs) break;
        await sleep(lookMs);
      }
      seenAt = performance.now();
      await sleep(this.#random() * 400);
      const { name, strike } = pick(this.#random, this.#victims);
      await strike();
      this.struck[name] = (this.struck[name] ?? 0) + 1;
    }
  }
}

/**
 * The processes of a kit: gateway, signer, courier and the agent with all three of its own.
 * `readyMs` is for a start amid reorganisations, on a machine that does much else.
 */
export function processesOf(kit: Kit, random: Random, readyMs = 30_000): readonly Victim[] {
  /** Struck again and again, it may be waiting to be started: a strike is for a running process. */
  const kill = async (name: string, find: () => number | undefined): Promise<void> => {
    const said = (): string => kit.crypto?.output().slice(-2_000) ?? "";
    process.kill(await until(`a running ${name}`, readyMs, async () => find(), said), "SIGKILL");
  };
  const gateway = async (): Promise<void> => {
    if (kit.gateway === null) throw new Error("the gateway does not run");
    kit.gateway.child.kill("SIGKILL");
    await kit.gateway.ended;
    await sleep(random() * 500);
    await kit.startGateway(readyMs);
  };
  const agent = async (): Promise<void> => {
    if (kit.crypto === null) throw new Error("the agent does not run");
    const pids = [kit.signerPid(), kit.courierPid()];
    kit.crypto.child.kill("SIGKILL");
    for (const pid of pids) if (pid !== undefined) process.kill(pid, "SIGKILL");
    await kit.crypto.ended;
    await kit.startCrypto();
  };
  return [
    { name: "gateway", tickets: 3, strike: gateway },
    { name: "signer", tickets: 2, strike: () => kill("signer", kit.signerPid) },
    { name: "courier", tickets: 2, strike: () => kill("courier", kit.courierPid) },
    { name: "agent", tickets: 1, strike: agent },
  ];
}
