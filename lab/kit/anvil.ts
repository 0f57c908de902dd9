/**
 * Starts a local EVM chain (anvil) for the demo, the bench and the tests: the binary of the
 * installed platform package, on a free port of loopback, with blocks as asked. The chain lives in
 * memory and dies with the process that started it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

interface AnvilOptions {
  readonly port?: number; // default: any free one
  readonly chainId?: number; // default 31337
  readonly blockTimeMs?: number; // a block at this pace; default: a block for each transaction
  readonly noMining?: boolean; // blocks only by evm_mine
  readonly slotsInAnEpoch?: number; // default 1: "finalized" is two blocks behind the head
  readonly mnemonic?: string; // one of the ten accounts with coins
}

export interface Anvil {
  readonly url: string;
  readonly pid: number;
  /** Resolves when the process is gone. Calling twice is harmless. */
  stop(): Promise<void>;
}

const startTimeoutMs = 15_000;

/** Resolves when the chain answers on its port. */
export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  const child = spawn(anvilPath(), argumentsOf(options), { stdio: ["ignore", "pipe", "ignore"] });
  const killWithUs = (): boolean => child.kill("SIGKILL");
  process.once("exit", killWithUs);
  const gone = new Promise<void>((resolve) => {
    child.once("close", () => {
      process.off("exit", killWithUs);
      resolve();
    });
  });
  const url = await listeningUrl(child);
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await gone;
  };
  return { url, pid: child.pid as number, stop };
}

function argumentsOf(options: AnvilOptions): string[] {
  const args = ["--port", `${options.port ?? 0}`, "--chain-id", `${options.chainId ?? 31_337}`];
  args.push("--slots-in-an-epoch", `${options.slotsInAnEpoch ?? 1}`);
  if (options.noMining === true) args.push("--no-mining");
  if (options.blockTimeMs !== undefined) args.push("--block-time", `${options.blockTimeMs / 1000}`);
  if (options.mnemonic !== undefined) args.push("--mnemonic", options.mnemonic);
  return args;
}

/** The binary itself, not the package's launcher, so that its process id is the one to stop. */
function anvilPath(): string {
  const arch = process.arch === "x64" ? "amd64" : process.arch;
  const require = createRequire(import.meta.url);
  const binary = process.platform === "win32" ? "anvil.exe" : "anvil";
  const name = `@foundry-rs/anvil-${process.platform}-${arch}`;
  try {
    return require.resolve(`${name}/bin/${binary}`);
  } catch (cause) {
    throw new Error(
      `the local chain is missing (${name}); node scripts/ensure.js --chain brings it`,
      { cause },
    );
  }
}

/**
 * anvil says on which port it listens; afterwards its output is read and dropped, or it would block
 * on a full pipe.
 */
async function listeningUrl(child: ChildProcess): Promise<string> {
  const output = child.stdout as NonNullable<ChildProcess["stdout"]>;
  const lines = createInterface({ input: output });
  const timer = setTimeout(() => child.kill("SIGKILL"), startTimeoutMs);
  try {
    for await (const line of lines) {
      const found = /^Listening on (127\.0\.0\.1:\d+)/.exec(line);
      if (found !== null) return `http://${found[1]}`;
    }
  } finally {
    clearTimeout(timer);
    lines.close();
    output.resume();
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  throw new Error(`anvil ended before it listened (status ${child.exitCode ?? child.signalCode})`);
}
