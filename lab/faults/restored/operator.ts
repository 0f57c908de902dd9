/**
 * The people of the stream `restored`, who type what the product's own pages and outputs tell them
 * to: at the gateway for an order that a payment holds, at the agent for what waits there, for a
 * stopped chain and for a recovery. They know which attempts an order had before the restore.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { stateFolder } from "../../../agent/files/state-folder.ts";
import type { OperatorView, RecoveryPlan, SignerStatus } from "../../../agent/socket/verbs.ts";
import { askOperator } from "../../../cli/operator.ts";
import { runGatewayCommand } from "../../kit/commands.ts";
import type { Kit } from "../../kit/kit.ts";
import { stop, until } from "../../kit/processes.ts";
import type { RestoredOrder } from "./judge.ts";

const waitMs = 180_000;
const listMax = 100;
/** So often a plan that lacks payments is asked for again, by a new start of `crypto`. */
const plansMax = 4;
const why = ["--reason", "seen in a block explorer"];

interface OrderStates {
  readonly held: ReadonlySet<string>; // ids of the orders that the shop sees as held at the service
  readonly paid: ReadonlySet<string>; // the hot wallet's transactions that blocks have
}

interface CommandOutput {
  readonly code: number | null;
  readonly output: string;
}

export class RestoredOperator {
  readonly #kit: Kit;
  readonly #agent: string;
  readonly #finalMs: number; // in which all that waits becomes final
  readonly #tell: (line: string) => void;
  /** Orders that waited for a person, by their id. */
  readonly waited = new Set<string>();
  readonly violations: string[] = [];
  recoveries = 0;

  constructor(kit: Kit, agent: string, finalMs: number, tell: (line: string) => void) {
    this.#kit = kit;
    this.#finalMs = finalMs;
    this.#agent = agent;
    this.#tell = tell;
  }

  async status(): Promise<SignerStatus> {
    return (await askOperator(stateFolder(this.#kit.stateDir), "status", {})).status;
  }

  /** One look at all that may wait. */
  async look(orders: readonly RestoredOrder[], { held, paid }: OrderStates): Promise<void> {
    let isRecovery = false;
    for (const order of orders)
      if (held.has(order.transactionId)) isRecovery = (await this.#atGateway(order)) || isRecovery;
    const status = await this.status();
    const isLocked = status.locked !== "" || status.recovery === "RECOVERY_OFFERED";
    if (isLocked) await this.#tellProblems();
    if (isLocked || isRecovery) {
      // As the page says: not before all that is on its way is final.
      await sleep(this.#finalMs);
      await this.recover(
        orders.filter(({ before }) => before.some((txHash) => paid.has(txHash))).length,
      );
      return;
    }
    const { withdrawals } = await askOperator(stateFolder(this.#kit.stateDir), "list", {
      openOnly: true,
      limit: listMax,
    });
    for (const view of withdrawals) {
      const order = orders.find(({ transactionId }) => transactionId === view.transactionId);
      if (order !== undefined && (view.state === "held" || view.state === "quarantined"))
        await this.#atAgent(view, order, paid);
    }
    if (held.size === 0 && status.stopped !== undefined) await this.#resume();
  }

  /** Section 4 of docs/recovering.md, steps 1 and 2. */
  async recover(forgotten: number): Promise<void> {
    this.recoveries += 1;
    await this.#gateway("agents", "recover", this.#agent);
    await this.#offered();
    await until("the recovery is carried out", waitMs, async () => {
      const plan = await this.#plan(forgotten);
      const done = await this.#cli("recover", "--both-restored", "--yes", plan.digest);
      // The ledger may have gone on since the plan was shown: then people look again, as it says.
      if (done.code !== 0) throw new Error(`recover: ${done.output}`);
      return true;
    });
  }

  /** Step 4: policy decides again. */
  async finish(): Promise<void> {
    if ((await this.status()).recovery === "") return;
    await until("the end of the recovery", waitMs, async () => {
      const { code, output } = await this.#cli("recover", "--finish", "--yes", this.#agent);
      if (code !== 0) throw new Error(output);
      return true;
    });
  }

  /** The attempts that an order has at the agent now. */
  async attemptsOf(transactionId: string): Promise<readonly string[]> {
    const { withdrawal } = await askOperator(stateFolder(this.#kit.stateDir), "show", {
      transactionId,
    });
    return withdrawal.attempts.map(({ txHash }) => txHash);
  }

  async #offered(): Promise<void> {
    await until("a recovery is offered", waitMs, async () =>
      (await this.status()).recovery === "RECOVERY_OFFERED" ? true : undefined,
    );
  }

  /** The plan once the courier has counted, with all payments that both have forgotten. */
  async #plan(forgotten: number): Promise<RecoveryPlan> {
    for (let tries = 1; ; tries += 1) {
      const plan = await until("a plan of the recovery", waitMs, async () => {
        const { output } = await this.#kit.cli("recover", "--both-restored", "--json");
        const line = output.split("\n").find((each) => each.startsWith("{"));
        const { plan: shown } = JSON.parse(line ?? "{}") as { plan?: RecoveryPlan };
        if (shown === undefined) throw new Error(output);
        return shown;
      });
      if ((plan.outgoing ?? []).length >= forgotten || tries === plansMax) return plan;
      await stop(this.#kit.crypto!);
      await this.#kit.startCrypto();
      await this.#offered();
    }
  }

  /**
   * An order that a payment on the chain holds: its earlier attempts tell whether it paid this one.
   * @returns true if the answer says that the agent is to be recovered first
   */
  async #atGateway({ orderId, transactionId: id, before }: RestoredOrder): Promise<boolean> {
    this.waited.add(id);
    let isRecovery = false;
    const shown = await this.#run("withdrawals", "show", id);
    for (const [, txHash = ""] of shown.output.matchAll(/^ {2}held: (\S+),/gm)) {
      const isPaid = before.includes(txHash);
      const words = isPaid
        ? ["withdrawals", "paid", id, "--transaction", txHash]
        : ["withdrawals", "release", id, "--not", txHash];
      const line = shown.output.split("\n").find((one) => one.includes(words.join(" ")));
      if (line === undefined)
        this.violations.push(`${orderId} is held by ${txHash}, and nothing says what to type`);
      // Said of a payment that no operator may name yet.
      else if (!line.includes("(once it is final)")) {
        const { output } = await this.#gateway(...words, ...why);
        isRecovery ||= output.includes("recover the agent first");
      }
    }
    return isRecovery;
  }

  /** An order that was signed before is paid, or will be: the block explorer shows it some time. */
  async #atAgent(
    { state, code, transactionId: id }: OperatorView,
    { orderId, before }: RestoredOrder,
    paid: ReadonlySet<string>,
  ): Promise<void> {
    this.waited.add(id);
    const txHash = before.find((one) => paid.has(one)) ?? "";
    const isPaid = code === "RECOVERY_HOLD" && before.length > 0;
    if (isPaid && txHash === "") return;
    const { output } = await this.#kit.cli("show", id);
    // The signer may have judged it since the list was read. Then the next look says what it waits
    // for.
    const { withdrawal } = await askOperator(stateFolder(this.#kit.stateDir), "show", {
      transactionId: id,
    });
    if (withdrawal.state !== state) return;
    const verb = !isPaid ? "approve" : state === "held" ? "refuse" : "cancel";
    // The command wraps its lines.
    if (!output.replace(/\s+/g, " ").includes(`${verb} ${id}`))
      this.violations.push(`${orderId} is ${state}, and nothing says "${verb} ${id}"`);
    if (isPaid) {
      const { code: ended } = await this.#gateway(
        "withdrawals",
        "paid",
        id,
        "--transaction",
        txHash,
        ...why,
      );
      if (ended !== 0) return; // not final yet, or not read
    }
    await this.#cli(verb, id, "--yes");
  }

  async #resume(): Promise<void> {
    const { output } = await this.#kit.cli("status");
    const networks = [...output.matchAll(/resume --network (\S+?)[\s"',.;)]/g)].map(
      ([, network = ""]) => network,
    );
    if (networks.length === 0)
      this.violations.push("first payments are stopped, and nothing says what to type");
    for (const network of new Set(networks))
      await this.#cli("resume", "--network", network, "--yes");
  }

  async #tellProblems(): Promise<void> {
    const { output } = await this.#kit.cli("status", "--json");
    const { problems = [] } = JSON.parse(output) as {
      problems?: readonly { code: string; hint: string }[];
    };
    const locks = problems.filter(({ hint }) => hint.includes("recover"));
    if (locks.length === 0)
      this.violations.push("the agent is locked, and nothing names the recovery");
    for (const { code, hint } of locks) this.#tell(`${code}: ${hint}`);
  }

  async #gateway(...words: string[]): Promise<CommandOutput> {
    this.#tell(`autowithdraw-gateway ${words.join(" ")}`);
    const said = await this.#run(...words);
    if (said.code !== 0) this.#tell(`  ${said.output.trim().split("\n")[0]}`);
    return said;
  }

  #run(...words: string[]): Promise<CommandOutput> {
    return runGatewayCommand([...words, "--config", this.#kit.gatewayConfigPath]);
  }

  async #cli(...words: string[]): Promise<CommandOutput> {
    this.#tell(`autowithdraw ${words.join(" ")}`);
    const said = await this.#kit.cli(...words);
    if (said.code !== 0) this.#tell(`  ${said.output.trim().split("\n")[0]}`);
    // The next look is for what came of it.
    await sleep(0);
    return said;
  }
}
