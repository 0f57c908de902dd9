/**
 * The mistakes that take a machine back in time or make it two: a ledger or a database restored
 * from a backup, a state folder that runs twice, a server paired again while the old one lives. At
 * most one of them in a run: against two at once nothing is promised.
 */
import { kernel, note } from "../kernel/kernel.ts";
import type { Machine } from "./agent.ts";
import { type FaultKind, showsAll } from "./plan.ts";
import type { Scene } from "./scene.ts";

type Strikes = (kind: FaultKind, label: string) => boolean;

export class Backups {
  readonly #world: Scene;
  readonly #kind: FaultKind | null;
  /** With people on the way back no more strikes than they can follow. */
  readonly #most: number;
  #ledger: ReturnType<Scene["machines"][number]["drive"]["backup"]> | null = null;
  #database: ReturnType<Scene["gateway"]["backup"]> | null = null;
  /** The open order in an old backup. The backup is restored only after that order has ended. */
  #open: readonly string[] = [];
  /**
   * The fees at that time. Fees fall again, so that no attempt is made a second time with the same
   * bytes.
   */
  #fee = 0n;
  #used = 0;
  /** Transactions that no node showed. */
  hidden = 0;
  #isAgain = false; // the database alone, after a recovery

  constructor(world: Scene) {
    this.#world = world;
    const kinds = [
      "ledgerRestored",
      "gatewayRestored",
      "folderCloned",
      "pairedAgain",
      "bothRestored",
    ] as const;
    this.#kind = kinds.find((kind) => world.plan.rates[kind] > 0) ?? null;
    this.#most = world.plan.recoveryScenario
      ? kernel.random.pick("restores at most", [1, 1, 1, 2, 3])
      : Number.POSITIVE_INFINITY;
    // New orders, as many as the shop may have had, outlive the bytes that no node shows. Once is
    // enough.
    if (world.plan.recoveryScenario && this.#kind === "bothRestored" && !showsAll(world.plan))
      this.#most = 1;
  }

  /** Whether one of them happened. */
  get wasUsed(): boolean {
    return this.#used > 0;
  }

  get restores(): number {
    return this.#used;
  }

  /** Ledger and database of one server, to the same moment. */
  get wereBothRestored(): boolean {
    return this.#kind === "bothRestored" && this.wasUsed;
  }

  /** One ledger, and everything else knows what was. */
  get wasLedgerAlone(): boolean {
    return this.#kind === "ledgerRestored" && this.wasUsed;
  }

  get wasGatewayRestored(): boolean {
    return (this.#kind === "gatewayRestored" || this.#kind === "bothRestored") && this.wasUsed;
  }

  /**
   * With people on the way back an old one is restored again, over what they have ordered since.
   */
  get #backupOdds(): number {
    return this.#world.plan.recoveryScenario && this.#used > 0 ? 60 : 5;
  }

  act(strikes: Strikes): void {
    const { machines, gateway } = this.#world;
    const [machine] = machines;
    if (machine !== undefined && this.#isRecovered(machine)) {
      this.#restoreDatabaseAgain();
      return;
    }
    const isOver =
      this.#used >= this.#most ||
      (this.#kind === "gatewayRestored" && this.#world.takeover.hasBegun);
    if (machine === undefined || this.#kind === null || isOver) return;
    const before = this.#used;
    switch (this.#kind) {
      case "ledgerRestored":
        if (this.#ledger === null || this.#isRenewed) this.#backUpLedger(machine);
        else if (!this.isAwaited && strikes("ledgerRestored", "the ledger is restored"))
          this.#restoreLedger();
        break;
      case "gatewayRestored":
        if (gateway.isInTransaction) return;
        if (
          this.#database === null ||
          kernel.random.below("the database is backed up", this.#backupOdds) === 0
        )
          this.#database = gateway.backup();
        else if (strikes("gatewayRestored", "the database is restored")) {
          note("database restored");
          gateway.restore(this.#database);
          this.#world.observer.forgetJobs(machine.id);
          this.#used += 1;
        }
        break;
      case "folderCloned":
        if (this.#used === 0 && strikes("folderCloned", "the folder is cloned")) this.#clone();
        break;
      case "bothRestored":
        if (gateway.isInTransaction || !this.#isAdopted(machine)) return;
        if (this.#ledger === null || kernel.random.below("the server is backed up", 5) === 0) {
          this.#ledger = machine.drive.backup();
          this.#database = gateway.backup();
        } else if (this.#isComparable && strikes("bothRestored", "the server is restored"))
          this.#restoreBoth();
        break;
      default:
        if (this.#used === 0 && strikes("pairedAgain", "another server is paired")) {
          this.#used += 1;
          this.#world.takeover.begin();
        }
    }
    if (this.#used > before) this.#world.recoveryScenario?.begin();
  }

  /**
   * Backups are made often; where an old one is restored, the last one is of when something was on
   * its way, or held.
   */
  get #isRenewed(): boolean {
    if (this.#world.plan.oldBackup !== "" && this.#used === 0) return !this.#hasOpen;
    return kernel.random.below("the ledger is backed up", 5) === 0;
  }

  get #hasOpen(): boolean {
    return this.#open.length > 0;
  }

  /**
   * Whether nothing of what is open in an old backup has ended at the gateway yet, or been signed.
   */
  get isAwaited(): boolean {
    if (!this.#hasOpen || this.#used > 0) return false;
    const { gateway, plan } = this.#world;
    const ended = "SELECT id FROM transfers WHERE status <> 0";
    const done = plan.oldBackup === "held" ? "SELECT transactionId AS id FROM slots" : ended;
    return !gateway.all<{ readonly id: string }>(done).some(({ id }) => this.#open.includes(id));
  }

  /**
   * With something open the backup is kept, and fees rise: of what was on its way a replacement
   * is signed that it does not know.
   */
  #backUpLedger(machine: Machine): void {
    const { plan, chainFixture } = this.#world;
    this.#ledger = machine.drive.backup();
    if (plan.oldBackup === "" || this.#used > 0) return;
    const ledger = this.#world.ledgerOf(machine);
    this.#open = plan.oldBackup === "held" ? ledger.held : ledger.onTheirWay;
    if (!this.#hasOpen) return;
    this.#fee = chainFixture.market(null);
  }

  #restoreLedger(): void {
    const [machine] = this.#world.machines;
    const files = this.#ledger;
    if (machine === undefined || files === null) return;
    if (this.#hasOpen && this.#used === 0) this.#world.chainFixture.market(this.#fee);
    this.#used += 1;
    const ledger = this.#world.ledgerOf(machine);
    note("ledger restored");
    machine.powerFails();
    const { drive } = machine;
    this.#world.forgets(machine, () => drive.restore(files));
    type Row = { readonly headSeq: number; readonly headHash: string };
    const [row] = this.#world.gateway.all<Row>(
      "SELECT headSeq, headHash FROM agents WHERE id = ?",
      machine.id,
    );
    const { seq: from } = ledger.head;
    if (row !== undefined && from < row.headSeq)
      ledger.lacked = { seq: row.headSeq, hash: row.headHash, from };
  }

  /** Nobody forgets what left and no node shows, but in runs with people who reckon with it. */
  get #isComparable(): boolean {
    const { payments, plan } = this.#world;
    // Something is on its way, which is not to be seen.
    if (plan.isUnseen) return (this.#world.chainFixture.explorer?.young.length ?? 0) > 0;
    return payments.isShown || (plan.recoveryScenario && !showsAll(plan));
  }

  /** A ledger without a first counter takes whatever the chain counts for where it begins. */
  #isAdopted(machine: Machine): boolean {
    const isCounted = this.#world.chainFixture.evm !== null;
    return (
      !isCounted || this.#world.ledgerOf(machine).records.some(({ kind }) => kind === "ADOPTED")
    );
  }

  /**
   * All bytes that left are on the chain or in its pool. Apart from that only the shop knows of
   * them, and asks for all of it again.
   */
  #restoreBoth(): void {
    const { gateway, payments, observer, actors, machines, plan, recoveryScenario } = this.#world;
    const [machine] = machines;
    if (this.#database === null || machine === undefined) return;
    if (plan.isUnseen) this.#hide();
    gateway.restore(this.#database);
    // As the page says, or as those do who have not read it yet; what no node shows stands in the
    // way of nothing new.
    // On a chain that counts nothing, only the order keeps the agent from paying once more.
    const mustWait = !showsAll(plan) || this.#world.chainFixture.evm === null;
    const isAwaited =
      plan.recoveryScenario &&
      (mustWait || kernel.random.below("crypto waits for the order", 2) === 0);
    if (isAwaited) machine.isOn = false;
    this.#restoreLedger();
    recoveryScenario?.beginAgain(isAwaited);
    note("database restored with it");
    observer.forget(machine.id);
    payments.forget(gateway.txHashes());
    const missed = actors.orderAllAgain();
    recoveryScenario?.comparison.reckonsWith(missed);
  }

  /** What is on its way is on no node, until long after the shop has ordered again. */
  #hide(): void {
    const { chainFixture, payments } = this.#world;
    const { scheduler, random } = kernel;
    const hidden = chainFixture.conceal?.() ?? new Map<string, () => void>();
    note("bytes are on no node", hidden.size);
    this.hidden += hidden.size;
    payments.hide?.([...hidden.keys()]);
    for (const publish of hidden.values())
      scheduler.after(
        random.between("they come again after", 20_000, 120_000),
        scheduler.world,
        publish,
      );
  }

  /** The recovery is over, and the ledgers of agent and gateway have one epoch. */
  #isRecovered({ id, signer }: Machine): boolean {
    const { gateway, plan } = this.#world;
    if (!plan.isRestoredAgain || !this.wasUsed || this.#isAgain || gateway.isInTransaction)
      return false;
    const sql =
      "SELECT agents.ledgerEpoch FROM agents JOIN recoveries ON agent = id AND recoveries.ledgerEpoch = agents.ledgerEpoch WHERE id = ? AND takenAt > 0";
    const [row] = gateway.all<{ readonly ledgerEpoch: number }>(sql, id);
    return row !== undefined && row.ledgerEpoch === signer?.signer.core.paired.ledgerEpoch;
  }

  #restoreDatabaseAgain(): void {
    const { gateway, payments, observer, actors, machines, recoveryScenario } = this.#world;
    if (this.#database === null) return;
    this.#isAgain = true;
    note("database restored once more");
    gateway.restore(this.#database);
    observer.forget(machines[0]?.id ?? "");
    payments.forget(gateway.txHashes());
    recoveryScenario?.comparison.reckonsWith(actors.orderAllAgain());
    recoveryScenario?.begin();
  }

  #clone(): void {
    const [machine] = this.#world.machines;
    if (machine === undefined) return;
    this.#used += 1;
    const clone = this.#world.addMachine("b", machine.id, 1);
    clone.drive.restore(machine.drive.backup());
    clone.drive.hasHole = machine.drive.hasHole;
    note("folder cloned");
    clone.startSigner();
    clone.startCourier();
  }
}
