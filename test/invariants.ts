/**
 * The safety sentences of docs/architecture.md section 2 as functions over what a ledger holds and what left the signer. Each throws
 * where its sentence does not hold. Used after every step of the random commands, and by whoever has a ledger and wants to know.
 */
import { Transaction } from "ethers";
import type { LedgerRecord, RecordKind } from "../agent/ledger/records.ts";
import { jobHashOf, zeroHash } from "../protocol/identity.ts";
import type { Job } from "../protocol/messages.ts";

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

type Of<K extends RecordKind> = Extract<LedgerRecord, { kind: K }>;

const hourMs = 3_600_000;
const dayMs = 86_400_000;

function of<K extends RecordKind>(world: World, ...kinds: readonly K[]): Of<K>[] {
  return world.records.filter((record): record is Of<K> => (kinds as readonly string[]).includes(record.kind));
}

function must(condition: boolean, sentence: string, record?: LedgerRecord): void {
  if (!condition) throw new Error(record === undefined ? sentence : `${sentence}: ${JSON.stringify(record)}`);
}

const read = new Map<string, Transaction>();
/** Read by code that is not ours; the same bytes are read once. */
function transactionOf(raw: string): Transaction {
  const known = read.get(raw) ?? Transaction.from(raw);
  read.set(raw, known);
  return known;
}

const jobs = new Map<string, Job>();
/** The same text is parsed once. */
function jobOf(record: Of<"REQUESTED">): Job {
  const known = jobs.get(record.jobHash) ?? (JSON.parse(record.job) as Job);
  jobs.set(record.jobHash, known);
  return known;
}

/** The parts of each recovery that came to its end, by the RECOVERED record that made them hold. */
function recoveries(world: World): ReadonlyMap<LedgerRecord, readonly Of<"RECOVERING" | "IMPORTED" | "SETTLED">[]> {
  const found = new Map<LedgerRecord, readonly Of<"RECOVERING" | "IMPORTED" | "SETTLED">[]>();
  let staged: Of<"RECOVERING" | "IMPORTED" | "SETTLED">[] = [];
  for (const record of of(world, "RECOVERING", "IMPORTED", "SETTLED", "RECOVERED")) {
    if (record.kind === "RECOVERING") staged = [record];
    else if (record.kind === "RECOVERED") found.set(record, staged);
    else staged.push(record);
  }
  return found;
}

/** What a recovery took over, in place of the records that stood for it until RECOVERED. */
function settledRecords<K extends RecordKind>(
  world: World,
  ...kinds: readonly K[]
): readonly (Of<K> | Of<"RECOVERING" | "IMPORTED" | "SETTLED">)[] {
  const parts = recoveries(world);
  return of<RecordKind>(world, ...kinds, "RECOVERED").flatMap((record) => [
    ...(parts.get(record) ?? []),
    ...((kinds as readonly string[]).includes(record.kind) ? [record as Of<K>] : []),
  ]);
}

/** Numbers, hashes and times go on, and nothing is bound, signed, let out or decided after a lock. */
export function monotone(world: World): void {
  const before = { seq: 0, hash: zeroHash, at: 0 };
  let locked = false;
  for (const record of world.records) {
    must(record.seq === before.seq + 1 && record.prev === before.hash && record.at >= before.at, "the ledger goes on", record);
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
      "ADOPTED",
    ];
    must(!locked || !acts.includes(record.kind), "a locked signer does nothing", record);
    locked = record.kind === "LOCKED" || (locked && record.kind !== "RECOVERED");
  }
}

/** A token belongs to one withdrawal, a withdrawal to one token, and nonces are allocated in order from the adopted one. */
export function bijection(world: World): void {
  const ownerOf = new Map<string, string>();
  const tokenOf = new Map<string, string>();
  const next = new Map<string, bigint>();
  const begun = new Set<string>();
  const bind = (account: string, nonce: string, id: string, record: LedgerRecord): boolean => {
    begun.add(account);
    const token = `${account} ${nonce}`;
    must((ownerOf.get(token) ?? id) === id, "a token has one owner", record);
    must((tokenOf.get(id) ?? token) === token, "a withdrawal has one token", record);
    const isNew = !ownerOf.has(token);
    ownerOf.set(token, id);
    tokenOf.set(id, token);
    return isNew;
  };
  for (const record of settledRecords(world, "ADOPTED", "INTENT", "RECOVERED")) {
    if (record.kind === "RECOVERING" || record.kind === "SETTLED") continue;
    if (record.kind === "RECOVERED") {
      for (const told of record.accounts) {
        const account = `${told.network} ${told.account}`;
        must(BigInt(told.next) >= (next.get(account) ?? 0n), "a watermark never goes back", record);
        for (const token of ownerOf.keys()) {
          const isOurs = token.startsWith(`${account} `);
          must(!isOurs || BigInt(token.slice(account.length + 1)) < BigInt(told.next), "a watermark is past every token", record);
        }
        begun.add(account);
        next.set(account, BigInt(told.next));
      }
      continue;
    }
    const account = `${record.network} ${record.account}`;
    if (record.kind === "ADOPTED") {
      must(!begun.has(account), "an account is adopted before its first token", record);
      next.set(account, BigInt(record.nonce));
    } else if (record.kind === "IMPORTED") {
      must(record.nonce !== "" || !tokenOf.has(record.transactionId), "a recovery takes no token away", record);
      if (record.nonce !== "") bind(account, record.nonce, record.transactionId, record);
    } else if (bind(account, record.nonce, record.transactionId, record)) {
      must(next.get(account) === BigInt(record.nonce), "nonces are allocated without gaps", record);
      next.set(account, BigInt(record.nonce) + 1n);
    }
  }
}

/** INTENT before SIGNED, SIGNED before RELEASED under an acknowledgement that covers it, RELEASED before a byte is out. */
export function writeAhead(world: World): void {
  const intents = new Map<string, Of<"INTENT">>();
  const signed = new Map<string, Of<"SIGNED">>();
  const hashes = new Map(world.records.map((record) => [record.seq, record.hash]));
  const released = new Set<string>();
  const recovered = recoveries(world);
  for (const record of world.records) {
    if (record.kind === "INTENT") {
      const key = `${record.transactionId} ${record.version}`;
      must(!intents.has(key), "a version is intended once", record);
      intents.set(key, record);
    }
    if (record.kind === "SIGNED") {
      const key = `${record.transactionId} ${record.version}`;
      must(intents.get(key)?.digest === record.digest, "what is signed was intended", record);
      must(!signed.has(key), "a version is signed once", record);
      signed.set(key, record);
    }
    for (const part of recovered.get(record) ?? []) {
      if (part.kind !== "IMPORTED") continue;
      for (let version = 1; intents.has(`${part.transactionId} ${version}`) || version <= part.versions.length; version++) {
        const key = `${part.transactionId} ${version}`;
        const { own = false, out = false } = part.versions[version - 1] ?? {};
        // The gateway holds these, whatever this ledger has forgotten of it; others never left and give way to the gateway's.
        if (own && out) released.add(signed.get(key)?.raw ?? "");
        if (own) continue;
        intents.delete(key);
        signed.delete(key);
      }
    }
    if (record.kind === "RELEASED" || record.kind === "REPORTED") {
      must(hashes.get(record.acked.seq) === record.acked.hash, "an acknowledgement is of this ledger", record);
      must(record.acked.seq < record.seq, "an acknowledgement is of the past", record);
    }
    if (record.kind !== "RELEASED") continue;
    for (const { transactionId, version } of record.released) {
      const made = signed.get(`${transactionId} ${version}`);
      must(made !== undefined && made.seq <= record.acked.seq, "what is released is known to the gateway", record);
      released.add(made?.raw ?? "");
    }
  }
  for (const raw of world.left) must(released.has(raw), `bytes left without a release: ${raw}`);
}

/** What is signed says exactly what was approved, to code that is not ours, and comes from the account it was bound to. */
export function asApproved(world: World): void {
  const approved = new Map<string, Of<"APPROVED">>();
  const intents = new Map<string, { readonly intent: Of<"INTENT">; readonly yes: Of<"APPROVED"> | undefined }>();
  for (const record of of(world, "APPROVED", "INTENT", "SIGNED")) {
    if (record.kind === "APPROVED") approved.set(record.transactionId, record);
    if (record.kind === "INTENT") {
      intents.set(`${record.transactionId} ${record.version}`, { intent: record, yes: approved.get(record.transactionId) });
    }
    if (record.kind !== "SIGNED") continue;
    const { intent, yes } = intents.get(`${record.transactionId} ${record.version}`) ?? {};
    must(yes !== undefined && intent !== undefined && yes.seq < intent.seq, "what is signed was approved", record);
    if (yes === undefined || intent === undefined) continue;
    const transaction = transactionOf(record.raw);
    const native = yes.contract === "";
    must(
      transaction.from === intent.account && transaction.nonce === Number(intent.nonce),
      "account and nonce are the intent's",
      record,
    );
    must(`eip155:${transaction.chainId}` === yes.network, "the network is the approved one", record);
    must(transaction.to === (native ? yes.address : yes.contract), "it goes where was approved", record);
    must(transaction.value === (native ? BigInt(yes.amountUnits) : 0n), "the native amount is the approved one", record);
    const call = `0xa9059cbb${yes.address.slice(2).toLowerCase().padStart(64, "0")}${BigInt(yes.amountUnits).toString(16).padStart(64, "0")}`;
    must(transaction.data === (native ? "0x" : call), "the call is the approved one", record);
    must(transaction.hash === record.txHash, "the hash is that of the bytes", record);
  }
}

/**
 * A refused or expired withdrawal never had and never gets a token; nothing is decided twice, and nothing follows the end. What a
 * recovery settled may be asked for again: a person decides it then.
 */
export function truth(world: World): void {
  const dead = new Set<string>();
  const settled = new Set<string>();
  const persons = new Set<string>();
  const bound = new Set<string>();
  const decided = new Set<string>();
  const ended = new Set<string>();
  const requested = new Set<string>();
  const kinds = ["REQUESTED", "APPROVED", "HELD", "REFUSED", "EXPIRED", "INTENT", "SIGNED", "OBSERVED"] as const;
  for (const record of settledRecords(world, ...kinds)) {
    if (record.kind === "RECOVERING") continue;
    const { transactionId: id } = record;
    must(!dead.has(id) && !ended.has(id), "nothing follows the end", record);
    const isAskedFor = record.kind === "IMPORTED" || record.kind === "REQUESTED";
    must(isAskedFor || !settled.has(id), "what was settled is asked for again first", record);
    if (record.kind === "IMPORTED") {
      requested.add(id);
      settled.delete(id);
      decided.delete(id);
      if (record.nonce !== "") bound.add(id);
      continue;
    }
    if (record.kind === "SETTLED") {
      must(!bound.has(id), "what is bound stays open", record);
      settled.add(id);
      decided.delete(id);
      continue;
    }
    if (record.kind === "REQUESTED") {
      must(!requested.has(id) || settled.has(id), "an order is requested once", record);
      if (settled.delete(id)) persons.add(id);
      requested.add(id);
    }
    must(requested.has(id), "a request comes first", record);
    if (record.kind === "HELD" && persons.has(id)) must(record.code === "RECOVERY_SETTLED", "a person decides it", record);
    if (record.kind === "EXPIRED")
      must(!persons.has(id) || decided.has(id), "what was settled runs out only after a yes", record);
    if (record.kind === "APPROVED") {
      must(!persons.has(id) || record.by === "operator", "what was settled is approved by a person alone", record);
      must(!decided.has(id), "an approval comes once", record);
      decided.add(id);
    }
    if (record.kind === "INTENT") {
      must(decided.has(id), "an intent follows an approval", record);
      bound.add(id);
    }
    if (record.kind === "REFUSED" || record.kind === "EXPIRED") {
      must(!bound.has(id), "what is bound is never refused", record);
      dead.add(id);
    }
    if (record.kind === "OBSERVED" && record.stage === "final") ended.add(id);
  }
}

interface Counted {
  readonly id: string;
  readonly currency: string;
  readonly at: number;
  readonly units: bigint;
}

function mustFit(counted: readonly Counted[], currency: string, limits: KnownLimits, record: LedgerRecord): void {
  const sum = (spanMs: number): bigint =>
    counted.reduce((all, one) => (one.currency === currency && one.at > record.at - spanMs ? all + one.units : all), 0n);
  must(limits.perHour === null || sum(hourMs) <= limits.perHour, "no hour is above its limit", record);
  must(sum(dayMs) <= limits.perDay, "no day is above its limit", record);
}

/** No sum over any window is above a limit, of what is approved or of what is bound, whatever was asked when. */
export function withinLimits(world: World): void {
  const currencyOf = new Map(of(world, "REQUESTED").map((record) => [record.transactionId, jobOf(record).currency]));
  for (const { transactionId, job } of of(world, "IMPORTED")) {
    if (job !== "") currencyOf.set(transactionId, (JSON.parse(job) as Job).currency);
  }
  const counted: Counted[] = [];
  const bound: Counted[] = [];
  const fees = new Map<string, { currency: string; at: number; wei: bigint }>();
  const take = (from: Counted[], id: string): Counted | undefined => {
    const at = from.findIndex((entry) => entry.id === id);
    return at < 0 ? undefined : from.splice(at, 1)[0];
  };
  const spend = (id: string, currency: string, units: bigint, wei: bigint, at: number): void => {
    for (const sums of [counted, bound]) if (!sums.some((entry) => entry.id === id)) sums.push({ id, currency, at, units });
    if ((fees.get(id)?.wei ?? 0n) < wei) fees.set(id, { currency, at, wei });
  };
  for (const record of settledRecords(world, "APPROVED", "REFUSED", "EXPIRED", "INTENT", "RECOVERED")) {
    if (record.kind === "RECOVERING" || record.kind === "SETTLED") continue;
    if (record.kind === "RECOVERED") {
      for (const { currency, units, feesWei } of record.spent) {
        spend(record.order, currency, BigInt(units), BigInt(feesWei), record.at);
      }
      continue;
    }
    const id = record.transactionId;
    const currency = currencyOf.get(id) ?? "";
    const limits = world.limits[currency];
    if (record.kind === "REFUSED" || record.kind === "EXPIRED") {
      take(counted, id);
      continue;
    }
    if (record.kind === "IMPORTED") {
      // What a recovery finds bound counts, whatever the limits say; what it holds does not until a person says yes.
      const wei = record.versions.reduce((most, { feeMax }) => (BigInt(feeMax) > most ? BigInt(feeMax) : most), 0n);
      if (record.nonce === "") take(counted, id);
      else spend(id, currency, BigInt(record.amountUnits || "0"), wei, record.at);
      continue;
    }
    must(limits !== undefined, "a currency without limits pays nothing", record);
    if (limits === undefined) continue;
    if (record.kind === "APPROVED") {
      const units = BigInt(record.amountUnits);
      const before = take(counted, id);
      const isCounted = before !== undefined && before.at > record.at - hourMs && before.units >= units;
      counted.push({ id, currency, at: record.at, units });
      must(units <= limits.perWithdrawal, "no withdrawal is above its limit", record);
      if (!isCounted) mustFit(counted, currency, limits, record);
      continue;
    }
    if (record.version === 1) {
      bound.push({ id, currency, at: record.at, units: BigInt(record.amountUnits) });
      mustFit(bound, currency, limits, record);
    }
    const wei = BigInt(record.gasLimit) * BigInt(record.maxFeePerGas);
    must(wei <= limits.fee, "no fee is above its ceiling", record);
    const before = fees.get(id)?.wei ?? 0n;
    const isDearer = wei > before;
    fees.set(id, { currency, at: record.at, wei: isDearer ? wei : before });
    let sum = 0n;
    for (const fee of fees.values()) if (fee.currency === currency && fee.at > record.at - dayMs) sum += fee.wei;
    must(sum <= limits.feePerDay, "no day's fees are above their ceiling", record);
  }
}

/** Every recorded job is one the gateway signed, in the order and chain in which it signed them. */
export function authentic(world: World): void {
  let sequence = 0;
  let hash = zeroHash;
  for (const record of settledRecords(world, "REQUESTED", "REPEATED")) {
    if (record.kind === "RECOVERING") ({ sequence, jobHash: hash } = record);
    if (record.kind === "IMPORTED")
      must(record.job === "" || world.genuine.has(record.job), "a job taken over is genuine", record);
    if (record.kind !== "REQUESTED" && record.kind !== "REPEATED") continue;
    must(record.sequence === sequence + 1, "jobs are recorded without gaps", record);
    sequence = record.sequence;
    if (record.kind === "REQUESTED") {
      must(world.genuine.has(record.job), "a recorded job is genuine", record);
      must(jobHashOf(record.job) === record.jobHash, "a job's hash is that of its text", record);
      const job = jobOf(record);
      must(job.previous === hash && job.sequence === sequence, "a job follows the one before", record);
    }
    hash = record.jobHash;
  }
}

const sentences = { monotone, bijection, writeAhead, asApproved, truth, withinLimits, authentic };

/** All of them. */
export function assertSafe(world: World): void {
  for (const sentence of Object.values(sentences)) sentence(world);
}
