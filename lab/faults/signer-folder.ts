/**
 * A signer's state folder made without pairing, and the real signer process on it: its own
 * bootstrap, keystore, ledger and sockets. encKey is 32 random bytes, so that a start costs a tenth
 * of a second; the folder's lock is held by this process throughout.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createPublicKey, type KeyObject, randomBytes } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { mnemonicToSeedSync } from "bip39";
import type { SignerSettings } from "../../agent/config/settings.ts";
import { writeKeystore } from "../../agent/keystore/file.ts";
import { sealKeystore } from "../../agent/keystore/keystore.ts";
import { ledgerKey } from "../../agent/keystore/ledger-key.ts";
import {
  deriveAccounts,
  pairedAccountsOf,
  walletFingerprintOfAccounts,
} from "../../agent/keystore/nodes.ts";
import { Secret } from "../../agent/keystore/secret.ts";
import { writeFramesAndWipe } from "../../agent/launcher/frames.ts";
import { type FolderLock, takeLock } from "../../agent/launcher/lock.ts";
import { unsealRecordBytes } from "../../agent/ledger/codec.ts";
import { ledgerDisk } from "../../agent/ledger/disk.ts";
import { createLedger, openLedger } from "../../agent/ledger/ledger.ts";
import type { LedgerRecord, RecordBody } from "../../agent/ledger/records.ts";
import { LedgerSeal } from "../../agent/ledger/seal.ts";
import { privateKeyFromSeed } from "../../protocol/envelope.ts";
import type { PairedAccount } from "../../protocol/messages.ts";
import { projectRoot } from "../kit/kit.ts";

const words = "test test test test test test test test test test test junk";
const startMs = 20_000;

/** The owner of the folder. */
export interface Identity {
  readonly agent: string;
  readonly merchant: string;
  readonly gatewayKey: string; // hex
}

export interface SignerFolder {
  readonly dir: string;
  readonly state: string;
  readonly ledger: string;
  readonly wallet: string;
  readonly own: readonly PairedAccount[];
  readonly hotWallet: string;
  readonly encKey: string;
  readonly signerKey: KeyObject; // public
  readonly seal: LedgerSeal;
  readonly settings: SignerSettings;
  readonly lock: FolderLock;
}

export interface SignerProcess {
  readonly pid: number;
  /** Whether it is gone. */
  isOver(): boolean;
  /** Exit status and signal. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** The newest 64 KiB of its output. */
  output(): string;
  kill(): Promise<void>;
}

function settingsFor(dir: string, state: string): SignerSettings {
  return {
    chains: { local: { family: "evm", chainId: 31337 } },
    currencies: { eth: { chain: "local", decimal: 18 } },
    policy: {
      eth: {
        maxPerWithdrawal: "5",
        maxPerDay: "100000000",
        maxFee: "0.01",
        maxFeePerDay: "1000000",
      },
    },
    stuckAfterMinutes: 60,
    stateDir: state,
    courierSocket: join(dir, "courier.sock"),
    operatorSocket: join(dir, "operator.sock"),
    encKeyFrom: "config",
    config: { path: "/config.json", digest: "c0".repeat(32), readAt: 1, readMs: 1 },
  };
}

/** Makes a paired agent's folder below `dir`; `more` records follow its first one. */
export async function makeSignerFolder(
  dir: string,
  who: Identity,
  more: readonly RecordBody[] = [],
): Promise<SignerFolder> {
  const state = join(dir, "signer");
  mkdirSync(state, { recursive: true, mode: 0o700 });
  const accounts = deriveAccounts(new Uint8Array(mnemonicToSeedSync(words)), ["evm"]);
  const [wallet, own] = [walletFingerprintOfAccounts(accounts), pairedAccountsOf(accounts)];
  const hotWallet = own[0]?.id ?? "";
  const seed = randomBytes(32);
  const encKey = randomBytes(32).toString("hex");
  const contents = {
    wallet,
    networks: ["eip155:31337"],
    accounts,
    signerSeed: new Secret(Uint8Array.from(seed)),
  };
  const text = sealKeystore({
    contents,
    encKey: Buffer.from(encKey),
    random: (bytes) => randomBytes(bytes),
  });
  writeKeystore({ folder: state, text, encKey: Buffer.from(encKey) });
  const seal = new LedgerSeal(ledgerKey(contents).bytes);
  const disk = ledgerDisk(join(state, "ledger"));
  createLedger(disk, { kind: "PAIRED", wallet, ledgerEpoch: 1, ...who }, Date.now, seal);
  if (more.length > 0) {
    const { ledger } = openLedger({ disk, seal, clock: Date.now });
    ledger.append(more);
    await new Promise<void>((resolve, reject) =>
      ledger.flush((fault) => (fault === null ? resolve() : reject(fault))),
    );
    ledger.close();
  }
  const settings = settingsFor(dir, state);
  const signerKey = createPublicKey(privateKeyFromSeed(seed));
  const lock = await takeLock(state, 0);
  return {
    dir,
    state,
    ledger: join(state, "ledger"),
    wallet,
    own,
    hotWallet,
    encKey,
    signerKey,
    seal,
    settings,
    lock,
  };
}

/** The same agent on a copy of its files, with a lock and sockets of its own. */
export async function copySignerFolder(from: SignerFolder, dir: string): Promise<SignerFolder> {
  const state = join(dir, "signer");
  cpSync(from.state, state, { recursive: true });
  const lock = await takeLock(state, 0);
  return {
    ...from,
    dir,
    state,
    ledger: join(state, "ledger"),
    settings: settingsFor(dir, state),
    lock,
  };
}

/**
 * Starts the signer; resolves when it is ready, rejects with its exit reason when it ended first.
 */
export async function startSigner(
  folder: SignerFolder,
  within: readonly string[] = [],
): Promise<SignerProcess> {
  const started = launchSigner(folder, within);
  const isReady = await started.ready;
  if (!isReady)
    throw new Error(`the signer ended instead of starting: ${started.output().slice(-1500)}`);
  return started;
}

/**
 * As `startSigner`, for one that may be struck while it starts: `ready` is false when it ended
 * first.
 */
export function launchSigner(
  folder: SignerFolder,
  within: readonly string[] = [],
): SignerProcess & { readonly ready: Promise<boolean> } {
  const program = join(projectRoot, "dist", "agent", "signer", "main.js");
  const [command = process.execPath, ...args] = [...within, process.execPath, program];
  // One thread for the disk: calls are counted per thread, and so are always the same.
  const env = { PATH: process.env.PATH ?? "", UV_THREADPOOL_SIZE: "1" };
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe", folder.lock.fd], env });
  const killWithUs = (): boolean => child.kill("SIGKILL");
  process.once("exit", killWithUs);
  let text = "";
  const keep = (chunk: Buffer): void => {
    text = (text + chunk.toString("utf8")).slice(-65_536);
  };
  child.stderr?.on("data", keep);
  child.stdin?.on("error", () => undefined); // Struck before it had read everything.
  writeFramesAndWipe(
    child.stdin,
    Buffer.from(JSON.stringify(folder.settings)),
    Buffer.from(folder.encKey),
  );
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once("close", (code, signal) => {
      process.off("exit", killWithUs);
      resolve({ code, signal });
    });
  });
  const ready = new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), startMs);
    child.stdout?.on("data", (chunk: Buffer) => {
      if (chunk.includes('"ready":true')) resolve(true);
    });
    void ended.then(() => resolve(false)).finally(() => clearTimeout(timer));
    child.stdout?.once("data", () => clearTimeout(timer));
  });
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null;
  return {
    pid: pidOf(child),
    isOver,
    ended,
    ready,
    output: () => text,
    kill: () => killNow(child, ended),
  };
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error("the signer could not be started");
  return child.pid;
}

async function killNow(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  child.stdin?.destroy(); // The process to kill if a tracer stands between.
  if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  await ended;
}

/** Files of the ledger's segments in order. */
export function segmentsOf(folder: Pick<SignerFolder, "ledger">): readonly string[] {
  return readdirSync(folder.ledger)
    .filter((name) => name.endsWith(".jsonl"))
    .sort()
    .map((name) => join(folder.ledger, name));
}

/**
 * Every line on disk of a complete write, as it stands there; a torn tail, which lacks its end or
 * has zeros in it, is left out.
 */
export function recordsOf(folder: Pick<SignerFolder, "ledger">): readonly LedgerRecord[] {
  return segmentsOf(folder).flatMap((file) => {
    const text = readFileSync(file, "utf8");
    const lines = text
      .slice(0, text.lastIndexOf("\n") + 1)
      .split("\n")
      .filter((line) => line.endsWith("}") && !line.includes("\0"))
      .map((line) => JSON.parse(line) as LedgerRecord);
    return lines.slice(0, lines.map((line) => "mac" in line).lastIndexOf(true) + 1);
  });
}

/** As `recordsOf`, signed bytes out of their boxes. */
export function openedOf(folder: SignerFolder): readonly LedgerRecord[] {
  return recordsOf(folder).map((record) =>
    unsealRecordBytes(record, folder.seal, { file: folder.ledger, line: record.seq }),
  );
}

/** The signed bytes of every whole SIGNED line. */
export function signedOf(folder: SignerFolder): ReadonlySet<string> {
  return new Set(
    openedOf(folder).flatMap((record) => (record.kind === "SIGNED" ? [record.raw] : [])),
  );
}
