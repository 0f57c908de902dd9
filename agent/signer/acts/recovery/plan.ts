/**
 * What a recovery order would do to this ledger, worked out without doing it: which withdrawals are held, quarantined or settled,
 * where tokens and jobs go on, what the gateway is told again. Refuses where order and ledger cannot both be right.
 * Touches nothing; the records to write leave as part of the plan. Source: docs/protocol.md section 8.
 */
import { parseAmount } from "../../../../protocol/amount.ts";
import { type Refusal, refuse } from "../../../../protocol/fault.ts";
import { domainHash, transactionIdOf, zeroHash } from "../../../../protocol/identity.ts";
import type { Job } from "../../../../protocol/messages.ts";
import { parseJob } from "../../../../protocol/payloads.ts";
import type { RecoveryWithdrawal } from "../../../../protocol/recovery.ts";
import type { ImportedVersion, RecordBody } from "../../../ledger/records.ts";
import type { RecoveryPlan, RecoveryWithdrawalView } from "../../../socket/verbs.ts";
import { contentOf, differenceOf } from "../../state/content.ts";
import type { Core } from "../../state/core.ts";
import type { Fact } from "../../state/entries.ts";
import { feeMaxOf, isFinal, type Version, type Withdrawal } from "../../state/withdrawal.ts";
import type { Order, Shown } from "../orders.ts";
import { askedFact, endedFacts, type ReadRecords, signedFacts } from "./facts.ts";
import { isLoose, watermarksOf } from "./watermarks.ts";

export type { ReadRecords } from "./facts.ts";

/** Withdrawals an answer lists; the digest covers all. */
const shownMax = 1_000;
/** Facts told again at most: more than a day of a busy agent. */
const factsMax = 200_000;

/** What the plan is made from. */
export interface PlanInput extends Shown {
  readonly core: Core;
  readonly nonce: string; // of this run
  readonly account: string; // paying address
  readonly read: ReadRecords;
  readonly hashAt: (seq: number) => string | null;
}

/** The plan as an operator sees it, and the records that carry it out. */
export interface Planned {
  readonly ok: true;
  readonly plan: RecoveryPlan;
  readonly bodies: readonly RecordBody[];
}

/** One withdrawal's part. */
interface Placed {
  readonly body: Extract<RecordBody, { kind: "IMPORTED" | "SETTLED" }>;
  readonly view: RecoveryWithdrawalView;
  readonly facts: readonly Fact[];
}

type Placing = { readonly ok: true; readonly placed: Placed | null } | Refusal;

/** @returns the same plan for the same ledger, order and counts */
export function planRecovery(input: PlanInput): Planned | Refusal {
  const { core, nonce, order, nowMs, read, hashAt } = input;
  const items = readItems(input);
  if (!items.ok) return items;
  const placed: Placed[] = [];
  for (const item of items.jobs) {
    const placing = placeNamed(input, item);
    if (!placing.ok) return placing;
    if (placing.placed !== null) placed.push(placing.placed);
  }
  const named = new Set(items.jobs.map(({ job }) => job.transactionId));
  for (const withdrawal of core.book.open()) {
    if (isFinal(withdrawal.state) || named.has(withdrawal.transactionId)) continue;
    placed.push(placeForgotten(core, withdrawal, isLostThere(input, withdrawal)));
  }
  const twice = sharedToken(placed);
  if (twice !== null) return twice;
  const accounts = watermarksOf(input);
  if (!accounts.ok) return accounts;
  const loose = items.jobs.find(({ item, job }) => isLoose(item, job.network, accounts.views));
  if (loose !== undefined) return refuse("RECOVERY_ORDER", `nonce ${loose.item.token} is not below the one that comes next`);
  const { head } = core.heads;
  const isGatewayBehind = order.held === null || hashAt(order.held.seq) === order.held.hash;
  const isOnlyUnheard =
    isGatewayBehind &&
    order.held !== null &&
    order.held.seq >= core.heads.everAcked &&
    order.jobs.sequence >= core.chain.sequence;
  const start = isGatewayBehind ? (order.held?.seq ?? 0) : core.heads.sharedWith(order.held.seq);
  // What was settled is not told: nobody here knows how it ended, and a gateway that lost it would wait for its end for ever.
  const isEnded = (id: string): boolean => isFinal(core.book.stateOf(id) ?? "held") && core.book.stateOf(id) !== "settled";
  const told = [...placed.flatMap((each) => each.facts), ...endedFacts(read, start, head.seq, isEnded)];
  // Once each: what an earlier recovery told again stands in the ledger twice.
  const facts = [...new Set(told.map((fact) => JSON.stringify(fact)))];
  if (facts.length > factsMax) return refuse("RECOVERY_TOO_LARGE", `${facts.length} facts`);
  const held = order.held ?? { seq: 0, hash: zeroHash };
  const { sequence, hash } = order.jobs;
  const bodies: RecordBody[] = [
    { kind: "RECOVERING", order: order.order, epoch: order.epoch, held, sequence, jobHash: hash },
    ...facts.map((fact) => ({ kind: "RESTATED", fact }) as const),
    ...placed.map(({ body }) => body),
    {
      ...{ kind: "RECOVERED", order: order.order, epoch: order.epoch },
      accounts: accounts.views.map(({ network, account, next }) => ({ network, account, next })),
      spent: placeSpent(core, order, nowMs),
    },
  ];
  const count = (becomes: RecoveryWithdrawalView["becomes"]): number =>
    placed.filter(({ view }) => view.becomes === becomes).length;
  const plan: Omit<RecoveryPlan, "digest"> = {
    ...{ order: order.order, at: order.at, epoch: core.paired.epoch, newEpoch: order.epoch },
    ...{ locked: core.locked?.code ?? "", lockedDetail: core.locked?.detail ?? "", head, gatewayHead: order.held },
    ...{ isGatewayBehind, isOnlyUnheard, isUnfinished: core.recovery !== null },
    ...{ jobs: { here: core.chain.sequence, gateway: sequence }, accounts: accounts.views },
    withdrawals: placed.slice(0, shownMax).map(({ view }) => view),
    ...{ held: count("held"), quarantined: count("quarantined"), settled: count("settled") },
    imported: placed.filter(({ view }) => view.here === "").length,
    restated: facts.length,
  };
  // The records say all that the plan does, cut nowhere; the run is named so that no yes outlives it.
  const { at: _at, ...lasting } = plan;
  const digest = domainHash("recovery plan", Buffer.from(JSON.stringify([nonce, lasting, bodies])));
  return { ok: true, plan: { digest, ...plan }, bodies };
}

interface NamedItem {
  readonly item: RecoveryWithdrawal;
  readonly job: Job;
}

/** The gateway's own rules, held against its own word: what breaks them was made by something else. */
function readItems({ core, order, account }: PlanInput): { readonly ok: true; readonly jobs: readonly NamedItem[] } | Refusal {
  const { agent, wallet, merchant } = core.paired;
  const jobs: NamedItem[] = [];
  const seen = new Set<string>();
  for (const [index, item] of [...order.withdrawals, ...order.ended].entries()) {
    const job = parseJob(item.job);
    const { transactionId, orderId } = job;
    if (job.agent !== agent || job.wallet !== wallet) return refuse("RECOVERY_ORDER", `${transactionId} is another agent's`);
    if (transactionId !== transactionIdOf({ merchant, operation: "withdraw", orderId })) {
      return refuse("RECOVERY_ORDER", `${transactionId} is not its order's id`);
    }
    if (seen.has(transactionId)) return refuse("RECOVERY_ORDER", `${transactionId} stands twice`);
    if (item.token !== "" && item.account !== account) return refuse("RECOVERY_ORDER", `${item.account} is not our account`);
    seen.add(transactionId);
    const hasEndedThere = index >= order.withdrawals.length;
    if (!hasEndedThere || isBoundHere(core, transactionId)) jobs.push({ item, job });
    else if (isGivenHere(core, item, job)) return givenToAnother(item, job);
  }
  return { ok: true, jobs };
}

/**
 * Whether what has ended there is open here with a token: it keeps that, and learns by which hashes its end is known. Without one it is
 * settled, as if the order had not named it.
 */
function isBoundHere({ book }: Core, transactionId: string): boolean {
  const withdrawal = book.find(transactionId);
  return withdrawal !== undefined && !isFinal(withdrawal.state) && withdrawal.nonce !== "";
}

/** Whether the token of what has ended there was given to another withdrawal here. */
function isGivenHere({ book, accounts }: Core, { account, token }: RecoveryWithdrawal, { transactionId, network }: Job): boolean {
  const state = book.stateOf(transactionId);
  // What ended here on the chain had a token, taken for this one: of what closed long ago nobody here remembers which.
  const hadToken = state === "paid" || state === "reverted" || state === "lost";
  return !hadToken && accounts.gave(network, account, BigInt(token));
}

function givenToAnother({ token }: RecoveryWithdrawal, { transactionId }: Job): Refusal {
  return refuse("RECOVERY_CONFLICT", `nonce ${token} was given to another than ${transactionId} here`);
}

/** A withdrawal that the gateway calls open, or that has ended there and not here. */
function placeNamed({ core }: PlanInput, { item, job }: NamedItem): Placing {
  const { transactionId } = job;
  const known = core.book.contentOf(transactionId);
  if (known !== undefined && differenceOf(known, contentOf(job)) !== "") {
    return refuse("RECOVERY_CONFLICT", `${transactionId} is here with other content`);
  }
  const state = core.book.stateOf(transactionId);
  if (state !== undefined && isFinal(state) && state !== "settled") {
    const isUnsigned = state === "refused" || state === "expired";
    if (isUnsigned && item.token !== "") return refuse("RECOVERY_CONFLICT", `${transactionId} was ${state} here, and signed`);
    return { ok: true, placed: null };
  }
  const withdrawal = state === undefined ? undefined : core.book.find(transactionId);
  if (item.token !== "" && (withdrawal?.nonce ?? "") === "") {
    // A token that this ledger gave to somebody else, however long ago.
    if (core.accounts.gave(job.network, item.account, BigInt(item.token))) return givenToAnother(item, job);
  }
  // An earlier recovery took it for ended there, and the gateway says that it is open.
  const isSettled = state === "settled";
  if (withdrawal === undefined || isSettled) return { ok: true, placed: placeUnknown(core, item, job, isSettled ? state : "") };
  if (item.token !== "" && withdrawal.nonce !== "" && item.token !== withdrawal.nonce) {
    return refuse("RECOVERY_CONFLICT", `${transactionId} has nonce ${withdrawal.nonce} here and ${item.token} at the gateway`);
  }
  return placeKnown(core, withdrawal, item);
}

function placeUnknown(core: Core, item: RecoveryWithdrawal, job: Job, here: RecoveryWithdrawalView["here"]): Placed {
  const versions = item.versions.map((version) => ({ ...version, own: false, out: true }));
  const place = { address: item.address || job.address, account: item.account, nonce: item.token };
  return placement(job, item.job, place, boundUnits(core, job, item.token), versions, here, []);
}

/** What a withdrawal with a token counts for; one that is held here, or was taken over, has no approval that says it. */
function boundUnits({ policy }: Core, { currency, amount }: Job, nonce: string, approvedUnits = ""): string {
  if (nonce === "") return "";
  if (approvedUnits !== "") return approvedUnits;
  const asset = policy.asset(currency);
  const parsed = asset === undefined ? null : parseAmount(amount, asset.decimal);
  return parsed?.ok === true ? parsed.units.toString() : "";
}

/** Both know it: versions are joined, each under its own number. What never left this ledger gives way to the gateway's word. */
function placeKnown(core: Core, withdrawal: Withdrawal, item: RecoveryWithdrawal): Placing {
  const { transactionId, job, versions: own } = withdrawal;
  const versions: ImportedVersion[] = [];
  const lost: Version[] = [];
  let isSame = true;
  for (let i = 0; i < Math.max(own.length, item.versions.length); i++) {
    const mine = isSame ? own[i] : undefined;
    const theirs = item.versions[i];
    if (theirs === undefined && mine === undefined) break;
    if (theirs === undefined && mine !== undefined) {
      versions.push(ownVersion(mine, false));
      if (mine.txHash !== "") lost.push(mine);
    } else if (theirs !== undefined && mine?.txHash === theirs.txHash) {
      versions.push(ownVersion(mine, true));
    } else if (theirs !== undefined) {
      if (mine?.released === true || own.slice(i).some((version) => version.released)) {
        return refuse("RECOVERY_CONFLICT", `version ${i + 1} of ${transactionId} is another at the gateway`);
      }
      isSame = false;
      versions.push({ ...theirs, own: false, out: true });
    }
  }
  const account = item.account || withdrawal.account;
  const nonce = item.token || withdrawal.nonce;
  const place = { address: withdrawal.address || item.address, account, nonce };
  const units = boundUnits(core, job, nonce, withdrawal.amountUnits);
  return { ok: true, placed: placement(job, "", place, units, versions, viewState(withdrawal), signedFacts(withdrawal, lost)) };
}

/**
 * Whether the gateway surely does not know of a withdrawal that its order leaves out: its job comes after the last one of the order, in
 * one chain with it. A withdrawal that an earlier recovery took over stands in no chain any more; the gateway learned of it with what
 * that recovery told, and lost it only together with that.
 */
function isLostThere({ core, order, hashAt }: PlanInput, { transactionId, job, history }: Withdrawal): boolean {
  const taken = history.filter(({ kind }) => kind === "IMPORTED" || kind === "REQUESTED").at(-1);
  if (taken?.kind !== "IMPORTED") {
    const isOurs = core.chain.has(order.jobs) && core.chain.at(job.sequence)?.transactionId === transactionId;
    return isOurs && job.sequence > order.jobs.sequence;
  }
  const { held } = order;
  return held === null || (held.seq < taken.seq && hashAt(held.seq) === held.hash);
}

/**
 * Open here and not at the gateway. With a token it keeps it, whatever became of it. Without one it is held when the gateway surely
 * lost its job; else the gateway counts it as ended, perhaps as paid with a token that this ledger forgot: it is never paid from here.
 */
function placeForgotten(core: Core, withdrawal: Withdrawal, isLostThere: boolean): Placed {
  const { transactionId, job, versions, account, nonce, address, amountUnits } = withdrawal;
  const here = viewState(withdrawal);
  if (nonce === "" && !isLostThere) {
    return { body: { kind: "SETTLED", transactionId }, view: viewOf(job, address, here, "settled", "", []), facts: [] };
  }
  const signed = versions.filter(({ txHash }) => txHash !== "");
  const facts = [askedFact(job), ...signedFacts(withdrawal, signed)];
  const kept = versions.map((version) => ownVersion(version, false));
  return placement(job, "", { address, account, nonce }, boundUnits(core, job, nonce, amountUnits), kept, here, facts);
}

function placement(
  job: Job,
  text: string,
  { address, account, nonce }: { readonly address: string; readonly account: string; readonly nonce: string },
  amountUnits: string,
  versions: readonly ImportedVersion[],
  here: RecoveryWithdrawalView["here"],
  facts: readonly Fact[],
): Placed {
  const { transactionId, network } = job;
  const becomes = nonce === "" ? "held" : "quarantined";
  const hashes = versions.map(({ txHash }) => txHash);
  return {
    body: { kind: "IMPORTED", transactionId, job: text, network, address, account, nonce, amountUnits, versions },
    view: viewOf(job, address, here, becomes, nonce, hashes),
    facts,
  };
}

function viewOf(
  { transactionId, orderId, currency, amount }: Job,
  address: string,
  here: RecoveryWithdrawalView["here"],
  becomes: RecoveryWithdrawalView["becomes"],
  nonce: string,
  txHashes: readonly string[],
): RecoveryWithdrawalView {
  return { transactionId, orderId, currency, amount, address, here, becomes, nonce, txHashes };
}

function viewState({ state }: Withdrawal): RecoveryWithdrawalView["here"] {
  return state === "requested" ? "held" : state;
}

function ownVersion(version: Version, isHeldThere: boolean): ImportedVersion {
  const { txHash, released, raw } = version;
  const feeMax = feeMaxOf(version).toString();
  // One that an earlier recovery took over has no bytes here either way.
  return { txHash, feeMax, own: true, out: released || isHeldThere || (txHash !== "" && raw === "") };
}

/** One token for two withdrawals, whoever says so, is never taken over. */
function sharedToken(placed: readonly Placed[]): Refusal | null {
  const owners = new Map<string, string>();
  for (const { body } of placed) {
    if (body.kind !== "IMPORTED" || body.nonce === "") continue;
    const token = `${body.network} ${body.account} ${body.nonce}`;
    const owner = owners.get(token);
    if (owner !== undefined) return refuse("RECOVERY_CONFLICT", `nonce ${body.nonce} is ${owner}'s and ${body.transactionId}'s`);
    owners.set(token, body.transactionId);
  }
  return null;
}

/** What the last day came to at the gateway beyond what counts here already. */
function placeSpent(core: Core, order: Order, nowMs: number): Extract<RecordBody, { kind: "RECOVERED" }>["spent"] {
  // What is open here and has ended there is in the gateway's sum already.
  const ended = new Set(order.ended.map(({ job }) => parseJob(job).transactionId));
  const open = [...core.book.open()]
    .filter(({ state, transactionId }) => !isFinal(state) && !ended.has(transactionId))
    .map(({ transactionId }) => transactionId);
  return order.spent.flatMap(({ currency, units, feesWei }) => {
    const counted = core.policy.countedBeside(currency, open, nowMs);
    const rest = (all: bigint, known: bigint): string => (all > known ? all - known : 0n).toString();
    const lost = { currency, units: rest(BigInt(units), counted.units), feesWei: rest(BigInt(feesWei), counted.feesWei) };
    return lost.units === "0" && lost.feesWei === "0" ? [] : [lost];
  });
}
