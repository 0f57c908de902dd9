/**
 * The test's end of lab/kit/test-network.ts: chain, customer and shop inside a machine's network.
 */

import { join } from "node:path";
import { createInterface } from "node:readline";
import { projectRoot } from "../../lab/kit/kit.ts";
import type { ShopAnswer, ShopOrder } from "../../lab/kit/shop.ts";
import type { Machine } from "./machine.ts";

export type Asked = Readonly<Record<string, string>>;

interface Waiting {
  readonly resolve: (answer: never) => void;
  readonly reject: (error: Error) => void;
}

export class TestNetwork {
  readonly #child: ReturnType<Machine["inNetwork"]>;
  readonly #waiting = new Map<string, Waiting>();
  #next = 1;
  #trouble = "";
  #ended: Error | null = null;

  constructor(machine: Machine) {
    this.#child = machine.inNetwork([
      process.execPath,
      join(projectRoot, "dist", "lab", "kit", "test-network.js"),
    ]);
    this.#child.stderr?.on("data", (text: Buffer) => {
      this.#trouble += text.toString("utf8");
    });
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
      const { id, ok, answer, error } = JSON.parse(line) as {
        id: string;
        ok: boolean;
        answer: never;
        error: string;
      };
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (ok) waiting?.resolve(answer);
      else waiting?.reject(new Error(error));
    });
    this.#child.once("close", (code) => {
      this.#ended = new Error(`the test network ended with ${code}: ${this.#trouble}`);
      for (const { reject } of this.#waiting.values()) reject(this.#ended);
      this.#waiting.clear();
    });
  }

  ask<A extends object>(act: string, asked: Asked = {}): Promise<A> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    const id = String(this.#next++);
    return new Promise<A>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject } as Waiting);
      this.#child.stdin?.write(`${JSON.stringify({ id, act, ...asked })}\n`);
    });
  }

  withdraw(order: ShopOrder): Promise<ShopAnswer> {
    return this.ask("withdraw", { ...order });
  }

  async close(): Promise<void> {
    if (this.#ended !== null) return;
    const ended = new Promise((resolve) => this.#child.once("close", resolve));
    this.#child.stdin?.end();
    await ended;
  }
}
