/**
 * The line between courier and gateway: connections that deliver frames in order and late, break,
 * hang, and are carried by somebody who may lose, repeat, swap, damage and remember what passes.
 */

import { EventEmitter } from "node:events";
import type { Server } from "node:http";
import { linkPathWithFormNumber } from "../../../protocol/messages.ts";
import type { FakeSocket, Wire } from "../fakes/socket.ts";
import { type Dialler, kernel, note } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
import type { Rates } from "./plan.ts";

/** The gateway's listening side while it is up. */
interface Listener {
  readonly owner: Owner;
  readonly server: EventEmitter & Server;
}

const rememberedMax = 64;

export class Network implements Dialler {
  listener: Listener | null = null;
  rates: Rates;
  readonly delayMs: number;
  readonly lines = new Set<Line>();
  /** The frames that passed in each direction, for an actor that sends them again. */
  readonly remembered: { readonly up: Buffer[]; readonly down: Buffer[] } = { up: [], down: [] };
  /** Called before a process sends a frame and before it takes one: it may die of it. */
  onMoment: (owner: Owner, what: string) => void = () => {};

  constructor(rates: Rates, delayMs: number) {
    this.rates = rates;
    this.delayMs = delayMs;
  }

  dial(socket: object): void {
    const client = socket as FakeSocket;
    const { scheduler } = kernel;
    scheduler.after(this.delayMs, client.owner, () => {
      const { listener } = this;
      if (listener === null || !listener.owner.isAlive) {
        client.emit(
          "error",
          Object.assign(new Error("connection refused"), { code: "ECONNREFUSED" }),
        );
        client.ended(1006, "");
        return;
      }
      const line = new Line(this, client, listener.owner);
      this.lines.add(line);
      note("connected");
      client.opened(line);
      scheduler.after(this.delayMs, listener.owner, () => line.accept(listener.server));
    });
  }

  remember(direction: "up" | "down", bytes: Buffer): void {
    const kept = this.remembered[direction];
    if (kept.length < rememberedMax) kept.push(bytes);
    else kept[kernel.random.below("frame to forget", rememberedMax)] = bytes;
  }

  /**
   * A process died: its connections break, and the other ends learn of it unless the machine went
   * as well.
   */
  died(owner: Owner, isCaughtUp: boolean): void {
    for (const line of this.lines) line.died(owner, isCaughtUp);
  }

  cutAll(isCaughtUp: boolean): void {
    for (const line of this.lines) line.cut(isCaughtUp);
  }
}

class Line extends EventEmitter implements Wire {
  readonly #network: Network;
  readonly #client: FakeSocket;
  readonly #gateway: Owner;
  #server: FakeSocket | null = null;
  #isBroken = false;
  /** Frames of each direction arrive no earlier than the ones before. */
  readonly #latest = { up: 0, down: 0 };

  constructor(network: Network, client: FakeSocket, gateway: Owner) {
    super();
    this.#network = network;
    this.#client = client;
    this.#gateway = gateway;
  }

  /** The gateway's server is asked to upgrade; its hub takes this line over. */
  accept(server: EventEmitter): void {
    if (this.#isBroken) return;
    const request = {
      url: linkPathWithFormNumber,
      headers: {},
      rawHeaders: [],
      socket: { remoteAddress: "127.0.0.1" },
    };
    server.emit("upgrade", request, this, Buffer.alloc(0));
  }

  /** As a stream that is told that the upgrade is refused. */
  end(): void {
    this.cut(true);
  }

  destroy(): void {
    this.cut(true);
  }

  frame(from: FakeSocket, bytes: Buffer): void {
    if (!from.owner.isAlive) return;
    if (from !== this.#client) this.#server ??= from;
    this.#network.onMoment(from.owner, "a frame that goes");
    if (!from.owner.isAlive) return;
    const direction = from === this.#client ? "up" : "down";
    const { rates } = this.#network;
    const { random } = kernel;
    note("frame", bytes.length, () => `${direction} kind ${bytes[1]} ${bytes.length} bytes`);
    this.#network.remember(direction, bytes);
    if (this.#isBroken) return;
    if (rates.lineCut > 0 && random.fault("line cut", rates.lineCut)) {
      this.cut(true);
      return;
    }
    if (rates.lineHangs > 0 && random.fault("line hangs", rates.lineHangs)) {
      this.cut(false);
      return;
    }
    if (rates.frameLost > 0 && random.fault("frame lost", rates.frameLost)) return;
    if (rates.frameOld > 0 && random.fault("frame of before", rates.frameOld)) {
      this.#deliver(
        direction,
        random.pick("which frame of before", this.#network.remembered[direction]),
      );
    }
    if (rates.frameDamaged > 0 && random.fault("frame damaged", rates.frameDamaged)) {
      const damaged = Buffer.from(bytes);
      const at = random.below("damaged at", damaged.length);
      damaged[at] = (damaged[at] ?? 0) ^ (1 << random.below("damaged bit", 8));
      this.#deliver(direction, damaged);
      return;
    }
    const isSwapped =
      rates.framesSwapped > 0 && random.fault("frames swapped", rates.framesSwapped);
    this.#deliver(direction, bytes, isSwapped);
    if (rates.frameTwice > 0 && random.fault("frame twice", rates.frameTwice))
      this.#deliver(direction, bytes);
  }

  #deliver(direction: "up" | "down", bytes: Buffer, isSwapped = false): void {
    const { random, scheduler } = kernel;
    const { delayMs, rates } = this.#network;
    const isSlow = rates.lineSlow > 0 && random.fault("line slow", rates.lineSlow);
    const late = isSlow ? random.between("slow for", 100, 3_000) : isSwapped ? delayMs * 4 + 50 : 0;
    const dueMs = Math.max(this.#latest[direction], scheduler.nowMs + delayMs + late);
    if (!isSwapped) this.#latest[direction] = dueMs;
    const owner = direction === "up" ? this.#gateway : this.#client.owner;
    scheduler.at(dueMs, owner, () => {
      const end = direction === "up" ? this.#server : this.#client;
      if (this.#isBroken || end === null || end.readyState > 1) return;
      this.#network.onMoment(owner, "a frame that comes");
      if (!owner.isAlive) return;
      note("arrives", bytes.length);
      end.emit("message", Buffer.from(bytes), true);
    });
  }

  close(from: FakeSocket, code: number, reason: string, isHard: boolean): void {
    if (!from.owner.isAlive) return;
    const { scheduler } = kernel;
    const { delayMs } = this.#network;
    note("closes", code);
    const isClient = from === this.#client;
    const other = isClient ? this.#server : this.#client;
    scheduler.after(isHard ? 0 : 2 * delayMs, from.owner, () => from.ended(code, reason));
    if (this.#isBroken) return;
    const dueMs = Math.max(this.#latest[isClient ? "up" : "down"], scheduler.nowMs + delayMs);
    scheduler.at(dueMs, isClient ? this.#gateway : this.#client.owner, () => {
      this.#isBroken = true;
      this.#network.lines.delete(this);
      other?.ended(code, reason);
    });
  }

  /** Broken between the ends: both learn of it, or neither, and each has its own patience. */
  cut(isCaughtUp: boolean): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.#network.lines.delete(this);
    note(isCaughtUp ? "line breaks" : "line hangs");
    if (!isCaughtUp) return;
    const { delayMs } = this.#network;
    kernel.scheduler.after(delayMs, this.#client.owner, () => this.#client.ended(1006, ""));
    const server = this.#server;
    if (server !== null)
      kernel.scheduler.after(delayMs, this.#gateway, () => server.ended(1006, ""));
  }

  died(owner: Owner, isCaughtUp: boolean): void {
    if (owner === this.#client.owner || owner === this.#gateway) this.cut(isCaughtUp);
  }
}
