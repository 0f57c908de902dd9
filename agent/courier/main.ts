/**
 * The courier's process: settings from the pipe of the one that started it, keys from link.json, log to stderr; ends when the pipe
 * ends. The only place of this room that touches clock, chance, environment and standard streams.
 */
import pino from "pino";
import { createEvmNodes } from "../../chains/evm/node.ts";
import { privateKeyFromSeed, publicKeyFromHex } from "../../protocol/envelope.ts";
import { AgentError } from "../../protocol/fault.ts";
import { readLinkFile } from "../link-file.ts";
import type { CourierSettings } from "../settings.ts";
import { createSocketClient } from "../socket/client.ts";
import type { CourierAnswers, CourierRequests } from "../socket/verbs.ts";
import { createCourier } from "./courier.ts";
import { isLoopback, linkAddress } from "./link/address.ts";
import { createMetrics } from "./metrics.ts";
import { createChainDoor } from "./nodes/chain.ts";
import { createReadBack } from "./nodes/read-back.ts";
import { software } from "./software.ts";

const bootstrapBytesMax = 1024 * 1024;
const answerMs = 30_000;
const outstandingMax = 4096;
const metricsMs = 300_000;
/** Sign of life for the launcher, which kills who stays silent. */
const aliveMs = 5_000;
/** A node on this machine costs nothing to ask; one elsewhere has a quota. */
const pollMsLoopback = 25;
const pollMsRemote = 500;
const pollMsMax = 3000;
const exitConfiguration = 2;
const exitBug = 70;

/** u32be length ‖ JSON on stdin, which stays open; its end, now or later, ends this process. */
function readSettings(): Promise<CourierSettings> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    const invalid = (message: string): void => reject(new AgentError("COURIER_BOOTSTRAP", "none", message));
    const take = (chunk: Buffer): void => {
      parts.push(chunk);
      const bytes = Buffer.concat(parts);
      if (bytes.length < 4) return;
      const length = bytes.readUInt32BE(0);
      if (length > bootstrapBytesMax) {
        invalid("the settings on stdin are too large");
        return;
      }
      if (bytes.length < 4 + length) return;
      process.stdin.off("data", take);
      process.stdin.resume();
      try {
        resolve(JSON.parse(bytes.subarray(4, 4 + length).toString("utf8")) as CourierSettings);
      } catch {
        invalid("the settings on stdin are not JSON");
      }
    };
    process.stdin.on("data", take);
    process.stdin.once("end", () => process.exit(0));
    process.stdin.once("error", () => process.exit(0));
  });
}

async function main(): Promise<void> {
  const settings = await readSettings();
  const log = pino(
    { level: settings.logLevel, base: { room: "courier" }, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination(2),
  );
  const onBug = (error: unknown): void => {
    log.fatal({ err: error }, "a bug");
    log.flush();
    process.exit(exitBug);
  };
  process.on("uncaughtException", onBug);
  process.on("unhandledRejection", onBug);

  const identity = readLinkFile(settings.stateDir);
  const linkKey = privateKeyFromSeed(identity.linkSeed);
  identity.linkSeed.fill(0);
  if (identity.gatewayUrl !== settings.gatewayUrl) {
    log.warn({ paired: identity.gatewayUrl, configured: settings.gatewayUrl }, "gatewayUrl is not the one of the pairing");
  }
  const monotonic = (): number => performance.now();
  const metrics = createMetrics(monotonic);
  const doors = new Map(
    Object.entries(settings.chains).map(([chain, { nodes, chainId, confirmations }]) => {
      const contracts = Object.values(settings.currencies).flatMap((one) =>
        one.chain === chain && one.contract ? [one.contract] : [],
      );
      const evm = createEvmNodes({
        urls: nodes,
        chainId,
        confirmations,
        log: (event, context) => log.warn({ chain, ...context }, event),
      });
      return [chain, createChainDoor(evm, contracts, monotonic)] as const;
    }),
  );
  const isLocal = Object.values(settings.chains).every(({ nodes }) => nodes.every((url) => isLoopback(new URL(url).hostname)));
  const courier = createCourier({
    agent: identity.agent,
    address: linkAddress(settings.gatewayUrl),
    gatewayKey: publicKeyFromHex(identity.gatewayKey),
    linkKey,
    doors,
    currencies: settings.currencies,
    readBack: createReadBack(settings),
    software,
    configDigest: settings.configDigest,
    clock: () => Date.now(),
    monotonic,
    random: () => Math.random(),
    pollMs: { min: isLocal ? pollMsLoopback : pollMsRemote, max: pollMsMax },
    log,
    metrics,
    connectSigner: () =>
      createSocketClient<CourierRequests, CourierAnswers>(settings.signerSocket, { timeoutMs: answerMs, outstandingMax }),
    onReady: () => process.stdout.write(`${JSON.stringify({ ready: true })}\n`),
    onFatal: (fault) => refuseToRun(fault),
    onBug,
  });
  setInterval(() => log.info(metrics.read(), "counters"), metricsMs).unref();
  // Whoever read it is gone: the end of stdin says so too.
  process.stdout.on("error", () => process.exit(0));
  const alive = (): void => void process.stdout.write('{"alive":true}\n');
  setImmediate(alive);
  setInterval(alive, aliveMs);
  const stop = (): void => {
    courier.close();
    process.exit(0);
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
}

/** What starting again would not mend, said to whoever reads the log and to the launcher. */
function refuseToRun(fault: AgentError): void {
  const { code, message, context } = fault;
  process.stdout.write(`${JSON.stringify({ fault: { code, message, hint: context.hint } })}\n`);
  process.stderr.write(`crypto: ${fault.code}: ${fault.message}\n`);
  process.exit(exitConfiguration);
}

main().catch((error: unknown) => {
  if (error instanceof AgentError) refuseToRun(error);
  else {
    process.stderr.write(`crypto: a bug in the courier: ${error instanceof Error ? error.stack : "unknown"}\n`);
    process.exit(exitBug);
  }
});
