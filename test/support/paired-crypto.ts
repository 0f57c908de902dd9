/**
 * A paired agent whose gateway is gone, and the `crypto` processes of one test file on it. Every
 * process is stopped after its test; the folder goes with the file.
 */
import { join } from "node:path";
import { afterAll, afterEach, beforeAll } from "vitest";
import { childrenOf, type StartedProcess, stop, until } from "../../lab/kit/processes.ts";
import { AgentFolder, knownMnemonic } from "./agent-folder.ts";
import { PairingGateway } from "./pairing-gateway.ts";

interface PairedCrypto {
  readonly agent: AgentFolder;
  begin(args?: readonly string[], env?: Readonly<Record<string, string>>): StartedProcess;
}

/** Pairs once, before the first test of the file. */
export function pairsOnce(): PairedCrypto {
  const agent = new AgentFolder();
  const running: StartedProcess[] = [];
  beforeAll(async () => {
    const gateway = new PairingGateway();
    await gateway.open();
    agent.writeConfig(gateway.url, {
      mnemonic: knownMnemonic,
      apiKey: gateway.apiKey,
      encKey: agent.encKey,
    });
    const done = await agent.pair();
    if (done.code !== 0) throw new Error(done.output);
    await gateway.close();
  });
  afterEach(async () => {
    for (const started of running.splice(0)) await stop(started);
  });
  afterAll(() => agent.remove());
  return {
    agent,
    begin(args = [], env = {}) {
      const started = agent.crypto(args, env);
      running.push(started);
      return started;
    },
  };
}

/** Waits up to two minutes until the output has the text `times` times. */
export function says(started: StartedProcess, text: string, times = 1): Promise<true> {
  const isSaid = async (): Promise<true | undefined> =>
    started.output().split(text).length > times ? true : undefined;
  return until(text, 120_000, isSaid, started.output);
}

/** The process id of a running child; 0 without one. */
export function childOf(started: StartedProcess, room: "signer" | "courier"): number {
  return childrenOf(started.pid, join("agent", room, "main.js"))[0] ?? 0;
}
