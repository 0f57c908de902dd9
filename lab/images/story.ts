/**
 * A ledger with a past: the real signer lives through withdrawals of every kind, crashes and new
 * segments, and at many moments its folder is kept together with what the gateway's database truly
 * held then. The same seed gives the same bytes.
 */
import { isFinal } from "../../agent/signer/state/machine.ts";
import { invariant } from "../../base/fault.ts";
import { privateKeyFromSeed, sealEnvelope, signJob } from "../../protocol/envelope.ts";
import type { Head } from "../../protocol/messages.ts";
import { recoveryNameOf } from "../../protocol/recovery.ts";
import { Seeded } from "../rig/seeded.ts";
import { agentId, facts, hot, Rig, settings, wallet } from "../rig/signer-rig.ts";

export const gatewayKey = privateKeyFromSeed(new Uint8Array(32).fill(9));

/**
 * The folder as it was, and the world around it. Bytes are shared between moments and never
 * changed.
 */
export interface Moment {
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly segment: number; // the newest
  readonly head: Head;
  readonly nowMs: number;
  /**
   * The gateway's database: the epoch, the newest head it holds, its newest job, every job's text.
   */
  readonly epoch: number;
  readonly stored: Head | null;
  /** The newest record that any gateway ever held: what was signed up to there may be out. */
  readonly heardSeq: number;
  readonly last: { readonly sequence: number; readonly hash: string };
  readonly texts: readonly string[];
  /** The next rotation follows: this segment never gets another record. */
  readonly isFull: boolean;
}

/** One token as the ledger binds it. */
export interface Bound {
  readonly transactionId: string;
  readonly token: string; // network, account and nonce
  readonly signedSeq: number; // its first SIGNED record's
}

export interface Story {
  readonly moments: readonly Moment[];
  readonly hashes: readonly string[]; // by seq, from 1
  readonly kinds: readonly string[];
  readonly bound: readonly Bound[];
}

export interface StoryOptions {
  readonly seed: number;
  readonly records: number; // at least 50
  readonly segmentBytesMax: number;
}

/** Above this two people must say yes. */
const usdt = { maxPerWithdrawal: "1000", maxPerDay: "1000000", maxFee: "0.01", maxFeePerDay: "10", twoApproversAbove: "100" };

/** Lives until the ledger has exactly so many records, the last of them a LOCKED. */
export function tellStory({ seed, records, segmentBytesMax }: StoryOptions): Story {
  const rig = new Rig({ segmentBytesMax, gatewayKey, settings: { ...settings, policy: { ...settings.policy, usdt } } });
  const teller = new Teller(rig, new Seeded(seed));
  opening(teller);
  while (teller.seq < records / 2) teller.step();
  teller.recover();
  while (teller.seq < records - 7) teller.step();
  while (teller.seq < records - 1) teller.rig.request({ orderId: "order-1" });
  teller.keep(true);
  teller.lock();
  teller.keep(true);
  const all = rig.records();
  const tokens = new Map(
    all.flatMap((one) => (one.kind === "INTENT" ? [[one.transactionId, `${one.network} ${one.account} ${one.slot}`]] : [])),
  );
  invariant(all.length === records, `a story of ${all.length} records instead of ${records}`);
  const bound = all.flatMap((one) =>
    one.kind === "SIGNED" && one.version === 1
      ? [{ transactionId: one.transactionId, token: tokens.get(one.transactionId) ?? "", signedSeq: one.seq }]
      : [],
  );
  return { moments: teller.moments, hashes: all.map(({ hash }) => hash), kinds: all.map(({ kind }) => kind), bound };
}

/** Every kind of record once, with the crash between INTENT and SIGNED. */
function opening(teller: Teller): void {
  const { rig } = teller;
  rig.ready();
  const { transactionId: paid } = rig.pay();
  teller.observe(paid, "broadcast");
  teller.observe(paid, "included");
  teller.keep();
  teller.observe(paid, "final");
  rig.acknowledge();
  teller.turn();
  const { transactionId: held, approvalDigest: digest } = rig.request({ mode: "manual", amount: "100.5" });
  for (const approver of ["ann", "bob"]) rig.operate("approve", { transactionId: held, digest, address: "", approver });
  teller.dieBetween(held);
  rig.ask("sign", { transactionId: held, facts });
  teller.keep();
  rig.acknowledge();
  rig.ask("replace", { transactionId: held, above: 1, facts });
  teller.turn();
  rig.acknowledge();
  rig.request({ amount: "1000.5" });
  rig.request({ expiresAt: rig.now + 1 });
  rig.now += 90_000;
  rig.signer.tick();
  rig.settle();
  teller.turn();
  teller.repeat();
  rig.skew = -90_000;
  rig.crash();
  rig.greet();
  rig.skew = 0;
  teller.turn();
}

/** Withdrawals under way at a time: enough for several tokens to be open. */
const openWanted = 8;

class Teller {
  readonly rig: Rig;
  readonly moments: Moment[] = [];
  readonly #random: Seeded;

  constructor(rig: Rig, random: Seeded) {
    this.rig = rig;
    this.#random = random;
  }

  get seq(): number {
    return this.rig.signer.ledger.durableHead.seq;
  }

  /** Something that happens to a live agent. */
  step(): void {
    const random = this.#random;
    const open = [...this.rig.core.book.open()];
    const some = (...states: readonly string[]): string | undefined =>
      open.find((withdrawal) => states.includes(withdrawal.state))?.transactionId;
    const approved = some("approved", "intent");
    const seen = some("released", "broadcast", "included");
    const ticket = random.below(20);
    if (ticket < 9 && seen !== undefined) this.observe(seen, random.pick(["broadcast", "included", "final", "final"]));
    else if (ticket < 10 && seen !== undefined) this.#replace(seen);
    else if (ticket < 11 && approved !== undefined) this.dieBetween(approved);
    else if (ticket < 15 && approved !== undefined) this.rig.ask("sign", { transactionId: approved, facts });
    else if (ticket < 16) this.rig.hear();
    else if (ticket < 17) this.#live();
    else if (open.length < openWanted) this.rig.request({ amount: `${1 + random.below(9)}.${1 + random.below(9)}` });
    if (random.chance(3)) this.rig.acknowledge();
    this.turn();
    if (random.chance(12)) this.keep();
  }

  /** The courier saw it on chain. */
  observe(transactionId: string, stage: "broadcast" | "included" | "final"): void {
    const { versions } = this.rig.show(transactionId);
    const outcome = stage === "final" ? "paid" : "";
    this.rig.ask("observed", {
      transactionId,
      stage,
      outcome,
      txHash: versions.at(-1)?.txHash ?? "",
      block: this.#random.below(99),
    });
  }

  /** The power goes when INTENT is on disk and SIGNED is not. */
  dieBetween(transactionId: string): void {
    this.rig.send("sign", { transactionId, facts });
    this.rig.disk.sync();
    this.rig.crash();
    this.turn();
    this.keep();
    this.rig.greet();
  }

  /** An order comes again under a new job: one record. */
  repeat(): void {
    this.rig.request({ orderId: "order-1" });
    this.turn();
  }

  /** The gateway says of a record what the ledger denies. */
  lock(): void {
    const { gateway, core, nonce, now } = this.rig;
    this.rig.admit(gateway.welcome(nonce, { echo: { seq: core.heads.head.seq, hash: "ab".repeat(32) }, at: now + 1 }));
  }

  /**
   * The gateway's database is put back to an earlier day and the agent locked; a new ledger is
   * opened by the gateway's order: what is open with a slot keeps it, what had none is left out,
   * what the gateway lost is told again.
   */
  recover(): void {
    const { rig } = this;
    const { gateway } = rig;
    const lost = gateway.stored?.seq ?? 0;
    rig.request({ amount: "7" });
    this.lock();
    const held = rig.statements.map(({ head }) => head).find(({ seq }) => seq > lost - 12) ?? null;
    gateway.stored = null; // In a new epoch it holds nothing yet.
    gateway.epoch += 1;
    const open = [...rig.core.book.open()].filter(({ slot, state }) => slot !== "" && !isFinal(state));
    const withdrawals = open.flatMap(({ transactionId, address, account, slot, versions }) => {
      const job = gateway.texts.find((text) => text.includes(transactionId)) ?? "";
      const signed = versions.filter(({ txHash }) => txHash !== "");
      if (signed.length === 0) return [];
      const told = signed.map(({ txHash }) => ({ txHash, feeMax: "130000000000000" }));
      return [{ job, signature: signJob(job, gateway.key), address, account, slot, versions: told }];
    });
    const next = rig.core.accounts.find("eip155:31337", hot)?.next.toString();
    const contents = {
      ...{ agent: agentId, wallet, epoch: gateway.epoch, answers: rig.nonce, part: 1, parts: 1, held },
      ...{ jobs: gateway.last, accounts: [{ network: "eip155:31337", account: hot, next }], spent: [] },
      ...{ withdrawals, ended: [], spends: [] },
    };
    const order = { ...contents, order: recoveryNameOf("", contents), at: rig.now };
    rig.admit(sealEnvelope("recovery", order, gateway.key));
    const shown = rig.operate("recover", { digest: "", both: true }) as unknown as { readonly plan: { readonly digest: string } };
    rig.operate("recover", { digest: shown.plan.digest, both: true });
    this.keep();
    rig.now += 1;
    rig.greet();
    rig.acknowledge();
    this.turn();
    rig.operate("finish");
    this.keep();
    this.turn();
  }

  /**
   * As each second of a process's life: the folder is kept before a full segment gets its
   * successor.
   */
  turn(): void {
    this.rig.settle();
    this.rig.now += 1 + this.#random.below(500);
    const { wantsRotation } = this.rig.signer.ledger;
    if (wantsRotation) this.keep(true);
    this.rig.signer.tick();
    if (wantsRotation) this.keep();
    this.rig.settle();
  }

  keep(isFull = false): void {
    this.rig.settle();
    const { disk, gateway, now, signer } = this.rig;
    const files = new Map(disk.files);
    const segment = Math.max(...[...files.keys()].map((name) => Number(/^(\d+)\.jsonl$/.exec(name)?.[1] ?? 0)));
    const heardSeq = Math.max(0, ...this.rig.statements.map(({ head }) => head.seq));
    const around = { heardSeq, epoch: gateway.epoch, stored: gateway.stored, last: gateway.last, texts: [...gateway.texts] };
    this.moments.push({ files, segment, head: signer.ledger.durableHead, nowMs: now, ...around, isFull });
  }

  #replace(transactionId: string): void {
    const above = this.rig.show(transactionId).versions.length;
    this.rig.ask("replace", { transactionId, above, facts });
  }

  #live(): void {
    if (this.#random.chance(2)) this.rig.crash();
    this.rig.now += this.#random.below(600_000);
    this.rig.greet();
    this.rig.ask("report", { after: 0 });
  }
}
