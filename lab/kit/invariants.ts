/**
 * The safety invariants of docs/architecture.md section 2 as functions over what a ledger holds and
 * what left the signer. Each throws where its invariant does not hold. Used after every step of the
 * random commands, and by anybody who has a ledger and wants to know.
 */
import { isCancel, type LedgerRecord, type RecordKind } from "../../agent/ledger/records.ts";
import { jobHashOf, zeroHash } from "../../protocol/identity.ts";
import type { Job } from "../../protocol/messages.ts";
import { jobIn, payable, transactionOf } from "./payable-bytes.ts";

/** Limits of one currency in base units and wei; null where there is none. */
export interface KnownLimits {
  readonly perWithdrawal: bigint;
  readonly perHour: bigint | null;
  readonly perDay: bigint;
  readonly fee: bigint;
  readonly feePerDay: bigint;
}

export interface World {
  readonly records: readonly LedgerRecord[];
  /** Raw transactions (0x hex) that left the signer. */
  readonly left: ReadonlySet<string>;
  /** Every job text the pinned gateway key ever signed for this agent. */
  readonly genuine: ReadonlySet<string>;
  readonly limits: Readonly<Record<string, KnownLimits>>;
}

type RecordOf<K extends RecordKind> = Extract<LedgerRecord, { kind: K }>;

const hourMs = 3_600_000;
const dayMs = 86_400_000;

function of<K extends RecordKind>(world: World, ...kinds: readonly K[]): RecordOf<K>[] {
  return world.records.filter((record): record is RecordOf<K> =>
    (kinds as readonly string[]).includes(record.kind),
  );
}

function must(condition: boolean, invariant: string, record?: LedgerRecord): void {
  if (!condition)
    throw new Error(record === undefined ? invariant : `${invariant}: ${JSON.stringify(record)}`);
}

function jobOf(record: RecordOf<"REQUESTED">): Job {
  return jobIn(record.job);
}

/**
 * Numbers, hashes and times go on, and nothing is bound, signed, let out or decided after a lock.
 */
export function monotone(world: World): void {
  const before = { seq: 0, hash: zeroHash, at: 0 };
  let locked = false;
  for (const record of world.records) {
    must(
      record.seq === before.seq + 1 && record.prev === before.hash && record.at >= before.at,
      "the ledger goes on",
      record,
    );
    Object.assign(before, record);
    const acts: readonly RecordKind[] = [
      "REQUESTED",
      "APPROVED",
      "HELD",
      "REFUSED",
      "EXPIRED",
      "INTENT",
      "SIGNED",
      "RELEASED",
      "ENDED",
      "ADOPTED",
    ];
    must(!locked || !acts.includes(record.kind), "a locked signer does nothing", record);
    locked = record.kind === "LOCKED" || (locked && record.kind !== "RECOVERED");
  }
}

/**
 * A slot belongs to one withdrawal, a withdrawal to one slot, and nonces are allocated in order
 * from the adopted one.
 */
export function bijection(world: World): void {
  const ownerOf = new Map<string, string>();
  const slotKeyOf = new Map<string, string>();
  const next = new Map<string, bigint>();
  const begun = new Set<string>();
  const bind = (account: string, nonce: string, id: string, record: LedgerRecord): boolean => {
    begun.add(account);
    const slotKey = `${account} ${nonce}`;
    must((ownerOf.get(slotKey) ?? id) === id, "a slot has one owner", record);
    must((slotKeyOf.get(id) ?? slotKey) === slotKey, "a withdrawal has one slot", record);
    const isNew = !ownerOf.has(slotKey);
    ownerOf.set(slotKey, id);
    slotKeyOf.set(id, slotKey);
    return isNew;
  };
  const out = new Set<string>();
  for (const record of of(world, "ADOPTED", "INTENT", "RELEASED", "RECOVERED")) {
    if (record.kind === "RELEASED") {
      for (const { transactionId } of record.released) out.add(transactionId);
      continue;
    }
    if (record.kind === "RECOVERED") {
      // A withdrawal that never left may give way to the gateway's statement; the record names the
      // state with the account's next slot.
      for (const [id, slotKey] of slotKeyOf) {
        if (out.has(id)) continue;
        slotKeyOf.delete(id);
        ownerOf.delete(slotKey);
      }
      next.clear();
      continue;
    }
    const account = `${record.network} ${record.account}`;
    if (record.kind === "ADOPTED") {
      must(!begun.has(account), "an account is adopted before its first slot", record);
      next.set(account, BigInt(record.slot));
    } else if (bind(account, record.slot, record.transactionId, record)) {
      const wanted = next.get(account);
      must(
        wanted === undefined || wanted === BigInt(record.slot),
        "nonces are allocated without gaps",
        record,
      );
      if (wanted !== undefined || isSince(world, record))
        next.set(account, BigInt(record.slot) + 1n);
    }
  }
}

/**
 * Whether the withdrawal of an INTENT was asked for since the ledger was recovered last: a
 * recovered ledger keeps others on their slot.
 */
function isSince(world: World, { transactionId, seq }: RecordOf<"INTENT">): boolean {
  const opened = of(world, "RECOVERED").findIndex((one) => one.seq > seq);
  const last = of(world, "RECOVERED").at(opened === -1 ? -1 : opened - 1)?.seq ?? 0;
  return of(world, "REQUESTED").some(
    (one) => one.transactionId === transactionId && one.seq > last,
  );
}

/**
 * INTENT before SIGNED, SIGNED before RELEASED under an acknowledgement that covers it, RELEASED
 * before a byte is out.
 */
export function writeAhead(world: World): void {
  const intents = new Map<string, RecordOf<"INTENT">>();
  const signed = new Map<string, RecordOf<"SIGNED">>();
  const hashes = new Map(world.records.map((record) => [record.seq, record.hash]));
  const released = new Set<string>();
  for (const record of world.records) {
    if (record.kind === "INTENT") {
      const key = `${record.transactionId} ${record.attempt}`;
      must(!intents.has(key), "an attempt is intended once", record);
      intents.set(key, record);
    }
    if (record.kind === "SIGNED") {
      const key = `${record.transactionId} ${record.attempt}`;
      must(
        intents.get(key)?.digest === record.digest,
        "an attempt is intended before it is signed",
        record,
      );
      must(!signed.has(key), "an attempt is signed once", record);
      signed.set(key, record);
    }
    if (record.kind === "RECOVERED") {
      intents.clear();
      signed.clear();
    }
    if (record.kind === "RELEASED" || record.kind === "REPORTED") {
      must(
        hashes.get(record.acked.seq) === record.acked.hash,
        "an acknowledgement is of this ledger",
        record,
      );
      must(record.acked.seq < record.seq, "an acknowledgement is of the past", record);
    }
    if (record.kind !== "RELEASED") continue;
    for (const { transactionId, attempt } of record.released) {
      const made = signed.get(`${transactionId} ${attempt}`);
      must(
        made !== undefined && made.seq <= record.acked.seq,
        "a released attempt is known to the gateway",
        record,
      );
      released.add(made?.raw ?? "");
    }
  }
  for (const raw of world.left) must(released.has(raw), `bytes left without a release: ${raw}`);
}

/**
 * Code that is not ours reads from the signed bytes exactly the approved payment, sent by the
 * account that it was bound to.
 */
function asApproved(world: World): void {
  const approved = new Map<string, RecordOf<"APPROVED">>();
  const intents = new Map<
    string,
    { readonly intent: RecordOf<"INTENT">; readonly yes: RecordOf<"APPROVED"> | undefined }
  >();
  for (const record of of(world, "APPROVED", "INTENT", "SIGNED")) {
    if (record.kind === "APPROVED") approved.set(record.transactionId, record);
    if (record.kind === "INTENT") {
      intents.set(`${record.transactionId} ${record.attempt}`, {
        intent: record,
        yes: approved.get(record.transactionId),
      });
    }
    if (record.kind !== "SIGNED") continue;
    const { intent, yes } = intents.get(`${record.transactionId} ${record.attempt}`) ?? {};
    const transaction = transactionOf(record.raw);
    if (intent !== undefined && isCancel(intent)) {
      const isNothing =
        transaction.value === 0n &&
        transaction.data === "0x" &&
        transaction.to === transaction.from;
      must(
        isNothing && transaction.from === intent.account,
        "a cancel pays nothing, to the account itself",
        record,
      );
      must(
        transaction.nonce === Number(intent.slot),
        "a cancel is on the slot that the withdrawal has",
        record,
      );
      continue;
    }
    must(
      yes !== undefined && intent !== undefined && yes.seq < intent.seq,
      "a signed payment was approved",
      record,
    );
    if (yes === undefined || intent === undefined) continue;
    const native = yes.contract === "";
    must(
      transaction.from === intent.account && transaction.nonce === Number(intent.slot),
      "account and nonce are the intent's",
      record,
    );
    must(
      `eip155:${transaction.chainId}` === yes.network,
      "the network is the approved one",
      record,
    );
    must(
      transaction.to === (native ? yes.address : yes.contract),
      "it goes where was approved",
      record,
    );
    must(
      transaction.value === (native ? BigInt(yes.amountUnits) : 0n),
      "the native amount is the approved one",
      record,
    );
    const call = `0xa9059cbb${yes.address.slice(2).toLowerCase().padStart(64, "0")}${BigInt(yes.amountUnits).toString(16).padStart(64, "0")}`;
    must(transaction.data === (native ? "0x" : call), "the call is the approved one", record);
    must(transaction.hash === record.txHash, "the hash is that of the bytes", record);
  }
}

/**
 * A refused or expired withdrawal never had and never gets a slot; nothing is decided twice, and
 * nothing follows the end. Long: one case for each kind of record.
 */
function truth(world: World): void {
  const dead = new Set<string>();
  const bound = new Set<string>();
  const decided = new Set<string>();
  const ended = new Set<string>();
  const requested = new Set<string>();
  const cancelled = new Set<string>();
  const payments = new Set<string>();
  const confirmed = new Map(
    of(world, "ENDED").flatMap(({ ended: ids, seq }) => ids.map((id) => [id, seq] as const)),
  );
  let isRecovered = false;
  const kinds = [
    "REQUESTED",
    "APPROVED",
    "HELD",
    "REFUSED",
    "EXPIRED",
    "INTENT",
    "SIGNED",
    "OBSERVED",
    "RECOVERED",
  ] as const;
  for (const record of of(world, ...kinds)) {
    if (record.kind === "RECOVERED") {
      // Kept withdrawals are decided again, and the others are asked for again.
      isRecovered = true;
      for (const set of [bound, decided, requested, ended]) set.clear();
      continue;
    }
    const { transactionId: id } = record;
    const isOver = ended.has(id) && (confirmed.get(id) ?? Number.POSITIVE_INFINITY) < record.seq;
    must(!dead.has(id) && !isOver, "nothing follows the end", record);
    const isVersion = record.kind === "INTENT" || record.kind === "SIGNED";
    const isEnd = record.kind === "OBSERVED" && record.stage === "final";
    must(
      !ended.has(id) || isVersion || isEnd,
      "an end that was told is followed by another or by attempts of the slot",
      record,
    );
    if (record.kind === "REQUESTED") {
      must(!requested.has(id), "an order is requested once", record);
      requested.add(id);
    }
    must(isRecovered || requested.has(id), "a request comes first", record);
    if (record.kind === "APPROVED") {
      must(!decided.has(id), "an approval comes once", record);
      decided.add(id);
    }
    if (record.kind === "INTENT") {
      must(decided.has(id) || isCancel(record), "an intent follows an approval", record);
      must(!cancelled.has(id) || isCancel(record), "no attempt pays after a cancel", record);
      if (isCancel(record)) cancelled.add(id);
      else payments.add(`${id} ${record.attempt}`);
      bound.add(id);
    }
    if (record.kind === "SIGNED") {
      const isPayment = payments.has(`${id} ${record.attempt}`);
      must(!cancelled.has(id) || !isPayment, "no paying attempt is signed after a cancel", record);
    }
    if (record.kind === "REFUSED" || record.kind === "EXPIRED") {
      must(!bound.has(id), "a withdrawal with a slot is never refused", record);
      dead.add(id);
    }
    if (record.kind === "OBSERVED" && record.stage === "final") ended.add(id);
  }
}

/**
 * While an operator has stopped it, the signer signs nothing that pays; on a stopped network and in
 * a stopped currency no first attempt.
 */
function paused(world: World): void {
  const cancels = new Set<string>();
  const networks = new Map<string, string>();
  const currencies = new Map<string, string>();
  const stopped = new Set<string>();
  let isPaused = false;
  for (const record of world.records) {
    if (record.kind === "PAUSED" && record.network === undefined) isPaused = record.paused;
    if (record.kind === "PAUSED" && record.network !== undefined) {
      const place =
        record.currency === undefined ? record.network : `${record.network}/${record.currency}`;
      if (record.paused) stopped.add(place);
      else stopped.delete(place);
    }
    if (record.kind === "REQUESTED")
      currencies.set(record.transactionId, jobIn(record.job).currency);
    if (record.kind === "INTENT") networks.set(record.transactionId, record.network);
    if (record.kind === "INTENT" && isCancel(record))
      cancels.add(`${record.transactionId} ${record.attempt}`);
    if (record.kind !== "SIGNED") continue;
    const network = networks.get(record.transactionId) ?? "";
    const place = `${network}/${currencies.get(record.transactionId) ?? ""}`;
    const isStopped = record.attempt === 1 && (stopped.has(network) || stopped.has(place));
    must(
      !isStopped,
      "no first attempt is signed on a stopped network or in a stopped currency",
      record,
    );
    must(
      !isPaused || cancels.has(`${record.transactionId} ${record.attempt}`),
      "a paused signer signs nothing that pays",
      record,
    );
  }
}

interface CountedUnits {
  readonly id: string;
  readonly currency: string;
  readonly at: number;
  readonly units: bigint;
}

function mustFit(
  counted: readonly CountedUnits[],
  currency: string,
  limits: KnownLimits,
  record: LedgerRecord,
): void {
  const sum = (spanMs: number): bigint =>
    counted.reduce(
      (all, one) =>
        one.currency === currency && one.at > record.at - spanMs ? all + one.units : all,
      0n,
    );
  must(
    limits.perHour === null || sum(hourMs) <= limits.perHour,
    "no hour is above its limit",
    record,
  );
  must(sum(dayMs) <= limits.perDay, "no day is above its limit", record);
}

/**
 * No sum over any window is above a limit, of what is approved or of what is bound, whatever was
 * asked when. Long: the sums of one walk over the records.
 */
function withinLimits(world: World): void {
  const currencyOf = new Map(
    of(world, "REQUESTED").map((record) => [record.transactionId, jobOf(record).currency]),
  );
  const counted: CountedUnits[] = [];
  const bound: CountedUnits[] = [];
  const fees = new Map<string, { currency: string; at: number; wei: bigint }>();
  const take = (from: CountedUnits[], id: string): CountedUnits | undefined => {
    const at = from.findIndex((entry) => entry.id === id);
    return at < 0 ? undefined : from.splice(at, 1)[0];
  };
  for (const record of of(world, "APPROVED", "REFUSED", "EXPIRED", "INTENT", "RECOVERED")) {
    if (record.kind === "RECOVERED") {
      // Kept withdrawals count even above the limits, and are not in the records.
      for (const sums of [counted, bound]) sums.length = 0;
      fees.clear();
      continue;
    }
    const id = record.transactionId;
    const currency = currencyOf.get(id) ?? "";
    const limits = world.limits[currency];
    if (record.kind === "REFUSED" || record.kind === "EXPIRED") {
      take(counted, id);
      continue;
    }
    if (currency === "" && of(world, "RECOVERED").length > 0) continue;
    must(limits !== undefined, "a currency without limits pays nothing", record);
    if (limits === undefined) continue;
    if (record.kind === "APPROVED") {
      const units = BigInt(record.amountUnits);
      const before = take(counted, id);
      const isCounted =
        before !== undefined && before.at > record.at - hourMs && before.units >= units;
      counted.push({ id, currency, at: record.at, units });
      must(units <= limits.perWithdrawal, "no withdrawal is above its limit", record);
      if (!isCounted) mustFit(counted, currency, limits, record);
      continue;
    }
    if (record.attempt === 1) {
      bound.push({ id, currency, at: record.at, units: BigInt(record.amountUnits) });
      mustFit(bound, currency, limits, record);
    }
    const wei = BigInt(record.feeMax);
    must(wei <= limits.fee, "no fee is above its ceiling", record);
    const before = fees.get(id)?.wei ?? 0n;
    const isHigher = wei > before;
    fees.set(id, { currency, at: record.at, wei: isHigher ? wei : before });
    let sum = 0n;
    for (const fee of fees.values())
      if (fee.currency === currency && fee.at > record.at - dayMs) sum += fee.wei;
    must(sum <= limits.feePerDay, "no day's fees are above their ceiling", record);
  }
}

/** Every recorded job is one the gateway signed, in the order and chain in which it signed them. */
function authentic(world: World): void {
  let sequence = 0;
  let hash = zeroHash;
  for (const record of of(world, "REQUESTED", "REPEATED", "RECOVERED")) {
    if (record.kind === "RECOVERED") {
      ({ sequence, jobHash: hash } = record);
      continue;
    }
    must(record.sequence === sequence + 1, "jobs are recorded without gaps", record);
    sequence = record.sequence;
    if (record.kind === "REQUESTED") {
      must(world.genuine.has(record.job), "a recorded job is genuine", record);
      must(jobHashOf(record.job) === record.jobHash, "a job's hash is that of its text", record);
      const job = jobOf(record);
      must(
        job.previous === hash && job.sequence === sequence,
        "a job follows the one before",
        record,
      );
    }
    hash = record.jobHash;
  }
}

const invariants = {
  monotone,
  bijection,
  writeAhead,
  asApproved,
  truth,
  paused,
  withinLimits,
  payable,
  authentic,
};

/** All of them. */
export function assertSafe(world: World): void {
  for (const invariant of Object.values(invariants)) invariant(world);
}
