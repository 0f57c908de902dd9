/**
 * Starts one gateway process: database, HTTP server, hub and watcher. Stops them in the order that
 * loses nothing. First all waiting requests are answered. Then the links end, because open links
 * would keep the server open, then the watcher, and the database last.
 */

import { randomBytes } from "node:crypto";
import type { Server as HttpsServer } from "node:https";
import type { FastifyInstance } from "fastify";
import { AgentError } from "../base/fault.ts";
import type { GatewayLog } from "../base/log.ts";
import { formatTimestampUtc } from "../base/timestamp.ts";
import { version } from "../base/version.ts";
import { recordOf } from "./answer/record.ts";
import { createServedCertificate, type ServedCertificate } from "./api/certificate.ts";
import { addPayerPages } from "./api/payer.ts";
import { addOperations } from "./api/routes.ts";
import { createServer, refuseWrites } from "./api/server.ts";
import { addServiceRoutes } from "./api/service-routes.ts";
import { type GatewayKey, readGatewayKey } from "./auth/gateway-key.ts";
import { type Books, startBooks } from "./books/books.ts";
import { type Callbacks, startCallbacks } from "./callbacks/callbacks.ts";
import { createCallbackSender } from "./callbacks/send.ts";
import { certificateState } from "./config/certificate-end.ts";
import type { GatewayConfig } from "./config/config.ts";
import { listenFault } from "./config/listen-fault.ts";
import { readSecretFile } from "./config/secret-file.ts";
import { type JoinedDatabase, joinDatabase } from "./database/database.ts";
import { compareMarks, endRestoreWaitIfRead, raisedMarksOf } from "./deposits/ceilings.ts";
import { startWatchingSkipped } from "./deposits/skipped-addresses.ts";
import { type Hub, startHub } from "./hub/hub.ts";
import { startEndingInvoices } from "./invoices/ends.ts";
import { createChoicePricing } from "./invoices/pricing.ts";
import { invoiceBodyOf } from "./invoices/view.ts";
import { addApiDescription } from "./openapi/openapi.ts";
import { rightClock } from "./own-clock.ts";
import { readStoredPrices, startPrices } from "./prices/prices.ts";
import { fiatValueOf } from "./prices/value.ts";
import { partsOf, probesOf, standbyProbe } from "./reporting/probes.ts";
import { startOperatorReports } from "./reporting/reporting.ts";
import type { GatewayFigures, Service } from "./service.ts";
import { createSightingsAnswerer } from "./sightings/sightings.ts";
import {
  type IssuedAddressMarks,
  marksPathOf,
  noMarks,
  openMarks,
  readMarks,
} from "./store/address-marks.ts";
import { listPairedAgents } from "./store/agents.ts";
import { readCursor } from "./store/cursors.ts";
import { inspectStore } from "./store/inspect.ts";
import { takeRepeatedlyCrashedRows } from "./store/last-item.ts";
import { migrateStore } from "./store/migrate.ts";
import { checkStoreKeyFingerprint } from "./store/owner.ts";
import { keepNativeCoins } from "./store/posting.ts";
import { correctReservedSums } from "./store/reserved.ts";
import { readRestoreMark } from "./store/restored-database.ts";
import { setRowAside } from "./store/set-aside.ts";
import { createSignals } from "./store/signals.ts";
import type { Store } from "./store/store.ts";
import { type TimedStore, timeStore } from "./store/timed.ts";
import { createSweeps } from "./sweeps/sweeps.ts";
import { startWatcher, type Watcher } from "./watcher/watcher.ts";
import { placeWaitingJobs } from "./withdrawals/placing.ts";
import { createWaiters } from "./withdrawals/waiters.ts";

export interface GatewayDeps {
  readonly log: GatewayLog;
  readonly clock: () => number; // milliseconds since 1970
  /** A standby may become active: end it and start again. Without it the process ends. */
  readonly onTurn?: () => void;
  readonly onPoisoned: () => void; // the disk failed during a sync, of database or marks: end the process
}

export interface Gateway {
  readonly url: string; // the listening address, with the real port
  readonly store: Store;
  readonly key: GatewayKey;
  /**
   * Serves the certificate that stands on disk. Returns its end in Unix milliseconds, null if it is
   * served already. @throws AgentError GATEWAY_TLS; the old one is served on
   */
  renewCertificate(): number | null;
  close(): Promise<void>; // harmless to call twice
}

function warnOfCertificate(certificate: ServedCertificate, { log, clock }: GatewayDeps): void {
  const { left, words } = certificateState(certificate.endsAtMs(), clock());
  if (left !== "enough") log.warn({ event: "certificate-ends" }, words);
}

/** The numbers that only this process knows, for `status`. */
function figuresOf({ startedAt, store, hub, watcher }: RunningParts): GatewayFigures {
  const connected = listPairedAgents(store.database).filter(({ id }) => hub?.online(id) === true);
  const chains = (watcher?.chainStatus() ?? []).map(
    ({ chain, network, head, final, headAgeMs, finalAgeMs }) => {
      const secondsOf = (ms: number | null): number | null =>
        ms === null ? null : Math.round(Math.max(0, ms) / 1000);
      const ages = { headAgeSeconds: secondsOf(headAgeMs), finalAgeSeconds: secondsOf(finalAgeMs) };
      return {
        chain,
        head,
        final,
        ...ages,
        read: readCursor(store.database, network)?.block ?? null,
      };
    },
  );
  return { version, startedAt, agentsConnected: connected.length, chains };
}

interface RunningParts {
  readonly startedAt: string;
  readonly store: Store;
  readonly hub: Hub | null;
  readonly watcher: Watcher | null;
}

function urlOf(config: GatewayConfig, port: number): string {
  const { host, tls } = config.listen;
  return `${tls === null ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Corrects the sums that are kept in addition to their rows: counts them again at each start. */
function mendSums(store: Store, config: GatewayConfig, log: GatewayLog): void {
  const wrong = store.write(correctReservedSums);
  const words = "reserved sums were not what the withdrawals make; they were counted again";
  if (wrong > 0) log.error({ event: "reserved-corrected", wrong }, words);
  const coins = Object.values(config.currencies).filter(({ contract }) => contract === "");
  store.write((database) =>
    keepNativeCoins(database, new Map(coins.map(({ network, id }) => [network, id]))),
  );
}

/**
 * Opens the marks of deposit addresses on this machine, after comparing the database with them.
 * @throws AgentError GATEWAY_MARKS
 */
function takeMarks(
  joined: JoinedDatabase,
  config: GatewayConfig,
  { log, clock, onPoisoned }: GatewayDeps,
): IssuedAddressMarks {
  const { store, newHistory } = joined;
  const path = marksPathOf(config.database);
  const known = readMarks(path);
  const sharing = { isShared: config.postgres !== null, newHistory };
  const { reason, skipped } = store.write((database) => {
    joined.keepHistory(database);
    return compareMarks(database, known, clock(), sharing);
  });
  const words = `the database was restored: ${reason}; ${skipped} addresses that may have left are skipped and watched`;
  if (reason !== "") log.warn({ event: "database-restored", reason, skipped }, words);
  const onBroken = (fault: AgentError): void => {
    log.error(
      { event: "store-failed", err: fault, path },
      "the marks could not be made durable; nothing more is written",
    );
    onPoisoned();
  };
  return openMarks(path, raisedMarksOf(store.database, known), onBroken);
}

/**
 * Accepts deposits again after every chain was read since the database was restored from a backup.
 */
function endRestored(store: Store, log: GatewayLog, isRead: (wait: number) => boolean): void {
  if (readRestoreMark(store.database) === null) return;
  const ended = store.write((database) => endRestoreWaitIfRead(database, isRead));
  if (ended)
    log.info(
      { event: "database-caught-up" },
      "the database that was restored has caught up: deposits are taken again",
    );
}

/** Sets rows aside that ended the process twice within minutes. */
function setRepeatedAside(
  store: Store,
  { database: path }: GatewayConfig,
  { log, clock }: GatewayDeps,
): void {
  for (const { stack, ...key } of takeRepeatedlyCrashedRows(path, clock())) {
    const error = new Error("its work ended the process twice within ten minutes");
    error.stack = stack;
    setRowAside({ store, log, clock }, key, error);
  }
}

interface OpenedStore {
  readonly store: Store;
  readonly times: TimedStore["times"];
  readonly marks: IssuedAddressMarks;
  close(): void;
}

/** Brings a database of an earlier version to this program's tables, if it belongs to this key. */
function upgradeStore(config: GatewayConfig, key: GatewayKey, { log, clock }: GatewayDeps): void {
  if (config.postgres !== null) return;
  const { gatewayKey, isOlder } = inspectStore(config.database);
  if (!isOlder) return;
  checkStoreKeyFingerprint(gatewayKey, key.fingerprint, config);
  migrateStore(config.database, { log, nowMs: clock() });
}

/** Opens the database, if it belongs to this key and no other gateway runs here. */
function joinStore(config: GatewayConfig, key: GatewayKey, deps: GatewayDeps): JoinedDatabase {
  const { log, clock, onTurn, onPoisoned } = deps;
  upgradeStore(config, key, deps);
  const onFree = onTurn ?? onPoisoned;
  return joinDatabase(config, { log, clock, fingerprint: key.fingerprint, onFree });
}

/** Prepares a database on which no other gateway works. */
function takeStore(joined: JoinedDatabase, config: GatewayConfig, deps: GatewayDeps): OpenedStore {
  const { store, times } = timeStore(joined.store, () => performance.now());
  setRepeatedAside(store, config, deps);
  mendSums(store, config, deps.log);
  const marks = takeMarks(joined, config, deps);
  joined.beginHeartbeats();
  const close = (): void => {
    joined.close();
    marks.close();
  };
  return { store, times, marks, close };
}

/**
 * Starts the gateway and resolves when it listens; port 0 takes any free port. While another
 * gateway has the lease of the database, this one is a standby.
 * @throws AgentError GATEWAY_KEY_*, GATEWAY_STORE_*, GATEWAY_DISK_*, GATEWAY_MARKS, GATEWAY_TLS,
 * GATEWAY_LISTEN*; then nothing is left running
 */
export async function startGateway(config: GatewayConfig, deps: GatewayDeps): Promise<Gateway> {
  const key = readGatewayKey(config.keyFile);
  const joined = joinStore(config, key, deps);
  if (!joined.isActive) return startStandby(config, key, joined, deps);
  if (config.postgres !== null) deps.log.info({ event: "active" }, "this gateway is active");
  try {
    return await startActive(config, key, joined, deps);
  } catch (error) {
    joined.close();
    throw error;
  }
}

/**
 * The service of a gateway whose database another one works on: GET, pages and `/docs`. A request
 * that writes is refused, and agents find the active gateway. The process starts again when the
 * lease is free.
 */
async function startStandby(
  config: GatewayConfig,
  key: GatewayKey,
  joined: JoinedDatabase,
  deps: GatewayDeps,
): Promise<Gateway> {
  const { log, clock } = deps;
  const { store, run } = joined;
  store.onPoisoned(deps.onPoisoned);
  const signals = createSignals();
  const waiters = createWaiters(signals);
  const service: Service = {
    config,
    store,
    signals,
    log,
    clock,
    run,
    key,
    waiters,
    ...chainViewsOf(() => null),
    random: randomBytes,
    prices: readStoredPrices({ config, store, clock }),
    addressMarks: noMarks,
  };
  const server = createServer(service);
  let stopped: Promise<void> | null = null;
  const stop = async (): Promise<void> => {
    waiters.close();
    await server.close();
    joined.close();
  };
  const close = (): Promise<void> => {
    stopped ??= stop();
    return stopped;
  };
  try {
    const certificate = createServedCertificate(
      server.server as unknown as HttpsServer,
      config.listen.tls,
    );
    warnOfCertificate(certificate, deps);
    refuseWrites(server);
    addOperations(server, service);
    addPayerPages(server, service);
    addApiDescription(server, config);
    addServiceRoutes(server, service, [standbyProbe]);
    const port = await listen(server, config);
    joined.beginHeartbeats();
    log.info({ event: "standby" }, "another gateway is active; this one is a standby");
    return { url: urlOf(config, port), store, key, renewCertificate: certificate.renew, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * The active gateway. Long: the order in which its parts start is the order in which they end again
 * at a fault.
 */
async function startActive(
  config: GatewayConfig,
  key: GatewayKey,
  joined: JoinedDatabase,
  deps: GatewayDeps,
): Promise<Gateway> {
  const { log, clock } = deps;
  const { run } = joined;
  const { store, times, marks, close: closeStore } = takeStore(joined, config, deps);
  warnOfProxy(config, log);
  store.onPoisoned(deps.onPoisoned);
  const signals = createSignals();
  const common = { config, store, signals, log, clock, run };
  const waiters = createWaiters(signals);
  let hub: Hub | null = null;
  let server: FastifyInstance | null = null;
  let watcher: Watcher | null = null;
  const besides: { close(): void }[] = []; // parts that need neither requests nor links
  let callbacks: Callbacks | null = null;
  let books: Books | null = null;
  const stop = async (): Promise<void> => {
    waiters.close();
    for (const one of besides) one.close();
    await hub?.close();
    await server?.close();
    const booksClosed = books?.close(); // before the nodes close, so that its end is no fault
    await watcher?.close();
    await booksClosed;
    callbacks?.close();
    closeStore();
  };
  let stopped: Promise<void> | null = null;
  const close = (): Promise<void> => {
    stopped ??= stop();
    return stopped;
  };
  const chainViews = chainViewsOf(() => watcher);
  try {
    const board = startPrices({ config, store, log, clock });
    besides.push(board);
    const service: Service = {
      ...common,
      ...chainViews,
      key,
      random: randomBytes,
      waiters,
      prices: board,
      addressMarks: marks,
    };
    server = createServer(service);
    const certificate = createServedCertificate(
      server.server as unknown as HttpsServer,
      config.listen.tls,
    );
    warnOfCertificate(certificate, deps);
    const answerQuestion = createSightingsAnswerer({
      store,
      log,
      clock,
      reader: (network) => watcher?.readerOf(network),
    });
    hub = startHub({
      ...common,
      server: server.server,
      gatewayKey: key.privateKey,
      marks,
      answerQuestion,
    });
    addOperations(server, service);
    addPayerPages(server, service);
    addApiDescription(server, config);
    const { endsAtMs: certificateEndsAtMs } = certificate;
    const judged = {
      config,
      store,
      clock,
      certificateEndsAtMs,
      watcher: () => watcher,
      ...chainViews,
      prices: board,
    };
    const probes = probesOf(judged);
    const startedAt = formatTimestampUtc(clock());
    addServiceRoutes(server, service, probes, () => figuresOf({ startedAt, store, hub, watcher }));
    const told = {
      server,
      parts: partsOf(judged),
      prices: board,
      certificateEndsAtMs,
      watcher: () => watcher,
      databaseTimes: times,
    };
    besides.push(startOperatorReports({ ...told, store, hub, config, log, clock, run }));
    const port = await listen(server, config);
    const sweeps = createSweeps({ ...common, prices: board });
    const networks = Object.values(config.chains).map(({ network }) => network);
    books = startBooks({ store, config, log, clock });
    const onPass: typeof sweeps.onPass = async (chain, tip) => {
      try {
        endRestored(store, log, (wait) =>
          networks.every((network) => (chainViews.waitsRead(network) ?? -1) >= wait),
        );
        await sweeps.onPass(chain, tip);
        books?.onPass(chain);
      } catch (error) {
        tellUnstored(log, chain.name, error);
      }
    };
    const onRead = (chain: string): void => {
      try {
        placeWaitingJobs(common);
      } catch (error) {
        tellUnstored(log, chain, error);
      }
    };
    const choices = createChoicePricing({ config, prices: board, clock });
    watcher = startWatcher({ ...common, choices, readSecretFile, onRead, onPass });
    besides.push(startWatchingSkipped({ store, log }));
    besides.push(startEndingInvoices({ store, log, clock, ownClock: chainViews.ownClock }));
    callbacks = callbacksOf(service);
    return { url: urlOf(config, port), store, key, renewCertificate: certificate.renew, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The parts of a service that show the chains; nothing before the watcher runs. */
type ChainViews =
  | "confirmations"
  | "outOfService"
  | "readAt"
  | "waitsRead"
  | "unreadSince"
  | "isLate"
  | "ownClock";

function chainViewsOf(watcher: () => Watcher | null): Pick<Service, ChainViews> {
  return {
    confirmations: (transactionId) => watcher()?.confirmations(transactionId) ?? null,
    outOfService: (currency) => watcher()?.outOfService().get(currency) ?? "",
    readAt: (network) => watcher()?.readAt(network) ?? null,
    waitsRead: (network) => watcher()?.waitsRead(network) ?? null,
    unreadSince: (place) => watcher()?.unreadSince(place) ?? null,
    isLate: (network) => watcher()?.isLate(network) ?? false,
    ownClock: () => watcher()?.ownClock() ?? rightClock,
  };
}

/** The database takes nothing now, or a node was lost: the next pass does all of it again. */
function tellUnstored(log: GatewayLog, chain: string, error: unknown): void {
  if (!(error instanceof AgentError)) throw error;
  log.warn({ event: "pass-unstored", chain, code: error.code }, error.message);
}

/** Warns if callers behind a TLS proxy would all count as one address. */
function warnOfProxy(
  { publicUrl, listen: { tls }, trustProxy }: GatewayConfig,
  log: GatewayDeps["log"],
): void {
  if (!publicUrl.startsWith("https:") || tls !== null || trustProxy.length > 0) return;
  const words =
    "publicUrl is https without listen.tls: name the TLS proxy in trustProxy, else all callers count as one address";
  log.warn({ event: "proxy-missing" }, words);
}

function callbacksOf(service: Service): Callbacks {
  const { store, signals, config, log, clock, random, key, prices } = service;
  return startCallbacks({
    store,
    signals,
    config,
    log,
    clock,
    random,
    sealingKey: key.sealingKey,
    recordOf: (row) => recordOf(row, service),
    invoiceOf: (row) => invoiceBodyOf(service, row),
    fiatValueOf: (row) => fiatValueOf(row, { currencies: config.currencies, prices }),
    callbackSender: createCallbackSender({
      settings: config.callbacks,
      monotonic: () => performance.now(),
    }),
  });
}

/**
 * Returns the port.
 * @throws AgentError GATEWAY_LISTEN*
 */
async function listen(server: FastifyInstance, config: GatewayConfig): Promise<number> {
  const { host, port } = config.listen;
  try {
    await server.listen({ host, port });
  } catch (cause) {
    const { code, reason } = listenFault(cause);
    throw new AgentError(
      code,
      "none",
      `the gateway cannot listen at ${host}:${port}: ${reason}`,
      { host, port },
      { cause },
    );
  }
  const address = server.server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}
