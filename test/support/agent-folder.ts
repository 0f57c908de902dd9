/**
 * A merchant's server in a temporary folder: config.json, a state folder, and commands on them, in
 * this process or as an operator would run them.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CommandResult, runAgentCommand } from "../../lab/kit/commands.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { run, type StartedProcess, start } from "../../lab/kit/processes.ts";

export const usdt = "0xdAC17F958D2ee523a2206206994597C13D831ec7";
/** The development mnemonic that every local chain knows. */
export const knownMnemonic = "test test test test test test test test test test test junk";

export type Ran = CommandResult;

export class AgentFolder {
  readonly dir = mkdtempSync(join(tmpdir(), "autowithdraw-agent-"));
  readonly config = join(this.dir, "config.json");
  readonly state = join(this.dir, "state");
  readonly encKey = randomBytes(32).toString("hex");
  readonly log = join(this.dir, "output.log");

  writeConfig(gatewayUrl: string, secrets: Readonly<Record<string, string>>): string {
    const content = {
      gatewayUrl,
      ...secrets,
      chains: {
        local: { family: "evm", chainId: 31337, nodes: ["http://127.0.0.1:9"], confirmations: 1 },
      },
      currencies: {
        usdt: { chain: "local", decimal: 6, contract: usdt },
        eth: { chain: "local", decimal: 18 },
        quiet: {
          chain: "local",
          decimal: 2,
          contract: "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
        },
      },
      policy: {
        usdt: { maxPerWithdrawal: "100", maxPerDay: "1000", maxFee: "0.010", maxFeePerDay: "1" },
        eth: { maxPerWithdrawal: "1", maxPerDay: "5", maxFee: "0.02", maxFeePerDay: "1" },
      },
    };
    const text = `${JSON.stringify(content, null, 2)}\n`;
    writeFileSync(this.config, text, { mode: 0o600 });
    return text;
  }

  /** Pairs in this process, as every other command. */
  pair(...args: string[]): Promise<Ran> {
    return this.cli("pair", "--config", this.config, "--yes", ...args);
  }

  /** Pairs as an operator does: pair.js, and the programs that it starts. */
  pairProcess(...args: string[]): Promise<Ran> {
    return this.launcher(
      "pair.js",
      "--config",
      this.config,
      "--state",
      this.state,
      "--yes",
      ...args,
    );
  }

  /** A command in this process. */
  cli(...args: string[]): Promise<Ran> {
    return runAgentCommand([...args, "--state", this.state]);
  }

  /**
   * A command as a process of its own: for those that ask this process's servers while they wait
   * for a child, or that become another user.
   */
  cliProcess(...args: string[]): Promise<Ran> {
    return this.launcher("autowithdraw.js", ...args, "--state", this.state);
  }

  launcher(file: string, ...args: string[]): Promise<Ran> {
    return run(process.execPath, [join(projectRoot, file), ...args], {
      cwd: this.dir,
      logFile: this.log,
    });
  }

  crypto(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): StartedProcess {
    const words = [
      join(projectRoot, "crypto.js"),
      "--config",
      this.config,
      "--state",
      this.state,
      ...args,
    ];
    return start(process.execPath, words, {
      cwd: this.dir,
      logFile: this.log,
      env: { ...process.env, ...env },
    });
  }

  /**
   * Every file below `folder` with its content and mode, by path: equal maps mean nothing changed.
   */
  contents(folder = this.dir): ReadonlyMap<string, string> {
    const found = new Map<string, string>();
    for (const name of readdirSync(folder, { recursive: true }) as string[]) {
      const path = join(folder, name);
      if (path === this.log || !statSync(path).isFile()) continue;
      found.set(
        name,
        `${(statSync(path).mode & 0o777).toString(8)} ${readFileSync(path, "latin1")}`,
      );
    }
    return found;
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}
