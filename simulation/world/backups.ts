/**
 * The mistakes that take a machine back in time or make it two: a ledger or a database restored from a backup, a state folder that
 * runs twice, a server paired anew while the old one lives. At most one of them in a run: against two at once nothing is promised.
 */
import { kernel, note } from "../kernel/kernel.ts";
import type { FaultKind } from "./plan.ts";
import type { World } from "./world.ts";

type Strikes = (kind: FaultKind, label: string) => boolean;

export class Backups {
  readonly #world: World;
  readonly #kind: FaultKind | null;
  #ledger: ReturnType<World["machines"][number]["drive"]["backup"]> | null = null;
  #database: ReturnType<World["gateway"]["backup"]> | null = null;
  #used = 0;

  constructor(world: World) {
    this.#world = world;
    const kinds = ["ledgerRestored", "gatewayRestored", "folderCloned", "pairedAgain"] as const;
    this.#kind = kinds.find((kind) => world.plan.rates[kind] > 0) ?? null;
  }

  /** Whether one of them happened. */
  get wasUsed(): boolean {
    return this.#used > 0;
  }

  get wasGatewayRestored(): boolean {
    return this.#kind === "gatewayRestored" && this.wasUsed;
  }

  act(strikes: Strikes): void {
    const { machines, gateway } = this.#world;
    const [machine] = machines;
    if (machine === undefined || this.#kind === null) return;
    switch (this.#kind) {
      case "ledgerRestored":
        if (this.#ledger === null || kernel.chance.below("the ledger is backed up", 5) === 0)
          this.#ledger = machine.drive.backup();
        else if (strikes("ledgerRestored", "the ledger is restored")) this.#restoreLedger();
        return;
      case "gatewayRestored":
        if (gateway.isInTransaction) return;
        if (this.#database === null || kernel.chance.below("the database is backed up", 5) === 0)
          this.#database = gateway.backup();
        else if (strikes("gatewayRestored", "the database is restored")) {
          note("database restored");
          gateway.restore(this.#database);
          this.#used += 1;
        }
        return;
      case "folderCloned":
        if (this.#used === 0 && strikes("folderCloned", "the folder is cloned")) this.#clone();
        return;
      default:
        if (this.#used === 0 && strikes("pairedAgain", "another server is paired")) this.#pairAgain();
    }
  }

  #restoreLedger(): void {
    const [machine] = this.#world.machines;
    if (machine === undefined || this.#ledger === null) return;
    this.#used += 1;
    const ledger = this.#world.ledgerOf(machine);
    note("ledger restored");
    machine.powerFails();
    ledger.mayMiss = true;
    machine.drive.restore(this.#ledger);
    ledger.mayMiss = false;
    type Row = { readonly headSeq: number; readonly headHash: string };
    const [row] = this.#world.gateway.all<Row>("SELECT headSeq, headHash FROM agents WHERE id = ?", machine.id);
    if (row !== undefined && ledger.head.seq < row.headSeq) ledger.lacked = { seq: row.headSeq, hash: row.headHash };
  }

  #clone(): void {
    const [machine] = this.#world.machines;
    if (machine === undefined) return;
    this.#used += 1;
    const clone = this.#world.addMachine("b", machine.id, 1);
    clone.drive.restore(machine.drive.backup());
    note("folder cloned");
    clone.startSigner();
    clone.startCourier();
  }

  #pairAgain(): void {
    const [machine] = this.#world.machines;
    const { gateway } = this.#world;
    if (machine === undefined || gateway.isInTransaction) return;
    this.#used += 1;
    note("another server is paired");
    gateway.releaseAgent(machine.id);
    const next = this.#world.addMachine("c", "cc".repeat(8), 2);
    next.pair(1);
    gateway.admit(next, 1);
    next.startSigner();
    next.startCourier();
  }
}
