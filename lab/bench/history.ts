/**
 * The costs of a long history to the signer, a part of the bench: ledgers whose checkpoints put
 * away so many closed orders, made through the ledger itself; then the same days of work on each,
 * the real signer started on it, and the figures as ratios to the first.
 */
import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ledgerDisk } from "../../agent/ledger/disk.ts";
import { type Ledger, openLedger } from "../../agent/ledger/ledger.ts";
import type { LedgerRecord, RecordBody } from "../../agent/ledger/records.ts";
import type { Row } from "../../agent/ledger/sorted-file.ts";
import { readRules } from "../../agent/signer/policy/rules.ts";
import { Core } from "../../agent/signer/state/core.ts";
import { rowOfEnded } from "../../agent/signer/state/withdrawals.ts";
import { publicKeyHex } from "../../protocol/envelope.ts";
import { deriveOrderTransactionId, jobHashOf, zeroHash } from "../../protocol/identity.ts";
import { makeSignerFolder, type SignerFolder, startSigner } from "../faults/signer-folder.ts";

/** About as many close while one segment is written. */
const closedPerSegment = 4_100;
/** Those of them to destinations never paid before. */
const destinationsPerSegment = 1_000;
/** Withdrawals in the newest segment, which a start reads back. */
const tail = 2_500;
const rounds = 5;
const agent = "ab".repeat(8);
const merchant = "m1";

export interface HistoryFigures {
  readonly orders: number;
  readonly files: number;
  readonly filesMiB: number;
  readonly checkpointMiB: number;
  readonly stopMs: number;
  readonly tendMs: number; // the longest slice of joining files
  readonly readyMs: number;
  readonly residentMiB: number;
  readonly freshUs: number; // to look up an order that was never here
  readonly closedUs: number;
}

const median = (list: readonly number[]): number =>
  [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0;
const say = (line: string): void => void process.stderr.write(`bench: ${line}\n`);
const idOf = (order: number): string =>
  createHash("sha256").update(`order ${order}`).digest("hex").slice(0, 32);

function timed(act: () => void): number {
  const began = performance.now();
  act();
  return performance.now() - began;
}

/** One signer's ledger and state as they are kept in its process. */
class SignerHistory {
  readonly folder: SignerFolder;
  readonly core: Core;
  readonly ledger: Ledger;
  readonly tends: number[] = [];
  readonly stops: number[] = [];
  #sequence = 0;
  #hash = zeroHash;

  constructor(folder: SignerFolder) {
    this.folder = folder;
    const { ledger, records } = openLedger({
      disk: ledgerDisk(folder.ledger),
      seal: folder.seal,
      clock: Date.now,
    });
    this.ledger = ledger;
    this.core = new Core(readRules(folder.settings, folder.own), ledger.past);
    for (const record of records) this.core.apply(record);
    this.put([{ kind: "ADOPTED", network: "eip155:31337", account: folder.hotWallet, slot: "0" }]);
  }

  put(bodies: readonly RecordBody[]): readonly LedgerRecord[] {
    const records = this.ledger.append(bodies);
    for (const record of records) this.core.apply(record);
    return records;
  }

  durable(): Promise<void> {
    return new Promise((resolve, reject) =>
      this.ledger.flush((fault) => (fault === null ? resolve() : reject(fault))),
    );
  }

  /** Orders that closed long ago, as a segment's checkpoint put them away. */
  async history(from: number, count: number): Promise<void> {
    const closed = Array.from({ length: count }, (_, i) => {
      const content = createHash("sha256")
        .update(`content ${from + i}`)
        .digest("hex");
      return rowOfEnded(idOf(from + i), { state: "paid", content });
    });
    const paid: Row[] = Array.from({ length: destinationsPerSegment }, (_, i) => {
      const address = `0x${createHash("sha256")
        .update(`to ${from + i}`)
        .digest("hex")
        .slice(0, 40)}`;
      return {
        key: randomBytes(16),
        value: Buffer.from(JSON.stringify(["eip155:31337", address, Date.now(), "0.1", "eth"])),
      };
    });
    const { state } = this.core.checkpoint();
    this.core.apply(this.ledger.rotate(JSON.stringify(state), { closed, paid }));
    await this.durable();
    this.tend();
  }

  /** As many ticks as there would be between two segments. */
  tend(): void {
    for (let slice = 0; slice < 8; slice++) this.tends.push(timed(() => this.ledger.past.tend()));
  }

  /** One withdrawal from its job to its end, closed. */
  pay(): void {
    this.#sequence += 1;
    const orderId = `new-${this.folder.wallet.slice(0, 4)}-${this.#sequence}`;
    const transactionId = deriveOrderTransactionId({ merchant, operation: "withdraw", orderId });
    const address = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
    const job = {
      ...{
        agent,
        wallet: this.folder.wallet,
        network: "eip155:31337",
        ledgerEpoch: 1,
        sequence: this.#sequence,
        previous: this.#hash,
      },
      ...{
        issuedAt: Date.now(),
        expiresAt: Date.now() + 86_400_000,
        mode: "auto",
        transactionId,
        orderId,
      },
      ...{ currency: "eth", amount: "0.1", address, tag: "" },
    };
    const text = JSON.stringify(job);
    this.#hash = jobHashOf(text);
    const money = {
      network: "eip155:31337",
      contract: "",
      address,
      amountUnits: "100000000000000000",
    };
    const digest = createHash("sha256").update(orderId).digest("hex");
    const txHash = `0x${digest}`;
    const txParams = {
      gasLimit: "21000",
      maxFeePerGas: "2000000000",
      maxPriorityFeePerGas: "1000000000",
    };
    const fees = { txParams, feeMax: "42000000000000" };
    const slot = (this.#sequence - 1).toString();
    const [, , , signed] = this.put([
      {
        kind: "REQUESTED",
        transactionId,
        sequence: this.#sequence,
        jobHash: this.#hash,
        job: text,
        signature: "00".repeat(64),
      },
      { kind: "APPROVED", transactionId, by: "policy", approver: "", chain: "local", ...money },
      {
        ...{
          kind: "INTENT" as const,
          transactionId,
          attempt: 1,
          account: this.folder.hotWallet,
          slot,
          ...money,
          ...fees,
          digest,
        },
        unsigned: "02f0".repeat(12),
      },
      { kind: "SIGNED", transactionId, attempt: 1, digest, txHash, raw: "02f8".repeat(30) },
    ]);
    if (signed === undefined) throw new Error("a SIGNED record was put");
    const acked = { seq: signed.seq, hash: signed.hash };
    this.put([{ kind: "RELEASED", acked, released: [{ transactionId, attempt: 1 }] }]);
    const seen = { kind: "OBSERVED", transactionId, txHash, block: this.#sequence } as const;
    this.put([{ ...seen, stage: "included", outcome: "" }]);
    const [final] = this.put([{ ...seen, stage: "final", outcome: "paid" }]);
    if (final === undefined) throw new Error("an OBSERVED record was put");
    this.put([
      { kind: "ENDED", ended: [transactionId] },
      { kind: "REPORTED", acked: { seq: final.seq, hash: final.hash } },
    ]);
    // One that stays open would be carried by each checkpoint: that is not what is measured here.
    if (this.core.book.openCount > 0) throw new Error("an order that ended is still open");
  }

  /** A segment's worth of work, and the stop at its end. */
  async segment(): Promise<void> {
    for (let n = 0; n < closedPerSegment; n++) {
      this.pay();
      if (n % 256 === 255) await this.durable();
    }
    await this.durable();
    this.stops.push(
      timed(() => {
        const { state, leaving } = this.core.checkpoint();
        this.core.apply(this.ledger.rotate(JSON.stringify(state), leaving));
      }),
    );
    await this.durable();
    this.tend();
  }
}

function residentMiB(pid: number): number {
  const found = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Math.round((Number(found?.[1] ?? 0) / 1024) * 10) / 10;
}

async function started(
  folder: SignerFolder,
): Promise<{ readonly readyMs: number; readonly residentMiB: number }> {
  const began = performance.now();
  const signer = await startSigner(folder);
  const readyMs = performance.now() - began;
  await sleep(2_500);
  const resident = residentMiB(signer.pid);
  await signer.kill();
  return { readyMs, residentMiB: resident };
}

function lookUps(
  made: SignerHistory,
  orders: number,
): { readonly freshUs: number; readonly closedUs: number } {
  const count = 20_000;
  const look = (id: (n: number) => string): number => {
    const ids = Array.from({ length: count }, (_, n) => id(n));
    return (timed(() => ids.forEach((each) => void made.core.book.stateOf(each))) * 1000) / count;
  };
  return {
    freshUs: look((n) => idOf(-1 - n)),
    closedUs: look((n) => idOf(Math.floor((n * orders) / count))),
  };
}

/** A ledger with its history. */
async function build(orders: number, dir: string): Promise<SignerHistory> {
  const began = performance.now();
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const gatewayKey = publicKeyHex(generateKeyPairSync("ed25519").privateKey);
  const made = new SignerHistory(await makeSignerFolder(dir, { agent, merchant, gatewayKey }));
  for (let from = 0; from < orders; from += closedPerSegment) {
    await made.history(from, Math.min(closedPerSegment, orders - from));
    if (from % 500_000 < closedPerSegment && from > 500_000)
      say(`${from} of ${orders} orders written`);
  }
  say(`${orders} orders written in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  return made;
}

/** The bytes on disk, and the figures of the ledger's own process. */
function figuresOf(
  made: SignerHistory,
  orders: number,
): Omit<HistoryFigures, "readyMs" | "residentMiB"> {
  const { folder, ledger, stops, tends } = made;
  const { closed, paid } = ledger.past.named;
  const bytesOf = (file: string): number => statSync(join(folder.ledger, file)).size;
  const mebi = (bytes: number): number => Math.round((bytes / 1024 / 1024) * 10) / 10;
  const checkpoints = readdirSync(folder.ledger).filter((name) => name.startsWith("checkpoint-"));
  return {
    ...{ orders, files: closed.length + paid.length },
    filesMiB: mebi([...closed, ...paid].reduce((sum, { file }) => sum + bytesOf(file), 0)),
    checkpointMiB: mebi(bytesOf(checkpoints.sort().at(-1) ?? "")),
    stopMs: median(stops),
    tendMs: tends.reduce((most, each) => Math.max(most, each), 0),
    ...lookUps(made, orders),
  };
}

/**
 * All ledgers first, then the same work on each and its starts, in turn: what else the machine does
 * falls on each of them alike.
 */
export async function measureHistory(
  orders: readonly number[],
  dir: string,
): Promise<readonly HistoryFigures[]> {
  const all: SignerHistory[] = [];
  for (const [place, count] of orders.entries())
    all.push(await build(count, join(dir, String(place))));
  for (let round = 0; round < rounds; round++) for (const made of all) await made.segment();
  say("worked on each of them");
  for (const made of all) {
    for (let n = 0; n < tail; n++) made.pay();
    await made.durable();
  }
  const figures = all.map((made, place) => figuresOf(made, orders[place] ?? 0));
  for (const made of all) made.ledger.close();
  const starts = all.map((): Awaited<ReturnType<typeof started>>[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [place, { folder }] of all.entries()) starts[place]?.push(await started(folder));
    say(`round ${round + 1} of ${rounds} of starts`);
  }
  return figures.map((each, place) => {
    all[place]?.folder.lock.release();
    const own = starts[place] ?? [];
    const readyMs = median(own.map((start) => start.readyMs));
    return { ...each, readyMs, residentMiB: median(own.map((start) => start.residentMiB)) };
  });
}

const told = [
  "stopMs",
  "readyMs",
  "residentMiB",
  "checkpointMiB",
  "tendMs",
  "freshUs",
  "closedUs",
  "files",
  "filesMiB",
] as const;

export function describeHistory(all: readonly HistoryFigures[]): string {
  const rows = all.map((figures) => {
    const ratio = (name: (typeof told)[number]): string =>
      (figures[name] / (all[0]?.[name] ?? 1)).toFixed(2);
    return `${figures.orders} closed orders: ${told.map((name) => `${name} ${figures[name].toFixed(1)} (${ratio(name)})`).join(", ")}`;
  });
  return rows.join("\n");
}
