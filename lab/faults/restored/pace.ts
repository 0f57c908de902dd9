/** The pace of a chain that makes its blocks on command. */
import { setTimeout as sleep } from "node:timers/promises";

/** Makes a block at each pace, or none. */
export class Pace {
  readonly #mine: () => unknown;
  readonly #blockMs: number;
  readonly #mining: Promise<void>;
  #isOver = false;
  isOn = true;
  fault: string | null = null;

  constructor(blockMs: number, mine: () => unknown) {
    this.#blockMs = blockMs;
    this.#mine = mine;
    this.#mining = this.#run();
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.#mining;
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      try {
        if (this.isOn) await this.#mine();
      } catch (error) {
        this.fault = String(error);
      }
      await sleep(this.#blockMs);
    }
  }
}
