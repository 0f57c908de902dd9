/** Faults of a signer's drive, asked at each call of its code. */

import { type DiskVerdict, disk } from "../fakes/files.ts";
import { kernel } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";
import type { Machine } from "./agent.ts";
import type { FaultKind } from "./plan.ts";

/** Whose drives they are, and how often each fault strikes now. */
export interface ExposedDrives {
  machineOf(owner: Owner): Machine | undefined;
  rate(kind: FaultKind): number;
}

export class DriveFaults {
  readonly #world: ExposedDrives;

  constructor(world: ExposedDrives) {
    this.#world = world;
  }

  /** The drives of this run ask here from now on. */
  begin(): void {
    disk.ask = (call) => this.#verdict(call);
    disk.syncMs = () =>
      this.strikes("slowDisk", "a sync is slow")
        ? kernel.random.between("sync takes", 5, 1_500)
        : 1;
    disk.writable = (count) =>
      this.strikes("shortWrites", "a write is short")
        ? kernel.random.between("short write", 1, count)
        : count;
  }

  /** Whether a fault of this kind strikes here. */
  strikes(kind: FaultKind, label: string): boolean {
    const rate = this.#world.rate(kind);
    return rate > 0 && kernel.random.fault(label, rate);
  }

  /** The signer is about to answer; true when it died instead. */
  answerDies(machine: Machine): boolean {
    const owner = machine.signer?.owner;
    if (owner === undefined || !this.strikes("signerDies", "signer dies at an answer"))
      return false;
    machine.signerEnds(owner);
    return true;
  }

  #verdict(call: string): DiskVerdict {
    const { current } = kernel.scheduler;
    const machine = this.#world.machineOf(current);
    if (machine === undefined) return { kind: "fine" };
    if (this.strikes("signerDies", `signer dies at ${call}`)) {
      machine.signerEnds(current);
      return { kind: "dead" };
    }
    const isSync = call.startsWith("sync");
    if (isSync && this.strikes("powerFails", "power fails at a sync")) {
      machine.powerFails();
      return { kind: "dead" };
    }
    if (isSync && this.strikes("syncFails", "a sync fails")) return { kind: "error", code: "EIO" };
    const isWrite =
      call === "write" || call === "create" || call === "rename" || call === "truncate";
    if (isWrite && this.strikes("writeFails", "a write fails"))
      return { kind: "error", code: "EIO" };
    return { kind: "fine" };
  }
}
