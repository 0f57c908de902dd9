/**
 * Mutants of the ledger and its syncs: what counts as written before it is, and what a restart no
 * longer finds.
 */
import type { Mutant } from "./mutant.ts";
import { rotatesAndRestarts, rotatesNotCaughtUp } from "./plans.ts";

const ledger = "agent/ledger/ledger.ts";
const acts = "agent/signer/runtime/courier-acts.ts";
const core = "agent/signer/state/core.ts";
const disk = "agent/ledger/disk.ts";

export const ledgerMutants: readonly Mutant[] = [
  {
    name: "no-sync",
    file: disk,
    find: "    fdatasync(fd, done);",
    replace: "    process.nextTick(done, null);",
    invariant:
      "Records are written and never synced, so a power failure takes back what others acted on (release).",
  },
  {
    name: "checkpoint-not-synced",
    file: disk,
    find: "        writeAll(fd, bytes);\n        fsyncSync(fd);",
    replace: "        writeAll(fd, bytes);",
    invariant:
      "A checkpoint or a new segment gets its name before its bytes are on disk, and a power failure empties it (write-ahead).",
  },
  {
    name: "name-not-synced",
    file: disk,
    find: "      renameSync(unfinished, path(name));\n      syncFolder(folder);",
    replace: "      renameSync(unfinished, path(name));",
    invariant:
      "A new segment's name is not synced, and a power failure takes the whole segment (write-ahead).",
  },
  {
    name: "short-write-counts",
    file: disk,
    find: "  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at);",
    replace: "  writeSync(fd, bytes, 0, bytes.length);",
    invariant:
      "A write that the disk took in part counts as whole, so a line is missing its end for good (write-ahead).",
  },
  {
    name: "told-before-the-write",
    file: ledger,
    find: "      this.#file.append(bytes, (error) => this.#written(chunk, error));",
    replace: `      this.#durable = chunk.last;
      for (const done of chunk.waiting.splice(0)) done(null);
      this.#file.append(bytes, (error) => this.#written(chunk, error));`,
    invariant:
      "Anybody who waits for a record is told as soon as it is handed to the disk; a crash takes back what others acted on (release).",
  },
  {
    name: "under-way-counts-as-written",
    file: ledger,
    find: "const chunk = this.#chunks.at(-1) ?? this.#writing;",
    replace: "const chunk = this.#chunks.at(-1) ?? null;",
    invariant:
      "Who asks while a sync runs and has nothing of its own to write is answered at once, with what that sync may yet lose (release).",
    when: ({ rates }) =>
      rates.slowDisk > 0 && rates.courierDies + rates.frameTwice + rates.hostileCourier > 0,
  },
  {
    name: "durable-runs-ahead",
    file: ledger,
    find: "    this.#durable = chunk.last;",
    replace: "    this.#durable = this.#last;",
    invariant:
      "Records appended while a sync ran count as synced with it and are told to the gateway; a crash then leaves it ahead (release).",
  },
  {
    name: "failed-sync-counts",
    file: ledger,
    find: `    if (error !== null) {
      this.#fail(error);
      return;
    }
    this.#writing = null;`,
    replace: "    this.#writing = null;",
    invariant:
      "A sync that failed is taken for one that worked, so what was answered may never reach the disk (release).",
  },
  {
    name: "torn-tail-stays",
    file: ledger,
    find: "    disk.truncate(file, read.bytes);",
    replace: "    if (!read.torn) disk.truncate(file, read.bytes);",
    invariant:
      "A torn line is not cut off, the next record is written behind it, and the start after that finds a damaged ledger (liveness).",
  },
  {
    name: "start-trusts-the-cache",
    file: ledger,
    find: "    disk.truncate(file, read.bytes);",
    replace: "    if (read.torn) disk.truncate(file, read.bytes);",
    invariant:
      "A start goes on from lines that a killed process had not synced and only the kernel holds; a power failure takes them (release).",
  },
  {
    name: "timestamped-as-the-clock-says",
    file: ledger,
    find: "const at = Math.max(this.#last.at, this.#clock(), notBeforeMs);",
    replace: "const at = this.#clock();",
    invariant:
      "Records carry whatever the clock says, so ledger time goes back with it and the windows of the limits with that (monotone).",
  },
  {
    name: "segment-before-its-turn",
    file: ledger,
    find: "    this.#chunks.push({ segment, begins: true, texts: [], last: this.#last, waiting: [] });",
    replace:
      "    this.#chunks.unshift({ segment, begins: true, texts: [], last: this.#last, waiting: [] });",
    invariant:
      "A new segment is written before the lines that come before it, so the chain of records breaks at a rotation (monotone).",
    when: ({ segmentBytesMax }) => segmentBytesMax <= 4_096,
  },
  {
    name: "old-segment-goes-on",
    file: ledger,
    find: "    this.#file = this.#disk.open(segmentName(segment));\n",
    replace: "    this.#file = this.#disk.open(segmentName(segment - 1));\n",
    invariant:
      "After a rotation the next records go to the end of the old segment, where no start looks for them (write-ahead).",
  },
  {
    name: "waits-behind-a-rotation",
    file: ledger,
    find: "    if (!this.#chunks.some((chunk) => chunk.waiting.length > 0)) return;",
    replace: "    if ((this.#chunks[0]?.waiting.length ?? 0) === 0) return;",
    invariant:
      "Lines nobody waits for hold up the segment behind them permanently, and with it every answer (liveness).",
    when: ({ segmentBytesMax }) => segmentBytesMax <= 4_096,
  },
  {
    name: "full-permanently",
    file: ledger,
    find: "      this.#room = bytes >= this.roomBytesMin;\n      return bytes;",
    replace:
      "      this.#room &&= bytes >= this.roomBytesMin;\n      return this.#room ? bytes : 0;",
    invariant:
      "A disk that was full once counts as full until the process ends, so nothing new is assigned any more (liveness).",
    when: ({ rates }) => rates.diskFills > 0,
  },
  {
    name: "bytes-before-their-record",
    file: acts,
    find: "  else signer.whenDurable(answer);",
    replace: `  else {
    answer();
    signer.whenDurable(() => {});
  }`,
    invariant:
      "Released bytes are handed out while RELEASED is on its way to the disk; a crash forgets that they are out (release).",
  },
  {
    name: "handshake-releases-early",
    file: acts,
    find: "  if (views.ok && !views.withdrawals.some(hasAttemptBytes)) {",
    replace: "  if (views.ok) {",
    invariant:
      "What a welcome or a repeated job shows is told at once like a decision, its bytes before RELEASED is on disk (release).",
  },
  {
    name: "stated-before-the-sync",
    file: "agent/signer/runtime/signer.ts",
    find: "core.outbox.batches(after, ledger.durableHead, (seq)",
    replace: "core.outbox.batches(after, core.heads.head, (seq)",
    invariant:
      "Statements name records that are not on disk, so after a crash the gateway is ahead of the ledger (write-ahead).",
  },
  {
    name: "two-askers-two-signatures",
    file: "agent/signer/runtime/signatures.ts",
    find: `    if (others !== undefined) {
      others.push(reply);
      return;
    }
`,
    replace: "",
    invariant:
      "Two requests for one signature make two SIGNED records of one attempt (write-ahead).",
    when: ({ rates }) => rates.slowDisk > 0 && rates.courierDies + rates.hostileCourier > 0,
  },
  {
    name: "checkpoint-forgets-slots",
    file: core,
    find: "      accounts: this.accounts.snapshot(),",
    replace: "      accounts: [],",
    invariant:
      "After a rotation and a restart the account begins again, at a nonce that was used already (bijection).",
    when: rotatesAndRestarts,
  },
  {
    name: "checkpoint-forgets-what-is-closed",
    file: core,
    find: "leaving: { closed: this.book.rows(),",
    replace: "leaving: { closed: [],",
    invariant:
      "After a rotation an order that was paid is none that was ever here, and is paid again when it is asked for again (payments).",
    when: ({ segmentBytesMax }) => segmentBytesMax <= 4_096,
  },
  {
    name: "checkpoint-forgets-the-gate",
    file: "agent/signer/state/withdrawals.ts",
    find: "      unreleased: this.#unreleased.toArray(),",
    replace: "      unreleased: [],",
    invariant:
      "After a rotation and a restart what waited at the gate waits there permanently (liveness).",
    when: rotatesNotCaughtUp,
  },
  {
    name: "checkpoint-forgets-what-was-assigned",
    file: "agent/signer/state/policy-state.ts",
    find: "          hour.entriesAt(nowMs),\n          day.entriesAt(nowMs),\n",
    replace: "          [],\n          [],\n",
    invariant:
      "After a rotation and a restart the windows are empty, and a day is approved a second time (policy).",
    when: (plan) => rotatesAndRestarts(plan) && plan.policy === "narrow" && plan.orders.length > 1,
  },
];
