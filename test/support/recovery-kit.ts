/**
 * A complete system of real processes whose agent or gateway is restored to an earlier day, and the
 * commands that recover it.
 */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { stateFolder } from "../../agent/files/state-folder.ts";
import { openKeystoreIn } from "../../agent/keystore/file.ts";
import { wipeKeystore } from "../../agent/keystore/keystore.ts";
import { ledgerKey } from "../../agent/keystore/ledger-key.ts";
import { unsealRecordBytes } from "../../agent/ledger/codec.ts";
import type { LedgerRecord } from "../../agent/ledger/records.ts";
import { LedgerSeal } from "../../agent/ledger/seal.ts";
import type { OperatorView, RecoveryPlan, SignerStatus } from "../../agent/socket/verbs.ts";
import { askOperator } from "../../cli/operator.ts";
import { runGatewayCommand } from "../../lab/kit/commands.ts";
import { type Kit, startPairedKit } from "../../lab/kit/kit.ts";
import { stop, until } from "../../lab/kit/processes.ts";
import { balanceWei, rpc } from "../../lab/kit/rpc.ts";
import { createShop, type Shop } from "../../lab/kit/shop.ts";

const waitMs = 180_000;

/** A receiver of nobody else, so that the balance counts the payments. */
export function receiver(n: number): string {
  return `0x${n.toString(16).padStart(2, "0").repeat(20)}`;
}

export class RecoveryKit {
  readonly kit: Kit;
  readonly shop: Shop;
  readonly agent: string;

  private constructor(kit: Kit, agent: string) {
    this.kit = kit;
    this.shop = createShop(kit);
    this.agent = agent;
  }

  static async start(): Promise<RecoveryKit> {
    const kit = await startPairedKit({ inProcess: true, confirmations: 1 });
    const [{ agentId = "" } = {}] = JSON.parse(await kit.operate("agents", "--json")) as {
      agentId?: string;
    }[];
    return new RecoveryKit(kit, agentId);
  }

  /** A command of the gateway's operator, its JSON. */
  async gateway(...args: string[]): Promise<unknown> {
    return JSON.parse(await this.kit.operate(...args, "--json"));
  }

  /**
   * A command of the gateway's operator that may be refused: its exit code and what it says about
   * it.
   */
  async gatewayOutcome(
    ...args: string[]
  ): Promise<{ readonly exitCode: number | null; readonly said: string }> {
    const { code, output } = await runGatewayCommand([
      ...args,
      "--config",
      this.kit.gatewayConfigPath,
    ]);
    return { exitCode: code, said: output };
  }

  /**
   * The state folder is lost with its server; another one pairs with the same wallet. Gives its
   * agent's id.
   */
  async pairAnotherServer(): Promise<string> {
    const { stateDir, configPath, mnemonic, apiKey, encKey } = this.kit;
    rmSync(stateDir, { recursive: true });
    const config = JSON.parse(readFileSync(configPath, "utf8")) as object;
    writeFileSync(configPath, JSON.stringify({ ...config, mnemonic, apiKey, encKey }), {
      mode: 0o600,
    });
    const { code, output } = await this.kit.pair();
    if (code !== 0) throw new Error(`pair: ${output}`);
    const agents = (await this.gateway("agents")) as { agentId: string; unpairedAt: string }[];
    return agents.find(({ unpairedAt }) => unpairedAt === "")!.agentId;
  }

  /** The JSON line of a command of the agent's operator, with its exit code. */
  async operator<T>(
    ...args: string[]
  ): Promise<T & { readonly exitCode: number | null; readonly code: string }> {
    const { code, output } = await this.kit.cli(...args, "--json");
    const line = output.split("\n").find((each) => each.startsWith("{"));
    if (line === undefined) throw new Error(`no JSON from ${args.join(" ")}: ${output}`);
    return { ...(JSON.parse(line) as T & { code: string }), exitCode: code };
  }

  async status(): Promise<
    SignerStatus & {
      readonly exitCode: number | null;
      readonly problems: readonly { code: string }[];
    }
  > {
    type Told = { status: SignerStatus; problems: readonly { code: string }[] };
    const { status, exitCode, problems } = await this.operator<Told>("status");
    return { ...status, exitCode, problems };
  }

  /**
   * Waits on the socket of the commands, because a process for each look would take half a core.
   */
  statusIs(what: string, holds: (status: SignerStatus) => boolean): Promise<SignerStatus> {
    return until(what, waitMs, async () => {
      const { status } = await askOperator(stateFolder(this.kit.stateDir), "status", {});
      return holds(status) ? status : undefined;
    });
  }

  /** Asks for a withdrawal; gives its id. */
  async order(orderId: string, amount: string, to: string): Promise<string> {
    return until(`an answer to ${orderId}`, waitMs, async () => {
      const { transactionId } = await this.shop.autoWithdraw({
        currency: "eth",
        amount,
        receiver: to,
        orderId,
      });
      return transactionId === "" ? undefined : transactionId;
    });
  }

  async completed(transactionId: string): Promise<void> {
    await until(`${transactionId} Completed`, waitMs, async () =>
      (await this.shop.transaction(transactionId)).status === 1 ? true : undefined,
    );
  }

  async pay(orderId: string, amount: string, to: string): Promise<string> {
    const transactionId = await this.order(orderId, amount, to);
    await this.completed(transactionId);
    return transactionId;
  }

  async withdrawal(transactionId: string): Promise<OperatorView> {
    return (await askOperator(stateFolder(this.kit.stateDir), "show", { transactionId }))
      .withdrawal;
  }

  approve(
    transactionId: string,
  ): Promise<{ readonly exitCode: number | null; readonly code: string }> {
    return this.operator("approve", transactionId, "--yes");
  }

  /** Reads the shown plan, orders it, and returns the plan. */
  async recover(...flags: readonly string[]): Promise<RecoveryPlan> {
    const shown = await until("a plan with the chain's count", waitMs, async () => {
      const answer = await this.operator<{ done: boolean; plan: RecoveryPlan }>(
        "recover",
        ...flags,
      );
      return answer.code === "RECOVERY_COUNT" ? undefined : answer;
    });
    if (shown.plan === undefined || shown.exitCode !== 2)
      throw new Error(`recover: ${JSON.stringify(shown)}`);
    const done = await this.operator<{ done: boolean }>(
      "recover",
      ...flags,
      "--yes",
      shown.plan.digest,
    );
    if (!done.done || done.exitCode !== 0) throw new Error(`recover: ${JSON.stringify(done)}`);
    return shown.plan;
  }

  async finish(): Promise<void> {
    const done = await until("the recovery taken", waitMs, async () => {
      const given = await this.operator("recover", "--finish", "--yes", this.agent);
      return given.exitCode === 0 ? given : undefined;
    });
    if (done.exitCode !== 0) throw new Error(`finish: ${JSON.stringify(done)}`);
  }

  balance(address: string): Promise<bigint> {
    return balanceWei(this.kit.anvil.url, address);
  }

  chain(method: string, ...params: unknown[]): Promise<unknown> {
    return rpc(this.kit.anvil.url, method, params);
  }

  records(): LedgerRecord[] {
    const folder = join(this.kit.stateDir, "signer", "ledger");
    const files = readdirSync(folder)
      .filter((name) => name.endsWith(".jsonl"))
      .sort();
    return files.flatMap((name) =>
      readFileSync(join(folder, name), "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as LedgerRecord),
    );
  }

  /**
   * Every record with its signed bytes out of their box, as an operator with encKey may read them.
   */
  opened(): LedgerRecord[] {
    const contents = openKeystoreIn(
      join(this.kit.stateDir, "signer"),
      Buffer.from(this.kit.encKey),
    );
    const seal = new LedgerSeal(ledgerKey(contents).bytes);
    wipeKeystore(contents);
    return this.records().map((record) =>
      unsealRecordBytes(record, seal, { file: "", line: record.seq }),
    );
  }

  async stopAll(): Promise<void> {
    await stop(this.kit.crypto!);
    await stop(this.kit.gateway!);
  }

  keepState(name: string): void {
    this.#copy(this.kit.stateDir, join(this.kit.dir, name));
  }

  restoreState(name: string): void {
    this.#copy(join(this.kit.dir, name), this.kit.stateDir);
  }

  keepDatabase(name: string): void {
    this.#copy(dirname(this.kit.gatewayConfigPath), join(this.kit.dir, name));
  }

  restoreDatabase(name: string): void {
    this.#copy(join(this.kit.dir, name), dirname(this.kit.gatewayConfigPath));
  }

  #copy(from: string, to: string): void {
    rmSync(to, { recursive: true, force: true });
    cpSync(from, to, { recursive: true, preserveTimestamps: true });
  }
}
