/**
 * Starts the fake for java-tron as a process of its own and speaks to it: for the demo, which
 * has it beside the product. The chain lives in memory and dies with the process that started it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { TronNodeOptions } from "./tron-node.ts";

export interface TronProcess {
  readonly urls: readonly string[];
  readonly chainId: string;
  readonly pid: number;
  /** One verb of the node's control; answers with where the chain stands. */
  control(
    verb: string,
    asked?: Readonly<Record<string, unknown>>,
  ): Promise<Readonly<Record<string, unknown>>>;
  /** Resolves when the process is gone. Calling twice is harmless. */
  stop(): Promise<void>;
}

const startTimeoutMs = 30_000;

/** Resolves when the node answers. Starts the built program, so `dist` has to be there. */
export async function startTronProcess(
  options: TronNodeOptions = {},
  command = commandPath(),
): Promise<TronProcess> {
  const child = spawn(process.execPath, [command, JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const gone = once(child, "close");
  const lines = createInterface({ input: child.stdout });
  const first = once(lines, "line", { signal: AbortSignal.timeout(startTimeoutMs) }) as Promise<
    [string]
  >;
  const [line] = await Promise.race([
    first,
    gone.then(() => Promise.reject(new Error("the node for Tron ended before it answered"))),
  ]);
  const { urls, chainId } = JSON.parse(line) as { urls: string[]; chainId: string };
  return {
    urls,
    chainId,
    pid: child.pid as number,
    async control(verb, asked = {}) {
      const answer = await fetch(`${urls[0]}/control/${verb}`, {
        method: "POST",
        body: JSON.stringify(asked),
      });
      if (!answer.ok) throw new Error(`the node for Tron refused ${verb}: ${await answer.text()}`);
      return (await answer.json()) as Record<string, unknown>;
    },
    async stop() {
      child.stdin.end();
      await gone;
    },
  };
}

function commandPath(): string {
  return fileURLToPath(
    new URL(`command.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url),
  );
}
