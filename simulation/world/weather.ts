/**
 * What goes wrong, where and when: asked at every effect of the code, and by a clock of its own for what comes from outside. When it
 * calms down everything is mended that can be mended: processes run, lines hold, nodes are honest, clocks are right.
 */
import { kernel, note } from "../kernel/kernel.ts";
import type { DiskVerdict } from "../stand-ins/files.ts";
import { type NodeFaults, noFaults } from "./node.ts";
import type { World } from "./world.ts";

const weatherMs = 700;

export class Weather {
  readonly #world: World;
  /** Whether every withdrawal must come to an end once it is calm. */
  mustSettle = true;

  constructor(world: World) {
    this.#world = world;
  }

  begin(): void {
    const { scheduler } = kernel;
    scheduler.every(weatherMs, scheduler.world, () => {
      if (this.#world.isFaulty) this.#act();
    });
  }

  /** Raw bytes somebody keeps. */
  keep(_raw: string): void {}

  diskVerdict(_call: string): DiskVerdict {
    return { kind: "fine" };
  }

  syncMs(): number {
    return 1;
  }

  writable(count: number): number {
    return count;
  }

  calmDown(): void {
    for (const node of this.#world.nodes) {
      node.faults = { ...noFaults } satisfies NodeFaults;
      node.passOn();
    }
    note("calm weather");
  }

  #act(): void {}
}
