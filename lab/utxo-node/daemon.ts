/**
 * A node of a regtest network for tests: bitcoind or litecoind as `scripts/utxo-nodes.js` unpacks
 * it, on a port of this machine, without peers.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { projectRoot } from "../kit/kit.ts";

export type NodeName = "bitcoin" | "litecoin";

export interface UtxoNode {
  ask<T>(method: string, ...params: unknown[]): Promise<T>;
  /** The answer, or the node's reason for a refusal. */
  refusal(method: string, ...params: unknown[]): Promise<string>;
  stop(): Promise<void>;
}

const cache = join(projectRoot, ".cache", "utxo-nodes");
const libraries = "usr/lib/x86_64-linux-gnu";
const binaries = { bitcoin: "usr/bin/bitcoind", litecoin: "usr/lib/litecoin/litecoind" } as const;

/** Null if the node is there, or a line that says how to bring it. */
export function missing(name: NodeName): string | null {
  const isThere = existsSync(join(cache, name, binaries[name]));
  return isThere ? null : `${name}d is not here: node scripts/utxo-nodes.js`;
}

export async function startNode(name: NodeName, port: number): Promise<UtxoNode> {
  const root = join(cache, name);
  const folder = mkdtempSync(join(tmpdir(), `${name}-`));
  const options = [
    ...[
      "-regtest",
      `-datadir=${folder}`,
      `-rpcport=${port}`,
      "-rpcuser=test",
      "-rpcpassword=test",
      "-rpcbind=127.0.0.1",
    ],
    ...[
      "-rpcallowip=127.0.0.1",
      "-listen=0",
      "-connect=0",
      "-dnsseed=0",
      "-fallbackfee=0.0001",
      "-txindex=1",
    ],
    ...["-printtoconsole=0", ...(name === "bitcoin" ? ["-corepolicy"] : [])],
  ];
  const binary = join(root, binaries[name]);
  // The other release's loader, because its programs do not fit the libraries of this one.
  const loader = [
    join(root, libraries, "ld-linux-x86-64.so.2"),
    "--library-path",
    join(root, libraries),
    binary,
  ];
  const [program, ...before] = name === "bitcoin" ? (loader as [string, ...string[]]) : [binary];
  const env = { ...process.env, LD_LIBRARY_PATH: name === "bitcoin" ? "" : join(root, libraries) };
  const child = spawn(program, [...before, ...options], { stdio: "ignore", env });
  const post = async (
    method: string,
    params: unknown[],
  ): Promise<{ result: unknown; error: { message: string } | null }> => {
    const authorization = `Basic ${Buffer.from("test:test").toString("base64")}`;
    const answer = await fetch(`http://127.0.0.1:${port}/`, {
      ...{
        method: "POST",
        headers: { authorization },
        body: JSON.stringify({ jsonrpc: "1.0", id: 1, method, params }),
      },
    });
    return (await answer.json()) as { result: unknown; error: { message: string } | null };
  };
  const node: UtxoNode = {
    ask: async <T>(method: string, ...params: unknown[]) => {
      const { result, error } = await post(method, params);
      if (error !== null) throw new Error(`${name}d, ${method}: ${error.message}`);
      return result as T;
    },
    refusal: async (method, ...params) => (await post(method, params)).error?.message ?? "",
    stop: () => ended(child, folder),
  };
  for (let attempt = 0; attempt < 300 && child.exitCode === null; attempt += 1) {
    if (
      await node
        .ask("getblockcount")
        .then(() => true)
        .catch(() => false)
    )
      return node;
    await sleep(200);
  }
  await node.stop();
  throw new Error(`${name}d does not answer`);
}

async function ended(child: ChildProcess, folder: string): Promise<void> {
  const exit =
    child.exitCode === null ? new Promise((resolve) => child.once("exit", resolve)) : null;
  child.kill("SIGTERM");
  await exit;
  rmSync(folder, { recursive: true, force: true });
}
