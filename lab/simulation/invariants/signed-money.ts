/**
 * The invariants that hold against each liar, told by the signed bytes alone and the merchant's own
 * settings: limits in what can still be paid, destinations, one slot or one living attempt for a
 * withdrawal, and an operator's yes where an operator is to say it.
 */
import type { PolicySettings } from "../../../agent/config/settings.ts";
import { isInternalMode, limitGroupOf } from "../../../protocol/job-mode.ts";
import type { Job } from "../../../protocol/messages.ts";
import type { SignedBytes } from "../../kit/signed-bytes.ts";
import { isCancel, readRaw } from "../world/raw.ts";
import { currencies, hotWallet, stage } from "../world/setting.ts";
import { addressHex, readTransfer } from "../world/tron-raw.ts";
import { unitsIn, withinWindows } from "./payable.ts";
import { derivedAddresses } from "./sweeps.ts";
import { must, Violation } from "./violation.ts";

/** Past its end by so much no block takes an attempt, on a chain that goes on. */
const marginMs = 120_000;
const dayMs = 86_400_000;

/** One payment as its bytes tell it; addresses as the family's bytes have them. */
interface SignedPayment {
  readonly from: string;
  readonly to: string;
  readonly contract: string; // "" for coins
  readonly units: bigint;
  readonly feeMax: bigint; // in units of the fee coin
  readonly slot: string; // "" where no slot excludes
  readonly validUntilMs: number | null;
  readonly isCancel: boolean;
}

/** One attempt that left. */
interface ReleasedAttempt extends SignedPayment, SignedBytes {
  readonly limitGroup: string;
}

/** The words of the merchant's own people, and the questions to them. */
interface MerchantWords {
  /** Every job of this id that the gateway ever made. */
  readonly jobsOf: (transactionId: string) => readonly Job[];
  /** Whether an operator said yes to it since a recovery quarantined it, or ever. */
  readonly hasYes: (transactionId: string) => boolean;
  /** Whether they called it ended: another one on its slot is paid in its place, or neither. */
  readonly isEnded: (transactionId: string) => boolean;
  /** Whether an operator let one attempt more be made. */
  readonly isOrdered: (transactionId: string) => boolean;
  readonly nowMs: () => number;
}

export class SignedMoney {
  readonly #policy: PolicySettings;
  readonly #known: MerchantWords;
  readonly #byId = new Map<string, ReleasedAttempt[]>();
  readonly #ownerOf = new Map<string, string>(); // by account and slot

  constructor(policy: PolicySettings, known: MerchantWords) {
    this.#policy = policy;
    this.#known = known;
  }

  get count(): number {
    return [...this.#byId.values()].reduce((sum, all) => sum + all.length, 0);
  }

  /** Bytes leave for the first time that were signed at this ledger time. */
  left(raw: string, id: string, signedAt: number): void {
    const paying = stage.family === "tron" ? readTron(raw) : readEvm(raw);
    if (paying === null)
      throw new Violation("only a payment leaves", "bytes that are no transaction");
    const say = (): string =>
      `${id}: ${JSON.stringify(paying, (_, value) => (typeof value === "bigint" ? `${value}` : value))}`;
    must(signedAt > 0, "bytes that leave were signed by this ledger", say);
    const jobs = this.#jobsOf(paying, id);
    const [job] = jobs;
    must(job !== undefined, "bytes that leave pay what a job asked for", say);
    if (job === undefined) return;
    const left: ReleasedAttempt = {
      ...paying,
      signedAt,
      limitGroup: paying.isCancel ? "" : limitGroupOf(job),
    };
    this.#excludes(left, id, say);
    this.#byId.set(id, [...(this.#byId.get(id) ?? []), left]);
    this.#ofActors(left, jobs, id, say);
    this.#costs(left, say);
    if (!isInternalMode(job.mode)) this.#withinLimits(left.limitGroup);
  }

  /** A cancel is of the withdrawal's own slot, and pays nothing. */
  #jobsOf(paying: SignedPayment, id: string): readonly Job[] {
    const jobs = this.#known.jobsOf(id);
    return paying.isCancel ? jobs : jobs.filter((job) => this.#isFor(paying, job));
  }

  #isFor({ from, to, contract, units }: SignedPayment, job: Job): boolean {
    const { contract: token = "", decimal = 0 } = currencies[job.currency] ?? {};
    const own = inBytes(hotWallet);
    const deposits = derivedAddresses(inBytes);
    if (job.mode === "sweep") return deposits.has(from) && to === own;
    if (
      from !== own ||
      (contract === "" ? "" : contract) !==
        (token === "" || job.mode === "topup" ? "" : inBytes(token))
    )
      return false;
    if (units !== unitsIn(job.amount, job.mode === "topup" ? stage.coin.decimal : decimal))
      return false;
    if (job.mode === "topup") return deposits.has(to);
    const allowed = (this.#policy.allow ?? []).map(inBytes);
    return allowed.includes(to) && (job.address === "" || inBytes(job.address) === to);
  }

  /**
   * At most one of two attempts of a withdrawal can be paid, and a slot is of one withdrawal.
   */
  #excludes(left: ReleasedAttempt, id: string, say: () => string): void {
    const before = this.#byId.get(id) ?? [];
    if (left.validUntilMs === null) {
      const place = `${left.from} ${left.slot}`;
      const owner = this.#ownerOf.get(place) ?? id;
      must(owner === id || this.#known.isEnded(owner), "a slot is of one withdrawal", say);
      must(
        before.every((one) => one.isCancel || one.slot === left.slot),
        "all attempts of a withdrawal are on one slot",
        say,
      );
      this.#ownerOf.set(place, id);
      return;
    }
    const living = before.find(
      ({ validUntilMs }) => (validUntilMs ?? 0) + marginMs >= this.#known.nowMs(),
    );
    must(living === undefined, "another attempt leaves when no block can take the one before", say);
  }

  /**
   * A gateway that lies signs two jobs of one id, one for an operator and one for policy. The agent
   * takes one of them, as the gateway's word, and the bytes do not say which. So a payment is an
   * operator's by its mode only if every job that fits the bytes says so.
   */
  #ofActors(
    { units, limitGroup, isCancel: isNothing, validUntilMs }: ReleasedAttempt,
    jobs: readonly Job[],
    id: string,
    say: () => string,
  ): void {
    if (isNothing || jobs.some(({ mode }) => isInternalMode(mode))) return;
    const { holdAbove, manualReplaceAbove, maxPerWithdrawal } = this.#policy;
    const limit = (text: string): bigint => unitsIn(text, currencies[limitGroup]?.decimal ?? 0);
    must(units <= limit(maxPerWithdrawal), "no payment is above its limit", say);
    const isManual = jobs.every(({ mode }) => mode === "manual");
    const isOperators = isManual || (holdAbove !== undefined && units > limit(holdAbove));
    must(
      !isOperators || this.#known.hasYes(id),
      "a payment for an operator leaves by an operator's yes",
      say,
    );
    const isSecond = validUntilMs !== null && (this.#byId.get(id)?.length ?? 0) > 1;
    const isReplaced =
      isSecond && manualReplaceAbove !== undefined && units > limit(manualReplaceAbove);
    must(
      !isReplaced || this.#known.isOrdered(id),
      "another attempt of so much is an operator's",
      say,
    );
  }

  /** One attempt within its ceiling, and of a day the dearest of each slot. */
  #costs(left: ReleasedAttempt, say: () => string): void {
    const fees = (text: string): bigint => unitsIn(text, stage.coin.decimal);
    must(
      left.feeMax <= fees(this.#policy.maxFee),
      "no signed attempt costs more than its ceiling",
      say,
    );
    const dearest = new Map<string, bigint>();
    for (const [id, all] of this.#byId) {
      for (const { feeMax, limitGroup, signedAt, slot } of all) {
        if (limitGroup !== left.limitGroup || signedAt <= left.signedAt - dayMs) continue;
        const name = slot === "" ? `${id} ${signedAt}` : slot;
        const before = dearest.get(name) ?? 0n;
        if (feeMax > before) dearest.set(name, feeMax);
      }
    }
    const sum = [...dearest.values()].reduce((all, one) => all + one, 0n);
    // On a chain whose attempts end by expiry two liars have a ceiling given back once.
    const times = left.validUntilMs === null ? 1n : 2n;
    must(
      sum <= times * fees(this.#policy.maxFeePerDay),
      "the fees signed in a day are within their ceiling",
      say,
    );
  }

  #withinLimits(limitGroup: string): void {
    const all = [...this.#byId.values()].flat().filter((one) => one.limitGroup === limitGroup);
    // A slot pays one of its attempts: it counts from the first one on.
    const isFirst = (one: ReleasedAttempt): boolean =>
      one.slot === "" || all.find((each) => each.slot === one.slot) === one;
    const signed = all.filter(isFirst);
    // Nothing says that an attempt is void before its end and the margin.
    const told = signed.map((one) =>
      one.validUntilMs === null ? one : { ...one, validUntilMs: one.validUntilMs + marginMs },
    );
    // A signer that was suspended after its INTENT may sign so late that no block takes the bytes.
    const living = told.filter(
      ({ signedAt, validUntilMs }) => validUntilMs === null || signedAt <= validUntilMs,
    );
    withinWindows(living, this.#policy, currencies[limitGroup]?.decimal ?? 0);
  }
}

function readEvm(raw: string): SignedPayment | null {
  const read = readRaw(raw);
  if (read?.payment == null) return null;
  const { from, nonce, feeMaxWei, gasLimit, payment } = read;
  const { receiver: to, contract, units } = payment;
  const isNothing = isCancel(read);
  return {
    from,
    to,
    contract,
    units,
    feeMax: feeMaxWei * gasLimit,
    slot: `${nonce}`,
    validUntilMs: null,
    isCancel: isNothing,
  };
}

/** The limit of a call's energy leaves a coin or two open. */
function readTron(raw: string): SignedPayment | null {
  const read = readTransfer(raw);
  if (read === null || read.owner !== read.signer) return null;
  const {
    owner: from,
    receiver: to,
    contract,
    units,
    feeLimitSun: feeMax,
    expirationMs: validUntilMs,
  } = read;
  return { from, to, contract, units, feeMax, slot: "", validUntilMs, isCancel: false };
}

function inBytes(address: string): string {
  try {
    return stage.family === "tron" ? addressHex(address) : address.toLowerCase();
  } catch {
    return "";
  }
}
