/**
 * `kill -9` of the gateway, of the signer, of the courier and of the whole agent, at moments of
 * chance that are spread over the whole run: by how far it has come, and by time where nothing
 * moves.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { pick, type Random } from "../faults/tally.ts";
import { until } from "../rig/processes.ts";
import type { Rig } from "../rig/rig.ts";

type Target = "gateway" | "signer" | "courier" | "agent";

const targets: readonly Target[] = ["gateway", "gateway", "gateway", "signer", "signer", "courier", "courier", "agent"];
/** The next kill comes after this time even if nothing moved. */
const stillMs = 8_000;
const lookMs = 200;
/** A start amid reorganisations, on a machine that does much else, takes its time to read all. */
const readyMs = 600_000;

export class Killer {
  readonly killed: Record<Target, number> = { gateway: 0, signer: 0, courier: 0, agent: 0 };
  readonly #rig: Rig;
  readonly #random: Random;
  readonly #moments: number[]; // shares of the whole, rising

  constructor(rig: Rig, random: Random, kills: number) {
    this.#rig = rig;
    this.#random = random;
    this.#moments = Array.from({ length: kills }, () => random()).sort((a, b) => a - b);
  }

  get count(): number {
    return Object.values(this.killed).reduce((sum, one) => sum + one, 0);
  }

  /** Kills until every moment has come. `progress` is a share of the whole, 0 to 1. */
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
      await this.#kill(pick(this.#random, targets));
    }
  }

  async #kill(target: Target): Promise<void> {
    const rig = this.#rig;
    if (target === "gateway") {
      const { gateway } = rig;
      if (gateway === null) throw new Error("the gateway does not run");
      gateway.child.kill("SIGKILL");
      await gateway.ended;
      await rig.startGateway(readyMs);
    } else if (target === "agent") await this.#killAgent();
    else {
      const find = async (): Promise<number | undefined> => (target === "signer" ? rig.signerPid() : rig.courierPid());
      process.kill(await until(`a running ${target}`, readyMs, find, () => rig.crypto?.output().slice(-2_000) ?? ""), "SIGKILL");
    }
    this.killed[target] += 1;
  }

  /** All three processes at once, then a new start. */
  async #killAgent(): Promise<void> {
    const rig = this.#rig;
    const { crypto } = rig;
    if (crypto === null) throw new Error("the agent does not run");
    const pids = [rig.signerPid(), rig.courierPid()];
    crypto.child.kill("SIGKILL");
    for (const pid of pids) if (pid !== undefined) process.kill(pid, "SIGKILL");
    await crypto.ended;
    await rig.startCrypto();
  }
}
