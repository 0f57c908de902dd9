/**
 * The signer's process. It hardens itself first, then reads settings and encKey from stdin, opens
 * the keystore, replays the ledger, opens the sockets and prints `ready` on stdout. Exits with 0
 * when stdin ends, on SIGTERM, or when a read-only disk accepts writes again. Other codes: 1 for a
 * fault that passes by itself, such as a full disk, 2 for a wrong configuration, 4 if an operator
 * is needed, 70 for a bug. Only this file of the module uses the clock, randomness and the process.
 */
import "../../base/no-inspector.ts";
import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { type Code, passingCauseOf } from "../../base/codes.ts";
import { AgentError, putFileIntoFault, runNamingFile } from "../../base/fault.ts";
import { dropUnread } from "../../base/unread-output.ts";
import { networkOf } from "../../chains/families.ts";
import { readPipe } from "../files/inherited-pipe.ts";
import { readTrusted } from "../files/trusted.ts";
import { openKeystoreIn } from "../keystore/file.ts";
import { ledgerKey } from "../keystore/ledger-key.ts";
import type { ArchiveLookup } from "../ledger/archive.ts";
import { isReadOnly, ledgerDisk } from "../ledger/disk.ts";
import { type Ledger, openLedger } from "../ledger/ledger.ts";
import { assertStateLocked } from "../ledger/lock.ts";
import { assertPairingMac, pairingBytesMax } from "../ledger/pairing-mac.ts";
import { LedgerSeal } from "../ledger/seal.ts";
import { createTimedDisk, type TimedDisk } from "../ledger/sync-times.ts";
import { courierLineBytesMax } from "../socket/line.ts";
import { type PushMessage, requestFramesMax } from "../socket/verbs.ts";
import { type Bootstrap, BootstrapReader } from "./bootstrap.ts";
import { SignerRun } from "./handlers/context.ts";
import { readRules } from "./policy/rules.ts";
import { hardenProcess, isolationLevel, isolationState } from "./process-hardening.ts";
import { createLog } from "./runtime/log.ts";
import { Signer } from "./runtime/signer.ts";
import { StopMark } from "./runtime/stop-mark.ts";
import { createCourierRequestHandler } from "./sockets/courier.ts";
import { type LineConnection, type LineServer, listenLines } from "./sockets/line-server.ts";
import { createOperatorRequestHandler } from "./sockets/operator.ts";
import { Core, type CoreSnapshot } from "./state/core.ts";
import { ledgerTime } from "./state/ledger-time.ts";
import { unlockVault, type Vault } from "./vault/vault.ts";

const exitCodes = { fine: 0, passing: 1, configuration: 2, operator: 4, bug: 70 } as const;
/** The launcher's lock on the state folder, an inherited descriptor. */
const lockDescriptor = 3;
const tickMs = 1_000;
/** Ticks between two liveness messages to the launcher, which kills a silent process. */
const aliveTicks = 5;
/** The longest delay before records without waiting clients get a sync of their own. */
const lateMs = 15;
const courierLimits = {
  connectionsMax: 2,
  outstandingMax: 1_024,
  framesMax: requestFramesMax,
  requestBytesMax: courierLineBytesMax,
} as const;
const operatorConnectionsMax = 16;
const operatorOutstandingMax = 64;

const clock = (): number => Date.now();
const monotonic = (): number => performance.now();
const log = createLog((line) => process.stderr.write(line), clock);
let end: (code: number) => never = (code) => process.exit(code);

/**
 * Returns the exit code of a fault; a fault that the next start would meet again has another code
 * than one worth a retry.
 */
function exitCodeOf(code: Code): number {
  if (passingCauseOf(code) !== null) return exitCodes.passing;
  const isPlace =
    code === "LEDGER_UNLOCKED" || code === "KEYSTORE_ENCKEY" || code === "KEYSTORE_MISSING";
  if (isPlace || /^(?:FILE_|PROCESS|JSON|POLICY|ENCKEY|SIGNER_BOOTSTRAP|SIGNER_NETWORK)/.test(code))
    return exitCodes.configuration;
  return /^(?:LEDGER|KEYSTORE|PAIRING|SIGNER)_/.test(code) ? exitCodes.operator : exitCodes.bug;
}

/**
 * Logs any thrown value once and exits. Nothing continues after a bug; the next start replays the
 * ledger.
 */
function fail(error: unknown): never {
  if (error instanceof AgentError) {
    const { code, context, message } = error;
    log("signer-fault", message, { ...context, code });
    return end(exitCodeOf(code));
  }
  const {
    name,
    message,
    stack = "",
  } = error instanceof Error ? error : { name: "Error", message: String(error) };
  log("bug", `a bug: ${name}: ${message}`, { code: "BUG", stack });
  return end(exitCodes.bug);
}

interface OpenedSigner {
  readonly core: Core;
  readonly ledger: Ledger;
  readonly vault: Vault;
  readonly syncs: TimedDisk;
}

/**
 * Opens the keystore, then the ledger. Fails if the keys belong to another wallet or the keystore
 * was not sealed for a configured network.
 */
function open({ settings, encKey }: Bootstrap, current: SignerRun): OpenedSigner {
  assertStateLocked(lockDescriptor, join(settings.stateDir, "lock"));
  let wallet: string;
  let networks: readonly string[];
  let vault: Vault;
  let seal: LedgerSeal;
  try {
    const contents = openKeystoreIn(settings.stateDir, encKey);
    ({ wallet, networks } = contents);
    const key = ledgerKey(contents);
    seal = new LedgerSeal(key.bytes);
    key.wipe();
    vault = unlockVault(contents);
  } finally {
    encKey.fill(0);
  }
  for (const [name, chain] of Object.entries(settings.chains)) {
    if (networks.includes(networkOf(chain))) continue;
    throw new AgentError(
      "SIGNER_NETWORK",
      "none",
      `chains.${name} is not among the networks this wallet was paired for`,
      {
        chain: name,
      },
    );
  }
  assertPairingIn(settings.stateDir, seal);
  const folder = join(settings.stateDir, "ledger");
  const syncs = createTimedDisk(ledgerDisk(folder), monotonic);
  const { ledger, checkpoint, records, tornBytes } = runNamingFile(folder, () =>
    openLedger({ disk: syncs.disk, seal, clock: () => ledgerTime(current, clock(), monotonic()) }),
  );
  if (tornBytes > 0 && !ledger.readOnly)
    log("ledger-torn", "a write that never finished was cut from the ledger's end and kept aside", {
      tornBytes,
    });
  const core = new Core(
    readRules(settings, vault.accounts),
    fatal(ledger.past, folder),
    runNamingFile(folder, () => snapshotOf(checkpoint)),
  );
  for (const record of records) core.apply(record);
  if (core.paired.wallet !== wallet)
    throw new AgentError(
      "SIGNER_WALLET",
      "none",
      `keystore and ledger in ${settings.stateDir} belong to two wallets`,
    );
  return { core, ledger, vault, syncs };
}

/**
 * Checks pairing's file next to the signer's folder, if this user may read it; a missing file
 * proves nothing. Its MAC proves the content, and the check of the file's type prevents a wait on a
 * pipe.
 */
function assertPairingIn(stateDir: string, seal: LedgerSeal): void {
  const path = join(dirname(stateDir), "pairing.json");
  let bytes: Uint8Array | null;
  try {
    bytes = readTrusted(path, pairingBytesMax, { owner: "any", isSecret: false });
  } catch (error) {
    if (error instanceof AgentError) throw error;
    return;
  }
  if (bytes === null)
    throw new AgentError("PAIRING_FORGED", "none", `${path} is larger than any pairing writes it`);
  assertPairingMac(seal, bytes, path);
}

/**
 * Ends the process if a file of closed withdrawals has changed: a fault as an answer to one request
 * would only be requested again without end.
 */
function fatal(past: ArchiveLookup, folder: string): ArchiveLookup {
  return {
    find: (shelf, key) => {
      try {
        return past.find(shelf, key);
      } catch (cause) {
        return fail(putFileIntoFault(folder, cause));
      }
    },
  };
}

function snapshotOf(checkpoint: unknown): CoreSnapshot | undefined {
  if (checkpoint === null) return undefined;
  const snapshot = checkpoint as CoreSnapshot;
  if (snapshot.version === 1) return snapshot;
  throw new AgentError(
    "LEDGER_NEWER",
    "none",
    "the checkpoint was written by another version of this program",
  );
}

function run(bootstrap: Bootstrap): void {
  const { settings } = bootstrap;
  const current = new SignerRun(randomBytes(32).toString("hex"), clock());
  const { core, ledger, vault, syncs } = open(bootstrap, current);
  let courierServer: LineServer | null = null;
  const signer = new Signer({
    core,
    ledger,
    vault,
    run: current,
    clock,
    monotonic,
    chains: settings.chains,
    config: settings.config,
    log,
    mark: new StopMark(ledgerDisk(settings.stateDir)),
    push: (message: PushMessage) => courierServer?.push(message),
    soon: (act) => process.nextTick(act),
    later: (act) => setTimeout(act, lateMs),
    next: (act) => setImmediate(act),
    onPoisoned: (fault) => fail(putFileIntoFault(join(settings.stateDir, "ledger"), fault)),
  });
  const couriers = new Set<LineConnection>();
  const socketsInherited = settings.courierSocket.startsWith("fd:");
  const isolation = isolationLevel(isolationState({ parentPid: process.ppid, socketsInherited }));
  let listening = 0;
  const onListening = (): void => {
    listening += 1;
    if (listening < 2) return;
    const { seq } = core.heads.head;
    log("signer-ready", "ready", {
      seq,
      open: core.book.openCount,
      locked: core.locked?.code ?? "",
      isolation,
    });
    process.stdout.write(
      `${JSON.stringify({ ready: true, seq, locked: core.locked?.code ?? "" })}\n`,
    );
  };
  const { path, digest, readAt, readMs } = settings.config;
  const config = { digest, readMs };
  const source = {
    config,
    giveWay,
    residentBytes: () => process.memoryUsage.rss(),
    syncs: syncs.read,
  };
  courierServer = listenLines(settings.courierSocket, {
    onRequest: createCourierRequestHandler(signer, source),
    onConnect: (connection) => couriers.add(connection),
    onClose: (connection) => couriers.delete(connection),
    onListening,
    onFault: fail,
    ...courierLimits,
  });
  const environment = {
    isolation,
    encKeyFrom: settings.encKeyFrom,
    config: { path, digest, readAt },
    isCourierConnected: () => couriers.size > 0,
    stuckAfterMinutes: settings.stuckAfterMinutes,
    later: (act: () => void) => void setImmediate(act),
  };
  const operatorServer = listenLines(settings.operatorSocket, {
    onRequest: createOperatorRequestHandler(signer, environment),
    onListening,
    onFault: fail,
    connectionsMax: operatorConnectionsMax,
    outstandingMax: operatorOutstandingMax,
  });
  const folder = join(settings.stateDir, "ledger");
  if (ledger.readOnly)
    log("disk-read-only", "the ledger's disk is read-only: nothing is taken, decided or signed", {
      path: folder,
    });
  const tellRoom = roomQueue(ledger, folder);
  let ticks = 0;
  const timer = setInterval(() => {
    if (ledger.readOnly && !isReadOnly(folder)) beginAgain(folder);
    signer.tick();
    tellRoom();
    ticks += 1;
    if (ticks % aliveTicks === 0) process.stdout.write('{"alive":true}\n');
  }, tickMs);
  end = (code) => {
    clearInterval(timer);
    courierServer?.close();
    operatorServer.close();
    vault.lock();
    return process.exit(code);
  };
}

/**
 * Exits with a line that tells the launcher to read config.json again: the courier has a newer one.
 */
function giveWay(): never {
  process.stdout.write('{"outdated":true}\n');
  return end(exitCodes.fine);
}

/** Exits so that the launcher starts the next signer, because only a start opens the ledger. */
function beginAgain(path: string): never {
  log("disk-writable", "the ledger's disk takes writes again: the signer is started again", {
    path,
  });
  return end(exitCodes.fine);
}

/**
 * Logs when the ledger's disk has too little room for new withdrawals, and when it has room again.
 */
function roomQueue(ledger: Ledger, path: string): () => void {
  let isLow = false;
  return () => {
    const freeBytes = ledger.freeBytes();
    const { roomBytesMin: freeBytesMin } = ledger;
    const wasLow = isLow;
    isLow = freeBytes >= 0 && !ledger.hasRoom();
    if (isLow === wasLow) return;
    const context = { path, freeBytes, freeBytesMin };
    if (isLow)
      log("disk-low", "too little room on the ledger's disk: nothing new is begun", context);
    else log("disk-room", "the ledger's disk has room again", context);
  };
}

/**
 * Starts the process. After the bootstrap nothing more is read from stdin; its end is the parent's
 * end.
 */
function begin(): void {
  process.on("uncaughtException", fail);
  dropUnread(process.stderr);
  // The reader of stdout is gone; the end of stdin reports the same.
  process.stdout.on("error", () => end(exitCodes.fine));
  for (const warning of hardenProcess(process).warnings) log("hardening-incomplete", warning);
  const reader = new BootstrapReader();
  const bootstrap = readPipe(0, (piece) => reader.push(piece));
  if (bootstrap === null)
    throw new AgentError(
      "SIGNER_BOOTSTRAP",
      "none",
      "stdin ended before settings and key were there",
    );
  // Set after the read, because a process that waits in it calls no handler of a signal.
  for (const signal of ["SIGTERM", "SIGINT"] as const)
    process.on(signal, () => end(exitCodes.fine));
  run(bootstrap);
  process.stdin.on("error", () => end(exitCodes.fine));
  process.stdin.on("end", () => end(exitCodes.fine));
  process.stdin.resume();
}

try {
  begin();
} catch (error) {
  fail(error);
}
