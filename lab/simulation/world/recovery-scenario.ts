/**
 * The two operators of docs/recovering.md, one at the gateway and one at the agent: they look every
 * few seconds, do one step of the page, and look again. A step that was refused, or whose answer
 * never came, is done later from where the page says. They act by the product's own verbs, and see
 * only `status`, `agents` and a block explorer.
 */

import { ledgerDisk } from "../../../agent/ledger/disk.ts";
import { createLockedLedger } from "../../../agent/ledger/ledger.ts";
import type { RecoveryPlan } from "../../../agent/socket/recovery-plan.ts";
import type { OperatorView, SignerStatus } from "../../../agent/socket/verbs.ts";
import { type AgentLine, listAgents, recoverAgent } from "../../../gateway/operator/accounts.ts";
import { must } from "../invariants/violation.ts";
import { kernel, note } from "../kernel/kernel.ts";
import type { Machine } from "./agent.ts";
import { Comparison } from "./comparison.ts";
import { isHeldUp } from "./pending-work.ts";
import type { Scene } from "./scene.ts";
import { gatewayKey, merchant, seal, wallet } from "./setting.ts";

/** Codes of section 2 that say: section 3. */
const mendable: ReadonlySet<string> = new Set(["LEDGER_BEHIND_GATEWAY", "LEDGER_FORKED"]);
/** Answers that a recovered ledger may get: section 6. */
const contradictions: ReadonlySet<string> = new Set(["HUB_CONTRADICTION", "HUB_SLOT_REUSED"]);
/** Refusals of a look that came too early and is done again. */
const tooEarly: ReadonlySet<string> = new Set([
  ...["RECOVERY_NONE", "SIGNER_LOCKED", "SIGNER_NO_HANDSHAKE", "RECOVERY_OFFERED"],
  // The nodes here have not counted, or are behind what another server of the wallet sent.
  ...["RECOVERY_SLOT", "RECOVERY_COUNT"],
  // The disk failed in the midst of it: the signer starts again.
  ...["LEDGER_DISK_FULL", "LEDGER_POISONED", "WITHDRAWAL_DIGEST"],
  ...["WITHDRAWAL_NOT_HELD", "WITHDRAWAL_CLOSED", "WITHDRAWAL_HAS_SLOT"],
]);
/** Policy has still to judge it: no operator's turn. */
const unjudged = "SIGNER_NO_HANDSHAKE";
/** Both sides may have forgotten a payment of it. */
const isCompared = ({ state, code }: OperatorView): boolean =>
  state === "held" || code === "RECOVERY_HOLD";
/** Longer than nodes must agree that a nonce is used before it is called lost. */
const lateMs = 150_000;
const hourAndMoreMs = 61 * 60_000;
const dayAndMoreMs = 25 * 60 * 60_000;
/** Half a minute, as the page says, and some more: an order that nothing came of is given again. */
const patienceMs = 45_000;
/** A passing fault may end by itself, so nobody orders a recovery for less. */
const doubtMs = 8_000;

export class RecoveryScenario {
  readonly #world: Scene;
  readonly comparison: Comparison;
  #hasBegun = false;
  /** No recovery mends it, and the page says to stop: why, "" while there is hope. */
  #beyond = "";
  #seen = "nobody has looked yet";
  #doubtSince = -1;
  #orderedAt = -patienceMs;
  #shown: { readonly signer: object; readonly digest: string } | null = null;
  #kept: Machine | null = null;
  #wasRecovered = false;
  /** Sections 4 and 5 lead to step 2 of section 3, whatever was ordered before. */
  #isFromStepTwo = false;
  /** The gateway stands before a recovery: both have forgotten, says the agent. */
  #isPastRecovery = false;
  /** `crypto` is started when the order was made. */
  #isAwaited = false;
  /** The plan was refused for a slot that nobody has. */
  #isSlotNobodys = false;

  constructor(world: Scene) {
    this.#world = world;
    this.comparison = new Comparison(world);
  }

  get isBeyond(): boolean {
    return this.#beyond !== "";
  }

  /** The next step of the page, in words; "" if there is none. */
  get waits(): string {
    // The page says to wait, or to use up the slots that the unpaired server signed and never sent.
    if (this.#isSlotNobodys && isHeldUp(this.#world)) return "";
    return this.#hasBegun && !this.isBeyond ? this.#seen || this.#unseen : "";
  }

  /**
   * An ended copy told the gateway more than the other one has: that one looks sound until its next
   * handshake, and then locks.
   */
  get #unseen(): string {
    const { id, name, signer } = this.#machine;
    if (this.comparison.explains(signer?.signer.core.locked?.code ?? ""))
      return `${name} is locked`;
    const { records } = this.#world.ledgerOf(this.#machine);
    type Row = { readonly headSeq: number; readonly headHash: string };
    const sql = "SELECT headSeq, headHash FROM agents WHERE id = ? AND headSeq > 0";
    const lacked = this.#world.gateway
      .all<Row>(sql, id)
      .find((row) => records[row.headSeq - 1]?.hash !== row.headHash);
    return lacked === undefined ? "" : `${name} lacks record ${lacked.headSeq} of the gateway's`;
  }

  /** Something happened that somebody will have to look at, again if they are at it. */
  begin(): void {
    this.#seen = "nobody has looked yet";
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const isLate =
      this.#world.plan.oldBackup !== "" && kernel.random.below("nobody looks for minutes", 3) === 0;
    kernel.scheduler.after(isLate ? lateMs : 0, kernel.scheduler.world, () => this.#lookLater());
  }

  /** Ledger and gateway were restored together. */
  beginAgain(isAwaited: boolean): void {
    this.#isFromStepTwo = true;
    this.#isAwaited ||= isAwaited;
    this.begin();
  }

  #lookLater(): void {
    const { scheduler, random } = kernel;
    const slow = random.below("rescue is slow", 8) === 0 ? 8 : 1;
    scheduler.after(slow * random.between("rescue looks", 700, 3_000), scheduler.world, () => {
      if (this.isBeyond) return;
      this.#look();
      this.#lookLater();
    });
  }

  /** The server that is to go on. */
  get #machine(): Machine {
    const { takeover, machines } = this.#world;
    return takeover.next ?? this.#kept ?? (machines[0] as Machine);
  }

  #look(): void {
    const { gateway, actors, takeover, machines } = this.#world;
    // Until it is released the old one may have to catch up in a recovery.
    const isGone = takeover.isUnderWay && (takeover.isReleased || machines[0]?.isOn === false);
    if (isGone) {
      this.#seen = "another server is to be paired";
      return;
    }
    if (this.#endsCopies()) return;
    const { random } = kernel;
    const isWanted =
      this.#world.plan.takeover &&
      this.#world.faultInjector.backups.wasGatewayRestored &&
      !takeover.hasBegun;
    if (isWanted && random.below("another server after the restore", 8) === 0) {
      takeover.begin();
      return;
    }
    const machine = this.#machine;
    const { signer } = machine;
    if (this.#isAwaited) {
      this.#seen = "the order comes before crypto";
      if (!gateway.isInTransaction) this.#order(machine, 0);
      return;
    }
    if (signer === null) {
      this.#seen = `${machine.name} is down`;
      return;
    }
    actors.ask(machine, "status", {}, (answer) => {
      if (!answer.ok || gateway.isInTransaction) return;
      const { status } = answer as unknown as { status: SignerStatus };
      gateway.command(
        (by) => listAgents(by),
        (lines) => {
          const line = lines?.find(({ agentId }) => agentId === machine.id);
          if (line !== undefined) this.#act(machine, status, line);
        },
      );
    });
  }

  /** Section 3, step 1. Two that run and agree in everything are found by chance. */
  #endsCopies(): boolean {
    const running = this.#world.machines.filter(({ id, isOn }) => isOn && id === this.#machine.id);
    if (running.length < 2) return false;
    this.#seen = "two of them run";
    const isLocked = running.some(
      ({ signer }) => signer !== null && signer.signer.core.locked !== null,
    );
    if (!isLocked && kernel.random.below("the copy is found", 6) > 0) return true;
    const ended = kernel.random.pick("which copy is ended", running);
    note("a copy is ended for good", ended.name);
    ended.endForGood();
    this.#kept = running.find((machine) => machine !== ended) ?? null;
    return true;
  }

  #act(machine: Machine, status: SignerStatus, line: AgentLine): void {
    const { takeover } = this.#world;
    const { recovery, locked, ledgerEpoch, handshakeDone } = status;
    const isConflict =
      this.#wasRecovered && recovery !== "RECOVERY_OFFERED" && contradictions.has(line.lockedCode);
    if (isConflict && !this.#isFromStepTwo) {
      this.#conflict(machine);
      return;
    }
    if (
      status.courier?.linkDetail.includes("WELCOME_STALE") &&
      kernel.random.below("crypto is started again", 4) === 0
    ) {
      this.#startAgain(machine);
      return;
    }
    this.#seen = `${machine.name}: locked ${locked || "no"}, ${recovery || "no recovery"}, epoch ${ledgerEpoch} of ${line.ledgerEpoch}, ${line.lockedCode} ${line.notCaughtUp}`;
    if (locked !== "" && !mendable.has(locked) && !this.comparison.explains(locked)) {
      this.#giveUp(locked);
      return;
    }
    if (recovery === "RECOVERY_OFFERED" && !this.#isFromStepTwo) {
      this.#recover(machine);
      return;
    }
    if (this.#mustOrder(status, line)) {
      // An operator who does not look there orders it in vain, and again.
      const hasLooked =
        ledgerEpoch > line.ledgerEpoch &&
        kernel.random.below("nobody looks at the agent's epoch", 3) > 0;
      this.#order(machine, hasLooked ? ledgerEpoch : 0);
      return;
    }
    if (recovery === "RECOVERY_HOLD") {
      // Also when the answer to the yes never came.
      this.#wasRecovered = true;
      this.#goThrough(machine, () => this.#finish(machine));
      return;
    }
    if (
      locked !== "" ||
      !handshakeDone ||
      line.lockedCode !== "" ||
      line.notCaughtUp !== "" ||
      ledgerEpoch !== line.ledgerEpoch
    )
      return;
    this.#seen = takeover.isUnderWay ? "another server is to be paired" : "";
    if (!this.#wasRecovered) return;
    this.#goThrough(machine, () => this.#world.actors.orderOnceMore());
  }

  /** The advice of `status` after the gateway's clock was set back. */
  #startAgain(machine: Machine): void {
    note("crypto is started again", machine.name);
    if (machine.signer !== null) machine.signerEnds(machine.signer.owner);
  }

  #mustOrder(
    { locked, ledgerEpoch }: SignerStatus,
    { lockedCode, notCaughtUp, ledgerEpoch: granted }: AgentLine,
  ): boolean {
    const { nowMs } = kernel.scheduler;
    const isOrdered = lockedCode === "RECOVERY_OFFERED";
    const isHubs =
      lockedCode.startsWith("HUB_") ||
      lockedCode === "AGENT_BEHIND" ||
      notCaughtUp.includes("HUB_DATABASE_BEHIND");
    if (this.#isFromStepTwo) return true;
    const isDue = isOrdered
      ? nowMs - this.#orderedAt > patienceMs
      : locked !== "" || isHubs || ledgerEpoch !== granted;
    if (!isDue) {
      this.#doubtSince = -1;
      return false;
    }
    if (this.#doubtSince < 0) this.#doubtSince = nowMs;
    return locked !== "" || nowMs - this.#doubtSince > doubtMs;
  }

  /** Step 2. */
  #order(machine: Machine, above: number): void {
    this.#world.gateway.command(
      (by) => recoverAgent(by, machine.id, above),
      (said) => {
        note(
          "agents recover",
          said === null ? "no answer" : said.ok ? said.ledgerEpoch : said.code,
        );
        if (said?.ok !== true) return;
        this.#isFromStepTwo = false;
        this.#orderedAt = kernel.scheduler.nowMs;
        this.#doubtSince = -1;
        if (!this.#isAwaited) return;
        this.#isAwaited = false;
        machine.isOn = true;
        machine.powerReturns(1_000);
      },
    );
  }

  /** Steps 3 and 4: shown at one look, answered at a later one. */
  #recover(machine: Machine): void {
    const { actors } = this.#world;
    const signer = machine.signer as object;
    const shown = this.#shown?.signer === signer ? this.#shown : null;
    this.#shown = null;
    const both = this.comparison.isNeeded || this.#isPastRecovery;
    actors.ask(
      machine,
      "recover",
      { digest: shown?.digest ?? "", bothRestored: both },
      (answer) => {
        this.#isSlotNobodys = !answer.ok && answer.code === "RECOVERY_SLOT";
        if (answer.ok) {
          const { plan, done } = answer as unknown as { plan: RecoveryPlan; done: boolean };
          if (done) this.#isPastRecovery = false;
          note("recover", done ? "done" : "shown", () => JSON.stringify(plan));
          this.comparison.shown(plan);
          this.#wasRecovered ||= done;
          if (!done && this.#mayGoOn()) this.#shown = { signer, digest: plan.digest };
          const isMissed = !done && this.#world.faultInjector.backups.wasGatewayRestored;
          if (isMissed && kernel.random.below("the shop asks again", 3) === 0) actors.askAgain();
          return;
        }
        if (answer.code === "RECOVERY_BOTH") this.#isPastRecovery = true;
        else this.#refused("recover", answer.code);
      },
    );
  }

  /** Section 6. */
  #conflict(machine: Machine): void {
    const { backups, isDeceived } = this.#world.faultInjector;
    const isWhole = backups.wasLedgerAlone && !isDeceived;
    this.#world.holds(() =>
      must(!isWhole, "a ledger that was restored alone contradicts nothing", () => machine.name),
    );
    if (this.#world.faultInjector.backups.wasGatewayRestored) this.#giveUp("a contradiction");
    else kernel.scheduler.after(0, kernel.scheduler.world, () => this.#newLedger(machine));
  }

  /** Section 4. */
  #newLedger(machine: Machine): void {
    note("a new ledger is begun");
    const { id } = machine;
    const { gateway } = this.#world;
    const [row] = gateway.all<{ ledgerEpoch: number }>(
      "SELECT ledgerEpoch FROM agents WHERE id = ?",
      id,
    );
    if (row === undefined) return;
    machine.isOn = false;
    machine.powerFails();
    this.#world.forgets(machine, () => {
      machine.drive.restore(new Map());
      const first = {
        kind: "PAIRED",
        agent: id,
        merchant,
        wallet,
        ledgerEpoch: 1,
        gatewayKey: gatewayKey.publicKey,
      } as const;
      createLockedLedger(ledgerDisk(`/${machine.name}/ledger`), first, seal);
    });
    this.#isFromStepTwo = true;
    machine.isOn = true;
    machine.powerReturns(1_000);
  }

  /** A transaction on the list that is nobody's order: section 5, step 3. */
  #mayGoOn(): boolean {
    if (this.#world.payments.foreign.size === 0) return true;
    this.#giveUp("a foreign transaction");
    return false;
  }

  /** Step 5, one by one. */
  #goThrough(machine: Machine, done: () => void): void {
    const { actors } = this.#world;
    const { comparison } = this;
    if (!this.#mayGoOn()) return;
    actors.ask(machine, "list", { openOnly: true, limit: 50 }, (answer) => {
      const { withdrawals = [] } = answer as unknown as { withdrawals?: readonly OperatorView[] };
      const held = withdrawals.filter((view) => isCompared(view) && comparison.isDue(view));
      const quarantined = withdrawals
        .filter(
          (view) => view.state === "quarantined" && view.code !== unjudged && !isCompared(view),
        )
        .sort((a, b) => Number(a.slot) - Number(b.slot));
      const impasse = comparison.impasse(withdrawals);
      if (impasse !== "") {
        this.#giveUp(impasse);
        return;
      }
      for (const view of [...quarantined, ...held]) {
        if (kernel.random.below("one is left for later", 4) > 0) this.#decide(machine, view);
      }
      if (comparison.wantsNew(withdrawals)) actors.orderNew();
      if (!comparison.mayEnd(withdrawals)) return;
      if (held.length + quarantined.length === 0 || kernel.random.below("the rest waits", 4) === 0)
        done();
    });
  }

  #decide(machine: Machine, view: OperatorView): void {
    const { actors } = this.#world;
    if (view.state === "quarantined" && kernel.random.below("quarantined is refused", 6) === 0) {
      actors.ask(
        machine,
        "refuse",
        { transactionId: view.transactionId, approver: "ann" },
        (answer) => {
          const isTaken = answer.ok;
          this.#world.holds(() =>
            must(!isTaken, "a withdrawal with a slot is never refused", () => view.orderId),
          );
        },
      );
      return;
    }
    if (isCompared(view) && this.comparison.hasPaid(view)) {
      note("paid, as the chain shows", view.orderId);
      actors[view.state === "held" ? "refuse" : "cancel"](machine, view);
      return;
    }
    if (view.state === "held" && !this.comparison.isOutlived) {
      actors.approve(machine, view, (code) => {
        if (code === "JOB_EXPIRED") actors.refuse(machine, view);
        else
          this.#world.leap(
            code === "POLICY_ABOVE_HOUR" ? hourAndMoreMs : dayAndMoreMs,
            "a limit's time passes",
          );
      });
      return;
    }
    // Whose bytes were never sent, no chain decides.
    if (
      view.code === "SLOT_CONTESTED" &&
      kernel.random.below("the chain is not waited for", 4) === 0
    ) {
      actors.cancel(machine, view);
      return;
    }
    if (view.state === "quarantined" || kernel.random.below("held is refused", 4) > 0)
      actors.approve(machine, view);
    else actors.refuse(machine, view);
  }

  /** Step 6. */
  #finish(machine: Machine): void {
    this.#world.actors.ask(machine, "finish", {}, (answer) => {
      if (!answer.ok) {
        this.#refused("finish", answer.code);
        return;
      }
      if (kernel.random.below("the shop asks again after it", 3) === 0)
        this.#world.actors.askAgain();
      const { held } = answer as unknown as { held: number };
      // A withdrawal that was left for later may be left for long, because no time ends it.
      if (held === 0 || kernel.random.below("left for long", 2) > 0) return;
      this.#world.leap(dayAndMoreMs, "a day passes");
    });
  }

  #refused(what: string, code: string): void {
    if (!tooEarly.has(code))
      this.#world.thrown(
        kernel.scheduler.world,
        new Error(`the page does not say what to do: ${what} said ${code}`),
      );
  }

  #giveUp(why: string): void {
    note("no recovery mends it", why);
    this.#beyond = why;
  }
}
