/**
 * The fate of an agent that starts on an image: opened by the real ledger, replayed by the real
 * core, after the handshake by a gateway whose database is at its true state, and pressed by a
 * courier that asks for every signature there could be. An image may be refused, stopped by the
 * gateway head, or recovered; a payment that the gateway has received is never forgotten.
 */

import { isArchiveFileName } from "../../agent/ledger/archive.ts";
import { openLedger } from "../../agent/ledger/ledger.ts";
import type { LedgerRecord } from "../../agent/ledger/records.ts";
import { verifyLedger } from "../../agent/ledger/verify.ts";
import { AgentError } from "../../base/fault.ts";
import type { AgentLedgerHead } from "../../protocol/messages.ts";
import { MemoryDisk } from "../kit/ledger-disk.ts";
import { testSeal } from "../kit/ledger-seal.ts";
import { Kit, txParams } from "../kit/signer-kit.ts";
import { type Image, segmentFile } from "./image.ts";
import { gatewayKey, type Moment, type Story } from "./story.ts";

export type Fate = "recovered" | "refused" | "stopped";

export interface Verdict {
  readonly fate: Fate;
  readonly violation: string | null;
}

export interface JudgeOptions {
  /**
   * False: the gateway says it holds whatever the agent has, as if there were no gateway head. To
   * see what the gateway head is for.
   */
  readonly isGatewayHeadTrue?: boolean;
}

/** Says of each image what becomes of it. */
export class Judge {
  readonly #story: Story;
  readonly #isGatewayHeadTrue: boolean;
  /**
   * The fate of the first `seq` records of a moment, if nothing else in the folder had changed.
   */
  readonly #prefixes = new Map<Moment, Map<number, Verdict>>();

  constructor(story: Story, { isGatewayHeadTrue = true }: JudgeOptions = {}) {
    this.#story = story;
    this.#isGatewayHeadTrue = isGatewayHeadTrue;
  }

  judge(image: Image): Verdict {
    try {
      return this.#start(image);
    } catch (error) {
      const what = error instanceof BrokenInvariantError ? error.message : String(error);
      return {
        fate: "refused",
        violation: `${image.name}, of record ${image.moment.head.seq}: ${what}`,
      };
    }
  }

  #start(image: Image): Verdict {
    const { moment } = image;
    const disk = MemoryDisk.over(image.files);
    const opened = open(disk);
    if (opened instanceof AgentError) {
      assertSaysWhere(image, opened);
      return { fate: "refused", violation: null };
    }
    for (const { seq, hash } of opened.records)
      must(this.#story.hashes[seq - 1] === hash, `record ${seq} was never written so`);
    const head = opened.records.at(-1) as LedgerRecord;
    assertTornKept(image, disk, opened.tornBytes);
    const drive = (): Verdict =>
      pressed(() =>
        press(
          this.#story,
          moment,
          disk.files,
          head,
          this.#isGatewayHeadTrue ? moment.stored : head,
        ),
      );
    if (isChangedElsewhere(image)) {
      assertVerifyFinds(image, disk);
      return drive();
    }
    const known = this.#prefixes.get(moment) ?? new Map<number, Verdict>();
    this.#prefixes.set(moment, known);
    const verdict = known.get(head.seq) ?? drive();
    known.set(head.seq, verdict);
    return verdict;
  }
}

/**
 * A changed file of what is closed is found by anybody who looks an order up in it: that ends the
 * signer, as a refused start does.
 */
function pressed(press: () => Verdict): Verdict {
  try {
    return press();
  } catch (error) {
    if (
      !(error instanceof AgentError) ||
      error.code !== "LEDGER_DAMAGED" ||
      !isArchiveFileName(String(error.context.file))
    )
      throw error;
    return { fate: "refused", violation: null };
  }
}

class BrokenInvariantError extends Error {}

function must(condition: boolean, invariant: string): void {
  if (!condition) throw new BrokenInvariantError(invariant);
}

function open(disk: MemoryDisk): ReturnType<typeof openLedger> | AgentError {
  try {
    return openLedger({ disk, seal: testSeal, clock: () => 0 });
  } catch (error) {
    if (error instanceof AgentError) return error;
    throw new BrokenInvariantError(`opening threw ${String(error)}`);
  }
}

/**
 * The fault names a file that has changed or is gone, and the line where one line was changed in
 * the newest segment.
 */
function assertSaysWhere(
  { moment, files, line }: Image,
  { code, message, context }: AgentError,
): void {
  must(
    code === "LEDGER_DAMAGED" || code === "LEDGER_FORGED" || code === "LEDGER_MISSING",
    `refused with ${code}: ${message}`,
  );
  if (code === "LEDGER_MISSING") {
    must(
      (files.get(segmentFile(1))?.length ?? 0) === 0,
      "called missing although there is something",
    );
    return;
  }
  const { file } = context;
  must(typeof file === "string" && message.includes(file), `the fault names no file: ${message}`);
  const isNewest =
    file === segmentFile(moment.segment) && files.get(file) !== moment.files.get(file);
  if (isNewest && line !== undefined)
    must(context.line === line, `line ${line} was changed, the fault says ${message}`);
}

/** The cut part is kept in a file of its own, and the rest is unchanged. */
function assertTornKept({ files }: Image, disk: MemoryDisk, tornBytes: number): void {
  if (tornBytes === 0) return;
  for (const [name, before] of files) {
    const after = disk.files.get(name);
    if (after === before || (after === undefined && isArchiveFileName(name))) continue;
    const kept = disk.files.get(`torn-${name.slice(0, 8)}-${after?.length ?? 0}`);
    const isWhole =
      after !== undefined && kept !== undefined && Buffer.concat([after, kept]).equals(before);
    must(isWhole && kept.length === tornBytes, `${tornBytes} torn bytes of ${name} were not kept`);
  }
}

/** Something beside the newest segment's end is not as it was: the fate is not that of a prefix. */
function isChangedElsewhere({ moment, files }: Image): boolean {
  const newest = Math.max(
    ...[...files.keys()].map((name) => Number(/^(\d+)\.jsonl$/.exec(name)?.[1] ?? 0)),
  );
  for (const [name, bytes] of moment.files) {
    const segment = Number(/^(\d+)\.jsonl$/.exec(name)?.[1] ?? 0);
    if (segment < newest && files.get(name) !== bytes && (segment > 0 || isArchiveFileName(name)))
      return true;
  }
  return false;
}

/** A start does not read the old segments; `verify` does, and names the file. */
function assertVerifyFinds({ moment, files }: Image, disk: MemoryDisk): void {
  const isOther = [...moment.files].some(([name, bytes]) => {
    const found = files.get(name);
    return (
      name.endsWith(".jsonl") &&
      found !== undefined &&
      found !== bytes &&
      !Buffer.from(found).equals(bytes)
    );
  });
  if (!isOther) return;
  try {
    verifyLedger(disk, testSeal);
  } catch (error) {
    must(
      error instanceof AgentError && /^LEDGER_(DAMAGED|FORGED)$/.test(error.code),
      `verify threw ${String(error)}`,
    );
    return;
  }
  must(isWholeChain(files, moment), "verify finds nothing in a folder that was changed");
}

/** An earlier day's folder verifies: nothing in it is wrong but its age. */
function isWholeChain(files: ReadonlyMap<string, Uint8Array>, moment: Moment): boolean {
  return [...files].every(([name, bytes]) => {
    const now = moment.files.get(name);
    return (
      now === undefined ||
      !name.endsWith(".jsonl") ||
      Buffer.from(now).subarray(0, bytes.length).equals(bytes)
    );
  });
}

/** Starts the agent on what was found, completes the handshake with it, and asks for everything. */
function press(
  story: Story,
  moment: Moment,
  files: Iterable<readonly [string, Uint8Array]>,
  { seq, hash }: AgentLedgerHead,
  gatewayHead: AgentLedgerHead | null,
): Verdict {
  const kit = new Kit({ found: MemoryDisk.over(files), gatewayKey });
  kit.now = moment.nowMs;
  kit.gateway.stored =
    gatewayHead === null ? null : { seq: gatewayHead.seq, hash: gatewayHead.hash };
  kit.gateway.last = moment.last;
  kit.gateway.texts.push(...moment.texts);
  kit.gateway.ledgerEpoch = moment.ledgerEpoch;
  const wasLocked = kit.core.locked !== null;
  askForAll(kit);
  must(signedSince(kit, seq).length === 0, "signed before the handshake was complete");
  const handshake = kit.handshake();
  // A gateway that lacks something is told first.
  if (kit.signer.run.resync !== null) kit.acknowledge();
  // A ledger from before a recovery is of an epoch that is over: no handshake completes with it.
  const isOver = handshake.code === "ADMISSION_OTHER_EPOCH";
  if (kit.core.locked === null && !isOver) {
    must(kit.signer.run.handshakeDone, `neither handshake nor lock: ${handshake.code}`);
    const isThere =
      gatewayHead === null ||
      (seq >= gatewayHead.seq && (seq > gatewayHead.seq || hash === gatewayHead.hash));
    must(isThere, `handshake at record ${seq}, the gateway holds ${gatewayHead?.seq}`);
  }
  goOn(kit);
  const signed = signedSince(kit, seq);
  if (kit.core.locked !== null || isOver)
    must(signed.length === 0, "signed although locked or without a handshake");
  assertNothingForgotten(story, moment, signed);
  return {
    fate: (kit.core.locked === null && !isOver) || wasLocked ? "recovered" : "stopped",
    violation: null,
  };
}

/**
 * Every signature that could be asked for, the newest first: anybody who came first before comes
 * last now.
 */
function askForAll(kit: Kit): void {
  for (const { transactionId, attempts } of [...kit.core.book.open()].reverse()) {
    kit.ask("sign", { transactionId, txParams });
    kit.ask("replace", { transactionId, above: Math.max(1, attempts.length), txParams });
  }
}

/**
 * The first counter once more, the jobs again from where the ledger stands, one that is new, and a
 * full turn with the gateway.
 */
function goOn(kit: Kit): void {
  const { gateway, core } = kit;
  kit.ask("adopt", { chain: "local", slot: "5", quorum: 2 });
  gateway.job({ orderId: "after-the-image" }, kit.now);
  for (let from = core.chain.sequence; from < gateway.texts.length; from += 10) {
    kit.admit(gateway.jobs(gateway.texts.slice(from, from + 10)));
  }
  askForAll(kit);
  if (core.locked !== null || !kit.signer.run.handshakeDone) return;
  kit.acknowledge();
  askForAll(kit);
}

type RecordOf<K extends LedgerRecord["kind"]> = Extract<LedgerRecord, { kind: K }>;

/** Tokens bound or signed since the start. */
function signedSince(kit: Kit, seq: number): readonly (RecordOf<"INTENT"> | RecordOf<"SIGNED">)[] {
  kit.settle();
  const { durableHead } = kit.signer.ledger;
  const since = durableHead.seq > seq ? kit.signer.ledger.read(seq + 1, durableHead.seq) : [];
  return since.filter(
    (record): record is RecordOf<"INTENT"> | RecordOf<"SIGNED"> =>
      record.kind === "INTENT" || record.kind === "SIGNED",
  );
}

/**
 * A withdrawal that the gateway knows was perhaps paid, so its slot belongs to no other, and it has
 * no other slot.
 */
function assertNothingForgotten(
  { bound }: Story,
  { receivedSeq }: Moment,
  signed: ReturnType<typeof signedSince>,
): void {
  const received = bound.filter(({ signedSeq }) => signedSeq <= receivedSeq);
  const owner = new Map(received.map(({ token, transactionId }) => [token, transactionId]));
  const tokenOf = new Map(received.map(({ token, transactionId }) => [transactionId, token]));
  for (const record of signed) {
    if (record.kind !== "INTENT") continue;
    const { transactionId } = record;
    const token = `${record.network} ${record.account} ${record.slot}`;
    must(
      (owner.get(token) ?? transactionId) === transactionId,
      `${token} was used by ${owner.get(token)}, now by ${transactionId}`,
    );
    must(
      (tokenOf.get(transactionId) ?? token) === token,
      `${transactionId} has ${tokenOf.get(transactionId)}, now ${token}`,
    );
  }
}
