/**
 * The courier's process: settings from the pipe of its parent, keys from link.json, log to stderr.
 * The process ends when the pipe ends. Only this file of the module touches clock, random,
 * environment and standard streams.
 */
import "../../base/no-inspector.ts";
import { join } from "node:path";
import pino from "pino";
import { serveMetrics } from "../../base/alerts/metrics/server.ts";
import { createAlertDelivery } from "../../base/alerts/queue/send.ts";
import { passingCauseOf } from "../../base/codes.ts";
import { agentEvents } from "../../base/events.ts";
import { AgentError } from "../../base/fault.ts";
import { type AgentLog, formatLogLine, pinoLineOptions } from "../../base/log.ts";
import { isLoopback } from "../../base/loopback.ts";
import { useEgress } from "../../base/outgoing/egress.ts";
import { dropUnread } from "../../base/unread-output.ts";
import { version } from "../../base/version.ts";
import { openSender } from "../../chains/connect.ts";
import { paceOf } from "../../chains/final-times.ts";
import { privateKeyFromSeed, publicKeyFromHex } from "../../protocol/envelope.ts";
import { readLinkFile } from "../config/link-file.ts";
import type { CourierSettings, MetricsSettings } from "../config/settings.ts";
import { readPrivateFile } from "../files/private-file.ts";
import { createSocketClient } from "../socket/client.ts";
import type { CourierAnswers, CourierRequests } from "../socket/verbs.ts";
import { createCourier } from "./courier.ts";
import { type AlertMonitor, createAlertMonitor } from "./events/alert-monitor.ts";
import { linkAddress } from "./link/address.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { createMetricsText } from "./metrics-text.ts";
import { createChainAccess } from "./nodes/chain.ts";
import { nodeLog } from "./nodes/node-log.ts";
import { createReadBack } from "./nodes/read-back.ts";
import { softwareName } from "./software.ts";

const bootstrapBytesMax = 1024 * 1024;
const answerMs = 30_000;
const outstandingMax = 4096;
const metricsMs = 300_000;
/** Longest time that a line of the log may wait for others, and most bytes of them. */
const logMs = 100;
const logBytesHeld = 8_192;
/** Sign of life for the launcher, which ends a silent process. */
const aliveMs = 5_000;
/** Questions to a node on this machine cost nothing; a remote node has a quota. */
const pollMsLoopback = 25;
const pollMsRemote = 500;
const pollMsMax = 3000;
const exitPassing = 1;
const exitConfiguration = 2;
const exitBug = 70;

const clock = (): number => Date.now();

/**
 * Reads u32be length ‖ JSON from stdin, which stays open. The end of stdin, now or later, ends this
 * process.
 */
function readSettings(): Promise<CourierSettings> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    const invalid = (message: string): void =>
      reject(new AgentError("COURIER_BOOTSTRAP", "none", message));
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
  dropUnread(process.stderr);
  const settings = await readSettings();
  // A write for each line costs more than the line. So lines go out together a moment later, and
  // before the process ends for any reason.
  const destination = pino.destination({
    dest: 2,
    sync: true,
    minLength: logBytesHeld,
    periodicFlush: logMs,
  });
  process.on("exit", () => destination.flush());
  const log: AgentLog = pino(
    { level: settings.logLevel, ...pinoLineOptions("courier", clock) },
    destination,
  );
  const onBug = (error: unknown): void => {
    log.error({ event: "bug", err: error }, "a bug");
    process.exit(exitBug);
  };
  process.on("uncaughtException", onBug);
  process.on("unhandledRejection", onBug);

  const identity = readLinkFile(settings.stateDir);
  const linkKey = privateKeyFromSeed(identity.linkSeed);
  identity.linkSeed.fill(0);
  if (identity.gatewayUrl !== settings.gatewayUrl) {
    const fields = { paired: identity.gatewayUrl, configured: settings.gatewayUrl };
    log.warn({ event: "gateway-differs", ...fields }, "gatewayUrl is not the one of the pairing");
  }
  const monotonic = (): number => performance.now();
  const metrics = createMetrics(monotonic);
  const chainAccess = new Map(
    Object.entries(settings.chains).map(([name, chain]) => {
      const tokens = Object.values(settings.currencies).flatMap(
        ({ chain: on, contract, decimal }) =>
          on === name && contract ? [{ contract, decimal }] : [],
      );
      const nodes = openSender({
        chain,
        tokens,
        clock: monotonic,
        log: nodeLog(log, name),
        readSecretFile: readPrivateFile,
      });
      return [name, createChainAccess(nodes, monotonic, paceOf(chain))] as const;
    }),
  );
  const isLocal = Object.values(settings.chains).every(({ nodes }) =>
    nodes.every((url) => isLoopback(new URL(url).hostname)),
  );
  const { notify } = settings;
  const deliver = notify === undefined ? null : createAlertDelivery(notify.target);
  const alertMonitor = createAlertMonitor({ settings, deliver, clock, monotonic, log });
  const served =
    settings.metrics === undefined
      ? null
      : serve(settings, settings.metrics, { log, metrics, alertMonitor });
  if (settings.egress !== undefined) useEgress(settings.egress);
  const courier = createCourier({
    agent: identity.agent,
    address: linkAddress(settings.gatewayUrl),
    gatewayKey: publicKeyFromHex(identity.gatewayKey),
    linkKey,
    chainAccess,
    currencies: settings.currencies,
    readBack: createReadBack(settings),
    software: softwareName,
    configDigest: settings.configDigest,
    configReadMs: settings.configReadMs,
    clock,
    monotonic,
    random: () => Math.random(),
    pollMs: { min: isLocal ? pollMsLoopback : pollMsRemote, max: pollMsMax },
    log,
    metrics,
    alertMonitor,
    connectSigner: () =>
      createSocketClient<CourierRequests, CourierAnswers>(settings.signerSocket, {
        timeoutMs: answerMs,
        outstandingMax,
      }),
    onReady: () => process.stdout.write(`${JSON.stringify({ ready: true })}\n`),
    onFatal: (fault) => refuseToRun(fault),
    giveWay: () => {
      process.stdout.write('{"outdated":true}\n');
      process.exit(0);
    },
    onBug,
  });
  setInterval(
    () => log.info({ event: "counters", ...metrics.read() }, "counters"),
    metricsMs,
  ).unref();
  // The reader of this stream is gone; the end of stdin shows this too.
  process.stdout.on("error", () => process.exit(0));
  const alive = (): void => void process.stdout.write('{"alive":true}\n');
  setImmediate(alive);
  setInterval(alive, aliveMs);
  const stop = (): void => {
    courier.close();
    alertMonitor.close();
    served?.close();
    process.exit(0);
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
}

interface Instruments {
  readonly log: AgentLog;
  readonly metrics: Metrics;
  readonly alertMonitor: AlertMonitor;
}

function serve(
  { stateDir }: CourierSettings,
  { listen }: MetricsSettings,
  { log, metrics, alertMonitor }: Instruments,
): { close(): void } {
  const residentBytes = (): number => process.memoryUsage.rss();
  const shown = createMetricsText({ metrics, alertMonitor, clock, version, residentBytes });
  return serveMetrics({
    place:
      listen.kind === "unix"
        ? { path: join(stateDir, "metrics.sock") }
        : { host: listen.host, port: listen.port },
    ...shown,
    onListen: (where) => log.info({ event: "metrics-listen", where }, "metrics are served"),
    onFailed: (why) =>
      log.warn({ event: "metrics-failed", why }, "metrics cannot be served; it is tried again"),
  });
}

/**
 * Ends the process for a fault. The launcher reads the line and prints the two lines of every
 * command; it starts the courier again only if the fault passes by itself.
 */
function refuseToRun({ code, message, context }: AgentError): void {
  exitReason("courier-fault", message, { ...context, code });
  process.exit(passingCauseOf(code) === null ? exitConfiguration : exitPassing);
}

function exitReason(
  event: "courier-fault" | "bug",
  message: string,
  context: Readonly<Record<string, unknown>>,
): void {
  const level = agentEvents[event].level;
  process.stderr.write(
    `${formatLogLine({ at: clock(), level, process: "courier", event, message }, context)}\n`,
  );
}

main().catch((error: unknown) => {
  if (error instanceof AgentError) refuseToRun(error);
  else {
    exitReason("bug", "a bug in the courier", {
      code: "BUG",
      stack: error instanceof Error ? (error.stack ?? "") : "unknown",
    });
    process.exit(exitBug);
  }
});
